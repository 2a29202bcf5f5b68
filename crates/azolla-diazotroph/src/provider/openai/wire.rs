//! Chat completions as they are sent and streamed. Servers differ, so what is read is read leniently.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};
use serde_json::{Value, json, value::RawValue};

use crate::{
    chat::{Dialect, Ending, ErrorWords, Question, Reply, Structured, Trouble, Wire},
    http::Event,
    said::Secrets,
};

/// The wire format.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenAiWire {
    structured: Structured,
    is_limit_completion: bool,
}

impl OpenAiWire {
    pub(super) fn new(structured: Structured, is_limit_completion: bool) -> Self {
        Self { structured, is_limit_completion }
    }
}

impl Wire for OpenAiWire {
    fn path(&self) -> &str {
        "chat/completions"
    }

    fn models_path(&self) -> &str {
        "models"
    }

    fn dialect(&self) -> Dialect {
        Dialect {
            structured: self.structured,
            is_limit_completion: self.is_limit_completion,
            is_limit_swapped: false,
            has_stream_options: true,
        }
    }

    fn body(&self, question: &Question<'_>, dialect: Dialect) -> Value {
        let mut messages = vec![
            json!({ "role": "system", "content": question.system }),
            json!({ "role": "user", "content": question.prompt }),
        ];
        if let Some(repair) = &question.repair {
            messages.push(json!({ "role": "assistant", "content": repair.answer }));
            messages.push(json!({ "role": "user", "content": repair.request }));
        }
        let limit = if dialect.is_limit_completion { "max_completion_tokens" } else { "max_tokens" };
        let mut body = json!({ "model": question.model, "stream": true, "messages": messages });
        body[limit] = question.max_tokens.into();
        if let Some(temperature) = question.temperature {
            body["temperature"] = temperature.into();
        }
        if dialect.has_stream_options {
            body["stream_options"] = json!({ "include_usage": true });
        }
        match (dialect.structured, question.shape) {
            (Structured::JsonSchema, Some(shape)) => {
                body["response_format"] = json!({
                    "type": "json_schema",
                    "json_schema": { "name": "answer", "strict": true, "schema": shape },
                });
            }
            (Structured::JsonObject, Some(_)) => body["response_format"] = json!({ "type": "json_object" }),
            _ => {}
        }
        body
    }

    fn read(&self, event: &Event, reply: &mut Reply, secrets: &Secrets) -> Result<(), Trouble> {
        if event.data == b"[DONE]" {
            reply.is_over = true;
            return match reply.ending {
                Some(_) => Ok(()),
                None => Err(Trouble::unfinished("the answer ended without a reason for its end")),
            };
        }
        // Before all else: under this name servers send errors of any form.
        if event.name == "error" {
            return Err(Trouble::in_stream(ErrorWords::read(&event.data, secrets)));
        }
        let chunk: Chunk = serde_json::from_slice(&event.data).map_err(|error| Trouble::malformed(&error))?;
        if let Some(error) = &chunk.error {
            return Err(Trouble::in_stream(ErrorWords::raw(error, secrets)));
        }
        reply.named(chunk.model);
        if let Some(usage) = chunk.usage {
            reply.input_tokens = usage.prompt_tokens.or(reply.input_tokens);
            reply.output_tokens = usage.completion_tokens.or(reply.output_tokens);
        }
        let Some(choice) = chunk.choices else { return Ok(()) };
        let delta = choice.delta.unwrap_or_default();
        for text in [delta.reasoning_content, delta.reasoning].into_iter().flatten() {
            reply.reasoned(&text);
        }
        if let Some(text) = delta.refusal {
            reply.refused(&text);
        }
        if let Some(text) = delta.content {
            reply.push(&text)?;
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            reply.ending = Some(ending(reason, reply));
        }
        Ok(())
    }
}

fn ending(reason: String, reply: &Reply) -> Ending {
    match reason.as_str() {
        "stop" if reply.has_refusal() => Ending::Refused,
        "stop" | "eos" => Ending::Whole,
        "length" => Ending::Cut(reason),
        "content_filter" => Ending::Refused,
        _ => Ending::Other(reason),
    }
}

/// A piece of the answer. What is not named here is passed over without being kept.
#[derive(Deserialize)]
struct Chunk {
    model: Option<String>,
    #[serde(default, deserialize_with = "first_choice")]
    choices: Option<Choice>,
    usage: Option<Counts>,
    error: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Choice {
    index: Option<u64>,
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct Delta {
    content: Option<String>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
}

#[derive(Deserialize)]
struct Counts {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

/// Keeps the one choice that was asked for, so that a list of any length takes the memory of one (T31).
fn first_choice<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Choice>, D::Error> {
    struct First;

    impl<'de> Visitor<'de> for First {
        type Value = Option<Choice>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of choices")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut choices: A) -> Result<Self::Value, A::Error> {
            let mut first = None;
            while let Some(choice) = choices.next_element::<Choice>()? {
                if first.is_none() && choice.index.unwrap_or(0) == 0 {
                    first = Some(choice);
                }
            }
            Ok(first)
        }
    }

    deserializer.deserialize_any(First)
}
