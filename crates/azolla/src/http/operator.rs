//! The operator's own routes: notes in, and a look at what there is. What needs the operator's yes is not here; that is
//! given on the command line (T27).

use axum::http::StatusCode;
use azolla_protocol::{AzollaId, AzollaType, ObjectiveId, ObjectiveStatus, OutputId, RunId};
use azolla_substrate::{ObjectiveFilter, SubstrateError, TriageOutput};
use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    answer::{ApiError, Reply},
    app::App,
    metrics::{Counter, Gauges},
    schemas,
    serve::Call,
};
use crate::{
    acts::{Listed, Triaged},
    config::AzollaConfig,
    deployment::identity,
    desk::objective_page,
};

/// How many things a page has where nothing is said, and the most.
const PAGE_DEFAULT: u64 = 100;
pub(super) const PAGE_MAX: u64 = 500;

/// Where a note comes from if nothing is said.
const LABEL_DEFAULT: &str = "http";

#[derive(Deserialize)]
struct CaptureRequest {
    text: String,
    label: Option<String>,
    azolla: Option<AzollaId>,
}

/// Keeps a note.
pub(super) async fn capture(app: &App, call: &Call) -> Result<Reply, ApiError> {
    let request: CaptureRequest = schemas::read("capture_request", &call.body)?;
    let azolla = desk(app, request.azolla.as_ref())?;
    let store = app.store(azolla).await?;
    let label = request.label.as_deref().unwrap_or(LABEL_DEFAULT);
    let captured = app.operator_at(&*store, &identity(azolla)).capture(request.text.as_bytes(), label).await;
    let capture_id = captured.map_err(|error| app.not_done("a capture", error))?;
    app.metrics.count(Counter::Captures, "");
    Ok(Reply::json(StatusCode::CREATED, &json!({"capture_id": capture_id})))
}

/// Shows where things stand.
pub(super) async fn resume(app: &App) -> Result<Reply, ApiError> {
    let data = app.look().await.document();
    Ok(Reply::json(StatusCode::OK, &json!({"schema_version": 1, "kind": "resume", "data": data})))
}

/// Lists the registry.
pub(super) fn azollas(app: &App) -> Reply {
    let config = &app.deployment.config;
    let here: Vec<_> = config
        .azollas
        .iter()
        .map(|azolla| json!({"azolla_id": azolla.id, "azolla_type": azolla.azolla_type}))
        .collect();
    let peers: Vec<_> = config
        .peers
        .iter()
        .map(|peer| json!({"azolla_id": peer.id, "azolla_type": peer.azolla_type, "url": peer.url}))
        .collect();
    Reply::json(StatusCode::OK, &json!({"azollas": here, "peers": peers}))
}

/// Lists objectives.
pub(super) async fn objectives(app: &App, call: &Call) -> Result<Reply, ApiError> {
    let azolla = named(app, call)?;
    let store = app.store(azolla).await?;
    let (mut status, mut after, mut limit) = (None, None, PAGE_DEFAULT);
    for (key, value) in &call.query {
        match key.as_str() {
            "status" => status = Some(parsed::<ObjectiveStatus>(key, value)?),
            "after" => after = Some(parsed::<ObjectiveId>(key, value)?),
            _ => limit = page_limit(value)?,
        }
    }
    let failed = |error: SubstrateError| app.failed("objectives", error);
    let after = match after {
        Some(id) => {
            let found = store.read().objective(&id).await.map_err(failed)?;
            let found = found
                .ok_or_else(|| ApiError::not_found(format!("there is no objective {id} to go on after")))?;
            Some(Box::new(found.objective))
        }
        None => None,
    };
    let filter = ObjectiveFilter { status, max_urgency: 4, after, limit };
    let found = store.read().objectives(&filter).await.map_err(failed)?;
    let objectives: Vec<_> = found.into_iter().map(|stored| stored.objective).collect();
    // A page that is not full is the last.
    let next = objectives.last().filter(|_| objectives.len() as u64 == limit).map(|last| &last.objective_id);
    Ok(Reply::json(StatusCode::OK, &json!({"objectives": objectives, "next": next})))
}

/// Shows an objective.
pub(super) async fn objective(app: &App, call: &Call) -> Result<Reply, ApiError> {
    let azolla = named(app, call)?;
    let id: ObjectiveId = call.id("objective_id")?;
    let store = app.store(azolla).await?;
    let (mut before, mut limit) = (None, PAGE_DEFAULT);
    for (key, value) in &call.query {
        match key.as_str() {
            "runs_before" => before = Some(parsed::<RunId>(key, value)?),
            _ => limit = page_limit(value)?,
        }
    }
    let page = objective_page(store.read(), &id, before.as_ref(), limit).await;
    let page = page.map_err(|error| app.failed("an objective", error))?;
    let missing = || ApiError::not_found(format!("there is no objective {id} in {}", azolla.id));
    Ok(Reply::json(StatusCode::OK, &page.ok_or_else(missing)?))
}

/// Lists what triage made of notes and nobody has resolved yet (TF-8).
pub(super) async fn candidates(app: &App, call: &Call) -> Result<Reply, ApiError> {
    let azolla = named(app, call)?;
    let store = app.store(azolla).await?;
    let (mut after, mut limit) = (None, PAGE_DEFAULT);
    for (key, value) in &call.query {
        match key.as_str() {
            "after" => after = Some(parsed::<OutputId>(key, value)?),
            _ => limit = page_limit(value)?,
        }
    }
    let found = match &after {
        Some(after) => store.read().open_candidates_after(after, limit).await,
        None => store.read().open_candidates(limit).await,
    };
    let found = found.map_err(|error| app.failed("candidates", error))?;
    let next = found.last().filter(|_| found.len() as u64 == limit).map(|last| last.output.output_id.clone());
    let candidates: Vec<_> = found.into_iter().flat_map(open).collect();
    Ok(Reply::json(StatusCode::OK, &json!({"candidates": candidates, "next": next})))
}

/// Returns the candidates of a triage that nothing was done with yet.
fn open(triage: TriageOutput) -> impl Iterator<Item = Value> {
    let Triaged { created_at, candidates, .. } = triage.into();
    let open = candidates.into_iter().filter(Listed::is_open);
    open.map(move |Listed { id, candidate, .. }| {
        json!({"output_id": id.output_id, "candidate_index": id.index, "created_at": created_at,
               "candidate": candidate})
    })
}

/// Asks for orientation. One that is asked for and not yet worked on is enough (MF-1).
pub(super) async fn request_manifest(app: &App, call: &Call) -> Result<Reply, ApiError> {
    let azolla = named(app, call)?;
    let azolla = desk(app, Some(&azolla.id))?;
    let store = app.store(azolla).await?;
    let asked = app.operator_at(&*store, &identity(azolla)).request_manifest().await;
    let asked = asked.map_err(|error| app.not_done("a manifest", error))?;
    Ok(Reply::json(StatusCode::ACCEPTED, &json!({"event_id": asked.event_id})))
}

/// Shows the newest orientation.
pub(super) async fn latest_manifest(app: &App, call: &Call) -> Result<Reply, ApiError> {
    let azolla = named(app, call)?;
    let store = app.store(azolla).await?;
    let latest = store.read().latest_manifest().await;
    let latest = latest.map_err(|error| app.failed("a manifest", error))?;
    let none = || ApiError::not_found(format!("{} has given no orientation yet", azolla.id));
    Ok(Reply::json(StatusCode::OK, &json!(latest.ok_or_else(none)?)))
}

/// Says that the server answers.
pub(super) fn health() -> Reply {
    Reply::json(StatusCode::OK, &json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")}))
}

/// Shows what was counted. A store that does not answer is left out.
pub(super) async fn metrics(app: &App) -> Reply {
    let reads = app.deployment.config.azollas.iter().map(|azolla| async move {
        let store = app.stores.reading(azolla).await.ok()?;
        let stream = store.stream().await.ok()?;
        let azolla_id = azolla.id.clone();
        Some(Gauges { azolla_id, workorders_open: stream.open, results_waiting: stream.waiting })
    });
    let gauges: Vec<_> = join_all(reads).await.into_iter().flatten().collect();
    Reply::metrics(app.metrics.text(&gauges))
}

fn named<'a>(app: &'a App, call: &Call) -> Result<&'a AzollaConfig, ApiError> {
    let id: AzollaId = call.id("azolla_id")?;
    app.stores.azolla(&id).ok_or_else(|| ApiError::not_found(format!("there is no azolla {id} here")))
}

/// Returns the azolla that takes notes: the named one, else the only one.
fn desk<'a>(app: &'a App, id: Option<&AzollaId>) -> Result<&'a AzollaConfig, ApiError> {
    let desks = app.deployment.config.of_type(AzollaType::TaskMgmt);
    let mut desks = desks.filter(|azolla| id.is_none_or(|id| *id == azolla.id));
    match (desks.next(), desks.next(), id) {
        (Some(only), None, _) => Ok(only),
        (None, _, Some(id)) => Err(ApiError::not_found(format!("{id} is no {} here", AzollaType::TaskMgmt))),
        (None, _, None) => Err(ApiError::not_found(format!("there is no {} here", AzollaType::TaskMgmt))),
        (Some(_), Some(_), _) => Err(ApiError::invalid("there are several that take notes: name the azolla")),
    }
}

fn page_limit(value: &str) -> Result<u64, ApiError> {
    let number = value.parse().ok().filter(|number| (1..=PAGE_MAX).contains(number));
    number.ok_or_else(|| ApiError::invalid(format!("limit is 1 to {PAGE_MAX}")))
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(key: &str, value: &str) -> Result<T, ApiError> {
    value.parse().map_err(|error: T::Err| ApiError::invalid(format!("{key}: {error}")))
}
