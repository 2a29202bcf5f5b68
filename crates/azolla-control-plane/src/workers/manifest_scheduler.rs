//! Manifest Scheduler Worker: one MANIFEST_REQUESTED becomes one workorder (MF-1 to MF-4).

use crate::context::{Tick, WorkerContext, WorkerError};

/// One look.
pub async fn tick(_ctx: &WorkerContext) -> Result<Tick, WorkerError> {
    Ok(Tick::Idle)
}
