//! The events that codex prints, one JSON object per line. The last of a turn tells how it went.

use azolla_protocol::Usage;
use serde::Deserialize;

use super::{
    Report, Trouble,
    json::{Raw, count, get},
};

/// Begins the message of an error that codex mends by itself.
const RETRY: &str = "Reconnecting...";

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow, default)]
    message: Raw<'a>,
    #[serde(borrow, default)]
    error: Raw<'a>,
    #[serde(borrow, default)]
    item: Raw<'a>,
    #[serde(borrow, default)]
    usage: Raw<'a>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow, default)]
    text: Raw<'a>,
}

#[derive(Deserialize)]
struct Failure<'a> {
    #[serde(borrow, default)]
    message: Raw<'a>,
}

/// Tokens of the cache are part of those sent, and those of reasoning of those received.
#[derive(Deserialize)]
struct Tokens<'a> {
    #[serde(borrow, default)]
    input_tokens: Raw<'a>,
    #[serde(borrow, default)]
    output_tokens: Raw<'a>,
}

/// Reads the events; lines that are none are passed over, such as the rest of one at a cut.
pub(super) fn read(output: &str, is_whole: bool) -> Option<Report> {
    let mut report = Report { is_unexpected: true, ..Report::default() };
    let cut = usize::from(!is_whole);
    let events = output.lines().skip(cut).filter_map(|line| serde_json::from_str::<Event<'_>>(line).ok());
    for event in events {
        let kind: Option<String> = get(event.kind);
        match kind.as_deref() {
            Some("item.completed") => said(&event, &mut report),
            Some("turn.completed") => completed(&event, &mut report),
            Some("turn.failed") => {
                let failure: Option<Failure<'_>> =
                    event.error.and_then(|raw| serde_json::from_str(raw.get()).ok());
                failed(failure.and_then(|failure| get(failure.message)), &mut report);
            }
            Some("error") => match get::<String>(event.message) {
                Some(message) if message.starts_with(RETRY) => report.usage.retries += 1,
                message => failed(message, &mut report),
            },
            _ => continue,
        }
        report.is_unexpected = false;
    }
    // It is not told how many requests there were, only which of them were made again.
    report.usage.requests = report.usage.retries + 1;
    (!report.is_unexpected).then_some(report)
}

/// Errors among the items are warnings.
fn said(event: &Event<'_>, report: &mut Report) {
    let item: Option<Item<'_>> = event.item.and_then(|raw| serde_json::from_str(raw.get()).ok());
    if let Some(item) = item
        && get::<String>(item.kind).as_deref() == Some("agent_message")
    {
        report.text = get(item.text).or(report.text.take());
    }
}

fn completed(event: &Event<'_>, report: &mut Report) {
    report.trouble = None;
    let tokens: Option<Tokens<'_>> = event.usage.and_then(|raw| serde_json::from_str(raw.get()).ok());
    if let Some(tokens) = tokens {
        report.usage = Usage {
            input_tokens: count(tokens.input_tokens),
            output_tokens: count(tokens.output_tokens),
            ..std::mem::take(&mut report.usage)
        };
    }
}

fn failed(message: Option<String>, report: &mut Report) {
    let message = message.unwrap_or_else(|| "its turn failed".to_owned());
    report.trouble = Some(Trouble::told(&message, None));
}
