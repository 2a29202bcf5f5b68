//! Objectives by where they stand: what is open at one glance, and everything else page by page.

use azolla_protocol::{AzollaId, Objective, ObjectiveStatus, Timestamp, is_blank};
use azolla_substrate::Tickets;
use futures_util::future::join_all;
use maud::{Markup, html};

use super::load::{self, away};
use crate::{
    acts::{Act, IMPORTANCE, TITLE_CHARS_MAX, URGENCY},
    config::AzollaConfig,
    dashboard::{Ask, PageError, Shown, form::form, frame::Tab, part, session::Session},
};

/// Rows of a page.
const PAGE: usize = 50;

/// Open ones of a kind that are read at the most; beyond it the kind has pages of its own.
const OPEN_MAX: u64 = 200;

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// What is not over, by where it stands.
    Open,
    /// One part, page by page.
    Part(Tickets),
}

/// Every list: its name in a query, its name on the page, and what it lists.
const LISTS: [(&str, &str, Which); 6] = [
    ("open", "Open", Which::Open),
    ("new", "Not approved", Which::Part(Tickets::New)),
    ("blocked", "Blocked", Which::Part(Tickets::Blocked)),
    ("confirmed", "Confirmed", Which::Part(Tickets::Confirmed)),
    ("archived", "Archived", Which::Part(Tickets::Archived)),
    ("all", "All", Which::Part(Tickets::All)),
];

/// What the page says.
pub(super) struct Listed {
    /// Which list it is, by its name in a query.
    pub(super) name: &'static str,
    /// Which azolla's alone, if one is chosen.
    pub(super) azolla: Option<AzollaId>,
    /// The azollas that there are to choose from.
    pub(super) azollas: Vec<AzollaId>,
    /// The azollas that take new objectives.
    pub(super) takers: Vec<AzollaId>,
    pub(super) now: Timestamp,
    /// The groups with their rows.
    pub(super) groups: Vec<(&'static str, Vec<Objective>)>,
    /// Where the next page begins.
    pub(super) next: Option<String>,
    /// Azollas of which more is open than is listed.
    pub(super) cut: Vec<AzollaId>,
    /// Azollas that cannot be read, and why.
    pub(super) away: Vec<(AzollaId, String)>,
}

/// Shows it.
pub(crate) async fn show(ask: &Ask<'_>) -> Result<Shown, PageError> {
    let listed = load(ask).await;
    Ok(Shown { title: "Objectives".to_owned(), tab: Tab::Objectives, main: view(&listed, ask.session) })
}

async fn load(ask: &Ask<'_>) -> Listed {
    let (name, _, which) = chosen(ask.query("show").unwrap_or_default());
    let named: Option<AzollaId> = ask.query("azolla").and_then(|id| id.parse().ok());
    let azollas = ask.app.deployment.config.azollas.iter();
    let chosen: Vec<_> =
        azollas.clone().filter(|azolla| named.as_ref().is_none_or(|id| *id == azolla.id)).collect();
    let reads =
        join_all(chosen.into_iter().map(|azolla| async move { (azolla, read(ask, azolla, which).await) }));
    let (mut found, mut now, mut away_from, mut cut) = (Vec::new(), Timestamp::MIN, Vec::new(), Vec::new());
    for (azolla, read) in reads.await {
        match read {
            Ok((at, objectives, are_all)) => {
                now = now.max(at);
                cut.extend((!are_all).then(|| azolla.id.clone()));
                found.extend(objectives);
            }
            Err(error) => away_from.push((azolla.id.clone(), error.to_string())),
        }
    }
    let takers = load::of_type(ask, azolla_protocol::AzollaType::CodePatch);
    let mut listed = Listed {
        name,
        azolla: named,
        azollas: azollas.map(|azolla| azolla.id.clone()).collect(),
        takers: takers.map(|azolla| azolla.id.clone()).collect(),
        now,
        groups: Vec::new(),
        next: None,
        cut,
        away: away_from,
    };
    match which {
        Which::Open => listed.groups = grouped(found),
        Which::Part(_) => {
            found.sort_by_key(|objective| {
                std::cmp::Reverse((objective.created_at, objective.objective_id.clone()))
            });
            let is_last = found.len() <= PAGE;
            found.truncate(PAGE);
            let last = found.last().filter(|_| !is_last);
            listed.next = last.map(|last| load::key(last.created_at, last.objective_id.as_str()));
            listed.groups = vec![("", found)];
        }
    }
    listed
}

fn chosen(name: &str) -> (&'static str, &'static str, Which) {
    LISTS.into_iter().find(|(known, ..)| *known == name).unwrap_or(LISTS[0])
}

async fn read(
    ask: &Ask<'_>,
    azolla: &AzollaConfig,
    which: Which,
) -> Result<(Timestamp, Vec<Objective>, bool), PageError> {
    let store = ask.app.stores.looking(azolla).await.map_err(away)?;
    let now = store.now().await.map_err(away)?;
    let (found, are_all) = match which {
        Which::Open => store.open_objectives_and_whether_all(OPEN_MAX).await.map_err(away)?,
        // One more than fits tells whether there is another page.
        Which::Part(part) => {
            let found = store.tickets_before(part, load::before(ask).as_ref(), PAGE as u64 + 1).await;
            (found.map_err(away)?, true)
        }
    };
    Ok((now, found.into_iter().map(|stored| stored.objective).collect(), are_all))
}

/// Puts what is open under where it stands: what needs the operator first.
fn grouped(mut found: Vec<Objective>) -> Vec<(&'static str, Vec<Objective>)> {
    const GROUPS: [(&str, ObjectiveStatus); 5] = [
        ("Awaiting confirmation", ObjectiveStatus::Done),
        ("Blocked", ObjectiveStatus::Blocked),
        ("Running", ObjectiveStatus::InProgress),
        ("Approved, waiting to run", ObjectiveStatus::Todo),
        ("New, not approved", ObjectiveStatus::New),
    ];
    found.sort_by_key(|objective| (objective.importance, objective.urgency, objective.created_at));
    let groups = GROUPS.into_iter().map(|(name, status)| {
        let rows = found.iter().filter(|objective| objective.status == status).cloned();
        (name, rows.collect::<Vec<_>>())
    });
    groups.filter(|(_, rows)| !rows.is_empty()).collect()
}

pub(super) fn view(listed: &Listed, session: &Session) -> Markup {
    html! {
        div.split {
            h1 tabindex="-1" { "Objectives" }
            @if !listed.takers.is_empty() { a.button href="#new" data-key="n" { "New objective" } }
        }
        nav.filter aria-label="Which objectives" {
            @for (name, label, _) in LISTS {
                a href=(path(name, listed.azolla.as_ref(), None)) aria-current=[(name == listed.name).then_some("true")] { (label) }
            }
        }
        @if listed.azollas.len() > 1 {
            nav.filter aria-label="Whose objectives" {
                a href=(path(listed.name, None, None)) aria-current=[listed.azolla.is_none().then_some("true")] { "every azolla" }
                @for id in &listed.azollas {
                    a href=(path(listed.name, Some(id), None)) aria-current=[(listed.azolla.as_ref() == Some(id)).then_some("true")] { (id) }
                }
            }
        }
        @for (id, why) in &listed.away { div.remark { h2 { (id) " cannot be read" } p { (part::words(why)) } } }
        div #list data-live="list" {
            @if listed.groups.iter().all(|(_, rows)| rows.is_empty()) { p { "Nothing to list." } }
            @for (name, rows) in &listed.groups {
                @if !rows.is_empty() {
                    @if !name.is_empty() { h2 { (name) " " span.fact { (rows.len()) } } }
                    (table(rows, listed.now))
                }
            }
        }
        @for id in &listed.cut {
            p.remark {
                "More is open in " (id) " than is listed here: the first " (OPEN_MAX) " of each kind. "
                a href=(path("all", Some(id), None)) { "Every one, page by page" }
            }
        }
        @if let Some(next) = &listed.next { (part::older(&path(listed.name, listed.azolla.as_ref(), Some(next)))) }
        @if !listed.takers.is_empty() { (new(listed, session)) }
    }
}

fn path(name: &str, azolla: Option<&AzollaId>, before: Option<&str>) -> String {
    let mut path = format!("/objectives?show={name}");
    if let Some(azolla) = azolla {
        path.push_str(&format!("&azolla={azolla}"));
    }
    if let Some(before) = before {
        path.push_str(&format!("&before={before}"));
    }
    path
}

fn table(rows: &[Objective], now: Timestamp) -> Markup {
    html! {
        table.list {
            thead { tr { th scope="col" { "Objective" } th scope="col" { "State" } th scope="col" { "Importance" } th scope="col" { "Changed" } } }
            tbody {
                @for objective in rows {
                    tr {
                        td {
                            a.row href=(part::objective_path(&objective.azolla_id, &objective.objective_id)) {
                                @if is_blank(&objective.title) { "(no title)" } @else { (part::words(&objective.title)) }
                            }
                            div.faint { (objective.objective_id) " in " (objective.azolla_id) }
                        }
                        td { (part::state(objective)) }
                        td.number { span.label { "importance " } (objective.importance) span.faint { " / urgency " (objective.urgency) } }
                        td { (part::when(objective.updated_at, now)) }
                    }
                }
            }
        }
    }
}

fn new(listed: &Listed, session: &Session) -> Markup {
    let inside = html! {
        @match &listed.takers[..] {
            [only] => input type="hidden" name="azolla" value=(only);,
            several => label { "For" select name="azolla" { @for id in several { option value=(id) { (id) } } } },
        }
        label { "Title" input name="title" required maxlength=(TITLE_CHARS_MAX) autocomplete="off"; }
        label { "Done when" textarea name="criteria" rows="4" required {} }
        details {
            summary { "More" }
            label { "From branch (if not the azolla's)" input name="base" autocomplete="off"; }
            div.pair {
                (part::level("importance", "Importance", IMPORTANCE))
                (part::level("urgency", "Urgency", URGENCY))
            }
        }
        p.faint { "It is stored as not approved: nothing runs before you approve it." }
        button.main { "Store it" }
    };
    html! {
        section #new aria-labelledby="new-title" {
            h2 #new-title { "New objective" }
            (form(session, Act::New.name(), "/objectives", &[], inside))
        }
    }
}
