//! What is kept of answers, in all.

use azolla_protocol::PauseState;
use serde_json::json;

use super::*;

fn answer(azolla: &str, count: usize) -> Asked {
    let pause = json!({
        "objective_id": "obj-1", "azolla_id": azolla, "reason": "GATE_FAILED",
        "prioritized_actions": ["x".repeat(900)], "created_at": "2026-11-01T08:00:00.000Z",
    });
    let results = vec![pause.as_object().expect("its shape").clone(); count];
    Asked { status: QueryStatus::Ok, results, reason: String::new() }
}

async fn read(intake: &Intake, azolla: &str, count: usize) -> (QueryStatus, usize, String) {
    let azolla_id = AzollaId::new(azolla).expect("an id");
    let heard = intake.read(azolla_id, answer(azolla, count), |pause: &PauseState| &pause.azolla_id).await;
    (heard.status, heard.found.len(), heard.remark)
}

/// M-4, P16: what has no room is as good as not answered, and says so; those that fit are used.
#[tokio::test]
async fn m4_p16_what_is_kept_of_all_answers_is_bounded() {
    let intake = Intake::with_room(20_000);
    assert_eq!(read(&intake, "az-one", 5).await, (QueryStatus::Ok, 5, String::new()));
    let refused = "TARGET_UNAVAILABLE: there was no room for all of its answer beside those of the others";
    assert_eq!(read(&intake, "az-two", 400).await, (QueryStatus::TargetUnavailable, 0, refused.to_owned()));
    assert_eq!(read(&intake, "az-empty", 0).await, (QueryStatus::Ok, 0, String::new()));
    let whole = Intake::new();
    assert_eq!(read(&whole, "az-two", 400).await, (QueryStatus::Ok, 400, String::new()));
}
