//! The operator's editor, on a file of ours. What was typed is kept until it is stored.

use std::{
    io::{IsTerminal, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::Context;
use azolla_protocol::IdSource;
use azolla_substrate::SystemIds;

use crate::{failure::Failure, screen::remark};

/// A text that the operator wrote, and the file that still has it.
pub(crate) struct Edited {
    /// The text.
    pub(crate) text: Vec<u8>,
    path: PathBuf,
}

impl Edited {
    /// Removes the file: the text is stored, or there is none.
    pub(crate) fn remove(&self) {
        // A file that stays is a copy, and nothing is lost.
        let _ = std::fs::remove_file(&self.path);
    }

    /// Tells whether there is nothing in it.
    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim_ascii().is_empty()
    }

    /// Says where the text still is.
    pub(crate) fn keep(&self) {
        remark(&format!("what you wrote is in {}", self.path.display()));
    }

    /// Returns where the text still is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Lets the operator edit `text`, in a new file in `directory`.
pub(crate) fn edit(directory: &Path, name: &str, text: &str) -> anyhow::Result<Edited> {
    let mut named = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| std::env::var(name).ok());
    let named = named.find(|command| !command.trim().is_empty());
    if named.is_none() && !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        // What is started by default would wait for keys that nobody presses.
        return Err(Failure::usage("there is no terminal for an editor")
            .hint("give the text as an argument, or set EDITOR to a program that needs no terminal")
            .into());
    }
    let path = directory.join(format!("{name}-{}.md", SystemIds::default().body()));
    let failed = || format!("{} cannot be written", path.display());
    std::fs::create_dir_all(directory).with_context(failed)?;
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(&path).with_context(failed)?;
    file.write_all(text.as_bytes()).with_context(failed)?;
    drop(file);
    let command = named.unwrap_or_else(|| "vi".to_owned());
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or("vi");
    #[expect(
        clippy::disallowed_methods,
        reason = "an editor has the operator's terminal; nothing of it is captured"
    )]
    let status = std::process::Command::new(program).args(words).arg(&path).status();
    let status = status.map_err(|error| {
        let _ = std::fs::remove_file(&path);
        Failure::new(format!("the editor {program} cannot be started: {error}"))
            .hint("set EDITOR, or give the text as an argument")
    })?;
    let edited = std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    if status.success() {
        return Ok(Edited { text: edited, path });
    }
    let ended = format!("the editor ended with {status}");
    if edited == text.as_bytes() {
        let _ = std::fs::remove_file(&path);
        return Err(Failure::new(ended).into());
    }
    Err(Failure::new(format!("{ended}; what you wrote is in {}", path.display())).into())
}
