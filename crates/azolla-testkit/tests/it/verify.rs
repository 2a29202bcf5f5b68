//! `verify` finds what breaks an invariant (docs/invariants.md): every table is copied into one without keys,
//! checks and triggers, then one thing is broken behind the store's back, found, and put back.

mod breaks;

use azolla_protocol::{GateResult, WorkOrderId};
use azolla_substrate::{CommitOutcome, Finding, StreamRoom, relations, verify};
use azolla_testkit::{PatchCycle, TestStore, store::Place};

use self::breaks::breaks;
use crate::everything::everything;

const TABLES: [&str; 18] = [
    "azolla",
    "objective",
    "objective_version",
    "capture_buffer",
    "event",
    "context_snapshot",
    "workorder",
    "output_bundle",
    "run_record",
    "gate_evidence",
    "usage_record",
    "pause_state",
    "snooze",
    "session_manifest",
    "candidate",
    "candidate_resolution",
    "claim_record",
    "journal",
];

/// Replaces every table by a copy that refuses nothing, and keeps another copy to go back to.
async fn disarm(world: &TestStore) {
    let cascade = match world.place {
        Place::File(..) => "",
        Place::Database(_) => "CASCADE",
    };
    let each = TABLES.map(|table| {
        format!(
            "CREATE TABLE kept_{table} AS SELECT * FROM {table};
             CREATE TABLE bare AS SELECT * FROM {table};
             DROP TABLE {table} {cascade};
             ALTER TABLE bare RENAME TO {table};"
        )
    });
    let settings = match world.place {
        Place::File(..) => "PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON;",
        Place::Database(_) => "",
    };
    world.raw(&format!("{settings} BEGIN; {} COMMIT;", each.concat())).await.expect("the tables are copied");
}

async fn put_back(world: &TestStore) {
    let each =
        TABLES.map(|table| format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM kept_{table};"));
    world.raw(&format!("BEGIN; {} COMMIT;", each.concat())).await.expect("the rows are put back");
}

on_both_backends! {
    /// Invariants 1 to 10: each is broken in every way that `verify` has a check for.
    async fn a3_w5_w6_c2_s1_everything_broken_on_purpose_is_found(world: TestStore) {
        let made = everything(&world).await;
        assert_eq!(verify(world.read()).await.unwrap(), []);
        let breaks = breaks(&world, &made).await;
        disarm(&world).await;
        assert_eq!(verify(world.read()).await.unwrap(), []);
        for broken in &breaks {
            world.raw(&broken.sql).await.unwrap_or_else(|error| panic!("{}: {error}", broken.sql));
            let findings = verify(world.read()).await.unwrap_or_else(|error| panic!("{}: {error}", broken.sql));
            let fits = |finding: &Finding| {
                finding.invariant == broken.invariant
                    && finding.resource == broken.resource
                    && finding.what.contains(broken.what)
            };
            assert!(findings.iter().any(fits), "{broken:#?}, but: {findings:#?}");
            put_back(&world).await;
        }
        assert_eq!(verify(world.read()).await.unwrap(), []);
        for relation in relations() {
            let tried = breaks.iter().any(|broken| (broken.invariant, broken.what) == relation);
            assert!(tried, "{relation:?} is never broken");
        }
    }

    /// Invariant 7: rows of another commit that fall into the gate's do not make two results of one (O-3).
    async fn o3_w4_a_result_between_work_and_review_counts_once(world: TestStore) {
        let room = StreamRoom { max_concurrent: 3, review_limit: 2 };
        let gated = PatchCycle::todo(&world).await.run(GateResult::Pass).await;
        let next = PatchCycle::todo(&world).await;
        let event_id = next.emitted().await;
        let outcome = next.schedule(&event_id, &world.ids.owner_id(), room).await.unwrap();
        assert_eq!(outcome, CommitOutcome::Done);
        disarm(&world).await;
        // The gate's last rows get their numbers after the other commit's.
        let late = format!(
            "UPDATE journal SET seq = seq + 1000000 WHERE resource_id = '{gated}'
                 AND (step = 'GATE' OR (step = 'RELEASE' AND claim_version = 2))"
        );
        world.raw(&late).await.unwrap();
        assert_eq!(verify(world.read()).await.unwrap(), []);

        // Rows from before the journal named the objective: both are counted.
        let workorder = WorkOrderId::of(&event_id);
        world.raw("UPDATE journal SET detail = '{\"max_concurrent\":3,\"review_limit\":2}'
            WHERE step = 'INSERT' AND resource_type = 'workorder'").await.unwrap();
        let findings = verify(world.read()).await.unwrap();
        let [found] = findings.as_slice() else { panic!("{findings:#?}") };
        assert_eq!((found.invariant, found.resource.as_str()), (7, workorder.as_str()));
        assert!(found.what.contains("2 open and 1 waiting exceed 2"), "{found:?}");
    }
}

/// Invariant 10: what SQLite itself finds wrong is a finding too.
#[tokio::test(flavor = "multi_thread")]
async fn a3_a_link_that_sqlite_finds_broken_is_reported() {
    let world = TestStore::new(azolla_testkit::Backend::Sqlite).await;
    let made = everything(&world).await;
    let sql = format!(
        "PRAGMA foreign_keys = OFF; DROP TRIGGER usage_record_update;
         UPDATE usage_record SET work_order_id = 'wo-none' WHERE work_order_id = '{}'",
        made.retried
    );
    world.raw(&sql).await.unwrap();
    let findings = verify(world.read()).await.unwrap();
    let by_database = |finding: &Finding| (finding.invariant, finding.resource.as_str()) == (10, "database");
    assert!(findings.iter().any(by_database), "{findings:#?}");
}
