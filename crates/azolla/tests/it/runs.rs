//! Whole runs with real repositories, real workers and real checks, by the commands that one would type.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::world::{World, git};

const TWO_FILES: &str = "cat > /dev/null; echo two >> a.txt; mkdir -p src; echo new > src/b.txt\n";

/// Everything of a repository that a person would notice.
fn fingerprint(repository: &Path) -> Vec<String> {
    let text = |arguments: &[&str]| git(repository, arguments);
    let index = fs::read(repository.join(".git/index")).unwrap();
    let refs = text(&["for-each-ref"]).lines().filter(|line| !line.contains("refs/heads/azolla/")).collect();
    let config = fs::read_to_string(repository.join(".git/config")).unwrap();
    let head = fs::read_to_string(repository.join(".git/HEAD")).unwrap();
    vec![
        text(&["status", "--porcelain=v2", "--untracked-files=all"]),
        format!("{index:?}"),
        refs,
        config,
        head,
    ]
}

fn review(world: &World, id: &str) -> Value {
    world.azolla(&["review", id, "--json"]).json("review")
}

#[test]
fn g2_a_session_from_init_to_confirm_leaves_one_branch_and_nothing_else() {
    let world = World::new();
    let app = world.repository("app");
    fs::write(app.join("a.txt"), "put aside\n").unwrap();
    git(&app, &["stash"]);
    fs::write(app.join("a.txt"), "dirty\n").unwrap();
    fs::write(app.join("untracked"), "x\n").unwrap();
    git(&app, &["status"]);
    let before = fingerprint(&app);
    let worker = format!("sh {}", world.script("worker.sh", TWO_FILES).display());
    world.azolla_in(&app, &["init", "--provider-command", &worker]).ok();
    assert_eq!(fingerprint(&app), before, "by init");
    let id = world.approved("Add a line");
    let ran = world.azolla(&["run", "--until-idle"]);
    assert!(ran.stderr.contains("the worker is running"), "{}", ran.stderr);
    assert!(ran.ok().starts_with("passed: Add a line\n"));
    let reviewed = review(&world, &id);
    assert_eq!(reviewed["paths"], serde_json::json!(["a.txt", "src/b.txt"]));
    assert_eq!(reviewed["run_record"]["gate_result"], "PASS");
    assert_eq!(reviewed["objective"]["status"], "DONE");
    assert_eq!(reviewed["protected_paths"], serde_json::json!([]));
    let run = reviewed["run_record"]["run_id"].as_str().unwrap();
    world.azolla(&["objective", "confirm", &id, "--run", run]).ok();
    assert_eq!(fingerprint(&app), before);
    assert_eq!(git(&app, &["show", &format!("azolla/{id}:a.txt")]), "one\ntwo\n");
    let refused = world.azolla(&["objective", "reject", &id, "--feedback", "no"]).refused(4);
    assert!(refused.contains("confirmed"), "{refused}");
    assert_eq!(world.azolla(&["verify", "--azolla", "az-app"]).ok(), "Everything holds.\n");
    assert!(world.azolla(&["explain", run]).ok().contains("PASS"));
}

/// A repository without a working tree is as good: the result is a branch there.
#[test]
fn g2_a_bare_repository_gets_its_branch() {
    let world = World::new();
    let origin = world.repository("origin");
    git(&world.path(""), &["clone", "--quiet", "--bare", origin.to_str().unwrap(), "app"]);
    let app = world.path("app");
    let before = (fs::read(app.join("config")).unwrap(), fs::read(app.join("HEAD")).unwrap());
    let worker = format!("sh {}", world.script("worker.sh", TWO_FILES).display());
    world.azolla_in(&app, &["init", "--provider-command", &worker]).ok();
    let id = world.approved("Add a line");
    assert!(world.azolla(&["run", "--until-idle"]).ok().starts_with("passed: Add a line\n"));
    let refs = git(&app, &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, format!("refs/heads/azolla/{id}\nrefs/heads/main\n"));
    assert_eq!(git(&app, &["show", &format!("azolla/{id}:a.txt")]), "one\ntwo\n");
    assert_eq!((fs::read(app.join("config")).unwrap(), fs::read(app.join("HEAD")).unwrap()), before);
}

/// A repository without a commit is taken, and the operator is told what is missing; with that, the work goes on.
#[test]
fn a_repository_without_a_commit_says_what_to_do() {
    let world = World::new();
    let app = world.path("app");
    fs::create_dir(&app).unwrap();
    git(&app, &["init", "--quiet", "--initial-branch=main"]);
    let worker = format!("sh {}", world.script("worker.sh", TWO_FILES).display());
    world.azolla_in(&app, &["init", "--provider-command", &worker]).ok();
    let id = world.approved("Add a line");
    let ran = world.azolla(&["run", "--until-idle"]);
    assert_eq!(ran.code, 4, "{}{}", ran.stdout, ran.stderr);
    let next = format!(
        "Make a first commit on main: git commit --allow-empty -m begin; then: azolla objective retry {id}"
    );
    assert_eq!(ran.stdout, format!("blocked: Add a line\n  {next}\n"));
    let shown = world.azolla(&["objective", "show", &id]).ok();
    assert!(shown.contains("has no commit yet") && shown.ends_with(&format!("Next\n  {next}\n")), "{shown}");
    world.commit(&app);
    world.azolla(&["objective", "retry", &id]).ok();
    assert!(world.azolla(&["run", "--until-idle"]).ok().starts_with("passed: Add a line\n"));
}

#[test]
fn s_i_feedback_goes_into_the_next_prompt() {
    let world = World::with_worker("cat > ../../../seen-$AZOLLA_WORK_ORDER_ID; echo two >> a.txt\n");
    let seen = world.path("seen");
    let script =
        format!("mkdir -p {0}; cat > {0}/$AZOLLA_WORK_ORDER_ID; echo two >> a.txt\n", seen.display());
    world.script("worker.sh", &script);
    world.open_to_workers();
    let id = world.approved("Add a line");
    world.azolla(&["run", "--until-idle"]).ok();
    let refused =
        world.azolla(&["objective", "reject", &id, "--run", "run-other-1", "--feedback", "x"]).refused(4);
    assert!(refused.contains("run-other-1"), "{refused}");
    world.azolla(&["objective", "reject", &id, "--feedback", "use three dots instead"]).ok();
    world.azolla(&["run", "--until-idle"]).ok();
    let body = id.strip_prefix("obj-").unwrap();
    let prompt = |n: u8| fs::read_to_string(seen.join(format!("wo-{body}-{n}"))).unwrap();
    assert!(!prompt(1).contains("three dots") && prompt(2).contains("use three dots instead"));
    let cycles = world.azolla(&["explain", &id, "--json"]).json("explanation")["cycles"].clone();
    assert_eq!(cycles.as_array().unwrap().len(), 2);
    for artifact in ["event", "context_snapshot", "workorder", "output_bundle", "run_record", "pause_state"] {
        assert!(cycles[1][artifact].is_object(), "{artifact}: {cycles}");
    }
    assert_eq!(cycles[0]["objective_as_asked"]["title"], "Add a line");
}

#[test]
fn pf7_a_check_that_fails_ends_the_run_with_five() {
    let world = World::with_worker(TWO_FILES);
    let config = fs::read_to_string(world.config()).unwrap();
    let checks = "base_branch = \"main\"\nchecks = [{ name = \"short\", command = [\"sh\", \"-c\", \"test $(wc -l < a.txt) = 1\"] }]";
    fs::write(
        world.config(),
        config.replacen("\nbase_branch = \"main\"\nprovider", &format!("\n{checks}\nprovider"), 1),
    )
    .unwrap();
    let id = world.approved("Add a line");
    let ran = world.azolla(&["run", "--until-idle"]);
    assert_eq!(ran.code, 5, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("failed its gate: Add a line\n"), "{}", ran.stdout);
    let reviewed = review(&world, &id);
    let found: Vec<_> = reviewed["gate_evidence"]["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| (check["subject"].as_str().unwrap(), check["exit_code"].as_i64()))
        .collect();
    assert_eq!(found, [("PATCHED", Some(1)), ("BASE", Some(0))]);
    let page = world.azolla(&["review", &id]).ok();
    assert!(
        page.contains("failed  short with the change") && page.contains("passed  short without it"),
        "{page}"
    );
    assert!(page.contains(&format!("azolla objective retry {id}")), "{page}");
    assert!(world.azolla(&[]).ok().contains("azolla review"));
}

#[test]
fn b2_a_worker_over_its_budget_ends_the_run_with_six() {
    let world = World::with_worker("cat > /dev/null; echo half >> a.txt; exec tail -f /dev/null\n");
    world.configure("[limits]\nbudget_patch_ms = 400\nattempts_max = 1");
    world.approved("Add a line");
    let ran = world.azolla(&["run", "--until-idle"]);
    assert_eq!(ran.code, 6, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("over its budget: Add a line\n"), "{}", ran.stdout);
}

#[test]
fn pf8_a_worker_that_is_missing_waits_for_the_operator() {
    let world = World::new();
    let app = world.repository("app");
    world.azolla_in(&app, &["init", "--provider-command", "no-such-agent {prompt_file}"]).ok();
    let id = world.approved("Add a line");
    let ran = world.azolla(&["run", "--until-idle"]);
    assert_eq!(ran.code, 5, "{}{}", ran.stdout, ran.stderr);
    let shown = world.azolla(&["objective", "show", &id]).ok();
    assert!(shown.contains("no-such-agent"), "{shown}");
}

#[test]
fn pf3b_a_repository_that_is_gone_blocks_with_what_to_do() {
    let world = World::with_worker(TWO_FILES);
    let id = world.approved("Add a line");
    fs::rename(world.path("app"), world.path("moved")).unwrap();
    let ran = world.azolla(&["run", "--until-idle"]);
    assert_eq!(ran.code, 4, "{}{}", ran.stdout, ran.stderr);
    fs::rename(world.path("moved"), world.path("app")).unwrap();
    world.azolla(&["objective", "retry", &id]).ok();
    world.azolla(&["run", "--until-idle"]).ok();
}

/// PF-3b: an objective keeps its own base, so only its edit leads on. What is printed, typed, leads to the PASS.
#[test]
fn pf3b_a_base_that_is_gone_is_replaced_by_what_is_printed() {
    let world = World::with_worker(TWO_FILES);
    let app = world.path("app");
    for branch in ["azolla/earlier", "dev", "#trunk"] {
        git(&app, &["branch", branch]);
    }
    let id = world.approved("Add a line");
    git(&app, &["checkout", "--quiet", "#trunk"]);
    git(&app, &["branch", "--quiet", "--delete", "--force", "main"]);
    assert_eq!(world.azolla(&["run", "--until-idle"]).code, 4);
    let asked = world.azolla(&["--json"]).json("resume")["next_actions"][0].clone();
    // First the one that is checked out; ours are last.
    assert_eq!(asked["text"], "Start from a branch that it has (#trunk, dev, azolla/earlier)");
    let typed = format!("azolla objective edit {id} --base '#trunk' && azolla objective retry {id}");
    assert_eq!((&asked["command"], &asked["then"]), (&typed.as_str().into(), &Value::Null));
    world.typed(&typed).ok();
    world.azolla(&["run", "--until-idle"]).ok();
    assert_eq!(git(&app, &["show", &format!("azolla/{id}:a.txt")]), "one\ntwo\n");
    // Where there is no objective, the configuration is what has to change.
    let told = world.azolla(&["doctor"]);
    let fix = "set base_branch to one that it has: #trunk, dev, azolla/";
    assert!(told.code == 1 && told.stdout.contains(fix), "{}", told.stdout);
}

/// PF-7: the same where the base goes while the worker works, and the gate finds none.
#[test]
fn pf7_a_base_that_goes_during_a_run_is_replaced_by_what_is_printed() {
    let world = World::with_worker(TWO_FILES);
    world.open_to_workers();
    let app = world.path("app");
    git(&app, &["checkout", "--quiet", "-b", "dev"]);
    let gone = format!("rm -f {:?}\n", app.join(".git/refs/heads/main"));
    world.script("worker.sh", &format!("{TWO_FILES}{gone}"));
    let id = world.approved("Add a line");
    assert_eq!(world.azolla(&["run", "--until-idle"]).code, 5);
    let asked = world.azolla(&["--json"]).json("resume")["next_actions"][0].clone();
    assert_eq!(asked["text"], "Start from a branch that it has (dev)");
    world.typed(asked["command"].as_str().unwrap()).ok();
    world.azolla(&["run", "--until-idle"]).ok();
    assert_eq!(git(&app, &["show", &format!("azolla/{id}:a.txt")]), "one\ntwo\n");
}

#[test]
fn a_run_without_a_worker_or_an_azolla_says_how_to_get_one() {
    let world = World::new();
    let app = world.repository("app");
    let refused = world.azolla(&["run", "--until-idle"]).refused(1);
    assert!(
        refused.contains("there is no configuration at") && refused.ends_with("hint: azolla init\n"),
        "{refused}"
    );
    world.azolla(&["init"]).ok();
    // There is an azolla for notes, and nothing is due in it.
    world.azolla(&["run", "--until-idle"]).ok();
    world.azolla_in(&app, &["init"]).ok();
    let refused = world.azolla(&["run", "--until-idle"]).refused(1);
    assert!(
        refused.contains("az-app has nobody to do the work\nhint: azolla init --provider-command"),
        "{refused}"
    );
}

#[test]
fn r13_the_repositorys_file_counts_only_once_it_is_pinned() {
    let world = World::with_worker(TWO_FILES);
    world.open_to_workers();
    let app = world.path("app");
    assert!(world.azolla(&["trust"]).refused(3).contains("has no .azolla.toml on main"));
    let file = |marker: &str| {
        let text = format!("checks = [{{ name = \"mark\", command = [\"touch\", \"{marker}\"] }}]\n");
        fs::write(app.join(".azolla.toml"), text).unwrap();
        world.commit(&app);
    };
    let (first, second) = (world.path("first"), world.path("second"));
    file(&first.display().to_string());
    let id = world.approved("Add a line");
    assert_eq!(world.azolla(&["run", "--until-idle"]).code, 5);
    assert!(!first.exists(), "a check of an untrusted file ran");
    let page = world.azolla(&[]).ok();
    let leads_on = |screen: &str| {
        let trust = screen.find("azolla trust --azolla az-app");
        trust.is_some_and(|at| screen[at..].contains(&format!("azolla objective retry {id}\n")))
    };
    assert!(leads_on(&page), "{page}");
    let reviewed = world.azolla(&["review", &id]).ok();
    assert!(
        reviewed.contains("none were run: the checks cannot be run: the repository's .azolla.toml is not")
    );
    assert!(leads_on(reviewed.split_once("Your answer\n").unwrap().1), "{reviewed}");
    let told = world.azolla(&["doctor"]);
    assert!(told.code == 1 && told.stdout.contains("do: azolla trust --azolla az-app"), "{}", told.stdout);
    let asked = world.azolla(&["trust"]);
    assert_eq!((asked.code, asked.stdout.contains("touch")), (2, true), "{}", asked.stderr);
    let trusted = world.azolla(&["trust", "--yes"]);
    assert_eq!(trusted.stderr, format!("it counts from now on\nnext: azolla objective retry {id}\n"));
    // What is done is not asked for again.
    let page = world.azolla(&[]).ok();
    let next = format!(
        "  1. Run it again, .azolla.toml is trusted now: Add a line\n     azolla objective retry {id}\n"
    );
    assert!(page.contains(&next) && !page.contains("azolla trust"), "{page}");
    let trusted = world.azolla(&["trust", "--json"]).json("trust");
    assert_eq!(trusted["trusted"], true);
    assert_eq!(trusted["next"], serde_json::json!([format!("azolla objective retry {id}")]));
    assert!(world.azolla(&["doctor"]).ok().contains("1 of the trusted .azolla.toml"));
    world.azolla(&["objective", "retry", &id]).ok();
    world.azolla(&["run", "--until-idle"]).ok();
    assert!(first.exists());
    assert_eq!(world.azolla(&["trust"]).stderr, "it is trusted already\n");
    // Another file is another question.
    file(&second.display().to_string());
    world.approved("Add another line");
    assert_eq!(world.azolla(&["run", "--until-idle"]).code, 5);
    assert!(!second.exists(), "a check of a changed file ran");
}

/// R13: each base has its own file. What the pause says, typed, leads to the PASS, and takes no trust from another branch.
#[test]
fn r13_the_file_of_another_base_is_pinned_beside_that_of_the_own() {
    let world = World::with_worker(TWO_FILES);
    world.open_to_workers();
    let (app, own, other) = (world.path("app"), world.path("own"), world.path("other"));
    let file = |marker: &Path| {
        let command = format!("[\"touch\", {:?}]", marker.display().to_string());
        let text = format!("checks = [{{ name = \"mark\", command = {command} }}]\n");
        fs::write(app.join(".azolla.toml"), text).unwrap();
        world.commit(&app);
    };
    let approved = |title: &str, base: &str| {
        let made =
            world.azolla(&["objective", "new", title, "--criteria", "it is done", "--base", base]).ok();
        let id = made.trim_end().to_owned();
        world.azolla(&["objective", "approve", &id]).ok();
        id
    };
    // A name that a shell would take for a remark.
    git(&app, &["checkout", "--quiet", "-b", "#1"]);
    file(&other);
    git(&app, &["checkout", "--quiet", "main"]);
    let stopped = approved("On the other branch", "#1");
    assert_eq!(world.azolla(&["run", "--until-idle"]).code, 5);
    let first = |world: &World| world.azolla(&["--json"]).json("resume")["next_actions"][0].clone();
    let asked = first(&world);
    let typed = format!("azolla trust --azolla az-app --base '#1' && azolla objective retry {stopped}");
    assert_eq!(asked["command"], typed.as_str(), "{asked}");
    // Another branch's file is another question, and lets nothing go on here.
    file(&own);
    let trusted = world.azolla(&["trust", "--yes"]);
    assert_eq!((trusted.code, trusted.stderr.as_str()), (0, "it counts from now on\n"));
    assert_eq!(first(&world)["command"], typed.as_str());
    let nobody = world.azolla(&["trust", "--base", "#1"]);
    assert!(nobody.stdout.contains("#1 at ") && nobody.stdout.contains(&other.display().to_string()));
    assert!(nobody.stderr.ends_with("hint: azolla trust --base '#1' --yes\n"), "{}", nobody.stderr);
    let trusted = world.typed(&typed.replace(" && ", " --yes && "));
    let next = format!("it counts from now on\nnext: azolla objective retry {stopped}\n");
    assert!(trusted.code == 0 && trusted.stderr.starts_with(&next), "{trusted:?}");
    world.azolla(&["run", "--until-idle"]).ok();
    assert!(other.exists() && !own.exists());
    approved("On the own branch", "main");
    world.azolla(&["run", "--until-idle"]).ok();
    assert!(own.exists());
    for arguments in [&["trust"][..], &["trust", "--base", "#1"]] {
        assert_eq!(world.azolla(arguments).stderr, "it is trusted already\n");
    }
    assert!(world.azolla(&["doctor"]).ok().contains("1 of the trusted .azolla.toml"));
    world.azolla(&["trust", "--base", "a..b"]).refused(2);
    let gone = world.azolla(&["trust", "--base", "gone"]).refused(3);
    assert!(gone.ends_with("has no branch gone\nhint: azolla trust --base main\n"), "{gone}");
}

/// R13: two branches with the same file are two pins, so that a new file on one of them is no question about the other.
#[test]
fn r13_a_file_that_is_trusted_on_one_branch_is_kept_for_another_that_is_asked_about() {
    let world = World::with_worker(TWO_FILES);
    let app = world.path("app");
    let file = |budget: &str| {
        fs::write(app.join(".azolla.toml"), format!("budget_ms = {budget}\n")).unwrap();
        world.commit(&app);
    };
    file("60000");
    git(&app, &["branch", "release-1"]);
    let says = |arguments: &[&str]| world.azolla(&[&["trust"], arguments].concat()).stderr;
    assert_eq!(says(&["--yes"]), "it counts from now on\n");
    assert_eq!(says(&["--base", "release-1"]), "it is trusted already\n");
    file("120000");
    assert_eq!(says(&["--yes"]), "it counts from now on\n");
    for arguments in [&["trust", "--json"][..], &["trust", "--base", "release-1", "--json"]] {
        assert_eq!(world.azolla(arguments).json("trust")["trusted"], true, "{arguments:?}");
    }
}

/// R13: a look takes no trust away. What was pinned for a branch is what work that began there needs.
#[test]
fn r13_a_look_leaves_what_was_trusted_for_a_branch() {
    let world = World::with_worker(TWO_FILES);
    let app = world.path("app");
    let file = |branch: &str, budget: &str| {
        git(&app, &["switch", "-q", branch]);
        fs::write(app.join(".azolla.toml"), format!("budget_ms = {budget}\n")).unwrap();
        world.commit(&app);
    };
    git(&app, &["branch", "release-1"]);
    let says =
        |arguments: &[&str]| world.azolla(&[&["trust", "--base", "release-1"], arguments].concat()).stderr;
    file("release-1", "60000");
    assert_eq!(says(&["--yes"]), "it counts from now on\n");
    file("main", "120000");
    world.azolla(&["trust", "--yes"]).ok();
    // The same as on main, for a while.
    file("release-1", "120000");
    assert!(says(&[]).starts_with("it is trusted already, as that of another branch; "));
    file("release-1", "60000");
    assert_eq!(says(&[]), "it is trusted already\n");
    file("release-1", "120000");
    says(&["--yes"]);
    file("release-1", "60000");
    assert!(says(&[]).contains("nobody is here to ask"));
}

#[test]
fn t17_review_names_what_runs_by_itself_first() {
    let world =
        World::with_worker("cat > /dev/null; echo x > a.txt; mkdir -p .github; echo y > .github/ci.yml\n");
    let id = world.approved("Change CI");
    world.azolla(&["run", "--until-idle"]).ok();
    let page = world.azolla(&["review", &id]).ok();
    let first = page.find("Look at these first\n  .github/ci.yml  runs in CI\n");
    assert!(first.is_some_and(|at| at < page.find("Done when").unwrap()), "{page}");
}

/// Of a change that was refused and is too long to be kept, what runs by itself is named first all the same.
#[test]
fn t17_review_names_what_is_left_out_of_a_change() {
    let world = World::with_worker(
        "cat > /dev/null; seq 1 200000 > a.txt; mkdir -p z; echo all: > z/Makefile; ln -s /etc/passwd zz\n",
    );
    world.configure("[limits]\nattempts_max = 1");
    let id = world.approved("Change CI");
    assert_eq!(world.azolla(&["run", "--until-idle"]).code, 5);
    let reviewed = review(&world, &id);
    let content = reviewed["output_bundle"]["content"].as_str().unwrap();
    assert!(content.len() <= 1_000_000 && !content.contains("Makefile"), "{} bytes are kept", content.len());
    let left_out = serde_json::json!(["z/Makefile", "zz"]);
    assert_eq!(reviewed["left_out"], serde_json::json!({"files": 3, "paths": left_out}));
    assert_eq!(reviewed["protected_paths"][0]["path"], "z/Makefile");
    let page = world.azolla(&["review", &id]).ok();
    assert!(
        page.contains("Look at these first\n  z/Makefile  runs when it is built\n"),
        "{}",
        &page[..2_000]
    );
    assert!(page.contains("it touches 3 files, 2 of them not here at all."), "what is missing is said");
}

#[test]
fn w5_two_runs_at_once_yield_one_result() {
    let world = World::with_worker(TWO_FILES);
    let id = world.approved("Add a line");
    let answers = std::thread::scope(|scope| {
        let runs = [(); 2].map(|()| scope.spawn(|| world.azolla(&["run", "--until-idle"])));
        runs.map(|run| run.join().unwrap())
    });
    for answer in answers {
        answer.ok();
    }
    let cycles = world.azolla(&["explain", &id, "--json"]).json("explanation")["cycles"].clone();
    assert_eq!(cycles.as_array().unwrap().len(), 1);
    assert_eq!(world.azolla(&["verify", "--azolla", "az-app"]).ok(), "Everything holds.\n");
}

/// PF-3b: a repository that moved is named anew, in the configuration and for the objective.
#[test]
fn pf3b_an_objective_follows_its_repository() {
    let world = World::with_worker(TWO_FILES);
    let id = world.approved("Add a line");
    let (app, moved) = (world.path("app"), world.path("moved"));
    fs::rename(&app, &moved).unwrap();
    let config = fs::read_to_string(world.config()).unwrap();
    let (from, to) = (app.display().to_string(), moved.display().to_string());
    fs::write(world.config(), config.replace(&format!("{from:?}"), &format!("{to:?}"))).unwrap();
    assert_eq!(world.azolla(&["run", "--until-idle"]).code, 4);
    let page = world.azolla(&[]).ok();
    assert!(page.contains(&format!("azolla objective edit {id} --repo ")), "{page}");
    assert!(page.contains(&format!("azolla objective retry {id}\n")), "{page}");
    let retried = world.azolla(&["objective", "retry", &id]);
    let hint = format!("hint: azolla objective edit {id} --repo {to}, if it should be the same\n");
    assert!(retried.stderr.contains(&hint), "{}", retried.stderr);
    // A path from here, and another spelling of the same place, are the place.
    let edited = world.azolla_in(&moved, &["objective", "edit", &id, "--repo", "../moved/."]);
    assert!(edited.stderr.contains("its approval is withdrawn"), "{}", edited.stderr);
    let stored = world.azolla(&["objective", "show", &id, "--json"]).json("objective");
    assert_eq!(stored["metadata"]["repo_ref"], to);
    world.azolla(&["objective", "approve", &id]).ok();
    world.azolla(&["run", "--until-idle"]).ok();
    assert_eq!(git(&moved, &["show", &format!("azolla/{id}:a.txt")]), "one\ntwo\n");
}

/// G-2: a branch that is checked out stays as it is, and every screen says how to get the result.
#[test]
fn g2_a_branch_that_could_not_be_published_is_told_everywhere() {
    let world = World::with_worker(TWO_FILES);
    let id = world.approved("Add a line");
    git(&world.path("app"), &["checkout", "--quiet", "-b", &format!("azolla/{id}")]);
    world.azolla(&["run", "--until-idle"]).ok();
    let by_hand = world.azolla(&["--json"]).json("resume")["next_actions"][0]["by_hand"].clone();
    let by_hand = by_hand.as_str().unwrap();
    assert!(by_hand.starts_with("Fetch the branch by hand (") && by_hand.contains("): git "), "{by_hand}");
    let page = world.azolla(&[]).ok();
    assert!(page.contains(&format!("     azolla review {id}\n     {by_hand}\n")), "{page}");
    let reviewed = world.azolla(&["review", &id]).ok();
    assert!(reviewed.contains(&format!("  {by_hand}\n")), "{reviewed}");
    let confirmed = world.azolla(&["objective", "confirm", &id]);
    assert_eq!(confirmed.stderr, format!("{id} is confirmed. {by_hand}\n"));
}

#[test]
fn any_unique_part_of_a_runs_id_is_enough() {
    let world = World::with_worker(TWO_FILES);
    let id = world.approved("Add a line");
    world.azolla(&["run", "--until-idle"]).ok();
    let body = id.strip_prefix("obj-").unwrap();
    let end = format!("{}-1", &body[body.len() - 3..]);
    for part in [format!("run-{body}-1"), format!("run-{body}"), format!("wo-{}", &body[..8]), end] {
        assert!(world.azolla(&["explain", &part]).ok().contains("PASS"), "{part}");
        assert!(world.azolla(&["review", &part]).ok().contains("passed"), "{part}");
        let log = world.azolla(&["log", &part, "--all"]).ok();
        assert!(log.contains(&format!("run-{body}-1")) && !log.contains("was described"), "{part}: {log}");
    }
    world.azolla(&["objective", "reject", &id, "--feedback", "again"]).ok();
    world.azolla(&["run", "--until-idle"]).ok();
    let refused = world.azolla(&["review", &format!("run-{body}")]).refused(2);
    assert!(
        refused.contains(&format!("run-{body}-2")) && refused.contains("is a part of 2 ids"),
        "{refused}"
    );
}

#[test]
fn pf7_how_a_check_ended_is_told_in_words() {
    let world = World::with_worker(TWO_FILES);
    let config = fs::read_to_string(world.config()).unwrap();
    let checks = "base_branch = \"main\"\nchecks = [{ name = \"gone\", command = [\"no-such-check\", \"-x\"] }, \
                  { name = \"killed\", command = [\"sh\", \"-c\", \"kill -KILL $$\"] }]";
    fs::write(
        world.config(),
        config.replacen("\nbase_branch = \"main\"\nprovider", &format!("\n{checks}\nprovider"), 1),
    )
    .unwrap();
    let id = world.approved("Add a line");
    assert_eq!(world.azolla(&["run", "--until-idle"]).code, 5);
    let page = world.azolla(&["review", &id]).ok();
    assert!(page.contains("no-such-check -x (not found on PATH)\n"), "{page}");
    assert!(page.contains("kill -KILL $$ (ended by a signal, "), "{page}");
}

/// T36: a run tells what it came to, and not what an earlier one did while the clock was ahead.
#[test]
fn t36_a_run_does_not_tell_again_what_a_clock_ahead_wrote() {
    let world = World::with_worker("true");
    world.approved("Add a line");
    let ran = world.azolla(&["run", "--until-idle"]);
    assert_eq!(ran.code, 5, "{}{}", ran.stdout, ran.stderr);
    let store = rusqlite::Connection::open(world.home().join("azollas/az-app.sqlite")).unwrap();
    let ahead = "2099-01-01T00:00:00.000Z";
    let changed = "UPDATE pause_state SET created_at = $1, document = json_set(document, '$.created_at', $1)";
    store.execute_batch("DROP TRIGGER pause_state_update").unwrap();
    assert!(store.execute(changed, [ahead]).unwrap() > 0);
    drop(store);
    let again = world.azolla(&["run", "--until-idle"]);
    assert_eq!((again.code, again.stdout.as_str()), (0, ""), "{}", again.stderr);
}

/// Invariant 11: the stored patch gives the attempt's commit.
#[test]
fn g1_verify_rebuilds_every_patch_where_it_is_asked_to() {
    let world = World::with_worker(TWO_FILES);
    let id = world.approved("Add a line");
    world.azolla(&["run", "--until-idle"]).ok();
    let app = world.path("app");
    assert_eq!(world.azolla_in(&app, &["verify", "--git"]).ok(), "Everything holds.\n");
    // The patch is another one, and everything that the store alone can tell still fits.
    let store = rusqlite::Connection::open(world.home().join("azollas/az-app.sqlite")).unwrap();
    let triggers: Vec<String> = store
        .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'output_bundle'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for trigger in triggers {
        store.execute_batch(&format!("DROP TRIGGER \"{trigger}\"")).unwrap();
    }
    let changed =
        store.execute("UPDATE output_bundle SET document = replace(document, '+two', '+ten')", []).unwrap();
    assert_eq!(changed, 1);
    drop(store);
    assert_eq!(world.azolla_in(&app, &["verify"]).ok(), "Everything holds.\n");
    let found = world.azolla_in(&app, &["verify", "--git"]);
    let body = id.strip_prefix("obj-").unwrap();
    let expected = format!("invariant 11: out-{body}-1 gives commit ");
    assert!(found.code == 1 && found.stdout.starts_with(&expected), "{}{}", found.stdout, found.stderr);
}

/// Invariant 12: what a limit holds back may wait, and nothing else.
#[test]
fn verify_names_what_is_left_to_do_unless_a_limit_holds_it_back() {
    let world = World::with_worker(TWO_FILES);
    let (first, app) = (world.approved("Add a line"), world.path("app"));
    // Nobody has looked yet.
    let found = world.azolla_in(&app, &["verify", "--idle"]);
    let expected = format!("invariant 12: {first} is TODO and has no event\n");
    assert!(found.code == 1 && found.stdout.starts_with(&expected), "{}{}", found.stdout, found.stderr);
    world.azolla(&["run", "--until-idle"]).ok();
    assert_eq!(world.azolla_in(&app, &["verify", "--idle"]).ok(), "Everything holds.\n");
    // As many results as the operator is to have at once.
    for title in ["Two", "Three", "Four"] {
        world.approved(title);
    }
    world.azolla(&["run", "--until-idle"]);
    let open = world.azolla(&["objective", "list", "--json"]).json("objectives");
    let todo = |one: &&serde_json::Value| one["status"] == "TODO";
    assert_eq!(open.as_array().unwrap().iter().filter(todo).count(), 1, "{open}");
    assert_eq!(world.azolla_in(&app, &["verify", "--idle"]).ok(), "Everything holds.\n");
}

/// Invariant 13: what a client was given exists.
#[test]
fn verify_names_the_ids_of_a_list_that_are_in_no_store() {
    let world = World::with_worker(TWO_FILES);
    let objective = world.approved("Add a line");
    world.azolla(&["run", "--until-idle"]).ok();
    let note = world.azolla(&["capture", "Round half up"]).ok();
    let body = objective.strip_prefix("obj-").unwrap();
    let known = format!("{objective}\n{note}\nwo-{body}-1\nout-{body}-1\nrun-{body}-1\n");
    let list = world.script("known", &known);
    let verified = world.azolla(&["verify", "--known", list.to_str().unwrap()]).ok();
    assert!(verified.ends_with("Everything holds.\n"), "{verified}");
    let found =
        world.azolla_with(&world.path(""), &["verify", "--known", "-"], &format!("{known}obj-gone\n"));
    let expected = "invariant 13: obj-gone was told to somebody and is not there\n";
    assert!(found.code == 1 && found.stdout.contains(expected), "{}{}", found.stdout, found.stderr);
    let missing = world.azolla(&["verify", "--known", "/no/such/file"]).refused(1);
    assert!(missing.contains("/no/such/file cannot be read"), "{missing}");
}

/// Starts `azolla run` and returns it, with what it says, once the worker is running.
pub(crate) fn working(world: &World, arguments: &[&str]) -> (Child, impl Iterator<Item = String> + use<>) {
    started(world, world.command(&world.path(""), arguments))
}

fn started(world: &World, mut command: Command) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut child = command.env("AZOLLA_HOME", world.home()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(told.any(|line| line.contains("the worker is running")));
    (child, told)
}

const STANDS_STILL: &str = "cat > /dev/null; exec tail -f /dev/null\n";

/// C-6: what was stopped in good order is taken up at once by the next run.
#[test]
fn c6_a_run_that_is_interrupted_gives_its_work_back() {
    let world = World::with_worker(STANDS_STILL);
    let id = world.approved("Add a line");
    for signal in [Signal::INT, Signal::HUP] {
        let (mut child, mut told) = working(&world, &["run"]);
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert!(told.any(|line| line.contains("stopping; once more stops at once")));
        assert_eq!(child.wait().unwrap().code(), Some(0), "{signal:?}");
    }
    world.script("worker.sh", TWO_FILES);
    world.azolla(&["run", "--until-idle"]).ok();
    let cycles = world.azolla(&["explain", &id, "--json"]).json("explanation")["cycles"].clone();
    assert_eq!(cycles.as_array().unwrap().len(), 1);
}

#[test]
fn a_run_until_idle_that_was_stopped_before_does_not_say_that_all_is_well() {
    let world = World::with_worker(STANDS_STILL);
    world.approved("Add a line");
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let (mut child, mut told) = working(&world, &["run", "--until-idle"]);
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert!(told.any(|line| line.contains("stopping; once more stops at once")));
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal:?}");
    }
}

/// Who starts it with nohup has said that it outlives the terminal.
#[test]
fn a_hangup_that_is_ignored_stays_ignored() {
    let world = World::with_worker(STANDS_STILL);
    world.approved("Add a line");
    #[expect(clippy::disallowed_methods, reason = "a shell that ignores a signal, as nohup does")]
    let mut command = Command::new("sh");
    let run = format!("trap '' HUP; exec {} run --until-idle", env!("CARGO_BIN_EXE_azolla"));
    command.args(["-c", &run]).current_dir(world.path(""));
    let (mut child, _told) = started(&world, command);
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    assert_eq!(u64::from_str_radix(ignored.trim(), 16).unwrap() & 1, 1, "{ignored}");
}
