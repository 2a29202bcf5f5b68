//! Command-line agents: programs that print what the real ones did, and what is made of it.

use std::{path::PathBuf, sync::Mutex, time::Duration};

use azolla_diazotroph::provider::{CommandProvider, CommandSettings, OutputKind, ResultBy};
use azolla_process::SandboxMode;
use azolla_protocol::{
    Allowance, AnswerForm, Diazotroph, FailureKind, Generation, GenerationOutcome, Reservation, Spending,
    Usage, Wait, WaitSource, Withheld,
};

use crate::bench::{Bench, LONG, STDOUT, failed, request, until, work_order_id};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents").join(name)
}

/// A program that reads its prompt, prints what an agent once printed, and ends as that did.
fn agent(bench: &Bench, output: OutputKind, name: &str, code: i32) -> CommandSettings {
    let script = format!("cat > /dev/null; cat '{}'; exit {code}", fixture(name).display());
    CommandSettings { output, ..bench.settings(ResultBy::Worktree, &script) }
}

async fn ran(output: OutputKind, name: &str, code: i32) -> Generation {
    let bench = Bench::new();
    bench.run(agent(&bench, output, name, code)).await
}

#[tokio::test]
async fn b3_what_an_agent_said_and_used_is_returned() {
    let claude = ran(OutputKind::Claude, "claude-ok.json", 0).await;
    assert_eq!(claude.outcome, GenerationOutcome::Edited { said: "I wrote the file.".into() });
    let usage = Usage {
        model: Some("claude-opus-4-8[1m]".into()),
        requests: 2,
        retries: 0,
        input_tokens: 840,
        output_tokens: 18,
        cost_microusd: Some(2_000),
    };
    assert_eq!(claude.usage, usage);
    assert_eq!(claude.sandbox_mode.as_deref(), Some("off"));
    let codex = ran(OutputKind::Codex, "codex-ok.jsonl", 0).await;
    assert_eq!(codex.outcome, GenerationOutcome::Edited { said: "I wrote the file.".into() });
    let goose = ran(OutputKind::Goose, "goose-ok.json", 0).await;
    assert!(
        matches!(&goose.outcome, GenerationOutcome::Edited { said } if said.starts_with("I will create it.")),
        "{goose:?}"
    );
    let aider = ran(OutputKind::Aider, "aider-ok.txt", 0).await;
    assert!(
        matches!(&aider.outcome, GenerationOutcome::Edited { said } if said.ends_with("Applied edit to hello.txt")),
        "{aider:?}"
    );
    assert_eq!(aider.usage.cost_microusd, Some(1_100));
}

#[tokio::test]
async fn t29_a_secret_is_not_recorded_as_a_models_name() {
    let bench = Bench::new();
    let script = r#"echo '{"type":"result","result":"x","modelUsage":{"'$AGENT_API_KEY'":{}}}'"#;
    let mut settings =
        CommandSettings { output: OutputKind::Claude, ..bench.settings(ResultBy::Worktree, script) };
    assert_eq!(bench.run(settings.clone()).await.usage.model, None, "it is empty");
    settings.environment.insert("AGENT_API_KEY".into(), "sk-canary-0123456789".into());
    assert_eq!(bench.run(settings.clone()).await.usage.model, None);
    settings.environment = [("AGENT_MODEL".into(), "m-1".into())].into();
    settings.argv[2] = script.replace("AGENT_API_KEY", "AGENT_MODEL");
    assert_eq!(bench.run(settings).await.usage.model.as_deref(), Some("m-1"));
}

/// PF-8: another attempt would fail alike. Two of these end with exit code 0.
#[tokio::test]
async fn pf8_a_refused_key_is_the_operators_to_set_up() {
    for (output, name, code, words) in [
        (OutputKind::Claude, "claude-401.json", 1, "Invalid API key · Fix external API key"),
        (OutputKind::Claude, "claude-login.json", 1, "Not logged in · Please run /login"),
        (OutputKind::Codex, "codex-401.jsonl", 1, "unexpected status 401 Unauthorized: invalid x-api-key"),
        (OutputKind::Goose, "goose-401.json", 0, "Authentication error: Authentication failed."),
        (OutputKind::Goose, "goose-unconfigured.txt", 1, "error: No provider configured."),
        (OutputKind::Aider, "aider-401.txt", 0, "litellm.AuthenticationError:"),
    ] {
        let reason = failed(ran(output, name, code).await.outcome, FailureKind::Setup);
        let start = format!("agent is not logged in, or its key is refused: {words}");
        assert!(reason.starts_with(&start), "{name}: {reason}");
    }
}

#[tokio::test]
async fn a_server_that_kept_failing_is_told_from_an_agent_that_failed() {
    for (output, name, code) in [
        (OutputKind::Claude, "claude-529.json", 1),
        (OutputKind::Claude, "claude-limiting.json", 1),
        (OutputKind::Codex, "codex-529.jsonl", 1),
        (OutputKind::Goose, "goose-529.json", 0),
        (OutputKind::Aider, "aider-529.txt", 0),
    ] {
        let reason = failed(ran(output, name, code).await.outcome, FailureKind::Retries);
        assert!(reason.starts_with("agent gave up on a server that kept failing: "), "{name}: {reason}");
    }
}

#[tokio::test]
async fn o3_an_agent_without_quota_is_waited_for() {
    let week = 7 * 24 * 60;
    for (output, name, code, minutes) in [
        (OutputKind::Claude, "claude-quota.json", 1, 15),
        (OutputKind::Codex, "codex-quota.jsonl", 1, week),
        (OutputKind::Goose, "goose-quota.json", 0, 15),
        (OutputKind::Aider, "aider-quota.txt", 0, 15),
    ] {
        let GenerationOutcome::Wait(Wait { reason, time, .. }) = ran(output, name, code).await.outcome else {
            panic!("{name} is not waited for")
        };
        assert!(reason.starts_with("agent has no quota left: "), "{name}: {reason}");
        assert_eq!(time.as_secs(), minutes * 60, "{name}");
    }
    let bench = Bench::new();
    let says = r#"{"type":"result","is_error":true,"result":"You have hit your limit · resets 5am (UTC)"}"#;
    let script = format!("echo '{}'; exit 1", says.replace("have hit", "'\"'\"'ve hit"));
    let settings =
        CommandSettings { output: OutputKind::Claude, ..bench.settings(ResultBy::Worktree, &script) };
    let outcome = bench.run(settings).await.outcome;
    assert!(
        matches!(&outcome, GenerationOutcome::Wait(wait) if wait.time == Duration::from_secs(7_200)),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn providers_2_output_that_is_not_the_agents_is_kept_as_text_with_a_note() {
    let bench = Bench::new();
    let deep = "head -c 300000 /dev/zero | tr '\\0' '['; echo; echo some words";
    for script in ["echo some words", deep] {
        for output in [OutputKind::Claude, OutputKind::Codex, OutputKind::Goose] {
            let settings = CommandSettings { output, ..bench.settings(ResultBy::Worktree, script) };
            let GenerationOutcome::Edited { said } = bench.run(settings).await.outcome else {
                panic!("it edits")
            };
            let end = "some words\n(The output is not what this agent prints.)";
            assert!(said.ends_with(end) && said.len() <= 4_096, "{said}");
            let settings = CommandSettings { output, ..bench.settings(STDOUT, script) };
            let reason = failed(bench.run(settings).await.outcome, FailureKind::Other);
            assert!(reason.starts_with("the output is not what this agent prints,"), "{reason}");
        }
    }
}

/// T31: more than is kept, and the end is what counts.
#[tokio::test]
async fn t31_an_agent_that_floods_is_read_at_its_end() {
    let bench = Bench::new();
    let line =
        r#"{"type":"item.completed","item":{"type":"command_execution","aggregated_output":"xxxxxxxx"}}"#;
    let script =
        format!("yes '{line}' | head -c 30000000; echo; cat '{}'", fixture("codex-ok.jsonl").display());
    let settings =
        CommandSettings { output: OutputKind::Codex, ..bench.settings(ResultBy::Worktree, &script) };
    let generation = bench.run(settings).await;
    assert_eq!(generation.outcome, GenerationOutcome::Edited { said: "I wrote the file.".into() });
    assert_eq!(generation.usage.input_tokens, 840);
}

#[tokio::test]
async fn an_agents_text_is_an_answer_in_the_configured_form() {
    let bench = Bench::new();
    let script = format!("cat '{}'", fixture("claude-ok.json").display());
    let result = ResultBy::Stdout(AnswerForm::Diff);
    let settings = CommandSettings { output: OutputKind::Claude, ..bench.settings(result, &script) };
    assert_eq!(CommandProvider::new(settings.clone()).unwrap().answer_form(), AnswerForm::Diff);
    assert_eq!(bench.run(settings).await.outcome, GenerationOutcome::Text("I wrote the file.".into()));
}

#[test]
fn settings_of_agents_that_cannot_work_are_refused() {
    let bench = Bench::new();
    let refused = |settings| CommandProvider::new(settings).unwrap_err().what;
    let files = bench.settings(ResultBy::Stdout(AnswerForm::Files), "true");
    assert_eq!(refused(files), "form: what is printed cannot be files; use result = \"worktree\"");
    let aider = CommandSettings { output: OutputKind::Aider, ..bench.settings(STDOUT, "true") };
    assert_eq!(refused(aider), "output: aider edits files; what it prints is no answer");
    for path in ["", "/etc/passwd", "../x", "a/../../x", "./x", "a\0b"] {
        let settings =
            CommandSettings { home_files: vec![path.into()], ..bench.settings(ResultBy::Worktree, "true") };
        assert_eq!(refused(settings), format!("home_files: {path:?} is no path below the home directory"));
    }
    let mut codex =
        CommandSettings { output: OutputKind::Codex, ..bench.settings(ResultBy::Worktree, "true") };
    codex.argv.extend(["-s".to_owned(), "workspace-write".to_owned()]);
    assert!(CommandProvider::new(codex.clone()).is_ok());
    codex.sandbox.mode = SandboxMode::BestEffort;
    assert!(refused(codex).starts_with("sandbox: codex confines what it runs by itself,"));
    let mut settings = bench.settings(ResultBy::Worktree, "true");
    settings.sandbox.read.push("here".into());
    assert_eq!(refused(settings), "sandbox: here is not absolute");
}

/// R13: a repository cannot say where the key is sent.
#[tokio::test]
async fn r13_a_repository_that_configures_aider_is_refused() {
    let bench = Bench::new();
    std::fs::write(bench.worktree().join(".env"), "OPENAI_API_BASE=http://127.0.0.1:1/v1\n").unwrap();
    let generation = bench.run(agent(&bench, OutputKind::Aider, "aider-ok.txt", 0)).await;
    let reason = failed(generation.outcome, FailureKind::Setup);
    assert!(
        reason.starts_with("the repository has a file .env, from which aider would take settings,"),
        "{reason}"
    );
    assert_eq!((generation.usage, generation.sandbox_mode), (Usage::default(), None), "nothing was started");
    let claude = bench.run(agent(&bench, OutputKind::Claude, "claude-ok.json", 0)).await;
    assert!(matches!(claude.outcome, GenerationOutcome::Edited { .. }));
}

/// Keeps account, and withholds if it is told so.
struct Account {
    withheld: Option<Withheld>,
    calls: Mutex<Vec<String>>,
}

impl Account {
    fn new(withheld: Option<Withheld>) -> Self {
        Self { withheld, calls: Mutex::default() }
    }

    fn noted(&self, call: String) {
        self.calls.lock().unwrap().push(call);
    }
}

impl Allowance for Account {
    fn reserve(&self, most: Spending) -> Result<Reservation, Withheld> {
        self.noted(format!("reserve {} {:?}", most.tokens, most.cost_microusd));
        self.withheld.clone().map_or(Ok(Reservation(3)), Err)
    }

    fn settle(&self, reservation: Reservation, spent: Spending) {
        self.noted(format!("settle {} {} {:?}", reservation.0, spent.tokens, spent.cost_microusd));
    }
}

async fn under(account: &Account, bench: &Bench, settings: CommandSettings) -> Generation {
    let provider = CommandProvider::new(settings).unwrap();
    let (id, worktree) = (work_order_id(1), bench.worktree());
    let mut asked = request(&id, "x", LONG, Some(&worktree));
    asked.allowance = account;
    provider.generate(asked).await
}

#[tokio::test]
async fn b4_a_start_is_asked_for_and_what_it_cost_is_told() {
    let bench = Bench::new();
    let account = Account::new(None);
    under(&account, &bench, agent(&bench, OutputKind::Claude, "claude-ok.json", 0)).await;
    assert_eq!(*account.calls.lock().unwrap(), ["reserve 0 Some(0)", "settle 3 858 Some(2000)"]);
    // It does not say what it cost.
    let account = Account::new(None);
    under(&account, &bench, bench.settings(ResultBy::Worktree, "exit 3")).await;
    assert_eq!(*account.calls.lock().unwrap(), ["reserve 0 Some(0)", "settle 3 0 None"]);
    // It is not started at all.
    let account = Account::new(None);
    let mut settings = bench.settings(ResultBy::Worktree, "true");
    settings.argv = vec![bench.beside("worktree/no-program").to_str().unwrap().into()];
    under(&account, &bench, settings).await;
    assert!(account.calls.lock().unwrap().is_empty());
}

/// B-4: what an agent that was ended has spent is nowhere to be read, so the most that it can be stays counted.
#[tokio::test(flavor = "multi_thread")]
async fn b4_the_most_that_a_run_costs_is_set_aside_and_kept_where_nothing_is_told() {
    let bench = Bench::new();
    let priced = |settings| CommandSettings { most_microusd: Some(1_500_000), ..settings };
    let account = Account::new(None);
    under(&account, &bench, priced(agent(&bench, OutputKind::Claude, "claude-ok.json", 0))).await;
    assert_eq!(*account.calls.lock().unwrap(), ["reserve 0 Some(1500000)", "settle 3 858 Some(2000)"]);
    let account = Account::new(None);
    let silent = bench.settings(ResultBy::Worktree, "exit 3");
    under(&account, &bench, priced(CommandSettings { output: OutputKind::Claude, ..silent })).await;
    assert_eq!(*account.calls.lock().unwrap(), ["reserve 0 Some(1500000)", "settle 3 0 None"]);
    // It is cut off.
    let account = Account::new(None);
    let endless = priced(bench.settings(ResultBy::Worktree, "touch started; while :; do :; done"));
    tokio::select! {
        generation = under(&account, &bench, endless) => panic!("it ended by itself: {generation:?}"),
        () = until("the start", || bench.worktree().join("started").exists()) => {}
    }
    assert_eq!(*account.calls.lock().unwrap(), ["reserve 0 Some(1500000)"]);
    // It could not be started, and cost nothing.
    let account = Account::new(None);
    let mut settings = priced(bench.settings(ResultBy::Worktree, "true"));
    settings.argv.push("x".repeat(200_000));
    under(&account, &bench, settings).await;
    assert_eq!(*account.calls.lock().unwrap(), ["reserve 0 Some(1500000)", "settle 3 0 Some(0)"]);
}

#[tokio::test]
async fn b4_what_is_withheld_is_not_started() {
    let bench = Bench::new();
    let script = "touch started";
    let wait =
        Wait { reason: "the cap of the day".into(), time: Duration::from_secs(60), source: WaitSource::Cap };
    let cap = "the cap of the run".to_owned();
    for (withheld, expected) in [
        (Withheld::Wait(wait.clone()), GenerationOutcome::Wait(wait)),
        (Withheld::Cap(cap.clone()), GenerationOutcome::Failed { kind: FailureKind::Cap, reason: cap }),
    ] {
        let account = Account::new(Some(withheld));
        let generation = under(&account, &bench, bench.settings(ResultBy::Worktree, script)).await;
        assert_eq!(generation.outcome, expected);
        assert_eq!(generation.usage, Usage::default());
        assert_eq!(account.calls.lock().unwrap().len(), 1, "nothing to settle");
    }
    assert!(!bench.worktree().join("started").exists() && bench.leftovers().is_empty());
}
