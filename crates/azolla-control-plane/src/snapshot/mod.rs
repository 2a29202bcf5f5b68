//! How each context_snapshot is built: all that a diazotroph will see (B-1).

pub mod patch;
