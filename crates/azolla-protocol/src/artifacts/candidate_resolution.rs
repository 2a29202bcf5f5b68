//! `candidate_resolution`: what the operator did with a triage candidate (TF-8).

use serde::{Deserialize, Serialize};

use crate::names::named_enum;
use crate::{ObjectiveId, OutputId, Timestamp};

/// The outcome of one candidate of one triage bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CandidateResolution {
    /// The triage bundle.
    pub output_id: OutputId,
    /// The candidate's place in it, from 0.
    pub candidate_index: u64,
    /// What became of it.
    pub outcome: CandidateOutcome,
    /// The objective made (PROMOTED) or already there (DUPLICATE); null otherwise.
    pub objective_id: Option<ObjectiveId>,
    /// By whom.
    pub resolved_by: String,
    /// When.
    pub created_at: Timestamp,
}

named_enum! {
    /// What became of a triage candidate.
    pub enum CandidateOutcome {
        /// It became an objective. Final.
        Promoted = "PROMOTED",
        /// It was set aside. The operator can take that back.
        Discarded = "DISCARDED",
        /// It waits for later. Not final.
        Deferred = "DEFERRED",
        /// An objective for it was already there. The operator can take that back.
        Duplicate = "DUPLICATE",
    }
}

impl CandidateOutcome {
    /// Tells whether this outcome can give way to `next`: PROMOTED never, DEFERRED to any, the others to DEFERRED.
    pub const fn may_become(self, next: Self) -> bool {
        match self {
            Self::Promoted => false,
            Self::Deferred => true,
            Self::Discarded | Self::Duplicate => matches!(next, Self::Deferred),
        }
    }
}
