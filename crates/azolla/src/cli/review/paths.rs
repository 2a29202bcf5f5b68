//! The paths that a change touches, and those that a reviewer looks at first (T17).

use azolla_control_plane::repo::{self, Protected};

/// Returns those of `paths` that run, or steer what runs, each with why in a few words (T17).
pub(crate) fn protected_paths(paths: &[String]) -> Vec<(&str, &'static str)> {
    let protected = paths.iter().filter_map(|path| Some((path.as_str(), why(repo::protected(path)?))));
    protected.collect()
}

fn why(protected: Protected) -> &'static str {
    match protected {
        Protected::Ci => "runs in CI",
        Protected::Hook => "runs as a hook",
        Protected::AgentConfig => "steers an agent or an editor",
        Protected::BuildScript => "runs when it is built",
        Protected::LockFile => "locks dependencies",
    }
}

/// Returns the paths of a diff in git's form without renames: each header names its path twice.
pub(crate) fn changed(diff: &str) -> Vec<String> {
    // Inside a hunk every line has a sign before it, so a line that begins like this is a header.
    diff.lines().filter_map(|line| header_path(line.strip_prefix("diff --git ")?)).collect()
}

fn header_path(names: &str) -> Option<String> {
    let (half, rest) = (names.get(..names.len() / 2)?, names.get(names.len() / 2..)?);
    let second = rest.strip_prefix(' ')?;
    let bare = |name: &str, prefix: &str| -> Option<String> {
        match name.strip_prefix('"') {
            Some(quoted) => unquoted(quoted.strip_suffix('"')?).strip_prefix(prefix).map(str::to_owned),
            None => name.strip_prefix(prefix).map(str::to_owned),
        }
    };
    let path = bare(half, "a/")?;
    (bare(second, "b/")? == path).then_some(path)
}

/// Undoes git's quoting of a path.
fn unquoted(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        if *byte != b'\\' {
            plain.push(*byte);
            continue;
        }
        let octal = bytes.get(at..at + 3).filter(|digits| digits.iter().all(|d| (b'0'..=b'7').contains(d)));
        if let Some(digits) = octal {
            let value = digits.iter().fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
            plain.push(u8::try_from(value).unwrap_or(b'?'));
            at += 3;
            continue;
        }
        let Some(escaped) = bytes.get(at) else { break };
        at += 1;
        plain.push(match escaped {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            other => *other,
        });
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests;
