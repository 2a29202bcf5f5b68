//! Which names a patch may use (T1, T2): no way out of the tree, and no other spelling of `.git`.

use crate::repo::refusal::is_unseen;

/// Refuses a path that leaves the tree or is an alias of `.git` or `.gitmodules` on any file system.
pub(crate) fn check(path: &str) -> Result<(), &'static str> {
    if path.is_empty() {
        return Err("is an empty path");
    }
    if path.len() > 1_024 {
        return Err("is longer than 1024 bytes");
    }
    if path.chars().any(char::is_control) {
        return Err("has a control character in its name");
    }
    if path.starts_with('/') {
        return Err("is an absolute path");
    }
    path.split('/').try_for_each(check_part)
}

/// Refuses a new name that another file system would store under a different one, or that a person takes for another.
/// What the base has already may be changed all the same.
pub(crate) fn check_created(path: &str) -> Result<(), &'static str> {
    if path.chars().any(is_unseen) {
        return Err("has a character in its name that is not seen or turns text");
    }
    for part in path.split('/') {
        if part.contains('\\') {
            return Err("has a backslash in its name");
        }
        if part.contains(':') {
            return Err("has a colon in its name, which names a stream on NTFS");
        }
        if part.ends_with(['.', ' ']) {
            return Err("has a name that ends with a dot or a space");
        }
        if is_device(part) {
            return Err("has a name that is a device on Windows");
        }
    }
    Ok(())
}

/// Refuses the target of a link that leaves the tree or leads into `.git` (T3).
pub(crate) fn check_link(path: &str, target: &str) -> Result<(), &'static str> {
    if target.is_empty() || target.chars().any(char::is_control) {
        return Err("is a link whose target is not a path");
    }
    if target.starts_with(['/', '\\']) || target.get(1..2) == Some(":") {
        return Err("is a link with an absolute target");
    }
    let depth = path.matches('/').count();
    let parts: Vec<&str> = target.split(['/', '\\']).filter(|part| !matches!(*part, "" | ".")).collect();
    let up = parts.iter().take_while(|part| **part == "..").count();
    if up > depth {
        return Err("is a link that leaves the tree");
    }
    // Behind a name that is itself a link, `..` would begin somewhere else than it seems.
    if parts[up..].contains(&"..") {
        return Err("is a link whose target goes up behind a name");
    }
    parts[up..].iter().try_for_each(|part| check_part(part)).map_err(|_| "is a link into .git")
}

fn check_part(part: &str) -> Result<(), &'static str> {
    match part {
        "" => return Err("has an empty part in its path"),
        "." | ".." => return Err("has . or .. in its path"),
        _ => {}
    }
    // NTFS reads a backslash as another separator.
    for piece in part.split('\\') {
        let spellings = [hfs(piece), ntfs(piece), ntfs(&hfs(piece))];
        if spellings.iter().any(|name| name == ".git" || is_short_name(name, "git~")) {
            return Err("is .git, or a name that some file systems take for it");
        }
        if spellings.iter().any(|name| name == ".gitmodules" || is_short_modules(name)) {
            return Err(
                "is .gitmodules, or a name that some file systems take for it; submodules are not changed",
            );
        }
        if piece == ".." {
            return Err("has . or .. in its path");
        }
    }
    Ok(())
}

/// Returns the name as HFS+ compares it: code points that it ignores are left out, case is folded.
fn hfs(name: &str) -> String {
    let is_ignored = |character: &char| {
        matches!(character,
            '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}')
    };
    folded(name.chars().filter(|character| !is_ignored(character)))
}

/// Returns the name as NTFS opens it: no stream, no dots or spaces at the end, case folded.
fn ntfs(name: &str) -> String {
    let file = name.split(':').next().unwrap_or(name);
    folded(file.trim_end_matches(['.', ' ']).chars())
}

/// Folds case both ways: APFS and ext4 take U+017F for an s, and the capital of U+0131 is an I.
fn folded(name: impl Iterator<Item = char>) -> String {
    name.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// `GITMOD~1`, or what NTFS makes up once the first four are taken: `GI7EBA~1`, and shorter for each digit more.
fn is_short_modules(name: &str) -> bool {
    let of_number = |stem: &str| name.len() == 8 && is_short_name(name, &format!("{stem}~"));
    is_short_name(name, "gitmod~")
        || is_short_name(name, "gi7eba~")
        || (0..6).any(|length| of_number(&"gi7eba"[..length]))
}

fn is_short_name(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_device(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or(part).trim_end().to_ascii_lowercase();
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix)
            .is_some_and(|rest| rest.len() == 1 && rest != "0" && rest.as_bytes()[0].is_ascii_digit())
    };
    matches!(stem.as_str(), "con" | "prn" | "aux" | "nul" | "conin$" | "conout$")
        || numbered("com")
        || numbered("lpt")
}
