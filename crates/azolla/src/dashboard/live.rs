//! Pages that stay current: a stream of server-sent events that says that an azolla has changed, and what is under way.
//! What changed is not in it: a page is read again as a whole, by somebody who may.

use std::{
    collections::{BTreeMap, VecDeque},
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};
use azolla_protocol::AzollaId;
use azolla_substrate::{JournalCursor, SubstrateError, SubstrateRead};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout},
};

use super::{again, form::Fields, login, session};
use crate::{config::AzollaConfig, http::App, token::Token};

/// Changes within this time are one.
const COALESCED: Duration = Duration::from_millis(200);
/// Steps are told this often at the most: how far a step is changes all the time.
const STEPS_EVERY: Duration = Duration::from_millis(500);
/// When nothing happens, a comment shows that the stream is there.
const ALIVE_EVERY: Duration = Duration::from_secs(15);
/// A stream ends before the limit of its connection does it. The browser comes again by itself, and says how far it was.
const STREAM_LIMIT: Duration = Duration::from_secs(100);
/// How long the browser waits before that.
const COME_AGAIN_MS: u64 = 1_000;
/// How long a store is left alone that could not be opened.
const OPEN_AGAIN: Duration = Duration::from_secs(10);
/// The wake-up that got lost.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// Streams of one session: more than a browser opens to one server.
const OF_ONE_MAX: usize = 8;
/// Streams in all; there have to be connections left for everything else.
const STREAMS_MAX: usize = 64;

/// How often each azolla has changed, as far as anybody looked.
type Marks = BTreeMap<AzollaId, u64>;

/// What the streams follow.
pub(crate) struct Live {
    process: String,
    marks: watch::Sender<Marks>,
    ended: watch::Sender<bool>,
    following: AtomicBool,
    streams: Arc<()>,
}

impl Live {
    /// Follows nothing yet.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let process = Token::fresh()?.text().chars().take(12).collect();
        let (marks, ended) = (watch::Sender::default(), watch::Sender::new(false));
        Ok(Self { process, marks, ended, following: AtomicBool::new(false), streams: Arc::default() })
    }

    /// Ends every stream.
    pub(crate) fn end(&self) {
        self.ended.send_replace(true);
    }

    /// Notes that an azolla has changed.
    fn moved(&self, azolla_id: &AzollaId) {
        self.marks.send_modify(|marks| *marks.entry(azolla_id.clone()).or_default() += 1);
    }

    /// Returns how far everything is: what a stream goes on from.
    fn mark(&self) -> String {
        self.mark_at(&self.marks.borrow())
    }

    fn mark_at(&self, marks: &Marks) -> String {
        format!("{}-{}", self.process, marks.values().sum::<u64>())
    }
}

/// Returns how far everything is, and follows the journals from now on. Nobody does before the first page is looked at.
pub(super) fn mark(app: &Arc<App>) -> String {
    if !app.live.following.swap(true, Ordering::SeqCst) {
        for azolla in &app.deployment.config.azollas {
            tokio::spawn(follow(app.clone(), azolla.clone()));
        }
    }
    app.live.mark()
}

/// Follows the journal of an azolla until the server ends.
async fn follow(app: Arc<App>, azolla: AzollaConfig) {
    let mut ended = app.live.ended.subscribe();
    let mut place = Place { cursor: JournalCursor::default(), is_first: true };
    while !*ended.borrow_and_update() {
        // One that is away is tried again; the pages say that it is.
        let _ = follow_store(&app, &azolla, &mut place, &mut ended).await;
        place.is_first = false;
        let _ = timeout(OPEN_AGAIN, ended.wait_for(|ended| *ended)).await;
    }
}

/// How far a journal was followed, over everything that its store goes through.
struct Place {
    cursor: JournalCursor,
    /// Whether the store is looked at for the first time.
    is_first: bool,
}

async fn follow_store(
    app: &App,
    azolla: &AzollaConfig,
    place: &mut Place,
    ended: &mut watch::Receiver<bool>,
) -> anyhow::Result<()> {
    let store = app.stores.looking(azolla).await?;
    let mut changes = store.changes();
    newer(&*store, &mut place.cursor).await?;
    if !place.is_first {
        // A page that was read meanwhile says that it is away, or shows what was before.
        app.live.moved(&azolla.id);
        app.steps.forget_over(&azolla.id, &*store).await?;
    }
    loop {
        tokio::select! {
            // A wake-up may get lost: after a while it is looked without one.
            changed = timeout(LOOK_EVERY, changes.changed()) => changed.unwrap_or(Ok(()))?,
            _ = ended.wait_for(|ended| *ended) => return Ok(()),
        }
        if timeout(COALESCED, ended.wait_for(|ended| *ended)).await.is_ok() {
            return Ok(());
        }
        changes.mark_unchanged();
        // A lease that is renewed is no change that a page shows.
        if newer(&*store, &mut place.cursor).await? {
            app.live.moved(&azolla.id);
            app.steps.forget_over(&azolla.id, &*store).await?;
        }
    }
}

/// Tells whether the journal has moved, and how far.
async fn newer(read: &dyn SubstrateRead, cursor: &mut JournalCursor) -> Result<bool, SubstrateError> {
    let newest = read.journal_latest(*cursor, 1).await?;
    match newest.first() {
        Some((at, _)) => {
            *cursor = *at;
            Ok(true)
        }
        None => Ok(false),
    }
}

/// Answers with a stream.
pub(super) async fn events(State(app): State<Arc<App>>, request: Request) -> Response {
    let session = match session::of(&app, request.headers()).await {
        Ok(Some(session)) => session,
        Ok(None) => return login::denied(),
        Err(error) => return again::away(&app, &error),
    };
    let room = Arc::strong_count(&app.live.streams) <= STREAMS_MAX;
    let Some(place) = app.sessions.stream(&session, OF_ONE_MAX).filter(|_| room) else {
        let mut response = Response::new(Body::from("there are too many live pages"));
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        session.renew(response.headers_mut());
        return response;
    };
    mark(&app);
    let query = Fields::of(request.uri().query().unwrap_or_default().as_bytes());
    let last = request.headers().get("last-event-id").and_then(|last| last.to_str().ok());
    let since = last.or(query.get("since")).map(str::to_owned);
    let events = Events::new(app, since.as_deref(), place);
    let body = stream::unfold(events, async |mut events| {
        let next = events.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(next)), events))
    });
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // A proxy that waits for more would hold up every event.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    // A page that stays open uses its session by this alone.
    session.renew(headers);
    response
}

/// One stream.
struct Events {
    app: Arc<App>,
    marks: watch::Receiver<Marks>,
    seen: Marks,
    steps: watch::Receiver<u64>,
    /// When steps may be told again, and whether there is something to tell.
    steps_from: Instant,
    steps_due: bool,
    ended: watch::Receiver<bool>,
    /// The place among the session's live pages, which is gone with the session.
    session: watch::Receiver<()>,
    until: Instant,
    queue: VecDeque<String>,
    _place: Arc<()>,
}

impl Events {
    /// Begins where the browser was: `since` is the mark that it saw last.
    fn new(app: Arc<App>, since: Option<&str>, session: watch::Receiver<()>) -> Self {
        let mut marks = app.live.marks.subscribe();
        let (steps, ended) = (app.steps.moves(), app.live.ended.subscribe());
        let seen = marks.borrow_and_update().clone();
        let mark = app.live.mark_at(&seen);
        let mut queue = VecDeque::from([format!("retry: {COME_AGAIN_MS}\nid: {mark}\n\n")]);
        if since.is_some_and(|since| since != mark) {
            let all = app.deployment.config.azollas.iter().map(|azolla| changed(&azolla.id, &mark));
            queue.extend(all);
        }
        let now = Instant::now();
        Self {
            _place: app.live.streams.clone(),
            session,
            marks,
            seen,
            steps,
            steps_from: now,
            steps_due: true,
            ended,
            until: now + STREAM_LIMIT,
            queue,
            app,
        }
    }

    /// Waits for what is to be told next; none at the end.
    async fn next(&mut self) -> Option<String> {
        loop {
            // A session that has ended is told nothing more, not even what waits to be told.
            let is_over = self.session.has_changed().is_err();
            if *self.ended.borrow() || is_over || Instant::now() >= self.until {
                return None;
            }
            if let Some(next) = self.queue.pop_front() {
                return Some(next);
            }
            let alive = (Instant::now() + ALIVE_EVERY).min(self.until);
            tokio::select! {
                _ = self.ended.changed() => return None,
                _ = self.session.changed() => return None,
                moved = self.marks.changed() => {
                    moved.ok()?;
                    self.note_changes();
                }
                moved = self.steps.changed(), if !self.steps_due => {
                    moved.ok()?;
                    self.steps_due = true;
                }
                () = sleep_until(self.steps_from), if self.steps_due => {
                    self.steps.mark_unchanged();
                    self.steps_due = false;
                    self.steps_from = Instant::now() + STEPS_EVERY;
                    return Some(self.told_steps());
                }
                () = sleep_until(alive) => return Some(": here\n\n".to_owned()),
            }
        }
    }

    fn note_changes(&mut self) {
        let now = self.marks.borrow_and_update().clone();
        let mark = self.app.live.mark_at(&now);
        for (azolla_id, count) in &now {
            if self.seen.get(azolla_id) != Some(count) {
                self.queue.push_back(changed(azolla_id, &mark));
            }
        }
        self.seen = now;
    }

    fn told_steps(&self) -> String {
        let steps: Vec<Value> = self.app.steps.steps().iter().map(|step| step.document()).collect();
        format!("event: step\ndata: {}\n\n", Value::from(steps))
    }
}

fn changed(azolla_id: &AzollaId, mark: &str) -> String {
    format!("id: {mark}\nevent: change\ndata: {}\n\n", json!({"azolla_id": azolla_id}))
}
