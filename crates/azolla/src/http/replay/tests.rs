//! A query counts once, within its window, whatever the memory of it has room for.

use azolla_protocol::{JsonObject, QueryableType};

use super::*;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(1_793_520_000_000 + ms).unwrap()
}

fn query(id: &str, created_at: Timestamp) -> SubstrateQuery {
    SubstrateQuery {
        query_id: QueryId::new(format!("qry-{id}")).unwrap(),
        source_azolla_id: peer("a"),
        target_azolla_id: peer("b"),
        artifact_type: QueryableType::PauseState,
        filter: JsonObject::new(),
        created_at,
    }
}

fn peer(name: &str) -> AzollaId {
    AzollaId::new(format!("az-{name}")).unwrap()
}

#[test]
fn t33_a_query_counts_once_per_peer() {
    let replay = Replay::default();
    assert_eq!(replay.admit(&peer("a"), &query("1", at(0)), at(0)), Ok(()));
    assert_eq!(replay.admit(&peer("a"), &query("1", at(0)), at(1)), Err(Denied::Replayed));
    // The same id with another time is the same query.
    assert_eq!(replay.admit(&peer("a"), &query("1", at(5)), at(5)), Err(Denied::Replayed));
    assert_eq!(replay.admit(&peer("b"), &query("1", at(0)), at(1)), Ok(()));
    assert_eq!(replay.admit(&peer("a"), &query("2", at(0)), at(1)), Ok(()));
}

#[test]
fn p16_t33_a_query_counts_within_five_minutes_of_its_time() {
    let replay = Replay::default();
    for (id, created, expected) in [
        ("1", at(-WINDOW_MS), Ok(())),
        ("2", at(-WINDOW_MS - 1), Err(Denied::Stale)),
        ("3", at(WINDOW_MS), Ok(())),
        ("4", at(WINDOW_MS + 1), Err(Denied::Stale)),
        ("5", Timestamp::MIN, Err(Denied::Stale)),
        ("6", Timestamp::MAX, Err(Denied::Stale)),
    ] {
        assert_eq!(replay.admit(&peer("a"), &query(id, created), at(0)), expected, "{created}");
    }
}

/// There is no instant at which a query is forgotten and would still be admitted.
#[test]
fn t33_what_is_forgotten_is_too_old_to_count() {
    for created in [0, WINDOW_MS, 17] {
        let replay = Replay::default();
        let query = query(&created.to_string(), at(created));
        assert_eq!(replay.admit(&peer("a"), &query, at(created.min(WINDOW_MS))), Ok(()));
        for later in [1, WINDOW_MS - 1, WINDOW_MS, WINDOW_MS + 1, 3 * WINDOW_MS] {
            assert!(replay.admit(&peer("a"), &query, at(created + later)).is_err(), "{later}");
        }
    }
}

/// A clock that was ahead and is set right again lets nothing in twice, and holds nothing new up.
#[test]
fn t33_a_clock_that_is_set_back_admits_nothing_again() {
    let replay = Replay::default();
    let old = query("old", at(0));
    assert_eq!(replay.admit(&peer("a"), &old, at(0)), Ok(()));
    let year = 365 * 24 * 3_600_000;
    assert_eq!(replay.admit(&peer("a"), &query("ahead", at(year)), at(year)), Ok(()));
    assert_eq!(replay.admit(&peer("a"), &old, at(1)), Err(Denied::Stale));
    assert_eq!(replay.admit(&peer("a"), &query("new", at(1)), at(1)), Ok(()));
    assert_eq!(replay.admit(&peer("a"), &query("new", at(1)), at(2)), Err(Denied::Replayed));
    // Who asked nothing before has nothing to repeat.
    assert_eq!(replay.admit(&peer("b"), &old, at(1)), Ok(()));
}

#[test]
fn t33_the_memory_is_bounded_and_forgets_nothing_for_that() {
    let replay = Replay::default();
    for n in 0..REMEMBERED_MAX {
        assert_eq!(replay.admit(&peer("a"), &query(&n.to_string(), at(0)), at(0)), Ok(()));
    }
    assert_eq!(replay.admit(&peer("a"), &query("more", at(0)), at(0)), Err(Denied::TooMany));
    assert_eq!(replay.admit(&peer("a"), &query("0", at(0)), at(0)), Err(Denied::Replayed));
    // Another peer is not held up by it.
    assert_eq!(replay.admit(&peer("b"), &query("0", at(0)), at(0)), Ok(()));
    let later = WINDOW_MS + 1;
    assert_eq!(replay.admit(&peer("a"), &query("0", at(later)), at(later)), Ok(()));
    assert_eq!(replay.peers.lock().unwrap()[&peer("a")].known.len(), 1);
}

#[test]
fn t33_a_query_is_remembered_to_the_end_of_its_window() {
    let replay = Replay::default();
    assert_eq!(replay.admit(&peer("a"), &query("1", at(0)), at(0)), Ok(()));
    assert_eq!(replay.admit(&peer("a"), &query("1", at(0)), at(WINDOW_MS)), Err(Denied::Replayed));
    assert_eq!(replay.admit(&peer("a"), &query("2", at(0)), at(WINDOW_MS)), Ok(()));
}
