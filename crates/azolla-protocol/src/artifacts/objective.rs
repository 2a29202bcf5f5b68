//! `objective` and the `blocker_ref` in it: what the operator is after, and what holds it up.

use serde::{Deserialize, Serialize};

use crate::names::named_enum;
use crate::{AzollaId, BlockerId, JsonObject, ObjectiveId, Timestamp};

/// One piece of work, or the standing purpose of an azolla. Its `status` changes only by
/// [`crate::advance`] (S-1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// Its id.
    pub objective_id: ObjectiveId,
    /// The azolla that stores it.
    pub azolla_id: AzollaId,
    /// One line. May be empty until approval (S-b).
    pub title: String,
    /// Text of any number of lines. May be empty until approval (S-b).
    pub acceptance_criteria: String,
    /// TICKET or STANDING.
    pub objective_type: ObjectiveType,
    /// Where it stands in the table of section 4.
    pub status: ObjectiveStatus,
    /// 0 to 4, 0 first.
    pub importance: u8,
    /// 0 to 4, 0 first; it sets the deadline (section 7.4).
    pub urgency: u8,
    /// Why it is BLOCKED, in a line.
    pub blocked_reason: Option<String>,
    /// Every blocker it has had, resolved ones too.
    pub blocked_on: Vec<BlockerRef>,
    /// TICKET: `repo_ref`, `base_branch`. STANDING: `scope_description`. Both: `completion`, `archived_at`.
    pub metadata: JsonObject,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// One thing that holds an objective up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockerRef {
    /// Its id.
    pub blocker_id: BlockerId,
    /// What sort of thing is missing.
    pub kind: BlockerKind,
    /// What is missing, in words.
    pub description: String,
    /// Whether it still holds the objective up.
    pub resolved: bool,
}

named_enum! {
    /// What an objective is.
    pub enum ObjectiveType {
        /// A bounded piece of work.
        Ticket = "TICKET",
        /// The purpose of an azolla; IN_PROGRESS for ever (S-n).
        Standing = "STANDING",
    }
}

named_enum! {
    /// Where an objective stands.
    pub enum ObjectiveStatus {
        /// Created; waits for the operator's approval.
        New = "NEW",
        /// Approved; waits for the Scheduler.
        Todo = "TODO",
        /// A workorder is open.
        InProgress = "IN_PROGRESS",
        /// Waits for the operator.
        Blocked = "BLOCKED",
        /// Passed its gate; complete once confirmed (S-2).
        Done = "DONE",
    }
}

named_enum! {
    /// What sort of thing a blocker waits for.
    pub enum BlockerKind {
        /// An answer of the operator.
        UserInput = "USER_INPUT",
        /// Something outside.
        ExternalSystem = "EXTERNAL_SYSTEM",
        /// Another change.
        DependencyChange = "DEPENDENCY_CHANGE",
        /// A design that is still open.
        DesignDecision = "DESIGN_DECISION",
        /// A repository, credential or tool that cannot be reached.
        EnvironmentAccess = "ENVIRONMENT_ACCESS",
    }
}
