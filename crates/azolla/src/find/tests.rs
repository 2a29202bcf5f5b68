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
    let is_of = |part: &str| part.parse::<IdPart>().unwrap().is_of("obj-abc123");
    for part in ["obj-abc123", "obj-a", "abc", "123", "c123", "o"] {
        assert!(is_of(part), "{part}");
    }
    for part in ["bc", "obj-b", "obj-abc1234", "12"] {
        assert!(!is_of(part), "{part}");
    }
}

#[test]
fn a_run_is_named_by_any_part_of_the_ids_of_its_entry() {
    let id = WorkOrderId::new("wo-abc123-2").unwrap();
    for part in ["run-abc123-2", "wo-abc", "run-a", "evt-abc123-2", "abc123-2", "c123-2", "-2", "abc"] {
        assert!(is_part_of_run(part, &id), "{part}");
    }
    for part in ["run-bc", "run-abc123-22", "abc123-1", "obj-abc123", "123"] {
        assert!(!is_part_of_run(part, &id), "{part}");
    }
}
