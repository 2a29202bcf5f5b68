//! Text from outside stays text on every page (T22, T23), and a huge change stays a small page.

use std::collections::HashMap;

use azolla_protocol::{
    AzollaId, AzollaType, CandidateOutcome, CaptureId, GateResult, ManifestId, ObjectiveId, OutputId,
    QueryStatus, RunId, Timestamp, WorkOrderId,
};
use azolla_substrate::{StoredCapture, StoredWorkorder};
use serde_json::{Value, json};

use super::{change, health, home, manifests, notes, objective, objectives, result, run, runs};
use crate::{
    acts::{Act, Done, Lead, Listed},
    cli::{
        explain::{Cycle, origin::Origin},
        review::{LeftOut, Reviewed},
    },
    dashboard::{
        PageError, Shown,
        frame::{self, Frame, Tab},
        session::Session,
    },
    desk::{Action, Changes, NextStep, Remark},
};

/// Forty texts that would become more than text, as a browser is tried with too.
const ATTACKS: &str = include_str!("../../../tests/browser/payloads.json");
/// One that would not.
const HARMLESS: &str = "a harmless text";

/// What shows all of a change.
const ALL: &str = "azolla review run-a-1 --no-pager";

const AT: &str = "2026-11-16T10:00:00.000Z";

fn at() -> Timestamp {
    AT.parse().unwrap()
}

fn az() -> AzollaId {
    AzollaId::new("az-app").unwrap()
}

fn of<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn an_objective(said: &str) -> azolla_protocol::Objective {
    of(json!({
        "objective_id": "obj-a", "azolla_id": "az-app", "title": said, "acceptance_criteria": said,
        "objective_type": "TICKET", "status": "BLOCKED", "importance": 1, "urgency": 2, "blocked_reason": format!("{said}."),
        "blocked_on": [{"blocker_id": "blk-a", "kind": "USER_INPUT", "description": said, "resolved": false}],
        "metadata": {"repo_ref": said, "base_branch": said, "due": said}, "created_at": AT, "updated_at": AT,
    }))
}

fn a_bundle(said: &str, content: String) -> azolla_protocol::OutputBundle {
    of(json!({
        "output_id": "out-a-1", "objective_id": "obj-a", "title": said, "content": content, "notes": said,
        "created_at": AT, "metadata": {"work_order_id": "wo-a-1", "runner_status": "COMPLETED", "elapsed_ms": 7,
            "usage": {}, "branch_name": said, "commit_sha": said, "pr_description_draft": said},
    }))
}

fn a_run(said: &str) -> azolla_protocol::RunRecord {
    of(json!({
        "run_id": "run-a-1", "work_order_id": "wo-a-1", "objective_id": "obj-a", "output_id": "out-a-1",
        "gate_result": "FAIL", "gate_reason": said, "commit_sha": said, "created_at": AT,
    }))
}

fn a_pause(said: &str) -> azolla_protocol::PauseState {
    of(json!({
        "objective_id": "obj-a", "azolla_id": "az-app", "reason": "GATE_FAILED", "created_at": AT,
        "prioritized_actions": [said, format!("{said}: azolla objective retry {said}")],
    }))
}

fn evidence(said: &str) -> azolla_protocol::GateEvidence {
    let check = |subject: &str, exit_code: i64| {
        json!({"name": said, "subject": subject, "command": [said, said], "exit_code": exit_code,
               "timed_out": false, "duration_ms": 5, "output_tail": said, "tree": said, "sandbox_mode": said})
    };
    of(json!({"run_id": "run-a-1", "work_order_id": "wo-a-1", "base_commit_sha": said, "created_at": AT,
              "checks": [check("PATCHED", 1), check("BASE", 0)]}))
}

/// A change whose name, place and lines say it: one line of a file that is protected, and a file that is new.
fn a_change(said: &str) -> String {
    let name = said.replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "diff --git \"a/.github/{name}\" \"b/.github/{name}\"\n@@ -1,2 +1,2 @@ {said}\n {said}\n-{said}\n+{said}\n\
         diff --git \"a/{name}\" \"b/{name}\"\nnew file mode 100644\n@@ -0,0 +1 @@\n+{said}\n\\ No newline\n"
    )
}

fn reviewed(said: &str) -> Reviewed {
    Reviewed {
        bundle: a_bundle(said, a_change(said)),
        run: Some(a_run(said)),
        evidence: Some(evidence(said)),
        pause: Some(a_pause(&format!("Fetch the branch by hand {said}"))),
        paths: vec![format!(".github/{said}"), said.to_owned()],
        left_out: Some(LeftOut { files: 3, paths: vec![said.to_owned()] }),
    }
}

fn an_objective_page(said: &str) -> objective::Page {
    objective::Page {
        objective: an_objective(said),
        version: 1,
        azolla_type: AzollaType::CodePatch,
        now: at(),
        pause: Some(a_pause(said)),
        running: Some((workorder(), None)),
        result: Some(reviewed(said)),
        runs: vec![a_run(said)],
        timeline: vec![an_entry(said)],
        allowed: Act::ALL.to_vec(),
        may_reword: true,
        part: change::Part::Beginning,
    }
}

fn workorder() -> StoredWorkorder {
    StoredWorkorder {
        workorder: of(json!({
            "work_order_id": "wo-a-1", "objective_id": "obj-a", "diazotroph_type": "PATCH_DIAZOTROPH",
            "context_snapshot_id": "snap-a-1", "branch_name": "azolla/obj-a", "budget_ms": 1000,
            "status": "CREATED", "created_at": AT,
        })),
        event_id: azolla_protocol::EventId::new("evt-a-1").unwrap(),
        budget_consumed_ms: 10,
        claim_count: 0,
        stream_slot: None,
    }
}

fn an_entry(said: &str) -> azolla_protocol::JournalEntry {
    of(json!({
        "seq": 1, "at": AT, "actor": "OPERATOR", "owner_id": null, "claim_version": null, "step": "S-b",
        "resource_type": said, "resource_id": said, "from_status": said, "to_status": said, "detail": null,
    }))
}

fn a_candidate(said: &str, resolution: Option<CandidateOutcome>) -> Listed {
    let resolution = resolution.map(|outcome| {
        of(json!({"output_id": "out-a-1", "candidate_index": 0, "outcome": outcome.as_str(),
                  "objective_id": "obj-a", "resolved_by": said, "created_at": AT}))
    });
    Listed {
        id: azolla_control_plane::operator::CandidateRef {
            output_id: OutputId::new("out-a-1").unwrap(),
            index: 0,
        },
        candidate: of(json!({
            "title": said, "acceptance_criteria": said, "rationale": said, "capture_ids": ["cap-a"],
            "suggested_azolla_id": "az-app", "urgency": 1, "due": said, "confidence": "HIGH", "ambiguities": [said],
        })),
        resolution,
    }
}

fn a_capture(said: &str, held: bool) -> StoredCapture {
    StoredCapture {
        capture: of(json!({"capture_id": "cap-a", "azolla_id": "az-app", "raw_content": said,
                           "source_label": said, "status": "PENDING", "created_at": AT, "updated_at": AT})),
        attempts: 1,
        attempts_before: 0,
        held,
    }
}

/// Every page with this text in every place that shows one.
fn pages(said: &str) -> HashMap<&'static str, String> {
    let session = Session::for_a_test();
    let text = || said.to_owned();
    let id = ObjectiveId::new("obj-a").unwrap();
    let mut pages = HashMap::new();

    let need = |way: Option<(String, &'static str)>| home::Need {
        action: Action::for_a_test(&az(), &id, said),
        way,
    };
    let now = home::Now {
        needs: vec![need(Some(("/notes".to_owned(), "Look"))), need(None)],
        more: 1,
        running: vec![home::Running {
            azolla_id: "az-app".to_owned(),
            objective_id: "obj-a".to_owned(),
            title: text(),
            path: None,
            step: text(),
            used_ms: 1,
            budget_ms: 2,
        }],
        waiting: vec![
            Remark { text: text(), next: Some(NextStep::Type(text())) },
            Remark { text: text(), next: Some(NextStep::Edit(text())) },
        ],
        changes: Some(Changes { looked: Some(text()), earlier: Some(text()), lines: vec![(at(), text())] }),
        marks: vec![text()],
        away: vec![("az-app".to_owned(), text())],
        today: Some(text()),
        desks: vec!["az-a".to_owned(), "az-b".to_owned()],
        start: None,
    };
    pages.insert("now", home::view(&now, &session).into_string());

    let listed = objectives::Listed {
        name: "open",
        azolla: None,
        azollas: vec![az()],
        takers: vec![az()],
        now: at(),
        groups: vec![("Blocked", vec![an_objective(said)])],
        next: None,
        cut: vec![az()],
        away: vec![(az(), text())],
    };
    pages.insert("objectives", objectives::view(&listed, &session).into_string());

    pages.insert("objective", objective::view(&an_objective_page(said), &session).into_string());

    let snapshot = of(json!({"snapshot_id": "snap-a-1", "objective_id": "obj-a", "full_prompt_text": said,
                             "repo_commit_sha": said, "related_yield_refs": [], "created_at": AT}));
    let usage = of(json!({"work_order_id": "wo-a-1", "claim_version": 1, "provider": said, "model": said,
                          "requests": 2, "retries": 1, "input_tokens": 3, "output_tokens": 4,
                          "cost_microusd": 5, "created_at": AT}));
    let cycle = Cycle {
        event: None,
        asked: Some(an_objective(said)),
        snapshot: Some(snapshot),
        stored: workorder(),
        bundle: Some(a_bundle(said, a_change(said))),
        run: Some(a_run(said)),
        evidence: Some(evidence(said)),
        usage: vec![usage],
        manifest: None,
        pause: Some(a_pause(said)),
    };
    let listed = a_candidate(said, Some(CandidateOutcome::Promoted));
    let origin = Origin {
        azolla_id: az(),
        captures: vec![a_capture(said, false).capture],
        bundle: a_bundle(said, text()),
        run: None,
        index: 0,
        candidate: Some(listed.candidate),
        resolution: listed.resolution,
    };
    let page = run::Page {
        run_id: RunId::new("run-a-1").unwrap(),
        objective: an_objective(said),
        now: at(),
        cycle,
        result: Some(reviewed(said)),
        origin: Some(origin),
        part: change::Part::File(1),
    };
    pages.insert("run", run::view(&page).into_string());

    let row = runs::Row {
        azolla_id: az(),
        run: a_run(said),
        title: text(),
        took_ms: 5,
        tokens: 6,
        cost_microusd: Some(7),
    };
    let listed = runs::Listed {
        now: at(),
        rows: vec![row],
        next: None,
        waiting: Default::default(),
        away: vec![(az(), text())],
    };
    pages.insert("runs", runs::view(&listed).into_string());

    let shown = notes::Notes {
        azolla_id: az(),
        others: vec![az()],
        targets: vec![az(), az()],
        now: at(),
        open: vec![a_candidate(said, None)],
        open_count: 1,
        settled: vec![
            a_candidate(said, Some(CandidateOutcome::Discarded)),
            a_candidate(said, Some(CandidateOutcome::Deferred)),
        ],
        said: vec![(OutputId::new("out-a-1").unwrap(), text())],
        needless: vec![of(json!({"capture_id": "cap-a", "reason": said}))],
        pending: 2,
        held: 1,
        captures: vec![a_capture(said, true), a_capture(&format!("{said}\n{said}"), false)],
        next: Some(CaptureId::new("cap-a").unwrap()),
    };
    pages.insert("notes", notes::view(&shown, &session).into_string());

    let manifest: azolla_protocol::SessionManifest = of(json!({
        "manifest_id": "man-a", "azolla_id": "az-app", "queried_azolla_ids": ["az-app"], "created_at": AT,
        "prioritized_orientation": [said, format!("{said} (az-app, obj-a): azolla {said}")],
        "pause_state_summary": [{"source_azolla_id": "az-app", "objective_id": "obj-a", "reason": "BLOCKED",
                                 "prioritized_actions": [said]}],
    }));
    let older = azolla_protocol::SessionManifest {
        manifest_id: ManifestId::new("man-b").unwrap(),
        ..manifest.clone()
    };
    let page = manifests::Page {
        azolla_id: az(),
        others: vec![az()],
        here: vec![az()],
        now: at(),
        shown: Some(manifest),
        bundle: Some(a_bundle(said, format!("{said}\n1. {said}"))),
        all: vec![older],
        next: Some("2026-11-16T10:00:00.000Z~man-a".to_owned()),
        is_asked: false,
    };
    pages.insert("manifests", manifests::view(&page, &session).into_string());

    let azolla = |state| health::Azolla {
        id: az(),
        azolla_type: AzollaType::CodePatch,
        repo: Some(text()),
        store: text(),
        workers: vec![text()],
        roles: Some(text()),
        held: Some(text()),
        state,
    };
    let state = health::State {
        now: at(),
        open: 1,
        waiting: 2,
        newest: Some(at()),
        claims: vec![health::Claim { resource: text(), owner: text(), until: at() }],
    };
    let peer =
        health::Peer { id: az(), url: Some(text()), heard: Some((QueryStatus::Ok, text(), at())), now: at() };
    let page = health::Health {
        azollas: vec![azolla(Ok(state)), azolla(Err(text()))],
        peers: vec![peer],
        today: Some(text()),
        caps: vec![("day_runs", text())],
        paths: vec![("data", text())],
        works: false,
    };
    pages.insert("health", health::view(&page).into_string());

    let next = Some(Lead { words: "next", command: text() });
    let said_last = Done { made: Some(text()), what: text(), next, remarks: vec![text()] };
    let frame = Frame {
        session: &session,
        said: Some(&said_last),
        desks: vec!["az-a".to_owned(), "az-b".to_owned()],
        path: "/x",
        mark: "1",
    };
    let shown = |main| Shown { title: text(), tab: Tab::Runs, main };
    let sorry = frame::sorry(&PageError::Missing(text()));
    pages.insert("frame", frame::page(&frame, shown(sorry.main)).into_string());
    pages
}

/// T23: whatever a text is, a page has the tags and the attributes that it has with a harmless one.
#[test]
fn t23_forty_attacks_stay_text_on_every_page() {
    let shape = |page: &str| ['<', '>', '"'].map(|mark| page.matches(mark).count());
    assert_eq!(pages(HARMLESS).len(), 9);
    let attacks: Vec<String> = serde_json::from_str(ATTACKS).unwrap();
    assert_eq!(attacks.len(), 40);
    for attack in attacks {
        // On one line and as long as it is: a list has an entry for each line, and a long text is folded.
        let attack = attack.replace('\n', " ");
        let harmless = pages(&HARMLESS.chars().cycle().take(attack.chars().count()).collect::<String>());
        for (name, page) in pages(&attack) {
            assert_eq!(shape(&page), shape(&harmless[name]), "{name} with {attack}\n{page}");
        }
    }
}

/// T22: what turns text around or hides it does not reach a page, but where it is edited, as it is stored.
#[test]
fn t22_what_deceives_a_reader_is_replaced() {
    for (name, page) in pages("a\u{202e}b\u{200b}c\u{1b}[0md") {
        for (n, c) in page.char_indices().filter(|(_, c)| matches!(c, '\u{202e}' | '\u{200b}' | '\u{1b}')) {
            let (_, tag) = page[..n].rsplit_once('<').unwrap();
            let is_edited = tag.starts_with("input ") || tag.starts_with("textarea ");
            assert!(is_edited, "{name} has {c:?} in <{tag}");
        }
        assert!(page.contains('\u{fffd}'), "{name} shows the text");
    }
}

/// A change of a hundred thousand lines is a page of its beginning, with a way to each file.
#[test]
fn a_huge_change_is_a_small_page() {
    let mut content = String::new();
    for file in 0..500 {
        content
            .push_str(&format!("diff --git a/f{file} b/f{file}\nnew file mode 100644\n@@ -0,0 +1,200 @@\n"));
        content.push_str(
            &"+let some_value = compute(another_value, 12345); // as long as lines are\n".repeat(200),
        );
    }
    let page = change::view(&content, "/objectives/az-app/obj-a", change::Part::Beginning, ALL).into_string();
    assert!(page.len() < 100 * 1024, "{} bytes", page.len());
    assert!(page.contains("href=\"/objectives/az-app/obj-a?file=30#change\""));
    assert!(page.contains("500 files"));
    let alone = change::view(&content, "/x", change::Part::File(3), ALL).into_string();
    assert_eq!(alone.matches("<tr class=\"add\"").count(), 200);
    // One line of a megabyte is cut, and says so.
    let long = format!("diff --git a/f b/f\n@@ -0,0 +1 @@\n+{}\n", "x".repeat(1 << 20));
    let page = change::view(&long, "/x", change::Part::Beginning, ALL).into_string();
    assert!(page.len() < 10 * 1024 && page.contains("cut"), "{} bytes", page.len());
    // So are two that took each other's place, and neither is compared with the other.
    let half = "a,".repeat(1 << 18);
    let long = format!("diff --git a/f b/f\n@@ -1 +1 @@\n-{half}b,{half}\n+{half}c,{half}\n");
    let page = change::view(&long, "/x", change::Part::File(1), ALL).into_string();
    assert!(page.len() < 10 * 1024 && !page.contains("<mark>"), "{} bytes", page.len());
}

/// Why a store does not answer names hosts and paths: that is for the log.
#[test]
fn a_store_that_is_away_is_told_in_plain_words() {
    let page = frame::sorry(&PageError::Away("no route to db.internal:5432".to_owned())).main.into_string();
    assert!(page.contains("cannot be read now") && page.contains("azolla doctor"), "{page}");
    assert!(!page.contains("db.internal"), "{page}");
}

/// What is no change that can be taken apart is shown too, but not all of a megabyte.
#[test]
fn what_is_no_diff_is_shown_by_its_beginning() {
    let page = |content: &str| change::view(content, "/x", change::Part::Beginning, ALL).into_string();
    let huge = page(&"no diff\n".repeat(1 << 17));
    assert!(
        huge.len() < 100 * 1024 && huge.contains("The beginning alone is shown."),
        "{} bytes",
        huge.len()
    );
    let small = page("no diff\n");
    assert!(small.contains("no diff") && !small.contains("The beginning alone"), "{small}");
}

/// T17: what runs in CI is named first, whatever its place in the change.
#[test]
fn t17_protected_paths_come_first() {
    let file = |path: &str| format!("diff --git a/{path} b/{path}\n@@ -1 +1 @@\n-a\n+b\n");
    let content = [file("a.rs"), file(".github/workflows/ci.yml"), file("b.rs")].concat();
    let page = change::view(&content, "/x", change::Part::Beginning, ALL).into_string();
    let place = |path: &str| page.find(&format!(">{path}<")).unwrap();
    assert!(place(".github/workflows/ci.yml") < place("a.rs") && place("a.rs") < place("b.rs"));
    assert!(page.contains("runs in CI"));
    // Its number is that of the change: a link stays right.
    assert!(page.contains("id=\"file-2\""));
}

/// What is confirmed or sent back is the run whose change is shown, and nothing is where none is.
#[test]
fn s_j_a_page_confirms_the_run_whose_change_it_shows() {
    let session = Session::for_a_test();
    let latest = azolla_protocol::RunRecord { run_id: RunId::new("run-a-2").unwrap(), ..a_run("x") };
    let mut page = an_objective_page("x");
    page.runs = vec![latest, a_run("x")];
    let shown = objective::view(&page, &session).into_string();
    let runs = shown.matches("name=\"run\" value=\"run-a-1\"").count();
    assert_eq!((runs, shown.contains("name=\"run\" value=\"run-a-2\"")), (2, false), "{shown}");
    page.result.as_mut().unwrap().run = None;
    let shown = objective::view(&page, &session).into_string();
    assert!(!shown.contains("value=\"confirm\"") && !shown.contains("value=\"reject\""), "{shown}");
}

/// What a check did with the change stands beside what it did without it.
#[test]
fn criteria_stand_beside_the_evidence_of_both_trees() {
    let page = result::evidence("it rounds half up", &reviewed("rounding")).into_string();
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is missing in {page}"));
    assert!(place("it rounds half up") < place("With the change"));
    assert!(page.contains("exit 1, 5 ms") && page.contains("exit 0, 5 ms"));
    let run = a_run("x");
    assert_eq!((run.gate_result, run.work_order_id), (GateResult::Fail, WorkOrderId::new("wo-a-1").unwrap()));
}

#[test]
fn a_list_that_is_cut_says_so() {
    let page = &pages("x")["objectives"];
    assert!(page.contains("More is open in az-app than is listed here"), "{page}");
    assert!(page.contains("href=\"/objectives?show=all&amp;azolla=az-app\""), "{page}");
}
