//! A CAPTURE_READY becomes the workorder of a triage, or a reason why not (TF-2 to TF-4).

use azolla_substrate::{Commit, StoredEvent};

use crate::{
    context::{WorkerContext, WorkerError},
    flow::TaskMgmtFlow,
};

/// Steps 2 to 4 for one event: what to commit. None if the event stays as it is.
pub(super) async fn evaluate(
    _ctx: &WorkerContext,
    _flow: &TaskMgmtFlow,
    _event: &StoredEvent,
) -> Result<Option<Commit>, WorkerError> {
    Ok(None)
}
