//! Notes as they were captured, and what can be done with one by hand (TF-7, S-4).

use std::path::Path;

use azolla_protocol::{AzollaType, CaptureStatus};
use azolla_substrate::{CaptureFilter, StoredCapture};
use clap::Args;
use serde_json::{Value, json};

use crate::{
    acts::Acts,
    cli::{Which, tell},
    deployment::Deployment,
    find::IdPart,
    line,
    screen::{self, BAD, FAINT, PLAIN, Page, STRONG, ago},
};

/// List notes, the newest first
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla triage captures\n  azolla triage captures --all --json")]
pub(super) struct Captures {
    /// Also those that are triaged.
    #[arg(long)]
    all: bool,

    /// How many.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    limit: u64,

    /// Print one JSON document, with every note as it is stored.
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    which: Which,
}

impl Captures {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let deployment = Deployment::load(home)?;
        let azolla = deployment.one(self.which.azolla.as_ref(), AzollaType::TaskMgmt)?;
        let store = deployment.open(azolla).await?;
        let status = (!self.all).then_some(CaptureStatus::Pending);
        let filter = CaptureFilter { status, after: None, limit: self.limit };
        let captures = store.read().captures(&filter).await?;
        if self.json {
            let data: Vec<Value> = captures.iter().map(document).collect();
            return Ok(screen::show_json("captures", json!(data))?);
        }
        let now = store.read().now().await?;
        let mut page = Page::default();
        for stored in &captures {
            let capture = &stored.capture;
            page.add(STRONG, capture.capture_id.as_str())
                .add(FAINT, &format!("  {}, {}  ", ago(capture.created_at, now), capture.source_label))
                .hang()
                .line(PLAIN, &line::first_line(&capture.raw_content));
            if stored.held {
                page.line(BAD, &format!("  triage failed; next: azolla triage retry {}", capture.capture_id));
            }
        }
        if captures.is_empty() {
            page.line(PLAIN, if self.all { "There is no note." } else { "Every note is triaged." });
        }
        page.show_paged()?;
        Ok(())
    }
}

fn document(stored: &StoredCapture) -> Value {
    json!({"capture": stored.capture, "attempts": stored.attempts, "held": stored.held})
}

/// Triage notes again that could not be triaged, or that came to nothing
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla triage retry            all that were given up\n  \
                        azolla triage retry cap-0sp95scwe5f6\n  azolla triage retry out-0sp95scwe5f6-1    the notes of one triage")]
pub(super) struct Retry {
    /// A note, also one that came to nothing, or a triage that failed; otherwise every note that was given up.
    #[arg(value_name = "ID")]
    id: Option<IdPart>,

    #[command(flatten)]
    which: Which,
}

impl Retry {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        tell(&Acts::load(home)?.triage_retry(self.which.azolla.as_ref(), self.id.as_ref()).await?)
    }
}

/// Mark a note as dealt with by hand
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla triage process cap-0sp95scwe5f6 --reason \"done already\"")]
pub(super) struct Process {
    /// The note.
    #[arg(value_name = "ID")]
    id: IdPart,

    /// Why nothing is left to do, for the record.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: String,

    #[command(flatten)]
    which: Which,
}

impl Process {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        tell(&Acts::load(home)?.process(self.which.azolla.as_ref(), &self.id, &self.reason).await?)
    }
}
