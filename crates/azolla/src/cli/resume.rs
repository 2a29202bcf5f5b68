//! `azolla` with no command, and `azolla resume`: where things stand and the next thing to do, from stored artifacts
//! alone. No repository, no provider and no daemon is needed.

mod page;

use std::{path::Path, process::ExitCode};

use clap::Args;
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::{
    config::Place,
    deployment::Deployment,
    desk::{Look, Remembered},
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
        // The page does without the mark of what was seen: a home that cannot be written is no reason for no page.
        let store = match deployment.place.data.is_dir() {
            true => Home::open(&deployment.place.home_store()).ok(),
            false => None,
        };
        let open = |azolla| -> BoxFuture<'_, _> { Box::pin(deployment.open_to_look(azolla)) };
        let remembered = store.as_ref().map(|home| Remembered::read(&deployment, home)).unwrap_or_default();
        let look = Look::read(&deployment, remembered, &open).await;
        if self.json {
            screen::show_json("resume", look.document())?;
            return Ok(ExitCode::SUCCESS);
        }
        page::page(&deployment, &look).show()?;
        // After the page is out: what was not shown has not been seen.
        if let Some(mut store) = store {
            // Not noted, it is news once more; the doctor tells what is wrong with the home.
            let _ = look.seen(&mut store);
            store.leave();
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
