//! The gate of a triage (TF-6, TF-7).

use azolla_substrate::{Commit, StoredWorkorder};

use crate::{
    context::{WorkerContext, WorkerError},
    flow::TaskMgmtFlow,
};

/// Evaluates a bundle: what to commit.
pub(super) async fn evaluate(
    _ctx: &WorkerContext,
    _flow: &TaskMgmtFlow,
    stored: StoredWorkorder,
) -> Result<Commit, WorkerError> {
    Err(WorkerError::Broken(format!("{} cannot be gated yet", stored.workorder.work_order_id)))
}
