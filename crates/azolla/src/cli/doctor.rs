//! `azolla doctor`: is everything there that work needs, and where is it.

mod install;
mod leftovers;
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
    failure,
    screen::{self, BAD, FAINT, GOOD, NOTE, PLAIN, Page, TYPE, padded, quoted},
};

/// Check git, configuration, stores, repositories and workers; print every path in use
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla doctor\n  azolla doctor --probe      is every worker reachable, and does its key work?\n  azolla doctor --repair     remove what runs that were killed left behind\n  azolla doctor --json\n\n\
                        A probe costs what one request costs: a model is sent a few words, an agent is started once \
                        with a question of one line. It counts towards no cap.\n\
                        Every line is ok, or needs attention (it works, and there is something to know), or is broken; those \
                        two say what to do. Exits with 1 if anything is broken."
)]
pub(crate) struct Doctor {
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(super) json: bool,

    /// Also make one tiny real request to every worker, which costs what such a request costs.
    #[arg(long)]
    probe: bool,

    /// Also remove what processes that are gone left behind: worktrees and directories of runs that nobody holds, old locks
    /// of git in azolla's own mirrors, and branches azolla/… of patches that failed. Nothing else of a repository of
    /// yours is touched.
    #[arg(long)]
    repair: bool,
}

/// One line of the doctor's: what was looked at and how it is.
struct Line {
    what: String,
    level: Level,
    state: String,
    /// What helps; none if all is well.
    fix: Option<String>,
}

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    /// As it should be.
    Ok,
    /// It works, and there is something to know about it.
    Attention,
    /// Work will stop here.
    Broken,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Attention => "attention",
            Self::Broken => "broken",
        }
    }
}

impl Line {
    fn good(what: impl Into<String>, state: impl Into<String>) -> Self {
        Self { what: what.into(), level: Level::Ok, state: state.into(), fix: None }
    }

    fn attention(what: impl Into<String>, state: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), level: Level::Attention, state: state.into(), fix: Some(fix.into()) }
    }

    fn bad(what: impl Into<String>, state: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), level: Level::Broken, state: state.into(), fix: Some(fix.into()) }
    }

    /// A line for a result: its error tells what helps.
    fn of(what: &str, result: anyhow::Result<String>, fix: &str) -> Self {
        match result {
            Ok(state) => Self::good(what, state),
            Err(error) => {
                let hint = failure::hint(&error);
                // The doctor is here already.
                let hint = hint.filter(|hint| !hint.contains("azolla doctor"));
                Self::bad(what, failure::sentence(&error), hint.as_deref().unwrap_or(fix))
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
        if let Some(deployment) = &deployment {
            lines.extend(leftovers::look(deployment, self.repair));
            lines.extend(leftovers::branches(deployment, self.repair).await);
        }
        // What is known is said at once: a probe can take minutes.
        let tell = |lines: &[Line]| if self.json { Ok(()) } else { show(lines) };
        tell(&lines)?;
        if let Some(deployment) = deployment.filter(|_| self.probe) {
            lines.extend(probe::all(&deployment, |line| tell(std::slice::from_ref(line))).await?);
            let asked = net::ask(Arc::new(deployment)).await;
            tell(&asked)?;
            lines.extend(asked);
        }
        if self.json {
            let data: Vec<_> = lines
                .iter()
                .map(|line| {
                    json!({"what": line.what, "level": line.level.word(), "ok": line.level == Level::Ok,
                           "state": line.state, "fix": line.fix})
                })
                .collect();
            screen::show_json("doctor", json!(data))?;
        } else {
            show_verdict(&lines)?;
        }
        let is_broken = lines.iter().any(|line| line.level == Level::Broken);
        Ok(if is_broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
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
            let path = quoted(&place.config.display().to_string());
            let fix = format!("\"${{EDITOR:-vi}}\" {path}");
            lines.push(Line::of("configuration", Err(error), &fix));
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
    lines.extend(look::money(&deployment));
    lines.extend(notify::look(&deployment));
    lines.extend(net::http(&deployment).await);
    lines.extend(net::peers(&deployment));
    Some(deployment)
}

/// What a level's word and the name of what was looked at take.
const LEVEL_COLUMNS: usize = 11;
const WHAT_COLUMNS: usize = 24;

fn show(lines: &[Line]) -> std::io::Result<()> {
    let before = LEVEL_COLUMNS + WHAT_COLUMNS;
    // Where there is no room beside it, what was found stands below.
    let is_narrow = screen::terminal().is_some_and(|columns| columns < before * 2);
    let indent = " ".repeat(if is_narrow { 4 } else { before });
    let mut page = Page::default();
    for line in lines {
        let style = match line.level {
            Level::Ok => GOOD,
            Level::Attention => NOTE,
            Level::Broken => BAD,
        };
        page.add(style, &padded(line.level.word(), LEVEL_COLUMNS));
        let mut state = line.state.lines();
        if is_narrow {
            page.line(PLAIN, &line.what).add(PLAIN, &indent).hang();
        } else {
            page.add(PLAIN, &padded(&line.what, WHAT_COLUMNS - 1)).add(PLAIN, " ").hang();
        }
        page.line(FAINT, state.next().unwrap_or_default());
        for rest in state {
            // The line of a file with what is wrong underlined: it stays as it is.
            page.verbatim(&indent, FAINT, rest);
        }
        if let Some(fix) = &line.fix {
            page.add(PLAIN, &format!("{indent}do: ")).hang().line(TYPE, fix);
        }
    }
    page.show()
}

fn show_verdict(lines: &[Line]) -> std::io::Result<()> {
    let count = |level| lines.iter().filter(|line| line.level == level).count();
    let things = |count: usize, one: &str, many: &str| match count {
        1 => format!("One thing {one}"),
        _ => format!("{count} things {many}"),
    };
    let mut page = Page::default();
    match (count(Level::Broken), count(Level::Attention)) {
        (0, 0) => page.line(GOOD, "Everything is in order."),
        (0, attention) => {
            page.add(GOOD, "Everything works. ");
            page.line(NOTE, &format!("{}.", things(attention, "is worth a look", "are worth a look")))
        }
        (broken, _) => {
            let text = things(broken, "is broken", "are broken");
            page.add(BAD, &format!("{text}. ")).line(PLAIN, "Do what stands there, then: azolla doctor")
        }
    };
    page.show()
}
