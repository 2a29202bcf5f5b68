//! For tests only: time and ids that a test sets, a store of either backend with both under its control, the steps
//! of a patch cycle, and PostgreSQL with its faults.

pub mod clock;
pub mod cycle;
pub mod ids;
pub mod postgres;
pub mod proxy;
pub mod store;

pub use clock::ManualClock;
pub use cycle::PatchCycle;
pub use ids::SequentialIds;
pub use store::{Backend, TestStore};
