//! A history, commit by commit: its message as the objective, its parent as the repository, what it changed as the answer.

use std::{path::Path, time::Instant};

use anyhow::Context;
use azolla_control_plane::{
    repo::{GitRepository, GitSettings, PatchLimits, Repository},
    snapshot::{
        patch::{self, PatchInputs},
        survey::survey,
    },
};
use azolla_protocol::{
    AnswerForm, EventId, JsonObject, Objective, ObjectiveId, ObjectiveStatus, ObjectiveType, Timestamp,
    limits,
};
use azolla_substrate::StoredObjective;
use azolla_testkit::store::identity;

use crate::{
    baseline,
    git::Git,
    recall::{Fix, LIMITS, Recall},
};

/// A commit that changes more files than this is no fix.
const CHANGED_MAX: usize = 12;

/// What of a message is the objective.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    /// All of it: a title, then criteria.
    Whole,
    /// Its first line: what follows often explains the change in the words of the change.
    Subject,
}

/// Measures every commit but the first on the branch that is checked out.
pub(crate) async fn measure(
    git: &Git,
    origin: &Path,
    place: &Path,
    message: Message,
) -> anyhow::Result<Recall> {
    let branch =
        git.run(origin, ["symbolic-ref", "--short", "HEAD"], b"").context("no branch is checked out")?;
    let repository = GitRepository::open(GitSettings {
        repo: origin.to_string_lossy().into_owned(),
        mirror: place.join("mirror.git"),
        scratch: place.join("scratch"),
        git: git.program().to_owned(),
        limits: PatchLimits::default(),
    })?;
    repository.base(&branch).await?;
    let mut recall = Recall::default();
    for mut commit in commits(git, origin, &branch)? {
        if message == Message::Subject {
            commit.criteria.clear();
        }
        let changed = commit.changed_files(git, origin)?;
        if !changed.is_empty() && changed.len() <= CHANGED_MAX {
            recall.push(fix(&repository, &commit, changed).await?);
        }
    }
    Ok(recall)
}

struct Commit {
    id: String,
    parent: String,
    title: String,
    criteria: String,
}

fn commits(git: &Git, origin: &Path, branch: &str) -> anyhow::Result<Vec<Commit>> {
    let format = "--format=%H%x1f%P%x1f%s%x1f%b%x1e";
    let log =
        git.run(origin, ["log", "--no-merges", "--min-parents=1", "--reverse", format, branch, "--"], b"")?;
    let commit = |text: &str| {
        let mut fields = text.trim_start().split('\u{1f}').map(str::to_owned);
        let mut next = || fields.next().context("git log prints four fields");
        Ok(Commit { id: next()?, parent: next()?, title: next()?, criteria: next()? })
    };
    log.split('\u{1e}').filter(|text| !text.trim().is_empty()).map(commit).collect()
}

impl Commit {
    /// Returns the files that it changed or removed: those that a prompt could have shown.
    fn changed_files(&self, git: &Git, origin: &Path) -> anyhow::Result<Vec<String>> {
        let arguments = ["diff-tree", "-r", "-z", "--no-renames", "--diff-filter=MD", "--name-only"];
        let names = git.run(origin, arguments.into_iter().chain([self.parent.as_str(), &self.id]), b"")?;
        Ok(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }
}

async fn fix(repository: &GitRepository, commit: &Commit, changed: Vec<String>) -> anyhow::Result<Fix> {
    let stored = stored(commit)?;
    let start = Instant::now();
    let survey = survey(repository, &commit.parent, patch::query(&stored, &[])).await?;
    let survey_ms = start.elapsed().as_secs_f64() * 1e3;
    let event_id = EventId::new("evt-bench-1")?;
    let mut shown = Vec::new();
    for share in LIMITS {
        let inputs = PatchInputs {
            event_id: &event_id,
            stored: &stored,
            commit: &commit.parent,
            base_branch: "main",
            survey: &survey,
            earlier: &[],
            form: AnswerForm::SearchReplace,
            prompt_bytes: limits::PROMPT_BYTES.default,
            repository_bytes: limits::PROMPT_REPOSITORY_BYTES.default / share,
        };
        let snapshot = patch::build(&inputs, stored.objective.created_at)?;
        let included = snapshot.metadata.as_ref().and_then(|metadata| metadata.get("included")?.as_array());
        let included = included.into_iter().flatten().filter_map(|file| file["path"].as_str());
        shown.push(included.map(str::to_owned).collect());
    }
    let entries = &survey.description.entries;
    let paths: Vec<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
    let order = |places: Vec<usize>| places.into_iter().map(|n| paths[n].to_owned()).collect();
    let words = format!("{}\n{}", commit.title, commit.criteria);
    Ok(Fix {
        title: commit.title.clone(),
        ranked: order(survey.ranking.files.iter().map(|ranked| ranked.entry).collect()),
        alphabetical: order(baseline::alphabetical(&paths)),
        path_names: order(baseline::path_names(&words, &paths)),
        changed,
        shown,
        survey_ms,
    })
}

fn stored(commit: &Commit) -> anyhow::Result<StoredObjective> {
    let now: Timestamp = "2026-01-01T00:00:00.000Z".parse()?;
    let objective = Objective {
        objective_id: ObjectiveId::new("obj-bench")?,
        azolla_id: identity(azolla_protocol::AzollaType::CodePatch).azolla_id,
        title: commit.title.clone(),
        acceptance_criteria: commit.criteria.clone(),
        objective_type: ObjectiveType::Ticket,
        status: ObjectiveStatus::Todo,
        importance: 2,
        urgency: 2,
        blocked_reason: None,
        blocked_on: Vec::new(),
        metadata: JsonObject::new(),
        created_at: now,
        updated_at: now,
    };
    Ok(StoredObjective { objective, version: 1, todo_entry: 1, waiting: false, pause_key: None })
}
