//! The workers: one file and one `tick` each (PROTOCOL.md section 6). The loop around them is in `poll.rs`.

use azolla_protocol::{Actor, Event, EventId, EventType, ObjectiveId, Validated};
use azolla_substrate::{Commit, Write};

use crate::{
    context::{RepositoryFile, WorkerContext, WorkerError},
    flow::PatchFlow,
    repo::{CommitSha, RepositoryError, check_branch},
};

pub mod capture_readiness;
mod claimed;
pub mod deadline_monitor;
pub mod gate;
pub mod manifest_scheduler;
pub mod readiness;
pub mod runner;
pub mod scheduler;

/// How many candidates a tick looks at: enough that some which cannot move do not hide the others (W-3).
const CANDIDATES: u64 = 1_000;

/// The repository's own settings, as they are at a commit of a base branch; none if it has no such file (R13).
async fn repository_file(
    flow: &PatchFlow,
    commit: &str,
    base_branch: &str,
) -> Result<Option<RepositoryFile>, RepositoryError> {
    const BYTES_MAX: usize = 64 * 1024;
    let bytes = flow.repository.file(commit, ".azolla.toml", BYTES_MAX).await?;
    bytes.map(|bytes| flow.repository_file.read(&bytes, base_branch)).transpose()
}

/// Brings the base of an objective. An objective keeps the branch that was approved, whatever the configuration says: where
/// that is gone, the action is the edit that names another.
async fn base_of(
    flow: &PatchFlow,
    id: &ObjectiveId,
    base_branch: &str,
) -> Result<CommitSha, RepositoryError> {
    let (what, action) = match flow.repository.base(base_branch).await {
        Err(RepositoryError::Unusable { what, action }) => (what, action),
        done => return done,
    };
    let there = flow.repository.bases().await.unwrap_or_default();
    let is_gone = !there.iter().any(|name| name == base_branch);
    let action = another_base(id, there).filter(|_| is_gone).unwrap_or(action);
    Err(RepositoryError::Unusable { what, action })
}

/// The action that names another base, of those that can be one; none if there is none.
fn another_base(id: &ObjectiveId, there: Vec<String>) -> Option<String> {
    /// An action is cut where it is too long, and its end is what has to be typed.
    const SHOWN_BYTES: usize = 300;
    let mut names: Vec<String> = there.into_iter().filter(|name| check_branch(name).is_ok()).collect();
    // Quoted for a shell: to one, `#1` is a remark.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./@,+=%".contains(c);
    let first = names.first()?;
    let base = if first.chars().all(is_plain) { first.clone() } else { format!("'{first}'") };
    while names.len() > 1 && names.join(", ").len() > SHOWN_BYTES {
        names.pop();
    }
    let shown = names.join(", ");
    Some(format!("Start from a branch that it has ({shown}): azolla objective edit {id} --base {base}"))
}

/// Emits the event of an entry about a resource; false if another process was first: the unique keys held (W-1, W-2).
async fn emit(
    ctx: &WorkerContext,
    actor: Actor,
    event_id: EventId,
    (event_type, resource_id): (EventType, &str),
    entry: u64,
) -> Result<bool, WorkerError> {
    let event = Event {
        event_id,
        event_type,
        resource_id: resource_id.to_owned(),
        azolla_id: ctx.identity.azolla_id.clone(),
        created_at: ctx.read().now().await?,
        processed: false,
        processed_reason: None,
        processed_at: None,
    };
    let write = Write::EmitEvent { event: Validated::new(event)?, entry: Some(entry) };
    match ctx.substrate.commit(Commit::new(ctx.commit_id(), actor).with(write)).await {
        Ok(_) => Ok(true),
        Err(error) if error.is_refused_by("W-1") || error.is_refused_by("W-2") => Ok(false),
        Err(error) => Err(error.into()),
    }
}
