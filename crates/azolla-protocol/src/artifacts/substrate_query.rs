//! `substrate_query` and `substrate_query_response`: how one azolla reads another (section 9).

use serde::{Deserialize, Serialize};

use crate::names::named_enum;
use crate::{AzollaId, JsonObject, QueryId, ResponseId, Timestamp};

/// A question to the Exchange Membrane of another azolla.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubstrateQuery {
    /// Its id.
    pub query_id: QueryId,
    /// Who asks.
    pub source_azolla_id: AzollaId,
    /// Who is asked.
    pub target_azolla_id: AzollaId,
    /// What is asked for.
    pub artifact_type: QueryableType,
    /// Which ones (M-3). The membrane checks its keys, since an unknown one is answered DENIED (M-2).
    pub filter: JsonObject,
    /// When it was asked.
    pub created_at: Timestamp,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubstrateQueryResponse {
    /// Its id.
    pub response_id: ResponseId,
    /// The query it answers.
    pub query_id: QueryId,
    /// Who answers.
    pub target_azolla_id: AzollaId,
    /// Whether it was answered.
    pub status: QueryStatus,
    /// The artifacts asked for; empty unless OK.
    pub results: Vec<JsonObject>,
    /// When it was answered.
    pub created_at: Timestamp,
}

named_enum! {
    /// What another azolla may ask for.
    pub enum QueryableType {
        /// Pause states.
        PauseState = "pause_state",
        /// Objectives.
        Objective = "objective",
        /// Blockers; in no blueprint's reads today.
        BlockerRef = "blocker_ref",
    }
}

named_enum! {
    /// Whether a query was answered.
    pub enum QueryStatus {
        /// Answered.
        Ok = "OK",
        /// Refused, with no hint of what exists.
        Denied = "DENIED",
        /// Unreachable or too slow (M-4).
        TargetUnavailable = "TARGET_UNAVAILABLE",
    }
}
