//! What killed runs leave behind, and what must not be taken for that.

use std::{
    fs,
    sync::{
        Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};

use azolla_diazotroph::provider::{CommandProvider, CommandSettings, OutputKind, ResultBy};
use azolla_protocol::{Allowance, Diazotroph, GenerationOutcome, Reservation, Spending, Withheld};

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
        assert_eq!(CommandProvider::count_left(&bench.state_dir()).unwrap(), 2);
        assert_eq!(CommandProvider::sweep(&bench.state_dir()).unwrap(), 2);
        assert_eq!(CommandProvider::count_left(&bench.state_dir()).unwrap(), 0);
        let kept = bench.leftovers();
        let is_kept = |start: &str| {
            kept.iter().any(|path| path.file_name().unwrap().to_str().unwrap().starts_with(start))
        };
        assert!(kept.len() == 3 && ["other", "wo-a-1-7-", "wo-b-3-1"].into_iter().all(is_kept), "{kept:?}");
        fs::write(&go, "").unwrap();
    };
    let (generation, ()) = tokio::join!(work, sweep);
    assert_eq!(generation.outcome, GenerationOutcome::Text("kept\n".into()));
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
                assert_eq!(generation.outcome, GenerationOutcome::Text("x\n".into()));
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

/// Takes the one thread on which directories are removed, as soon as the cost of a run is told.
struct Busy<'a> {
    bench: &'a Bench,
    go_on: Mutex<Option<Receiver<()>>>,
}

impl Allowance for Busy<'_> {
    fn reserve(&self, _most: Spending) -> Result<Reservation, Withheld> {
        Ok(Reservation(0))
    }

    fn settle(&self, _reservation: Reservation, spent: Spending) {
        assert_eq!(spent.cost_microusd, Some(2_000));
        assert_eq!(self.bench.leftovers().len(), 1, "what it cost is told before anything is removed");
        let go_on = self.go_on.lock().unwrap().take().unwrap();
        tokio::task::spawn_blocking(move || go_on.recv());
    }
}

/// B-2, B-3: a run that fills its home is not ended by the time that it takes to empty it.
#[test]
fn b2_what_a_run_left_keeps_neither_its_answer_nor_its_cost_back() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
    let bench = Bench::new();
    let script = r#"echo '{"type":"result","result":"done","total_cost_usd":0.002}'"#;
    let settings =
        CommandSettings { output: OutputKind::Claude, ..bench.settings(ResultBy::Worktree, script) };
    let (go, go_on): (Sender<()>, _) = channel();
    let busy = Busy { bench: &bench, go_on: Mutex::new(Some(go_on)) };
    runtime.unwrap().block_on(async {
        let provider = CommandProvider::new(settings).unwrap();
        let (id, worktree) = (work_order_id(1), bench.worktree());
        let mut asked = request(&id, "x", Duration::from_secs(3), Some(&worktree));
        asked.allowance = &busy;
        let generation = tokio::time::timeout(LONG, provider.generate(asked)).await.unwrap();
        assert_eq!(generation.outcome, GenerationOutcome::Edited { said: "done".into() });
        assert_eq!(bench.leftovers().len(), 1, "the control: nothing could be removed");
        drop(go);
        until("the end of its directories", || bench.leftovers().is_empty()).await;
    });
}
