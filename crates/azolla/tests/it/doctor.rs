//! `azolla doctor`: what is wrong is named with what helps.

use std::fs;

use crate::world::World;

#[test]
fn a_home_in_order_is_told_with_every_path() {
    let world = World::with_worker("true\n");
    let shown = world.azolla(&["doctor"]).ok();
    assert!(shown.ends_with("Everything is in order.\n"), "{shown}");
    let paths = [
        "home/config.toml",
        "home/home.sqlite",
        "azollas/az-app.sqlite",
        "mirrors/az-app.git",
        "/app, main at ",
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
        .filter(|line| line["ok"] == false)
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
