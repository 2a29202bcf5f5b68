//! `scripts/bench orient`: what it costs to come back. The resume page of a large home against that of a small one, a
//! note against the least that it can cost, and many peers against the slowest of them.

mod capture;
#[path = "../bench-shared/figures.rs"]
#[expect(dead_code, reason = "every goal here depends on the machine")]
mod figures;
mod history;
#[expect(dead_code, reason = "many objectives in one place are for bench-page")]
mod home;
mod page;
mod peers;
#[path = "../bench-patch/raw.rs"]
mod raw;
mod server;
#[path = "../bench-patch/spread.rs"]
#[expect(dead_code, reason = "medians are enough here")]
mod spread;
mod template;

use std::time::Duration;

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
    let mut figures = Figures::new("orient", "part");
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
            "page" => page::measure(size, figures).await,
            "capture" => capture::measure(size, figures).await,
            _ => peers::measure(size, figures).await,
        };
        measured.with_context(|| format!("measuring {part}"))?;
    }
    Ok(())
}

/// What can be measured; all of it, unless some are named.
const PARTS: [&str; 3] = ["page", "capture", "peers"];

/// How much is run.
struct Size {
    /// Artifacts of the small home and of the large one, over all azollas.
    artifacts: [usize; 2],
    pages: usize,
    captures: usize,
    peers: usize,
    peer_rounds: usize,
    /// How long the slowest peer takes to answer.
    slowest: Duration,
}

impl Size {
    const FULL: Self = Self {
        artifacts: [1_000, 1_000_000],
        pages: 60,
        captures: 200,
        peers: 200,
        peer_rounds: 9,
        slowest: Duration::from_millis(300),
    };
    const SHORT: Self = Self {
        artifacts: [1_000, 20_000],
        pages: 3,
        captures: 5,
        peers: 20,
        peer_rounds: 1,
        slowest: Duration::from_millis(100),
    };
}
