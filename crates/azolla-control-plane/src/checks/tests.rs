//! What is kept of a check, and what bounds it.

use super::*;

fn check(command: &[&str]) -> Check {
    let command = command.iter().map(|&word| word.to_owned()).collect();
    Check { name: "unit".to_owned(), command, time_ms: 100 }
}

#[test]
fn pf7_both_streams_are_kept_each_on_lines_of_its_own() {
    for (stdout, stderr, kept) in [
        ("", "", ""),
        ("a", "", "a"),
        ("", "b", "b"),
        ("a\n", "b", "a\nb"),
        ("a", "b", "a\nb"),
        ("a\0", "\0b", "a\u{fffd}\n\u{fffd}b"),
    ] {
        assert_eq!(tail(stdout.as_bytes(), stderr.as_bytes()), kept, "{stdout:?} {stderr:?}");
    }
}

#[test]
fn pf7_a_check_fills_no_disk() {
    let expected = ResourceLimits { file_size: Some(8 * 1024 * 1024 * 1024), ..ResourceLimits::default() };
    assert_eq!(bounds(&check(&["true"]), Sandbox::Off).limits, expected);
}

#[tokio::test]
async fn pf7_how_long_a_check_took_is_on_record() {
    let check = check(&["tail", "-f", "/dev/null"]);
    let directory = tempfile::tempdir().unwrap();
    let environment = [("PATH".into(), std::env::var_os("PATH").unwrap())].into();
    let sandbox = SandboxSettings { mode: SandboxMode::Off, ..SandboxSettings::default() };
    let evidence =
        run(&check, CheckSubject::Patched, directory.path(), "tree", &environment, &sandbox).await.unwrap();
    assert!(evidence.duration_ms >= check.time_ms, "{evidence:?}");
    let expected = CheckEvidence {
        timed_out: true,
        duration_ms: evidence.duration_ms,
        sandbox_mode: evidence.sandbox_mode.clone(),
        ..not_run(&check, CheckSubject::Patched, "tree", "")
    };
    assert_eq!(evidence, expected);
}
