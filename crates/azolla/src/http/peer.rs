//! The one route of other azollas: they read, and only what their blueprint lists (M-2 to M-4). It has the read half of
//! the store and nothing else.

use axum::http::StatusCode;
use azolla_exchange_membrane::query::{Answer, Denied, Form, Source, answer, permit};
use azolla_protocol::{AzollaId, IdSource, ResponseId, SubstrateQuery, Validated, limits};
use serde_json::json;

use super::{
    access::Caller,
    answer::{ApiError, Reply},
    app::App,
    log::Kind,
    metrics::Counter,
    serve::Call,
};
use crate::deployment::identity;

/// Answers a query. Who asks is known from the token; the query has to say the same.
pub(super) async fn query(app: &App, call: &Call) -> Result<Reply, ApiError> {
    let Caller::Peer(source) = &call.caller else { return Err(ApiError::unauthorized()) };
    let target: AzollaId = call.id("azolla_id")?;
    let query = Validated::<SubstrateQuery>::parse(&call.body);
    let query = query.map_err(|broken| ApiError::invalid(broken.to_string()))?;
    let answer = find(app, source, &target, &query).await;
    tell(app, source, &query, &answer);
    Ok(Reply::json(StatusCode::OK, &json!(answer.response)))
}

async fn find(app: &App, source: &Source, target: &AzollaId, query: &SubstrateQuery) -> Answer {
    let now = app.clock.now();
    let form = Form {
        response_id: ResponseId::from_body(&app.ids.body()),
        now,
        bytes_max: app.deployment.config.limits.get(&limits::PEER_ANSWER_BYTES),
    };
    if let Err(denied) = app.replay.admit(&source.azolla_id, query, now) {
        return Answer::denied(query, form, denied);
    }
    // The path and the query name the same azolla, and it is one of this machine. What is not is refused in one way.
    let Some(azolla) = app.stores.azolla(target).filter(|azolla| azolla.id == query.target_azolla_id) else {
        return Answer::denied(query, form, Denied::OtherTarget);
    };
    let identity = identity(azolla);
    // First: a store that is away must not tell that it is there.
    if let Err(denied) = permit(&identity, source, query) {
        return Answer::denied(query, form, denied);
    }
    match app.stores.reading(azolla).await {
        Ok(read) => answer(&*read, &identity, source, query, form).await,
        Err(error) => {
            app.log.line(Kind::Failed, &format!("{}: {}", azolla.id, crate::failure::sentence(&error)));
            Answer::unavailable(query, form)
        }
    }
}

/// Counts an answer, and writes into our own log what the peer is not told.
fn tell(app: &App, source: &Source, query: &SubstrateQuery, answer: &Answer) {
    app.metrics.answered(answer.response.status);
    let (from, kind, to) = (&source.azolla_id, query.artifact_type, &query.target_azolla_id);
    if let Some(denied) = answer.denied {
        app.metrics.count(Counter::Denied, reason(denied));
        app.log.line(Kind::Denied, &format!("denied {from}, which asked {to} for {kind}: {denied}"));
    }
    if let Some(fault) = &answer.fault {
        app.log.line(Kind::Failed, &format!("{to} could not answer {from}: {fault}"));
    }
}

/// Returns the label of a refusal.
fn reason(denied: Denied) -> &'static str {
    match denied {
        Denied::OtherSource => "source",
        Denied::OtherTarget => "target",
        Denied::ForbiddenType | Denied::NotStored => "type",
        Denied::Filter => "filter",
        Denied::Replayed => "replay",
        Denied::TooMany => "rate",
        Denied::Stale => "time",
    }
}
