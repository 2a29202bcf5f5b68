//! The operator's word that what a page showed was seen: the mark of the last look moves to where that page was, and never
//! back.

use azolla_protocol::AzollaId;
use azolla_substrate::{JournalCursor, SubstrateRead};

use super::form::Fields;
use crate::{
    acts::Done,
    desk::Desk,
    failure::Failure,
    home::{Home, HomeError, Look},
    http::App,
};

/// The field of a form that says how far one azolla was shown.
pub(super) const FIELD: &str = "mark";

/// Writes how far a desk is shown, if that is further than what was seen.
pub(super) fn mark(desk: &Desk) -> Option<String> {
    let Look { cursor, at } = desk.new_look()?;
    Some(format!("{} {cursor} {at}", desk.azolla_id))
}

/// Reads it. What does not read is no mark.
fn read(mark: &str) -> Option<(AzollaId, Look)> {
    let mut parts = mark.split(' ');
    let (id, cursor, at) = (parts.next()?, parts.next()?, parts.next()?);
    let _: JournalCursor = cursor.parse().ok()?;
    Some((id.parse().ok()?, Look { cursor: cursor.to_owned(), at: at.parse().ok()? }))
}

/// Keeps a first mark where there is none: at a first look everything is new, so nothing is, and what comes after it is.
/// Without it a page would never tell what changed.
pub(super) async fn begin(app: &App, desks: &[Desk]) {
    let is_first =
        |desk: &&Desk| desk.content.as_ref().is_ok_and(|content| content.since.looked_at.is_none());
    let firsts = desks.iter().filter(is_first);
    let marks: Vec<_> = firsts.filter_map(|desk| Some((desk.azolla_id.clone(), desk.new_look()?))).collect();
    if !marks.is_empty() {
        // Not kept, it is tried again with the next page.
        let _ = app.at_home(move |home| forward(home, marks)).await;
    }
}

/// Moves the marks.
pub(super) async fn take(app: &App, fields: &Fields) -> anyhow::Result<Done> {
    let given = fields.iter().filter(|(name, _)| *name == FIELD);
    let mut marks = Vec::new();
    for (id, look) in given.filter_map(|(_, mark)| read(mark)) {
        if let Some(azolla) = app.deployment.config.azolla(&id) {
            let store = app.stores.looking(azolla).await?;
            marks.push((id, within(&*store, look).await?));
        }
    }
    app.at_home(move |home| forward(home, marks)).await?;
    let what = "what changed up to here is seen".to_owned();
    Ok(Done { made: None, what, next: None, remarks: Vec::new() })
}

/// Refuses a mark beyond the end of the journal: what happens until it is reached would never be news. Nobody has looked
/// later than now either.
async fn within(store: &dyn SubstrateRead, look: Look) -> anyhow::Result<Look> {
    let newest = store.journal_latest(JournalCursor::default(), 1).await?;
    let end = newest.first().map(|(at, _)| *at).unwrap_or_default();
    if look.cursor.parse::<JournalCursor>().ok() > Some(end) {
        let what = "the page says that more was seen than has happened";
        return Err(Failure::usage(what).hint("look at the first page again").into());
    }
    let at = look.at.min(store.now().await?);
    Ok(Look { at, ..look })
}

/// A page that is out of date does not make news of what was seen since.
fn forward(home: &mut Home, marks: Vec<(AzollaId, Look)>) -> Result<(), HomeError> {
    let mut further = Vec::new();
    for (id, look) in &marks {
        let kept: Option<JournalCursor> = home.look(id)?.and_then(|kept| kept.cursor.parse().ok());
        let shown: Option<JournalCursor> = look.cursor.parse().ok();
        if kept < shown {
            further.push((id, Look { cursor: look.cursor.clone(), at: look.at }));
        }
    }
    home.looked(&further)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mark moves to what was shown, and an older page does not move it back.
    #[test]
    fn a_mark_moves_forward_alone() {
        let place = tempfile::tempdir().unwrap();
        let mut home = Home::open(&place.path().join("home.sqlite")).unwrap();
        let id = AzollaId::new("az-app").unwrap();
        let mark = |cursor: &str| vec![read(&format!("az-app {cursor} 2026-11-16T10:00:00.000Z")).unwrap()];
        for (cursor, kept) in [("0:7", "0:7"), ("0:3", "0:7"), ("0:12", "0:12"), ("1:1", "1:1")] {
            forward(&mut home, mark(cursor)).unwrap();
            assert_eq!(home.look(&id).unwrap().unwrap().cursor, kept, "after {cursor}");
        }
    }

    #[test]
    fn what_is_no_mark_is_left_out() {
        for text in [
            "",
            "az-app",
            "az-app 1:2",
            "az-app 1:2 today",
            "az-app x 2026-11-16T10:00:00.000Z",
            "../x 1:2 3",
        ] {
            assert!(read(text).is_none(), "{text:?}");
        }
    }
}
