//! Reads and replaces `config.toml` as a whole.

use std::{
    fs::OpenOptions,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::Context;

/// Returns the text of the file; none if there is none.
pub(crate) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
    }
}

/// Replaces the file by a whole new one, so that a crash leaves the old or the new.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut beside: PathBuf = path.to_owned();
    beside.set_extension("toml.new");
    let failed = || format!("{} cannot be written", path.display());
    let _ = std::fs::remove_file(&beside);
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside).with_context(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).with_context(failed)?;
    std::fs::rename(&beside, path).with_context(failed)
}
