//! `scripts/bench page`: what the dashboard costs. The first page of a home with much history against that of an empty one,
//! a list of many objectives at its beginning and at its end, and what each page weighs.

mod browser;
#[path = "../bench-shared/figures.rs"]
#[expect(dead_code, reason = "no goal here is a least value")]
mod figures;
mod first;
#[path = "../bench-orient/history.rs"]
mod history;
#[path = "../bench-orient/home.rs"]
#[expect(dead_code, reason = "marks of what was seen belong to the resume page")]
mod home;
mod list;
#[path = "../bench-patch/spread.rs"]
#[expect(dead_code, reason = "medians are enough here")]
mod spread;
#[path = "../bench-orient/template.rs"]
mod template;
mod weight;

use anyhow::{Context, bail, ensure};

use crate::figures::Figures;

#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let short = arguments.iter().any(|argument| argument == "--short");
    let size = if short { Size::SHORT } else { Size::FULL };
    let named: Vec<&str> = arguments.iter().map(String::as_str).filter(|name| *name != "--short").collect();
    if let Some(unknown) = named.iter().find(|name| !PARTS.contains(name)) {
        bail!("there is no part {unknown}; there are {}", PARTS.join(", "));
    }
    let mut figures = Figures::new("page", "part");
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
            "first" => first::measure(size, figures).await,
            "list" => list::measure(size, figures).await,
            _ => weight::measure(size, figures).await,
        };
        measured.with_context(|| format!("measuring {part}"))?;
    }
    Ok(())
}

/// What can be measured; all of it, unless some are named.
const PARTS: [&str; 3] = ["first", "list", "weight"];

/// How much is run.
struct Size {
    /// Artifacts of the large home, over all azollas.
    artifacts: usize,
    /// Objectives of the list.
    objectives: usize,
    rounds: usize,
}

impl Size {
    const FULL: Self = Self { artifacts: 100_000, objectives: 10_000, rounds: 200 };
    const SHORT: Self = Self { artifacts: 5_000, objectives: 500, rounds: 10 };
}
