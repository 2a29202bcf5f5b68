//! `azolla doctor`: is everything there that work needs, and where is it.

mod look;
mod net;
mod notify;
mod probe;

use std::{path::Path, process::ExitCode, sync::Arc};

use clap::Args;
use serde_json::json;

use crate::{
    config::Place,
    deployment::Deployment,
    failure::Failure,
    screen::{self, BAD, FAINT, GOOD, PLAIN, Page, TYPE},
};

/// Check git, configuration, stores, repositories and workers; print every path in use
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla doctor\n  azolla doctor --probe      is every worker reachable, and does its key work?\n  azolla doctor --json\n\n\
                        A probe costs what one request costs: a model is sent a few words, an agent is started once \
                        with a question of one line. It counts towards no cap.\n\
                        Exits with 1 if anything is wrong; every such line says what helps."
)]
pub(crate) struct Doctor {
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(super) json: bool,

    /// Also make one tiny real request to every worker, which costs what such a request costs.
    #[arg(long)]
    probe: bool,
}

/// One line of the doctor's: what was looked at and how it is.
struct Line {
    what: String,
    state: String,
    /// What helps; none if nothing is wrong.
    fix: Option<String>,
}

impl Line {
    fn good(what: impl Into<String>, state: impl Into<String>) -> Self {
        Self { what: what.into(), state: state.into(), fix: None }
    }

    fn bad(what: impl Into<String>, state: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), state: state.into(), fix: Some(fix.into()) }
    }

    /// A line for a result: its error tells what helps.
    fn of(what: &str, result: anyhow::Result<String>, fix: &str) -> Self {
        match result {
            Ok(state) => Self::good(what, state),
            Err(error) => {
                let hint = error.chain().find_map(|cause| cause.downcast_ref::<Failure>()?.next_step());
                Self::bad(what, format!("{error:#}"), hint.unwrap_or(fix))
            }
        }
    }
}

impl Doctor {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let mut lines = vec![look::git().await];
        let deployment = match Place::find(home) {
            Ok(place) => look_at(place, &mut lines).await,
            Err(error) => {
                lines.push(Line::bad("home", error.to_string(), "set HOME or AZOLLA_HOME"));
                None
            }
        };
        // What is known is said at once: a probe can take minutes.
        let tell = |lines: &[Line]| if self.json { Ok(()) } else { show(lines) };
        tell(&lines)?;
        if let Some(deployment) = deployment.filter(|_| self.probe) {
            lines.extend(probe::all(&deployment, |line| tell(std::slice::from_ref(line))).await?);
            let asked = net::ask(Arc::new(deployment)).await;
            tell(&asked)?;
            lines.extend(asked);
        }
        let wrong = lines.iter().filter(|line| line.fix.is_some()).count();
        if self.json {
            let data: Vec<_> = lines
                .iter()
                .map(|line| json!({"what": line.what, "ok": line.fix.is_none(), "state": line.state, "fix": line.fix}))
                .collect();
            screen::show_json("doctor", json!(data))?;
        } else {
            show_verdict(wrong)?;
        }
        Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Looks at everything that is there without asking anybody; returns what the configuration says, if it can be read.
async fn look_at(place: Place, lines: &mut Vec<Line>) -> Option<Deployment> {
    lines.extend(look::places(&place));
    let deployment = match Deployment::at(place.clone()) {
        Ok(Some(deployment)) => deployment,
        Ok(None) => {
            let state = format!("there is none at {}", place.config.display());
            lines.push(Line::bad("configuration", state, "azolla init"));
            return None;
        }
        Err(error) => {
            lines.push(Line::bad(
                "configuration",
                format!("{error:#}"),
                format!("edit {}", place.config.display()),
            ));
            return None;
        }
    };
    lines.push(Line::good("configuration", place.config.display().to_string()));
    lines.push(look::home_store(&place));
    lines.push(look::disk(&place));
    lines.push(look::sandbox(deployment.config.sandbox.mode).await);
    for azolla in &deployment.config.azollas {
        lines.extend(look::azolla(&deployment, azolla).await);
    }
    for (name, provider) in &deployment.config.providers {
        lines.extend(look::provider(&deployment, name, provider));
    }
    lines.extend(look::money(&deployment.config));
    lines.extend(notify::look(&deployment));
    lines.extend(net::http(&deployment));
    lines.extend(net::peers(&deployment));
    Some(deployment)
}

fn show(lines: &[Line]) -> std::io::Result<()> {
    let mut page = Page::default();
    for line in lines {
        let (style, mark) = if line.fix.is_none() { (GOOD, "ok   ") } else { (BAD, "wrong") };
        page.add(style, mark).add(PLAIN, &format!("  {:<24}", line.what));
        let mut state = line.state.lines();
        page.line(FAINT, state.next().unwrap_or_default());
        for rest in state {
            page.block(&" ".repeat(31), FAINT, rest);
        }
        if let Some(fix) = &line.fix {
            page.add(PLAIN, &format!("{:31}do: ", "")).line(TYPE, fix);
        }
    }
    page.show()
}

fn show_verdict(wrong: usize) -> std::io::Result<()> {
    let mut page = Page::default();
    match wrong {
        0 => page.line(GOOD, "Everything is in order."),
        1 => page.line(BAD, "One thing is wrong."),
        _ => page.line(BAD, &format!("{wrong} things are wrong.")),
    };
    page.show()
}
