//! What a browser gets where a form was not taken: why, what helps, and what was typed, so that nothing is lost.

use axum::{http::StatusCode, response::Response};
use maud::{Markup, html};

use super::{
    Shown, act,
    form::{Fields, Unread, form, path_of_ours},
    frame::{self, Tab},
    html as page, in_frame,
    login::LogIn,
    part,
    session::Session,
};
use crate::{
    acts::Act,
    failure::{Words, sentence},
    http::App,
};

/// The fields that a person types, with what they are called; the others are the page's own.
const TYPED: [(&str, &str, Kind); 12] = [
    ("text", "Note", Kind::Lines),
    ("title", "Title", Kind::Line),
    ("criteria", "Done when", Kind::Lines),
    ("feedback", "What is wrong", Kind::Lines),
    ("reason", "Reason", Kind::Lines),
    ("base", "Base branch", Kind::Line),
    ("importance", "Importance, 0 to 4", Kind::Line),
    ("urgency", "Urgency, 0 to 4", Kind::Line),
    ("budget_ms", "Time for the run, in ms", Kind::Line),
    ("days", "Days", Kind::Line),
    ("until", "Until (YYYY-MM-DD)", Kind::Line),
    ("target", "Azolla that does the work", Kind::Line),
];

/// What every form has anew.
const FRESH: [&str; 4] = ["csrf", "once", "act", "back"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Line,
    Lines,
}

/// Says why something was not done, in the words of the command line, with the form as it was filled in.
pub(super) fn refused(app: &App, session: &Session, act: Act, fields: &Fields, words: &Words) -> Response {
    let is_away = act::status(words.code) == StatusCode::SERVICE_UNAVAILABLE;
    let after = html! {
        // What its state does not allow is not allowed the second time either, but for what can be said otherwise.
        @if has_typed(fields) || is_away { (same(session, act, fields)) }
        p { a href=(path_of_ours(fields.get("back"))) { "Back to the page" } }
    };
    not_done(app, session, act, fields, words, after)
}

/// Says why something was not done that is about another version than the one that was on the page: it is looked at
/// before it is asked for again, so no form is here.
pub(super) fn look_first(app: &App, session: &Session, act: Act, fields: &Fields, words: &Words) -> Response {
    let after = html! { p { a.button href=(path_of_ours(fields.get("back"))) { "See it as it is now" } } };
    not_done(app, session, act, fields, words, after)
}

fn not_done(
    app: &App,
    session: &Session,
    act: Act,
    fields: &Fields,
    words: &Words,
    after: Markup,
) -> Response {
    let status = act::status(words.code);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        app.log_failure(&format!("{}: {}", act.name(), words.text));
    }
    let main = html! {
        h1 tabindex="-1" { "That was not done" }
        p.remark role="alert" { (part::words(&words.text)) }
        @if !words.listing.is_empty() {
            ul { @for line in &words.listing { li { (part::words(line)) } } }
        }
        @if let Some(hint) = &words.hint {
            p { "What helps: " @if hint.starts_with("azolla ") { (part::command(hint)) } @else { (part::words(hint)) } }
        }
        (after)
    };
    in_frame(session, status, path_of_ours(fields.get("back")), shown("Not done", main))
}

/// Says that the session is over, and asks to log in; what was typed comes back then.
pub(super) fn log_in(fields: &Fields) -> Response {
    let said = match has_typed(fields) {
        true => "You are logged out. What you typed is kept: it comes back once you have logged in.",
        false => "You are logged out.",
    };
    let next = Some(path_of_ours(fields.get("back")));
    let log_in = LogIn { said: Some(said), next, kept: Some(fields), ..LogIn::default() };
    page(StatusCode::UNAUTHORIZED, frame::log_in(&log_in))
}

/// Shows what was typed before the log in, to be sent.
pub(super) fn send(session: &Session, kept: &Fields) -> Response {
    not_sent(session, kept, StatusCode::OK, "You are logged in. What you typed is not sent yet.")
}

/// Says that a form is of another session of the same browser.
pub(super) fn stale(session: &Session, fields: &Fields) -> Response {
    let said = "The page was made before you logged in. Nothing was done yet.";
    not_sent(session, fields, StatusCode::FORBIDDEN, said)
}

/// Says that a form is of a page of before a restart: what came of it, if it was sent then, is not known any more.
pub(super) fn of_before(session: &Session, fields: &Fields) -> Response {
    let said = "The server was started again since the page was made. If you sent this before, it may be done already: \
                look first.";
    not_sent(session, fields, StatusCode::CONFLICT, said)
}

fn not_sent(session: &Session, fields: &Fields, status: StatusCode, said: &str) -> Response {
    let back = path_of_ours(fields.get("back"));
    let Some(act) = fields.get("act").and_then(Act::of) else { return unknown(session) };
    let main = html! {
        h1 tabindex="-1" { "Send it?" }
        p role="status" { (said) }
        (same(session, act, fields))
        p { a href=(back) { "Back to the page" } }
    };
    in_frame(session, status, back, shown("Send it?", main))
}

/// Says that a form is none of ours.
pub(super) fn unknown(session: &Session) -> Response {
    let main = html! {
        h1 tabindex="-1" { "That was not done" }
        p.remark role="alert" { "The form is not one of this version of azolla." }
        p { a href="/" { "To the first page" } }
    };
    in_frame(session, StatusCode::BAD_REQUEST, "/", shown("Not done", main))
}

/// Says that the word of a form is not that of the session.
pub(super) fn out_of_date() -> Shown {
    let main = html! {
        h1 tabindex="-1" { "That was not done" }
        p.remark role="alert" { "The page was made before you logged in." }
        p { a href="/" { "To the first page" } }
    };
    shown("Not done", main)
}

/// Says that a request came from elsewhere (T24).
pub(super) fn not_from_here() -> Response {
    alone(StatusCode::FORBIDDEN, "The request did not come from a page of this server.")
}

/// Says that a form cannot be read.
pub(super) fn unread(unread: &Unread) -> Response {
    let status = match unread {
        Unread::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Unread::NoForm => StatusCode::UNSUPPORTED_MEDIA_TYPE,
    };
    alone(status, &unread.to_string())
}

/// Says that nobody can tell who asks now.
pub(super) fn away(app: &App, error: &anyhow::Error) -> Response {
    app.log_failure(&format!("sessions cannot be read: {}", sentence(error)));
    let said =
        "Who is logged in cannot be read now. Go back and try again; if it stays like this: azolla doctor";
    alone(StatusCode::SERVICE_UNAVAILABLE, said)
}

fn alone(status: StatusCode, said: &str) -> Response {
    page(
        status,
        frame::alone("Not done", html! { h1 { "That was not done" } p.remark role="alert" { (said) } }),
    )
}

fn shown(title: &str, main: Markup) -> Shown {
    Shown { title: title.to_owned(), tab: Tab::None, main }
}

fn has_typed(fields: &Fields) -> bool {
    fields.iter().any(|(name, value)| TYPED.iter().any(|(typed, ..)| *typed == name) && !value.is_empty())
}

/// The same form again, with a number of its own and everything that was typed.
fn same(session: &Session, act: Act, fields: &Fields) -> Markup {
    let is_typed = |name: &str| TYPED.iter().any(|(typed, ..)| *typed == name);
    let own: Vec<_> = fields.iter().filter(|(name, _)| !is_typed(name) && !FRESH.contains(name)).collect();
    let inside = html! {
        @for (name, label, kind) in TYPED {
            @if let Some(value) = fields.get(name) {
                label {
                    (label)
                    // The first line end in a textarea is not part of it.
                    @if kind == Kind::Lines { textarea name=(name) rows="6" { "\n" (value) } }
                    @else { input name=(name) value=(value); }
                }
            }
        }
        button.main { (act.words()) }
    };
    form(session, act.name(), path_of_ours(fields.get("back")), &own, inside)
}
