//! The `azolla` program: reads the command line and answers with an exit code.

mod actions;
mod acts;
mod cli;
mod config;
mod dashboard;
mod deployment;
mod desk;
mod failure;
mod find;
mod git;
mod home;
mod http;
mod ledger;
mod line;
mod mcp;
mod memory;
mod nearest;
mod notify;
mod peers;
mod screen;
mod stores;
mod targets;
mod token;
mod under_way;
mod workers;

use std::process::ExitCode;

use failure::Told;

fn main() -> ExitCode {
    // Before there is a runtime: help and version answer from here.
    let arguments = match cli::help::parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => {
            let json = std::env::args_os().any(|argument| argument == "--json");
            return failure::misused(&error, if json { Told::AsJsonToo } else { Told::InWords });
        }
        Err(answer) => answer.exit(),
    };
    memory::uncounted();
    let told = if arguments.asks_for_json() { Told::AsJsonToo } else { Told::InWords };
    let runtime = if arguments.works_in_parallel() {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
    } else {
        tokio::runtime::Builder::new_current_thread().max_blocking_threads(2).enable_all().build()
    };
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return failure::report(&error.into(), told),
    };
    match runtime.block_on(cli::run(arguments)) {
        Ok(code) => code,
        Err(error) => failure::report(&error, told),
    }
}
