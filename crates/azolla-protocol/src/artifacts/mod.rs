//! The artifacts of PROTOCOL.md section 3: one file per artifact, fields in the order of its table.
//!
//! These are plain data. A value may break its schema; only a [`crate::Validated`] one cannot.

mod candidate_resolution;
mod capture_buffer;
mod claim_record;
mod context_snapshot;
mod event;
mod gate_evidence;
mod ids;
mod journal;
mod objective;
mod output_bundle;
mod pause_state;
mod run_record;
mod session_manifest;
mod substrate_query;
mod usage_record;
mod workorder;

pub use candidate_resolution::*;
pub use capture_buffer::*;
pub use claim_record::*;
pub use context_snapshot::*;
pub use event::*;
pub use gate_evidence::*;
pub use ids::*;
pub use journal::*;
pub use objective::*;
pub use output_bundle::*;
pub use pause_state::*;
pub use run_record::*;
pub use session_manifest::*;
pub use substrate_query::*;
pub use usage_record::*;
pub use workorder::*;

/// A JSON object whose keys the protocol leaves open, or checks in the schema alone.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
