//! A worker in the sandbox: what is recorded, and what it can reach of its own.

use std::time::{Duration, Instant};

use azolla_diazotroph::provider::{CommandSettings, OutputKind, ResultBy};
use azolla_process::{SandboxMode, SandboxSettings};
use azolla_protocol::{FailureKind, GenerationOutcome};

use crate::bench::{Bench, STDOUT};

fn confined(bench: &Bench, mode: SandboxMode, result: ResultBy, script: &str) -> CommandSettings {
    let sandbox = SandboxSettings { mode, ..SandboxSettings::default() };
    CommandSettings { sandbox, output: OutputKind::Plain, ..bench.settings(result, script) }
}

/// Whatever this system can enforce, a worker gets its prompt, works in its home and worktree, and answers.
#[tokio::test]
async fn r11_a_confined_worker_still_works() {
    let bench = Bench::new();
    let script = "cat > got; echo x > \"$HOME/x\"; echo y > \"$TMPDIR/y\"; cat got \"$HOME/x\" \"$TMPDIR/y\"";
    let edits = bench.run(confined(&bench, SandboxMode::BestEffort, ResultBy::Worktree, script)).await;
    assert_eq!(edits.outcome, GenerationOutcome::Edited { said: "Round half up.x\ny".into() });
    assert_eq!(std::fs::read_to_string(bench.worktree().join("got")).unwrap(), "Round half up.");
    let prints = bench.run(confined(&bench, SandboxMode::BestEffort, STDOUT, "cat; touch here")).await;
    assert_eq!(prints.outcome, GenerationOutcome::Text("Round half up.".into()));
    assert!(edits.sandbox_mode.is_some() && edits.sandbox_mode == prints.sandbox_mode);
    assert!(bench.leftovers().is_empty());
}

/// Where it is required, a worker is either confined or not started, and then the operator is told what to do.
#[tokio::test]
async fn r11_a_sandbox_that_is_required_is_there_or_nothing_runs() {
    let bench = Bench::new();
    let secret = bench.home().join("secret");
    std::fs::create_dir_all(bench.home()).unwrap();
    std::fs::write(&secret, "canary").unwrap();
    let script = format!(
        "touch started; cat '{}' 2>/dev/null; mkdir '{}' 2>/dev/null; echo done",
        secret.display(),
        bench.home().join("made").display()
    );
    let generation = bench.run(confined(&bench, SandboxMode::Required, ResultBy::Worktree, &script)).await;
    match generation.outcome {
        GenerationOutcome::Edited { said } => {
            assert_eq!(said, "done");
            assert_ne!(generation.sandbox_mode.as_deref(), Some("off"));
            assert!(!bench.home().join("made").exists());
        }
        GenerationOutcome::Failed { kind: FailureKind::Setup, reason } => {
            assert!(!reason.is_empty() && generation.sandbox_mode.is_none());
            assert!(!bench.worktree().join("started").exists());
        }
        other => panic!("{other:?}"),
    }
}

/// The worktree is writable, its `.git` is not, where the system can tell them apart.
#[tokio::test]
async fn r11_the_worktrees_git_is_not_written_to() {
    let bench = Bench::new();
    std::fs::create_dir(bench.worktree().join(".git")).unwrap();
    std::fs::write(bench.worktree().join(".git/config"), "as it was\n").unwrap();
    let script = "echo other > .git/config; echo x > .git/new; echo edited > file; echo done";
    let generation = bench.run(confined(&bench, SandboxMode::Required, ResultBy::Worktree, script)).await;
    if let GenerationOutcome::Failed { kind, .. } = &generation.outcome {
        assert_eq!(*kind, FailureKind::Setup, "it cannot be enforced here, so nothing ran");
        assert!(!bench.worktree().join("file").exists());
    } else {
        assert_eq!(std::fs::read_to_string(bench.worktree().join("file")).unwrap(), "edited\n");
    }
    assert_eq!(std::fs::read_to_string(bench.worktree().join(".git/config")).unwrap(), "as it was\n");
    assert!(!bench.worktree().join(".git/new").exists());
}

/// P8, in the sandbox: what left its session and ignores every signal that it can is gone with the budget.
#[tokio::test]
async fn b2_t30_the_budget_ends_a_confined_tree() {
    let bench = Bench::new();
    let stamp = bench.worktree().join("stamp");
    let script = "trap '' TERM INT HUP; (setsid sh -c \"trap '' TERM; while :; do echo x >> stamp; done\" &) ; \
                  echo working; while :; do :; done";
    let budget = Duration::from_millis(1_500);
    let begin = Instant::now();
    let settings = confined(&bench, SandboxMode::BestEffort, ResultBy::Worktree, script);
    let generation = bench.run_with(settings, "x", budget).await;
    let took = begin.elapsed();
    assert_eq!(generation.outcome, GenerationOutcome::OverBudget { said: "working".into() });
    assert!(took >= budget && took < budget + Duration::from_secs(2), "{took:?}");
    let size = || std::fs::metadata(&stamp).unwrap().len();
    let (before, deadline) = (size(), Instant::now() + Duration::from_millis(300));
    while Instant::now() < deadline {
        assert_eq!(size(), before, "it still writes");
        tokio::task::yield_now().await;
    }
    assert!(bench.leftovers().is_empty());
}
