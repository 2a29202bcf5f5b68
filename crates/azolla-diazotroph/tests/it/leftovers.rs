//! What killed runs leave behind, and what must not be taken for that.

use std::fs;

use azolla_diazotroph::provider::CommandProvider;
use azolla_protocol::Diazotroph;

use crate::bench::{Bench, LONG, STDOUT, request, until, work_order_id};

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_run_left_is_removed_and_what_is_in_use_stays() {
    let bench = Bench::new();
    assert_eq!(CommandProvider::sweep(&bench.state_dir()).unwrap(), 0, "nothing ever ran");
    let (started, go) = (bench.beside("started"), bench.beside("go"));
    let script = format!(
        "echo kept > \"$HOME/x\"; touch '{}'; while [ ! -e '{}' ]; do :; done; cat \"$HOME/x\"",
        started.display(),
        go.display()
    );
    let provider = CommandProvider::new(bench.settings(STDOUT, &script)).unwrap();
    let id = work_order_id(1);
    let work = provider.generate(request(&id, "x", LONG, None));
    let sweep = async {
        until("the start", || started.exists()).await;
        let left = |name: &str| bench.state_dir().join(name);
        // Killed in the middle of a run, before the lock was there, and one that nobody of ours made.
        fs::create_dir_all(left("wo-b-1-1/home/.agent")).unwrap();
        fs::write(left("wo-b-1-1/home/.agent/auth.json"), "a login").unwrap();
        fs::write(left("wo-b-1-1/lock"), "").unwrap();
        fs::create_dir_all(left("wo-b-2-1")).unwrap();
        fs::create_dir_all(left("other")).unwrap();
        std::os::unix::fs::symlink("other", left("wo-b-3-1")).unwrap();
        assert_eq!(CommandProvider::sweep(&bench.state_dir()).unwrap(), 2);
        let kept = bench.leftovers();
        let is_kept = |start: &str| {
            kept.iter().any(|path| path.file_name().unwrap().to_str().unwrap().starts_with(start))
        };
        assert!(kept.len() == 3 && ["other", "wo-a-1-7-", "wo-b-3-1"].into_iter().all(is_kept), "{kept:?}");
        fs::write(&go, "").unwrap();
    };
    let (generation, ()) = tokio::join!(work, sweep);
    assert_eq!(generation.outcome, azolla_protocol::GenerationOutcome::Text("kept\n".into()));
    assert_eq!(CommandProvider::sweep(&bench.state_dir()).unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sweeping_beside_runs_takes_nothing_from_them() {
    let bench = Bench::new();
    let settings = || bench.settings(STDOUT, "echo x > \"$HOME/x\"; cat \"$HOME/x\"");
    let runs = async {
        for _ in 0..20 {
            let (one, two) = tokio::join!(bench.run(settings()), bench.run(settings()));
            for generation in [one, two] {
                assert_eq!(generation.outcome, azolla_protocol::GenerationOutcome::Text("x\n".into()));
            }
        }
    };
    let state_dir = bench.state_dir();
    let is_over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = is_over.clone();
    let sweeper = std::thread::spawn(move || {
        while !seen.load(std::sync::atomic::Ordering::Relaxed) {
            CommandProvider::sweep(&state_dir).unwrap();
        }
    });
    runs.await;
    is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    sweeper.join().unwrap();
    assert!(bench.leftovers().is_empty());
}
