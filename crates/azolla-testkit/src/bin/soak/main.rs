//! Long runs that look for what must not be: `soak sim|points|disk|power|chaos`, with the options that `scripts/soak` lists.

mod chaos;
mod disk;
mod points;

use std::{
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Instant,
};

use anyhow::Context;
use azolla_testkit::sim::{Outcome, simulate};

fn main() -> anyhow::Result<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("sim") => simulations(arguments),
        Some("points") => points::run(arguments),
        Some("disk") => disk::faults(arguments),
        Some("power") => disk::cuts(arguments),
        Some("chaos") => chaos::run(arguments),
        _ => {
            anyhow::bail!("usage: soak sim|points|disk|power|chaos, with the options that scripts/soak lists")
        }
    }
}

fn simulations(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<ExitCode> {
    let (mut seeds, mut from) = (300, 0);
    while let Some(name) = arguments.next() {
        let value = arguments.next().with_context(|| format!("{name} needs a number"))?.parse()?;
        match name.as_str() {
            "--seeds" => seeds = value,
            "--from" => from = value,
            _ => anyhow::bail!("unknown: {name}"),
        }
    }
    Ok(sim(from, seeds))
}

/// Runs seeds on every core, one in a hundred of them twice. Prints every violation with its seed.
fn sim(from: u64, seeds: u64) -> ExitCode {
    let begin = Instant::now();
    let (next, bad) = (AtomicU64::new(0), AtomicU64::new(0));
    let sums = Mutex::new(Outcome::default());
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= seeds {
                        return;
                    }
                    match one(from + number) {
                        Ok(outcome) => {
                            let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
                            sums.steps += outcome.steps;
                            sums.crashes += outcome.crashes;
                            sums.pauses += outcome.pauses;
                            sums.faults += outcome.faults;
                            sums.rare += outcome.rare;
                        }
                        Err(what) => {
                            bad.fetch_add(1, Ordering::Relaxed);
                            println!("{what}");
                        }
                    }
                    if (number + 1).is_multiple_of(1_000) {
                        eprintln!("{} of {seeds} seeds, {:.0} s", number + 1, begin.elapsed().as_secs_f64());
                    }
                }
            });
        }
    });
    let Outcome { steps, crashes, pauses, faults, rare, .. } =
        sums.into_inner().unwrap_or_else(PoisonError::into_inner);
    let bad = bad.into_inner();
    let rare = rare.all().map(|(what, times)| format!("{times} {what}")).join(", ");
    println!(
        "{seeds} seeds from {from}: {steps} steps, {crashes} crashes, {pauses} pauses, {faults} faults, {bad} violations, {:.0} s\n\
         seldom: {rare}",
        begin.elapsed().as_secs_f64()
    );
    if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn one(seed: u64) -> Result<Outcome, String> {
    let outcome = simulate(seed).map_err(|violation| violation.to_string())?;
    if seed.is_multiple_of(100) {
        let again = simulate(seed).map_err(|violation| violation.to_string())?;
        if again != outcome {
            return Err(format!("seed {seed} does not replay: {outcome:?}, then {again:?}"));
        }
    }
    Ok(outcome)
}
