//! The one status change of a capture: PENDING to PROCESSED, by the gate's PASS or by hand (S-4).

use super::AlreadyDone;
use crate::{ArtifactKind, CaptureStatus};

/// Returns PROCESSED, or refuses a capture that already is.
pub fn process(status: CaptureStatus) -> Result<CaptureStatus, AlreadyDone> {
    match status {
        CaptureStatus::Pending => Ok(CaptureStatus::Processed),
        CaptureStatus::Processed => Err(AlreadyDone {
            artifact: ArtifactKind::CaptureBuffer,
            status: CaptureStatus::Processed.as_str(),
            step: "process",
            needs: CaptureStatus::Pending.as_str(),
        }),
    }
}
