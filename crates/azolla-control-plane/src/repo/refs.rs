//! Refs of the mirror, read as files, and the fence that they are: which attempt of an objective is the latest (G-1).
//!
//! An attempt is kept at `refs/azolla/attempts/<work_order_id>/<claim_version>`, before or together with the branch, so
//! what is kept here tells which attempts have been projected. The id of a workorder ends with the number of its
//! objective's entry into TODO (W-1).

use std::fs;

use azolla_protocol::{ObjectiveId, RunRecord};

use super::{
    Attempt,
    mirror::{Mirror, is_object_id},
};

/// Where attempts are kept.
pub(super) const ATTEMPTS: &str = "refs/azolla/attempts";

impl Attempt {
    /// Returns the number of the entry that this attempt is of. An id that has none is before all others: it replaces
    /// nothing.
    pub fn entry(&self) -> u64 {
        entry(&self.objective_id, self.work_order_id.as_str()).unwrap_or(0)
    }

    /// Returns the commits of the attempts before this one, of all runs of the objective.
    pub(crate) fn earlier(&self, runs: Vec<RunRecord>) -> Vec<String> {
        let entry_of = |run: &RunRecord| entry(&self.objective_id, run.work_order_id.as_str());
        let earlier = runs.into_iter().filter(|run| entry_of(run).is_some_and(|entry| entry < self.entry()));
        earlier.filter_map(|run| run.commit_sha).collect()
    }
}

impl Mirror {
    /// Returns the commit that a ref points to.
    pub(super) fn read_ref(&self, name: &str) -> Option<String> {
        let loose = fs::read_to_string(self.git_dir().join(name)).ok();
        let id = loose.map(|text| text.trim_end().to_owned()).filter(|text| is_object_id(text));
        id.or_else(|| self.packed().into_iter().find_map(|(packed, id)| (packed == name).then_some(id)))
    }

    /// Tells whether an attempt is kept with this commit, under any claim.
    pub(super) fn keeps(&self, attempt: &Attempt, commit: &str) -> bool {
        let kept = self.kept(&attempt.objective_id);
        kept.iter().any(|(entry, id)| *entry == attempt.entry() && id == commit)
    }

    /// Returns the latest entry of an objective of which an attempt is kept.
    pub(super) fn latest_entry(&self, objective: &ObjectiveId) -> Option<u64> {
        self.kept(objective).into_iter().map(|(entry, _)| entry).max()
    }

    /// Returns the entry of an objective of which a commit is an attempt that is kept.
    pub(super) fn entry_of(&self, objective: &ObjectiveId, commit: &str) -> Option<u64> {
        let kept = self.kept(objective).into_iter();
        kept.filter(|(_, id)| id == commit).map(|(entry, _)| entry).max()
    }

    /// Returns the attempts of an objective that are kept: entry and commit.
    fn kept(&self, objective: &ObjectiveId) -> Vec<(u64, String)> {
        let below = |path| fs::read_dir(path).into_iter().flatten().flatten();
        let mut kept = Vec::new();
        for workorder in below(self.git_dir().join(ATTEMPTS)) {
            let Some(entry) = workorder.file_name().to_str().and_then(|id| entry(objective, id)) else {
                continue;
            };
            let ids = below(workorder.path()).filter_map(|claim| fs::read_to_string(claim.path()).ok());
            kept.extend(ids.map(|id| (entry, id.trim_end().to_owned())).filter(|(_, id)| is_object_id(id)));
        }
        kept.extend(self.packed().into_iter().filter_map(|(name, id)| {
            let (workorder, _) = name.strip_prefix(ATTEMPTS)?.strip_prefix('/')?.split_once('/')?;
            Some((entry(objective, workorder)?, id))
        }));
        kept
    }

    /// Returns the refs that are in one file. We never put them there; a `git gc` by hand does.
    fn packed(&self) -> Vec<(String, String)> {
        let text = fs::read_to_string(self.git_dir().join("packed-refs")).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.filter(|(id, _)| is_object_id(id)).map(|(id, name)| (name.to_owned(), id.to_owned())).collect()
    }
}

/// Returns the entry of a workorder of this objective: `wo-<body of the objective>-<entry>`.
fn entry(objective: &ObjectiveId, work_order_id: &str) -> Option<u64> {
    let number = work_order_id.strip_prefix("wo-")?.strip_prefix(objective.body())?.strip_prefix('-')?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())?
}

#[cfg(test)]
mod tests;
