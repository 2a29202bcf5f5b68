//! `azolla run`: runs due work in the foreground.

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

use self::{progress::Progress, signals::Signals};
use super::Which;
use crate::{
    config::AzollaConfig, deployment::Deployment, failure::Failure, home::Home, screen::remark, workers,
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

    /// Only this azolla; otherwise all that have a repository.
    #[command(flatten)]
    which: Which,
}

impl Run {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let deployment = Deployment::load(home)?;
        let progress = Arc::new(Progress::default());
        let (stop, stopping) = watch::channel(false);
        let mut contexts = Vec::new();
        let mut refused = None;
        for azolla in self.azollas(&deployment)? {
            let (progress, stopping) = (progress.clone(), stopping.clone());
            let watcher: workers::Watcher = Arc::new(move |activity| progress.show(activity));
            match workers::context(&deployment, azolla, watcher, stopping).await {
                Ok(context) => contexts.push(Arc::new(context)),
                Err(error) => {
                    // The others can work all the same.
                    remark(&format!("{} is left out: {error:#}", azolla.id));
                    refused = Some(error);
                }
            }
        }
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
        let drawing = progress.draw(&contexts);
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
        let all = deployment.config.azollas.iter();
        Ok(all.filter(|azolla| azolla.azolla_type == AzollaType::CodePatch).collect())
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
