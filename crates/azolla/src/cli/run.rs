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

pub(super) use self::{contexts::Contexts, signals::Signals};
use super::Which;
use crate::{config::AzollaConfig, deployment::Deployment, failure::Failure, home::Home};

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

    /// Only this azolla; otherwise all that have a repository.
    #[command(flatten)]
    which: Which,
}

impl Run {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let deployment = Deployment::load(home)?;
        let (stop, stopping) = watch::channel(false);
        let opened = Contexts::open(&deployment, self.azollas(&deployment)?, None, &stopping).await;
        let drawing = opened.draw();
        let Contexts { all: contexts, refused, .. } = opened;
        if contexts.is_empty() {
            let none = || {
                Failure::not_found("no azolla has a repository")
                    .hint("cd into a repository, then: azolla init")
            };
            return Err(refused.unwrap_or_else(|| none().into()));
        }
        if self.now {
            let home = Home::open(&deployment.place.home_store())?;
            for context in &contexts {
                for provider in context.flow.providers() {
                    home.release_hold(provider)?;
                }
            }
        }
        let summary = summary::Summary::begin(&contexts).await?;
        let signals = Signals::stop(stop.clone())?;
        let until = if self.until_idle { Until::Idle } else { Until::Stopped };
        let ended = poll::run(contexts.clone(), until, &stop).await;
        let interrupted = signals.end();
        drawing.end().await;
        ended?;
        let code = summary.show(&deployment).await?;
        Ok(match interrupted {
            _ if !self.until_idle => ExitCode::SUCCESS,
            Some(interrupted) if is_work_left(&contexts).await? => ExitCode::from(interrupted as u8),
            _ => code,
        })
    }

    fn azollas<'a>(&self, deployment: &'a Deployment) -> Result<Vec<&'a AzollaConfig>, Failure> {
        if let Some(id) = &self.which.azolla {
            return Ok(vec![deployment.one(Some(id), AzollaType::CodePatch)?]);
        }
        Ok(Contexts::working(deployment).collect())
    }
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
    Ok(read.stream().await?.open > 0 || !read.unprocessed_events(EventType::TicketReady, 1).await?.is_empty())
}
