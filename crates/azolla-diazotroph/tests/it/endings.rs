//! How a program ends: by itself, well or not, at the end of its budget, or with the future that runs it.

use std::time::{Duration, Instant};

use azolla_diazotroph::provider::{CommandProvider, CommandSettings, ResultBy};
use azolla_protocol::{Diazotroph, FailureKind, GenerationOutcome, Usage};

use crate::bench::{Bench, LONG, STDOUT, failed, request, until, work_order_id};

#[tokio::test]
async fn providers_2_a_program_that_prints_nothing_has_not_answered() {
    let bench = Bench::new();
    for script in ["true", "printf ' \\n\\t\\n'"] {
        let reason = failed(bench.printed(script).await, FailureKind::Other);
        assert_eq!(reason, "the program printed nothing on stdout");
    }
    let reason = failed(bench.printed("echo overloaded >&2").await, FailureKind::Other);
    assert_eq!(reason, "the program printed nothing on stdout; it printed:\noverloaded");
}

#[tokio::test]
async fn pf6_an_exit_code_other_than_0_fails_whatever_was_edited() {
    let bench = Bench::new();
    let reason =
        failed(bench.edited("echo x > a; echo half way; echo cannot >&2; exit 3").await, FailureKind::Other);
    assert_eq!(
        reason,
        "the program ended with exit code 3, so whatever it changed was not taken; it printed:\nhalf way\ncannot"
    );
    let reason = failed(bench.printed("echo text; exit 1").await, FailureKind::Other);
    assert_eq!(reason, "the program ended with exit code 1; it printed:\ntext");
    let reason = failed(bench.printed("kill -9 $$").await, FailureKind::Other);
    assert_eq!(reason, "the program was ended by signal 9");
    assert!(bench.leftovers().is_empty());
}

#[tokio::test]
async fn pf8_a_missing_program_is_the_operators_to_set_up() {
    let bench = Bench::new();
    for name in ["no-such-agent", "/no/such/agent"] {
        let argv = vec![name.to_owned()];
        let generation = bench.run(CommandSettings { argv, ..bench.settings(STDOUT, "") }).await;
        let reason = failed(generation.outcome, FailureKind::Setup);
        let text =
            format!("the program {name} was not found; install it, or correct `argv` of provider agent");
        assert_eq!(reason, text);
        assert_eq!(generation.usage, Usage::default());
    }
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("agent");
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    let name = program.display().to_string();
    let generation =
        bench.run(CommandSettings { argv: vec![name.clone()], ..bench.settings(STDOUT, "") }).await;
    let reason = failed(generation.outcome, FailureKind::Setup);
    let text =
        format!("the program {name} is not executable; make it so, or correct `argv` of provider agent");
    assert_eq!(reason, text);
    // It is there, and what it is to run is not.
    for (script, code) in [("no-such-agent", 127), ("/etc/passwd", 126)] {
        let reason = failed(bench.printed(script).await, FailureKind::Setup);
        let text = format!("the program ended with exit code {code}: a program is missing; it printed:");
        assert!(reason.starts_with(&text), "{reason}");
    }
}

/// T11: what the worktree or the current directory holds is not looked at.
#[tokio::test]
async fn t11_a_program_is_found_on_the_given_path_alone() {
    let bench = Bench::new();
    let planted = bench.worktree().join("agent-x");
    std::fs::copy("/bin/true", planted).unwrap();
    for path in ["", ".", "bin", "/no/such/directory"] {
        let settings = CommandSettings {
            argv: vec!["agent-x".into()],
            path: path.into(),
            ..bench.settings(ResultBy::Worktree, "")
        };
        failed(bench.run(settings).await.outcome, FailureKind::Setup);
    }
}

#[tokio::test]
async fn providers_3_an_error_that_is_reported_with_exit_code_0_is_one() {
    let bench = Bench::new();
    let report = r#"{"type":"result","subtype":"success","is_error":true,"result":"Invalid key"}"#;
    for script in [format!("echo '{report}'"), format!("echo '{{\"type\":\"system\"}}'; echo '{report}'")] {
        let reason = failed(bench.edited(&script).await, FailureKind::Other);
        assert!(
            reason.starts_with("the program ended with exit code 0 and reports an error; it printed:"),
            "{reason}"
        );
        assert!(reason.contains("Invalid key"), "{reason}");
        failed(bench.printed(&script).await, FailureKind::Other);
    }
    let fine = r#"{"is_error":false,"result":"done"}"#;
    assert_eq!(
        bench.edited(&format!("echo '{fine}'")).await,
        GenerationOutcome::Edited { said: fine.into() }
    );
}

#[tokio::test]
async fn t31_an_answer_that_is_too_large_ends_the_program() {
    let bench = Bench::new();
    let reason = failed(bench.printed("yes").await, FailureKind::Other);
    assert_eq!(reason, "the program printed more than 8388608 bytes and was ended");
    let most = bench.printed("head -c 8388608 /dev/zero | tr '\\0' x").await;
    assert!(matches!(most, GenerationOutcome::Text(text) if text.len() == 8_388_608));
}

#[tokio::test]
async fn t31_what_an_editing_program_prints_has_no_limit_and_its_end_is_kept() {
    let bench = Bench::new();
    let GenerationOutcome::Edited { said } = bench.edited("yes | head -c 50000000; echo the end").await
    else {
        panic!("it edits")
    };
    assert!(said.len() <= 4096 && said.ends_with("y\nthe end"), "{} bytes", said.len());
}

#[tokio::test]
async fn t31_an_answer_that_is_no_text_is_refused() {
    let bench = Bench::new();
    let reason = failed(bench.printed("printf '\\377\\376'").await, FailureKind::Other);
    assert!(reason.starts_with("the program printed bytes that are no UTF-8 text;"), "{reason}");
}

/// B-2, T30: it ignores what it is asked, and has started what outlives it.
#[tokio::test]
async fn b2_t30_the_budget_ends_the_whole_tree() {
    let bench = Bench::new();
    let stamp = bench.beside("stamp");
    let script = format!(
        "trap '' TERM INT HUP; (setsid sh -c \"trap '' TERM; while :; do echo x >> '{0}'; done\" &) ; \
         echo working; while :; do :; done",
        stamp.display()
    );
    let budget = Duration::from_millis(700);
    let begin = Instant::now();
    let generation = bench.run_with(bench.settings(ResultBy::Worktree, &script), "x", budget).await;
    let took = begin.elapsed();
    assert_eq!(generation.outcome, GenerationOutcome::OverBudget { said: "working".into() });
    assert!(took >= budget && took < budget + Duration::from_secs(2), "{took:?}");
    let size = || std::fs::metadata(&stamp).unwrap().len();
    let (before, deadline) = (size(), Instant::now() + Duration::from_millis(300));
    assert!(before > 0, "the one that left the tree had begun");
    while Instant::now() < deadline {
        assert_eq!(size(), before, "it still writes");
        tokio::task::yield_now().await;
    }
    assert!(bench.leftovers().is_empty());
}

#[tokio::test]
async fn b2_without_any_budget_left_nothing_is_started() {
    let bench = Bench::new();
    let settings = bench.settings(ResultBy::Worktree, "echo x > started");
    let generation = bench.run_with(settings, "x", Duration::ZERO).await;
    assert_eq!(generation.outcome, GenerationOutcome::OverBudget { said: String::new() });
    assert_eq!(generation.usage, Usage::default());
    assert!(!bench.worktree().join("started").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn b2_dropping_the_future_ends_the_program_and_removes_its_home() {
    let bench = Bench::new();
    let (stamp, started) = (bench.beside("stamp"), bench.beside("started"));
    let script = format!(
        "echo secret > \"$HOME/kept\"; mkdir \"$HOME/closed\"; touch \"$HOME/closed/x\"; chmod 500 \"$HOME/closed\"; \
         touch '{}'; while :; do echo x >> '{}'; done",
        started.display(),
        stamp.display()
    );
    let provider = CommandProvider::new(bench.settings(STDOUT, &script)).unwrap();
    let id = work_order_id(1);
    let work = provider.generate(request(&id, "x", LONG, None));
    tokio::select! {
        generation = work => panic!("it ended by itself: {generation:?}"),
        () = until("the start", || started.exists()) => {}
    }
    until("the end of its directories", || bench.leftovers().is_empty()).await;
    let size = || std::fs::metadata(&stamp).map_or(0, |found| found.len());
    let (before, deadline) = (size(), Instant::now() + Duration::from_millis(300));
    while Instant::now() < deadline {
        assert_eq!(size(), before, "it still writes");
        tokio::task::yield_now().await;
    }
    assert!(bench.leftovers().is_empty());
}

/// B-2, T30: many, and none of them listens. How the program was confined is told all the same.
#[tokio::test(flavor = "multi_thread")]
async fn b2_t30_thousands_that_ignore_what_they_are_asked_end_in_time() {
    const MANY: &str = "$SIG{TERM} = 'IGNORE'; $| = 1; for (1..4000) { my $child = fork // die \"fork: $!\"; \
                        select(undef, undef, undef, 1000) while !$child; print \"$_\\n\" if $_ % 1000 == 0 } \
                        select(undef, undef, undef, 1000) while 1;";
    let bench = Bench::new();
    let mut settings = bench.settings(ResultBy::Worktree, "");
    settings.argv = ["perl", "-e", MANY].map(str::to_owned).to_vec();
    let budget = Duration::from_secs(8);
    let begin = Instant::now();
    let generation = bench.run_with(settings, "x", budget).await;
    let took = begin.elapsed();
    let GenerationOutcome::OverBudget { said } = generation.outcome else { panic!("{generation:?}") };
    assert!(said.starts_with("1000\n2000"), "{said}");
    assert_eq!(generation.sandbox_mode.as_deref(), Some("off"));
    assert!(took >= budget && took < budget + Duration::from_secs(2), "{took:?}");
}
