//! `soak disk`: the real program with a fault at boundaries of its files. `soak power`: what a power cut leaves of its stores.

use std::{
    path::PathBuf,
    process::ExitCode,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Instant,
};

use anyhow::{Context, ensure};
use azolla_testkit::disk::{Area, Counts, Cut, Fault, Injection, Loss, Recording, Shim, Walked, count, walk};

/// Notes in a recording: SQLite moves its log into the file after about a thousand pages, which is less.
const NOTES: usize = 400;
/// Recordings of one run, each with syncs of its own that fail; none fails in the first.
const RECORDINGS: u64 = 4;
/// How many points a walk may miss.
const NOT_REACHED_PERCENT: usize = 5;

/// Walks faults through the scenario.
pub(crate) fn faults(arguments: impl Iterator<Item = String>) -> anyhow::Result<ExitCode> {
    let (points, seed) = options(arguments, "--points", 10)?;
    let begin = Instant::now();
    let (shim, program) = (Shim::compile()?, program()?);
    let mut injections = Vec::new();
    for area in Area::ALL {
        let counts = count(&shim, &program, area)?;
        for fault in Fault::ALL {
            println!("{area:?}: {} boundaries for {fault:?}", counts.of(fault));
        }
        injections.extend(chosen(area, &counts, points, seed));
    }
    let results = each(&injections, |injection| match walk(&shim, &program, *injection) {
        Ok(walked) => Some(walked),
        Err(error) => {
            println!("VIOLATION {error:#}");
            None
        }
    });
    let of = |kind| results.iter().filter(|result| **result == kind).count();
    let bad = of(None);
    println!(
        "{} points, {} faults: {} absorbed, {} told or killed and recovered; {} not reached; {bad} violations, {:.0} s",
        injections.len(),
        injections.len() - of(Some(Walked::NotReached)),
        of(Some(Walked::Absorbed)),
        of(Some(Walked::Recovered)),
        of(Some(Walked::NotReached)),
        begin.elapsed().as_secs_f64()
    );
    // The number of boundaries differs a little from run to run; what is not reached proves nothing.
    let is_reached = of(Some(Walked::NotReached)) * 100 <= injections.len() * NOT_REACHED_PERCENT;
    if !is_reached {
        println!("VIOLATION more than {NOT_REACHED_PERCENT} % of the points were not reached");
    }
    Ok(if bad == 0 && is_reached { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns boundaries spread evenly over the scenario, for every fault of an area, once and to stay.
fn chosen(area: Area, counts: &Counts, points: Option<u64>, seed: u64) -> Vec<Injection> {
    let mut injections = Vec::new();
    for fault in Fault::ALL {
        let all = counts.of(fault);
        let points = points.unwrap_or(all).min(all);
        // What is killed or full half way is so once.
        let sticky: &[bool] =
            if matches!(fault, Fault::Kill | Fault::Short) { &[false] } else { &[false, true] };
        for sticky in sticky {
            injections.extend((0..points).map(|n| {
                let at = 1 + (n * all / points + seed) % all;
                Injection { area, fault, at, sticky: *sticky }
            }));
        }
    }
    injections
}

/// Cuts the power in recorded scenarios.
pub(crate) fn cuts(arguments: impl Iterator<Item = String>) -> anyhow::Result<ExitCode> {
    let (cuts, seed) = options(arguments, "--cuts", 200)?;
    let begin = Instant::now();
    let (shim, program) = (Shim::compile()?, program()?);
    let (mut opened, mut bad) = (0, 0);
    for number in 0..RECORDINGS {
        let seed = seed * RECORDINGS + number;
        // A sync somewhere in the scenario, another one for each seed.
        let failed_sync = (number > 0).then_some(1 + seed * 37 % 300);
        let recording = Recording::make(&shim, &program, NOTES, failed_sync, seed)?;
        let operations = recording.operations();
        println!(
            "recording {seed}: {operations} operations, {} promises, {} syncs of logs and {} of files{}",
            recording.promises().len(),
            recording.syncs("-wal"),
            recording.syncs(".sqlite"),
            failed_sync.map(|at| format!(", sync {at} failed")).unwrap_or_default()
        );
        let places: Vec<Cut> = match cuts {
            None => (0..=operations).flat_map(|after| all_of(after, seed)).collect(),
            Some(cuts) => (0..cuts).flat_map(|n| some_of(&recording, n, cuts, seed)).collect(),
        };
        let results =
            each(&places, |cut| recording.check(*cut).map_err(|error| println!("VIOLATION {error:#}")));
        opened += places.len();
        bad += results.iter().filter(|result| result.is_err()).count();
    }
    println!(
        "{opened} cuts of {RECORDINGS} recordings, {bad} violations, {:.0} s",
        begin.elapsed().as_secs_f64()
    );
    Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Every loss at one place.
fn all_of(after: usize, seed: u64) -> Vec<Cut> {
    let by_chance = Cut { after, loss: Loss::Some, seed: seed.wrapping_mul(1_000_003) + after as u64 };
    vec![by_chance, Cut { loss: Loss::Everything, ..by_chance }]
}

/// One cut anywhere, and one right after something was promised.
fn some_of(recording: &Recording<'_>, n: u64, cuts: u64, seed: u64) -> Vec<Cut> {
    let promises = recording.promises();
    let spread = |all: usize| (n as usize * all / cuts as usize).min(all.saturating_sub(1));
    let anywhere = spread(recording.operations() + 1);
    let after_promise = promises.get(spread(promises.len())).copied().unwrap_or(0);
    let mut cuts = all_of(anywhere, seed);
    cuts.truncate(1);
    cuts.extend(all_of(after_promise, seed).pop());
    cuts
}

/// Reads `NAME N|all` and `--seed S`; none is all.
fn options(
    mut arguments: impl Iterator<Item = String>,
    name: &str,
    default: u64,
) -> anyhow::Result<(Option<u64>, u64)> {
    let (mut number, mut seed) = (Some(default), 0);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().with_context(|| format!("{argument} needs a value"))?;
        match argument.as_str() {
            "--seed" => seed = value.parse()?,
            given if given == name && value == "all" => number = None,
            given if given == name => number = Some(value.parse()?),
            _ => anyhow::bail!("unknown: {argument}"),
        }
    }
    ensure!(number != Some(0), "{name} needs at least 1");
    Ok((number, seed))
}

/// Finds the program beside this one.
fn program() -> anyhow::Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("azolla");
    ensure!(path.is_file(), "{} is missing: run this by scripts/soak", path.display());
    Ok(path)
}

/// Runs `work` on all items, on every core, and returns what came of it in their order.
fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let run = || {
        let mut done = Vec::new();
        while let Some((n, item)) = items.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((n, work(item)));
            if (n + 1).is_multiple_of(200) {
                eprintln!("{} of {}", n + 1, items.len());
            }
        }
        done
    };
    let mut results: Vec<(usize, R)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(run)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("the work does not panic")).collect()
    });
    results.sort_by_key(|(n, _)| *n);
    results.into_iter().map(|(_, result)| result).collect()
}
