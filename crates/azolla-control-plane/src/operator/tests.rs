//! What each step makes of an objective, and what it refuses, without a store.

use azolla_protocol::{
    ApprovalProblem, AzollaId, AzollaType, BlockerRef, IdBody, ObjectiveStatus, ObjectiveType, Timestamp,
    approval_problems,
};
use serde_json::{Value, json};

use super::{next::*, *};

const ID: &str = "obj-7";

fn by() -> By<'static> {
    let now = Timestamp::from_millisecond(1_793_520_000_000).unwrap();
    By { who: "ada", now, blueprint: AzollaType::CodePatch.blueprint() }
}

fn earlier() -> Timestamp {
    by().now.plus_ms(-1_000)
}

/// A ticket that nobody has approved yet.
fn new(at: Timestamp) -> Objective {
    let metadata = json!({"repo_ref": "/repos/app", "base_branch": "main"});
    Objective {
        objective_id: ObjectiveId::new(ID).unwrap(),
        azolla_id: azolla_id(),
        title: "Round half up".into(),
        acceptance_criteria: "- 0.5 rounds to 1\n- the tests pass".into(),
        objective_type: ObjectiveType::Ticket,
        status: ObjectiveStatus::New,
        importance: 2,
        urgency: 3,
        blocked_reason: None,
        blocked_on: Vec::new(),
        metadata: metadata.as_object().cloned().unwrap(),
        created_at: at,
        updated_at: at,
    }
}

fn azolla_id() -> AzollaId {
    AzollaId::new("az-test").unwrap()
}

fn at(status: ObjectiveStatus) -> Objective {
    let mut objective = Objective { status, ..new(earlier()) };
    if status != ObjectiveStatus::New {
        objective.metadata.insert("approval".into(), json!({"approved_at": earlier(), "approved_by": "bob"}));
    }
    objective
}

fn stored(objective: Objective) -> StoredObjective {
    StoredObjective { objective, version: 3, todo_entry: 2, waiting: false, pause_key: None }
}

fn blocker(id: &str, resolved: bool) -> BlockerRef {
    let kind = BlockerKind::UserInput;
    BlockerRef { blocker_id: BlockerId::new(id).unwrap(), kind, description: format!("why {id}"), resolved }
}

fn blocked(blockers: &[BlockerRef]) -> Objective {
    Objective {
        blocked_on: blockers.to_vec(),
        blocked_reason: Some("stuck".into()),
        ..at(ObjectiveStatus::Blocked)
    }
}

fn run(n: u64) -> RunId {
    RunId::new(format!("run-7-{n}")).unwrap()
}

#[track_caller]
fn step(change: Result<Change, OperatorError>) -> (ObjectiveStep, Objective) {
    match change {
        Ok(Change::Step(step, next)) => (step, *next),
        other => panic!("{other:?} is no step"),
    }
}

#[track_caller]
fn edited(change: Result<Change, OperatorError>) -> Objective {
    match change {
        Ok(Change::Edit(next)) => *next,
        other => panic!("{other:?} is no edit"),
    }
}

/// The fact and the hint, as a screen shows them.
#[track_caller]
fn refusal(change: Result<Change, OperatorError>) -> String {
    match change {
        Err(OperatorError::Refused { what, hint: Some(hint) }) => format!("{what}\nhint: {hint}"),
        Err(OperatorError::Refused { what, hint: None }) => what,
        other => panic!("{other:?} is no refusal"),
    }
}

type Verb = (&'static str, fn(&Objective) -> Result<Change, OperatorError>);

const VERBS: [Verb; 10] = [
    ("edit", |was| edit(was, &Changes { title: Some("New".into()), ..Changes::default() }, &by())),
    ("approve", |was| approve(was, &by())),
    ("withdraw", |was| withdraw(was, &by())),
    ("block", |was| {
        block(was, &BlockerId::new("blk-fresh").unwrap(), "why", BlockerKind::DesignDecision, &by())
    }),
    ("unblock", |was| unblock(was, None, &by())),
    ("retry", |was| retry(was, None, &by())),
    ("reject", |was| reject(&stored(was.clone()), Some(&run(2)), "no", &by())),
    ("confirm", |was| confirm(&stored(was.clone()), Some(&run(2)), &by())),
    ("cancel", |was| cancel(was, "enough", &by())),
    ("archive", |was| archive(was, &by())),
];

/// S-1, S-3: every verb at every status. A refusal names both states, and what to type where there is something.
#[test]
fn s1_every_verb_at_every_status() {
    let mut lines = Vec::new();
    for (verb, apply) in VERBS {
        for status in ObjectiveStatus::ALL {
            lines.push(match apply(&at(*status)) {
                Ok(Change::Step(step, next)) => format!("{verb} {status}: {step} -> {}", next.status),
                Ok(Change::Edit(next)) => format!("{verb} {status}: edit -> {}", next.status),
                Ok(Change::Nothing) => format!("{verb} {status}: nothing"),
                Err(OperatorError::Refused { what, hint }) => {
                    format!("{verb} {status}: {what} | {}", hint.as_deref().unwrap_or("-"))
                }
                Err(other) => panic!("{other}"),
            });
        }
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
    edit NEW: edit -> NEW
    edit TODO: withdraw approval -> NEW
    edit IN_PROGRESS: objective obj-7 is IN_PROGRESS; an edit of title, criteria, repository or base needs NEW, TODO or BLOCKED | azolla objective cancel obj-7
    edit BLOCKED: edit -> BLOCKED
    edit DONE: objective obj-7 is DONE; an edit of title, criteria, repository or base needs NEW, TODO or BLOCKED | azolla objective reject obj-7
    approve NEW: approve -> TODO
    approve TODO: objective obj-7 is TODO; approve needs NEW | azolla run
    approve IN_PROGRESS: objective obj-7 is IN_PROGRESS; approve needs NEW | azolla run
    approve BLOCKED: objective obj-7 is BLOCKED; approve needs NEW | azolla objective retry obj-7
    approve DONE: objective obj-7 is DONE; approve needs NEW | azolla review obj-7
    withdraw NEW: objective obj-7 is NEW; withdraw needs TODO | -
    withdraw TODO: withdraw approval -> NEW
    withdraw IN_PROGRESS: objective obj-7 is IN_PROGRESS; withdraw needs TODO | azolla objective cancel obj-7
    withdraw BLOCKED: objective obj-7 is BLOCKED; withdraw needs TODO | azolla objective archive obj-7
    withdraw DONE: objective obj-7 is DONE; withdraw needs TODO | azolla review obj-7
    block NEW: block -> BLOCKED
    block TODO: block -> BLOCKED
    block IN_PROGRESS: edit -> IN_PROGRESS
    block BLOCKED: objective obj-7 is BLOCKED; block needs NEW or TODO | azolla objective show obj-7
    block DONE: objective obj-7 is DONE; block needs NEW or TODO | azolla objective reject obj-7
    unblock NEW: objective obj-7 is NEW; unblock needs BLOCKED | azolla objective approve obj-7
    unblock TODO: objective obj-7 is TODO; unblock needs BLOCKED | azolla run
    unblock IN_PROGRESS: objective obj-7 is IN_PROGRESS; unblock needs BLOCKED | azolla run
    unblock BLOCKED: unblock -> TODO
    unblock DONE: objective obj-7 is DONE; unblock needs BLOCKED | azolla review obj-7
    retry NEW: objective obj-7 is NEW; retry needs BLOCKED | azolla objective approve obj-7
    retry TODO: objective obj-7 is TODO; retry needs BLOCKED | azolla run
    retry IN_PROGRESS: objective obj-7 is IN_PROGRESS; retry needs BLOCKED | azolla run
    retry BLOCKED: unblock -> TODO
    retry DONE: objective obj-7 is DONE; retry needs BLOCKED | azolla objective reject obj-7
    reject NEW: objective obj-7 is NEW; reject needs DONE | azolla objective approve obj-7
    reject TODO: objective obj-7 is TODO; reject needs DONE | azolla run
    reject IN_PROGRESS: objective obj-7 is IN_PROGRESS; reject needs DONE | azolla run
    reject BLOCKED: objective obj-7 is BLOCKED; reject needs DONE | azolla objective retry obj-7
    reject DONE: reject -> TODO
    confirm NEW: objective obj-7 is NEW; confirm needs DONE | azolla objective approve obj-7
    confirm TODO: objective obj-7 is TODO; confirm needs DONE | azolla run
    confirm IN_PROGRESS: objective obj-7 is IN_PROGRESS; confirm needs DONE | azolla run
    confirm BLOCKED: objective obj-7 is BLOCKED; confirm needs DONE | azolla objective retry obj-7
    confirm DONE: confirm -> DONE
    cancel NEW: objective obj-7 is NEW; cancel needs IN_PROGRESS | azolla objective archive obj-7
    cancel TODO: objective obj-7 is TODO; cancel needs IN_PROGRESS | azolla objective withdraw obj-7
    cancel IN_PROGRESS: edit -> IN_PROGRESS
    cancel BLOCKED: objective obj-7 is BLOCKED; cancel needs IN_PROGRESS | azolla objective archive obj-7
    cancel DONE: objective obj-7 is DONE; cancel needs IN_PROGRESS | azolla review obj-7
    archive NEW: archive -> NEW
    archive TODO: archive -> TODO
    archive IN_PROGRESS: objective obj-7 is IN_PROGRESS; archive needs NEW or TODO or BLOCKED | azolla objective cancel obj-7
    archive BLOCKED: archive -> BLOCKED
    archive DONE: objective obj-7 is DONE; archive needs NEW or TODO or BLOCKED | azolla review obj-7
    ");
}

#[test]
fn s1_a_standing_objective_takes_no_step_of_the_operator() {
    let standing = Objective { objective_type: ObjectiveType::Standing, ..at(ObjectiveStatus::InProgress) };
    for (verb, apply) in VERBS.into_iter().skip(1) {
        let what = format!("objective {ID} is STANDING; {verb} needs a TICKET");
        assert_eq!(refusal(apply(&standing)), what);
    }
}

#[test]
fn so_an_archived_objective_comes_back_before_anything_else() {
    for status in [ObjectiveStatus::New, ObjectiveStatus::Todo, ObjectiveStatus::Blocked] {
        let (taken, archived) = step(archive(&at(status), &by()));
        assert_eq!(taken, ObjectiveStep::Archive);
        assert_eq!(archived.metadata["archived_at"], json!(by().now));
        for (verb, apply) in VERBS {
            let text = format!("objective {ID} is archived\nhint: azolla objective unarchive {ID}");
            assert_eq!(refusal(apply(&archived)), text, "{verb}");
        }
        let (taken, back) = step(unarchive(&archived, &by()));
        assert_eq!(taken, ObjectiveStep::Unarchive);
        assert_eq!(back, Objective { updated_at: by().now, ..at(status) });
        assert_eq!(refusal(unarchive(&back, &by())), format!("objective {ID} is not archived"));
    }
}

#[test]
fn sj_a_confirmed_objective_is_final() {
    let (_, confirmed) = step(confirm(&stored(at(ObjectiveStatus::Done)), Some(&run(2)), &by()));
    for (verb, apply) in VERBS {
        assert_eq!(
            refusal(apply(&confirmed)),
            format!("objective {ID} is confirmed, which is final"),
            "{verb}"
        );
    }
}

#[test]
fn sa_a_new_objective_holds_what_was_given() {
    let given = NewObjective {
        title: "Round half up".into(),
        acceptance_criteria: "- 0.5 rounds to 1\n- the tests pass".into(),
        repo_ref: "/repos/app".into(),
        base_branch: "main".into(),
        importance: 2,
        urgency: 3,
    };
    let id = ObjectiveId::new(ID).unwrap();
    let made = create(&given, id, &azolla_id(), &by()).unwrap();
    assert_eq!(made, new(by().now));
}

#[test]
fn sa_texts_may_be_missing_until_approval() {
    let id = ObjectiveId::new(ID).unwrap();
    let made = create(&NewObjective::default(), id, &azolla_id(), &by()).unwrap();
    assert!(made.metadata.is_empty());
    insta::assert_snapshot!(refusal(approve(&made, &by())), @r"
    objective obj-7 cannot be approved: objective.title: must not be empty; objective.acceptance_criteria: must not be empty; objective.metadata.repo_ref: must not be empty; objective.metadata.base_branch: must not be empty
    hint: azolla objective edit obj-7
    ");
}

#[test]
fn sa_an_azolla_without_tickets_takes_none() {
    let by = By { blueprint: AzollaType::TaskMgmt.blueprint(), ..by() };
    let id = ObjectiveId::new(ID).unwrap();
    let made = create(&NewObjective::default(), id, &azolla_id(), &by);
    let text = "az-test is a TASK_MGMT_AZOLLA: it takes no tickets";
    assert_eq!(made.unwrap_err().to_string(), text);
}

#[test]
fn sa_a_title_is_one_line() {
    let id = ObjectiveId::new(ID).unwrap();
    let new = NewObjective { title: "a\nb".into(), ..NewObjective::default() };
    let made = create(&new, id, &azolla_id(), &by());
    assert_eq!(made.unwrap_err().to_string(), "objective.title: must be one line");
    let changes = Changes { title: Some("a\rb".into()), ..Changes::default() };
    assert_eq!(
        refusal(edit(&at(ObjectiveStatus::New), &changes, &by())),
        "objective.title: must be one line"
    );
}

#[test]
fn sb_approval_records_who_and_when() {
    let (taken, next) = step(approve(&at(ObjectiveStatus::New), &by()));
    assert_eq!(taken, ObjectiveStep::Approve);
    let mut expected = at(ObjectiveStatus::New);
    expected.status = ObjectiveStatus::Todo;
    expected.updated_at = by().now;
    expected.metadata.insert("approval".into(), json!({"approved_at": by().now, "approved_by": "ada"}));
    assert_eq!(next, expected);
}

#[test]
fn sl_an_edit_of_what_was_approved_goes_back_to_new() {
    let text = || Some("other".to_owned());
    let edits = [
        Changes { title: text(), ..Changes::default() },
        Changes { acceptance_criteria: text(), ..Changes::default() },
        Changes { repo_ref: text(), ..Changes::default() },
        Changes { base_branch: text(), ..Changes::default() },
    ];
    for changes in edits {
        let (taken, next) = step(edit(&at(ObjectiveStatus::Todo), &changes, &by()));
        assert_eq!((taken, next.status), (ObjectiveStep::WithdrawApproval, ObjectiveStatus::New));
        assert!(!next.metadata.contains_key("approval"), "{changes:?}");
        assert_eq!(edited(edit(&at(ObjectiveStatus::New), &changes, &by())).status, ObjectiveStatus::New);
    }
}

#[test]
fn s3_importance_and_urgency_change_at_every_status() {
    for status in ObjectiveStatus::ALL {
        let changes = Changes { importance: Some(0), urgency: Some(1), ..Changes::default() };
        let next = edited(edit(&at(*status), &changes, &by()));
        assert_eq!(next, Objective { importance: 0, urgency: 1, updated_at: by().now, ..at(*status) });
    }
}

#[test]
fn s3_an_edit_that_changes_nothing_writes_nothing() {
    let was = at(ObjectiveStatus::Todo);
    let same = Changes { title: Some(was.title.clone()), urgency: Some(was.urgency), ..Changes::default() };
    assert!(matches!(edit(&was, &same, &by()), Ok(Change::Nothing)));
    assert_eq!(refusal(edit(&was, &Changes::default(), &by())), format!("no change of {ID} is given"));
}

#[test]
fn sl_a_withdrawn_approval_is_gone() {
    let (_, next) = step(withdraw(&at(ObjectiveStatus::Todo), &by()));
    assert_eq!(next, Objective { updated_at: by().now, ..at(ObjectiveStatus::New) });
}

#[test]
fn sk_a_block_names_its_reason() {
    let id = BlockerId::new("blk-fresh").unwrap();
    let blocker = |resolved| BlockerRef {
        blocker_id: id.clone(),
        kind: BlockerKind::ExternalSystem,
        description: "the server is down".into(),
        resolved,
    };
    for status in [ObjectiveStatus::New, ObjectiveStatus::Todo] {
        let blocked = block(&at(status), &id, "the server is down", BlockerKind::ExternalSystem, &by());
        let (taken, next) = step(blocked);
        assert_eq!(taken, ObjectiveStep::Block);
        let expected = Objective {
            status: ObjectiveStatus::Blocked,
            blocked_reason: Some("the server is down".into()),
            blocked_on: vec![blocker(false)],
            updated_at: by().now,
            ..at(status)
        };
        assert_eq!(next, expected);
    }
    // S-e, S-f: while it runs the gate takes the step.
    let was = at(ObjectiveStatus::InProgress);
    let next = edited(block(&was, &id, "the server is down", BlockerKind::ExternalSystem, &by()));
    assert_eq!(next, Objective { blocked_on: vec![blocker(false)], updated_at: by().now, ..was });
    // And back: it goes on as if nothing had been.
    let resumed = edited(unblock(&next, Some(&id), &by()));
    assert_eq!(resumed, Objective { blocked_on: vec![blocker(true)], ..next });
}

/// What a client reports is one more open blocker, wherever the objective stands; nothing else of it changes.
#[test]
fn sd_sf_a_reported_blocker_moves_no_objective() {
    let id = BlockerId::new("blk-fresh").unwrap();
    let told = |was: &Objective, reason: &str| report(was, &id, reason, BlockerKind::UserInput, &by());
    let open = |resolved| BlockerRef {
        blocker_id: id.clone(),
        kind: BlockerKind::UserInput,
        description: "which currency?".into(),
        resolved,
    };
    for status in
        [ObjectiveStatus::New, ObjectiveStatus::Todo, ObjectiveStatus::InProgress, ObjectiveStatus::Blocked]
    {
        let was = at(status);
        let next = edited(told(&was, "which currency?"));
        let mut blocked_on = was.blocked_on.clone();
        blocked_on.push(open(false));
        assert_eq!(next, Objective { blocked_on, updated_at: by().now, ..was });
        // Said again, it is there once; said by the operator to be settled, it is open no longer.
        assert!(matches!(told(&next, "which currency?"), Ok(Change::Nothing)));
        if status != ObjectiveStatus::Blocked {
            let settled = edited(unblock(&next, None, &by()));
            assert_eq!((settled.status, settled.blocked_on.last()), (status, Some(&open(true))));
            assert_eq!(settled.metadata, next.metadata);
        }
    }
    assert_eq!(
        refusal(told(&at(ObjectiveStatus::Done), "why")),
        "objective obj-7 is DONE; a blocker needs NEW, TODO, IN_PROGRESS or BLOCKED\nhint: azolla review obj-7"
    );
    assert_eq!(refusal(told(&at(ObjectiveStatus::New), " ")), "a reason is needed");
    let long = "x".repeat(10_001);
    assert_eq!(refusal(told(&at(ObjectiveStatus::New), &long)), "a reason has at most 10000 characters");
    let mut was = at(ObjectiveStatus::Todo);
    for number in 0..20 {
        was = edited(told(&was, &format!("reason {number}")));
    }
    let full = "objective obj-7 has 20 open blockers already\nhint: azolla objective show obj-7";
    assert_eq!(refusal(told(&was, "one more")), full);
}

#[test]
fn sh_a_blocker_of_the_machine_has_the_objectives_body_in_its_id() {
    let objective = ObjectiveId::new("obj-7").unwrap();
    let made = |text: &str| is_machine_made(&objective, &BlockerId::new(text).unwrap());
    assert!(made("blk-7-1") && made("blk-7-1-cancel"));
    assert!(!made("blk-7") && !made("blk-71-1") && !made("blk-8-1") && !made("blk-x-7-1"));
    let fresh = IdBody::new(by().now, 7);
    let same = ObjectiveId::from_body(&fresh);
    assert!(!is_machine_made(&same, &BlockerId::from_body(&fresh)), "a fresh id is never the machine's");
}

#[test]
fn sh_retry_resolves_what_the_machine_recorded() {
    let mut was = blocked(&[blocker("blk-7-1", true), blocker("blk-7-2", false)]);
    was.metadata.insert("cancel".into(), json!({"reason": "enough"}));
    let (taken, next) = step(retry(&was, Some(5_000), &by()));
    assert_eq!(taken, ObjectiveStep::Unblock);
    let mut expected = at(ObjectiveStatus::Todo);
    expected.blocked_on = vec![blocker("blk-7-1", true), blocker("blk-7-2", true)];
    expected.updated_at = by().now;
    expected.metadata.insert("budget_ms".into(), json!(5_000));
    assert_eq!(next, expected);
}

#[test]
fn sh_retry_is_refused_while_a_blocker_of_the_operator_is_open() {
    let was = blocked(&[blocker("blk-7-1", false), blocker("blk-fresh", false)]);
    insta::assert_snapshot!(refusal(retry(&was, None, &by())), @r"
    objective obj-7 has an open blocker, blk-fresh: why blk-fresh
    hint: azolla objective unblock obj-7
    ");
    let resolved = blocked(&[blocker("blk-7-1", false), blocker("blk-fresh", true)]);
    assert_eq!(step(retry(&resolved, None, &by())).1.status, ObjectiveStatus::Todo);
}

#[test]
fn t38_a_budget_outside_its_limit_is_refused() {
    let was = blocked(&[blocker("blk-7-1", false)]);
    for budget_ms in [0, 86_400_001, 1 << 63, u64::MAX] {
        let text = refusal(retry(&was, Some(budget_ms), &by()));
        assert_eq!(text, format!("budget_patch_ms must be 1 to 86400000 (ms), not {budget_ms}"));
    }
    for budget_ms in [1, 86_400_000] {
        assert_eq!(step(retry(&was, Some(budget_ms), &by())).1.metadata["budget_ms"], json!(budget_ms));
    }
}

#[test]
fn sh_unblock_resolves_everything_that_is_open() {
    let was = blocked(&[blocker("blk-7-1", false), blocker("blk-a", false), blocker("blk-b", true)]);
    let (taken, next) = step(unblock(&was, None, &by()));
    assert_eq!((taken, next.status), (ObjectiveStep::Unblock, ObjectiveStatus::Todo));
    assert!(next.blocked_on.iter().all(|blocker| blocker.resolved));
    assert_eq!(next.blocked_reason, None);
}

#[test]
fn sh_unblock_by_id_goes_to_todo_with_the_last_one() {
    let one = BlockerId::new("blk-a").unwrap();
    let was = blocked(&[blocker("blk-a", false), blocker("blk-b", false)]);
    let first = edited(unblock(&was, Some(&one), &by()));
    assert_eq!(first.blocked_on, [blocker("blk-a", true), blocker("blk-b", false)]);
    assert_eq!(first.status, ObjectiveStatus::Blocked);
    assert_eq!(first.blocked_reason.as_deref(), Some("why blk-b"));
    let (_, last) = step(unblock(&first, Some(&BlockerId::new("blk-b").unwrap()), &by()));
    assert_eq!((last.status, last.blocked_reason), (ObjectiveStatus::Todo, None));
    let again = refusal(unblock(&first, Some(&one), &by()));
    assert!(again.starts_with("blocker blk-a of objective obj-7 is resolved already"), "{again}");
    let unknown = unblock(&was, Some(&BlockerId::new("blk-z").unwrap()), &by()).unwrap_err();
    assert!(
        matches!(&unknown, OperatorError::NotFound { what } if what == "objective obj-7 has no blocker blk-z")
    );
}

/// S-b, S-h: no way into TODO around the approval.
#[test]
fn sb_what_was_blocked_before_approval_is_approved_by_unblocking_it() {
    let mut unapproved = blocked(&[blocker("blk-a", false)]);
    unapproved.metadata.remove("approval");
    let (_, next) = step(unblock(&unapproved, None, &by()));
    assert_eq!(next.metadata["approval"], json!({"approved_at": by().now, "approved_by": "ada"}));
    assert_eq!(approval_problems(&next, by().blueprint), Vec::<ApprovalProblem>::new());
    let empty = Objective { title: " ".into(), ..unapproved };
    let text = "objective obj-7 cannot be run: objective.title: must not be empty\nhint: azolla objective edit obj-7";
    assert_eq!(refusal(unblock(&empty, None, &by())), text);
    assert_eq!(
        refusal(retry(&Objective { blocked_on: vec![blocker("blk-7-1", false)], ..empty }, None, &by())),
        text
    );
}

/// S-3: whoever had another version on a screen approves nothing of this one; what its state says comes first.
#[test]
fn s3_what_was_written_since_it_was_seen_is_neither_changed_nor_let_run() {
    let text = "objective obj-7 was changed meanwhile\nhint: azolla objective show obj-7";
    let new = stored(at(ObjectiveStatus::New));
    let stuck = stored(blocked(&[blocker("blk-7-1", false)]));
    let other = Changes { title: Some("Other".into()), ..Changes::default() };
    type Step<'a> = &'a dyn Fn(&Objective) -> Result<Change, OperatorError>;
    let steps: [(&StoredObjective, Step<'_>); 4] = [
        (&new, &|was| edit(was, &other, &by())),
        (&new, &|was| approve(was, &by())),
        (&stuck, &|was| unblock(was, None, &by())),
        (&stuck, &|was| retry(was, None, &by())),
    ];
    for (was, step) in steps {
        assert_eq!(refusal(as_seen(was, 2, step(&was.objective))), text);
        assert!(as_seen(was, 3, step(&was.objective)).is_ok());
    }
    let running = stored(at(ObjectiveStatus::InProgress));
    let text = refusal(as_seen(&running, 2, approve(&running.objective, &by())));
    assert!(text.starts_with("objective obj-7 is IN_PROGRESS; approve needs NEW"), "{text}");
}

#[test]
fn sb_an_edit_while_blocked_is_approved_again_by_the_retry() {
    let was = blocked(&[blocker("blk-7-1", false)]);
    let refined = edited(edit(&was, &Changes { title: Some("Other".into()), ..Changes::default() }, &by()));
    assert!(!refined.metadata.contains_key("approval"));
    let (_, next) = step(retry(&refined, None, &by()));
    assert_eq!(next.metadata["approval"], json!({"approved_at": by().now, "approved_by": "ada"}));
    let (_, unedited) = step(retry(&was, None, &by()));
    assert_eq!(unedited.metadata["approval"], was.metadata["approval"], "one approval stands");
}

#[test]
fn si_feedback_is_added_to_what_was_said_before() {
    let (taken, once) = step(reject(&stored(at(ObjectiveStatus::Done)), Some(&run(2)), "too long", &by()));
    assert_eq!((taken, once.status), (ObjectiveStep::Reject, ObjectiveStatus::Todo));
    let first = json!({"run_id": "run-7-2", "text": "too long", "at": by().now, "by": "ada"});
    assert_eq!(once.metadata["feedback"], json!([first]));
    let done = Objective { status: ObjectiveStatus::Done, ..once };
    let again = StoredObjective { todo_entry: 3, ..stored(done) };
    let (_, twice) = step(reject(&again, Some(&run(3)), "too short", &by()));
    let second = json!({"run_id": "run-7-3", "text": "too short", "at": by().now, "by": "ada"});
    assert_eq!(twice.metadata["feedback"], json!([first, second]));
}

#[test]
fn si_feedback_is_bounded() {
    let done = stored(at(ObjectiveStatus::Done));
    assert_eq!(refusal(reject(&done, Some(&run(2)), " \n", &by())), "feedback is needed");
    let long = "é".repeat(20_001);
    let text = "feedback has at most 20000 characters";
    assert_eq!(refusal(reject(&done, Some(&run(2)), &long, &by())), text);
    let mut objective = at(ObjectiveStatus::Done);
    for n in 0..25 {
        let next = step(reject(&stored(objective), Some(&run(2)), &n.to_string(), &by())).1;
        objective = Objective { status: ObjectiveStatus::Done, ..next };
    }
    let kept = objective.metadata["feedback"].as_array().unwrap();
    let texts: Vec<_> = kept.iter().map(|entry| entry["text"].as_str().unwrap()).collect();
    assert_eq!(texts, (5..25).map(|n| n.to_string()).collect::<Vec<_>>());
}

#[test]
fn sj_confirmation_names_the_run_that_was_reviewed() {
    let (taken, next) = step(confirm(&stored(at(ObjectiveStatus::Done)), Some(&run(2)), &by()));
    assert_eq!((taken, next.status), (ObjectiveStep::Confirm, ObjectiveStatus::Done));
    let completion = json!({"confirmed_at": by().now, "confirmed_by": "ada", "run_id": "run-7-2"});
    assert_eq!(next.metadata["completion"], completion);
}

#[test]
fn si_sj_another_run_than_the_latest_is_refused() {
    let done = stored(at(ObjectiveStatus::Done));
    for other in [run(1), run(3), RunId::new("run-8-2").unwrap()] {
        let text = format!(
            "{other} is not the latest run of objective obj-7; that is run-7-2\nhint: azolla review obj-7"
        );
        assert_eq!(refusal(confirm(&done, Some(&other), &by())), text);
        assert_eq!(refusal(reject(&done, Some(&other), "no", &by())), text);
    }
}

#[test]
fn sm_a_cancel_is_a_request_and_the_first_one_stands() {
    let was = at(ObjectiveStatus::InProgress);
    let next = edited(cancel(&was, "enough", &by()));
    let mut expected = Objective { updated_at: by().now, ..was };
    let request = json!({"requested_at": by().now, "requested_by": "ada", "reason": "enough"});
    expected.metadata.insert("cancel".into(), request);
    assert_eq!(next, expected);
    assert!(matches!(cancel(&next, "again", &by()), Ok(Change::Nothing)));
}

/// T39: whoever calls, the names are checked here, on every way to a run.
#[test]
fn t18_t19_a_name_that_git_could_take_for_an_option_is_refused() {
    let odd = [
        ("repo_ref", "ext::sh -c id"),
        ("repo_ref", "--upload-pack=id"),
        ("repo_ref", "ssh://-oProxyCommand=id/x"),
        ("repo_ref", "file:///srv/other"),
        ("base_branch", "--force"),
        ("base_branch", "a..b"),
        ("base_branch", "x.lock"),
        ("base_branch", "@{-1}"),
        ("base_branch", "$(id) ;"),
    ];
    for (key, name) in odd {
        let mut given = NewObjective { title: "x".into(), ..NewObjective::default() };
        let mut changes = Changes::default();
        match key {
            "repo_ref" => (given.repo_ref, changes.repo_ref) = (name.into(), Some(name.into())),
            _ => (given.base_branch, changes.base_branch) = (name.into(), Some(name.into())),
        }
        let made = create(&given, ObjectiveId::new(ID).unwrap(), &azolla_id(), &by());
        assert!(matches!(made, Err(OperatorError::Refused { .. })), "{name}");
        for status in [ObjectiveStatus::New, ObjectiveStatus::Todo, ObjectiveStatus::Blocked] {
            refusal(edit(&at(status), &changes, &by()));
        }
        // One that came in by another way, such as an import.
        let mut stored = at(ObjectiveStatus::New);
        stored.metadata.insert(key.into(), name.into());
        refusal(approve(&stored, &by()));
        refusal(unblock(&Objective { status: ObjectiveStatus::Blocked, ..stored }, None, &by()));
    }
}

/// T18: what is not an objective's id never gets here, for the steps take an [`ObjectiveId`].
#[test]
fn t18_odd_ids_are_refused_at_the_door() {
    let long = format!("obj-{}", "a".repeat(300));
    let odd = [
        "",
        "--force",
        "$(id)",
        ";",
        "..",
        "x.lock",
        "@{-1}",
        "obj-",
        "obj-a b",
        "obj-../x",
        "obj-x.lock",
        "obj-@{-1}",
        "OBJ-A",
        "obj-é",
        "obj-a\n",
        "obj-a\0",
        &long,
    ];
    for text in odd {
        assert!(ObjectiveId::new(text).is_err(), "{text:?}");
    }
}

/// S-1: what a screen offers is what the rules would take, at every status.
#[test]
fn s1_what_is_offered_is_what_would_be_taken() {
    use OperatorStep as Step;
    let offered = |objective| allowed(&stored(objective), AzollaType::CodePatch, by().now);
    let with = |status, key: &str, value: Value| {
        let mut objective = at(status);
        objective.metadata.insert(key.into(), value);
        objective
    };
    let rest = [Step::Reword, Step::Rank, Step::Block, Step::Archive];
    assert_eq!(offered(at(ObjectiveStatus::New)), [&[Step::Approve][..], &rest].concat());
    let without = Objective { acceptance_criteria: String::new(), ..at(ObjectiveStatus::New) };
    assert_eq!(offered(without), rest, "what cannot be approved is described first");
    assert_eq!(offered(at(ObjectiveStatus::Todo)), [&[Step::Withdraw][..], &rest].concat());
    let running = at(ObjectiveStatus::InProgress);
    assert_eq!(offered(running), [Step::Cancel, Step::Rank, Step::Block]);
    let stopping = with(ObjectiveStatus::InProgress, "cancel", json!({"reason": "enough"}));
    assert_eq!(offered(stopping), [Step::Rank, Step::Block]);
    assert_eq!(offered(at(ObjectiveStatus::Done)), [Step::Confirm, Step::Reject, Step::Rank]);
    let confirmed = with(ObjectiveStatus::Done, "completion", json!({"run_id": "run-7-2"}));
    assert_eq!(offered(confirmed), []);
    let stuck = [Step::Reword, Step::Rank, Step::Archive];
    let by_machine = blocked(&[blocker("blk-7-1", false)]);
    assert_eq!(offered(by_machine), [&[Step::Unblock, Step::Retry][..], &stuck].concat());
    let by_operator = blocked(&[blocker("blk-fresh", false)]);
    assert_eq!(offered(by_operator), [&[Step::Unblock][..], &stuck].concat());
    let archived = with(ObjectiveStatus::Todo, "archived_at", json!(by().now));
    assert_eq!(offered(archived), [Step::Unarchive]);
    let standing = Objective { objective_type: ObjectiveType::Standing, ..at(ObjectiveStatus::InProgress) };
    assert_eq!(offered(standing), []);
}
