//! The loop around the workers of a TASK_MGMT azolla.

use std::{sync::Arc, time::Duration};

use azolla_control_plane::poll::{self, Until};
use azolla_protocol::CaptureStatus;
use azolla_testkit::{Backend, TaskWorld};
use tokio::time::timeout;

/// Far more than any of these takes, and less than the loop's own interval.
const SOON: Duration = Duration::from_secs(20);

/// Section 6: every capture comes to its end on wake-ups alone, and the loop ends when nothing is left.
#[tokio::test]
async fn a_run_until_idle_triages_every_capture() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let mut world = TaskWorld::new(backend).await;
        world.ctx.settings.triage_batch = 3;
        // More lanes than the work stream is wide (W-4).
        world.ctx.settings.room.max_concurrent = 3;
        let mut ids = Vec::new();
        for n in 0..7 {
            ids.push(world.captured(&format!("note {n}")).await);
        }
        let TaskWorld { store, ctx, stop, .. } = world;
        let ran = timeout(SOON, poll::run(vec![Arc::new(ctx)], Until::Idle, &stop)).await;
        ran.expect("it ends").unwrap();
        for id in ids {
            let stored = store.read().capture(&id).await.unwrap().unwrap();
            assert_eq!(stored.capture.status, CaptureStatus::Processed);
        }
        assert_eq!(azolla_substrate::verify(store.read()).await.unwrap(), []);
    }
}
