//! M-2 to M-4: what another azolla gets from a store with a history.

use std::collections::BTreeSet;

use azolla_exchange_membrane::query::{Answer, Denied, Form, Source, answer};
use azolla_protocol::{
    Actor, AzollaId, AzollaType, GateResult, JsonObject, ObjectiveStatus, ObjectiveStep, QueryId,
    QueryStatus, QueryableType, ResponseId, SubstrateQuery, SubstrateQueryResponse, Validated,
};
use azolla_testkit::{
    Backend, PatchCycle, TestStore,
    store::{azolla_id, identity},
};
use serde_json::{Value, json};

/// A store with three objectives: one that paused twice, one that the operator acted on since, one new.
struct Desk {
    world: TestStore,
    twice: String,
    acted: String,
    new: String,
}

impl Desk {
    async fn new(backend: Backend) -> Self {
        let world = TestStore::new(backend).await;
        let twice = PatchCycle::todo(&world).await;
        twice.run(GateResult::Fail).await;
        world.advance(1_000).await;
        twice.run(GateResult::Fail).await;
        world.advance(1_000).await;
        let acted = PatchCycle::todo(&world).await;
        acted.run(GateResult::Pass).await;
        acted.advance(Actor::Operator, ObjectiveStep::Reject, ObjectiveStatus::Todo).await;
        world.advance(1_000).await;
        let new = PatchCycle::created(&world).await.objective_id.to_string();
        let (twice, acted) = (twice.objective_id.to_string(), acted.objective_id.to_string());
        Self { world, twice, acted, new }
    }

    async fn ask(&self, artifact_type: QueryableType, filter: Value, bytes_max: u64) -> Answer {
        let desk = AzollaId::new("az-desk").unwrap();
        let query = SubstrateQuery {
            query_id: QueryId::new("qry-1").unwrap(),
            source_azolla_id: desk.clone(),
            target_azolla_id: azolla_id(),
            artifact_type,
            filter: filter.as_object().unwrap().clone(),
            created_at: self.world.now().await,
        };
        let source = Source { azolla_id: desk, azolla_type: AzollaType::TaskMgmt };
        let form =
            Form { response_id: ResponseId::new("rsp-1").unwrap(), now: self.world.now().await, bytes_max };
        answer(self.world.read(), &identity(AzollaType::CodePatch), &source, &query, form).await
    }

    async fn found(&self, artifact_type: QueryableType, filter: Value) -> Vec<JsonObject> {
        let answer = self.ask(artifact_type, filter, 1 << 20).await;
        assert_eq!((answer.response.status, answer.denied), (QueryStatus::Ok, None));
        Validated::new(answer.response.clone()).unwrap();
        answer.response.results
    }

    /// The objectives that pause_states name, in the order of the answer.
    async fn pauses(&self, filter: Value) -> Vec<String> {
        ids(self.found(QueryableType::PauseState, filter).await)
    }

    async fn objectives(&self, filter: Value) -> Vec<String> {
        ids(self.found(QueryableType::Objective, filter).await)
    }
}

fn ids(results: Vec<JsonObject>) -> Vec<String> {
    results.iter().map(|result| result["objective_id"].as_str().unwrap().to_owned()).collect()
}

async fn a6_m3_pauses(backend: Backend) {
    let desk = Desk::new(backend).await;
    let (twice, acted) = (desk.twice.as_str(), desk.acted.as_str());
    // Newest first, earlier ones included.
    assert_eq!(desk.pauses(json!({})).await, [acted, twice, twice]);
    assert_eq!(desk.pauses(json!({"latest_only": false, "limit": 2})).await, [acted, twice]);
    // Current is the latest of its objective that no operator's step followed.
    assert_eq!(desk.pauses(json!({"latest_only": true})).await, [twice]);
    assert_eq!(desk.pauses(json!({"objective_id": twice})).await, [twice, twice]);
    assert_eq!(desk.pauses(json!({"objective_id": acted, "latest_only": true})).await, [] as [&str; 0]);
    assert_eq!(desk.pauses(json!({"objective_id": "obj-nobody"})).await, [] as [&str; 0]);
    assert_eq!(desk.pauses(json!({"reason": "RUN_COMPLETE"})).await, [acted]);
    let complete = json!({"reason": "RUN_COMPLETE", "latest_only": true});
    assert_eq!(desk.pauses(complete).await, [] as [&str; 0]);
    let all = desk.found(QueryableType::PauseState, json!({})).await;
    let since = &all[0]["created_at"];
    assert_eq!(desk.pauses(json!({"since": since})).await, [acted]);
    assert_eq!(desk.pauses(json!({"since": since, "latest_only": true})).await, [] as [&str; 0]);
    // As stored.
    let current = desk.world.read().current_pause_states().await.unwrap();
    let latest = desk.found(QueryableType::PauseState, json!({"latest_only": true})).await;
    assert_eq!(json!(latest), json!(current));
}

async fn m3_objectives(backend: Backend) {
    let desk = Desk::new(backend).await;
    let (twice, acted, new) = (desk.twice.as_str(), desk.acted.as_str(), desk.new.as_str());
    assert_eq!(desk.objectives(json!({})).await, [twice, acted, new]);
    assert_eq!(desk.objectives(json!({"limit": 1})).await, [twice]);
    assert_eq!(desk.objectives(json!({"status": "NEW"})).await, [new]);
    assert_eq!(desk.objectives(json!({"objective_id": acted})).await, [acted]);
    assert_eq!(desk.objectives(json!({"objective_id": acted, "status": "NEW"})).await, [] as [&str; 0]);
    let urgency = desk.found(QueryableType::Objective, json!({})).await[0]["urgency"].as_u64().unwrap();
    assert_eq!(desk.objectives(json!({"max_urgency": urgency})).await.len(), 3);
    assert_eq!(desk.objectives(json!({"objective_id": new, "max_urgency": urgency})).await, [new]);
    if let Some(more_urgent) = urgency.checked_sub(1) {
        assert_eq!(desk.objectives(json!({"max_urgency": more_urgent})).await, [] as [&str; 0]);
    }
    let stored = desk.world.read().objective(&new.parse().unwrap()).await.unwrap().unwrap().objective;
    let found = desk.found(QueryableType::Objective, json!({"objective_id": new})).await;
    assert_eq!(json!(found), json!([stored]));
}

async fn m2_m4_denied_and_bounded(backend: Backend) {
    let desk = Desk::new(backend).await;
    let denied = desk.ask(QueryableType::PauseState, json!({"x": 1}), 1 << 20).await;
    assert_eq!((denied.response.status, denied.denied), (QueryStatus::Denied, Some(Denied::Filter)));
    assert_eq!(denied.response.results, []);
    // A type that no blueprint reads is refused in the same words, whatever its filter.
    let blocker = desk.ask(QueryableType::BlockerRef, json!({"resolved": false}), 1 << 20).await;
    assert_eq!((blocker.response, blocker.denied), (denied.response, Some(Denied::ForbiddenType)));
    // Fewer results, each of them whole.
    let counts: BTreeSet<usize> = async {
        let mut counts = BTreeSet::new();
        for bytes_max in (200..1_400).step_by(100) {
            let answer = desk.ask(QueryableType::PauseState, json!({}), bytes_max).await;
            let text = Validated::<SubstrateQueryResponse>::new(answer.response).unwrap();
            assert!(text.document().len() as u64 <= bytes_max, "{bytes_max}");
            counts.insert(text.results.len());
        }
        counts
    }
    .await;
    assert_eq!(counts, BTreeSet::from([0, 1, 2, 3]));
}

macro_rules! on_both_backends {
    ($($name:ident: $test:ident,)+) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$test(super::Backend::Sqlite).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$test(super::Backend::Postgres).await;
            })+
        }
    };
}

on_both_backends! {
    a6_m3_pause_states_are_filtered_and_current_where_asked: a6_m3_pauses,
    m3_objectives_are_filtered: m3_objectives,
    m2_m4_what_is_refused_has_no_results_and_an_answer_is_bounded: m2_m4_denied_and_bounded,
}
