//! How a prompt asks for its answer, by the form in which the worker gives it.

use std::borrow::Cow;

use azolla_protocol::{AnswerForm, ContextSnapshot};

/// Every answer part begins with it.
const HEADING: &str = "\n# Answer\n";

/// Returns the prompt's last part. It ends with the objective: small models go on from what they read last, and copy an
/// example that looks like an answer.
pub(crate) fn answer_part(form: AnswerForm, title: &str) -> String {
    let (text, make) = match form {
        AnswerForm::Files => (include_str!("forms/files.md"), "edit the files so that they make"),
        AnswerForm::SearchReplace => {
            (include_str!("forms/search-replace.md"), "write the edit blocks that make")
        }
        AnswerForm::Diff => (include_str!("forms/diff.md"), "write the diff that makes"),
        AnswerForm::WholeFile => (include_str!("forms/whole-file.md"), "write the files that make"),
        AnswerForm::Json => (include_str!("forms/json.md"), "write the document of edits that makes"),
    };
    format!(
        "{text}\nNow {make} every acceptance criterion of this objective hold, and change nothing else:\n\n{}\n",
        title.trim()
    )
}

/// A prompt as a worker gets it.
pub(crate) struct AskedFor<'a> {
    /// The snapshot's, up to the answer part where that was exchanged.
    pub(crate) prompt: Cow<'a, str>,
    /// The form that took the place of the snapshot's.
    pub(crate) exchanged: Option<AnswerForm>,
}

/// Returns the prompt of a snapshot for a worker that answers in this form. The worker may be another one than that which
/// the snapshot was built for: then all of it stays but the part that says how to answer. `title` is the objective's, as
/// the snapshot had it.
pub(crate) fn asked_for<'a>(snapshot: &'a ContextSnapshot, form: AnswerForm, title: &str) -> AskedFor<'a> {
    let prompt = snapshot.full_prompt_text.as_str();
    let named = snapshot.metadata.as_ref().and_then(|metadata| metadata.get("answer_form")?.as_str());
    let Some(stored) =
        named.and_then(|name| name.parse::<AnswerForm>().ok()).filter(|stored| *stored != form)
    else {
        return AskedFor { prompt: prompt.into(), exchanged: None };
    };
    // The words of another version of this program are found by their heading, which comes last.
    let task = prompt.strip_suffix(answer_part(stored, title).as_str());
    let task = task.or_else(|| prompt.rfind(HEADING).map(|at| &prompt[..at])).unwrap_or(prompt);
    AskedFor { prompt: format!("{task}{}", answer_part(form, title)).into(), exchanged: Some(form) }
}

#[cfg(test)]
mod tests;
