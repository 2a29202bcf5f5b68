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
        /// It became an objective. The operator can take that back until the objective is approved.
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
    /// Tells whether no other outcome follows unless this one is taken back: all but DEFERRED are recorded once.
    pub const fn is_final(self) -> bool {
        match self {
            Self::Promoted | Self::Discarded | Self::Duplicate => true,
            Self::Deferred => false,
        }
    }
}
