//! The workers: one file and one `tick` each (PROTOCOL.md section 6). The loop around them is in `poll.rs`.

use crate::{context::RepositoryFile, flow::PatchFlow, repo::RepositoryError};

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

/// The repository's own settings, as they are at a commit; none if it has no such file (R13).
async fn repository_file(flow: &PatchFlow, commit: &str) -> Result<Option<RepositoryFile>, RepositoryError> {
    const BYTES_MAX: usize = 64 * 1024;
    let bytes = flow.repository.file(commit, ".azolla.toml", BYTES_MAX).await?;
    bytes.map(|bytes| flow.repository_file.read(&bytes)).transpose()
}
