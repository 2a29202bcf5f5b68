//! The one status change of a workorder: CREATED to EXECUTED, once (W-6).

use super::AlreadyDone;
use crate::{ArtifactKind, WorkorderStatus};

/// Returns EXECUTED, or refuses a workorder that already is.
pub fn execute(status: WorkorderStatus) -> Result<WorkorderStatus, AlreadyDone> {
    match status {
        WorkorderStatus::Created => Ok(WorkorderStatus::Executed),
        WorkorderStatus::Executed => Err(AlreadyDone {
            artifact: ArtifactKind::Workorder,
            status: WorkorderStatus::Executed.as_str(),
            step: "execute",
            needs: WorkorderStatus::Created.as_str(),
        }),
    }
}
