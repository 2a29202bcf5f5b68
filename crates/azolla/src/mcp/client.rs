//! Who asks: the name that a client gives itself, made fit for a label. It proves nothing and opens nothing.

use std::sync::{Arc, OnceLock};

use axum::http::{HeaderMap, request::Parts};
use rmcp::{RoleServer, service::RequestContext};

/// The header of a session, and what separates the name in it from the rest.
const SESSION: &str = "mcp-session-id";
const SEPARATOR: char = '~';

/// The most characters of a name.
const CHARS_MAX: usize = 60;

/// A client that gives no name.
const UNKNOWN: &str = "unknown";

/// The place where `initialize` leaves the name of a client over HTTP. It goes back as the session's id, and so comes with
/// every later request: there is no session on this side that could run out, be too many or be lost in a restart.
#[derive(Clone, Default)]
pub(crate) struct Named(Arc<OnceLock<String>>);

impl Named {
    /// Returns the id of the session that has begun, if one has.
    pub(crate) fn session(&self, unique: &str) -> Option<String> {
        Some(format!("{}{SEPARATOR}{unique}", self.0.get()?))
    }
}

/// Notes the name that a client over HTTP begins with.
pub(super) fn note(context: &RequestContext<RoleServer>, name: &str) {
    let named = context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Named>());
    if let Some(named) = named {
        // A request begins one session at the most.
        let _ = named.0.set(clean(name));
    }
}

/// Returns the name of whoever asks.
pub(super) fn name(context: &RequestContext<RoleServer>) -> String {
    if let Some(info) = context.meta.client_info() {
        return clean(&info.name);
    }
    match context.extensions.get::<Parts>() {
        Some(parts) => of_session(&parts.headers).unwrap_or_else(|| UNKNOWN.to_owned()),
        None => context.client_info().map_or_else(|| UNKNOWN.to_owned(), |info| clean(&info.name)),
    }
}

fn of_session(headers: &HeaderMap) -> Option<String> {
    let (name, _) = headers.get(SESSION)?.to_str().ok()?.split_once(SEPARATOR)?;
    Some(clean(name))
}

/// Makes a name one word of letters, digits and `-_.`.
fn clean(name: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let word: String = name.trim().chars().take(CHARS_MAX).map(fit).collect();
    let word = word.trim_matches('-');
    if word.is_empty() { UNKNOWN.to_owned() } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word_that_a_label_can_hold() {
        for (name, word) in [
            ("claude-code", "claude-code"),
            ("Visual Studio Code", "Visual-Studio-Code"),
            ("a\nproposal:b~c", "a-proposal-b-c"),
            ("../../etc", "..-..-etc"),
            ("  ", UNKNOWN),
            ("\u{202e}", UNKNOWN),
        ] {
            assert_eq!(clean(name), word, "{name:?}");
        }
        assert_eq!(clean(&"x".repeat(100)).len(), CHARS_MAX);
    }

    #[test]
    fn a_name_comes_back_with_the_session() {
        let named = Named::default();
        assert_eq!(named.session("1"), None);
        named.0.set(clean("my client")).unwrap();
        let session = named.session("1").unwrap();
        let headers = HeaderMap::from_iter([(SESSION.parse().unwrap(), session.parse().unwrap())]);
        assert_eq!(of_session(&headers).as_deref(), Some("my-client"));
        assert_eq!(of_session(&HeaderMap::new()), None);
    }
}
