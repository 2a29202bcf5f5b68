//! `[provider.<name>]`: where work comes back from.

use std::path::PathBuf;

use super::Section;
use crate::config::{PromptBy, ProviderConfig, ResultBy, report::Fault};

#[derive(Clone, Copy)]
enum Kind {
    Command,
    Recorded,
}

/// Reads one provider.
pub(super) fn read(section: &Section<'_>) -> Result<ProviderConfig, Fault> {
    let kinds = [("command", Kind::Command), ("recorded", Kind::Recorded)];
    match section.choice("kind", &kinds)?.ok_or_else(|| section.lacks("kind"))? {
        Kind::Command => command(section),
        Kind::Recorded => {
            section.only(&["kind", "answers"])?;
            let (answers, span) = section.needed_text("answers")?;
            if !answers.starts_with('/') {
                return Err(Fault::new(span, "`answers` must be an absolute path"));
            }
            Ok(ProviderConfig::Recorded { answers: PathBuf::from(answers) })
        }
    }
}

fn command(section: &Section<'_>) -> Result<ProviderConfig, Fault> {
    section.only(&["kind", "argv", "prompt", "result", "env"])?;
    let prompts = [("stdin", PromptBy::Stdin), ("file", PromptBy::File), ("argument", PromptBy::Argument)];
    let results = [("worktree", ResultBy::Worktree), ("stdout", ResultBy::Stdout)];
    Ok(ProviderConfig::Command {
        argv: section.needed_words("argv")?,
        prompt: section.choice("prompt", &prompts)?.unwrap_or(PromptBy::Stdin),
        result: section.choice("result", &results)?.unwrap_or(ResultBy::Worktree),
        env: section.words("env")?,
    })
}
