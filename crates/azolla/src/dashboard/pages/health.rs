//! Health: every azolla with its store and its work, the other machines, what was spent, and where everything is.

use azolla_protocol::{
    AzollaId, AzollaType, QueryStatus, ResourceRef, Timestamp, WorkOrderId,
    content::{ManifestInput, read_data},
    limits,
};
use azolla_substrate::{SubstrateError, SubstrateRead};
use futures_util::future::join_all;
use maud::{Markup, html};

use super::load::{self, away};
use crate::{
    config::AzollaConfig,
    dashboard::{Ask, PageError, Shown, frame::Tab, part},
    ledger,
    screen::duration,
};

/// What the page says.
pub(super) struct Health {
    pub(super) azollas: Vec<Azolla>,
    pub(super) peers: Vec<Peer>,
    pub(super) today: Option<String>,
    pub(super) caps: Vec<(&'static str, String)>,
    pub(super) paths: Vec<(&'static str, String)>,
    /// Whether this process also does the work.
    pub(super) works: bool,
}

/// One azolla.
pub(super) struct Azolla {
    pub(super) id: AzollaId,
    pub(super) azolla_type: AzollaType,
    pub(super) repo: Option<String>,
    pub(super) store: String,
    pub(super) workers: Vec<String>,
    /// Its roles that run in this process.
    pub(super) roles: Option<String>,
    pub(super) held: Option<String>,
    /// What its store says, or why it says nothing.
    pub(super) state: Result<State, String>,
}

/// What a store says.
pub(super) struct State {
    pub(super) now: Timestamp,
    pub(super) open: u64,
    pub(super) waiting: u64,
    pub(super) newest: Option<Timestamp>,
    pub(super) claims: Vec<Claim>,
}

/// Somebody who works on something.
pub(super) struct Claim {
    pub(super) resource: String,
    pub(super) owner: String,
    pub(super) until: Timestamp,
}

/// An azolla of another machine.
pub(super) struct Peer {
    pub(super) id: AzollaId,
    pub(super) url: Option<String>,
    /// What came of asking it last, and when that was.
    pub(super) heard: Option<(QueryStatus, String, Timestamp)>,
    pub(super) now: Timestamp,
}

/// Shows it.
pub(crate) async fn show(ask: &Ask<'_>) -> Result<Shown, PageError> {
    let health = load(ask).await;
    Ok(Shown { title: "Health".to_owned(), tab: Tab::Health, main: view(&health) })
}

async fn load(ask: &Ask<'_>) -> Health {
    let (deployment, look) = (&ask.app.deployment, ask.app.look().await);
    let config = &deployment.config;
    let azollas = join_all(config.azollas.iter().map(|azolla| async {
        let held = look.spending.held(&azolla.id).map(|held| held.until_and_why());
        let store = match &azolla.store {
            // The address may hold a password.
            Some(_) => "PostgreSQL".to_owned(),
            None => deployment.place.store(&azolla.id).display().to_string(),
        };
        Azolla {
            id: azolla.id.clone(),
            azolla_type: azolla.azolla_type,
            repo: azolla.repo.clone(),
            store,
            workers: workers(ask, azolla),
            roles: ask.app.roles_of(&azolla.id).map(str::to_owned),
            held,
            state: state(ask, azolla).await.map_err(|error| error.to_string()),
        }
    }));
    let limits = &config.limits;
    let caps =
        [&limits::DAY_RUNS, &limits::DAY_MS, &limits::DAY_TOKENS, &limits::DAY_USD, &limits::REVIEW_LIMIT];
    let caps = caps.into_iter().map(|cap| {
        let shown = match limits.get(cap) {
            0 => "none".to_owned(),
            value if cap.name == limits::REVIEW_LIMIT.name => value.to_string(),
            value => ledger::amount(cap.unit, value),
        };
        (cap.name, shown)
    });
    let place = &deployment.place;
    let paths =
        [("configuration", &place.config), ("data", &place.data), ("home store", &place.home_store())]
            .map(|(name, path)| (name, path.display().to_string()));
    Health {
        azollas: azollas.await,
        peers: peers(ask).await,
        today: look.spending.today(limits),
        caps: caps.collect(),
        paths: paths.into(),
        works: ask.app.works(),
    }
}

fn workers(ask: &Ask<'_>, azolla: &AzollaConfig) -> Vec<String> {
    let named = ask.app.deployment.provider_names(azolla);
    match (azolla.azolla_type, named.is_empty()) {
        (AzollaType::TaskMgmt, true) => vec!["built in".to_owned()],
        (AzollaType::CodePatch, true) => vec!["nobody: azolla init --provider-command".to_owned()],
        _ => named.into_iter().map(str::to_owned).collect(),
    }
}

async fn state(ask: &Ask<'_>, azolla: &AzollaConfig) -> Result<State, PageError> {
    let store = ask.app.stores.looking(azolla).await.map_err(away)?;
    read(&*store).await.map_err(away)
}

async fn read(read: &dyn SubstrateRead) -> Result<State, SubstrateError> {
    let (now, stream) = (read.now().await?, read.stream().await?);
    let latest = read.journal_latest(azolla_substrate::JournalCursor::default(), 1).await?;
    let mut claims = Vec::new();
    for stored in [read.created_workorders(10).await?, read.ungated_workorders(10).await?].concat() {
        let id = &stored.workorder.work_order_id;
        if let Some(claim) = read.unreleased_claim(&ResourceRef::from(id)).await?
            && claim.is_live(now)
        {
            let (resource, owner) = (id.to_string(), claim.owner_id.to_string());
            claims.push(Claim { resource, owner, until: claim.lease_expires_at });
        }
    }
    let newest = latest.first().map(|(_, entry)| entry.at);
    Ok(State { now, open: stream.open, waiting: stream.waiting, newest, claims })
}

/// Returns the peers with what the last orientation heard of them.
async fn peers(ask: &Ask<'_>) -> Vec<Peer> {
    let mut heard: Vec<(ManifestInput, Timestamp)> = Vec::new();
    for desk in load::of_type(ask, AzollaType::TaskMgmt) {
        // A store that is away is told above.
        if let Ok(store) = ask.app.stores.looking(desk).await
            && let Ok(Some(found)) = said(&*store).await
        {
            heard.push(found);
        }
    }
    let peers = ask.app.deployment.config.peers.iter().map(|peer| {
        let of = |(input, _): &(ManifestInput, Timestamp)| {
            let report = input.azollas.iter().find(|report| report.azolla_id == peer.id)?;
            Some((report.status, report.remark.clone(), input.now))
        };
        let now = heard.first().map_or(Timestamp::MIN, |(_, now)| *now);
        Peer {
            id: peer.id.clone(),
            url: peer.url.clone(),
            heard: heard.iter().filter_map(of).max_by_key(|(.., at)| *at),
            now,
        }
    });
    peers.collect()
}

async fn said(read: &dyn SubstrateRead) -> Result<Option<(ManifestInput, Timestamp)>, SubstrateError> {
    let Some(manifest) = read.latest_manifest().await? else { return Ok(None) };
    let Ok(id) = WorkOrderId::new(format!("wo-{}", manifest.manifest_id.body())) else { return Ok(None) };
    let Some(stored) = read.workorder(&id).await? else { return Ok(None) };
    let snapshot = read.context_snapshot(&stored.workorder.context_snapshot_id).await?;
    let now = read.now().await?;
    Ok(snapshot.and_then(|snapshot| read_data(&snapshot.full_prompt_text)).map(|input| (input, now)))
}

pub(super) fn view(health: &Health) -> Markup {
    html! {
        h1 tabindex="-1" { "Health" }
        div.tiles data-live="health" {
            @for azolla in &health.azollas { (azolla_view(azolla)) }
            (peers_view(&health.peers))
            section {
                h2 { "Spending" }
                p { @match &health.today { Some(today) => (part::words(today)), None => "Nothing was spent today." } }
                dl.facts-list { @for (name, value) in &health.caps { div { dt { (name) } dd { (part::words(value)) } } } }
                p.faint { "Caps and limits: " (part::command("azolla limits")) }
            }
            section {
                h2 { "This program" }
                dl.facts-list {
                    div { dt { "version" } dd { (env!("CARGO_PKG_VERSION")) } }
                    div { dt { "work" } dd { @if health.works { "what is due is worked on here" } @else { "pages alone; the work waits for " (part::command("azolla up")) } } }
                    @for (name, path) in &health.paths { div { dt { (name) } dd { code { (part::words(path)) } } } }
                }
                p.faint { "A whole examination: " (part::command("azolla doctor")) " " (part::command("azolla verify")) }
            }
        }
    }
}

fn azolla_view(azolla: &Azolla) -> Markup {
    html! {
        section {
            h2 {
                (azolla.id) " "
                @match &azolla.state { Ok(_) => span.state.s-good { "answers" }, Err(_) => span.state.s-bad { "does not answer" } }
            }
            @if let Err(why) = &azolla.state { p { (part::words(why)) } p { (part::command("azolla doctor")) } }
            dl.facts-list {
                div { dt { "type" } dd { (kind(azolla.azolla_type)) } }
                @if let Some(repo) = &azolla.repo { div { dt { "repository" } dd { code { (part::words(repo)) } } } }
                div { dt { "store" } dd { code { (part::words(&azolla.store)) } } }
                div { dt { "workers" } dd { (part::words(&azolla.workers.join(", "))) @if let Some(held) = &azolla.held { span.fact { "held back " (part::words(held)) } } } }
                div { dt { "roles" } dd { @match &azolla.roles { Some(roles) => (part::words(roles)), None => "none in this program" } } }
                @if let Ok(state) = &azolla.state {
                    div { dt { "under way" } dd { (state.open) } }
                    div { dt { "waiting for you" } dd { (state.waiting) } }
                    div { dt { "last change" } dd { @match state.newest { Some(at) => (part::when(at, state.now)), None => "none yet" } } }
                    @for claim in &state.claims {
                        div { dt { "claim" } dd { code { (part::words(&claim.resource)) } " by " (part::words(&claim.owner)) span.fact { "for " (duration(crate::screen::age(state.now, claim.until))) " more" } } }
                    }
                }
            }
        }
    }
}

fn kind(azolla_type: AzollaType) -> &'static str {
    match azolla_type {
        AzollaType::CodePatch => "changes a repository",
        AzollaType::TaskMgmt => "takes notes and gives orientation",
    }
}

fn peers_view(peers: &[Peer]) -> Markup {
    html! {
        section {
            h2 { "Other machines" }
            @if peers.is_empty() { p { "None are registered. " (part::command("azolla peer --help")) } }
            ul.rows {
                @for peer in peers {
                    li {
                        (peer.id)
                        @match &peer.url { Some(url) => span.fact { (part::words(url)) }, None => span.fact { "only asks" } }
                        @match &peer.heard {
                            Some((status, remark, at)) => {
                                span.fact { (answer(*status)) " " (part::when(*at, peer.now)) }
                                @if !remark.is_empty() { p.faint { (part::words(remark)) } }
                            }
                            None => span.fact { "not asked yet" },
                        }
                    }
                }
            }
        }
    }
}

fn answer(status: QueryStatus) -> String {
    match status {
        QueryStatus::Ok => "answered".to_owned(),
        status => format!("asked, {}", status.as_str().to_lowercase().replace('_', " ")),
    }
}
