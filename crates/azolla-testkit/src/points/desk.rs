//! The desk of a process with a trap: the operator's steps and the workers, all of them through the boundaries.

use std::sync::Arc;

use azolla_control_plane::{
    WorkerError,
    checks::Check,
    operator::{CandidateRef, Changes, Client, NewObjective, Operator, Promotion},
    poll::{self, Until},
};
use azolla_protocol::{
    AzollaType, CaptureId, IdSource, ObjectiveId, OwnerId, WorkerRole, content::TriageContent,
};
use azolla_substrate::{Identity, Opening, Substrate, SubstrateError, SystemIds};
use tokio::sync::watch;

use super::{
    mood::{Mood, MoodyDiazotroph, patch},
    peers::MoodyPeers,
    place::{Parts, Place, whose},
    repository::PointRepository,
    store::PointStore,
    trap::{Trap, say},
};
use crate::{
    decorate::Decorated,
    task_world::{one_action, one_candidate_each},
};

/// The desk.
pub(super) struct Desk {
    place: Place,
    /// What goes otherwise than well.
    pub(super) mood: Arc<Mood>,
    /// Where it ends.
    pub(super) trap: Arc<Trap>,
    patch: Azolla,
    tasks: Azolla,
    ids: Arc<SystemIds>,
    parts: Parts,
}

/// One azolla.
struct Azolla {
    identity: Identity,
    store: Arc<dyn Substrate>,
}

impl Desk {
    /// Sits down at a place, with a trap.
    pub(super) async fn new(place: Place, trap: Trap) -> anyhow::Result<Self> {
        let (mood, trap) = (Arc::<Mood>::default(), Arc::new(trap));
        let open = async |which, azolla_type| -> anyhow::Result<Azolla> {
            let inner = place.open(azolla_type, Opening::Existing).await?;
            let (trap, mood) = (trap.clone(), mood.clone());
            let store = PointStore { inner, which, trap, mood, holders: Default::default() };
            let store = Arc::new(Decorated(store));
            Ok(Azolla { identity: whose(azolla_type), store })
        };
        let (patch, tasks) =
            (open("patch", AzollaType::CodePatch).await?, open("tasks", AzollaType::TaskMgmt).await?);
        let ids = Arc::new(SystemIds::default());
        let parts = parts(&place, &mood, &trap, ids.clone())?;
        Ok(Self { place, mood, trap, patch, tasks, ids, parts })
    }

    /// Returns the operator at the azolla of patches.
    pub(super) fn operator(&self) -> Operator<'_> {
        self.at(&self.patch)
    }

    /// Returns the operator at the azolla of tasks.
    pub(super) fn tasks(&self) -> Operator<'_> {
        self.at(&self.tasks)
    }

    fn at<'a>(&'a self, azolla: &'a Azolla) -> Operator<'a> {
        let (substrate, identity) = (&*azolla.store, &azolla.identity);
        Operator { substrate, identity, ids: &*self.ids, who: "operator" }
    }

    /// Returns a fresh id.
    pub(super) fn fresh(&self) -> ObjectiveId {
        ObjectiveId::from_body(&self.ids.body())
    }

    /// Creates an objective: NEW.
    pub(super) async fn created(&self) -> anyhow::Result<ObjectiveId> {
        let new = NewObjective {
            title: "Round half up".into(),
            acceptance_criteria: "- 0.5 rounds to 1".into(),
            repo_ref: self.place.repo_ref(),
            base_branch: "main".into(),
            importance: 2,
            urgency: 3,
        };
        let id = self.operator().create(new).await?;
        say(format_args!("objective patch {id}"));
        Ok(id)
    }

    /// Creates and approves an objective: TODO.
    pub(super) async fn approved(&self) -> anyhow::Result<ObjectiveId> {
        let id = self.created().await?;
        self.operator().approve(&id).await?;
        Ok(id)
    }

    /// Stores a note.
    pub(super) async fn captured(&self, text: &str) -> anyhow::Result<CaptureId> {
        let id = self.tasks().capture(text.as_bytes(), "points").await?;
        say(format_args!("capture tasks {id}"));
        Ok(id)
    }

    /// Stores a note of a client.
    pub(super) async fn captured_by_client(&self, text: &str) -> anyhow::Result<CaptureId> {
        let id = Client::of(self.tasks()).capture(text.as_bytes(), "points").await?;
        say(format_args!("capture tasks {id}"));
        Ok(id)
    }

    /// Asks for orientation.
    pub(super) async fn request_manifest(&self) -> anyhow::Result<()> {
        let requested = self.tasks().request_manifest().await?;
        say(format_args!("event tasks {}", requested.event_id));
        Ok(())
    }

    /// Promotes a candidate to the azolla of patches.
    pub(super) async fn promoted(&self, which: &CandidateRef) -> anyhow::Result<ObjectiveId> {
        let promotion = Promotion {
            target: self.operator(),
            elsewhere: &[],
            repo_ref: &self.place.repo_ref(),
            base_branch: "main",
            edits: Changes::default(),
        };
        let id = self.tasks().promote(which, &promotion).await?;
        say(format_args!("objective patch {id}"));
        Ok(id)
    }

    /// Returns the candidate that a capture became.
    pub(super) async fn candidate_of(&self, id: &CaptureId) -> anyhow::Result<CandidateRef> {
        const ALL: u64 = 10_000;
        for found in self.tasks.store.read().open_candidates(ALL).await? {
            let content: TriageContent = serde_json::from_str(&found.output.content)?;
            let index = content.candidates.iter().position(|one| one.capture_ids.contains(id));
            if let Some(index) = index {
                return Ok(CandidateRef { output_id: found.output.output_id, index: index as u64 });
            }
        }
        anyhow::bail!("no candidate came of {id}")
    }

    /// Returns the store of the azolla of patches.
    pub(super) fn patches(&self) -> &Arc<dyn Substrate> {
        &self.patch.store
    }

    /// Returns the time of the azolla of tasks.
    pub(super) async fn now(&self) -> Result<azolla_protocol::Timestamp, SubstrateError> {
        self.tasks.store.read().now().await
    }

    /// Makes the gate run a check.
    pub(super) fn add_check(&mut self, command: &[&str]) {
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        self.parts.checks = vec![Check { name: "check".into(), command, time_ms: 60_000 }];
    }

    /// Makes orientation due: the first moment of the period that it is in is this one, and no other run's.
    pub(super) async fn make_orientation_due(&mut self) -> anyhow::Result<()> {
        let now = u64::try_from(self.now().await?.as_millisecond())?;
        self.parts.manifest_every = Some(std::time::Duration::from_millis(now));
        Ok(())
    }

    /// Runs the azolla of patches until it is idle.
    pub(super) async fn patch(&self) -> anyhow::Result<()> {
        self.work(AzollaType::CodePatch, &self.patch, &watch::channel(false).0).await
    }

    /// Runs the azolla of tasks until it is idle.
    pub(super) async fn organise(&self) -> anyhow::Result<()> {
        self.work(AzollaType::TaskMgmt, &self.tasks, &watch::channel(false).0).await
    }

    /// Runs only Readiness at the azolla of patches.
    pub(super) async fn look_for_tickets(&mut self) -> anyhow::Result<()> {
        self.parts.roles = Some(vec![WorkerRole::Readiness]);
        let looked = self.patch().await;
        self.parts.roles = None;
        looked
    }

    /// Runs the azolla of patches, and cancels an objective as soon as somebody works on it.
    pub(super) async fn patch_and_cancel(&self, id: &ObjectiveId) -> anyhow::Result<()> {
        let mut asked = self.mood.asked();
        let cancelled = async {
            asked.changed().await?;
            self.operator().cancel(id, "no longer").await?;
            std::future::pending::<anyhow::Result<()>>().await
        };
        tokio::select! {
            worked = self.patch() => worked,
            failed = cancelled => failed,
        }
    }

    /// Runs the azolla of tasks, and asks it to stop as soon as it asks somebody.
    pub(super) async fn organise_and_stop(&self) -> anyhow::Result<()> {
        let mut asked = self.mood.asked();
        let stop = watch::channel(false).0;
        let work = self.work(AzollaType::TaskMgmt, &self.tasks, &stop);
        tokio::pin!(work);
        tokio::select! {
            worked = &mut work => return worked,
            changed = asked.changed() => changed?,
        }
        stop.send_replace(true);
        work.await
    }

    /// Runs the workers of an azolla. A long wait for something that failed ends it, as an operator would: whoever is
    /// started next has nothing to wait for.
    async fn work(
        &self,
        azolla_type: AzollaType,
        azolla: &Azolla,
        stop: &watch::Sender<bool>,
    ) -> anyhow::Result<()> {
        let mut context = self.parts.context(azolla_type, azolla.store.clone(), stop);
        let stopped = stop.clone();
        context.watcher = Arc::new(move |activity| {
            if activity.step.starts_with("waiting: ") {
                stopped.send_replace(true);
            }
        });
        match poll::run(vec![Arc::new(context)], Until::Idle, stop).await {
            Err(error) if !may_be(&error) => {
                say(format_args!("broken {error:?}"));
                Err(error.into())
            }
            worked => Ok(worked?),
        }
    }
}

fn parts(place: &Place, mood: &Arc<Mood>, trap: &Arc<Trap>, ids: Arc<SystemIds>) -> anyhow::Result<Parts> {
    let worker = |good| Arc::new(MoodyDiazotroph { mood: mood.clone(), good });
    Ok(Parts {
        owner_id: OwnerId::from_body(&ids.body()),
        ids,
        repository: Arc::new(PointRepository {
            inner: Arc::new(place.repository()?),
            trap: trap.clone(),
            mood: mood.clone(),
        }),
        repo_ref: place.repo_ref(),
        patch: worker(patch),
        triage: worker(one_candidate_each),
        manifest: worker(one_action),
        peers: Arc::new(MoodyPeers(mood.clone())),
        roles: None,
        checks: Vec::new(),
        manifest_every: None,
    })
}

/// Tells whether a worker may return this where calls fail and others work on the same.
fn may_be(error: &WorkerError) -> bool {
    match error {
        WorkerError::Repository(_) => true,
        WorkerError::Store(error) => matches!(
            error,
            SubstrateError::Unavailable(_)
                | SubstrateError::OutcomeUnknown { .. }
                | SubstrateError::FenceLost { .. }
                | SubstrateError::Changed { .. }
        ),
        WorkerError::Broken(_) => false,
    }
}
