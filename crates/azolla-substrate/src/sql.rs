//! SQL that both backends run as it stands, one constant per statement. Values appear in the order `$1`, `$2`, …:
//! SQLite numbers its parameters by first appearance.
//!
//! `azolla_now()`, `azolla_plus()` and `azolla_between()` are made by the first migration on PostgreSQL and
//! registered per connection on SQLite. What the backends have to say differently is in their own `sql.rs`.

// Claims.

/// Checks a claim and ends it, as the first statement of the commit that it protects (C-4, C-5). The row stays
/// locked until that commit is over, so nobody can take over in between.
pub(crate) const FENCE: &str = "
    UPDATE claim_record
    SET lease_expires_at = azolla_now(), heartbeat_at = azolla_now(), released_at = azolla_now()
    WHERE resource_type = $1 AND resource_id = $2 AND owner_id = $3 AND claim_version = $4
      AND released_at IS NULL AND lease_expires_at > azolla_now()";

pub(crate) const RENEW: &str = "
    UPDATE claim_record
    SET lease_expires_at = azolla_plus(azolla_now(), $1), heartbeat_at = azolla_now()
    WHERE resource_type = $2 AND resource_id = $3 AND owner_id = $4 AND claim_version = $5
      AND released_at IS NULL AND lease_expires_at > azolla_now()
    RETURNING lease_expires_at";

/// Ends a lease that a clock ahead of this one wrote, if nobody has renewed it since.
pub(crate) const EXPIRE: &str = "
    UPDATE claim_record SET lease_expires_at = azolla_now(), heartbeat_at = azolla_now()
    WHERE resource_type = $1 AND resource_id = $2 AND claim_version = $3 AND heartbeat_at = $4
      AND released_at IS NULL AND heartbeat_at > azolla_now()";

/// Charges the claim that the statement before has ended, and counts it or takes its count back (B-2, W-7).
pub(crate) const SETTLE_WORKORDER: &str = "
    UPDATE workorder
    SET claim_count = claim_count - $1,
        budget_consumed_ms = budget_consumed_ms + CASE status WHEN 'CREATED' THEN
            (SELECT azolla_between(granted_at, released_at) FROM claim_record
             WHERE resource_type = 'WORKORDER' AND resource_id = work_order_id) ELSE 0 END
    WHERE work_order_id = $2";

/// Charges the claim that was lost before the one that this very transaction begins and ends (B-2).
pub(crate) const CHARGE_LOST_CLAIM: &str = "
    UPDATE workorder
    SET budget_consumed_ms = budget_consumed_ms + CASE status WHEN 'CREATED' THEN
        (SELECT lost_ms FROM claim_record WHERE resource_type = 'WORKORDER' AND resource_id = work_order_id)
        ELSE 0 END
    WHERE work_order_id = $1";

pub(crate) const SETTLE_EVENT: &str = "
    UPDATE event SET claim_count = claim_count - $1 WHERE event_id = $2";

// Writes.

pub(crate) const INSERT_OBJECTIVE: &str = "
    INSERT INTO objective (objective_id, azolla_id, title, acceptance_criteria, objective_type, status, importance,
        urgency, blocked_reason, blocked_on, metadata, created_at, updated_at,
        version, todo_entry, waiting, confirmed, archived)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)";

/// A null `waiting` keeps it; an operator's step ends the current pause_state.
pub(crate) const UPDATE_OBJECTIVE: &str = "
    UPDATE objective
    SET title = $1, acceptance_criteria = $2, status = $3, importance = $4, urgency = $5, blocked_reason = $6,
        blocked_on = $7, metadata = $8, updated_at = $9, version = version + 1, todo_entry = todo_entry + $10,
        waiting = COALESCE($11, waiting), confirmed = $12, archived = $13,
        pause_key = CASE CAST($14 AS BIGINT) WHEN 1 THEN NULL ELSE pause_key END
    WHERE objective_id = $15 AND version = $16 AND status = $17";

pub(crate) const CHECK_EVENT_OF_OBJECTIVE: &str =
    "SELECT 1 FROM event WHERE event_id = $1 AND resource_id = $2";
pub(crate) const CHECK_WORKORDER_OF_OBJECTIVE: &str =
    "SELECT 1 FROM workorder WHERE work_order_id = $1 AND objective_id = $2";

pub(crate) const INSERT_OBJECTIVE_VERSION: &str = "
    INSERT INTO objective_version (objective_id, version, document) VALUES ($1, $2, $3)";

pub(crate) const INSERT_EVENT: &str = "
    INSERT INTO event (event_id, type, resource_id, azolla_id, created_at, processed, processed_reason,
        processed_at, entry, claim_count)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";

pub(crate) const PROCESS_EVENT: &str = "
    UPDATE event SET processed = 1, processed_reason = $1, processed_at = azolla_now(), claim_count = 0
    WHERE event_id = $2 AND processed = 0";

pub(crate) const INSERT_SNAPSHOT: &str = "
    INSERT INTO context_snapshot (snapshot_id, objective_id, created_at, document, objective_version)
    VALUES ($1, $2, $3, $4, $5)";

/// Takes the one lock per azolla, so that the two statements after it see every workorder created before.
pub(crate) const LOCK_STREAM: &str = "UPDATE azolla SET stream_lock = stream_lock + 1 WHERE one = 1";

/// A triage output waits as one result, as long as any of its candidates is open (O-3).
pub(crate) const CHECK_REVIEW_LIMIT: &str = "
    SELECT 1 WHERE CAST($1 AS BIGINT) = 0
        OR (SELECT COUNT(*) FROM objective WHERE waiting = 1)
         + (SELECT COUNT(DISTINCT output_id) FROM candidate WHERE open = 1)
         + (SELECT COUNT(*) FROM workorder WHERE stream_slot IS NOT NULL) < CAST($1 AS BIGINT)";

/// Takes the lowest free place of the work stream (W-4); no row if there is none. The open ones are counted and not
/// looked for below the limit: a limit that was lowered leaves them in higher places.
pub(crate) const CREATE_WORKORDER: &str = "
    INSERT INTO workorder (work_order_id, objective_id, diazotroph_type, context_snapshot_id, branch_name, budget_ms,
        status, created_at, event_id, stream_slot)
    SELECT $1, $2, $3, $4, $5, CAST($6 AS BIGINT), 'CREATED', $7, $8, place.slot
    FROM (SELECT 0 AS slot UNION ALL SELECT 1 UNION ALL SELECT 2) AS place
    WHERE (SELECT COUNT(*) FROM workorder WHERE stream_slot IS NOT NULL) < CAST($9 AS BIGINT)
      AND NOT EXISTS (SELECT 1 FROM workorder WHERE stream_slot = place.slot)
    ORDER BY place.slot LIMIT 1";

pub(crate) const INSERT_OUTPUT_BUNDLE: &str = "
    INSERT INTO output_bundle (output_id, objective_id, created_at, document, work_order_id)
    VALUES ($1, $2, $3, $4, $5)";

/// The budget is charged with the time of the claim that FENCE has just ended (B-2).
pub(crate) const EXECUTE_WORKORDER: &str = "
    UPDATE workorder
    SET status = 'EXECUTED', claim_count = 0, budget_consumed_ms = budget_consumed_ms +
        (SELECT azolla_between(granted_at, released_at) FROM claim_record
         WHERE resource_type = 'WORKORDER' AND resource_id = work_order_id)
    WHERE work_order_id = $1 AND objective_id = $2 AND status = 'CREATED'";

pub(crate) const INSERT_USAGE: &str = "
    INSERT INTO usage_record (work_order_id, claim_version, created_at, document) VALUES ($1, $2, $3, $4)";

pub(crate) const INSERT_RUN_RECORD: &str = "
    INSERT INTO run_record (run_id, work_order_id, objective_id, output_id, gate_result, created_at, document)
    VALUES ($1, $2, $3, $4, $5, $6, $7)";

pub(crate) const GATE_WORKORDER: &str = "
    UPDATE workorder SET stream_slot = NULL, claim_count = 0
    WHERE work_order_id = $1 AND status = 'EXECUTED' AND stream_slot IS NOT NULL";

pub(crate) const INSERT_EVIDENCE: &str = "
    INSERT INTO gate_evidence (run_id, work_order_id, created_at, document) VALUES ($1, $2, $3, $4)";

pub(crate) const INSERT_PAUSE: &str = "
    INSERT INTO pause_state (pause_key, objective_id, azolla_id, reason, created_at, document, work_order_id,
        event_id, local_objective_id, urgency)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";

pub(crate) const POINT_TO_PAUSE: &str = "UPDATE objective SET pause_key = $1 WHERE objective_id = $2";

/// The head of every statement that appends to the journal; `journal.rs` adds one of the two
/// tuples per row and numbers their values.
pub(crate) const JOURNAL: &str = "
    INSERT INTO journal (at, actor, owner_id, claim_version, step, resource_type, resource_id, from_status, to_status,
        detail, commit_id)
    VALUES ";
pub(crate) const JOURNAL_HELD: &str = "(azolla_now(), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
pub(crate) const JOURNAL_GRANTED: &str = "(azolla_now(), ?, ?,
    (SELECT claim_version FROM claim_record WHERE resource_type = ? AND resource_id = ?),
    ?, ?, ?, ?, ?, ?, ?)";

// Import only.

pub(crate) const LOAD_WORKORDER: &str = "
    INSERT INTO workorder (work_order_id, objective_id, diazotroph_type, context_snapshot_id, branch_name, budget_ms,
        status, created_at, event_id, budget_consumed_ms, claim_count, stream_slot)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";

pub(crate) const LOAD_JOURNAL: &str = "
    INSERT INTO journal (seq, at, actor, owner_id, claim_version, step, resource_type, resource_id, from_status,
        to_status, detail, commit_id)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";

/// What follows the kind in an id, as the index of the journal has it.
macro_rules! tail {
    ($id:literal) => {
        concat!("ltrim(", $id, ", 'abcdefghijklmnopqrstuvwxyz:')")
    };
}

/// Claims are not exported, but a version that was granted must never be granted again (C-2). A claim that was not
/// released is lost: it expired when it was granted, for how long it was held is not known here.
pub(crate) const LOAD_CLAIMS: &str = concat!(
    "
    INSERT INTO claim_record (resource_type, resource_id, owner_id, lease_expires_at, heartbeat_at, claim_version,
        granted_at, released_at)
    SELECT UPPER(resource_type), resource_id, owner_id, at, at, claim_version, at,
        (SELECT MAX(released.at) FROM journal AS released WHERE released.step = 'RELEASE'
            AND ",
    tail!("released.resource_id"),
    " = ",
    tail!("newest.resource_id"),
    "
            AND released.resource_type = newest.resource_type AND released.resource_id = newest.resource_id
            AND released.claim_version = newest.claim_version)
    FROM journal AS newest WHERE step = 'GRANT' AND NOT EXISTS (SELECT 1 FROM journal AS newer
        WHERE newer.step = 'GRANT' AND newer.resource_type = newest.resource_type
          AND ",
    tail!("newer.resource_id"),
    " = ",
    tail!("newest.resource_id"),
    "
          AND newer.resource_id = newest.resource_id AND newer.claim_version > newest.claim_version)"
);

/// Finds a row if anything at all is stored: import needs an empty Substrate.
pub(crate) const CHECK_EMPTY: &str = "
    SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM journal) AND NOT EXISTS (SELECT 1 FROM objective)
        AND NOT EXISTS (SELECT 1 FROM capture_buffer) AND NOT EXISTS (SELECT 1 FROM event)";

// Reads.

pub(crate) const AZOLLA: &str = "SELECT azolla_id, azolla_type, created_at FROM azolla";

pub(crate) const INSERT_AZOLLA: &str = "
    INSERT INTO azolla (one, azolla_id, azolla_type, created_at) VALUES (1, $1, $2, azolla_now())";

pub(crate) const COMMITTED: &str = "SELECT 1 FROM journal WHERE commit_id = $1";

/// The columns of a whole objective, in the order that `rows.rs` reads them.
macro_rules! objective_columns {
    () => {
        "objective_id, azolla_id, title, acceptance_criteria, objective_type, status, importance, urgency, \
         blocked_reason, blocked_on, metadata, created_at, updated_at, \
         version, todo_entry, waiting, pause_key, confirmed, archived"
    };
}
macro_rules! event_columns {
    () => {
        "event_id, type, resource_id, azolla_id, created_at, processed, processed_reason, processed_at, \
         entry, claim_count"
    };
}
macro_rules! workorder_columns {
    () => {
        "work_order_id, objective_id, diazotroph_type, context_snapshot_id, branch_name, budget_ms, status, \
         created_at, event_id, budget_consumed_ms, claim_count, stream_slot"
    };
}
macro_rules! journal_columns {
    () => {
        "seq, at, actor, owner_id, claim_version, step, resource_type, resource_id, from_status, to_status, \
         detail, commit_id"
    };
}
/// The rows of the journal that say what became of something.
macro_rules! told {
    () => {
        "step <> 'GRANT' AND step <> 'RELEASE' AND step <> 'EMIT' AND step <> 'GATE' AND step <> 'ATTEMPT'
         AND (step <> 'INSERT'
              OR resource_type <> 'context_snapshot' AND resource_type <> 'workorder'
                 AND resource_type <> 'output_bundle' AND resource_type <> 'run_record'
                 AND resource_type <> 'gate_evidence' AND resource_type <> 'usage_record')"
    };
}
pub(crate) use {event_columns, journal_columns, tail, told};

pub(crate) const OBJECTIVE: &str =
    concat!("SELECT ", objective_columns!(), " FROM objective WHERE objective_id = $1");

/// A page of objectives in the order of creation, after a key.
pub(crate) const OBJECTIVES: &str = concat!(
    "SELECT ",
    objective_columns!(),
    " FROM objective WHERE (created_at, objective_id) > ($1, $2)
      AND (CAST($3 AS TEXT) IS NULL OR status = CAST($3 AS TEXT))
      AND urgency <= $4 ORDER BY created_at, objective_id LIMIT $5"
);

/// A page of tickets before a key, the newest first: all of them, or those of a part that has an index of its own or is
/// most of what there is.
macro_rules! tickets_before {
    ($which:literal) => {
        concat!(
            "SELECT ",
            objective_columns!(),
            " FROM objective WHERE (created_at, objective_id) < ($1, $2) AND objective_type = 'TICKET' AND ",
            $which,
            " ORDER BY created_at DESC, objective_id DESC LIMIT $3"
        )
    };
}
pub(crate) const TICKETS_BEFORE: &str = tickets_before!("archived = 0");
pub(crate) const TICKETS_NEW_BEFORE: &str =
    tickets_before!("status IN ('NEW', 'BLOCKED') AND archived = 0 AND status = 'NEW'");
pub(crate) const TICKETS_BLOCKED_BEFORE: &str =
    tickets_before!("status IN ('NEW', 'BLOCKED') AND archived = 0 AND status = 'BLOCKED'");
pub(crate) const TICKETS_CONFIRMED_BEFORE: &str = tickets_before!("archived = 0 AND confirmed = 1");
pub(crate) const TICKETS_ARCHIVED_BEFORE: &str = tickets_before!("archived = 1");

/// What is open, by the partial index that each part of it has; what runs is found through its workorder.
pub(crate) const OBJECTIVES_RESTING: &str = concat!(
    "SELECT ",
    objective_columns!(),
    " FROM objective WHERE status IN ('NEW', 'BLOCKED') AND archived = 0
      ORDER BY created_at, objective_id LIMIT $1"
);
pub(crate) const OBJECTIVES_TODO: &str = concat!(
    "SELECT ",
    objective_columns!(),
    " FROM objective WHERE status = 'TODO' AND objective_type = 'TICKET' AND archived = 0
      ORDER BY updated_at, objective_id LIMIT $1"
);
pub(crate) const OBJECTIVES_WAITING: &str = concat!(
    "SELECT ",
    objective_columns!(),
    " FROM objective WHERE waiting = 1 ORDER BY updated_at, objective_id LIMIT $1"
);

pub(crate) const OBJECTIVE_AT_VERSION: &str =
    "SELECT document FROM objective_version WHERE objective_id = $1 AND version = $2";

/// TODO tickets whose entry into TODO has no event yet: what Readiness emits for (W-1).
pub(crate) const OBJECTIVES_AWAITING_EVENT: &str = concat!(
    "SELECT ",
    objective_columns!(),
    " FROM objective
      WHERE status = 'TODO' AND objective_type = 'TICKET' AND archived = 0
        AND NOT EXISTS (SELECT 1 FROM event WHERE type = 'TICKET_READY'
                        AND resource_id = objective.objective_id AND entry = objective.todo_entry)
      ORDER BY updated_at, objective_id LIMIT $1"
);

pub(crate) const EVENT: &str = concat!("SELECT ", event_columns!(), " FROM event WHERE event_id = $1");

/// Without those of an objective that is put away: they wait for it to come back, as many as there are (S-o, W-3).
pub(crate) const UNPROCESSED_EVENTS: &str = concat!(
    "SELECT ",
    event_columns!(),
    " FROM event WHERE processed = 0 AND type = $1
      AND NOT EXISTS (SELECT 1 FROM objective WHERE objective_id = event.resource_id AND archived = 1)
      ORDER BY created_at, event_id LIMIT $2"
);

pub(crate) const WORKORDER: &str =
    concat!("SELECT ", workorder_columns!(), " FROM workorder WHERE work_order_id = $1");

/// The open workorders of a status, in no order: there are three at the most, and a sort of none costs as much as the
/// rest of the look.
pub(crate) const OPEN_WORKORDERS: &str =
    concat!("SELECT ", workorder_columns!(), " FROM workorder WHERE stream_slot IS NOT NULL AND status = $1");

pub(crate) const WORKORDERS_OF_OBJECTIVE: &str = concat!(
    "SELECT ",
    workorder_columns!(),
    " FROM workorder WHERE objective_id = $1 ORDER BY created_at, work_order_id"
);

pub(crate) const SNAPSHOT: &str = "SELECT document FROM context_snapshot WHERE snapshot_id = $1";
pub(crate) const OUTPUT_BUNDLE: &str = "SELECT document FROM output_bundle WHERE output_id = $1";
pub(crate) const OUTPUT_OF_WORKORDER: &str = "SELECT document FROM output_bundle WHERE work_order_id = $1";
pub(crate) const RUN_OF_WORKORDER: &str = "SELECT document FROM run_record WHERE work_order_id = $1";
pub(crate) const RUNS_OF_OBJECTIVE: &str =
    "SELECT document FROM run_record WHERE objective_id = $1 ORDER BY created_at, run_id";
/// Newest first; `$2` is the last run of the page before, or nothing.
pub(crate) const RUNS_OF_OBJECTIVE_BEFORE: &str = "
    SELECT document FROM run_record WHERE objective_id = $1
      AND ($2 = '' OR (created_at, run_id) <
        (SELECT before.created_at, before.run_id FROM run_record AS before WHERE before.run_id = $2))
    ORDER BY created_at DESC, run_id DESC LIMIT $3";
/// Newest first, of all objectives, before a key.
pub(crate) const RUNS_BEFORE: &str = "
    SELECT document FROM run_record WHERE (created_at, run_id) < ($1, $2)
    ORDER BY created_at DESC, run_id DESC LIMIT $3";
pub(crate) const EVIDENCE_OF_RUN: &str = "SELECT document FROM gate_evidence WHERE run_id = $1";
pub(crate) const USAGE_OF_WORKORDER: &str =
    "SELECT document FROM usage_record WHERE work_order_id = $1 ORDER BY claim_version";
pub(crate) const PAUSE: &str = "SELECT document FROM pause_state WHERE pause_key = $1";
/// The current pause_states, through the objectives that point to one.
pub(crate) const CURRENT_PAUSES: &str = "
    SELECT pause_state.document FROM objective JOIN pause_state ON pause_state.pause_key = objective.pause_key
    WHERE objective.pause_key IS NOT NULL ORDER BY pause_state.created_at, pause_state.pause_key";

/// Those of them that a filter leaves, newest first: as many as wait for the operator are looked at, through their index.
pub(crate) const CURRENT_PAUSES_LATEST: &str = "
    SELECT pause_state.document FROM objective JOIN pause_state ON pause_state.pause_key = objective.pause_key
    WHERE objective.pause_key IS NOT NULL
      AND (CAST($1 AS TEXT) IS NULL OR pause_state.reason = CAST($1 AS TEXT)) AND pause_state.created_at >= $2
    ORDER BY pause_state.created_at DESC, pause_state.pause_key DESC LIMIT $3";

/// The same of one objective, which has one at the most.
pub(crate) const CURRENT_PAUSE_OF: &str = "
    SELECT pause_state.document FROM objective JOIN pause_state ON pause_state.pause_key = objective.pause_key
    WHERE objective.objective_id = $1 AND objective.pause_key IS NOT NULL
      AND (CAST($2 AS TEXT) IS NULL OR pause_state.reason = CAST($2 AS TEXT)) AND pause_state.created_at >= $3
    LIMIT $4";

/// The newest pause_states of an azolla's own objectives, earlier ones included. No index leads here, so that a cycle
/// does not write one: it reads all of them, and goes by `scan`.
pub(crate) const PAUSES: &str = "
    SELECT document FROM pause_state
    WHERE azolla_id = $1 AND (CAST($2 AS TEXT) IS NULL OR objective_id = CAST($2 AS TEXT))
      AND (CAST($3 AS TEXT) IS NULL OR reason = CAST($3 AS TEXT)) AND created_at >= $4
    ORDER BY created_at DESC, pause_key DESC LIMIT $5";

pub(crate) const CLAIM: &str = "
    SELECT resource_type, resource_id, owner_id, lease_expires_at, heartbeat_at, claim_version
    FROM claim_record WHERE resource_type = $1 AND resource_id = $2";

/// Lets go of what was given back, whatever its times say.
pub(crate) const UNRELEASED_CLAIM: &str = "
    SELECT resource_type, resource_id, owner_id, lease_expires_at, heartbeat_at, claim_version
    FROM claim_record WHERE resource_type = $1 AND resource_id = $2 AND released_at IS NULL";

/// By no index: asked for only by `azolla verify`.
pub(crate) const UNRELEASED_CLAIMS: &str = "
    SELECT resource_type, resource_id, owner_id, lease_expires_at, heartbeat_at, claim_version
    FROM claim_record WHERE released_at IS NULL ORDER BY resource_type, resource_id LIMIT $1";

/// Tells whether anything that a client may have been given has this id.
pub(crate) const HOLDS: &str = "
    SELECT 1 FROM objective WHERE objective_id = $1
    UNION ALL SELECT 1 FROM capture_buffer WHERE capture_id = $1
    UNION ALL SELECT 1 FROM event WHERE event_id = $1
    UNION ALL SELECT 1 FROM context_snapshot WHERE snapshot_id = $1
    UNION ALL SELECT 1 FROM workorder WHERE work_order_id = $1
    UNION ALL SELECT 1 FROM output_bundle WHERE output_id = $1
    UNION ALL SELECT 1 FROM run_record WHERE run_id = $1
    UNION ALL SELECT 1 FROM session_manifest WHERE manifest_id = $1
    UNION ALL SELECT 1 FROM pause_state WHERE pause_key = $1";

pub(crate) const STREAM: &str = "
    SELECT (SELECT COUNT(*) FROM workorder WHERE stream_slot IS NOT NULL),
           (SELECT COUNT(*) FROM objective WHERE waiting = 1)
         + (SELECT COUNT(DISTINCT output_id) FROM candidate WHERE open = 1)";

/// The journal of every resource whose id has this tail: of one cycle, that is. A second condition, on the id itself,
/// would be put into the first one by SQLite, which then no longer finds the index.
pub(crate) const JOURNAL_OF_TAIL: &str = concat!(
    "SELECT ",
    journal_columns!(),
    " FROM journal WHERE ",
    tail!("resource_id"),
    " = ",
    tail!("CAST($1 AS TEXT)"),
    " ORDER BY seq"
);

// Export, in the order of the archive.

pub(crate) const ALL_OBJECTIVES: &str =
    concat!("SELECT ", objective_columns!(), " FROM objective ORDER BY objective_id");
pub(crate) const ALL_OBJECTIVE_VERSIONS: &str =
    "SELECT objective_id, version, document FROM objective_version ORDER BY objective_id, version";
pub(crate) const ALL_EVENTS: &str = concat!("SELECT ", event_columns!(), " FROM event ORDER BY event_id");
pub(crate) const ALL_SNAPSHOTS: &str = "
    SELECT document, snapshot_id, objective_id, objective_version, created_at FROM context_snapshot
    ORDER BY snapshot_id";
pub(crate) const ALL_WORKORDERS: &str =
    concat!("SELECT ", workorder_columns!(), " FROM workorder ORDER BY work_order_id");
pub(crate) const ALL_OUTPUT_BUNDLES: &str = "SELECT document, output_id, objective_id, work_order_id, created_at FROM output_bundle ORDER BY output_id";
pub(crate) const ALL_RUN_RECORDS: &str = "
    SELECT document, run_id, work_order_id, objective_id, output_id, gate_result, created_at
    FROM run_record ORDER BY run_id";
pub(crate) const ALL_EVIDENCE: &str =
    "SELECT document, run_id, work_order_id, created_at FROM gate_evidence ORDER BY run_id";
pub(crate) const ALL_USAGE: &str = "
    SELECT document, work_order_id, claim_version, created_at FROM usage_record
    ORDER BY work_order_id, claim_version";
pub(crate) const ALL_PAUSES: &str = "
    SELECT document, pause_key, work_order_id, event_id, local_objective_id, objective_id, azolla_id, reason,
        created_at, urgency
    FROM pause_state ORDER BY pause_key";
pub(crate) const ALL_JOURNAL: &str = concat!("SELECT ", journal_columns!(), " FROM journal ORDER BY seq");

// Verification: each finds the ids that break an invariant.

pub(crate) const ALL_CLAIMS: &str = "
    SELECT resource_type, resource_id, owner_id, lease_expires_at, heartbeat_at, claim_version, released_at
    FROM claim_record ORDER BY resource_type, resource_id";

pub(crate) const SCHEDULED_WITHOUT_WORKORDER: &str = "
    SELECT event_id FROM event WHERE processed_reason = 'SCHEDULED'
        AND NOT EXISTS (SELECT 1 FROM workorder WHERE workorder.event_id = event.event_id)";
pub(crate) const WORKORDER_OF_UNSCHEDULED: &str = "
    SELECT work_order_id FROM workorder WHERE NOT EXISTS
        (SELECT 1 FROM event WHERE event.event_id = workorder.event_id AND processed_reason = 'SCHEDULED')";
pub(crate) const SEVERAL_WORKORDERS: &str = "
    SELECT event_id FROM workorder GROUP BY event_id HAVING COUNT(*) > 1";
pub(crate) const EXECUTED_WITHOUT_OUTPUT: &str = "
    SELECT work_order_id FROM workorder WHERE status = 'EXECUTED'
        AND NOT EXISTS (SELECT 1 FROM output_bundle WHERE output_bundle.work_order_id = workorder.work_order_id)";
pub(crate) const OUTPUT_OF_UNEXECUTED: &str = "
    SELECT output_id FROM output_bundle WHERE NOT EXISTS (SELECT 1 FROM workorder
        WHERE workorder.work_order_id = output_bundle.work_order_id AND status = 'EXECUTED'
          AND workorder.objective_id = output_bundle.objective_id)";
pub(crate) const SEVERAL_OUTPUTS: &str = "
    SELECT work_order_id FROM output_bundle GROUP BY work_order_id HAVING COUNT(*) > 1";
pub(crate) const GATED_WITHOUT_RUN: &str = "
    SELECT work_order_id FROM workorder WHERE stream_slot IS NULL
        AND NOT EXISTS (SELECT 1 FROM run_record WHERE run_record.work_order_id = workorder.work_order_id)";
pub(crate) const RUN_OF_UNGATED: &str = "
    SELECT run_id FROM run_record WHERE NOT EXISTS (SELECT 1 FROM workorder JOIN output_bundle
        ON output_bundle.work_order_id = workorder.work_order_id
        WHERE workorder.work_order_id = run_record.work_order_id AND workorder.stream_slot IS NULL
          AND output_bundle.output_id = run_record.output_id
          AND workorder.objective_id = run_record.objective_id)";
pub(crate) const SEVERAL_RUNS: &str = "
    SELECT work_order_id FROM run_record GROUP BY work_order_id HAVING COUNT(*) > 1";
pub(crate) const RUN_WITHOUT_PAUSE: &str = "
    SELECT run_id FROM run_record WHERE NOT EXISTS
        (SELECT 1 FROM pause_state WHERE pause_state.work_order_id = run_record.work_order_id)";
pub(crate) const SEVERAL_PAUSES: &str = "
    SELECT work_order_id FROM pause_state WHERE work_order_id IS NOT NULL
    GROUP BY work_order_id HAVING COUNT(*) > 1";
pub(crate) const PAUSE_OF_UNGATED: &str = "
    SELECT pause_key FROM pause_state WHERE work_order_id IS NOT NULL AND NOT EXISTS
        (SELECT 1 FROM run_record WHERE run_record.work_order_id = pause_state.work_order_id)";
pub(crate) const SNAPSHOT_OF_NOTHING: &str = "
    SELECT snapshot_id FROM context_snapshot WHERE NOT EXISTS (SELECT 1 FROM objective_version
        WHERE objective_version.objective_id = context_snapshot.objective_id AND version = objective_version)";
pub(crate) const WORKORDER_OF_NOTHING: &str = "
    SELECT work_order_id FROM workorder WHERE NOT EXISTS
        (SELECT 1 FROM context_snapshot JOIN objective ON objective.objective_id = context_snapshot.objective_id
         WHERE snapshot_id = context_snapshot_id AND context_snapshot.objective_id = workorder.objective_id)";
pub(crate) const PAUSE_OF_NOTHING: &str = "
    SELECT pause_key FROM pause_state WHERE (local_objective_id IS NOT NULL AND NOT EXISTS
        (SELECT 1 FROM objective WHERE objective.objective_id = pause_state.objective_id))
        OR (event_id IS NOT NULL AND NOT EXISTS
            (SELECT 1 FROM event WHERE event.event_id = pause_state.event_id))";
pub(crate) const PAUSE_OF_OTHER: &str = "
    SELECT pause_key FROM pause_state JOIN workorder ON workorder.work_order_id = pause_state.work_order_id
    WHERE workorder.objective_id <> pause_state.objective_id";
pub(crate) const POINTER_TO_NOTHING: &str = "
    SELECT objective_id FROM objective WHERE pause_key IS NOT NULL AND NOT EXISTS (SELECT 1 FROM pause_state
        WHERE pause_state.pause_key = objective.pause_key AND pause_state.objective_id = objective.objective_id)";
pub(crate) const EVIDENCE_OF_NOTHING: &str = "
    SELECT run_id FROM gate_evidence WHERE NOT EXISTS (SELECT 1 FROM run_record
        WHERE run_record.run_id = gate_evidence.run_id AND run_record.work_order_id = gate_evidence.work_order_id)";
pub(crate) const USAGE_OF_NOTHING: &str = "
    SELECT work_order_id FROM usage_record WHERE NOT EXISTS
        (SELECT 1 FROM workorder WHERE workorder.work_order_id = usage_record.work_order_id)";
pub(crate) const CLAIM_OF_NOTHING: &str = "
    SELECT resource_id FROM claim_record WHERE NOT EXISTS
        (SELECT 1 FROM event WHERE resource_type = 'EVENT' AND event_id = claim_record.resource_id)
        AND NOT EXISTS (SELECT 1 FROM workorder
                        WHERE resource_type = 'WORKORDER' AND work_order_id = claim_record.resource_id)";
pub(crate) const VERSION_OF_NOTHING: &str = "
    SELECT objective_id FROM objective_version WHERE NOT EXISTS (SELECT 1 FROM objective
        WHERE objective.objective_id = objective_version.objective_id
          AND objective_version.version BETWEEN 1 AND objective.version)";
pub(crate) const OBJECTIVE_WITHOUT_VERSION: &str = "
    SELECT objective_id FROM objective WHERE version <> (SELECT COUNT(*) FROM objective_version
        WHERE objective_version.objective_id = objective.objective_id)";

#[cfg(test)]
pub(crate) mod tests;
