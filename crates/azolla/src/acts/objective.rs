//! The operator's steps on an objective: one per row of the transition table (PROTOCOL.md section 4).

use std::path::Path;

use azolla_control_plane::{
    operator::{Changes, NewObjective},
    repo::{RepoRef, check_branch, check_repo_ref},
};
use azolla_protocol::{
    AzollaId, AzollaType, BlockerId, BlockerKind, Objective, ObjectiveStatus, RunId, is_blank, limits,
};

use super::{Acts, Done, RUN};
use crate::{actions, config::AzollaConfig, failure::Failure, find::Found, screen::quoted};

/// Why a run is stopped, where nobody says.
pub(crate) const CANCELLED: &str = "cancelled by the operator";

/// The importance and the urgency of an objective, where nobody says.
pub(crate) const IMPORTANCE: u8 = 2;
pub(crate) const URGENCY: u8 = 3;

/// What a new objective says.
pub(crate) struct Created {
    /// One line.
    pub(crate) title: String,
    /// Text of any number of lines.
    pub(crate) criteria: String,
    /// The branch that the work starts from, if not the azolla's.
    pub(crate) base: Option<String>,
    /// 0 to 4, 0 first.
    pub(crate) importance: u8,
    /// 0 to 4, 0 first.
    pub(crate) urgency: u8,
}

/// What changes: the fields that are given.
#[derive(Default)]
pub(crate) struct Edits {
    /// One line.
    pub(crate) title: Option<String>,
    /// Text of any number of lines.
    pub(crate) criteria: Option<String>,
    /// The branch that the work starts from.
    pub(crate) base: Option<String>,
    /// The repository, a path or a URL.
    pub(crate) repo: Option<String>,
    /// 0 to 4, 0 first.
    pub(crate) importance: Option<u8>,
    /// 0 to 4, 0 first.
    pub(crate) urgency: Option<u8>,
    /// Which version is changed.
    pub(crate) seen: Seen,
}

/// Which version of an objective a step is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The one that is stored.
    #[default]
    Latest,
    /// The one that was on a page: nothing is done to any other.
    Version(u64),
}

impl Edits {
    fn is_empty(&self) -> bool {
        self.title.is_none()
            && self.criteria.is_none()
            && self.base.is_none()
            && self.repo.is_none()
            && self.importance.is_none()
            && self.urgency.is_none()
    }
}

impl Acts {
    /// Creates an objective (S-a).
    pub(crate) async fn create(&self, named: Option<&AzollaId>, new: Created) -> anyhow::Result<Done> {
        let azolla = self.one(named, AzollaType::CodePatch)?;
        check_title(&new.title)?;
        if let Some(base) = &new.base {
            check_base(base)?;
        }
        let base_branch = new.base.or_else(|| azolla.base_branch.clone()).unwrap_or_default();
        let new = NewObjective {
            title: new.title,
            acceptance_criteria: new.criteria,
            repo_ref: azolla.repo.clone().unwrap_or_default(),
            base_branch,
            importance: new.importance,
            urgency: new.urgency,
        };
        let store = self.store(azolla).await?;
        let id = self.step(azolla, &*store, async |operator| operator.create(new).await).await?;
        let made = Done::made(id.as_str(), format!("it is in {}", azolla.id));
        Ok(made.next(format!("azolla objective approve {id}")))
    }

    /// Changes an objective (S-3, S-l).
    pub(crate) async fn edit(&self, found: &Found, edits: Edits) -> anyhow::Result<Done> {
        if edits.is_empty() {
            let hint = "name what changes: --title, --criteria, --base, --repo, --importance, --urgency";
            return Err(Failure::usage("there is nothing to change").hint(hint).into());
        }
        edits.title.as_deref().map(check_title).transpose()?;
        edits.base.as_deref().map(check_base).transpose()?;
        let (repo_ref, remark) = match edits.repo {
            Some(repo) => {
                let (repo_ref, remark) = repo_ref(&repo, &found.azolla)?;
                (Some(repo_ref), remark)
            }
            None => (None, None),
        };
        let changes = Changes {
            title: edits.title,
            acceptance_criteria: edits.criteria,
            base_branch: edits.base,
            repo_ref,
            importance: edits.importance,
            urgency: edits.urgency,
        };
        let (id, was) = (found.id(), &found.stored.objective);
        let after = self
            .on(found, async |operator| match edits.seen {
                Seen::Version(version) => operator.as_seen(version).edit(id, changes).await,
                Seen::Latest => operator.edit(id, changes).await,
            })
            .await?;
        let done = match (was.status, after.status) {
            (ObjectiveStatus::Todo, ObjectiveStatus::New) => {
                Done::new("its approval is withdrawn").next(format!("azolla objective approve {id}"))
            }
            _ if after == *was => Done::new(format!("nothing about {id} is different")),
            _ => Done::new(format!("{id} is changed")),
        };
        Ok(Done { remarks: remark.into_iter().collect(), ..done })
    }

    /// Lets an objective run (S-b).
    pub(crate) async fn approve(&self, found: &Found, seen: Seen) -> anyhow::Result<Done> {
        let id = found.id();
        let approve = self.on(found, async |operator| match seen {
            Seen::Version(version) => operator.as_seen(version).approve(id).await,
            Seen::Latest => operator.approve(id).await,
        });
        approve.await?;
        Ok(Done::new(format!("{} is approved", found.id())).next(RUN))
    }

    /// Takes an approval back (S-l).
    pub(crate) async fn withdraw(&self, found: &Found) -> anyhow::Result<Done> {
        self.on(found, async |operator| operator.withdraw(found.id()).await).await?;
        Ok(Done::new(format!("the approval of {} is withdrawn", found.id())))
    }

    /// Holds an objective up (S-k).
    pub(crate) async fn block(&self, found: &Found, reason: &str, kind: BlockerKind) -> anyhow::Result<Done> {
        needed(reason, "a reason")?;
        let id = found.id();
        self.on(found, async |operator| operator.block(id, reason, kind).await).await?;
        Ok(Done::new(format!("{id} is blocked")).leads("to go on", format!("azolla objective unblock {id}")))
    }

    /// Resolves one blocker, or all of them (S-h).
    pub(crate) async fn unblock(
        &self,
        found: &Found,
        seen: Seen,
        blocker: Option<&BlockerId>,
    ) -> anyhow::Result<Done> {
        let id = found.id();
        let unblock = self.on(found, async |operator| match seen {
            Seen::Version(version) => operator.as_seen(version).unblock(id, blocker).await,
            Seen::Latest => operator.unblock(id, blocker).await,
        });
        let after = unblock.await?;
        Ok(match after.blocked_on.iter().filter(|blocker| !blocker.resolved).count() {
            0 => Done::new(format!("{id} goes on")).next(RUN),
            1 => Done::new(format!("{id} is still held up by one blocker"))
                .leads("to go on", format!("azolla objective unblock {id}")),
            open => Done::new(format!("{id} is still held up by {open} blockers"))
                .leads("to go on", format!("azolla objective unblock {id}")),
        })
    }

    /// Runs a BLOCKED objective once more (S-h).
    pub(crate) async fn retry(
        &self,
        found: &Found,
        seen: Seen,
        budget_ms: Option<u64>,
    ) -> anyhow::Result<Done> {
        if let Some(budget_ms) = budget_ms {
            limits::BUDGET_PATCH_MS.check(budget_ms).map_err(|error| Failure::usage(error.to_string()))?;
        }
        let id = found.id();
        let retry = self.on(found, async |operator| match seen {
            Seen::Version(version) => operator.as_seen(version).retry(id, budget_ms).await,
            Seen::Latest => operator.retry(id, budget_ms).await,
        });
        retry.await?;
        let done = Done::new(format!("{id} runs again")).next(RUN);
        Ok(Done { remarks: differences(found), ..done })
    }

    /// Sends the result of a run back (S-i).
    pub(crate) async fn reject(
        &self,
        found: &Found,
        run: Option<&RunId>,
        feedback: &str,
    ) -> anyhow::Result<Done> {
        needed(feedback, "feedback")?;
        self.on(found, async |operator| operator.reject(found.id(), run, feedback).await).await?;
        Ok(Done::new(format!("{} goes back to work, with your feedback", found.id())).next(RUN))
    }

    /// Says that the result of a run is good (S-j).
    pub(crate) async fn confirm(&self, found: &Found, run: Option<&RunId>) -> anyhow::Result<Done> {
        let pause = match &found.stored.pause_key {
            Some(key) => found.read().pause_state(key).await?,
            None => None,
        };
        let id = found.id();
        self.on(found, async |operator| operator.confirm(id, run).await).await?;
        Ok(Done::new(match pause.as_ref().and_then(actions::by_hand) {
            Some(by_hand) => format!("{id} is confirmed. {by_hand}"),
            None => format!("{id} is confirmed; its branch is azolla/{id}"),
        }))
    }

    /// Asks for the end of the run that is under way (S-m).
    pub(crate) async fn cancel(&self, found: &Found, reason: &str) -> anyhow::Result<Done> {
        needed(reason, "a reason")?;
        self.on(found, async |operator| operator.cancel(found.id(), reason).await).await?;
        Ok(Done::new("it stops at its next sign of life, then waits for you"))
    }

    /// Puts an objective out of sight (S-o).
    pub(crate) async fn archive(&self, found: &Found) -> anyhow::Result<Done> {
        let id = found.id();
        self.on(found, async |operator| operator.archive(id).await).await?;
        Ok(Done::new(format!("{id} is archived"))
            .leads("to bring it back", format!("azolla objective unarchive {id}")))
    }

    /// Brings an archived objective back (S-o).
    pub(crate) async fn unarchive(&self, found: &Found) -> anyhow::Result<Done> {
        self.on(found, async |operator| operator.unarchive(found.id()).await).await?;
        Ok(Done::new(format!("{} is back", found.id())))
    }

    async fn on(
        &self,
        found: &Found,
        take: impl AsyncFnOnce(
            &azolla_control_plane::operator::Operator<'_>,
        ) -> Result<Objective, azolla_control_plane::operator::OperatorError>,
    ) -> anyhow::Result<Objective> {
        self.step(&found.azolla, &*found.store, take).await
    }
}

/// Refuses an empty text.
pub(crate) fn needed(text: &str, what: &str) -> Result<(), Failure> {
    if is_blank(text) { Err(Failure::usage(format!("{what} is needed"))) } else { Ok(()) }
}

/// Reads an importance or an urgency.
pub(crate) fn level(text: &str) -> Result<u8, String> {
    text.parse().ok().filter(|level| *level <= 4).ok_or_else(|| format!("{text} is not in 0..=4"))
}

/// The most characters of a title, as the objective's schema has it.
pub(crate) const TITLE_CHARS_MAX: usize = 500;

/// Refuses a title that no objective can have.
pub(crate) fn check_title(title: &str) -> Result<(), Failure> {
    if is_blank(title) {
        return Err(Failure::usage("the title is empty"));
    }
    if title.contains(['\n', '\r']) {
        return Err(too_much("the title has more than one line"));
    }
    if title.chars().count() > TITLE_CHARS_MAX {
        return Err(too_much(&format!("the title has more than {TITLE_CHARS_MAX} characters")));
    }
    Ok(())
}

fn too_much(what: &str) -> Failure {
    Failure::usage(what)
        .hint("the rest goes into --criteria")
        .hint_on_a_page("the rest goes into the criteria, under \"Done when\"")
}

/// Refuses a base that is no branch's name (T18).
fn check_base(base: &str) -> Result<(), Failure> {
    check_branch(base).map_err(Failure::misnamed)
}

/// Returns the repository as an objective names it: by an absolute path, and in the very words of the configuration if
/// that is what is meant, as the two are compared. And what there is to know about another one.
fn repo_ref(given: &str, azolla: &AzollaConfig) -> anyhow::Result<(String, Option<String>)> {
    let path = match check_repo_ref(given).map_err(Failure::misnamed)? {
        RepoRef::Url { url, .. } => return Ok((url, None)),
        RepoRef::Path(path) => std::path::absolute(path)?,
    };
    let is_configured = |configured: &Path| match (configured.canonicalize(), path.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => configured == path,
    };
    if let (Some(repo), true) = (&azolla.repo, azolla.repo_path().is_some_and(is_configured)) {
        return Ok((repo.clone(), None));
    }
    let path = path.to_str().ok_or_else(|| Failure::usage("the repository's path is not UTF-8"))?.to_owned();
    let remark = (azolla.repo.as_ref() != Some(&path)).then(|| {
        let configured = azolla.repo.as_deref().unwrap_or("no repository");
        format!("{} works on {configured}: nothing runs for {path} until its repo is that too", azolla.id)
    });
    Ok((path, remark))
}

/// Names what an objective has otherwise than the configuration: that may be why it was blocked.
fn differences(found: &Found) -> Vec<String> {
    let (id, azolla) = (found.id(), &found.azolla);
    let has = |key: &str| found.stored.objective.metadata.get(key).and_then(|value| value.as_str());
    let differences = [
        ("repository", "repo_ref", "--repo", &azolla.repo),
        ("base", "base_branch", "--base", &azolla.base_branch),
    ];
    let mut remarks = Vec::new();
    for (what, key, flag, configured) in differences {
        if let (Some(has), Some(configured)) = (has(key), configured)
            && has != configured
        {
            remarks.push(format!("its {what} is {has}, that of {} is {configured}", azolla.id));
            let configured = quoted(configured);
            remarks.push(format!(
                "hint: azolla objective edit {id} {flag} {configured}, if it should be the same"
            ));
        }
    }
    remarks
}
