//! O-1, sign by sign.

use super::{Overwhelm, Trial, detect};

const FAILED: Trial<'_> =
    Trial { reason: "check tests failed with exit code 1", tree: Some("aaaa"), is_over_budget: false };

#[test]
fn o1_two_different_failures_leave_room_for_a_third_attempt() {
    let other =
        Trial { reason: "check lint failed with exit code 1", tree: Some("bbbb"), is_over_budget: false };
    assert_eq!(detect(other, Some(FAILED), 2, 5), None);
    assert_eq!(detect(FAILED, None, 1, 5), None);
}

#[test]
fn o1_the_attempts_are_used_up() {
    let other = Trial { reason: "another", tree: None, is_over_budget: false };
    assert_eq!(detect(other, Some(FAILED), 2, 2), Some(Overwhelm::Attempts(2)));
    assert_eq!(detect(FAILED, None, 1, 1), Some(Overwhelm::Attempts(1)));
}

#[test]
fn o1_the_same_reason_twice_running() {
    let again = Trial { tree: Some("bbbb"), ..FAILED };
    assert_eq!(detect(again, Some(FAILED), 2, 5), Some(Overwhelm::SameReason));
}

#[test]
fn o1_the_same_tree_twice_running() {
    let again = Trial { reason: "check lint failed with exit code 1", ..FAILED };
    assert_eq!(detect(again, Some(FAILED), 2, 5), Some(Overwhelm::SameTree));
    // No tree at all is not the same tree.
    let none = |reason| Trial { reason, tree: None, is_over_budget: false };
    assert_eq!(detect(none("one"), Some(none("two")), 2, 5), None);
}

#[test]
fn o1_the_budget_is_over_twice_running() {
    let over = |reason| Trial { reason, tree: None, is_over_budget: true };
    assert_eq!(
        detect(over("after 600000 ms"), Some(over("after 1200000 ms")), 2, 5),
        Some(Overwhelm::BudgetTwice)
    );
    assert_eq!(detect(over("once"), Some(FAILED), 2, 5), None);
}
