//! Sessions last for as long as they are used, and are few.

use super::*;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(1_800_000_000_000 + ms).unwrap()
}

fn hash(n: usize) -> TokenHash {
    TokenHash::of(&n.to_string())
}

fn lasts(home: &Home, session: usize, operator: usize, ms: i64) -> bool {
    home.use_session(&hash(session), &hash(operator), at(ms)).unwrap() != SessionUse::Over
}

fn home() -> (tempfile::TempDir, Home) {
    let directory = tempfile::tempdir().unwrap();
    let home = Home::open(&directory.path().join("home.sqlite")).unwrap();
    (directory, home)
}

#[test]
fn a_session_lasts_thirty_days_from_its_last_use() {
    let (_directory, mut home) = home();
    let operator = hash(0);
    home.begin_session(&hash(1), &operator, at(0)).unwrap();
    assert!(lasts(&home, 1, 0, LASTS_MS));
    assert!(lasts(&home, 1, 0, 2 * LASTS_MS), "it was used in between");
    assert!(!lasts(&home, 1, 0, 3 * LASTS_MS + 1));
    assert!(!lasts(&home, 2, 0, 0));
}

#[test]
fn a_session_is_worth_as_much_as_the_token_that_it_began_with() {
    let (_directory, mut home) = home();
    home.begin_session(&hash(1), &hash(0), at(0)).unwrap();
    assert!(!lasts(&home, 1, 9, 1));
    home.begin_session(&hash(2), &hash(9), at(1)).unwrap();
    assert!(!lasts(&home, 1, 0, 2), "the first of another token clears the old ones");
}

#[test]
fn there_are_so_many_sessions_and_the_least_used_ends_first() {
    let (_directory, mut home) = home();
    let operator = hash(0);
    for n in 1..=SESSIONS_MAX {
        home.begin_session(&hash(n), &operator, at(n as i64)).unwrap();
    }
    assert!(lasts(&home, 1, 0, SEEN_EVERY_MS + 2));
    home.begin_session(&hash(100), &operator, at(SEEN_EVERY_MS + 3)).unwrap();
    let lasting: Vec<_> = [1, 2, 3, SESSIONS_MAX, 100].map(|n| lasts(&home, n, 0, SEEN_EVERY_MS + 4)).into();
    assert_eq!(lasting, [true, false, true, true, true]);
    home.end_session(&hash(1)).unwrap();
    assert_eq!(home.end_sessions().unwrap(), SESSIONS_MAX - 1);
}
