//! `azolla` with no command, and `azolla resume`: where things stand and the next thing to do, from stored artifacts
//! alone. No repository, no provider and no daemon is needed.

mod desk;
mod next;
mod notes;
mod page;
mod spending;

use std::{path::Path, process::ExitCode};

use clap::Args;
use futures_util::future::join_all;
use serde_json::{Value, json};

use self::{
    desk::{Desk, Mark},
    spending::Spending,
};
use crate::{
    config::{AzollaConfig, Place},
    deployment::Deployment,
    home::Home,
    screen::{self, PLAIN, Page},
};

/// Show where things stand and what is next (the same as no command)
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla\n  azolla resume --json")]
pub(crate) struct Resume {
    /// Print one JSON document instead of text. The mark of what you have seen stays where it is.
    #[arg(long)]
    pub(super) json: bool,
}

impl Resume {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let place = Place::find(home)?;
        let Some(deployment) = Deployment::at(place)? else {
            return self.nothing_yet();
        };
        let (store, desks, spending) = look(&deployment).await;
        if self.json {
            screen::show_json("resume", document(&desks, &spending))?;
            return Ok(ExitCode::SUCCESS);
        }
        page::page(&deployment, &desks, &spending).show()?;
        // After the page is out: what was not shown has not been seen.
        if let Some(mut store) = store {
            let looks = desks.iter().filter_map(|desk| Some((&desk.azolla_id, desk.new_look()?)));
            // Not noted, it is news once more; the doctor tells what is wrong with the home.
            let _ = store.looked(&looks.collect::<Vec<_>>());
        }
        Ok(ExitCode::SUCCESS)
    }

    fn nothing_yet(&self) -> anyhow::Result<ExitCode> {
        if self.json {
            let action = json!({"text": "Set azolla up", "command": "azolla init"});
            screen::show_json("resume", json!({"next_actions": [action], "azollas": []}))?;
        } else {
            let mut page = Page::default();
            page.line(PLAIN, "Nothing is set up yet.")
                .heading("Next: set it up")
                .command("  ", "azolla init");
            page.show()?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns what `azolla --json` shows, for another surface. The mark of what was seen stays where it is.
pub(crate) async fn data(deployment: &Deployment) -> Value {
    let (_, desks, spending) = look(deployment).await;
    document(&desks, &spending)
}

/// Reads everything that the page is made of.
async fn look(deployment: &Deployment) -> (Option<Home>, Vec<Desk>, Spending) {
    // The page does without the mark of what was seen: a home that cannot be written is no reason for no page.
    let store = match deployment.place.data.is_dir() {
        true => Home::open(&deployment.place.home_store()).ok(),
        false => None,
    };
    let mark = |azolla: &AzollaConfig| {
        let Some(store) = &store else { return Mark::default() };
        let repo = azolla.repo.as_deref().unwrap_or_default();
        Mark { look: store.look(&azolla.id).ok().flatten(), trusted_at: store.pinned_at(repo).ok().flatten() }
    };
    let spending = store.as_ref().map(|store| Spending::read(store, deployment)).unwrap_or_default();
    let marks: Vec<Mark> = deployment.config.azollas.iter().map(mark).collect();
    let loads = deployment.config.azollas.iter().zip(marks);
    let loads = loads.map(|(azolla, mark)| Desk::load(deployment, azolla, mark));
    let desks = join_all(loads).await;
    (store, desks, spending)
}

fn document(desks: &[Desk], spending: &Spending) -> Value {
    let actions: Vec<_> = next::actions(desks)
        .iter()
        .map(|action| {
            json!({"azolla_id": action.azolla_id, "objective_id": action.objective_id, "title": action.title,
                   "text": action.text, "command": action.command, "then": action.then,
                   "by_hand": action.by_hand})
        })
        .collect();
    let azollas: Vec<_> = desks.iter().map(Desk::document).collect();
    json!({"next_actions": actions, "azollas": azollas, "spending": spending.document()})
}
