//! The Messages API as it is sent and streamed.

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::AnthropicVersion;
use crate::{
    chat::{Dialect, Ending, ErrorWords, Question, Reply, Structured, Trouble, Wire},
    http::Event,
    said::Secrets,
};

/// The wire format of one version.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnthropicWire {
    version: AnthropicVersion,
    has_base_version: bool,
}

impl AnthropicWire {
    pub(super) fn new(version: AnthropicVersion, has_base_version: bool) -> Self {
        Self { version, has_base_version }
    }
}

impl Wire for AnthropicWire {
    fn path(&self) -> &str {
        if self.has_base_version { "messages" } else { "v1/messages" }
    }

    fn models_path(&self) -> &str {
        if self.has_base_version { "models" } else { "v1/models" }
    }

    fn dialect(&self) -> Dialect {
        Dialect {
            structured: match self.version {
                AnthropicVersion::V2023_06_01 => Structured::None,
                AnthropicVersion::V2026_10_21 => Structured::JsonSchema,
            },
            is_limit_completion: false,
            // There is no other name for it here.
            is_limit_swapped: true,
            has_stream_options: false,
        }
    }

    fn body(&self, question: &Question<'_>, dialect: Dialect) -> Value {
        let mut messages = vec![json!({ "role": "user", "content": question.prompt })];
        if let Some(repair) = &question.repair {
            messages.push(json!({ "role": "assistant", "content": repair.answer }));
            messages.push(json!({ "role": "user", "content": repair.request }));
        }
        let mut body = json!({
            "model": question.model,
            "max_tokens": question.max_tokens,
            "stream": true,
            "system": question.system,
            "messages": messages,
        });
        // The newer version refuses sampling parameters, so its settings take none.
        if let Some(temperature) = question.temperature {
            body["temperature"] = temperature.into();
        }
        if let (Structured::JsonSchema, Some(shape)) = (dialect.structured, question.shape) {
            body["output_config"] = json!({ "format": { "type": "json_schema", "schema": shape } });
        }
        body
    }

    fn read(&self, event: &Event, reply: &mut Reply, secrets: &Secrets) -> Result<(), Trouble> {
        // Before all else: under this name servers send errors of any form.
        if event.name == "error" {
            return Err(Trouble::in_stream(ErrorWords::read(&event.data, secrets)));
        }
        let message: Message =
            serde_json::from_slice(&event.data).map_err(|error| Trouble::malformed(&error))?;
        // Some servers leave out the outer `type`, some the name of the event.
        let kind = message.kind.as_deref().unwrap_or(&event.name);
        if let Some(error) = &message.error {
            return Err(Trouble::in_stream(ErrorWords::raw(error, secrets)));
        }
        match kind {
            "error" => return Err(Trouble::in_stream(ErrorWords::default())),
            "message_start" => {
                let start = message.message.unwrap_or_default();
                reply.named(start.model);
                count(reply, start.usage);
            }
            "content_block_start" => {
                let block = message.content_block.unwrap_or_default();
                if let (Some("text"), Some(text)) = (block.kind.as_deref(), block.text) {
                    reply.push(&text)?;
                }
            }
            "content_block_delta" => {
                let delta = message.delta.unwrap_or_default();
                match (delta.kind.as_deref(), delta.text, delta.thinking) {
                    (Some("text_delta") | None, Some(text), _) => reply.push(&text)?,
                    (_, _, Some(text)) => reply.reasoned(&text),
                    _ => {}
                }
            }
            "message_delta" => {
                count(reply, message.usage);
                let reason = message.delta.and_then(|delta| delta.stop_reason);
                reply.announced = reason.map(ending).or(reply.announced.take());
            }
            "message_stop" => {
                reply.ending = reply.announced.take();
                reply.is_over = true;
                if reply.ending.is_none() {
                    return Err(Trouble::unfinished("the answer ended without a reason for its end"));
                }
            }
            // Pings, ends of blocks, and what is not known yet.
            _ => {}
        }
        Ok(())
    }
}

fn ending(reason: String) -> Ending {
    match reason.as_str() {
        "end_turn" | "stop_sequence" => Ending::Whole,
        "max_tokens" | "model_context_window_exceeded" => Ending::Cut(reason),
        "refusal" => Ending::Refused,
        _ => Ending::Other(reason),
    }
}

fn count(reply: &mut Reply, usage: Option<Counts>) {
    let Some(usage) = usage else { return };
    if let Some(input) = usage.input_tokens {
        let cached = [usage.cache_creation_input_tokens, usage.cache_read_input_tokens];
        let all = cached.into_iter().flatten().fold(input, u64::saturating_add);
        reply.input_tokens = Some(all.max(reply.input_tokens.unwrap_or(0)));
    }
    if let Some(output) = usage.output_tokens {
        reply.output_tokens = Some(output.max(reply.output_tokens.unwrap_or(0)));
    }
}

/// An event. What is not named here is passed over without being kept.
#[derive(Deserialize)]
struct Message {
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<Start>,
    content_block: Option<Block>,
    delta: Option<Delta>,
    usage: Option<Counts>,
    error: Option<Box<RawValue>>,
}

#[derive(Default, Deserialize)]
struct Start {
    model: Option<String>,
    usage: Option<Counts>,
}

#[derive(Default, Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<String>,
}

#[derive(Default, Deserialize)]
struct Delta {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<String>,
    thinking: Option<String>,
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct Counts {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}
