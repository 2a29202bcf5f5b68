//! The ground of a walk: two new azollas with their stores and a git repository, and somebody clean who completes what a
//! process with a trap left behind.

use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, ensure};
use azolla_control_plane::poll::{self, Until};
use azolla_protocol::{Actor, AzollaType, CommitId, IdSource, ObjectiveId, ObjectiveStep, OwnerId};
use azolla_substrate::{Commit, JournalCursor, Opening, Substrate, SystemIds, Write};
use tempfile::TempDir;
use tokio::{sync::watch, time::timeout};

use super::{
    check,
    place::{Parts, Place, git, whose},
};
use crate::{
    Answer, Backend, ScriptedDiazotroph,
    cycle::valid,
    peers::{PeerAnswer, ScriptedPeers},
    postgres::{TestDatabase, fresh_database},
    proxy::{Proxy, Upstream},
    task_world::{one_action, one_candidate_each, standing},
};

/// How long it may take until nothing is left to do.
const REST_LIMIT: Duration = Duration::from_secs(60);

/// The ground.
pub(super) struct Ground {
    pub(super) place: Place,
    pub(super) patch: Arc<dyn Substrate>,
    pub(super) tasks: Arc<dyn Substrate>,
    /// Where the operator's branch was at the beginning, and has to be at the end.
    pub(super) main: String,
    /// Objectives that passed while publishing failed: their branch is for the operator to set.
    pub(super) by_hand: BTreeSet<ObjectiveId>,
    /// In front of the database: the way of a process whose connection is to be cut.
    pub(super) proxy: Option<Proxy>,
    // Dropped after the stores: they are in there.
    _database: Option<TestDatabase>,
    _directory: TempDir,
}

impl Ground {
    /// Makes new azollas.
    pub(super) async fn new(backend: Backend) -> anyhow::Result<Self> {
        // In memory where the system has such a place: what a kill leaves is the same.
        let directory = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new())?;
        let database = match backend {
            Backend::Sqlite => None,
            Backend::Postgres => Some(fresh_database().await?),
        };
        let url = database.as_ref().map(|database| database.url().to_owned());
        let place = Place { root: directory.path().to_owned(), database: url };
        let main = make_origin(&place.origin())?;
        let open = async |azolla_type| place.open(azolla_type, Opening::OrCreate(whose(azolla_type))).await;
        let (patch, tasks) = (open(AzollaType::CodePatch).await?, open(AzollaType::TaskMgmt).await?);
        let objective = valid(standing(tasks.read().now().await?));
        let write = Write::InsertObjective { objective, step: ObjectiveStep::OpenStanding };
        let commit_id = CommitId::from_body(&SystemIds::default().body());
        tasks.commit(Commit::new(commit_id, Actor::Init).with(write)).await?;
        let proxy = match &place.database {
            Some(url) => Some(Proxy::start(Upstream::of(url)?).await?),
            None => None,
        };
        let by_hand = BTreeSet::new();
        Ok(Self { place, patch, tasks, main, by_hand, proxy, _database: database, _directory: directory })
    }

    /// Completes what is left to do, as a process that has just been started.
    pub(super) async fn drain(&self) -> anyhow::Result<()> {
        let (parts, stop) = (clean_parts(&self.place)?, watch::channel(false).0);
        let contexts = vec![
            Arc::new(parts.context(AzollaType::CodePatch, self.patch.clone(), &stop)),
            Arc::new(parts.context(AzollaType::TaskMgmt, self.tasks.clone(), &stop)),
        ];
        let ran = timeout(REST_LIMIT, poll::run(contexts, Until::Idle, &stop)).await;
        ran.context("whoever came after does not come to an end")?.context("whoever came after")
    }

    /// Waits until a rival has nothing left to do: two looks in a row find nothing, and nothing was written from the first
    /// to the second. One look alone reads one thing after the other, and what moves meanwhile it may miss.
    pub(super) async fn settle(&self) -> anyhow::Result<()> {
        const LOOK_EVERY: Duration = Duration::from_millis(100);
        let mut changes = self.patch.changes();
        let rested = async {
            let mut quiet_since = None;
            loop {
                let written = self.written().await?;
                if check::unrest(self).await?.is_some() {
                    quiet_since = None;
                } else if quiet_since.replace(written) == Some(written) {
                    return anyhow::Ok(());
                }
                // Either store may be the one that moves.
                let _ = timeout(LOOK_EVERY, changes.changed()).await;
            }
        };
        match timeout(REST_LIMIT, rested).await {
            Ok(rested) => rested,
            Err(_) => anyhow::bail!("it does not come to rest: {:?}", check::unrest(self).await?),
        }
    }

    /// Returns how far both journals are.
    async fn written(&self) -> anyhow::Result<[Option<JournalCursor>; 2]> {
        let mut written = [None; 2];
        for (at, store) in written.iter_mut().zip([&self.patch, &self.tasks]) {
            let newest = store.read().journal_latest(JournalCursor::default(), 1).await?;
            *at = newest.first().map(|(cursor, _)| *cursor);
        }
        Ok(written)
    }
}

/// What workers are given that nothing befalls.
pub(super) fn clean_parts(place: &Place) -> anyhow::Result<Parts> {
    let ids = Arc::new(SystemIds::default());
    let peers = Arc::<ScriptedPeers>::default();
    peers.register(super::peers::OTHER, PeerAnswer::empty());
    Ok(Parts {
        owner_id: OwnerId::from_body(&ids.body()),
        ids,
        repository: Arc::new(place.repository()?),
        repo_ref: place.repo_ref(),
        patch: Arc::new(ScriptedDiazotroph::patch()),
        triage: Arc::new(ScriptedDiazotroph::new([Answer::By(one_candidate_each)])),
        manifest: Arc::new(ScriptedDiazotroph::new([Answer::By(one_action)])),
        peers,
        roles: None,
        checks: Vec::new(),
        manifest_every: None,
    })
}

/// Makes the operator's repository, with one commit on `main`; returns that.
fn make_origin(path: &Path) -> anyhow::Result<String> {
    const STREAM: &str = "commit refs/heads/main\ncommitter points <points@localhost.invalid> 1700000000 +0000\n\
        data 5\nFiles\nM 100644 inline src/lib.rs\ndata 14\nvalue.trunc()\n\n";
    fs::create_dir(path)?;
    run_git(path, &["init", "--quiet", "--initial-branch=main", "."], "")?;
    run_git(path, &["fast-import", "--quiet"], STREAM)?;
    run_git(path, &["rev-parse", "refs/heads/main"], "")
}

/// Runs git in a repository of the walk, with nobody's configuration; returns what it printed.
#[expect(
    clippy::disallowed_methods,
    reason = "what the operator has is looked at without anything of azolla"
)]
pub(super) fn run_git(path: &Path, arguments: &[&str], input: &str) -> anyhow::Result<String> {
    let mut child = Command::new(git()?)
        .current_dir(path)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    child.stdin.take().context("git has an input")?.write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}
