//! Which entry an attempt is of.

use super::*;

#[test]
fn g1_the_entry_of_a_workorder_is_read_only_for_its_own_objective() {
    for (objective, workorder, expected) in [
        ("obj-a", "wo-a-1", Some(1)),
        ("obj-a", "wo-a-10", Some(10)),
        ("obj-a-1", "wo-a-1-2", Some(2)),
        ("obj-a", "wo-a-1-2", None),
        ("obj-a-1", "wo-a-1", None),
        ("obj-a", "wo-ab-1", None),
        ("obj-a", "wo-a-", None),
        ("obj-a", "wo-a-x", None),
        ("obj-a", "wo-a-99999999999999999999", None),
    ] {
        assert_eq!(
            entry(&ObjectiveId::new(objective).unwrap(), workorder),
            expected,
            "{objective} {workorder}"
        );
    }
}
