//! All status changes: one file per artifact that has a status. Nothing else assigns one (S-1).

pub mod capture_buffer;
pub mod claim;
pub mod event;
pub mod objective;
pub mod workorder;

pub use objective::*;

use crate::ArtifactKind;

/// A status change that can happen once, asked for again (W-6, S-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{artifact} is {status}; {step} needs {needs}")]
pub struct AlreadyDone {
    /// What would have changed.
    pub artifact: ArtifactKind,
    /// Where it stands.
    pub status: &'static str,
    /// What was asked for.
    pub step: &'static str,
    /// Where it would have to stand.
    pub needs: &'static str,
}
