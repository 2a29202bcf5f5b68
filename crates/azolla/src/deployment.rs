//! From the configuration to its parts: which azolla a command means, its store and its repository.

use std::{path::Path, sync::Arc};

use anyhow::Context;
use azolla_control_plane::repo::{GitRepository, GitSettings, PatchLimits};
use azolla_protocol::{AzollaId, AzollaType, limits};
use azolla_substrate::{
    Identity, Opening, PostgresReader, PostgresSubstrate, SqliteReader, SqliteSubstrate, Substrate,
    SubstrateRead, SystemClock,
};

use crate::{
    config::{AzollaConfig, Config, Place},
    failure::Failure,
    nearest::meant,
};

/// The standing objective of every TASK_MGMT azolla, the same everywhere (S-n).
pub(crate) const STANDING: &str = "obj-ctx-continuity";

/// The configuration of this machine's operator, and where everything is.
pub(crate) struct Deployment {
    /// The paths.
    pub(crate) place: Place,
    /// The registry.
    pub(crate) config: Config,
}

impl Deployment {
    /// Reads the configuration, from `home` if that is given.
    pub(crate) fn load(home: Option<&Path>) -> anyhow::Result<Self> {
        let place = Place::find(home)?;
        let what = format!("there is no configuration at {}", place.config.display());
        Self::at(place)?.ok_or_else(|| Failure::new(what).hint("azolla init").into())
    }

    /// Reads the configuration of a place; none if there is none.
    pub(crate) fn at(place: Place) -> anyhow::Result<Option<Self>> {
        place.check()?;
        let text = match std::fs::read_to_string(&place.config) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("{} cannot be read", place.config.display()));
            }
        };
        let config = Config::parse(&text, &place.config)?;
        Ok(Some(Self { place, config }))
    }

    /// Returns the azolla that was named.
    pub(crate) fn named(&self, id: &AzollaId) -> Result<&AzollaConfig, Failure> {
        self.config.azolla(id).ok_or_else(|| {
            let known: Vec<_> = self.config.azollas.iter().map(|azolla| azolla.id.as_str()).collect();
            Failure::not_found(format!("there is no azolla {id}")).hint(meant(
                id.as_str(),
                &known,
                "none is configured; run azolla init",
            ))
        })
    }

    /// Returns the azolla that a command for `azolla_type` means: the named one, else the one whose repository holds
    /// the current directory, else the only one.
    pub(crate) fn one(
        &self,
        named: Option<&AzollaId>,
        azolla_type: AzollaType,
    ) -> Result<&AzollaConfig, Failure> {
        if let Some(id) = named {
            let azolla = self.named(id)?;
            if azolla.azolla_type != azolla_type {
                let what = format!("{id} is a {}, and this needs a {azolla_type}", azolla.azolla_type);
                return Err(Failure::usage(what));
            }
            return Ok(azolla);
        }
        if let Some(here) = self.here().filter(|here| here.azolla_type == azolla_type) {
            return Ok(here);
        }
        self.the_one(azolla_type, |listed| {
            let what = "there is more than one azolla, and this directory is in none of their repositories";
            Failure::usage(what).hint(format!("add --azolla ID; configured: {listed}"))
        })
    }

    /// Returns the azolla of a type, as [`Deployment::one`] does, for whoever is in no directory.
    pub(crate) fn only(
        &self,
        named: Option<&AzollaId>,
        azolla_type: AzollaType,
    ) -> Result<&AzollaConfig, Failure> {
        if named.is_some() {
            return self.one(named, azolla_type);
        }
        self.the_one(azolla_type, |listed| {
            Failure::usage("there is more than one azolla")
                .hint(format!("name the azolla; configured: {listed}"))
        })
    }

    fn the_one(
        &self,
        azolla_type: AzollaType,
        several: impl FnOnce(String) -> Failure,
    ) -> Result<&AzollaConfig, Failure> {
        let all: Vec<_> = self.config.of_type(azolla_type).collect();
        match all[..] {
            [only] => Ok(only),
            [] => Err(Failure::not_found(format!("no {azolla_type} is configured"))
                .hint("cd into a repository, then: azolla init")),
            _ => Err(several(self.listed(&all))),
        }
    }

    /// Returns the azollas that an id may belong to: the named one, else all of them, that of this directory first.
    pub(crate) fn candidates(&self, named: Option<&AzollaId>) -> Result<Vec<&AzollaConfig>, Failure> {
        if let Some(id) = named {
            return Ok(vec![self.named(id)?]);
        }
        let here = self.here().map(|azolla| &azolla.id);
        let mut all: Vec<_> = self.config.azollas.iter().collect();
        all.sort_by_key(|azolla| Some(&azolla.id) != here);
        Ok(all)
    }

    /// Returns the azolla whose repository holds the current directory; the innermost if there are several.
    pub(crate) fn here(&self) -> Option<&AzollaConfig> {
        let here = std::env::current_dir().ok()?.canonicalize().ok()?;
        let holds = |azolla: &&AzollaConfig| {
            let root = azolla.repo_path().and_then(|path| path.canonicalize().ok());
            root.is_some_and(|root| here.starts_with(root))
        };
        let depth = |azolla: &&AzollaConfig| azolla.repo_path().map_or(0, |path| path.components().count());
        self.config.azollas.iter().filter(holds).max_by_key(depth)
    }

    fn listed(&self, azollas: &[&AzollaConfig]) -> String {
        if azollas.is_empty() {
            return "none; run azolla init".to_owned();
        }
        azollas.iter().map(|azolla| azolla.id.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Returns the name of the provider that works for an azolla: its own, else the only one.
    pub(crate) fn provider_name(&self, azolla: &AzollaConfig) -> Result<&str, Failure> {
        if let Some(name) = &azolla.provider {
            let (name, _) = self.config.providers.get_key_value(name).expect("the configuration was checked");
            return Ok(name);
        }
        let mut names = self.config.providers.keys();
        match (names.next(), names.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(Failure::new(format!("{} has nobody to do the work", azolla.id))
                .hint("azolla init --provider-command 'my-agent --file {prompt_file}'")),
            (Some(_), Some(_)) => Err(Failure::new(format!("{} names none of several providers", azolla.id))
                .hint(format!(
                    "add provider = \"NAME\" to [azolla.{}] in {}",
                    azolla.id,
                    self.place.config.display()
                ))),
        }
    }

    /// Returns the providers that work for an azolla, as far as they are known.
    pub(crate) fn provider_names<'a>(&'a self, azolla: &'a AzollaConfig) -> Vec<&'a str> {
        match azolla.azolla_type {
            AzollaType::CodePatch => self.provider_name(azolla).into_iter().collect(),
            AzollaType::TaskMgmt => {
                let named = [&azolla.triage_provider, &azolla.manifest_provider];
                named.into_iter().flatten().map(String::as_str).collect()
            }
        }
    }

    /// Opens the store of an azolla, which has to be there.
    pub(crate) async fn open(&self, azolla: &AzollaConfig) -> anyhow::Result<Arc<dyn Substrate>> {
        if azolla.store.is_none() && !self.place.store(&azolla.id).exists() {
            let what = format!("{} has no store at {}", azolla.id, self.place.store(&azolla.id).display());
            let hint = "azolla init makes a new one; put the file back if you have a backup";
            return Err(Failure::not_found(what).hint(hint).into());
        }
        self.open_or_create(azolla).await
    }

    /// Opens the store of an azolla, or makes it.
    pub(crate) async fn open_or_create(&self, azolla: &AzollaConfig) -> anyhow::Result<Arc<dyn Substrate>> {
        let opening = Opening::OrCreate(identity(azolla));
        Ok(match &azolla.store {
            Some(url) => Arc::new(PostgresSubstrate::open(url, &azolla.id, opening).await?),
            None => {
                let path = self.place.store(&azolla.id);
                Arc::new(SqliteSubstrate::open(&path, opening, Arc::new(SystemClock)).await?)
            }
        })
    }

    /// Opens the store of an azolla for reading alone: the database itself refuses to write through it (M-4).
    pub(crate) async fn open_to_read(&self, azolla: &AzollaConfig) -> anyhow::Result<Arc<dyn SubstrateRead>> {
        let identity = identity(azolla);
        Ok(match &azolla.store {
            Some(url) => Arc::new(PostgresReader::open(url, &identity).await?),
            None => {
                let path = self.place.store(&azolla.id);
                Arc::new(SqliteReader::open(&path, &identity, Arc::new(SystemClock)).await?)
            }
        })
    }

    /// Opens the store of an azolla for one look at it, at the least cost: a file for reading alone, without the thread that
    /// would write it and without its write lock. A file that has to be upgraded first is.
    pub(crate) async fn open_to_look(&self, azolla: &AzollaConfig) -> anyhow::Result<Arc<dyn SubstrateRead>> {
        let opened = match azolla.store {
            None => self.open_to_read(azolla).await.ok(),
            Some(_) => None,
        };
        // What was wrong is told by the whole store, which can also put some of it right.
        match opened {
            Some(store) => Ok(store),
            None => Ok(self.open(azolla).await?),
        }
    }

    /// Returns the repository of a CODE_PATCH azolla.
    pub(crate) fn repository(&self, azolla: &AzollaConfig) -> anyhow::Result<GitRepository> {
        let repo = azolla.repo.clone().with_context(|| format!("{} has no repository", azolla.id))?;
        let limit = |limit| self.config.limits.get(limit);
        Ok(GitRepository::open(GitSettings {
            repo,
            mirror: self.place.mirror(&azolla.id),
            scratch: self.place.scratch(&azolla.id),
            git: git()?,
            limits: PatchLimits {
                bytes: limit(&limits::PATCH_BYTES),
                files: limit(&limits::PATCH_FILES),
                file_bytes: limit(&limits::PATCH_FILE_BYTES),
            },
        })?)
    }
}

/// Returns whose store it is.
pub(crate) fn identity(azolla: &AzollaConfig) -> Identity {
    Identity { azolla_id: azolla.id.clone(), azolla_type: azolla.azolla_type }
}

/// Finds the git program.
pub(crate) fn git() -> Result<std::path::PathBuf, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    azolla_process::find("git".as_ref(), &path)
        .ok_or_else(|| Failure::new("git was not found on PATH").hint("install git 2.39 or newer"))
}
