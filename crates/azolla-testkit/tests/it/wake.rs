//! Wake-ups: a commit is seen at once in its own process and soon in another one, without a poll.

use std::time::Duration;

use azolla_protocol::{JournalEntry, JournalStep};
use azolla_testkit::{PatchCycle, TestStore};

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
        // A first turn shows that the other side listens; the second is what it hears.
        for _ in 0..2 {
            let heard = async {
                loop {
                    PatchCycle::created(&world).await;
                    if tokio::time::timeout(Duration::from_millis(300), changes.changed()).await.is_ok() {
                        break;
                    }
                }
            };
            tokio::time::timeout(PATIENCE, heard).await.expect("the other process heard of a commit");
        }
    }

    async fn the_journal_is_followed_without_a_gap(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        cycle.run(azolla_protocol::GateResult::Pass).await;
        // PostgreSQL holds a row back while an older transaction runs anywhere on the server: it comes later.
        let mut followed: Vec<JournalEntry> = Vec::new();
        let follow = async {
            while followed.last().is_none_or(|entry| entry.step != JournalStep::Release || released(&followed) < 3) {
                let after = followed.last().map_or(0, |entry| entry.seq);
                let page = world.store.journal_after(after, 3).await.unwrap();
                assert!(page.len() <= 3);
                followed.extend(page);
            }
        };
        tokio::time::timeout(PATIENCE, follow).await.expect("the journal ends with the gate's release");
        assert!(followed.windows(2).all(|pair| pair[0].seq < pair[1].seq));
        let steps: Vec<_> = followed.iter().map(|entry| entry.step.as_str()).collect();
        assert_eq!(steps.join(" "), "S-a S-b EMIT GRANT INSERT INSERT S-c PROCESS RELEASE \
            GRANT INSERT EXECUTE RELEASE GRANT INSERT GATE S-e INSERT RELEASE");
    }
}

fn released(entries: &[JournalEntry]) -> usize {
    entries.iter().filter(|entry| entry.step == JournalStep::Release).count()
}
