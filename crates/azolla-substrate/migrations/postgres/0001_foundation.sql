-- The Substrate of one azolla, in a schema of its own that is named after it. The same tables as on SQLite, step
-- by step; what differs: functions are made here, sequences number the journal, and keys and timestamps carry the
-- "C" collation, so that text sorts as bytes whatever the database's locale is.
--
-- A constraint's name is `artifact.field RULE`, which the program turns into a typed refusal. A trigger raises the
-- same form as its constraint name.

-- The store's clock (C-7, R4): the wall clock of the server when the statement runs, not when its transaction began.
CREATE FUNCTION azolla_now() RETURNS TEXT LANGUAGE sql VOLATILE AS $$
    SELECT to_char(date_trunc('milliseconds', clock_timestamp() AT TIME ZONE 'UTC'), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
CREATE FUNCTION azolla_plus(instant TEXT, ms BIGINT) RETURNS TEXT LANGUAGE sql STABLE AS $$
    SELECT to_char((instant::timestamptz + ms * interval '1 millisecond') AT TIME ZONE 'UTC',
                   'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
CREATE FUNCTION azolla_between(earlier TEXT, later TEXT) RETURNS BIGINT LANGUAGE sql STABLE AS $$
    SELECT greatest(0, round(extract(epoch FROM later::timestamptz - earlier::timestamptz) * 1000))::bigint
$$;

-- Ends the transaction unless exactly one row was hit. A commit is sent as one flight of statements, so the server
-- itself has to stop at the first one that misses.
CREATE FUNCTION azolla_require(hits BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF hits <> 1 THEN RAISE EXCEPTION USING ERRCODE = 'AZ001', MESSAGE = 'missed'; END IF;
END $$;

CREATE FUNCTION azolla_refuse(what TEXT, why TEXT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '23000', CONSTRAINT = what, MESSAGE = what || ' ' || why;
END $$;

CREATE TABLE azolla (
    one         BIGINT CONSTRAINT "azolla.azolla_id Y-1" PRIMARY KEY
                CONSTRAINT "azolla.azolla_id Y-1 one" CHECK (one = 1),
    azolla_id   TEXT NOT NULL,
    azolla_type TEXT NOT NULL CHECK (azolla_type IN ('CODE_PATCH_AZOLLA', 'TASK_MGMT_AZOLLA')),
    created_at  TEXT COLLATE "C" NOT NULL,
    stream_lock BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE objective (
    objective_id        TEXT COLLATE "C" CONSTRAINT "objective.objective_id A-2" PRIMARY KEY,
    azolla_id           TEXT NOT NULL,
    title               TEXT NOT NULL,
    acceptance_criteria TEXT NOT NULL,
    objective_type      TEXT NOT NULL CHECK (objective_type IN ('TICKET', 'STANDING')),
    status              TEXT NOT NULL CHECK (status IN ('NEW', 'TODO', 'IN_PROGRESS', 'BLOCKED', 'DONE')),
    importance          BIGINT NOT NULL CHECK (importance BETWEEN 0 AND 4),
    urgency             BIGINT NOT NULL CHECK (urgency BETWEEN 0 AND 4),
    blocked_reason      TEXT,
    blocked_on          TEXT NOT NULL,
    metadata            TEXT NOT NULL,
    created_at          TEXT COLLATE "C" NOT NULL,
    updated_at          TEXT COLLATE "C" NOT NULL,

    version             BIGINT NOT NULL CHECK (version >= 1),
    todo_entry          BIGINT NOT NULL CHECK (todo_entry >= 0),
    waiting             BIGINT NOT NULL CHECK (waiting IN (0, 1)),
    confirmed           BIGINT NOT NULL CHECK (confirmed IN (0, 1)),
    archived            BIGINT NOT NULL CHECK (archived IN (0, 1)),
    pause_key           TEXT COLLATE "C"
);
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
    objective_id TEXT COLLATE "C" NOT NULL
        CONSTRAINT "objective_version.objective_id A-4" REFERENCES objective (objective_id),
    version      BIGINT NOT NULL,
    document     TEXT NOT NULL,
    CONSTRAINT "objective_version.version A-4" PRIMARY KEY (objective_id, version)
);

CREATE TABLE capture_buffer (
    capture_id   TEXT COLLATE "C" CONSTRAINT "capture_buffer.capture_id A-2" PRIMARY KEY,
    azolla_id    TEXT NOT NULL,
    raw_content  TEXT NOT NULL,
    source_label TEXT NOT NULL,
    status       TEXT NOT NULL CHECK (status IN ('PENDING', 'PROCESSED')),
    created_at   TEXT COLLATE "C" NOT NULL,
    updated_at   TEXT COLLATE "C" NOT NULL,

    attempts        BIGINT NOT NULL CHECK (attempts >= 0),
    attempts_before BIGINT NOT NULL
                    CONSTRAINT "capture_buffer.attempts_before W-2" CHECK (attempts_before BETWEEN 0 AND attempts),
    held            BIGINT NOT NULL CHECK (held IN (0, 1))
);
CREATE INDEX capture_pending ON capture_buffer (created_at, capture_id) WHERE status = 'PENDING';
CREATE INDEX capture_held ON capture_buffer (capture_id) WHERE held = 1;

CREATE TABLE event (
    event_id         TEXT COLLATE "C" CONSTRAINT "event.event_id W-1" PRIMARY KEY,
    type             TEXT COLLATE "C" NOT NULL
                     CHECK (type IN ('TICKET_READY', 'CAPTURE_READY', 'MANIFEST_REQUESTED')),
    resource_id      TEXT COLLATE "C" NOT NULL,
    azolla_id        TEXT NOT NULL,
    created_at       TEXT COLLATE "C" NOT NULL,
    processed        BIGINT NOT NULL CHECK (processed IN (0, 1)),
    processed_reason TEXT CHECK (processed_reason IN ('SCHEDULED', 'MISSING_TICKET', 'NON_EXECUTABLE_STATUS',
                                 'BLOCKED', 'NO_PENDING_CAPTURES', 'NO_REACHABLE_AZOLLAS')),
    processed_at     TEXT COLLATE "C",

    entry            BIGINT CONSTRAINT "event.entry W-1 counted" CHECK (entry >= 1),
    claim_count      BIGINT NOT NULL DEFAULT 0 CHECK (claim_count >= 0),
    CONSTRAINT "event.processed W-6" CHECK
        ((processed = 1) = (processed_reason IS NOT NULL) AND (processed = 1) = (processed_at IS NOT NULL)),
    CONSTRAINT "event.entry W-1" CHECK ((type = 'MANIFEST_REQUESTED') = (entry IS NULL))
);
CREATE UNIQUE INDEX "event.entry W-1 unique" ON event (type, resource_id, entry);
CREATE UNIQUE INDEX "event.resource_id W-2" ON event (resource_id) WHERE type = 'CAPTURE_READY' AND processed = 0;
CREATE UNIQUE INDEX "event.resource_id W-2 manifest" ON event (type) WHERE type = 'MANIFEST_REQUESTED' AND processed = 0;
CREATE INDEX event_open ON event (type, created_at, event_id) WHERE processed = 0;
CREATE INDEX event_manifest ON event (type, created_at, event_id) WHERE type = 'MANIFEST_REQUESTED';

CREATE TABLE context_snapshot (
    snapshot_id       TEXT COLLATE "C" CONSTRAINT "context_snapshot.snapshot_id A-1" PRIMARY KEY,
    objective_id      TEXT COLLATE "C" NOT NULL,
    created_at        TEXT COLLATE "C" NOT NULL,
    document          TEXT NOT NULL,

    objective_version BIGINT NOT NULL,
    CONSTRAINT "context_snapshot.objective_id A-3" FOREIGN KEY (objective_id, objective_version)
        REFERENCES objective_version (objective_id, version)
);

CREATE TABLE workorder (
    work_order_id       TEXT COLLATE "C" CONSTRAINT "workorder.work_order_id W-5" PRIMARY KEY,
    objective_id        TEXT COLLATE "C" NOT NULL
                        CONSTRAINT "workorder.objective_id A-3" REFERENCES objective (objective_id),
    diazotroph_type     TEXT NOT NULL CHECK (diazotroph_type IN
                            ('PATCH_DIAZOTROPH', 'TRIAGE_DIAZOTROPH', 'MANIFEST_BUILDER_DIAZOTROPH')),
    context_snapshot_id TEXT COLLATE "C" NOT NULL CONSTRAINT "workorder.context_snapshot_id W-5" UNIQUE
                        CONSTRAINT "workorder.context_snapshot_id A-3" REFERENCES context_snapshot (snapshot_id),
    branch_name         TEXT,
    budget_ms           BIGINT NOT NULL CHECK (budget_ms BETWEEN 1 AND 86400000),
    status              TEXT NOT NULL CHECK (status IN ('CREATED', 'EXECUTED')),
    created_at          TEXT COLLATE "C" NOT NULL,

    event_id            TEXT COLLATE "C" NOT NULL CONSTRAINT "workorder.event_id W-5" UNIQUE
                        CONSTRAINT "workorder.event_id A-3" REFERENCES event (event_id),
    budget_consumed_ms  BIGINT NOT NULL DEFAULT 0 CHECK (budget_consumed_ms >= 0),
    claim_count         BIGINT NOT NULL DEFAULT 0 CHECK (claim_count >= 0),
    stream_slot         BIGINT CONSTRAINT "workorder.stream_slot W-4 range" CHECK (stream_slot BETWEEN 0 AND 2),
    CONSTRAINT "workorder.stream_slot W-4" CHECK (status = 'EXECUTED' OR stream_slot IS NOT NULL)
) WITH (fillfactor = 70);
-- Three rows at the most, so it is also how open workorders are found.
CREATE UNIQUE INDEX "workorder.stream_slot W-4 unique" ON workorder (stream_slot) WHERE stream_slot IS NOT NULL;
CREATE INDEX workorder_of_objective ON workorder (objective_id, created_at);
CREATE INDEX workorder_triage ON workorder (created_at, work_order_id) WHERE diazotroph_type = 'TRIAGE_DIAZOTROPH';

CREATE TABLE output_bundle (
    output_id     TEXT COLLATE "C" CONSTRAINT "output_bundle.output_id A-1" PRIMARY KEY,
    -- The objective of its workorder, by trigger: so it exists.
    objective_id  TEXT COLLATE "C" NOT NULL,
    created_at    TEXT COLLATE "C" NOT NULL,
    document      TEXT NOT NULL,

    work_order_id TEXT COLLATE "C" NOT NULL CONSTRAINT "output_bundle.work_order_id W-5" UNIQUE
                  CONSTRAINT "output_bundle.work_order_id A-3" REFERENCES workorder (work_order_id)
);

CREATE TABLE run_record (
    run_id        TEXT COLLATE "C" CONSTRAINT "run_record.run_id A-1" PRIMARY KEY,
    work_order_id TEXT COLLATE "C" NOT NULL CONSTRAINT "run_record.work_order_id W-5" UNIQUE
                  CONSTRAINT "run_record.work_order_id A-3" REFERENCES workorder (work_order_id),
    -- The objective of its output_bundle, by trigger: so it exists.
    objective_id  TEXT COLLATE "C" NOT NULL,
    output_id     TEXT COLLATE "C" NOT NULL CONSTRAINT "run_record.output_id W-5" UNIQUE
                  CONSTRAINT "run_record.output_id A-3" REFERENCES output_bundle (output_id),
    gate_result   TEXT NOT NULL CHECK (gate_result IN ('PASS', 'FAIL')),
    created_at    TEXT COLLATE "C" NOT NULL,
    document      TEXT NOT NULL
);
CREATE INDEX run_of_objective ON run_record (objective_id, created_at, run_id);
CREATE INDEX run_listed ON run_record (created_at, run_id);

CREATE TABLE gate_evidence (
    run_id        TEXT COLLATE "C" CONSTRAINT "gate_evidence.run_id A-1" PRIMARY KEY
                  CONSTRAINT "gate_evidence.run_id A-3" REFERENCES run_record (run_id),
    work_order_id TEXT COLLATE "C" NOT NULL
                  CONSTRAINT "gate_evidence.work_order_id A-3" REFERENCES workorder (work_order_id),
    created_at    TEXT COLLATE "C" NOT NULL,
    document      TEXT NOT NULL
);

CREATE TABLE usage_record (
    work_order_id TEXT COLLATE "C" NOT NULL
                  CONSTRAINT "usage_record.work_order_id A-3" REFERENCES workorder (work_order_id),
    claim_version BIGINT NOT NULL,
    created_at    TEXT COLLATE "C" NOT NULL,
    document      TEXT NOT NULL,
    CONSTRAINT "usage_record.claim_version A-1" PRIMARY KEY (work_order_id, claim_version)
);

CREATE TABLE pause_state (
    pause_key          TEXT COLLATE "C" CONSTRAINT "pause_state.pause_key A-1" PRIMARY KEY,
    objective_id       TEXT COLLATE "C" NOT NULL,
    azolla_id          TEXT NOT NULL,
    reason             TEXT NOT NULL CHECK (reason IN ('RUN_COMPLETE', 'GATE_FAILED', 'BUDGET_EXHAUSTED', 'BLOCKED')),
    created_at         TEXT COLLATE "C" NOT NULL,
    document           TEXT NOT NULL,

    work_order_id      TEXT COLLATE "C" CONSTRAINT "pause_state.pause_key A-1 workorder" UNIQUE
                       CONSTRAINT "pause_state.work_order_id A-3" REFERENCES workorder (work_order_id),
    event_id           TEXT COLLATE "C" CONSTRAINT "pause_state.pause_key A-1 event" UNIQUE
                       CONSTRAINT "pause_state.event_id A-3" REFERENCES event (event_id),
    local_objective_id TEXT COLLATE "C"
                       CONSTRAINT "pause_state.objective_id A-3 local" REFERENCES objective (objective_id),
    urgency            BIGINT,
    CONSTRAINT "pause_state.urgency D-1" CHECK ((urgency IS NOT NULL) = (work_order_id IS NULL AND event_id IS NULL)
        AND (urgency IS NULL OR urgency BETWEEN 0 AND 4)),
    CONSTRAINT "pause_state.pause_key A-3" CHECK (work_order_id IS NULL OR event_id IS NULL),
    CONSTRAINT "pause_state.objective_id A-3" CHECK ((local_objective_id IS NOT NULL AND local_objective_id = objective_id)
        OR (local_objective_id IS NULL AND work_order_id IS NULL AND event_id IS NULL))
);
CREATE INDEX pause_deadline ON pause_state (azolla_id, objective_id, created_at) WHERE urgency IS NOT NULL;
CREATE INDEX pause_deadline_latest ON pause_state (created_at, pause_key) WHERE urgency IS NOT NULL;
ALTER TABLE objective ADD CONSTRAINT "objective.pause_key A-6" FOREIGN KEY (pause_key) REFERENCES pause_state (pause_key);

CREATE TABLE snooze (
    azolla_id    TEXT COLLATE "C" NOT NULL,
    objective_id TEXT COLLATE "C" NOT NULL,
    until        TEXT COLLATE "C" NOT NULL,
    CONSTRAINT "snooze.objective_id D-1" PRIMARY KEY (azolla_id, objective_id)
);
CREATE INDEX snooze_until ON snooze (until);

CREATE TABLE session_manifest (
    manifest_id   TEXT COLLATE "C" CONSTRAINT "session_manifest.manifest_id A-1" PRIMARY KEY,
    azolla_id     TEXT NOT NULL,
    created_at    TEXT COLLATE "C" NOT NULL,
    document      TEXT NOT NULL,

    work_order_id TEXT COLLATE "C" NOT NULL CONSTRAINT "session_manifest.manifest_id A-1 workorder" UNIQUE
                  CONSTRAINT "session_manifest.work_order_id A-3" REFERENCES workorder (work_order_id)
);
CREATE INDEX manifest_latest ON session_manifest (created_at, manifest_id);

-- One is open unless a resolution of it stands (O-3).
CREATE TABLE candidate (
    output_id       TEXT COLLATE "C" NOT NULL
                    CONSTRAINT "candidate.output_id A-3" REFERENCES output_bundle (output_id),
    candidate_index BIGINT NOT NULL CHECK (candidate_index >= 0),
    open            BIGINT NOT NULL CHECK (open IN (0, 1)),
    CONSTRAINT "candidate.candidate_index TF-8" PRIMARY KEY (output_id, candidate_index)
);
CREATE INDEX candidate_open ON candidate (output_id) WHERE open = 1;

CREATE TABLE candidate_resolution (
    output_id       TEXT COLLATE "C" NOT NULL,
    candidate_index BIGINT NOT NULL,
    outcome         TEXT NOT NULL CHECK (outcome IN ('PROMOTED', 'DISCARDED', 'DEFERRED', 'DUPLICATE')),
    objective_id    TEXT COLLATE "C",
    resolved_by     TEXT NOT NULL,
    created_at      TEXT COLLATE "C" NOT NULL,

    -- Whether the operator took it back: the candidate is open then, and the next outcome takes this one's place.
    taken_back      BIGINT NOT NULL CHECK (taken_back IN (0, 1)),
    CONSTRAINT "candidate_resolution.outcome TF-8" PRIMARY KEY (output_id, candidate_index),
    CONSTRAINT "candidate_resolution.output_id A-3" FOREIGN KEY (output_id, candidate_index)
        REFERENCES candidate (output_id, candidate_index)
);

CREATE TABLE claim_record (
    resource_type    TEXT COLLATE "C" NOT NULL CHECK (resource_type IN ('EVENT', 'WORKORDER')),
    resource_id      TEXT COLLATE "C" NOT NULL,
    owner_id         TEXT NOT NULL,
    lease_expires_at TEXT COLLATE "C" NOT NULL,
    heartbeat_at     TEXT COLLATE "C" NOT NULL,
    claim_version    BIGINT NOT NULL CHECK (claim_version >= 1),

    granted_at       TEXT COLLATE "C" NOT NULL,
    released_at      TEXT COLLATE "C",
    lost_ms          BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT "claim_record.resource_id C-1" PRIMARY KEY (resource_type, resource_id)
) WITH (fillfactor = 70);

CREATE TABLE journal (
    seq           BIGINT GENERATED BY DEFAULT AS IDENTITY CONSTRAINT "journal.seq A-2" PRIMARY KEY,
    at            TEXT COLLATE "C" NOT NULL,
    actor         TEXT NOT NULL,
    owner_id      TEXT,
    claim_version BIGINT,
    step          TEXT NOT NULL,
    resource_type TEXT NOT NULL,
    resource_id   TEXT COLLATE "C" NOT NULL,
    from_status   TEXT,
    to_status     TEXT,
    detail        TEXT,

    commit_id     TEXT COLLATE "C",
    -- The order in which a follower reads: by transaction, and only those older than every one that still runs. A
    -- transaction takes its number with its first write and its seq with its last, so the two orders differ.
    xid           BIGINT NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
CREATE UNIQUE INDEX "journal.commit_id C-9" ON journal (commit_id) WHERE commit_id IS NOT NULL;
-- By what follows the kind in an id: what one cycle is about has that in common, so a commit writes one page here.
CREATE INDEX journal_resource ON journal (ltrim(resource_id, 'abcdefghijklmnopqrstuvwxyz:'), seq);
-- Rows come in nearly the order of their transactions, so a summary per range of pages finds the newest ones.
CREATE INDEX journal_followed ON journal USING brin (xid) WITH (pages_per_range = 8, autosummarize = on);

-- A-1, A-2: refused for every row, whoever asks. The arguments are `artifact.field RULE` and the reason.
CREATE FUNCTION azolla_never() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM azolla_refuse(TG_ARGV[0], TG_ARGV[1]);
    RETURN NULL;
END $$;

DO $$
DECLARE
    name    TEXT;
    refusal TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY['context_snapshot', 'output_bundle', 'run_record', 'pause_state', 'session_manifest',
                                'gate_evidence', 'usage_record', 'objective_version', 'journal'] LOOP
        EXECUTE format('CREATE TRIGGER %I BEFORE UPDATE ON %I FOR EACH ROW EXECUTE FUNCTION azolla_never(%L, %L)',
                       name || '_update', name, name || CASE name WHEN 'journal' THEN '.seq A-2'
                       WHEN 'objective_version' THEN '.document A-4' ELSE '.document A-1' END, 'is immutable');
    END LOOP;
    FOREACH refusal IN ARRAY ARRAY['azolla.azolla_id A-2', 'objective.objective_id A-2',
                                   'objective_version.document A-2', 'capture_buffer.capture_id A-2',
                                   'event.event_id A-2', 'context_snapshot.document A-2', 'workorder.work_order_id A-2',
                                   'output_bundle.document A-2', 'run_record.document A-2',
                                   'gate_evidence.document A-2', 'usage_record.document A-2',
                                   'pause_state.document A-2', 'snooze.until A-2',
                                   'session_manifest.document A-2', 'candidate.candidate_index A-2',
                                   'candidate_resolution.outcome A-2',
                                   'claim_record.claim_version C-2', 'journal.seq A-2'] LOOP
        name := split_part(refusal, '.', 1);
        EXECUTE format('CREATE TRIGGER %I BEFORE DELETE ON %I FOR EACH ROW EXECUTE FUNCTION azolla_never(%L, %L)',
                       name || '_delete', name, refusal, 'is never deleted');
        EXECUTE format('CREATE TRIGGER %I BEFORE TRUNCATE ON %I EXECUTE FUNCTION azolla_never(%L, %L)',
                       name || '_truncate', name, refusal, 'is never deleted');
    END LOOP;
END $$;

CREATE TRIGGER azolla_update BEFORE UPDATE OF one, azolla_id, azolla_type, created_at ON azolla
    FOR EACH ROW EXECUTE FUNCTION azolla_never('azolla.azolla_id Y-1', 'is fixed');

-- A-3: links that agree with each other, beyond what a foreign key says.
CREATE FUNCTION output_bundle_links() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM workorder
               WHERE work_order_id = NEW.work_order_id AND objective_id <> NEW.objective_id) THEN
        PERFORM azolla_refuse('output_bundle.objective_id A-3', 'is not the objective of its workorder');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER output_bundle_insert BEFORE INSERT ON output_bundle
    FOR EACH ROW EXECUTE FUNCTION output_bundle_links();

CREATE FUNCTION run_record_links() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM output_bundle WHERE output_id = NEW.output_id
               AND (work_order_id <> NEW.work_order_id OR objective_id <> NEW.objective_id)) THEN
        PERFORM azolla_refuse('run_record.output_id A-3', 'is not the output of its workorder and objective');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER run_record_insert BEFORE INSERT ON run_record FOR EACH ROW EXECUTE FUNCTION run_record_links();

CREATE FUNCTION workorder_links() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM context_snapshot
               WHERE snapshot_id = NEW.context_snapshot_id AND objective_id <> NEW.objective_id) THEN
        PERFORM azolla_refuse('workorder.context_snapshot_id A-3', 'is the snapshot of another objective');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER workorder_insert BEFORE INSERT ON workorder FOR EACH ROW EXECUTE FUNCTION workorder_links();

CREATE FUNCTION gate_evidence_links() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM run_record WHERE run_id = NEW.run_id AND work_order_id <> NEW.work_order_id) THEN
        PERFORM azolla_refuse('gate_evidence.work_order_id A-3', 'is not the workorder of its run');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER gate_evidence_insert BEFORE INSERT ON gate_evidence
    FOR EACH ROW EXECUTE FUNCTION gate_evidence_links();

CREATE FUNCTION pause_state_links() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM workorder
               WHERE work_order_id = NEW.work_order_id AND objective_id <> NEW.objective_id) THEN
        PERFORM azolla_refuse('pause_state.objective_id A-3', 'is not the objective of its workorder');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER pause_state_insert BEFORE INSERT ON pause_state FOR EACH ROW EXECUTE FUNCTION pause_state_links();

-- D-1: of two deadlines of an objective within 24 hours, the later one is more urgent. Whichever of them comes first:
-- so an import can bring them in any order, and two monitors whose clocks differ cannot get both in. The lock lets the
-- second of two at once see the first.
CREATE FUNCTION pause_state_deadline() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(
        'azolla deadline ' || TG_TABLE_SCHEMA || ' ' || NEW.azolla_id || ' ' || NEW.objective_id, 0));
    IF NOT EXISTS (SELECT 1 FROM pause_state WHERE pause_key = NEW.pause_key)
       AND EXISTS (SELECT 1 FROM pause_state AS other
            WHERE other.azolla_id = NEW.azolla_id AND other.objective_id = NEW.objective_id
              AND other.urgency IS NOT NULL
              AND other.created_at > azolla_plus(NEW.created_at, -86400000)
              AND other.created_at < azolla_plus(NEW.created_at, 86400000)
              AND CASE WHEN other.created_at < NEW.created_at THEN other.urgency <= NEW.urgency
                       WHEN other.created_at > NEW.created_at THEN NEW.urgency <= other.urgency
                       ELSE true END) THEN
        PERFORM azolla_refuse('pause_state.created_at D-1', 'is within 24 hours of another deadline of this objective');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER pause_state_deadline BEFORE INSERT ON pause_state FOR EACH ROW
    WHEN (NEW.urgency IS NOT NULL) EXECUTE FUNCTION pause_state_deadline();

-- Mutable artifacts: what may change, and how. The conditions are in WHEN, so that a lawful change calls nothing.
CREATE TRIGGER objective_status BEFORE UPDATE ON objective FOR EACH ROW
    WHEN (NEW.status <> OLD.status AND (OLD.objective_type <> 'TICKET' OR OLD.status || '>' || NEW.status NOT IN (
        'NEW>TODO', 'NEW>BLOCKED', 'TODO>NEW', 'TODO>IN_PROGRESS', 'TODO>BLOCKED',
        'IN_PROGRESS>TODO', 'IN_PROGRESS>BLOCKED', 'IN_PROGRESS>DONE', 'BLOCKED>TODO', 'DONE>TODO')))
    EXECUTE FUNCTION azolla_never('objective.status S-1', 'is no row of the transition table');
CREATE TRIGGER objective_fixed BEFORE UPDATE ON objective FOR EACH ROW
    WHEN (NEW.objective_id <> OLD.objective_id OR NEW.azolla_id <> OLD.azolla_id
          OR NEW.objective_type <> OLD.objective_type OR NEW.created_at <> OLD.created_at)
    EXECUTE FUNCTION azolla_never('objective.objective_id A-2', 'is fixed');
CREATE TRIGGER objective_confirmed BEFORE UPDATE ON objective FOR EACH ROW
    WHEN (OLD.confirmed = 1 AND (NEW.version <> OLD.version OR NEW.confirmed <> 1 OR NEW.status <> OLD.status
        OR NEW.metadata <> OLD.metadata))
    EXECUTE FUNCTION azolla_never('objective.status S-j', 'is final once confirmed');
CREATE TRIGGER objective_versioned BEFORE UPDATE ON objective FOR EACH ROW
    WHEN (NEW.version NOT IN (OLD.version, OLD.version + 1)
          OR (NEW.version = OLD.version AND (NEW.status <> OLD.status OR NEW.title <> OLD.title
              OR NEW.acceptance_criteria <> OLD.acceptance_criteria OR NEW.metadata <> OLD.metadata
              OR NEW.importance <> OLD.importance OR NEW.urgency <> OLD.urgency OR NEW.blocked_on <> OLD.blocked_on
              OR NEW.blocked_reason IS DISTINCT FROM OLD.blocked_reason OR NEW.todo_entry <> OLD.todo_entry
              OR NEW.waiting <> OLD.waiting OR NEW.confirmed <> OLD.confirmed OR NEW.archived <> OLD.archived)))
    EXECUTE FUNCTION azolla_never('objective.version S-3', 'grows by one');
-- What was approved is what runs: a change of it goes through NEW again (S-l).
CREATE TRIGGER objective_approved BEFORE UPDATE ON objective FOR EACH ROW
    WHEN (OLD.status IN ('TODO', 'IN_PROGRESS') AND NEW.status <> 'NEW'
          AND (NEW.title <> OLD.title OR NEW.acceptance_criteria <> OLD.acceptance_criteria
               OR NEW.metadata::json ->> 'repo_ref' IS DISTINCT FROM OLD.metadata::json ->> 'repo_ref'
               OR NEW.metadata::json ->> 'base_branch' IS DISTINCT FROM OLD.metadata::json ->> 'base_branch'))
    EXECUTE FUNCTION azolla_never('objective.title S-3', 'is fixed until approval is withdrawn');
CREATE TRIGGER objective_entry BEFORE UPDATE ON objective FOR EACH ROW WHEN (NEW.todo_entry < OLD.todo_entry)
    EXECUTE FUNCTION azolla_never('objective.todo_entry W-1', 'only grows');

CREATE FUNCTION objective_has_pause() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pause_state
                   WHERE pause_key = NEW.pause_key AND local_objective_id = NEW.objective_id) THEN
        PERFORM azolla_refuse('objective.pause_key A-6', 'is no pause_state of this objective');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER objective_pause BEFORE UPDATE ON objective FOR EACH ROW
    WHEN (NEW.pause_key IS DISTINCT FROM OLD.pause_key AND NEW.pause_key IS NOT NULL)
    EXECUTE FUNCTION objective_has_pause();

CREATE TRIGGER capture_buffer_fixed BEFORE UPDATE ON capture_buffer FOR EACH ROW
    WHEN (NEW.capture_id <> OLD.capture_id OR NEW.azolla_id <> OLD.azolla_id OR NEW.raw_content <> OLD.raw_content
          OR NEW.source_label <> OLD.source_label OR NEW.created_at <> OLD.created_at)
    EXECUTE FUNCTION azolla_never('capture_buffer.raw_content A-2', 'is kept as it came');
CREATE TRIGGER capture_buffer_status BEFORE UPDATE ON capture_buffer FOR EACH ROW
    WHEN (OLD.status = 'PROCESSED' AND NEW.status <> 'PROCESSED')
    EXECUTE FUNCTION azolla_never('capture_buffer.status S-4', 'goes from PENDING to PROCESSED once');
CREATE TRIGGER capture_buffer_attempts BEFORE UPDATE ON capture_buffer FOR EACH ROW
    WHEN (NEW.attempts < OLD.attempts)
    EXECUTE FUNCTION azolla_never('capture_buffer.attempts W-2', 'only grows');
CREATE TRIGGER capture_buffer_before BEFORE UPDATE ON capture_buffer FOR EACH ROW
    WHEN (NEW.attempts_before < OLD.attempts_before OR NEW.attempts_before > NEW.attempts)
    EXECUTE FUNCTION azolla_never('capture_buffer.attempts_before W-2', 'only grows, up to attempts');

CREATE TRIGGER event_processed BEFORE UPDATE OF event_id, type, resource_id, azolla_id, created_at, processed,
                                                processed_reason, processed_at, entry ON event
    FOR EACH ROW WHEN (OLD.processed = 1 OR NEW.processed = 0)
    EXECUTE FUNCTION azolla_never('event.processed W-6', 'goes from false to true once');
CREATE TRIGGER event_fixed BEFORE UPDATE ON event FOR EACH ROW
    WHEN (NEW.event_id <> OLD.event_id OR NEW.type <> OLD.type OR NEW.resource_id <> OLD.resource_id
          OR NEW.azolla_id <> OLD.azolla_id OR NEW.created_at <> OLD.created_at
          OR NEW.entry IS DISTINCT FROM OLD.entry)
    EXECUTE FUNCTION azolla_never('event.event_id W-6', 'is fixed');

CREATE TRIGGER workorder_fixed BEFORE UPDATE ON workorder FOR EACH ROW
    WHEN (NEW.work_order_id <> OLD.work_order_id OR NEW.objective_id <> OLD.objective_id
          OR NEW.diazotroph_type <> OLD.diazotroph_type OR NEW.context_snapshot_id <> OLD.context_snapshot_id
          OR NEW.branch_name IS DISTINCT FROM OLD.branch_name OR NEW.budget_ms <> OLD.budget_ms
          OR NEW.created_at <> OLD.created_at OR NEW.event_id <> OLD.event_id)
    EXECUTE FUNCTION azolla_never('workorder.work_order_id W-6', 'is fixed');
CREATE TRIGGER workorder_status BEFORE UPDATE ON workorder FOR EACH ROW
    WHEN (NEW.status <> OLD.status AND (OLD.status <> 'CREATED' OR NEW.status <> 'EXECUTED'))
    EXECUTE FUNCTION azolla_never('workorder.status W-6', 'goes from CREATED to EXECUTED once');
CREATE TRIGGER workorder_budget BEFORE UPDATE ON workorder FOR EACH ROW
    WHEN (NEW.budget_consumed_ms < OLD.budget_consumed_ms)
    EXECUTE FUNCTION azolla_never('workorder.budget_consumed_ms B-2', 'only grows');

CREATE FUNCTION workorder_has_output() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM output_bundle WHERE work_order_id = NEW.work_order_id) THEN
        PERFORM azolla_refuse('workorder.status B-3', 'needs its output_bundle');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER workorder_executed BEFORE UPDATE ON workorder FOR EACH ROW
    WHEN (OLD.status = 'CREATED' AND NEW.status = 'EXECUTED') EXECUTE FUNCTION workorder_has_output();

CREATE FUNCTION workorder_has_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.stream_slot IS NOT NULL
       OR NOT EXISTS (SELECT 1 FROM run_record WHERE work_order_id = NEW.work_order_id) THEN
        PERFORM azolla_refuse('workorder.stream_slot W-4', 'is held until the run_record');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER workorder_slot BEFORE UPDATE ON workorder FOR EACH ROW
    WHEN (NEW.stream_slot IS DISTINCT FROM OLD.stream_slot) EXECUTE FUNCTION workorder_has_run();

CREATE FUNCTION candidate_opened() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM run_record JOIN workorder ON workorder.work_order_id = run_record.work_order_id
                   WHERE run_record.output_id = NEW.output_id AND run_record.gate_result = 'PASS'
                     AND workorder.diazotroph_type = 'TRIAGE_DIAZOTROPH') THEN
        PERFORM azolla_refuse('candidate.output_id A-3', 'is no triage output that passed its gate');
    END IF;
    IF NEW.open <> 1 THEN
        PERFORM azolla_refuse('candidate.open O-3', 'is 1 until it is resolved');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER candidate_insert BEFORE INSERT ON candidate FOR EACH ROW EXECUTE FUNCTION candidate_opened();

CREATE FUNCTION candidate_closed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.output_id <> OLD.output_id OR NEW.candidate_index <> OLD.candidate_index OR NEW.open = OLD.open
       OR NEW.open = (SELECT COUNT(*) FROM candidate_resolution
                      WHERE output_id = OLD.output_id AND candidate_index = OLD.candidate_index AND taken_back = 0) THEN
        PERFORM azolla_refuse('candidate.open O-3', 'changes with its resolution');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER candidate_update BEFORE UPDATE ON candidate FOR EACH ROW EXECUTE FUNCTION candidate_closed();

CREATE FUNCTION candidate_resolved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE candidate SET open = NEW.taken_back
    WHERE output_id = NEW.output_id AND candidate_index = NEW.candidate_index AND open <> NEW.taken_back;
    RETURN NULL;
END $$;
CREATE TRIGGER candidate_resolution_closes AFTER INSERT OR UPDATE ON candidate_resolution
    FOR EACH ROW EXECUTE FUNCTION candidate_resolved();

-- PROMOTED, DISCARDED and DUPLICATE are recorded once, DEFERRED is not final, and each can be taken back as it stands.
CREATE TRIGGER candidate_resolution_once BEFORE UPDATE ON candidate_resolution FOR EACH ROW
    WHEN (NEW.output_id <> OLD.output_id OR NEW.candidate_index <> OLD.candidate_index OR CASE NEW.taken_back
          WHEN 0 THEN OLD.outcome <> 'DEFERRED' AND OLD.taken_back = 0
          ELSE OLD.taken_back = 1 OR NEW.outcome <> OLD.outcome OR NEW.objective_id IS DISTINCT FROM OLD.objective_id
               OR NEW.resolved_by <> OLD.resolved_by OR NEW.created_at <> OLD.created_at END)
    EXECUTE FUNCTION azolla_never('candidate_resolution.outcome TF-8', 'is recorded already');

CREATE TRIGGER snooze_fixed BEFORE UPDATE ON snooze FOR EACH ROW
    WHEN (NEW.azolla_id <> OLD.azolla_id OR NEW.objective_id <> OLD.objective_id)
    EXECUTE FUNCTION azolla_never('snooze.objective_id D-1', 'is fixed');

CREATE TRIGGER claim_record_fixed BEFORE UPDATE ON claim_record FOR EACH ROW
    WHEN (NEW.resource_type <> OLD.resource_type OR NEW.resource_id <> OLD.resource_id)
    EXECUTE FUNCTION azolla_never('claim_record.resource_id C-2', 'is fixed');
CREATE TRIGGER claim_record_version BEFORE UPDATE ON claim_record FOR EACH ROW
    WHEN (NEW.claim_version NOT IN (OLD.claim_version, OLD.claim_version + 1))
    EXECUTE FUNCTION azolla_never('claim_record.claim_version C-2', 'only grows');
CREATE TRIGGER claim_record_owner BEFORE UPDATE ON claim_record FOR EACH ROW
    WHEN (NEW.claim_version = OLD.claim_version
          AND (NEW.owner_id <> OLD.owner_id OR NEW.granted_at <> OLD.granted_at
               OR (OLD.released_at IS NOT NULL AND NEW.released_at IS DISTINCT FROM OLD.released_at)))
    EXECUTE FUNCTION azolla_never('claim_record.owner_id C-1', 'changes with a new claim_version only');
CREATE TRIGGER claim_record_lease BEFORE UPDATE ON claim_record FOR EACH ROW
    WHEN (NEW.claim_version > OLD.claim_version AND NEW.granted_at < OLD.lease_expires_at
          AND OLD.released_at IS NULL)
    EXECUTE FUNCTION azolla_never('claim_record.lease_expires_at C-1', 'has not passed');
