//! `soak chaos`: the long form of the chaos test, on one backend or both.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, bail, ensure};
use azolla_testkit::{
    Backend,
    chaos::{self, Faults, Settings},
};

pub(crate) const USAGE: &str =
    "soak chaos [--workorders 2000] [--backend sqlite|postgres|both] [--seed S] [--processes 4]";

/// Runs what the arguments ask for. The program is the one that AZOLLA_PROGRAM names, or the one beside this.
pub(crate) fn run(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<ExitCode> {
    let (mut workorders, mut seed, mut processes) = (2_000, 1, 4);
    let mut backends = vec![Backend::Sqlite, Backend::Postgres];
    while let Some(name) = arguments.next() {
        let value = arguments.next().with_context(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--workorders" => workorders = value.parse()?,
            "--seed" => seed = value.parse()?,
            "--processes" => processes = value.parse()?,
            "--backend" => {
                backends = match value.as_str() {
                    "sqlite" => vec![Backend::Sqlite],
                    "postgres" => vec![Backend::Postgres],
                    "both" => vec![Backend::Sqlite, Backend::Postgres],
                    _ => bail!("--backend is sqlite, postgres or both"),
                }
            }
            _ => bail!("unknown: {name}\nusage: {USAGE}"),
        }
    }
    ensure!(processes > 0 && workorders > 0, "usage: {USAGE}");
    let program = program()?;
    let mut code = ExitCode::SUCCESS;
    for backend in backends {
        let faults = Faults::of(workorders);
        let settings = Settings { program: program.clone(), backend, seed, workorders, processes, faults };
        match chaos::run(&settings) {
            Ok(figures) => println!("{figures}"),
            Err(violation) => {
                println!("{violation}");
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

fn program() -> anyhow::Result<PathBuf> {
    let program = match std::env::var_os("AZOLLA_PROGRAM") {
        Some(program) => PathBuf::from(program),
        None => std::env::current_exe()?.with_file_name("azolla"),
    };
    ensure!(program.is_file(), "{} is not there: cargo build --release -p azolla", program.display());
    Ok(std::path::absolute(program)?)
}
