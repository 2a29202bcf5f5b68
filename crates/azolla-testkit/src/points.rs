//! Failpoints (P4): the real workers and the operator's steps in a process of their own, on a real store of either
//! backend and a real git repository, with a trap at one write boundary.
//!
//! A boundary is found, not listed: decorators of the store and the repository name every write that passes through them
//! by who writes what, before it and after it. `walk` records them once and then springs each one: the process is
//! killed there, is told of a failure, or stands still until somebody else has taken over its work. Somebody clean
//! completes what is left, and all that has to hold is checked.

mod check;
mod desk;
mod ground;
mod mood;
mod name;
mod peers;
mod place;
mod process;
mod repository;
mod scene;
mod store;
mod trap;
mod walk;

pub use name::uncovered;
pub use process::run;
pub use trap::{Action, Point};
pub use walk::{Company, Plan, Report, walk};
