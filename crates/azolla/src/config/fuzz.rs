//! A target of P10: the two files of a configuration. A fault names its file and its line and shows no key; what is read is
//! within its limits; a repository sets its checks and a budget, and nothing else.

use azolla_control_plane::repo::{check_branch, check_repo_ref};
use azolla_fuzz::{Target, Verdict};
use azolla_protocol::limits::{CAPS, LIMITS};

use super::*;

const WORDS: &[&str] = &[
    "[azolla.az-app]\n",
    "[azolla.az-desk]\n",
    "type = \"CODE_PATCH_AZOLLA\"\n",
    "type = \"TASK_MGMT_AZOLLA\"\n",
    "repo = \"/r/app\"\n",
    "base_branch = \"main\"\n",
    "store = \"postgres://me:secret@db/x\"\n",
    "provider = \"agent\"\n",
    "triage_provider = \"builtin\"\n",
    "manifest_every = \"1h\"\n",
    "max_concurrent = 2\n",
    "checks = [{ name = \"t\", command = [\"true\"], time_ms = 1000 }]\n",
    "[provider.agent]\n",
    "kind = \"command\"\n",
    "kind = \"anthropic\"\n",
    "kind = \"openai\"\n",
    "kind = \"recorded\"\n",
    "answers = \"/a\"\n",
    "argv = [\"a\", \"{prompt_file}\"]\n",
    "prompt = \"file\"\n",
    "base_url = \"https://api.example.org\"\n",
    "model = \"m\"\n",
    "key_env = \"KEY\"\n",
    "key_file = \"/k\"\n",
    "key = \"",
    KEY,
    "env = [\"KEY\"]\n",
    "desktop = false\n",
    "most_usd = 1.5\n",
    "max_tokens = 9\n",
    "structured = \"none\"\n",
    "temperature = 0.5\n",
    "[limits]\n",
    "attempts_max = 5\n",
    "budget_ms = 60000\n",
    "[attention]\nreview_limit = 3\n",
    "[caps]\n",
    "day_usd = 1.5\n",
    "[sandbox]\n",
    "mode = \"off\"\n",
    "network = true\n",
    "read = [\"/x\"]\n",
    "[deadlines]\nurgency_0 = \"1h\"\n",
    "[notify]\n",
    "command = [\"x\"]\n",
    "quiet = \"22:00-07:00\"\n",
    "[peer.az-far]\n",
    "url = \"https://far.example\"\n",
    "token_env = \"T\"\n",
    "[http]\n",
    "listen = \"127.0.0.1:7420\"\n",
    "\"\"\"",
    "'''",
    "= ",
    "[[",
    "]]",
    "{",
    "}",
    "#",
    "\\u0000",
    "nan",
    "inf",
    "-1",
    "1979-05-27T07:32:00Z",
];

/// A secret that somebody put into the file. It looks like one, and is nowhere shown.
const KEY: &str = "sk-live-9f8e7d6c5b4a39281706";

#[test]
fn p10_t29_a_configuration_is_read_within_its_limits_or_refused_by_file_and_line_without_its_keys() {
    Target { name: "config", inputs: 6_000, bytes_max: 3_000, words: WORDS, check }.run();
}

fn check(bytes: &[u8]) -> Verdict {
    let is_repository = repository_file(bytes);
    let is_config = std::str::from_utf8(bytes).is_ok_and(operator_file);
    if is_repository || is_config { Verdict::Taken } else { Verdict::Refused }
}

fn operator_file(text: &str) -> bool {
    let path = Path::new("/h/config.toml");
    let config = match Config::parse(text, path) {
        Ok(config) => config,
        Err(problem) => {
            told(&problem, text, "/h/config.toml");
            return false;
        }
    };
    for limit in LIMITS.iter().chain(&CAPS) {
        let value = config.limits.get(limit);
        assert!(is_within(limit, value), "{} is {value}", limit.name);
    }
    for azolla in &config.azollas {
        let is_patch = azolla.azolla_type == AzollaType::CodePatch;
        assert_eq!((azolla.repo.is_some(), azolla.base_branch.is_some()), (is_patch, is_patch));
        assert!(azolla.repo.as_deref().is_none_or(|repo| check_repo_ref(repo).is_ok()), "{azolla:?}");
        assert!(
            azolla.base_branch.as_deref().is_none_or(|branch| check_branch(branch).is_ok()),
            "{azolla:?}"
        );
        let named = [&azolla.provider, &azolla.triage_provider, &azolla.manifest_provider];
        assert!(named.into_iter().flatten().all(|name| config.providers.contains_key(name)), "{azolla:?}");
        checks_hold(&azolla.checks);
    }
    let shown = parts(text, path).expect("what was read can be shown");
    for setting in shown.iter().flat_map(|part| &part.settings).filter_map(|setting| setting.written.as_ref())
    {
        assert!((1..=text.matches('\n').count() + 1).contains(&setting.line), "line {}", setting.line);
        assert!(!setting.value.contains('\n'), "{:?}", setting.value);
        assert!(!setting.value.contains("://me:secret@"), "{:?} shows a password", setting.value);
    }
    !shown.iter().all(|part| part.settings.iter().all(|setting| setting.written.is_none()))
}

fn repository_file(bytes: &[u8]) -> bool {
    let file = match RepositoryFile::parse(bytes) {
        Ok(file) => file,
        Err(problem) => {
            told(&problem, &String::from_utf8_lossy(bytes), REPOSITORY_FILE);
            return false;
        }
    };
    let text = std::str::from_utf8(bytes).expect("what was read is text");
    let table: toml::Table = text.parse().expect("what was read is TOML");
    // R13: whatever else is in it would be the operator's to set.
    assert!(table.keys().all(|key| matches!(key.as_str(), "checks" | "budget_ms")), "{table:?}");
    assert_eq!(file.checks.len(), table.get("checks").and_then(toml::Value::as_array).map_or(0, Vec::len));
    let said = table.get("budget_ms").and_then(toml::Value::as_integer);
    assert_eq!(file.budget_ms.map(u64::cast_signed), said);
    assert!(file.budget_ms.is_none_or(|budget| is_within(&limits::BUDGET_PATCH_MS, budget)), "{said:?}");
    checks_hold(&file.checks);
    !table.is_empty()
}

fn is_within(limit: &Limit, value: u64) -> bool {
    value == limit.default || (value >= limit.minimum && value <= limit.maximum.unwrap_or(u64::MAX))
}

fn checks_hold(checks: &[CheckConfig]) {
    assert!(checks.len() <= 400);
    for check in checks {
        assert!(
            (1..=200).contains(&check.name.chars().count()) && (1..=200).contains(&check.command.len()),
            "{check:?}"
        );
    }
}

/// A fault says what is wrong in which file, on a line that there is, and shows nothing that looks like a key.
fn told(problem: &Problem, text: &str, file: &str) {
    let shown = problem.to_string();
    assert!(!problem.what.trim().is_empty(), "{shown}");
    let place =
        shown.lines().find_map(|line| line.trim_start().strip_prefix("--> ")).expect("a fault has a place");
    let rest = place.strip_prefix(file).unwrap_or_else(|| panic!("{place} is another file"));
    let mut numbers = rest.trim_start_matches(':').split(':').filter(|number| !number.is_empty());
    if let (Some(line), Some(column)) = (numbers.next(), numbers.next()) {
        let (line, column): (usize, usize) =
            (line.parse().expect("a line"), column.parse().expect("a column"));
        let there = text.split('\n').nth(line - 1).unwrap_or_else(|| panic!("there is no line {line}"));
        assert!(
            (1..=there.chars().count() + 1).contains(&column),
            "there is no column {column} in {there:?}"
        );
    }
    assert!(!shown.contains(KEY), "a key is shown:\n{shown}");
    // The name of an unknown key may be of any length; a whole file is not shown for it.
    assert!(shown.len() <= 4 * text.len().max(2_000), "{} bytes", shown.len());
}
