//! The next version of an objective for each step of the operator: pure, one function per line of section 4.

use azolla_protocol::{
    ApprovalProblem, AzollaId, BlockerId, BlockerKind, BlockerRef, Blueprint, Objective, ObjectiveId,
    ObjectiveStatus, ObjectiveStep, ObjectiveType, RunId, Timestamp, advance, approval_problems,
    has_open_blocker, is_archived, is_blank, is_confirmed, limits,
};
use azolla_substrate::StoredObjective;
use serde_json::{Value, json};

use super::{Changes, NewObjective, OperatorError, is_machine_made, latest_run_id};
use crate::repo::{RepositoryError, check_branch, check_repo_ref};

/// The most characters of one feedback: a prompt carries it.
const FEEDBACK_CHARS_MAX: usize = 20_000;

/// The most feedbacks that the current version carries. Every earlier version is kept by the store.
const FEEDBACKS_MAX: usize = 20;

/// The most characters of a reason.
const REASON_CHARS_MAX: usize = 10_000;

/// The most open blockers that others can add to.
const REPORTED_MAX: usize = 20;

/// Who takes a step, when, and where.
pub(super) struct By<'a> {
    pub(super) who: &'a str,
    pub(super) now: Timestamp,
    pub(super) blueprint: &'static Blueprint,
}

/// What to commit.
#[derive(Debug)]
pub(super) enum Change {
    /// A step of the transition table.
    Step(ObjectiveStep, Box<Objective>),
    /// A change that leaves the status alone.
    Edit(Box<Objective>),
    /// It is so already.
    Nothing,
}

type Next = Result<Change, OperatorError>;

/// S-a.
pub(super) fn create(
    new: &NewObjective,
    objective_id: ObjectiveId,
    azolla_id: &AzollaId,
    by: &By<'_>,
) -> Result<Objective, OperatorError> {
    let objective_type = ObjectiveStep::Create.row().objective_type;
    if by.blueprint.objective_type != objective_type {
        let what = format!("{azolla_id} is a {}: it takes no tickets", by.blueprint.azolla_type);
        return Err(OperatorError::Refused { what, hint: None });
    }
    one_line(&new.title)?;
    let mut objective = Objective {
        objective_id,
        azolla_id: azolla_id.clone(),
        title: new.title.clone(),
        acceptance_criteria: new.acceptance_criteria.clone(),
        objective_type,
        status: ObjectiveStatus::New,
        importance: new.importance,
        urgency: new.urgency,
        blocked_reason: None,
        blocked_on: Vec::new(),
        metadata: serde_json::Map::new(),
        created_at: by.now,
        updated_at: by.now,
    };
    for (key, text) in [("repo_ref", &new.repo_ref), ("base_branch", &new.base_branch)] {
        if !text.is_empty() {
            objective.metadata.insert(key.into(), text.as_str().into());
        }
    }
    names_are_safe(&objective)?;
    Ok(objective)
}

/// S-3: of what was written since it was seen, nobody knows that it is what was meant. What the state does not allow is
/// said first: that stays so whatever was seen.
pub(super) fn as_seen(was: &StoredObjective, version: u64, next: Next) -> Next {
    let (next, id) = (next?, &was.objective.objective_id);
    if was.version != version {
        return refused(format!("objective {id} was changed meanwhile"), Some(command("show", id)));
    }
    Ok(next)
}

/// S-3 and S-l: what was approved stays as it is, or goes through NEW again.
pub(super) fn edit(was: &Objective, changes: &Changes, by: &By<'_>) -> Next {
    if *changes == Changes::default() {
        return refused(format!("no change of {} is given", was.objective_id), None);
    }
    may_change(was)?;
    let next = edited(was, changes)?;
    if next == *was {
        return Ok(Change::Nothing);
    }
    let mut next = Box::new(Objective { updated_at: by.now, ..next });
    if approved_part(&next) == approved_part(was) {
        return Ok(Change::Edit(next));
    }
    names_are_safe(&next)?;
    // Whoever approved it approved another text.
    next.metadata.remove("approval");
    match was.status {
        ObjectiveStatus::New | ObjectiveStatus::Blocked => Ok(Change::Edit(next)),
        ObjectiveStatus::Todo => {
            next.status = reached(was, "edit", ObjectiveStep::WithdrawApproval)?;
            Ok(Change::Step(ObjectiveStep::WithdrawApproval, next))
        }
        ObjectiveStatus::InProgress | ObjectiveStatus::Done => {
            let what = format!(
                "objective {} is {}; an edit of title, criteria, repository or base needs NEW, TODO or BLOCKED",
                was.objective_id, was.status
            );
            refused(what, hint(was, "edit"))
        }
    }
}

/// S-b.
pub(super) fn approve(was: &Objective, by: &By<'_>) -> Next {
    let mut next = begin(was, "approve", ObjectiveStep::Approve, by)?;
    can_be_approved(was, "approved", by)?;
    record_approval(&mut next, by);
    Ok(Change::Step(ObjectiveStep::Approve, next))
}

/// S-l.
pub(super) fn withdraw(was: &Objective, by: &By<'_>) -> Next {
    let mut next = begin(was, "withdraw", ObjectiveStep::WithdrawApproval, by)?;
    next.metadata.remove("approval");
    Ok(Change::Step(ObjectiveStep::WithdrawApproval, next))
}

/// S-k; while a workorder is open the gate blocks the objective at its end (S-e, S-f).
pub(super) fn block(
    was: &Objective,
    blocker_id: &BlockerId,
    reason: &str,
    kind: BlockerKind,
    by: &By<'_>,
) -> Next {
    text_within("a reason", reason, REASON_CHARS_MAX)?;
    let blocker =
        BlockerRef { blocker_id: blocker_id.clone(), kind, description: reason.to_owned(), resolved: false };
    if is_running(was) {
        may_change(was)?;
        let mut next = changed(was, by);
        next.blocked_on.push(blocker);
        return Ok(Change::Edit(next));
    }
    let mut next = begin(was, "block", ObjectiveStep::Block, by)?;
    next.blocked_on.push(blocker);
    next.blocked_reason = Some(reason.to_owned());
    Ok(Change::Step(ObjectiveStep::Block, next))
}

/// What somebody else says is in the way: one more open blocker, and nothing else. The Scheduler and the gate hold the
/// objective up by it (S-d, S-f), and the operator alone resolves it. Said twice, it is there once.
pub(super) fn report(
    was: &Objective,
    blocker_id: &BlockerId,
    reason: &str,
    kind: BlockerKind,
    by: &By<'_>,
) -> Next {
    text_within("a reason", reason, REASON_CHARS_MAX)?;
    may_change(was)?;
    let id = &was.objective_id;
    if was.objective_type == ObjectiveType::Standing {
        return refused(format!("objective {id} is STANDING; a blocker needs a TICKET"), None);
    }
    if was.status == ObjectiveStatus::Done {
        let what = format!("objective {id} is DONE; a blocker needs NEW, TODO, IN_PROGRESS or BLOCKED");
        return refused(what, hint(was, "report"));
    }
    let mut open = was.blocked_on.iter().filter(|blocker| !blocker.resolved);
    if open.clone().any(|blocker| blocker.description == reason && blocker.kind == kind) {
        return Ok(Change::Nothing);
    }
    if open.nth(REPORTED_MAX - 1).is_some() {
        let what = format!("objective {id} has {REPORTED_MAX} open blockers already");
        return refused(what, Some(command("show", id)));
    }
    let mut next = changed(was, by);
    let (blocker_id, description) = (blocker_id.clone(), reason.to_owned());
    next.blocked_on.push(BlockerRef { blocker_id, kind, description, resolved: false });
    Ok(Change::Edit(next))
}

/// S-h, by resolving what is in the way. What holds up an objective that is not BLOCKED yet is resolved where it stands.
pub(super) fn unblock(was: &Objective, blocker: Option<&BlockerId>, by: &By<'_>) -> Next {
    let is_ahead = matches!(was.status, ObjectiveStatus::New | ObjectiveStatus::Todo) || is_running(was);
    let in_place = is_ahead && has_open_blocker(was);
    let mut next =
        if in_place { changed(was, by) } else { begin(was, "unblock", ObjectiveStep::Unblock, by)? };
    may_change(was)?;
    match blocker {
        Some(id) => resolve_one(&mut next, id)?,
        None => next.blocked_on.iter_mut().for_each(|blocker| blocker.resolved = true),
    }
    if in_place {
        return Ok(Change::Edit(next));
    }
    if let Some(open) = next.blocked_on.iter().find(|blocker| !blocker.resolved) {
        next.blocked_reason = Some(open.description.clone());
        next.status = was.status;
        return Ok(Change::Edit(next));
    }
    to_todo(was, next, ObjectiveStep::Unblock, by)
}

/// S-h, by trying again.
pub(super) fn retry(was: &Objective, budget_ms: Option<u64>, by: &By<'_>) -> Next {
    let mut next = begin(was, "retry", ObjectiveStep::Unblock, by)?;
    let id = &was.objective_id;
    let own = |blocker: &&BlockerRef| !blocker.resolved && !is_machine_made(id, &blocker.blocker_id);
    if let Some(open) = was.blocked_on.iter().find(own) {
        let what = format!("objective {id} has an open blocker, {}: {}", open.blocker_id, open.description);
        return refused(what, Some(command("unblock", id)));
    }
    next.blocked_on.iter_mut().for_each(|blocker| blocker.resolved = true);
    if let Some(budget_ms) = budget_ms {
        let checked = limits::BUDGET_PATCH_MS.check(budget_ms);
        let budget_ms =
            checked.map_err(|outside| OperatorError::Refused { what: outside.to_string(), hint: None })?;
        next.metadata.insert("budget_ms".into(), budget_ms.into());
    }
    to_todo(was, next, ObjectiveStep::Unblock, by)
}

/// S-i.
pub(super) fn reject(
    stored: &StoredObjective,
    reviewed: Option<&RunId>,
    feedback: &str,
    by: &By<'_>,
) -> Next {
    let was = &stored.objective;
    let mut next = begin(was, "reject", ObjectiveStep::Reject, by)?;
    let run_id = latest(stored, reviewed)?;
    text_within("feedback", feedback, FEEDBACK_CHARS_MAX)?;
    let entry = json!({"run_id": run_id, "text": feedback, "at": by.now, "by": by.who});
    let mut feedbacks = match next.metadata.remove("feedback") {
        Some(Value::Array(earlier)) => earlier,
        _ => Vec::new(),
    };
    feedbacks.push(entry);
    feedbacks.drain(..feedbacks.len().saturating_sub(FEEDBACKS_MAX));
    next.metadata.insert("feedback".into(), feedbacks.into());
    to_todo(was, next, ObjectiveStep::Reject, by)
}

/// S-j.
pub(super) fn confirm(stored: &StoredObjective, reviewed: Option<&RunId>, by: &By<'_>) -> Next {
    let mut next = begin(&stored.objective, "confirm", ObjectiveStep::Confirm, by)?;
    let run_id = latest(stored, reviewed)?;
    let completion = json!({"confirmed_at": by.now, "confirmed_by": by.who, "run_id": run_id});
    next.metadata.insert("completion".into(), completion);
    Ok(Change::Step(ObjectiveStep::Confirm, next))
}

/// S-m: the request. The gate takes the step itself.
pub(super) fn cancel(was: &Objective, reason: &str, by: &By<'_>) -> Next {
    may_change(was)?;
    reached(was, "cancel", ObjectiveStep::Cancel)?;
    if reason.chars().count() > REASON_CHARS_MAX {
        return refused(format!("a reason has at most {REASON_CHARS_MAX} characters"), None);
    }
    if was.metadata.contains_key("cancel") {
        return Ok(Change::Nothing);
    }
    let mut next = changed(was, by);
    let request = json!({"requested_at": by.now, "requested_by": by.who, "reason": reason});
    next.metadata.insert("cancel".into(), request);
    Ok(Change::Edit(next))
}

/// S-o, there.
pub(super) fn archive(was: &Objective, by: &By<'_>) -> Next {
    let mut next = begin(was, "archive", ObjectiveStep::Archive, by)?;
    next.metadata.insert("archived_at".into(), json!(by.now));
    Ok(Change::Step(ObjectiveStep::Archive, next))
}

/// S-o, and back.
pub(super) fn unarchive(was: &Objective, by: &By<'_>) -> Next {
    Ok(Change::Step(ObjectiveStep::Unarchive, unarchived(was, by)?))
}

/// S-o, and back, with what the operator says now: nothing comes back that could not be edited so.
pub(super) fn bring_back(was: &Objective, changes: &Changes, by: &By<'_>) -> Next {
    let next = edited(&*unarchived(was, by)?, changes)?;
    if approved_part(&next) != approved_part(was) {
        names_are_safe(&next)?;
    }
    Ok(Change::Step(ObjectiveStep::Unarchive, Box::new(next)))
}

fn unarchived(was: &Objective, by: &By<'_>) -> Result<Box<Objective>, OperatorError> {
    if !is_archived(was) {
        return refused(format!("objective {} is not archived", was.objective_id), None);
    }
    reached(was, "unarchive", ObjectiveStep::Unarchive)?;
    let mut next = changed(was, by);
    next.metadata.remove("archived_at");
    Ok(next)
}

/// Starts a step of the table: where it leads, and when.
fn begin(
    was: &Objective,
    verb: &str,
    step: ObjectiveStep,
    by: &By<'_>,
) -> Result<Box<Objective>, OperatorError> {
    may_change(was)?;
    let status = reached(was, verb, step)?;
    Ok(Box::new(Objective { status, ..*changed(was, by) }))
}

fn changed(was: &Objective, by: &By<'_>) -> Box<Objective> {
    Box::new(Objective { updated_at: by.now, ..was.clone() })
}

/// Enters TODO: what ran before is over, and what runs next has to satisfy S-b, whoever edited it since.
fn to_todo(was: &Objective, mut next: Box<Objective>, step: ObjectiveStep, by: &By<'_>) -> Next {
    can_be_approved(&next, "run", by)?;
    // Blocked while NEW, or edited while BLOCKED: the operator's step is the approval, so it is recorded as one.
    if !was.metadata.contains_key("approval") {
        record_approval(&mut next, by);
    }
    next.blocked_reason = None;
    next.metadata.remove("cancel");
    Ok(Change::Step(step, next))
}

fn record_approval(next: &mut Objective, by: &By<'_>) {
    let approval = json!({"approved_at": by.now, "approved_by": by.who});
    next.metadata.insert("approval".into(), approval);
}

fn can_be_approved(objective: &Objective, verb: &str, by: &By<'_>) -> Result<(), OperatorError> {
    let problems = approval_problems(objective, by.blueprint);
    if problems.is_empty() {
        return names_are_safe(objective);
    }
    let id = &objective.objective_id;
    let listed = problems.iter().map(ApprovalProblem::to_string).collect::<Vec<_>>().join("; ");
    refused(format!("objective {id} cannot be {verb}: {listed}"), Some(command("edit", id)))
}

/// Confirmed is final (S-j), and what is archived comes back before anything else happens to it (S-o).
fn may_change(was: &Objective) -> Result<(), OperatorError> {
    let id = &was.objective_id;
    if is_confirmed(was) {
        return refused(format!("objective {id} is confirmed, which is final"), None);
    }
    if is_archived(was) {
        return refused(format!("objective {id} is archived"), Some(command("unarchive", id)));
    }
    Ok(())
}

/// Returns the status after a step, or refuses it with both states and what to type (S-1).
fn reached(was: &Objective, verb: &str, step: ObjectiveStep) -> Result<ObjectiveStatus, OperatorError> {
    advance(was.objective_type, Some(was.status), step).or_else(|_| {
        let id = &was.objective_id;
        let from: Vec<_> = step.row().from.iter().map(|status| status.as_str()).collect();
        let what = match was.objective_type {
            ObjectiveType::Ticket => {
                format!("objective {id} is {}; {verb} needs {}", was.status, from.join(" or "))
            }
            ObjectiveType::Standing => format!("objective {id} is STANDING; {verb} needs a TICKET"),
        };
        refused(what, hint(was, verb))
    })
}

/// Returns the command that leads on from where an objective stands, for who asked for `verb`.
fn hint(was: &Objective, verb: &str) -> Option<String> {
    let id = &was.objective_id;
    if was.objective_type == ObjectiveType::Standing {
        return None;
    }
    let own = |blocker: &BlockerRef| !blocker.resolved && !is_machine_made(id, &blocker.blocker_id);
    match (was.status, verb) {
        (ObjectiveStatus::New, "withdraw") => None,
        (ObjectiveStatus::New | ObjectiveStatus::Blocked, "cancel")
        | (ObjectiveStatus::Blocked, "withdraw") => Some(command("archive", id)),
        (ObjectiveStatus::New, _) => Some(command("approve", id)),
        (ObjectiveStatus::Todo, "cancel") => Some(command("withdraw", id)),
        (ObjectiveStatus::InProgress, "edit" | "withdraw" | "archive") => Some(command("cancel", id)),
        (ObjectiveStatus::Todo | ObjectiveStatus::InProgress, _) => Some("azolla run".to_owned()),
        (ObjectiveStatus::Blocked, "block") => Some(command("show", id)),
        (ObjectiveStatus::Blocked, _) if was.blocked_on.iter().any(own) => Some(command("unblock", id)),
        (ObjectiveStatus::Blocked, _) => Some(command("retry", id)),
        (ObjectiveStatus::Done, "edit" | "block" | "retry") => Some(command("reject", id)),
        (ObjectiveStatus::Done, _) => Some(format!("azolla review {id}")),
    }
}

fn is_running(was: &Objective) -> bool {
    (was.objective_type, was.status) == (ObjectiveType::Ticket, ObjectiveStatus::InProgress)
}

/// Returns the latest run, if it is the one that was reviewed.
fn latest(stored: &StoredObjective, reviewed: Option<&RunId>) -> Result<RunId, OperatorError> {
    let id = &stored.objective.objective_id;
    let Some(latest) = latest_run_id(stored) else {
        return refused(format!("objective {id} has no run"), None);
    };
    match reviewed {
        Some(run_id) if *run_id != latest => {
            let what = format!("{run_id} is not the latest run of objective {id}; that is {latest}");
            refused(what, Some(format!("azolla review {id}")))
        }
        Some(_) => Ok(latest),
        None => refused(format!("objective {id} has had no run to review"), None),
    }
}

fn resolve_one(next: &mut Objective, id: &BlockerId) -> Result<(), OperatorError> {
    let objective_id = next.objective_id.clone();
    match next.blocked_on.iter_mut().find(|blocker| blocker.blocker_id == *id) {
        Some(blocker) if !blocker.resolved => {
            blocker.resolved = true;
            Ok(())
        }
        Some(_) => refused(
            format!("blocker {id} of objective {objective_id} is resolved already"),
            Some(command("show", &objective_id)),
        ),
        None => {
            Err(OperatorError::NotFound { what: format!("objective {objective_id} has no blocker {id}") })
        }
    }
}

fn edited(was: &Objective, changes: &Changes) -> Result<Objective, OperatorError> {
    let mut next = was.clone();
    if let Some(title) = &changes.title {
        one_line(title)?;
        next.title.clone_from(title);
    }
    if let Some(criteria) = &changes.acceptance_criteria {
        next.acceptance_criteria.clone_from(criteria);
    }
    for (key, text) in [("repo_ref", &changes.repo_ref), ("base_branch", &changes.base_branch)] {
        if let Some(text) = text {
            next.metadata.insert(key.into(), text.as_str().into());
        }
    }
    next.importance = changes.importance.unwrap_or(was.importance);
    next.urgency = changes.urgency.unwrap_or(was.urgency);
    Ok(next)
}

/// What an approval is about (S-l).
fn approved_part(objective: &Objective) -> (&str, &str, Option<&Value>, Option<&Value>) {
    let metadata = |key| objective.metadata.get(key);
    (&objective.title, &objective.acceptance_criteria, metadata("repo_ref"), metadata("base_branch"))
}

/// Refuses a repository or a base that git could take for something else; both may be missing until approval
/// (T18, T19, T20). Every way in comes through here (T39).
fn names_are_safe(objective: &Objective) -> Result<(), OperatorError> {
    let named = |key: &str| objective.metadata.get(key).and_then(Value::as_str).unwrap_or_default();
    let (repo_ref, base_branch) = (named("repo_ref"), named("base_branch"));
    let repo = if repo_ref.is_empty() { Ok(()) } else { check_repo_ref(repo_ref).map(drop) };
    let base = if base_branch.is_empty() { Ok(()) } else { check_branch(base_branch) };
    repo.and(base).or_else(|error| match error {
        RepositoryError::Unusable { what, action } => refused(what, Some(action)),
        RepositoryError::Unavailable(what) => refused(what, None),
    })
}

fn one_line(title: &str) -> Result<(), OperatorError> {
    if title.contains(['\n', '\r']) {
        return refused("objective.title: must be one line".to_owned(), None);
    }
    Ok(())
}

fn text_within(what: &str, text: &str, chars_max: usize) -> Result<(), OperatorError> {
    if is_blank(text) {
        return refused(format!("{what} is needed"), None);
    }
    if text.chars().count() > chars_max {
        return refused(format!("{what} has at most {chars_max} characters"), None);
    }
    Ok(())
}

fn command(verb: &str, id: &ObjectiveId) -> String {
    format!("azolla objective {verb} {id}")
}

fn refused<T>(what: String, hint: Option<String>) -> Result<T, OperatorError> {
    Err(OperatorError::Refused { what, hint })
}
