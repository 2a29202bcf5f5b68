//! SQL of task management (PROTOCOL.md 7.2 to 7.4): captures, candidates, manifests, deadlines. Both backends run it as it
//! stands; values appear in the order `$1`, `$2`, ….

use crate::sql::{event_columns, tail};

// Writes.

pub(crate) const INSERT_CAPTURE: &str = "
    INSERT INTO capture_buffer (capture_id, azolla_id, raw_content, source_label, status, created_at, updated_at,
        attempts, attempts_before, held)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";

pub(crate) const PROCESS_CAPTURE: &str = "
    UPDATE capture_buffer SET status = 'PROCESSED', updated_at = $1, held = 0
    WHERE capture_id = $2 AND status = 'PENDING'";

pub(crate) const COUNT_ATTEMPT: &str = "
    UPDATE capture_buffer SET attempts = attempts + 1
    WHERE capture_id = $1 AND status = 'PENDING' AND held = 0 AND attempts = $2";

pub(crate) const HOLD_CAPTURE: &str =
    "UPDATE capture_buffer SET held = 1 WHERE capture_id = $1 AND status = 'PENDING'";

/// Finds nothing if the capture of a CAPTURE_READY event could still be tried.
pub(crate) const CHECK_CAPTURE_OF_EVENT_HELD: &str = "
    SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM capture_buffer
        WHERE status = 'PENDING' AND held = 0 AND capture_id =
            (SELECT resource_id FROM event WHERE event_id = $1 AND type = 'CAPTURE_READY'))";

pub(crate) const RETRY_CAPTURE: &str = "
    UPDATE capture_buffer SET held = 0, attempts_before = attempts
    WHERE capture_id = $1 AND status = 'PENDING' AND attempts = $2";

pub(crate) const INSERT_MANIFEST: &str = "
    INSERT INTO session_manifest (manifest_id, azolla_id, created_at, document, work_order_id)
    VALUES ($1, $2, $3, $4, $5)";

/// Finds nothing if a triage could begin now. The one place of the stream is taken by then, so it does not count.
pub(crate) const CHECK_TRIAGE_FIRST: &str = "
    SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM capture_buffer
            WHERE status = 'PENDING' AND held = 0 AND attempts - attempts_before < $1)
        OR NOT EXISTS (SELECT 1 FROM event
            WHERE type = 'CAPTURE_READY' AND processed = 0 AND claim_count = 0
              AND NOT EXISTS (SELECT 1 FROM claim_record WHERE resource_type = 'EVENT'
                  AND resource_id = event.event_id AND released_at IS NULL AND lease_expires_at > azolla_now()))
        OR (CAST($2 AS BIGINT) > 0 AND (SELECT COUNT(*) FROM objective WHERE waiting = 1)
            + (SELECT COUNT(DISTINCT output_id) FROM candidate WHERE open = 1) >= CAST($2 AS BIGINT))";

/// Opens the candidates 0 to one below the count.
pub(crate) const OPEN_CANDIDATES: &str = "
    INSERT INTO candidate (output_id, candidate_index, open)
    WITH RECURSIVE numbered (position, count) AS (
        SELECT CAST(0 AS BIGINT), CAST($1 AS BIGINT)
        UNION ALL SELECT position + 1, count FROM numbered WHERE position + 1 < count)
    SELECT CAST($2 AS TEXT), position, 1 FROM numbered";

/// What is DEFERRED or was taken back gives way to any later outcome: triggers refuse the rest, and close the candidate.
pub(crate) const RESOLVE_CANDIDATE: &str = "
    INSERT INTO candidate_resolution (output_id, candidate_index, outcome, objective_id, resolved_by, created_at,
        taken_back)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (output_id, candidate_index) DO UPDATE SET outcome = excluded.outcome,
        objective_id = excluded.objective_id, resolved_by = excluded.resolved_by, created_at = excluded.created_at,
        taken_back = excluded.taken_back";

/// The row stays as it was recorded until the next outcome; a trigger opens the candidate.
pub(crate) const REOPEN_CANDIDATE: &str = "
    UPDATE candidate_resolution SET taken_back = 1
    WHERE output_id = $1 AND candidate_index = $2 AND outcome = $3 AND taken_back = 0";

pub(crate) const CHECK_OTHERS_OPEN: &str = "
    SELECT 1 WHERE (SELECT COUNT(*) FROM candidate
        WHERE output_id = $1 AND open = 1 AND candidate_index <> $2) = CAST($3 AS BIGINT)";

pub(crate) const SNOOZE: &str = "
    INSERT INTO snooze (azolla_id, objective_id, until) VALUES ($1, $2, $3)
    ON CONFLICT (azolla_id, objective_id) DO UPDATE SET until = excluded.until";

/// The operator's step follows the deadline's pause_state, which is no longer the current one.
pub(crate) const LEAVE_DEADLINE: &str =
    "UPDATE objective SET pause_key = NULL WHERE objective_id = $1 AND pause_key LIKE 'deadline:%'";

// Reads.

macro_rules! capture_columns {
    () => {
        "capture_id, azolla_id, raw_content, source_label, status, created_at, updated_at, \
         attempts, attempts_before, held"
    };
}
macro_rules! resolution_columns {
    () => {
        "output_id, candidate_index, outcome, objective_id, resolved_by, created_at"
    };
}

pub(crate) const CAPTURE: &str =
    concat!("SELECT ", capture_columns!(), " FROM capture_buffer WHERE capture_id = $1");

/// Those that have attempts left, since the operator last asked for more, and are not held.
pub(crate) const PENDING_CAPTURES: &str = concat!(
    "SELECT ",
    capture_columns!(),
    " FROM capture_buffer WHERE status = 'PENDING' AND held = 0 AND attempts - attempts_before < $1
      ORDER BY created_at, capture_id LIMIT $2"
);

pub(crate) const HAS_PENDING_CAPTURE: &str = "
    SELECT 1 FROM capture_buffer WHERE status = 'PENDING' AND held = 0 AND attempts - attempts_before < $1 LIMIT 1";

pub(crate) const FRESH_CAPTURES: &str = concat!(
    "SELECT ",
    capture_columns!(),
    " FROM capture_buffer WHERE status = 'PENDING' AND held = 0 AND attempts = attempts_before
      ORDER BY created_at, capture_id LIMIT $1"
);

/// What Capture Readiness emits for (W-2), with the number of the event: the next one that this capture has not had.
/// That is not its attempts plus one: an event can have been answered with a batch that its capture was not in. While
/// a triage runs, what it was tried with waits for its end. (Asked as NOT EXISTS, PostgreSQL would go through the index
/// of all triage workorders.)
pub(crate) const CAPTURES_AWAITING_EVENT: &str = "
    SELECT capture_id, COALESCE((SELECT MAX(entry) FROM event WHERE type = 'CAPTURE_READY'
                                 AND resource_id = capture_buffer.capture_id), 0) + 1
    FROM capture_buffer
    WHERE status = 'PENDING' AND held = 0 AND attempts - attempts_before < $1
      AND NOT EXISTS (SELECT 1 FROM event WHERE type = 'CAPTURE_READY' AND processed = 0
                      AND resource_id = capture_buffer.capture_id)
      AND (attempts = attempts_before OR 'TRIAGE_DIAZOTROPH' NOT IN
           (SELECT diazotroph_type FROM workorder WHERE stream_slot IS NOT NULL))
    ORDER BY created_at, capture_id LIMIT $2";

/// A page of captures before a key, the newest first.
pub(crate) const CAPTURES: &str = concat!(
    "SELECT ",
    capture_columns!(),
    " FROM capture_buffer WHERE capture_id < $1 AND (CAST($2 AS TEXT) IS NULL OR status = CAST($2 AS TEXT))
      ORDER BY capture_id DESC LIMIT $3"
);

/// The same of PENDING ones alone, through their own index: what is PROCESSED grows for ever.
pub(crate) const CAPTURES_PENDING: &str = concat!(
    "SELECT ",
    capture_columns!(),
    " FROM capture_buffer WHERE status = 'PENDING' AND (created_at, capture_id) <
        (COALESCE((SELECT before.created_at FROM capture_buffer AS before WHERE before.capture_id = $1), '~'), $1)
      ORDER BY created_at DESC, capture_id DESC LIMIT $2"
);

pub(crate) const COUNT_OPEN_CANDIDATES: &str = "SELECT COUNT(*) FROM candidate WHERE open = 1";

pub(crate) const COUNT_PENDING: &str = "SELECT COUNT(*) FROM capture_buffer WHERE status = 'PENDING'";

pub(crate) const HELD_CAPTURES: &str =
    "SELECT capture_id FROM capture_buffer WHERE held = 1 ORDER BY capture_id LIMIT $1";

/// A capture that is held is PENDING.
pub(crate) const COUNT_HELD: &str = "SELECT COUNT(*) FROM capture_buffer WHERE held = 1";

pub(crate) const RESOLUTIONS_OF_OUTPUT: &str = concat!(
    "SELECT ",
    resolution_columns!(),
    " FROM candidate_resolution WHERE output_id = $1 AND taken_back = 0 ORDER BY candidate_index"
);

/// The triage outputs that wait, oldest first (O-3).
pub(crate) const OPEN_OUTPUTS: &str = "
    SELECT document FROM output_bundle WHERE output_id IN (SELECT output_id FROM candidate WHERE open = 1)
    ORDER BY created_at, output_id LIMIT $1";

/// The same, from those on that were made after one.
pub(crate) const OPEN_OUTPUTS_AFTER: &str = "
    SELECT document FROM output_bundle WHERE output_id IN (SELECT output_id FROM candidate WHERE open = 1)
      AND (created_at, output_id) >
        (SELECT before.created_at, before.output_id FROM output_bundle AS before WHERE before.output_id = $1)
    ORDER BY created_at, output_id LIMIT $2";

/// The triage outputs that passed, whose workorder came before one, newest first.
pub(crate) const TRIAGE_OUTPUTS: &str = "
    SELECT output_bundle.document
    FROM workorder JOIN run_record ON run_record.work_order_id = workorder.work_order_id
    JOIN output_bundle ON output_bundle.output_id = run_record.output_id
    WHERE workorder.diazotroph_type = 'TRIAGE_DIAZOTROPH' AND run_record.gate_result = 'PASS'
      AND (workorder.created_at, workorder.work_order_id) <
        (COALESCE((SELECT before.created_at FROM workorder AS before WHERE before.work_order_id = $1), '~'), $1)
    ORDER BY workorder.created_at DESC, workorder.work_order_id DESC LIMIT $2";

pub(crate) const MANIFEST: &str = "SELECT document FROM session_manifest WHERE manifest_id = $1";
pub(crate) const MANIFESTS_BEFORE: &str = "
    SELECT document FROM session_manifest WHERE (created_at, manifest_id) < ($1, $2)
    ORDER BY created_at DESC, manifest_id DESC LIMIT $3";

pub(crate) const LATEST_MANIFEST_EVENT: &str = concat!(
    "SELECT ",
    event_columns!(),
    " FROM event WHERE type = 'MANIFEST_REQUESTED' ORDER BY created_at DESC, event_id DESC LIMIT 1"
);

/// The last ones before a key, each with its number in the order of emission, which no clock changes. A wrong clock can have
/// written among them, but hardly so many.
pub(crate) const MANIFEST_EVENT_BEFORE: &str = concat!(
    "SELECT ",
    event_columns!(),
    ", (SELECT MIN(seq) FROM journal WHERE step = 'EMIT' AND ",
    tail!("journal.resource_id"),
    " = ",
    tail!("event.event_id"),
    ")
      FROM event WHERE type = 'MANIFEST_REQUESTED' AND (created_at, event_id) < ($1, $2)
      ORDER BY created_at DESC, event_id DESC LIMIT 500"
);

pub(crate) const SNOOZES: &str = "
    SELECT azolla_id, objective_id, until FROM snooze WHERE until > $1 ORDER BY until, azolla_id, objective_id";

pub(crate) const SNOOZE_OF: &str = "SELECT until FROM snooze WHERE azolla_id = $1 AND objective_id = $2";

pub(crate) const LATEST_DEADLINE: &str = "
    SELECT document, pause_key, urgency FROM pause_state
    WHERE azolla_id = $1 AND objective_id = $2 AND urgency IS NOT NULL ORDER BY created_at DESC LIMIT 1";

/// The latest of each objective, newest first: read from the newest on, so that what is older than the limit costs nothing.
pub(crate) const DEADLINES: &str = "
    SELECT document, pause_key, urgency FROM pause_state AS latest
    WHERE urgency IS NOT NULL AND NOT EXISTS (SELECT 1 FROM pause_state AS later
        WHERE later.azolla_id = latest.azolla_id AND later.objective_id = latest.objective_id
          AND later.urgency IS NOT NULL AND later.created_at > latest.created_at)
    ORDER BY created_at DESC, pause_key DESC LIMIT $1";

// Export.

pub(crate) const ALL_SNOOZES: &str =
    "SELECT azolla_id, objective_id, until FROM snooze ORDER BY azolla_id, objective_id";

/// Open ones and resolved ones alike: the resolutions that follow close theirs again, unless they were taken back.
pub(crate) const ALL_CANDIDATES: &str =
    "SELECT output_id, candidate_index, open FROM candidate ORDER BY output_id, candidate_index";

pub(crate) const ALL_CAPTURES: &str =
    concat!("SELECT ", capture_columns!(), " FROM capture_buffer ORDER BY capture_id");
pub(crate) const ALL_MANIFESTS: &str = "SELECT document, manifest_id, work_order_id, created_at, azolla_id FROM session_manifest ORDER BY manifest_id";
pub(crate) const ALL_RESOLUTIONS: &str = concat!(
    "SELECT ",
    resolution_columns!(),
    ", taken_back FROM candidate_resolution ORDER BY output_id, candidate_index"
);

// Import only.

pub(crate) const LOAD_CANDIDATE: &str =
    "INSERT INTO candidate (output_id, candidate_index, open) VALUES ($1, $2, 1)";

// Verification.

pub(crate) const CANDIDATE_OF_NOTHING: &str = "
    SELECT output_id FROM candidate WHERE NOT EXISTS (SELECT 1 FROM run_record
        JOIN workorder ON workorder.work_order_id = run_record.work_order_id
        WHERE run_record.output_id = candidate.output_id AND run_record.gate_result = 'PASS'
          AND workorder.diazotroph_type = 'TRIAGE_DIAZOTROPH')";
pub(crate) const CANDIDATE_OPEN_OTHERWISE: &str = "
    SELECT output_id FROM candidate WHERE open = (SELECT COUNT(*) FROM candidate_resolution AS resolved
        WHERE resolved.output_id = candidate.output_id AND resolved.candidate_index = candidate.candidate_index
          AND resolved.taken_back = 0)";

pub(crate) const MANIFEST_OF_NOTHING: &str = "
    SELECT manifest_id FROM session_manifest WHERE NOT EXISTS
        (SELECT 1 FROM run_record WHERE run_record.work_order_id = session_manifest.work_order_id)";
pub(crate) const RESOLUTION_OF_NOTHING: &str = "
    SELECT output_id FROM candidate_resolution WHERE NOT EXISTS (SELECT 1 FROM candidate
        WHERE candidate.output_id = candidate_resolution.output_id
          AND candidate.candidate_index = candidate_resolution.candidate_index)";
