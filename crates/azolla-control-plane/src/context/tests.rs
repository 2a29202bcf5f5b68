//! Workers that look at their own pace.

use super::*;

/// Section 6, 7.4: a first look at once, then none before its time, and one after it; each worker for itself.
#[test]
fn a_worker_with_a_pace_of_its_own_looks_when_it_is_time() {
    let backoff = Backoff::default();
    let (monitor, long) = (WorkerRole::DeadlineMonitor, Duration::from_secs(15 * 60));
    assert!(backoff.is_due(monitor, long));
    assert!(backoff.is_due(monitor, long), "it has not looked yet");
    backoff.looked(monitor);
    assert!(!backoff.is_due(monitor, long));
    assert!(backoff.is_due(monitor, Duration::ZERO), "the time is over");
    assert!(backoff.is_due(WorkerRole::ManifestScheduler, long), "another worker");
}
