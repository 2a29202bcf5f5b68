//! `azolla log`: what happened, newest last, from the journal.

use std::{collections::VecDeque, path::Path, process::ExitCode};

use azolla_protocol::{EventId, JournalEntry, WorkOrderId};
use azolla_substrate::{JournalCursor, SubstrateError, SubstrateRead};
use clap::Args;
use serde_json::json;

use super::Which;
use crate::{
    config::AzollaConfig,
    deployment::Deployment,
    find::{self, Found, IdPart},
    line,
    screen::{self, FAINT, PLAIN, Page, day_and_time},
};

/// Show what happened, newest last
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla log\n  azolla log 4k2\n  azolla log --all --limit 200 --json")]
pub(crate) struct Log {
    /// Only this objective and its runs, or one of them.
    #[arg(value_name = "ID|RUN")]
    id: Option<IdPart>,

    /// How many entries at the most.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    limit: u64,

    /// Also what matters only to the machine: claims, events, artifacts.
    #[arg(long)]
    all: bool,

    /// Print one JSON document, with the journal as it is stored.
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    which: Which,
}

impl Log {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let deployment = Deployment::load(home)?;
        let named = self.which.azolla.as_ref();
        let mut entries: Vec<(&AzollaConfig, JournalEntry)> = Vec::new();
        match &self.id {
            Some(part) => {
                let (found, run) = find::workorder(&deployment, named, part).await?;
                let journal = match run {
                    Some(run) => of_run(&found, &run).await?,
                    None => of_objective(&found).await?,
                };
                let azolla = deployment.named(&found.azolla.id)?;
                entries.extend(journal.into_iter().map(|entry| (azolla, entry)));
            }
            None => {
                for azolla in deployment.candidates(named)? {
                    let store = deployment.open(azolla).await?;
                    let journal = newest(store.read(), self.limit, |entry| self.shows(azolla, entry)).await?;
                    entries.extend(journal.into_iter().map(|entry| (azolla, entry)));
                }
                entries.sort_by_key(|(_, entry)| (entry.at, entry.seq));
            }
        }
        entries.retain(|(azolla, entry)| self.shows(azolla, entry));
        let skipped = entries.len().saturating_sub(usize::try_from(self.limit).unwrap_or(usize::MAX));
        entries.drain(..skipped);
        if self.json {
            let data: Vec<_> = entries
                .iter()
                .map(|(azolla, entry)| json!({"azolla_id": azolla.id, "entry": entry}))
                .collect();
            screen::show_json("journal", json!(data))?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut page = Page::default();
        for (azolla, entry) in &entries {
            let words = line::words(entry, azolla.azolla_type);
            page.add(FAINT, &format!("{}  ", day_and_time(entry.at))).hang().line(PLAIN, &words);
        }
        if entries.is_empty() {
            page.line(PLAIN, "Nothing has happened yet.");
        }
        page.show_paged()?;
        Ok(ExitCode::SUCCESS)
    }

    fn shows(&self, azolla: &AzollaConfig, entry: &JournalEntry) -> bool {
        self.all || line::matters(entry, azolla.azolla_type)
    }
}

/// Returns the journal of an objective and of all that derives from it.
pub(crate) async fn of_objective(found: &Found) -> Result<Vec<JournalEntry>, SubstrateError> {
    let mut entries = found.read().journal_of(found.id().as_str()).await?;
    for entry in 1..=found.stored.todo_entry {
        let Ok(event) = EventId::for_entry(found.id(), entry) else { continue };
        entries.extend(of_run(found, &WorkOrderId::of(&event)).await?);
    }
    entries.sort_by_key(|entry| entry.seq);
    entries.dedup_by_key(|entry| entry.seq);
    Ok(entries)
}

/// Returns the journal of what was made for one entry into TODO: ids derive from each other (W-5).
async fn of_run(found: &Found, workorder: &WorkOrderId) -> Result<Vec<JournalEntry>, SubstrateError> {
    let body = workorder.body();
    let derived = ["evt", "snap", "wo", "out", "run"].map(|kind| format!("{kind}-{body}"));
    let pauses = [format!("workorder:wo-{body}"), format!("event:evt-{body}")];
    let mut entries = found.read().journal_of_cycle(workorder).await?;
    entries.retain(|entry| derived.contains(&entry.resource_id) || pauses.contains(&entry.resource_id));
    Ok(entries)
}

/// Returns the last entries that `shows` lets through.
async fn newest(
    read: &dyn SubstrateRead,
    limit: u64,
    shows: impl Fn(&JournalEntry) -> bool,
) -> Result<VecDeque<JournalEntry>, SubstrateError> {
    const PAGE: u64 = 1_000;
    let mut cursor = JournalCursor::default();
    let mut kept = VecDeque::new();
    loop {
        let page = read.journal_after(cursor, PAGE).await?;
        let Some((last, _)) = page.last() else { return Ok(kept) };
        cursor = *last;
        let is_last = (page.len() as u64) < PAGE;
        for (_, entry) in page.into_iter().filter(|(_, entry)| shows(entry)) {
            kept.push_back(entry);
            if kept.len() as u64 > limit {
                kept.pop_front();
            }
        }
        if is_last {
            return Ok(kept);
        }
    }
}
