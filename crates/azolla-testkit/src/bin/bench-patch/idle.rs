//! What it costs to have nothing to do: five azollas, and no objective.
//!
//! Syncs are counted where they are called, which is possible in this process alone: the same poll loops run here,
//! on five stores. Everything else is measured on the program itself.

use std::{sync::Arc, time::Duration};

use azolla_testkit::{MemoryRepository, diazotroph::PATCH, world::REPO};
use tempfile::TempDir;

use crate::{
    Size,
    desk::Desk,
    figures::{Figures, Goal},
    git::Git,
    meter,
    program::Program,
};

const PLACE: &str = "idle";
const AZOLLAS: usize = 5;

/// The start is over by then: the first looks have found nothing.
const SETTLE: Duration = Duration::from_secs(2);

pub(crate) async fn measure(size: &Size, figures: &mut Figures) -> anyhow::Result<()> {
    loops(size, figures).await?;
    program(size, figures).await
}

async fn loops(size: &Size, figures: &mut Figures) -> anyhow::Result<()> {
    let mut desks = Vec::new();
    for _ in 0..AZOLLAS {
        let directory = TempDir::new()?;
        let repository = Arc::new(MemoryRepository::default());
        desks.push((Desk::start(directory.path(), repository, REPO, PATCH).await?, directory));
    }
    meter::pass(SETTLE).await;
    let syncs = meter::syncs();
    meter::pass(size.idle).await;
    let rate = (meter::syncs() - syncs) as f64 / size.idle.as_secs_f64();
    for (desk, _directory) in desks {
        desk.stop().await?;
    }
    figures.add(PLACE, format!("{AZOLLAS} poll loops: syncs"), "/s", rate, Goal::AtMost(0.0));
    Ok(())
}

async fn program(size: &Size, figures: &mut Figures) -> anyhow::Result<()> {
    let program = Program::new(&Git::find()?, AZOLLAS)?;
    let running = program.start(&["run"])?;
    meter::pass(SETTLE).await;
    let before = running.used()?;
    meter::pass(size.idle).await;
    let after = running.used()?;
    running.end()?;
    let share = (after.cpu_ms - before.cpu_ms) / (size.idle.as_secs_f64() * 1e3) * 100.0;
    let written = (after.bytes_to_disk - before.bytes_to_disk) as f64;
    let name = |what: &str| format!("azolla run, {AZOLLAS} azollas: {what}");
    figures.add(PLACE, name("bytes to disk"), "B", written, Goal::AtMost(0.0));
    figures.add(PLACE, name("CPU of a core"), "%", share, Goal::MachineAtMost(0.5));
    figures.add(PLACE, name("resident"), "MB", after.resident_mb, Goal::MachineAtMost(30.0));
    Ok(())
}
