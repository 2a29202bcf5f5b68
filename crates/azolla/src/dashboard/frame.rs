//! What stands around every page: the head, the way to the other pages, the box for a note, what the last act said.

use azolla_protocol::AzollaType;
use maud::{DOCTYPE, Markup, html};

use super::{
    PageError, Shown, asset,
    form::{Fields, form},
    login::{KEPT, LogIn},
    part,
    session::Session,
};
use crate::{
    acts::{Act, Done},
    http::App,
};

/// Where a page stands among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tab {
    Home,
    Objectives,
    Notes,
    Manifests,
    Runs,
    Health,
    None,
}

/// Every tab: its path, its name, and the key that follows `g`.
const TABS: [(Tab, &str, &str, &str); 6] = [
    (Tab::Home, "/", "Now", "n"),
    (Tab::Objectives, "/objectives", "Objectives", "o"),
    (Tab::Notes, "/notes", "Notes", "t"),
    (Tab::Manifests, "/manifests", "Orientation", "m"),
    (Tab::Runs, "/runs", "Runs", "r"),
    (Tab::Health, "/health", "Health", "h"),
];

/// The other keys. A key that is about an act goes to its button or opens its form; it never takes the act.
const KEYS: [(&str, &str); 14] = [
    ("j k", "next and previous row or action"),
    ("Enter", "open it"),
    ("c", "write a note"),
    ("n", "describe a new objective"),
    ("a", "go to: approve"),
    ("y", "go to: confirm the result"),
    ("x", "go to: send it back, or stop the run"),
    ("r", "go to: run it again"),
    ("u", "go to: unblock"),
    ("e", "go to: edit"),
    ("b", "go to: block"),
    ("s", "go to: leave it alone for a while"),
    ("p", "go to: make a candidate a piece of work"),
    ("?", "show these keys"),
];

/// What is said where a store does not answer.
const AWAY: &str = "What this page shows cannot be read now. The server's own output says why.";

/// What a page does not bring itself.
pub(super) struct Frame<'a> {
    pub(super) session: &'a Session,
    /// What the last act said, to be told once.
    pub(super) said: Option<&'a Done>,
    /// Where notes go.
    pub(super) desks: Vec<String>,
    /// The path of the page.
    pub(super) path: &'a str,
    /// How far everything was when the page was read; empty where nothing of it is live.
    pub(super) mark: &'a str,
}

/// Returns the azollas that take notes.
pub(super) fn desks(app: &App) -> Vec<String> {
    let desks = app.deployment.config.of_type(AzollaType::TaskMgmt);
    desks.map(|azolla| azolla.id.to_string()).collect()
}

/// The box for a note.
pub(super) fn capture(session: &Session, desks: &[String], back: &str) -> Markup {
    let fixed: Vec<_> = match desks {
        [only] => vec![("azolla", only.as_str())],
        _ => Vec::new(),
    };
    let inside = html! {
        label { span.unseen { "A note" } textarea name="text" rows="3" required placeholder="Whatever is on your mind" data-key="c" {} }
        @if desks.len() > 1 { label { "For" select name="azolla" { @for id in desks { option value=(id) { (id) } } } } }
        button.main { "Keep it" }
    };
    html! { div.capture { (form(session, Act::Capture.name(), back, &fixed, inside)) } }
}

/// Puts a page into its frame.
pub(super) fn page(frame: &Frame<'_>, shown: Shown) -> Markup {
    document(
        &shown.title,
        frame.mark,
        html! {
            a.skip href="#main" { "Skip to the content" }
            header.top {
                div.wide {
                    a.brand href="/" { "azolla" }
                    nav aria-label="Pages" {
                        @for (tab, path, name, key) in TABS {
                            a href=(path) aria-current=[(tab == shown.tab).then_some("page")] data-go=(key) { (name) }
                        }
                    }
                    div.tools {
                        // On these two pages the box is in the page itself.
                        @if !frame.desks.is_empty() && !matches!(shown.tab, Tab::Home | Tab::Notes) {
                            details.act {
                                summary.button { "Capture" }
                                (capture(frame.session, &frame.desks, frame.path))
                            }
                        }
                        form method="post" action="/logout" {
                            input type="hidden" name="csrf" value=(frame.session.csrf);
                            button.quiet { "Log out" }
                        }
                    }
                }
            }
            div.wide {
                @if let Some(done) = frame.said { (said(done)) }
                p #told.unseen role="status" aria-live="polite" {}
                main #main { (shown.main) }
                // There are keys where there is a script.
                footer #keys-hint hidden { button.quiet type="button" { "Keys: press " kbd { "?" } } }
            }
            (keys())
        },
    )
}

/// The shortcuts, for the script to show.
fn keys() -> Markup {
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            dl.keys {
                @for (_, _, name, key) in TABS { div { dt { kbd { "g" } " " kbd { (key) } } dd { (name) } } }
                @for (key, what) in KEYS { div { dt { @for key in key.split(' ') { kbd { (key) } " " } } dd { (what) } } }
            }
            label { input #keys-on type="checkbox" checked; " Use these keys (" kbd { "?" } " always works)" }
            form method="dialog" { button { "Close" } }
        }
    }
}

/// Says what was done, and what leads on.
fn said(done: &Done) -> Markup {
    html! {
        div.said role="status" {
            p { (part::words(&done.line())) }
            @for remark in &done.remarks { p { (part::words(remark)) } }
        }
    }
}

/// Says why there is no page.
pub(super) fn sorry(error: &PageError) -> Shown {
    let (title, said, next) = match error {
        PageError::Missing(what) => ("Not here", what.as_str(), "azolla objective list --all"),
        PageError::Away(_) => ("Not now", AWAY, "azolla doctor"),
    };
    let main = html! {
        h1 tabindex="-1" { (title) }
        p { (part::words(said)) }
        p { (part::command(next)) }
    };
    Shown { title: title.to_owned(), tab: Tab::None, main }
}

/// The page where a session begins.
pub(super) fn log_in(log_in: &LogIn<'_>) -> Markup {
    let kept =
        log_in.kept.into_iter().flat_map(Fields::iter).filter(|(name, _)| !["csrf", "once"].contains(name));
    let main = html! {
        h1 { "azolla" }
        @if let Some(said) = log_in.said { p.remark role="alert" { (part::words(said)) } }
        form method="post" action="/login" {
            @if let Some(next) = log_in.next { input type="hidden" name="next" value=(next); }
            @for (name, value) in kept { input type="hidden" name={ (KEPT) (name) } value=(value); }
            @if let Some(code) = log_in.code {
                p { "This link logs you in on this browser. It counts once." }
                input type="hidden" name="code" value=(code);
            } @else {
                label { "The operator's token" input type="password" name="token" required autocomplete="current-password"; }
            }
            button.main { "Log in" }
        }
        @if log_in.code.is_none() { p.faint { "A link that logs you in: " (part::command("azolla up --open")) } }
        // A browser that comes from another site shows no cookie; from here it does.
        @if let (Some(next), None) = (log_in.next, log_in.said) {
            p.faint { "Logged in already? " a href=(next) { "Go on" } }
        }
    };
    alone("Log in", main)
}

/// A page without the frame: for whoever is not logged in.
pub(super) fn alone(title: &str, main: Markup) -> Markup {
    document(title, "", html! { main.alone { (main) } })
}

fn document(title: &str, mark: &str, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (part::words(title)) " · azolla" }
                link rel="icon" href=(asset::path("icon.svg")) type="image/svg+xml";
                link rel="stylesheet" href=(asset::path("style.css"));
                script src=(asset::path("script.js")) defer {}
            }
            body data-mark=[(!mark.is_empty()).then_some(mark)] { (body) }
        }
    }
}
