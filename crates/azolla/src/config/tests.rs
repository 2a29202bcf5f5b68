//! The configuration: what it reads to, and how a fault in it looks.

use azolla_control_plane::sandbox::SandboxMode;
use azolla_diazotroph::provider::{AnthropicVersion, OutputKind, PromptBy, ResultBy, Structured};
use azolla_protocol::AnswerForm;

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
            triage_provider: None,
            manifest_provider: None,
            manifest_every: None,
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
            output: OutputKind::Plain,
            env: vec!["KEY".into()],
            home_files: Vec::new(),
            sandbox: None,
            network: None,
            read: Vec::new(),
            write: Vec::new(),
            most_microusd: None,
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
            Some(_) => "\n".to_owned(),
            None => format!("{line}\n"),
        })
        .collect();
    assert_eq!(parse(&uncommented).unwrap().azollas.len(), 2, "{uncommented}");
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
        (
            "[azolla.az-x]\ntype = \"TASK_MGMT_AZOLLA\"\nprovider = \"x\"".into(),
            "it has triage_provider and manifest_provider",
        ),
        (with("triage_provider = \"builtin\""), "a CODE_PATCH_AZOLLA has no `triage_provider`"),
        (
            "[azolla.az-x]\ntype = \"TASK_MGMT_AZOLLA\"\ntriage_provider = \"agent\"\n\
             [provider.agent]\nkind = \"command\"\nargv = [\"x\"]\nprompt = \"stdin\"\nresult = \"worktree\""
                .into(),
            "`agent` edits files",
        ),
        (
            "[azolla.az-x]\ntype = \"TASK_MGMT_AZOLLA\"\nmanifest_every = \"5s\"".into(),
            "is at least a minute",
        ),
        (
            "[azolla.az-x]\ntype = \"TASK_MGMT_AZOLLA\"\nmanifest_every = \"often\"".into(),
            "is no length of time",
        ),
        ("[provider.builtin]\nkind = \"recorded\"\nanswers = \"/x\"".into(), "give this one another name"),
        ("[deadlines]\nurgency_1 = \"1 week\"".into(), "such as \"6h\""),
        ("[deadlines]\nurgency_5 = \"1d\"".into(), "did you mean"),
        ("[notify]\nquiet = \"at night\"".into(), "such as \"22:00-07:00\""),
        ("[notify]\ncommand = []".into(), "`command` names no program"),
        ("[notify]\ndesktop = \"yes\"".into(), "true or false"),
        ("[notify]\ncomand = []".into(), "did you mean"),
        ("[azolla.az-x]\ntype = \"TASK_MGMT_AZOLLA\"\nrepo = \"/x\"".into(), "has no `repo`"),
        ("[azolla.az-x]\ntype = \"CODE_PATCH_AZOLLA\"".into(), "has no `repo`"),
        (APP.replace("/r/app", "app"), "neither an absolute path nor a URL"),
        (APP.replace("/r/app", "ext::sh -c id"), "ext"),
        (APP.replace("\"main\"", "\"--upload-pack=x\""), "branch"),
        (APP.replace("\"main\"", "\" \""), "must not be empty"),
        ("[provider.a]\nkind = \"gpt\"".into(), "one of command, anthropic, openai, recorded"),
        ("[provider.a]\nkind = \"recorded\"\nanswers = \"x\"".into(), "absolute path"),
        ("[caps]\nday_usd = -1".into(), "an amount of US dollars from 0 up"),
        ("[caps]\nday_usd = 0.0000001".into(), "up to six decimals"),
        ("[caps]\nday_usd = inf".into(), "an amount of US dollars from 0 up"),
        ("[caps]\nday_usd = \"2\"".into(), "an amount of US dollars, such as"),
        ("[caps]\nday_usd = 1000001".into(), "it must be at most 1000000 dollars"),
        ("[caps]\nday_token = 5".into(), "did you mean `day_tokens`?"),
        ("[caps]\nday_runs = 0.5".into(), "must be a whole number"),
        ("[sandbox]\nmode = \"on\"".into(), "one of off, best-effort, required"),
        ("[sandbox]\nread = [\"x\"]".into(), "`read` must be an absolute path"),
        ("[sandbox]\nnetwork = 1".into(), "must be true or false"),
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
fn caps_are_read_exactly_and_lie_over_their_defaults() {
    use azolla_protocol::limits::{DAY_RUNS, DAY_TOKENS, DAY_USD, OBJECTIVE_USD, RUN_TOKENS, RUN_USD};
    let config = parse(
        "[caps]\nrun_usd = 0.1\nday_usd = 1_000.000001\nobjective_usd = 0\nday_tokens = 2_000_000\nday_runs = 9\n",
    );
    let caps = config.unwrap().limits;
    let all = [RUN_USD, DAY_USD, OBJECTIVE_USD, DAY_TOKENS, DAY_RUNS, RUN_TOKENS].map(|cap| caps.get(&cap));
    assert_eq!(all, [100_000, 1_000_000_001, 0, 2_000_000, 9, 0]);
    assert_eq!([RUN_USD, DAY_USD].map(|cap| Limits::default().get(&cap)), [2_000_000, 20_000_000]);
}

#[test]
fn the_sandbox_and_what_a_command_gets_are_read() {
    let home = std::env::home_dir().unwrap();
    let text = "[sandbox]\nmode = \"off\"\nread = [\"~/.cargo\", \"/opt/x\"]\nwrite = [\"/w\"]\nnetwork = true\n\
                [provider.a]\nkind = \"command\"\nargv = [\"x\"]\nresult = \"stdout\"\nform = \"diff\"\noutput = \"codex\"\n\
                home_files = [\".codex/auth.json\"]\nsandbox = \"required\"\nnetwork = false\nread = [\"/r\"]\nwrite = [\"~/w\"]\n\
                most_usd = 1.5\n";
    let config = parse(text).unwrap();
    let sandbox = SandboxSettings {
        mode: SandboxMode::Off,
        read: vec![home.join(".cargo"), "/opt/x".into()],
        write: vec!["/w".into()],
        network: true,
    };
    assert_eq!(config.sandbox, sandbox);
    assert_eq!(
        config.providers["a"],
        ProviderConfig::Command {
            argv: vec!["x".into()],
            prompt: PromptBy::Stdin,
            result: ResultBy::Stdout(AnswerForm::Diff),
            output: OutputKind::Codex,
            env: Vec::new(),
            home_files: vec![".codex/auth.json".into()],
            sandbox: Some(SandboxMode::Required),
            network: Some(false),
            read: vec!["/r".into()],
            write: vec![home.join("w")],
            most_microusd: Some(1_500_000),
        }
    );
    assert_eq!(parse("").unwrap().sandbox, SandboxSettings::default());
    assert_eq!(SandboxSettings::default().mode, SandboxMode::BestEffort);
}

const AGENT: &str = "[provider.a]\nkind = \"command\"\nargv = [\"x\"]\n";

#[test]
fn what_is_required_for_all_is_required_for_each() {
    for weaker in ["off", "best-effort"] {
        let text = format!("{AGENT}sandbox = \"{weaker}\"\n\n[sandbox]\nmode = \"required\"\n");
        let shown = parse(&text).unwrap_err();
        let start =
            "`sandbox` is weaker than the mode of [sandbox], which is required\n --> /h/config.toml:4:11\n";
        assert!(shown.starts_with(start), "{shown}");
        let line = format!("4 | sandbox = \"{weaker}\"\n  |           ^^^");
        assert!(shown.contains(&line) && shown.ends_with("set that mode to best-effort"), "{shown}");
    }
    for (own, all) in [("required", "required"), ("off", "best-effort"), ("required", "off")] {
        parse(&format!("{AGENT}sandbox = \"{own}\"\n[sandbox]\nmode = \"{all}\"\n")).unwrap();
    }
}

#[test]
fn a_known_agent_is_confined_as_all_programs_are() {
    for preset in azolla_diazotroph::provider::presets() {
        let required = "[sandbox]\nmode = \"required\"\n";
        let (text, _) = add_preset(required, Path::new("/h/config.toml"), preset).unwrap();
        // One that confines itself and fails in another sandbox cannot be what is required.
        let is_off = preset.sandbox == SandboxMode::Off;
        assert_eq!(parse(&text).is_err(), is_off, "{text}");
        assert_eq!(text.contains("\nsandbox = "), is_off, "{text}");
    }
}

#[test]
fn caps_on_money_hold_for_a_program_only_by_the_operators_word() {
    let unpriced = |text: &str| parse(text).unwrap().unpriced().map(|(name, _)| name.to_owned()).collect();
    let agent: Vec<String> = unpriced(&format!("{AGENT}output = \"claude\"\n"));
    assert_eq!(agent, ["a"], "what it tells comes after the run");
    let agent: Vec<String> = unpriced(&format!("{AGENT}output = \"claude\"\nmost_usd = 0.5\n"));
    assert!(agent.is_empty(), "{agent:?}");
    let shown = parse(&format!("{AGENT}most_usd = \"1\"\n")).unwrap_err();
    assert!(shown.contains("`most_usd` must be an amount of US dollars"), "{shown}");
}

const MODEL: &str = "[provider.m]\nkind = \"anthropic\"\nmodel = \"big\"\n";

#[test]
fn a_model_is_read_with_its_defaults_and_its_prices() {
    let api = ModelApi {
        model: "big".into(),
        base_url: "https://api.anthropic.com".into(),
        is_local: false,
        key: Some(KeyFrom::Env("A_KEY".into())),
        form: AnswerForm::SearchReplace,
        max_tokens: None,
        temperature: None,
        price: None,
    };
    let config = parse(&format!("{MODEL}key_env = \"A_KEY\"\n")).unwrap();
    let expected = ProviderConfig::Anthropic { api: api.clone(), version: AnthropicVersion::V2023_06_01 };
    assert_eq!(config.providers["m"], expected);
    assert_eq!(config.unpriced().map(|(name, _)| name).collect::<Vec<_>>(), ["m"]);
    let config = parse(&format!(
        "{MODEL}key_file = \"/k\"\nversion = \"2026-10-21\"\nform = \"json\"\nmax_tokens = 100\n\
         input_usd_per_million = 3\noutput_usd_per_million = 15.5\n"
    ))
    .unwrap();
    let price = Price { input_microusd: 3_000_000, output_microusd: 15_500_000 };
    let expected = ProviderConfig::Anthropic {
        api: ModelApi {
            key: Some(KeyFrom::File("/k".into())),
            form: AnswerForm::Json,
            max_tokens: Some(100),
            price: Some(price),
            ..api.clone()
        },
        version: AnthropicVersion::V2026_10_21,
    };
    assert_eq!(config.providers["m"], expected);
    let config = parse(
        "[provider.l]\nkind = \"openai\"\nmodel = \"big\"\nbase_url = \"http://[::1]:8080/v1/\"\ntemperature = 1.5\n",
    );
    let config = config.unwrap();
    let expected = ProviderConfig::OpenAi {
        api: ModelApi {
            base_url: "http://[::1]:8080/v1".into(),
            is_local: true,
            key: None,
            temperature: Some(1.5),
            ..api.clone()
        },
        structured: Structured::JsonSchema,
    };
    assert_eq!(config.providers["l"], expected);
    assert_eq!(config.unpriced().count(), 0, "a model of one's own costs nothing");
    let config = parse(&format!("{MODEL}key_env = \"A_KEY\"\ntemperature = 0\n")).unwrap();
    let api = ModelApi { temperature: Some(0.0), ..api };
    let expected = ProviderConfig::Anthropic { api, version: AnthropicVersion::V2023_06_01 };
    assert_eq!(config.providers["m"], expected);
}

#[test]
fn t28_a_model_that_is_set_up_wrongly_is_underlined() {
    let with = |line: &str| format!("{MODEL}{line}\n");
    for (text, part) in [
        (with(""), "[provider.m] has no `key_env`"),
        (with("key_env = \"A\"\nkey_file = \"/k\""), "one of them is enough"),
        (with("key_file = \"k\""), "`key_file` must be an absolute path"),
        (with("key_env = \"A\"\nversion = \"2020\""), "one of 2023-06-01, 2026-10-21"),
        (with("key_env = \"A\"\nstructured = \"none\""), "unknown key `structured`"),
        (with("key_env = \"A\"\nform = \"files\""), "one of search-replace, diff, whole-file, json"),
        (with("key_env = \"A\"\nmax_tokens = 0"), "it must be 1 to 1000000 (tokens)"),
        (with("key_env = \"A\"\ntemperature = 1.5"), "it must be from 0 to 1"),
        (with("key_env = \"A\"\ntemperature = -0.1"), "it must be from 0 to 1"),
        (with("key_env = \"A\"\ntemperature = nan"), "it must be from 0 to 1"),
        (with("key_env = \"A\"\ntemperature = \"cold\""), "`temperature` must be a number"),
        (
            with("key_env = \"A\"\nversion = \"2026-10-21\"\ntemperature = 0.0"),
            "^^^^^^^^^^^ take this line out, or set version = \"2023-06-01\"",
        ),
        (
            "[provider.m]\nkind = \"openai\"\nmodel = \"x\"\nkey_env = \"A\"\ntemperature = 2.1".into(),
            "it must be from 0 to 2",
        ),
        (with("key_env = \"A\"\ninput_usd_per_million = 1"), "has no `output_usd_per_million`"),
        (with("key_env = \"A\"\nbase_ulr = \"https://x\""), "did you mean `base_url`?"),
        (
            with("key_env = \"A\"\nbase_url = \"http://example.org\""),
            "5 | base_url = \"http://example.org\"\n  |            ^^^^^^^^^^^^^^^^^^^^ such as https://host/path, or http://127.0.0.1",
        ),
        (
            with("key_env = \"A\"\nbase_url = \"https://169.254.169.254\""),
            "must not be a link-local or metadata",
        ),
        (
            with("key_env = \"A\"\nbase_url = \"https://255.255.255.255\""),
            "must not be a link-local or metadata",
        ),
        ("[provider.m]\nkind = \"openai\"\n".into(), "[provider.m] has no `model`"),
        ("[provider.m]\nkind = \"command\"\nargv = [\"x\"]\nform = \"diff\"".into(), "answer on stdout"),
        (
            "[provider.m]\nkind = \"command\"\nargv = [\"x\"]\nhome_files = [\"../x\"]".into(),
            "paths below your home directory",
        ),
        (
            "[provider.m]\nkind = \"command\"\nargv = [\"x\"]\nhome_files = [\"/etc/x\"]".into(),
            "paths below your home directory",
        ),
    ] {
        let shown = parse(&text).unwrap_err();
        assert!(shown.contains(part) && shown.contains('^'), "{part:?} in:\n{shown}");
    }
}

#[test]
fn t29_a_key_in_the_file_is_refused_and_not_shown() {
    let canary = "sk-canary-1234567890";
    for text in [
        format!("{MODEL}key = \"{canary}\"\n"),
        format!("{MODEL}api_key = \"{canary}\"\n"),
        format!("{MODEL}key_env = \"A\"\ntoken = \"{canary}\"\n"),
        format!("{MODEL}key_env = \"{canary}\"\n"),
        format!("{MODEL}key_env = \"A\"\nbase_url = \"https://me:{canary}@example.org\"\n"),
        format!("{MODEL}key_env = \"A\"\nbase_url = \"https://me:{canary}@example.org:x\"\n"),
        format!("[provider]\nm = {{ knd = 1, secret = \"{canary}\" }}\n"),
        format!("{MODEL}OPENAI_API_KEY = \"{canary}\"\n"),
        format!("{MODEL}key_evn = \"{canary}\"\n"),
        format!("[provider.m]\nkind = \"command\"\nargv = [\"x\"]\nenv = [\"KEY={canary}\"]\n"),
    ] {
        let shown = parse(&text).unwrap_err();
        assert!(!shown.contains("canary"), "{shown}");
        assert!(shown.contains("key_env") || shown.contains("names of variables"), "{shown}");
        assert!(shown.contains('^') && shown.contains(" …\n"), "{shown}");
    }
    let near = parse(&format!("{MODEL}max_token = 5\n")).unwrap_err();
    assert!(near.ends_with("4 | max_token …\n  | ^^^^^^^^^ did you mean `max_tokens`?"), "{near}");
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
    // What stands there as a comment of the first section is still one of it.
    let set = parse(&both.replace("# triage_provider = \"builtin\"", "manifest_every = \"6h\"")).unwrap();
    assert!(set.azollas.iter().any(|azolla| azolla.manifest_every.is_some()), "{both}");
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

/// T29: wherever in the file a key was put by mistake, no fault shows it.
#[test]
fn t29_no_fault_shows_a_line_with_a_key_in_it() {
    const KEY: &str = "sk-canary0123456789abcdef";
    for text in [
        format!("[provider.m]\nkind = \"openai\"\napikey = {KEY}\n"),
        format!("[provider.m]\nkind = \"openai\"\nmodel = \"m\"\nkey_file = \"{KEY}\"\n"),
        format!("[provider.m]\nkind = \"command\"\nargv = [\"a\"]\nenv = {{ K = \"{KEY}\" }}\n"),
        format!("[provider.m]\nkind = \"openai\"\nmodel = \"m\"\nbase_url = \"https://h/v1?key={KEY}\"\n"),
        format!("[provider.m]\nkind = \"openai\"\nheaders = \"Bearer {KEY}\"\n"),
        format!("[provider.m]\nkind = \"openai\"\nmodel = \"m\"\nkey_env = \"gsk_{}\"\n", &KEY[3..]),
        // Where a name is asked for.
        format!("{KEY} = 1\n"),
        format!("[{KEY}]\n"),
        format!("{APP}provider = \"{KEY}\"\n"),
    ] {
        let problem = parse(&text).expect_err("it is wrong");
        assert!(!problem.contains("canary"), "{problem}");
    }
}

/// 7.4: what is configured takes the place of the default, urgency by urgency; `builtin` is the default by name.
#[test]
fn deadlines_and_task_management_are_read() {
    let text = "[azolla.az-x]\ntype = \"TASK_MGMT_AZOLLA\"\ntriage_provider = \"builtin\"\nmanifest_every = \"6h\"\n\
                [deadlines]\nurgency_0 = \"90 min\"\nurgency_3 = \"none\"\nurgency_4 = \"0\"";
    let config = Config::parse(text, Path::new("config.toml")).unwrap();
    let (minute, day) = (60_000, 86_400_000);
    assert_eq!(config.deadlines, Deadlines([Some(90 * minute), Some(day), Some(7 * day), None, Some(0)]));
    assert_eq!(config.azollas[0].triage_provider, None);
    assert_eq!(config.azollas[0].manifest_every, Some(std::time::Duration::from_secs(6 * 3_600)));
}
