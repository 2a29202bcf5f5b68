//! The words in braces that stand for the prompt, its file and the worktree in an argument.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use super::{PromptBy, ResultBy};

/// An argument, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Word(Word),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Prompt,
    PromptFile,
    Worktree,
}

const WORDS: [(&str, Word); 3] =
    [("prompt", Word::Prompt), ("prompt_file", Word::PromptFile), ("worktree", Word::Worktree)];

/// What the words stand for in one run.
pub(super) struct Words<'a> {
    pub(super) prompt: &'a str,
    pub(super) prompt_file: &'a Path,
    pub(super) worktree: &'a Path,
}

impl Template {
    /// Returns the argument. What is put in is not looked at for words again.
    pub(super) fn fill(&self, words: &Words<'_>) -> OsString {
        let mut argument = OsString::new();
        for part in &self.0 {
            argument.push(match part {
                Part::Text(text) => OsStr::new(text),
                Part::Word(Word::Prompt) => OsStr::new(words.prompt),
                Part::Word(Word::PromptFile) => words.prompt_file.as_os_str(),
                Part::Word(Word::Worktree) => words.worktree.as_os_str(),
            });
        }
        argument
    }
}

/// Takes an argv apart, and refuses one that does not fit how prompt and answer are passed.
pub(super) fn parse(
    argv: &[String],
    prompt: PromptBy,
    result: ResultBy,
) -> Result<(OsString, Vec<Template>), String> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err("is empty; it begins with the program".to_owned());
    };
    check_program(program)?;
    let arguments = arguments.iter().map(|argument| parse_one(argument)).collect::<Result<Vec<_>, _>>()?;
    let uses = |word| arguments.iter().any(|template| template.0.contains(&Part::Word(word)));
    fits(uses(Word::Prompt), prompt == PromptBy::Argument, "{prompt}", "the prompt is passed by argument")?;
    fits(uses(Word::PromptFile), prompt == PromptBy::File, "{prompt_file}", "the prompt is passed by file")?;
    if uses(Word::Worktree) && result != ResultBy::Worktree {
        return Err("{worktree} is for a program whose answer is the worktree".to_owned());
    }
    Ok((program.into(), arguments))
}

fn fits(is_used: bool, is_needed: bool, word: &str, case: &str) -> Result<(), String> {
    match (is_used, is_needed) {
        (true, false) => Err(format!("{word} is only for where {case}")),
        (false, true) => Err(format!("{word} is missing, though {case}")),
        _ => Ok(()),
    }
}

fn check_program(program: &str) -> Result<(), String> {
    if program.is_empty() {
        return Err("the program has no name".to_owned());
    }
    // Relative to what depends on who runs it, and the worktree is the worker's (T11).
    if program.contains('/') && !Path::new(program).is_absolute() {
        return Err(format!("the program {program:?} is neither a name nor an absolute path"));
    }
    if program.contains('\0') {
        return Err("the program has a NUL in its name".to_owned());
    }
    match parse_one(program) {
        Ok(Template(parts)) if parts.iter().all(|part| matches!(part, Part::Text(_))) => Ok(()),
        _ => Err(format!("the program {program:?} has a word in braces")),
    }
}

fn parse_one(argument: &str) -> Result<Template, String> {
    if argument.contains('\0') {
        return Err("an argument has a NUL in it".to_owned());
    }
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut rest = argument;
    while let Some(brace) = rest.find('{') {
        text.push_str(&rest[..brace]);
        rest = &rest[brace..];
        if let Some(name) = word_in(rest, "{{", "}}") {
            text.push_str(&format!("{{{name}}}"));
            rest = &rest[name.len() + 4..];
        } else if let Some(name) = word_in(rest, "{", "}") {
            parts.push(Part::Text(std::mem::take(&mut text)));
            parts.push(Part::Word(known(name)?));
            rest = &rest[name.len() + 2..];
        } else {
            text.push('{');
            rest = &rest[1..];
        }
    }
    text.push_str(rest);
    parts.push(Part::Text(text));
    Ok(Template(parts))
}

/// Returns the word at the start of `text` between these braces. `${HOME}` and `{"json": 1}` have none.
fn word_in<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let inside = text.strip_prefix(open)?;
    let end = inside.find(|c: char| !(c.is_ascii_lowercase() || c == '_'))?;
    (end > 0 && inside[end..].starts_with(close)).then(|| &inside[..end])
}

fn known(name: &str) -> Result<Word, String> {
    let found = WORDS.iter().find(|(known, _)| *known == name).map(|(_, word)| *word);
    found.ok_or_else(|| {
        let known: Vec<_> = WORDS.iter().map(|(known, _)| format!("{{{known}}}")).collect();
        format!(
            "{{{name}}} is not known; known are {}, and {{{{{name}}}}} stands for {{{name}}} itself",
            known.join(", ")
        )
    })
}

#[cfg(test)]
mod tests;
