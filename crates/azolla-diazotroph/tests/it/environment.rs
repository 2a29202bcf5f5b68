//! What a program sees: a fresh home and what is listed, and what of that may come back.

use std::{collections::BTreeMap, path::Path, sync::Mutex};

use azolla_diazotroph::provider::{CommandProvider, CommandSettings, ResultBy};
use azolla_protocol::{Diazotroph, FailureKind, GenerationOutcome};

use crate::bench::{Bench, LONG, STDOUT, failed, request, work_order_id};

const KEY: &str = "sk-canary-0123456789abcdef";

fn with_key(settings: CommandSettings) -> CommandSettings {
    CommandSettings { environment: BTreeMap::from([("AGENT_API_KEY".into(), KEY.into())]), ..settings }
}

fn printed(outcome: GenerationOutcome) -> String {
    match outcome {
        GenerationOutcome::Text(text) => text,
        other => panic!("{other:?} is no text"),
    }
}

#[tokio::test]
async fn t29_the_environment_has_nothing_but_what_is_listed() {
    let bench = Bench::new();
    let mut settings = bench.settings(STDOUT, "");
    settings.argv = vec!["env".into()];
    settings.environment =
        BTreeMap::from([("LISTED".into(), "yes".into()), ("LANG".into(), "de_DE.UTF-8".into())]);
    let text = printed(bench.run(settings).await.outcome);
    let mut seen: Vec<_> = text.lines().map(|line| line.split_once('=').unwrap()).collect();
    seen.sort_unstable();
    let home = Path::new(seen[1].1);
    let run = home.parent().unwrap();
    assert_eq!(run.parent().unwrap(), bench.state_dir());
    assert!(run.file_name().unwrap().to_str().unwrap().starts_with("wo-a-1-7-"), "{run:?}");
    let tmp = run.join("tmp");
    let expected = [
        ("AZOLLA_WORK_ORDER_ID", "wo-a-1"),
        ("HOME", home.to_str().unwrap()),
        ("LANG", "de_DE.UTF-8"),
        ("LC_ALL", "C.UTF-8"),
        ("LISTED", "yes"),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("TERM", "dumb"),
        ("TMPDIR", tmp.to_str().unwrap()),
        ("TZ", "UTC"),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn providers_5_home_is_fresh_for_every_run_and_gone_afterwards() {
    let bench = Bench::new();
    let script = "ls -A \"$HOME\"; ls -A \"$TMPDIR\"; stat -c %a \"$HOME\" \"$TMPDIR\"; \
                  echo left > \"$HOME/.agentrc\"; echo left > \"$TMPDIR/x\"; \
                  mkdir -p \"$HOME/cache/deep\"; chmod 500 \"$HOME/cache/deep\" \"$HOME/cache\"; ln -s / \"$HOME/root\"";
    let first = printed(bench.printed(script).await);
    assert_eq!(first, "700\n700\n", "both are empty, and nobody else's");
    assert!(bench.leftovers().is_empty());
    let second = printed(bench.printed(script).await);
    assert_eq!(second, first, "nothing of the first run is there");
    assert!(bench.leftovers().is_empty());
    assert!(Path::new("/etc").exists(), "a link is not followed");
}

#[tokio::test]
async fn providers_5_home_is_not_below_the_place_for_temporary_files() {
    let bench = Bench::new();
    let text = printed(bench.printed("echo \"$HOME\"; echo \"$TMPDIR\"").await);
    let (home, tmp) = text.trim_end().split_once('\n').unwrap();
    assert!(!Path::new(home).starts_with(tmp) && !Path::new(tmp).starts_with(home), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_runs_under_one_claim_do_not_share_a_home() {
    let bench = Bench::new();
    let fifo = bench.beside("fifo");
    // Each waits for the other, so that both homes are there at once.
    let script = |first: &str, second: &str| {
        format!("echo \"$HOME\"; {first} '{0}.1'; {second} '{0}.2'", fifo.display())
    };
    let make = bench.settings(STDOUT, &format!("mkfifo '{0}.1' '{0}.2'; echo made", fifo.display()));
    printed(bench.run(make).await.outcome);
    let one = bench.run(bench.settings(STDOUT, &script("echo x >", "cat <")));
    let two = bench.run(bench.settings(STDOUT, &script("cat >&2 <", "echo y >")));
    let (one, two) = tokio::join!(one, two);
    let (one, two) = (printed(one.outcome), printed(two.outcome));
    assert_ne!(one.lines().next(), two.lines().next());
    assert!(bench.leftovers().is_empty());
}

#[tokio::test]
async fn t29_a_secret_never_comes_back_in_what_was_said() {
    let bench = Bench::new();
    let tell = "echo \"key $AGENT_API_KEY\"; echo \"again:$AGENT_API_KEY$AGENT_API_KEY\" >&2";
    let said = "key [redacted]\nagain:[redacted][redacted]";
    let run = |result, script: String| bench.run(with_key(bench.settings(result, &script)));
    let edited = run(ResultBy::Worktree, tell.to_owned()).await.outcome;
    assert_eq!(edited, GenerationOutcome::Edited { said: said.into() });
    for (end, kind) in
        [("exit 3", FailureKind::Other), ("exit 127", FailureKind::Setup), ("kill -9 $$", FailureKind::Other)]
    {
        for result in [ResultBy::Worktree, STDOUT] {
            let reason = failed(run(result, format!("{tell}; {end}")).await.outcome, kind);
            assert!(reason.ends_with(said), "{reason}");
        }
    }
    let settings = with_key(bench.settings(ResultBy::Worktree, &format!("{tell}; while :; do :; done")));
    let over = bench.run_with(settings, "x", std::time::Duration::from_millis(500)).await.outcome;
    assert_eq!(over, GenerationOutcome::OverBudget { said: said.into() });
}

/// The kept end of the output begins somewhere: with a part of a secret, if one stands there.
#[tokio::test]
async fn t29_no_part_of_a_secret_is_left_where_output_is_cut() {
    let bench = Bench::new();
    // 64 KiB are kept. A long key again and again is short once it is redacted, so that all of it is said.
    let key: String = (0..400).map(|n| format!("{n:05}")).collect();
    let mut settings = bench.settings(
        ResultBy::Worktree,
        "i=0; while [ $i -lt 100 ]; do printf %s \"$AGENT_API_KEY\"; i=$((i+1)); done; echo end",
    );
    settings.environment = BTreeMap::from([("AGENT_API_KEY".into(), key.into())]);
    let outcome = bench.run(settings).await.outcome;
    assert_eq!(outcome, GenerationOutcome::Edited { said: format!("{}end", "[redacted]".repeat(32)) });
}

#[tokio::test]
async fn t29_an_answer_with_a_secret_in_it_is_refused() {
    let bench = Bench::new();
    let settings = with_key(bench.settings(STDOUT, "echo \"+key = $AGENT_API_KEY\""));
    let reason = failed(bench.run(settings).await.outcome, FailureKind::Other);
    assert!(
        reason.starts_with("the answer holds a secret of the environment or of a login; it printed:"),
        "{reason}"
    );
    assert!(!reason.contains(KEY));
    // A variable that is not named as a secret is can be in a patch.
    let mut settings = bench.settings(STDOUT, "echo \"+model = $AGENT_MODEL\"");
    settings.environment = BTreeMap::from([("AGENT_MODEL".into(), "small-model-1".into())]);
    assert_eq!(printed(bench.run(settings).await.outcome), "+model = small-model-1\n");
}

#[tokio::test]
async fn t29_progress_tells_nothing_that_the_program_says() {
    let bench = Bench::new();
    let provider = CommandProvider::new(with_key(bench.settings(STDOUT, "echo \"$AGENT_API_KEY\""))).unwrap();
    let lines = Mutex::new(String::new());
    let progress = |line: &str| lines.lock().unwrap().push_str(line);
    let id = work_order_id(1);
    let mut asked = request(&id, "x", LONG, None);
    asked.progress = &progress;
    provider.generate(asked).await;
    assert!(!lines.lock().unwrap().contains(KEY));
}

#[tokio::test]
async fn t22_what_was_said_has_no_escapes_in_it() {
    let bench = Bench::new();
    let outcome = bench.edited("printf '\\033[31mred\\033[0m \\033]0;title\\007done\\r\\n\\000\\010'").await;
    assert_eq!(outcome, GenerationOutcome::Edited { said: "red done".into() });
}

#[tokio::test]
async fn a_state_directory_that_cannot_be_made_is_the_operators_to_set_up() {
    let bench = Bench::new();
    let file = bench.beside("file");
    std::fs::write(&file, "").unwrap();
    let settings = CommandSettings { state_dir: file.join("state"), ..bench.settings(STDOUT, "echo x") };
    let generation = bench.run(settings).await;
    let reason = failed(generation.outcome, FailureKind::Setup);
    assert!(reason.starts_with("no directory for the run can be made in "), "{reason}");
    assert_eq!(generation.usage.requests, 0);
}

/// T29: what is in the worktree is stored and published, so a key in it is as bad as one in a printed answer.
#[tokio::test]
async fn t29_edits_with_a_secret_in_them_are_refused() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.worktree()).unwrap();
    for script in [
        "echo \"url = x?k=$AGENT_API_KEY\" > settings.txt",
        "mkdir -p a/b && printf %s \"$AGENT_API_KEY\" > a/b/c && touch -d 2001-01-01 a/b/c",
        "touch \"$AGENT_API_KEY\"",
        "ln -s \"/x/$AGENT_API_KEY\" link",
    ] {
        let outcome = bench.run(with_key(bench.settings(ResultBy::Worktree, script))).await.outcome;
        let reason = failed(outcome, FailureKind::Other);
        assert!(reason.ends_with("holds a secret of the environment or of a login"), "{reason}");
        assert!(!reason.contains("canary"), "{reason}");
        for entry in std::fs::read_dir(bench.worktree()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }.unwrap();
        }
    }
    let harmless = bench.run(with_key(bench.settings(ResultBy::Worktree, "echo 1 > a"))).await.outcome;
    assert_eq!(harmless, GenerationOutcome::Edited { said: String::new() });
}
