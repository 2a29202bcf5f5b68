//! What has been read of an answer.

use azolla_protocol::FailureKind;

use super::{Trouble, account::Tokens, trouble::Final};
use crate::provider::ANSWER_BYTES_MAX;

/// An answer as it comes in.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    /// The text.
    pub(crate) text: String,
    /// How it ends, where the server says so before the end itself.
    pub(crate) announced: Option<Ending>,
    /// How it ended: from here on the text is whole or known not to be.
    pub(crate) ending: Option<Ending>,
    /// Nothing more is to come.
    pub(crate) is_over: bool,
    /// The last that came was no part of the answer itself.
    pub(crate) is_reasoning: bool,
    /// What the server calls the model.
    pub(crate) model: Option<String>,
    /// Tokens of the question, caches included, where the server tells.
    pub(crate) input_tokens: Option<u64>,
    /// Tokens of the answer, where the server tells.
    pub(crate) output_tokens: Option<u64>,
    /// Bytes of all that the model wrote.
    pub(crate) bytes: usize,
    refusal: String,
}

/// How an answer ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It is whole.
    Whole,
    /// It was cut off: the text is the server's word for why.
    Cut(String),
    /// The model refused.
    Refused,
    /// Any other end: the text is the server's word for it.
    Other(String),
}

/// What is kept of a refusal, and of names.
const WORDS_BYTES_MAX: usize = 4_096;

impl Reply {
    /// Adds to the text, and stops at the most that an answer can have (T31).
    pub(crate) fn push(&mut self, text: &str) -> Result<(), Trouble> {
        self.is_reasoning = false;
        self.bytes = self.bytes.saturating_add(text.len());
        if self.text.len() + text.len() > ANSWER_BYTES_MAX {
            return Err(Trouble::Final(Final::new(
                FailureKind::Other,
                format!("the answer has more than {ANSWER_BYTES_MAX} bytes; it was read no further"),
            )));
        }
        self.text.push_str(text);
        Ok(())
    }

    /// Counts what is no part of the answer.
    pub(crate) fn reasoned(&mut self, text: &str) {
        self.is_reasoning = true;
        self.bytes = self.bytes.saturating_add(text.len());
    }

    /// Adds to what the model says in refusing.
    pub(crate) fn refused(&mut self, text: &str) {
        self.bytes = self.bytes.saturating_add(text.len());
        let room = WORDS_BYTES_MAX.saturating_sub(self.refusal.len());
        self.refusal.push_str(&text[..text.floor_char_boundary(room)]);
    }

    /// Returns what the model said in refusing.
    pub(crate) fn refusal(&self) -> &str {
        if self.refusal.is_empty() { &self.text } else { &self.refusal }
    }

    /// Tells whether words of a refusal came.
    pub(crate) fn has_refusal(&self) -> bool {
        !self.refusal.is_empty()
    }

    /// Keeps the name of the model, if it can be one.
    pub(crate) fn named(&mut self, model: Option<String>) {
        if self.model.is_none() {
            self.model = model.filter(|model| !model.is_empty() && model.len() <= 200);
        }
    }

    /// Returns what the request has cost up to now: told, or else estimated.
    pub(super) fn tokens(&self, sent: Tokens) -> Tokens {
        let received = super::account::estimated(self.bytes);
        Tokens {
            input: self.input_tokens.unwrap_or(sent.input),
            // While it goes on, a server tells only of the first few.
            output: match self.ending {
                Some(_) => self.output_tokens.unwrap_or(received),
                None => self.output_tokens.unwrap_or(0).max(received),
            },
        }
    }
}
