//! Every act by form: what it does in the store, and that it is refused in the words of the command line.

use serde_json::{Value, json};

use super::visitor::Visitor;
use crate::{server::Server, world::World};

/// A worker that adds a line.
const ADDS_A_LINE: &str = "cat > /dev/null; echo two >> a.txt\n";

fn objective(world: &World, id: &str) -> Value {
    world.azolla(&["objective", "show", id, "--json"]).json("objective")
}

fn status(world: &World, id: &str) -> String {
    objective(world, id)["status"].as_str().unwrap().to_owned()
}

/// The latest run of an objective, as a page of it knows it.
fn run(world: &World, id: &str) -> String {
    let review = world.azolla(&["review", id, "--json"]).json("review");
    review["run_record"]["run_id"].as_str().unwrap().to_owned()
}

/// What the command line says to a command that is refused.
#[track_caller]
fn told(world: &World, code: i32, arguments: &[&str]) -> String {
    let told = world.azolla(arguments).refused(code);
    told.strip_prefix("error: ").unwrap_or_else(|| panic!("{told}")).to_owned()
}

#[test]
fn an_objective_goes_from_new_to_confirmed_by_forms() {
    let world = World::with_worker(ADDS_A_LINE);
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let new = [
        ("azolla", "az-app"),
        ("title", "Add a line"),
        ("criteria", "it is there\n- twice"),
        ("urgency", "1"),
    ];
    let said = operator.done("new", &new);
    let id = said.split_once(": it is in az-app; next: azolla objective approve obj-").unwrap().0.to_owned();
    let made = objective(&world, &id);
    assert_eq!(
        (&made["title"], &made["acceptance_criteria"], &made["urgency"], &made["importance"]),
        (&json!("Add a line"), &json!("it is there\n- twice"), &json!(1), &json!(2))
    );
    let on = |more: &[(&'static str, &'static str)]| -> Vec<(&'static str, String)> {
        let own = [("azolla", "az-app".to_owned()), ("objective", id.clone())];
        own.into_iter().chain(more.iter().map(|(name, value)| (*name, (*value).to_owned()))).collect()
    };
    let done = |act: &str, more: &[(&'static str, &'static str)]| {
        let mut fields = on(more);
        if ["edit", "approve", "unblock"].contains(&act) {
            fields.push(("version", operator.version("az-app", &id)));
        }
        operator.done(act, &fields.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>())
    };
    // Said as the page has it, with its line ends: nothing is different.
    let same = [
        ("title", "Add a line"),
        ("criteria", "it is there\n- twice"),
        ("base", "main"),
        ("importance", "2"),
        ("urgency", "1"),
    ];
    assert_eq!(done("approve", &[]), format!("{id} is approved; next: azolla run --until-idle"));
    assert_eq!(done("edit", &same), format!("nothing about {id} is different"));
    assert_eq!(status(&world, &id), "TODO", "the approval stands");
    assert_eq!(done("withdraw", &[]), format!("the approval of {id} is withdrawn"));
    assert_eq!(status(&world, &id), "NEW");
    assert_eq!(done("edit", &[("title", "Add one line")]), format!("{id} is changed"));
    assert_eq!(objective(&world, &id)["title"], "Add one line");
    assert_eq!(
        done("block", &[("reason", "waits for Kim"), ("kind", "EXTERNAL_SYSTEM")]),
        format!("{id} is blocked; to go on: azolla objective unblock {id}")
    );
    let blocked = objective(&world, &id);
    assert_eq!(
        (&blocked["status"], &blocked["blocked_on"][0]["kind"]),
        (&json!("BLOCKED"), &json!("EXTERNAL_SYSTEM"))
    );
    assert_eq!(done("unblock", &[]), format!("{id} goes on; next: azolla run --until-idle"));
    assert_eq!(
        done("edit", &[("criteria", "it is there once")]),
        format!("its approval is withdrawn; next: azolla objective approve {id}")
    );
    done("approve", &[]);
    world.azolla(&["run", "--until-idle"]).ok();
    let first = run(&world, &id);
    let reject =
        [("azolla", "az-app"), ("objective", &*id), ("run", &*first), ("feedback", "one more\nline")];
    assert_eq!(
        operator.done("reject", &reject),
        format!("{id} goes back to work, with your feedback; next: azolla run --until-idle")
    );
    assert_eq!(objective(&world, &id)["metadata"]["feedback"][0]["text"], "one more\nline");
    world.azolla(&["run", "--until-idle"]).ok();
    let second = run(&world, &id);
    assert_ne!(first, second);
    // What was seen is what is confirmed.
    let stale = [("azolla", "az-app"), ("objective", &*id), ("run", &*first)];
    assert_eq!(
        operator.refused("confirm", 409, &stale),
        told(&world, 4, &["objective", "confirm", &id, "--run", &first])
    );
    assert_eq!(operator.refused("confirm", 400, &stale[..2]), "run is needed\n");
    let seen = [("azolla", "az-app"), ("objective", &*id), ("run", &*second)];
    assert_eq!(operator.done("confirm", &seen), format!("{id} is confirmed; its branch is azolla/{id}"));
    assert_eq!(objective(&world, &id)["metadata"]["completion"]["run_id"], second);
    // Final, in every way, in the same words.
    for (act, command) in [
        ("archive", vec!["objective", "archive"]),
        ("approve", vec!["objective", "approve"]),
        ("retry", vec!["objective", "retry"]),
        ("cancel", vec!["objective", "cancel"]),
        ("withdraw", vec!["objective", "withdraw"]),
        ("unblock", vec!["objective", "unblock"]),
    ] {
        let command = [&command[..], &[&*id]].concat();
        let form = [seen[0], seen[1], ("version", "1")];
        assert_eq!(operator.refused(act, 409, &form), told(&world, 4, &command), "{act}");
    }
    assert_eq!(world.azolla(&["verify", "--json"]).json("findings"), json!([]));
}

#[test]
fn what_failed_is_tried_again_archived_and_brought_back_by_forms() {
    let world = World::with_worker("cat > /dev/null; exit 3\n");
    let id = world.approved("Add a line");
    world.azolla(&["run", "--until-idle"]);
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let own = [("azolla", "az-app"), ("objective", &*id)];
    assert_eq!(status(&world, &id), "BLOCKED");
    let version = operator.version("az-app", &id);
    let seen = ("version", &*version);
    let budget = |ms: &'static str| [own[0], own[1], seen, ("budget_ms", ms)];
    assert_eq!(
        operator.refused("retry", 400, &budget("0")),
        told(&world, 2, &["objective", "retry", &id, "--budget-ms", "0"])
    );
    assert!(operator.refused("retry", 400, &budget("soon")).starts_with("budget_ms: "));
    assert_eq!(
        operator.done("retry", &budget("60000")),
        format!("{id} runs again; next: azolla run --until-idle")
    );
    assert_eq!(objective(&world, &id)["metadata"]["budget_ms"], 60_000);
    assert_eq!(operator.refused("cancel", 409, &own), told(&world, 4, &["objective", "cancel", &id]));
    assert_eq!(
        operator.done("archive", &own),
        format!("{id} is archived; to bring it back: azolla objective unarchive {id}")
    );
    assert_eq!(
        operator.refused("approve", 409, &[own[0], own[1], seen]),
        told(&world, 4, &["objective", "approve", &id])
    );
    assert_eq!(operator.done("unarchive", &own), format!("{id} is back"));
    assert_eq!(operator.refused("unarchive", 409, &own), told(&world, 4, &["objective", "unarchive", &id]));
    let days = [own[0], own[1], ("days", "14")];
    assert!(operator.done("snooze", &days).starts_with(&format!("{id} is left alone until ")));
    let until = |day: &'static str| [own[0], own[1], ("until", day)];
    assert_eq!(
        operator.refused("snooze", 400, &until("tomorrow")),
        "tomorrow is no day\nhint: a day is written like 2026-12-24\n"
    );
    assert_eq!(
        operator.refused("snooze", 409, &until("2000-01-01")),
        told(&world, 4, &["snooze", &id, "--until", "2000-01-01"])
    );
    assert_eq!(operator.refused("snooze", 400, &[own[0], own[1], ("days", "0")]), "0 is not in 1..=3650\n");
}

/// That the run then ends is the runner's, and tested with it.
#[test]
fn sm_a_run_is_asked_to_stop_by_a_form() {
    let world = World::with_worker("cat > /dev/null; sleep 600\n");
    let server = Server::start_with(&world, &["up", "--listen", "127.0.0.1:0"]);
    let operator = Visitor::operator(&world, &server);
    let id = world.approved("Wait");
    let own = [("azolla", "az-app"), ("objective", &*id)];
    while status(&world, &id) != "IN_PROGRESS" {}
    let said = operator.done("cancel", &[own[0], own[1], ("reason", "enough")]);
    assert_eq!(said, "it stops at its next sign of life, then waits for you");
    let cancel = objective(&world, &id)["metadata"]["cancel"].clone();
    assert_eq!((&cancel["reason"], &cancel["requested_by"]), (&json!("enough"), &json!("tester")));
    assert!(operator.refused("archive", 409, &own).starts_with(&format!("objective {id} is IN_PROGRESS")));
}

#[test]
fn what_a_value_has_to_be_is_said_in_the_same_words() {
    let world = World::with_worker("true");
    let id = world.objective("Round", "it rounds");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let own = [("azolla", "az-app"), ("objective", &*id)];
    let long = "t".repeat(501);
    // What helps is said for a page: there are no flags on it.
    let on_a_page = "hint: the rest goes into the criteria, under \"Done when\"\n";
    let said = |told: String| told.replace("hint: the rest goes into --criteria\n", on_a_page);
    let too_long = said(told(&world, 2, &["objective", "new", &long]));
    assert!(too_long.ends_with(on_a_page), "{too_long}");
    // What cannot be seen is nothing (T18, T22).
    for (title, said) in
        [("", "the title is empty\n"), ("\u{200b}\u{feff}", "the title is empty\n"), (&*long, &*too_long)]
    {
        let new = [("azolla", "az-app"), ("title", title), ("criteria", "c")];
        assert_eq!(operator.refused("new", 400, &new), said);
    }
    let version = operator.version("az-app", &id);
    let seen = ("version", &*version);
    let lines = [own[0], own[1], seen, ("title", "a\nb")];
    assert_eq!(
        operator.refused("edit", 400, &lines),
        said(told(&world, 2, &["objective", "edit", &id, "--title", "a\nb"]))
    );
    let base = [own[0], own[1], seen, ("base", "--force")];
    assert_eq!(
        operator.refused("edit", 400, &base),
        told(&world, 2, &["objective", "edit", &id, "--base=--force"])
    );
    assert_eq!(
        operator.refused("edit", 400, &[own[0], own[1], ("urgency", "9")]),
        "urgency: 9 is not in 0..=4\n"
    );
    assert_eq!(operator.refused("edit", 400, &[own[0], own[1], ("title", "Other")]), "version is needed\n");
    for act in ["approve", "retry", "unblock"] {
        assert_eq!(operator.refused(act, 400, &own), "version is needed\n", "{act}");
    }
    assert_eq!(
        operator.refused("block", 400, &[own[0], own[1], ("reason", " ")]),
        told(&world, 2, &["objective", "block", &id, "--reason", " "])
    );
    assert!(
        operator
            .refused("block", 400, &[own[0], own[1], ("reason", "r"), ("kind", "WEATHER")])
            .starts_with("kind: ")
    );
    assert_eq!(
        operator.refused("approve", 404, &[own[0], ("objective", "obj-none")]),
        "there is no objective obj-none in az-app\nhint: azolla objective list --all\n"
    );
    assert_eq!(
        operator.refused("approve", 404, &[("azolla", "az-none"), own[1]]),
        told(&world, 3, &["objective", "approve", &id, "--azolla", "az-none"])
    );
    for odd in ["--force", "$(id)", "..", "obj-a/../b", "OBJ-1"] {
        assert!(
            operator.refused("approve", 400, &[own[0], ("objective", odd)]).starts_with("objective: "),
            "{odd}"
        );
    }
    let run = [own[0], own[1], ("run", "run-1-1"), ("feedback", "no")];
    assert_eq!(
        operator.refused("reject", 409, &run),
        told(&world, 4, &["objective", "reject", &id, "--run", "run-1-1", "--feedback", "no"])
    );
    assert_eq!(status(&world, &id), "NEW");
}

#[test]
fn a_note_becomes_work_by_forms() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let note = "- Paint the fence\n- Order new tyres\n- Answer the letter\n- Call the plumber";
    let said = operator.done("capture", &[("text", note)]);
    assert!(
        said.starts_with("cap-")
            && said.ends_with(": the note is kept; what comes of it: azolla triage --now"),
        "{said}"
    );
    let stored = world.azolla(&["triage", "captures", "--json"]).json("captures")[0]["capture"].clone();
    assert_eq!((&stored["raw_content"], &stored["source_label"]), (&json!(note), &json!("dashboard")));
    assert_eq!(
        operator.refused("capture", 409, &[("text", " \u{200b}\n")]),
        "a note cannot be empty\nhint: azolla capture TEXT\n"
    );
    assert_eq!(
        operator.refused("capture", 400, &[("text", "x"), ("azolla", "az-app")]),
        told(&world, 2, &["capture", "x", "--azolla", "az-app"])
    );
    world.azolla(&["triage", "--now"]).ok();
    let candidates = world.azolla(&["triage", "--json"]).json("triage")["candidates"].clone();
    let called = |title: &str| {
        let mut all = candidates.as_array().unwrap().iter();
        let found =
            all.find(|candidate| candidate["content"]["title"].as_str().unwrap().contains(title)).unwrap();
        found["candidate"].as_str().unwrap().to_owned()
    };
    let (fence, tyres, letter, plumber) =
        (called("fence"), called("tyres"), called("letter"), called("plumber"));
    let on = |candidate: &str| [("azolla", "az-taskmgmt".to_owned()), ("candidate", candidate.to_owned())];
    let act = |act: &str, candidate: &str, more: &[(&'static str, &str)]| {
        let own = on(candidate);
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        operator.done(act, &own.chain(more.iter().copied()).collect::<Vec<_>>())
    };
    let said = act("promote", &fence, &[("title", "Paint it green"), ("urgency", "0"), ("target", "az-app")]);
    let id = said.split_once(": it is in az-app; next: ").unwrap().0.to_owned();
    let made = objective(&world, &id);
    assert_eq!((&made["title"], &made["urgency"]), (&json!("Paint it green"), &json!(0)));
    assert_eq!(
        act("discard", &tyres, &[]),
        format!("discarded: Order new tyres; to take it back: azolla triage undo {tyres}")
    );
    assert_eq!(
        act("undo", &tyres, &[]),
        format!("undone: Order new tyres; next: azolla triage promote {tyres}")
    );
    assert_eq!(act("defer", &letter, &[]), "deferred: Answer the letter; listed by: azolla triage --all");
    assert_eq!(
        act("duplicate", &plumber, &[("objective", &id)]),
        format!("a duplicate of {id}: Call the plumber; to take it back: azolla triage undo {plumber}")
    );
    let all = world.azolla(&["triage", "--all", "--json"]).json("triage")["candidates"].clone();
    let outcomes: Vec<_> = [&fence, &tyres, &letter, &plumber]
        .map(|id| all.as_array().unwrap().iter().find(|one| one["candidate"] == **id).unwrap()["resolution"]["outcome"].clone())
        .into();
    assert_eq!(json!(outcomes), json!(["PROMOTED", null, "DEFERRED", "DUPLICATE"]));
    // Refused in the same words.
    for (name, candidate, status, command) in [
        ("discard", &*fence, 409, vec!["triage", "discard", &fence]),
        ("undo", &tyres, 409, vec!["triage", "undo", &tyres]),
        ("defer", "out-none/1", 404, vec!["triage", "defer", "out-none/1"]),
    ] {
        let own = on(candidate);
        let own: Vec<_> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let code = if status == 404 { 3 } else { 4 };
        assert_eq!(operator.refused(name, status, &own), told(&world, code, &command), "{name}");
    }
    assert_eq!(
        operator.refused("triage_retry", 404, &[("capture", "cap-none")]),
        told(&world, 3, &["triage", "retry", "cap-none"])
    );
    assert_eq!(operator.done("triage_retry", &[]), "no note was given up");
    assert_eq!(
        operator.done("manifest", &[("azolla", "az-taskmgmt")]),
        "orientation is asked for; to see it: azolla manifest --last"
    );
    let again = operator.done("manifest", &[]);
    assert_eq!(
        again,
        "orientation was asked for before, and is still to come; to see it: azolla manifest --last"
    );
    assert_eq!(world.azolla(&["verify", "--json"]).json("findings"), json!([]));
}

#[test]
fn s4_a_note_that_needed_nothing_is_shown_with_why_and_triaged_again() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let said = operator.done("capture", &[("text", "Thanks a lot!")]);
    let id = said.split_once(": ").unwrap().0.to_owned();
    world.azolla(&["triage", "--now"]).ok();
    let page = operator.get("/notes").body;
    assert!(page.contains("Needed nothing") && page.contains("It thanks or agrees, and asks for nothing."));
    assert!(page.contains(&format!("name=\"capture\" value=\"{id}\"")), "{page}");
    let said = operator.done("triage_retry", &[("azolla", "az-taskmgmt"), ("capture", &id)]);
    assert_eq!(said, format!("{id} is stored once more as {id}-again; next: azolla triage --now"));
}

/// Which azolla does the work is not a matter of where the server was started.
#[test]
fn a_page_has_no_directory() {
    let world = World::with_worker("true");
    let other = world.repository("other");
    world.azolla_in(&other, &["init"]).ok();
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let new = [("title", "Which"), ("criteria", "c")];
    let said = operator.refused("new", 400, &new);
    assert_eq!(said, "there is more than one azolla\nhint: name the azolla; configured: az-app, az-other\n");
    assert!(
        operator
            .done("new", &[new[0], new[1], ("azolla", "az-other")])
            .contains(": it is in az-other; next: ")
    );
}
