//! Bearer tokens: 32 random bytes as text, of which only the hash is kept, compared in a time that tells nothing.

use std::{
    fs::OpenOptions,
    io::Write,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

use anyhow::Context;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::config::KeyFrom;

/// A token, as it is shown once. It has no `Debug`, so that it is in no log.
pub(crate) struct Token(String);

impl Token {
    /// Makes a token that nobody can guess.
    #[expect(clippy::disallowed_methods, reason = "a secret is no id")]
    pub(crate) fn fresh() -> anyhow::Result<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).context("the system has no randomness")?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Returns the text: for the one screen that shows it, and the file that keeps it.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Returns what is kept of it.
    pub(crate) fn hash(&self) -> TokenHash {
        TokenHash::of(&self.0)
    }

    /// Returns the token of a file, which is made for its owner alone if it is not there.
    pub(crate) fn in_file(path: &Path) -> anyhow::Result<Self> {
        if !path.exists() {
            write(path, Self::fresh()?.text(), Existing::Stays)?;
        }
        Ok(Self(KeyFrom::File(path.to_owned()).read(|_| None)?))
    }
}

/// What happens to a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// It stays as it is.
    Stays,
    /// It is replaced.
    Goes,
}

/// Writes a token into a file for its owner alone, as a whole or not at all.
pub(crate) fn write(path: &Path, text: &str, existing: Existing) -> anyhow::Result<()> {
    let failed = || format!("{} cannot be written", path.display());
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).with_context(failed)?;
    }
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let _ = std::fs::remove_file(&beside);
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        file.write_all(format!("{text}\n").as_bytes())?;
        file.sync_all()?;
        match existing {
            Existing::Goes => std::fs::rename(&beside, path),
            // Of two programs that start at once, one makes it.
            Existing::Stays => match std::fs::hard_link(&beside, path) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
                _ => Ok(()),
            },
        }
    })();
    let _ = std::fs::remove_file(&beside);
    written.with_context(failed)
}

/// The SHA-256 of a token's text. The token is random, so it needs neither salt nor stretching.
#[derive(Clone)]
pub(crate) struct TokenHash([u8; 32]);

impl TokenHash {
    /// Returns the hash of a text.
    pub(crate) fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    /// Returns the bytes, to be kept.
    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Tells whether it is the hash of a token, in the same time whether it is or not.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl From<[u8; 32]> for TokenHash {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

#[cfg(test)]
mod tests;
