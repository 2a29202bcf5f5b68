//! What a form asks for, done: the same steps as on the command line, refused in the same words.

use std::{fmt::Display, str::FromStr, sync::Arc};

use axum::{
    extract::{Request, State},
    http::StatusCode,
    response::Response,
};
use azolla_control_plane::operator::Changes;
use azolla_protocol::{AzollaType, BlockerKind};

use super::{
    again,
    form::{Fields, path_of_ours},
    login::see,
    once::{self, Sent},
    seen,
    session::{self, is_from_here},
};
use crate::{
    acts::{self, Act, Acts, CANCELLED, Created, Done, Edits, FoundCandidate, Seen, Until},
    failure::{Code, Failure, Words, without_flags},
    find::Found,
    http::App,
};

/// What came of a form.
pub(super) enum Answer {
    /// It was done.
    Done(Done),
    /// It was not, and why.
    Failed(Words),
    /// It was not: what is stored is another version than the one that was on the page.
    Outdated(Words, u64),
    /// Nor was it for that reason, and what it would let happen was never on a page.
    Unread(Words),
}

impl Answer {
    /// A fault of ours; what it is stays in our own log.
    pub(super) fn fault() -> Self {
        let text = "something failed here; the server's own output says what".to_owned();
        Self::Failed(Words { code: Code::Failure, text, hint: None, listing: Vec::new() })
    }

    /// Tells whether it was refused, so that nothing was done.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::Failed(words) if status(words.code).is_client_error())
    }
}

/// Takes one act, then leads back to the page that it came from.
pub(super) async fn take(State(app): State<Arc<App>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    if !is_from_here(&head.headers) {
        return again::not_from_here();
    }
    let fields = match Fields::read(&head.headers, body).await {
        Ok(fields) => fields,
        Err(unread) => return again::unread(&unread),
    };
    let session = match session::of(&app, &head.headers).await {
        Ok(Some(session)) => session,
        Ok(None) => return again::log_in(&fields),
        Err(error) => return again::away(&app, &error),
    };
    if !fields.get("csrf").is_some_and(|word| session.is_word(word)) {
        return again::stale(&session, &fields);
    }
    let number = fields.get("once").filter(|number| once::is_number(number));
    let (Some(act), Some(number)) = (fields.get("act").and_then(Act::of), number) else {
        return again::unknown(&session);
    };
    if !session.is_number_of_ours(number) {
        return again::of_before(&session, &fields);
    }
    let (taking, given) = (app.clone(), fields.clone());
    let taken = async move {
        match acted(&taking, act, &given).await {
            Ok(done) => Answer::Done(done),
            Err(error) => match outdated(&taking.acts, &given).await {
                Some(found) if act == Act::Edit => {
                    let listing = differences(&found, &given);
                    Answer::Outdated(Words { listing, ..without_flags(&error) }, found.stored.version)
                }
                Some(_) => Answer::Unread(without_flags(&error)),
                None => Answer::Failed(without_flags(&error)),
            },
        }
    };
    let answer = app.sessions.answers(&session).once(Sent::of(number, &fields), taken).await;
    match &*answer {
        Answer::Done(done) => {
            app.sessions.keep(&session, on_a_page(&app, done));
            let mut response = see(path_of_ours(fields.get("back")));
            session.renew(response.headers_mut());
            response
        }
        Answer::Failed(words) => again::refused(&app, &session, act, &fields, words),
        Answer::Unread(words) => again::look_first(&app, &session, act, &fields, words),
        // Sent once more, it is about what is shown now.
        Answer::Outdated(words, version) => {
            let fields = fields.with("version", &version.to_string());
            again::refused(&app, &session, act, &fields, words)
        }
    }
}

/// Returns the status that a failure has over HTTP.
pub(super) fn status(code: Code) -> StatusCode {
    match code {
        Code::Usage => StatusCode::BAD_REQUEST,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::Refused | Code::Gate | Code::Cap => StatusCode::CONFLICT,
        Code::Failure | Code::Temporary | Code::HungUp | Code::Interrupted | Code::Terminated => {
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

/// Returns what was done as a page tells it: what is worked on by itself here needs no command.
fn on_a_page(app: &App, done: &Done) -> Done {
    let mut done = done.clone();
    if let Some(id) = done.made.take() {
        done.what = format!("{id}: {}", done.what);
    }
    if app.works() && done.next.as_ref().is_some_and(|next| acts::WORKS.contains(&next.command.as_str())) {
        done.next = None;
    }
    done
}

/// One arm for each act: a new one does not compile until it is taken here.
async fn acted(app: &App, act: Act, fields: &Fields) -> anyhow::Result<Done> {
    let acts = &app.acts;
    let text = |name: &str| fields.get(name).unwrap_or_default();
    let candidate =
        async || acts.candidate(maybe(fields, "azolla")?.as_ref(), &needed(fields, "candidate")?).await;
    let objective = async || acts.objective(&needed(fields, "azolla")?, &needed(fields, "objective")?).await;
    match act {
        Act::Seen => seen::take(app, fields).await,
        Act::Capture => {
            acts.capture(maybe(fields, "azolla")?.as_ref(), text("text").as_bytes(), "dashboard").await
        }
        Act::Manifest => {
            let azolla = acts.one(maybe(fields, "azolla")?.as_ref(), AzollaType::TaskMgmt)?;
            Ok(acts.manifest(azolla).await?.1)
        }
        Act::TriageRetry => {
            let (azolla, capture) = (maybe(fields, "azolla")?, maybe(fields, "capture")?);
            acts.triage_retry(azolla.as_ref(), capture.as_ref()).await
        }
        Act::Promote => promote(acts, &candidate().await?, fields).await,
        Act::Discard => acts.discard(&candidate().await?).await,
        Act::Defer => acts.defer(&candidate().await?).await,
        Act::Undo => acts.undo(&candidate().await?).await,
        Act::Duplicate => {
            let found = candidate().await?;
            let of = acts.find(None, &needed(fields, "objective")?).await?;
            acts.duplicate(&found, &of).await
        }
        Act::New => acts.create(maybe(fields, "azolla")?.as_ref(), created(fields)?).await,
        Act::Snooze => {
            let until = match (one_line(fields, "until"), fields.given("days")) {
                (Some(day), _) => Until::Day(day),
                (None, Some(days)) => Until::Days(acts::days(days.trim()).map_err(Failure::usage)?),
                (None, None) => Until::Days(3),
            };
            acts.snooze(maybe(fields, "azolla")?.as_ref(), &needed(fields, "objective")?, until).await
        }
        Act::Approve => acts.approve(&objective().await?, as_seen(fields)?).await,
        Act::Withdraw => acts.withdraw(&objective().await?).await,
        // Of a result that is on a page, its run is known: what is confirmed or sent back is what was seen.
        Act::Confirm => acts.confirm(&objective().await?, Some(&needed(fields, "run")?)).await,
        Act::Reject => {
            acts.reject(&objective().await?, Some(&needed(fields, "run")?), text("feedback")).await
        }
        Act::Retry => acts.retry(&objective().await?, as_seen(fields)?, maybe(fields, "budget_ms")?).await,
        Act::Cancel => acts.cancel(&objective().await?, fields.given("reason").unwrap_or(CANCELLED)).await,
        Act::Archive => acts.archive(&objective().await?).await,
        Act::Unarchive => acts.unarchive(&objective().await?).await,
        // Everything that it waits for is on the page.
        Act::Unblock => acts.unblock(&objective().await?, as_seen(fields)?, None).await,
        Act::Block => {
            let kind = maybe(fields, "kind")?.unwrap_or(BlockerKind::UserInput);
            acts.block(&objective().await?, text("reason"), kind).await
        }
        Act::Edit => {
            let found = objective().await?;
            acts.edit(&found, edits(&found, fields)?).await
        }
    }
}

/// Returns what a form says about a new objective.
fn created(fields: &Fields) -> Result<Created, Failure> {
    Ok(Created {
        title: one_line(fields, "title").unwrap_or_default(),
        criteria: fields.get("criteria").unwrap_or_default().trim_end().to_owned(),
        base: one_line(fields, "base"),
        importance: level(fields, "importance")?.unwrap_or(acts::IMPORTANCE),
        urgency: level(fields, "urgency")?.unwrap_or(acts::URGENCY),
    })
}

async fn promote(acts: &Acts, found: &FoundCandidate, fields: &Fields) -> anyhow::Result<Done> {
    let target = acts.target(found, maybe(fields, "target")?.as_ref())?;
    let candidate = &found.listed.candidate;
    let other = |name, was: &str| {
        let given = fields.given(name).map(str::trim_end);
        given.filter(|given| given.trim() != lines(was).trim()).map(str::to_owned)
    };
    let edits = Changes {
        title: other("title", &candidate.title),
        acceptance_criteria: other("criteria", &candidate.acceptance_criteria),
        importance: level(fields, "importance")?,
        urgency: level(fields, "urgency")?,
        ..Changes::default()
    };
    acts.promote(found, target, edits).await
}

/// Returns what a form changes: a field that says what is there already, with its lines ended in another way perhaps,
/// changes nothing.
fn edits(found: &Found, fields: &Fields) -> Result<Edits, Failure> {
    let was = &found.stored.objective;
    let base = was.metadata.get("base_branch").and_then(|base| base.as_str()).unwrap_or_default();
    let other = |name: &str, was: &str| {
        let given = fields.get(name).map(str::trim_end);
        given.filter(|given| *given != lines(was).trim_end()).map(str::to_owned)
    };
    Ok(Edits {
        title: other("title", &was.title),
        criteria: other("criteria", &was.acceptance_criteria),
        base: other("base", base),
        repo: None,
        // One of them is always given, so that a form in which nothing was changed is answered in these words.
        importance: Some(level(fields, "importance")?.unwrap_or(was.importance)),
        urgency: level(fields, "urgency")?,
        seen: as_seen(fields)?,
    })
}

/// Returns the version that was on the page, which is always known there: what somebody else wrote since is neither
/// written over nor approved unread.
fn as_seen(fields: &Fields) -> Result<Seen, Failure> {
    Ok(Seen::Version(needed(fields, "version")?))
}

/// Returns what is stored, if that is not the version that was on the page.
async fn outdated(acts: &Acts, fields: &Fields) -> Option<Found> {
    let (azolla, id) = (needed(fields, "azolla").ok()?, needed(fields, "objective").ok()?);
    let seen: u64 = needed(fields, "version").ok()?;
    let found = acts.objective(&azolla, &id).await.ok()?;
    (found.stored.version != seen).then_some(found)
}

/// Returns what an objective says now and the form of an edit says otherwise.
fn differences(found: &Found, fields: &Fields) -> Vec<String> {
    let was = &found.stored.objective;
    let Ok(now) = edits(found, fields) else { return Vec::new() };
    let base = was.metadata.get("base_branch").and_then(|base| base.as_str()).unwrap_or_default();
    let differs = |level: Option<u8>, was: u8| level.is_some_and(|level| level != was);
    let differences = [
        (now.title.is_some(), "the title", was.title.clone()),
        (now.criteria.is_some(), "done when", was.acceptance_criteria.clone()),
        (now.base.is_some(), "the base branch", base.to_owned()),
        (differs(now.importance, was.importance), "the importance", was.importance.to_string()),
        (differs(now.urgency, was.urgency), "the urgency", was.urgency.to_string()),
    ];
    let listing = differences.into_iter().filter(|(differs, ..)| *differs);
    listing.map(|(_, what, is)| format!("{what} is now: {is}")).collect()
}

/// Returns a text with its lines ended as a form has them.
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn one_line(fields: &Fields, name: &str) -> Option<String> {
    fields.given(name).map(|value| value.trim().to_owned())
}

fn level(fields: &Fields, name: &str) -> Result<Option<u8>, Failure> {
    let level = fields.given(name).map(|value| acts::level(value.trim()));
    level.transpose().map_err(|error| Failure::usage(format!("{name}: {error}")))
}

/// Reads a field, if something is in it.
fn maybe<T: FromStr<Err: Display>>(fields: &Fields, name: &str) -> Result<Option<T>, Failure> {
    let parsed = fields.given(name).map(|value| value.trim().parse::<T>());
    parsed.transpose().map_err(|error| Failure::usage(format!("{name}: {error}")))
}

/// Reads a field that has to be there.
fn needed<T: FromStr<Err: Display>>(fields: &Fields, name: &str) -> Result<T, Failure> {
    maybe(fields, name)?.ok_or_else(|| Failure::usage(format!("{name} is needed")))
}
