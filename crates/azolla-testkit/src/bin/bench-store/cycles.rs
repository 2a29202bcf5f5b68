//! Runs claim + commit cycles and measures them.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use azolla_protocol::{
    Actor, Clock, CommitId, IdSource, ObjectiveId, OwnerId, ResourceRef, Validated, WorkOrderId,
};
use azolla_substrate::{
    ClaimOutcome, Commit, CommitOutcome, Opening, PostgresSubstrate, SqliteSubstrate, Substrate, SystemClock,
    SystemIds, Write,
};
use azolla_testkit::{
    Backend, PatchCycle, TestStore,
    cycle::{lease, output_bundle},
    store::{Place, azolla_id},
};
use tokio::task::JoinSet;

use crate::{
    figures::{Figures, Goal},
    machine, seed,
};

/// How a cycle claims.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    /// Two transactions: claim, then the fenced commit.
    ClaimThenCommit,
    /// One transaction that claims, commits and releases.
    ClaimingCommit,
}

/// What a run of cycles came to, per cycle.
pub(crate) struct Measured {
    pub(crate) rate: f64,
    pub(crate) syncs: f64,
    pub(crate) cpu_ms: f64,
    pub(crate) server_cpu_ms: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
}

impl Measured {
    /// Adds what every run of cycles has.
    pub(crate) fn add_to(&self, figures: &mut Figures, backend: &'static str, owners: usize, raw: f64) {
        let name = |what: &str| format!("{owners} owner{}: {what}", if owners == 1 { "" } else { "s" });
        figures.add(backend, name("cycles"), "/s", self.rate, Goal::None);
        figures.add(backend, name("cycles against raw commits"), "x", self.rate / raw, Goal::None);
        figures.add(backend, name("p50"), "ms", self.p50_ms, Goal::None);
        figures.add(backend, name("p99"), "ms", self.p99_ms, Goal::None);
    }
}

/// A store with workorders to run through.
pub(crate) struct Bench {
    pub(crate) world: Arc<TestStore>,
    store: Arc<dyn Substrate>,
    objective_id: ObjectiveId,
    ids: Arc<SystemIds>,
    next: Arc<AtomicUsize>,
}

impl Bench {
    /// Makes a store with `workorders` CREATED workorders.
    pub(crate) async fn new(backend: Backend, workorders: usize) -> anyhow::Result<Self> {
        Self::with_history(backend, workorders, 0).await
    }

    /// The same, on top of `finished` finished cycles.
    pub(crate) async fn with_history(
        backend: Backend,
        workorders: usize,
        finished: usize,
    ) -> anyhow::Result<Self> {
        let world = TestStore::new(backend).await;
        let objective_id = PatchCycle::todo(&world).await.objective_id;
        world.give_back_clock().await;
        seed::seed(&world, &objective_id, finished, workorders).await?;
        let store = match &world.place {
            // The store of a test has the test's clock; this one is on real time.
            Place::File(path, _) => on_real_time(path).await?,
            Place::Database(_) => world.store.clone(),
        };
        Ok(Self { world: Arc::new(world), store, objective_id, ids: Arc::default(), next: Arc::default() })
    }

    /// The same file once more.
    pub(crate) async fn reopened(&self) -> anyhow::Result<Self> {
        let Place::File(path, _) = &self.world.place else { bail!("only a file is opened again") };
        Ok(self.through(on_real_time(path).await?))
    }

    /// The same workorders through another address.
    pub(crate) async fn again(&self, address: &str) -> anyhow::Result<Self> {
        Ok(self.through(Arc::new(PostgresSubstrate::open(address, &azolla_id(), Opening::Existing).await?)))
    }

    fn through(&self, store: Arc<dyn Substrate>) -> Self {
        Self {
            world: self.world.clone(),
            store,
            objective_id: self.objective_id.clone(),
            ids: self.ids.clone(),
            next: self.next.clone(),
        }
    }

    /// Runs `cycles` cycles by `owners` owners at once.
    pub(crate) async fn run(&self, owners: usize, cycles: usize, way: Way) -> anyhow::Result<Measured> {
        let (syncs, cpu) = (machine::syncs(), machine::own_cpu_ms());
        let start = Instant::now();
        let mut tasks = JoinSet::new();
        for _ in 0..owners {
            let owner = Owner {
                store: self.store.clone(),
                objective_id: self.objective_id.clone(),
                owner_id: OwnerId::from_body(&self.ids.body()),
                ids: self.ids.clone(),
                next: self.next.clone(),
            };
            tasks.spawn(async move { owner.run(cycles / owners, way).await });
        }
        let mut latencies = Vec::with_capacity(cycles);
        while let Some(done) = tasks.join_next().await {
            latencies.extend(done??);
        }
        let (elapsed, own) = (start.elapsed().as_secs_f64(), machine::own_cpu_ms() - cpu);
        latencies.sort_unstable_by(f64::total_cmp);
        let n = latencies.len() as f64;
        let at = |share: f64| latencies[((n - 1.0) * share) as usize];
        Ok(Measured {
            rate: n / elapsed,
            syncs: (machine::syncs() - syncs) as f64 / n,
            cpu_ms: own / n,
            server_cpu_ms: 0.0,
            p50_ms: at(0.5),
            p99_ms: at(0.99),
        })
    }

    /// The same on PostgreSQL, with what the server did for it.
    pub(crate) async fn run_with_server(
        &self,
        owners: usize,
        cycles: usize,
        settle: Duration,
    ) -> anyhow::Result<Measured> {
        let Place::Database(database) = &self.world.place else { bail!("there is no server") };
        let before = machine::postgres_activity(database.url()).await?;
        let measured = self.run(owners, cycles, Way::ClaimThenCommit).await?;
        machine::pass(settle).await;
        let after = machine::postgres_activity(database.url()).await?;
        Ok(Measured {
            syncs: (after.syncs - before.syncs) as f64 / cycles as f64,
            server_cpu_ms: (after.cpu_ms - before.cpu_ms) / cycles as f64,
            ..measured
        })
    }
}

async fn on_real_time(path: &Path) -> anyhow::Result<Arc<dyn Substrate>> {
    Ok(Arc::new(SqliteSubstrate::open(path, Opening::Existing, Arc::new(SystemClock)).await?))
}

struct Owner {
    store: Arc<dyn Substrate>,
    objective_id: ObjectiveId,
    owner_id: OwnerId,
    ids: Arc<SystemIds>,
    next: Arc<AtomicUsize>,
}

impl Owner {
    /// Runs cycles one after the other and returns their latencies in milliseconds.
    async fn run(&self, cycles: usize, way: Way) -> anyhow::Result<Vec<f64>> {
        let mut latencies = Vec::with_capacity(cycles);
        for _ in 0..cycles {
            let work_order_id = seed::open_workorder(self.next.fetch_add(1, Ordering::Relaxed))?;
            let start = Instant::now();
            self.cycle(&work_order_id, way).await?;
            latencies.push(start.elapsed().as_secs_f64() * 1e3);
        }
        Ok(latencies)
    }

    async fn cycle(&self, work_order_id: &WorkOrderId, way: Way) -> anyhow::Result<()> {
        let resource = ResourceRef::from(work_order_id);
        let commit = Commit::new(CommitId::from_body(&self.ids.body()), Actor::Runner);
        let (now, commit) = match way {
            Way::ClaimThenCommit => {
                let claim = self.store.acquire_claim(&resource, &self.owner_id, lease(), Actor::Runner);
                let ClaimOutcome::Granted(grant) = claim.await? else { bail!("{resource} is held") };
                (grant.granted_at, commit.fenced(grant.fence))
            }
            Way::ClaimingCommit => {
                let now = SystemClock.now();
                (now, commit.claiming(resource, self.owner_id.clone()))
            }
        };
        let bundle = Validated::new(output_bundle(work_order_id, &self.objective_id, now))?;
        match self.store.commit(commit.with(Write::Execute(bundle))).await.context("the commit")? {
            CommitOutcome::Done => Ok(()),
            other => bail!("{other:?}"),
        }
    }
}
