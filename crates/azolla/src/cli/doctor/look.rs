//! The single looks of the doctor.

use std::path::Path;

use azolla_control_plane::repo::Repository;
use azolla_process::{Exit, SandboxMode};
use azolla_protocol::AzollaType;

use super::{Line, install};
use crate::{
    cli::init,
    config::{
        AzollaConfig, Place, ProviderConfig, REPOSITORY_FILE, REPOSITORY_FILE_BYTES_MAX, RepositoryFile,
        Unsafe,
    },
    deployment::{self, Deployment},
    failure::sentence,
    git,
    home::Home,
    screen::quoted,
    workers,
};

/// Is git there, and new enough?
pub(super) async fn git() -> Line {
    let path = match deployment::git() {
        Ok(path) => path,
        Err(error) => return Line::bad("git", error.to_string(), install::command("git")),
    };
    match git::run(Path::new("/"), vec!["--version".into()], &[]).await {
        Ok(finished) if finished.exit == Exit::Code(0) => {
            let text = String::from_utf8_lossy(&finished.stdout.bytes).trim().to_owned();
            let state = format!("{text} at {}", path.display());
            if is_new_enough(&text) {
                Line::good("git", state)
            } else {
                let state = format!("{state}; 2.39 or newer is needed");
                Line::bad("git", state, install::command("git"))
            }
        }
        Ok(finished) => Line::bad(
            "git",
            format!("{} ended with {:?}", path.display(), finished.exit),
            install::command("git"),
        ),
        Err(error) => Line::bad("git", error.to_string(), install::command("git")),
    }
}

/// Reads `git version 2.47.1 …`.
fn is_new_enough(text: &str) -> bool {
    let version = text.split_whitespace().nth(2).unwrap_or_default();
    let mut numbers = version.split('.').map_while(|part| part.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (2, 39)
}

/// Whose are the directories, and who can write there (T35)?
pub(super) fn places(place: &Place) -> Vec<Line> {
    let paths = format!("{} for its owner alone", place.data.display());
    vec![match place.check() {
        Ok(()) if place.data.is_dir() => Line::good("data directory", paths),
        Ok(()) => {
            Line::bad("data directory", format!("{} is not there yet", place.data.display()), "azolla init")
        }
        Err(Unsafe::Refused { path, what, fix }) => {
            Line::bad("home", format!("{} {what}", path.display()), fix)
        }
        Err(error) => {
            let path = quoted(&place.data.display().to_string());
            Line::bad("home", sentence(&error.into()), format!("ls -ld {path}"))
        }
    }]
}

/// Does the home store open?
pub(super) fn home_store(place: &Place) -> Line {
    let path = place.home_store();
    match Home::open(&path) {
        Ok(_) => Line::good("home store", path.display().to_string()),
        Err(error) => {
            let fix = format!("ls -l {}", quoted(&path.display().to_string()));
            Line::of("home store", Err(error.into()), &fix)
        }
    }
}

/// Is there room?
pub(super) fn disk(place: &Place) -> Line {
    /// Less than this is too little for mirrors and worktrees, and less than that will soon be.
    const TOO_LITTLE_MB: u64 = 500;
    const LITTLE_MB: u64 = 2_000;
    match rustix::fs::statvfs(&place.data) {
        Ok(found) => {
            let free = found.f_bavail.saturating_mul(found.f_frsize) / 1_000_000;
            let state = format!("{free} MB free at {}", place.data.display());
            let fix =
                format!("make room; what is large: du -sh {}/*", quoted(&place.data.display().to_string()));
            match free {
                ..TOO_LITTLE_MB => {
                    Line::bad("disk", format!("{state}: too little for mirrors and worktrees"), fix)
                }
                TOO_LITTLE_MB..LITTLE_MB => Line::attention("disk", state, fix),
                _ => Line::good("disk", state),
            }
        }
        Err(error) => {
            let path = quoted(&place.data.display().to_string());
            Line::bad("disk", error.to_string(), format!("ls -ld {path}"))
        }
    }
}

/// How are checks and programs confined?
pub(super) async fn sandbox(mode: SandboxMode) -> Line {
    let available = azolla_process::available().await;
    let state = format!("{mode}: {available}", mode = mode.as_str());
    match mode {
        SandboxMode::Off => {
            let state = "off, as configured: checks and programs reach all that you reach";
            Line::attention("sandbox", state, "set mode of [sandbox] to best-effort")
        }
        SandboxMode::Required if !available.required => Line::bad(
            "sandbox",
            format!("{state}; nothing that has to be confined will run"),
            format!("{}, or set mode of [sandbox] to best-effort", install::command("bubblewrap")),
        ),
        SandboxMode::BestEffort if !available.required => {
            let state = format!("{state}; checks and programs reach more than they need");
            Line::attention("sandbox", state, install::command("bubblewrap"))
        }
        SandboxMode::BestEffort | SandboxMode::Required => Line::good("sandbox", state),
    }
}

/// Does an azolla's store open and hold together, and is its repository there?
pub(super) async fn azolla(deployment: &Deployment, azolla: &AzollaConfig) -> Vec<Line> {
    let place = match &azolla.store {
        // An address may hold a password.
        Some(url) => url.rsplit_once('@').map_or("PostgreSQL", |(_, host)| host).to_owned(),
        None => deployment.place.store(&azolla.id).display().to_string(),
    };
    let mut lines = vec![Line::of(
        &format!("{} store", azolla.id),
        store(deployment, azolla, &place).await,
        "azolla verify",
    )];
    if azolla.azolla_type == AzollaType::CodePatch {
        let name = format!("{} repository", azolla.id);
        lines.push(Line::of(
            &name,
            repository(deployment, azolla).await,
            "correct repo and base_branch in the configuration",
        ));
        let mirror = deployment.place.mirror(&azolla.id);
        lines.push(Line::good(format!("{} mirror", azolla.id), mirror.display().to_string()));
        lines.push(worker(deployment, azolla));
        lines.extend(checks(deployment, azolla).await);
    }
    lines
}

async fn store(deployment: &Deployment, azolla: &AzollaConfig, place: &str) -> anyhow::Result<String> {
    let store = deployment.open(azolla).await?;
    let found = store.read().integrity().await?;
    anyhow::ensure!(found.is_empty(), "{place} is damaged: {}", found.join("; "));
    Ok(place.to_owned())
}

async fn repository(deployment: &Deployment, azolla: &AzollaConfig) -> anyhow::Result<String> {
    let branch = azolla.base_branch.as_deref().unwrap_or_default();
    let commit = deployment.repository(azolla)?.base(branch).await?;
    Ok(format!(
        "{}, {branch} at {}",
        azolla.repo.as_deref().unwrap_or_default(),
        commit.get(..12).unwrap_or(&commit)
    ))
}

/// Would the gate have checks to run? None of ours where the repository cannot be read: its own line says so.
async fn checks(deployment: &Deployment, azolla: &AzollaConfig) -> Option<Line> {
    let name = format!("{} checks", azolla.id);
    if !azolla.checks.is_empty() {
        return Some(Line::good(name, format!("{} of the configuration", azolla.checks.len())));
    }
    let repository = deployment.repository(azolla).ok()?;
    let commit = repository.base(azolla.base_branch.as_deref()?).await.ok()?;
    let bytes = match repository.file(&commit, REPOSITORY_FILE, REPOSITORY_FILE_BYTES_MAX).await {
        Ok(Some(bytes)) => bytes,
        Ok(None) => {
            let state = "none are configured: a result passes without being tried";
            let fix = format!(
                "add to [azolla.{}] in {}: checks = [{{ name = \"tests\", command = [\"cargo\", \"test\"] }}]",
                azolla.id,
                deployment.place.config.display()
            );
            return Some(Line::attention(name, state, fix));
        }
        Err(error) => {
            return Some(Line::bad(name, error.to_string(), format!("correct {REPOSITORY_FILE}")));
        }
    };
    let home = Home::open(&deployment.place.home_store()).ok()?;
    if !home.is_pinned(azolla.repo.as_deref()?, &bytes).ok()? {
        let state = format!("{REPOSITORY_FILE} is not trusted: runs will stop at their gate");
        return Some(Line::bad(name, state, format!("azolla trust --azolla {}", azolla.id)));
    }
    Some(match RepositoryFile::parse(&bytes) {
        Ok(file) => Line::good(name, format!("{} of the trusted {REPOSITORY_FILE}", file.checks.len())),
        Err(problem) => Line::bad(name, problem.to_string(), format!("correct {REPOSITORY_FILE}")),
    })
}

fn worker(deployment: &Deployment, azolla: &AzollaConfig) -> Line {
    let name = format!("{} worker", azolla.id);
    match deployment.provider_name(azolla) {
        Ok(provider) => Line::good(name, provider),
        Err(error) => {
            // An agent that is installed is the shortest way.
            let agents: Vec<_> = init::agents().map(|preset| preset.name).collect();
            match (&agents[..], deployment.config.providers.is_empty(), azolla.repo_path()) {
                ([first, ..], true, Some(repo)) => {
                    let repo = quoted(&repo.display().to_string());
                    let fix = format!("cd {repo} && azolla init --agent {first}");
                    Line::bad(name, error.to_string(), fix)
                }
                _ => Line::of(&name, Err(error.into()), "azolla init --help"),
            }
        }
    }
}

/// Can a provider be made, and is its program there?
pub(super) fn provider(deployment: &Deployment, name: &str, provider: &ProviderConfig) -> Vec<Line> {
    let what = format!("worker {name}");
    if let Err(error) = workers::provider(deployment, name) {
        return vec![Line::of(&what, Err(error), &format!("correct [provider.{name}] in the configuration"))];
    }
    match provider {
        ProviderConfig::Command { argv, env, home_files, .. } => {
            let program = argv.first().map_or("", String::as_str);
            let path = std::env::var_os("PATH").unwrap_or_default();
            let mut lines = vec![match azolla_process::find(program.as_ref(), &path) {
                Some(found) => Line::good(&what, found.display().to_string()),
                None => Line::bad(
                    &what,
                    format!("{program} was not found on PATH"),
                    format!("install {program}, or correct argv of [provider.{name}]"),
                ),
            }];
            lines.extend(login(name, program, env, home_files));
            lines
        }
        ProviderConfig::Recorded { answers } => vec![there(&what, answers)],
        ProviderConfig::Anthropic { api, .. } | ProviderConfig::OpenAi { api, .. } => {
            vec![Line::good(&what, format!("{} at {}", api.model, api.base_url))]
        }
    }
}

/// Does a program get anything to log in with? One of what is listed is enough: agents take whichever there is.
fn login(name: &str, program: &str, env: &[String], home_files: &[String]) -> Option<Line> {
    if env.is_empty() && home_files.is_empty() {
        return None;
    }
    let what = format!("login of {name}");
    let home = std::env::home_dir().unwrap_or_default();
    let set = env.iter().filter(|variable| std::env::var_os(variable).is_some());
    let copied = home_files.iter().filter(|file| home.join(file).is_file());
    let seen: Vec<_> = set.chain(copied).map(String::as_str).collect();
    if !seen.is_empty() {
        return Some(Line::good(what, format!("sees {}", seen.join(", "))));
    }
    let unset = none_of(env, "is not set", "is set");
    let missing = none_of(home_files, "is not in your home directory", "is in your home directory");
    let state = [unset, missing].into_iter().flatten().collect::<Vec<_>>().join(", and ");
    let fix = match (env.first(), home_files.is_empty()) {
        (Some(variable), true) => format!("export {variable}=…, or correct env of [provider.{name}]"),
        (Some(variable), false) => format!("export {variable}=…, or log in with {program}"),
        (None, _) => format!("log in with {program}, or correct home_files of [provider.{name}]"),
    };
    Some(Line::bad(what, state, fix))
}

/// Says in words that nothing of a list is there.
fn none_of(names: &[String], one: &str, any: &str) -> Option<String> {
    match names {
        [] => None,
        [name] => Some(format!("{name} {one}")),
        names => Some(format!("none of {} {any}", names.join(", "))),
    }
}

/// Do caps on money hold for every worker? Not wrong if not, but nobody should think so.
pub(super) fn money(deployment: &Deployment) -> Option<Line> {
    let config = &deployment.config;
    let told = config.unpriced().map(|(name, provider)| match provider {
        ProviderConfig::Command { .. } => format!("set most_usd of [provider.{name}]"),
        _ => format!("set the prices of [provider.{name}]"),
    });
    let told: Vec<_> = told.collect();
    let state = "cannot hold for every worker: what some of them cost is not known beforehand";
    let fix = || format!("{}, in {}", told.join(", "), deployment.place.config.display());
    (!told.is_empty()).then(|| Line::attention("caps on money", state, fix()))
}

fn there(what: &str, path: &Path) -> Line {
    match path.exists() {
        true => Line::good(what, path.display().to_string()),
        false => Line::bad(
            what,
            format!("{} is not there", path.display()),
            "correct answers in the configuration",
        ),
    }
}
