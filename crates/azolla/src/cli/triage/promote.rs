//! `azolla triage promote`: a candidate becomes an objective (TF-8).

use std::path::Path;

use anyhow::Context;
use azolla_control_plane::operator::{Changes, Operator, Promotion};
use azolla_protocol::{AzollaId, AzollaType};
use azolla_substrate::{SubstrateRead, SystemIds};
use clap::Args;

use super::{
    candidate::{self, CandidatePart, Found},
    steps::{Targets, step},
};
use crate::{
    cli::{
        editor,
        objective::check_title,
        text::{given, who},
    },
    config::AzollaConfig,
    deployment::{Deployment, identity},
    failure::Failure,
    screen::{remark, show_line},
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
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=4))]
    importance: Option<u8>,

    /// 0 to 4: 0 now, 1 a day, 2 a week, 3 a month, 4 no deadline.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=4))]
    urgency: Option<u8>,
}

impl Promote {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let deployment = Deployment::load(home)?;
        let found = candidate::find(&deployment, self.from.as_ref(), &self.candidate).await?;
        let target = self.target(&deployment, &found)?;
        let (edits, edited) = self.edits(&deployment, &found)?;
        let targets = Targets::open(&deployment).await?;
        let elsewhere: Vec<&dyn SubstrateRead> = targets
            .0
            .iter()
            .filter(|(identity, _)| identity.azolla_id != target.id)
            .map(|(_, store)| store.read())
            .collect();
        let (_, store) = targets
            .0
            .iter()
            .find(|(identity, _)| identity.azolla_id == target.id)
            .context("the azolla was just opened")?;
        let (at, ids, who) = (identity(target), SystemIds::default(), who());
        let promotion = Promotion {
            target: Operator { substrate: &**store, identity: &at, ids: &ids, who: &who },
            elsewhere: &elsewhere,
            repo_ref: target.repo.as_deref().unwrap_or_default(),
            base_branch: target.base_branch.as_deref().unwrap_or_default(),
            edits,
        };
        let id = step(&found, async |operator| operator.promote(&found.listed.id, &promotion).await).await;
        if let Some(edited) = edited {
            match &id {
                Ok(_) => edited.remove(),
                Err(_) => edited.keep(),
            }
        }
        let id = id?;
        if let Err(error) = show_line(id.as_str()) {
            remark(&format!("{id} was created; only its id could not be written to stdout"));
            return Err(error).context("stdout cannot be written");
        }
        remark(&format!("it is in {}; next: azolla objective approve {id}", target.id));
        Ok(())
    }

    /// Returns the azolla that does the work.
    fn target<'a>(&self, deployment: &'a Deployment, found: &Found) -> Result<&'a AzollaConfig, Failure> {
        let suggested = found.listed.candidate.suggested_azolla_id.as_ref();
        let suggested = suggested.filter(|id| {
            let azolla = deployment.config.azolla(id);
            azolla.is_some_and(|azolla| azolla.azolla_type == AzollaType::CodePatch)
        });
        deployment.one(self.azolla.as_ref().or(suggested), AzollaType::CodePatch)
    }

    /// Returns what differs from the candidate, and the file that it was typed in.
    fn edits(
        &self,
        deployment: &Deployment,
        found: &Found,
    ) -> anyhow::Result<(Changes, Option<editor::Edited>)> {
        let mut edits = Changes {
            title: self.title.clone(),
            acceptance_criteria: self.criteria.clone().map(given).transpose()?,
            importance: self.importance,
            urgency: self.urgency,
            ..Changes::default()
        };
        if !self.edit {
            edits.title.as_deref().map(check_title).transpose()?;
            return Ok((edits, None));
        }
        let candidate = &found.listed.candidate;
        let text = format!("{}\n\n{}\n", candidate.title, candidate.acceptance_criteria.trim_end());
        let edited = editor::edit(&deployment.place.state(), "objective", &text)?;
        if edited.is_blank() {
            edited.remove();
            let what = "the text is empty, so it stays a candidate";
            return Err(Failure::refused(what).into());
        }
        let text = String::from_utf8_lossy(&edited.text);
        let (title, criteria) = text.trim_start().split_once('\n').unwrap_or((text.trim(), ""));
        check_title(title.trim()).inspect_err(|_| edited.keep())?;
        edits.title = Some(title.trim().to_owned());
        edits.acceptance_criteria = Some(criteria.trim().to_owned());
        Ok((edits, Some(edited)))
    }
}
