//! Every statement by name, for the tests of both backends that prepare them all.

/// Names constants, each with its text.
macro_rules! named {
    ($module:path: $($name:ident)+) => {{
        use $module as texts;
        [$((stringify!($name), texts::$name)),+]
    }};
}
pub(crate) use named;

/// Every whole statement in `sql.rs`.
#[rustfmt::skip] // A list.
pub(crate) static ALL: &[(&str, &str)] = &named!(crate::sql:
    FENCE RENEW SETTLE_WORKORDER CHARGE_LOST_CLAIM SETTLE_EVENT INSERT_OBJECTIVE UPDATE_OBJECTIVE
    INSERT_OBJECTIVE_VERSION INSERT_EVENT PROCESS_EVENT
    CHECK_EVENT_OF_OBJECTIVE CHECK_WORKORDER_OF_OBJECTIVE INSERT_SNAPSHOT LOCK_STREAM CHECK_REVIEW_LIMIT CREATE_WORKORDER INSERT_OUTPUT_BUNDLE EXECUTE_WORKORDER
    INSERT_USAGE INSERT_RUN_RECORD GATE_WORKORDER INSERT_EVIDENCE INSERT_PAUSE POINT_TO_PAUSE
    LOAD_WORKORDER LOAD_JOURNAL LOAD_CLAIMS CHECK_EMPTY AZOLLA INSERT_AZOLLA COMMITTED
    TICKETS_BEFORE TICKETS_NEW_BEFORE TICKETS_BLOCKED_BEFORE TICKETS_CONFIRMED_BEFORE TICKETS_ARCHIVED_BEFORE RUNS_BEFORE
    OBJECTIVE OBJECTIVES OBJECTIVES_RESTING OBJECTIVES_TODO OBJECTIVES_WAITING OBJECTIVE_AT_VERSION OBJECTIVES_AWAITING_EVENT
    EVENT UNPROCESSED_EVENTS WORKORDER OPEN_WORKORDERS
    WORKORDERS_OF_OBJECTIVE SNAPSHOT OUTPUT_BUNDLE OUTPUT_OF_WORKORDER RUN_OF_WORKORDER RUNS_OF_OBJECTIVE
    RUNS_OF_OBJECTIVE_BEFORE
    EVIDENCE_OF_RUN USAGE_OF_WORKORDER PAUSE PAUSES CURRENT_PAUSES CURRENT_PAUSES_LATEST CURRENT_PAUSE_OF CLAIM STREAM
    JOURNAL_OF_TAIL ALL_OBJECTIVES ALL_OBJECTIVE_VERSIONS ALL_EVENTS ALL_SNAPSHOTS
    ALL_WORKORDERS ALL_OUTPUT_BUNDLES ALL_RUN_RECORDS ALL_EVIDENCE ALL_USAGE ALL_PAUSES
    ALL_JOURNAL ALL_CLAIMS SCHEDULED_WITHOUT_WORKORDER WORKORDER_OF_UNSCHEDULED
    SEVERAL_WORKORDERS EXECUTED_WITHOUT_OUTPUT OUTPUT_OF_UNEXECUTED SEVERAL_OUTPUTS GATED_WITHOUT_RUN
    RUN_OF_UNGATED SEVERAL_RUNS RUN_WITHOUT_PAUSE SEVERAL_PAUSES PAUSE_OF_UNGATED SNAPSHOT_OF_NOTHING
    WORKORDER_OF_NOTHING PAUSE_OF_NOTHING PAUSE_OF_OTHER POINTER_TO_NOTHING EVIDENCE_OF_NOTHING
    USAGE_OF_NOTHING CLAIM_OF_NOTHING VERSION_OF_NOTHING
    OBJECTIVE_WITHOUT_VERSION
);

/// Every whole statement in `tasks/sql.rs`.
#[rustfmt::skip] // A list.
pub(crate) static TASKS: &[(&str, &str)] = &named!(crate::tasks::sql:
    INSERT_CAPTURE PROCESS_CAPTURE COUNT_ATTEMPT INSERT_MANIFEST RESOLVE_CANDIDATE CAPTURE PENDING_CAPTURES
    CAPTURES_AWAITING_EVENT RESOLUTIONS_OF_OUTPUT ALL_CAPTURES ALL_MANIFESTS ALL_RESOLUTIONS
    MANIFEST_OF_NOTHING RESOLUTION_OF_NOTHING OPEN_CANDIDATES LOAD_CANDIDATE ALL_CANDIDATES CANDIDATE_OF_NOTHING
    CANDIDATE_OPEN_OTHERWISE HOLD_CAPTURE CHECK_CAPTURE_OF_EVENT_HELD CHECK_OTHERS_OPEN CHECK_TRIAGE_FIRST RETRY_CAPTURE FRESH_CAPTURES CAPTURES CAPTURES_PENDING
    COUNT_PENDING COUNT_HELD HELD_CAPTURES HAS_PENDING_CAPTURE OPEN_OUTPUTS TRIAGE_OUTPUTS REOPEN_CANDIDATE MANIFEST MANIFESTS LATEST_MANIFEST_EVENT
    MANIFEST_EVENT_BEFORE OPEN_OUTPUTS_AFTER
    COUNT_OPEN_CANDIDATES SNOOZE SNOOZE_OF LEAVE_DEADLINE SNOOZES LATEST_DEADLINE DEADLINES ALL_SNOOZES
);

/// Pieces that `journal.rs` puts together; its own list has every text that comes of them.
const PIECES: [&str; 3] = ["JOURNAL", "JOURNAL_HELD", "JOURNAL_GRANTED"];

/// Checks that every text constant of a source is in one of the lists, so that a later one cannot be forgotten.
pub(crate) fn assert_complete<'a>(source: &'a str, lists: impl IntoIterator<Item = &'a str>) {
    let constant = |line: &'a str| {
        let (_, rest) = line.split_once(") const ").filter(|(start, _)| start.starts_with("pub("))?;
        let (name, kind) = rest.split_once(": ")?;
        kind.starts_with("&str").then_some(name)
    };
    let mut found: Vec<_> = source.lines().filter_map(constant).collect();
    let mut listed: Vec<_> = lists.into_iter().collect();
    assert!(found.len() > 3, "the source does not read as expected");
    found.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, found);
}

#[test]
fn every_statement_is_listed() {
    let listed = ALL.iter().map(|(name, _)| *name).chain(PIECES);
    assert_complete(include_str!("../sql.rs"), listed);
    assert_complete(include_str!("../tasks/sql.rs"), TASKS.iter().map(|(name, _)| *name));
}
