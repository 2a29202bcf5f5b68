//! Answers from files.

use std::path::PathBuf;

use azolla_diazotroph::provider::{RecordedProvider, RecordedSettings};
use azolla_protocol::{
    AnswerForm, Diazotroph, FailureKind, Generation, GenerationOutcome, GenerationRequest, Usage,
    WorkOrderId, content::triage_content_schema,
};
use tempfile::TempDir;

use crate::bench::{LONG, failed, request, work_order_id};

async fn answer(answers: PathBuf, id: &WorkOrderId) -> GenerationOutcome {
    let provider = RecordedProvider::new(RecordedSettings { name: "recorded".into(), answers });
    assert_eq!((provider.provider(), provider.answer_form()), ("recorded", AnswerForm::Diff));
    let Generation { outcome, usage, .. } = provider.generate(request(id, "x", LONG, None)).await;
    assert_eq!(usage, Usage::default(), "nobody was asked");
    outcome
}

#[tokio::test]
async fn a_file_answers_everything() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("answer.any");
    std::fs::write(&file, "--- a/x\n").unwrap();
    for id in ["wo-a-1", "wo-a-9", "wo-odd"] {
        let id = WorkOrderId::new(id).unwrap();
        assert_eq!(answer(file.clone(), &id).await, GenerationOutcome::Text("--- a/x\n".into()));
    }
}

#[tokio::test]
async fn a_directory_answers_by_attempt_and_repeats_the_last() {
    let directory = TempDir::new().unwrap();
    for name in ["1-first.patch", "2-second.txt", "3-third.md", "README", "0.json"] {
        std::fs::write(directory.path().join(name), name).unwrap();
    }
    let cases = [
        ("wo-a-1", "1-first.patch"),
        ("wo-a-2", "2-second.txt"),
        ("wo-a-3", "3-third.md"),
        ("wo-a-4", "3-third.md"),
        ("wo-a-99999999999999999999999999", "1-first.patch"),
        ("wo-a-0", "1-first.patch"),
        ("wo-a", "1-first.patch"),
    ];
    for (id, text) in cases {
        let id = WorkOrderId::new(id).unwrap();
        let answered = answer(directory.path().to_owned(), &id).await;
        assert_eq!(answered, GenerationOutcome::Text(text.into()), "{id}");
        assert_eq!(
            answer(directory.path().to_owned(), &id).await,
            answered,
            "it keeps nothing between calls"
        );
    }
}

#[tokio::test]
async fn pf8_an_answer_that_is_not_there_is_the_operators_to_set_up() {
    let directory = TempDir::new().unwrap();
    let none = failed(answer(directory.path().to_owned(), &work_order_id(1)).await, FailureKind::Setup);
    assert!(none.contains("the directory holds no *.txt, *.patch, *.diff or *.md;"), "{none}");
    let missing = directory.path().join("missing");
    let reason = failed(answer(missing, &work_order_id(1)).await, FailureKind::Setup);
    assert!(reason.ends_with("; correct `answers` of provider recorded"), "{reason}");
    let binary = directory.path().join("binary");
    std::fs::write(&binary, [0xff, 0xfe]).unwrap();
    failed(answer(binary, &work_order_id(1)).await, FailureKind::Setup);
    let large = directory.path().join("large");
    std::fs::File::create(&large).unwrap().set_len(8 * 1024 * 1024 + 1).unwrap();
    failed(answer(large, &work_order_id(1)).await, FailureKind::Setup);
    failed(answer("/dev/zero".into(), &work_order_id(1)).await, FailureKind::Setup);
}

#[tokio::test]
async fn an_empty_answer_is_none() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("empty");
    std::fs::write(&file, " \n").unwrap();
    failed(answer(file, &work_order_id(1)).await, FailureKind::Other);
}

/// TF-5, MF-5: work without files, with a schema, gets the recorded text like any other; reading it is the Runner's.
#[tokio::test]
async fn tf5_mf5_an_answer_to_a_schema_is_what_was_recorded() {
    let directory = TempDir::new().unwrap();
    let answers = directory.path().join("answer");
    let text = "{\"candidates\":[],\"no_action\":[]}\n";
    std::fs::write(&answers, text).unwrap();
    let provider = RecordedProvider::new(RecordedSettings { name: "recorded".into(), answers });
    let id = work_order_id(1);
    let asked = GenerationRequest { schema: Some(triage_content_schema()), ..request(&id, "x", LONG, None) };
    assert_eq!(provider.generate(asked).await.outcome, GenerationOutcome::Text(text.into()));
}
