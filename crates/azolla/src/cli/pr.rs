//! `azolla pr`: pushes the branch of a result that passed its gate, and opens or updates a pull request through `gh`.
//!
//! Nothing in a store changes, and nothing is merged. What is pushed is the commit that the gate passed, to one branch, and
//! only over nothing or over an earlier attempt of the same objective.

mod body;
mod gh;
mod git;
mod program;
mod target;

use std::{cell::Cell, path::Path, process::ExitCode};

use azolla_control_plane::{
    repo::{RepoRef, Repository, check_branch, check_repo_ref},
    snapshot::patch,
};
use azolla_protocol::{
    GateEvidence, GateResult, ObjectiveStatus, ObjectiveType, OutputBundle, PauseState, RunRecord,
};
use clap::Args;
use serde_json::json;
use tokio::sync::watch;

use self::{
    body::Body,
    gh::{Gh, Opening, Pull},
    git::Git,
    target::Target,
};
use super::{Which, run::Signals};
use crate::{
    actions,
    deployment::Deployment,
    failure::{Code, Failure},
    find::{self, Found, IdPart},
    screen::{self, FAINT, PLAIN, Page, STRONG, plain, remark, status},
};

/// Push the branch of a result and open or update a draft pull request, through gh
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla pr 4k2\n  azolla pr 4k2 --dry-run              see what it would do\n  \
                        azolla pr 4k2 --remote fork --base develop\n\n\
                        Prints the address of the pull request. Run again, it is the same pull request: the branch is \
                        pushed if there is a newer result, and the part of its text that azolla wrote is brought up to date.\n\
                        It needs gh, logged in, and a remote. Your own git configuration and credentials count; hooks of \
                        the repository are not run. Ctrl-C ends git and gh, and says how far it came. It never merges, and never pushes over commits that are not azolla's."
)]
pub(crate) struct Pr {
    /// The objective.
    #[arg(value_name = "ID")]
    id: IdPart,

    /// The remote to push to; otherwise that of the base branch, or origin, or the only one.
    #[arg(long, value_name = "NAME")]
    remote: Option<String>,

    /// The branch that it is to be merged into; otherwise the one that the work started from.
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,

    /// The title; otherwise that of the objective. One that is open keeps its own.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    /// Ready for review instead of a draft, for instance where the host knows no drafts.
    #[arg(long)]
    ready: bool,

    /// Say what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,

    /// Print one JSON document instead of the address.
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    which: Which,
}

/// A result that passed its gate.
struct Passed {
    run: RunRecord,
    commit: String,
    bundle: OutputBundle,
    evidence: Option<GateEvidence>,
    pause: Option<PauseState>,
    /// The commits that azolla itself made for this objective, over which a newer one may be pushed.
    attempts: Vec<String>,
}

/// What there is to do.
struct Plan {
    /// What the remote's branch is at, if the push is needed.
    push: Option<git::Expected>,
    pull: PullPlan,
}

enum PullPlan {
    Open,
    Update(Pull, String),
    Keep(Pull),
}

impl PullPlan {
    /// Tells whether the result is merged already.
    fn is_merged(&self) -> bool {
        matches!(self, Self::Keep(pull) if pull.is_merged())
    }
}

/// How far it has come, for whoever stops it.
#[derive(Clone, Debug)]
enum Stage {
    /// It looks, and changes nothing.
    Looking,
    /// This branch is being pushed to this place.
    Pushing(String, String),
    /// The pull request is being opened or updated; the branch was pushed, or was there.
    Settling(String),
    /// Everything is done.
    Settled,
}

impl Stage {
    /// Says what was done and what was not.
    fn stopped(&self, id: &str, code: Code) -> Failure {
        let again = format!("see how it stands and go on: azolla pr {id}");
        match self {
            Self::Looking => Failure::stopped(
                "stopped; nothing was pushed, and no pull request was opened or changed",
                code,
            ),
            Self::Pushing(branch, place) => Failure::stopped(
                format!(
                    "stopped during the push of {branch} to {place}, which may be there or not; no pull request was \
                     opened or changed"
                ),
                code,
            )
            .hint(again),
            Self::Settling(branch) => Failure::stopped(
                format!("stopped; {branch}, but whether the pull request was opened or changed is not known"),
                code,
            )
            .hint(again),
            Self::Settled => Failure::stopped("stopped; the branch and the pull request are there", code).hint(again),
        }
    }
}

impl Pr {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let (stage, (stop, mut stopping)) = (Cell::new(Stage::Looking), watch::channel(false));
        let signals = Signals::stop(stop)?;
        // What is not waited for any more is ended, with everything that it started.
        let ended = tokio::select! {
            ended = self.push_and_open(home, &stage) => Some(ended),
            _ = stopping.changed() => None,
        };
        let code = signals.end().unwrap_or(Code::Interrupted);
        ended.unwrap_or_else(|| Err(stage.into_inner().stopped(self.id.as_str(), code).into()))
    }

    async fn push_and_open(&self, home: Option<&Path>, stage: &Cell<Stage>) -> anyhow::Result<ExitCode> {
        let deployment = Deployment::load(home)?;
        let found = find::objective(&deployment, self.which.azolla.as_ref(), &self.id).await?;
        let passed = passed(&found).await?;
        let base = self.base(&found)?;
        if found.azolla.repo_path().is_none() && !deployment.place.mirror(&found.azolla.id).is_dir() {
            rebuilt(&deployment, &found, &passed).await?;
        }
        let git = Git::new(&deployment, &found.azolla)?;
        let target = self.target(&git, &found, &base).await?;
        let gh = Gh::new(&deployment, git.directory(), &target)?;
        self.bring(&deployment, &found, &passed, &git).await?;
        let branch = format!("azolla/{}", found.id());
        let there = git.branch(&target, &branch).await?;
        let body = Body {
            objective: &found.stored.objective,
            run: &passed.run,
            bundle: &passed.bundle,
            evidence: passed.evidence.as_ref(),
        };
        let pull = self.pull(&gh, &branch, &passed, &body).await?;
        let push = match pull.is_merged() {
            // Its branch may be gone, or be at something else by now: there is nothing left to push.
            true => None,
            false => expected(&passed, &branch, &target, there)?,
        };
        let plan = Plan { push, pull };
        let title = self.title(&found);
        if self.dry_run {
            self.show_plan(&plan, &passed, &branch, &base, &target, &title, &body)?;
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(expected) = &plan.push {
            stage.set(Stage::Pushing(branch.clone(), target.shown().to_string()));
            git.push(&target, &passed.commit, &branch, expected).await?;
            remark(&format!("pushed {branch} to {}", target.shown()));
        }
        let opening = Opening { branch: &branch, base: &base, title: &title, draft: !self.ready };
        stage.set(Stage::Settling(match plan.push {
            Some(_) => format!("{branch} was pushed to {}", target.shown()),
            None => format!("nothing was pushed, as {branch} was there"),
        }));
        let (pull, action) = self.settle(&gh, plan.pull, &opening, &passed, &body).await?;
        stage.set(Stage::Settled);
        if self.json {
            let data = json!({"url": pull.url, "number": pull.number, "action": action, "pushed": plan.push.is_some(),
                              "branch": branch, "base": base, "commit_sha": passed.commit, "run_id": passed.run.run_id,
                              "remote": target.shown()});
            screen::show_json("pull_request", data)?;
        } else {
            remark(&format!("{action} {}", pull.url));
            screen::show_line(&pull.url)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn base(&self, found: &Found) -> anyhow::Result<String> {
        let approved = found.stored.objective.metadata.get("base_branch").and_then(|base| base.as_str());
        let base = self.base.as_deref().or(approved).or(found.azolla.base_branch.as_deref());
        let base =
            base.ok_or_else(|| Failure::usage("no branch is named to merge into").hint("--base main"))?;
        check_branch(base).map_err(Failure::misnamed)?;
        Ok(base.to_owned())
    }

    fn title(&self, found: &Found) -> String {
        /// As many as the host takes.
        const CHARS_MAX: usize = 250;
        let title = plain(self.title.as_deref().unwrap_or(&found.stored.objective.title));
        match title.trim() {
            "" => found.id().to_string(),
            title => title.chars().take(CHARS_MAX).collect(),
        }
    }

    async fn target(&self, git: &Git, found: &Found, base: &str) -> anyhow::Result<Target> {
        let repo = found.azolla.repo.as_deref().unwrap_or_default();
        match check_repo_ref(repo)? {
            RepoRef::Url { url, .. } if self.remote.is_none() => Ok(Target::of_url(url)),
            RepoRef::Url { .. } => {
                Err(Failure::usage(format!("{} has a URL, and no remotes", found.azolla.id))
                    .hint("leave --remote out: it goes to that URL")
                    .into())
            }
            RepoRef::Path(path) => git.remote(&path, self.remote.as_deref(), base).await,
        }
    }

    /// Sees to it that the commit is where the push starts from.
    async fn bring(
        &self,
        deployment: &Deployment,
        found: &Found,
        passed: &Passed,
        git: &Git,
    ) -> anyhow::Result<()> {
        if git.has(&passed.commit).await? {
            return Ok(());
        }
        let by_hand =
            passed.pause.as_ref().and_then(actions::by_hand).and_then(|said| said.split_once("): "));
        if let Some((_, command)) = by_hand.filter(|_| found.azolla.repo_path().is_some()) {
            let what =
                format!("{} is not in the repository: the branch could not be put there", passed.commit);
            return Err(Failure::refused(what).hint(command).into());
        }
        if found.azolla.repo_path().is_some() {
            let what = format!("{} is not in the repository any more", passed.commit);
            let hint = format!("run it again: azolla objective reject {} --feedback \"…\"", found.id());
            return Err(Failure::refused(what).hint(hint).into());
        }
        rebuilt(deployment, found, passed).await
    }

    /// Looks for the pull request.
    async fn pull(
        &self,
        gh: &Gh,
        branch: &str,
        passed: &Passed,
        body: &Body<'_>,
    ) -> anyhow::Result<PullPlan> {
        let pulls = gh.pulls(branch).await?;
        if let Some(open) = pulls.iter().find(|pull| pull.is_open()) {
            let text = body.within(&open.body);
            let is_settled = text == open.body && self.title.is_none() && !(self.ready && open.is_draft);
            return Ok(match is_settled {
                true => PullPlan::Keep(open.clone()),
                false => PullPlan::Update(open.clone(), text),
            });
        }
        match pulls.into_iter().find(|pull| pull.head == passed.commit) {
            Some(merged) if merged.is_merged() => Ok(PullPlan::Keep(merged)),
            // Whoever closed it had a reason.
            Some(closed) => Err(Failure::refused(format!("{} is closed", closed.url))
                .hint(format!("gh pr reopen {}, then once more: azolla pr {}", closed.url, self.id.as_str()))
                .into()),
            None => Ok(PullPlan::Open),
        }
    }

    /// Opens or updates it.
    async fn settle(
        &self,
        gh: &Gh,
        plan: PullPlan,
        opening: &Opening<'_>,
        passed: &Passed,
        body: &Body<'_>,
    ) -> anyhow::Result<(Pull, &'static str)> {
        match plan {
            PullPlan::Keep(pull) if pull.is_merged() => Ok((pull, "merged")),
            PullPlan::Keep(pull) => Ok((pull, "unchanged")),
            PullPlan::Update(pull, text) => {
                gh.edit(&pull, self.title.as_deref().map(|_| opening.title), &text).await?;
                if self.ready && pull.is_draft {
                    gh.ready(&pull).await?;
                }
                Ok((pull, "updated"))
            }
            PullPlan::Open => match gh.open(opening, &body.within("")).await? {
                gh::Opened::New(pull) => Ok((pull, "opened")),
                // Somebody else was faster, perhaps this same command.
                gh::Opened::There => match self.pull(gh, opening.branch, passed, body).await? {
                    PullPlan::Keep(pull) => Ok((pull, "unchanged")),
                    PullPlan::Update(pull, text) => {
                        gh.edit(&pull, None, &text).await?;
                        Ok((pull, "updated"))
                    }
                    PullPlan::Open => {
                        Err(Failure::temporary("gh says that there is a pull request, and lists none").into())
                    }
                },
            },
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a screen of everything that was found out")]
    fn show_plan(
        &self,
        plan: &Plan,
        passed: &Passed,
        branch: &str,
        base: &str,
        target: &Target,
        title: &str,
        body: &Body<'_>,
    ) -> anyhow::Result<()> {
        let (action, url, text) = match &plan.pull {
            PullPlan::Open => ("open", None, Some(body.within(""))),
            PullPlan::Update(pull, text) => ("update", Some(&pull.url), Some(text.clone())),
            PullPlan::Keep(pull) => ("keep", Some(&pull.url), None),
        };
        if self.json {
            let data = json!({"dry_run": true, "action": action, "url": url, "push": plan.push.is_some(), "branch": branch,
                              "base": base, "commit_sha": passed.commit, "run_id": passed.run.run_id,
                              "remote": target.shown(), "title": title, "body": text});
            screen::show_json("pull_request", data)?;
            return Ok(());
        }
        let mut page = Page::default();
        match &plan.push {
            Some(_) => {
                page.line(PLAIN, &format!("would push {} to {} as {branch}", passed.commit, target.shown()))
            }
            None if plan.pull.is_merged() => page.line(FAINT, "would push nothing: it is merged"),
            None => page.line(FAINT, &format!("would push nothing: {branch} is there")),
        };
        let kind = if self.ready { "pull request" } else { "draft pull request" };
        match &plan.pull {
            PullPlan::Open => page.line(PLAIN, &format!("would open a {kind} into {base}: {title}")),
            PullPlan::Update(pull, _) => page.line(PLAIN, &format!("would update {}", pull.url)),
            PullPlan::Keep(pull) => page.line(FAINT, &format!("would leave {} as it is", pull.url)),
        };
        if let Some(text) = text {
            page.end().line(STRONG, "Its text:").block("  ", PLAIN, &text);
        }
        Ok(page.show()?)
    }
}

/// Loads the result; refuses one that has not passed its gate.
async fn passed(found: &Found) -> anyhow::Result<Passed> {
    let (read, id, objective) = (found.read(), found.id(), &found.stored.objective);
    let refused = |what: String, hint: String| anyhow::Error::from(Failure::refused(what).hint(hint));
    if objective.objective_type != ObjectiveType::Ticket {
        return Err(refused(format!("{id} has no branch"), "azolla objective list".to_owned()));
    }
    if objective.status != ObjectiveStatus::Done {
        let what = format!("{id} has no result that passed its gate: it is {}", status(objective));
        let hint = match objective.status {
            ObjectiveStatus::New => format!("azolla objective approve {id}"),
            ObjectiveStatus::Blocked => format!("azolla review {id}"),
            _ => "azolla run --until-idle".to_owned(),
        };
        return Err(refused(what, hint));
    }
    let run = read.runs_of(id).await?.pop().filter(|run| run.gate_result == GateResult::Pass);
    let commit = run.as_ref().and_then(|run| run.commit_sha.clone());
    let (Some(run), Some(commit)) = (run, commit) else {
        return Err(refused(format!("the latest run of {id} has no commit"), format!("azolla explain {id}")));
    };
    let bundle = read.output_bundle(&run.output_id).await?;
    let bundle =
        bundle.ok_or_else(|| Failure::new(format!("{} is missing", run.output_id)).hint("azolla verify"))?;
    let mut attempts = Vec::new();
    for stored in read.workorders_of(id).await? {
        let output = read.output_of(&stored.workorder.work_order_id).await?;
        attempts.extend(
            output.and_then(|output| Some(output.metadata.more.get("commit_sha")?.as_str()?.to_owned())),
        );
    }
    let evidence = read.evidence_of(&run.run_id).await?;
    let pause = read.pause_state(&format!("workorder:{}", run.work_order_id)).await?;
    Ok(Passed { run, commit, bundle, evidence, pause, attempts })
}

/// Makes the commit in the mirror, where another machine had made it (G-1).
async fn rebuilt(deployment: &Deployment, found: &Found, passed: &Passed) -> anyhow::Result<()> {
    let missing = |what: &str| {
        Failure::new(format!("{what} of {} is missing", passed.run.run_id)).hint("azolla verify")
    };
    let read = found.read();
    let workorder =
        read.workorder(&passed.run.work_order_id).await?.ok_or_else(|| missing("the workorder"))?.workorder;
    let snapshot = read
        .context_snapshot(&workorder.context_snapshot_id)
        .await?
        .ok_or_else(|| missing("the snapshot"))?;
    let attempt =
        patch::attempt(&workorder, &snapshot, &passed.bundle.title).ok_or_else(|| missing("the base"))?;
    let repository = deployment.repository(&found.azolla)?;
    if let Some(base) = found.azolla.base_branch.as_deref() {
        repository.base(base).await?;
    }
    let taken = repository.rebuild(&attempt, &passed.bundle.content).await?;
    if taken.commit != passed.commit {
        let what = format!("the stored change gives {}, not {}", taken.commit, passed.commit);
        return Err(Failure::new(what).hint("azolla verify --git").into());
    }
    Ok(())
}

/// Returns what a push may replace; none if there is nothing to push. Refuses to push over what is not azolla's.
fn expected(
    passed: &Passed,
    branch: &str,
    target: &Target,
    there: Option<String>,
) -> Result<Option<git::Expected>, Failure> {
    match there {
        Some(there) if there == passed.commit => Ok(None),
        Some(there) if passed.attempts.contains(&there) => Ok(Some(git::Expected::Commit(there))),
        Some(there) => {
            let what = format!("{branch} at {} is at {there}, which azolla did not make", target.shown());
            Err(Failure::refused(what).hint(target.look_at(branch)))
        }
        None => Ok(Some(git::Expected::Nothing)),
    }
}
