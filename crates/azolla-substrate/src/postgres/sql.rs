//! SQL that only PostgreSQL runs.

use azolla_protocol::AzollaId;

use crate::statement::Expect;

/// The only way into a transaction that writes.
pub(super) const BEGIN: &str = "BEGIN READ WRITE";
pub(super) const COMMIT: &str = "COMMIT";
pub(super) const ROLLBACK: &str = "ROLLBACK";
pub(super) const BEGIN_READING: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
pub(super) const NOW: &str = "SELECT azolla_now()";
pub(super) const SERVER: &str =
    "SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding')";

/// What every connection says first. An acknowledged commit is on disk whatever the server's default is, and a
/// client that vanished does not keep a claim's row locked. Our statements are few and find rows by key, so they
/// are planned once; and as a plan outlives the day when its table was small, it never reads a whole table where an
/// index leads. That makes the few statements that do look costly, which must not have them compiled.
pub(super) fn session(azolla_id: &AzollaId) -> String {
    format!(
        "SET search_path TO \"{azolla_id}\";
         SET default_transaction_isolation TO 'read committed';
         SET synchronous_commit TO on;
         SET plan_cache_mode TO force_generic_plan;
         SET enable_seqscan TO off;
         SET jit TO off;
         SET idle_in_transaction_session_timeout TO '30s';
         {LIMITS}"
    )
}

/// What a pooled connection says too: no transaction of it writes but one that began by `BEGIN`. A flight whose BEGIN
/// failed would otherwise be as many transactions as it has statements (R1).
pub(super) const READ_ONLY: &str = "SET default_transaction_read_only TO on";

/// How long a statement waits for a lock of somebody else.
pub(super) const LIMITS: &str = "SET lock_timeout TO '10s'";

/// What a pooled connection says after that: it holds the lock that an upgrade waits for, and it is of no use to a
/// store that a newer program has upgraded since.
pub(super) fn enter(azolla_id: &AzollaId, version: usize) -> String {
    format!(
        "SELECT pg_advisory_lock_shared(hashtextextended('azolla in use {azolla_id}', 0));
         SELECT azolla_require(COUNT(*)) FROM store_version WHERE version = {version}"
    )
}

/// The notifier commits nothing that would have to survive, so it never waits for the disk.
pub(super) const NOTIFIER_SESSION: &str = "SET synchronous_commit TO off";
pub(super) const NOTIFY: &str = "SELECT pg_notify($1, '')";

pub(super) fn listen(azolla_id: &AzollaId) -> String {
    format!("LISTEN \"{azolla_id}\"")
}

// Opening. One transaction, under one lock per azolla.

pub(super) const LOCK_OPENING: &str = "SELECT pg_advisory_xact_lock(hashtextextended('azolla ' || $1, 0))";
/// Waits until no program uses the store: none of them knows what the upgrade is about to make of it.
pub(super) const LOCK_UPGRADE: &str =
    "SELECT pg_advisory_xact_lock(hashtextextended('azolla in use ' || $1, 0))";
pub(super) const FIND_SCHEMA: &str = "SELECT 1 FROM pg_namespace WHERE nspname = $1";
pub(super) const FIND_VERSION: &str = "
    SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'store_version'";
pub(super) const FIND_TABLES: &str = "SELECT 1 FROM pg_tables WHERE schemaname = $1 LIMIT 1";
pub(super) const READ_VERSION: &str = "SELECT version FROM store_version";
pub(super) const MAKE_VERSION: &str = "
    CREATE TABLE store_version (version BIGINT NOT NULL); INSERT INTO store_version VALUES (0)";
pub(super) const WRITE_VERSION: &str = "UPDATE store_version SET version = $1";

pub(super) fn make_schema(azolla_id: &AzollaId) -> String {
    format!("CREATE SCHEMA \"{azolla_id}\"")
}

/// Copies every table into a schema of its own, named after the azolla and the version. The name is cut to what
/// PostgreSQL keeps of one, so that it cannot be taken for the schema that it is a copy of.
pub(super) fn back_up(azolla_id: &AzollaId, version: i64) -> String {
    let cut: String = azolla_id.as_str().chars().take(55).collect();
    let backup = format!("{cut}@v{version}");
    format!(
        "DO $$ DECLARE name TEXT; BEGIN
             CREATE SCHEMA \"{backup}\";
             FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = '{azolla_id}' LOOP
                 EXECUTE format('CREATE TABLE %I.%I AS TABLE %I.%I', '{backup}', name, '{azolla_id}', name);
             END LOOP;
         END $$"
    )
}

/// Sets the journal's numbering behind what an import has loaded.
pub(super) const NUMBER_JOURNAL: &str = "
    SELECT setval(pg_get_serial_sequence('journal', 'seq'), COALESCE(MAX(seq), 1), COUNT(*) > 0) FROM journal";

/// Which transaction this is, and what became of one.
pub(super) const TRANSACTION: &str = "SELECT CAST(pg_current_xact_id() AS TEXT)";
pub(super) const TRANSACTION_STATUS: &str = "SELECT pg_xact_status(CAST(CAST($1 AS TEXT) AS xid8))";

/// Rows of transactions older than any that still runs, in the order of their transactions: one that commits late
/// comes late, and is never passed over.
pub(super) const JOURNAL_AFTER: &str = concat!(
    "SELECT ",
    crate::sql::journal_columns!(),
    ", xid FROM journal
      WHERE xid >= $1 AND (xid, seq) > ($1, $2)
        AND xid < CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT)
      ORDER BY xid, seq LIMIT $3"
);

/// The last of those rows, backwards: found by `seq`, which is nearly the same order and has an index, so a few more are
/// looked at than are asked for. Rows of transactions that still run, and of those beside them, do not count among them.
pub(super) const JOURNAL_LATEST: &str = concat!(
    "SELECT ",
    crate::sql::journal_columns!(),
    ", xid FROM (SELECT * FROM journal
          WHERE xid < CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT)
          ORDER BY seq DESC LIMIT CAST($1 AS BIGINT) + 100) AS journal
      WHERE (xid, seq) > ($2, $3)
      ORDER BY xid DESC, seq DESC LIMIT $1"
);

pub(super) const JOURNAL_TOLD: &str = concat!(
    "SELECT ",
    crate::sql::journal_columns!(),
    ", xid FROM (SELECT * FROM journal
          WHERE xid < CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT) AND ",
    crate::sql::told!(),
    "
          ORDER BY seq DESC LIMIT CAST($1 AS BIGINT) + 100) AS journal
      WHERE (xid, seq) > ($2, $3)
      ORDER BY xid DESC, seq DESC LIMIT $1"
);

/// A statement whose miss has to end the transaction on the server: the whole commit is in flight already.
pub(super) fn required(text: &str, expect: Expect) -> String {
    match expect {
        Expect::Any => text.to_owned(),
        Expect::Written(_) => {
            format!("WITH hit AS ({text} RETURNING 1) SELECT azolla_require(COUNT(*)) FROM hit")
        }
        Expect::Found(_) => format!("WITH hit AS ({text}) SELECT azolla_require(COUNT(*)) FROM hit"),
    }
}

// C-1 in one statement, so that a claim is one round trip. `clock` is read once: `granted_at` is what expiry is
// judged by. Under a lock wait it is older than the real time, which can only refuse, never grant too early.
// A claim that was given back is free whatever its time says, and one at 2^53 - 1 is at its end, as on SQLite.

pub(super) const ACQUIRE_WORKORDER: &str = "
    WITH clock AS MATERIALIZED (SELECT azolla_now() AS now),
    granted AS (
        INSERT INTO claim_record (resource_type, resource_id, owner_id, lease_expires_at, heartbeat_at,
            claim_version, granted_at)
        SELECT 'WORKORDER', work_order_id, $1, azolla_plus(now, $2), now, 1, now
        FROM workorder, clock WHERE work_order_id = $3 AND stream_slot IS NOT NULL
        ON CONFLICT (resource_type, resource_id) DO UPDATE
        SET owner_id = excluded.owner_id, lease_expires_at = excluded.lease_expires_at,
            heartbeat_at = excluded.heartbeat_at, claim_version = claim_record.claim_version + 1,
            granted_at = excluded.granted_at, released_at = NULL,
            lost_ms = CASE WHEN claim_record.released_at IS NULL
                THEN azolla_between(claim_record.granted_at, claim_record.lease_expires_at) ELSE 0 END
        WHERE (claim_record.released_at IS NOT NULL OR claim_record.lease_expires_at <= excluded.granted_at)
          AND claim_record.claim_version < 9007199254740991
        RETURNING resource_id, claim_version, lease_expires_at, granted_at, lost_ms),
    counted AS (
        UPDATE workorder
        SET claim_count = workorder.claim_count + 1, budget_consumed_ms = workorder.budget_consumed_ms
            + CASE workorder.status WHEN 'CREATED' THEN granted.lost_ms ELSE 0 END
        FROM granted WHERE workorder.work_order_id = granted.resource_id
        RETURNING workorder.claim_count, workorder.budget_consumed_ms),
    noted AS (
        INSERT INTO journal (at, actor, owner_id, claim_version, step, resource_type, resource_id)
        SELECT granted_at, $4, $1, claim_version, 'GRANT', 'workorder', resource_id FROM granted)
    SELECT claim_version, lease_expires_at, granted_at, claim_count, budget_consumed_ms FROM granted, counted";

pub(super) const ACQUIRE_EVENT: &str = "
    WITH clock AS MATERIALIZED (SELECT azolla_now() AS now),
    granted AS (
        INSERT INTO claim_record (resource_type, resource_id, owner_id, lease_expires_at, heartbeat_at,
            claim_version, granted_at)
        SELECT 'EVENT', event_id, $1, azolla_plus(now, $2), now, 1, now
        FROM event, clock WHERE event_id = $3 AND processed = 0
        ON CONFLICT (resource_type, resource_id) DO UPDATE
        SET owner_id = excluded.owner_id, lease_expires_at = excluded.lease_expires_at,
            heartbeat_at = excluded.heartbeat_at, claim_version = claim_record.claim_version + 1,
            granted_at = excluded.granted_at, released_at = NULL, lost_ms = 0
        WHERE (claim_record.released_at IS NOT NULL OR claim_record.lease_expires_at <= excluded.granted_at)
          AND claim_record.claim_version < 9007199254740991
        RETURNING resource_id, claim_version, lease_expires_at, granted_at),
    counted AS (
        UPDATE event SET claim_count = event.claim_count + 1
        FROM granted WHERE event.event_id = granted.resource_id
        RETURNING event.claim_count),
    noted AS (
        INSERT INTO journal (at, actor, owner_id, claim_version, step, resource_type, resource_id)
        SELECT granted_at, $4, $1, claim_version, 'GRANT', 'event', resource_id FROM granted)
    SELECT claim_version, lease_expires_at, granted_at, claim_count, CAST(0 AS BIGINT) FROM granted, counted";

// The same for a claim that ends in the transaction that grants it (`Commit::claiming`).

pub(super) const CLAIM_EVENT: &str = "
    INSERT INTO claim_record (resource_type, resource_id, owner_id, lease_expires_at, heartbeat_at, claim_version,
        granted_at, released_at)
    SELECT 'EVENT', event_id, $1, now, now, 1, now, now
    FROM event, (SELECT azolla_now() AS now OFFSET 0) AS clock WHERE event_id = $2 AND processed = 0
    ON CONFLICT (resource_type, resource_id) DO UPDATE
    SET owner_id = excluded.owner_id, lease_expires_at = excluded.lease_expires_at,
        heartbeat_at = excluded.heartbeat_at, claim_version = claim_record.claim_version + 1,
        granted_at = excluded.granted_at, released_at = excluded.released_at, lost_ms = 0
    WHERE (claim_record.released_at IS NOT NULL OR claim_record.lease_expires_at <= excluded.granted_at)
      AND claim_record.claim_version < 9007199254740991";

/// Reads eligibility again once the claim is ours (C-1): the statement that claimed may have waited for the very
/// commit that closed the resource, and saw it as it was before.
pub(super) const EVENT_IS_OPEN: &str = "SELECT 1 FROM event WHERE event_id = $1 AND processed = 0";
pub(super) const WORKORDER_IS_OPEN: &str =
    "SELECT 1 FROM workorder WHERE work_order_id = $1 AND stream_slot IS NOT NULL";

pub(super) const CLAIM_WORKORDER: &str = "
    INSERT INTO claim_record (resource_type, resource_id, owner_id, lease_expires_at, heartbeat_at, claim_version,
        granted_at, released_at)
    SELECT 'WORKORDER', work_order_id, $1, now, now, 1, now, now
    FROM workorder, (SELECT azolla_now() AS now OFFSET 0) AS clock
    WHERE work_order_id = $2 AND stream_slot IS NOT NULL
    ON CONFLICT (resource_type, resource_id) DO UPDATE
    SET owner_id = excluded.owner_id, lease_expires_at = excluded.lease_expires_at,
        heartbeat_at = excluded.heartbeat_at, claim_version = claim_record.claim_version + 1,
        granted_at = excluded.granted_at, released_at = excluded.released_at,
        lost_ms = CASE WHEN claim_record.released_at IS NULL
            THEN azolla_between(claim_record.granted_at, claim_record.lease_expires_at) ELSE 0 END
    WHERE (claim_record.released_at IS NOT NULL OR claim_record.lease_expires_at <= excluded.granted_at)
      AND claim_record.claim_version < 9007199254740991";
