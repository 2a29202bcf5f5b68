//! One objective as a program reads it: the artifact, its current pause_state and its runs, page by page.

use azolla_protocol::{ObjectiveId, RunId};
use azolla_substrate::{SubstrateError, SubstrateRead};
use serde_json::{Value, json};

/// Returns an objective with its current pause_state and a page of its runs; none if there is no such objective.
pub(crate) async fn objective_page(
    read: &dyn SubstrateRead,
    id: &ObjectiveId,
    before: Option<&RunId>,
    limit: u64,
) -> Result<Option<Value>, SubstrateError> {
    let Some(stored) = read.objective(id).await? else { return Ok(None) };
    let pause = match &stored.pause_key {
        Some(key) => read.pause_state(key).await?,
        None => None,
    };
    let mut runs = read.runs_before(id, before, limit).await?;
    let next = runs.last().filter(|_| runs.len() as u64 == limit).map(|last| last.run_id.clone());
    runs.reverse();
    Ok(Some(json!({"objective": stored.objective, "pause_state": pause, "runs": runs, "next": next})))
}
