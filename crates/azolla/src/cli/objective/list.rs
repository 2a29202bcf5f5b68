//! `azolla objective list`.

use std::path::Path;

use azolla_protocol::{Objective, ObjectiveStatus, ObjectiveType, lifecycle};
use clap::Args;
use serde_json::json;

use crate::{
    cli::Which,
    deployment::Deployment,
    find::all,
    screen::{self, FAINT, PLAIN, Page, STRONG, Table, status},
};

/// List what is open
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla objective list\n  azolla objective list --all\n  azolla objective list --status BLOCKED --json"
)]
pub(super) struct List {
    /// Also what is confirmed or archived.
    #[arg(long)]
    all: bool,

    /// Only those that stand there.
    #[arg(long, value_name = "STATUS", ignore_case = true, value_parser = clap::builder::PossibleValuesParser::new(
        ObjectiveStatus::ALL.iter().map(|status| status.as_str())))]
    status: Option<String>,

    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    which: Which,
}

impl List {
    pub(super) async fn run(self, home: Option<&Path>) -> anyhow::Result<()> {
        let deployment = Deployment::load(home)?;
        let mut listed = Vec::new();
        for azolla in deployment.candidates(self.which.azolla.as_ref())? {
            let store = deployment.open(azolla).await?;
            let found = all(store.read()).await?.into_iter().map(|stored| stored.objective);
            let mut found: Vec<_> = found.filter(|objective| self.shows(objective)).collect();
            found.sort_by_key(|objective| (objective.importance, objective.urgency, objective.created_at));
            listed.push((azolla, found));
        }
        if self.json {
            let data: Vec<_> = listed.iter().flat_map(|(_, found)| found).collect();
            return Ok(screen::show_json("objectives", json!(data))?);
        }
        let several = listed.iter().filter(|(_, found)| !found.is_empty()).count() > 1;
        let mut page = Page::default();
        for (azolla, found) in listed.iter().filter(|(_, found)| !found.is_empty()) {
            if several {
                page.heading(azolla.id.as_str());
            }
            let mut table = Table::default();
            for objective in found {
                table.row(&[
                    (STRONG, objective.objective_id.as_str()),
                    (FAINT, status(objective)),
                    (PLAIN, &objective.title),
                ]);
            }
            table.add_to(&mut page, screen::terminal());
        }
        if listed.iter().all(|(_, found)| found.is_empty()) {
            page.line(PLAIN, "Nothing to list.");
        }
        page.show_paged()?;
        Ok(())
    }

    fn shows(&self, objective: &Objective) -> bool {
        let closed = lifecycle::is_confirmed(objective)
            || lifecycle::is_archived(objective)
            || objective.objective_type == ObjectiveType::Standing;
        let status = self.status.as_ref();
        let status = status.is_none_or(|status| status.eq_ignore_ascii_case(objective.status.as_str()));
        status && (self.all || !closed)
    }
}
