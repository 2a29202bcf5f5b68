//! The Control Plane: what moves work along (PROTOCOL.md sections 6 and 7). No HTTP, no terminal and no provider here.

mod asking;
mod caught;
pub mod checks;
mod context;
mod flow;
pub mod generation;
mod lease;
pub mod operator;
mod overwhelm;
mod pause;
pub mod poll;
pub mod repo;
pub mod sandbox;
pub mod snapshot;
pub mod spending;
pub mod triage;
pub mod verify;
pub mod workers;

pub use asking::Overheard;
pub use context::{
    Activity, RepositoryFile, RepositoryFileReader, RepositorySettings, Settings, Tick, WorkerContext,
    WorkerError,
};
pub use flow::{Flow, PatchFlow, Targets, TaskMgmtFlow};
