//! `azolla run`: runs due work in the foreground.

mod progress;
mod summary;

use std::{path::Path, process::ExitCode, sync::Arc};

use azolla_control_plane::poll::{self, Until};
use azolla_protocol::AzollaType;
use clap::Args;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

use self::progress::Progress;
use super::Which;
use crate::{config::AzollaConfig, deployment::Deployment, failure::Failure, screen::remark, workers};

/// Run what is due, in the foreground
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla run --until-idle    until nothing is left but what waits for you\n  \
                        azolla run                 until you stop it with Ctrl-C\n\n\
                        It can be stopped or killed at any time: the next run goes on where this one was.\n\
                        With --until-idle the exit code tells how things ended: 5 if a gate failed, 6 if a budget \
                        was over, 4 if something could not run at all."
)]
pub(crate) struct Run {
    /// End when nothing is left but what waits for you.
    #[arg(long)]
    until_idle: bool,

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
        let summary = summary::Summary::begin(&contexts).await?;
        let drawing = progress.draw(&contexts);
        let signals = stop_on_signal(stop.clone())?;
        let until = if self.until_idle { Until::Idle } else { Until::Stopped };
        let ended = poll::run(contexts, until, &stop).await;
        signals.abort();
        drawing.end().await;
        ended?;
        let code = summary.show().await?;
        Ok(if self.until_idle { code } else { ExitCode::SUCCESS })
    }

    fn azollas<'a>(&self, deployment: &'a Deployment) -> Result<Vec<&'a AzollaConfig>, Failure> {
        if let Some(id) = &self.which.azolla {
            return Ok(vec![deployment.one(Some(id), AzollaType::CodePatch)?]);
        }
        let all = deployment.config.azollas.iter();
        Ok(all.filter(|azolla| azolla.azolla_type == AzollaType::CodePatch).collect())
    }
}

/// Ends the work in good order at the first signal, and at once at the second.
fn stop_on_signal(stop: watch::Sender<bool>) -> std::io::Result<tokio::task::JoinHandle<()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(tokio::spawn(async move {
        for already in [false, true] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if already {
                // As a shell tells a signal; what is under way is taken up again by the next run.
                std::process::exit(130);
            }
            remark("stopping; once more stops at once");
            stop.send_replace(true);
        }
    }))
}
