//! Notifications, as a command of the operator's gets them from the real program.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, sync::mpsc, time::Duration};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use crate::{server::Server, world::World};

/// A worker whose every change is another one.
const WORKER: &str = "date +%s%N > a.txt";

/// A world whose notifications are kept, one document per line.
fn world(worker: &str) -> World {
    let world = World::with_worker(worker);
    world.script("hook.sh", &format!("cat >> {}\n", world.path("told").display()));
    world.configure("[attention]\nreview_limit = 0\n[limits]\nattempts_max = 1");
    set(&world, "");
    world
}

/// Sets what stands in `[notify]` beside the command.
fn set(world: &World, more: &str) {
    unset(world);
    let hook = world.path("hook.sh");
    world.configure(&format!("[notify]\ncommand = [\"sh\", {hook:?}]\n{more}\n#end"));
}

/// Takes the section away.
fn unset(world: &World) {
    let all = fs::read_to_string(world.config()).unwrap();
    if let Some((before, rest)) = all.split_once("[notify]\ncommand") {
        let (_, after) = rest.split_once("#end").unwrap();
        fs::write(world.config(), format!("{before}{after}")).unwrap();
    }
}

fn run(world: &World) -> String {
    // Quiet hours are by local time, and that is the same wherever this runs.
    let answer = world.azolla_env(&["run", "--until-idle"], &[("TZ", "UTC")]);
    assert!(matches!(answer.code, 0 | 4 | 5), "{}", answer.stderr);
    answer.stderr
}

/// Makes and approves an objective whose title may look like an option.
pub(crate) fn named(world: &World, title: &str) -> String {
    let id = world.azolla(&["objective", "new", "--criteria", "it is done", "--", title]).ok();
    world.azolla(&["objective", "approve", id.trim_end()]).ok();
    id.trim_end().to_owned()
}

/// Every document that was sent so far.
fn told(world: &World) -> Vec<Value> {
    let text = fs::read_to_string(world.path("told")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The objectives that were told of so far, in the order of their ids.
fn objectives(world: &World) -> Vec<String> {
    let told = told(world);
    let notices = told.iter().flat_map(|document| document["notices"].as_array().unwrap());
    let mut ids: Vec<String> =
        notices.map(|notice| notice["objective_id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

#[test]
fn a_finished_result_is_told_of_once_also_after_a_restart() {
    let world = world(WORKER);
    let id = world.approved("Write the time");
    run(&world);
    let documents = told(&world);
    let [document] = &documents[..] else { panic!("{documents:?}") };
    let run_id = world.azolla(&["review", &id, "--json"]).json("review")["run_record"]["run_id"].clone();
    let key = format!("workorder:wo-{}", run_id.as_str().unwrap().trim_start_matches("run-"));
    for (field, value) in [
        ("kind", "finished"),
        ("azolla_id", "az-app"),
        ("objective_id", &id),
        ("title", "Write the time"),
        ("text", &format!("Review PR on azolla/{id}")),
        ("command", &format!("azolla review {id}")),
        ("pause_key", &key),
    ] {
        assert_eq!(document[field], value, "{document}");
    }
    run(&world);
    world.azolla(&["objective", "confirm", &id]).ok();
    run(&world);
    assert_eq!(told(&world).len(), 1);
}

#[test]
fn a_failed_gate_is_the_operators_move_and_a_retry_is_not() {
    let world = world("exit 1");
    let all = fs::read_to_string(world.config()).unwrap();
    fs::write(world.config(), all.replace("attempts_max = 1", "attempts_max = 2")).unwrap();
    let id = world.approved("Fail");
    run(&world);
    let documents = told(&world);
    assert_eq!(objectives(&world), [id.as_str()], "{documents:?}");
    assert_eq!(documents[0]["kind"], "your_move");
    assert!(documents[0]["command"].as_str().unwrap().starts_with("azolla "), "{documents:?}");
}

#[test]
fn what_was_there_before_the_first_start_is_not_told_of_and_what_came_since_the_last_one_is() {
    let world = world(WORKER);
    unset(&world);
    world.approved("Long ago");
    run(&world);
    set(&world, "");
    run(&world);
    assert_eq!(objectives(&world), <[String; 0]>::default());
    // Somebody else did the work while nothing followed it; one of the results has been answered since.
    unset(&world);
    let [answered, waiting] = ["Answered", "Waiting"].map(|title| world.approved(title));
    run(&world);
    world.azolla(&["objective", "confirm", &answered]).ok();
    set(&world, "");
    run(&world);
    assert_eq!(objectives(&world), [waiting]);
}

#[test]
fn candidates_are_the_operators_move_and_an_orientation_is_not_told_of() {
    let world = world(WORKER);
    world.azolla(&["capture", "Fix the login page, it times out"]).ok();
    run(&world);
    let documents = told(&world);
    assert_eq!(objectives(&world), ["obj-ctx-continuity"], "{documents:?}");
    assert_eq!(
        (&documents[0]["kind"], &documents[0]["command"]),
        (&"your_move".into(), &"azolla triage".into())
    );
    world.azolla(&["manifest"]).ok();
    run(&world);
    assert_eq!(told(&world).len(), 1);
}

/// `up` and `run` on one home, the same results: each is told of once.
#[test]
fn two_programs_tell_of_a_pause_once() {
    let world = world(WORKER);
    run(&world);
    let server = Server::start_with(&world, &["up", "--listen", "127.0.0.1:0"]);
    let mut all: Vec<String> = (0..4).map(|n| world.approved(&format!("Task {n}"))).collect();
    run(&world);
    run(&world);
    assert_eq!(server.end(), Some(0));
    // Whatever either of them left is found by the next.
    run(&world);
    all.sort();
    assert_eq!(objectives(&world), all);
}

#[test]
fn a_storm_is_a_few_notifications_and_nothing_of_it_is_lost() {
    let world = world(WORKER);
    let mut all: Vec<String> = (0..8).map(|n| world.approved(&format!("Task {n}"))).collect();
    run(&world);
    all.sort();
    assert_eq!(objectives(&world), all);
    assert!(told(&world).len() <= 4, "{:?}", told(&world));
    let several = told(&world).into_iter().find(|document| document["count"] != 1).unwrap();
    assert_eq!((&several["kind"], &several["command"]), (&"finished".into(), &"azolla".into()));
}

#[test]
fn quiet_hours_hold_everything_back_for_one_sum_afterwards() {
    let world = world(WORKER);
    // All day but one minute, which is twelve hours away.
    let now = azolla_minute();
    let clock = |minute: u64| format!("{:02}:{:02}", minute % 1440 / 60, minute % 60);
    set(&world, &format!("quiet = \"{}-{}\"", clock(now + 721), clock(now + 720)));
    let [answered, one, two] = ["Answered", "One", "Two"].map(|title| world.approved(title));
    run(&world);
    run(&world);
    assert_eq!(told(&world).len(), 0);
    let doctor = world.azolla(&["doctor"]).stdout;
    assert!(doctor.contains("local time; held back now: 3"), "{doctor}");
    world.azolla(&["objective", "confirm", &answered]).ok();
    // That one minute alone.
    set(&world, &format!("quiet = \"{}-{}\"", clock(now + 720), clock(now + 721)));
    run(&world);
    let documents = told(&world);
    assert_eq!((documents.len(), &documents[0]["count"]), (1, &2.into()), "{documents:?}");
    let mut expected = [one, two];
    expected.sort();
    assert_eq!(objectives(&world), expected);
    run(&world);
    assert_eq!(told(&world).len(), 1);
}

/// The minute of the day, in UTC.
#[expect(clippy::disallowed_methods, reason = "quiet hours are about the real time of day")]
fn azolla_minute() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    now.as_secs() / 60 % 1440
}

#[test]
fn a_hook_that_fails_stops_nothing_and_the_doctor_tells_of_it() {
    let world = world(WORKER);
    world.script("hook.sh", "echo 'no such room' >&2; exit 7");
    let id = world.approved("Write the time");
    let stderr = run(&world);
    assert_eq!(stderr.matches("a notification was not sent (command): ").count(), 1, "{stderr}");
    assert!(stderr.contains("ended with exit code 7: no such room"), "{stderr}");
    let shown = world.azolla(&["objective", "show", &id, "--json"]).json("objective");
    assert_eq!(shown["status"], "DONE");
    let doctor = world.azolla(&["doctor"]);
    assert_eq!(doctor.code, 0, "work goes on without it");
    assert!(doctor.stdout.contains("attention  notify by command"), "{}", doctor.stdout);
    assert!(doctor.stdout.contains("no such room"), "{}", doctor.stdout);
    // It was claimed: sent at most once, not again when the hook works.
    world.script("hook.sh", &format!("cat >> {}\n", world.path("told").display()));
    world.approved("Once more");
    run(&world);
    assert_eq!(told(&world).len(), 1);
    let doctor = world.azolla(&["doctor"]).stdout;
    assert!(doctor.contains("ok         notify by command"), "{doctor}");
}

#[test]
fn a_missing_hook_is_a_remark() {
    let world = World::with_worker(WORKER);
    world.configure("[notify]\ncommand = [\"no-such-notifier\"]");
    world.approved("Write the time");
    let answer = world.azolla(&["run", "--until-idle"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(answer.stderr.contains("no-such-notifier was not found on PATH"), "{}", answer.stderr);
}

/// A hook that never ends: the work goes on beside it. And who is killed while it sends has sent it: at most once.
#[test]
fn a_hook_that_hangs_holds_no_work_up_and_a_kill_in_between_tells_nobody_twice() {
    let world = world(WORKER);
    let pipe = world.path("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let hang = format!("cat > {}\nexec /bin/sleep 1000\n", pipe.display());
    world.script("hook.sh", &hang);
    run(&world);
    let server = Server::start_with(&world, &["up", "--listen", "127.0.0.1:0"]);
    let first = world.approved("First");
    let document: Value = serde_json::from_str(&from(pipe)).unwrap();
    assert_eq!(document["objective_id"], first.as_str());
    // The hook hangs now, and the next result comes about all the same.
    let second = world.approved("Second");
    let status =
        || world.azolla(&["objective", "show", &second, "--json"]).json("objective")["status"].clone();
    let begun = std::time::Instant::now();
    while status() != "DONE" {
        assert!(begun.elapsed() < Duration::from_secs(120));
    }
    // Killed, not ended.
    drop(server);
    world.script("hook.sh", &format!("cat >> {}\n", world.path("told").display()));
    run(&world);
    assert_eq!(objectives(&world), [second]);
}

/// Returns what somebody writes to a pipe.
fn from(pipe: PathBuf) -> String {
    let (said, hear) = mpsc::channel();
    std::thread::spawn(move || said.send(fs::read_to_string(pipe).unwrap()));
    hear.recv_timeout(Duration::from_secs(120)).expect("it is written in time")
}

/// T29: a hook sees what it takes to reach a desktop, and nothing else of the environment. T22: nor does a title reach the
/// desktop as anything but text.
#[test]
fn t22_t29_a_desktop_and_a_hook_get_plain_text_and_no_secret() {
    let world = world(WORKER);
    let seen = world.path("seen");
    world.script("hook.sh", &format!("env > {}\n", seen.display()));
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let script = format!(
        "#!/bin/sh\nfor word; do printf '[%s]' \"$word\"; done > {}\n",
        world.path("shown").display()
    );
    fs::write(bin.join("notify-send"), script).unwrap();
    fs::set_permissions(bin.join("notify-send"), fs::Permissions::from_mode(0o755)).unwrap();
    let id = named(&world, "--urgency=critical <b>bold</b> \u{1b}]0;x\u{7}");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let variables = [
        ("PATH", path.as_str()),
        ("DISPLAY", ":7"),
        ("ANTHROPIC_API_KEY", "canary"),
        ("AZOLLA_SECRET", "canary"),
    ];
    world.azolla_env(&["run", "--until-idle"], &variables).ok();
    let seen = fs::read_to_string(seen).unwrap();
    assert!(seen.contains("DISPLAY=:7\n") && !seen.contains("canary") && !seen.contains("AZOLLA"), "{seen}");
    let shown = fs::read_to_string(world.path("shown")).unwrap();
    assert_eq!(
        shown,
        format!(
            "[--app-name=azolla][--][Finished: --urgency=critical ‹b›bold‹/b› \u{fffd}]0;x\u{fffd}]\
             [Review PR on azolla/{id}\nazolla review {id}]"
        )
    );
}
