//! The home store keeps what it is told, for its owner alone.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn pins_and_looks_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("home.sqlite");
    let (id, at) = (AzollaId::new("az-a").unwrap(), Timestamp::from_millisecond(5).unwrap());
    {
        let home = Home::open(&path).unwrap();
        assert_eq!((home.pinned("/r").unwrap(), home.look(&id).unwrap()), (None, None));
        home.pin("/r", b"one", at).unwrap();
        home.pin("/r", b"two", at).unwrap();
        home.looked(&id, &Look { cursor: "0:7".into(), at }).unwrap();
    }
    let home = Home::open(&path).unwrap();
    assert_eq!(home.pinned("/r").unwrap().as_deref(), Some(&b"two"[..]));
    assert_eq!((home.pinned_at("/r").unwrap(), home.pinned_at("/s").unwrap()), (Some(at), None));
    assert_eq!(home.look(&id).unwrap(), Some(Look { cursor: "0:7".into(), at }));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_newer_home_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("home.sqlite");
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 9").unwrap();
    assert!(matches!(Home::open(&path), Err(HomeError::Newer(9))));
}
