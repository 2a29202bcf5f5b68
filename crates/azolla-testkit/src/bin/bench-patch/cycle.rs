//! A whole cycle without git: from the approval to the pause_state, under the poll loop, on a file of SQLite.
//!
//! It begins when the approval is durable, so that it has five commits: TICKET_READY, SCHEDULED, the Runner's claim,
//! EXECUTED, and the gate's with the pause_state. CPU time has the looks that find nothing in it, also those after
//! the pause_state; what this thread uses, which only waits for that, is no part of it.

use std::{sync::Arc, time::Instant};

use azolla_testkit::{MemoryRepository, diazotroph::PATCH, world::REPO};
use rustix::time::{ClockId, clock_gettime};
use tempfile::TempDir;

use crate::{
    Size,
    desk::Desk,
    figures::{Figures, Goal},
    meter,
    raw::Raw,
    spread::Spread,
};

const PLACE: &str = "cycle";

/// What a commit of a cycle writes on average, in pages: counted by the frames of the log between two syncs, 60 to 75 for
/// the five.
const PAGES: usize = 13;

/// Cycles before the first that counts: statements are prepared, schemas compiled.
const WARM_UP: usize = 10;

pub(crate) async fn measure(size: &Size, figures: &mut Figures) -> anyhow::Result<()> {
    let directory = TempDir::new()?;
    let yardsticks = [Raw::new(directory.path(), 1)?, Raw::new(directory.path(), PAGES)?];
    let mut desk = Desk::start(directory.path(), Arc::new(MemoryRepository::default()), REPO, PATCH).await?;
    let mut cycles = Cycles::default();
    for n in 0..WARM_UP + size.cycles {
        let cycle = one(&mut desk, &yardsticks).await?;
        if n >= WARM_UP {
            cycles.add(&cycle);
        }
    }
    desk.stop().await?;
    cycles.report(figures);
    Ok(())
}

/// One cycle, and raw commits right after it.
struct Cycle {
    latency_ms: f64,
    cpu_ms: f64,
    syncs: u64,
    /// When each raw commit was durable, of one page and of as many as a commit of the cycle has.
    raw_ms: [Vec<f64>; 2],
}

async fn one(desk: &mut Desk, [small, whole]: &[Raw; 2]) -> anyhow::Result<Cycle> {
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
    let raw_ms = [small.commits(RAW_COMMITS)?, whole.commits(RAW_COMMITS)?];
    Ok(Cycle { latency_ms, cpu_ms, syncs, raw_ms })
}

/// CPU time of all threads but this one: the runtime runs the roles on threads of its own.
fn others_cpu_ms() -> f64 {
    let this = clock_gettime(ClockId::ThreadCPUTime);
    meter::own_cpu_ms() - (this.tv_sec as f64 * 1e3 + this.tv_nsec as f64 / 1e6)
}

#[derive(Default)]
struct Cycles {
    latency_ms: Spread,
    cpu_ms: Spread,
    syncs: Spread,
    raw_ms: Vec<[Vec<f64>; 2]>,
}

impl Cycles {
    fn add(&mut self, cycle: &Cycle) {
        self.latency_ms.push(cycle.latency_ms);
        self.cpu_ms.push(cycle.cpu_ms);
        self.syncs.push(cycle.syncs as f64);
        self.raw_ms.push(cycle.raw_ms.clone());
    }

    fn report(&self, figures: &mut Figures) {
        // A cycle in the middle has no checkpoint in it: as many raw commits as it has syncs.
        let commits = self.syncs.median() as usize;
        let raw_p50 = |which: usize| {
            let mut raw = Spread::default();
            for at in self.raw_ms.iter().map(|yardsticks| &yardsticks[which]) {
                raw.push(at[commits.clamp(1, at.len()) - 1]);
            }
            raw.median()
        };
        let (p50, small_p50, whole_p50) = (self.latency_ms.median(), raw_p50(0), raw_p50(1));
        figures.add(
            PLACE,
            "syncs per cycle, TICKET_READY's included",
            "",
            self.syncs.mean(),
            Goal::AtMost(5.5),
        );
        figures.add(PLACE, "CPU per cycle", "ms", self.cpu_ms.mean(), Goal::MachineAtMost(2.0));
        figures.add(PLACE, "p50, approval to pause_state", "ms", p50, Goal::None);
        figures.add(PLACE, "p99", "ms", self.latency_ms.at(0.99), Goal::None);
        figures.add(PLACE, format!("p50 of {commits} raw durable commits"), "ms", small_p50, Goal::None);
        figures.add(PLACE, "p50 against raw commits", "x", p50 / small_p50, Goal::MachineAtMost(2.0));
        figures.add(PLACE, format!("the same, of {PAGES} pages each"), "x", p50 / whole_p50, Goal::None);
        // At most one if nothing in it waits, also where a commit takes less than what is done between two.
        let busy = small_p50 + self.cpu_ms.mean();
        figures.add(PLACE, "p50 against raw commits and the CPU", "x", p50 / busy, Goal::None);
    }
}
