//! The workers of one azolla on a store, a repository and a diazotroph that a test controls.

use std::sync::{Arc, Mutex, PoisonError};

use azolla_control_plane::{
    Flow, Overheard, PatchFlow, RepositoryFile, RepositoryFileReader, RepositorySettings, Settings, Tick,
    WorkerContext, WorkerError,
    operator::{NewObjective, Operator},
    repo::RepositoryError,
    spending::{Ledger, RunAccount},
    workers::{gate, readiness, runner, scheduler},
};
use azolla_protocol::{
    Allowance, AzollaType, IdSource, ObjectiveId, OwnerId, Reservation, Spending, Wait, Withheld,
};
use azolla_substrate::{StoredObjective, StreamRoom};
use tokio::sync::watch;

use crate::{
    diazotroph::ScriptedDiazotroph,
    ids::SequentialIds,
    repository::MemoryRepository,
    store::{Backend, TestStore, identity},
};

/// How objectives of a test name their repository.
pub const REPO: &str = "/repos/app";

/// A patch azolla in the test's hand: every tick by hand.
pub struct World {
    /// The store.
    pub store: TestStore,
    /// The repository.
    pub repository: Arc<MemoryRepository>,
    /// The workers' parts, for one owner.
    pub ctx: WorkerContext,
    /// Asks work under way to stop.
    pub stop: watch::Sender<bool>,
    diazotroph: Arc<ScriptedDiazotroph>,
}

impl World {
    /// A new store, and a diazotroph that answers with a patch.
    pub async fn new(backend: Backend) -> Self {
        Self::with(backend, ScriptedDiazotroph::patch()).await
    }

    /// A new store, and this diazotroph.
    pub async fn with(backend: Backend, diazotroph: ScriptedDiazotroph) -> Self {
        Self::on(TestStore::new(backend).await, diazotroph)
    }

    /// This store, and this diazotroph.
    pub fn on(store: TestStore, diazotroph: ScriptedDiazotroph) -> Self {
        let (repository, diazotroph) = (Arc::new(MemoryRepository::default()), Arc::new(diazotroph));
        let (stop, stopping) = watch::channel(false);
        let ids = Arc::new(SequentialIds::starting_at(500_000));
        let ctx = WorkerContext {
            substrate: store.store.clone(),
            identity: identity(AzollaType::CodePatch),
            owner_id: OwnerId::from_body(&ids.body()),
            ids,
            flow: Flow::Patch(PatchFlow {
                repository: repository.clone(),
                repo_ref: REPO.to_owned(),
                diazotroph: diazotroph.clone(),
                repository_file: Arc::new(TrustEverything),
            }),
            ledger: Arc::new(NoCaps),
            settings: Settings {
                room: StreamRoom { max_concurrent: 1, review_limit: 0 },
                ..Settings::of(AzollaType::CodePatch)
            },
            watcher: Arc::new(|_| {}),
            stopping,
            backoff: Default::default(),
            overheard: Overheard::default(),
        };
        Self { store, repository, ctx, stop, diazotroph }
    }

    /// Makes the workers those of another process start.
    pub fn as_another_owner(&mut self) {
        self.ctx.owner_id = OwnerId::from_body(&self.ctx.ids.body());
        self.ctx.backoff = Default::default();
    }

    /// Returns what patches are made with.
    pub fn patch(&mut self) -> &mut PatchFlow {
        match &mut self.ctx.flow {
            Flow::Patch(flow) => flow,
            Flow::TaskMgmt(_) => panic!("a world of patches"),
        }
    }

    /// Returns the diazotroph.
    pub fn diazotroph(&self) -> &ScriptedDiazotroph {
        &self.diazotroph
    }

    /// Returns the operator's steps.
    pub fn operator(&self) -> Operator<'_> {
        Operator {
            substrate: &*self.store.store,
            identity: &self.ctx.identity,
            ids: &*self.ctx.ids,
            who: "operator",
        }
    }

    /// Creates an objective: NEW.
    pub async fn created(&self) -> ObjectiveId {
        let new = NewObjective {
            title: "Round half up".into(),
            acceptance_criteria: "- 0.5 rounds to 1\n- the tests pass".into(),
            repo_ref: REPO.into(),
            base_branch: "main".into(),
            importance: 2,
            urgency: 3,
        };
        self.operator().create(new).await.expect("an objective is created")
    }

    /// Creates and approves an objective: TODO.
    pub async fn approved(&self) -> ObjectiveId {
        let id = self.created().await;
        self.operator().approve(&id).await.expect("it is approved");
        id
    }

    /// Creates, approves and schedules an objective: IN_PROGRESS.
    pub async fn scheduled(&self) -> ObjectiveId {
        let id = self.approved().await;
        self.readiness().await;
        assert_eq!(self.scheduler().await, Tick::Advanced);
        id
    }

    /// Creates an objective and takes it to the gate: EXECUTED.
    pub async fn executed(&self) -> ObjectiveId {
        let id = self.scheduled().await;
        assert_eq!(self.runner().await, Tick::Advanced);
        id
    }

    /// One tick of Readiness.
    pub async fn readiness(&self) -> Tick {
        readiness::tick(&self.ctx).await.expect("readiness")
    }

    /// One tick of the Scheduler.
    pub async fn scheduler(&self) -> Tick {
        scheduler::tick(&self.ctx).await.expect("scheduler")
    }

    /// One tick of the Runner.
    pub async fn runner(&self) -> Tick {
        runner::tick(&self.ctx).await.expect("runner")
    }

    /// One tick of the Gate.
    pub async fn gate(&self) -> Tick {
        gate::tick(&self.ctx).await.expect("gate")
    }

    /// Ticks everything until nothing moves.
    pub async fn run_to_pause(&self) -> Result<(), WorkerError> {
        loop {
            let mut moved = false;
            moved |= readiness::tick(&self.ctx).await? == Tick::Advanced;
            moved |= scheduler::tick(&self.ctx).await? == Tick::Advanced;
            moved |= runner::tick(&self.ctx).await? == Tick::Advanced;
            moved |= gate::tick(&self.ctx).await? == Tick::Advanced;
            if !moved {
                return Ok(());
            }
        }
    }

    /// Reads an objective.
    pub async fn objective(&self, id: &ObjectiveId) -> StoredObjective {
        self.store.read().objective(id).await.expect("a read").expect("it was created")
    }
}

/// An account that a test closes and opens.
#[derive(Default)]
pub struct ScriptedLedger {
    /// What keeps work from starting, if anything.
    pub waits: Mutex<Option<Wait>>,
    /// What withholds the next run that begins.
    pub withheld: Mutex<Option<Withheld>>,
    /// The times of the runs that ended.
    pub ended: Mutex<Vec<u64>>,
}

impl Ledger for ScriptedLedger {
    fn waits(&self, _provider: &str) -> Option<Wait> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn begin(&self, _run: &RunAccount) -> Result<Box<dyn Allowance>, Withheld> {
        match self.withheld.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(withheld) => Err(withheld),
            None => Ok(Box::new(NoCaps)),
        }
    }

    fn end(&self, _run: &RunAccount, consumed_ms: u64) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).push(consumed_ms);
    }

    fn hold(&self, _provider: &str, wait: &Wait) {
        *self.waits.lock().unwrap_or_else(PoisonError::into_inner) = Some(wait.clone());
    }
}

/// An account without caps.
pub struct NoCaps;

impl Ledger for NoCaps {
    fn waits(&self, _provider: &str) -> Option<Wait> {
        None
    }

    fn begin(&self, _run: &RunAccount) -> Result<Box<dyn Allowance>, Withheld> {
        Ok(Box::new(Self))
    }

    fn end(&self, _run: &RunAccount, _consumed_ms: u64) {}

    fn hold(&self, _provider: &str, _wait: &Wait) {}
}

impl Allowance for NoCaps {
    fn reserve(&self, _most: Spending) -> Result<Reservation, Withheld> {
        Ok(Reservation(0))
    }

    fn settle(&self, _reservation: Reservation, _spent: Spending) {}
}

/// Takes every repository file as pinned and empty of settings.
pub struct TrustEverything;

impl RepositoryFileReader for TrustEverything {
    fn read(&self, _bytes: &[u8], _base_branch: &str) -> Result<RepositoryFile, RepositoryError> {
        Ok(RepositoryFile::Trusted(RepositorySettings::default()))
    }
}
