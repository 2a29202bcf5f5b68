//! Setting up: `init`, the configuration, the home and who may write there.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::Path,
};

use crate::world::{World, git};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn s_n_init_makes_a_home_with_the_standing_objective_and_says_what_is_next() {
    let world = World::new();
    let shown = world.azolla(&["init"]).ok();
    assert!(shown.ends_with("Next: set it up for a repository\n  cd REPOSITORY && azolla init\n"), "{shown}");
    assert_eq!((mode(&world.home()), mode(&world.config())), (0o700, 0o600));
    let objective = world.azolla(&["objective", "show", "obj-ctx-continuity", "--json"]).json("objective");
    assert_eq!(
        [&objective["objective_type"], &objective["status"], &objective["azolla_id"]],
        ["STANDING", "IN_PROGRESS", "az-taskmgmt"]
    );
}

#[test]
fn init_twice_changes_nothing() {
    let world = World::new();
    let app = world.repository("app");
    world.azolla_in(&app, &["init", "--provider-command", "sh -c 'true'"]).ok();
    let state = || {
        let exports = ["az-app", "az-taskmgmt"].map(|id| world.azolla(&["export", "--azolla", id]).ok());
        (fs::read_to_string(world.config()).unwrap(), exports)
    };
    let before = state();
    world.azolla_in(&app, &["init", "--provider-command", "sh -c 'true'"]).ok();
    assert_eq!(state(), before);
}

#[test]
fn init_inside_a_repository_adds_it_with_its_branch() {
    let world = World::new();
    let app = world.repository("My App");
    git(&app, &["checkout", "--quiet", "-b", "topic"]);
    fs::create_dir(app.join("src")).unwrap();
    let shown = world.azolla_in(&app.join("src"), &["init"]).ok();
    assert!(shown.contains("[azolla.az-my-app]") && shown.contains("work starts from topic"), "{shown}");
    // Another one of the same name is another azolla.
    fs::create_dir(world.path("other")).unwrap();
    let other = world.repository("other/my-app");
    world.azolla_in(&other, &["init", "--base", "main"]).ok();
    let config = fs::read_to_string(world.config()).unwrap();
    assert!(config.contains("[azolla.az-my-app-2]"), "{config}");
    let refused = world.azolla(&["init", "--base", "main"]).refused(2);
    assert!(refused.contains("--base needs a repository"), "{refused}");
}

/// R10: a look at a commit that a partial clone lacks would fetch it, by the program that the repository names.
#[test]
fn t9_r10_init_starts_no_program_of_a_partial_clone() {
    let world = World::new();
    let (app, canary) = (world.repository("app"), world.path("canary"));
    git(&app, &["checkout", "--quiet", "--detach"]);
    let touch = format!("touch '{}'; false", canary.display());
    for (key, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", "ssh://localhost/x"),
        ("core.sshCommand", touch.as_str()),
    ] {
        git(&app, &["config", key, value]);
    }
    fs::write(app.join(".git/refs/heads/absent"), format!("{}\n", "1".repeat(40))).unwrap();
    let refused = world.azolla_in(&app, &["init"]).refused(1);
    assert!(!canary.exists(), "the repository's program ran");
    assert!(refused.ends_with("hint: azolla init --base absent\n"), "{refused}");
}

#[test]
fn init_asks_for_a_branch_where_none_is_checked_out() {
    let world = World::new();
    let app = world.repository("app");
    git(&app, &["checkout", "--quiet", "--detach"]);
    let refused = world.azolla_in(&app, &["init"]).refused(1);
    assert!(refused.ends_with("has no branch checked out\nhint: azolla init --base main\n"), "{refused}");
    // A branch that is there, whatever it is called.
    git(&app, &["branch", "--quiet", "--move", "main", "trunk#1"]);
    let refused = world.azolla_in(&app, &["init"]).refused(1);
    assert!(refused.ends_with("hint: azolla init --base 'trunk#1'\n"), "{refused}");
    git(&app, &["branch", "--quiet", "--delete", "--force", "trunk#1"]);
    let refused = world.azolla_in(&app, &["init"]).refused(1);
    assert!(refused.ends_with("hint: git branch main && azolla init --base main\n"), "{refused}");
    git(&app, &["branch", "--quiet", "main"]);
    world.azolla_in(&app, &["init", "--base", "main"]).ok();
    for branch in ["--upload-pack=x", "a..b", "x.lock"] {
        let other = world.path("odd");
        let _ = fs::remove_dir_all(&other);
        world.repository("odd");
        let refused = world.azolla_in(&other, &["init", &format!("--base={branch}")]).refused(2);
        assert!(refused.contains("branch"), "{refused}");
    }
}

#[test]
fn without_azolla_home_the_xdg_directories_are_used() {
    let world = World::new();
    world.azolla_xdg(&["init"]).ok();
    let (config, data) =
        (world.path("person/.config/azolla/config.toml"), world.path("person/.local/share/azolla"));
    assert_eq!((mode(&data), mode(&config)), (0o700, 0o600));
    assert!(data.join("azollas/az-taskmgmt.sqlite").is_file());
    assert_eq!(world.azolla_xdg(&["objective", "list"]).ok(), "Nothing to list.\n");
    // The flag goes before everything.
    let elsewhere = world.path("elsewhere").display().to_string();
    let refused = world.azolla_xdg(&["--home", &elsewhere, "objective", "list"]).refused(1);
    assert!(refused.contains(&elsewhere) && refused.ends_with("hint: azolla init\n"), "{refused}");
}

#[test]
fn an_unknown_key_is_shown_with_its_line_and_the_nearest_known_one() {
    let world = World::new();
    world.azolla(&["init"]).ok();
    fs::write(world.config(), "[azolla.az-a]\ntype = \"TASK_MGMT_AZOLLA\"\n\n[atention]\nreview_limit = 3\n")
        .unwrap();
    let shown = world.azolla(&["objective", "list"]).refused(2);
    let path = world.config().display().to_string();
    assert_eq!(
        shown,
        format!(
            "error: unknown key `atention` in the file\n --> {path}:4:2\n  |\n4 | [atention]\n  |  ^^^^^^^^ did you mean \
             `attention`?\n"
        )
    );
}

#[test]
fn a_bad_value_is_shown_with_what_is_good() {
    let world = World::new();
    world.azolla(&["init"]).ok();
    fs::write(world.config(), "[limits]\nattempts_max = 9\n").unwrap();
    let shown = world.azolla(&["limits"]).refused(2);
    assert!(
        shown.contains("2 | attempts_max = 9\n  |                ^ it must be 1 to 5 (count), not 9\n"),
        "{shown}"
    );
}

#[test]
fn o2_the_limits_that_hold_are_printed_with_default_and_maximum() {
    let world = World::new();
    let all = world.azolla(&["limits", "--json"]).json("limits");
    let caps = azolla_protocol::limits::CAPS.len();
    assert_eq!(all.as_array().unwrap().len(), azolla_protocol::LIMITS.len() + caps);
    world.azolla(&["init"]).ok();
    world.configure("[limits]\nattempts_max = 4\n[attention]\nreview_limit = 0");
    let all = world.azolla(&["limits", "--json"]).json("limits");
    let of = |name: &str| all.as_array().unwrap().iter().find(|limit| limit["name"] == name).unwrap().clone();
    let attempts = serde_json::json!({"name": "attempts_max", "unit": "count", "value": 4, "default": 2,
                                      "minimum": 1, "maximum": 5});
    assert_eq!((of("attempts_max"), &of("review_limit")["value"]), (attempts, &0.into()));
}

#[test]
fn t35_a_home_that_others_can_write_is_refused() {
    let world = World::new();
    world.azolla(&["init"]).ok();
    for path in [world.home(), world.config()] {
        let before = mode(&path);
        for wrong in [0o20, 0o2] {
            fs::set_permissions(&path, fs::Permissions::from_mode(before | wrong)).unwrap();
            let shown = world.azolla(&["objective", "list"]).refused(1);
            assert!(shown.contains("can be written by others\nhint: chmod go-w "), "{shown}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(before)).unwrap();
    }
    world.azolla(&["objective", "list"]).ok();
}

#[test]
fn t35_a_symlinked_home_or_configuration_is_refused() {
    let world = World::new();
    world.azolla(&["init"]).ok();
    let real = world.path("real.toml");
    fs::rename(world.config(), &real).unwrap();
    symlink(&real, world.config()).unwrap();
    let shown = world.azolla(&["objective", "list"]).refused(1);
    assert!(shown.contains("config.toml is a symbolic link\nhint: "), "{shown}");
    fs::remove_file(world.config()).unwrap();
    fs::rename(&real, world.config()).unwrap();
    fs::rename(world.home(), world.path("moved")).unwrap();
    symlink(world.path("moved"), world.home()).unwrap();
    for command in [&["init"][..], &["objective", "list"], &[]] {
        let shown = world.azolla(command).refused(1);
        assert!(shown.contains("home is a symbolic link"), "{shown}");
    }
}

#[test]
fn t35_a_home_of_somebody_else_is_refused() {
    let world = World::new();
    world.azolla(&["init"]).ok();
    // Whoever may not give the home away is not root, and root's directories are somebody else's.
    let home = match chown(world.home(), Some(12_345), None) {
        Ok(()) => world.home(),
        Err(_) => Path::new("/usr").to_owned(),
    };
    let home = home.display().to_string();
    let shown = world.azolla_xdg(&["--home", &home, "objective", "list"]).refused(1);
    assert!(shown.contains("belongs to somebody else\nhint: sudo chown"), "{shown}");
}

#[test]
fn t35_what_others_could_read_is_closed() {
    let world = World::new();
    world.azolla(&["init"]).ok();
    fs::set_permissions(world.home(), fs::Permissions::from_mode(0o755)).unwrap();
    world.azolla(&["objective", "list"]).ok();
    assert_eq!(mode(&world.home()), 0o700);
}

#[test]
fn export_import_and_verify_take_an_azolla_of_the_configuration() {
    let world = World::new();
    let app = world.repository("app");
    world.azolla_in(&app, &["init"]).ok();
    world.objective("One", "c");
    let exported = world.azolla(&["export", "--azolla", "az-app"]).ok();
    assert_eq!(world.azolla(&["verify", "--azolla", "az-app"]).ok(), "Everything holds.\n");
    let refused = world.azolla(&["export"]).refused(2);
    assert!(refused.contains("hint: add --azolla ID; configured: az-app, az-taskmgmt"), "{refused}");
    // Inside a repository they mean its azolla, as every command does.
    assert_eq!(world.azolla_in(&app, &["export"]).ok(), exported);
    assert_eq!(world.azolla_in(&app, &["verify"]).ok(), "Everything holds.\n");
    fs::remove_file(world.home().join("azollas/az-app.sqlite")).unwrap();
    let refused = world.azolla_in(&app, &["verify"]).refused(3);
    assert!(refused.contains("az-app has no store at") && refused.contains("hint: azolla init"), "{refused}");
    let archive = world.script("archive.jsonl", &exported).display().to_string();
    let other = world.repository("other");
    world.azolla_in(&other, &["init"]).ok();
    fs::remove_file(world.home().join("azollas/az-app.sqlite")).unwrap();
    let refused = world.azolla_in(&other, &["import", &archive]).refused(2);
    assert!(refused.ends_with("hint: add --azolla az-app\n"), "{refused}");
    world.azolla_in(&app, &["import", &archive]).ok();
    assert_eq!(world.azolla(&["export", "--azolla", "az-app"]).ok(), exported);
}

#[test]
fn verify_outside_of_every_repository_checks_all_azollas() {
    let world = World::new();
    let app = world.repository("app");
    world.azolla_in(&app, &["init"]).ok();
    assert_eq!(
        world.azolla(&["verify"]).ok(),
        "az-app\nEverything holds.\n\naz-taskmgmt\nEverything holds.\n"
    );
    // One that cannot be opened is no reason not to look at the others.
    fs::remove_file(world.home().join("azollas/az-app.sqlite")).unwrap();
    let answer = world.azolla(&["verify"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (3, "az-taskmgmt\nEverything holds.\n"));
    assert!(answer.stderr.contains("az-app cannot be checked: az-app has no store at"), "{}", answer.stderr);
    let refused = world.azolla(&["verify", "--git", "--azolla", "az-taskmgmt"]).refused(2);
    assert!(refused.contains("--git needs a repository"), "{refused}");
    world.azolla(&["verify", "--git", "--store", "x.sqlite"]).refused(2);
}

#[test]
fn init_refuses_what_would_change_an_azolla_and_says_what_to_edit() {
    let world = World::new();
    let app = world.repository("app");
    world.azolla_in(&app, &["init", "--base", "main", "--provider-command", "sh -c 'true'"]).ok();
    let before = fs::read_to_string(world.config()).unwrap();
    for (arguments, edit) in [
        (["--base", "dev"], "base_branch of [azolla.az-app]"),
        (["--provider-command", "sh -c 'false'"], "argv of [provider.sh]"),
        (["--provider-command", "env x"], "provider of [azolla.az-app]"),
    ] {
        let refused = world.azolla_in(&app, &[&["init"], &arguments[..]].concat()).refused(4);
        let hint = format!("hint: edit {edit} in {}\n", world.config().display());
        assert!(refused.ends_with(&hint), "{refused}");
        assert_eq!(fs::read_to_string(world.config()).unwrap(), before, "{arguments:?}");
    }
    world.azolla_in(&app, &["init", "--base", "main"]).ok();
}

#[test]
fn init_warns_of_a_program_that_is_not_there() {
    let world = World::new();
    let app = world.repository("app");
    let set_up = world.azolla_in(&app, &["init", "--provider-command", "no-such-agent {prompt_file}"]);
    assert!(set_up.stderr.starts_with("warning: no-such-agent is not found on PATH"), "{}", set_up.stderr);
    set_up.ok();
}

#[test]
fn init_finds_the_branch_of_a_repository_without_files_for_refs() {
    let world = World::new();
    let app = world.path("app");
    fs::create_dir(&app).unwrap();
    git(&app, &["init", "--quiet", "--ref-format=reftable", "--initial-branch=trunk"]);
    world.commit(&app);
    let shown = world.azolla_in(&app, &["init"]).ok();
    assert!(shown.contains("work starts from trunk"), "{shown}");
    git(&app, &["checkout", "--quiet", "-b", "topic"]);
    git(&app, &["update-ref", "refs/remotes/origin/trunk", "HEAD"]);
    git(&app, &["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk"]);
    fs::remove_file(world.config()).unwrap();
    let shown = world.azolla_in(&app, &["init"]).ok();
    assert!(shown.contains("work starts from trunk"), "{shown}");
}
