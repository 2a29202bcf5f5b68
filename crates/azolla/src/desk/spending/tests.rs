//! The line about today, in all its parts.

use azolla_protocol::limits::{DAY_MS, DAY_RUNS, DAY_TOKENS, DAY_USD};

use super::*;

#[test]
fn today_is_told_with_the_caps_that_hold() {
    let today = |today, caps: &[_]| Spending { today, held: BTreeMap::new() }.today(&Limits::with(caps));
    assert_eq!(today(Spent::default(), &[]), None);
    let run = Spent { runs: 1, ms: 90_000, ..Spent::default() };
    assert_eq!(today(run, &[]).as_deref(), Some("Today: 1 run"));
    let model = Spent { runs: 3, ms: 90_000, tokens: 120_000, cost_microusd: 841_200 };
    assert_eq!(today(model, &[]).as_deref(), Some("Today: 3 runs, 120,000 tokens, $0.84 of $20.00"));
    let capped = [(&DAY_RUNS, 9), (&DAY_MS, 3_600_000), (&DAY_TOKENS, 500_000), (&DAY_USD, 0)];
    assert_eq!(
        today(model, &capped).as_deref(),
        Some("Today: 3 of 9 runs, 1.5 min of 1 h, 120,000 of 500,000 tokens, $0.84")
    );
}
