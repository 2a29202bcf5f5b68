//! What stands around every page: the head, the way to the other pages, what the last act said.

use maud::{DOCTYPE, Markup, html};

use super::{PageError, Shown, session::Session};

/// Where a page stands among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tab {
    Home,
    None,
}

const TABS: [(Tab, &str, &str); 1] = [(Tab::Home, "/", "Now")];

/// What a page does not bring itself.
pub(super) struct Frame<'a> {
    pub(super) session: &'a Session,
    pub(super) said: Option<&'a str>,
}

/// Puts a page into its frame.
pub(super) fn page(frame: &Frame<'_>, shown: Shown) -> Markup {
    document(
        &shown.title,
        html! {
            header {
                nav {
                    @for (tab, path, name) in TABS {
                        a href=(path) aria-current=[(tab == shown.tab).then_some("page")] { (name) }
                    }
                }
                form method="post" action="/logout" {
                    input type="hidden" name="csrf" value=(frame.session.csrf);
                    button { "Log out" }
                }
            }
            @if let Some(said) = frame.said { p role="status" { (said) } }
            main { (shown.main) }
        },
    )
}

/// Says why there is no page.
pub(super) fn sorry(error: &PageError) -> Shown {
    Shown { title: "Not here".to_owned(), tab: Tab::None, main: html! { p { (error) } } }
}

/// The page where a session begins.
pub(super) fn log_in(said: Option<&str>) -> Markup {
    document(
        "Log in",
        html! {
            main {
                h1 { "azolla" }
                @if let Some(said) = said { p role="alert" { (said) } }
                form method="post" action="/login" {
                    label { "The operator's token " input type="password" name="token" required; }
                    button { "Log in" }
                }
            }
        },
    )
}

fn document(title: &str, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " - azolla" }
                link rel="stylesheet" href="/style.css";
                script src="/script.js" defer {}
            }
            body { (body) }
        }
    }
}
