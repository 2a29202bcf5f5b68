//! MF-6 condition by condition: what passes, and what every change to it fails with.

use azolla_protocol::{
    AzollaId, DiazotrophType, JsonObject, ObjectiveStatus, OutputId, OutputMetadata, QueryStatus, SnapshotId,
    Timestamp, WorkOrderId, WorkorderStatus,
    content::{AzollaReport, ObjectiveBrief, write_data},
};
use serde_json::json;

use super::*;

fn at() -> Timestamp {
    "2026-11-16T10:00:00.000Z".parse().unwrap()
}

fn standing() -> ObjectiveId {
    ObjectiveId::new("obj-ctx").unwrap()
}

fn workorder() -> Workorder {
    Workorder {
        work_order_id: WorkOrderId::new("wo-1").unwrap(),
        objective_id: standing(),
        diazotroph_type: DiazotrophType::ManifestBuilder,
        context_snapshot_id: SnapshotId::new("snap-1").unwrap(),
        branch_name: None,
        budget_ms: 1_000,
        status: WorkorderStatus::Executed,
        created_at: at(),
    }
}

fn snapshot() -> ContextSnapshot {
    let brief = ObjectiveBrief {
        objective_id: ObjectiveId::new("obj-7").unwrap(),
        title: "Round half up".into(),
        status: ObjectiveStatus::Todo,
        importance: 2,
        urgency: 1,
        updated_at: at(),
        deadline: None,
    };
    let report = AzollaReport {
        azolla_id: AzollaId::new("az-app").unwrap(),
        status: QueryStatus::Ok,
        remark: String::new(),
        pause_states: Vec::new(),
        objectives: vec![brief],
    };
    let input = ManifestInput {
        now: at(),
        azolla_id: AzollaId::new("az-desk").unwrap(),
        captures_pending: 1,
        candidates_open: 0,
        pause_states: Vec::new(),
        azollas: vec![report],
    };
    ContextSnapshot {
        snapshot_id: SnapshotId::new("snap-1").unwrap(),
        objective_id: standing(),
        metadata: json!({"queried_azolla_ids": ["az-app", "az-web"]}).as_object().cloned(),
        repo_commit_sha: None,
        related_yield_refs: Vec::new(),
        full_prompt_text: format!("Instructions.\n{}", write_data(&input).unwrap()),
        created_at: at(),
    }
}

fn bundle(content: &str) -> OutputBundle {
    OutputBundle {
        output_id: OutputId::new("out-1").unwrap(),
        objective_id: standing(),
        title: "Orientation".into(),
        metadata: OutputMetadata {
            work_order_id: WorkOrderId::new("wo-1").unwrap(),
            runner_status: RunnerStatus::Completed,
            elapsed_ms: 1_000,
            usage: JsonObject::new(),
            more: json!({"queried_azolla_ids": ["az-app", "az-web"]}).as_object().cloned().unwrap(),
        },
        content: content.into(),
        notes: String::new(),
        created_at: at(),
    }
}

fn judge(bundle: &OutputBundle) -> Verdict {
    evaluate(&workorder(), bundle, &snapshot(), &[CaptureId::new("cap-3").unwrap()])
}

fn reason(bundle: &OutputBundle) -> String {
    match judge(bundle) {
        Verdict::Fail(failure) => failure.reason,
        pass => panic!("{pass:?}"),
    }
}

#[test]
fn mf6_a_numbered_action_that_names_something_passes() {
    let names = [
        "1. Look at obj-7, which is overdue",
        "1. Look at (obj-7).",
        "1. Read cap-3 again",
        "1. Look at the notes: azolla triage",
        "1. Type `azolla review obj-9` first",
        "Prose first.\n\n1. Rest a while\n2. Then obj-7\n",
    ];
    for content in names {
        let verdict = judge(&bundle(content));
        assert!(matches!(verdict, Verdict::Pass { .. }), "{content}: {verdict:?}");
    }
    assert_eq!(
        judge(&bundle("Two.\n1. Approve obj-7\n2. Rest\n")),
        Verdict::Pass {
            reason: "2 actions over 2 azollas".into(),
            actions: vec!["Approve obj-7".into(), "Rest".into()]
        }
    );
}

#[test]
fn mf6_an_action_that_names_nothing_real_fails() {
    let no_names = [
        "1. Do everything",
        "1. Look at obj-8",
        "1. Look at obj-70 and xobj-7",
        "1. Read cap-4",
        "1. Every azolla is fine",
        "1. Ask the azolla, run",
        "1. myazolla triage",
        "1. azolla destroy everything",
    ];
    for content in no_names {
        let expected = "no action names an objective of the data, a capture or a command";
        assert_eq!(reason(&bundle(content)), expected, "{content}");
    }
}

#[test]
fn mf6_one_to_five_actions_of_a_bounded_length() {
    assert_eq!(reason(&bundle("")), "there is no numbered action");
    assert_eq!(reason(&bundle("Look at obj-7")), "there is no numbered action");
    let list = |count| (1..=count).map(|n| format!("{n}. obj-7\n")).collect::<String>();
    assert!(matches!(judge(&bundle(&list(5))), Verdict::Pass { .. }));
    assert_eq!(reason(&bundle(&list(6))), "there are 6 numbered actions; at most 5");
    let long = |characters| bundle(&format!("1. obj-7\n2. {}", "ä".repeat(characters)));
    assert!(matches!(judge(&long(1_000)), Verdict::Pass { .. }));
    assert_eq!(reason(&long(1_001)), "action 2 is longer than 1000 characters");
}

#[test]
fn mf6_the_queried_azollas_are_those_of_the_snapshot() {
    let said = |ids| {
        let mut bundle = bundle("1. obj-7");
        bundle.metadata.more.insert("queried_azolla_ids".into(), ids);
        reason(&bundle)
    };
    for ids in [json!([]), json!(["az-app"]), json!(["az-app", "az-web", "az-other"])] {
        assert_eq!(said(ids), "metadata.queried_azolla_ids is not what the snapshot has");
    }
    assert_eq!(said(json!(null)), "metadata.queried_azolla_ids is empty");
    let mut none = bundle("1. obj-7");
    none.metadata.more.insert("queried_azolla_ids".into(), json!([]));
    let metadata = json!({"queried_azolla_ids": []}).as_object().cloned();
    let nobody = ContextSnapshot { metadata, ..snapshot() };
    let verdict = evaluate(&workorder(), &none, &nobody, &[]);
    let expected =
        Failure { reason: "metadata.queried_azolla_ids is empty".into(), next: AfterFailure::Retry };
    assert_eq!(verdict, Verdict::Fail(expected));
}

#[test]
fn mf6_schema_workorder_budget_and_data() {
    let mut foreign = bundle("1. obj-7");
    foreign.metadata.work_order_id = WorkOrderId::new("wo-2").unwrap();
    assert_eq!(reason(&foreign), "the bundle is that of wo-2 for obj-ctx");
    let mut broken = bundle("1. obj-7");
    broken.title = "x".repeat(501);
    assert!(reason(&broken).starts_with("the bundle breaks its schema: output_bundle.title"));
    let mut late = bundle("1. obj-7");
    late.metadata.elapsed_ms = 1_001;
    assert_eq!(reason(&late), "the orientation was produced outside the budget of 1000 ms");
    let bare = ContextSnapshot { full_prompt_text: "obj-7".into(), ..snapshot() };
    let Verdict::Fail(failure) = evaluate(&workorder(), &bundle("1. obj-7"), &bare, &[]) else { panic!() };
    assert_eq!(failure.reason, "the snapshot has no data to compare with");
}

#[test]
fn mf6_a_run_that_did_not_complete_fails_with_its_reason() {
    let ended = |status, failure: &str| {
        let mut bundle = bundle("1. obj-7");
        (bundle.metadata.runner_status, bundle.notes) = (status, "It said ([caps] day_usd)\nMore.".into());
        if !failure.is_empty() {
            bundle.metadata.more.insert("failure".into(), failure.into());
        }
        match judge(&bundle) {
            Verdict::Fail(Failure { reason, next: AfterFailure::Block(action) }) => {
                (reason, Some(action.unwrap_or_else(|| "blocked".to_owned())))
            }
            Verdict::Fail(Failure { reason, next: AfterFailure::Retry }) => (reason, None),
            pass => panic!("{pass:?}"),
        }
    };
    let (reason, action) = ended(RunnerStatus::BudgetExhausted, "");
    assert_eq!((reason.as_str(), action), ("BUDGET_EXHAUSTED: It said ([caps] day_usd)", None));
    let actions = ["SETUP", "RETRIES", "CAP", "PROMPT_TOO_LARGE", "POISON", ""]
        .map(|failure| ended(RunnerStatus::GenerationFailed, failure).1.unwrap_or_default());
    assert_eq!(
        actions,
        [
            "Set up the worker for orientation, then run: azolla manifest",
            "See whether the worker answers again: azolla doctor --probe && azolla manifest",
            "Raise day_usd in [caps] of the configuration, then run: azolla manifest",
            "Lower prompt_bytes in [limits], then run: azolla manifest",
            "blocked",
            "",
        ]
    );
}

#[test]
fn mf6_captures_are_looked_up_once_each_and_not_without_end() {
    let named =
        |content: &str| named_captures(&bundle(content)).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(named("cap-0\n1. cap-2, cap-1; cap-2\n2. Cap-9 cap-\n"), ["cap-1", "cap-2"]);
    let many: String = (0..1_000).map(|n| format!(" cap-{n:04}")).collect();
    assert_eq!(named(&format!("1.{many}")).len(), CAPTURES_MAX);
}
