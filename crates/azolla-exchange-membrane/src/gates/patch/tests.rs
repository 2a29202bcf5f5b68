//! PF-7 and PF-8, condition by condition: one thing is wrong at a time, and the reason names that thing.

use azolla_protocol::{
    DiazotrophType, JsonObject, OutputId, OutputMetadata, SnapshotId, Timestamp, WorkOrderId, WorkorderStatus,
};
use serde_json::{Value, json};

use super::*;

const COMMIT: &str = "1111111111111111111111111111111111111111";
const TREE: &str = "2222222222222222222222222222222222222222";

/// Everything that the gate looks at, all of it as PASS needs it.
struct Case {
    workorder: Workorder,
    bundle: OutputBundle,
    evidence: PatchEvidence,
}

impl Case {
    fn good() -> Self {
        let created_at = Timestamp::from_millisecond(1_793_520_000_000).unwrap();
        let objective_id = ObjectiveId::new("obj-a").unwrap();
        let work_order_id = WorkOrderId::new("wo-a-1").unwrap();
        let more = json!({
            "branch_name": "azolla/obj-a", "pr_description_draft": "Rounds half up.", "commit_sha": COMMIT,
        });
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
                diazotroph_type: DiazotrophType::Patch,
                context_snapshot_id: SnapshotId::new("snap-a-1").unwrap(),
                branch_name: Some("azolla/obj-a".into()),
                budget_ms: 1_000,
                status: WorkorderStatus::Executed,
                created_at,
            },
            bundle: OutputBundle {
                output_id: OutputId::new("out-a-1").unwrap(),
                objective_id,
                title: "Round half up".into(),
                metadata,
                content: "diff --git a/x b/x\n".into(),
                notes: "One line changed.\nMore words.".into(),
                created_at,
            },
            evidence: PatchEvidence {
                rebuilt: Some(Rebuilt::Commit(COMMIT.into())),
                applies_to_current_base: Some(true),
                checks: vec![
                    check("test", CheckSubject::Patched, Some(0)),
                    check("test", CheckSubject::Base, Some(0)),
                    check("lint", CheckSubject::Patched, Some(0)),
                ],
                checks_refused: None,
            },
        }
    }

    /// The good case with one thing changed.
    fn with(change: impl FnOnce(&mut Self)) -> Self {
        let mut case = Self::good();
        change(&mut case);
        case
    }

    /// The good case with another end of the run.
    fn ended(status: RunnerStatus, failure: Option<&str>) -> Self {
        Self::with(|case| {
            case.bundle.metadata.runner_status = status;
            if let Some(failure) = failure {
                case.set("failure", failure.into());
            }
        })
    }

    fn set(&mut self, key: &str, value: Value) {
        self.bundle.metadata.more.insert(key.into(), value);
    }

    fn verdict(&self) -> Verdict {
        evaluate(&self.workorder, &self.bundle, &self.evidence)
    }

    /// The reason of a FAIL that another attempt may mend.
    #[track_caller]
    fn retried(&self) -> String {
        match self.verdict() {
            Verdict::Fail(Failure { reason, next: AfterFailure::Retry }) => reason,
            other => panic!("{other:?} is no FAIL that is tried again"),
        }
    }

    /// The reason of a FAIL that waits for the operator, and the action.
    #[track_caller]
    fn blocked(&self) -> (String, Option<String>) {
        match self.verdict() {
            Verdict::Fail(Failure { reason, next: AfterFailure::Block(action) }) => (reason, action),
            other => panic!("{other:?} is no FAIL that waits for the operator"),
        }
    }
}

fn check(name: &str, subject: CheckSubject, exit_code: Option<i64>) -> CheckEvidence {
    CheckEvidence {
        name: name.into(),
        subject,
        command: vec![name.into()],
        exit_code,
        timed_out: false,
        duration_ms: 5,
        output_tail: String::new(),
        tree: Some(TREE.into()),
        sandbox_mode: "off".into(),
    }
}

#[test]
fn pf7_pass_names_what_was_checked() {
    let rest = format!("base + stored patch is commit {COMMIT}; it applies to the base as it is now");
    assert_eq!(Case::good().verdict(), Verdict::Pass(format!("2 checks passed (test, lint); {rest}")));
    let one = Case::with(|case| case.evidence.checks.truncate(1));
    assert_eq!(one.verdict(), Verdict::Pass(format!("1 check passed (test); {rest}")));
    let none = Case::with(|case| case.evidence.checks.clear());
    assert_eq!(none.verdict(), Verdict::Pass(format!("no checks are configured; {rest}")));
}

#[test]
fn pf7_a_run_that_did_not_complete_fails_with_its_end() {
    let retried = [
        (RunnerStatus::PatchApplyFailed, "PATCH_APPLY_FAILED: One line changed."),
        (RunnerStatus::BudgetExhausted, "BUDGET_EXHAUSTED: One line changed."),
        (RunnerStatus::GenerationFailed, "GENERATION_FAILED: One line changed."),
    ];
    for (status, reason) in retried {
        assert_eq!(Case::ended(status, None).retried(), reason);
    }
    let silent = Case::with(|case| {
        case.bundle.metadata.runner_status = RunnerStatus::GenerationFailed;
        case.bundle.notes = "\n  \n".into();
    });
    assert_eq!(silent.retried(), "GENERATION_FAILED");
}

#[test]
fn pf7_an_exhausted_budget_fails_with_that_reason_and_not_for_its_emptiness() {
    let case = Case::with(|case| {
        case.bundle.metadata.runner_status = RunnerStatus::BudgetExhausted;
        case.bundle.content.clear();
        case.bundle.metadata.elapsed_ms = 9_000;
        case.bundle.metadata.more.clear();
        case.evidence.rebuilt = None;
        case.evidence.applies_to_current_base = None;
    });
    assert_eq!(case.retried(), "BUDGET_EXHAUSTED: One line changed.");
}

#[test]
fn pf8_a_missing_credential_waits_for_the_operator() {
    let action = Some("Set up the worker, then run: azolla objective retry obj-a".to_owned());
    let reason = "GENERATION_FAILED: One line changed.".to_owned();
    assert_eq!(Case::ended(RunnerStatus::GenerationFailed, Some("SETUP")).blocked(), (reason, action));
}

#[test]
fn pf8_a_prompt_too_large_for_the_model_waits_for_the_operator() {
    let action = "Shorten the objective, or lower prompt_repository_bytes in [limits], then run: azolla objective retry obj-a";
    let case = Case::ended(RunnerStatus::GenerationFailed, Some("PROMPT_TOO_LARGE"));
    assert_eq!(case.blocked().1.as_deref(), Some(action));
}

#[test]
fn pf8_a_repository_that_cannot_be_used_waits_for_its_action() {
    let mut case = Case::ended(RunnerStatus::GenerationFailed, Some("REPOSITORY"));
    assert_eq!(case.blocked().1, None, "none is known");
    case.set("action", "Make room; then: azolla objective retry obj-a".into());
    let reason = "GENERATION_FAILED: One line changed.".to_owned();
    assert_eq!(case.blocked(), (reason, Some("Make room; then: azolla objective retry obj-a".to_owned())));
}

#[test]
fn w7_a_poisoned_workorder_waits_for_the_operator() {
    let reason = "GENERATION_FAILED: One line changed.".to_owned();
    assert_eq!(Case::ended(RunnerStatus::GenerationFailed, Some("POISON")).blocked(), (reason, None));
}

#[test]
fn pf8_the_kind_of_failure_counts_in_a_failed_generation_alone() {
    for failure in ["SETUP", "REPOSITORY", "POISON", "PROMPT_TOO_LARGE"] {
        for status in [RunnerStatus::PatchApplyFailed, RunnerStatus::BudgetExhausted] {
            Case::ended(status, Some(failure)).retried();
        }
        assert!(matches!(Case::ended(RunnerStatus::Completed, Some(failure)).verdict(), Verdict::Pass(_)));
    }
    Case::ended(RunnerStatus::GenerationFailed, Some("OTHER")).retried();
}

#[test]
fn pf7_a_bundle_that_breaks_its_schema_fails() {
    let case = Case::with(|case| case.bundle.title = "x".repeat(501));
    let reason = case.retried();
    assert!(reason.starts_with("the bundle breaks its schema: output_bundle.title"), "{reason}");
}

#[test]
fn pf7_the_yield_of_another_workorder_fails() {
    let other = Case::with(|case| case.bundle.metadata.work_order_id = WorkOrderId::new("wo-a-2").unwrap());
    assert_eq!(other.retried(), "the bundle is that of wo-a-2 for obj-a");
    let other = Case::with(|case| case.bundle.objective_id = ObjectiveId::new("obj-b").unwrap());
    assert_eq!(other.retried(), "the bundle is that of wo-a-1 for obj-b");
}

#[test]
fn pf7_an_empty_patch_fails() {
    for content in ["", " \n\t\n"] {
        assert_eq!(Case::with(|case| case.bundle.content = content.into()).retried(), "the patch is empty");
    }
}

#[test]
fn pf7_branch_pr_text_and_commit_are_needed() {
    for key in ["branch_name", "pr_description_draft", "commit_sha"] {
        let reason = format!("metadata.{key} is empty");
        for value in [json!(""), json!(" \n"), json!(null), json!(7), json!(["x"])] {
            assert_eq!(Case::with(|case| case.set(key, value.clone())).retried(), reason, "{value}");
        }
        let absent = Case::with(|case| drop(case.bundle.metadata.more.remove(key)));
        assert_eq!(absent.retried(), reason);
    }
}

#[test]
fn pf7_another_branch_than_the_workorders_fails() {
    let reason = "metadata.branch_name is not the branch of the workorder";
    assert_eq!(Case::with(|case| case.set("branch_name", "main".into())).retried(), reason);
    assert_eq!(Case::with(|case| case.workorder.branch_name = None).retried(), reason);
}

#[test]
fn pf7_a_patch_outside_the_budget_fails() {
    let late = Case::with(|case| case.bundle.metadata.elapsed_ms = 1_001);
    assert_eq!(late.retried(), "the patch was produced outside the budget of 1000 ms");
    let latest = Case::with(|case| case.bundle.metadata.elapsed_ms = 1_000);
    assert!(matches!(latest.verdict(), Verdict::Pass(_)));
}

#[test]
fn pf7_base_and_stored_patch_must_be_the_recorded_commit() {
    let rebuilt = |rebuilt: Option<Rebuilt>| Case::with(|case| case.evidence.rebuilt = rebuilt).retried();
    let reason = format!("base + stored patch is commit {TREE}, not {COMMIT}");
    assert_eq!(rebuilt(Some(Rebuilt::Commit(TREE.into()))), reason);
    let reason = "the stored patch does not apply to its base: x: no such file";
    assert_eq!(rebuilt(Some(Rebuilt::Refused("x: no such file\nhint".into()))), reason);
    assert_eq!(rebuilt(None), "base + stored patch was not rebuilt");
}

#[test]
fn pf7_the_patch_must_apply_to_the_base_as_it_is_now() {
    let applies = |tried| Case::with(|case| case.evidence.applies_to_current_base = tried).retried();
    assert_eq!(applies(Some(false)), "the patch does not apply to the base branch as it is now");
    assert_eq!(applies(None), "it was not tried whether the patch applies to the base branch as it is now");
}

#[test]
fn pf7_checks_that_cannot_be_run_wait_for_the_operator() {
    let case = Case::with(|case| {
        let (reason, action) = (".azolla.toml is not trusted".into(), "azolla trust".into());
        case.evidence.checks_refused = Some(ChecksRefused { reason, action });
        // What did run does not make up for it.
        case.evidence.checks.truncate(1);
    });
    let reason = "the checks cannot be run: .azolla.toml is not trusted".to_owned();
    assert_eq!(case.blocked(), (reason, Some("azolla trust".to_owned())));
}

#[test]
fn pf7_a_check_that_fails_fails_the_gate() {
    let lint =
        |change: fn(&mut CheckEvidence)| Case::with(|case| change(&mut case.evidence.checks[2])).retried();
    assert_eq!(lint(|check| check.exit_code = Some(3)), "check lint failed with exit code 3");
    assert_eq!(lint(|check| check.exit_code = Some(-1)), "check lint failed with exit code -1");
    assert_eq!(lint(|check| check.exit_code = None), "check lint was ended by a signal");
    // Whatever its exit code says.
    assert_eq!(lint(|check| check.timed_out = true), "check lint ran out of time");
}

#[test]
fn pf7_every_check_that_fails_is_named() {
    let case = Case::with(|case| {
        case.evidence.checks[0].exit_code = Some(1);
        case.evidence.checks[2].timed_out = true;
    });
    assert_eq!(case.retried(), "check test failed with exit code 1; check lint ran out of time");
}

#[test]
fn pf7_a_check_counts_for_the_one_tree_that_it_ran_on() {
    let none = Case::with(|case| case.evidence.checks[2].tree = None);
    assert_eq!(none.retried(), "check lint names no tree that it ran on");
    let other = Case::with(|case| case.evidence.checks[2].tree = Some(COMMIT.into()));
    assert_eq!(other.retried(), "check lint ran on another tree than the first");
    let base = Case::with(|case| case.evidence.checks[1].tree = Some(COMMIT.into()));
    assert!(matches!(base.verdict(), Verdict::Pass(_)), "the base is another tree");
}

#[test]
fn pf8_a_check_that_fails_on_the_base_too_waits_for_the_operator() {
    let ways: [fn(&mut CheckEvidence); 3] =
        [|check| check.exit_code = Some(1), |check| check.exit_code = None, |check| check.timed_out = true];
    for (patched, base) in ways.iter().flat_map(|patched| ways.iter().map(move |base| (patched, base))) {
        let case = Case::with(|case| {
            patched(&mut case.evidence.checks[0]);
            base(&mut case.evidence.checks[1]);
            // Another failure, which an attempt could mend, changes nothing about that.
            case.evidence.checks[2].exit_code = Some(1);
        });
        let action = "Make check test pass on the base, then run: azolla objective retry obj-a".to_owned();
        assert_eq!(case.blocked(), ("check test fails on the base too".to_owned(), Some(action)));
    }
}

#[test]
fn pf8_a_failure_of_the_base_alone_is_not_put_down_to_the_patch() {
    let mended = Case::with(|case| case.evidence.checks[1].exit_code = Some(1));
    assert!(matches!(mended.verdict(), Verdict::Pass(_)));
    let other = Case::with(|case| {
        case.evidence.checks[1].exit_code = Some(1);
        case.evidence.checks[2].exit_code = Some(1);
    });
    assert_eq!(other.retried(), "check lint failed with exit code 1", "it is another check that fails");
}

/// M-1: what did not start on one tree alone is a matter of that tree.
#[test]
fn pf8_a_check_that_is_only_in_one_tree_is_put_down_to_that_tree() {
    let not_run = |check: &mut CheckEvidence| {
        check.exit_code = None;
        check.sandbox_mode = NOT_RUN.into();
        check.output_tail = "check test cannot be started: ./test is not in the repository".into();
    };
    let removed = Case::with(|case| not_run(&mut case.evidence.checks[0]));
    assert_eq!(removed.retried(), "check test cannot be started: ./test is not in the repository");
    let brought = Case::with(|case| {
        not_run(&mut case.evidence.checks[1]);
        case.evidence.checks[0].exit_code = Some(1);
    });
    assert_eq!(brought.retried(), "check test failed with exit code 1");
}

#[test]
fn pf7_the_first_condition_that_does_not_hold_is_the_reason() {
    let mut case = Case::with(|case| {
        case.bundle.metadata.runner_status = RunnerStatus::PatchApplyFailed;
        case.bundle.title = "x".repeat(501);
        case.bundle.content.clear();
        case.bundle.metadata.elapsed_ms = 9_000;
        case.evidence.rebuilt = None;
        case.evidence.applies_to_current_base = None;
        case.evidence.checks[2].exit_code = Some(1);
    });
    case.set("commit_sha", "".into());
    let mut reasons = Vec::new();
    let mends: [fn(&mut Case); 7] = [
        |case| case.bundle.metadata.runner_status = RunnerStatus::Completed,
        |case| case.bundle.title = "x".into(),
        |case| case.bundle.content = "diff".into(),
        |case| case.set("commit_sha", COMMIT.into()),
        |case| case.bundle.metadata.elapsed_ms = 1,
        |case| case.evidence.rebuilt = Some(Rebuilt::Commit(COMMIT.into())),
        |case| case.evidence.applies_to_current_base = Some(true),
    ];
    for mend in mends {
        reasons.push(case.retried());
        mend(&mut case);
    }
    reasons.push(case.retried());
    insta::assert_snapshot!(reasons.join("\n"), @r"
    PATCH_APPLY_FAILED: One line changed.
    the bundle breaks its schema: output_bundle.title: must be at most 500 characters long
    the patch is empty
    metadata.commit_sha is empty
    the patch was produced outside the budget of 1000 ms
    base + stored patch was not rebuilt
    it was not tried whether the patch applies to the base branch as it is now
    check lint failed with exit code 1
    ");
}

/// A reason goes into a run_record, which has room for 10,000 characters.
#[test]
fn t31_a_reason_stays_short_whatever_it_repeats() {
    let long = "é".repeat(100_000);
    let many = |subject| (0..500).map(move |n| check(&format!("{n}{}", "c".repeat(190)), subject, Some(1)));
    let cases = [
        Case::with(|case| {
            case.bundle.metadata.runner_status = RunnerStatus::GenerationFailed;
            case.bundle.notes = long.clone();
        }),
        Case::with(|case| case.evidence.rebuilt = Some(Rebuilt::Refused(long.clone()))),
        Case::with(|case| case.evidence.rebuilt = Some(Rebuilt::Commit(long.clone()))),
        Case::with(|case| case.evidence.checks = many(CheckSubject::Patched).collect()),
        Case::with(|case| {
            case.evidence.checks = many(CheckSubject::Patched).chain(many(CheckSubject::Base)).collect();
        }),
        Case::with(|case| {
            let action = "azolla trust".into();
            case.evidence.checks_refused = Some(ChecksRefused { reason: long.clone(), action });
        }),
        Case::with(|case| {
            case.evidence.checks = many(CheckSubject::Patched).collect();
            for check in &mut case.evidence.checks {
                check.exit_code = Some(0);
            }
        }),
    ];
    for case in cases {
        let text = match case.verdict() {
            Verdict::Pass(text) => text,
            Verdict::Fail(failure) => failure.reason,
        };
        assert!(text.chars().count() < 2_000, "{} characters", text.chars().count());
    }
}

/// A reason that announces what a worker printed has the end of it, where errors are.
#[test]
fn pf7_a_reason_does_not_end_in_an_announcement() {
    assert_eq!(
        super::brief("exit code 3; it printed:\nreading\nerror: no such model\n"),
        "exit code 3; it printed: error: no such model"
    );
    assert_eq!(super::brief("\nno key\nmore"), "no key");
}
