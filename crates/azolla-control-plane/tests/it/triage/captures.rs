//! The operator's steps on captures: the one door, what is done by hand (S-4), and what is tried again (W-2).

use azolla_control_plane::{
    Tick,
    operator::{Operator, OperatorError},
};
use azolla_protocol::{
    Actor, CaptureStatus, GenerationOutcome, JournalStep,
    content::{NoAction, TriageContent},
};
use azolla_substrate::CaptureFilter;
use azolla_testkit::{Answer, Backend, TaskWorld, World, task_world::one_candidate_each};

use super::{candidates::away::Paused, *};

const MIB: usize = 1024 * 1024;

/// What a refusal says, and what to type next.
fn refusal(error: OperatorError) -> (String, Option<String>) {
    match error {
        OperatorError::Refused { what, hint } => (what, hint),
        OperatorError::NotFound { what } => (what, None),
        OperatorError::Store(error) => panic!("{error}"),
    }
}

/// a note is kept byte for byte, whatever is in it, up to 1 MiB.
async fn a_note_is_kept_byte_for_byte(backend: Backend) {
    let world = TaskWorld::new(backend).await;
    let largest = "x".repeat(MIB);
    let controls = "\u{1}\u{7}".repeat(MIB / 2);
    let notes = [
        "buy milk",
        " \r\n\tleading and trailing \r\n\r\n",
        "\u{1b}[31mred\u{1b}[0m \u{9b}2J \u{202e}txt.exe",
        "<script>alert(1)</script> '; DROP TABLE capture_buffer; --",
        "na\u{308}ive 🦀 \u{10ffff} \u{feff}",
        largest.as_str(),
        controls.as_str(),
    ];
    for note in notes {
        let id = world.captured(note).await;
        let stored = world.capture(&id).await;
        assert!(stored.capture.raw_content == note, "{:.40?}", note);
        assert_eq!((stored.capture.status, stored.attempts, stored.held), (CaptureStatus::Pending, 0, false));
    }
    assert_eq!(world.store.read().count_pending_captures().await.unwrap(), 7);
    assert_sound(&world).await;
}

/// what cannot be kept as it is, is refused in words, and nothing is stored.
#[tokio::test]
async fn a5_a_note_that_cannot_be_kept_is_refused() {
    let world = TaskWorld::new(Backend::Sqlite).await;
    let cases: [(&[u8], &str); 7] = [
        (b"", "a note cannot be empty"),
        (" \n\t\u{2003}".as_bytes(), "a note cannot be empty"),
        // T18, T22: what cannot be seen is nothing.
        ("\u{200b} \u{feff}\n".as_bytes(), "a note cannot be empty"),
        (b"a\0b", "a note cannot hold NUL characters; byte 1 of this one is one"),
        (b"ab\xff\xfe", "a note is text in UTF-8; byte 2 of this one is not"),
        (&[b'x'; MIB + 1], "a note has at most 1 MiB (1048576 bytes); this one has more"),
        (&[0; 2 * MIB], "a note has at most 1 MiB (1048576 bytes); this one has more"),
    ];
    for (note, reason) in cases {
        let (what, hint) = refusal(world.operator().capture(note, "test").await.unwrap_err());
        assert_eq!(what, reason);
        assert!(hint.is_some(), "{reason}");
    }
    assert_eq!(world.store.read().count_pending_captures().await.unwrap(), 0);
    let patches = World::new(Backend::Sqlite).await;
    let (what, _) = refusal(patches.operator().capture(b"note", "test").await.unwrap_err());
    assert_eq!(what, "az-test is a CODE_PATCH_AZOLLA: it takes no notes");
}

/// T22: a label is one short line without control characters, whoever sent it.
#[tokio::test]
async fn t22_a_label_is_one_short_line() {
    let world = TaskWorld::new(Backend::Sqlite).await;
    for (label, kept) in [
        ("cli", "cli"),
        ("", ""),
        (" two\r\nlines \u{1b}[2J\u{9b}x", "two lines [2J x"),
        ("é".repeat(300).as_str(), "é".repeat(200).as_str()),
    ] {
        let id = world.operator().capture(b"note", label).await.unwrap();
        assert_eq!(world.capture(&id).await.capture.source_label, kept);
    }
}

/// S-4: by hand, with a reason, recorded; once.
async fn a_capture_is_processed_by_hand(backend: Backend) {
    let world = TaskWorld::new(backend).await;
    let id = world.captured("buy milk").await;
    for reason in ["", "  ", "a\0b", "x".repeat(1_001).as_str()] {
        let (what, hint) = refusal(world.operator().process_capture(&id, reason).await.unwrap_err());
        assert_eq!(what, "a reason is needed, of at most 1000 characters");
        assert_eq!(hint, Some(format!("azolla triage process {id} --reason TEXT")));
    }
    world.operator().process_capture(&id, "bought already").await.unwrap();
    assert_eq!(world.capture(&id).await.capture.status, CaptureStatus::Processed);
    let journal = world.store.read().journal_of(id.as_str()).await.unwrap();
    let entry = journal.last().unwrap();
    assert_eq!((entry.actor, entry.step), (Actor::Operator, JournalStep::Process));
    assert_eq!(entry.detail.as_ref().unwrap()["reason"], "bought already");
    let (what, _) = refusal(world.operator().process_capture(&id, "again").await.unwrap_err());
    assert_eq!(what, format!("capture {id} is PROCESSED already"));
    // It is triaged no more.
    assert_eq!(world.readiness().await, Tick::Idle);
    assert_sound(&world).await;
}

/// Finds that the first note needs nothing, and makes a candidate of the others.
fn first_needs_nothing(prompt: &str) -> GenerationOutcome {
    let GenerationOutcome::Text(text) = one_candidate_each(prompt) else { panic!("a text") };
    let mut content: TriageContent = serde_json::from_str(&text).unwrap();
    let capture_id = content.candidates.remove(0).capture_ids.remove(0);
    content.no_action.push(NoAction { capture_id, reason: "It thanks.".into() });
    GenerationOutcome::Text(serde_json::to_string(&content).unwrap())
}

/// S-4, A-2: a note that came to nothing stays PROCESSED, with the reason on record; asked for again, its text is stored once
/// more, once, and is triaged as any note. One that a candidate came of is not.
async fn a_note_that_came_to_nothing_is_stored_once_more(backend: Backend) {
    let world = TaskWorld::with(backend, [Answer::By(first_needs_nothing)]).await;
    let notes = ["thanks\u{1b}[0m \r\n", "fix the login"];
    let ids = world.scheduled(&notes).await;
    world.run_to_pause().await.unwrap();
    let read = world.store.read();
    for (id, reason) in ids.iter().zip([Some("It thanks."), None]) {
        assert_eq!(world.capture(id).await.capture.status, CaptureStatus::Processed);
        let journal = read.journal_of(id.as_str()).await.unwrap();
        let detail = journal.last().unwrap().detail.as_ref();
        assert_eq!(detail.and_then(|detail| detail.get("no_action")?.as_str()), reason, "{id}");
    }
    let operator = world.operator();
    let (what, hint) = refusal(operator.retry_capture(&ids[1]).await.unwrap_err());
    let candidate = format!("{}/1", output(&ids[0], 1));
    assert_eq!(what, format!("capture {} is PROCESSED: candidate {candidate} came of it", ids[1]));
    assert_eq!(hint, Some(format!("azolla explain {}", ids[1])));
    let again = operator.retry_capture(&ids[0]).await.unwrap();
    assert_eq!(again.as_str(), format!("{}-again", ids[0]));
    let (what, hint) = refusal(operator.retry_capture(&ids[0]).await.unwrap_err());
    assert_eq!(what, format!("capture {} was asked for again before, as {again}", ids[0]));
    assert_eq!(hint, Some(format!("azolla explain {again}")));
    let capture = world.capture(&again).await.capture;
    assert_eq!((capture.raw_content.as_str(), capture.status), (notes[0], CaptureStatus::Pending));
    assert_eq!(capture.source_label, format!("again:{}", ids[0]));
    assert_eq!(world.capture(&ids[0]).await.capture.status, CaptureStatus::Processed);
    world.run_to_pause().await.unwrap();
    assert_eq!(world.capture(&again).await.capture.status, CaptureStatus::Processed);
    // By hand is another way to nothing.
    let by_hand = world.captured("buy milk").await;
    operator.process_capture(&by_hand, "bought").await.unwrap();
    assert_eq!(operator.retry_capture(&by_hand).await.unwrap().as_str(), format!("{by_hand}-again"));
    assert_sound(&world).await;
}

/// W-2: what is in triage now is not retried beside it.
#[tokio::test]
async fn w2_a_capture_in_triage_is_not_retried() {
    let world = TaskWorld::new(Backend::Sqlite).await;
    let id = world.scheduled(&["buy milk"]).await.remove(0);
    for _ in 0..2 {
        let (what, hint) = refusal(world.operator().retry_capture(&id).await.unwrap_err());
        assert_eq!(what, format!("capture {id} is in triage now, by {}", workorder(&id, 1)));
        assert_eq!(hint.as_deref(), Some("azolla run"));
        world.runner().await;
    }
    world.gate().await;
    let (what, _) = refusal(world.operator().retry_output(&output(&id, 1)).await.unwrap_err());
    assert_eq!(what, format!("no capture of {} is PENDING; retry needs PENDING", output(&id, 1)));
    let nowhere = CaptureId::new("cap-nowhere").unwrap();
    let (what, _) = refusal(world.operator().retry_capture(&nowhere).await.unwrap_err());
    assert_eq!(what, "there is no capture cap-nowhere in az-test");
    assert_eq!(world.operator().retry_held().await.unwrap(), []);
}

/// W-2: a triage that begins between the operator's look and their step keeps its attempt, and the step is refused.
#[tokio::test]
async fn w2_a_retry_does_not_erase_an_attempt_that_begins_meanwhile() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let world = TaskWorld::new(backend).await;
        let id = world.captured("buy milk").await;
        world.readiness().await;
        let paused = Paused::new(world.store.store.clone());
        let operator = Operator { substrate: &paused, ..world.operator() };
        let meanwhile = async {
            paused.0.reached.notified().await;
            assert_eq!(world.scheduler().await, Tick::Advanced);
            paused.0.go.notify_one();
        };
        let (retried, ()) = tokio::join!(operator.retry_capture(&id), meanwhile);
        let (what, _) = refusal(retried.unwrap_err());
        assert_eq!(what, format!("capture {id} is in triage now, by {}", workorder(&id, 1)), "{backend:?}");
        let stored = world.capture(&id).await;
        assert_eq!((stored.attempts, stored.attempts_before), (1, 0));
    }
}

/// the pause_state that asked for a step is over with it; one about something else stays.
#[tokio::test]
async fn a6_a_step_on_a_capture_ends_the_pause_about_it() {
    let world = TaskWorld::with(Backend::Sqlite, [text("prose")]).await;
    let (held, other) = (world.captured("one").await, world.captured("two").await);
    world.operator().process_capture(&other, "not needed").await.unwrap();
    world.run_to_pause().await.unwrap();
    let third = world.captured("three").await;
    world.operator().process_capture(&third, "about something else").await.unwrap();
    assert_eq!(world.pause().await.prioritized_actions.len(), 1);
    world.operator().process_capture(&held, "given up").await.unwrap();
    assert_eq!(world.standing().await.pause_key, None);
    assert_eq!(world.store.read().current_pause_states().await.unwrap(), []);
    assert_sound(&world).await;
}

/// W-2, O-1: every capture that is held comes back with one step, however many pages there are.
#[tokio::test]
async fn w2_all_held_captures_are_retried_at_once() {
    let mut world = TaskWorld::new(Backend::Sqlite).await;
    world.ctx.settings.prompt_bytes = 100;
    world.ctx.settings.triage_batch = 100;
    for n in 0..60 {
        world.captured(&format!("note {n}")).await;
    }
    world.run_to_pause().await.unwrap();
    let fresh = world.captured("fresh").await;
    let retried = world.operator().retry_held().await.unwrap();
    assert_eq!((retried.len(), retried.contains(&fresh)), (60, false));
    let filter = CaptureFilter { status: Some(CaptureStatus::Pending), after: None, limit: 100 };
    assert!(world.store.read().captures(&filter).await.unwrap().iter().all(|stored| !stored.held));
    assert_sound(&world).await;
}

mod sqlite {
    use super::Backend::Sqlite;

    #[tokio::test]
    async fn a2_a_note_is_kept_byte_for_byte() {
        super::a_note_is_kept_byte_for_byte(Sqlite).await;
    }

    #[tokio::test]
    async fn s4_a_capture_is_processed_by_hand() {
        super::a_capture_is_processed_by_hand(Sqlite).await;
    }

    #[tokio::test]
    async fn s4_a_note_that_came_to_nothing_is_stored_once_more() {
        super::a_note_that_came_to_nothing_is_stored_once_more(Sqlite).await;
    }
}

mod postgres {
    use super::Backend::Postgres;

    #[tokio::test]
    async fn a2_a_note_is_kept_byte_for_byte() {
        super::a_note_is_kept_byte_for_byte(Postgres).await;
    }

    #[tokio::test]
    async fn s4_a_capture_is_processed_by_hand() {
        super::a_capture_is_processed_by_hand(Postgres).await;
    }

    #[tokio::test]
    async fn s4_a_note_that_came_to_nothing_is_stored_once_more() {
        super::a_note_that_came_to_nothing_is_stored_once_more(Postgres).await;
    }
}
