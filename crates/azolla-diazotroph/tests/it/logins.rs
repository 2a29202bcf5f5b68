//! Files of the operator's home in the home of a run, and what of them comes back.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use azolla_diazotroph::provider::{CommandSettings, ResultBy};
use azolla_protocol::{FailureKind, GenerationOutcome};

use crate::bench::{Bench, STDOUT, failed};

const TOKEN: &str = "sk-canary-abcdefghijklmnop";
const LOGIN: &str =
    r#"{"access_token": "sk-canary-abcdefghijklmnop", "account": "0123456789abcdef-account"}"#;

fn with(bench: &Bench, result: ResultBy, files: &[&str], script: &str) -> CommandSettings {
    let home_files = files.iter().map(|path| (*path).to_owned()).collect();
    CommandSettings { home_files, ..bench.settings(result, script) }
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[tokio::test]
async fn providers_5_a_login_is_copied_into_the_fresh_home_and_never_written_back() {
    let bench = Bench::new();
    let login = bench.home().join(".agent/auth.json");
    put(&login, "{\"n\": 1}\n");
    put(&bench.home().join(".ssh/id"), "not listed");
    let script = "cat \"$HOME/.agent/auth.json\"; stat -c %a \"$HOME/.agent\" \"$HOME/.agent/auth.json\"; \
                  ls -A \"$HOME\"; echo changed > \"$HOME/.agent/auth.json\"";
    let files = [".agent/auth.json", ".config/missing.yaml", ".agent/auth.json"];
    let outcome = bench.run(with(&bench, STDOUT, &files, script)).await.outcome;
    assert_eq!(outcome, GenerationOutcome::Text("{\"n\": 1}\n700\n600\n.agent\n".into()));
    assert_eq!(fs::read_to_string(login).unwrap(), "{\"n\": 1}\n");
    assert!(bench.leftovers().is_empty());
}

#[tokio::test]
async fn t29_secrets_of_a_login_are_kept_as_those_of_the_environment() {
    let bench = Bench::new();
    put(&bench.home().join(".agent/auth.json"), LOGIN);
    let script = "cat \"$HOME/.agent/auth.json\"";
    let files = [".agent/auth.json"];
    let edited = bench.run(with(&bench, ResultBy::Worktree, &files, script)).await.outcome;
    let said = r#"{"access_token": "[redacted]", "account": "[redacted]"}"#;
    assert_eq!(edited, GenerationOutcome::Edited { said: said.into() });
    let reason = failed(bench.run(with(&bench, STDOUT, &files, script)).await.outcome, FailureKind::Other);
    let start = "the answer holds a secret of the environment or of a login; it printed:";
    assert!(reason.starts_with(start) && !reason.contains(TOKEN), "{reason}");
    // What only looks like one may be in an answer.
    let script = "echo 0123456789abcdef-account";
    let outcome = bench.run(with(&bench, STDOUT, &files, script)).await.outcome;
    assert_eq!(outcome, GenerationOutcome::Text("0123456789abcdef-account\n".into()));
}

#[tokio::test]
async fn t29_settings_are_shown_without_values_of_the_environment() {
    let bench = Bench::new();
    let mut settings = bench.settings(STDOUT, "true");
    settings.environment.insert("AGENT_API_KEY".into(), TOKEN.into());
    let shown = format!("{settings:?}");
    assert!(shown.contains("AGENT_API_KEY") && !shown.contains(TOKEN), "{shown}");
}

#[tokio::test]
async fn t3_a_link_is_followed_only_where_it_stays_in_the_home() {
    let bench = Bench::new();
    put(&bench.home().join("dotfiles/auth.json"), "inside");
    put(&bench.beside("elsewhere/auth.json"), "outside");
    symlink("dotfiles", bench.home().join(".agent")).unwrap();
    symlink(bench.beside("elsewhere"), bench.home().join(".other")).unwrap();
    let script = "cat \"$HOME/.agent/auth.json\"";
    let outcome = bench.run(with(&bench, STDOUT, &[".agent/auth.json"], script)).await.outcome;
    assert_eq!(outcome, GenerationOutcome::Text("inside".into()));
    let refused = bench.run(with(&bench, STDOUT, &[".other/auth.json"], "true")).await;
    let reason = failed(refused.outcome, FailureKind::Setup);
    let path = bench.home().join(".other/auth.json");
    let expected =
        format!("{} leads out of the home directory; correct `home_files` of provider agent", path.display());
    assert_eq!(reason, expected);
    assert_eq!(refused.usage.requests, 0);
}

#[tokio::test]
async fn what_is_no_small_file_is_not_copied() {
    let bench = Bench::new();
    fs::create_dir_all(bench.home().join("directory")).unwrap();
    put(&bench.home().join("large"), &"x".repeat((1 << 20) + 1));
    put(&bench.home().join("most"), &"x".repeat(1 << 20));
    bench.printed(&format!("mkfifo '{}'; echo made", bench.home().join("pipe").display())).await;
    for (name, words) in [
        ("directory", "is no regular file;"),
        ("pipe", "is no regular file;"),
        ("large", "has more than 1048576 bytes;"),
    ] {
        let outcome = bench.run(with(&bench, STDOUT, &[name], "true")).await.outcome;
        let reason = failed(outcome, FailureKind::Setup);
        assert!(reason.contains(words), "{name}: {reason}");
    }
    let outcome = bench.run(with(&bench, STDOUT, &["most"], "wc -c < \"$HOME/most\"")).await.outcome;
    assert_eq!(outcome, GenerationOutcome::Text("1048576\n".into()));
    // Readable or not is a matter of the operator's own permissions.
    let file = bench.home().join("closed");
    put(&file, "x");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
    let outcome = bench.run(with(&bench, STDOUT, &["closed"], "stat -c %a \"$HOME/closed\"")).await.outcome;
    assert_eq!(outcome, GenerationOutcome::Text("600\n".into()));
}
