//! Ids at the door.

use super::*;

#[test]
fn t18_what_can_be_no_id_is_refused() {
    let long = "a".repeat(300);
    for text in
        ["--force", "-x", "$(id)", ";", "..", "x.lock", "@{-1}", "", "A", "a b", "a/b", "é", "a\n", &long]
    {
        assert!(text.parse::<IdPart>().is_err(), "{text:?}");
    }
    for text in ["obj-0123456789ab", "0", "run-x-1", "9ab"] {
        assert!(text.parse::<IdPart>().is_ok(), "{text:?}");
    }
}

#[test]
fn a_part_is_a_beginning_or_an_end() {
    let id = ObjectiveId::new("obj-abc123").unwrap();
    for part in ["obj-abc123", "obj-a", "abc", "123", "c123", "o"] {
        assert!(is_part(part, &id), "{part}");
    }
    for part in ["bc", "obj-b", "obj-abc1234", "12"] {
        assert!(!is_part(part, &id), "{part}");
    }
}

#[test]
fn a_derived_id_names_its_objective_and_its_run() {
    assert_eq!(derived("run-abc-x-2"), Some(("abc-x", 2)));
    assert_eq!(derived("wo-abc-10"), Some(("abc", 10)));
    assert_eq!(derived("obj-abc-1"), None);
    assert_eq!(derived("run-abc"), None);
}
