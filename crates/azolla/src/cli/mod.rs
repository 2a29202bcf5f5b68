//! The command line: a file per subcommand.

mod capture;
mod completions;
mod config;
mod demo;
mod doctor;
mod editor;
pub(crate) mod explain;
mod export;
pub(crate) mod help;
mod import;
mod init;
mod limits;
pub(crate) mod log;
mod man;
mod manifest;
mod mcp;
mod objective;
mod peer;
mod pr;
mod progress;
mod replay;
mod resume;
pub(crate) mod review;
mod run;
mod schema;
mod snooze;
mod store;
mod tell;
mod text;
mod triage;
mod trust;
mod up;
mod verify;

pub(crate) use progress::draw;
use tell::{tell, tell_made};

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Parser, Subcommand};

use crate::{failure::Failure, screen};

/// A durable control plane around stateless workers, for one operator.
///
/// Without a command: where things stand, and the next thing to do.
#[derive(Parser)]
#[command(version, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(flatten)]
    home: HomeArgument,

    /// Print long pages at once, on a terminal too.
    #[arg(long, global = true)]
    no_pager: bool,

    #[command(flatten)]
    resume: resume::Resume,

    #[command(subcommand)]
    command: Option<Command>,
}

/// Where the configuration and the data are.
#[derive(Args)]
struct HomeArgument {
    /// Keep configuration and data here, not in the XDG directories.
    #[arg(long, value_name = "PATH", env = "AZOLLA_HOME", global = true, hide_env_values = true)]
    home: Option<PathBuf>,
}

const AFTER_HELP: &str = "Start here:\n  azolla init                                  set up, for the repository here too\n  \
                          azolla objective new \"Title\" --criteria \"…\"   describe a piece of work\n  \
                          azolla objective approve 4k2                 let it run\n  \
                          azolla run --until-idle                      run what is due\n  \
                          azolla                                       see what needs you\n\n\
                          Ids: any part that is unique, from the beginning or the end, is enough.\n\n\
                          Exit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 refused by state, 5 gate failed, \
                          6 budget or cap, 75 temporary (a store that is busy or away): try again.";

#[derive(Subcommand)]
enum Command {
    Resume(resume::Resume),
    Init(init::Init),
    Doctor(doctor::Doctor),
    Config(config::ShowConfig),
    #[command(alias = "cap")]
    Capture(capture::Capture),
    Triage(triage::Triage),
    #[command(alias = "obj")]
    Objective(objective::Objective),
    Review(review::Review),
    Pr(pr::Pr),
    Run(run::Run),
    Manifest(manifest::Manifest),
    Snooze(snooze::Snooze),
    Up(up::Up),
    Log(log::Log),
    Explain(explain::Explain),
    Replay(replay::Replay),
    Trust(trust::Trust),
    Peer(peer::Peer),
    Mcp(mcp::Mcp),
    Limits(limits::Limits),
    Verify(verify::Verify),
    Export(export::Export),
    Import(import::Import),
    Schema(schema::Schema),
    Completions(completions::Completions),
    Man(man::Man),
    Demo(demo::Demo),
}

impl Arguments {
    /// Tells whether the command keeps several things going at once.
    pub(crate) fn works_in_parallel(&self) -> bool {
        match &self.command {
            Some(Command::Triage(command)) => command.works(),
            Some(Command::Manifest(command)) => !command.last,
            command => matches!(
                command,
                Some(
                    Command::Run(_)
                        | Command::Up(_)
                        | Command::Mcp(_)
                        | Command::Demo(_)
                        | Command::Replay(_)
                        | Command::Export(_)
                        | Command::Import(_)
                        | Command::Verify(_)
                )
            ),
        }
    }
}

impl Arguments {
    /// Tells whether the caller reads one JSON document from stdout.
    pub(crate) fn asks_for_json(&self) -> bool {
        match &self.command {
            None => self.resume.json,
            Some(Command::Resume(command)) => command.json,
            Some(Command::Doctor(command)) => command.json,
            Some(Command::Config(command)) => command.json,
            Some(Command::Triage(command)) => command.asks_for_json(),
            Some(Command::Manifest(command)) => command.json,
            Some(Command::Objective(command)) => command.asks_for_json(),
            Some(Command::Review(command)) => command.json,
            Some(Command::Pr(command)) => command.json,
            Some(Command::Log(command)) => command.json,
            Some(Command::Explain(command)) => command.json,
            Some(Command::Replay(command)) => command.json,
            Some(Command::Trust(command)) => command.json,
            Some(Command::Peer(command)) => command.asks_for_json(),
            Some(Command::Limits(command)) => command.json,
            Some(Command::Verify(command)) => command.json,
            Some(Command::Schema(command)) => command.json,
            Some(
                Command::Init(_)
                | Command::Capture(_)
                | Command::Snooze(_)
                | Command::Run(_)
                | Command::Up(_)
                | Command::Mcp(_)
                | Command::Export(_)
                | Command::Import(_)
                | Command::Completions(_)
                | Command::Man(_)
                | Command::Demo(_),
            ) => false,
        }
    }
}

/// Runs a command and returns its exit code.
pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    // An empty variable is one that is not set.
    let home = arguments.home.home.filter(|home| !home.as_os_str().is_empty());
    let home: Option<&Path> = home.as_deref();
    if arguments.no_pager {
        screen::page_at_once();
    }
    if arguments.command.is_some() && arguments.resume.json {
        return Err(Failure::usage("--json goes behind the command").into());
    }
    match arguments.command {
        None => arguments.resume.run(home).await,
        Some(Command::Resume(command)) => command.run(home).await,
        Some(Command::Init(command)) => command.run(home).await,
        Some(Command::Doctor(command)) => command.run(home).await,
        Some(Command::Config(command)) => command.run(home),
        Some(Command::Capture(command)) => command.run(home).await,
        Some(Command::Triage(command)) => command.run(home).await,
        Some(Command::Manifest(command)) => command.run(home).await,
        Some(Command::Snooze(command)) => command.run(home).await,
        Some(Command::Objective(command)) => command.run(home).await,
        Some(Command::Review(command)) => command.run(home).await,
        Some(Command::Pr(command)) => command.run(home).await,
        Some(Command::Run(command)) => command.run(home).await,
        Some(Command::Up(command)) => command.run(home).await,
        Some(Command::Log(command)) => command.run(home).await,
        Some(Command::Explain(command)) => command.run(home).await,
        Some(Command::Replay(command)) => command.run(home).await,
        Some(Command::Trust(command)) => command.run(home).await,
        Some(Command::Peer(command)) => command.run(home),
        Some(Command::Mcp(command)) => command.run(home).await,
        Some(Command::Limits(command)) => command.run(home),
        Some(Command::Verify(command)) => command.run(home).await,
        Some(Command::Export(command)) => command.run(home).await,
        Some(Command::Import(command)) => command.run(home).await,
        Some(Command::Schema(command)) => command.run(),
        Some(Command::Completions(command)) => command.run(),
        Some(Command::Man(command)) => command.run(),
        Some(Command::Demo(command)) => command.run(home).await,
    }
}

/// Which azolla a command means.
#[derive(Args)]
pub(crate) struct Which {
    /// The azolla; otherwise that of this directory's repository, or the only one.
    #[arg(long, value_name = "ID", env = "AZOLLA_ID")]
    pub(crate) azolla: Option<azolla_protocol::AzollaId>,
}
