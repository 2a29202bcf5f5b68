//! SQL that only SQLite runs.

pub(super) const BEGIN: &str = "BEGIN IMMEDIATE";
pub(super) const COMMIT: &str = "COMMIT";
pub(super) const ROLLBACK: &str = "ROLLBACK";
pub(super) const SAVEPOINT: &str = "SAVEPOINT job";
pub(super) const KEEP: &str = "RELEASE job";
pub(super) const UNDO: &str = "ROLLBACK TO job; RELEASE job";
pub(super) const BEGIN_READING: &str = "BEGIN DEFERRED";

/// R7. The write-ahead log is set by itself, because it answers with a row and needs the file for itself once.
pub(super) const SETTINGS: &str = "
    PRAGMA synchronous = FULL;
    PRAGMA foreign_keys = ON;
    PRAGMA recursive_triggers = ON;
    PRAGMA trusted_schema = OFF;
    PRAGMA cell_size_check = ON;
    PRAGMA cache_size = -512;
    PRAGMA journal_size_limit = 67108864";
/// In KiB. Readers share the system's cache; the writer keeps the inner pages of every index.
pub(super) const WRITER_CACHE: &str = "PRAGMA cache_size = -4096";
pub(super) const JOURNAL_MODE: &str = "PRAGMA journal_mode = WAL";
pub(super) const DATA_VERSION: &str = "PRAGMA data_version";
pub(super) const INTEGRITY: &str = "PRAGMA integrity_check";
pub(super) const FOREIGN_KEYS: &str = "PRAGMA foreign_key_check";

/// `azol`, in the header of every file of ours.
pub(super) const APPLICATION_ID: i64 = 0x617a_6f6c;
pub(super) const READ_APPLICATION_ID: &str = "PRAGMA application_id";
pub(super) const READ_VERSION: &str = "PRAGMA user_version";
pub(super) const COUNT_TABLES: &str = "SELECT COUNT(*) FROM sqlite_master";
pub(super) const BACK_UP: &str = "VACUUM INTO $1";

/// Marks the file as ours, at a version. A PRAGMA takes no parameters.
pub(super) fn mark(version: u32) -> String {
    format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {version}")
}

// C-1 as two statements, of which at most one hits: SQLite runs them under its one write lock, so they are as atomic
// as PostgreSQL's single upsert. An upsert would trip over the guard against INSERT OR REPLACE.
//
// A claim that was given back is free whatever its time says: a clock that was ahead may have written it, and it would be
// held until that time comes again.
//
// At 2^53 - 1 a version is at its end: no document could carry the next one (T38). Such a claim counts as held, so that whoever
// meets it goes on to the next resource (C-8).

/// Takes over an expired claim on an open event.
pub(super) const GRANT_EVENT_AGAIN: &str = "
    UPDATE claim_record
    SET owner_id = $1, lease_expires_at = azolla_plus(azolla_now(), $2), heartbeat_at = azolla_now(),
        claim_version = claim_version + 1, granted_at = azolla_now(), released_at = NULL, lost_ms = 0
    WHERE resource_type = 'EVENT' AND resource_id = $3
      AND (released_at IS NOT NULL OR lease_expires_at <= azolla_now()) AND claim_version < 9007199254740991
      AND EXISTS (SELECT 1 FROM event WHERE event_id = $3 AND processed = 0)
    RETURNING claim_version, lease_expires_at, granted_at";

pub(super) const GRANT_EVENT_FIRST: &str = "
    INSERT INTO claim_record (resource_type, resource_id, owner_id, lease_expires_at, heartbeat_at, claim_version,
        granted_at)
    SELECT 'EVENT', event_id, $1, azolla_plus(azolla_now(), $2), azolla_now(), 1, azolla_now()
    FROM event WHERE event_id = $3 AND processed = 0
      AND NOT EXISTS (SELECT 1 FROM claim_record WHERE resource_type = 'EVENT' AND resource_id = $3)
    RETURNING claim_version, lease_expires_at, granted_at";

/// Takes over an expired claim on an open workorder; a lost one is measured up to its expiry (B-2).
pub(super) const GRANT_WORKORDER_AGAIN: &str = "
    UPDATE claim_record
    SET owner_id = $1, lease_expires_at = azolla_plus(azolla_now(), $2), heartbeat_at = azolla_now(),
        claim_version = claim_version + 1, granted_at = azolla_now(), released_at = NULL,
        lost_ms = CASE WHEN released_at IS NULL THEN azolla_between(granted_at, lease_expires_at) ELSE 0 END
    WHERE resource_type = 'WORKORDER' AND resource_id = $3
      AND (released_at IS NOT NULL OR lease_expires_at <= azolla_now()) AND claim_version < 9007199254740991
      AND EXISTS (SELECT 1 FROM workorder WHERE work_order_id = $3 AND stream_slot IS NOT NULL)
    RETURNING claim_version, lease_expires_at, granted_at";

pub(super) const GRANT_WORKORDER_FIRST: &str = "
    INSERT INTO claim_record (resource_type, resource_id, owner_id, lease_expires_at, heartbeat_at, claim_version,
        granted_at)
    SELECT 'WORKORDER', work_order_id, $1, azolla_plus(azolla_now(), $2), azolla_now(), 1, azolla_now()
    FROM workorder WHERE work_order_id = $3 AND stream_slot IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM claim_record WHERE resource_type = 'WORKORDER' AND resource_id = $3)
    RETURNING claim_version, lease_expires_at, granted_at";

// The same for a claim that ends in the transaction that grants it (`Commit::claiming`).

pub(super) const CLAIM_EVENT_AGAIN: &str = "
    UPDATE claim_record
    SET owner_id = $1, lease_expires_at = azolla_now(), heartbeat_at = azolla_now(),
        claim_version = claim_version + 1, granted_at = azolla_now(), released_at = azolla_now(), lost_ms = 0
    WHERE resource_type = 'EVENT' AND resource_id = $2
      AND (released_at IS NOT NULL OR lease_expires_at <= azolla_now()) AND claim_version < 9007199254740991
      AND EXISTS (SELECT 1 FROM event WHERE event_id = $2 AND processed = 0)";

pub(super) const CLAIM_EVENT_FIRST: &str = "
    INSERT INTO claim_record (resource_type, resource_id, owner_id, lease_expires_at, heartbeat_at, claim_version,
        granted_at, released_at)
    SELECT 'EVENT', event_id, $1, azolla_now(), azolla_now(), 1, azolla_now(), azolla_now()
    FROM event WHERE event_id = $2 AND processed = 0
      AND NOT EXISTS (SELECT 1 FROM claim_record WHERE resource_type = 'EVENT' AND resource_id = $2)";

pub(super) const CLAIM_WORKORDER_AGAIN: &str = "
    UPDATE claim_record
    SET owner_id = $1, lease_expires_at = azolla_now(), heartbeat_at = azolla_now(),
        claim_version = claim_version + 1, granted_at = azolla_now(), released_at = azolla_now(),
        lost_ms = CASE WHEN released_at IS NULL THEN azolla_between(granted_at, lease_expires_at) ELSE 0 END
    WHERE resource_type = 'WORKORDER' AND resource_id = $2
      AND (released_at IS NOT NULL OR lease_expires_at <= azolla_now()) AND claim_version < 9007199254740991
      AND EXISTS (SELECT 1 FROM workorder WHERE work_order_id = $2 AND stream_slot IS NOT NULL)";

pub(super) const CLAIM_WORKORDER_FIRST: &str = "
    INSERT INTO claim_record (resource_type, resource_id, owner_id, lease_expires_at, heartbeat_at, claim_version,
        granted_at, released_at)
    SELECT 'WORKORDER', work_order_id, $1, azolla_now(), azolla_now(), 1, azolla_now(), azolla_now()
    FROM workorder WHERE work_order_id = $2 AND stream_slot IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM claim_record WHERE resource_type = 'WORKORDER' AND resource_id = $2)";

/// Counts the new claim and charges the one that was lost before it.
pub(super) const COUNT_EVENT: &str = "
    UPDATE event SET claim_count = claim_count + 1 WHERE event_id = $1 RETURNING claim_count, 0";

pub(super) const COUNT_WORKORDER: &str = "
    UPDATE workorder
    SET claim_count = claim_count + 1,
        budget_consumed_ms = budget_consumed_ms + CASE status WHEN 'CREATED' THEN
            (SELECT lost_ms FROM claim_record WHERE resource_type = 'WORKORDER' AND resource_id = work_order_id)
            ELSE 0 END
    WHERE work_order_id = $1
    RETURNING claim_count, budget_consumed_ms";

pub(super) const JOURNAL_AFTER: &str =
    concat!("SELECT ", crate::sql::journal_columns!(), " FROM journal WHERE seq > $1 ORDER BY seq LIMIT $2");

pub(super) const JOURNAL_LATEST: &str = concat!(
    "SELECT ",
    crate::sql::journal_columns!(),
    " FROM journal WHERE seq > $1 ORDER BY seq DESC LIMIT $2"
);

pub(super) const JOURNAL_TOLD: &str = concat!(
    "SELECT ",
    crate::sql::journal_columns!(),
    " FROM journal WHERE seq > $1 AND ",
    crate::sql::told!(),
    " ORDER BY seq DESC LIMIT $2"
);
