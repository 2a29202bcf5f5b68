//! TF-6 and TF-7, condition by condition: one thing is wrong at a time, and the reason names that thing.

use azolla_protocol::{
    DiazotrophType, JsonObject, ObjectiveId, OutputMetadata, SnapshotId, Timestamp, WorkOrderId,
    WorkorderStatus,
};
use serde_json::{Value, json};

use super::*;

/// Everything that the gate looks at, all of it as PASS needs it.
struct Case {
    workorder: Workorder,
    batch: Vec<CaptureId>,
    bundle: OutputBundle,
}

impl Case {
    fn good() -> Self {
        let created_at = Timestamp::from_millisecond(1_793_520_000_000).unwrap();
        let objective_id = ObjectiveId::new("obj-standing").unwrap();
        let work_order_id = WorkOrderId::new("wo-a-1").unwrap();
        let more = json!({"capture_ids": ["cap-a", "cap-b", "cap-c"], "suggested_target_azolla_type": null});
        let metadata = OutputMetadata {
            work_order_id: work_order_id.clone(),
            runner_status: RunnerStatus::Completed,
            elapsed_ms: 1_000,
            usage: JsonObject::new(),
            more: more.as_object().cloned().unwrap(),
        };
        Self {
            workorder: Workorder {
                work_order_id,
                objective_id: objective_id.clone(),
                diazotroph_type: DiazotrophType::Triage,
                context_snapshot_id: SnapshotId::new("snap-a-1").unwrap(),
                branch_name: None,
                budget_ms: 1_000,
                status: WorkorderStatus::Executed,
                created_at,
            },
            batch: ["cap-a", "cap-b", "cap-c"].map(|id| CaptureId::new(id).unwrap()).to_vec(),
            bundle: OutputBundle {
                output_id: OutputId::new("out-a-1").unwrap(),
                objective_id,
                title: "Triage of 3 captures".into(),
                metadata,
                content: content().to_string(),
                notes: "One thing.\nMore words.".into(),
                created_at,
            },
        }
    }

    fn with(change: impl FnOnce(&mut Self)) -> Self {
        let mut case = Self::good();
        change(&mut case);
        case
    }

    /// The good case with another content.
    fn saying(change: impl FnOnce(&mut Value)) -> Self {
        let mut content = content();
        change(&mut content);
        Self::with(|case| case.bundle.content = content.to_string())
    }

    /// The good case with another end of the run.
    fn ended(status: RunnerStatus, failure: Option<&str>) -> Self {
        Self::with(|case| {
            case.bundle.metadata.runner_status = status;
            case.bundle.content.clear();
            if let Some(failure) = failure {
                case.bundle.metadata.more.insert("failure".into(), failure.into());
            }
        })
    }

    fn verdict(&self) -> Verdict {
        evaluate(&self.workorder, &self.batch, &self.bundle)
    }

    fn failure(&self) -> Failure {
        match self.verdict() {
            Verdict::Fail(failure) => failure,
            Verdict::Pass { reason, .. } => panic!("PASS: {reason}"),
        }
    }
}

fn content() -> Value {
    let candidate = |ids: &[&str]| {
        json!({"title": "Round half up", "acceptance_criteria": "0.5 rounds to 1", "rationale": "Said so.",
               "capture_ids": ids, "confidence": "HIGH"})
    };
    json!({"candidates": [candidate(&["cap-a", "cap-b"]), candidate(&["cap-a"])],
           "no_action": [{"capture_id": "cap-c", "reason": "Thanks."}]})
}

#[test]
fn tf6_a_batch_that_is_covered_passes() {
    let Verdict::Pass { reason, content } = Case::good().verdict() else { panic!("FAIL") };
    assert_eq!(reason, "3 captures of the batch: 2 candidates, 1 without action");
    assert_eq!((content.candidates.len(), content.no_action.len()), (2, 1));
}

#[test]
fn tf6_one_wrong_thing_fails_with_its_reason() {
    let cases = [
        ("there is neither a candidate nor a capture that needs no action", {
            Case::saying(|content| *content = json!({"candidates": [], "no_action": []}))
        }),
        ("cap-z is no capture of this batch", {
            Case::saying(|content| content["candidates"][0]["capture_ids"][0] = "cap-z".into())
        }),
        ("cap-y is no capture of this batch", {
            Case::saying(|content| content["no_action"][0]["capture_id"] = "cap-y".into())
        }),
        ("not in any candidate and not without action: cap-c", {
            Case::saying(|content| content["no_action"] = json!([]))
        }),
        ("candidate 2 is due on 2026-02-31, which is no day", {
            Case::saying(|content| content["candidates"][1]["due"] = "2026-02-31".into())
        }),
        ("the content is no JSON document", Case::with(|case| case.bundle.content = "prose".into())),
        ("the content holds NUL characters", {
            Case::saying(|content| content["candidates"][0]["title"] = "a\0b".into())
        }),
        ("metadata.capture_ids is not the batch of the snapshot", {
            Case::with(|case| _ = case.bundle.metadata.more.remove("capture_ids"))
        }),
        ("metadata.capture_ids is not the batch of the snapshot", {
            Case::with(|case| case.batch.truncate(2))
        }),
        ("the answer was produced outside the budget of 1000 ms", {
            Case::with(|case| case.bundle.metadata.elapsed_ms = 1_001)
        }),
        ("the bundle is that of wo-b-1 for obj-standing", {
            Case::with(|case| case.bundle.metadata.work_order_id = WorkOrderId::new("wo-b-1").unwrap())
        }),
    ];
    for (reason, case) in cases {
        assert_eq!(case.failure(), Failure { reason: reason.into(), next: AfterFailure::Retry });
    }
}

/// The schema refuses these before the gate's own words would: what is blank to a person is blank to the gate.
#[test]
fn tf6_blank_titles_and_criteria_fail() {
    for key in ["title", "acceptance_criteria"] {
        for blank in ["", " \n\t"] {
            let case = Case::saying(|content| content["candidates"][1][key] = blank.into());
            let reason = case.failure().reason;
            assert!(reason.starts_with("the content breaks its schema: "), "{reason}");
            assert!(reason.contains(key), "{reason}");
        }
    }
    // A blank that a pattern of JSON Schema takes for a character.
    let mut content = content_of(&Case::good().bundle).unwrap();
    content.candidates[1].title = "\u{a0}\u{2003}".into();
    assert_eq!(has_words(&content).unwrap_err().reason, "candidate 2 has no title");
}

#[test]
fn tf6_a_run_that_yielded_nothing_fails_with_its_own_reason() {
    for status in [RunnerStatus::BudgetExhausted, RunnerStatus::GenerationFailed] {
        let failure = Case::ended(status, None).failure();
        assert_eq!(failure, Failure { reason: format!("{status}: One thing."), next: AfterFailure::Retry });
    }
}

/// O-1: what another attempt cannot help is for the operator, with the one thing to do.
#[test]
fn o1_what_would_fail_alike_is_for_the_operator() {
    let next = |failure: &str, batch: usize| {
        let mut case = Case::ended(RunnerStatus::GenerationFailed, Some(failure));
        case.bundle.notes = "The cap is reached ([caps] day_usd)".into();
        case.batch.truncate(batch);
        case.failure().next
    };
    let block = |action: &str| AfterFailure::Block(Some(action.into()));
    assert_eq!(
        next("SETUP", 3),
        block("Set up the worker for triage, then run: azolla triage retry out-a-1")
    );
    assert_eq!(
        next("RETRIES", 1),
        block("See whether the worker answers again: azolla doctor --probe && azolla triage retry cap-a")
    );
    assert_eq!(
        next("CAP", 1),
        block("Raise day_usd in [caps] of the configuration, then run: azolla triage retry cap-a")
    );
    assert_eq!(
        next("PROMPT_TOO_LARGE", 1),
        block("Lower prompt_bytes in [limits], then run: azolla triage retry cap-a")
    );
    // One by one they may fit.
    assert_eq!(next("PROMPT_TOO_LARGE", 3), AfterFailure::Retry);
    assert_eq!(next("POISON", 3), AfterFailure::Block(None));
    assert_eq!(next("TRUNCATED", 3), AfterFailure::Retry);
}
