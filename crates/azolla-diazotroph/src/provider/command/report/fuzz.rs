//! What the target `provider` holds the output of agents to: bounded names and waits, and words that were printed.

use std::time::Duration;

use azolla_protocol::Timestamp;

use super::{Captured, Exit, Finished, OutputKind, Report, read, until_reset};

/// Reads a text as the output of every agent, whole and with its beginning cut off; tells whether it was one's.
pub(crate) fn check(text: &str) -> bool {
    let kinds =
        [OutputKind::Plain, OutputKind::Claude, OutputKind::Codex, OutputKind::Goose, OutputKind::Aider];
    let mut is_one = false;
    for kind in kinds {
        for (code, lost) in [(0, 0), (1, 0), (0, 9)] {
            let stdout = Captured { bytes: text.as_bytes().to_vec(), total: text.len() as u64 + lost };
            let stderr = Captured { bytes: Vec::new(), total: 0 };
            let (exit, duration) = (Exit::Code(code), Duration::ZERO);
            let report = read(kind, &Finished { exit, stdout, stderr, duration, sandbox_mode: "off".into() });
            holds(&report, text);
            is_one |= matches!(kind, OutputKind::Claude | OutputKind::Codex | OutputKind::Goose)
                && !report.is_unexpected;
        }
    }
    is_one
}

fn holds(report: &Report, text: &str) {
    if let Some(model) = &report.usage.model {
        assert!((1..=128).contains(&model.len()) && !model.chars().any(char::is_control), "{model:?}");
    }
    assert!(
        report.usage.cost_microusd.is_none_or(|cost| cost <= 1_000_000_000_000_000),
        "{:?}",
        report.usage
    );
    assert!(
        report.text.as_ref().is_none_or(|said| said.len() <= text.len()),
        "more is said than was printed"
    );
    let Some(trouble) = &report.trouble else { return };
    assert!(trouble.message.len() <= text.len() + 100);
    let now = Timestamp::from_millisecond(1_794_800_000_000).expect("a time");
    for is_utc in [true, false] {
        if let Some(wait) = until_reset(&trouble.message, now, is_utc) {
            assert!((Duration::from_secs(60)..=Duration::from_secs(7 * 86_400)).contains(&wait), "{wait:?}");
        }
    }
}
