//! The work of one claim: ask, ask again where that helps (B-4), check, and have it repaired once.

use std::time::Duration;

use azolla_protocol::{FailureKind, Generation, GenerationOutcome, GenerationRequest, Wait, WaitSource};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::{
    Chat, Ending, Question, Repair, Reply, SCHEMA, SYSTEM, Trouble, Wire,
    account::Account,
    backoff,
    json::{Shape, Unfit},
    progress::Progress,
    trouble::{Final, Passing, SAT_THROUGH_MAX, Sort, WAIT_MIN},
};

/// What is said to an answer that is no good.
const REPAIR: &str = include_str!("../prompts/repair.md");

/// What is quoted of an answer that is no good: enough to correct it, and not the size of the question again.
const REPAIRED_BYTES_MAX: usize = 64 * 1024;

/// A budget without an end, as far as a clock can tell.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Does the work of one claim. All of it is over when the budget is.
pub(super) async fn run<W: Wire>(chat: &Chat<W>, request: GenerationRequest<'_>) -> Generation {
    let mut run = Run {
        chat,
        request,
        deadline: Instant::now() + request.remaining.min(FOR_EVER),
        account: Account::new(request.allowance, chat.prices, &chat.common.model),
        progress: Progress::new(request.progress),
    };
    let done =
        if request.remaining.is_zero() { None } else { timeout_at(run.deadline, run.answer()).await.ok() };
    run.account.close();
    let outcome = match done {
        Some(Ok(text)) => GenerationOutcome::Text(text),
        Some(Err(outcome)) => outcome,
        None => GenerationOutcome::OverBudget { said: run.progress.said().to_owned() },
    };
    Generation { outcome, usage: run.account.usage().clone(), sandbox_mode: None }
}

struct Run<'a, W> {
    chat: &'a Chat<W>,
    request: GenerationRequest<'a>,
    deadline: Instant,
    account: Account<'a>,
    progress: Progress<'a>,
}

impl<W: Wire> Run<'_, W> {
    /// Returns the answer, or the outcome that there is instead of one.
    async fn answer(&mut self) -> Result<String, GenerationOutcome> {
        let Some(schema) = self.request.schema else {
            return self.ask(&self.question(SYSTEM.to_owned(), None, None)).await;
        };
        let shape = Shape::new(schema).map_err(|what| failed(FailureKind::Other, what))?;
        let system = format!("{SYSTEM}\n{SCHEMA}\n{schema}\n");
        let first = self.ask(&self.question(system.clone(), shape.projected(), None)).await?;
        let problem = match shape.read(&first) {
            Ok(document) => return Ok(document),
            Err(Unfit(problem)) => problem,
        };
        self.progress.say(format!(
            "the answer does not fit its schema: {}; asking once more",
            self.chat.clean(&problem)
        ));
        let cut = first.floor_char_boundary(REPAIRED_BYTES_MAX);
        let repair = Repair {
            answer: if cut < first.len() { format!("{}\n[cut here]", &first[..cut]) } else { first },
            request: REPAIR.replace("{problem}", &problem),
        };
        let second = self.ask(&self.question(system, shape.projected(), Some(repair))).await?;
        shape.read(&second).map_err(|Unfit(problem)| {
            let problem = self.chat.clean(&problem);
            failed(
                FailureKind::Other,
                format!("the answer does not fit its schema, also when asked again: {problem}"),
            )
        })
    }

    fn question<'q>(
        &self,
        system: String,
        shape: Option<&'q serde_json::Value>,
        repair: Option<Repair>,
    ) -> Question<'q>
    where
        Self: 'q,
    {
        let Chat { common, .. } = self.chat;
        Question {
            model: &common.model,
            system,
            prompt: self.request.prompt,
            repair,
            shape,
            max_tokens: common.max_tokens,
            temperature: common.temperature,
        }
    }

    /// Asks until there is an answer or a reason why there is none.
    async fn ask(&mut self, question: &Question<'_>) -> Result<String, GenerationOutcome> {
        let mut dialect = self.chat.dialect();
        self.progress.say(format!("asking {}", self.chat.common.model));
        loop {
            let replied = self.chat.exchange(question, dialect, &mut self.account, &mut self.progress).await;
            let trouble = match replied {
                Ok(reply) => {
                    self.chat.set_dialect(dialect);
                    return self.ended(reply).map_err(|failure| failed(failure.kind, failure.reason()));
                }
                Err(trouble) => trouble,
            };
            match trouble {
                Trouble::Passing(passing) => self.pause(passing).await?,
                Trouble::Wait(wait) => return Err(GenerationOutcome::Wait(wait)),
                Trouble::Final(failure) => return Err(failed(failure.kind, failure.reason())),
                Trouble::NoModel(words) => {
                    let failure = self.chat.no_model(&words);
                    return Err(failed(failure.kind, failure.reason()));
                }
                Trouble::Rejected { status, words } => match dialect.without(&words) {
                    Some(lesser) if matches!(status.as_u16(), 400 | 422) => dialect = lesser,
                    _ => {
                        let failure = self.chat.rejected(status, &words);
                        return Err(failed(failure.kind, failure.reason()));
                    }
                },
            }
        }
    }

    /// Waits before another try, or says why there is none.
    async fn pause(&mut self, passing: Passing) -> Result<(), GenerationOutcome> {
        // The limit is one for all claims of a run (O-1).
        let retries = self.request.retries_before.saturating_add(self.account.usage().retries);
        let left = self.deadline.saturating_duration_since(Instant::now());
        if let Some(time) = passing.after.filter(|after| *after > SAT_THROUGH_MAX || *after >= left) {
            let time = time.max(WAIT_MIN);
            let reason =
                format!("{}; it may be asked again in {} s", passing.cause, time.as_secs_f64().ceil());
            return Err(GenerationOutcome::Wait(Wait { reason, time, source: WaitSource::Provider }));
        }
        if retries >= self.chat.common.retries_max {
            return Err(self.used_up(&passing, retries));
        }
        let who = (self.request.work_order_id.as_str(), self.request.claim_version);
        let time = passing.after.unwrap_or_else(|| backoff::wait(self.chat.backoff, retries, who));
        if time >= left {
            let said = format!("{}; the next try would come after the end of the budget", passing.cause);
            return Err(GenerationOutcome::OverBudget { said });
        }
        self.progress.say(format!(
            "{}; trying again in {:.1} s ({} of {})",
            passing.cause,
            time.as_secs_f64(),
            retries + 1,
            self.chat.common.retries_max
        ));
        sleep_until(Instant::now() + time).await;
        self.account.retry();
        // Where the budget ends during the next try, the reason for it says more than that it was begun.
        self.progress.keep(passing.cause);
        Ok(())
    }

    fn used_up(&self, passing: &Passing, retries: u64) -> GenerationOutcome {
        let tries = match retries {
            0 => String::new(),
            1 => ", also after 1 retry".to_owned(),
            _ => format!(", also after {retries} retries"),
        };
        let cause = &passing.cause;
        match passing.sort {
            Sort::Server => failed(FailureKind::Retries, format!("{cause}{tries}")),
            Sort::Unfinished => failed(FailureKind::Unfinished, format!("{cause}{tries}")),
            Sort::NobodyThere => failed(
                FailureKind::Setup,
                format!(
                    "no server answers at {}{tries}; start it, or correct base_url of provider {}",
                    self.chat.http.endpoint().base(),
                    self.chat.common.name
                ),
            ),
        }
    }

    /// Returns the text of an answer that is whole.
    fn ended(&self, reply: Reply) -> Result<String, Final> {
        let ending = reply.ending.as_ref().expect("a reply is read up to its ending");
        match ending {
            Ending::Refused => {
                let said = self.chat.clean(reply.refusal());
                let said = if said.is_empty() { said } else { format!(": {said}") };
                Err(Final::new(FailureKind::Refused, format!("the model refused{said}")))
            }
            Ending::Cut(word) => {
                let what = format!(
                    "the answer was cut off ({}) after {} bytes; max_tokens is {}",
                    self.chat.clean(word),
                    reply.text.len(),
                    self.chat.common.max_tokens
                );
                let next = format!(
                    "raise max_tokens of provider {}, or make the task smaller",
                    self.chat.common.name
                );
                Err(Final::with_next(FailureKind::Truncated, what, next))
            }
            Ending::Other(word) => {
                let word = self.chat.clean(word);
                Err(Final::new(
                    FailureKind::Other,
                    format!("the model stopped with {word:?}, which ends no answer"),
                ))
            }
            Ending::Whole if reply.text.trim().is_empty() => {
                Err(Final::new(FailureKind::Other, "the answer is empty".to_owned()))
            }
            // A server that repeats the key would have it stored (T29).
            Ending::Whole if self.chat.secrets.are_in(&reply.text) => {
                Err(Final::new(FailureKind::Other, "the answer holds the provider's key".to_owned()))
            }
            Ending::Whole => Ok(reply.text),
        }
    }
}

fn failed(kind: FailureKind, reason: impl Into<String>) -> GenerationOutcome {
    GenerationOutcome::Failed { kind, reason: reason.into() }
}
