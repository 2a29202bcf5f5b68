//! The statements of the home store.

/// The version of the tables below.
pub(super) const VERSION: i64 = 1;

pub(super) const READ_VERSION: &str = "PRAGMA user_version";

/// Two programs that start at once both come here; the second finds everything made.
pub(super) const CREATE: &str = "
    PRAGMA journal_mode = WAL;
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS trust (
        repo TEXT PRIMARY KEY,
        file BLOB NOT NULL,
        pinned_at TEXT NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS look (
        azolla_id TEXT PRIMARY KEY,
        cursor TEXT NOT NULL,
        looked_at TEXT NOT NULL
    ) STRICT;
    PRAGMA user_version = 1;
    COMMIT;";

pub(super) const SETTINGS: &str = "PRAGMA synchronous = FULL";

pub(super) const PINNED: &str = "SELECT file FROM trust WHERE repo = ?1";

pub(super) const PINNED_AT: &str = "SELECT pinned_at FROM trust WHERE repo = ?1";

pub(super) const PIN: &str = "
    INSERT INTO trust (repo, file, pinned_at) VALUES (?1, ?2, ?3)
    ON CONFLICT (repo) DO UPDATE SET file = excluded.file, pinned_at = excluded.pinned_at";

pub(super) const LOOK: &str = "SELECT cursor, looked_at FROM look WHERE azolla_id = ?1";

pub(super) const LOOKED: &str = "
    INSERT INTO look (azolla_id, cursor, looked_at) VALUES (?1, ?2, ?3)
    ON CONFLICT (azolla_id) DO UPDATE SET cursor = excluded.cursor, looked_at = excluded.looked_at";
