//! What a server says in an error: `{"error": {...}}` in its many forms, read leniently.

use reqwest::StatusCode;
use serde_json::{Value, value::RawValue};

use crate::said::{Secrets, sanitised};

/// A longer error object is not looked into.
const READ_BYTES_MAX: usize = 64 * 1024;

/// What is quoted of it.
const QUOTED_BYTES_MAX: usize = 300;

/// The parts of an error. They are redacted, sanitised and short from the start (T22, T29).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorWords {
    kind: String,
    code: String,
    parameter: String,
    message: String,
}

impl ErrorWords {
    /// Reads the body of an answer, JSON or not. It was cut to its bound before.
    pub(crate) fn read(body: &[u8], secrets: &Secrets) -> Self {
        if body.len() > READ_BYTES_MAX {
            return Self::default();
        }
        let text = String::from_utf8_lossy(body);
        let Ok(value) = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) else {
            return Self { message: quoted(&visible(&text), secrets), ..Self::default() };
        };
        // Some wrap it in an array; some leave out the outer object.
        let value = value.get(0).unwrap_or(&value);
        Self::of(value.get("error").filter(|error| !error.is_null()).unwrap_or(value), secrets)
    }

    /// Reads an error object that came inside of a stream.
    pub(crate) fn raw(error: &RawValue, secrets: &Secrets) -> Self {
        let text = error.get();
        let value = serde_json::from_str(if text.len() <= READ_BYTES_MAX { text } else { "null" });
        Self::of(&value.unwrap_or_default(), secrets)
    }

    /// Reads the error object itself, or a bare text.
    pub(crate) fn of(error: &Value, secrets: &Secrets) -> Self {
        let text = |name: &str| match error.get(name) {
            Some(Value::String(text)) => quoted(text, secrets),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let message = match error {
            Value::String(text) => quoted(text, secrets),
            _ => ["message", "detail", "msg", "error"]
                .map(text)
                .into_iter()
                .find(|text| !text.is_empty())
                .unwrap_or_default(),
        };
        Self { kind: text("type"), code: text("code"), parameter: text("param"), message }
    }

    /// Returns the words for a person, behind a colon; nothing where there are none.
    pub(crate) fn after_colon(&self) -> String {
        let kind = [&self.kind, &self.code].into_iter().find(|kind| !kind.is_empty() && *kind != "error");
        match (self.message.is_empty(), kind) {
            (false, _) => format!(": {}", self.message),
            (true, Some(kind)) => format!(": {kind}"),
            (true, None) => String::new(),
        }
    }

    /// Tells whether a parameter is named.
    pub(crate) fn name(&self, parameter: &str) -> bool {
        self.parameter.contains(parameter) || self.message.contains(parameter)
    }

    /// Returns the status that stands for an error inside of a stream.
    pub(super) fn status(&self) -> StatusCode {
        let number = [&self.code, &self.kind].into_iter().find_map(|text| text.parse::<u16>().ok());
        if let Some(status) = number.filter(|number| (400..600).contains(number)) {
            return StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        }
        let is = |names: &[&str]| names.iter().any(|name| self.kind == *name || self.code == *name);
        let status = match () {
            () if is(&["overloaded_error"]) => 529,
            () if is(&["rate_limit_error", "rate_limit_exceeded", "insufficient_quota"]) => 429,
            () if is(&["authentication_error", "invalid_api_key"]) => 401,
            () if is(&["billing_error"]) => 402,
            () if is(&["permission_error"]) => 403,
            () if is(&["not_found_error", "model_not_found"]) => 404,
            () if is(&["request_too_large"]) => 413,
            () if is(&["timeout_error"]) => 504,
            () if is(&["invalid_request_error", "context_length_exceeded"]) => 400,
            () => 500,
        };
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Tells whether what is used up comes back with time or money, not with another try.
    pub(super) fn is_about_quota(&self, status: StatusCode) -> bool {
        const CODES: [&str; 6] = [
            "insufficient_quota",
            "billing_error",
            "billing_hard_limit_reached",
            "billing_not_active",
            "quota_exceeded",
            "usage_limit_reached",
        ];
        const WORDS: [&str; 7] = [
            "credit balance is too low",
            "insufficient balance",
            "usage limit",
            "spend limit",
            "spending limit",
            "exceeded your current quota",
            "out of credits",
        ];
        let is_code = CODES.iter().any(|code| self.kind == *code || self.code == *code);
        let message = self.message.to_ascii_lowercase();
        let is_said =
            matches!(status.as_u16(), 400 | 403 | 429) && WORDS.iter().any(|words| message.contains(words));
        status.as_u16() == 402 || is_code || is_said
    }

    /// Tells whether it is the account that has to be seen to: time alone does not bring money.
    pub(super) fn is_about_billing(&self, status: StatusCode) -> bool {
        const WORDS: [&str; 6] = [
            "credit balance",
            "insufficient balance",
            "out of credits",
            "spend limit",
            "spending limit",
            "billing",
        ];
        let message = self.message.to_ascii_lowercase();
        status == StatusCode::PAYMENT_REQUIRED
            || [&self.kind, &self.code].iter().any(|name| name.starts_with("billing"))
            || WORDS.iter().any(|words| message.contains(words))
    }

    /// Tells whether the question is too large.
    pub(super) fn is_about_size(&self, status: StatusCode) -> bool {
        const WORDS: [&str; 6] = [
            "prompt is too long",
            "maximum context length",
            "context window",
            "context length",
            "context size",
            "too many tokens",
        ];
        let message = self.message.to_ascii_lowercase();
        status == StatusCode::PAYLOAD_TOO_LARGE
            || self.code == "context_length_exceeded"
            || self.kind == "exceed_context_size_error"
            || (status.as_u16() == 400 && WORDS.iter().any(|words| message.contains(words)))
    }

    /// Tells whether it is the model that is not there.
    pub(super) fn is_about_the_model(&self, status: StatusCode) -> bool {
        let message = self.message.to_ascii_lowercase();
        let is_missing =
            ["not found", "does not exist", "not exist", "no such model", "unknown model", "not available"]
                .iter()
                .any(|words| message.contains(words));
        self.code == "model_not_found"
            || (message.contains("model") && (is_missing || status == StatusCode::NOT_FOUND))
            || (self.kind == "not_found_error" && message.starts_with("model"))
    }
}

/// Returns the beginning of a text on one line, as it may be shown.
pub(crate) fn quoted(text: &str, secrets: &Secrets) -> String {
    // Before, as sanitising changes a secret with a control character in it; after, as it can put one together.
    let clean = secrets.redacted(&sanitised(&secrets.redacted(text)));
    let line = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = secrets.redacted(&line);
    if line.len() <= QUOTED_BYTES_MAX {
        return line;
    }
    format!("{}…", &line[..line.floor_char_boundary(QUOTED_BYTES_MAX)])
}

/// Returns what a person would see of a page.
fn visible(text: &str) -> String {
    if !text.trim_start().starts_with('<') {
        return text.to_owned();
    }
    let mut inside = false;
    text.chars()
        .filter_map(|c| match c {
            '<' => {
                inside = true;
                Some(' ')
            }
            '>' if inside => {
                inside = false;
                None
            }
            c => (!inside).then_some(c),
        })
        .collect()
}

#[cfg(test)]
mod tests;
