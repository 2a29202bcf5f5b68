//! `azolla triage promote`: a candidate becomes an objective (TF-8).

use std::path::Path;

use azolla_control_plane::operator::Changes;
use azolla_protocol::AzollaId;
use clap::Args;

use crate::{
    acts::{self, Acts, CandidatePart, FoundCandidate},
    cli::{editor, tell, text::given},
    failure::Failure,
};

/// Make a candidate a piece of work; prints its id
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla triage promote 1\n  azolla triage promote 1 --edit\n  \
                        azolla triage promote 4k2-1/2 --azolla az-app --urgency 1\n\n\
                        It runs once you approve it.")]
pub(super) struct Promote {
    /// The candidate: its number, behind a unique part of its triage's id where several wait (out-…/1).
    #[arg(value_name = "CANDIDATE")]
    candidate: CandidatePart,

    /// The azolla that does the work; otherwise the suggested one, or that of this directory, or the only one.
    #[arg(long, value_name = "ID")]
    azolla: Option<AzollaId>,

    /// The azolla that holds the notes, where there are several.
    #[arg(long, value_name = "ID")]
    from: Option<AzollaId>,

    /// Look at it in $VISUAL or $EDITOR first.
    #[arg(long)]
    edit: bool,

    /// Another title.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "edit")]
    title: Option<String>,

    /// Other criteria; - reads stdin.
    #[arg(long, value_name = "TEXT|-", allow_hyphen_values = true, conflicts_with = "edit")]
    criteria: Option<String>,

    /// 0 to 4, 0 is most important.
    #[arg(long, value_name = "N", value_parser = acts::level)]
    importance: Option<u8>,

    /// 0 to 4: 0 now, 1 a day, 2 a week, 3 a month, 4 no deadline.
    #[arg(long, value_name = "N", value_parser = acts::level)]
    urgency: Option<u8>,
}

impl Promote {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let acts = Acts::load(home)?;
        let found = acts.candidate(self.from.as_ref(), &self.candidate).await?;
        let target = acts.target(&found, self.azolla.as_ref())?;
        let (edits, edited) = self.edits(&acts, &found)?;
        let done = acts.promote(&found, target, edits).await;
        if let Some(edited) = edited {
            match &done {
                Ok(_) => edited.remove(),
                Err(_) => edited.keep(),
            }
        }
        tell(&done?)
    }

    /// Returns what differs from the candidate, and the file that it was typed in.
    fn edits(
        &self,
        acts: &Acts,
        found: &FoundCandidate,
    ) -> anyhow::Result<(Changes, Option<editor::Edited>)> {
        let mut edits = Changes {
            title: self.title.clone(),
            acceptance_criteria: self.criteria.clone().map(given).transpose()?,
            importance: self.importance,
            urgency: self.urgency,
            ..Changes::default()
        };
        if !self.edit {
            return Ok((edits, None));
        }
        let candidate = &found.listed.candidate;
        let text = format!("{}\n\n{}\n", candidate.title, candidate.acceptance_criteria.trim_end());
        let edited = editor::edit(&acts.deployment().place.state(), "objective", &text)?;
        if edited.is_blank() {
            edited.remove();
            let what = "the text is empty, so it stays a candidate";
            return Err(Failure::refused(what).into());
        }
        let text = String::from_utf8_lossy(&edited.text);
        let (title, criteria) = text.trim_start().split_once('\n').unwrap_or((text.trim(), ""));
        edits.title = Some(title.trim().to_owned());
        edits.acceptance_criteria = Some(criteria.trim().to_owned());
        Ok((edits, Some(edited)))
    }
}
