//! Forms: what every one of them carries, and how one is read.

use axum::extract::Request;
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
        form method="post" action="/act" {
            input type="hidden" name="csrf" value=(session.csrf);
            input type="hidden" name="act" value=(act);
            input type="hidden" name="back" value=(back);
            @for (name, value) in fixed {
                input type="hidden" name=(name) value=(value);
            }
            (inside)
        }
    }
}

/// Reads the fields of a form.
pub(super) async fn read(request: Request) -> Option<Vec<(String, String)>> {
    let bytes = axum::body::to_bytes(request.into_body(), FORM_BYTES_MAX).await.ok()?;
    Some(form_urlencoded::parse(&bytes).into_owned().collect())
}
