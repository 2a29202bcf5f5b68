//! What is kept of what checks printed.

use azolla_protocol::{RunId, Timestamp, Validated, WorkOrderId};

use super::*;

/// As much as two streams leave of a check.
const FULL: usize = 32_768;

fn recorded(tails: impl IntoIterator<Item = String>) -> GateEvidence {
    let check = |tail| CheckEvidence {
        name: "n".repeat(200),
        subject: CheckSubject::Patched,
        command: vec!["word".to_owned(); 20],
        exit_code: Some(0),
        timed_out: false,
        duration_ms: 600_000,
        output_tail: tail,
        tree: Some("1".repeat(40)),
        sandbox_mode: "bubblewrap, landlock".to_owned(),
    };
    GateEvidence {
        run_id: RunId::new("run-1").unwrap(),
        work_order_id: WorkOrderId::new("wo-1").unwrap(),
        base_commit_sha: Some("1".repeat(40)),
        checks: tails.into_iter().map(check).collect(),
        created_at: Timestamp::from_millisecond(1_793_520_000_000).unwrap(),
    }
}

/// PF-7, A-5: 200 checks, with the change and without it, that fill both of their streams with what JSON is longest for.
#[test]
fn pf7_a5_what_many_talkative_checks_print_fits_one_document() {
    for line in ["\u{1}", "\"", "a line\n", "\u{fffd}", "\u{1f600}", "\u{1}\u{fffd}\"x"] {
        let tail = line.repeat(FULL / line.len());
        let quiet = "ok\n".to_owned();
        let tails = (0..400).map(|n| if n % 10 == 0 { quiet.clone() } else { tail.clone() });
        let fitted = Validated::new(fit(recorded(tails))).unwrap();
        for (n, check) in fitted.checks.iter().enumerate() {
            match n % 10 {
                0 => assert_eq!(check.output_tail, quiet, "what is short is not cut"),
                _ => {
                    assert!(tail.ends_with(&check.output_tail), "the end is kept");
                    assert!(check.output_tail.len() > 3_000, "{} of {line:?}", check.output_tail.len());
                }
            }
        }
    }
}

/// PF-7: what fits is kept whole, and one talkative check among many may say more than its share.
#[test]
fn pf7_what_fits_one_document_is_kept_whole() {
    let loud = "\u{1}".repeat(FULL);
    for evidence in [
        recorded([]),
        recorded(vec![loud.clone(); 40]),
        recorded((0..800).map(|n| if n < 20 { loud.clone() } else { "ok\n".to_owned() })),
    ] {
        assert_eq!(fit(evidence.clone()), evidence);
        Validated::new(evidence).unwrap();
    }
}
