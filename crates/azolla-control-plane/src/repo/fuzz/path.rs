//! Paths and targets of links, read again as file systems read them: POSIX, Windows, HFS+, NTFS, and those that fold case as
//! Unicode does (APFS, ext4 with casefold).

use azolla_fuzz::Verdict;

use crate::repo::policy::path;

pub(super) const WORDS: &[&str] = &[
    ".git",
    ".GIT",
    ".gitmodules",
    "git~1",
    "GIT~2",
    "gitmod~1",
    "gi7eba~1",
    "gi7eb~10",
    "~1",
    "..",
    ".",
    "/",
    "\\",
    "//",
    "../",
    "..\\",
    "/.git/",
    "/config",
    " ",
    ". ",
    "::$INDEX_ALLOCATION",
    ":$DATA",
    ":",
    "C:",
    "con",
    "NUL.txt",
    "aux",
    "com1",
    "lpt9",
    "src/",
    "a",
    "\u{200c}",
    "\u{200d}",
    "\u{ad}",
    "\u{feff}",
    "\u{206a}",
    "\u{17f}",
    "\u{131}",
    "\u{130}",
    "\u{212a}",
    "\n",
    "\0",
];

/// The first line is a path, the rest, if there is any, the target of a link that is there.
pub(super) fn check(bytes: &[u8]) -> Verdict {
    let Ok(text) = std::str::from_utf8(bytes) else { return Verdict::Refused };
    let (name, target) = text.split_once('\n').map_or((text, None), |(name, target)| (name, Some(target)));
    if path::check(name).is_err() {
        return Verdict::Refused;
    }
    holds(name);
    if path::check_created(name).is_ok() {
        holds_of_created(name);
        if let Some(target) = target.filter(|target| path::check_link(name, target).is_ok()) {
            holds_of_link(name, target);
        }
    }
    Verdict::Taken
}

/// What must be so of every path that a patch touches.
pub(super) fn holds(name: &str) {
    assert!(name.len() <= 1_024 && !name.chars().any(char::is_control), "{name:?}");
    assert_eq!(
        walk("", name, &['/']),
        Some(name.split('/').count()),
        "{name:?} leaves the tree or has empty parts"
    );
    let parts: Vec<&str> = name.split(['/', '\\']).collect();
    assert!(!parts.contains(&".."), "{name:?} goes up on Windows");
    for part in parts {
        assert!(!is_git(part), "{name:?} is in .git, or is .gitmodules, somewhere");
    }
}

/// What must be so of a path that did not exist.
pub(super) fn holds_of_created(name: &str) {
    assert!(!name.contains(['\\', ':']), "{name:?} is another path on Windows");
    for part in name.split('/') {
        assert!(!part.ends_with(['.', ' ']), "{name:?} is another path on Windows");
        let stem = part.split('.').next().unwrap_or_default().trim_end_matches(' ').to_ascii_uppercase();
        let devices = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];
        let is_port = stem.len() == 4
            && (stem.starts_with("COM") || stem.starts_with("LPT"))
            && matches!(stem.as_bytes()[3], b'1'..=b'9');
        assert!(!devices.contains(&stem.as_str()) && !is_port, "{name:?} is a device");
    }
}

fn holds_of_link(name: &str, target: &str) {
    let (above, _) = name.rsplit_once('/').unwrap_or(("", name));
    for separators in [&['/'][..], &['/', '\\']] {
        assert!(walk(above, target, separators).is_some(), "{name:?} leads out of the tree: {target:?}");
    }
    let mut letters = target.chars();
    let is_drive =
        letters.next().is_some_and(|first| first.is_ascii_alphabetic()) && letters.next() == Some(':');
    assert!(!is_drive && !target.starts_with(['/', '\\']), "{name:?} leads out of the tree: {target:?}");
    assert!(!target.split(['/', '\\']).any(is_git), "{name:?} leads into .git: {target:?}");
}

/// Walks from a directory of the tree; returns how deep it ends, or nothing if it was outside on its way.
fn walk(from: &str, path: &str, separators: &[char]) -> Option<usize> {
    let mut depth = from.split('/').filter(|part| !part.is_empty()).count();
    if path.starts_with(separators) {
        return None;
    }
    for part in path.split(separators) {
        depth = match part {
            "" | "." => depth,
            ".." => depth.checked_sub(1)?,
            _ => depth + 1,
        };
    }
    Some(depth)
}

/// Tells whether some file system takes a name for `.git` or `.gitmodules`.
fn is_git(name: &str) -> bool {
    [name.to_owned(), as_hfs(name), as_folded(name), as_folded(&as_hfs(name))].iter().any(|name| {
        let name = as_ntfs(name);
        let name = name.to_ascii_lowercase();
        matches!(name.as_str(), ".git" | ".gitmodules")
            || is_short_of_git(&name)
            || is_short_of_modules(&name)
    })
}

/// HFS+ leaves these out: the list that git has.
fn as_hfs(name: &str) -> String {
    let is_left_out =
        |c: char| matches!(u32::from(c), 0x200c..=0x200f | 0x202a..=0x202e | 0x206a..=0x206f | 0xfeff);
    name.chars().filter(|c| !is_left_out(*c)).collect()
}

/// Windows takes off the stream, and dots and spaces at the end.
fn as_ntfs(name: &str) -> &str {
    name.split(':').next().unwrap_or_default().trim_end_matches([' ', '.'])
}

/// Unicode folds more to ASCII letters than their capitals: U+017F is an s. Some tables have U+0131 as an i.
fn as_folded(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            '\u{17f}' => 's',
            '\u{131}' => 'i',
            '\u{212a}' => 'k',
            c => c,
        })
        .collect()
}

fn is_short_of_git(name: &str) -> bool {
    name.strip_prefix("git~")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `GITMOD~1` to `~4`, and from then on what is left of `GI7EBA` before a number, eight characters in all.
fn is_short_of_modules(name: &str) -> bool {
    let Some((stem, number)) = name.split_once('~') else { return false };
    let is_number = number.starts_with(|first: char| ('1'..='9').contains(&first))
        && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && (stem == "gitmod" || (name.len() == 8 && "gi7eba".starts_with(stem)))
}
