//! `azolla capture`: stores a note. No daemon, no model, no repository.

use std::{
    io::{IsTerminal, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::ExitCode,
};

use azolla_control_plane::operator::OperatorError;
use azolla_protocol::{ArtifactKind, AzollaType, IdSource};
use azolla_substrate::SystemIds;
use clap::Args;

use super::{
    Which,
    editor::{self, Edited},
    tell_made,
};
use crate::{
    acts::Acts,
    deployment::Deployment,
    screen::{quoted, remark},
};

/// Store a note; prints its id
#[derive(Args)]
#[command(
    override_usage = "azolla capture [OPTIONS] [TEXT]...",
    after_help = "Examples:\n  azolla capture \"the login page is slow since Monday\"\n  \
                        azolla capture ask Kim about the invoices\n  git log -1 | azolla capture --label git\n  \
                        azolla capture                  on a terminal: opens $VISUAL or $EDITOR\n\n\
                        The text is kept for ever, as it came. What becomes of it: azolla triage"
)]
pub(crate) struct Capture {
    /// The note. - or nothing reads stdin; nothing on a terminal opens an editor.
    #[arg(value_name = "TEXT", allow_hyphen_values = true, value_parser = word)]
    first: Option<String>,

    /// The rest of it.
    #[arg(value_name = "MORE", hide = true)]
    more: Vec<String>,

    /// A note that begins like an option.
    #[arg(value_name = "WORDS", last = true, hide = true, conflicts_with = "first")]
    verbatim: Vec<String>,

    /// Where it comes from, in a word or two.
    #[arg(long, short, value_name = "LABEL", default_value = "cli")]
    label: String,

    #[command(flatten)]
    which: Which,
}

/// One byte more than a note may have: the door says what is wrong with more.
const STDIN_BYTES_MAX: u64 = 1024 * 1024 + 1;

/// Takes the first word of a note, which may be a whole list (`- one`); what looks like an option was meant as one.
fn word(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix('-').unwrap_or_default();
    if rest.starts_with(|c: char| !c.is_whitespace()) {
        return Err("there is no such option; as text it comes behind --".to_owned());
    }
    Ok(text.to_owned())
}

impl Capture {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        // Beside all that comes before the note is checked: it takes about as long.
        tokio::task::spawn_blocking(|| ArtifactKind::CaptureBuffer.prepare());
        let acts = Acts::load(home)?;
        let azolla = acts.one(self.which.azolla.as_ref(), AzollaType::TaskMgmt)?;
        let note = self.note(acts.deployment())?;
        let stored = acts.capture(Some(&azolla.id), note.bytes(), &self.label).await;
        let done = stored.map_err(|error| note.keep(acts.deployment(), error))?;
        note.remove();
        tell_made(&done)?;
        Ok(ExitCode::SUCCESS)
    }

    fn note(&self, deployment: &Deployment) -> anyhow::Result<Note> {
        let words: Vec<_> = self.first.iter().chain(&self.more).chain(&self.verbatim).cloned().collect();
        if words.is_empty() && std::io::stdin().is_terminal() {
            return Ok(Note::Edited(editor::edit(&deployment.place.state(), "note", "")?));
        }
        if words.is_empty() || words == ["-"] {
            let mut bytes = Vec::new();
            std::io::stdin().lock().take(STDIN_BYTES_MAX).read_to_end(&mut bytes)?;
            return Ok(Note::Given(bytes));
        }
        Ok(Note::Given(words.join(" ").into_bytes()))
    }
}

/// A note that is not stored yet.
enum Note {
    /// From the command line or stdin.
    Given(Vec<u8>),
    /// From an editor.
    Edited(Edited),
}

impl Note {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Given(bytes) => bytes,
            Self::Edited(edited) => &edited.text,
        }
    }

    fn remove(&self) {
        if let Self::Edited(edited) = self {
            edited.remove();
        }
    }

    /// A store that cannot take it now is no reason to lose it.
    fn keep(&self, deployment: &Deployment, error: anyhow::Error) -> anyhow::Error {
        if error
            .downcast_ref::<OperatorError>()
            .is_some_and(|error| !matches!(error, OperatorError::Store(_)))
        {
            match self {
                // Nothing was written.
                Self::Edited(edited) if edited.is_blank() => edited.remove(),
                Self::Edited(edited) => edited.keep(),
                Self::Given(_) => {}
            }
            return error;
        }
        match self.write(&deployment.place.state()) {
            Ok(path) => {
                let again = format!("azolla capture - < {}", quoted(&path.display().to_string()));
                remark(&format!("the note is kept in {}; later: {again}", path.display()));
            }
            Err(failed) => remark(&format!("the note could not be kept in a file either: {failed}")),
        }
        error
    }

    fn write(&self, directory: &Path) -> std::io::Result<PathBuf> {
        if let Self::Edited(edited) = self {
            return Ok(edited.path().to_owned());
        }
        std::fs::create_dir_all(directory)?;
        let path = directory.join(format!("note-{}.txt", SystemIds::default().body()));
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(self.bytes())?;
        file.sync_all()?;
        Ok(path)
    }
}
