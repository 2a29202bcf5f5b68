//! Notes and what came of them: candidates to choose from, what was settled, and every note as it was written.

use azolla_protocol::{
    AzollaId, AzollaType, CandidateOutcome, CaptureId, CaptureStatus, OutputId, Timestamp,
    content::{Confidence, NoAction},
};
use azolla_substrate::{CaptureFilter, StoredCapture, SubstrateError, SubstrateRead};
use maud::{Markup, html};

use super::load::{self, away};
use crate::{
    acts::{Act, Listed, TITLE_CHARS_MAX, Triaged, outcome},
    dashboard::{
        Ask, PageError, Shown,
        form::form,
        frame::{self, Tab},
        part,
        session::Session,
    },
    line::first_line,
};

/// Triages with open candidates, settled triages, and notes that a page shows.
const OPEN_MAX: u64 = 20;
const SETTLED_MAX: u64 = 5;
const NOTES_MAX: u64 = 30;

/// Characters of a note that a page shows.
const NOTE_CHARS_MAX: usize = 2_000;

/// What the page says.
pub(super) struct Notes {
    pub(super) azolla_id: AzollaId,
    /// The other azollas that take notes.
    pub(super) others: Vec<AzollaId>,
    /// Where work can go.
    pub(super) targets: Vec<AzollaId>,
    pub(super) now: Timestamp,
    pub(super) open: Vec<Listed>,
    /// How many candidates wait in all.
    pub(super) open_count: u64,
    pub(super) settled: Vec<Listed>,
    /// What the triages said over all of their notes.
    pub(super) said: Vec<(OutputId, String)>,
    /// Notes that needed nothing of late, and why.
    pub(super) needless: Vec<NoAction>,
    pub(super) pending: u64,
    pub(super) held: u64,
    pub(super) captures: Vec<StoredCapture>,
    pub(super) next: Option<CaptureId>,
}

/// Shows it.
pub(crate) async fn show(ask: &Ask<'_>) -> Result<Shown, PageError> {
    let shown = |main| Shown { title: "Notes".to_owned(), tab: Tab::Notes, main };
    let mut desks = load::of_type(ask, AzollaType::TaskMgmt);
    let named: Option<AzollaId> = ask.query("azolla").and_then(|id| id.parse().ok());
    let desk = desks.find(|azolla| named.as_ref().is_none_or(|id| azolla.id == *id));
    let Some(desk) = desk else {
        let main = html! { h1 tabindex="-1" { "Notes" } p { "No azolla here takes notes. To make one:" } p { (part::command("azolla init")) } };
        return Ok(shown(main));
    };
    let store = ask.app.stores.looking(desk).await.map_err(away)?;
    let after = ask.query("before").and_then(|id| CaptureId::new(id).ok());
    let mut notes = load(&*store, desk.id.clone(), after).await.map_err(away)?;
    let ids = |azolla_type| load::of_type(ask, azolla_type).map(|azolla| azolla.id.clone());
    notes.others = ids(AzollaType::TaskMgmt).filter(|id| *id != desk.id).collect();
    notes.targets = ids(AzollaType::CodePatch).collect();
    Ok(shown(view(&notes, ask.session)))
}

async fn load(
    read: &dyn SubstrateRead,
    azolla_id: AzollaId,
    after: Option<CaptureId>,
) -> Result<Notes, SubstrateError> {
    let filter = CaptureFilter { status: None, after, limit: NOTES_MAX };
    let captures = read.captures(&filter).await?;
    let latest: Vec<Triaged> =
        read.triage_outputs(None, SETTLED_MAX).await?.into_iter().map(Triaged::from).collect();
    let open: Vec<Triaged> = read.open_candidates(OPEN_MAX).await?.into_iter().map(Triaged::from).collect();
    // One whose candidates are open says itself what it could not tell; of the rest, the latest do.
    let is_open = |triaged: &&Triaged| open.iter().any(|open| open.output_id == triaged.output_id);
    let others = latest.iter().filter(|triaged| !is_open(triaged));
    let said = open.iter().chain(others).filter(|triaged| !triaged.notes.trim().is_empty());
    let said = said.map(|triaged| (triaged.output_id.clone(), triaged.notes.clone())).collect();
    let needless = latest.iter().flat_map(|triaged| triaged.no_action.clone()).collect();
    let open = open.into_iter().flat_map(|triaged| triaged.candidates);
    let settled = latest.into_iter().flat_map(|triaged| triaged.candidates);
    let last = captures.last().filter(|_| captures.len() as u64 == NOTES_MAX);
    Ok(Notes {
        azolla_id,
        others: Vec::new(),
        targets: Vec::new(),
        now: read.now().await?,
        open: open.filter(Listed::is_open).collect(),
        open_count: read.count_open_candidates().await?,
        settled: settled.filter(|listed| !listed.is_open()).collect(),
        said,
        needless,
        pending: read.count_pending_captures().await?,
        held: read.count_held_captures().await?,
        next: last.map(|last| last.capture.capture_id.clone()),
        captures,
    })
}

impl Notes {
    fn back(&self) -> String {
        if self.others.is_empty() { "/notes".to_owned() } else { format!("/notes?azolla={}", self.azolla_id) }
    }
}

pub(super) fn view(notes: &Notes, session: &Session) -> Markup {
    html! {
        h1 tabindex="-1" { "Notes" }
        @if !notes.others.is_empty() {
            nav.filter aria-label="Whose notes" {
                a href={ "/notes?azolla=" (notes.azolla_id) } aria-current="true" { (notes.azolla_id) }
                @for id in &notes.others { a href={ "/notes?azolla=" (id) } { (id) } }
            }
        }
        div.now {
            div.first {
        section aria-labelledby="candidates-title" {
            h2 #candidates-title { "Candidates " span.fact { (notes.open_count) " open" } }
            div data-live="candidates" {
                @if notes.open.is_empty() { p { "No candidate waits for you." } }
                ul.rows.cards { @for listed in &notes.open { (candidate(notes, listed, session)) } }
                @if notes.open_count > notes.open.len() as u64 { p.faint { "More follow when these are settled." } }
                @for (output_id, said) in &notes.said {
                    details { summary { "Said by " code { (output_id) } } (part::text(said)) }
                }
            }
        }
        (captures(notes, session))
            }
            div.second {
        section aria-labelledby="capture-title" {
            h2 #capture-title { "Capture" }
            (frame::capture(session, &[notes.azolla_id.to_string()], &notes.back()))
        }
        (settled(notes, session))
        (needless(notes, session))
            }
        }
    }
}

fn candidate(notes: &Notes, listed: &Listed, session: &Session) -> Markup {
    let (candidate, id, back) = (&listed.candidate, listed.id.to_string(), notes.back());
    let fixed = [("azolla", notes.azolla_id.as_str()), ("candidate", id.as_str())];
    let act = |act: Act, inside: Markup| form(session, act.name(), &back, &fixed, inside);
    html! {
        li {
            h3 { (part::words(&candidate.title)) }
            p.facts {
                span.fact { (sure(candidate.confidence)) }
                @if let Some(target) = &candidate.suggested_azolla_id { span.fact { "for " (target) } }
                @if let Some(urgency) = candidate.urgency { span.fact { "urgency " (urgency) } }
                @if let Some(due) = &candidate.due { span.fact { "due " (part::words(due)) } }
                span.fact { code { (id) } }
            }
            (part::text(&candidate.acceptance_criteria))
            @for ambiguity in &candidate.ambiguities { p.faint { "not clear: " (part::words(ambiguity)) } }
            @if !candidate.rationale.trim().is_empty() { p.faint { "why: " (part::words(&candidate.rationale)) } }
            p.faint { "from " @for (at, capture) in candidate.capture_ids.iter().enumerate() { @if at > 0 { ", " } a href={ "#" (capture) } { (capture) } } }
            div.acts {
                details.act {
                    summary.button.main data-key="p" { "Make it a piece of work…" }
                    (act(Act::Promote, promote(notes, listed)))
                }
                (act(Act::Defer, html! { button { "Leave for later" } }))
                (act(Act::Discard, html! { button { "Discard" } }))
                details.act {
                    summary.button { "It is a duplicate…" }
                    (act(Act::Duplicate, html! {
                        label { "Of which objective" input name="objective" required autocomplete="off" placeholder="obj-…"; }
                        button.main { "Mark as a duplicate" }
                    }))
                }
            }
        }
    }
}

fn sure(confidence: Confidence) -> String {
    format!("confidence {}", confidence.as_str().to_lowercase())
}

fn promote(notes: &Notes, listed: &Listed) -> Markup {
    let candidate = &listed.candidate;
    let level = |name: &str, label: &str, value: Option<u8>| {
        html! {
            label { (label) select name=(name) {
                option value="" { "as usual" }
                @for level in 0..=4_u8 { option value=(level) selected[value == Some(level)] { (level) @if level == 0 { " (most)" } } }
            } }
        }
    };
    html! {
        label { "Title" input name="title" value=(candidate.title) required maxlength=(TITLE_CHARS_MAX) autocomplete="off"; }
        label { "Done when" textarea name="criteria" rows="4" required { "\n" (candidate.acceptance_criteria) } }
        @if notes.targets.len() > 1 {
            label { "For" select name="target" {
                @for id in &notes.targets { option value=(id) selected[candidate.suggested_azolla_id.as_ref() == Some(id)] { (id) } }
            } }
        }
        div.pair { (level("importance", "Importance", candidate.importance)) (level("urgency", "Urgency", candidate.urgency)) }
        p.faint { "Nothing runs before you approve it." }
        button.main { "Make it a piece of work" }
    }
}

fn settled(notes: &Notes, session: &Session) -> Markup {
    let back = notes.back();
    html! {
        section data-live="settled" hidden[notes.settled.is_empty()] {
            h2 { "Settled" }
            ul.rows {
                @for listed in &notes.settled {
                    @let id = listed.id.to_string();
                    @let fixed = [("azolla", notes.azolla_id.as_str()), ("candidate", id.as_str())];
                    li.split {
                        div {
                            (part::words(&listed.candidate.title))
                            @if let Some(resolution) = &listed.resolution { span.fact { (outcome(resolution)) } span.fact { (part::when(resolution.created_at, notes.now)) } }
                        }
                        @if listed.resolution.as_ref().is_some_and(|resolution| resolution.outcome == CandidateOutcome::Deferred) {
                            details.act {
                                summary.button.small { "Take it up…" }
                                (form(session, Act::Promote.name(), &back, &fixed, promote(notes, listed)))
                            }
                        } @else {
                            (form(session, Act::Undo.name(), &back, &fixed, html! { button.small { "Take it back" span.unseen { ": " (part::words(&listed.candidate.title)) } } }))
                        }
                    }
                }
            }
        }
    }
}

/// The notes that nothing came of, with why; each can be triaged all the same.
fn needless(notes: &Notes, session: &Session) -> Markup {
    html! {
        section data-live="needless" hidden[notes.needless.is_empty()] {
            h2 { "Needed nothing" }
            ul.rows {
                @for NoAction { capture_id, reason } in &notes.needless {
                    @let fixed = [("azolla", notes.azolla_id.as_str()), ("capture", capture_id.as_str())];
                    li.split {
                        div { (part::words(reason)) span.fact { a href={ "#" (capture_id) } { (capture_id) } } }
                        (form(session, Act::TriageRetry.name(), &notes.back(), &fixed, html! { button.small { "Triage again" span.unseen { ": " (capture_id) } } }))
                    }
                }
            }
        }
    }
}

fn captures(notes: &Notes, session: &Session) -> Markup {
    let untried = notes.pending.saturating_sub(notes.held);
    html! {
        section data-live="captures" aria-labelledby="notes-title" {
            h2 #notes-title { "Every note" }
            @if untried > 0 { p { (part::counted(usize::try_from(untried).unwrap_or(usize::MAX), "note waits", "notes wait")) " for triage. " (part::command("azolla triage --now")) } }
            @if notes.held > 0 {
                (form(session, Act::TriageRetry.name(), &notes.back(), &[("azolla", notes.azolla_id.as_str())], html! {
                    p { (part::counted(usize::try_from(notes.held).unwrap_or(usize::MAX), "note", "notes")) " could not be triaged." }
                    button { "Triage again" }
                }))
            }
            @if notes.captures.is_empty() { p { "There is no note yet." } }
            ul.rows { @for stored in &notes.captures { (capture(notes, stored, session)) } }
            @if let Some(next) = &notes.next {
                @let mark = if notes.others.is_empty() { "?" } else { "&" };
                (part::older(&format!("{}{mark}before={next}", notes.back())))
            }
        }
    }
}

fn capture(notes: &Notes, stored: &StoredCapture, session: &Session) -> Markup {
    let capture = &stored.capture;
    let (first, is_short) =
        (first_line(&capture.raw_content), capture.raw_content.trim().chars().count() <= 100);
    let word = match (capture.status, stored.held) {
        (CaptureStatus::Processed, _) => "triaged",
        (CaptureStatus::Pending, true) => "could not be triaged",
        (CaptureStatus::Pending, false) => "waits for triage",
    };
    html! {
        li id=(capture.capture_id) {
            @if is_short && !capture.raw_content.trim().contains('\n') { p { (part::words(&first)) } }
            @else {
                details {
                    summary { (part::words(&first)) }
                    (part::text(&capture.raw_content.chars().take(NOTE_CHARS_MAX).collect::<String>()))
                    @if capture.raw_content.chars().nth(NOTE_CHARS_MAX).is_some() { p.faint { "The beginning alone is shown." } }
                }
            }
            p.faint {
                (word) span.fact { (part::words(&capture.source_label)) } span.fact { (part::when(capture.created_at, notes.now)) } span.fact { code { (capture.capture_id) } }
            }
            @if stored.held {
                @let fixed = [("azolla", notes.azolla_id.as_str()), ("capture", capture.capture_id.as_str())];
                (form(session, Act::TriageRetry.name(), &notes.back(), &fixed, html! { button.small { "Triage this again" } }))
            }
        }
    }
}
