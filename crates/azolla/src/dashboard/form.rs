//! Forms: what every one of them carries, and how one is read.

use axum::{
    body::Body,
    http::{HeaderMap, header},
};
use azolla_protocol::is_blank;
use maud::{Markup, html};

use super::session::Session;

/// The most bytes of a form: a note of 1 MiB, each of whose bytes may be written as `%xx`, and the rest.
const FORM_BYTES_MAX: usize = 3 * 1024 * 1024 + 64 * 1024;

/// A form that takes one act. `fixed` are the fields that the page knows; `inside` holds the rest and the button.
pub(crate) fn form(
    session: &Session,
    act: &str,
    back: &str,
    fixed: &[(&str, &str)],
    inside: Markup,
) -> Markup {
    html! {
        form method="post" action="/act" data-act=(act) {
            input type="hidden" name="csrf" value=(session.csrf);
            input type="hidden" name="once" value=(session.once());
            input type="hidden" name="act" value=(act);
            input type="hidden" name="back" value=(back);
            @for (name, value) in fixed {
                input type="hidden" name=(name) value=(value);
            }
            (inside)
        }
    }
}

/// The fields of a form that was sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields(Vec<(String, String)>);

/// Why a form is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unread {
    /// It is too large.
    #[error("the form has more than {FORM_BYTES_MAX} bytes")]
    TooLarge,
    /// It is something else.
    #[error("this is no form of a page")]
    NoForm,
}

impl Fields {
    /// Reads the fields. Lines end as they do everywhere here: a browser sends them as of old.
    pub(super) async fn read(headers: &HeaderMap, body: Body) -> Result<Self, Unread> {
        let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = content_type.and_then(|value| value.split(';').next()).unwrap_or_default();
        if !kind.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(Unread::NoForm);
        }
        let bytes = axum::body::to_bytes(body, FORM_BYTES_MAX).await.map_err(|_| Unread::TooLarge)?;
        Ok(Self::of(&bytes))
    }

    /// Reads the fields of a form, or what stands behind the `?` of a path.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let fields = form_urlencoded::parse(bytes);
        Self(fields.map(|(name, value)| (name.into_owned(), value.replace("\r\n", "\n"))).collect())
    }

    /// Returns the value of a field.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// Returns the value of a field, if something is in it.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !is_blank(value))
    }

    /// Returns every field.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the fields with another value of one.
    pub(super) fn with(&self, name: &str, value: &str) -> Self {
        let others = self.0.iter().filter(|(found, _)| found != name).cloned();
        Self(others.chain([(name.to_owned(), value.to_owned())]).collect())
    }

    /// Returns the fields whose name begins with this, without it.
    pub(super) fn below(&self, beginning: &str) -> Self {
        let below = self.iter().filter_map(|(name, value)| Some((name.strip_prefix(beginning)?, value)));
        Self(below.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }
}

/// Where there is no page to look at.
const NO_PAGES: [&str; 3] = ["/act", "/logout", "/events"];

/// Returns the path of a page of ours as it was given, or the first page: never a place elsewhere.
pub(super) fn path_of_ours(given: Option<&str>) -> &str {
    const CHARS_MAX: usize = 2_000;
    let is_ours = |path: &&str| {
        path.starts_with('/')
            && !path.starts_with("//")
            && !path.contains('\\')
            && path.len() <= CHARS_MAX
            && path.bytes().all(|byte| byte.is_ascii_graphic())
            && !path.split(['?', '#']).next().is_some_and(|path| NO_PAGES.contains(&path))
    };
    given.filter(is_ours).unwrap_or("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t24_no_form_leads_elsewhere() {
        for elsewhere in [
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/a\\b",
            "https://evil.example",
            "javascript:alert(1)",
            "evil.example",
            "",
            "/a\r\nSet-Cookie: x=y",
            "/\t/evil.example",
            "/ä",
            "/act",
            "/logout?x=1",
            "/events#x",
            &format!("/{}", "a".repeat(2_000)),
        ] {
            assert_eq!(path_of_ours(Some(elsewhere)), "/", "{elsewhere:?}");
        }
        assert_eq!(path_of_ours(None), "/");
        for ours in ["/", "/acts", "/objectives/az-app/obj-1?file=2#x", "/notes?all=1"] {
            assert_eq!(path_of_ours(Some(ours)), ours);
        }
    }

    #[test]
    fn lines_end_as_everywhere() {
        let fields = Fields::of(b"text=a%0D%0Ab%0Ac&keep.text=d&empty=+");
        assert_eq!((fields.get("text"), fields.given("empty")), (Some("a\nb\nc"), None));
        assert_eq!(fields.below("keep.").get("text"), Some("d"));
    }
}
