//! Limits of the system on each process.

use azolla_process::{Containment, Exit, Finished, ResourceLimits};

use crate::world::{text as text_of, *};

async fn limited(text: &str, containment: Containment, limits: ResourceLimits) -> Finished {
    let mark = Mark::new();
    let finished = run_script(text, &mark, containment, |bounds| bounds.limits = limits).await.unwrap();
    mark.borne_by_none().await;
    finished
}

#[tokio::test]
async fn a_file_cannot_grow_past_its_limit() {
    for containment in [Group, Tree] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        let text = format!("exec head -c 100000 /dev/zero > '{}'", file.display());
        let limits = ResourceLimits { file_size: Some(4096), ..Default::default() };
        assert_eq!(limited(&text, containment, limits).await.exit, Exit::Signal(libc::SIGXFSZ));
        assert_eq!(std::fs::metadata(&file).unwrap().len(), 4096);
    }
}

#[tokio::test]
async fn processor_time_ends_at_its_limit() {
    let limits = ResourceLimits { cpu_seconds: Some(1), ..Default::default() };
    let busy = |containment| limited("while :; do :; done", containment, limits);
    // One that does not listen has one second more.
    let deaf = limited("trap '' XCPU; while :; do :; done", Tree, limits);
    let (group, tree, deaf) = tokio::join!(busy(Group), busy(Tree), deaf);
    assert_eq!(group.exit, Exit::Signal(libc::SIGXCPU));
    assert_eq!(tree.exit, Exit::Signal(libc::SIGXCPU));
    assert_eq!(deaf.exit, Exit::Signal(libc::SIGKILL));
}

#[tokio::test]
async fn every_limit_is_set_for_good() {
    for containment in [Group, Tree] {
        let limits = ResourceLimits {
            cpu_seconds: Some(77),
            address_space: Some(1 << 30),
            file_size: Some(512 * 1000),
            open_files: Some(20),
            processes: Some(5000),
        };
        let text = "ulimit -S -t; ulimit -H -t; ulimit -v; ulimit -H -v; ulimit -f; ulimit -H -f
            ulimit -n; ulimit -H -n
            grep -o 'Max processes *5000 *5000' /proc/self/limits | tr -s ' '";
        let finished = limited(text, containment, limits).await;
        assert_eq!(
            text_of(&finished).replace('\n', " "),
            "77 78 1048576 1048576 1000 1000 20 20 Max processes 5000 5000"
        );
    }
}

#[tokio::test]
async fn a_limit_above_our_own_is_ours() {
    let ours = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let limits = ResourceLimits { open_files: Some(u64::MAX), ..Default::default() };
    let text = "ulimit -n";
    let finished = limited(text, Tree, limits).await;
    let ours = if ours == u64::MAX { "unlimited".to_owned() } else { ours.to_string() };
    assert_eq!(text_of(&finished), ours);
}

#[tokio::test]
async fn a_tree_dumps_no_core() {
    let finished = limited("ulimit -c; ulimit -H -c", Tree, ResourceLimits::default()).await;
    assert_eq!(text_of(&finished), "0\n0");
}
