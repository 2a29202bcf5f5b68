//! TF-2: after a failed batch its captures are tried one by one, so that one bad capture holds nobody.

use azolla_protocol::{
    CaptureStatus, GenerationOutcome,
    content::{TriageInput, read_data},
};
use azolla_testkit::{Answer, Backend, TaskWorld, task_world::one_candidate_each};

use super::*;

/// Fails whenever a bad capture is among those that it gets.
fn trips(prompt: &str) -> GenerationOutcome {
    let input: TriageInput = read_data(prompt).unwrap();
    if input.captures.iter().any(|capture| capture.text.contains("BAD")) {
        return GenerationOutcome::Text("I cannot read that.".into());
    }
    one_candidate_each(prompt)
}

/// P18, TF-2: one bad capture among many is held, and all others are triaged.
async fn one_bad_capture_holds_nobody(backend: Backend) {
    let mut world = TaskWorld::with(backend, [Answer::By(trips)]).await;
    world.ctx.settings.triage_batch = 5;
    let mut ids = Vec::new();
    for n in 0..12 {
        ids.push(world.captured(&if n == 3 { "BAD".to_owned() } else { format!("note {n}") }).await);
    }
    world.run_to_pause().await.unwrap();
    for (n, id) in ids.iter().enumerate() {
        let stored = world.capture(id).await;
        let expected =
            if n == 3 { (CaptureStatus::Pending, true) } else { (CaptureStatus::Processed, false) };
        assert_eq!((stored.capture.status, stored.held), expected, "note {n}");
    }
    // The first batch, its five alone, and the rest in batches of five.
    assert_eq!(batch(&world, &workorder(&ids[0], 1)).await, ids[..5]);
    let sizes: Vec<usize> = world
        .triage
        .prompts()
        .iter()
        .map(|prompt| read_data::<TriageInput>(prompt).unwrap().captures.len())
        .collect();
    assert_eq!(sizes, [5, 1, 1, 1, 1, 1, 5, 2]);
    assert_sound(&world).await;
}

/// TF-2: a retried capture is alone, also when a new one came in.
#[tokio::test]
async fn tf2_a_capture_that_failed_is_tried_alone() {
    let world = TaskWorld::with(Backend::Sqlite, [Answer::By(trips)]).await;
    let bad = world.scheduled(&["BAD"]).await.remove(0);
    world.runner().await;
    world.gate().await;
    let good = world.captured("good").await;
    world.run_to_pause().await.unwrap();
    assert_eq!(batch(&world, &workorder(&bad, 2)).await, [bad]);
    assert_eq!(world.capture(&good).await.capture.status, CaptureStatus::Processed);
    assert_sound(&world).await;
}

mod sqlite {
    #[tokio::test]
    async fn p18_tf2_one_bad_capture_holds_nobody() {
        super::one_bad_capture_holds_nobody(super::Backend::Sqlite).await;
    }
}

mod postgres {
    #[tokio::test]
    async fn p18_tf2_one_bad_capture_holds_nobody() {
        super::one_bad_capture_holds_nobody(super::Backend::Postgres).await;
    }
}
