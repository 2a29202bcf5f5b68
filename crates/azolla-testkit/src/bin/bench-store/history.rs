//! Whether history slows the work down: the same cycles on an empty store and on one with many finished cycles,
//! in turns, so that a burst of the disk meets both.

use azolla_testkit::Backend;

use crate::{
    Size,
    cycles::{Bench, Way},
    figures::{Figures, Goal},
};

pub(crate) async fn measure(size: &Size, figures: &mut Figures) -> anyhow::Result<()> {
    const CYCLES: usize = 320;
    for (backend, name) in [(Backend::Sqlite, "sqlite"), (Backend::Postgres, "postgres")] {
        let workorders = CYCLES * (size.rounds + 1);
        let empty = Bench::new(backend, workorders).await?;
        let full = Bench::with_history(backend, workorders, size.history).await?;
        // One round of each before it counts: both caches are warm.
        empty.run(16, CYCLES, Way::ClaimThenCommit).await?;
        full.run(16, CYCLES, Way::ClaimThenCommit).await?;
        let mut ratios = Vec::new();
        for _ in 0..size.rounds {
            let before = empty.run(16, CYCLES, Way::ClaimThenCommit).await?;
            let after = full.run(16, CYCLES, Way::ClaimThenCommit).await?;
            ratios.push(after.rate / before.rate);
        }
        let label = format!("rate with {} finished cycles against none", size.history);
        figures.add(name, label, "x", median(&mut ratios), Goal::MachineAtLeast(0.85));
    }
    Ok(())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
