//! M-2 and M-3 without a store: who may ask for what, which filters there are, and how much goes into an answer.

use azolla_protocol::{
    ObjectiveId, ObjectiveStatus, PauseReason, QueryId, QueryableType, SubstrateQueryResponse, Validated,
};
use serde_json::json;

use super::*;

fn at() -> Timestamp {
    Timestamp::from_millisecond(1_793_520_000_000).unwrap()
}

fn azolla(id: &str) -> AzollaId {
    AzollaId::new(id).unwrap()
}

fn target() -> Identity {
    Identity { azolla_id: azolla("az-app"), azolla_type: AzollaType::CodePatch }
}

fn desk() -> Source {
    Source { azolla_id: azolla("az-desk"), azolla_type: AzollaType::TaskMgmt }
}

fn query(artifact_type: QueryableType, filter: Value) -> SubstrateQuery {
    SubstrateQuery {
        query_id: QueryId::new("qry-1").unwrap(),
        source_azolla_id: azolla("az-desk"),
        target_azolla_id: azolla("az-app"),
        artifact_type,
        filter: filter.as_object().unwrap().clone(),
        created_at: at(),
    }
}

fn read(artifact_type: QueryableType, filter: Value) -> Result<Asked, Denied> {
    check(&target(), &desk(), &query(artifact_type, filter))
}

#[test]
fn m2_every_condition_is_asked_for() {
    use QueryableType::{BlockerRef, Objective, PauseState};
    let asked = |change: &dyn Fn(&mut SubstrateQuery), source: &Source| {
        let mut query = query(PauseState, json!({}));
        change(&mut query);
        check(&target(), source, &query).map(drop)
    };
    assert_eq!(asked(&|_| {}, &desk()), Ok(()));
    assert_eq!(asked(&|query| query.artifact_type = Objective, &desk()), Ok(()));
    let spoofed = |query: &mut SubstrateQuery| query.source_azolla_id = azolla("az-other");
    assert_eq!(asked(&spoofed, &desk()), Err(Denied::OtherSource));
    let elsewhere = |query: &mut SubstrateQuery| query.target_azolla_id = azolla("az-other");
    assert_eq!(asked(&elsewhere, &desk()), Err(Denied::OtherTarget));
    assert_eq!(asked(&|query| query.artifact_type = BlockerRef, &desk()), Err(Denied::ForbiddenType));
    let no_reader = Source { azolla_type: AzollaType::CodePatch, ..desk() };
    assert_eq!(asked(&|_| {}, &no_reader), Err(Denied::ForbiddenType));
    let unknown_key = |query: &mut SubstrateQuery| drop(query.filter.insert("x".into(), json!(1)));
    assert_eq!(asked(&unknown_key, &desk()), Err(Denied::Filter));
    // Even for a blueprint that would read it: no azolla stores one by itself.
    assert_eq!(filter::read(BlockerRef, &JsonObject::new()), Err(Denied::NotStored));
}

#[test]
fn m3_the_filters_of_a_pause_state() {
    let all = json!({"objective_id": "obj-1", "reason": "BLOCKED", "since": "2026-11-01T08:00:00.000Z",
                     "latest_only": true, "limit": 7});
    let asked = PausesAsked {
        objective_id: Some(ObjectiveId::new("obj-1").unwrap()),
        reason: Some(PauseReason::Blocked),
        since: Some(at()),
        latest_only: true,
        limit: 7,
    };
    assert_eq!(at().to_string(), "2026-11-01T08:00:00.000Z");
    assert_eq!(read(QueryableType::PauseState, all), Ok(Asked::Pauses(asked)));
    let none = PausesAsked { objective_id: None, reason: None, since: None, latest_only: false, limit: 100 };
    assert_eq!(read(QueryableType::PauseState, json!({})), Ok(Asked::Pauses(none)));
}

#[test]
fn m3_the_filters_of_an_objective() {
    let all = json!({"objective_id": "obj-1", "status": "DONE", "max_urgency": 0, "limit": 500});
    let asked = ObjectivesAsked {
        objective_id: Some(ObjectiveId::new("obj-1").unwrap()),
        status: Some(ObjectiveStatus::Done),
        max_urgency: 0,
        limit: 500,
    };
    assert_eq!(read(QueryableType::Objective, all), Ok(Asked::Objectives(asked)));
    let none = ObjectivesAsked { objective_id: None, status: None, max_urgency: 4, limit: 100 };
    assert_eq!(read(QueryableType::Objective, json!({})), Ok(Asked::Objectives(none)));
}

#[test]
fn m3_t34_a_filter_that_is_none_is_denied() {
    use QueryableType::{Objective, PauseState};
    for (artifact_type, filter) in [
        (PauseState, json!({"objective_id": "obj-1' OR '1'='1"})),
        (PauseState, json!({"objective_id": "%"})),
        (PauseState, json!({"objective_id": {"$ne": null}})),
        (PauseState, json!({"objective_id": ["obj-1"]})),
        (PauseState, json!({"objective_id": null})),
        (PauseState, json!({"reason": "blocked"})),
        (PauseState, json!({"reason": "BLOCKED; DROP TABLE objective"})),
        (PauseState, json!({"since": "2026-11-01"})),
        (PauseState, json!({"since": 0})),
        (PauseState, json!({"latest_only": "true"})),
        (PauseState, json!({"latest_only": 1})),
        (PauseState, json!({"status": "DONE"})),
        (PauseState, json!({"": 1})),
        (PauseState, json!({"Limit": 1})),
        (Objective, json!({"status": "ANY"})),
        (Objective, json!({"max_urgency": 5})),
        (Objective, json!({"max_urgency": -1})),
        (Objective, json!({"max_urgency": 1.5})),
        (Objective, json!({"latest_only": true})),
        (Objective, json!({"limit": 0})),
        (Objective, json!({"limit": 501})),
        (Objective, json!({"limit": -1})),
        (Objective, json!({"limit": 18_446_744_073_709_551_615_u64})),
        (Objective, json!({"limit": 1e300})),
        (Objective, json!({"limit": "100"})),
        (Objective, json!({"limit": null})),
    ] {
        assert_eq!(read(artifact_type, filter.clone()), Err(Denied::Filter), "{filter}");
    }
}

#[test]
fn m2_a_refusal_has_one_form_whatever_the_reason() {
    let form = || Form { response_id: ResponseId::new("rsp-1").unwrap(), now: at(), bytes_max: 1_000 };
    let query = query(QueryableType::PauseState, json!({}));
    let refusals = [
        Denied::OtherSource,
        Denied::OtherTarget,
        Denied::ForbiddenType,
        Denied::NotStored,
        Denied::Filter,
        Denied::Replayed,
        Denied::TooMany,
        Denied::Stale,
    ];
    for denied in refusals {
        let answer = Answer::denied(&query, form(), denied);
        assert_eq!(answer.denied, Some(denied));
        let response = Validated::<SubstrateQueryResponse>::new(answer.response).unwrap();
        assert_eq!(
            response.document(),
            r#"{"created_at":"2026-11-01T08:00:00.000Z","query_id":"qry-1","response_id":"rsp-1","results":[],"status":"DENIED","target_azolla_id":"az-app"}"#
        );
    }
}

#[test]
fn m4_an_answer_stays_within_its_bytes_and_cuts_no_document() {
    let query = query(QueryableType::PauseState, json!({}));
    let none = empty(&query, ResponseId::new("rsp-1").unwrap(), at(), QueryStatus::Ok);
    let found: Vec<JsonObject> =
        (0..50).map(|n| json!({"text": "é\"\n".repeat(n), "n": n}).as_object().unwrap().clone()).collect();
    let whole = size(&SubstrateQueryResponse { results: found.clone(), ..none.clone() });
    assert_eq!(within(&none, found.clone(), whole + 1).len(), 50);
    for bytes_max in (0..whole).step_by(7) {
        let results = within(&none, found.clone(), bytes_max);
        assert_eq!(results, found[..results.len()]);
        if !results.is_empty() {
            assert!(size(&SubstrateQueryResponse { results, ..none.clone() }) <= bytes_max);
        }
    }
}
