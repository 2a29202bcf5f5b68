//! What can go wrong with one request, split by what comes next.

use std::time::Duration;

use azolla_protocol::{FailureKind, Wait, WaitSource};
use reqwest::StatusCode;

use super::words::ErrorWords;
use crate::provider::QUOTA_WAIT;

/// The shortest wait that goes on later: what is asked for again and again is no wait.
pub(super) const WAIT_MIN: Duration = Duration::from_secs(60);

/// The longest wait that a run sits through; after more than that it goes on later.
pub(super) const SAT_THROUGH_MAX: Duration = Duration::from_secs(60);

/// What went wrong.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// It may go well the next time (B-4).
    Passing(Passing),
    /// Later, without anybody doing anything.
    Wait(Wait),
    /// The server refuses the request as it is: without some part of it, it may not.
    Rejected {
        /// The status.
        status: StatusCode,
        /// What the server said.
        words: ErrorWords,
    },
    /// The server has no such model.
    NoModel(ErrorWords),
    /// The next one would go the same way.
    Final(Final),
}

/// A failure in passing.
#[derive(Debug)]
pub(crate) struct Passing {
    /// What happened.
    pub(crate) cause: String,
    /// When the server says that it may be asked again.
    pub(crate) after: Option<Duration>,
    /// What it was that kept failing, once the retries are used up.
    pub(crate) sort: Sort,
}

/// Sorts of failures in passing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// The server failed.
    Server,
    /// An answer began and came to no end.
    Unfinished,
    /// Nothing listens there.
    NobodyThere,
}

/// A failure for good.
#[derive(Debug)]
pub(crate) struct Final {
    /// Which.
    pub(crate) kind: FailureKind,
    /// What happened.
    pub(crate) what: String,
    /// What somebody can do about it.
    pub(crate) next: Option<String>,
}

impl Final {
    pub(crate) fn new(kind: FailureKind, what: String) -> Self {
        Self { kind, what, next: None }
    }

    pub(crate) fn with_next(kind: FailureKind, what: String, next: String) -> Self {
        Self { kind, what, next: Some(next) }
    }

    /// Returns the fact and the next action.
    pub(crate) fn reason(self) -> String {
        match self.next {
            Some(next) => format!("{}; {next}", self.what),
            None => self.what,
        }
    }
}

impl Trouble {
    /// Makes a failure in passing of the server.
    pub(crate) fn passing(cause: impl Into<String>) -> Self {
        Self::Passing(Passing { cause: cause.into(), after: None, sort: Sort::Server })
    }

    /// Makes one of an answer that came to no end.
    pub(crate) fn unfinished(cause: impl Into<String>) -> Self {
        Self::Passing(Passing { cause: cause.into(), after: None, sort: Sort::Unfinished })
    }

    /// Makes one of an event that cannot be read.
    pub(crate) fn malformed(error: &serde_json::Error) -> Self {
        Self::unfinished(format!("a part of the answer is not what it should be ({:?})", error.classify()))
    }

    /// Classifies an error that arrived inside of a stream like the status that it would have had.
    pub(crate) fn in_stream(words: ErrorWords) -> Self {
        Self::refused(words.status(), words, None, "an error in the answer")
    }

    /// Classifies an answer with a status that is none of success.
    pub(crate) fn of_status(status: StatusCode, words: ErrorWords, after: Option<Duration>) -> Self {
        Self::refused(status, words, after, "")
    }

    fn refused(status: StatusCode, words: ErrorWords, after: Option<Duration>, place: &str) -> Self {
        let told = || {
            let place = if place.is_empty() { String::new() } else { format!(" ({place})") };
            format!("the server answers {}{place}{}", status.as_u16(), words.after_colon())
        };
        if words.is_about_quota(status) {
            let what = if words.is_about_billing(status) {
                "the account at the provider needs attention (credit or billing)"
            } else {
                "the provider has no quota left"
            };
            let reason = format!("{what}: {}", told());
            let time = after.unwrap_or(QUOTA_WAIT).max(WAIT_MIN);
            return Self::Wait(Wait { reason, time, source: WaitSource::Provider });
        }
        match status.as_u16() {
            // 409 is a conflict between requests at the server, 425 asks to come again: both pass.
            408 | 409 | 425 | 429 => Self::Passing(Passing { cause: told(), after, sort: Sort::Server }),
            501 | 505 => Self::Final(Final::new(FailureKind::Other, told())),
            500.. => Self::Passing(Passing { cause: told(), after, sort: Sort::Server }),
            _ if words.is_about_size(status) => {
                let what = format!("the prompt is too large for the model: {}", told());
                let next = "take a model with a larger context, or lower the prompt size limit".to_owned();
                Self::Final(Final::with_next(FailureKind::PromptTooLarge, what, next))
            }
            400 | 404 | 422 if words.is_about_the_model(status) => Self::NoModel(words),
            _ => Self::Rejected { status, words },
        }
    }
}
