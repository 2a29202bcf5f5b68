//! Text from the command line, or from stdin where `-` is given.

use std::io::Read;

use crate::failure::Failure;

/// The most bytes that are read from stdin: more than any field of an artifact takes.
const STDIN_BYTES_MAX: u64 = 1024 * 1024;

/// Returns the text itself, or all of stdin for `-`.
pub(crate) fn given(text: String) -> anyhow::Result<String> {
    if text != "-" {
        return Ok(text);
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(STDIN_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > STDIN_BYTES_MAX {
        return Err(Failure::usage("stdin has more than 1 MiB, which is the most that is taken").into());
    }
    let text = String::from_utf8(bytes).map_err(|_| Failure::usage("stdin is not UTF-8"))?;
    Ok(text.trim_end().to_owned())
}

/// Returns who the operator is, for the record.
pub(crate) fn who() -> String {
    let named = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    let name: String = named.unwrap_or_default().chars().filter(|c| !c.is_control()).take(100).collect();
    if name.trim().is_empty() { "operator".to_owned() } else { name }
}

/// Returns a word as a shell takes it, in quotes where it needs them.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@,+=%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
