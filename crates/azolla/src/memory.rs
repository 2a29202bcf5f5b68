//! How SQLite gets its memory.

use rusqlite::ffi;

/// Ends the count that SQLite keeps of its memory, which nothing here asks for. It is kept under one lock for all stores, so
/// threads that each open a store would spend their time waiting for each other. To be called before the first connection.
#[expect(unsafe_code, reason = "there is no other way to this setting")]
pub(crate) fn uncounted() {
    // SAFETY: this takes one integer, as SQLite documents, and no other thread runs yet. Too late, it changes nothing.
    unsafe {
        ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0);
    }
}
