//! What the operator may name as a repository (T19, T20) and as a base branch (T18): checked before git sees it.

use std::path::PathBuf;

use super::{RepositoryError, refusal::visible};

/// A repository that may be named: a path on this machine, or a URL with a transport that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepoRef {
    /// A directory.
    Path(PathBuf),
    /// Somewhere else.
    Url {
        /// The URL as it was given; `user@host:path` too.
        url: String,
        /// The one transport that git may use for it.
        protocol: &'static str,
    },
}

impl RepoRef {
    /// Returns what `GIT_ALLOW_PROTOCOL` is set to.
    pub(super) fn protocol(&self) -> &'static str {
        match self {
            Self::Path(_) => "file",
            Self::Url { protocol, .. } => protocol,
        }
    }
}

/// Returns what a repository's name stands for, or refuses it.
pub fn check_repo_ref(text: &str) -> Result<RepoRef, RepositoryError> {
    if text.is_empty() {
        return Err(refused(text, "the repository has no name", "give a path or a URL"));
    }
    if text.len() > 4_096 || text.chars().any(char::is_control) {
        return Err(refused(text, "is too long or has control characters", NAME_IT));
    }
    if text.starts_with('-') {
        return Err(refused(text, "reads like an option", "write ./ before the name of a directory"));
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        return url(text, scheme, rest);
    }
    if text.contains("::") && !text.starts_with(['/', '.', '~']) {
        return Err(refused(text, "names a transport helper, which runs a program", NAME_IT));
    }
    match text.split_once(':') {
        Some((host, path)) if !host.contains('/') => scp_like(text, host, path),
        _ => Ok(RepoRef::Path(PathBuf::from(text))),
    }
}

/// Refuses a base branch that git could read as anything but a branch (T18).
pub fn check_branch(name: &str) -> Result<(), RepositoryError> {
    let reason = if name.is_empty() {
        "is empty"
    } else if name.len() > 200 {
        "is longer than 200 bytes"
    } else if !name.chars().all(is_branch_character) {
        "has a character that a branch may not have"
    } else if name.starts_with(['-', '/']) || name.ends_with(['/', '.']) {
        "begins or ends with a character that it may not"
    } else if name == "@" || name == "HEAD" || name.contains("..") {
        "reads like a revision"
    } else if name.split('/').any(|part| part.is_empty() || part.starts_with('.') || part.ends_with(".lock"))
    {
        "has an empty part, or one that begins with `.` or ends with `.lock`"
    } else {
        return Ok(());
    };
    Err(RepositoryError::Unusable {
        what: format!("the base branch \"{}\" {reason}", visible(name)),
        action: "set base_branch to the name of a branch, such as main".to_owned(),
    })
}

const NAME_IT: &str = "give a path, or an https, http, ssh or git URL";

fn url(text: &str, scheme: &str, rest: &str) -> Result<RepoRef, RepositoryError> {
    let protocol = match scheme {
        "https" => "https",
        "http" => "http",
        "ssh" => "ssh",
        "git" => "git",
        "file" => return Err(refused(text, "is a file URL", "give the path instead")),
        _ => return Err(refused(text, "has a transport that is not known", NAME_IT)),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, place) =
        authority.rsplit_once('@').map_or((None, authority), |(user, place)| (Some(user), place));
    let Some((host, port)) = split_port(place) else {
        return Err(refused(text, "has something between its address and its port", NAME_IT));
    };
    if user.is_some_and(|user| user.contains(':')) {
        return Err(refused(
            "the URL",
            "has a password in it",
            "give it without, and use an ssh key or none",
        ));
    }
    let port_is_one =
        port.is_none_or(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_host(host) || !user.is_none_or(is_user) || !port_is_one {
        return Err(refused(text, "has a host, user or port that is not one", NAME_IT));
    }
    if path.is_empty() || path.starts_with('-') || text.chars().any(char::is_whitespace) {
        return Err(refused(text, "has no path, or one that is not one", NAME_IT));
    }
    Ok(RepoRef::Url { url: text.to_owned(), protocol })
}

fn scp_like(text: &str, place: &str, path: &str) -> Result<RepoRef, RepositoryError> {
    let (user, host) = place.rsplit_once('@').map_or((None, place), |(user, host)| (Some(user), host));
    let path_is_one = !path.is_empty() && !path.starts_with('-') && !path.chars().any(char::is_whitespace);
    if !is_host(host) || !user.is_none_or(is_user) || !path_is_one {
        return Err(refused(text, "is neither a path nor user@host:path", NAME_IT));
    }
    Ok(RepoRef::Url { url: text.to_owned(), protocol: "ssh" })
}

/// Returns the host, and the port if there is one. Nothing else may follow an address in brackets.
fn split_port(place: &str) -> Option<(&str, Option<&str>)> {
    if let Some(end) = place.find(']')
        && place.starts_with('[')
    {
        let (host, rest) = place.split_at(end + 1);
        return if rest.is_empty() {
            Some((host, None))
        } else {
            Some((host, Some(rest.strip_prefix(':')?)))
        };
    }
    Some(place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))))
}

// No `%`: git decodes it, so that `%2d` would begin an option after all.
fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return !address.is_empty()
            && address.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':' || byte == b'.');
    }
    !host.is_empty()
        && !host.starts_with('-')
        && host.chars().all(|character| character.is_alphanumeric() || matches!(character, '.' | '-' | '_'))
}

fn is_user(user: &str) -> bool {
    is_host(user) && !user.starts_with('[')
}

fn is_branch_character(character: char) -> bool {
    character.is_alphanumeric()
        || matches!(character, '.' | '_' | '-' | '/' | '+' | '#' | '@' | '=' | ',' | '%')
}

fn refused(text: &str, reason: &str, action: &str) -> RepositoryError {
    let what = if text.is_empty() { reason.to_owned() } else { format!("\"{}\" {reason}", visible(text)) };
    RepositoryError::Unusable { what, action: action.to_owned() }
}

#[cfg(test)]
mod tests;
