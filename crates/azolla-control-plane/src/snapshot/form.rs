//! How a prompt asks for its answer, by the form in which the worker gives it.

use azolla_protocol::AnswerForm;

/// Returns the prompt's last part.
pub(super) fn answer_part(form: AnswerForm) -> &'static str {
    match form {
        AnswerForm::Files => include_str!("forms/files.md"),
        AnswerForm::SearchReplace => include_str!("forms/search-replace.md"),
        AnswerForm::Diff => include_str!("forms/diff.md"),
        AnswerForm::WholeFile => include_str!("forms/whole-file.md"),
        AnswerForm::Json => include_str!("forms/json.md"),
    }
}
