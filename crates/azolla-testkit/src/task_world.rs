//! The workers of a TASK_MGMT azolla on a store, diazotrophs and other azollas that a test controls.

use std::sync::Arc;

use azolla_control_plane::{
    Flow, Overheard, Settings, TaskMgmtFlow, Tick, WorkerContext, WorkerError,
    operator::Operator,
    workers::{capture_readiness, deadline_monitor, gate, manifest_scheduler, runner, scheduler},
};
use azolla_protocol::{
    Actor, AzollaType, CaptureId, GenerationOutcome, IdSource, Objective, ObjectiveId, ObjectiveStatus,
    ObjectiveType, OwnerId, PauseState,
    content::{Candidate, Confidence, ManifestAnswer, TriageContent, TriageInput, read_data},
    lifecycle::ObjectiveStep,
};
use azolla_substrate::{StoredCapture, StoredObjective, StreamRoom, Write};
use serde_json::json;
use tokio::sync::watch;

use crate::{
    cycle::valid,
    diazotroph::{Answer, ScriptedDiazotroph},
    ids::SequentialIds,
    peers::{ScriptedPeers, ScriptedTargets},
    store::{Backend, TestStore, azolla_id, identity},
    world::NoCaps,
};

/// The standing objective of every such world.
pub const STANDING: &str = "obj-ctx-continuity";

/// A TASK_MGMT azolla in the test's hand: every tick by hand.
pub struct TaskWorld {
    /// The store.
    pub store: TestStore,
    /// The workers' parts, for one owner.
    pub ctx: WorkerContext,
    /// Asks work under way to stop.
    pub stop: watch::Sender<bool>,
    /// Who triages.
    pub triage: Arc<ScriptedDiazotroph>,
    /// Who gives orientation.
    pub manifest: Arc<ScriptedDiazotroph>,
    /// The other azollas.
    pub peers: Arc<ScriptedPeers>,
    /// Where candidates could go.
    pub targets: Arc<ScriptedTargets>,
}

impl TaskWorld {
    /// A new store with its standing objective, and diazotrophs that answer well.
    pub async fn new(backend: Backend) -> Self {
        Self::with(backend, [Answer::By(one_candidate_each)]).await
    }

    /// A new store with its standing objective, and these answers to triage.
    pub async fn with(backend: Backend, triage: impl IntoIterator<Item = Answer>) -> Self {
        Self::on(TestStore::of_type(backend, AzollaType::TaskMgmt).await, triage).await
    }

    /// This store, which gets its standing objective, and these answers to triage.
    pub async fn on(store: TestStore, triage: impl IntoIterator<Item = Answer>) -> Self {
        let standing = standing(store.now().await);
        let id = standing.objective_id.clone();
        let step = ObjectiveStep::OpenStanding;
        store.done(Actor::Init, Write::InsertObjective { objective: valid(standing), step }).await;
        let triage = Arc::new(ScriptedDiazotroph::new(triage));
        let manifest = Arc::new(ScriptedDiazotroph::new([Answer::By(one_action)]));
        let (peers, targets) = (Arc::<ScriptedPeers>::default(), Arc::<ScriptedTargets>::default());
        let (stop, stopping) = watch::channel(false);
        let ids = Arc::new(SequentialIds::starting_at(500_000));
        let ctx = WorkerContext {
            substrate: store.store.clone(),
            identity: identity(AzollaType::TaskMgmt),
            owner_id: OwnerId::from_body(&ids.body()),
            ids,
            flow: Flow::TaskMgmt(TaskMgmtFlow {
                standing: id,
                triage: triage.clone(),
                manifest: manifest.clone(),
                peers: peers.clone(),
                targets: targets.clone(),
            }),
            ledger: Arc::new(NoCaps),
            settings: Settings {
                room: StreamRoom { max_concurrent: 1, review_limit: 0 },
                ..Settings::of(AzollaType::TaskMgmt)
            },
            watcher: Arc::new(|_| {}),
            stopping,
            backoff: Default::default(),
            overheard: Overheard::default(),
        };
        Self { store, ctx, stop, triage, manifest, peers, targets }
    }

    /// Makes the workers those of another process start.
    pub fn as_another_owner(&mut self) {
        self.ctx.owner_id = OwnerId::from_body(&self.ctx.ids.body());
        self.ctx.backoff = Default::default();
        self.ctx.overheard = Overheard::default();
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

    /// Stores a note, a second after the one before.
    pub async fn captured(&self, text: &str) -> CaptureId {
        self.store.advance(1_000).await;
        self.operator().capture(text.as_bytes(), "test").await.expect("a capture")
    }

    /// Stores notes and takes them to a workorder: CREATED.
    pub async fn scheduled(&self, texts: &[&str]) -> Vec<CaptureId> {
        let mut ids = Vec::new();
        for text in texts {
            ids.push(self.captured(text).await);
        }
        self.readiness().await;
        assert_eq!(self.scheduler().await, Tick::Advanced);
        ids
    }

    /// One tick of Capture Readiness.
    pub async fn readiness(&self) -> Tick {
        capture_readiness::tick(&self.ctx).await.expect("capture readiness")
    }

    /// One tick of the Scheduler.
    pub async fn scheduler(&self) -> Tick {
        scheduler::tick(&self.ctx).await.expect("scheduler")
    }

    /// One tick of the Manifest Scheduler.
    pub async fn manifest_scheduler(&self) -> Tick {
        manifest_scheduler::tick(&self.ctx).await.expect("manifest scheduler")
    }

    /// One tick of the Runner.
    pub async fn runner(&self) -> Tick {
        runner::tick(&self.ctx).await.expect("runner")
    }

    /// One tick of the Gate.
    pub async fn gate(&self) -> Tick {
        gate::tick(&self.ctx).await.expect("gate")
    }

    /// One tick of the Deadline Monitor.
    pub async fn deadline_monitor(&self) -> Tick {
        deadline_monitor::tick(&self.ctx).await.expect("deadline monitor")
    }

    /// Ticks everything but the Deadline Monitor until nothing moves.
    pub async fn run_to_pause(&self) -> Result<(), WorkerError> {
        loop {
            let mut moved = false;
            moved |= capture_readiness::tick(&self.ctx).await? == Tick::Advanced;
            moved |= scheduler::tick(&self.ctx).await? == Tick::Advanced;
            moved |= manifest_scheduler::tick(&self.ctx).await? == Tick::Advanced;
            moved |= runner::tick(&self.ctx).await? == Tick::Advanced;
            moved |= gate::tick(&self.ctx).await? == Tick::Advanced;
            if !moved {
                return Ok(());
            }
        }
    }

    /// Reads the standing objective.
    pub async fn standing(&self) -> StoredObjective {
        let id = ObjectiveId::new(STANDING).expect("an id");
        self.store.read().objective(&id).await.expect("a read").expect("it was opened")
    }

    /// Reads a capture.
    pub async fn capture(&self, id: &CaptureId) -> StoredCapture {
        self.store.read().capture(id).await.expect("a read").expect("it was captured")
    }

    /// Returns the current pause_state of the standing objective.
    pub async fn pause(&self) -> PauseState {
        let key = self.standing().await.pause_key.expect("it has paused");
        self.store.read().pause_state(&key).await.expect("a read").expect("the key leads to it")
    }
}

/// Answers a triage with one candidate per capture, whose title is the first line of the text.
pub fn one_candidate_each(prompt: &str) -> GenerationOutcome {
    let input: TriageInput = read_data(prompt).expect("a triage prompt carries its data");
    let candidates = input.captures.iter().map(|capture| Candidate {
        title: capture.text.lines().next().unwrap_or_default().chars().take(80).collect(),
        acceptance_criteria: "It is done.".into(),
        rationale: "Said so.".into(),
        capture_ids: vec![capture.capture_id.clone()],
        suggested_target_azolla_type: Some(AzollaType::CodePatch),
        suggested_azolla_id: None,
        urgency: Some(1),
        importance: None,
        due: None,
        confidence: Confidence::Medium,
        ambiguities: Vec::new(),
    });
    let content =
        TriageContent { candidates: candidates.collect(), no_action: Vec::new(), notes: String::new() };
    GenerationOutcome::Text(serde_json::to_string(&content).expect("content is JSON"))
}

/// Answers a request for orientation with one action.
pub fn one_action(_prompt: &str) -> GenerationOutcome {
    let answer = ManifestAnswer {
        overview: "All quiet.".into(),
        actions: vec!["Look at the candidates: azolla triage".into()],
        notes: String::new(),
    };
    GenerationOutcome::Text(serde_json::to_string(&answer).expect("an answer is JSON"))
}

/// The standing objective, as `azolla init` opens it.
pub(crate) fn standing(now: azolla_protocol::Timestamp) -> Objective {
    let metadata = json!({"scope_description": "Notes, open loops and where things stand"});
    Objective {
        objective_id: ObjectiveId::new(STANDING).expect("an id"),
        azolla_id: azolla_id(),
        title: "Keep the context".into(),
        acceptance_criteria: "Every note is triaged; where things stand can be seen.".into(),
        objective_type: ObjectiveType::Standing,
        status: ObjectiveStatus::InProgress,
        importance: 2,
        urgency: 4,
        blocked_reason: None,
        blocked_on: Vec::new(),
        metadata: metadata.as_object().cloned().unwrap_or_default(),
        created_at: now,
        updated_at: now,
    }
}
