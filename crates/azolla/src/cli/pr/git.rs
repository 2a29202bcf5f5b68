//! What `azolla pr` asks of git: which remote, what is there, and the one push.
//!
//! The push starts in the operator's repository, or in the mirror where there is only a URL. It names the commit and the
//! branch, and what the branch has to be at; it runs no hooks, sends no tags and no options, and writes no ref here.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    program::{self, Caller, Said, Waiting, quoted_path},
    target::Target,
};
use crate::{
    config::AzollaConfig,
    deployment::{self, Deployment},
    failure::Failure,
    screen::remark,
};

/// Time for a question to files of this machine, to a server, and for a push.
const LOCAL_TIME: Duration = Duration::from_secs(60);
const ASK_TIME: Duration = Duration::from_secs(120);
const PUSH_TIME: Duration = Duration::from_secs(900);

/// The name under which git knows where to push, for one call: neither the address nor a secret in it is an argument.
const REMOTE: &str = "azolla/pr";

/// git in one repository.
pub(super) struct Git {
    caller: Caller,
    /// The mirror, if the repository is a URL.
    git_dir: Option<PathBuf>,
}

/// What the remote's branch has to be at for a push.
pub(super) enum Expected {
    /// It is not there.
    Nothing,
    /// This commit.
    Commit(String),
}

impl Git {
    pub(super) fn new(deployment: &Deployment, azolla: &AzollaConfig) -> anyhow::Result<Self> {
        let mirror = deployment.place.mirror(&azolla.id);
        let (directory, git_dir) = match azolla.repo_path() {
            Some(path) => (path.to_owned(), None),
            None => (mirror.clone(), Some(mirror)),
        };
        if !directory.is_dir() {
            let what = format!("{} is not there", directory.display());
            return Err(Failure::not_found(what).hint("azolla doctor").into());
        }
        let environment = program::environment(&deployment.config);
        Ok(Self { caller: Caller { name: "git", path: deployment::git()?, directory, environment }, git_dir })
    }

    /// Returns where it runs.
    pub(super) fn directory(&self) -> &Path {
        &self.caller.directory
    }

    /// Returns the remote to push to: the named one, else that of the base branch, else origin, else the only one.
    pub(super) async fn remote(
        &self,
        path: &Path,
        named: Option<&str>,
        base: &str,
    ) -> anyhow::Result<Target> {
        let all = self.lines(&["remote"]).await?;
        let shown = all.join(", ");
        let name = match named {
            Some(name) if all.iter().any(|known| known == name) => name.to_owned(),
            Some(name) if all.is_empty() => return Err(no_remote(path, Some(name)).into()),
            Some(name) => {
                let what = format!("{} has no remote {name}", path.display());
                return Err(Failure::not_found(what).hint(format!("its remotes: {shown}")).into());
            }
            None => {
                let of_base = self.lines(&["config", "--get", &format!("branch.{base}.remote")]).await?;
                let preferred = of_base.into_iter().chain(["origin".to_owned()]);
                let mut preferred = preferred.filter(|name| all.contains(name));
                match (preferred.next(), &all[..]) {
                    (Some(name), _) => name,
                    (None, [only]) => only.clone(),
                    (None, []) => return Err(no_remote(path, None).into()),
                    (None, _) => {
                        let what = format!("{} has several remotes: {shown}", path.display());
                        return Err(Failure::usage(what).hint("--remote NAME").into());
                    }
                }
            }
        };
        let key = |key: &str| format!("remote.{name}.{key}");
        let own = self.lines(&["config", "--get-all", &key("pushurl")]).await?;
        let own = if own.is_empty() { self.lines(&["config", "--get-all", &key("url")]).await? } else { own };
        let rewritten = self.lines(&["remote", "get-url", "--push", &name]).await?;
        match (own.into_iter().next(), rewritten.first()) {
            (Some(address), Some(rewritten)) => {
                Ok(Target::of_remote(path.to_owned(), name, address, rewritten))
            }
            _ => Err(Failure::refused(format!("the remote {name} has no URL"))
                .hint(format!("git -C {} remote set-url {name} URL", quoted_path(path)))
                .into()),
        }
    }

    /// Tells whether a commit is in the repository.
    pub(super) async fn has(&self, commit: &str) -> anyhow::Result<bool> {
        let object = format!("{commit}^{{commit}}");
        Ok(self.run(&["cat-file", "-e", &object], &[], LOCAL_TIME).await?.code == 0)
    }

    /// Returns what the remote's branch is at, if it is there.
    pub(super) async fn branch(&self, target: &Target, branch: &str) -> anyhow::Result<Option<String>> {
        let reference = format!("refs/heads/{branch}");
        let settings = self.settings(target).await?;
        let _waiting = Waiting::begin(&format!("asking {}", target.shown()));
        let said = self.run(&["ls-remote", REMOTE, &reference], &settings, ASK_TIME).await?;
        if said.code != 0 {
            let what = format!("{} does not answer", target.place);
            return Err(said.failure(&what, LOG_IN).into());
        }
        let mut found = said.stdout.lines().filter_map(|line| line.split_once('\t'));
        Ok(found.find(|(_, name)| *name == reference).map(|(id, _)| id.to_owned()))
    }

    /// Pushes one commit to one branch, if that is still at what was expected.
    pub(super) async fn push(
        &self,
        target: &Target,
        commit: &str,
        branch: &str,
        expected: &Expected,
    ) -> anyhow::Result<()> {
        self.tell_of_hooks(target, commit, branch).await?;
        let expected = match expected {
            Expected::Nothing => "",
            Expected::Commit(commit) => commit,
        };
        let lease = format!("--force-with-lease=refs/heads/{branch}:{expected}");
        let refspec = format!("{commit}:refs/heads/{branch}");
        let arguments = [
            "push",
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            "--no-signed",
            &lease,
            REMOTE,
            &refspec,
        ];
        let settings = self.settings(target).await?;
        let said = {
            let _waiting = Waiting::begin(&format!("pushing {branch} to {}", target.shown()));
            self.run(&arguments, &settings, PUSH_TIME).await?
        };
        if said.code == 0 {
            return Ok(());
        }
        if said.stdout.contains("(stale info)") || said.stdout.contains("(fetch first)") {
            let what = format!("{branch} at {} was moved meanwhile", target.shown());
            return Err(Failure::refused(what).hint(target.look_at(branch)).into());
        }
        let refused = said.stdout.lines().find(|line| line.starts_with('!'));
        let why = refused.and_then(|line| line.rsplit_once('\t')).map(|(_, why)| why.to_owned());
        let what = match why {
            Some(why) => {
                format!("{branch} was not pushed to {}, {}", target.shown(), crate::screen::plain(&why))
            }
            None => format!("{branch} was not pushed to {}", target.shown()),
        };
        Err(said.failure(&what, &format!("by hand: {}", target.by_hand(commit, branch))).into())
    }

    /// A hook that the operator counts on is not passed over in silence.
    async fn tell_of_hooks(&self, target: &Target, commit: &str, branch: &str) -> anyhow::Result<()> {
        let found = self.lines(&["rev-parse", "--git-path", "hooks/pre-push"]).await?;
        let hook = found.first().map(|path| self.caller.directory.join(path));
        if hook.is_some_and(|hook| hook.is_file()) {
            let by_hand = target.by_hand(commit, branch);
            remark(&format!("the pre-push hook is not run; to run it, push by hand first: {by_hand}"));
        }
        Ok(())
    }

    /// What is set for a call that reaches a server. It wins over all configuration.
    async fn settings(&self, target: &Target) -> anyhow::Result<Vec<(String, String)>> {
        let url = format!("remote.{REMOTE}.url");
        let settings = [
            ("core.hooksPath", "/dev/null"),
            ("push.followTags", "false"),
            // Empties the list.
            ("push.pushOption", ""),
            ("push.recurseSubmodules", "no"),
            (url.as_str(), target.address.as_str()),
        ];
        let mut all = vec![("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string())];
        for (n, (key, value)) in settings.into_iter().enumerate() {
            all.push((format!("GIT_CONFIG_KEY_{n}"), key.to_owned()));
            all.push((format!("GIT_CONFIG_VALUE_{n}"), value.to_owned()));
        }
        // Nobody is there to answer a question of ssh's; whoever has set up ssh for git keeps that.
        let is_set = ["GIT_SSH", "GIT_SSH_COMMAND"]
            .iter()
            .any(|name| self.caller.environment.contains_key(std::ffi::OsStr::new(name)));
        if !is_set && self.lines(&["config", "--get", "core.sshCommand"]).await?.is_empty() {
            all.push(("GIT_SSH_COMMAND".to_owned(), "ssh -oBatchMode=yes".to_owned()));
        }
        Ok(all)
    }

    /// Returns the lines that a call prints; none if it fails.
    async fn lines(&self, arguments: &[&str]) -> anyhow::Result<Vec<String>> {
        let said = self.run(arguments, &[], LOCAL_TIME).await?;
        Ok(match said.code {
            0 => said.stdout.lines().map(str::to_owned).collect(),
            _ => Vec::new(),
        })
    }

    async fn run(
        &self,
        arguments: &[&str],
        more: &[(String, String)],
        time: Duration,
    ) -> anyhow::Result<Said> {
        let git_dir = self.git_dir.iter().map(|git_dir| {
            let mut argument = OsString::from("--git-dir=");
            argument.push(git_dir);
            argument
        });
        let arguments = git_dir.chain(arguments.iter().map(OsString::from)).collect();
        self.caller.run(arguments, more, "", time).await
    }
}

const LOG_IN: &str =
    "check the address and your login there, such as an ssh key in the agent (ssh-add) or gh auth setup-git";

fn no_remote(path: &Path, name: Option<&str>) -> Failure {
    let add = format!("git -C {} remote add {} URL", quoted_path(path), name.unwrap_or("origin"));
    Failure::refused(format!("{} has no remote to push to", path.display())).hint(add)
}
