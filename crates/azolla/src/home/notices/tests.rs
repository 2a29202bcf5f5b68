//! A notice is claimed once, whoever asks.

use std::{path::Path, sync::Barrier};

use azolla_protocol::ObjectiveId;

use super::*;
use crate::notify::Kind;

fn id() -> AzollaId {
    AzollaId::new("az-a").unwrap()
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap()
}

fn notice(key: &str) -> Notice {
    Notice {
        kind: Kind::YourMove,
        azolla_id: id(),
        objective_id: ObjectiveId::new("obj-a").unwrap(),
        title: format!("title of {key}"),
        text: "Look at it".into(),
        command: "azolla review obj-a".into(),
        pause_key: key.into(),
        at: at(1),
    }
}

fn claim(cursor: &str, keys: &[&str]) -> [Claim; 1] {
    let notices = keys.iter().map(|key| notice(key)).collect();
    [Claim { azolla_id: id(), cursor: cursor.parse().unwrap(), notices }]
}

fn keys(notices: &[Notice]) -> Vec<&str> {
    notices.iter().map(|notice| notice.pause_key.as_str()).collect()
}

fn home() -> (tempfile::TempDir, Home) {
    let directory = tempfile::tempdir().unwrap();
    let home = Home::open(&directory.path().join("home.sqlite")).unwrap();
    (directory, home)
}

#[test]
fn a_notice_is_claimed_once_and_the_place_only_moves_forward() {
    let (_directory, mut home) = home();
    assert_eq!(home.notice_place(&id()).unwrap(), None);
    let fresh = home.claim_notices(&claim("0:9", &["a", "b"]), Delivery::Now, at(1)).unwrap();
    assert_eq!(keys(&fresh), ["a", "b"]);
    // A second program that looks from further back finds one of them again.
    let fresh = home.claim_notices(&claim("0:7", &["b", "c"]), Delivery::Now, at(2)).unwrap();
    assert_eq!(keys(&fresh), ["c"]);
    assert_eq!(home.notice_place(&id()).unwrap(), Some("0:9".parse().unwrap()));
}

#[test]
fn what_was_told_half_a_year_ago_is_forgotten_and_what_is_held_is_not() {
    const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
    let (_directory, mut home) = home();
    let day = |n: i64| at(1_793_520_000_000 + n * DAY_MS);
    home.claim_notices(&claim("0:1", &["told"]), Delivery::Now, day(0)).unwrap();
    home.claim_notices(&claim("0:2", &["held"]), Delivery::Later, day(0)).unwrap();
    // Nobody claims what is there.
    let mut again = |n: i64, other: &str| {
        let all = claim("0:3", &["told", "held", other]);
        keys(&home.claim_notices(&all, Delivery::Now, day(n)).unwrap()).len()
    };
    assert_eq!(again(180, "a"), 1, "it is kept for so long");
    assert_eq!(again(181, "b"), 1, "and forgotten with what is told after that");
    assert_eq!(again(182, "c"), 2, "the first, and not what is held");
}

#[test]
fn programs_that_claim_at_once_share_the_notices_among_them() {
    let (directory, _home) = home();
    let path: &Path = &directory.path().join("home.sqlite");
    let all: Vec<String> = (0..20).map(|n| format!("k{n:02}")).collect();
    let start = Barrier::new(4);
    let claimed = std::thread::scope(|scope| {
        let programs = [(); 4].map(|()| {
            scope.spawn(|| {
                let mut home = Home::open(path).unwrap();
                start.wait();
                let mut claimed = Vec::new();
                for key in &all {
                    claimed.extend(home.claim_notices(&claim("0:1", &[key]), Delivery::Now, at(1)).unwrap());
                }
                claimed
            })
        });
        programs.map(|program| program.join().unwrap()).concat()
    });
    let mut claimed = keys(&claimed);
    claimed.sort_unstable();
    assert_eq!(claimed, all);
}

#[test]
fn what_is_held_back_is_released_whole_and_once() {
    let (_directory, mut home) = home();
    home.claim_notices(&claim("0:1", &["a"]), Delivery::Later, at(1)).unwrap();
    home.claim_notices(&claim("0:2", &["b"]), Delivery::Later, at(2)).unwrap();
    home.claim_notices(&claim("0:3", &["c"]), Delivery::Now, at(3)).unwrap();
    assert_eq!(home.held_notices().unwrap(), 2);
    // It is claimed all the same.
    assert_eq!(home.claim_notices(&claim("0:2", &["a"]), Delivery::Now, at(4)).unwrap(), []);
    let mut release = || home.claim_and_release_notices(&[], Delivery::Now, at(5)).unwrap();
    assert_eq!(release(), (vec![], vec![(id(), notice("a")), (id(), notice("b"))]));
    assert_eq!(release(), (vec![], vec![]));
}

#[test]
fn the_failure_of_a_channel_is_kept_until_it_works_again() {
    let (_directory, home) = home();
    assert_eq!(home.channel_failure("command").unwrap(), None);
    home.channel_sent("command", at(1)).unwrap();
    home.channel_failed("command", "exit 1", at(2)).unwrap();
    assert_eq!(home.channel_failure("command").unwrap(), Some((at(2), "exit 1".into())));
    assert_eq!(home.channel_failure("desktop").unwrap(), None);
    home.channel_sent("command", at(3)).unwrap();
    assert_eq!(home.channel_failure("command").unwrap(), None);
}

/// What is claimed is never sent by anybody else, so it may not get lost beside what fails.
#[test]
fn what_was_found_stays_unclaimed_where_the_held_ones_cannot_be_released() {
    let (_directory, mut home) = home();
    home.claim_notices(&claim("0:1", &["a"]), Delivery::Later, at(1)).unwrap();
    let fails = "CREATE TRIGGER fails BEFORE UPDATE ON notice WHEN new.held IS NULL BEGIN SELECT RAISE(ABORT, 'no'); END";
    home.connection.execute_batch(fails).unwrap();
    home.claim_and_release_notices(&claim("0:2", &["b"]), Delivery::Now, at(2)).unwrap_err();
    assert_eq!(home.notice_place(&id()).unwrap(), Some("0:1".parse().unwrap()));
    home.connection.execute_batch("DROP TRIGGER fails").unwrap();
    let both = home.claim_and_release_notices(&claim("0:2", &["b"]), Delivery::Now, at(3)).unwrap();
    assert_eq!(both, (vec![notice("b")], vec![(id(), notice("a"))]));
}
