-- The Substrate of one azolla. Tables and columns carry the names of the artifacts' schemas.
--
-- Immutable artifacts: key columns and the canonical document. Mutable ones: a column per field, then the
-- store-only columns below a blank line. Timestamps are text with three fraction digits, so they sort as text.
-- A trigger's message is `artifact.field RULE text`, which the program turns into a typed refusal.
--
-- Every table has a guard before INSERT besides the guards before UPDATE and DELETE: INSERT OR REPLACE would
-- otherwise remove the old row without firing a delete trigger, and so would UPDATE OR REPLACE. They look at every
-- unique key, and at the rowid where there is one: it is a key too, and -1 before an insert that names none. The same
-- guards check the links: the foreign keys hold them too, but only where a connection asks for them, and SQLite does
-- not say which key failed.
--
-- What a commit costs is the pages that it writes, one or more per table and index. So an index is there for a rule or
-- for a read that would be slow without it, and a list of three values or more is written with OR: IN would build a
-- table of them at every row.

CREATE TABLE azolla (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    azolla_id   TEXT NOT NULL,
    azolla_type TEXT NOT NULL CHECK (azolla_type IN ('CODE_PATCH_AZOLLA', 'TASK_MGMT_AZOLLA')),
    created_at  TEXT NOT NULL,
    -- Bumped by every creation of a workorder: the one lock per azolla of W-4 and O-3.
    stream_lock INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE objective (
    objective_id        TEXT NOT NULL PRIMARY KEY,
    azolla_id           TEXT NOT NULL,
    title               TEXT NOT NULL,
    acceptance_criteria TEXT NOT NULL,
    objective_type      TEXT NOT NULL CHECK (objective_type IN ('TICKET', 'STANDING')),
    status              TEXT NOT NULL CHECK (status = 'NEW' OR status = 'TODO' OR status = 'IN_PROGRESS'
                            OR status = 'BLOCKED' OR status = 'DONE'),
    importance          INTEGER NOT NULL CHECK (importance BETWEEN 0 AND 4),
    urgency             INTEGER NOT NULL CHECK (urgency BETWEEN 0 AND 4),
    blocked_reason      TEXT,
    blocked_on          TEXT NOT NULL,
    metadata            TEXT NOT NULL,
    created_at          TEXT NOT NULL,
    updated_at          TEXT NOT NULL,

    version             INTEGER NOT NULL CHECK (version >= 1),
    todo_entry          INTEGER NOT NULL CHECK (todo_entry >= 0),
    waiting             INTEGER NOT NULL CHECK (waiting IN (0, 1)),
    confirmed           INTEGER NOT NULL CHECK (confirmed IN (0, 1)),
    archived            INTEGER NOT NULL CHECK (archived IN (0, 1)),
    -- The current pause_state (A-6): the latest of this objective, null once the operator acted after it.
    pause_key           TEXT REFERENCES pause_state (pause_key)
) STRICT;
CREATE INDEX objective_todo ON objective (updated_at, objective_id)
    WHERE status = 'TODO' AND objective_type = 'TICKET' AND archived = 0;
-- What waits for the operator without a run: with the two around it and the work stream, all that is open.
CREATE INDEX objective_resting ON objective (created_at, objective_id)
    WHERE status IN ('NEW', 'BLOCKED') AND archived = 0;
CREATE INDEX objective_waiting ON objective (updated_at, objective_id) WHERE waiting = 1;
CREATE INDEX objective_paused ON objective (objective_id) WHERE pause_key IS NOT NULL;
CREATE INDEX objective_listed ON objective (created_at, objective_id);
CREATE INDEX objective_archived ON objective (created_at, objective_id) WHERE archived = 1;

CREATE TABLE objective_version (
    objective_id TEXT NOT NULL REFERENCES objective (objective_id),
    version      INTEGER NOT NULL,
    document     TEXT NOT NULL,
    PRIMARY KEY (objective_id, version)
) STRICT;

CREATE TABLE capture_buffer (
    capture_id   TEXT NOT NULL PRIMARY KEY,
    azolla_id    TEXT NOT NULL,
    raw_content  TEXT NOT NULL,
    source_label TEXT NOT NULL,
    status       TEXT NOT NULL CHECK (status IN ('PENDING', 'PROCESSED')),
    created_at   TEXT NOT NULL,
    updated_at   TEXT NOT NULL,

    attempts        INTEGER NOT NULL CHECK (attempts >= 0),
    -- What was used up before the operator last asked for more: the limit counts from there (W-2).
    attempts_before INTEGER NOT NULL
                    CONSTRAINT "capture_buffer.attempts_before W-2" CHECK (attempts_before BETWEEN 0 AND attempts),
    -- Whether the operator acts next (O-1).
    held            INTEGER NOT NULL CHECK (held IN (0, 1))
) STRICT;
CREATE INDEX capture_pending ON capture_buffer (created_at, capture_id) WHERE status = 'PENDING';
CREATE INDEX capture_held ON capture_buffer (capture_id) WHERE held = 1;

CREATE TABLE event (
    event_id         TEXT NOT NULL PRIMARY KEY,
    type             TEXT NOT NULL CHECK (type = 'TICKET_READY' OR type = 'CAPTURE_READY'
                         OR type = 'MANIFEST_REQUESTED'),
    resource_id      TEXT NOT NULL,
    azolla_id        TEXT NOT NULL,
    created_at       TEXT NOT NULL,
    processed        INTEGER NOT NULL CHECK (processed IN (0, 1)),
    processed_reason TEXT CHECK (processed_reason = 'SCHEDULED' OR processed_reason = 'MISSING_TICKET'
                         OR processed_reason = 'NON_EXECUTABLE_STATUS' OR processed_reason = 'BLOCKED'
                         OR processed_reason = 'NO_PENDING_CAPTURES' OR processed_reason = 'NO_REACHABLE_AZOLLAS'),
    processed_at     TEXT,

    -- The objective's TODO entry number, or the capture's attempt; null for MANIFEST_REQUESTED.
    entry            INTEGER CONSTRAINT "event.entry W-1 counted" CHECK (entry >= 1),
    claim_count      INTEGER NOT NULL DEFAULT 0 CHECK (claim_count >= 0),
    CONSTRAINT "event.processed W-6" CHECK
        ((processed = 1) = (processed_reason IS NOT NULL) AND (processed = 1) = (processed_at IS NOT NULL)),
    CONSTRAINT "event.entry W-1" CHECK ((type = 'MANIFEST_REQUESTED') = (entry IS NULL))
) STRICT, WITHOUT ROWID;
-- W-1 and W-2: one event per entry into TODO, one per capture and attempt.
CREATE UNIQUE INDEX event_entry ON event (type, resource_id, entry);
CREATE UNIQUE INDEX event_open_capture ON event (resource_id) WHERE type = 'CAPTURE_READY' AND processed = 0;
CREATE UNIQUE INDEX event_open_manifest ON event (type) WHERE type = 'MANIFEST_REQUESTED' AND processed = 0;
CREATE INDEX event_open ON event (type, created_at, event_id) WHERE processed = 0;
CREATE INDEX event_manifest ON event (type, created_at, event_id) WHERE type = 'MANIFEST_REQUESTED';

CREATE TABLE context_snapshot (
    snapshot_id       TEXT NOT NULL PRIMARY KEY,
    objective_id      TEXT NOT NULL,
    created_at        TEXT NOT NULL,
    document          TEXT NOT NULL,

    objective_version INTEGER NOT NULL,
    FOREIGN KEY (objective_id, objective_version) REFERENCES objective_version (objective_id, version)
) STRICT;

CREATE TABLE workorder (
    work_order_id       TEXT NOT NULL PRIMARY KEY,
    objective_id        TEXT NOT NULL REFERENCES objective (objective_id),
    diazotroph_type     TEXT NOT NULL CHECK (diazotroph_type = 'PATCH_DIAZOTROPH'
                            OR diazotroph_type = 'TRIAGE_DIAZOTROPH' OR diazotroph_type = 'MANIFEST_BUILDER_DIAZOTROPH'),
    context_snapshot_id TEXT NOT NULL UNIQUE REFERENCES context_snapshot (snapshot_id),
    branch_name         TEXT,
    budget_ms           INTEGER NOT NULL CHECK (budget_ms BETWEEN 1 AND 86400000),
    status              TEXT NOT NULL CHECK (status IN ('CREATED', 'EXECUTED')),
    created_at          TEXT NOT NULL,

    event_id            TEXT NOT NULL UNIQUE REFERENCES event (event_id),
    budget_consumed_ms  INTEGER NOT NULL DEFAULT 0 CHECK (budget_consumed_ms >= 0),
    claim_count         INTEGER NOT NULL DEFAULT 0 CHECK (claim_count >= 0),
    -- The place in the work stream (W-4), held until the run record is written.
    stream_slot         INTEGER CONSTRAINT "workorder.stream_slot W-4 range" CHECK (stream_slot BETWEEN 0 AND 2),
    CONSTRAINT "workorder.stream_slot W-4" CHECK (status = 'EXECUTED' OR stream_slot IS NOT NULL)
) STRICT, WITHOUT ROWID;
-- Three rows at the most, so it is also how open workorders are found.
CREATE UNIQUE INDEX workorder_slot ON workorder (stream_slot) WHERE stream_slot IS NOT NULL;
CREATE INDEX workorder_of_objective ON workorder (objective_id, created_at);
CREATE INDEX workorder_triage ON workorder (created_at, work_order_id) WHERE diazotroph_type = 'TRIAGE_DIAZOTROPH';

CREATE TABLE output_bundle (
    output_id     TEXT NOT NULL PRIMARY KEY,
    -- The objective of its workorder, by trigger: so it exists.
    objective_id  TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    document      TEXT NOT NULL,

    work_order_id TEXT NOT NULL UNIQUE REFERENCES workorder (work_order_id)
) STRICT;

CREATE TABLE run_record (
    run_id        TEXT NOT NULL PRIMARY KEY,
    work_order_id TEXT NOT NULL UNIQUE REFERENCES workorder (work_order_id),
    -- The objective of its output_bundle, by trigger: so it exists.
    objective_id  TEXT NOT NULL,
    output_id     TEXT NOT NULL UNIQUE REFERENCES output_bundle (output_id),
    gate_result   TEXT NOT NULL CHECK (gate_result IN ('PASS', 'FAIL')),
    created_at    TEXT NOT NULL,
    document      TEXT NOT NULL
) STRICT;
CREATE INDEX run_of_objective ON run_record (objective_id, created_at, run_id);
CREATE INDEX run_listed ON run_record (created_at, run_id);

CREATE TABLE gate_evidence (
    run_id        TEXT NOT NULL PRIMARY KEY REFERENCES run_record (run_id),
    work_order_id TEXT NOT NULL REFERENCES workorder (work_order_id),
    created_at    TEXT NOT NULL,
    document      TEXT NOT NULL
) STRICT;

CREATE TABLE usage_record (
    work_order_id TEXT NOT NULL REFERENCES workorder (work_order_id),
    claim_version INTEGER NOT NULL,
    created_at    TEXT NOT NULL,
    document      TEXT NOT NULL,
    PRIMARY KEY (work_order_id, claim_version)
) STRICT;

CREATE TABLE pause_state (
    pause_key          TEXT NOT NULL PRIMARY KEY,
    objective_id       TEXT NOT NULL,
    azolla_id          TEXT NOT NULL,
    reason             TEXT NOT NULL CHECK (reason = 'RUN_COMPLETE' OR reason = 'GATE_FAILED'
                           OR reason = 'BUDGET_EXHAUSTED' OR reason = 'BLOCKED'),
    created_at         TEXT NOT NULL,
    document           TEXT NOT NULL,

    -- What it ends: a workorder, an event, or (both null) a deadline.
    work_order_id      TEXT REFERENCES workorder (work_order_id),
    event_id           TEXT REFERENCES event (event_id),
    -- Null only for a deadline of another azolla's objective, which is not stored here.
    local_objective_id TEXT REFERENCES objective (objective_id),
    -- How urgent the objective was whose deadline passed; null unless it is a deadline's.
    urgency            INTEGER,
    CONSTRAINT "pause_state.urgency D-1" CHECK ((urgency IS NOT NULL) = (work_order_id IS NULL AND event_id IS NULL)
        AND (urgency IS NULL OR urgency BETWEEN 0 AND 4)),
    CONSTRAINT "pause_state.pause_key A-3" CHECK (work_order_id IS NULL OR event_id IS NULL),
    CONSTRAINT "pause_state.objective_id A-3" CHECK ((local_objective_id IS NOT NULL AND local_objective_id = objective_id)
        OR (local_objective_id IS NULL AND work_order_id IS NULL AND event_id IS NULL))
) STRICT;
CREATE UNIQUE INDEX pause_of_workorder ON pause_state (work_order_id) WHERE work_order_id IS NOT NULL;
CREATE UNIQUE INDEX pause_of_event ON pause_state (event_id) WHERE event_id IS NOT NULL;
CREATE INDEX pause_deadline ON pause_state (azolla_id, objective_id, created_at) WHERE urgency IS NOT NULL;
CREATE INDEX pause_deadline_latest ON pause_state (created_at, pause_key) WHERE urgency IS NOT NULL;

-- Until when the deadline of an objective, here or in another azolla, is moved (D-1). The last word counts.
CREATE TABLE snooze (
    azolla_id    TEXT NOT NULL,
    objective_id TEXT NOT NULL,
    until        TEXT NOT NULL,
    PRIMARY KEY (azolla_id, objective_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX snooze_until ON snooze (until);

CREATE TABLE session_manifest (
    manifest_id   TEXT NOT NULL PRIMARY KEY,
    azolla_id     TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    document      TEXT NOT NULL,

    work_order_id TEXT NOT NULL UNIQUE REFERENCES workorder (work_order_id)
) STRICT;
CREATE INDEX manifest_latest ON session_manifest (created_at, manifest_id);

-- The candidates of the triage bundles that passed their gate. One is open unless a resolution of it stands (O-3).
CREATE TABLE candidate (
    output_id       TEXT NOT NULL REFERENCES output_bundle (output_id),
    candidate_index INTEGER NOT NULL CHECK (candidate_index >= 0),
    open            INTEGER NOT NULL CHECK (open IN (0, 1)),
    PRIMARY KEY (output_id, candidate_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX candidate_open ON candidate (output_id) WHERE open = 1;

CREATE TABLE candidate_resolution (
    output_id       TEXT NOT NULL,
    candidate_index INTEGER NOT NULL,
    outcome         TEXT NOT NULL CHECK (outcome IN ('PROMOTED', 'DISCARDED', 'DEFERRED', 'DUPLICATE')),
    objective_id    TEXT,
    resolved_by     TEXT NOT NULL,
    created_at      TEXT NOT NULL,

    -- Whether the operator took it back: the candidate is open then, and the next outcome takes this one's place.
    taken_back      INTEGER NOT NULL CHECK (taken_back IN (0, 1)),
    PRIMARY KEY (output_id, candidate_index),
    FOREIGN KEY (output_id, candidate_index) REFERENCES candidate (output_id, candidate_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE claim_record (
    resource_type    TEXT NOT NULL CHECK (resource_type IN ('EVENT', 'WORKORDER')),
    resource_id      TEXT NOT NULL,
    owner_id         TEXT NOT NULL,
    lease_expires_at TEXT NOT NULL,
    heartbeat_at     TEXT NOT NULL,
    claim_version    INTEGER NOT NULL CHECK (claim_version >= 1),

    granted_at       TEXT NOT NULL,
    -- Null while held, and after a loss: a claim that expired without a release.
    released_at      TEXT,
    -- Time under the claim before this one, if that one was lost: charged to the budget at the grant (B-2).
    lost_ms          INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (resource_type, resource_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE journal (
    seq           INTEGER PRIMARY KEY,
    at            TEXT NOT NULL,
    actor         TEXT NOT NULL,
    owner_id      TEXT,
    claim_version INTEGER,
    step          TEXT NOT NULL,
    resource_type TEXT NOT NULL,
    resource_id   TEXT NOT NULL,
    from_status   TEXT,
    to_status     TEXT,
    detail        TEXT,

    -- On the first row of a commit: answers whether a commit of unknown outcome happened (C-9).
    commit_id     TEXT
) STRICT;
CREATE UNIQUE INDEX journal_commit ON journal (commit_id) WHERE commit_id IS NOT NULL;
-- By what follows the kind in an id: what one cycle is about has that in common, so a commit writes one page here.
CREATE INDEX journal_resource ON journal (ltrim(resource_id, 'abcdefghijklmnopqrstuvwxyz:'), seq);

-- A-1, A-2: immutable artifacts.
CREATE TRIGGER context_snapshot_insert BEFORE INSERT ON context_snapshot
BEGIN
    SELECT RAISE(ABORT, 'context_snapshot.snapshot_id A-1 exists already')
        WHERE EXISTS (SELECT 1 FROM context_snapshot WHERE snapshot_id = NEW.snapshot_id)
           OR EXISTS (SELECT 1 FROM context_snapshot WHERE rowid = NEW.rowid);
    SELECT RAISE(ABORT, 'context_snapshot.objective_id A-3 has no such version')
        WHERE NOT EXISTS (SELECT 1 FROM objective_version
                          WHERE objective_id = NEW.objective_id AND version = NEW.objective_version);
END;
CREATE TRIGGER context_snapshot_update BEFORE UPDATE ON context_snapshot
BEGIN SELECT RAISE(ABORT, 'context_snapshot.document A-1 is immutable'); END;
CREATE TRIGGER context_snapshot_delete BEFORE DELETE ON context_snapshot
BEGIN SELECT RAISE(ABORT, 'context_snapshot.document A-2 is never deleted'); END;

CREATE TRIGGER output_bundle_insert BEFORE INSERT ON output_bundle
BEGIN
    SELECT RAISE(ABORT, 'output_bundle.output_id A-1 exists already')
        WHERE EXISTS (SELECT 1 FROM output_bundle WHERE output_id = NEW.output_id)
           OR EXISTS (SELECT 1 FROM output_bundle WHERE rowid = NEW.rowid);
    SELECT RAISE(ABORT, 'output_bundle.work_order_id W-5 has an output_bundle already')
        WHERE EXISTS (SELECT 1 FROM output_bundle WHERE work_order_id = NEW.work_order_id);
    SELECT RAISE(ABORT, 'output_bundle.objective_id A-3 is not the objective of its workorder')
        WHERE EXISTS (SELECT 1 FROM workorder
                      WHERE work_order_id = NEW.work_order_id AND objective_id <> NEW.objective_id);
    SELECT RAISE(ABORT, 'output_bundle.work_order_id A-3 does not exist')
        WHERE NOT EXISTS (SELECT 1 FROM workorder WHERE work_order_id = NEW.work_order_id);
END;
CREATE TRIGGER output_bundle_update BEFORE UPDATE ON output_bundle
BEGIN SELECT RAISE(ABORT, 'output_bundle.document A-1 is immutable'); END;
CREATE TRIGGER output_bundle_delete BEFORE DELETE ON output_bundle
BEGIN SELECT RAISE(ABORT, 'output_bundle.document A-2 is never deleted'); END;

CREATE TRIGGER run_record_insert BEFORE INSERT ON run_record
BEGIN
    SELECT RAISE(ABORT, 'run_record.run_id A-1 exists already')
        WHERE EXISTS (SELECT 1 FROM run_record WHERE run_id = NEW.run_id)
           OR EXISTS (SELECT 1 FROM run_record WHERE rowid = NEW.rowid);
    SELECT RAISE(ABORT, 'run_record.work_order_id W-5 has a run_record already')
        WHERE EXISTS (SELECT 1 FROM run_record
                      WHERE work_order_id = NEW.work_order_id OR output_id = NEW.output_id);
    SELECT RAISE(ABORT, 'run_record.output_id A-3 is not the output of its workorder and objective')
        WHERE EXISTS (SELECT 1 FROM output_bundle WHERE output_id = NEW.output_id
                      AND (work_order_id <> NEW.work_order_id OR objective_id <> NEW.objective_id));
    SELECT RAISE(ABORT, 'run_record.work_order_id A-3 does not exist')
        WHERE NOT EXISTS (SELECT 1 FROM workorder WHERE work_order_id = NEW.work_order_id);
    SELECT RAISE(ABORT, 'run_record.output_id A-3 does not exist')
        WHERE NOT EXISTS (SELECT 1 FROM output_bundle WHERE output_id = NEW.output_id);
END;
CREATE TRIGGER run_record_update BEFORE UPDATE ON run_record
BEGIN SELECT RAISE(ABORT, 'run_record.document A-1 is immutable'); END;
CREATE TRIGGER run_record_delete BEFORE DELETE ON run_record
BEGIN SELECT RAISE(ABORT, 'run_record.document A-2 is never deleted'); END;

CREATE TRIGGER pause_state_insert BEFORE INSERT ON pause_state
BEGIN
    SELECT RAISE(ABORT, 'pause_state.pause_key A-1 exists already')
        WHERE EXISTS (SELECT 1 FROM pause_state WHERE pause_key = NEW.pause_key)
           OR EXISTS (SELECT 1 FROM pause_state WHERE work_order_id = NEW.work_order_id)
           OR EXISTS (SELECT 1 FROM pause_state WHERE event_id = NEW.event_id)
           OR EXISTS (SELECT 1 FROM pause_state WHERE rowid = NEW.rowid);
    SELECT RAISE(ABORT, 'pause_state.work_order_id A-3 does not exist')
        WHERE NEW.work_order_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM workorder WHERE work_order_id = NEW.work_order_id);
    SELECT RAISE(ABORT, 'pause_state.event_id A-3 does not exist')
        WHERE NEW.event_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM event WHERE event_id = NEW.event_id);
    SELECT RAISE(ABORT, 'pause_state.objective_id A-3 is not the objective of its workorder')
        WHERE EXISTS (SELECT 1 FROM workorder
                      WHERE work_order_id = NEW.work_order_id AND objective_id <> NEW.objective_id);
    SELECT RAISE(ABORT, 'pause_state.objective_id A-3 does not exist')
        WHERE NEW.local_objective_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM objective WHERE objective_id = NEW.local_objective_id);
END;
-- D-1: of two deadlines of an objective within 24 hours, the later one is more urgent. Whichever of them comes first:
-- so an import can bring them in any order, and two monitors whose clocks differ cannot get both in.
CREATE TRIGGER pause_state_deadline BEFORE INSERT ON pause_state WHEN NEW.urgency IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'pause_state.created_at D-1 is within 24 hours of another deadline of this objective')
        WHERE NOT EXISTS (SELECT 1 FROM pause_state WHERE pause_key = NEW.pause_key)
          AND EXISTS (SELECT 1 FROM pause_state AS other
            WHERE other.azolla_id = NEW.azolla_id AND other.objective_id = NEW.objective_id
              AND other.urgency IS NOT NULL
              AND other.created_at > strftime('%Y-%m-%dT%H:%M:%fZ', NEW.created_at, '-24 hours')
              AND other.created_at < strftime('%Y-%m-%dT%H:%M:%fZ', NEW.created_at, '+24 hours')
              AND CASE WHEN other.created_at < NEW.created_at THEN other.urgency <= NEW.urgency
                       WHEN other.created_at > NEW.created_at THEN NEW.urgency <= other.urgency
                       ELSE 1 END);
END;
CREATE TRIGGER pause_state_update BEFORE UPDATE ON pause_state
BEGIN SELECT RAISE(ABORT, 'pause_state.document A-1 is immutable'); END;
CREATE TRIGGER pause_state_delete BEFORE DELETE ON pause_state
BEGIN SELECT RAISE(ABORT, 'pause_state.document A-2 is never deleted'); END;

CREATE TRIGGER session_manifest_insert BEFORE INSERT ON session_manifest
BEGIN
    SELECT RAISE(ABORT, 'session_manifest.manifest_id A-1 exists already')
        WHERE EXISTS (SELECT 1 FROM session_manifest
                      WHERE manifest_id = NEW.manifest_id OR work_order_id = NEW.work_order_id)
           OR EXISTS (SELECT 1 FROM session_manifest WHERE rowid = NEW.rowid);
    SELECT RAISE(ABORT, 'session_manifest.work_order_id A-3 does not exist')
        WHERE NOT EXISTS (SELECT 1 FROM workorder WHERE work_order_id = NEW.work_order_id);
END;
CREATE TRIGGER session_manifest_update BEFORE UPDATE ON session_manifest
BEGIN SELECT RAISE(ABORT, 'session_manifest.document A-1 is immutable'); END;
CREATE TRIGGER session_manifest_delete BEFORE DELETE ON session_manifest
BEGIN SELECT RAISE(ABORT, 'session_manifest.document A-2 is never deleted'); END;

CREATE TRIGGER gate_evidence_insert BEFORE INSERT ON gate_evidence
BEGIN
    SELECT RAISE(ABORT, 'gate_evidence.run_id A-1 exists already')
        WHERE EXISTS (SELECT 1 FROM gate_evidence WHERE run_id = NEW.run_id)
           OR EXISTS (SELECT 1 FROM gate_evidence WHERE rowid = NEW.rowid);
    SELECT RAISE(ABORT, 'gate_evidence.work_order_id A-3 is not the workorder of its run')
        WHERE EXISTS (SELECT 1 FROM run_record
                      WHERE run_id = NEW.run_id AND work_order_id <> NEW.work_order_id);
    SELECT RAISE(ABORT, 'gate_evidence.run_id A-3 does not exist')
        WHERE NOT EXISTS (SELECT 1 FROM run_record WHERE run_id = NEW.run_id);
    SELECT RAISE(ABORT, 'gate_evidence.work_order_id A-3 does not exist')
        WHERE NOT EXISTS (SELECT 1 FROM workorder WHERE work_order_id = NEW.work_order_id);
END;
CREATE TRIGGER gate_evidence_update BEFORE UPDATE ON gate_evidence
BEGIN SELECT RAISE(ABORT, 'gate_evidence.document A-1 is immutable'); END;
CREATE TRIGGER gate_evidence_delete BEFORE DELETE ON gate_evidence
BEGIN SELECT RAISE(ABORT, 'gate_evidence.document A-2 is never deleted'); END;

CREATE TRIGGER usage_record_insert BEFORE INSERT ON usage_record
BEGIN
    SELECT RAISE(ABORT, 'usage_record.claim_version A-1 exists already')
        WHERE EXISTS (SELECT 1 FROM usage_record
                      WHERE work_order_id = NEW.work_order_id AND claim_version = NEW.claim_version)
           OR EXISTS (SELECT 1 FROM usage_record WHERE rowid = NEW.rowid);
    SELECT RAISE(ABORT, 'usage_record.work_order_id A-3 does not exist')
        WHERE NOT EXISTS (SELECT 1 FROM workorder WHERE work_order_id = NEW.work_order_id);
END;
CREATE TRIGGER usage_record_update BEFORE UPDATE ON usage_record
BEGIN SELECT RAISE(ABORT, 'usage_record.document A-1 is immutable'); END;
CREATE TRIGGER usage_record_delete BEFORE DELETE ON usage_record
BEGIN SELECT RAISE(ABORT, 'usage_record.document A-2 is never deleted'); END;

CREATE TRIGGER objective_version_insert BEFORE INSERT ON objective_version
BEGIN
    SELECT RAISE(ABORT, 'objective_version.version A-4 exists already')
        WHERE EXISTS (SELECT 1 FROM objective_version
                      WHERE objective_id = NEW.objective_id AND version = NEW.version)
           OR EXISTS (SELECT 1 FROM objective_version WHERE rowid = NEW.rowid);
    SELECT RAISE(ABORT, 'objective_version.objective_id A-4 does not exist')
        WHERE NOT EXISTS (SELECT 1 FROM objective WHERE objective_id = NEW.objective_id);
END;
CREATE TRIGGER objective_version_update BEFORE UPDATE ON objective_version
BEGIN SELECT RAISE(ABORT, 'objective_version.document A-4 is immutable'); END;
CREATE TRIGGER objective_version_delete BEFORE DELETE ON objective_version
BEGIN SELECT RAISE(ABORT, 'objective_version.document A-2 is never deleted'); END;

CREATE TRIGGER journal_insert BEFORE INSERT ON journal
WHEN EXISTS (SELECT 1 FROM journal WHERE seq = NEW.seq)
     OR EXISTS (SELECT 1 FROM journal WHERE commit_id = NEW.commit_id AND commit_id IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'journal.commit_id C-9 was committed already'); END;
CREATE TRIGGER journal_update BEFORE UPDATE ON journal
BEGIN SELECT RAISE(ABORT, 'journal.seq A-2 is append-only'); END;
CREATE TRIGGER journal_delete BEFORE DELETE ON journal
BEGIN SELECT RAISE(ABORT, 'journal.seq A-2 is never deleted'); END;

-- Mutable artifacts: what may change, and how.
CREATE TRIGGER azolla_insert BEFORE INSERT ON azolla WHEN EXISTS (SELECT 1 FROM azolla)
BEGIN SELECT RAISE(ABORT, 'azolla.azolla_id Y-1 is fixed'); END;
CREATE TRIGGER azolla_update BEFORE UPDATE OF one, azolla_id, azolla_type, created_at ON azolla
BEGIN SELECT RAISE(ABORT, 'azolla.azolla_id Y-1 is fixed'); END;
CREATE TRIGGER azolla_delete BEFORE DELETE ON azolla
BEGIN SELECT RAISE(ABORT, 'azolla.azolla_id A-2 is never deleted'); END;

CREATE TRIGGER objective_insert BEFORE INSERT ON objective
WHEN EXISTS (SELECT 1 FROM objective WHERE objective_id = NEW.objective_id)
     OR EXISTS (SELECT 1 FROM objective WHERE rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'objective.objective_id A-2 exists already'); END;
CREATE TRIGGER objective_status BEFORE UPDATE OF status ON objective
WHEN OLD.status <> NEW.status AND (OLD.objective_type <> 'TICKET' OR NOT CASE OLD.status
    WHEN 'NEW' THEN NEW.status IN ('TODO', 'BLOCKED')
    WHEN 'TODO' THEN NEW.status = 'NEW' OR NEW.status = 'IN_PROGRESS' OR NEW.status = 'BLOCKED'
    WHEN 'IN_PROGRESS' THEN NEW.status = 'TODO' OR NEW.status = 'BLOCKED' OR NEW.status = 'DONE'
    ELSE NEW.status = 'TODO' END)
BEGIN SELECT RAISE(ABORT, 'objective.status S-1 is no row of the transition table'); END;
CREATE TRIGGER objective_update BEFORE UPDATE ON objective
BEGIN
    SELECT RAISE(ABORT, 'objective.objective_id A-2 is fixed') WHERE NEW.objective_id <> OLD.objective_id
        OR NEW.rowid <> OLD.rowid OR NEW.azolla_id <> OLD.azolla_id OR NEW.objective_type <> OLD.objective_type
        OR NEW.created_at <> OLD.created_at;
    SELECT RAISE(ABORT, 'objective.status S-j is final once confirmed') WHERE OLD.confirmed = 1
        AND (NEW.version <> OLD.version OR NEW.confirmed <> 1 OR NEW.status <> OLD.status OR NEW.metadata <> OLD.metadata);
    SELECT RAISE(ABORT, 'objective.version S-3 grows by one') WHERE NEW.version NOT IN (OLD.version, OLD.version + 1)
        OR (NEW.version = OLD.version AND (NEW.status <> OLD.status OR NEW.title <> OLD.title
            OR NEW.acceptance_criteria <> OLD.acceptance_criteria OR NEW.metadata <> OLD.metadata
            OR NEW.importance <> OLD.importance OR NEW.urgency <> OLD.urgency
            OR NEW.blocked_on <> OLD.blocked_on OR NEW.blocked_reason IS NOT OLD.blocked_reason
            OR NEW.todo_entry <> OLD.todo_entry OR NEW.waiting <> OLD.waiting
            OR NEW.confirmed <> OLD.confirmed OR NEW.archived <> OLD.archived));
    SELECT RAISE(ABORT, 'objective.todo_entry W-1 only grows') WHERE NEW.todo_entry < OLD.todo_entry;
    SELECT RAISE(ABORT, 'objective.pause_key A-6 is no pause_state of this objective')
        WHERE NEW.pause_key IS NOT OLD.pause_key AND NEW.pause_key IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM pause_state
                          WHERE pause_key = NEW.pause_key AND local_objective_id = NEW.objective_id);
    -- What was approved is what runs: a change of it goes through NEW again (S-l).
    SELECT RAISE(ABORT, 'objective.title S-3 is fixed until approval is withdrawn')
        WHERE OLD.status IN ('TODO', 'IN_PROGRESS') AND NEW.status <> 'NEW'
        AND (NEW.title <> OLD.title OR NEW.acceptance_criteria <> OLD.acceptance_criteria
             OR json_extract(NEW.metadata, '$.repo_ref') IS NOT json_extract(OLD.metadata, '$.repo_ref')
             OR json_extract(NEW.metadata, '$.base_branch') IS NOT json_extract(OLD.metadata, '$.base_branch'));
END;
CREATE TRIGGER objective_delete BEFORE DELETE ON objective
BEGIN SELECT RAISE(ABORT, 'objective.objective_id A-2 is never deleted'); END;

CREATE TRIGGER capture_buffer_insert BEFORE INSERT ON capture_buffer
WHEN EXISTS (SELECT 1 FROM capture_buffer WHERE capture_id = NEW.capture_id)
     OR EXISTS (SELECT 1 FROM capture_buffer WHERE rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'capture_buffer.capture_id A-2 exists already'); END;
CREATE TRIGGER capture_buffer_update BEFORE UPDATE ON capture_buffer
BEGIN
    SELECT RAISE(ABORT, 'capture_buffer.capture_id A-2 is fixed') WHERE NEW.rowid <> OLD.rowid;
    SELECT RAISE(ABORT, 'capture_buffer.raw_content A-2 is kept as it came') WHERE NEW.capture_id <> OLD.capture_id
        OR NEW.azolla_id <> OLD.azolla_id OR NEW.raw_content <> OLD.raw_content
        OR NEW.source_label <> OLD.source_label OR NEW.created_at <> OLD.created_at;
    SELECT RAISE(ABORT, 'capture_buffer.status S-4 goes from PENDING to PROCESSED once')
        WHERE OLD.status = 'PROCESSED' AND NEW.status <> 'PROCESSED';
    SELECT RAISE(ABORT, 'capture_buffer.attempts W-2 only grows') WHERE NEW.attempts < OLD.attempts;
    SELECT RAISE(ABORT, 'capture_buffer.attempts_before W-2 only grows, up to attempts')
        WHERE NEW.attempts_before < OLD.attempts_before OR NEW.attempts_before > NEW.attempts;
END;
CREATE TRIGGER capture_buffer_delete BEFORE DELETE ON capture_buffer
BEGIN SELECT RAISE(ABORT, 'capture_buffer.capture_id A-2 is never deleted'); END;

CREATE TRIGGER event_insert BEFORE INSERT ON event
BEGIN
    SELECT RAISE(ABORT, 'event.event_id W-1 exists already')
        WHERE EXISTS (SELECT 1 FROM event WHERE event_id = NEW.event_id);
    SELECT RAISE(ABORT, 'event.entry W-1 has an event already')
        WHERE EXISTS (SELECT 1 FROM event
                      WHERE type = NEW.type AND resource_id = NEW.resource_id AND entry = NEW.entry);
    SELECT RAISE(ABORT, 'event.resource_id W-2 has an unprocessed event already')
        WHERE NEW.processed = 0 AND EXISTS (SELECT 1 FROM event WHERE processed = 0 AND type = NEW.type
            AND ((type = 'CAPTURE_READY' AND resource_id = NEW.resource_id) OR type = 'MANIFEST_REQUESTED'));
END;
CREATE TRIGGER event_update BEFORE UPDATE OF event_id, type, resource_id, azolla_id, created_at, processed,
                                             processed_reason, processed_at, entry ON event
BEGIN
    SELECT RAISE(ABORT, 'event.processed W-6 goes from false to true once')
        WHERE OLD.processed = 1 OR NEW.processed = 0;
    SELECT RAISE(ABORT, 'event.event_id W-6 is fixed') WHERE NEW.event_id <> OLD.event_id OR NEW.type <> OLD.type
        OR NEW.resource_id <> OLD.resource_id OR NEW.azolla_id <> OLD.azolla_id
        OR NEW.created_at <> OLD.created_at OR NEW.entry IS NOT OLD.entry;
END;
CREATE TRIGGER event_delete BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'event.event_id A-2 is never deleted'); END;

CREATE TRIGGER workorder_insert BEFORE INSERT ON workorder
BEGIN
    SELECT RAISE(ABORT, 'workorder.work_order_id W-5 exists already')
        WHERE EXISTS (SELECT 1 FROM workorder WHERE work_order_id = NEW.work_order_id);
    SELECT RAISE(ABORT, 'workorder.event_id W-5 has a workorder already')
        WHERE EXISTS (SELECT 1 FROM workorder WHERE event_id = NEW.event_id);
    SELECT RAISE(ABORT, 'workorder.context_snapshot_id W-5 has a workorder already')
        WHERE EXISTS (SELECT 1 FROM workorder WHERE context_snapshot_id = NEW.context_snapshot_id);
    SELECT RAISE(ABORT, 'workorder.stream_slot W-4 is taken')
        WHERE EXISTS (SELECT 1 FROM workorder WHERE stream_slot = NEW.stream_slot);
    SELECT RAISE(ABORT, 'workorder.context_snapshot_id A-3 is the snapshot of another objective')
        WHERE EXISTS (SELECT 1 FROM context_snapshot
                      WHERE snapshot_id = NEW.context_snapshot_id AND objective_id <> NEW.objective_id);
    SELECT RAISE(ABORT, 'workorder.objective_id A-3 does not exist')
        WHERE NOT EXISTS (SELECT 1 FROM objective WHERE objective_id = NEW.objective_id);
    SELECT RAISE(ABORT, 'workorder.context_snapshot_id A-3 does not exist')
        WHERE NOT EXISTS (SELECT 1 FROM context_snapshot WHERE snapshot_id = NEW.context_snapshot_id);
    SELECT RAISE(ABORT, 'workorder.event_id A-3 does not exist')
        WHERE NOT EXISTS (SELECT 1 FROM event WHERE event_id = NEW.event_id);
END;
CREATE TRIGGER workorder_status BEFORE UPDATE OF status ON workorder WHEN NEW.status <> OLD.status
BEGIN
    SELECT RAISE(ABORT, 'workorder.status W-6 goes from CREATED to EXECUTED once')
        WHERE OLD.status <> 'CREATED' OR NEW.status <> 'EXECUTED';
    SELECT RAISE(ABORT, 'workorder.status B-3 needs its output_bundle')
        WHERE NOT EXISTS (SELECT 1 FROM output_bundle WHERE work_order_id = NEW.work_order_id);
END;
CREATE TRIGGER workorder_slot BEFORE UPDATE OF stream_slot ON workorder
WHEN NEW.stream_slot IS NOT OLD.stream_slot
BEGIN
    SELECT RAISE(ABORT, 'workorder.stream_slot W-4 is held until the run_record')
        WHERE NEW.stream_slot IS NOT NULL
           OR NOT EXISTS (SELECT 1 FROM run_record WHERE work_order_id = NEW.work_order_id);
END;
CREATE TRIGGER workorder_update BEFORE UPDATE OF work_order_id, objective_id, diazotroph_type, context_snapshot_id,
                                                 branch_name, budget_ms, created_at, event_id ON workorder
BEGIN SELECT RAISE(ABORT, 'workorder.work_order_id W-6 is fixed'); END;
CREATE TRIGGER workorder_budget BEFORE UPDATE OF budget_consumed_ms ON workorder
-- REPLACE takes the default for a null.
WHEN NEW.budget_consumed_ms IS NULL OR NEW.budget_consumed_ms < OLD.budget_consumed_ms
BEGIN SELECT RAISE(ABORT, 'workorder.budget_consumed_ms B-2 only grows'); END;
CREATE TRIGGER workorder_delete BEFORE DELETE ON workorder
BEGIN SELECT RAISE(ABORT, 'workorder.work_order_id A-2 is never deleted'); END;

CREATE TRIGGER candidate_insert BEFORE INSERT ON candidate
BEGIN
    SELECT RAISE(ABORT, 'candidate.candidate_index TF-8 exists already')
        WHERE EXISTS (SELECT 1 FROM candidate
                      WHERE output_id = NEW.output_id AND candidate_index = NEW.candidate_index);
    SELECT RAISE(ABORT, 'candidate.output_id A-3 is no triage output that passed its gate')
        WHERE NOT EXISTS (SELECT 1 FROM run_record
                          JOIN workorder ON workorder.work_order_id = run_record.work_order_id
                          WHERE run_record.output_id = NEW.output_id AND run_record.gate_result = 'PASS'
                            AND workorder.diazotroph_type = 'TRIAGE_DIAZOTROPH');
    SELECT RAISE(ABORT, 'candidate.open O-3 is 1 until it is resolved') WHERE NEW.open <> 1;
END;
CREATE TRIGGER candidate_update BEFORE UPDATE ON candidate
WHEN NEW.output_id <> OLD.output_id OR NEW.candidate_index <> OLD.candidate_index OR NEW.open = OLD.open
     OR NEW.open = (SELECT COUNT(*) FROM candidate_resolution
                    WHERE output_id = OLD.output_id AND candidate_index = OLD.candidate_index AND taken_back = 0)
BEGIN SELECT RAISE(ABORT, 'candidate.open O-3 changes with its resolution'); END;
CREATE TRIGGER candidate_delete BEFORE DELETE ON candidate
BEGIN SELECT RAISE(ABORT, 'candidate.candidate_index A-2 is never deleted'); END;

-- PROMOTED, DISCARDED and DUPLICATE are recorded once, DEFERRED is not final, and each can be taken back as it stands.
CREATE TRIGGER candidate_resolution_insert BEFORE INSERT ON candidate_resolution
BEGIN
    SELECT RAISE(ABORT, 'candidate_resolution.outcome TF-8 is recorded already')
        WHERE EXISTS (SELECT 1 FROM candidate_resolution
                      WHERE output_id = NEW.output_id AND candidate_index = NEW.candidate_index
                        AND (NEW.taken_back = 1 OR (outcome <> 'DEFERRED' AND taken_back = 0)));
    SELECT RAISE(ABORT, 'candidate_resolution.output_id A-3 has no such candidate')
        WHERE NOT EXISTS (SELECT 1 FROM candidate
                          WHERE output_id = NEW.output_id AND candidate_index = NEW.candidate_index);
END;
CREATE TRIGGER candidate_resolution_closes AFTER INSERT ON candidate_resolution
BEGIN
    UPDATE candidate SET open = NEW.taken_back
    WHERE output_id = NEW.output_id AND candidate_index = NEW.candidate_index AND open <> NEW.taken_back;
END;
CREATE TRIGGER candidate_resolution_update BEFORE UPDATE ON candidate_resolution
WHEN NEW.output_id <> OLD.output_id OR NEW.candidate_index <> OLD.candidate_index OR CASE NEW.taken_back
     WHEN 0 THEN OLD.outcome <> 'DEFERRED' AND OLD.taken_back = 0
     ELSE OLD.taken_back = 1 OR NEW.outcome <> OLD.outcome OR NEW.objective_id IS NOT OLD.objective_id
          OR NEW.resolved_by <> OLD.resolved_by OR NEW.created_at <> OLD.created_at END
BEGIN SELECT RAISE(ABORT, 'candidate_resolution.outcome TF-8 is recorded already'); END;
CREATE TRIGGER candidate_resolution_reopens AFTER UPDATE ON candidate_resolution
BEGIN
    UPDATE candidate SET open = NEW.taken_back
    WHERE output_id = NEW.output_id AND candidate_index = NEW.candidate_index AND open <> NEW.taken_back;
END;
CREATE TRIGGER candidate_resolution_delete BEFORE DELETE ON candidate_resolution
BEGIN SELECT RAISE(ABORT, 'candidate_resolution.outcome A-2 is never deleted'); END;

CREATE TRIGGER snooze_update BEFORE UPDATE ON snooze
WHEN NEW.azolla_id <> OLD.azolla_id OR NEW.objective_id <> OLD.objective_id
BEGIN SELECT RAISE(ABORT, 'snooze.objective_id D-1 is fixed'); END;
CREATE TRIGGER snooze_delete BEFORE DELETE ON snooze
BEGIN SELECT RAISE(ABORT, 'snooze.until A-2 is never deleted'); END;

CREATE TRIGGER claim_record_insert BEFORE INSERT ON claim_record
WHEN EXISTS (SELECT 1 FROM claim_record
             WHERE resource_type = NEW.resource_type AND resource_id = NEW.resource_id)
BEGIN SELECT RAISE(ABORT, 'claim_record.resource_id C-1 exists already'); END;
CREATE TRIGGER claim_record_update BEFORE UPDATE ON claim_record
BEGIN
    SELECT RAISE(ABORT, 'claim_record.resource_id C-2 is fixed')
        WHERE NEW.resource_type <> OLD.resource_type OR NEW.resource_id <> OLD.resource_id;
    SELECT RAISE(ABORT, 'claim_record.claim_version C-2 only grows')
        WHERE NEW.claim_version NOT IN (OLD.claim_version, OLD.claim_version + 1);
    SELECT RAISE(ABORT, 'claim_record.owner_id C-1 changes with a new claim_version only')
        WHERE NEW.claim_version = OLD.claim_version
          AND (NEW.owner_id <> OLD.owner_id OR NEW.granted_at <> OLD.granted_at
               OR (OLD.released_at IS NOT NULL AND NEW.released_at IS NOT OLD.released_at));
    SELECT RAISE(ABORT, 'claim_record.lease_expires_at C-1 has not passed')
        WHERE NEW.claim_version > OLD.claim_version AND NEW.granted_at < OLD.lease_expires_at
          AND OLD.released_at IS NULL;
END;
CREATE TRIGGER claim_record_delete BEFORE DELETE ON claim_record
BEGIN SELECT RAISE(ABORT, 'claim_record.claim_version C-2 is never deleted'); END;
