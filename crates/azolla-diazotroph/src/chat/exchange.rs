//! One request and its answer, read as it comes, within bounds (T31).

use std::time::Duration;

use azolla_protocol::{FailureKind, Withheld};
use reqwest::{Response, StatusCode, header};
use tokio::time::timeout;

use super::{
    Chat, Dialect, Question, Reply, Trouble, Wire,
    account::{Account, Tokens, at_most, estimated},
    progress::{Progress, grouped},
    trouble::{Final, Passing, Sort},
    words::{ErrorWords, quoted},
};
use crate::{
    http::{Body, Events, NotSent, TooLong, retry_after},
    provider::ANSWER_BYTES_MAX,
};

/// The most bytes of one event: a whole answer in one, and what is around it.
const EVENT_BYTES_MAX: usize = ANSWER_BYTES_MAX + 1024 * 1024;

/// The most bytes of an error that are read.
const ERROR_BYTES_MAX: usize = 64 * 1024;

/// What follows an answer that is whole, such as the usage, is waited for no longer than this.
const AFTERWARDS: Duration = Duration::from_secs(5);

impl<W: Wire> Chat<W> {
    /// Sends a question and reads the answer to its end. What it costs is set aside before and settled after.
    pub(super) async fn exchange(
        &self,
        question: &Question<'_>,
        dialect: Dialect,
        account: &mut Account<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Reply, Trouble> {
        let document =
            serde_json::to_vec(&self.wire.body(question, dialect)).expect("a JSON value can be written");
        let most = Tokens { input: at_most(document.len()), output: question.max_tokens };
        account.open(most).map_err(|withheld| match withheld {
            Withheld::Wait(wait) => Trouble::Wait(wait),
            Withheld::Cap(reason) => Trouble::Final(Final::new(FailureKind::Cap, reason)),
        })?;
        let sent = Tokens { input: estimated(document.len()), output: 0 };
        account.note(sent);
        let replied = match self.answered(document, account).await {
            Ok(response) => self.read(response, sent, account, progress).await,
            Err(trouble) => Err(trouble),
        };
        account.close();
        replied
    }

    /// Sends a question and returns the answer once its head says that it is one.
    async fn answered(&self, document: Vec<u8>, account: &mut Account<'_>) -> Result<Response, Trouble> {
        let sending = self.http.send(self.wire.path(), Body::Json(document));
        let response = match timeout(self.common.stall_timeout, sending).await {
            Err(_) => return Err(Trouble::passing(self.silence())),
            Ok(Err(not_sent)) => {
                if !matches!(not_sent, NotSent::Broken(_)) {
                    account.note(Tokens::default());
                }
                return Err(self.not_sent(not_sent));
            }
            Ok(Ok(response)) => response,
        };
        let status = response.status();
        if status.is_redirection() {
            account.note(Tokens::default());
            return Err(Trouble::Final(self.redirected(&response)));
        }
        if !status.is_success() {
            // Nobody charges for what was refused; what broke inside of the server may have been worked on.
            if status.is_client_error() || status.as_u16() == 529 {
                account.note(Tokens::default());
            }
            let after = retry_after(response.headers());
            let words = ErrorWords::read(&self.beginning(response).await, &self.secrets);
            return Err(Trouble::of_status(status, words, after));
        }
        self.is_stream(response).await
    }

    /// Passes on what can be a stream of events.
    async fn is_stream(&self, response: Response) -> Result<Response, Trouble> {
        const COMPRESSED: [&str; 7] = ["gzip", "x-gzip", "deflate", "compress", "x-compress", "br", "zstd"];
        let encodings = response.headers().get_all(header::CONTENT_ENCODING).iter();
        let mut encodings =
            encodings.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
        if encodings.any(|encoding| COMPRESSED.contains(&encoding.trim().to_ascii_lowercase().as_str())) {
            // It would answer every retry alike, and charge for each (B-4).
            let host = self.http.endpoint().host();
            let what = format!(
                "the server at {host} compresses its answers, which nobody asked for: switch that off there"
            );
            return Err(Trouble::Final(Final::new(FailureKind::Other, what)));
        }
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().to_ascii_lowercase();
        if kind.starts_with("text/html") {
            return Err(Trouble::Final(self.no_api("a web page answers")));
        }
        if !kind.starts_with("application/json") {
            return Ok(response);
        }
        let body = self.beginning(response).await;
        let words = ErrorWords::read(&body, &self.secrets);
        if serde_json::from_slice::<serde_json::Value>(&body).is_ok_and(|value| value.get("error").is_some())
        {
            return Err(Trouble::in_stream(words));
        }
        let what =
            format!("the server at {} answers in one piece and does not stream", self.http.endpoint().host());
        Err(Trouble::Final(Final::new(FailureKind::Other, what)))
    }

    async fn read(
        &self,
        mut response: Response,
        sent: Tokens,
        account: &mut Account<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Reply, Trouble> {
        let mut events = Events::new(EVENT_BYTES_MAX);
        let mut reply = Reply::default();
        while !reply.is_over {
            let is_whole = reply.ending.is_some();
            let patience =
                if is_whole { AFTERWARDS.min(self.common.stall_timeout) } else { self.common.stall_timeout };
            let chunk = match timeout(patience, response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                // Nothing that was missing is part of the answer.
                _ if is_whole => break,
                Ok(Ok(None)) => return Err(Trouble::unfinished("the answer stopped before its end")),
                Ok(Err(error)) => {
                    let cause = crate::http::causes(&error);
                    return Err(Trouble::unfinished(format!("the answer broke off: {cause}")));
                }
                Err(_) => return Err(Trouble::unfinished(self.silence())),
            };
            let mut rest = chunk.as_ref();
            while let Some(event) = events.next(&mut rest).map_err(|TooLong| too_long())? {
                match self.wire.read(&event, &mut reply, &self.secrets) {
                    Err(_) if reply.ending.is_some() => reply.is_over = true,
                    Err(trouble) => {
                        account.note(reply.tokens(sent));
                        return Err(trouble);
                    }
                    Ok(()) => {}
                }
                if reply.is_over {
                    break;
                }
            }
            account.note(reply.tokens(sent));
            if reply.bytes > 0 {
                progress.note(|| shown(&reply));
            }
        }
        Ok(reply)
    }

    /// Reads the beginning of a body, however it ends.
    pub(super) async fn beginning(&self, mut response: Response) -> Vec<u8> {
        let mut body = Vec::new();
        while let Ok(Ok(Some(chunk))) =
            timeout(self.common.stall_timeout.min(AFTERWARDS), response.chunk()).await
        {
            body.extend_from_slice(&chunk);
            if body.len() > ERROR_BYTES_MAX {
                // The half of a key at the cut would not be recognised.
                let secret = self.common.key.as_ref().map_or(0, |key| key.expose().len());
                body.truncate(ERROR_BYTES_MAX.saturating_sub(secret));
                break;
            }
        }
        body
    }

    fn silence(&self) -> String {
        format!(
            "the server at {} sent nothing for {} s",
            self.http.endpoint().host(),
            self.common.stall_timeout.as_secs_f64()
        )
    }

    fn not_sent(&self, not_sent: NotSent) -> Trouble {
        match not_sent {
            NotSent::Setup(cause) => Trouble::Final(Final::with_next(
                FailureKind::Setup,
                self.clean(&cause),
                format!(
                    "check base_url of provider {} and the CA certificates of this machine",
                    self.common.name
                ),
            )),
            NotSent::Unreachable { cause, is_refused } => {
                let is_nobody = is_refused && self.http.endpoint().is_local();
                let sort = if is_nobody { Sort::NobodyThere } else { Sort::Server };
                Trouble::Passing(Passing { cause: self.clean(&cause), after: None, sort })
            }
            NotSent::Broken(cause) => Trouble::passing(self.clean(&cause)),
        }
    }

    fn redirected(&self, response: &Response) -> Final {
        let to = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default();
        let to = response.url().join(to).ok().filter(|to| to.has_host());
        let to = to.map_or_else(|| "nowhere".to_owned(), |to| crate::http::authority(&to));
        let (host, status) = (self.http.endpoint().host(), response.status().as_u16());
        Final::with_next(
            FailureKind::Setup,
            format!(
                "the server at {host} redirects ({status}) to {}, which is not followed",
                self.clean(&to)
            ),
            format!("if that is right, correct base_url of provider {}", self.common.name),
        )
    }

    /// Says that there is no model server at the configured place.
    pub(super) fn no_api(&self, what: &str) -> Final {
        Final::with_next(
            FailureKind::Setup,
            format!("there is no model API at {}: {what}", self.http.endpoint().at(self.wire.path())),
            format!("correct base_url of provider {}", self.common.name),
        )
    }

    /// Puts into words what the server refused for good.
    pub(super) fn rejected(&self, status: StatusCode, words: &ErrorWords) -> Final {
        let (host, name) = (self.http.endpoint().host(), &self.common.name);
        match (status.as_u16(), &self.common.key) {
            (401 | 403, None) => Final::with_next(
                FailureKind::Setup,
                format!("the server at {host} asks for a key ({})", status.as_u16()),
                format!("set key_env or key_file of provider {name}"),
            ),
            // Its words are left out, as some repeat parts of the key.
            (401, Some(key)) => Final::with_next(
                FailureKind::Setup,
                format!("the key from {} is refused by {host} (401)", key.source()),
                "put a valid key there".to_owned(),
            ),
            (403, Some(key)) => Final::with_next(
                FailureKind::Setup,
                format!("the key from {} has no access at {host} (403){}", key.source(), words.after_colon()),
                format!("take another key, or another model for provider {name}"),
            ),
            (404 | 405, _) => self.no_api(&format!("it answers {}", status.as_u16())),
            (status, _) => Final::new(
                FailureKind::Other,
                format!("the server at {host} refuses the request ({status}){}", words.after_colon()),
            ),
        }
    }

    /// Puts into words that the model is not there.
    pub(super) fn no_model(&self, words: &ErrorWords) -> Final {
        let (host, name) = (self.http.endpoint().host(), &self.common.name);
        Final::with_next(
            FailureKind::Setup,
            format!("the server at {host} has no model {}{}", self.common.model, words.after_colon()),
            format!(
                "correct model of provider {name}; {} lists what there is",
                self.http.endpoint().at(self.wire.models_path())
            ),
        )
    }

    pub(super) fn clean(&self, text: &str) -> String {
        quoted(text, &self.secrets)
    }
}

fn too_long() -> Trouble {
    let what =
        format!("an event of the answer has more than {EVENT_BYTES_MAX} bytes; it was read no further");
    Trouble::Final(Final::new(FailureKind::Other, what))
}

fn shown(reply: &Reply) -> String {
    let tokens = estimated(reply.bytes);
    let unit = if tokens == 1 { "token" } else { "tokens" };
    let beside = if reply.is_reasoning { "reasoning, " } else { "" };
    format!("{beside}{} {unit} so far", grouped(tokens))
}
