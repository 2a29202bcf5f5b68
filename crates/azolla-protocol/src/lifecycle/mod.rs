//! The status changes of an objective (PROTOCOL.md section 4). Nothing else assigns its status (S-1). The other
//! artifacts have one change each, which the Substrate's statements name and its triggers hold (W-6, S-4).

pub mod objective;

pub use objective::*;
