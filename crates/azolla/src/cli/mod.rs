//! The command line: a file per subcommand, one form of error, one table of exit codes.

mod export;
mod import;
mod progress;
mod schema;
mod store;
mod verify;

use std::{
    io::{ErrorKind, Write},
    process::ExitCode,
};

use azolla_substrate::{ArchiveError, SubstrateError};
use clap::{Parser, Subcommand};

/// A durable control plane around stateless workers, for one operator.
#[derive(Parser)]
#[command(version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 ok, 1 failure, 2 usage, 4 refused by state, 75 temporary \
                          (a store that is busy or away): try again.";

#[derive(Subcommand)]
enum Command {
    Verify(verify::Verify),
    Export(export::Export),
    Import(import::Import),
    Schema(schema::Schema),
}

/// Runs a command and returns its exit code.
pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    match arguments.command {
        Command::Verify(command) => command.run().await,
        Command::Export(command) => command.run().await,
        Command::Import(command) => command.run().await,
        Command::Schema(command) => command.run(),
    }
}

/// Prints an error with its causes on stderr and returns the exit code that it stands for.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    if is_closed_pipe(error) {
        // Whoever read our output has had enough: not a failure, and nobody is left to tell.
        return ExitCode::SUCCESS;
    }
    let causes: Vec<String> = error.chain().map(|cause| plain(&cause.to_string())).collect();
    let mut text: Vec<&str> = Vec::new();
    for cause in &causes {
        // A transparent error repeats its source word for word.
        if text.last() != Some(&cause.as_str()) {
            text.push(cause);
        }
    }
    // Nothing can be done if even stderr is closed.
    let _ = writeln!(std::io::stderr(), "error: {}", text.join(": "));
    ExitCode::from(exit_code(error))
}

/// Text from outside loses its control characters before it reaches a terminal.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    })
}

fn exit_code(error: &anyhow::Error) -> u8 {
    let store = error.chain().find_map(|cause| match cause.downcast_ref::<ArchiveError>() {
        Some(ArchiveError::Store(error)) => Some(error),
        _ => cause.downcast_ref::<SubstrateError>(),
    });
    match store {
        Some(SubstrateError::Unavailable(_) | SubstrateError::OutcomeUnknown { .. }) => 75,
        Some(
            SubstrateError::Refused { .. } | SubstrateError::Transition(_) | SubstrateError::Changed { .. },
        ) => 4,
        _ => 1,
    }
}
