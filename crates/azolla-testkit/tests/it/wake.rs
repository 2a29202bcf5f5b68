//! Wake-ups: a commit is seen at once in its own process and soon in another one, without a poll.

use std::time::Duration;

use azolla_protocol::{
    Actor, GateResult, IdSource, JournalEntry, ObjectiveId, ObjectiveStatus, lifecycle::ObjectiveStep,
};
use azolla_substrate::{Commit, JournalCursor, Write};
use azolla_testkit::store::{AZOLLA, Place};
use azolla_testkit::{
    Backend, PatchCycle, SequentialIds, TestStore,
    cycle::{objective, valid},
};
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

/// Longer than a busy machine takes, far shorter than for ever.
const PATIENCE: Duration = Duration::from_secs(30);

on_both_backends! {
    async fn a_commit_wakes_its_own_process(world: TestStore) {
        let mut changes = world.store.changes();
        changes.mark_unchanged();
        PatchCycle::todo(&world).await;
        assert!(changes.has_changed().unwrap());
    }

    async fn a_commit_wakes_another_process(world: TestStore) {
        let other = world.open_again().await.unwrap();
        let mut changes = other.changes();
        for _ in 0..3 {
            changes.mark_unchanged();
            PatchCycle::created(&world).await;
            tokio::time::timeout(PATIENCE, changes.changed()).await.expect("it heard of the commit").unwrap();
        }
    }

    /// Section 6: what a worker commits wakes the workers of another process as well.
    async fn a_workers_commit_wakes_another_process(world: TestStore) {
        let mut cycles = Vec::new();
        for _ in 0..3 {
            cycles.push(PatchCycle::todo(&world).await);
        }
        let other = world.open_again().await.unwrap();
        let mut changes = other.changes();
        for cycle in cycles {
            changes.mark_unchanged();
            cycle.emitted().await;
            tokio::time::timeout(PATIENCE, changes.changed()).await.expect("it heard of the commit").unwrap();
        }
    }

    /// Many writers and one follower: a row that commits late comes late, and none is passed over.
    async fn the_journal_is_followed_without_a_gap(world: TestStore) {
        const WRITERS: u32 = 8;
        const EACH: usize = 40;
        let now = world.now().await;
        let mut writers = JoinSet::new();
        for writer in 1..=WRITERS {
            let (store, ids) = (world.store.clone(), SequentialIds::starting_at(writer * 1_000));
            writers.spawn(async move {
                for _ in 0..EACH {
                    let new = objective(&ObjectiveId::from_body(&ids.body()), ObjectiveStatus::New, now);
                    let write = Write::InsertObjective { objective: valid(new), step: ObjectiveStep::Create };
                    store.commit(Commit::new(ids.commit_id(), Actor::Operator).with(write)).await.unwrap();
                }
            });
        }
        let mut followed = Vec::new();
        let follow = async {
            let mut cursor = JournalCursor::default();
            while followed.len() < WRITERS as usize * EACH {
                let page = world.store.journal_after(cursor, 7).await.unwrap();
                assert!(page.len() <= 7);
                for (next, entry) in page {
                    cursor = next;
                    followed.push(entry.seq);
                }
            }
        };
        tokio::time::timeout(PATIENCE, follow).await.expect("every row comes in the end");
        writers.join_all().await;
        followed.sort_unstable();
        let count = followed.len();
        followed.dedup();
        assert_eq!(followed.len(), count, "a row came twice");
    }

    /// Whoever looks at the newest rows and follows from the first of them gets all that comes later, and once. On
    /// PostgreSQL a row shows once every transaction that was under way with it is over, those of others too.
    async fn the_newest_rows_are_where_a_follower_goes_on(world: TestStore) {
        for _ in 0..3 {
            PatchCycle::created(&world).await;
        }
        let all = rows_after(&world, JournalCursor::default(), 3).await;
        let latest = world.store.journal_latest(JournalCursor::default(), 2).await.unwrap();
        assert_eq!(latest, all.iter().rev().take(2).cloned().collect::<Vec<_>>());
        // Nothing comes after the newest row, and only that one after the row before it.
        assert_eq!(world.store.journal_latest(latest[0].0, 2).await.unwrap(), []);
        assert_eq!(world.store.journal_latest(latest[1].0, 2).await.unwrap(), latest[..1]);
        PatchCycle::created(&world).await;
        let later = rows_after(&world, latest[0].0, 1).await;
        assert_eq!(later, rows_after(&world, JournalCursor::default(), 4).await[all.len()..]);
    }

    /// What the operator is told of is among the newest rows, in their order; claims and what is stored on the way is not.
    async fn what_is_told_is_the_journal_without_its_machinery(world: TestStore) {
        PatchCycle::todo(&world).await.run(GateResult::Pass).await;
        let start = JournalCursor::default();
        let all = world.store.journal_latest(start, 1_000).await.unwrap();
        let told = world.store.journal_told(start, 1_000).await.unwrap();
        let steps: Vec<_> = told.iter().rev().map(|(_, entry)| entry.step.as_str()).collect();
        assert_eq!(steps, ["S-a", "S-b", "S-c", "PROCESS", "EXECUTE", "S-e", "INSERT"], "{told:#?}");
        let rest: Vec<_> = all.iter().filter(|row| told.contains(row)).cloned().collect();
        assert_eq!(rest, told, "in another order");
        let newest = world.store.journal_told(start, 2).await.unwrap();
        assert_eq!(newest, told[..2]);
        assert_eq!(world.store.journal_told(newest[1].0, 9).await.unwrap(), newest[..1]);
    }
}

/// Returns the rows after a place, once there are so many.
async fn rows_after(
    world: &TestStore,
    after: JournalCursor,
    count: usize,
) -> Vec<(JournalCursor, JournalEntry)> {
    let look = async {
        loop {
            let rows = world.store.journal_after(after, 100).await.unwrap();
            if rows.len() >= count {
                return rows;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, look).await.expect("every row comes in the end")
}

/// A transaction that still runs hides its rows and those of later ones, and none that were there before.
#[tokio::test(flavor = "multi_thread")]
async fn the_newest_rows_are_there_beside_an_open_transaction_on_postgres() {
    let world = TestStore::new(Backend::Postgres).await;
    PatchCycle::created(&world).await;
    let all = rows_after(&world, JournalCursor::default(), 1).await;
    let Place::Database(database) = &world.place else { panic!("it is a database") };
    let (client, connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let open = format!(
        "SET search_path TO \"{AZOLLA}\"; BEGIN; INSERT INTO journal (at, actor, step, resource_type, resource_id)
         VALUES ('2026-11-01T08:00:00.000Z', 'INIT', 'EDIT', 'objective', 'obj-open')"
    );
    client.batch_execute(&open).await.unwrap();
    for _ in 0..3 {
        PatchCycle::created(&world).await;
    }
    let newest = all.last().cloned().into_iter().collect::<Vec<_>>();
    assert_eq!(world.store.journal_latest(JournalCursor::default(), 1).await.unwrap(), newest);
    client.batch_execute("COMMIT").await.unwrap();
    let all = rows_after(&world, JournalCursor::default(), all.len() + 4).await;
    let newest = all.last().cloned().into_iter().collect::<Vec<_>>();
    assert_eq!(world.store.journal_latest(JournalCursor::default(), 1).await.unwrap(), newest);
}

/// A claim that woke the roles would make the one that is refused a claim ask again at once, for ever. On PostgreSQL a
/// process also hears the echo of its own commits, some time later, so a silence proves nothing there.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_wakes_nobody_on_sqlite() {
    let world = TestStore::new(Backend::Sqlite).await;
    let cycle = PatchCycle::todo(&world).await;
    let resource = (&cycle.scheduled().await).into();
    let changes = world.store.changes();
    // Whatever came before has been told by now.
    PatchCycle::created(&world).await;
    let mut seen = changes.clone();
    seen.mark_unchanged();
    world.granted(&resource).await;
    assert_eq!(world.acquire(&resource).await, azolla_substrate::ClaimOutcome::Held);
    assert!(!seen.has_changed().unwrap());
}
