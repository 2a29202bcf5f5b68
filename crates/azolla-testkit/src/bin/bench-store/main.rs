//! `scripts/bench store`: what a claim with its fenced commit costs on each backend, against the raw durable commit
//! rate measured in the same run. Disks are shared and bursty, so goals are set on what does not vary with them:
//! syncs, CPU, round trips, ratios.
//!
//! A cycle here is: a claim granted, then one commit of fence, 2 KB output_bundle (validated), EXECUTED, journal and
//! release. The work stream holds three workorders at most (W-4), too few for sixteen owners, so the seeded stores
//! lack that one unique index; nothing that is measured goes through it.

mod cycles;
#[path = "../bench-shared/figures.rs"]
mod figures;
mod history;
mod machine;
#[path = "../bench-shared/meter.rs"]
mod meter;
mod seed;

use std::time::Duration;

use anyhow::Context;
use azolla_testkit::{
    Backend,
    proxy::{Proxy, Upstream},
    store::Place,
};

use crate::{
    cycles::{Bench, Way},
    figures::{Figures, Goal},
};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let short = std::env::args().skip(1).any(|argument| argument == "--short");
    let size = if short { Size::SHORT } else { Size::FULL };
    let mut figures = Figures::new("store", "backend");
    memory(&mut figures).await?;
    sqlite(&size, &mut figures).await?;
    postgres(&size, &mut figures).await?;
    history::measure(&size, &mut figures).await?;
    figures.print();
    // A short run is too small for figures that depend on the machine.
    let missed = figures.missed(short);
    anyhow::ensure!(missed.is_empty(), "goals missed: {}", missed.join(", "));
    Ok(())
}

/// How much is run.
struct Size {
    raw: usize,
    alone: usize,
    together: usize,
    history: usize,
    rounds: usize,
    idle: Duration,
    /// Idle sessions report what they did after ten seconds; a short run does not judge what they report.
    settle: Duration,
}

impl Size {
    const FULL: Self = Self {
        raw: 1_000,
        alone: 2_000,
        together: 8_000,
        history: 1_000_000,
        rounds: 9,
        idle: Duration::from_secs(5),
        settle: Duration::from_secs(11),
    };
    const SHORT: Self = Self {
        raw: 100,
        alone: 300,
        together: 1_600,
        history: 5_000,
        rounds: 3,
        idle: Duration::from_millis(600),
        settle: Duration::from_millis(100),
    };
}

/// The store alone: a file that is opened and used, without the program around it.
async fn memory(figures: &mut Figures) -> anyhow::Result<()> {
    // What a process pays once, such as compiled schemas, is no part of it.
    let bench = Bench::new(Backend::Sqlite, 400).await?;
    bench.run(4, 200, Way::ClaimThenCommit).await?;
    let before = machine::resident_kb()?;
    let another = bench.reopened().await?;
    another.run(4, 200, Way::ClaimThenCommit).await?;
    let used = machine::resident_kb()?.saturating_sub(before);
    figures.add("sqlite", "memory of an opened store", "MB", used as f64 / 1024.0, Goal::MachineAtMost(10.0));
    Ok(())
}

async fn sqlite(size: &Size, figures: &mut Figures) -> anyhow::Result<()> {
    let raw = machine::raw_sqlite(size.raw)?;
    figures.add("sqlite", "raw durable commits", "/s", raw, Goal::None);

    let bench = Bench::new(Backend::Sqlite, 2 * size.alone + size.together).await?;
    let alone = bench.run(1, size.alone, Way::ClaimThenCommit).await?;
    alone.add_to(figures, "sqlite", 1, raw);
    figures.add("sqlite", "1 owner: syncs per cycle", "", alone.syncs, Goal::AtMost(2.2));
    figures.add("sqlite", "1 owner: CPU per cycle", "ms", alone.cpu_ms, Goal::MachineAtMost(0.6));

    let once = bench.run(1, size.alone, Way::ClaimingCommit).await?;
    figures.add("sqlite", "1 owner, one transaction: syncs per cycle", "", once.syncs, Goal::AtMost(1.1));

    let together = bench.run(16, size.together, Way::ClaimThenCommit).await?;
    together.add_to(figures, "sqlite", 16, raw);
    figures.add("sqlite", "16 owners: syncs per cycle", "", together.syncs, Goal::MachineAtMost(0.3));
    figures.add("sqlite", "16 owners: CPU per cycle", "ms", together.cpu_ms, Goal::MachineAtMost(0.2));

    let _changes = bench.world.store.changes();
    let syncs = machine::syncs();
    machine::pass(size.idle).await;
    let idle = (machine::syncs() - syncs) as f64 / size.idle.as_secs_f64();
    figures.add("sqlite", "idle: syncs", "/s", idle, Goal::AtMost(0.0));
    Ok(())
}

async fn postgres(size: &Size, figures: &mut Figures) -> anyhow::Result<()> {
    let bench = Bench::new(Backend::Postgres, size.alone + size.together + 100).await?;
    let Place::Database(database) = &bench.world.place else { unreachable!("the bench is on PostgreSQL") };
    let raw = machine::raw_postgres(database.url(), size.raw).await?;
    figures.add("postgres", "raw durable commits", "/s", raw, Goal::None);

    let alone = bench.run_with_server(1, size.alone, size.settle).await?;
    alone.add_to(figures, "postgres", 1, raw);
    figures.add("postgres", "1 owner: syncs per cycle", "", alone.syncs, Goal::None);

    let together = bench.run_with_server(16, size.together, size.settle).await?;
    together.add_to(figures, "postgres", 16, raw);
    figures.add("postgres", "16 owners: syncs per cycle", "", together.syncs, Goal::MachineAtMost(0.5));
    figures.add("postgres", "16 owners: own CPU per cycle", "ms", together.cpu_ms, Goal::MachineAtMost(0.2));
    let server = together.server_cpu_ms;
    figures.add("postgres", "16 owners: server CPU per cycle", "ms", server, Goal::MachineAtMost(0.8));

    let proxy = Proxy::start(Upstream::of(database.url())?).await?;
    let through = bench.again(&proxy.url(database.url())?).await?;
    through.run(1, 10, Way::ClaimThenCommit).await.context("statements are prepared")?;
    proxy.delay(Duration::from_millis(100));
    // An answer that a busy machine cuts in two counts as two flights: what is least is what the store needs.
    let mut trips = f64::INFINITY;
    for _ in 0..3 {
        let before = proxy.round_trips();
        through.run(1, 10, Way::ClaimThenCommit).await?;
        trips = trips.min((proxy.round_trips() - before) as f64 / 10.0);
    }
    figures.add("postgres", "round trips per cycle", "", trips, Goal::AtMost(2.0));

    let _changes = bench.world.store.changes();
    machine::pass(size.settle).await;
    let before = machine::postgres_activity(database.url()).await?;
    machine::pass(size.idle).await;
    let after = machine::postgres_activity(database.url()).await?;
    // The question itself is one transaction.
    let queries = (after.transactions - before.transactions).saturating_sub(2) as f64;
    figures.add(
        "postgres",
        "idle: queries",
        "/s",
        queries / size.idle.as_secs_f64(),
        Goal::MachineAtMost(1.0),
    );
    let idle = (after.syncs - before.syncs) as f64 / size.idle.as_secs_f64();
    figures.add("postgres", "idle: syncs", "/s", idle, Goal::MachineAtMost(0.5));
    Ok(())
}
