//! `scripts/bench patch`: what the patch flow costs, against the bare work measured beside it in the same run.

mod attempt;
mod cycle;
mod desk;
#[path = "../bench-shared/figures.rs"]
mod figures;
mod git;
mod idle;
mod instant;
#[path = "../bench-shared/meter.rs"]
mod meter;
mod origin;
mod plumbing;
mod program;
mod raw;
mod replay;
mod spread;
mod start;

use std::time::Duration;

use anyhow::{Context, bail, ensure};

use crate::{figures::Figures, origin::Shape};

// As many threads as `azolla run` has.
#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let short = arguments.iter().any(|argument| argument == "--short");
    let size = if short { Size::SHORT } else { Size::FULL };
    let named: Vec<&str> = arguments.iter().map(String::as_str).filter(|name| *name != "--short").collect();
    if let Some(unknown) = named.iter().find(|name| !PARTS.contains(name)) {
        bail!("there is no part {unknown}; there are {}", PARTS.join(", "));
    }
    let mut figures = Figures::new("patch", "part");
    let parts = PARTS.into_iter().filter(|part| named.is_empty() || named.contains(part));
    let measured = measure(parts, &size, &mut figures).await;
    // What was measured before something failed is shown too.
    figures.print();
    measured?;
    // A short run is too small for figures that depend on the machine.
    let missed = figures.missed(short);
    ensure!(missed.is_empty(), "goals missed: {}", missed.join(", "));
    Ok(())
}

async fn measure(
    parts: impl Iterator<Item = &'static str>,
    size: &Size,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    for part in parts {
        let measured = match part {
            "cycle" => cycle::measure(size, figures).await,
            "small" => attempt::small(size, figures).await,
            "large" => attempt::large(size, figures).await,
            "idle" => idle::measure(size, figures).await,
            _ => start::measure(size, figures),
        };
        measured.with_context(|| format!("measuring {part}"))?;
    }
    Ok(())
}

/// What can be measured; all of it, unless some are named.
const PARTS: [&str; 5] = ["cycle", "small", "large", "idle", "start"];

/// How much is run.
struct Size {
    cycles: usize,
    small_rounds: usize,
    large_rounds: usize,
    large: Shape,
    idle: Duration,
    starts: usize,
}

impl Size {
    const FULL: Self = Self {
        cycles: 1_000,
        small_rounds: 40,
        large_rounds: 5,
        large: Shape { directories: 500, files_each: 100 },
        idle: Duration::from_secs(20),
        starts: 100,
    };
    const SHORT: Self = Self {
        cycles: 50,
        small_rounds: 3,
        large_rounds: 1,
        large: Shape { directories: 20, files_each: 50 },
        idle: Duration::from_secs(1),
        starts: 5,
    };
}
