//! Workers that look at their own pace, and when to look again at what failed.

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

#[test]
fn c8_of_two_reasons_to_wait_the_sooner_counts() {
    let [short, long] = [3, 5].map(Duration::from_secs);
    assert_eq!(Tick::Idle.or_wait(long), Tick::Waiting(long));
    assert_eq!(Tick::Waiting(short).or_wait(long), Tick::Waiting(short));
    assert_eq!(Tick::Waiting(long).or_wait(short), Tick::Waiting(short));
}

/// PF-3b: waits grow by four up to five minutes, and begin anew once it moved.
#[test]
fn pf3_w7_what_fails_again_waits_for_longer() {
    let backoff = Backoff::default();
    let resource = ResourceRef::from(&azolla_protocol::EventId::new("evt-1").unwrap());
    assert_eq!(backoff.wait(&resource), None);
    for seconds in [10, 40, 160, 300, 300, 300, 300, 300] {
        assert_eq!(backoff.failed(&resource), Duration::from_secs(seconds));
    }
    assert!(backoff.wait(&resource).is_some_and(|left| left <= Duration::from_secs(300)));
    backoff.moved(&resource);
    assert_eq!(backoff.wait(&resource), None);
    assert_eq!(backoff.failed(&resource), Duration::from_secs(10));
}

#[test]
fn w7_what_this_process_made_is_known_until_it_moves() {
    let backoff = Backoff::default();
    let [a, b] = ["evt-1", "evt-2"].map(|id| ResourceRef::from(&azolla_protocol::EventId::new(id).unwrap()));
    backoff.know(&a);
    backoff.know(&b);
    assert!(backoff.knows(&a) && backoff.knows(&b));
    backoff.moved(&a);
    assert!(!backoff.knows(&a) && backoff.knows(&b));
}
