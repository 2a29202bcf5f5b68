//! The `azolla` program: reads the command line and answers with an exit code.

mod cli;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let arguments = cli::Arguments::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return cli::report(&error.into()),
    };
    match runtime.block_on(cli::run(arguments)) {
        Ok(code) => code,
        Err(error) => cli::report(&error),
    }
}
