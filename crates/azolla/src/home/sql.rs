//! The statements of the home store.

/// The version of the tables below.
pub(super) const VERSION: i64 = STEPS.len() as i64;

pub(super) const READ_VERSION: &str = "PRAGMA user_version";

pub(super) const WRITE_VERSION: &str = "user_version";

/// Before the first step: it cannot be changed inside a transaction.
pub(super) const JOURNAL: &str = "PRAGMA journal_mode = WAL";

/// How each version is made from the one before it, the first from an empty file.
pub(super) const STEPS: [&str; 6] = [
    "
    CREATE TABLE trust (
        repo TEXT PRIMARY KEY,
        file BLOB NOT NULL,
        pinned_at TEXT NOT NULL
    ) STRICT;
    CREATE TABLE look (
        azolla_id TEXT PRIMARY KEY,
        cursor TEXT NOT NULL,
        looked_at TEXT NOT NULL
    ) STRICT;",
    // A run is one workorder, however many claims it takes. Its day is that on which it was last begun; `ms` is set
    // aside until it is over. A call that was never settled keeps what was set aside for it. A hold with a cap is one
    // that the cap has to have room of `need` for; one without is a provider's own.
    "
    CREATE TABLE run (
        azolla_id TEXT NOT NULL,
        work_order_id TEXT NOT NULL,
        objective_id TEXT NOT NULL,
        provider TEXT NOT NULL,
        day TEXT NOT NULL,
        began_at TEXT NOT NULL,
        ms INTEGER NOT NULL CHECK (ms >= 0),
        PRIMARY KEY (azolla_id, work_order_id)
    ) STRICT;
    CREATE INDEX run_by_day ON run (day);
    CREATE INDEX run_by_objective ON run (azolla_id, objective_id);
    CREATE TABLE call (
        id INTEGER PRIMARY KEY,
        azolla_id TEXT NOT NULL,
        objective_id TEXT NOT NULL,
        work_order_id TEXT NOT NULL,
        provider TEXT NOT NULL,
        day TEXT NOT NULL,
        tokens INTEGER NOT NULL CHECK (tokens >= 0),
        cost_microusd INTEGER CHECK (cost_microusd >= 0),
        settled INTEGER NOT NULL CHECK (settled IN (0, 1))
    ) STRICT;
    CREATE INDEX call_by_day ON call (day);
    CREATE INDEX call_by_objective ON call (azolla_id, objective_id);
    CREATE INDEX call_by_run ON call (azolla_id, work_order_id);
    CREATE TABLE hold (
        provider TEXT NOT NULL,
        cap TEXT NOT NULL,
        need INTEGER NOT NULL CHECK (need >= 0),
        until TEXT NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (provider, cap)
    ) STRICT;",
    // Of a token there is its hash alone. An exposure is a place where the program listened to other machines without
    // encryption, because the operator said so.
    "
    CREATE TABLE peer_token (
        azolla_id TEXT PRIMARY KEY,
        hash BLOB NOT NULL CHECK (length(hash) = 32),
        made_at TEXT NOT NULL
    ) STRICT;
    CREATE TABLE exposure (
        listen TEXT PRIMARY KEY,
        first_at TEXT NOT NULL,
        last_at TEXT NOT NULL
    ) STRICT;",
    // A notice is claimed before it is sent, so that no two programs send it. `held` is what quiet hours hold back. The
    // place is how far a journal was looked through. A channel is a way to the operator, and how it last went.
    "
    CREATE TABLE notice (
        azolla_id TEXT NOT NULL,
        pause_key TEXT NOT NULL,
        claimed_at TEXT NOT NULL,
        held TEXT,
        PRIMARY KEY (azolla_id, pause_key)
    ) STRICT;
    CREATE INDEX notice_held ON notice (claimed_at) WHERE held IS NOT NULL;
    CREATE TABLE notice_place (
        azolla_id TEXT PRIMARY KEY,
        cursor TEXT NOT NULL
    ) STRICT;
    CREATE TABLE notice_channel (
        channel TEXT PRIMARY KEY,
        sent_at TEXT,
        failed_at TEXT,
        reason TEXT
    ) STRICT;",
    // Who is logged in with a browser, by the hash of the cookie. A session is worth as much as the operator's token that
    // was in force when it began.
    "
    CREATE TABLE session (
        hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
        operator BLOB NOT NULL CHECK (length(operator) = 32),
        began_at TEXT NOT NULL,
        seen_at TEXT NOT NULL
    ) STRICT;
    CREATE INDEX session_by_seen ON session (seen_at);",
    // Each base branch has a file of its own. A pin from before that has no branch: it is of the azolla's own base.
    "
    CREATE TABLE pin (
        repo TEXT NOT NULL,
        base_branch TEXT NOT NULL,
        file BLOB NOT NULL,
        pinned_at TEXT NOT NULL,
        PRIMARY KEY (repo, base_branch)
    ) STRICT;
    INSERT INTO pin (repo, base_branch, file, pinned_at) SELECT repo, '', file, pinned_at FROM trust;
    DROP TABLE trust;",
];

pub(super) const NOTICE_PLACE: &str = "SELECT cursor FROM notice_place WHERE azolla_id = ?1";

pub(super) const SET_NOTICE_PLACE: &str = "
    INSERT INTO notice_place (azolla_id, cursor) VALUES (?1, ?2)
    ON CONFLICT (azolla_id) DO UPDATE SET cursor = excluded.cursor";

/// Whose row it becomes sends it: one that is there is somebody else's, or was sent before.
pub(super) const CLAIM_NOTICE: &str = "
    INSERT INTO notice (azolla_id, pause_key, claimed_at, held) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (azolla_id, pause_key) DO NOTHING";

/// What was told long ago. The place in the journal keeps it from being told again.
pub(super) const NOTICES_OVER: &str = "DELETE FROM notice WHERE claimed_at < ?1 AND held IS NULL";

pub(super) const HELD_NOTICES: &str = "
    SELECT azolla_id, held FROM notice WHERE held IS NOT NULL ORDER BY claimed_at, azolla_id, pause_key";

pub(super) const COUNT_HELD_NOTICES: &str = "SELECT COUNT(*) FROM notice WHERE held IS NOT NULL";

pub(super) const RELEASE_NOTICES: &str = "UPDATE notice SET held = NULL WHERE held IS NOT NULL";

pub(super) const CHANNEL_SENT: &str = "
    INSERT INTO notice_channel (channel, sent_at) VALUES (?1, ?2)
    ON CONFLICT (channel) DO UPDATE SET sent_at = excluded.sent_at";

pub(super) const CHANNEL_FAILED: &str = "
    INSERT INTO notice_channel (channel, failed_at, reason) VALUES (?1, ?2, ?3)
    ON CONFLICT (channel) DO UPDATE SET failed_at = excluded.failed_at, reason = excluded.reason";

pub(super) const CHANNEL: &str = "SELECT sent_at, failed_at, reason FROM notice_channel WHERE channel = ?1";

pub(super) const SESSION: &str = "SELECT seen_at FROM session WHERE hash = ?1 AND operator = ?2";

pub(super) const SESSION_BEGINS: &str =
    "INSERT INTO session (hash, operator, began_at, seen_at) VALUES (?1, ?2, ?3, ?3)";

pub(super) const SESSION_SEEN: &str = "UPDATE session SET seen_at = ?2 WHERE hash = ?1";

pub(super) const SESSION_ENDS: &str = "DELETE FROM session WHERE hash = ?1";

/// Those that nobody used for too long, and those of another operator's token.
pub(super) const SESSIONS_OVER: &str = "DELETE FROM session WHERE seen_at < ?1 OR operator <> ?2";

/// All but the newest.
pub(super) const SESSIONS_BEYOND: &str = "
    DELETE FROM session WHERE hash NOT IN
    (SELECT hash FROM session ORDER BY seen_at DESC, began_at DESC, hash LIMIT ?1)";

pub(super) const SESSIONS_END: &str = "DELETE FROM session";

pub(super) const PEER_TOKENS: &str = "SELECT azolla_id, hash, made_at FROM peer_token ORDER BY azolla_id";

pub(super) const SET_PEER_TOKEN: &str = "
    INSERT INTO peer_token (azolla_id, hash, made_at) VALUES (?1, ?2, ?3)
    ON CONFLICT (azolla_id) DO UPDATE SET hash = excluded.hash, made_at = excluded.made_at";

pub(super) const DROP_PEER_TOKEN: &str = "DELETE FROM peer_token WHERE azolla_id = ?1";

pub(super) const EXPOSE: &str = "
    INSERT INTO exposure (listen, first_at, last_at) VALUES (?1, ?2, ?2)
    ON CONFLICT (listen) DO UPDATE SET last_at = excluded.last_at";

pub(super) const EXPOSURES: &str = "SELECT listen, first_at, last_at FROM exposure ORDER BY listen";

pub(super) const SETTINGS: &str = "PRAGMA synchronous = FULL";

/// A commit is whole, and the file is, whatever happens; a power cut can take the commit back.
pub(super) const UNSYNCED: &str = "PRAGMA synchronous = NORMAL";

pub(super) const IS_PINNED: &str = "SELECT EXISTS (SELECT 1 FROM pin WHERE repo = ?1 AND file = ?2)";

pub(super) const PINS: &str = "SELECT base_branch, pinned_at FROM pin WHERE repo = ?1";

pub(super) const PINNED: &str =
    "SELECT file FROM pin WHERE repo = ?1 AND (base_branch = ?3 OR base_branch = '' AND ?2 = ?3)";

pub(super) const PIN: &str = "
    INSERT INTO pin (repo, base_branch, file, pinned_at) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (repo, base_branch) DO UPDATE SET file = excluded.file, pinned_at = excluded.pinned_at";

/// Nothing else of the repository is pinned as long as there is such a row.
pub(super) const NAME_PIN: &str = "UPDATE pin SET base_branch = ?2 WHERE repo = ?1 AND base_branch = ''";

pub(super) const LOOK: &str = "SELECT cursor, looked_at FROM look WHERE azolla_id = ?1";

pub(super) const LOOKED: &str = "
    INSERT INTO look (azolla_id, cursor, looked_at) VALUES (?1, ?2, ?3)
    ON CONFLICT (azolla_id) DO UPDATE SET cursor = excluded.cursor, looked_at = excluded.looked_at";

pub(super) const SPENT_ON_DAY: &str = "
    SELECT (SELECT COUNT(*) FROM run WHERE day = ?1), (SELECT COALESCE(SUM(ms), 0) FROM run WHERE day = ?1),
           COALESCE(SUM(tokens), 0), COALESCE(SUM(cost_microusd), 0)
    FROM call WHERE day = ?1";

pub(super) const SPENT_ON_OBJECTIVE: &str = "
    SELECT (SELECT COUNT(*) FROM run WHERE azolla_id = ?1 AND objective_id = ?2),
           (SELECT COALESCE(SUM(ms), 0) FROM run WHERE azolla_id = ?1 AND objective_id = ?2),
           COALESCE(SUM(tokens), 0), COALESCE(SUM(cost_microusd), 0)
    FROM call WHERE azolla_id = ?1 AND objective_id = ?2";

pub(super) const SPENT_BY_RUN: &str = "
    SELECT (SELECT COUNT(*) FROM run WHERE azolla_id = ?1 AND work_order_id = ?2),
           (SELECT COALESCE(SUM(ms), 0) FROM run WHERE azolla_id = ?1 AND work_order_id = ?2),
           COALESCE(SUM(tokens), 0), COALESCE(SUM(cost_microusd), 0)
    FROM call WHERE azolla_id = ?1 AND work_order_id = ?2";

pub(super) const RUN: &str = "SELECT day, ms FROM run WHERE azolla_id = ?1 AND work_order_id = ?2";

pub(super) const BEGIN_RUN: &str = "
    INSERT INTO run (azolla_id, work_order_id, objective_id, provider, day, began_at, ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (azolla_id, work_order_id)
    DO UPDATE SET provider = excluded.provider, day = excluded.day, ms = excluded.ms";

pub(super) const END_RUN: &str = "UPDATE run SET ms = ?3 WHERE azolla_id = ?1 AND work_order_id = ?2";

pub(super) const ADD_CALL: &str = "
    INSERT INTO call (azolla_id, objective_id, work_order_id, provider, day, tokens, cost_microusd, settled)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0)";

/// Once, and a cost that nobody can tell leaves what was set aside for it.
pub(super) const SETTLE_CALL: &str = "
    UPDATE call SET tokens = ?2, cost_microusd = COALESCE(?3, cost_microusd), settled = 1
    WHERE id = ?1 AND settled = 0";

pub(super) const HOLDS: &str = "SELECT cap, need, until, reason FROM hold WHERE provider = ?1 ORDER BY cap";

pub(super) const HOLD: &str = "
    INSERT INTO hold (provider, cap, need, until, reason) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (provider, cap)
    DO UPDATE SET need = excluded.need, until = excluded.until, reason = excluded.reason";

pub(super) const RELEASE_HOLD: &str = "DELETE FROM hold WHERE provider = ?1 AND cap = ''";
