//! The forward migrations of both backends, embedded. Both step together.
//!
//! Each backend runs all that are missing in one transaction, under a lock that keeps other programs out, after a
//! backup of what was there. A migrator from outside would run its own transactions, outside that lock.

use crate::error::SubstrateError;

/// One step forward.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Migration {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

/// All of them; a store's version is how many it has had.
pub(crate) const MIGRATIONS: &[Migration] = &[Migration {
    sqlite: include_str!("../migrations/sqlite/0001_foundation.sql"),
    postgres: include_str!("../migrations/postgres/0001_foundation.sql"),
}];

/// The version that this program writes.
pub const STORE_VERSION: u32 = MIGRATIONS.len() as u32;

/// Returns the migrations that a store at `version` lacks, or refuses one that is newer than `known`.
pub(crate) fn missing(known: &[Migration], version: i64) -> Result<&[Migration], SubstrateError> {
    usize::try_from(version).ok().and_then(|applied| known.get(applied..)).ok_or_else(|| {
        SubstrateError::unusable(
            format!("the store has version {version}, this program knows {}", known.len()),
            "install the newer azolla that wrote it",
        )
    })
}

/// The refusal to read a store that would have to be upgraded first.
pub(crate) fn older(version: i64) -> SubstrateError {
    SubstrateError::unusable(
        format!("the store has version {version} and has to be upgraded to {STORE_VERSION}"),
        "open it with a command of its own machine, such as azolla doctor",
    )
}
