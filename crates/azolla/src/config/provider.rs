//! What a provider's section says, and where its key is read from. The file itself never holds a key (T29).

use std::{
    ffi::OsString,
    fmt,
    io::Read,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::PathBuf,
};

use azolla_control_plane::sandbox::SandboxMode;
use azolla_diazotroph::provider::{AnthropicVersion, OutputKind, PromptBy, ResultBy, Structured};
use azolla_protocol::AnswerForm;

/// Where work comes back from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ProviderConfig {
    /// A program on this machine.
    Command {
        /// Program and arguments, with `{prompt_file}`, `{prompt}`, `{worktree}` in them.
        argv: Vec<String>,
        /// How the prompt gets there.
        prompt: PromptBy,
        /// How the result comes back.
        result: ResultBy,
        /// What its output is.
        output: OutputKind,
        /// Names of environment variables that it gets.
        env: Vec<String>,
        /// Files below the operator's home that are copied into its own.
        home_files: Vec<String>,
        /// Whether it is confined, if that is not as for all programs.
        sandbox: Option<SandboxMode>,
        /// Whether it reaches the network, if that is not as for all programs.
        network: Option<bool>,
        /// What it may read, besides what all programs may.
        read: Vec<PathBuf>,
        /// What it may write, besides what all programs may.
        write: Vec<PathBuf>,
        /// The most that one run of it costs, in millionths of a US dollar, if that is known.
        most_microusd: Option<u64>,
    },
    /// Answers from files.
    Recorded {
        /// A file, or a directory with one file per attempt.
        answers: PathBuf,
    },
    /// A server that speaks Anthropic Messages.
    Anthropic {
        /// The server and the model.
        api: ModelApi,
        /// Which version of it.
        version: AnthropicVersion,
    },
    /// A server that speaks chat completions.
    OpenAi {
        /// The server and the model.
        api: ModelApi,
        /// How it keeps an answer to a schema.
        structured: Structured,
    },
}

/// A model behind a server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelApi {
    /// The model's name.
    pub(crate) model: String,
    /// Where the server is (T28).
    pub(crate) base_url: String,
    /// Whether that is on this machine.
    pub(crate) is_local: bool,
    /// Where the key comes from; a server on this machine needs none.
    pub(crate) key: Option<KeyFrom>,
    /// How an answer changes files.
    pub(crate) form: AnswerForm,
    /// The most tokens of an answer, if that is not the default.
    pub(crate) max_tokens: Option<u64>,
    /// How freely words are chosen, if that is not left to the server.
    pub(crate) temperature: Option<f64>,
    /// What it costs, if that is known.
    pub(crate) price: Option<Price>,
}

/// What tokens cost, in millionths of a US dollar for a million of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Price {
    /// Tokens sent.
    pub(crate) input_microusd: u64,
    /// Tokens received.
    pub(crate) output_microusd: u64,
}

/// Where a key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyFrom {
    /// An environment variable.
    Env(String),
    /// A file that only its owner can read.
    File(PathBuf),
}

impl ProviderConfig {
    /// Tells whether caps on money hold for it: what it costs is known, or it costs nothing.
    pub(crate) fn is_priced(&self) -> bool {
        match self {
            Self::Recorded { .. } => true,
            Self::Anthropic { api, .. } | Self::OpenAi { api, .. } => api.is_local || api.price.is_some(),
            // What it tells of its cost comes after the run, and not at all from one that is ended.
            Self::Command { most_microusd, .. } => most_microusd.is_some(),
        }
    }
}

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnusableKey {
    /// The variable is not set.
    #[error("{0} is not set")]
    NotSet(String),
    /// Others can read the file.
    #[error("{} can be read by others", .0.display())]
    Open(PathBuf),
    /// The file cannot be read.
    #[error("{} cannot be read: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What is there is no key.
    #[error("{0} holds no key: {1}")]
    NoKey(String, &'static str),
}

impl UnusableKey {
    /// Returns what helps.
    pub(crate) fn fix(&self) -> String {
        match self {
            Self::NotSet(name) => format!("export {name}=…"),
            Self::Open(path) => format!("chmod 600 {}", path.display()),
            Self::Unreadable { path, .. } => format!("put the key into {}, with mode 600", path.display()),
            Self::NoKey(place, _) => format!("put the key alone into {place}"),
        }
    }
}

/// More than any key has.
const KEY_BYTES_MAX: u64 = 16 * 1024;

impl KeyFrom {
    /// Reads the key. `env` looks up a variable.
    pub(crate) fn read(&self, env: impl Fn(&str) -> Option<OsString>) -> Result<String, UnusableKey> {
        let text = match self {
            Self::Env(name) => {
                let value = env(name).filter(|value| !value.is_empty());
                let value = value.ok_or_else(|| UnusableKey::NotSet(name.clone()))?;
                value.into_string().map_err(|_| self.no_key("it is not UTF-8"))?
            }
            Self::File(path) => read_file(path)?,
        };
        let key = text.trim();
        if key.is_empty() {
            return Err(self.no_key("it is empty"));
        }
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(self.no_key("a key is one word of ASCII"));
        }
        Ok(key.to_owned())
    }

    fn no_key(&self, why: &'static str) -> UnusableKey {
        UnusableKey::NoKey(self.to_string(), why)
    }
}

impl fmt::Display for KeyFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => f.write_str(name),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Reads a file that nobody else can read. Looked at once it is open, so that it is the file that is read.
fn read_file(path: &PathBuf) -> Result<String, UnusableKey> {
    let unreadable = |source| UnusableKey::Unreadable { path: path.clone(), source };
    // A pipe without a writer would be waited for.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(unreadable)?;
    let found = file.metadata().map_err(unreadable)?;
    if !found.is_file() {
        return Err(unreadable(std::io::Error::other("it is no file")));
    }
    if found.mode() & 0o077 != 0 {
        return Err(UnusableKey::Open(path.clone()));
    }
    let mut text = String::new();
    file.take(KEY_BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

#[cfg(test)]
mod tests;
