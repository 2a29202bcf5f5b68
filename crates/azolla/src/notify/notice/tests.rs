//! Only what asks for something, or is finished, is told of.

use azolla_protocol::JsonObject;
use serde_json::json;

use super::*;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap()
}

fn objective(status: ObjectiveStatus) -> Objective {
    Objective {
        objective_id: ObjectiveId::new("obj-a").unwrap(),
        azolla_id: AzollaId::new("az-app").unwrap(),
        title: "Round half up".into(),
        acceptance_criteria: "it does".into(),
        objective_type: ObjectiveType::Ticket,
        status,
        importance: 2,
        urgency: 2,
        blocked_reason: None,
        blocked_on: Vec::new(),
        metadata: JsonObject::new(),
        created_at: at(1),
        updated_at: at(1),
    }
}

fn paused(status: ObjectiveStatus, reason: PauseReason, action: &str) -> Paused {
    let objective = objective(status);
    Paused {
        key: "workorder:wo-a-1".into(),
        pause: PauseState {
            objective_id: objective.objective_id.clone(),
            azolla_id: objective.azolla_id.clone(),
            reason,
            prioritized_actions: vec![action.into()],
            created_at: at(7),
        },
        objective: Some(objective),
        is_current: true,
        is_orientation: false,
    }
}

const REVIEW: &str = "Review PR on azolla/obj-a: azolla review obj-a";

/// Which kind of notice, what it says, and what to type.
fn told(paused: &Paused) -> Option<(Kind, String, String)> {
    Notice::of(paused).map(|notice| (notice.kind, notice.text, notice.command))
}

#[test]
fn a_result_that_passed_is_finished() {
    let passed = paused(ObjectiveStatus::Done, PauseReason::RunComplete, REVIEW);
    assert_eq!(
        Notice::of(&passed).unwrap(),
        Notice {
            kind: Kind::Finished,
            azolla_id: AzollaId::new("az-app").unwrap(),
            objective_id: ObjectiveId::new("obj-a").unwrap(),
            title: "Round half up".into(),
            text: "Review PR on azolla/obj-a".into(),
            command: "azolla review obj-a".into(),
            pause_key: "workorder:wo-a-1".into(),
            at: at(7),
        }
    );
}

#[test]
fn what_is_stuck_is_the_operators_move() {
    let failed = paused(
        ObjectiveStatus::Blocked,
        PauseReason::GateFailed,
        "Review gate failure reason: azolla review obj-a",
    );
    let expected = (Kind::YourMove, "Review gate failure reason".into(), "azolla review obj-a".into());
    assert_eq!(told(&failed), Some(expected));
    // Something to do outside of this program, then a command.
    let by_hand = paused(
        ObjectiveStatus::Blocked,
        PauseReason::Blocked,
        "Mount /repo; then: azolla objective retry obj-a",
    );
    let expected = (Kind::YourMove, "Mount /repo".into(), "azolla objective retry obj-a".into());
    assert_eq!(told(&by_hand), Some(expected));
    let only_words = paused(ObjectiveStatus::Blocked, PauseReason::GateFailed, "Mend the base.");
    let expected = (Kind::YourMove, "Mend the base".into(), "azolla objective retry obj-a".into());
    assert_eq!(told(&only_words), Some(expected));
}

#[test]
fn what_asks_for_nothing_is_not_told_of() {
    let retried = paused(
        ObjectiveStatus::Todo,
        PauseReason::GateFailed,
        "Nothing is needed: attempt 2 of 2 is scheduled",
    );
    let mut answered = paused(ObjectiveStatus::Blocked, PauseReason::GateFailed, REVIEW);
    answered.is_current = false;
    let mut confirmed = paused(ObjectiveStatus::Done, PauseReason::RunComplete, REVIEW);
    let completion = json!({"confirmed_at": at(8), "confirmed_by": "me", "run_id": "run-a-1"});
    confirmed.objective.as_mut().unwrap().metadata.insert("completion".into(), completion);
    let mut orientation = paused(ObjectiveStatus::InProgress, PauseReason::RunComplete, REVIEW);
    orientation.objective.as_mut().unwrap().objective_type = ObjectiveType::Standing;
    orientation.is_orientation = true;
    for paused in [retried, answered, confirmed, orientation] {
        assert_eq!(Notice::of(&paused), None, "{paused:?}");
    }
}

#[test]
fn a_deadline_of_another_machine_can_only_be_put_off_here() {
    let action =
        "Review overdue objective obj-a (urgency 1) of az-app, on its machine: azolla objective show obj-a";
    let mut overdue = paused(ObjectiveStatus::New, PauseReason::RunComplete, action);
    overdue.key = "deadline:az-app:obj-a:2026-11-01T00:00:00.000Z".into();
    let text = "Review overdue objective obj-a (urgency 1) of az-app";
    let here = (Kind::YourMove, text.to_owned(), "azolla objective show obj-a".into());
    assert_eq!(told(&overdue), Some(here));
    overdue.objective = None;
    let notice = Notice::of(&overdue).unwrap();
    assert_eq!((notice.title.as_str(), notice.text), ("obj-a", format!("{text}, on its machine")));
    assert_eq!(notice.command, "azolla snooze obj-a --azolla az-app");
}

/// T22: a title comes from a model, and may hold anything.
#[test]
fn t22_titles_lose_what_a_terminal_or_a_line_would_obey() {
    let mut passed = paused(ObjectiveStatus::Done, PauseReason::RunComplete, REVIEW);
    passed.objective.as_mut().unwrap().title = "a\u{1b}[31m\nb\u{202e}c".into();
    let notice = Notice::of(&passed).unwrap();
    assert_eq!(notice.title, "a\u{fffd}[31m b\u{fffd}c");
    assert_eq!(Notice::read(&notice.stored()), Some(notice));
}
