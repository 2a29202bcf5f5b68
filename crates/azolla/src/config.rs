//! The user's configuration: the static registry of azollas (Y-1), the providers, the limits and the caps.
//!
//! Flag, then environment, then this file, then the default. What the program does not know is an error that shows
//! the line (`report.rs`).

mod edit;
mod file;
#[cfg(test)]
mod fuzz;
mod keys;
mod notify;
mod peer;
mod place;
mod provider;
mod read;
mod report;
mod repository_file;
mod values;

use std::{collections::BTreeMap, path::Path, time::Duration};

use azolla_control_plane::sandbox::SandboxSettings;
use azolla_protocol::{AzollaId, AzollaType, Deadlines, Limit, limits};

pub(crate) use edit::{
    Added, add_azolla, add_peer, add_preset, add_provider, add_recorded, copy_provider, first_text,
    remove_peer, set_provider,
};
pub(crate) use file::{read as read_text, write as write_text};
pub(crate) use keys::{CHECK_TABLE, Key, REPOSITORY_TABLE, Table, USER_TABLES};
pub(crate) use notify::{NotifyConfig, QuietHours};
pub(crate) use peer::{HttpConfig, PeerConfig, TlsFiles};
pub(crate) use place::{Place, Unsafe};
pub(crate) use provider::{KeyFrom, ModelApi, Price, ProviderConfig};
pub(crate) use read::BUILTIN;
pub(crate) use report::Problem;
pub(crate) use repository_file::{
    BYTES_MAX as REPOSITORY_FILE_BYTES_MAX, NAME as REPOSITORY_FILE, RepositoryFile,
};

pub(crate) use values::{Part, Setting, parts};

/// All that `config.toml` says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Config {
    /// The azollas, in the order of their ids.
    pub(crate) azollas: Vec<AzollaConfig>,
    /// The azollas of other machines, in the order of their ids.
    pub(crate) peers: Vec<PeerConfig>,
    /// How this machine answers over HTTP.
    pub(crate) http: HttpConfig,
    /// The providers by name.
    pub(crate) providers: BTreeMap<String, ProviderConfig>,
    /// The limits and caps that are not the default.
    pub(crate) limits: Limits,
    /// What checks and commands may reach.
    pub(crate) sandbox: SandboxSettings,
    /// How long objectives may stay as they are, by urgency (7.4).
    pub(crate) deadlines: Deadlines,
    /// How the operator is told that something waits.
    pub(crate) notify: NotifyConfig,
}

/// One azolla of the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AzollaConfig {
    /// Its id.
    pub(crate) id: AzollaId,
    /// Its blueprint.
    pub(crate) azolla_type: AzollaType,
    /// An absolute path or a URL; CODE_PATCH always has one.
    pub(crate) repo: Option<String>,
    /// The branch that work starts from; CODE_PATCH always has one.
    pub(crate) base_branch: Option<String>,
    /// A PostgreSQL URL; none is a SQLite file in the data directory.
    pub(crate) store: Option<String>,
    /// Which provider does the work of a CODE_PATCH azolla.
    pub(crate) provider: Option<String>,
    /// Which provider triages for a TASK_MGMT azolla; none is the built-in one.
    pub(crate) triage_provider: Option<String>,
    /// Which provider gives orientation for a TASK_MGMT azolla; none is the built-in one.
    pub(crate) manifest_provider: Option<String>,
    /// How often a TASK_MGMT azolla gives orientation unasked; none is never.
    pub(crate) manifest_every: Option<Duration>,
    /// Runs at once (W-4).
    pub(crate) max_concurrent: u64,
    /// The operator's own checks.
    pub(crate) checks: Vec<CheckConfig>,
}

/// A command that the gate runs on the patched tree and on the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckConfig {
    /// What it is called.
    pub(crate) name: String,
    /// Program and arguments.
    pub(crate) command: Vec<String>,
    /// Its time limit, if it is not `check_ms`.
    pub(crate) time_ms: Option<u64>,
}

/// The configured limits and caps, over the defaults of the protocol's tables (O-2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits(BTreeMap<&'static str, u64>);

impl Limits {
    /// Returns what holds for `limit`.
    pub(crate) fn get(&self, limit: &Limit) -> u64 {
        self.configured(limit).unwrap_or(limit.default)
    }

    /// Returns what is configured for `limit`, if anything is.
    pub(crate) fn configured(&self, limit: &Limit) -> Option<u64> {
        self.0.get(limit.name).copied()
    }

    /// Returns limits that are configured like this.
    #[cfg(test)]
    pub(crate) fn with(values: &[(&Limit, u64)]) -> Self {
        Self(values.iter().map(|(limit, value)| (limit.name, *value)).collect())
    }

    fn set(&mut self, limit: &Limit, value: u64) {
        self.0.insert(limit.name, value);
    }
}

impl Config {
    /// Reads the text of a configuration; `path` is for the error alone.
    pub(crate) fn parse(text: &str, path: &Path) -> Result<Self, Problem> {
        read::config(text).map_err(|fault| fault.at(text, path))
    }

    /// Returns the providers for which caps on money cannot hold, where there is such a cap.
    pub(crate) fn unpriced(&self) -> impl Iterator<Item = (&str, &ProviderConfig)> {
        let is_capped = [&limits::RUN_USD, &limits::OBJECTIVE_USD, &limits::DAY_USD]
            .iter()
            .any(|cap| self.limits.get(cap) > 0);
        let unpriced = self.providers.iter().filter(move |(_, provider)| is_capped && !provider.is_priced());
        unpriced.map(|(name, provider)| (name.as_str(), provider))
    }

    /// Returns a peer by its id.
    pub(crate) fn peer(&self, id: &AzollaId) -> Option<&PeerConfig> {
        self.peers.iter().find(|peer| peer.id == *id)
    }

    /// Returns an azolla by its id.
    pub(crate) fn azolla(&self, id: &AzollaId) -> Option<&AzollaConfig> {
        self.azollas.iter().find(|azolla| azolla.id == *id)
    }

    /// Returns the azollas of a type.
    pub(crate) fn of_type(&self, azolla_type: AzollaType) -> impl Iterator<Item = &AzollaConfig> {
        self.azollas.iter().filter(move |azolla| azolla.azolla_type == azolla_type)
    }
}

impl AzollaConfig {
    /// Returns the repository's directory, if it is one.
    pub(crate) fn repo_path(&self) -> Option<&Path> {
        self.repo.as_deref().filter(|repo| repo.starts_with('/')).map(Path::new)
    }
}

#[cfg(test)]
mod tests;
