//! Answers from files: the same every time, for the demo, tests and benchmarks.

use std::{
    io,
    path::{Path, PathBuf},
    pin::Pin,
};

use azolla_protocol::{
    AnswerForm, Diazotroph, FailureKind, Generation, GenerationOutcome, GenerationRequest, Usage, WorkOrderId,
};

use super::ANSWER_BYTES_MAX;

/// The files of a directory that are answers.
const EXTENSIONS: [&str; 4] = ["diff", "md", "patch", "txt"];

/// Where recorded answers are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedSettings {
    /// The provider's configured name.
    pub name: String,
    /// A file: the answer to everything. A directory: its `*.txt`, `*.patch`, `*.diff` and `*.md` in the order of their
    /// names answer the first, second, … attempt of any objective, and the last one all that follow.
    pub answers: PathBuf,
}

/// A provider that answers from files. It keeps nothing between calls: which answer it is, the workorder's id says.
#[derive(Clone, Debug)]
pub struct RecordedProvider {
    settings: RecordedSettings,
}

impl RecordedProvider {
    /// Makes the provider. The files are looked for at each call.
    pub fn new(settings: RecordedSettings) -> Self {
        Self { settings }
    }

    fn answer(&self, work_order_id: &WorkOrderId) -> GenerationOutcome {
        let answers = &self.settings.answers;
        match read_answer(answers, attempt(work_order_id)) {
            Ok(text) if text.trim().is_empty() => GenerationOutcome::Failed {
                kind: FailureKind::Other,
                reason: format!("the recorded answer in {} is empty", answers.display()),
            },
            Ok(text) => GenerationOutcome::Text(text),
            Err(error) => GenerationOutcome::Failed {
                kind: FailureKind::Setup,
                reason: format!(
                    "there is no recorded answer in {}: {error}; correct `answers` of provider {}",
                    answers.display(),
                    self.settings.name
                ),
            },
        }
    }
}

impl Diazotroph for RecordedProvider {
    fn provider(&self) -> &str {
        &self.settings.name
    }

    fn answer_form(&self) -> AnswerForm {
        AnswerForm::Diff
    }

    fn generate<'a>(
        &'a self,
        request: GenerationRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Generation> + Send + 'a>> {
        Box::pin(async move {
            (request.progress)(&format!("reading the recorded answer of {}", self.settings.name));
            // Nothing was asked of anybody, so it cost nothing.
            Generation {
                outcome: self.answer(request.work_order_id),
                usage: Usage::default(),
                sandbox_mode: None,
            }
        })
    }
}

/// Returns the number at the end of a workorder's id: the entry into TODO that it answers, from 1.
fn attempt(work_order_id: &WorkOrderId) -> usize {
    let number = work_order_id.body().rsplit_once('-').map(|(_, number)| number.parse().ok());
    number.flatten().filter(|number| *number > 0).unwrap_or(1)
}

fn read_answer(answers: &Path, attempt: usize) -> io::Result<String> {
    if !std::fs::metadata(answers)?.is_dir() {
        return read_text(answers);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(answers)? {
        let path = entry?.path();
        if path.extension().is_some_and(|found| EXTENSIONS.iter().any(|known| found == *known)) {
            files.push(path);
        }
    }
    files.sort_unstable();
    match files.get(attempt - 1).or(files.last()) {
        Some(file) => read_text(file),
        None => Err(io::Error::other("the directory holds no *.txt, *.patch, *.diff or *.md")),
    }
}

fn read_text(file: &Path) -> io::Result<String> {
    let found = std::fs::metadata(file)?;
    // A pipe or a device would keep the reader waiting.
    if !found.is_file() {
        return Err(io::Error::other(format!("{} is no file", file.display())));
    }
    if found.len() > ANSWER_BYTES_MAX as u64 {
        return Err(io::Error::other(format!("{} has over {ANSWER_BYTES_MAX} bytes", file.display())));
    }
    std::fs::read_to_string(file)
}
