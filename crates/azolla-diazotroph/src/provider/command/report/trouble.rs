//! What sort of thing went wrong, by an agent's own words: who mends it depends on that.

/// Why an agent did not do the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Trouble {
    /// What sort.
    pub(in super::super) kind: TroubleKind,
    /// The agent's words.
    pub(in super::super) message: String,
}

/// Who mends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum TroubleKind {
    /// The operator: a login or a key.
    Login,
    /// Time: a quota that fills up again.
    Quota,
    /// Time, but little of it: a server that is overloaded or not reached. The agent has tried again by itself.
    Passing,
    /// Nobody in particular.
    Other,
}

/// Says that a limit is not the account's, in words that a limit of the account has too.
const NOT_QUOTA: [&str; 2] = ["not your usage limit", "temporarily limiting"];

const QUOTA: [&str; 15] = [
    "usage limit",
    "hit your limit",
    "hour limit",
    "session limit",
    "weekly limit",
    "spend limit",
    "spending limit",
    "rate limit",
    "rate_limit",
    "rate-limit",
    "ratelimit",
    "quota",
    "too many requests",
    "credit balance",
    "out of credits",
];

const LOGIN: [&str; 16] = [
    "api key",
    "api_key",
    "api-key",
    "apikey",
    "authenticat",
    "unauthorized",
    "not logged in",
    "not signed in",
    "/login",
    "log in",
    "login",
    "sign in",
    "oauth",
    "no provider configured",
    "token has expired",
    "token expired",
];

const PASSING: [&str; 14] = [
    "overloaded",
    "at capacity",
    "server error",
    "service unavailable",
    "bad gateway",
    "gateway timeout",
    "temporarily",
    "stream disconnected",
    "connection",
    "timed out",
    "timeout",
    "network error",
    "error sending request",
    "failed to lookup address",
];

impl Trouble {
    /// Sorts an agent's words; a status of HTTP that it tells apart from them goes first.
    pub(super) fn told(message: &str, status: Option<u64>) -> Self {
        let kind = sort(&message.to_lowercase(), status);
        Self { kind, message: message.to_owned() }
    }
}

fn sort(message: &str, status: Option<u64>) -> TroubleKind {
    // What an address has in it says nothing about what went wrong there.
    let words: Vec<_> = message.split_whitespace().filter(|word| !word.contains("://")).collect();
    let message = words.join(" ");
    let has = |parts: &[&str]| parts.iter().any(|part| message.contains(part));
    let told = |statuses: &[u64]| {
        status.is_some_and(|status| statuses.contains(&status))
            || statuses.iter().any(|status| has_number(&message, *status))
    };
    if has(&NOT_QUOTA) {
        TroubleKind::Passing
    } else if status.is_some_and(|status| matches!(status, 401 | 403)) {
        TroubleKind::Login
    } else if has(&QUOTA) || told(&[429]) {
        TroubleKind::Quota
    } else if status.is_some_and(|status| status >= 500) {
        TroubleKind::Passing
    } else if has(&LOGIN) || told(&[401, 403]) {
        TroubleKind::Login
    } else if has(&PASSING) || told(&[408, 500, 502, 503, 504, 529]) {
        TroubleKind::Passing
    } else {
        TroubleKind::Other
    }
}

/// Tells whether a number stands in a text by itself.
fn has_number(text: &str, number: u64) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word.parse() == Ok(number))
}
