//! The JSON object that claude prints at its end. It says `"subtype": "success"` of errors too; `is_error` counts.

use std::{borrow::Cow, fmt};

use azolla_protocol::Usage;
use serde::{
    Deserialize,
    de::{Deserializer, MapAccess, SeqAccess, Visitor},
};

use super::{
    Report, Trouble,
    json::{Raw, count, get, microusd},
};

#[derive(Deserialize)]
struct Result<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    subtype: Raw<'a>,
    #[serde(borrow, default)]
    is_error: Raw<'a>,
    #[serde(borrow, default)]
    api_error_status: Raw<'a>,
    #[serde(borrow, default)]
    result: Raw<'a>,
    #[serde(borrow, default)]
    errors: Raw<'a>,
    #[serde(borrow, default)]
    num_turns: Raw<'a>,
    #[serde(borrow, default)]
    total_cost_usd: Raw<'a>,
    #[serde(borrow, default)]
    usage: Raw<'a>,
    #[serde(borrow, default, rename = "modelUsage")]
    model_usage: Raw<'a>,
}

#[derive(Default, Deserialize)]
struct Tokens<'a> {
    #[serde(borrow, default)]
    input_tokens: Raw<'a>,
    #[serde(borrow, default)]
    cache_creation_input_tokens: Raw<'a>,
    #[serde(borrow, default)]
    cache_read_input_tokens: Raw<'a>,
    #[serde(borrow, default)]
    output_tokens: Raw<'a>,
}

/// Reads the object: all of the output, its last line (`stream-json`), or the end of a list (`--verbose`).
pub(super) fn read(output: &str) -> Option<Report> {
    let output = output.trim();
    let last_line = output.lines().next_back().unwrap_or_default();
    [output, last_line].into_iter().find_map(|text| {
        let Last(last) = serde_json::from_str(text).unwrap_or(Last(None));
        let object = last.map_or(text, |raw| raw.get());
        let result: Result<'_> = serde_json::from_str(object).ok()?;
        (result.kind == "result").then(|| report(&result))
    })
}

fn report(result: &Result<'_>) -> Report {
    let subtype: String = get(result.subtype).unwrap_or_default();
    let text: Option<String> = get(result.result);
    let is_error = get(result.is_error).unwrap_or(false) || subtype.starts_with("error");
    let words = || {
        let errors: Vec<String> = get(result.errors).unwrap_or_default();
        let told = text.clone().filter(|text| !text.trim().is_empty()).or_else(|| errors.first().cloned());
        told.unwrap_or_else(|| format!("it ended with {subtype}"))
    };
    Report {
        trouble: is_error.then(|| Trouble::told(&words(), get(result.api_error_status))),
        usage: usage(result),
        text,
        is_unexpected: false,
    }
}

fn usage(result: &Result<'_>) -> Usage {
    let tokens: Tokens<'_> =
        result.usage.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let cache =
        count(tokens.cache_creation_input_tokens).saturating_add(count(tokens.cache_read_input_tokens));
    let Busiest(model) =
        result.model_usage.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(Busiest(None));
    Usage {
        model: model.map(|(_, model)| model),
        requests: count(result.num_turns),
        retries: 0,
        input_tokens: count(tokens.input_tokens).saturating_add(cache),
        output_tokens: count(tokens.output_tokens),
        cost_microusd: microusd(result.total_cost_usd),
    }
}

/// The last element of a list, of which the others are passed over.
struct Last<'a>(Raw<'a>);

impl<'de> Deserialize<'de> for Last<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Elements;
        impl<'de> Visitor<'de> for Elements {
            type Value = Last<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut elements: A,
            ) -> std::result::Result<Last<'de>, A::Error> {
                let mut last = Last(None);
                while let Some(element) = elements.next_element()? {
                    last = Last(Some(element));
                }
                Ok(last)
            }
        }
        deserializer.deserialize_seq(Elements)
    }
}

/// The model with the most tokens received, and how many those are: small ones do small things beside it.
struct Busiest(Option<(u64, String)>);

#[derive(Deserialize)]
struct ModelTokens<'a> {
    #[serde(borrow, default, rename = "outputTokens")]
    output_tokens: Raw<'a>,
}

impl<'de> Deserialize<'de> for Busiest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Models;
        impl<'de> Visitor<'de> for Models {
            type Value = Busiest;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut models: A) -> std::result::Result<Busiest, A::Error> {
                let mut busiest = Busiest(None);
                while let Some((model, tokens)) = models.next_entry::<Cow<'de, str>, ModelTokens<'de>>()? {
                    let received = count(tokens.output_tokens);
                    if busiest.0.as_ref().is_none_or(|(most, _)| received > *most) {
                        busiest = Busiest(Some((received, model.into_owned())));
                    }
                }
                Ok(busiest)
            }
        }
        deserializer.deserialize_map(Models)
    }
}
