//! The whole way without any model: fifty notes, triage, one promoted, approved, patched by a command, confirmed, and
//! explained from the note to the commit.

use std::fs;

use serde_json::Value;

use super::{assert_clean, called, candidates, captures, documents, exported, pending};
use crate::world::{World, git};

/// Notes as one takes them in a week.
const NOTES: [&str; 50] = [
    "a.txt in app should end with a line that says two, so that the parser finds its end",
    "call the dentist before Friday",
    "- renew the passport\n- book the train to Leeds\n- tell Kim about both",
    "the standup is at 9:15 from now on",
    "why does the import take 40 s on Mondays? look at the cron job first",
    "URGENT: the backup disk is at 97 %",
    "read the paper on CRDTs that Ana sent",
    "app: the README must say which git version is needed",
    "gift for Jo, something with plants",
    "expense report for October, due 2026-11-30",
    "buy milk",
    "idea: a dark theme for the status page, later",
    "[ ] rotate the deploy key\n[ ] write down where it is\n[x] ask Sam who has it",
    "Traceback (most recent call last):\n  File \"app.py\", line 3, in <module>\nKeyError: 'user'",
    "the login form should not lose the name after a wrong password",
    "ask the landlord about the boiler",
    "https://example.com/a-good-article-about-queues",
    "meeting with Ops went well, nothing to do",
    "we must answer the auditors by next Wednesday",
    "flaky test: test_sync_two_clients, fails about one time in ten",
    "order new tyres",
    "Order new tires!",
    "the tyres, again",
    "cancel the old phone contract so that it does not renew",
    "quarterly numbers: Max needs them in the sheet, not by mail",
    "pay the invoice of the printer, 84.20",
    "think about the talk for March",
    "upgrade postgres on staging to 17",
    "maybe move the docs to the wiki?",
    "app/src is a mess, split util into parts",
    "dinner with the team on the 12th, need a table for 9",
    "logs should rotate daily; expect 14 files at most",
    "delete the three stale branches in app",
    "Müller GmbH fragt nach dem Angebot, bis Ende des Monats",
    "🌱 water the plants on Tuesdays and Fridays",
    "retry logic: back off, do not hammer the API",
    "the CI cache is never hit since the runner changed",
    "write to HR about the parental leave form",
    "bike: rear brake, front light",
    "as a user I expect the export to keep my column order",
    "move the meeting with Lee to the afternoon",
    "the alert for disk space should fire at 85 %, not 95",
    "1. measure\n2. change one thing\n3. measure again",
    "lost: blue folder, probably at the office",
    "someday: learn to bake bread",
    "check whether the certificate of the test server is still valid",
    "Re: Re: contract\n> we need a decision\nyes, decide by Thursday",
    "typo on the start page, \"recieve\"",
    "no action: the outage yesterday was the provider's",
    "clean up the desk",
];

#[test]
fn a3_a4_fifty_notes_become_one_commit_and_every_step_is_on_record() {
    let world = World::with_worker("cat > /dev/null; echo two >> a.txt\n");
    world.configure("[attention]\nreview_limit = 0");
    for note in NOTES {
        world.azolla_with(&world.path(""), &["capture"], note).ok();
    }
    world.azolla(&["run", "--until-idle"]).ok();
    assert_eq!(pending(&world), (0, 0));
    let open = candidates(&world, &[]);
    assert!(open.len() >= 30, "{}", open.len());
    let tasks = exported(&world, "az-taskmgmt");
    assert_eq!(documents(&tasks, "workorder").len(), 3, "batches of twenty");
    // One of them becomes work.
    let candidate = called(&world, "a.txt");
    let suggested = open.iter().find(|one| one["candidate"] == candidate.as_str()).unwrap();
    assert_eq!(suggested["content"]["suggested_azolla_id"], "az-app");
    let id = world.azolla(&["triage", "promote", &candidate]).ok().trim_end().to_owned();
    world.azolla(&["objective", "approve", &id]).ok();
    let ran = world.azolla(&["run", "--until-idle"]).ok();
    assert!(ran.contains("passed: "), "{ran}");
    world.azolla(&["objective", "confirm", &id]).ok();
    let app = world.path("app");
    assert_eq!(git(&app, &["show", &format!("azolla/{id}:a.txt")]), "one\ntwo\n");
    let commit = git(&app, &["rev-parse", &format!("azolla/{id}")]);
    // From the commit back to the note, in one look.
    let body = id.strip_prefix("obj-").unwrap();
    let note = captures(&world)[0]["capture"]["capture_id"].as_str().unwrap().to_owned();
    let page = world.azolla(&["explain", &id]).ok();
    for part in [
        note.clone(),
        candidate.clone(),
        id.clone(),
        format!("snap-{body}-1"),
        format!("wo-{body}-1"),
        format!("out-{body}-1"),
        format!("run-{body}-1"),
        commit.trim_end().to_owned(),
        "PROMOTED".to_owned(),
        "RUN_COMPLETE".to_owned(),
    ] {
        assert!(page.contains(&part), "{part} is missing: {page}");
    }
    assert!(page.contains(NOTES[0].split(',').next().unwrap()), "{page}");
    let data = world.azolla(&["explain", &id, "--json"]).json("explanation");
    let origin = &data["origin"];
    assert_eq!(
        (&origin["captures"][0]["raw_content"], &origin["captures"][0]["capture_id"]),
        (&NOTES[0].into(), &note.into())
    );
    for part in ["output_bundle", "run_record", "candidate", "resolution"] {
        assert!(origin[part].is_object(), "{part}: {origin}");
    }
    let cycle = &data["cycles"][0];
    for part in [
        "event",
        "objective_as_asked",
        "context_snapshot",
        "workorder",
        "output_bundle",
        "run_record",
        "gate_evidence",
        "pause_state",
    ] {
        assert!(cycle[part].is_object(), "{part}: {cycle}");
    }
    assert_eq!(cycle["run_record"]["commit_sha"], commit.trim_end());
    assert_eq!(data["objective"]["metadata"]["completion"]["run_id"], format!("run-{body}-1"));
    assert_clean(&world);
    assert!(world.azolla(&["verify", "--git", "--azolla", "az-app"]).ok().contains("Everything holds."));
    same_after_import(&world);
}

/// what is exported and imported is the same, byte for byte, and holds what it held.
fn same_after_import(world: &World) {
    let tasks = exported(world, "az-taskmgmt");
    let (file, store) = (world.path("tasks.jsonl"), world.path("copy.sqlite"));
    fs::write(&file, &tasks).unwrap();
    let [file, store] = [&file, &store].map(|path| path.to_str().unwrap());
    world.azolla(&["import", "--store", store, file]).ok();
    assert_eq!(world.azolla(&["export", "--store", store]).ok(), tasks);
    assert_eq!(world.azolla(&["verify", "--store", store]).ok(), "Everything holds.\n");
    let kept: Vec<Value> = documents(&tasks, "capture_buffer");
    assert_eq!(kept.len(), NOTES.len());
}

/// A run of triage is explained too, by its whole id and by what its pause_state names.
#[test]
fn a4_a_triage_is_explained_by_its_run() {
    let world = super::office();
    super::capture(&world, "meeting with Ops went well, nothing to do");
    world.azolla(&["run", "--until-idle"]).ok();
    let runs = documents(&exported(&world, "az-taskmgmt"), "run_record");
    let run = runs[0]["document"]["run_id"].as_str().unwrap();
    let page = world.azolla(&["explain", run]).ok();
    assert!(page.contains("builtin") && page.contains("PASS"), "{page}");
    let told = world.azolla(&["explain", "obj-ctx-continuity"]).ok();
    assert!(told.contains(run), "{told}");
    let unrun = world.objective("Described by hand", "c");
    let told = world.azolla(&["explain", &unrun]).refused(4);
    assert!(told.contains("has not run yet"), "{told}");
}
