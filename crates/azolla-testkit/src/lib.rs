//! For tests only: time and ids that a test sets, a store of either backend with both under its control, the steps
//! of a patch cycle and of a triage, the workers of both azolla types with all their parts, and PostgreSQL with its
//! faults.

pub mod chaos;
pub mod clock;
pub mod cycle;
pub mod decorate;
pub mod diazotroph;
pub mod disk;
pub mod ids;
pub mod peers;
pub mod points;
pub mod postgres;
pub mod proxy;
pub mod repository;
pub mod sim;
pub mod store;
pub mod task_world;
pub mod triage;
pub mod world;

pub use clock::ManualClock;
pub use cycle::PatchCycle;
pub use decorate::{Decorated, Decorator};
pub use diazotroph::{Answer, ScriptedDiazotroph};
pub use ids::SequentialIds;
pub use peers::{PeerAnswer, ScriptedPeers, ScriptedTargets};
pub use repository::MemoryRepository;
pub use store::{Backend, TestStore};
pub use task_world::TaskWorld;
pub use triage::TriageCycle;
pub use world::World;
