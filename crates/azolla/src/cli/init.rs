//! `azolla init`: the configuration, the stores, the standing objective; inside a repository, an azolla for it.
//! A second time it changes nothing.

mod agent;
mod checkout;
mod standing;
pub(super) mod words;

pub(super) use agent::found as agents;

use std::{path::Path, process::ExitCode};

use anyhow::Context;
use azolla_control_plane::repo::check_branch;
use azolla_protocol::{AzollaId, AzollaType};
use clap::Args;

use self::checkout::Checkout;
use crate::{
    config::{
        Added, AzollaConfig, Config, Place, ProviderConfig, add_azolla, add_provider, first_text, read_text,
        set_provider, write_text,
    },
    deployment::{Deployment, STANDING},
    failure::Failure,
    screen::{FAINT, PLAIN, Page, quoted, remark},
};

/// Set up azolla; inside a repository, also for that repository
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla init\n  cd ~/app && azolla init --agent claude\n  \
                        azolla init --provider-command 'my-agent --file {prompt_file}'\n\n\
                        What is there already is left as it is; a flag that would change it is refused with what \
                        to edit.")]
pub(crate) struct Init {
    /// The branch that work starts from; otherwise the repository's default, or the one that is checked out.
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,

    /// A program that edits files in its current directory. In its words, {prompt_file} is a file with the task and
    /// {prompt} the task itself; without either, the task comes on stdin.
    #[arg(long, value_name = "COMMAND")]
    provider_command: Option<String>,

    /// A known agent: claude, codex, aider or goose.
    #[arg(long, value_name = "NAME", conflicts_with = "provider_command")]
    agent: Option<String>,
}

impl Init {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let place = Place::find(home)?;
        place.make()?;
        let mut page = Page::default();
        let mut note = |what: &str, at: &dyn std::fmt::Display| {
            page.add(PLAIN, &format!("{what:<10}")).line(FAINT, &at.to_string());
        };
        let before = read_text(&place.config)?;
        let mut text = before.clone().unwrap_or_else(|| first_text().to_owned());
        let provider = match (&self.provider_command, &self.agent) {
            (Some(command), _) => Some(self.add_command(&mut text, &place, command, &mut note)?),
            (None, Some(name)) => Some(agent::add(&mut text, &place, name, &mut note)?),
            (None, None) => None,
        };
        let repository = self.add_repository(&mut text, &place, provider.as_deref(), &mut note).await?;
        // Whatever was added, the whole of it has to be good before it is written.
        let config = Config::parse(&text, &place.config)?;
        if before.as_deref() != Some(&text) {
            write_text(&place.config, &text)?;
            note("wrote", &place.config.display());
        }
        let deployment = Deployment { place, config };
        for azolla in &deployment.config.azollas {
            let is_new = azolla.store.is_none() && !deployment.place.store(&azolla.id).exists();
            let store = deployment.open_or_create(azolla).await?;
            if is_new {
                note("made", &deployment.place.store(&azolla.id).display());
            }
            if azolla.azolla_type == AzollaType::TaskMgmt
                && standing::open(&*store, &azolla.id).await? == Added::New
            {
                note("opened", &STANDING);
            }
        }
        next_step(&mut page, &deployment.config, repository.as_ref());
        page.show()?;
        Ok(ExitCode::SUCCESS)
    }

    fn add_command(
        &self,
        text: &mut String,
        place: &Place,
        command: &str,
        note: &mut dyn FnMut(&str, &dyn std::fmt::Display),
    ) -> anyhow::Result<String> {
        let argv = words::split(command).map_err(Failure::usage)?;
        let program = argv.first().and_then(|program| Path::new(program).file_stem());
        let name = program.map_or_else(String::new, |stem| id_body(&stem.to_string_lossy()));
        if name.is_empty() {
            return Err(Failure::usage("--provider-command names no program").into());
        }
        let (changed, added) = add_provider(text, &place.config, &name, &argv)?;
        *text = changed;
        match (added, Config::parse(text, &place.config)?.providers.get(&name)) {
            (Added::New, _) => note("added", &format_args!("[provider.{name}]")),
            (_, Some(ProviderConfig::Command { argv: kept, .. })) if *kept == argv => {
                note("kept", &format_args!("[provider.{name}], which was there already"));
            }
            (Added::Already, _) => {
                let what = format!("there is a [provider.{name}] already, with another command");
                return Err(Failure::refused(what)
                    .hint(edit(place, "argv", &format!("provider.{name}")))
                    .into());
            }
        }
        warn_if_missing(&argv);
        Ok(name)
    }

    async fn add_repository(
        &self,
        text: &mut String,
        place: &Place,
        provider: Option<&str>,
        note: &mut dyn FnMut(&str, &dyn std::fmt::Display),
    ) -> anyhow::Result<Option<AzollaId>> {
        let here = std::env::current_dir().context("the current directory cannot be read")?;
        let Some(checkout) = Checkout::around(&here) else {
            if self.base.is_some() {
                return Err(Failure::usage("--base needs a repository, and this directory is in none").into());
            }
            return Ok(None);
        };
        let repo =
            checkout.root.to_str().ok_or_else(|| Failure::new("the repository's path is not UTF-8"))?;
        let config = Config::parse(text, &place.config)?;
        let same = |path: &Path| path.canonicalize().is_ok_and(|path| path == checkout.root);
        let known = config.azollas.iter().find(|azolla| azolla.repo_path().is_some_and(same));
        if let Some(base) = &self.base {
            check_branch(base).map_err(Failure::misnamed)?;
        }
        if let Some(known) = known {
            self.agrees_with(known, provider, place)?;
            if let (None, Some(provider)) = (&known.provider, provider) {
                *text = set_provider(text, &place.config, &known.id, provider)?;
                note("set", &format_args!("provider of [azolla.{}]", known.id));
            }
            return Ok(Some(known.id.clone()));
        }
        let base = match &self.base {
            Some(base) => base.clone(),
            None => match checkout.base_branch().await? {
                Some(base) => base,
                None => {
                    let there = checkout.branches().await.unwrap_or_default();
                    let hint = match there.iter().find(|name| check_branch(name).is_ok()) {
                        Some(there) => format!("azolla init --base {}", quoted(there)),
                        None => "git branch main && azolla init --base main".to_owned(),
                    };
                    return Err(Failure::new(format!("{repo} has no branch checked out")).hint(hint).into());
                }
            },
        };
        check_branch(&base)?;
        let id = free_id(&checkout.root, &config);
        (*text, _) = add_azolla(text, &place.config, &id, repo, &base, provider)?;
        note("added", &format_args!("[azolla.{id}] for {repo}, work starts from {base}"));
        Ok(Some(id))
    }
}

impl Init {
    /// Refuses flags that would change an azolla that is there: `init` leaves what is there as it is, and says so.
    fn agrees_with(
        &self,
        known: &AzollaConfig,
        provider: Option<&str>,
        place: &Place,
    ) -> Result<(), Failure> {
        let section = format!("azolla.{}", known.id);
        if let (Some(asked), Some(has)) = (&self.base, &known.base_branch)
            && asked != has
        {
            let what = format!("{} is set up already, and its work starts from {has}", known.id);
            return Err(Failure::refused(what).hint(edit(place, "base_branch", &section)));
        }
        if let (Some(asked), Some(has)) = (provider, &known.provider)
            && asked != has
        {
            let what = format!("{} is set up already, and its work is done by {has}", known.id);
            return Err(Failure::refused(what).hint(edit(place, "provider", &section)));
        }
        Ok(())
    }
}

/// What to edit, where `init` changes nothing.
fn edit(place: &Place, key: &str, section: &str) -> String {
    format!("edit {key} of [{section}] in {}", place.config.display())
}

/// Says that a program is not there: it may well be installed later, so it is no reason to stop.
fn warn_if_missing(argv: &[String]) {
    let program = argv.first().map_or("", String::as_str);
    let path = std::env::var_os("PATH").unwrap_or_default();
    if azolla_process::find(program.as_ref(), &path).is_none() {
        let then = "install it before the first run, or name it by its whole path";
        let (named, then) = match Path::new(program) {
            file if file.is_absolute() && file.is_file() => {
                ("not executable", "chmod +x it before the first run")
            }
            _ if program.contains('/') => ("no program", then),
            _ => ("not found on PATH", then),
        };
        remark(&format!("warning: {program} is {named}; {then}"));
    }
}

fn next_step(page: &mut Page, config: &Config, repository: Option<&AzollaId>) {
    let provider = repository.and_then(|id| config.azolla(id)).and_then(|azolla| azolla.provider.as_ref());
    match (repository, provider.is_some() || config.providers.len() == 1) {
        (None, _) => {
            page.heading("Next: set it up for a repository").command("  ", "cd REPOSITORY && azolla init");
        }
        (Some(_), false) => {
            page.heading("Next: name a program that does the work");
            for preset in agent::found() {
                page.command("  ", &format!("azolla init --agent {}", preset.name));
            }
            page.command("  ", "azolla init --provider-command 'my-agent --file {prompt_file}'");
        }
        (Some(_), true) => {
            page.heading("Next: describe a piece of work").command(
                "  ",
                "azolla objective new \"Title\" --criteria \"what has to hold when it is done\"",
            );
        }
    }
}

/// Returns an id for a repository that no other azolla has.
fn free_id(root: &Path, config: &Config) -> AzollaId {
    let name = root.file_name().map_or_else(String::new, |name| id_body(&name.to_string_lossy()));
    let name = if name.is_empty() { "repository".to_owned() } else { name };
    let candidates = std::iter::once(name.clone()).chain((2..).map(|n| format!("{name}-{n}")));
    let mut ids = candidates.filter_map(|body| AzollaId::new(format!("az-{body}")).ok());
    ids.find(|id| config.azolla(id).is_none()).expect("there is always a further number")
}

/// Turns a file's name into what an id may have after its prefix.
fn id_body(name: &str) -> String {
    let allowed = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
    let body: String = name.to_ascii_lowercase().chars().map(allowed).take(50).collect();
    body.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests;
