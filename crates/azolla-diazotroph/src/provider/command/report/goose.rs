//! The JSON object that goose prints at its end. Its status is `completed` even where its server refused everything:
//! what counts is the last message.

use std::{borrow::Cow, fmt};

use azolla_protocol::Usage;
use serde::{
    Deserialize,
    de::{Deserializer, SeqAccess, Visitor},
};

use super::{
    Report, Trouble,
    json::{Raw, count, get},
};

/// Begins the message in which goose tells of an error.
const ERROR: &str = "Ran into this error:";

/// Follows on it.
const ADVICE: &str = "Please retry if";

#[derive(Deserialize)]
struct Session<'a> {
    messages: Messages,
    #[serde(borrow, default)]
    metadata: Raw<'a>,
}

#[derive(Default, Deserialize)]
struct Metadata<'a> {
    #[serde(borrow, default)]
    status: Raw<'a>,
    #[serde(borrow, default)]
    total_tokens: Raw<'a>,
    #[serde(borrow, default)]
    input_tokens: Raw<'a>,
    #[serde(borrow, default)]
    output_tokens: Raw<'a>,
}

/// Reads the object. Of one that was cut off at its beginning only an error is found.
pub(super) fn read(output: &str, is_whole: bool) -> Option<Report> {
    if !is_whole {
        return cut(output);
    }
    let session: Session<'_> = serde_json::from_str(output.trim()).ok()?;
    let metadata: Metadata<'_> =
        session.metadata.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let text = session.messages.last;
    let status: Option<String> = get(metadata.status);
    let trouble = error_in(text.as_deref().unwrap_or_default()).or_else(|| {
        let status = status.filter(|status| status != "completed")?;
        Some(Trouble::told(&format!("it ended with status {status}"), None))
    });
    let (total, received) = (count(metadata.total_tokens), count(metadata.output_tokens));
    let sent = get(metadata.input_tokens).unwrap_or_else(|| total.saturating_sub(received));
    let usage = Usage {
        requests: session.messages.answers,
        input_tokens: sent,
        output_tokens: received,
        ..Usage::default()
    };
    Some(Report { text, trouble, usage, is_unexpected: false })
}

fn error_in(text: &str) -> Option<Trouble> {
    let error = text.trim_start().strip_prefix(ERROR)?;
    let error = error.split_once(ADVICE).map_or(error, |(error, _)| error);
    Some(Trouble::told(error.trim(), None))
}

/// The error is the last text of all, so that its line ends the texts in the kept part.
fn cut(output: &str) -> Option<Report> {
    let last = output.lines().rev().find_map(|line| line.trim().strip_prefix("\"text\": "))?;
    let text: String = serde_json::from_str(last.trim_end_matches(',')).ok()?;
    let trouble = error_in(&text);
    Some(Report { text: Some(text), trouble, ..Report::default() })
}

/// The answers of the model: how many, and the text of the last one.
#[derive(Default)]
struct Messages {
    answers: u64,
    last: Option<String>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    role: Raw<'a>,
    #[serde(borrow, default)]
    content: Raw<'a>,
}

impl<'de> Deserialize<'de> for Messages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements;
        impl<'de> Visitor<'de> for Elements {
            type Value = Messages;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of messages")
            }

            /// One at a time: the results of tools among them can be large.
            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Messages, A::Error> {
                let mut messages = Messages::default();
                while let Some(message) = elements.next_element::<Message<'de>>()? {
                    if get::<String>(message.role).as_deref() != Some("assistant") {
                        continue;
                    }
                    messages.answers += 1;
                    let Text(text) = message
                        .content
                        .and_then(|raw| serde_json::from_str(raw.get()).ok())
                        .unwrap_or_default();
                    if !text.trim().is_empty() {
                        messages.last = Some(text);
                    }
                }
                Ok(messages)
            }
        }
        deserializer.deserialize_seq(Elements)
    }
}

/// The text of a message, whose parts may be other things too.
#[derive(Default)]
struct Text(String);

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts;
        impl<'de> Visitor<'de> for Parts {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of parts")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Text, A::Error> {
                let mut whole = String::new();
                while let Some(part) = parts.next_element::<Part<'de>>()? {
                    whole.push_str(part.text.as_deref().unwrap_or_default());
                }
                Ok(Text(whole))
            }
        }
        deserializer.deserialize_seq(Parts)
    }
}
