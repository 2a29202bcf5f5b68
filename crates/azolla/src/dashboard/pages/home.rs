//! The first page: what needs the operator, what runs, what waits, what changed.

use maud::html;

use crate::{
    dashboard::{Ask, PageError, Shown, form::form, frame::Tab},
    desk,
};

/// Actions that are shown; more would be a list, not a next thing.
const ACTIONS_MAX: usize = 3;

/// Shows it.
pub(crate) async fn show(ask: &Ask<'_>) -> Result<Shown, PageError> {
    let look = ask.app.look().await;
    let actions = desk::actions(&look.desks);
    let main = html! {
        h1 { "Waiting for you" }
        ol {
            @for action in actions.iter().take(ACTIONS_MAX) {
                li { (action.text) ": " strong { (action.title) } code { (action.command) } }
            }
        }
        (form(ask.session, "capture", "/", &[], html! {
            label { "A note " textarea name="text" required {} }
            button { "Keep it" }
        }))
    };
    Ok(Shown { title: "Now".to_owned(), tab: Tab::Home, main })
}
