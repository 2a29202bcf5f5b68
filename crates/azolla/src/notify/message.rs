//! One notification, however many notices it sums up: in words for a desktop, as a document for a program.

use serde_json::{Value, json};

use super::notice::{Kind, Notice};

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// One line.
    pub(crate) heading: String,
    /// A few lines, the last of them what to type.
    pub(crate) body: String,
    /// The document.
    pub(crate) document: Value,
}

/// Notices that a desktop shows, and that a document lists.
const SHOWN_MAX: usize = 5;
const LISTED_MAX: usize = 100;
/// Characters of a line on a desktop.
const LINE_MAX: usize = 160;

impl Message {
    /// Sums up notices; nothing where there are none.
    pub(crate) fn of(notices: &[Notice]) -> Option<Self> {
        match notices {
            [] => None,
            [one] => Some(Self {
                heading: line(&format!("{}: {}", one.kind.words(), one.title)),
                body: format!("{}\n{}", line(&one.text), line(&one.command)),
                document: document(notices, Top::of(one)),
            }),
            several => Some(Self::sum(several)),
        }
    }

    fn sum(notices: &[Notice]) -> Self {
        let heading = format!("{} things wait for you", notices.len());
        let mut lines: Vec<String> = notices
            .iter()
            .take(SHOWN_MAX)
            .map(|notice| line(&format!("{}: {}", notice.kind.words(), notice.title)))
            .collect();
        if notices.len() > SHOWN_MAX {
            lines.push(format!("and {} more", notices.len() - SHOWN_MAX));
        }
        let text = lines.join("\n");
        // One that asks is enough: the rest can wait.
        let asks = notices.iter().any(|notice| notice.kind == Kind::YourMove);
        let kind = if asks { Kind::YourMove } else { Kind::Finished };
        let top = Top { kind, one: None, title: &heading, text: &text, command: ALL };
        let document = document(notices, top);
        Self { body: format!("{text}\n{ALL}"), heading, document }
    }
}

/// What shows everything that waits.
const ALL: &str = "azolla";

/// What a document says at its top, for a program that shows one thing.
struct Top<'a> {
    kind: Kind,
    one: Option<&'a Notice>,
    title: &'a str,
    text: &'a str,
    command: &'a str,
}

impl<'a> Top<'a> {
    fn of(one: &'a Notice) -> Self {
        Self { kind: one.kind, one: Some(one), title: &one.title, text: &one.text, command: &one.command }
    }
}

fn document(notices: &[Notice], top: Top<'_>) -> Value {
    let latest = notices.iter().map(|notice| notice.at).max();
    json!({
        "schema_version": 1,
        "kind": top.kind,
        "azolla_id": top.one.map(|one| &one.azolla_id),
        "objective_id": top.one.map(|one| &one.objective_id),
        "title": top.title,
        "text": top.text,
        "command": top.command,
        "pause_key": top.one.map(|one| &one.pause_key),
        "at": latest,
        "count": notices.len(),
        "notices": &notices[..notices.len().min(LISTED_MAX)],
    })
}

/// Cuts a line to what a desktop has room for.
fn line(text: &str) -> String {
    match text.char_indices().nth(LINE_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
