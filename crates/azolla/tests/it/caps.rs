//! Caps and quotas, as the operator meets them: what waits says so, with until when and what helps.

use std::fs;

use rusqlite::Connection;
use serde_json::json;

use crate::world::World;

const WORKER: &str = "cat > /dev/null; echo more >> a.txt\n";

#[test]
fn o2_every_cap_is_printed_with_what_is_used_of_it_today() {
    let world = World::with_worker(WORKER);
    world.configure("[caps]\nday_usd = 7.5\nday_runs = 9");
    world.approved("First");
    world.azolla(&["run", "--until-idle"]).ok();
    let all = world.azolla(&["limits", "--json"]).json("limits");
    let of = |name: &str| all.as_array().unwrap().iter().find(|limit| limit["name"] == name).unwrap().clone();
    assert_eq!(
        of("day_runs"),
        json!({"name": "day_runs", "unit": "count", "value": 9, "default": 0, "minimum": 0,
               "maximum": 1_000_000, "used_today": 1})
    );
    let (usd, run) = (of("day_usd"), of("run_usd"));
    assert_eq!(
        (&usd["value"], &usd["unit"], &usd["used_today"]),
        (&7_500_000.into(), &"microusd".into(), &0.into())
    );
    assert_eq!((&run["value"], run.get("used_today")), (&2_000_000.into(), None));
    let page = world.azolla(&["limits"]).ok();
    for line in [
        "cap                                holds     default  used today  unit\n",
        "run_usd                            $2.00       $2.00              USD\n",
        "day_usd                            $7.50      $20.00       $0.00  USD\n",
        "day_runs                               9        none           1  count\n",
        "no price is configured for provider sh, so caps on money cannot hold for it\n",
    ] {
        assert!(page.contains(line), "{line}in:\n{page}");
    }
}

#[test]
fn a_cap_of_the_day_holds_the_next_run_back_until_midnight_or_until_it_is_raised() {
    let world = World::with_worker(WORKER);
    world.configure("[caps]\nday_runs = 1");
    world.approved("First");
    world.approved("Second");
    let reason = "the cap of 1 run for one day is reached: 1 run used ([caps] day_runs)";
    let ran = world.azolla(&["run", "--until-idle"]);
    assert_eq!(ran.code, 6, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("passed: First\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("waits: az-app until ") && ran.stdout.contains(reason), "{}", ran.stdout);
    // Again, nothing is claimed and nothing changes.
    let again = world.azolla(&["run", "--until-idle"]);
    assert_eq!(again.code, 6);
    assert!(again.stdout.starts_with("waits: az-app until "), "{}", again.stdout);
    let page = world.azolla(&[]).ok();
    let (held, today) = (format!("00:00:00 UTC: {reason}\n"), "\n\nToday: 1 of 1 run\n");
    assert!(page.contains("  az-app: 1 ready to run, held back until 20") && page.contains(&held), "{page}");
    let action =
        format!("     to go on before that, raise day_runs under [caps] in {}\n", world.config().display());
    assert!(page.contains(&action) && page.ends_with(today), "{page}");
    let spending = world.azolla(&["--json"]).json("resume")["spending"].clone();
    assert_eq!(spending["today"]["runs"], 1);
    let held =
        spending["held"].as_array().unwrap().iter().find(|held| held["azolla_id"] == "az-app").unwrap();
    assert_eq!((&held["cap"], &held["reason"]), (&"day_runs".into(), &reason.into()));
    let raised = fs::read_to_string(world.config()).unwrap().replace("day_runs = 1", "day_runs = 2");
    fs::write(world.config(), raised).unwrap();
    let ran = world.azolla(&["run", "--until-idle"]).ok();
    assert!(ran.starts_with("passed: Second\n"), "{ran}");
}

#[test]
fn a_worker_that_asked_for_time_is_left_alone_until_the_operator_says_now() {
    let world = World::with_worker(WORKER);
    world.approved("First");
    world.azolla(&[]).ok();
    let home = Connection::open(world.home().join("home.sqlite")).unwrap();
    let hold = "INSERT INTO hold VALUES ('sh', '', 0, strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+1 hour'), '429: no quota')";
    home.execute_batch(hold).unwrap();
    let ran = world.azolla(&["run", "--until-idle"]);
    assert_eq!(ran.code, 75, "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.starts_with("waits: az-app until ") && ran.stdout.contains("429: no quota"),
        "{}",
        ran.stdout
    );
    let page = world.azolla(&[]).ok();
    assert!(page.contains(" UTC, worker sh asks for time: 429: no quota\n"), "{page}");
    assert!(page.contains("     azolla run --until-idle --now\n"), "{page}");
    let ran = world.azolla(&["run", "--until-idle", "--now"]).ok();
    assert!(ran.starts_with("passed: First\n"), "{ran}");
}

#[test]
fn a_cap_of_an_objective_blocks_it_with_the_cap_to_raise() {
    let world = World::with_worker("cat > /dev/null\n");
    world.configure("[caps]\nobjective_runs = 1");
    let id = world.approved("First");
    let ran = world.azolla(&["run", "--until-idle"]);
    assert_eq!(ran.code, 6, "{}{}", ran.stdout, ran.stderr);
    let shown = world.azolla(&["objective", "show", &id]).ok();
    assert!(
        shown.contains("the cap of 1 run for one objective is reached: 1 run used ([caps] objective_runs)"),
        "{shown}"
    );
    let page = world.azolla(&[]).ok();
    assert!(
        page.contains("Raise objective_runs in [caps]")
            && page.contains(&format!("azolla objective retry {id}\n")),
        "{page}"
    );
    // Raised, it goes on.
    let raised =
        fs::read_to_string(world.config()).unwrap().replace("objective_runs = 1", "objective_runs = 0");
    fs::write(world.config(), raised).unwrap();
    fs::write(world.path("worker.sh"), WORKER).unwrap();
    world.azolla(&["objective", "retry", &id]).ok();
    assert!(world.azolla(&["run", "--until-idle"]).ok().starts_with("passed: First\n"));
}

#[test]
fn an_account_that_cannot_be_used_lets_nothing_run() {
    let world = World::with_worker(WORKER);
    world.approved("First");
    for file in ["home.sqlite", "home.sqlite-wal", "home.sqlite-shm"] {
        let _ = fs::remove_file(world.home().join(file));
    }
    // Nothing can be written to a directory, whoever asks.
    fs::create_dir(world.home().join("home.sqlite")).unwrap();
    let ran = world.azolla(&["run", "--until-idle"]);
    assert_eq!(ran.code, 75, "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.contains("home.sqlite cannot be used") && ran.stdout.contains("azolla doctor"),
        "{}",
        ran.stdout
    );
    fs::remove_dir(world.home().join("home.sqlite")).unwrap();
    assert!(world.azolla(&["run", "--until-idle"]).ok().starts_with("passed: First\n"));
}

/// Nothing that is spent could be put on record, and that may pass.
#[test]
fn o2_an_account_that_can_only_be_read_is_temporary_for_a_run_and_for_a_replay() {
    let world = World::with_worker(WORKER);
    let id = world.approved("First");
    world.azolla(&["run", "--until-idle"]).ok();
    world.approved("Second");
    let home = Connection::open(world.home().join("home.sqlite")).unwrap();
    home.execute_batch("CREATE TRIGGER full BEFORE INSERT ON run BEGIN SELECT RAISE(ABORT, 'no room'); END")
        .unwrap();
    let reason = "the account of what is spent cannot be used: home.sqlite cannot be used: no room";
    let ran = world.azolla(&["run", "--until-idle"]);
    assert_eq!(ran.code, 75, "{}{}", ran.stdout, ran.stderr);
    let told = format!("waits: az-app: {reason}\n  See what is wrong with it: azolla doctor\n");
    assert!(ran.stdout.ends_with(&told), "{}", ran.stdout);
    let replayed = world.azolla(&["replay", &id, "--provider", "sh"]).refused(75);
    let told = format!("error: {reason}\nhint: see what is wrong with it: azolla doctor\n");
    assert!(replayed.ends_with(&told), "{replayed}");
    home.execute_batch("DROP TRIGGER full").unwrap();
    assert!(world.azolla(&["run", "--until-idle"]).ok().starts_with("passed: Second\n"));
}
