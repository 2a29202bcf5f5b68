//! Notes as they were captured, and what can be done with one by hand (TF-7, S-4).

use std::path::Path;

use azolla_control_plane::operator::Operator;
use azolla_protocol::{AzollaType, CaptureId, CaptureStatus, OutputId};
use azolla_substrate::{CaptureFilter, StoredCapture, SubstrateRead, SystemIds};
use clap::Args;
use serde_json::{Value, json};

use crate::{
    cli::{
        Which,
        id::{IdPart, ambiguous},
        log::line,
        text::who,
    },
    deployment::{Deployment, identity},
    failure::Failure,
    screen::{self, BAD, FAINT, PLAIN, Page, STRONG, ago, plain, remark},
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
                .line(PLAIN, &line::first_line(&capture.raw_content));
            if stored.held {
                page.line(BAD, &format!("  triage failed; next: azolla triage retry {}", capture.capture_id));
            }
        }
        if captures.is_empty() {
            page.line(PLAIN, if self.all { "There is no note." } else { "Every note is triaged." });
        }
        page.show()?;
        Ok(())
    }
}

fn document(stored: &StoredCapture) -> Value {
    json!({"capture": stored.capture, "attempts": stored.attempts, "held": stored.held})
}

/// Triage notes again that could not be triaged, or that came to nothing
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla triage retry            all that were given up\n  \
                        azolla triage retry cap-0kz3…\n  azolla triage retry out-0kz3…-1    the notes of one triage")]
pub(super) struct Retry {
    /// A note, also one that came to nothing, or a triage that failed; otherwise every note that was given up.
    #[arg(value_name = "ID")]
    id: Option<IdPart>,

    #[command(flatten)]
    which: Which,
}

impl Retry {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let deployment = Deployment::load(home)?;
        let azolla = deployment.one(self.which.azolla.as_ref(), AzollaType::TaskMgmt)?;
        let store = deployment.open(azolla).await?;
        let (identity, ids, who) = (identity(azolla), SystemIds::default(), who());
        let operator = Operator { substrate: &*store, identity: &identity, ids: &ids, who: &who };
        let count = match &self.id {
            None => operator.retry_held().await?.len(),
            Some(part) => match OutputId::new(part.as_str()) {
                Ok(output) => operator.retry_output(&output).await?.len(),
                Err(_) => {
                    let id = find(store.read(), part).await?;
                    let again = operator.retry_capture(&id).await?;
                    if again != id {
                        remark(&format!("{id} is stored once more as {again}; next: azolla triage --now"));
                        return Ok(());
                    }
                    1
                }
            },
        };
        match count {
            0 => remark("no note was given up"),
            1 => remark("a note is triaged again; next: azolla triage --now"),
            _ => remark(&format!("{count} notes are triaged again; next: azolla triage --now")),
        }
        Ok(())
    }
}

/// Mark a note as dealt with by hand
#[derive(Args)]
#[command(after_help = "Example:\n  azolla triage process cap-0kz3… --reason \"done already\"")]
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
        let deployment = Deployment::load(home)?;
        let azolla = deployment.one(self.which.azolla.as_ref(), AzollaType::TaskMgmt)?;
        let store = deployment.open(azolla).await?;
        let (identity, ids, who) = (identity(azolla), SystemIds::default(), who());
        let operator = Operator { substrate: &*store, identity: &identity, ids: &ids, who: &who };
        let id = find(store.read(), &self.id).await?;
        operator.process_capture(&id, &self.reason).await?;
        remark(&format!("{id} is dealt with; its text stays where it is"));
        Ok(())
    }
}

/// Finds the one note that a part of an id means: one that waits, if there is any such.
pub(in crate::cli) async fn find(read: &dyn SubstrateRead, part: &IdPart) -> anyhow::Result<CaptureId> {
    if let Ok(id) = CaptureId::new(part.as_str())
        && read.capture(&id).await?.is_some()
    {
        return Ok(id);
    }
    const LOOKED_AT_MAX: u64 = 10_000;
    let mut matches = Vec::new();
    for status in [Some(CaptureStatus::Pending), None] {
        if matches.is_empty() {
            matches = read.captures(&CaptureFilter { status, after: None, limit: LOOKED_AT_MAX }).await?;
            matches.retain(|stored| {
                let (id, part) = (&stored.capture.capture_id, part.as_str());
                id.as_str().starts_with(part) || id.as_str().ends_with(part) || id.body().starts_with(part)
            });
        }
    }
    match &matches[..] {
        [one] => Ok(one.capture.capture_id.clone()),
        [] => {
            let what = format!("there is no such note: {}", part.as_str());
            Err(Failure::not_found(what).hint("azolla triage captures").into())
        }
        several => {
            let line = |stored: &StoredCapture| {
                let text = plain(&line::first_line(&stored.capture.raw_content));
                format!("{}  {text}", stored.capture.capture_id)
            };
            Err(ambiguous(part.as_str(), several.len(), several.iter().map(line)).into())
        }
    }
}
