//! `azolla up`: the roles of all azollas and the HTTP server with the dashboard, until it is stopped.

mod open;
mod service;

use std::{
    collections::BTreeMap,
    io::{IsTerminal, Write},
    net::SocketAddr,
    path::Path,
    process::ExitCode,
    sync::Arc,
    time::Instant,
};

use azolla_control_plane::{
    WorkerError,
    poll::{self, Until},
};
use azolla_protocol::{AzollaId, WorkerRole};
use clap::Args;
use tokio::{sync::watch, task::JoinSet};

use self::open::Opening;
use super::run::{self, Contexts, Opener, Signals};
use crate::{
    config::AzollaConfig,
    deployment::Deployment,
    failure::Failure,
    home::Home,
    http::{self, App, Listening},
    notify::{End, Followed, Notifier},
    screen::{FAINT, PLAIN, Page, STRONG, remark},
    stores::Stores,
};

/// Keep everything going: the work of all azollas, and the dashboard
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla up --open                         and show the dashboard\n  azolla up\n  azolla up --listen 127.0.0.1:0          any free port\n  \
                  azolla up --roles runner,gate           only these, where machines share an azolla\n  \
                  azolla up --roles http                  only the server\n  \
                  azolla up --print-service               a systemd unit that keeps it going\n\n\
                  It ends in good order with Ctrl-C or SIGTERM; what was under way is taken up again at the next start."
)]
pub(crate) struct Up {
    /// Where the server listens; otherwise listen of [http], which is 127.0.0.1:7517 if nothing is said.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,

    /// What runs: http, and the roles readiness, scheduler, runner, gate, capture-readiness, manifest-scheduler,
    /// deadline-monitor; otherwise all of them.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = part)]
    roles: Vec<Part>,

    /// Print a systemd user unit that runs this, with these options, and do nothing else.
    #[arg(long)]
    print_service: bool,

    /// Open the dashboard in a browser.
    #[arg(long)]
    open: bool,

    /// First end every session of the dashboard, on all browsers.
    #[arg(long)]
    log_out_all: bool,
}

/// Runs the roles of an azolla that could not work at the start, once it can.
async fn run_later(
    deployment: Arc<Deployment>,
    opener: Opener,
    azolla: AzollaConfig,
    stores: Arc<Stores>,
    stop: watch::Sender<bool>,
) -> Result<(), WorkerError> {
    let Some(context) = opener.open_later(&azolla).await else { return Ok(()) };
    stores.keep(&azolla.id, context.substrate.clone());
    let contexts = vec![context];
    let notifier = Notifier::start(&deployment, async || run::followed(&contexts)).await;
    let ended = poll::run(contexts.clone(), Until::Stopped, &stop).await;
    notifier.end(End::Now).await;
    ended
}

/// Something that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Http,
    Role(WorkerRole),
}

/// Reads the name of a part: that of the role, in small letters.
fn part(text: &str) -> Result<Part, String> {
    if text.eq_ignore_ascii_case("http") {
        return Ok(Part::Http);
    }
    let name = text.to_ascii_uppercase().replace('-', "_");
    name.parse().map(Part::Role).map_err(|_| {
        let known: Vec<_> = WorkerRole::ALL.iter().map(|role| word(*role)).collect();
        format!("known are http, {}", known.join(", "))
    })
}

fn word(role: WorkerRole) -> String {
    role.as_str().to_ascii_lowercase().replace('_', "-")
}

impl Up {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        if self.print_service {
            let unit = service::unit(&service::Command::of(home, self.listen, &self.named())?);
            std::io::stdout().lock().write_all(unit.as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        let deployment = Arc::new(Deployment::load(home)?);
        deployment.place.make()?;
        let (stop, stopping) = watch::channel(false);
        // Before anything is started: an address that cannot be used ends it here.
        let listening = match self.runs(Part::Http) {
            true => Some(http::bind(&deployment, self.listen).await?),
            false => None,
        };
        // After that: a command that does not start changes nothing.
        if self.log_out_all {
            let count = Home::open(&deployment.place.home_store())?.end_sessions()?;
            remark(&format!("{count} sessions are ended"));
        }
        let stores = Arc::new(Stores::new(deployment.clone()));
        let roles: Vec<_> =
            WorkerRole::ALL.iter().copied().filter(|role| self.runs(Part::Role(*role))).collect();
        let azollas: Vec<&AzollaConfig> = match roles.is_empty() {
            true => Vec::new(),
            false => deployment.config.azollas.iter().collect(),
        };
        let mut contexts = Contexts::open(&deployment, azollas, Some(&roles), &stopping).await;
        if let (None, true, Some(refused)) = (&listening, contexts.all.is_empty(), contexts.refused.take()) {
            return Err(refused);
        }
        for context in &contexts.all {
            stores.keep(&context.identity.azolla_id, context.substrate.clone());
        }
        if listening.is_none() && contexts.all.is_empty() {
            return Err(Failure::not_found("nothing is there that could run")
                .hint("cd into a repository, then: azolla init")
                .into());
        }
        let signals = Signals::stop(stop.clone())?;
        let notifier =
            Notifier::start(&deployment, async || followed(&deployment, &contexts, &stores).await).await;
        let mut opening = None;
        let served = match listening {
            Some(listening) => {
                let app = App::new(
                    deployment.clone(),
                    stores.clone(),
                    listening.address,
                    listening.is_encrypted(),
                )?;
                let app = app.watching(contexts.under_way.clone(), running(&contexts, &roles));
                // Whoever has the link is logged in, and what a service prints is kept for others to read.
                let link = match self.open || std::io::stdout().is_terminal() {
                    true => {
                        let code = app.door.code(Instant::now())?;
                        Some(format!("{}/login?code={}", listening.link(&deployment), code.text()))
                    }
                    false => None,
                };
                self.show(&deployment, Some((&listening, link.as_deref())), &contexts, &roles)?;
                if let Some(link) = link.filter(|_| self.open) {
                    opening = Some(Opening::begin(deployment.place.state(), link));
                }
                Some(tokio::spawn(http::serve(listening, Arc::new(app), stopping.clone())))
            }
            None => {
                self.show(&deployment, None, &contexts, &roles)?;
                None
            }
        };
        let drawing = contexts.draw();
        let mut late = JoinSet::new();
        for azolla in std::mem::take(&mut contexts.left_out) {
            let (deployment, stores) = (deployment.clone(), stores.clone());
            late.spawn(run_later(deployment, contexts.opener(), azolla, stores, stop.clone()));
        }
        let ended = match contexts.all.is_empty() {
            true => {
                let mut stopping = stopping;
                // The sender is ours, so this ends with a signal.
                let _ = stopping.wait_for(|stopping| *stopping).await;
                Ok(())
            }
            false => poll::run(contexts.all.clone(), Until::Stopped, &stop).await,
        };
        // A role that failed for good ends the server too.
        stop.send_replace(true);
        if let Some(served) = served {
            let _ = served.await;
        }
        if let Some(opening) = opening {
            opening.end().await;
        }
        let ended = late.join_all().await.into_iter().fold(ended, Result::and);
        drawing.end().await;
        notifier.end(End::Now).await;
        signals.end();
        ended?;
        Ok(ExitCode::SUCCESS)
    }

    fn runs(&self, part: Part) -> bool {
        self.roles.is_empty() || self.roles.contains(&part)
    }

    /// Returns the parts that were named, by their words.
    fn named(&self) -> Vec<String> {
        let name = |part: &Part| match part {
            Part::Http => "http".to_owned(),
            Part::Role(role) => word(*role),
        };
        self.roles.iter().map(name).collect()
    }

    fn show(
        &self,
        deployment: &Deployment,
        listening: Option<(&Listening, Option<&str>)>,
        contexts: &Contexts,
        roles: &[WorkerRole],
    ) -> anyhow::Result<()> {
        let mut page = Page::default();
        if let Some((listening, link)) = listening {
            page.add(PLAIN, "listens at ").line(STRONG, &listening.url());
            match link {
                Some(link) => {
                    page.add(PLAIN, "dashboard ").line(STRONG, link);
                    page.line(
                        FAINT,
                        "  that link logs you in once, for 15 minutes; azolla up --open opens it",
                    );
                }
                None => {
                    page.add(PLAIN, "dashboard ").line(STRONG, &listening.link(deployment));
                    page.line(FAINT, "  log in with the operator's token");
                }
            }
            let token = deployment.place.operator_token();
            page.add(PLAIN, "operator's token in ").line(FAINT, &token.display().to_string());
            let token = deployment.place.mcp_token();
            page.add(PLAIN, "agents (MCP) at /mcp, token in ").line(FAINT, &token.display().to_string());
        }
        for (id, words) in running(contexts, roles) {
            page.add(PLAIN, &format!("{id} runs ")).line(FAINT, &words);
        }
        for azolla in &contexts.left_out {
            page.line(PLAIN, &format!("{} is tried again until it can work", azolla.id));
        }
        page.line(FAINT, "Ctrl-C ends it");
        Ok(page.show()?)
    }
}

/// Returns the azollas that work here, each with those of its roles that run, in words.
fn running(contexts: &Contexts, roles: &[WorkerRole]) -> BTreeMap<AzollaId, String> {
    let words = contexts.all.iter().map(|context| {
        let own = context.identity.azolla_type.blueprint().workers.iter();
        let words: Vec<_> = own.filter(|role| roles.contains(role)).map(|role| word(*role)).collect();
        (context.identity.azolla_id.clone(), words.join(", "))
    });
    words.collect()
}

/// Returns every azolla, as notifications follow them: those that work here, and those that only others work for.
async fn followed(deployment: &Deployment, contexts: &Contexts, stores: &Stores) -> Vec<Followed> {
    let mut followed = run::followed(&contexts.all);
    for azolla in &deployment.config.azollas {
        if followed.iter().any(|known| known.azolla_id == azolla.id) {
            continue;
        }
        // One that cannot be read is left out, as it is of the work.
        if let Ok(store) = stores.looking(azolla).await {
            followed.push(Followed::new(azolla.id.clone(), store));
        }
    }
    followed
}
