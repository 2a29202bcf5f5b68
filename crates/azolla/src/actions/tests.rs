//! What leads on from a pause.

use serde_json::json;

use super::*;

fn objective(blockers: &[&str]) -> Objective {
    let blocked_on: Vec<_> = blockers
        .iter()
        .map(|id| json!({"blocker_id": id, "kind": "USER_INPUT", "description": "d", "resolved": false}))
        .collect();
    serde_json::from_value(json!({
        "objective_id": "obj-a", "azolla_id": "az-a", "title": "t", "acceptance_criteria": "c",
        "objective_type": "TICKET", "status": "BLOCKED", "importance": 2, "urgency": 2, "blocked_reason": "d",
        "blocked_on": blocked_on, "metadata": {}, "created_at": "2026-01-01T00:00:00.000Z",
        "updated_at": "2026-01-01T00:00:00.000Z",
    }))
    .unwrap()
}

fn pause(actions: &[&str]) -> PauseState {
    serde_json::from_value(json!({
        "objective_id": "obj-a", "azolla_id": "az-a", "reason": "GATE_FAILED", "prioritized_actions": actions,
        "created_at": "2026-01-01T00:00:00.000Z",
    }))
    .unwrap()
}

#[test]
fn an_action_ends_with_its_command() {
    assert_eq!(split("Review it: azolla review obj-a"), Some(("Review it", "azolla review obj-a")));
    assert_eq!(split("Put the repository back"), None);
}

#[test]
fn s_h_whose_blocker_is_open_tells_how_it_goes_on() {
    assert_eq!(continuing(&objective(&["blk-a-1"]), None), "azolla objective retry obj-a");
    assert_eq!(continuing(&objective(&["blk-a-1", "blk-x"]), None), "azolla objective unblock obj-a");
    let budget = pause(&["See it: azolla review obj-a", "More: azolla objective retry obj-a --budget-ms 9"]);
    assert_eq!(
        continuing(&objective(&["blk-a-1"]), Some(&budget)),
        "azolla objective retry obj-a --budget-ms 9"
    );
    assert_eq!(continuing(&objective(&["blk-x"]), Some(&budget)), "azolla objective unblock obj-a");
}
