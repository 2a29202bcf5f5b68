//! Deadline Monitor Worker: what should have moved is pointed at (7.4, D-1, D-2). No claim.

use crate::context::{Tick, WorkerContext, WorkerError};

/// One look.
pub async fn tick(_ctx: &WorkerContext) -> Result<Tick, WorkerError> {
    Ok(Tick::Idle)
}
