//! What every worker is given, and what a tick returns.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ffi::OsString,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use azolla_protocol::{
    AzollaId, AzollaType, ClaimRecord, CommitId, Deadlines, IdSource, LeaseLength, ObjectiveId, OwnerId,
    ResourceRef, Timestamp, WorkerRole, limits,
};
use azolla_substrate::{Identity, StreamRoom, Substrate, SubstrateError, SubstrateRead};
use tokio::{sync::watch, time::Instant};

use crate::{
    asking::Overheard, checks::Check, flow::Flow, repo::RepositoryError, sandbox::SandboxSettings,
    spending::Ledger,
};

/// The parts that the workers of one azolla work with.
pub struct WorkerContext {
    /// The store.
    pub substrate: Arc<dyn Substrate>,
    /// Whose store it is.
    pub identity: Identity,
    /// This start of this process (C-4, R3).
    pub owner_id: OwnerId,
    /// Fresh ids.
    pub ids: Arc<dyn IdSource>,
    /// What its type works with.
    pub flow: Flow,
    /// What may be spent.
    pub ledger: Arc<dyn Ledger>,
    /// Configured limits.
    pub settings: Settings,
    /// Told what is under way; nothing depends on it.
    pub watcher: Arc<dyn Fn(&Activity) + Send + Sync>,
    /// Becomes true when the process is asked to end: work under way is given back in good order.
    pub stopping: watch::Receiver<bool>,
    /// When to look again at what failed in passing. In memory: the durable count is the store's (W-7).
    pub backoff: Backoff,
    /// What the other azollas said a moment ago.
    pub overheard: Overheard,
}

/// The configured limits of an azolla (PROTOCOL.md section 11).
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long a claim holds (C-7).
    pub lease: LeaseLength,
    /// Open workorders and waiting results (W-4, O-3).
    pub room: StreamRoom,
    /// The workers that run here; the others run elsewhere, on the same store.
    pub roles: Vec<WorkerRole>,
    /// Time for one patch.
    pub budget_patch_ms: u64,
    /// Time for one triage.
    pub budget_triage_ms: u64,
    /// Time for one orientation.
    pub budget_manifest_ms: u64,
    /// Captures in one triage.
    pub triage_batch: u64,
    /// How often an orientation is made unasked; none is never.
    pub manifest_every: Option<Duration>,
    /// Time for one query to another azolla (M-4).
    pub peer_query: Duration,
    /// How long objectives may stay as they are (7.4).
    pub deadlines: Deadlines,
    /// Automatic attempts after an operator's step.
    pub attempts_max: u64,
    /// Claims without an outcome before a resource is poison (W-7).
    pub claims_without_outcome_max: u64,
    /// Size of a whole prompt.
    pub prompt_bytes: u64,
    /// Size of the repository's part of it.
    pub prompt_repository_bytes: u64,
    /// The operator's own checks: where there are any, the repository's are not used.
    pub checks: Vec<Check>,
    /// The whole environment of a check.
    pub check_environment: BTreeMap<OsString, OsString>,
    /// What checks can reach of the machine.
    pub sandbox: SandboxSettings,
}

impl Settings {
    /// Returns what holds for an azolla of a type where nothing is configured.
    pub fn of(azolla_type: AzollaType) -> Self {
        Self {
            roles: azolla_type.blueprint().workers.to_vec(),
            lease: LeaseLength::DEFAULT,
            room: StreamRoom {
                max_concurrent: limits::MAX_CONCURRENT.default,
                review_limit: limits::REVIEW_LIMIT.default,
            },
            budget_patch_ms: limits::BUDGET_PATCH_MS.default,
            budget_triage_ms: limits::BUDGET_TRIAGE_MS.default,
            budget_manifest_ms: limits::BUDGET_MANIFEST_MS.default,
            triage_batch: limits::TRIAGE_BATCH.default,
            manifest_every: None,
            peer_query: Duration::from_millis(limits::PEER_QUERY_MS.default),
            deadlines: Deadlines::default(),
            attempts_max: limits::ATTEMPTS_MAX.default,
            claims_without_outcome_max: limits::CLAIMS_WITHOUT_OUTCOME_MAX.default,
            prompt_bytes: limits::PROMPT_BYTES.default,
            prompt_repository_bytes: limits::PROMPT_REPOSITORY_BYTES.default,
            checks: Vec::new(),
            check_environment: BTreeMap::new(),
            sandbox: SandboxSettings::default(),
        }
    }
}

/// Reads `.azolla.toml`, which comes from the base commit and counts only once the operator pinned it (R13).
pub trait RepositoryFileReader: Send + Sync {
    /// Judges the bytes of the file on a base branch, unless nobody can say now whether they are pinned.
    fn read(&self, bytes: &[u8], base_branch: &str) -> Result<RepositoryFile, RepositoryError>;
}

/// What the repository's own file comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepositoryFile {
    /// It is pinned.
    Trusted(RepositorySettings),
    /// The operator has not pinned these bytes: it says nothing.
    Untrusted {
        /// The one next action.
        action: String,
    },
    /// It is pinned, but cannot be understood.
    Invalid {
        /// What is wrong with it.
        reason: String,
    },
}

/// What a repository may set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositorySettings {
    /// Its checks.
    pub checks: Vec<Check>,
    /// A smaller budget than the operator's.
    pub budget_ms: Option<u64>,
}

/// What is under way, for a progress line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Where.
    pub azolla_id: AzollaId,
    /// On what; none if it is about the azolla as a whole.
    pub objective_id: Option<ObjectiveId>,
    /// Which step, in plain words.
    pub step: String,
    /// How far it is, where that is known; changes often.
    pub detail: Option<String>,
    /// How long it may take, where there is a limit.
    pub limit: Option<Duration>,
}

/// What one tick did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    /// Something moved: look again at once.
    Advanced,
    /// There is nothing to do before something changes.
    Idle,
    /// There is something, and it cannot move before this much time is over, unless something changes.
    Waiting(Duration),
}

impl Tick {
    /// Returns the sooner of two reasons to wait.
    #[must_use]
    pub(crate) fn or_wait(self, wait: Duration) -> Self {
        match self {
            Self::Waiting(other) => Self::Waiting(other.min(wait)),
            _ => Self::Waiting(wait),
        }
    }
}

/// Why a tick stopped, split by what the poll loop does next.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The store: back off if it is away, stop if it cannot be used.
    #[error(transparent)]
    Store(#[from] SubstrateError),
    /// The repository failed in passing.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// An artifact of ours that breaks its own schema, or a link that leads nowhere.
    #[error("{0}")]
    Broken(String),
}

impl WorkerError {
    /// Tells whether the fault is of one resource: it is counted against that one, and the others go on (W-7).
    pub(crate) fn is_of_one_resource(&self) -> bool {
        match self {
            Self::Repository(_) | Self::Broken(_) => true,
            Self::Store(error) => matches!(
                error,
                SubstrateError::Invalid(_)
                    | SubstrateError::Transition(_)
                    | SubstrateError::Refused { .. }
                    | SubstrateError::Malformed(_)
                    | SubstrateError::Corrupt(_)
            ),
        }
    }
}

impl From<azolla_protocol::ValidationError> for WorkerError {
    fn from(error: azolla_protocol::ValidationError) -> Self {
        Self::Store(error.into())
    }
}

impl WorkerContext {
    /// Returns the read half of the store.
    pub fn read(&self) -> &dyn SubstrateRead {
        &*self.substrate
    }

    /// Returns a fresh id for a commit (R6).
    pub(crate) fn commit_id(&self) -> CommitId {
        CommitId::from_body(&self.ids.body())
    }

    /// Tells the watcher what is under way.
    pub(crate) fn show(&self, objective_id: &ObjectiveId, step: impl Into<String>, limit: Option<Duration>) {
        self.show_detail(objective_id, step, None, limit);
    }

    /// Tells the watcher what is wrong with the azolla, whatever it works on.
    pub(crate) fn show_fault(&self, what: String) {
        (self.watcher)(&Activity {
            azolla_id: self.identity.azolla_id.clone(),
            objective_id: None,
            step: what,
            detail: None,
            limit: None,
        });
    }

    /// Tells the watcher how far a step is.
    pub(crate) fn show_detail(
        &self,
        objective_id: &ObjectiveId,
        step: impl Into<String>,
        detail: Option<&str>,
        limit: Option<Duration>,
    ) {
        (self.watcher)(&Activity {
            azolla_id: self.identity.azolla_id.clone(),
            objective_id: Some(objective_id.clone()),
            step: step.into(),
            detail: detail.map(str::to_owned),
            limit,
        });
    }

    /// Runs work that holds no claim, unless the process is asked to end first: then it is dropped.
    pub(crate) async fn unless_stopping<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut stopping = self.stopping.clone();
        tokio::select! {
            biased;
            done = work => Some(done),
            Ok(_) = stopping.wait_for(|stopping| *stopping) => None,
        }
    }

    /// Returns how long a resource that failed in passing still waits, here or in another process: each would otherwise try it
    /// at once, and one outage would use up all that W-7 counts. What is given up is not tried again elsewhere.
    pub(crate) async fn backs_off(
        &self,
        resource: &ResourceRef,
        claim_count: u64,
    ) -> Result<Option<Duration>, SubstrateError> {
        let here = self.backoff.wait(resource);
        let is_tried_again = (1..self.settings.claims_without_outcome_max).contains(&claim_count);
        if !is_tried_again || self.read().unreleased_claim(resource).await?.is_some() {
            // Who died of it, or has it, gave nothing back.
            return Ok(here);
        }
        let Some(claim) = self.read().claim(resource).await? else { return Ok(here) };
        let now = self.read().now().await?;
        // One in the future is of a clock that was ahead.
        let there = (claim.heartbeat_at <= now)
            .then(|| Backoff::after(claim_count).saturating_sub(between(claim.heartbeat_at, now)))
            .filter(|wait| !wait.is_zero());
        Ok(here.max(there))
    }

    /// Tells whether what ends a resource goes ahead of its wait. An ending that failed itself waits like everything else:
    /// it would be tried without a pause otherwise, for its release is a change that wakes whoever waits.
    pub(crate) fn may_end_at_once(&self, claim_count: u64) -> bool {
        claim_count <= self.settings.claims_without_outcome_max
    }

    /// Returns how long to wait for a claim that was refused. One that nobody holds any more was given back meanwhile, or its
    /// resource is closed: the next look tells, and until then this is not idle.
    pub(crate) async fn refused_for(
        &self,
        resource: &ResourceRef,
        objective_id: Option<&ObjectiveId>,
    ) -> Result<Option<Duration>, SubstrateError> {
        const LOOK_AGAIN: Duration = Duration::from_millis(200);
        if let Some(left) = self.held_for(resource, objective_id).await? {
            return Ok(Some(left));
        }
        // Nobody gets it any more at its last version (T38).
        let is_free = |claim: ClaimRecord| claim.claim_version < ClaimRecord::VERSION_LAST;
        Ok(self.read().claim(resource).await?.is_none_or(is_free).then_some(LOOK_AGAIN))
    }

    /// Returns how long the claim on `resource` still holds, if anybody holds it, and shows that it is waited for.
    pub(crate) async fn held_for(
        &self,
        resource: &ResourceRef,
        objective_id: Option<&ObjectiveId>,
    ) -> Result<Option<Duration>, SubstrateError> {
        let Some(claim) = self.read().unreleased_claim(resource).await? else { return Ok(None) };
        let now = self.read().now().await?;
        let mut left = between(now, claim.lease_expires_at);
        if left.is_zero() {
            return Ok(None);
        }
        if claim.heartbeat_at > now {
            // A clock that was ahead wrote it. Whoever holds it and is alive renews it, by the clock as it is now.
            left = left.min(self.backoff.watch(&claim));
            if left.is_zero() {
                self.substrate.expire_claim(&claim).await?;
            }
        }
        if let Some(id) = objective_id
            && claim.owner_id != self.owner_id
        {
            self.show(id, "waiting for another run that has it, or had it and died", Some(left));
        }
        Ok(Some(left))
    }
}

/// Returns the time from `from` to `to`; zero if that is backwards.
pub(crate) fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(to.as_millisecond() - from.as_millisecond()).unwrap_or(0))
}

/// What failed in passing, and when it is worth another look. Waits grow fast: W-7 counts every look, and an outage of
/// a minute or two should not use them up (PF-3b).
#[derive(Debug, Default)]
pub struct Backoff {
    waits: Mutex<HashMap<String, (u32, Instant)>>,
    /// Claims with a heartbeat in the future: which one, and since when it stands still.
    watched: Mutex<HashMap<String, (u64, Timestamp, Instant)>>,
    /// What this process made, or has looked at and lived.
    known: Mutex<HashSet<String>>,
    /// When a worker that looks at its own pace last looked.
    looked: Mutex<HashMap<WorkerRole, Instant>>,
}

impl Backoff {
    const FIRST: Duration = Duration::from_secs(10);
    const LAST: Duration = Duration::from_secs(300);
    /// The longest lease (C-7): who has not renewed for so long is gone.
    const LEASE_MAX: Duration = Duration::from_millis(limits::LEASE_MS.maximum.expect("a lease has an end"));

    /// Returns how long `resource` still waits; none if it does not.
    pub(crate) fn wait(&self, resource: &ResourceRef) -> Option<Duration> {
        let waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, until) = waits.get(&resource.resource_id)?;
        let left = until.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// Notes one more failure and returns how long to wait.
    pub(crate) fn failed(&self, resource: &ResourceRef) -> Duration {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = waits.entry(resource.resource_id.clone()).or_insert((0, Instant::now()));
        let failures = entry.0.saturating_add(1);
        let wait = Self::after(failures.into());
        *entry = (failures, Instant::now() + wait);
        wait
    }

    /// Returns how long to wait after so many failures.
    fn after(failures: u64) -> Duration {
        Self::FIRST.saturating_mul(1 << (2 * failures.saturating_sub(1).min(5))).min(Self::LAST)
    }

    /// Returns how long a claim that nobody renews is still believed.
    fn watch(&self, claim: &ClaimRecord) -> Duration {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = (claim.claim_version, claim.heartbeat_at);
        let entry = watched.entry(claim.resource_id.clone()).or_insert((seen.0, seen.1, Instant::now()));
        if (entry.0, entry.1) != seen {
            *entry = (seen.0, seen.1, Instant::now());
        }
        Self::LEASE_MAX.saturating_sub(entry.2.elapsed())
    }

    /// Tells whether a worker that looks at its own pace is to look now: it has not yet, or not for so long.
    pub(crate) fn is_due(&self, role: WorkerRole, every: Duration) -> bool {
        let looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        looked.get(&role).is_none_or(|at| at.elapsed() >= every)
    }

    /// Notes that it has looked.
    pub(crate) fn looked(&self, role: WorkerRole) {
        self.looked.lock().unwrap_or_else(PoisonError::into_inner).insert(role, Instant::now());
    }

    /// Tells whether this process made a resource or has looked at it: who was before it has not died of that (W-7).
    pub(crate) fn knows(&self, resource: &ResourceRef) -> bool {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).contains(&resource.resource_id)
    }

    /// Notes that this process made a resource, or has looked at it.
    pub(crate) fn know(&self, resource: &ResourceRef) {
        /// What others take on stays here; whatever is forgotten is claimed first, which is only slower.
        const KNOWN_MAX: usize = 10_000;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(resource.resource_id.clone());
    }

    /// Notes that a commit may never get through: from here on it is claimed first, which counts each try (W-7), and it waits.
    pub(crate) fn never_got_through(&self, resource: &ResourceRef) {
        self.failed(resource);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&resource.resource_id);
    }

    /// Forgets a resource that moved.
    pub(crate) fn moved(&self, resource: &ResourceRef) {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner).remove(&resource.resource_id);
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).remove(&resource.resource_id);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&resource.resource_id);
    }
}

#[cfg(test)]
mod tests;
