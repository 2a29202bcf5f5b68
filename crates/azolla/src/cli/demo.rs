//! `azolla demo`: the whole way from a note to a gated branch and to one page over two machines, in a scratch directory,
//! with the very commands that one would type.

mod elsewhere;
mod repository;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use azolla_protocol::{AzollaType, IdSource};
use azolla_substrate::SystemIds;
use clap::{Args, Parser};

use self::elsewhere::Elsewhere;
use super::Arguments;
use crate::{
    config::{Place, add_recorded, copy_provider, first_text},
    deployment::Deployment,
    failure::Failure,
    find::all,
    nearest::meant,
    screen::{self, FAINT, PLAIN, Page, STRONG, quoted},
};

/// Show the whole way from a note to a result, in a scratch directory
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla demo\n  azolla demo --provider NAME\n\n\
                        Stores, git, checks, claims and HTTP are real. Without --provider the worker's answer comes from \
                        a recorded file. Nothing outside the scratch directory is touched.")]
pub(crate) struct Demo {
    /// A worker of your configuration; otherwise a recorded answer.
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,

    /// Where to make it, a directory that is not there yet; otherwise one for temporary files.
    #[arg(long, value_name = "PATH")]
    directory: Option<PathBuf>,
}

/// Three notes: something to do, a list, and nothing at all.
const NOTES: [&str; 3] = [
    "share.sh: 500 cents among 3 people gives 166 each. It should round half up, so that it gives 167.",
    "- [ ] say in the README how to run check.sh\n- ask Kim by Friday whether shares of 0 people are an error",
    "thanks!",
];

impl Demo {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let configured = match &self.provider {
            Some(name) => Some(configured(home, name)?),
            None => None,
        };
        // Every step is followed by the next one: nobody is asked to leave a pager first.
        screen::page_at_once();
        let scratch = self.make_directory()?;
        let (repo, home) = (scratch.join("shares"), scratch.join("home"));
        repository::make(&repo).await?;
        // As if one had typed `cd`: init looks at where it is.
        std::env::set_current_dir(&repo).with_context(|| format!("{} cannot be entered", repo.display()))?;
        say(&format!("A small repository with a bug and a check: {}", repo.display()))?;
        let provider = self.provider.as_deref().unwrap_or("recorded");
        let place = Place::find(Some(&home))?;
        place.make()?;
        add_worker(&place, &scratch, provider, configured.as_deref())?;
        match configured {
            Some(_) => say(&format!("The worker is {provider}, from your configuration."))?,
            None => say("The worker's answer comes from a recorded file: no model is asked.")?,
        }
        step(&home, &["init"]).await?;
        step(&home, &["trust", "--yes"]).await?;
        say("Notes, as they come to mind. Triage is built in and needs no model:")?;
        for note in NOTES {
            step(&home, &["capture", note]).await?;
        }
        step(&home, &["triage", "--now"]).await?;
        say("One of the candidates becomes a piece of work; nothing runs before it is approved:")?;
        step(&home, &["triage", "promote", "1"]).await?;
        let id = only_ticket(&home).await?;
        step(&home, &["objective", "approve", &id]).await?;
        let code = step(&home, &["run", "--until-idle"]).await?;
        step(&home, &["review", &id]).await?;
        step(&home, &["explain", &id]).await?;
        orientation(&scratch, &home).await?;
        step(&home, &[]).await?;
        let mut page = Page::default();
        page.line(PLAIN, "")
            .line(STRONG, "Look around, then remove it:")
            .command("  ", &format!("export AZOLLA_HOME={}; cd {}", home.display(), repo.display()))
            .command("  ", &format!("git log --oneline azolla/{id}"))
            .command("  ", &format!("rm -rf {}", scratch.display()));
        page.show()?;
        Ok(code)
    }

    fn make_directory(&self) -> anyhow::Result<PathBuf> {
        let named = self.directory.clone();
        let path = named.unwrap_or_else(|| {
            std::env::temp_dir().join(format!("azolla-demo-{}", SystemIds::default().body()))
        });
        let failed = || format!("{} cannot be made", path.display());
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().mode(0o700).create(&path).with_context(failed)?;
        path.canonicalize().with_context(failed)
    }
}

/// One page over this machine and another one, which is asked over HTTP.
async fn orientation(scratch: &Path, home: &Path) -> anyhow::Result<()> {
    let deployment = Deployment::load(Some(home))?;
    let asking = deployment.one(None, AzollaType::TaskMgmt)?;
    let token_file = scratch.join("token");
    let elsewhere = Elsewhere::start(scratch, &asking.id, &token_file).await?;
    let token_file = token_file.to_str().context("the scratch directory's name is not UTF-8")?;
    say("Back on this machine: the other one is registered, and both are asked where they stand.")?;
    step(home, &["peer", "add", "az-site", "--url", &elsewhere.url, "--token-file", token_file]).await?;
    let shown = step(home, &["manifest"]).await;
    elsewhere.end().await;
    shown.map(drop)
}

/// Returns the text of the operator's configuration, which has to have the provider.
fn configured(home: Option<&Path>, name: &str) -> anyhow::Result<String> {
    let deployment = Deployment::load(home)?;
    if !deployment.config.providers.contains_key(name) {
        let names: Vec<_> = deployment.config.providers.keys().map(String::as_str).collect();
        let hint = meant(name, &names, "none is configured; without --provider a recorded answer is used");
        return Err(Failure::not_found(format!("there is no provider {name}")).hint(hint).into());
    }
    Ok(std::fs::read_to_string(&deployment.place.config)?)
}

fn add_worker(place: &Place, scratch: &Path, name: &str, configured: Option<&str>) -> anyhow::Result<()> {
    let text = first_text();
    let text = match configured {
        Some(from) => copy_provider(from, text, &place.config, name)?,
        None => {
            let answer = scratch.join("answer.md");
            std::fs::write(&answer, include_str!("demo/answer.md"))?;
            let answer = answer.to_str().context("the scratch directory's name is not UTF-8")?;
            add_recorded(text, &place.config, name, answer)?
        }
    };
    std::fs::write(&place.config, text)?;
    Ok(())
}

/// Runs a command of ours, after showing it as one would type it.
async fn step(home: &Path, words: &[&str]) -> anyhow::Result<ExitCode> {
    let shown: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let mut page = Page::default();
    page.line(PLAIN, "").add(FAINT, "$ ").command("", format!("azolla {}", shown.join(" ")).trim_end());
    page.show()?;
    let flag = ["azolla".as_ref(), "--home".as_ref(), home.as_os_str()];
    let arguments = flag.into_iter().chain(words.iter().map(|word| word.as_ref()));
    let arguments = Arguments::try_parse_from(arguments)?;
    // A command that runs commands: its future would hold itself.
    Box::pin(super::run(arguments)).await
}

fn say(text: &str) -> std::io::Result<()> {
    let mut page = Page::default();
    page.line(PLAIN, "").line(STRONG, text);
    page.show()
}

async fn only_ticket(home: &Path) -> anyhow::Result<String> {
    let deployment = Deployment::load(Some(home))?;
    let azolla = deployment.one(None, AzollaType::CodePatch)?;
    let store = deployment.open(azolla).await?;
    let found = all(store.read()).await?;
    let stored = found.last().context("the objective was just made")?;
    Ok(stored.objective.objective_id.to_string())
}
