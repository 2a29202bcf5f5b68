//! The operator's steps on candidates: promote, discard, defer, duplicate, and back (TF-8).

use serde_json::json;

use super::{assert_clean, called, candidates, capture, documents, exported, office};
use crate::world::World;

/// A home with one triage of three candidates: about the fence, the tyres and the letter.
fn three() -> World {
    let world = office();
    capture(&world, "- Paint the fence\n- Order new tyres\n- Answer the letter");
    world.azolla(&["triage", "--now"]).ok();
    assert_eq!(candidates(&world, &[]).len(), 3);
    world
}

fn outcome(world: &World, candidate: &str) -> Option<String> {
    let all = candidates(world, &["--all"]);
    let found = all.iter().find(|one| one["candidate"] == candidate).unwrap();
    found["resolution"]["outcome"].as_str().map(str::to_owned)
}

fn objectives(world: &World) -> Vec<serde_json::Value> {
    let all =
        world.azolla(&["objective", "list", "--all", "--azolla", "az-app", "--json"]).json("objectives");
    all.as_array().unwrap().clone()
}

#[test]
fn tf8_a_candidate_becomes_an_objective_once_and_only_its_id_is_printed() {
    let world = three();
    let (fence, letter) = (called(&world, "fence"), called(&world, "letter"));
    let promoted = world.azolla(&["triage", "promote", &fence]);
    assert!(
        promoted.stderr.starts_with("it is in az-app; next: azolla objective approve obj-"),
        "{}",
        promoted.stderr
    );
    let id = promoted.ok().trim_end().to_owned();
    let objective = world.azolla(&["objective", "show", &id, "--json"]).json("objective");
    let (output, _) = fence.split_once('/').unwrap();
    let origin = &objective["metadata"]["promoted_from"];
    assert_eq!((&origin["output_id"], &origin["candidate_index"]), (&json!(output), &json!(0)));
    assert_eq!(
        [&objective["status"], &objective["azolla_id"], &objective["title"]],
        ["NEW", "az-app", "Paint the fence"]
    );
    let told = world.azolla(&["triage", "promote", &fence]).refused(4);
    assert!(
        told.contains("is PROMOTED") && told.contains(&format!("hint: azolla objective show {id}")),
        "{told}"
    );
    // With other words, elsewhere in its order.
    let arguments = [
        "triage",
        "promote",
        &letter,
        "--title",
        "Reply to the bank",
        "--criteria",
        "-",
        "--urgency",
        "1",
        "--importance",
        "0",
        "--azolla",
        "az-app",
    ];
    let id = world.azolla_with(&world.path(""), &arguments, "It is sent.\n").ok();
    let objective = world.azolla(&["objective", "show", id.trim_end(), "--json"]).json("objective");
    let told = ["title", "acceptance_criteria", "urgency", "importance"].map(|key| objective[key].clone());
    assert_eq!(told, [json!("Reply to the bank"), json!("It is sent."), json!(1), json!(0)]);
    assert_eq!(objectives(&world).len(), 2);
    let listed = world.azolla(&["objective", "list"]).ok();
    assert!(listed.lines().all(|line| line.contains("  new, not approved  ")), "{listed}");
    assert_clean(&world);
}

#[test]
fn tf8_what_a_candidate_goes_to_has_to_be_there_and_take_work() {
    let world = three();
    let told = world.azolla(&["triage", "promote", "1", "--azolla", "az-nobody"]).refused(3);
    assert!(told.contains("configured: az-app, az-taskmgmt"), "{told}");
    let told = world.azolla(&["triage", "promote", "1", "--azolla", "az-taskmgmt"]).refused(2);
    assert!(told.contains("az-taskmgmt is a TASK_MGMT_AZOLLA"), "{told}");
    for title in [" ", "two\nlines"] {
        let told = world.azolla(&["triage", "promote", "1", "--title", title]).refused(2);
        assert!(told.contains("the title "), "{told}");
    }
    let told = world.azolla(&["triage", "promote", "1", "--urgency", "5"]).refused(2);
    assert!(told.contains("0..=4"), "{told}");
    assert_eq!((objectives(&world).len(), outcome(&world, &called(&world, "fence"))), (0, None));
    // Two repositories and no suggestion: the one of this directory, or a question.
    let other = world.repository("other");
    world.azolla_in(&other, &["init"]).ok();
    let told = world.azolla(&["triage", "promote", "1"]).refused(2);
    assert!(told.contains("add --azolla ID; configured: az-app, az-other"), "{told}");
    let id = world.azolla_in(&other, &["triage", "promote", "1"]).ok();
    let objective = world.azolla(&["objective", "show", id.trim_end(), "--json"]).json("objective");
    assert_eq!(objective["azolla_id"], "az-other");
    // A note that names its repository goes there by itself.
    capture(&world, "The README of other should say how to build it");
    world.azolla(&["triage", "--now"]).ok();
    let id = world.azolla(&["triage", "promote", &called(&world, "README")]).ok();
    let objective = world.azolla(&["objective", "show", id.trim_end(), "--json"]).json("objective");
    assert_eq!(objective["azolla_id"], "az-other");
}

#[test]
fn tf8_every_step_is_recorded_and_can_be_taken_back() {
    let world = three();
    let [fence, tyres, letter] = ["fence", "tyres", "letter"].map(|title| called(&world, title));
    let of = world.objective("Order tyres for the car", "they are ordered");
    let told = world.azolla(&["triage", "undo", &fence]).refused(4);
    assert!(told.contains("is open: there is nothing to undo"), "{told}");
    let told = world.azolla(&["triage", "discard", &fence]);
    assert!(
        told.stderr.contains("discarded: Paint the fence; to take it back: azolla triage undo out-"),
        "{}",
        told.stderr
    );
    world.azolla(&["triage", "duplicate", &tyres, &of[of.len() - 4..]]).ok();
    world.azolla(&["triage", "defer", &letter]).ok();
    let all = || [&fence, &tyres, &letter].map(|candidate| outcome(&world, candidate).unwrap());
    assert_eq!(all(), ["DISCARDED", "DUPLICATE", "DEFERRED"]);
    // Said twice is said once; something else is refused until it is taken back.
    world.azolla(&["triage", "discard", &fence]).ok();
    for step in
        [vec!["promote", &fence], vec!["defer", &fence], vec!["promote", &tyres], vec!["discard", &tyres]]
    {
        let told = world.azolla(&[vec!["triage"], step.clone()].concat()).refused(4);
        assert!(told.contains("hint: azolla triage undo out-"), "{step:?}: {told}");
    }
    let told = world.azolla(&["triage", "duplicate", &letter, "obj-nothing"]).refused(3);
    assert!(told.contains("there is no objective obj-nothing"), "{told}");
    world.azolla(&["triage", "undo", &fence]).ok();
    world.azolla(&["triage", "undo", &tyres]).ok();
    world.azolla(&["triage", "undo", &letter]).ok();
    let all = || [&fence, &tyres, &letter].map(|candidate| outcome(&world, candidate));
    assert_eq!(all(), [const { None }; 3], "each is open again");
    let id = world.azolla(&["triage", "promote", &fence]).ok().trim_end().to_owned();
    // Back, and forth again as the same objective, now in other words.
    world.azolla(&["triage", "undo", &fence]).ok();
    assert!(!world.azolla(&["objective", "list"]).ok().contains(&id));
    let told = world.azolla(&["triage", "undo", &fence]).refused(4);
    assert!(told.contains("is open") && told.contains("hint: azolla triage promote"), "{told}");
    assert!(world.azolla(&["triage"]).ok().contains("Paint the fence"), "it is listed again");
    world.azolla(&["triage", "promote", &fence, "--title", "two\nlines"]).refused(2);
    assert!(!world.azolla(&["objective", "list"]).ok().contains(&id), "refused, it brings nothing back");
    let again = world.azolla(&["triage", "promote", &fence, "--title", "Paint it green"]).ok();
    assert_eq!(again.trim_end(), id);
    let objective = world.azolla(&["objective", "show", &id, "--json"]).json("objective");
    assert_eq!(
        (&objective["title"], &objective["metadata"]["archived_at"]),
        (&json!("Paint it green"), &json!(null))
    );
    // Once it is approved it is work, and no longer a candidate.
    world.azolla(&["objective", "approve", &id]).ok();
    let told = world.azolla(&["triage", "undo", &fence]).refused(4);
    assert!(
        told.contains("is TODO; undo needs NEW")
            && told.contains(&format!("hint: azolla objective withdraw {id}")),
        "{told}"
    );
    let recorded = documents(&exported(&world, "az-taskmgmt"), "journal");
    let steps: Vec<_> = recorded
        .iter()
        .filter(|row| row["document"]["resource_type"] == "candidate_resolution")
        .map(|row| row["document"]["to_status"].as_str().unwrap_or("open").to_owned())
        .collect();
    let expected =
        ["DISCARDED", "DUPLICATE", "DEFERRED", "open", "open", "open", "PROMOTED", "open", "PROMOTED"];
    assert_eq!(steps, expected);
    assert_clean(&world);
}

#[test]
fn tf8_a_candidate_is_named_by_its_number_or_any_unique_part() {
    let world = three();
    let whole = called(&world, "tyres");
    let (output, number) = whole.split_once('/').unwrap();
    let body = output.strip_prefix("out-").unwrap();
    let parts = [
        format!("{output}/{number}"),
        format!("{body}/{number}"),
        format!("{}/{number}", &body[..9]),
        format!("{}/{number}", &body[body.len() - 4..]),
        number.to_owned(),
    ];
    for part in &parts {
        world.azolla(&["triage", "discard", part]).ok();
        assert_eq!(outcome(&world, &whole).as_deref(), Some("DISCARDED"), "{part}");
        world.azolla(&["triage", "undo", part]).ok();
    }
    // A second triage: the number alone says too little.
    capture(&world, "- Call the plumber\n- Sell the bike");
    world.azolla(&["triage", "--now"]).ok();
    let told = world.azolla(&["triage", "discard", "1"]).refused(2);
    assert!(told.contains("1 is a part of 2 ids") && told.contains("Paint the fence"), "{told}");
    assert!(told.contains("Call the plumber") && told.ends_with("hint: type more of it\n"), "{told}");
    // Of what is settled and what is open, the open one is meant.
    world.azolla(&["triage", "discard", &called(&world, "plumber")]).ok();
    world.azolla(&["triage", "discard", "1"]).ok();
    assert_eq!(outcome(&world, &called(&world, "fence")).as_deref(), Some("DISCARDED"));
    for (garbage, code) in [
        ("0", 2),
        ("-1", 2),
        ("x", 2),
        ("", 2),
        ("1/", 2),
        ("/1", 2),
        ("out-x/0", 2),
        ("../1", 2),
        ("$(id)/1", 2),
        ("18446744073709551616", 2),
        ("OUT-1/1", 2),
        ("99", 3),
        ("out-nothing/1", 3),
        ("18446744073709551615", 3),
    ] {
        let told = world.azolla(&["triage", "promote", "--", garbage]);
        assert_eq!((told.code, told.stdout.as_str()), (code, ""), "{garbage:?}: {}", told.stderr);
    }
    let told = world.azolla(&["triage", "promote", "99"]).refused(3);
    assert!(told.ends_with("hint: azolla triage --all\n"), "{told}");
    assert_eq!(objectives(&world).len(), 0);
}

#[test]
fn tf8_promoted_at_once_by_two_it_is_one_objective() {
    let world = three();
    let fence = called(&world, "fence");
    let answers = std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| world.azolla(&["triage", "promote", &fence])));
        both.map(|one| one.join().unwrap())
    });
    let made: Vec<_> = answers.iter().filter(|answer| answer.code == 0).collect();
    assert!(!made.is_empty(), "{answers:?}");
    assert!(answers.iter().all(|answer| matches!(answer.code, 0 | 4 | 75)), "{answers:?}");
    let all = objectives(&world);
    assert_eq!(all.len(), 1);
    assert_eq!((&all[0]["metadata"]["archived_at"], &all[0]["status"]), (&json!(null), &json!("NEW")));
    assert!(made.iter().all(|answer| answer.stdout.trim_end() == all[0]["objective_id"]), "{answers:?}");
    assert_eq!(outcome(&world, &fence).as_deref(), Some("PROMOTED"));
    assert_clean(&world);
}
