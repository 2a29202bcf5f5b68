//! What has to hold after a trap sprang and everything came to rest: all invariants, nothing left open, nothing lost that
//! somebody was told of, and no branch but that of the latest patch that passed.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use azolla_control_plane::{
    Settings,
    verify::{Limits, left_to_do, patches},
};
use azolla_protocol::{AzollaType, CaptureId, CommitId, EventId, GateResult, ObjectiveId, ObjectiveStatus};
use azolla_substrate::{Finding, ObjectiveFilter, StoredObjective, SubstrateRead, verify};
use tokio::{runtime::Handle, task::spawn_blocking};

use super::{
    ground::{Ground, run_git},
    place::ROOM,
};

/// What a process told somebody, and therefore has to be there (invariant 13).
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Lines of the form `kind store id`.
    pub(super) ids: Vec<String>,
}

/// Checks everything that has to hold at rest. `may_be_by_hand` says whether publishing may have failed this time.
pub(super) async fn check(ground: &mut Ground, told: &Told, may_be_by_hand: bool) -> anyhow::Result<()> {
    for (which, store) in [("patch", &ground.patch), ("tasks", &ground.tasks)] {
        let findings = verify(store.read()).await?;
        ensure!(findings.is_empty(), "{which}: {findings:?}");
    }
    if let Some(open) = unrest(ground).await? {
        anyhow::bail!("left to do: {open:?}");
    }
    for line in &told.ids {
        ensure!(is_there(ground, line).await?, "{line} was told of and is not there (invariant 13)");
    }
    branches(ground, may_be_by_hand).await
}

/// Rebuilds every patch (invariant 11).
pub(super) async fn check_patches(ground: &Ground) -> anyhow::Result<()> {
    let findings = patches(ground.patch.read(), &ground.place.repository()?, |_| {}).await?;
    ensure!(findings.is_empty(), "{findings:?}");
    Ok(())
}

/// Returns what is left to do, if anything is that does not wait for the operator (invariant 12).
pub(super) async fn unrest(ground: &Ground) -> anyhow::Result<Option<Finding>> {
    for (azolla_type, store) in
        [(AzollaType::CodePatch, &ground.patch), (AzollaType::TaskMgmt, &ground.tasks)]
    {
        let (store, runtime) = (store.clone(), Handle::current());
        // On a thread of its own: what tells whether work is held back is not made to be passed between threads.
        let look = move || {
            let attempts_max = Settings::of(azolla_type).attempts_max;
            let limits = Limits { room: ROOM, attempts_max, is_held_back: &|_| false };
            runtime.block_on(left_to_do(store.read(), &limits))
        };
        if let Some(left) = spawn_blocking(look).await??.pop() {
            return Ok(Some(left));
        }
    }
    Ok(None)
}

async fn is_there(ground: &Ground, line: &str) -> anyhow::Result<bool> {
    let parts: Vec<&str> = line.split(' ').collect();
    let [kind, which, id] = parts[..] else { anyhow::bail!("{line} is not understood") };
    let read = match which {
        "patch" => ground.patch.read(),
        _ => ground.tasks.read(),
    };
    Ok(match kind {
        "objective" => read.objective(&ObjectiveId::new(id)?).await?.is_some(),
        "capture" => read.capture(&CaptureId::new(id)?).await?.is_some(),
        "event" => read.event(&EventId::new(id)?).await?.is_some(),
        "commit" => read.is_committed(&CommitId::new(id)?).await?,
        _ => anyhow::bail!("{line} is not understood"),
    })
}

/// The operator's repository has its own branch as it was, and for every objective whose latest patch passed the branch at
/// that very patch: nobody who had lost a claim published anything else, or moved one back.
async fn branches(ground: &mut Ground, may_be_by_hand: bool) -> anyhow::Result<()> {
    let listed =
        run_git(&ground.place.origin(), &["for-each-ref", "--format=%(refname) %(objectname)", "refs/"], "")?;
    let mut refs: BTreeMap<&str, &str> = listed.lines().filter_map(|line| line.split_once(' ')).collect();
    let main = refs.remove("refs/heads/main").context("the operator's branch is gone")?;
    ensure!(main == ground.main, "the operator's branch moved to {main}");
    for stored in all_objectives(ground.patch.read()).await? {
        let id = stored.objective.objective_id;
        let runs = ground.patch.read().runs_of(&id).await?;
        let passed = runs.iter().rev().find(|run| run.gate_result == GateResult::Pass);
        let Some(passed) = passed else { continue };
        let branch = refs.remove(format!("refs/heads/azolla/{id}").as_str());
        match (branch, passed.commit_sha.as_deref()) {
            (Some(branch), Some(commit)) if branch == commit => {}
            (None, Some(_)) if may_be_by_hand || ground.by_hand.contains(&id) => {
                ground.by_hand.insert(id.clone());
            }
            (branch, commit) => anyhow::bail!("{id} passed with {commit:?}, and its branch is at {branch:?}"),
        }
        ensure!(
            stored.objective.status != ObjectiveStatus::InProgress,
            "{id} is IN_PROGRESS with nothing to do"
        );
    }
    ensure!(refs.is_empty(), "published without a patch that passed: {refs:?}");
    Ok(())
}

async fn all_objectives(read: &dyn SubstrateRead) -> anyhow::Result<Vec<StoredObjective>> {
    let mut filter = ObjectiveFilter { status: None, max_urgency: 4, after: None, limit: 100 };
    let mut all = Vec::new();
    loop {
        let page = read.objectives(&filter).await?;
        let Some(last) = page.last() else { return Ok(all) };
        filter.after = Some(Box::new(last.objective.clone()));
        all.extend(page);
    }
}
