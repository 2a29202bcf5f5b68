//! What `azolla pr` asks of `gh`: which pull requests a branch has, one that is opened, one whose text is replaced. It
//! never merges, closes or comments.

use std::{ffi::OsString, path::Path, time::Duration};

use serde::Deserialize;

use super::{
    program::{self, Caller, Said, Waiting},
    target::Target,
};
use crate::{deployment::Deployment, failure::Failure, screen::plain};

const TIME: Duration = Duration::from_secs(120);

/// gh, for the repository that is pushed to.
pub(super) struct Gh {
    caller: Caller,
    place: String,
}

/// A pull request, as gh lists it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Pull {
    pub(super) number: u64,
    pub(super) url: String,
    state: String,
    #[serde(rename = "isDraft", default)]
    pub(super) is_draft: bool,
    #[serde(rename = "headRefOid", default)]
    pub(super) head: String,
    #[serde(rename = "isCrossRepository", default)]
    is_from_elsewhere: bool,
    #[serde(default)]
    pub(super) body: String,
}

impl Pull {
    pub(super) fn is_open(&self) -> bool {
        self.state == "OPEN"
    }

    pub(super) fn is_merged(&self) -> bool {
        self.state == "MERGED"
    }
}

/// What a pull request is opened with, besides its text.
pub(super) struct Opening<'a> {
    pub(super) branch: &'a str,
    pub(super) base: &'a str,
    pub(super) title: &'a str,
    pub(super) draft: bool,
}

/// What became of opening one.
pub(super) enum Opened {
    New(Pull),
    /// The branch has one already.
    There,
}

impl Gh {
    pub(super) fn new(deployment: &Deployment, directory: &Path, target: &Target) -> anyhow::Result<Self> {
        let path = program::find("gh").ok_or_else(|| {
            Failure::new("gh was not found on PATH: it opens the pull request")
                .hint("install it from https://cli.github.com, then: gh auth login")
        })?;
        let environment = program::environment(&deployment.config);
        let directory = directory.to_owned();
        Ok(Self { caller: Caller { name: "gh", path, directory, environment }, place: target.place.clone() })
    }

    /// Returns the pull requests of a branch of this repository, the newest first.
    pub(super) async fn pulls(&self, branch: &str) -> anyhow::Result<Vec<Pull>> {
        const FIELDS: &str = "number,url,state,isDraft,headRefOid,isCrossRepository,body";
        let arguments = [
            format!("--head={branch}"),
            "--state=all".into(),
            "--limit=30".into(),
            format!("--json={FIELDS}"),
        ];
        let said = self.done("list", &arguments, "").await?;
        let mut pulls: Vec<Pull> = serde_json::from_str(&said.stdout).map_err(|error| {
            Failure::new(format!("gh pr list answers with something else: {error}")).hint("gh --version")
        })?;
        pulls.retain(|pull| !pull.is_from_elsewhere && is_address(&pull.url));
        pulls.sort_by_key(|pull| std::cmp::Reverse(pull.number));
        Ok(pulls)
    }

    /// Opens a pull request.
    pub(super) async fn open(&self, opening: &Opening<'_>, body: &str) -> anyhow::Result<Opened> {
        let Opening { branch, base, title, draft } = opening;
        let mut arguments = vec![
            format!("--head={branch}"),
            format!("--base={base}"),
            format!("--title={title}"),
            "--body-file=-".into(),
        ];
        if *draft {
            arguments.push("--draft".into());
        }
        let said = self.run("create", &arguments, body).await?;
        if said.code != 0 && said.complaint.contains("already exists") {
            return Ok(Opened::There);
        }
        if said.code != 0 && *draft && said.complaint.to_ascii_lowercase().contains("draft") {
            let id = branch.trim_start_matches("azolla/");
            let hint = format!("where drafts are not known: azolla pr {id} --ready");
            return Err(said.failure("gh pr create", &hint).into());
        }
        let said = self.judged("create", said)?;
        let url = said.stdout.lines().map(str::trim).rfind(|line| is_address(line));
        let url = url.ok_or_else(|| {
            let what = format!("gh pr create printed no address: {}", plain(said.stdout.trim()));
            Failure::new(what).hint("see what is there: gh pr list")
        })?;
        let number = url.rsplit('/').next().and_then(|number| number.parse().ok()).unwrap_or(0);
        Ok(Opened::New(Pull {
            number,
            url: url.to_owned(),
            state: "OPEN".into(),
            is_draft: *draft,
            head: String::new(),
            is_from_elsewhere: false,
            body: body.to_owned(),
        }))
    }

    /// Replaces the text of a pull request, and its title if there is another.
    pub(super) async fn edit(&self, pull: &Pull, title: Option<&str>, body: &str) -> anyhow::Result<()> {
        let mut arguments = vec![pull.number.to_string(), "--body-file=-".into()];
        arguments.extend(title.map(|title| format!("--title={title}")));
        self.done("edit", &arguments, body).await.map(drop)
    }

    /// Turns a draft into one that is ready for review.
    pub(super) async fn ready(&self, pull: &Pull) -> anyhow::Result<()> {
        self.done("ready", &[pull.number.to_string()], "").await.map(drop)
    }

    async fn done(&self, verb: &str, arguments: &[String], input: &str) -> anyhow::Result<Said> {
        let said = self.run(verb, arguments, input).await?;
        Ok(self.judged(verb, said)?)
    }

    fn judged(&self, verb: &str, said: Said) -> Result<Said, Failure> {
        /// gh's own code for a login that is missing.
        const NOT_LOGGED_IN: i32 = 4;
        let is_login = said.code == NOT_LOGGED_IN || said.complaint.contains("gh auth login");
        match said.code {
            0 => Ok(said),
            _ if is_login => Err(said.failure(&format!("gh pr {verb}"), "gh auth login")),
            _ => Err(said.failure(&format!("gh pr {verb}"), "gh auth status")),
        }
    }

    /// Every value stands behind its `=`: none can be taken for an option.
    async fn run(&self, verb: &str, arguments: &[String], input: &str) -> anyhow::Result<Said> {
        let fixed = ["pr".to_owned(), verb.to_owned(), format!("--repo={}", self.place)];
        let arguments = fixed.iter().chain(arguments).map(OsString::from).collect();
        let _waiting = Waiting::begin("asking gh");
        self.caller.run(arguments, &[], input, TIME).await
    }
}

fn is_address(text: &str) -> bool {
    let is_url = text.starts_with("https://") || text.starts_with("http://");
    is_url && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}
