//! SQL of task management (PROTOCOL.md 7.2 to 7.4): captures, candidates, manifests. Both backends run it as it
//! stands; values appear in the order `$1`, `$2`, ….

// Writes.

pub(crate) const INSERT_CAPTURE: &str = "
    INSERT INTO capture_buffer (capture_id, azolla_id, raw_content, source_label, status, created_at, updated_at,
        attempts)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

pub(crate) const PROCESS_CAPTURE: &str = "
    UPDATE capture_buffer SET status = 'PROCESSED', updated_at = $1 WHERE capture_id = $2 AND status = 'PENDING'";

pub(crate) const COUNT_ATTEMPT: &str = "
    UPDATE capture_buffer SET attempts = attempts + 1 WHERE capture_id = $1 AND status = 'PENDING'";

pub(crate) const INSERT_MANIFEST: &str = "
    INSERT INTO session_manifest (manifest_id, azolla_id, created_at, document, work_order_id)
    VALUES ($1, $2, $3, $4, $5)";

/// Opens the candidates 0 to one below the count.
pub(crate) const OPEN_CANDIDATES: &str = "
    INSERT INTO candidate (output_id, candidate_index, open)
    WITH RECURSIVE numbered (position, count) AS (
        SELECT CAST(0 AS BIGINT), CAST($1 AS BIGINT)
        UNION ALL SELECT position + 1, count FROM numbered WHERE position + 1 < count)
    SELECT CAST($2 AS TEXT), position, 1 FROM numbered";

/// A DEFERRED row gives way to any later outcome, and others but PROMOTED to a DEFERRED one: triggers refuse the
/// rest, and close the candidate.
pub(crate) const RESOLVE_CANDIDATE: &str = "
    INSERT INTO candidate_resolution (output_id, candidate_index, outcome, objective_id, resolved_by, created_at)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (output_id, candidate_index) DO UPDATE SET outcome = excluded.outcome,
        objective_id = excluded.objective_id, resolved_by = excluded.resolved_by, created_at = excluded.created_at";

// Reads.

macro_rules! capture_columns {
    () => {
        "capture_id, azolla_id, raw_content, source_label, status, created_at, updated_at, attempts"
    };
}
macro_rules! resolution_columns {
    () => {
        "output_id, candidate_index, outcome, objective_id, resolved_by, created_at"
    };
}

pub(crate) const CAPTURE: &str =
    concat!("SELECT ", capture_columns!(), " FROM capture_buffer WHERE capture_id = $1");

pub(crate) const PENDING_CAPTURES: &str = concat!(
    "SELECT ",
    capture_columns!(),
    " FROM capture_buffer WHERE status = 'PENDING' AND attempts < $1 ORDER BY created_at, capture_id LIMIT $2"
);

/// PENDING captures with attempts left and no event for the next one (W-2).
pub(crate) const CAPTURES_AWAITING_EVENT: &str = concat!(
    "SELECT ",
    capture_columns!(),
    " FROM capture_buffer
      WHERE status = 'PENDING' AND attempts < $1
        AND NOT EXISTS (SELECT 1 FROM event WHERE type = 'CAPTURE_READY'
                        AND resource_id = capture_buffer.capture_id AND entry = capture_buffer.attempts + 1)
      ORDER BY created_at, capture_id LIMIT $2"
);

pub(crate) const LATEST_MANIFEST: &str =
    "SELECT document FROM session_manifest ORDER BY created_at DESC, manifest_id DESC LIMIT 1";

pub(crate) const RESOLUTIONS_OF_OUTPUT: &str = concat!(
    "SELECT ",
    resolution_columns!(),
    " FROM candidate_resolution WHERE output_id = $1 ORDER BY candidate_index"
);

// Export.

/// Open ones and resolved ones alike: the resolutions that follow close theirs again.
pub(crate) const ALL_CANDIDATES: &str =
    "SELECT output_id, candidate_index, open FROM candidate ORDER BY output_id, candidate_index";

pub(crate) const ALL_CAPTURES: &str =
    concat!("SELECT ", capture_columns!(), " FROM capture_buffer ORDER BY capture_id");
pub(crate) const ALL_MANIFESTS: &str = "SELECT document, manifest_id, work_order_id, created_at, azolla_id FROM session_manifest ORDER BY manifest_id";
pub(crate) const ALL_RESOLUTIONS: &str = concat!(
    "SELECT ",
    resolution_columns!(),
    " FROM candidate_resolution ORDER BY output_id, candidate_index"
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
        WHERE resolved.output_id = candidate.output_id AND resolved.candidate_index = candidate.candidate_index)";

pub(crate) const MANIFEST_OF_NOTHING: &str = "
    SELECT manifest_id FROM session_manifest WHERE NOT EXISTS
        (SELECT 1 FROM run_record WHERE run_record.work_order_id = session_manifest.work_order_id)";
pub(crate) const RESOLUTION_OF_NOTHING: &str = "
    SELECT output_id FROM candidate_resolution WHERE NOT EXISTS (SELECT 1 FROM candidate
        WHERE candidate.output_id = candidate_resolution.output_id
          AND candidate.candidate_index = candidate_resolution.candidate_index)";
