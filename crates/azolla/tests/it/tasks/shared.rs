//! Several machines on one PostgreSQL store: two homes, two `azolla up`, one azolla for work and one for notes (C-1, C-6,
//! W-5, S-4).

use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, Instant},
};

use azolla_testkit::postgres::{TestDatabase, fresh_database};
use serde_json::Value;

use super::{candidates, captures, documents, exported, pending};
use crate::{
    kills::Trap,
    server::Server,
    world::{World, git},
};

const WORKER: &str = "cat > /dev/null; echo two >> a.txt\n";

/// Two homes on one store: `near` has the repository, `far` reaches it too.
struct Pair {
    near: World,
    far: World,
    // Dropped last: the stores are in it.
    _database: TestDatabase,
}

impl Pair {
    /// `worker` works at the first of them, which does one thing at a time.
    fn new(worker: &str) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let database = runtime.block_on(fresh_database()).unwrap();
        let near = World::new();
        let app = near.repository("app");
        let far = World::new();
        for (world, worker, at_once) in [(&near, worker, 1), (&far, WORKER, 3)] {
            let script = world.script("worker.sh", worker);
            fs::create_dir(world.home()).unwrap();
            let config = format!(
                "[azolla.az-taskmgmt]\ntype = \"TASK_MGMT_AZOLLA\"\nstore = {url:?}\n\n\
                 [azolla.az-app]\ntype = \"CODE_PATCH_AZOLLA\"\nrepo = {app:?}\nbase_branch = \"main\"\n\
                 store = {url:?}\nmax_concurrent = {at_once}\nprovider = \"worker\"\n\n\
                 [provider.worker]\nkind = \"command\"\nargv = [\"sh\", {script:?}]\n\n\
                 [limits]\nlease_ms = 30000\ntriage_batch = 2\n\n[attention]\nreview_limit = 0\n\n[sandbox]\nmode = \"off\"\n",
                url = database.url(),
            );
            fs::write(world.config(), config).unwrap();
            world.azolla(&["init"]).ok();
        }
        Self { near, far, _database: database }
    }

    /// Starts a machine with all roles.
    fn up<'a>(&self, world: &'a World) -> Server<'a> {
        Server::start_with(world, &["up", "--listen", "127.0.0.1:0"])
    }

    /// Waits until nothing is left to do.
    fn until_done(&self) {
        let begun = Instant::now();
        let is_open = |objective: &Value| objective["status"] != "DONE";
        let all =
            || self.far.azolla(&["objective", "list", "--azolla", "az-app", "--json"]).json("objectives");
        while all().as_array().unwrap().iter().any(is_open) || pending(&self.far).0 > 0 {
            assert!(begun.elapsed() < Duration::from_secs(180), "{:#}\n{}", all(), self.far.log());
        }
    }
}

/// How many runs of each kind every process has executed, by the owner's id.
fn executed(exported: &str) -> BTreeMap<String, usize> {
    let mut owners = BTreeMap::new();
    for row in documents(exported, "journal") {
        let row = &row["document"];
        if row["step"] == "EXECUTE" {
            *owners.entry(row["owner_id"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    owners
}

fn count(exported: &str, kind: &str) -> usize {
    documents(exported, kind).len()
}

/// C-6, W-5: one of two machines is killed in the middle of its work; the other finishes all of it, once.
#[test]
fn c6_w5_two_machines_share_the_work_and_one_may_die() {
    let trap_world = World::new();
    let trap = Trap::new(&trap_world);
    // The first run at the first machine goes through; at the second it stands still.
    let first = trap_world.path("first");
    let stands = format!("if ! mkdir {} 2> /dev/null; then\n{}fi\n{WORKER}", first.display(), trap.script());
    let pair = Pair::new(&stands);
    let mut ids = Vec::new();
    let objective = |world: &World, number: usize| {
        let title = format!("Add line {number}");
        let created =
            world.azolla(&["objective", "new", &title, "--criteria", "c", "--azolla", "az-app"]).ok();
        world.azolla(&["objective", "approve", created.trim_end()]).ok();
        created.trim_end().to_owned()
    };
    for number in 0..4 {
        let world = if number % 2 == 0 { &pair.near } else { &pair.far };
        ids.push(objective(world, number));
        super::capture(world, &format!("Order {number} new tyres"));
    }
    let near = pair.up(&pair.near);
    trap.wait();
    // It has done one and holds another. The second machine does what it can reach, beside it.
    let far = pair.up(&pair.far);
    let begun = Instant::now();
    while executed(&exported(&pair.far, "az-app")).len() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(120), "{}", pair.far.log());
    }
    // SIGKILL.
    drop(near);
    for number in 4..6 {
        ids.push(objective(&pair.far, number));
        super::capture(&pair.far, &format!("Paint fence {number}"));
    }
    pair.until_done();
    // The first one comes back, and both go on.
    pair.near.script("worker.sh", WORKER);
    let near = pair.up(&pair.near);
    for number in 6..10 {
        ids.push(objective(&pair.near, number));
        super::capture(&pair.far, &format!("Call person {number}"));
    }
    pair.until_done();
    assert_eq!((near.end(), far.end()), (Some(0), Some(0)));
    everything_once(&pair, &ids);
}

fn everything_once(pair: &Pair, ids: &[String]) {
    let app = exported(&pair.near, "az-app");
    assert_eq!(app, exported(&pair.far, "az-app"), "both see one store");
    for kind in ["objective", "workorder", "output_bundle", "run_record", "pause_state"] {
        assert_eq!(count(&app, kind), ids.len(), "{kind}");
    }
    let owners = executed(&app);
    assert!(owners.len() >= 2, "more than one process did some of it: {owners:?}");
    assert_eq!(owners.values().sum::<usize>(), ids.len(), "{owners:?}");
    for id in ids {
        let branch = format!("azolla/{id}:a.txt");
        assert_eq!(git(&pair.near.path("app"), &["show", &branch]), "one\ntwo\n");
    }
    let notes = exported(&pair.far, "az-taskmgmt");
    assert_eq!((captures(&pair.near).len(), pending(&pair.near)), (ids.len(), (0, 0)));
    let runs = count(&notes, "run_record");
    assert_eq!((count(&notes, "workorder"), count(&notes, "output_bundle")), (runs, runs));
    // Each note is in one candidate.
    let mut named: Vec<Value> = Vec::new();
    for candidate in candidates(&pair.near, &["--all"]) {
        named.extend(candidate["content"]["capture_ids"].as_array().unwrap().iter().cloned());
    }
    assert_eq!(named.len(), ids.len());
    named.sort_by_key(Value::to_string);
    named.dedup();
    assert_eq!(named.len(), ids.len());
    for world in [&pair.near, &pair.far] {
        assert_eq!(world.azolla(&["verify", "--git", "--json"]).json("findings"), serde_json::json!([]));
    }
}

/// A command is over with its commit; the machine that works hears of it all the same, and does not wait for its next
/// look half a minute later.
#[test]
fn a_command_on_one_machine_wakes_the_other_at_once() {
    let pair = Pair::new(WORKER);
    let far = pair.up(&pair.far);
    for title in ["Add a line", "Add another"] {
        pair.near.approved(title);
        super::capture(&pair.near, "Order new tyres");
        let begun = Instant::now();
        pair.until_done();
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }
    assert_eq!(far.end(), Some(0));
}

/// Roles are split over machines: one schedules, the other runs and judges. Neither gets there alone.
#[test]
fn w3_roles_split_over_two_machines_do_the_work_together() {
    let pair = Pair::new(WORKER);
    let id = pair.near.approved("Add a line");
    let note = super::capture(&pair.far, "Order new tyres");
    let schedules = ["up", "--roles", "readiness,capture-readiness,scheduler,manifest-scheduler"];
    let near = Server::start_with(&pair.near, &schedules);
    assert!(near.said.contains("az-app runs readiness, scheduler\n"), "{}", near.said);
    assert!(
        near.said.contains("az-taskmgmt runs capture-readiness, scheduler, manifest-scheduler\n"),
        "{}",
        near.said
    );
    let far = Server::start_with(&pair.far, &["up", "--roles", "runner,gate"]);
    assert!(far.said.contains("az-taskmgmt runs runner, gate\n"), "{}", far.said);
    pair.until_done();
    let owners = |exported: &str| -> Vec<(String, String)> {
        let rows = documents(exported, "journal");
        let mut owners: Vec<_> = rows
            .iter()
            .filter(|row| row["document"]["owner_id"].is_string())
            .map(|row| {
                let text = |key: &str| row["document"][key].as_str().unwrap().to_owned();
                (text("actor"), text("owner_id"))
            })
            .collect();
        owners.sort();
        owners.dedup();
        owners
    };
    for azolla in ["az-app", "az-taskmgmt"] {
        let exported = exported(&pair.near, azolla);
        let owners = owners(&exported);
        let [gate, runner, scheduler] = &owners[..] else { panic!("{azolla}: {owners:?}") };
        assert_eq!([&gate.0, &runner.0, &scheduler.0], ["GATE", "RUNNER", "SCHEDULER"], "{azolla}");
        assert!(gate.1 == runner.1 && runner.1 != scheduler.1, "{azolla}: {owners:?}");
    }
    assert_eq!((near.end(), far.end()), (Some(0), Some(0)));
    assert_eq!(git(&pair.near.path("app"), &["show", &format!("azolla/{id}:a.txt")]), "one\ntwo\n");
    assert_eq!(candidates(&pair.near, &[])[0]["content"]["capture_ids"], serde_json::json!([note]));
    for world in [&pair.near, &pair.far] {
        assert_eq!(world.azolla(&["verify", "--git", "--json"]).json("findings"), serde_json::json!([]));
    }
}
