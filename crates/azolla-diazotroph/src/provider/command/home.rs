//! Files of the operator's home, such as a login, in the fresh home of a run; and the secrets that are in them.

use std::{
    ffi::OsString,
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::is_named_as_a_secret;

/// A login is small; what is larger is not one.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The most secrets that every word of a program is held against.
const SECRETS_MAX: usize = 4_096;

/// A shorter value is no key.
const KEY_BYTES_MIN: usize = 16;

/// What of the copied files must not come back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Under a name that secrets have: not in an answer either.
    pub(super) named: Vec<OsString>,
    /// Values that only look like one: not in what was said.
    pub(super) alike: Vec<OsString>,
}

/// A file that cannot be passed on.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    #[error("{} cannot be copied: {}", .0.display(), .1)]
    Unreadable(PathBuf, #[source] io::Error),
    #[error("{} leads out of the home directory", .0.display())]
    LeadsOut(PathBuf),
    #[error("{} is no regular file", .0.display())]
    NoFile(PathBuf),
    #[error("{} has more than {FILE_BYTES_MAX} bytes", .0.display())]
    TooLarge(PathBuf),
    #[error("{} has more than {SECRETS_MAX} values that look like secrets", .0.display())]
    TooManySecrets(PathBuf),
}

/// Copies the files that are there, with mode 0600, and returns their secrets. A link is followed where it stays below
/// the home; what it leads to is read, never written.
pub(super) fn copy(home: &Path, files: &[String], to: &Path) -> Result<Found, Unusable> {
    let mut found = Found::default();
    for path in files {
        let source = home.join(path);
        let Some(bytes) = read(home, &source)? else { continue };
        find_secrets(&String::from_utf8_lossy(&bytes), &mut found);
        if found.named.len() + found.alike.len() > SECRETS_MAX {
            return Err(Unusable::TooManySecrets(source));
        }
        write(&to.join(path), &bytes).map_err(|error| Unusable::Unreadable(source, error))?;
    }
    Ok(found)
}

/// Returns what the file holds; none where there is none, which the program will say better than we can.
fn read(home: &Path, source: &Path) -> Result<Option<Vec<u8>>, Unusable> {
    let unreadable = |error| Unusable::Unreadable(source.to_owned(), error);
    let real = match (home.canonicalize(), source.canonicalize()) {
        (Ok(home), Ok(real)) if real.starts_with(&home) => real,
        (Ok(_), Ok(_)) => return Err(Unusable::LeadsOut(source.to_owned())),
        (Err(error), _) | (_, Err(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        (Err(error), _) | (_, Err(error)) => return Err(unreadable(error)),
    };
    // Before it is opened: a pipe without a writer would be waited for.
    if !real.symlink_metadata().map_err(unreadable)?.is_file() {
        return Err(Unusable::NoFile(source.to_owned()));
    }
    let mut bytes = Vec::new();
    let file = File::open(&real).map_err(unreadable)?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Unusable::TooLarge(source.to_owned()));
    }
    Ok(Some(bytes))
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    // The same file may be listed twice.
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}

/// Finds what looks like a key: in JSON by its values, elsewhere by lines such as `name: value`.
fn find_secrets(text: &str, found: &mut Found) {
    match serde_json::from_str::<Value>(text) {
        Ok(value) => find_in_json("", &value, found),
        Err(_) => text.lines().for_each(|line| find_in_line(line, found)),
    }
}

/// Goes no deeper than the parser does, which refuses what is deeper than its own limit.
fn find_in_json(name: &str, value: &Value, found: &mut Found) {
    match value {
        Value::String(text) => take(name, text, found),
        Value::Array(values) => values.iter().for_each(|value| find_in_json(name, value, found)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| find_in_json(name, value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn find_in_line(line: &str, found: &mut Found) {
    let (name, value) = line.split_once([':', '=']).unwrap_or(("", line));
    let value = value.trim().trim_end_matches(',').trim_matches(['"', '\'']);
    take(name, value, found);
}

fn take(name: &str, value: &str, found: &mut Found) {
    if value.len() < KEY_BYTES_MIN || value.contains(char::is_whitespace) {
        return;
    }
    if is_named_as_a_secret(name) {
        found.named.push(value.into());
    } else if looks_random(value) {
        found.alike.push(value.into());
    }
}

/// Tells a key from an address, a path or a word: letters and digits, and of other marks only those that keys have.
fn looks_random(value: &str) -> bool {
    let is_of_a_key = |c: char| c.is_ascii_alphanumeric() || "-_.+=~".contains(c);
    value.chars().all(is_of_a_key)
        && value.contains(|c: char| c.is_ascii_digit())
        && value.contains(|c: char| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests;
