//! `azolla doctor --probe`: one tiny real request to every provider.

use std::{io, time::Duration};

use azolla_diazotroph::provider::{Probe, ProbeFailure};
use azolla_protocol::{
    AnswerForm, Diazotroph, GenerationOutcome, GenerationRequest, IdSource, Unlimited, WorkOrderId,
};
use azolla_substrate::SystemIds;
use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::time::{Instant, interval_at};

use super::Line;
use crate::{
    cli::progress::{draw, is_watched},
    deployment::Deployment,
    home::Home,
    screen::duration,
    workers::{Made, make},
};

/// How long a provider has. A model on this machine may have to be loaded first.
const TIME: Duration = Duration::from_secs(120);

/// What a program is asked.
const QUESTION: &str = "This is a test of the connection. Answer with the one word OK and change no file.\n";

/// How often the line on a terminal says who is waited for.
const REDRAWN_EVERY: Duration = Duration::from_secs(1);

/// Asks all providers side by side. Each is told as soon as it is known; they are returned in the order of the
/// configuration.
pub(super) async fn all(
    deployment: &Deployment,
    tell: impl Fn(&Line) -> io::Result<()>,
) -> io::Result<Vec<Line>> {
    let mut waited_for: Vec<&str> = deployment.config.providers.keys().map(String::as_str).collect();
    let asked = waited_for.iter().copied().enumerate();
    let mut asked: FuturesUnordered<_> =
        asked.map(|(place, name)| async move { (place, name, provider(deployment, name).await) }).collect();
    let (is_watched, began) = (is_watched(), Instant::now());
    let mut tick = interval_at(began + REDRAWN_EVERY, REDRAWN_EVERY);
    let mut known = Vec::new();
    loop {
        tokio::select! {
            biased;
            answered = asked.next() => {
                let Some((place, name, line)) = answered else { break };
                if is_watched {
                    draw("");
                }
                tell(&line)?;
                waited_for.retain(|waiting| *waiting != name);
                known.push((place, line));
            }
            _ = tick.tick(), if is_watched => {
                let time = duration(began.elapsed().as_secs().saturating_mul(1_000));
                draw(&format!("waiting for {}  {time} of {}", waited_for.join(", "), duration(TIME.as_secs() * 1_000)));
            }
        }
    }
    known.sort_by_key(|(place, _)| *place);
    Ok(known.into_iter().map(|(_, line)| line).collect())
}

/// Asks a provider, and tells what came back. One that answers is no longer waited for.
async fn provider(deployment: &Deployment, name: &str) -> Line {
    let what = format!("probe of {name}");
    let provider = match make(deployment, name) {
        Ok(provider) => provider,
        Err(error) => return Line::of(&what, Err(error), "see the line above"),
    };
    let answered = match provider {
        Made::Anthropic(provider) => in_words(provider.probe(TIME).await),
        Made::OpenAi(provider) => in_words(provider.probe(TIME).await),
        Made::Command(provider) => program(&provider).await,
        Made::Recorded(provider) => program(&provider).await,
    };
    match answered {
        Ok(state) => {
            if let Ok(home) = Home::open(&deployment.place.home_store()) {
                // What cannot be dropped ends by itself.
                let _ = home.release_hold(name);
            }
            Line::good(what, state)
        }
        Err((state, fix)) => Line::bad(what, state, fix),
    }
}

fn in_words(probed: Result<Probe, ProbeFailure>) -> Result<String, (String, String)> {
    match probed {
        Ok(probe) => Ok(format!("{} answered after {}", probe.model, duration(probe.latency_ms))),
        Err(failure) => Err((failure.what, failure.next)),
    }
}

/// Starts a program as for a run, in an empty directory.
async fn program(provider: &dyn Diazotroph) -> Result<String, (String, String)> {
    let failed = |what: String| Err((what, format!("correct [provider.{}]", provider.provider())));
    let directory = match tempfile::Builder::new().prefix("azolla-probe-").tempdir() {
        Ok(directory) => directory,
        Err(error) => return failed(format!("there is no directory to run it in: {error}")),
    };
    // A name of its own: others are asked at the same time.
    let id = WorkOrderId::new(format!("wo-probe-{}", SystemIds::default().body())).expect("a good id");
    let request = GenerationRequest {
        work_order_id: &id,
        claim_version: 0,
        prompt: QUESTION,
        remaining: TIME,
        retries_before: 0,
        worktree: (provider.answer_form() == AnswerForm::Files).then(|| directory.path()),
        schema: None,
        // The operator asks for it, and it is tiny: no cap is in its way.
        allowance: &Unlimited,
        progress: &|_| {},
    };
    match provider.generate(request).await.outcome {
        GenerationOutcome::Text(_) => Ok("it answered".to_owned()),
        GenerationOutcome::Edited { said } => {
            let first = said.lines().next().unwrap_or_default();
            Ok(if first.is_empty() {
                "it ran and ended well".to_owned()
            } else {
                format!("it said: {first}")
            })
        }
        GenerationOutcome::Failed { reason, .. } => failed(reason),
        GenerationOutcome::OverBudget { said } => failed(format!("it did not end in time\n{said}")),
        GenerationOutcome::Wait(wait) => {
            let time = duration(u64::try_from(wait.time.as_millis()).unwrap_or(u64::MAX));
            Err((wait.reason, format!("wait {time}, or use another provider")))
        }
    }
}
