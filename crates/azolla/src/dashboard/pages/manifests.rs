//! Orientation: the newest one with its ordered actions and why, older ones, and a way to ask for another.

use azolla_protocol::{
    AzollaId, AzollaType, ManifestId, ObjectiveId, OutputBundle, SessionManifest, Timestamp, WorkOrderId,
};
use azolla_substrate::{Before, SubstrateError, SubstrateRead};
use maud::{Markup, html};

use super::load::{self, away};
use crate::{
    actions,
    acts::Act,
    dashboard::{Ask, PageError, Shown, form::form, frame::Tab, part, session::Session},
};

/// Rows of a page of the list.
const PAGE: usize = 30;

/// What the page says.
pub(super) struct Page {
    pub(super) azolla_id: AzollaId,
    pub(super) others: Vec<AzollaId>,
    /// The azollas of this machine, whose objectives have pages.
    pub(super) here: Vec<AzollaId>,
    pub(super) now: Timestamp,
    /// The one that is shown.
    pub(super) shown: Option<SessionManifest>,
    /// What it says besides its actions, and what is known of its sources.
    pub(super) bundle: Option<OutputBundle>,
    pub(super) all: Vec<SessionManifest>,
    /// Where the next page of the list begins.
    pub(super) next: Option<String>,
    /// Whether one is asked for and not yet worked on.
    pub(super) is_asked: bool,
}

/// Shows it.
pub(crate) async fn show(ask: &Ask<'_>) -> Result<Shown, PageError> {
    let shown = |main| Shown { title: "Orientation".to_owned(), tab: Tab::Manifests, main };
    let named: Option<AzollaId> = ask.query("azolla").and_then(|id| id.parse().ok());
    let mut desks = load::of_type(ask, AzollaType::TaskMgmt);
    let Some(desk) = desks.find(|azolla| named.as_ref().is_none_or(|id| azolla.id == *id)) else {
        let main = html! { h1 tabindex="-1" { "Orientation" } p { "No azolla here gives orientation. To make one:" } p { (part::command("azolla init")) } };
        return Ok(shown(main));
    };
    let store = ask.app.stores.looking(desk).await.map_err(away)?;
    let id = ask.query("id").and_then(|id| ManifestId::new(id).ok());
    let mut page = load(&*store, desk.id.clone(), id, load::before(ask).as_ref()).await.map_err(away)?;
    page.others = load::of_type(ask, AzollaType::TaskMgmt)
        .map(|azolla| azolla.id.clone())
        .filter(|id| *id != desk.id)
        .collect();
    page.here = ask.app.deployment.config.azollas.iter().map(|azolla| azolla.id.clone()).collect();
    Ok(shown(view(&page, ask.session)))
}

async fn load(
    read: &dyn SubstrateRead,
    azolla_id: AzollaId,
    id: Option<ManifestId>,
    before: Option<&Before>,
) -> Result<Page, SubstrateError> {
    // One more than fits tells whether there is another page.
    let mut all = read.manifests_before(before, PAGE as u64 + 1).await?;
    let is_last = all.len() <= PAGE;
    all.truncate(PAGE);
    let last = all.last().filter(|_| !is_last);
    let next = last.map(|last| load::key(last.created_at, last.manifest_id.as_str()));
    let shown = match id {
        Some(id) => read.manifest(&id).await?,
        None if before.is_some() => read.latest_manifest().await?,
        None => all.first().cloned(),
    };
    let work_order_id =
        shown.as_ref().and_then(|shown| WorkOrderId::new(format!("wo-{}", shown.manifest_id.body())).ok());
    let bundle = match &work_order_id {
        Some(id) => read.output_of(id).await?,
        None => None,
    };
    let asked = read.latest_manifest_event().await?;
    Ok(Page {
        azolla_id,
        others: Vec::new(),
        here: Vec::new(),
        now: read.now().await?,
        is_asked: asked.is_some_and(|asked| !asked.event.processed),
        shown,
        bundle,
        all,
        next,
    })
}

pub(super) fn view(page: &Page, session: &Session) -> Markup {
    html! {
        div.split data-live="ask" {
            h1 tabindex="-1" { "Orientation" }
            @if page.is_asked { p.faint { "One is asked for and waits to be made." } }
            @else { (form(session, Act::Manifest.name(), "/manifests", &[("azolla", page.azolla_id.as_str())], html! { button.main { "Ask for a new one" } })) }
        }
        @if !page.others.is_empty() {
            nav.filter aria-label="Whose orientation" {
                a href={ "/manifests?azolla=" (page.azolla_id) } aria-current="true" { (page.azolla_id) }
                @for id in &page.others { a href={ "/manifests?azolla=" (id) } { (id) } }
            }
        }
        div data-live="orientation" {
            @match &page.shown {
                Some(shown) => (manifest(page, shown)),
                None => p { "There is none yet." },
            }
        }
        (older(page))
    }
}

fn manifest(page: &Page, shown: &SessionManifest) -> Markup {
    let bundle = page.bundle.as_ref();
    let overview = bundle.map_or("", |bundle| bundle.content.split("\n1. ").next().unwrap_or_default());
    let overview = if overview.starts_with("1. ") { "" } else { overview.trim() };
    let sources = bundle.map_or("", |bundle| bundle.notes.trim());
    html! {
        p.faint {
            (part::when(shown.created_at, page.now)) ", from " (part::counted(shown.queried_azolla_ids.len(), "azolla", "azollas"))
            span.fact { code { (shown.manifest_id) } }
        }
        @if !overview.is_empty() { div.lead { (part::text(overview)) } }
        ol.actions {
            @for action in &shown.prioritized_orientation {
                li {
                    (action_view(page, action))
                }
            }
        }
        @if !shown.pause_state_summary.is_empty() {
            section {
                h2 { "Why" }
                ul.rows {
                    @for pause in &shown.pause_state_summary {
                        li {
                            @if page.here.contains(&pause.source_azolla_id) { a href=(part::objective_path(&pause.source_azolla_id, &pause.objective_id)) { (pause.objective_id) } }
                            @else { code { (pause.objective_id) } }
                            " in " (pause.source_azolla_id) span.fact { (pause.reason.as_str().to_lowercase().replace('_', " ")) }
                            @for action in &pause.prioritized_actions {
                                p.faint { @match actions::split(action) { Some((words, command)) => { (part::words(words)) " " (part::command(command)) }, None => (part::words(action)) } }
                            }
                        }
                    }
                }
            }
        }
        @if !sources.is_empty() { section { h2 { "About the sources" } (part::text(sources)) } }
    }
}

/// An action of an orientation; one about an objective of this machine leads there.
fn action_view(page: &Page, action: &str) -> Markup {
    let (words, command) =
        actions::split(action).map_or((action, None), |(words, command)| (words, Some(command)));
    html! {
        @match about(words).filter(|(azolla, _)| page.here.contains(azolla)) {
            Some((azolla, id)) => a.row href=(part::objective_path(&azolla, &id)) { (part::words(words)) },
            None if command == Some("azolla triage") => a.row href="/notes" { (part::words(words)) },
            None => (part::words(words)),
        }
        @if let Some(command) = command { div { (part::command(command)) } }
    }
}

/// Returns the objective that an action names as `(az-…, obj-…)`.
fn about(words: &str) -> Option<(AzollaId, ObjectiveId)> {
    let mut named = words.rsplit('(').filter_map(|rest| rest.split_once(')')?.0.split_once(", "));
    named.find_map(|(azolla, id)| Some((azolla.parse().ok()?, id.parse().ok()?)))
}

fn older(page: &Page) -> Markup {
    let shown = page.shown.as_ref().map(|shown| &shown.manifest_id);
    let others: Vec<_> = page.all.iter().filter(|manifest| Some(&manifest.manifest_id) != shown).collect();
    html! {
        section data-live="older" hidden[others.is_empty() && page.next.is_none()] {
            h2 { "Others" }
            ul.rows {
                @for manifest in others {
                    li {
                        a.row href={ "/manifests?azolla=" (page.azolla_id) "&id=" (manifest.manifest_id) } { (part::when(manifest.created_at, page.now)) }
                        @if let Some(first) = manifest.prioritized_orientation.first() { " " span.faint { (part::words(first)) } }
                    }
                }
            }
            @if let Some(next) = &page.next { (part::older(&format!("/manifests?azolla={}&before={next}", page.azolla_id))) }
        }
    }
}
