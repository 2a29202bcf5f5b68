//! What goes into an orientation, in what order, and what is left out first.

use azolla_protocol::{
    Objective, ObjectiveStatus, ObjectiveType, PauseReason, Validated, content::read_data,
};

use super::*;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

fn now() -> Timestamp {
    "2026-11-16T10:00:00.000Z".parse().unwrap()
}

fn azolla(id: &str) -> AzollaId {
    AzollaId::new(id).unwrap()
}

fn id(id: &str) -> ObjectiveId {
    ObjectiveId::new(id).unwrap()
}

fn objective(name: &str, urgency: u8, importance: u8, days: i64) -> Objective {
    Objective {
        objective_id: id(name),
        azolla_id: azolla("az-app"),
        title: format!("Title of {name}"),
        acceptance_criteria: "Secret details".into(),
        objective_type: ObjectiveType::Ticket,
        status: ObjectiveStatus::Blocked,
        importance,
        urgency,
        blocked_reason: None,
        blocked_on: Vec::new(),
        metadata: JsonObject::new(),
        created_at: now().plus_ms(-days * DAY_MS),
        updated_at: now().plus_ms(-days * DAY_MS),
    }
}

fn pause(name: &str) -> PauseState {
    PauseState {
        objective_id: id(name),
        azolla_id: azolla("az-app"),
        reason: PauseReason::Blocked,
        prioritized_actions: vec![format!("Look at {name}")],
        created_at: now(),
    }
}

fn source(pause_states: Vec<PauseState>, objectives: Vec<Objective>) -> Source {
    let (status, remark) = (QueryStatus::Ok, String::new());
    Source { azolla_id: azolla("az-app"), status, remark, pause_states, objectives }
}

/// Builds, and returns the snapshot with its data.
fn built(
    sources: &[Source],
    snoozes: &Snoozes,
    prompt_bytes: u64,
) -> Result<(ContextSnapshot, ManifestInput), PromptTooLarge> {
    let snapshot = build(&ManifestInputs {
        event_id: &EventId::new("evt-1").unwrap(),
        standing: (&id("obj-ctx"), 3),
        azolla_id: &azolla("az-desk"),
        now: now(),
        captures_pending: 2,
        candidates_open: 1,
        pause_states: &[pause("obj-ctx")],
        sources,
        deadlines: &Deadlines::default(),
        snoozes,
        prompt_bytes,
    })?;
    let data = read_data(&snapshot.full_prompt_text).expect("the data reads back");
    Validated::new(snapshot.clone()).expect("a snapshot is valid");
    Ok((snapshot, data))
}

fn order(data: &ManifestInput) -> Vec<&str> {
    data.azollas[0].objectives.iter().map(|brief| brief.objective_id.as_str()).collect()
}

#[test]
fn mf4_overdue_first_then_urgency_importance_and_age() {
    let objectives = vec![
        objective("obj-some-day", 4, 0, 90),
        objective("obj-new", 1, 1, 0),
        objective("obj-less-important", 2, 3, 1),
        objective("obj-older", 2, 1, 2),
        objective("obj-younger", 2, 1, 1),
        objective("obj-overdue", 3, 4, 31),
        objective("obj-snoozed", 1, 2, 9),
    ];
    let until = now().plus_ms(DAY_MS);
    let snoozes = Snoozes::from([((azolla("az-app"), id("obj-snoozed")), until)]);
    let (snapshot, data) = built(&[source(Vec::new(), objectives)], &snoozes, 100_000).unwrap();
    assert_eq!(
        order(&data),
        [
            "obj-overdue",
            "obj-new",
            "obj-snoozed",
            "obj-older",
            "obj-younger",
            "obj-less-important",
            "obj-some-day"
        ]
    );
    assert_eq!(data.azollas[0].objectives[2].deadline, Some(until));
    assert_eq!((data.captures_pending, data.candidates_open), (2, 1));
    assert_eq!(data.pause_states, [pause("obj-ctx")]);
    assert!(!snapshot.full_prompt_text.contains("Secret details"), "a brief has what it needs and no more");
}

/// What does not fit is left out from the end; the words that say so fit too.
#[test]
fn mf4_a_small_prompt_keeps_the_most_urgent() {
    let objectives: Vec<_> =
        (0..100).map(|n| objective(&format!("obj-{n:02}"), if n == 99 { 0 } else { 2 }, 2, 0)).collect();
    let pauses: Vec<_> = (0..100).map(|n| pause(&format!("obj-{n:02}"))).collect();
    let sources = [source(pauses, objectives)];
    let (whole, _) = built(&sources, &Snoozes::new(), 100_000).unwrap();
    assert_eq!(whole.metadata.unwrap()["remarks"], json!([]));
    let mut before = usize::MAX;
    for bytes in [30_000, 20_000, 10_000, 5_000] {
        let (snapshot, data) = built(&sources, &Snoozes::new(), bytes).unwrap();
        assert!(snapshot.full_prompt_text.len() <= usize::try_from(bytes).unwrap());
        let report = &data.azollas[0];
        let (objectives, pauses) = (report.objectives.len(), report.pause_states.len());
        assert!(objectives < before && objectives > 0, "{objectives} at {bytes}");
        before = objectives;
        assert_eq!(order(&data)[0], "obj-99", "the most urgent one");
        assert_eq!(report.pause_states[0].objective_id, id("obj-99"), "with where it stands");
        let left_out = format!(
            "left out, as there is no room: {} objectives, {} pause_states",
            100 - objectives,
            100 - pauses
        );
        assert_eq!(report.remark, left_out);
        let metadata = snapshot.metadata.unwrap();
        assert_eq!(metadata["remarks"], json!([format!("az-app: {left_out}")]));
        assert_eq!(metadata["pause_state_summary"].as_array().unwrap().len(), 100, "the summary has all");
    }
}

#[test]
fn o1_a_prompt_without_room_for_the_names_is_refused() {
    let refused = built(&[source(Vec::new(), Vec::new())], &Snoozes::new(), 100).unwrap_err();
    assert_eq!(refused.bytes_max, 100);
    assert!(refused.bytes > 1_000);
}

/// Nothing that came is stale only because it is older than what else came.
#[test]
fn mf3_an_azolla_with_nothing_new_for_a_day_is_stale() {
    let remark =
        |source: Source| built(&[source], &Snoozes::new(), 100_000).unwrap().1.azollas[0].remark.clone();
    assert_eq!(remark(source(Vec::new(), Vec::new())), "", "nothing there is not stale");
    assert_eq!(remark(source(Vec::new(), vec![objective("obj-1", 4, 2, 1)])), "");
    assert_eq!(remark(source(vec![pause("obj-1")], vec![objective("obj-1", 4, 2, 9)])), "");
    let stale = remark(Source {
        remark: "it said so".into(),
        ..source(Vec::new(), vec![objective("obj-1", 4, 2, 2), objective("obj-2", 4, 2, 9)])
    });
    assert_eq!(stale, "it said so; stale: nothing new since 2026-11-14T10:00:00.000Z");
}

/// The longest texts that a schema lets through are cut, at a character.
#[test]
fn mf4_titles_and_actions_are_cut() {
    let mut long = objective("obj-1", 1, 1, 0);
    long.title = "ä".repeat(500);
    let mut wordy = pause("obj-1");
    wordy.prioritized_actions = vec!["ö".repeat(1_000); 3];
    let (snapshot, data) = built(&[source(vec![wordy], vec![long])], &Snoozes::new(), 100_000).unwrap();
    assert_eq!(data.azollas[0].objectives[0].title, "ä".repeat(200));
    assert_eq!(data.azollas[0].pause_states[0].prioritized_actions, vec!["ö".repeat(500); 3]);
    let summary = &snapshot.metadata.unwrap()["pause_state_summary"];
    assert_eq!(summary[0]["prioritized_actions"][0], "ö".repeat(1_000), "what is recorded is whole");
}

/// with every limit at its end and text that doubles when it is quoted, the snapshot still fits a document.
#[test]
fn mf4_a5_the_largest_snapshot_is_a_document() {
    let sources: Vec<Source> = (0..200)
        .map(|n| {
            let azolla_id = azolla(&format!("az-{n:03}"));
            let pauses = (0..100).map(|at| PauseState {
                azolla_id: azolla_id.clone(),
                prioritized_actions: vec!["\"".repeat(1_000); 3],
                ..pause(&format!("obj-{at:03}"))
            });
            Source { azolla_id: azolla_id.clone(), ..source(pauses.collect(), Vec::new()) }
        })
        .collect();
    let (snapshot, _) = built(&sources, &Snoozes::new(), 4_000_000).unwrap();
    assert!(snapshot.full_prompt_text.len() > 2_500_000, "{}", snapshot.full_prompt_text.len());
}

/// Y-1: the azolla that asks is no other one, though its own objectives are in the data.
#[test]
fn mf5_only_others_count_as_queried() {
    let own =
        Source { azolla_id: azolla("az-desk"), ..source(Vec::new(), vec![objective("obj-1", 1, 1, 0)]) };
    let denied =
        Source { azolla_id: azolla("az-no"), status: QueryStatus::Denied, ..source(Vec::new(), Vec::new()) };
    let sources = [source(Vec::new(), Vec::new()), denied, own];
    assert_eq!(answered(&sources, &azolla("az-desk")), [&azolla("az-app")]);
}
