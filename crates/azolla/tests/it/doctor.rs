//! `azolla doctor`: what is wrong is named with what helps.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::Stdio,
};

use serde_json::Value;

use crate::{
    model_server::{Kind, Reply, Server},
    world::{World, git},
};

#[test]
fn a_home_in_order_is_told_with_every_path() {
    let world = World::with_worker("true\n");
    let shown = world.azolla(&["doctor"]).ok();
    assert!(shown.contains("\nEverything works. ") && !shown.contains("broken"), "{shown}");
    let paths = [
        "home/config.toml",
        "home/home.sqlite",
        "azollas/az-app.sqlite",
        "mirrors/az-app.git",
        "/app, main at ",
        // Nobody knows what it costs.
        "do: set most_usd of [provider.sh]",
    ];
    for path in paths {
        assert!(shown.contains(path), "{path}: {shown}");
    }
}

#[test]
fn each_thing_that_is_wrong_has_its_fix_and_the_exit_code_is_one() {
    let world = World::new();
    let unset = world.azolla(&["doctor"]);
    assert_eq!((unset.code, unset.stdout.contains("do: azolla init")), (1, true), "{}", unset.stdout);
    let app = world.repository("app");
    world.azolla_in(&app, &["init", "--provider-command", "no-such-agent"]).ok();
    world.configure(
        "[provider.odd]\nkind = \"command\"\nargv = [\"sh\", \"{nothing}\"]\nenv = [\"NO_SUCH_KEY\"]",
    );
    fs::rename(&app, world.path("moved")).unwrap();
    fs::remove_file(world.home().join("azollas/az-taskmgmt.sqlite")).unwrap();
    let answer = world.azolla(&["doctor", "--json"]);
    assert_eq!(answer.code, 1, "{}", answer.stderr);
    let document: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    let wrong: Vec<_> = document["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|line| line["level"] == "broken")
        .map(|line| (line["what"].as_str().unwrap(), !line["fix"].as_str().unwrap().is_empty()))
        .collect();
    let expected = [
        ("az-app repository", true),
        ("az-taskmgmt store", true),
        ("worker no-such-agent", true),
        ("worker odd", true),
    ];
    assert_eq!(wrong, expected);
}

#[test]
fn t35_a_home_that_is_open_to_others_is_told_too() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.azolla(&["init"]).ok();
    fs::set_permissions(world.home(), fs::Permissions::from_mode(0o777)).unwrap();
    let answer = world.azolla(&["doctor"]);
    assert_eq!(answer.code, 1);
    assert!(
        answer.stdout.contains("can be written by others") && answer.stdout.contains("do: chmod go-w"),
        "{}",
        answer.stdout
    );
}

/// An agent takes whichever of its variables is set, or a login: that the others are not there is not wrong.
#[test]
fn one_variable_or_one_login_is_enough_for_an_agent() {
    let world = World::new();
    let app = world.repository("app");
    world.azolla_in(&app, &["init", "--provider-command", "sh"]).ok();
    let worker = |env: &str, home_files: &str| {
        let text = fs::read_to_string(world.config()).unwrap();
        let kept = text.split("[provider.known]").next().unwrap().trim_end().to_owned();
        let section = "[provider.known]\nkind = \"command\"\nargv = [\"sh\"]\n";
        fs::write(world.config(), format!("{kept}\n\n{section}env = {env}\nhome_files = {home_files}\n"))
            .unwrap();
        let answer = world.azolla(&["doctor", "--json"]);
        let document: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
        let lines = document["data"].as_array().unwrap().iter();
        let lines = lines.filter(|line| line["what"] == "login of known");
        let lines: Vec<_> =
            lines.map(|line| (line["state"].as_str().unwrap().to_owned(), line["ok"] == true)).collect();
        (answer.code, lines)
    };
    let seen = worker("[\"NO_SUCH_KEY\", \"PATH_OF_NOTHING\", \"AZOLLA_HOME\"]", "[\".no/such/login\"]");
    assert_eq!(seen, (0, vec![("sees AZOLLA_HOME".to_owned(), true)]));
    let none = worker("[\"NO_SUCH_KEY\"]", "[\".no/such/login\"]");
    let told = "NO_SUCH_KEY is not set, and .no/such/login is not in your home directory".to_owned();
    assert_eq!(none, (1, vec![(told, false)]));
    assert_eq!(worker("[]", "[]"), (0, vec![]), "it asks for nothing");
}

#[test]
fn a_probe_that_takes_long_keeps_no_other_from_being_told() {
    let (slow, quick) = (Server::start(vec![Reply::Silence]), Server::start(vec![Kind::OpenAi.says("OK")]));
    let world = World::with_provider("a-slow", &slow.section("a-slow", Kind::OpenAi, ""));
    world.configure(&quick.section("b-quick", Kind::OpenAi, ""));
    let mut command = world.command(&world.path(""), &["doctor", "--probe"]);
    let mut child = command.env("AZOLLA_HOME", world.home()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut told = Vec::new();
    while !told.last().is_some_and(|line: &String| line.contains("probe of")) {
        told.push(lines.next().expect("one of them answers"));
    }
    slow.until_asked(1);
    child.kill().unwrap();
    child.wait().unwrap();
    let last = told.last().unwrap();
    assert!(last.contains("probe of b-quick") && last.contains("m-1 answered after"), "{told:?}");
    assert!(
        told.iter().any(|line| line.contains("worker a-slow")),
        "what needs no answer came first: {told:?}"
    );
}

/// Each of them ends only once the other is there.
#[test]
fn all_are_probed_side_by_side_and_json_is_one_document_in_the_order_of_the_configuration() {
    let world = World::with_worker("true\n");
    for (name, other) in [("one", "two"), ("two", "one")] {
        let meet = format!(
            "cat > /dev/null; touch {0}/{name}; until test -e {0}/{other}; do :; done; echo met",
            world.path("").display()
        );
        let script = world.script(&format!("{name}.sh"), &meet);
        world.configure(&format!(
            "[provider.{name}]\nkind = \"command\"\nargv = [\"sh\", {script:?}]\nsandbox = \"off\""
        ));
    }
    let lines = world.azolla(&["doctor", "--probe", "--json"]).json("doctor");
    let probed = lines
        .as_array()
        .unwrap()
        .iter()
        .filter(|line| line["what"].as_str().unwrap().starts_with("probe of"));
    let probed: Vec<_> =
        probed.map(|line| (line["what"].as_str().unwrap(), line["state"].as_str().unwrap())).collect();
    assert_eq!(
        probed,
        [
            ("probe of one", "it said: met"),
            ("probe of sh", "it ran and ended well"),
            ("probe of two", "it said: met")
        ]
    );
}

/// What a line of the doctor's says: its level, what was found, what to do.
fn line(world: &World, what: &str, variables: &[(&str, &str)]) -> (String, String, String) {
    of(&world.azolla_env(&["doctor", "--json"], variables).stdout, what)
}

fn of(printed: &str, what: &str) -> (String, String, String) {
    let document: Value = serde_json::from_str(printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
    let lines = document["data"].as_array().unwrap();
    let found =
        lines.iter().find(|line| line["what"] == what).unwrap_or_else(|| panic!("{what}: {document:#}"));
    let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
    for line in lines {
        assert_eq!(line["fix"].is_null(), line["level"] == "ok", "what is not ok says what to do: {line}");
    }
    (text("level"), text("state"), text("fix"))
}

/// A directory of programs, for a PATH without anything else.
fn programs(world: &World, scripts: &[(&str, &str)]) -> String {
    use std::os::unix::fs::PermissionsExt;
    let folder = world.path("programs");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    for (name, lines) in scripts {
        fs::write(folder.join(name), format!("#!/bin/sh\n{lines}\n")).unwrap();
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder.display().to_string()
}

#[test]
fn first_day_without_git_or_with_an_old_one() {
    let world = World::with_worker("true\n");
    let (level, state, fix) = line(&world, "git", &[("PATH", &programs(&world, &[]))]);
    assert_eq!((level.as_str(), state.as_str()), ("broken", "git was not found on PATH"));
    assert!(fix.contains("install git") || fix.contains("git"), "{fix}");
    let old = programs(&world, &[("git", "echo git version 2.25.1")]);
    let (level, state, fix) = line(&world, "git", &[("PATH", &old)]);
    assert!(
        level == "broken" && state.contains("2.25.1") && state.contains("2.39 or newer is needed"),
        "{state}"
    );
    assert!(fix.ends_with(" git"), "{fix}");
    let odd = programs(&world, &[("git", "exit 3")]);
    assert_eq!(line(&world, "git", &[("PATH", &odd)]).0, "broken");
}

#[test]
fn first_day_without_a_configuration_or_with_a_slip_in_it() {
    let world = World::new();
    let (level, state, fix) = line(&world, "configuration", &[]);
    assert_eq!((level.as_str(), fix.as_str()), ("broken", "azolla init"), "{state}");
    world.azolla(&["init"]).ok();
    world.configure("[attention]\nreveiw_limit = 3");
    let (level, state, fix) = line(&world, "configuration", &[]);
    assert!(level == "broken" && state.contains("did you mean `review_limit`?"), "{state}");
    assert_eq!(fix, format!("\"${{EDITOR:-vi}}\" {}", world.config().display()));
    let shown = world.azolla(&["doctor"]).stdout;
    assert!(shown.contains("^^^^^^^^^^^^ did you mean"), "{shown}");
}

#[test]
fn first_day_without_a_worker() {
    let world = World::new();
    let app = world.repository("app");
    world.azolla_in(&app, &["init"]).ok();
    let git = std::env::var("PATH").unwrap();
    let bare = programs(&world, &[("git", &format!("PATH={git} exec git \"$@\""))]);
    let (level, state, fix) = line(&world, "az-app worker", &[("PATH", &bare)]);
    assert_eq!((level.as_str(), state.as_str()), ("broken", "az-app has nobody to do the work"));
    assert!(fix.starts_with("azolla init --provider-command"), "{fix}");
    let agent = programs(&world, &[("git", &format!("PATH={git} exec git \"$@\"")), ("codex", "exit 0")]);
    let (_, _, fix) = line(&world, "az-app worker", &[("PATH", &agent)]);
    assert_eq!(fix, format!("cd {} && azolla init --agent codex", app.display()));
}

#[test]
fn first_day_with_a_key_that_is_not_set_and_a_program_that_is_not_there() {
    let section = "[provider.model]\nkind = \"openai\"\nmodel = \"m\"\nkey_env = \"NO_SUCH_KEY_HERE\"";
    let world = World::with_provider("model", section);
    let (level, state, fix) = line(&world, "worker model", &[]);
    assert_eq!((level.as_str(), state.as_str()), ("broken", "NO_SUCH_KEY_HERE is not set"));
    assert_eq!(fix, "export NO_SUCH_KEY_HERE=…");
    assert_eq!(line(&world, "worker model", &[("NO_SUCH_KEY_HERE", "k")]).0, "ok");
    world.configure("[provider.gone]\nkind = \"command\"\nargv = [\"no-such-agent\"]");
    let (level, state, fix) = line(&world, "worker gone", &[]);
    assert_eq!((level.as_str(), state.as_str()), ("broken", "no-such-agent was not found on PATH"));
    assert_eq!(fix, "install no-such-agent, or correct argv of [provider.gone]");
}

#[test]
fn first_day_with_a_store_of_a_newer_version_or_a_server_that_is_down() {
    let world = World::with_worker("true\n");
    let path = world.home().join("azollas/az-app.sqlite");
    let store = rusqlite::Connection::open(&path).unwrap();
    store.pragma_update(None, "user_version", 99).unwrap();
    drop(store);
    let (level, state, fix) = line(&world, "az-app store", &[]);
    assert!(level == "broken" && state.contains("99"), "{state}");
    assert_eq!(fix, "install the newer azolla that wrote it");
    world.configure(
        "[azolla.az-shared]\ntype = \"TASK_MGMT_AZOLLA\"\nstore = \"postgres://nobody@127.0.0.1:1/x\"",
    );
    let (level, state, fix) = line(&world, "az-shared store", &[]);
    assert!(level == "broken" && !state.is_empty(), "{state}");
    assert!(fix.contains("start the server"), "{fix}");
}

/// Runs the program in a room of bubblewrap's with these words of its.
fn in_a_room(world: &World, room: &[&str], script: &str) -> String {
    #[expect(clippy::disallowed_methods, reason = "a machine that is not as it should be")]
    let mut command = std::process::Command::new("bwrap");
    command.args(["--dev-bind", "/", "/"]).args(room).args(["sh", "-c", script]);
    command.env("AZOLLA", env!("CARGO_BIN_EXE_azolla")).env("AZOLLA_HOME", world.home()).stdin(Stdio::null());
    let output = command.output().unwrap_or_else(|error| panic!("bwrap is needed (scripts/check): {error}"));
    assert!(!output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn first_day_with_a_home_that_cannot_be_written() {
    let world = World::with_worker("true\n");
    let home = world.home().display().to_string();
    let printed = in_a_room(&world, &["--ro-bind", &home, &home], "\"$AZOLLA\" doctor --json");
    let (level, state, fix) = of(&printed, "home store");
    assert!(level == "broken" && !state.is_empty() && fix.contains("home.sqlite"), "{state}: {fix}");
}

#[test]
fn first_day_with_hardly_any_room_on_the_disk() {
    let world = World::new();
    fs::create_dir(world.home()).unwrap();
    let home = world.home().display().to_string();
    let room = ["--size", "20000000", "--perms", "0700", "--tmpfs", &home];
    let script = "\"$AZOLLA\" init >&2 && \"$AZOLLA\" doctor --json";
    let (level, state, fix) = of(&in_a_room(&world, &room, script), "disk");
    assert!(level == "broken" && state.contains("too little"), "{state}");
    assert!(fix.starts_with("make room; what is large: du -sh "), "{fix}");
}

#[test]
fn first_day_without_a_sandbox() {
    let world = World::with_worker("true\n");
    let missing = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];
    let hidden = missing.iter().filter(|path| fs::symlink_metadata(path).is_ok_and(|found| found.is_file()));
    let room: Vec<_> = hidden.flat_map(|path| ["--ro-bind", "/dev/null", path]).collect();
    let ask = "\"$AZOLLA\" doctor --json";
    let (level, state, fix) = of(&in_a_room(&world, &room, ask), "sandbox");
    assert!(level == "attention" && state.starts_with("best-effort: "), "{state}");
    assert!(fix.ends_with(" bubblewrap"), "{fix}");
    world.configure("[sandbox]\nmode = \"required\"");
    let (level, _, fix) = of(&in_a_room(&world, &room, ask), "sandbox");
    assert_eq!(level, "broken");
    assert!(fix.ends_with("or set mode of [sandbox] to best-effort"), "{fix}");
}

#[test]
fn first_day_with_a_port_in_use_by_another_program_or_by_us() {
    let world = World::with_worker("true\n");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    world.configure(&format!("[http]\nlisten = \"{address}\""));
    // It takes the connection and says nothing of ours.
    let other = std::thread::spawn(move || drop(listener.accept()));
    let (level, state, fix) = line(&world, "http port", &[]);
    other.join().unwrap();
    assert_eq!((level.as_str(), state), ("attention", format!("another program listens at {address}")));
    assert!(fix.starts_with("azolla up --listen 127.0.0.1:0"), "{fix}");
    let mut up = world.command(&world.path(""), &["up", "--roles", "http"]);
    let mut up =
        up.env("AZOLLA_HOME", world.home()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Where it listens is told once it does, on one of both.
    let mut told = BufReader::new(up.stdout.take().unwrap()).lines();
    let told = told.find(|line| line.as_ref().is_ok_and(|line| line.contains("listens at")));
    let (level, state, _) = line(&world, "http port", &[]);
    up.kill().unwrap();
    up.wait().unwrap();
    assert!(told.is_some() && level == "ok" && state.contains("by azolla up"), "{told:?}: {state}");
}

#[test]
fn what_needs_attention_is_no_failure_and_says_what_to_do() {
    let world = World::with_worker("true\n");
    let (level, state, fix) = line(&world, "az-app checks", &[]);
    assert_eq!(level, "attention");
    assert!(
        state.contains("passes without being tried") && fix.contains("[azolla.az-app]"),
        "{state}: {fix}"
    );
    let shown = world.azolla(&["doctor"]);
    assert_eq!(shown.code, 0, "{}", shown.stdout);
    assert!(shown.stdout.contains("attention  az-app checks"), "{}", shown.stdout);
}

#[test]
fn repair_removes_what_killed_runs_left_and_nothing_that_is_in_use() {
    let world = World::with_worker("echo more >> a.txt");
    world.approved("Add a line");
    world.azolla(&["run", "--until-idle"]).ok();
    let (mirror, state) = (world.home().join("mirrors/az-app.git"), world.home().join("state"));
    let worktree = world.home().join("worktrees/az-app/wo-9-9-1");
    fs::create_dir_all(worktree.join("files")).unwrap();
    fs::write(worktree.join("lock"), "held\n").unwrap();
    fs::create_dir_all(state.join("wo-9-9-1/home")).unwrap();
    // A lock that a power cut left a day ago, and one that somebody may hold.
    let (old, young) = (mirror.join("refs/heads/old.lock"), mirror.join("packed-refs.lock"));
    for lock in [&old, &young] {
        fs::write(lock, "").unwrap();
    }
    let day = std::time::Duration::from_secs(24 * 60 * 60);
    let file = fs::File::options().write(true).open(&old).unwrap();
    let before = fs::metadata(&old).unwrap().modified().unwrap() - day;
    file.set_times(fs::FileTimes::new().set_modified(before)).unwrap();
    let shown = world.azolla(&["doctor"]).ok();
    assert!(shown.contains("3 things of runs that were killed\n"), "{shown}");
    assert!(shown.contains("do: azolla doctor --repair"), "{shown}");

    // While git runs in the mirror, which is when its locks are held, none of them is removed.
    let in_use = fs::File::open(mirror.join("azolla/in-use")).unwrap();
    in_use.lock_shared().unwrap();
    let held = fs::File::open(worktree.join("lock")).unwrap();
    held.lock().unwrap();
    let shown = world.azolla(&["doctor", "--repair"]).ok();
    assert!(shown.contains("removed one thing of runs that were killed"), "{shown}");
    assert!(old.exists() && worktree.exists());

    drop((in_use, held));
    let shown = world.azolla(&["doctor", "--repair"]).ok();
    assert!(shown.contains("removed 2 things of runs that were killed"), "{shown}");
    assert!(!old.exists() && !worktree.exists() && young.exists());
    let shown = world.azolla(&["doctor", "--repair"]).ok();
    assert!(shown.contains("there was nothing to remove"), "{shown}");
}

/// G-1, invariant 11: the branch of a patch that failed, which a killed gate left, is found and taken away; what passed stays,
/// and so does what is checked out.
#[test]
fn g1_the_branch_of_a_patch_that_failed_is_found_and_repaired_unless_it_is_checked_out() {
    let world = World::with_worker("echo more >> a.txt");
    let passed = world.approved("Add a line");
    world.azolla(&["run", "--until-idle"]).ok();
    world.set_for_app("checks = [{ name = \"no\", command = [\"false\"] }]");
    let failed = world.approved("Add a line that fails");
    assert_eq!(world.azolla(&["run", "--until-idle"]).code, 5);
    let app = world.path("app");
    let verify = || world.azolla_in(&app, &["verify", "--git"]);
    assert_eq!(verify().ok(), "Everything holds.\n");
    // What the operator fetched to look at it is the operator's.
    let branch = format!("azolla/{failed}");
    let (mirror, both) = (world.home().join("mirrors/az-app.git"), format!("{branch}:{branch}"));
    git(&app, &["fetch", "-q", mirror.to_str().unwrap(), &both]);
    let commit = git(&app, &["rev-parse", &branch]);
    assert_eq!(verify().ok(), "Everything holds.\n");
    git(&app, &["branch", "-q", "-D", &branch]);
    // As a gate leaves it that published what it passed, and was killed before its record: the next one came to a FAIL, and was
    // killed before it looked at the branch.
    git(&app, &["update-ref", "-m", "azolla: publish", &format!("refs/heads/{branch}"), commit.trim()]);
    let found = verify();
    let line = format!("invariant 11: {} failed its gate and is at {branch} all the same", commit.trim());
    assert!(found.code == 1 && found.stdout.contains(&line), "{}", found.stdout);
    let look = |more: &[&str]| {
        let shown = world.azolla(&[&["doctor", "--json"], more].concat());
        of(&shown.stdout, "az-app branch")
    };
    let (level, state, fix) = look(&[]);
    assert_eq!((level.as_str(), fix.as_str()), ("attention", "azolla doctor --repair"));
    assert!(state.contains(&branch), "{state}");

    git(&app, &["checkout", "-q", &branch]);
    let (level, state, _) = look(&["--repair"]);
    assert!(
        level == "attention"
            && state.ends_with("it is checked out, in a rebase or bisection, or has moved meanwhile"),
        "{state}"
    );
    git(&app, &["checkout", "-q", "main"]);
    let (level, state, _) = look(&["--repair"]);
    assert!(level == "ok" && state.contains(&branch), "{level}: {state}");
    let left = git(&app, &["for-each-ref", "--format=%(refname:short)", "refs/heads/azolla"]);
    assert_eq!(left.trim(), format!("azolla/{passed}"));
    assert_eq!(verify().ok(), "Everything holds.\n");
}
