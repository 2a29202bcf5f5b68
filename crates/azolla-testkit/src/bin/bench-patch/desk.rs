//! One patch azolla under its poll loop, and the operator who gives it one objective after the other.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, ensure};
use azolla_control_plane::{
    Flow, Overheard, PatchFlow, Settings, WorkerContext, WorkerError,
    operator::{NewObjective, Operator},
    poll::{self, Until},
    repo::Repository,
};
use azolla_protocol::{AzollaType, IdSource, ObjectiveId, OwnerId, PauseReason, PauseState};
use azolla_substrate::{Identity, Opening, SqliteSubstrate, Substrate, SystemClock, SystemIds};
use azolla_testkit::{
    store::identity,
    world::{NoCaps, TrustEverything},
};
use tokio::{sync::watch, task::JoinHandle, time::timeout};

use crate::{instant::Instant, meter};

/// The longest that a cycle may take before the benchmark gives up.
const DEADLINE: Duration = Duration::from_secs(120);

/// The looks of the roles that find nothing are over by then.
const SETTLE: Duration = Duration::from_millis(5);

/// Signals of the store between an approval and its pause_state: approval, TICKET_READY, SCHEDULED, EXECUTED, gate.
const SIGNALS: u64 = 5;

/// A patch azolla that runs.
pub(crate) struct Desk {
    store: Arc<dyn Substrate>,
    identity: Identity,
    ids: Arc<SystemIds>,
    repo_ref: String,
    stop: watch::Sender<bool>,
    running: JoinHandle<Result<(), WorkerError>>,
    /// Moves with every commit.
    changes: watch::Receiver<u64>,
}

/// An objective on its way.
pub(crate) struct Approved {
    objective_id: ObjectiveId,
    signals_before: u64,
    /// Syncs of this process before the approval. TICKET_READY may be under way when the approval returns, so that a
    /// count from there on could miss its sync.
    pub(crate) syncs_before: u64,
}

impl Desk {
    /// Where the store of a directory is.
    pub(crate) fn store_file(directory: &Path) -> PathBuf {
        directory.join("substrate.sqlite")
    }

    /// Starts the poll loop on a new store in `directory`, with settings as they come and real time and ids.
    pub(crate) async fn start(
        directory: &Path,
        repository: Arc<dyn Repository>,
        repo_ref: &str,
        answer: &str,
    ) -> anyhow::Result<Self> {
        let identity = identity(AzollaType::CodePatch);
        let path = Self::store_file(directory);
        let opening = Opening::OrCreate(identity.clone());
        let store: Arc<dyn Substrate> =
            Arc::new(SqliteSubstrate::open(&path, opening, Arc::new(SystemClock)).await?);
        let (ids, (stop, stopping)) = (Arc::new(SystemIds::default()), watch::channel(false));
        let context = WorkerContext {
            substrate: store.clone(),
            identity: identity.clone(),
            owner_id: OwnerId::from_body(&ids.body()),
            ids: ids.clone(),
            flow: Flow::Patch(PatchFlow {
                repository,
                repo_ref: repo_ref.to_owned(),
                diazotroph: Arc::new(Instant(answer.to_owned())),
                repository_file: Arc::new(TrustEverything),
            }),
            ledger: Arc::new(NoCaps),
            settings: Settings::of(AzollaType::CodePatch),
            watcher: Arc::new(|_| {}),
            stopping,
            backoff: Default::default(),
            overheard: Overheard::default(),
        };
        let stopped = stop.clone();
        let running =
            tokio::spawn(async move { poll::run(vec![Arc::new(context)], Until::Stopped, &stopped).await });
        let changes = store.changes();
        Ok(Self { store, identity, ids, repo_ref: repo_ref.to_owned(), stop, running, changes })
    }

    /// Creates an objective and approves it. What is measured begins when this returns.
    pub(crate) async fn approve(&mut self) -> anyhow::Result<Approved> {
        let new = NewObjective {
            title: "Round half up".into(),
            acceptance_criteria: "- 0.5 rounds to 1\n- the tests pass".into(),
            repo_ref: self.repo_ref.clone(),
            base_branch: "main".into(),
            importance: 2,
            urgency: 2,
        };
        let objective_id = self.operator().create(new).await?;
        meter::pass(SETTLE).await;
        let (signals_before, syncs_before) = (*self.changes.borrow_and_update(), meter::syncs());
        self.operator().approve(&objective_id).await?;
        Ok(Approved { objective_id, signals_before, syncs_before })
    }

    /// Returns once the pause_state of an objective is there. Signals are counted so that this reads once, not after
    /// every commit: reading is no part of a cycle.
    pub(crate) async fn paused(&mut self, approved: &Approved) -> anyhow::Result<()> {
        let waited = async {
            let at_least = approved.signals_before + SIGNALS;
            self.changes.wait_for(|signals| *signals >= at_least).await?;
            while self.pause_key(&approved.objective_id).await?.is_none() {
                self.changes.changed().await?;
            }
            Ok(())
        };
        timeout(DEADLINE, waited).await.context("an objective did not come to its pause_state")?
    }

    /// Ends an objective: it has to have passed. The looks that follow are over when this returns.
    pub(crate) async fn confirm(&self, approved: &Approved) -> anyhow::Result<()> {
        let pause = self.pause(&approved.objective_id).await?;
        ensure!(pause.reason == PauseReason::RunComplete, "it did not pass: {pause:?}");
        self.operator().confirm(&approved.objective_id, None).await?;
        meter::pass(SETTLE).await;
        Ok(())
    }

    /// Lets the looks that find nothing come to their end.
    pub(crate) async fn settle(&self) {
        meter::pass(SETTLE).await;
    }

    /// Ends the poll loop in good order.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        self.stop.send_replace(true);
        Ok(self.running.await??)
    }

    async fn pause_key(&self, id: &ObjectiveId) -> anyhow::Result<Option<String>> {
        let stored = self.store.read().objective(id).await?;
        Ok(stored.context("the objective is gone")?.pause_key)
    }

    async fn pause(&self, id: &ObjectiveId) -> anyhow::Result<PauseState> {
        let key = self.pause_key(id).await?.context("there is no pause_state")?;
        self.store.read().pause_state(&key).await?.context("the pause_state is gone")
    }

    fn operator(&self) -> Operator<'_> {
        Operator { substrate: &*self.store, identity: &self.identity, ids: &*self.ids, who: "operator" }
    }
}
