//! How long to wait before the next try (B-4).

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

/// The first wait.
pub(super) const FIRST: Duration = Duration::from_millis(500);

/// The longest wait that we choose ourselves.
const LONGEST: Duration = Duration::from_secs(30);

/// Returns the wait before a retry, counted from 0: doubled each time, a quarter more or less so that runs that
/// failed together do not come back together. The spread follows from who asks, so the same run waits the same.
pub(super) fn wait(first: Duration, retry: u64, who: impl Hash) -> Duration {
    let doubled = u32::try_from(retry).ok().and_then(|retry| 2_u32.checked_pow(retry));
    let whole = doubled.and_then(|times| first.checked_mul(times)).unwrap_or(LONGEST).min(LONGEST);
    let mut hasher = DefaultHasher::new();
    (who, retry).hash(&mut hasher);
    let percent = 75 + u32::try_from(hasher.finish() % 51).expect("a remainder of 51");
    whole * percent / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b4_waits_double_up_to_a_bound_and_are_spread() {
        for who in ["wo-a-1", "wo-a-2", "wo-b-1"] {
            for retry in 0..60 {
                let whole = FIRST.saturating_mul(1 << retry.min(20)).min(LONGEST);
                let found = wait(FIRST, retry, who);
                assert!(found >= whole * 3 / 4 && found <= whole * 5 / 4, "{who} {retry}: {found:?}");
                assert_eq!(found, wait(FIRST, retry, who));
            }
        }
        let spread: std::collections::BTreeSet<_> =
            (0..20).map(|entry| wait(FIRST, 3, format!("wo-a-{entry}"))).collect();
        assert!(spread.len() > 10, "{spread:?}");
        assert!(wait(FIRST, u64::MAX, "x") <= LONGEST * 5 / 4);
    }
}
