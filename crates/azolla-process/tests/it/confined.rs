//! The sandbox as callers use it: what it is called, and how it is asked for.

use azolla_process::{Available, Bounds, Confinement, Exit, Sandbox, available, run};

use crate::world::{text as text_of, *};

#[tokio::test]
async fn r11_what_is_said_to_be_available_is_what_is_enforced() {
    let here = available().await;
    assert_eq!(here, available().await, "the answer is remembered");
    let everything =
        Available { mode: "bubblewrap+landlock".to_owned(), required: true, missing: Vec::new() };
    assert_eq!(here, everything, "this machine has both layers: {here}");
    for sandbox in [Sandbox::BestEffort(Confinement::default()), Sandbox::Required(Confinement::default())] {
        let bounds = Bounds { sandbox, ..bounds(Tree) };
        let finished = run(&script("echo $$; exit 3", &Mark::new()), &bounds).await.unwrap();
        assert_eq!((finished.exit, finished.sandbox_mode.as_str()), (Exit::Code(3), here.mode.as_str()));
        let pid: u32 = text_of(&finished).parse().unwrap();
        assert!(pid < 10, "the number of a process in a room of its own, not {pid}");
    }
    let finished = run(&script(":", &Mark::new()), &bounds(Tree)).await.unwrap();
    assert_eq!(finished.sandbox_mode, "off");
}

#[test]
fn a_report_says_what_is_missing() {
    let report = Available {
        mode: "landlock+seccomp".to_owned(),
        required: false,
        missing: vec!["bubblewrap is not installed".to_owned()],
    };
    assert_eq!(report.to_string(), "landlock+seccomp; bubblewrap is not installed");
}

/// Rooms are built from one process at the same time, each beside the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_rooms_at_once_do_not_hold_each_other_up() {
    let runs = (0..16).map(|n| {
        tokio::spawn(async move {
            let sandbox = Sandbox::Required(Confinement::default());
            let bounds = Bounds { sandbox, ..bounds(Tree) };
            let text = format!("(setsid sleep $0 &); exit {n}");
            let mark = Mark::new();
            let finished = run(&script(&text, &mark), &bounds).await.unwrap();
            mark.assert_no_survivors();
            assert_eq!(finished.exit, Exit::Code(n));
        })
    });
    for run in runs.collect::<Vec<_>>() {
        run.await.unwrap();
    }
    no_child_is_left().await;
}
