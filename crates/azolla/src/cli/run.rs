//! `azolla run`: runs due work in the foreground.

mod contexts;
mod progress;
pub(super) mod signals;
mod summary;

use std::{path::Path, process::ExitCode, sync::Arc};

use azolla_control_plane::{
    WorkerContext,
    poll::{self, Until},
};
use azolla_protocol::{AzollaType, EventType};
use azolla_substrate::SubstrateError;
use clap::Args;
use tokio::sync::watch;

pub(super) use self::{
    contexts::{Contexts, Opener},
    signals::Signals,
    summary::Tell,
};
use super::Which;
use crate::{
    config::AzollaConfig,
    deployment::Deployment,
    failure::Failure,
    home::Home,
    notify::{End, Followed, Notifier},
};

/// Run what is due, in the foreground
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla run --until-idle    until nothing is left but what waits for you\n  \
                        azolla run                 until you stop it with Ctrl-C\n  \
                        azolla run --until-idle --now    do not wait for a worker that asked for time\n\n\
                        It can be stopped or killed at any time: the next run goes on where this one was.\n\
                        With --until-idle the exit code tells how things ended: 5 if a gate failed, 6 if a budget \
                        was over or a cap is reached, 75 if a worker asks for time, 4 if something could not run at all, 128 and the signal's number if it was stopped before that."
)]
pub(crate) struct Run {
    /// End when nothing is left but what waits for you.
    #[arg(long)]
    until_idle: bool,

    /// Ask workers again that asked for time because their quota was used up. Caps hold all the same.
    #[arg(long)]
    now: bool,

    /// Only this azolla; otherwise all of them.
    #[command(flatten)]
    which: Which,
}

impl Run {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let deployment = Arc::new(Deployment::load(home)?);
        let azollas = match &self.which.azolla {
            Some(id) => vec![deployment.named(id)?],
            None => deployment.config.azollas.iter().collect(),
        };
        let until = if self.until_idle { Until::Idle } else { Until::Stopped };
        run(&deployment, azollas, until, self.now, Tell::All).await
    }
}

/// Runs what is due in one azolla, tells `tell` of it, and returns the exit code that its end stands for.
pub(super) async fn until_idle(
    deployment: &Arc<Deployment>,
    azolla: &AzollaConfig,
    tell: Tell,
) -> anyhow::Result<ExitCode> {
    run(deployment, vec![azolla], Until::Idle, false, tell).await
}

async fn run(
    deployment: &Arc<Deployment>,
    azollas: Vec<&AzollaConfig>,
    until: Until,
    now: bool,
    tell: Tell,
) -> anyhow::Result<ExitCode> {
    let (stop, stopping) = watch::channel(false);
    let opened = Contexts::open(deployment, azollas, None, &stopping).await;
    let drawing = opened.draw();
    let Contexts { all: contexts, refused, .. } = opened;
    if contexts.is_empty() {
        let none = || Failure::not_found("no azolla is configured").hint("azolla init");
        return Err(refused.unwrap_or_else(|| none().into()));
    }
    if now {
        let home = Home::open(&deployment.place.home_store())?;
        for provider in contexts.iter().flat_map(|context| context.flow.providers()) {
            home.release_hold(provider)?;
        }
    }
    let summary = summary::Summary::begin(&contexts).await?;
    let notifier = match tell {
        Tell::All => Some(Notifier::start(deployment, async || followed(&contexts)).await),
        // Whoever asked sees the end of it.
        Tell::Failures | Tell::Waits => None,
    };
    let signals = Signals::stop(stop.clone())?;
    let ended = poll::run(contexts.clone(), until, &stop).await;
    drawing.end().await;
    if let Some(notifier) = notifier {
        notifier.end(if signals.came() { End::Now } else { End::AfterALook }).await;
    }
    let interrupted = signals.end();
    ended?;
    let code = summary.show(deployment, tell).await?;
    // What could not work at all is told last, unless something else did the like.
    let patches = contexts.iter().any(|context| context.identity.azolla_type == AzollaType::CodePatch);
    if let (Some(refused), false) = (refused, patches) {
        return Err(refused);
    }
    Ok(match interrupted {
        _ if until == Until::Stopped => ExitCode::SUCCESS,
        Some(interrupted) if is_work_left(&contexts).await? => ExitCode::from(interrupted as u8),
        _ => code,
    })
}

/// Returns the azollas that work, as notifications follow them.
pub(super) fn followed(contexts: &[Arc<WorkerContext>]) -> Vec<Followed> {
    let follow = |context: &Arc<WorkerContext>| {
        Followed::new(context.identity.azolla_id.clone(), context.substrate.clone())
    };
    contexts.iter().map(follow).collect()
}

/// Tells whether anything is left that a run would go on with.
async fn is_work_left(contexts: &[Arc<WorkerContext>]) -> Result<bool, SubstrateError> {
    for context in contexts {
        if has_work(context).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn has_work(context: &WorkerContext) -> Result<bool, SubstrateError> {
    let read = context.read();
    let mut has_work = read.stream().await?.open > 0;
    for event_type in EventType::ALL {
        has_work = has_work || !read.unprocessed_events(*event_type, 1).await?.is_empty();
    }
    Ok(has_work)
}
