//! Whole runs with real repositories, real workers and real checks, by the commands that one would type.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::Stdio,
};

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
    let world = World::with_worker(TWO_FILES);
    let app = world.path("app");
    fs::write(app.join("a.txt"), "dirty\n").unwrap();
    fs::write(app.join("untracked"), "x\n").unwrap();
    git(&app, &["status"]);
    let before = fingerprint(&app);
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

#[test]
fn s_i_feedback_goes_into_the_next_prompt() {
    let world = World::with_worker("cat > ../../../seen-$AZOLLA_WORK_ORDER_ID; echo two >> a.txt\n");
    let seen = world.path("seen");
    let script =
        format!("mkdir -p {0}; cat > {0}/$AZOLLA_WORK_ORDER_ID; echo two >> a.txt\n", seen.display());
    world.script("worker.sh", &script);
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
    let refused = world.azolla(&["run", "--until-idle"]).refused(3);
    assert!(refused.ends_with("hint: cd into a repository, then: azolla init\n"), "{refused}");
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
    assert!(page.contains("     azolla trust --azolla az-app\n"), "{page}");
    let asked = world.azolla(&["trust"]);
    assert_eq!((asked.code, asked.stdout.contains("touch")), (2, true), "{}", asked.stderr);
    world.azolla(&["trust", "--yes"]).ok();
    assert_eq!(world.azolla(&["trust", "--json"]).json("trust")["trusted"], true);
    world.azolla(&["objective", "retry", &id]).ok();
    world.azolla(&["run", "--until-idle"]).ok();
    assert!(first.exists());
    // Another file is another question.
    file(&second.display().to_string());
    world.approved("Add another line");
    assert_eq!(world.azolla(&["run", "--until-idle"]).code, 5);
    assert!(!second.exists(), "a check of a changed file ran");
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

/// C-6: what was stopped in good order is taken up at once by the next run.
#[test]
fn c6_a_run_that_is_interrupted_gives_its_work_back() {
    let world = World::with_worker("cat > /dev/null; exec tail -f /dev/null\n");
    let id = world.approved("Add a line");
    let mut command = world.command(&world.path(""), &["run"]);
    let mut child = command.env("AZOLLA_HOME", world.home()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(told.any(|line| line.contains("the worker is running")));
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT)
        .unwrap();
    assert!(told.any(|line| line.contains("stopping; once more stops at once")));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    world.script("worker.sh", TWO_FILES);
    world.azolla(&["run", "--until-idle"]).ok();
    let cycles = world.azolla(&["explain", &id, "--json"]).json("explanation")["cycles"].clone();
    assert_eq!(cycles.as_array().unwrap().len(), 1);
}
