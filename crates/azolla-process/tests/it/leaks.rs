//! What runs leave in this process: nothing.

use std::fs;

use azolla_process::{Bounds, Capture, Confinement, Sandbox, run};

use crate::world::*;

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// This test has the process to itself under nextest; elsewhere other tests open and close descriptors, and the wait
/// gets it through.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_runs_leave_no_descriptor_and_no_process() {
    let mark = Mark::new();
    // What the runtime opens, it opens once.
    one_of_each(&mark).await;
    let before = descriptors();
    for _ in 0..40 {
        one_of_each(&mark).await;
    }
    no_child_is_left().await;
    eventually("no descriptors more than before", || descriptors() <= before).await;
}

/// Runs to the end, to too much output, to a refusal and to a drop.
async fn one_of_each(mark: &Mark) {
    for containment in [Group, Tree] {
        let mut program = script("echo $0; cat", mark);
        program.input = b"some input".to_vec();
        run(&program, &bounds(containment)).await.unwrap();
        let mut none = bounds(containment);
        none.stdout = Capture::All(0);
        run(&program, &none).await.unwrap();
        let stays = script("sleep $0 & sleep $0", mark);
        drop_once(run(&stays, &bounds(containment)), "a process", || !mark.bearers().is_empty()).await;
        mark.borne_by_none().await;
        program.path = "/nowhere".into();
        run(&program, &bounds(containment)).await.unwrap_err();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rooms_leave_no_descriptor_and_no_process() {
    let mark = Mark::new();
    let sandbox = Sandbox::Required(Confinement::default());
    let bounds = Bounds { sandbox, ..bounds(Tree) };
    run(&script(":", &mark), &bounds).await.unwrap();
    let before = descriptors();
    let mut program = script("(setsid sleep $0 &); cat", &mark);
    program.input = b"some input".to_vec();
    for _ in 0..10 {
        run(&program, &bounds).await.unwrap();
        let stays = script("sleep $0 & sleep $0", &mark);
        drop_once(run(&stays, &bounds), "a process", || !mark.bearers().is_empty()).await;
        mark.borne_by_none().await;
    }
    no_child_is_left().await;
    eventually("no descriptors more than before", || descriptors() <= before).await;
}

/// Keepers are forked from one process at the same time: none may hold on to the pipes of another.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_at_once_do_not_hold_each_other_up() {
    let runs = (0..64).map(|n| {
        tokio::spawn(async move {
            let mark = Mark::new();
            let containment = if n % 4 == 0 { Group } else { Tree };
            let text = format!("(setsid sleep $0 &); head -c {n} /dev/zero; exit {n}");
            let mut finished = run_script(&text, &mark, containment, |_| ()).await.unwrap();
            assert!(finished.duration < PATIENCE / 2, "took {:?}", finished.duration);
            assert_eq!(finished.exit, azolla_process::Exit::Code(n));
            finished.stdout.bytes.retain(|byte| *byte != 0);
            assert_eq!((finished.stdout.total, finished.stdout.bytes), (n as u64, vec![]));
        })
    });
    for run in runs.collect::<Vec<_>>() {
        run.await.unwrap();
    }
    no_child_is_left().await;
}
