//! Where the two azollas of a walk are: a directory with a git repository, and their stores, in it or in a database.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context;
use azolla_control_plane::{
    Flow, Overheard, PatchFlow, Settings, TaskMgmtFlow, WorkerContext,
    checks::Check,
    repo::{GitRepository, GitSettings, PatchLimits, Repository},
    sandbox::{SandboxMode, SandboxSettings},
};
use azolla_exchange_membrane::peers::Peers;
use azolla_protocol::{
    AzollaId, AzollaType, Diazotroph, IdSource, LeaseLength, ObjectiveId, OwnerId, WorkerRole,
};
use azolla_substrate::{
    Identity, Opening, PostgresSubstrate, SqliteSubstrate, StreamRoom, Substrate, SubstrateError, SystemClock,
};
use tokio::sync::watch;

use crate::{
    peers::ScriptedTargets,
    store::identity,
    task_world::STANDING,
    world::{NoCaps, TrustEverything},
};

/// How long a claim holds: long enough for a look of a busy machine, short enough to be waited for.
const LEASE_MS: u64 = 600;

/// One workorder at a time, however much waits for the operator.
pub(super) const ROOM: StreamRoom = StreamRoom { max_concurrent: 1, review_limit: 0 };

/// Where the azollas are.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The directory.
    pub(super) root: PathBuf,
    /// The address of the database; without one the stores are files.
    pub(super) database: Option<String>,
}

impl Place {
    /// Opens one of the two stores.
    pub(super) async fn open(
        &self,
        azolla_type: AzollaType,
        opening: Opening,
    ) -> Result<Arc<dyn Substrate>, SubstrateError> {
        let identity = whose(azolla_type);
        Ok(match &self.database {
            Some(url) => Arc::new(PostgresSubstrate::open(url, &identity.azolla_id, opening).await?),
            None => {
                let path = self.root.join(format!("{}.sqlite", identity.azolla_id));
                Arc::new(SqliteSubstrate::open(&path, opening, Arc::new(SystemClock)).await?)
            }
        })
    }

    /// Returns where the operator's repository is.
    pub(super) fn origin(&self) -> PathBuf {
        self.root.join("origin")
    }

    /// Returns how objectives name it.
    pub(super) fn repo_ref(&self) -> String {
        self.origin().display().to_string()
    }

    /// Opens it. All processes of a walk share its mirror.
    pub(super) fn repository(&self) -> anyhow::Result<GitRepository> {
        Ok(GitRepository::open(GitSettings {
            repo: self.repo_ref(),
            mirror: self.root.join("mirror.git"),
            scratch: self.root.join("scratch"),
            git: git()?,
            limits: PatchLimits::default(),
        })?)
    }
}

/// Finds git on the PATH.
pub(super) fn git() -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("PATH").context("there is no PATH")?;
    let mut places = std::env::split_paths(&path).map(|place| place.join("git"));
    places.find(|place| place.is_file()).context("git is not on the PATH")
}

/// Returns whose store it is: two azollas, one of each type.
pub(super) fn whose(azolla_type: AzollaType) -> Identity {
    match azolla_type {
        AzollaType::CodePatch => {
            Identity { azolla_id: AzollaId::new("az-patch").expect("an azolla id"), azolla_type }
        }
        AzollaType::TaskMgmt => identity(azolla_type),
    }
}

/// What the workers of both azollas are given.
pub(super) struct Parts {
    pub(super) owner_id: OwnerId,
    pub(super) ids: Arc<dyn IdSource>,
    pub(super) repository: Arc<dyn Repository>,
    pub(super) repo_ref: String,
    pub(super) patch: Arc<dyn Diazotroph>,
    pub(super) triage: Arc<dyn Diazotroph>,
    pub(super) manifest: Arc<dyn Diazotroph>,
    pub(super) peers: Arc<dyn Peers>,
    /// What differs from what is usual.
    pub(super) roles: Option<Vec<WorkerRole>>,
    pub(super) checks: Vec<Check>,
    pub(super) manifest_every: Option<Duration>,
}

impl Parts {
    /// Returns the context of one azolla's workers.
    pub(super) fn context(
        &self,
        azolla_type: AzollaType,
        substrate: Arc<dyn Substrate>,
        stop: &watch::Sender<bool>,
    ) -> WorkerContext {
        let flow = match azolla_type {
            AzollaType::CodePatch => Flow::Patch(PatchFlow {
                repository: self.repository.clone(),
                repo_ref: self.repo_ref.clone(),
                diazotroph: self.patch.clone(),
                repository_file: Arc::new(TrustEverything),
            }),
            AzollaType::TaskMgmt => Flow::TaskMgmt(TaskMgmtFlow {
                standing: ObjectiveId::new(STANDING).expect("an id"),
                triage: self.triage.clone(),
                manifest: self.manifest.clone(),
                peers: self.peers.clone(),
                targets: Arc::<ScriptedTargets>::default(),
            }),
        };
        let usual = Settings::of(azolla_type);
        let path = std::env::var_os("PATH").unwrap_or_default();
        WorkerContext {
            substrate,
            identity: whose(azolla_type),
            owner_id: self.owner_id.clone(),
            ids: self.ids.clone(),
            flow,
            ledger: Arc::new(NoCaps),
            settings: Settings {
                lease: LeaseLength::new(LEASE_MS).expect("a lease of that length"),
                room: ROOM,
                roles: self.roles.clone().unwrap_or_else(|| usual.roles.clone()),
                checks: self.checks.clone(),
                check_environment: [("PATH".into(), path)].into(),
                sandbox: SandboxSettings { mode: SandboxMode::Off, ..SandboxSettings::default() },
                manifest_every: self.manifest_every,
                ..usual
            },
            watcher: Arc::new(|_| {}),
            stopping: stop.subscribe(),
            backoff: Default::default(),
            overheard: Overheard::default(),
        }
    }
}
