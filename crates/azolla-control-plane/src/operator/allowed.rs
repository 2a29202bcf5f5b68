//! Which steps of the operator an objective allows as it stands: each is tried on a copy, by the rule that would take
//! it, with values that nothing is wrong with. So a screen offers what would not be refused, and knows no rule itself.

use azolla_protocol::{AzollaType, BlockerId, BlockerKind, ObjectiveType, Timestamp};
use azolla_substrate::StoredObjective;

use super::{
    Changes, OperatorError, latest_run_id,
    next::{self, By, Change},
};

/// A step of the operator on an objective that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorStep {
    /// Let it run (S-b).
    Approve,
    /// Take the approval back (S-l).
    Withdraw,
    /// Say that its result is good (S-j).
    Confirm,
    /// Send its result back (S-i).
    Reject,
    /// Run it once more (S-h).
    Retry,
    /// Say that what was missing is there (S-h).
    Unblock,
    /// Stop its run (S-m).
    Cancel,
    /// Hold it up (S-k).
    Block,
    /// Change its title, criteria, repository or base (S-3, S-l).
    Reword,
    /// Change its importance or urgency (S-3).
    Rank,
    /// Put it out of sight (S-o).
    Archive,
    /// Bring it back (S-o).
    Unarchive,
}

impl OperatorStep {
    /// Every step, in the order in which a screen offers them.
    pub const ALL: [Self; 12] = [
        Self::Approve,
        Self::Confirm,
        Self::Reject,
        Self::Unblock,
        Self::Retry,
        Self::Cancel,
        Self::Withdraw,
        Self::Reword,
        Self::Rank,
        Self::Block,
        Self::Archive,
        Self::Unarchive,
    ];
}

/// Returns the steps that would be taken now, `now` being any time. What else changes an objective before the step is
/// taken, and texts that are refused, are found when it is.
pub fn allowed(stored: &StoredObjective, azolla_type: AzollaType, now: Timestamp) -> Vec<OperatorStep> {
    if stored.objective.objective_type == ObjectiveType::Standing {
        return Vec::new();
    }
    let by = By { who: "operator", now, blueprint: azolla_type.blueprint() };
    let changes =
        |step: &OperatorStep| matches!(taken(stored, *step, &by), Ok(Change::Step(..) | Change::Edit(_)));
    OperatorStep::ALL.into_iter().filter(changes).collect()
}

fn taken(stored: &StoredObjective, step: OperatorStep, by: &By<'_>) -> Result<Change, OperatorError> {
    /// As good as any other.
    const TEXT: &str = "text";
    let was = &stored.objective;
    let run = latest_run_id(stored);
    match step {
        OperatorStep::Approve => next::approve(was, by),
        OperatorStep::Withdraw => next::withdraw(was, by),
        OperatorStep::Confirm => next::confirm(stored, run.as_ref(), by),
        OperatorStep::Reject => next::reject(stored, run.as_ref(), TEXT, by),
        OperatorStep::Retry => next::retry(was, None, by),
        OperatorStep::Unblock => next::unblock(was, None, by),
        OperatorStep::Cancel => next::cancel(was, TEXT, by),
        OperatorStep::Block => {
            let blocker = BlockerId::new("blk-text").expect("the id is spelled right");
            next::block(was, &blocker, TEXT, BlockerKind::UserInput, by)
        }
        OperatorStep::Reword => {
            let other = format!("{}.", was.acceptance_criteria);
            next::edit(was, &Changes { acceptance_criteria: Some(other), ..Changes::default() }, by)
        }
        OperatorStep::Rank => {
            let other = u8::from(was.importance == 0);
            next::edit(was, &Changes { importance: Some(other), ..Changes::default() }, by)
        }
        OperatorStep::Archive => next::archive(was, by),
        OperatorStep::Unarchive => next::unarchive(was, by),
    }
}
