//! `azolla doctor`: what is wrong is named with what helps.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::Stdio,
};

use crate::{
    model_server::{Kind, Reply, Server},
    world::World,
};

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
        // Nobody knows what it costs.
        "for that, set most_usd of [provider.sh]",
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
