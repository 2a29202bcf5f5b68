//! A whole cycle without git: from the approval to the pause_state, under the poll loop, on a file of SQLite.
//!
//! It begins when the approval is durable, so that it has five commits: TICKET_READY, SCHEDULED, the Runner's claim,
//! EXECUTED, and the gate's with the pause_state. CPU time has the looks that find nothing in it, also those after
//! the pause_state; what this thread uses, which only waits for that, is no part of it.
//!
//! It is held against the same five commits made raw: their very statements, by SQLite alone. Those are held against commits
//! of one row each, so that what a cycle writes does not grow unnoticed.

use std::{path::Path, sync::Arc, time::Instant};

use azolla_testkit::{MemoryRepository, diazotroph::PATCH, world::REPO};
use tempfile::TempDir;

use crate::{
    Size,
    desk::Desk,
    figures::{Figures, Goal},
    meter,
    raw::Raw,
    replay::{Recorder, Replay},
    spread::Spread,
};

const PLACE: &str = "cycle";

/// Cycles before the first that counts: statements are prepared, schemas compiled.
const WARM_UP: usize = 10;

pub(crate) async fn measure(size: &Size, figures: &mut Figures) -> anyhow::Result<()> {
    let directory = TempDir::new()?;
    let raw = Raw::new(directory.path())?;
    let mut replay = recorded(&directory.path().join("recorded")).await?;
    let mut desk = start(directory.path()).await?;
    let mut cycles = Cycles::default();
    for n in 0..WARM_UP + size.cycles {
        let cycle = one(&mut desk, &raw, &mut replay).await?;
        if n >= WARM_UP {
            cycles.add(cycle);
        }
    }
    desk.stop().await?;
    cycles.report(figures);
    Ok(())
}

async fn start(directory: &Path) -> anyhow::Result<Desk> {
    Desk::start(directory, Arc::new(MemoryRepository::default()), REPO, PATCH).await
}

/// Takes down the commits of a cycle, on a store of their own, which they are then made on again.
async fn recorded(directory: &Path) -> anyhow::Result<Replay> {
    std::fs::create_dir(directory)?;
    let recorder = Recorder::start()?;
    let mut desk = start(directory).await?;
    recorder.begin();
    let approved = desk.approve().await?;
    desk.paused(&approved).await?;
    desk.confirm(&approved).await?;
    let commits = recorder.commits()?;
    desk.stop().await?;
    Replay::new(&Desk::store_file(directory), commits)
}

/// One cycle, and both yardsticks right after it.
struct Cycle {
    latency_ms: f64,
    cpu_ms: f64,
    syncs: u64,
    /// The same commits by SQLite alone: how long they took, and their CPU time.
    replay_ms: f64,
    replay_cpu_ms: f64,
    /// When each commit of one row was durable.
    raw_ms: Vec<f64>,
}

async fn one(desk: &mut Desk, raw: &Raw, replay: &mut Replay) -> anyhow::Result<Cycle> {
    const RAW_COMMITS: usize = 8;
    let approved = desk.approve().await?;
    let (start, cpu) = (Instant::now(), others_cpu_ms());
    desk.paused(&approved).await?;
    let latency_ms = start.elapsed().as_secs_f64() * 1e3;
    desk.settle().await;
    let cpu_ms = others_cpu_ms() - cpu;
    // The approval's own commit is no part of the cycle.
    let syncs = meter::syncs() - approved.syncs_before - 1;
    desk.confirm(&approved).await?;
    let raw_ms = raw.commits(RAW_COMMITS)?;
    let (replay_ms, replay_cpu_ms) = replay.cycle()?;
    Ok(Cycle { latency_ms, cpu_ms, syncs, replay_ms, replay_cpu_ms, raw_ms })
}

/// CPU time of all threads but this one: the runtime runs the roles on threads of its own.
fn others_cpu_ms() -> f64 {
    meter::own_cpu_ms() - meter::thread_cpu_ms()
}

#[derive(Default)]
struct Cycles {
    latency_ms: Spread,
    cpu_ms: Spread,
    syncs: Spread,
    replay_ms: Spread,
    replay_cpu_ms: Spread,
    raw_ms: Vec<Vec<f64>>,
}

impl Cycles {
    fn add(&mut self, cycle: Cycle) {
        self.latency_ms.push(cycle.latency_ms);
        self.cpu_ms.push(cycle.cpu_ms);
        self.syncs.push(cycle.syncs as f64);
        self.replay_ms.push(cycle.replay_ms);
        self.replay_cpu_ms.push(cycle.replay_cpu_ms);
        self.raw_ms.push(cycle.raw_ms);
    }

    fn report(&self, figures: &mut Figures) {
        // A cycle in the middle has no checkpoint in it: as many raw commits as it has syncs.
        let commits = self.syncs.median() as usize;
        let mut raw_ms = Spread::default();
        for at in &self.raw_ms {
            raw_ms.push(at[commits.clamp(1, at.len()) - 1]);
        }
        let (p50, replay, raw) = (self.latency_ms.median(), self.replay_ms.median(), raw_ms.median());
        let (cpu, replay_cpu) = (self.cpu_ms.mean(), self.replay_cpu_ms.mean());
        let mut add = |name: &str, unit, value, goal| figures.add(PLACE, name.to_owned(), unit, value, goal);
        add("syncs per cycle, TICKET_READY's included", "", self.syncs.mean(), Goal::AtMost(5.5));
        add("CPU per cycle", "ms", cpu, Goal::MachineAtMost(2.0));
        add("p50, approval to pause_state", "ms", p50, Goal::None);
        add("p99", "ms", self.latency_ms.at(0.99), Goal::None);
        add("p50 of the same commits, by SQLite alone", "ms", replay, Goal::None);
        add("p50 against those", "x", p50 / replay, Goal::MachineAtMost(2.0));
        add("CPU against those", "x", cpu / replay_cpu, Goal::None);
        add(&format!("p50 of {commits} commits of one row"), "ms", raw, Goal::None);
        add("p50 against those of one row", "x", p50 / raw, Goal::MachineAtMost(2.0));
        add("SQLite alone against those of one row", "x", replay / raw, Goal::MachineAtMost(2.5));
        // At most one if nothing in it waits, also where a commit takes less than what is done between two.
        add("p50 against commits of one row and the CPU", "x", p50 / (raw + cpu), Goal::None);
    }
}
