//! What the roles of an azolla work with, made from the configuration.

mod providers;

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context;
use azolla_control_plane::{
    Activity, Flow, Overheard, PatchFlow, RepositoryFile as Judged, RepositoryFileReader, RepositorySettings,
    Settings, TaskMgmtFlow, WorkerContext, checks::Check, repo::RepositoryError, sandbox::SandboxSettings,
    spending::Ledger,
};
use azolla_diazotroph::provider::{BuiltinProvider, CommandProvider};
use azolla_protocol::{
    AzollaId, AzollaType, Diazotroph, IdSource, LeaseLength, ObjectiveId, OwnerId, limits,
};
use azolla_substrate::{StreamRoom, SystemClock, SystemIds};
use tokio::sync::watch;

use crate::{
    config::{AzollaConfig, CheckConfig, RepositoryFile},
    deployment::{Deployment, STANDING, identity},
    home::Home,
    ledger::HomeLedger,
    peers::RegistryPeers,
    screen::quoted,
    stores::Stores,
    targets::LocalTargets,
};

pub(crate) use providers::{Made, make, provider};

/// Told what is under way.
pub(crate) type Watcher = Arc<dyn Fn(&Activity) + Send + Sync>;

/// Puts together what the roles of an azolla need.
pub(crate) async fn context(
    deployment: &Arc<Deployment>,
    azolla: &AzollaConfig,
    watcher: Watcher,
    stopping: watch::Receiver<bool>,
) -> anyhow::Result<WorkerContext> {
    // What cannot be removed now is there for the next one.
    let _ = CommandProvider::sweep(&deployment.place.state());
    let ids = Arc::new(SystemIds::default());
    Ok(WorkerContext {
        flow: match azolla.azolla_type {
            AzollaType::CodePatch => Flow::Patch(patch(deployment, azolla)?),
            AzollaType::TaskMgmt => Flow::TaskMgmt(task_mgmt(deployment, azolla)?),
        },
        substrate: deployment.open(azolla).await?,
        identity: identity(azolla),
        owner_id: OwnerId::from_body(&ids.body()),
        ids,
        ledger: ledger(deployment),
        settings: settings(deployment, azolla)?,
        watcher,
        stopping,
        backoff: Default::default(),
        overheard: Overheard::default(),
    })
}

fn patch(deployment: &Deployment, azolla: &AzollaConfig) -> anyhow::Result<PatchFlow> {
    let name = deployment.provider_name(azolla)?;
    let repository = deployment.repository(azolla)?;
    // What a killed run left behind.
    repository.sweep();
    let repo_ref = azolla.repo.clone().with_context(|| format!("{} has no repository", azolla.id))?;
    Ok(PatchFlow {
        repository: Arc::new(repository),
        repository_file: Arc::new(PinnedFile {
            home: deployment.place.home_store(),
            azolla_id: azolla.id.clone(),
            repo: repo_ref.clone(),
            own_base: azolla.base_branch.clone().unwrap_or_default(),
            check_ms: deployment.config.limits.get(&limits::CHECK_MS),
        }),
        repo_ref,
        diazotroph: provider(deployment, name)?,
    })
}

fn task_mgmt(deployment: &Arc<Deployment>, azolla: &AzollaConfig) -> anyhow::Result<TaskMgmtFlow> {
    let answering = |name: &Option<String>| match name {
        Some(name) => provider(deployment, name),
        None => Ok(Arc::new(BuiltinProvider) as Arc<dyn Diazotroph>),
    };
    let stores = Arc::new(Stores::new(deployment.clone()));
    Ok(TaskMgmtFlow {
        standing: ObjectiveId::new(STANDING)?,
        triage: answering(&azolla.triage_provider)?,
        manifest: answering(&azolla.manifest_provider)?,
        peers: Arc::new(RegistryPeers::new(deployment, stores, azolla)),
        targets: Arc::new(LocalTargets::new(deployment)),
    })
}

/// Returns the machine's account of what is spent.
pub(crate) fn ledger(deployment: &Deployment) -> Arc<dyn Ledger> {
    let (path, caps) = (deployment.place.home_store(), deployment.config.limits.clone());
    Arc::new(HomeLedger::new(path, caps, Arc::new(SystemClock)))
}

fn settings(deployment: &Deployment, azolla: &AzollaConfig) -> anyhow::Result<Settings> {
    let limit = |limit| deployment.config.limits.get(limit);
    let check_ms = limit(&limits::CHECK_MS);
    Ok(Settings {
        lease: LeaseLength::new(limit(&limits::LEASE_MS))?,
        room: StreamRoom {
            max_concurrent: azolla.max_concurrent,
            review_limit: limit(&limits::REVIEW_LIMIT),
        },
        budget_patch_ms: limit(&limits::BUDGET_PATCH_MS),
        budget_triage_ms: limit(&limits::BUDGET_TRIAGE_MS),
        budget_manifest_ms: limit(&limits::BUDGET_MANIFEST_MS),
        triage_batch: limit(&limits::TRIAGE_BATCH),
        manifest_every: azolla.manifest_every,
        peer_query: Duration::from_millis(limit(&limits::PEER_QUERY_MS)),
        deadlines: deployment.config.deadlines,
        attempts_max: limit(&limits::ATTEMPTS_MAX),
        claims_without_outcome_max: limit(&limits::CLAIMS_WITHOUT_OUTCOME_MAX),
        prompt_bytes: limit(&limits::PROMPT_BYTES),
        prompt_repository_bytes: limit(&limits::PROMPT_REPOSITORY_BYTES),
        checks: azolla.checks.iter().map(|check| made(check, check_ms, u64::MAX)).collect(),
        check_environment: passed(CHECK_VARIABLES.iter().copied()),
        sandbox: sandbox(deployment, azolla),
        ..Settings::of(azolla.azolla_type)
    })
}

/// Returns what checks can reach: also the files that the operator's own name, such as a script.
fn sandbox(deployment: &Deployment, azolla: &AzollaConfig) -> SandboxSettings {
    let mut sandbox = deployment.config.sandbox.clone();
    sandbox.read.extend(azolla.checks.iter().flat_map(|check| named(&check.command)));
    sandbox
}

/// Returns the files that a command line names: `sh /home/me/agent.sh` has to find its script.
fn named(argv: &[String]) -> impl Iterator<Item = PathBuf> {
    let words = argv.iter().skip(1).map(PathBuf::from);
    words.filter(|path| path.is_absolute() && path.is_file())
}

/// What a check sees of the operator's environment: enough for toolchains, and no secret.
const CHECK_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
];

fn passed<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<OsString, OsString> {
    names.filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect()
}

/// Makes a check; a limit that is not its owner's to raise takes the smaller value.
fn made(check: &CheckConfig, default_ms: u64, most_ms: u64) -> Check {
    let time_ms = check.time_ms.unwrap_or(default_ms).min(most_ms);
    Check { name: check.name.clone(), command: check.command.clone(), time_ms }
}

/// Judges `.azolla.toml` by the bytes that the operator pinned.
struct PinnedFile {
    home: PathBuf,
    azolla_id: AzollaId,
    repo: String,
    own_base: String,
    check_ms: u64,
}

impl RepositoryFileReader for PinnedFile {
    fn read(&self, bytes: &[u8], base_branch: &str) -> Result<Judged, RepositoryError> {
        // Looked up each time: the operator may pin it while this runs.
        let is_pinned = Home::open(&self.home).and_then(|home| home.is_pinned(&self.repo, bytes));
        match is_pinned {
            Ok(true) => {}
            Ok(false) => {
                let id = &self.azolla_id;
                let mut action =
                    format!("Read and trust the repository's .azolla.toml: azolla trust --azolla {id}");
                if base_branch != self.own_base {
                    action += &format!(" --base {}", quoted(base_branch));
                }
                return Ok(Judged::Untrusted { action });
            }
            // Nobody can say whether it is pinned: that may pass, and is no fault of the file.
            Err(error) => {
                return Err(RepositoryError::Unavailable(format!("{:#}", anyhow::Error::from(error))));
            }
        }
        Ok(match RepositoryFile::parse(bytes) {
            Ok(file) => Judged::Trusted(RepositorySettings {
                checks: file.checks.iter().map(|check| made(check, self.check_ms, self.check_ms)).collect(),
                budget_ms: file.budget_ms,
            }),
            Err(problem) => Judged::Invalid { reason: problem.what },
        })
    }
}
