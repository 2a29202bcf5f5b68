//! Brings the operator's branch into the mirror, and says in plain words why it cannot.

use azolla_process::Capture;

use super::{
    CommitSha, GitRepository, RepositoryError,
    git::{Call, FETCH_TIME, Output, unavailable},
    mirror::is_object_id,
    publish::LOOK_TIME,
    reference::{RepoRef, check_branch},
    take::{is_fault, is_missing},
};

/// Times that a fetch is tried against another process that holds a lock.
const TRIES: usize = 3;

impl GitRepository {
    pub(super) async fn fetch_base(&self, branch: &str) -> Result<CommitSha, RepositoryError> {
        check_branch(branch)?;
        // `!` is in no branch name that is accepted: a branch below another one's name has a place too.
        let name = format!("refs/azolla/base/{branch}/!");
        let output = self.fetch(&format!("+refs/heads/{branch}:{name}")).await?;
        if output.code == Some(0) {
            let commit = self.mirror.read_ref(&name);
            return commit.ok_or_else(|| unavailable(format!("{name} is not in the mirror after a fetch")));
        }
        if output.stderr.contains("couldn't find remote ref") {
            return Err(self.missing_branch(branch).await?);
        }
        Err(self.failed_fetch(&output))
    }

    /// Brings a commit that another machine has recorded.
    pub(super) async fn fetch_commit(&self, commit: &str) -> Result<(), RepositoryError> {
        const NOT_THERE: [&str; 3] = ["not our ref", "unadvertised object", "couldn't find remote ref"];
        let output = self.fetch(&format!("{commit}:refs/azolla/commits/{commit}")).await?;
        if output.code == Some(0) {
            return Ok(());
        }
        let is_not_there = NOT_THERE.iter().any(|text| output.stderr.contains(text));
        match self.failed_fetch(&output) {
            // Nobody has said yet whether it is there.
            error @ RepositoryError::Unavailable(_) if !is_not_there => Err(error),
            _ => Err(RepositoryError::Unusable {
                what: format!("commit {commit} is not in {} ({})", self.shown(), output.complaint()),
                action:
                    "bring its branch back, or approve the objective again to start from the branch as it is"
                        .to_owned(),
            }),
        }
    }

    /// Runs git on a commit. One that this mirror has not seen yet is fetched: another machine may have recorded it.
    pub(super) async fn run_on<'a>(
        &self,
        commit: &str,
        call: impl Fn() -> Call<'a>,
    ) -> Result<Output, RepositoryError> {
        let output = self.git.run(call()).await?;
        if output.code == Some(0) || !is_missing(&output) || !is_object_id(commit) {
            return Ok(output);
        }
        self.fetch_commit(commit).await?;
        self.git.run(call()).await
    }

    /// Returns the repository as the operator named it.
    pub(super) fn shown(&self) -> String {
        match &self.repo {
            RepoRef::Path(path) => path.display().to_string(),
            RepoRef::Url { url, .. } => url.clone(),
        }
    }

    async fn fetch(&self, refspec: &str) -> Result<Output, RepositoryError> {
        let _one = self.fetching.lock().await;
        self.mirror.prepare()?;
        let mut tries = 0;
        loop {
            tries += 1;
            let output = self.git.run(self.fetch_call(refspec).await?).await?;
            if output.code == Some(0) || tries == TRIES || !self.may_go_next_time(&output)? {
                return Ok(output);
            }
        }
    }

    async fn fetch_call(&self, refspec: &str) -> Result<Call<'_>, RepositoryError> {
        let (place, shallow) = match &self.repo {
            RepoRef::Path(path) => {
                let source = self.source(path, LOOK_TIME).await?;
                (source.common_dir.into_os_string(), source.shallow)
            }
            RepoRef::Url { url, .. } => (url.into(), false),
        };
        let mut arguments: Vec<std::ffi::OsString> = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-auto-maintenance",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
        ]
        .map(Into::into)
        .into();
        if shallow {
            arguments.push("--update-shallow".into());
        }
        arguments.extend(["--end-of-options".into(), place, refspec.into()]);
        Ok(Call::new(self.mirror.git_dir(), arguments).time(FETCH_TIME))
    }

    fn may_go_next_time(&self, output: &Output) -> Result<bool, RepositoryError> {
        if output.stderr.contains("mismatched algorithms") && !self.mirror.is_sha256() {
            self.mirror.become_sha256()?;
            return Ok(true);
        }
        let is_lock = output.stderr.contains("cannot lock ref") || output.stderr.contains(".lock'");
        Ok(is_lock && self.mirror.may_try_again(&output.stderr))
    }

    /// Returns the branches that are there: first the one that HEAD is at, last those that are ours.
    pub(super) async fn heads(&self) -> Result<Vec<String>, RepositoryError> {
        Ok(self.listed_heads().await?.0)
    }

    /// The same, and whether HEAD is at a commit.
    async fn listed_heads(&self) -> Result<(Vec<String>, bool), RepositoryError> {
        // It may be the first that is asked of a mirror.
        self.mirror.prepare()?;
        let place = match &self.repo {
            RepoRef::Path(path) => self.source(path, LOOK_TIME).await?.common_dir.into_os_string(),
            RepoRef::Url { url, .. } => url.into(),
        };
        let mut arguments: Vec<std::ffi::OsString> =
            ["ls-remote", "--symref", "--end-of-options"].map(Into::into).into();
        arguments.extend([place, "HEAD".into(), "refs/heads/*".into()]);
        let call =
            Call::new(self.mirror.git_dir(), arguments).stdout(Capture::Head(1 << 20)).time(FETCH_TIME);
        let listed = self.git.answer(call).await?;
        let listed = String::from_utf8_lossy(&listed);
        let head =
            listed.lines().find_map(|line| line.strip_prefix("ref: refs/heads/")?.strip_suffix("\tHEAD"));
        let names = listed.lines().filter_map(|line| Some(line.split_once("\trefs/heads/")?.1));
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort_by_key(|name| (Some(name.as_str()) != head, name.starts_with("azolla/")));
        let has_commit = listed.lines().any(|line| !line.starts_with("ref: ") && line.ends_with("\tHEAD"));
        Ok((names, has_commit))
    }

    async fn missing_branch(&self, branch: &str) -> Result<RepositoryError, RepositoryError> {
        const SHOWN: usize = 10;
        let (mut names, has_commit) = self.listed_heads().await?;
        names.truncate(SHOWN);
        let shown = self.shown();
        Ok(if names.is_empty() && has_commit {
            // Without a branch: HEAD is detached.
            RepositoryError::Unusable {
                what: format!("{shown} has no branch {branch}"),
                action: match &self.repo {
                    RepoRef::Path(_) => format!("make that branch there: git branch {branch}"),
                    RepoRef::Url { .. } => "make that branch there".to_owned(),
                },
            }
        } else if names.is_empty() {
            RepositoryError::Unusable {
                what: format!("{shown} has no commit yet"),
                action: format!("make a first commit on {branch}: git commit --allow-empty -m begin"),
            }
        } else {
            RepositoryError::Unusable {
                what: format!("{shown} has no branch {branch}"),
                action: format!("set base_branch to one that it has: {}", names.join(", ")),
            }
        })
    }

    fn failed_fetch(&self, output: &Output) -> RepositoryError {
        const FOR_GOOD: [&str; 9] = [
            "Authentication failed",
            "could not read Username",
            "Permission denied",
            "Host key verification failed",
            "epository not found",
            "not appear to be a git repository",
            "not a git repository",
            "shallow update not allowed",
            "terminal prompts disabled",
        ];
        let (shown, complaint) = (self.shown(), output.complaint());
        let is_lock = output.stderr.contains("cannot lock ref") || output.stderr.contains(".lock'");
        match &self.repo {
            RepoRef::Url { .. } if !FOR_GOOD.iter().any(|text| output.stderr.contains(text)) => {
                unavailable(complaint)
            }
            RepoRef::Path(_) if is_lock || is_fault(output) => unavailable(complaint),
            RepoRef::Url { url, .. } => RepositoryError::Unusable {
                what: format!("{shown} cannot be fetched: {complaint}"),
                action: format!("make `git ls-remote {url}` work without a question, then try again"),
            },
            RepoRef::Path(path) => RepositoryError::Unusable {
                what: format!("{shown} cannot be read: {complaint}"),
                action: format!("see what `git -C {} fsck` says", path.display()),
            },
        }
    }
}
