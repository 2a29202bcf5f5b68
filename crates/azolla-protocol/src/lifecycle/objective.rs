//! The transition table of PROTOCOL.md section 4, and the conditions of it that the document itself shows.

use crate::names::named_enum;
use crate::{Blueprint, Objective, ObjectiveStatus, ObjectiveType, is_blank};

named_enum! {
    /// The steps of an objective, S-a to S-o.
    pub enum ObjectiveStep {
        /// S-a.
        Create = "create",
        /// S-b.
        Approve = "approve",
        /// S-c.
        Schedule = "schedule",
        /// S-d.
        BlockByScheduler = "block by scheduler",
        /// S-e.
        GatePass = "gate pass",
        /// S-f.
        GateFailBlock = "gate block",
        /// S-g.
        GateFailRetry = "gate retry",
        /// S-h.
        Unblock = "unblock",
        /// S-i.
        Reject = "reject",
        /// S-j.
        Confirm = "confirm",
        /// S-k.
        Block = "block",
        /// S-l.
        WithdrawApproval = "withdraw approval",
        /// S-m: the gate's write after the operator's request.
        Cancel = "cancel",
        /// S-n.
        OpenStanding = "open standing",
        /// S-o, there.
        Archive = "archive",
        /// S-o, and back.
        Unarchive = "unarchive",
    }
}

named_enum! {
    /// Who may take a step.
    pub enum Party {
        /// The human.
        Operator = "operator",
        /// The Scheduler worker.
        Scheduler = "Scheduler",
        /// The Gate worker.
        Gate = "Gate",
        /// The setup of an azolla.
        Init = "init",
    }
}

/// Where a step leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// To this status.
    Status(ObjectiveStatus),
    /// To the status it had; only `metadata` changes.
    Same,
}

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransitionRow {
    /// The line's id in the protocol.
    pub id: &'static str,
    /// The step.
    pub step: ObjectiveStep,
    /// The statuses it may start from; empty if the objective must not exist yet.
    pub from: &'static [ObjectiveStatus],
    /// Where it leads.
    pub to: Target,
    /// Who may take it.
    pub party: Party,
    /// The only type of objective that takes it.
    pub objective_type: ObjectiveType,
}

/// The whole table. A step's place in it is its place in [`ObjectiveStep`].
#[rustfmt::skip] // A table: it reads line by line against PROTOCOL.md section 4.
pub const TABLE: [TransitionRow; 16] = {
    use ObjectiveStatus::{Blocked, Done, InProgress, New, Todo};
    use ObjectiveStep as Step;
    use ObjectiveType::{Standing, Ticket};
    use Party::{Gate, Init, Operator, Scheduler};
    use Target::{Same, Status};
    [
        row("S-a", Step::Create,           &[],                   Status(New),        Operator,  Ticket),
        row("S-b", Step::Approve,          &[New],                Status(Todo),       Operator,  Ticket),
        row("S-c", Step::Schedule,         &[Todo],               Status(InProgress), Scheduler, Ticket),
        row("S-d", Step::BlockByScheduler, &[Todo],               Status(Blocked),    Scheduler, Ticket),
        row("S-e", Step::GatePass,         &[InProgress],         Status(Done),       Gate,      Ticket),
        row("S-f", Step::GateFailBlock,    &[InProgress],         Status(Blocked),    Gate,      Ticket),
        row("S-g", Step::GateFailRetry,    &[InProgress],         Status(Todo),       Gate,      Ticket),
        row("S-h", Step::Unblock,          &[Blocked],            Status(Todo),       Operator,  Ticket),
        row("S-i", Step::Reject,           &[Done],               Status(Todo),       Operator,  Ticket),
        row("S-j", Step::Confirm,          &[Done],               Status(Done),       Operator,  Ticket),
        row("S-k", Step::Block,            &[New, Todo],          Status(Blocked),    Operator,  Ticket),
        row("S-l", Step::WithdrawApproval, &[Todo],               Status(New),        Operator,  Ticket),
        row("S-m", Step::Cancel,           &[InProgress],         Status(Blocked),    Gate,      Ticket),
        row("S-n", Step::OpenStanding,     &[],                   Status(InProgress), Init,      Standing),
        row("S-o", Step::Archive,          &[New, Todo, Blocked], Same,               Operator,  Ticket),
        row("S-o", Step::Unarchive,        &[New, Todo, Blocked], Same,               Operator,  Ticket),
    ]
};

impl ObjectiveStep {
    /// Returns the line of the table that this step is.
    pub const fn row(self) -> &'static TransitionRow {
        &TABLE[self as usize]
    }
}

/// A step that the table does not have from where the objective stands (S-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}; {step} needs {}", found(*.objective_type, *.status), needed(.step.row(), *.objective_type))]
pub struct Refused {
    /// The type of the objective.
    pub objective_type: ObjectiveType,
    /// Where it stands; none if it does not exist.
    pub status: Option<ObjectiveStatus>,
    /// What was asked for.
    pub step: ObjectiveStep,
}

/// Returns the status after `step`, or refuses it and names both states (S-1).
///
/// `status` is none for an objective that does not exist yet. What a line needs beyond the status (a
/// reviewed run, resolved blockers) is the caller's to check.
pub fn advance(
    objective_type: ObjectiveType,
    status: Option<ObjectiveStatus>,
    step: ObjectiveStep,
) -> Result<ObjectiveStatus, Refused> {
    let refused = Refused { objective_type, status, step };
    let row = step.row();
    if row.objective_type != objective_type {
        return Err(refused);
    }
    match (status, row.to) {
        (None, Target::Status(to)) if row.from.is_empty() => Ok(to),
        (Some(from), to) if row.from.contains(&from) => Ok(reached(from, to)),
        _ => Err(refused),
    }
}

/// Tells whether any line of the table leads from `from` to `to`.
pub fn is_allowed_change(from: ObjectiveStatus, to: ObjectiveStatus) -> bool {
    TABLE.iter().any(|row| row.from.contains(&from) && reached(from, row.to) == to)
}

/// Tells whether the operator confirmed completion: final, whatever else is asked (S-2, S-j).
pub fn is_confirmed(objective: &Objective) -> bool {
    objective.metadata.contains_key("completion")
}

/// Tells whether the objective is archived: hidden and never scheduled (S-o).
pub fn is_archived(objective: &Objective) -> bool {
    objective.metadata.contains_key("archived_at")
}

/// Tells whether any blocker still holds the objective up (S-d, PF-3).
pub fn has_open_blocker(objective: &Objective) -> bool {
    objective.blocked_on.iter().any(|blocker| !blocker.resolved)
}

/// What keeps an objective from approval: a field and what it lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("objective.{field}: {rule}")]
pub struct ApprovalProblem {
    /// The field, as a path.
    pub field: &'static str,
    /// What approval needs of it.
    pub rule: String,
}

/// Returns everything that S-b refuses in `objective`; empty if it can be approved.
pub fn approval_problems(objective: &Objective, blueprint: &Blueprint) -> Vec<ApprovalProblem> {
    let metadata = |key: &str| objective.metadata.get(key).and_then(|value| value.as_str()).unwrap_or("");
    let mut problems: Vec<ApprovalProblem> = [
        ("title", objective.title.as_str()),
        ("acceptance_criteria", objective.acceptance_criteria.as_str()),
        ("metadata.repo_ref", metadata("repo_ref")),
        ("metadata.base_branch", metadata("base_branch")),
    ]
    .into_iter()
    .filter(|(_, text)| is_blank(text))
    .map(|(field, _)| ApprovalProblem { field, rule: "must not be empty".to_owned() })
    .collect();
    // A blueprint without tickets approves none, whatever the objective says it is.
    let expected = blueprint.objective_type;
    if objective.objective_type != expected || expected != ObjectiveStep::Approve.row().objective_type {
        let rule = format!(
            "must be TICKET in an azolla that takes tickets; {} takes {expected}",
            blueprint.azolla_type
        );
        problems.push(ApprovalProblem { field: "objective_type", rule });
    }
    problems
}

const fn row(
    id: &'static str,
    step: ObjectiveStep,
    from: &'static [ObjectiveStatus],
    to: Target,
    party: Party,
    objective_type: ObjectiveType,
) -> TransitionRow {
    TransitionRow { id, step, from, to, party, objective_type }
}

fn reached(from: ObjectiveStatus, to: Target) -> ObjectiveStatus {
    match to {
        Target::Status(status) => status,
        Target::Same => from,
    }
}

fn found(objective_type: ObjectiveType, status: Option<ObjectiveStatus>) -> String {
    match (objective_type, status) {
        (_, None) => "objective does not exist".to_owned(),
        (ObjectiveType::Ticket, Some(status)) => format!("objective is {status}"),
        (ObjectiveType::Standing, Some(status)) => format!("objective is STANDING and {status}"),
    }
}

fn needed(row: &TransitionRow, objective_type: ObjectiveType) -> String {
    let from: Vec<_> = row.from.iter().map(|status| status.as_str()).collect();
    let states = if from.is_empty() { "a new id".to_owned() } else { from.join(" or ") };
    if row.objective_type == objective_type { states } else { format!("{} and {states}", row.objective_type) }
}

#[cfg(test)]
mod tests;
