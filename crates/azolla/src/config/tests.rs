//! The configuration: what it reads to, and how a fault in it looks.

use super::*;

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(text, Path::new("/h/config.toml")).map_err(|problem| problem.to_string())
}

const APP: &str =
    "[azolla.az-app]\ntype = \"CODE_PATCH_AZOLLA\"\nrepo = \"/r/app\"\nbase_branch = \"main\"\n";

#[test]
fn y1_the_file_is_the_registry() {
    let text = format!(
        "{APP}provider = \"agent\"\nmax_concurrent = 2\n\
         checks = [{{ name = \"t\", command = [\"cargo\", \"test\"], time_ms = 1000 }}]\n\
         [azolla.az-a]\ntype = \"TASK_MGMT_AZOLLA\"\nstore = \"postgres://me@db/x\"\n\
         [provider.agent]\nkind = \"command\"\nargv = [\"a\", \"{{prompt_file}}\"]\nprompt = \"file\"\nenv = [\"KEY\"]\n\
         [provider.old]\nkind = \"recorded\"\nanswers = \"/a\"\n\
         [limits]\nattempts_max = 5\n[attention]\nreview_limit = 0\n"
    );
    let config = parse(&text).unwrap();
    let ids: Vec<_> = config.azollas.iter().map(|azolla| azolla.id.as_str()).collect();
    assert_eq!(ids, ["az-a", "az-app"]);
    assert_eq!(
        config.azollas[1],
        AzollaConfig {
            id: AzollaId::new("az-app").unwrap(),
            azolla_type: AzollaType::CodePatch,
            repo: Some("/r/app".into()),
            base_branch: Some("main".into()),
            store: None,
            provider: Some("agent".into()),
            max_concurrent: 2,
            checks: vec![CheckConfig {
                name: "t".into(),
                command: vec!["cargo".into(), "test".into()],
                time_ms: Some(1000)
            }],
        }
    );
    assert_eq!(
        config.providers["agent"],
        ProviderConfig::Command {
            argv: vec!["a".into(), "{prompt_file}".into()],
            prompt: PromptBy::File,
            result: ResultBy::Worktree,
            env: vec!["KEY".into()],
        }
    );
    assert_eq!(config.providers["old"], ProviderConfig::Recorded { answers: "/a".into() });
    assert_eq!(config.limits.get(&azolla_protocol::limits::ATTEMPTS_MAX), 5);
    assert_eq!(config.limits.get(&azolla_protocol::limits::REVIEW_LIMIT), 0);
    assert_eq!(config.limits.get(&azolla_protocol::limits::LEASE_MS), 60_000);
}

#[test]
fn the_first_file_is_valid_and_so_is_each_of_its_comments() {
    assert_eq!(parse(first_text()).unwrap().azollas.len(), 1);
    let uncommented: String = first_text()
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest) if rest.contains(" = ") || rest.starts_with(['[', ']', ' ']) => format!("{rest}\n"),
            _ => "\n".to_owned(),
        })
        .collect();
    assert_eq!(parse(&uncommented).unwrap().azollas.len(), 1, "{uncommented}");
}

#[test]
fn an_unknown_key_is_underlined_with_the_nearest_known_one() {
    let text = format!("{APP}\n[limits]\nattempts_mx = 3\n");
    assert_eq!(
        parse(&text).unwrap_err(),
        "unknown key `attempts_mx` in [limits]\n --> /h/config.toml:7:1\n  |\n7 | attempts_mx = 3\n  | \
         ^^^^^^^^^^^ did you mean `attempts_max`?"
    );
    let far = parse("[attention]\nsomething_else = 1\n").unwrap_err();
    assert!(far.ends_with("  | ^^^^^^^^^^^^^^ known here: review_limit"), "{far}");
}

#[test]
fn a_bad_value_is_underlined_with_what_is_good() {
    let text = format!("{APP}max_concurrent = 4\n");
    assert_eq!(
        parse(&text).unwrap_err(),
        "`max_concurrent` is out of its range\n --> /h/config.toml:5:18\n  |\n5 | max_concurrent = 4\n  |                  \
         ^ it must be 1 to 3 (count), not 4"
    );
}

#[test]
fn every_fault_has_its_own_words() {
    let with = |line: &str| format!("{APP}{line}\n");
    let cases = [
        (with("checks = [{ name = \"a\" }]"), "an entry of `checks` has no `command`"),
        (with("checks = [{ name = \"a\", command = [] }]"), "`command` names no program"),
        (
            with("checks = [{ name = \"a\", command = [\"x\"], time_ms = 0 }]"),
            "`time_ms` is out of its range",
        ),
        (with("checks = 1"), "`checks` must be a list"),
        (
            with("provider = \"agnet\"\n[provider.agent]\nkind = \"command\"\nargv = [\"x\"]"),
            "did you mean `agent`?",
        ),
        (with("store = \"mysql://x\""), "is not a PostgreSQL address"),
        (with("max_concurrent = -1"), "a whole number from 0 up"),
        (with("max_concurrent = \"1\""), "must be a whole number"),
        ("[azolla.az-x]\n".into(), "[azolla.az-x] has no `type`"),
        ("[azolla.az-x]\ntype = \"code\"".into(), "one of CODE_PATCH_AZOLLA, TASK_MGMT_AZOLLA"),
        ("[azolla.'$(id)']\n".into(), "is not an id of the form az-"),
        ("[azolla]\naz-x = 1".into(), "write [azolla.az-x]"),
        ("[azolla.az-x]\ntype = \"TASK_MGMT_AZOLLA\"\nrepo = \"/x\"".into(), "has no `repo`"),
        ("[azolla.az-x]\ntype = \"CODE_PATCH_AZOLLA\"".into(), "has no `repo`"),
        (APP.replace("/r/app", "app"), "neither an absolute path nor a URL"),
        (APP.replace("/r/app", "ext::sh -c id"), "ext"),
        (APP.replace("\"main\"", "\"--upload-pack=x\""), "branch"),
        (APP.replace("\"main\"", "\" \""), "must not be empty"),
        ("[provider.a]\nkind = \"gpt\"".into(), "one of command, recorded"),
        ("[provider.a]\nkind = \"recorded\"\nanswers = \"x\"".into(), "absolute path"),
        ("[limits]\nreview_limit = 1".into(), "it goes under [attention]"),
        ("[limits]\nlease_ms = 5".into(), "30000 to 120000 (ms), not 5"),
        ("[peers]\n".into(), "unknown key `peers`"),
        ("a = [".into(), "not valid TOML"),
    ];
    for (text, part) in cases {
        let shown = parse(&text).unwrap_err();
        assert!(shown.contains(part), "{part:?} in:\n{shown}");
        assert!(shown.contains("--> /h/config.toml"), "{shown}");
    }
}

#[test]
fn pf7_checks_that_the_record_of_a_gate_could_not_hold_are_refused() {
    let check = |name: &str, word: &str, words: usize| {
        format!("{{ name = \"{name}\", command = [{}] }}", vec![format!("\"{word}\""); words].join(", "))
    };
    let with = |checks: &str| format!("{APP}checks = [{checks}]\n");
    let many =
        |count: usize| (0..count).map(|n| check(&n.to_string(), "x", 1)).collect::<Vec<_>>().join(", ");
    let (name, word) = ("n".repeat(200), "w".repeat(4096));
    for good in [check(&name, "x", 1), check("a", &word, 1), check("a", "x", 200), many(400)] {
        parse(&with(&good)).unwrap();
    }
    for (bad, part) in [
        (check(&format!("{name}n"), "x", 1), "at most 200 characters"),
        (check("a", &format!("{word}w"), 1), "has more than 4096 characters"),
        (check("a", "x", 201), "has more than 200 words"),
        (many(401), "there are more than 400 checks"),
    ] {
        let shown = parse(&with(&bad)).unwrap_err();
        assert!(shown.contains(part) && shown.contains(" | ") && shown.contains('^'), "{part}: {shown}");
        assert!(shown.lines().all(|line| line.chars().count() < 250), "{shown}");
        assert!(RepositoryFile::parse(format!("checks = [{bad}]").as_bytes()).is_err(), "{part}");
    }
}

#[test]
fn t22_a_fault_shows_no_control_characters() {
    let shown = parse("\u{202e}x\u{202e} = 1\n").unwrap_err();
    assert!(shown.contains('^') && !shown.lines().skip(1).any(|line| line.contains('\u{202e}')), "{shown}");
}

#[test]
fn additions_keep_the_rest_and_happen_once() {
    let path = Path::new("/h/config.toml");
    let id = AzollaId::new("az-app").unwrap();
    let (once, added) = add_azolla(first_text(), path, &id, "/r/app", "main", Some("agent")).unwrap();
    assert_eq!(added, Added::New);
    assert!(once.starts_with(first_text().lines().next().unwrap()), "{once}");
    let argv = ["a".to_owned(), "{prompt_file}".to_owned()];
    let (both, added) = add_provider(&once, path, "agent", &argv).unwrap();
    assert_eq!(added, Added::New);
    let (again, added) = add_azolla(&both, path, &id, "/other", "x", None).unwrap();
    assert_eq!((again.as_str(), added), (both.as_str(), Added::Already));
    let config = parse(&both).unwrap();
    assert_eq!(config.azolla(&id).unwrap().provider.as_deref(), Some("agent"));
    assert!(matches!(config.providers["agent"], ProviderConfig::Command { prompt: PromptBy::File, .. }));
}

#[test]
fn a_repository_sets_only_what_it_may() {
    let file = RepositoryFile::parse(
        b"budget_ms = 1000\n[[checks]]\nname = \"t\"\ncommand = [\"make\", \"test\"]\n",
    )
    .unwrap();
    assert_eq!((file.budget_ms, file.checks.len()), (Some(1000), 1));
    assert_eq!(RepositoryFile::parse(b"").unwrap(), RepositoryFile::default());
    for (bytes, part) in [
        (&b"provider = \"x\""[..], "unknown key `provider`"),
        (b"[limits]\nattempts_max = 5", "unknown key `limits`"),
        (b"budget_ms = 99999999999", "out of its range"),
        (b"base_branch = \"dev\"", "unknown key `base_branch`"),
        (b"\xff", "not UTF-8"),
    ] {
        let shown = RepositoryFile::parse(bytes).unwrap_err().to_string();
        assert!(shown.contains(part) && shown.contains(".azolla.toml"), "{part}: {shown}");
    }
}
