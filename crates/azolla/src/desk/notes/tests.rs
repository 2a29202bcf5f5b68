//! What is heard of another machine's deadlines, settled or not.

use azolla_protocol::{ObjectiveStatus, PauseReason, Timestamp};

use super::*;

fn at(hour: u8) -> Timestamp {
    format!("2026-11-01T{hour:02}:00:00.000Z").parse().expect("a time")
}

fn azolla(id: &str) -> AzollaId {
    AzollaId::new(id).expect("an id")
}

fn objective(id: &str) -> ObjectiveId {
    ObjectiveId::new(id).expect("an id")
}

/// Recorded at eight.
fn passed() -> DeadlinePause {
    let pause = PauseState {
        objective_id: objective("obj-1"),
        azolla_id: azolla("az-away"),
        reason: PauseReason::RunComplete,
        prioritized_actions: vec!["Review it: azolla objective show obj-1".into()],
        created_at: at(8),
    };
    DeadlinePause { pause, at: at(7), urgency: 1 }
}

fn brief(id: &str, deadline: Option<Timestamp>) -> ObjectiveBrief {
    ObjectiveBrief {
        objective_id: objective(id),
        title: "One".into(),
        status: ObjectiveStatus::Todo,
        importance: 2,
        urgency: 1,
        updated_at: at(1),
        deadline,
    }
}

fn said(hour: u8, status: QueryStatus, remark: &str, objectives: Vec<ObjectiveBrief>) -> ManifestInput {
    let remark = remark.to_owned();
    let report =
        AzollaReport { azolla_id: azolla("az-away"), status, remark, pause_states: Vec::new(), objectives };
    ManifestInput {
        now: at(hour),
        azolla_id: azolla("az-taskmgmt"),
        captures_pending: 0,
        candidates_open: 0,
        pause_states: Vec::new(),
        azollas: vec![report],
    }
}

/// 7.4: what a later orientation did not find overdue any more is settled; silence settles nothing.
#[test]
fn d1_a_later_orientation_settles_what_is_not_overdue_any_more() {
    let (ok, away) = (QueryStatus::Ok, QueryStatus::TargetUnavailable);
    let overdue = || brief("obj-1", Some(at(7)));
    for (what, said, expected) in [
        ("done there", said(9, ok, "", vec![brief("obj-2", Some(at(7)))]), true),
        ("moved there", said(9, ok, "", vec![brief("obj-1", Some(at(20)))]), true),
        ("without a deadline", said(9, ok, "", vec![brief("obj-1", None)]), true),
        ("as it was", said(9, ok, "", vec![overdue()]), false),
        ("heard before", said(8, ok, "", vec![]), false),
        ("no answer", said(9, away, "TARGET_UNAVAILABLE", vec![]), false),
        ("not all of it", said(9, ok, "left out, as there is no room: 1 objectives", vec![]), false),
    ] {
        assert_eq!(is_settled(&passed(), &said), expected, "{what}");
    }
    let mut other = said(9, ok, "", vec![]);
    other.azollas[0].azolla_id = azolla("az-other");
    assert!(!is_settled(&passed(), &other), "another azolla");
}
