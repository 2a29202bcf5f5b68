//! How a program gets its prompt and gives its answer.

use std::time::Duration;

use azolla_diazotroph::provider::{CommandProvider, CommandSettings, PromptBy, ResultBy};
use azolla_protocol::{
    AnswerForm, Diazotroph, FailureKind, GenerationOutcome, GenerationRequest, Usage,
    content::{manifest_answer_schema, triage_content_schema},
};

use crate::bench::{Bench, LONG, STDOUT, failed, request, work_order_id};

fn text(text: &str) -> GenerationOutcome {
    GenerationOutcome::Text(text.into())
}

#[tokio::test]
async fn pf6_a_program_that_edits_files_edits_them_in_the_worktree() {
    let bench = Bench::new();
    let script =
        "cat > prompt.seen; echo one > a.txt; mkdir sub; echo two > sub/b.txt; echo Edited two files.";
    let generation = bench.run(bench.settings(ResultBy::Worktree, script)).await;
    assert_eq!(generation.outcome, GenerationOutcome::Edited { said: "Edited two files.".into() });
    assert_eq!(generation.usage, Usage { requests: 1, ..Usage::default() });
    let read = |path: &str| std::fs::read_to_string(bench.worktree().join(path)).unwrap();
    assert_eq!((read("a.txt"), read("sub/b.txt")), ("one\n".into(), "two\n".into()));
    assert_eq!(read("prompt.seen"), "Round half up.");
}

#[tokio::test]
async fn pf6_a_program_that_prints_answers_with_exactly_what_it_printed() {
    let bench = Bench::new();
    let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\t\r\n+b \\ \n";
    let file = bench.beside("answer");
    std::fs::write(&file, diff).unwrap();
    let script = format!("cat '{}'; echo beside >&2; pwd > \"$HOME/pwd\"", file.display());
    assert_eq!(bench.printed(&script).await, text(diff));
    assert_eq!(std::fs::read_dir(bench.worktree()).unwrap().count(), 0, "it is not given the worktree");
}

#[tokio::test]
async fn providers_5_without_a_worktree_it_works_in_an_empty_directory_of_its_own() {
    let bench = Bench::new();
    let GenerationOutcome::Text(printed) = bench.printed("pwd; ls -A | wc -l; touch x").await else {
        panic!("it prints")
    };
    let (directory, files) = printed.trim_end().rsplit_once('\n').unwrap();
    let state_dir = bench.state_dir().canonicalize().unwrap();
    assert!(directory.starts_with(state_dir.to_str().unwrap()), "{directory}");
    assert_eq!(files.trim(), "0");
    assert!(bench.leftovers().is_empty());
}

#[tokio::test]
async fn providers_5_a_prompt_of_a_megabyte_goes_by_stdin_and_by_file() {
    let bench = Bench::new();
    let prompt = "0123456789abcde\n".repeat(1 << 16);
    let by_stdin = bench.settings(STDOUT, "cat");
    assert_eq!(bench.run_with(by_stdin, &prompt, LONG).await.outcome, text(&prompt));
    let by_file = CommandSettings {
        argv: ["cat", "{prompt_file}"].map(str::to_owned).to_vec(),
        prompt: PromptBy::File,
        ..bench.settings(STDOUT, "")
    };
    assert_eq!(bench.run_with(by_file, &prompt, LONG).await.outcome, text(&prompt));
    assert!(bench.leftovers().is_empty(), "the prompt's file goes with the run");
}

#[tokio::test]
async fn providers_5_stdin_is_empty_where_the_prompt_goes_another_way() {
    let bench = Bench::new();
    let settings = CommandSettings {
        argv: ["sh", "-c", "cat; echo \"<$1>\"", "agent", "{prompt}"].map(str::to_owned).to_vec(),
        prompt: PromptBy::Argument,
        ..bench.settings(STDOUT, "")
    };
    let prompt = "two words; $(id) {worktree} '\"\n-x";
    assert_eq!(bench.run_with(settings, prompt, LONG).await.outcome, text(&format!("<{prompt}>\n")));
}

#[tokio::test]
async fn providers_5_a_large_prompt_is_never_an_argument() {
    let bench = Bench::new();
    let settings = || CommandSettings {
        argv: ["printf", "%s", "{prompt}"].map(str::to_owned).to_vec(),
        prompt: PromptBy::Argument,
        ..bench.settings(STDOUT, "")
    };
    let most = "x".repeat(100_000);
    assert_eq!(bench.run_with(settings(), &most, LONG).await.outcome, text(&most));
    let refused = bench.run_with(settings(), &format!("{most}x"), LONG).await;
    let reason = failed(refused.outcome, FailureKind::Setup);
    assert!(reason.starts_with("the prompt has 100001 bytes, and an argument at most 100000;"), "{reason}");
    assert_eq!(refused.usage, Usage::default(), "nothing was started");
}

#[tokio::test]
async fn a_nul_in_an_argument_is_a_failure_of_that_prompt() {
    let bench = Bench::new();
    let settings = CommandSettings {
        argv: ["printf", "%s", "{prompt}"].map(str::to_owned).to_vec(),
        prompt: PromptBy::Argument,
        ..bench.settings(STDOUT, "")
    };
    failed(bench.run_with(settings, "a\0b", LONG).await.outcome, FailureKind::Other);
    assert!(bench.leftovers().is_empty());
}

#[tokio::test]
async fn a_program_that_does_not_read_its_prompt_is_not_waited_for() {
    let bench = Bench::new();
    let prompt = "x".repeat(4 << 20);
    let settings = bench.settings(STDOUT, "echo done");
    assert_eq!(bench.run_with(settings, &prompt, LONG).await.outcome, text("done\n"));
}

#[tokio::test]
async fn the_worktree_can_be_named_in_an_argument() {
    let bench = Bench::new();
    let settings = CommandSettings {
        argv: ["touch", "{worktree}/made"].map(str::to_owned).to_vec(),
        ..bench.settings(ResultBy::Worktree, "")
    };
    assert_eq!(bench.run(settings).await.outcome, GenerationOutcome::Edited { said: String::new() });
    assert!(bench.worktree().join("made").exists());
}

/// TF-5, MF-5: work without files is not for a program that answers by editing them, which is a matter of setup.
#[tokio::test]
async fn tf5_mf5_a_program_that_edits_files_is_refused_where_there_are_none() {
    let bench = Bench::new();
    let provider = CommandProvider::new(bench.settings(ResultBy::Worktree, "true")).unwrap();
    let id = work_order_id(1);
    let generation = provider.generate(request(&id, "x", LONG, None)).await;
    assert_eq!(
        failed(generation.outcome, FailureKind::Setup),
        "provider agent answers by editing files, and this work has none; give it result = \"stdout\", or use another \
         provider for triage and orientation"
    );
    assert_eq!(generation.usage.requests, 0);
}

/// TF-5, MF-5: a program that prints works without files, in an empty directory, and is told the schema of the answer.
#[tokio::test]
async fn tf5_mf5_a_program_that_prints_is_told_the_schema_in_its_prompt() {
    let bench = Bench::new();
    let provider = CommandProvider::new(bench.settings(STDOUT, "ls -A | wc -l; cat")).unwrap();
    let id = work_order_id(1);
    for schema in [triage_content_schema(), manifest_answer_schema()] {
        let asked = GenerationRequest { schema: Some(schema), ..request(&id, "The notes.", LONG, None) };
        let GenerationOutcome::Text(printed) = provider.generate(asked).await.outcome else {
            panic!("it prints")
        };
        let (files, prompt) = printed.split_once('\n').unwrap();
        assert_eq!(files.trim(), "0");
        let told = format!("satisfies this JSON Schema:\n\n{schema}\n");
        assert!(prompt.starts_with("The notes.\n") && prompt.ends_with(&told), "{prompt}");
    }
}

#[test]
fn settings_that_cannot_work_are_refused_when_they_are_read() {
    let bench = Bench::new();
    let refused = |change: fn(&mut CommandSettings)| {
        let mut settings = bench.settings(ResultBy::Worktree, "true");
        change(&mut settings);
        CommandProvider::new(settings).unwrap_err().to_string()
    };
    assert_eq!(
        refused(|settings| settings.argv.clear()),
        "provider agent: argv: is empty; it begins with the program"
    );
    let unknown = refused(|settings| settings.argv.push("{task}".into()));
    assert!(
        unknown.starts_with(
            "provider agent: argv: {task} is not known; known are {prompt}, {prompt_file}, {worktree}"
        ),
        "{unknown}"
    );
    for name in ["HOME", "TMPDIR", "PATH", "AZOLLA_WORK_ORDER_ID"] {
        let mut settings = bench.settings(ResultBy::Worktree, "true");
        settings.environment.insert(name.into(), "x".into());
        let text =
            format!("provider agent: environment: {name} is set for every run and cannot be passed on");
        assert_eq!(CommandProvider::new(settings).unwrap_err().to_string(), text);
    }
    let name = refused(|settings| drop(settings.environment.insert("A=B".into(), "x".into())));
    assert_eq!(name, "provider agent: environment: \"A=B\" is no name of a variable");
    assert_eq!(
        refused(|settings| settings.state_dir = "state".into()),
        "provider agent: state_dir: state is not absolute"
    );
}

#[tokio::test]
async fn a_provider_says_its_name_and_that_it_runs() {
    let bench = Bench::new();
    let provider = CommandProvider::new(bench.settings(STDOUT, "echo x")).unwrap();
    assert_eq!((provider.provider(), provider.answer_form()), ("agent", AnswerForm::SearchReplace));
    let lines = std::sync::Mutex::new(Vec::new());
    let id = work_order_id(1);
    let progress = |line: &str| lines.lock().unwrap().push(line.to_owned());
    let mut asked = request(&id, "x", Duration::from_secs(60), None);
    asked.progress = &progress;
    provider.generate(asked).await;
    assert_eq!(*lines.lock().unwrap(), ["running agent"]);
}
