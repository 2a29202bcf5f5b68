//! A target of P10: the filter of a query. What is taken has known keys with values of their lists, and the answer of a real
//! store to it has no more than was asked for.

use std::cell::RefCell;

use azolla_fuzz::{Target, Verdict};
use azolla_protocol::{GateResult, QueryId, QueryableType, Validated};
use azolla_testkit::{
    PatchCycle, TestStore,
    store::{azolla_id, identity},
};
use tokio::runtime::Runtime;

use super::*;

const WORDS: &[&str] = &[
    "\"objective_id\":",
    "\"reason\":",
    "\"since\":",
    "\"latest_only\":",
    "\"limit\":",
    "\"status\":",
    "\"max_urgency\":",
    "\"resolved\":",
    "\"obj-000000000001\"",
    "\"RUN_COMPLETE\"",
    "\"GATE_FAILED\"",
    "\"BUDGET_EXHAUSTED\"",
    "\"BLOCKED\"",
    "\"NEW\"",
    "\"TODO\"",
    "\"IN_PROGRESS\"",
    "\"DONE\"",
    "\"2026-11-01T08:00:00.000Z\"",
    "\"0000-01-01T00:00:00.000Z\"",
    "\"9999-12-31T23:59:59.999Z\"",
    "true",
    "false",
    "null",
    "1",
    "0",
    "500",
    "501",
    "4",
    "5",
    "1.0",
    "1e2",
    "-1",
    ",",
    "{",
    "}",
    "[",
    "]",
    "\"' OR 1=1 --\"",
    "\"$gt\"",
    "\"%\"",
    "\"obj-1' --\"",
    "{\"$ne\":1}",
    "\\u0000",
    "\"artifact_type\":\"objective\"",
];

const BYTES_MAX: u64 = 20_000;

thread_local! {
    static DESK: RefCell<Option<(Runtime, TestStore)>> = const { RefCell::new(None) };
}

#[test]
fn p10_m3_t34_a_filter_that_is_taken_is_of_the_list_and_its_answer_keeps_to_it() {
    Target { name: "query", inputs: 8_000, bytes_max: 600, words: WORDS, check }.run();
}

/// The document is a filter; it is tried for every type.
fn check(bytes: &[u8]) -> Verdict {
    let Ok(Value::Object(filter)) = serde_json::from_slice(bytes) else { return Verdict::Refused };
    let types = [QueryableType::PauseState, QueryableType::Objective, QueryableType::BlockerRef];
    let taken = types.map(|artifact_type| is_taken(artifact_type, &filter));
    if taken.contains(&true) { Verdict::Taken } else { Verdict::Refused }
}

fn is_taken(artifact_type: QueryableType, filter: &JsonObject) -> bool {
    let desk = AzollaId::new("az-desk").expect("an id");
    let source = Source { azolla_id: desk.clone(), azolla_type: AzollaType::TaskMgmt };
    let target = identity(AzollaType::CodePatch);
    let now = Timestamp::from_millisecond(1_793_520_000_000).expect("a time");
    let query = SubstrateQuery {
        query_id: QueryId::new("qry-1").expect("an id"),
        source_azolla_id: desk,
        target_azolla_id: azolla_id(),
        artifact_type,
        filter: filter.clone(),
        created_at: now,
    };
    let permitted = permit(&target, &source, &query);
    assert_eq!(permitted.is_ok(), is_listed(artifact_type, filter), "{filter:?}: {permitted:?}");
    let form = Form { response_id: ResponseId::new("rsp-1").expect("an id"), now, bytes_max: BYTES_MAX };
    let answer =
        with_store(|runtime, store| runtime.block_on(answer(store.read(), &target, &source, &query, form)));
    assert!(answer.fault.is_none(), "{:?}", answer.fault);
    let response = Validated::new(answer.response).expect("an answer is an artifact");
    match permitted {
        Ok(()) => {
            assert_eq!((response.status, answer.denied), (QueryStatus::Ok, None));
            assert!(response.document().len() as u64 <= BYTES_MAX);
            let most = filter.get("limit").and_then(Value::as_u64).unwrap_or(100);
            assert!(
                response.results.len() as u64 <= most,
                "{} results for {filter:?}",
                response.results.len()
            );
            response.results.iter().for_each(|result| is_asked_for(result, filter));
        }
        Err(denied) => {
            assert_eq!((response.status, answer.denied), (QueryStatus::Denied, Some(denied)));
            assert!(response.results.is_empty());
        }
    }
    permitted.is_ok()
}

/// M-3 once more, from its text: which keys there are, and what each may be.
fn is_listed(artifact_type: QueryableType, filter: &JsonObject) -> bool {
    let is_one_of = |value: &Value, names: &[&str]| value.as_str().is_some_and(|text| names.contains(&text));
    let is_within = |value: &Value, least: i64, most: i64| {
        value.is_i64() && value.as_i64().is_some_and(|number| (least..=most).contains(&number))
    };
    filter.iter().all(|(key, value)| match (artifact_type, key.as_str()) {
        (QueryableType::BlockerRef, _) => false,
        (_, "objective_id") => value.as_str().is_some_and(is_objective_id),
        (_, "limit") => is_within(value, 1, 500),
        (QueryableType::PauseState, "reason") => {
            is_one_of(value, &["RUN_COMPLETE", "GATE_FAILED", "BUDGET_EXHAUSTED", "BLOCKED"])
        }
        (QueryableType::PauseState, "since") => value.as_str().is_some_and(is_time),
        (QueryableType::PauseState, "latest_only") => value.is_boolean(),
        (QueryableType::Objective, "status") => {
            is_one_of(value, &["NEW", "TODO", "IN_PROGRESS", "BLOCKED", "DONE"])
        }
        (QueryableType::Objective, "max_urgency") => is_within(value, 0, 4),
        _ => false,
    }) && artifact_type != QueryableType::BlockerRef
}

fn is_objective_id(text: &str) -> bool {
    text.len() <= 64
        && text.strip_prefix("obj-").is_some_and(|body| {
            !body.is_empty() && body.chars().all(|c| c == '-' || c.is_ascii_digit() || c.is_ascii_lowercase())
        })
}

/// `YYYY-MM-DDTHH:MM:SS.mmmZ`, a day that there is.
fn is_time(text: &str) -> bool {
    let form = b"0000-00-00T00:00:00.000Z";
    let fits = |(byte, form): (u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == *form };
    if text.len() != form.len() || !text.bytes().zip(form).all(fits) {
        return false;
    }
    let number = |from: usize, to: usize| text[from..to].parse::<u32>().unwrap_or(u32::MAX);
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day) && number(11, 13) < 24 && number(14, 16) < 60 && number(17, 19) < 60
}

/// A result is what the filter asks for, key by key.
fn is_asked_for(result: &JsonObject, filter: &JsonObject) {
    for (key, asked) in filter {
        let found = &result.get(key);
        match key.as_str() {
            "objective_id" | "reason" | "status" => assert_eq!(*found, Some(asked), "{key}"),
            "since" => assert!(result["created_at"].as_str() >= asked.as_str(), "{asked}"),
            "max_urgency" => assert!(result["urgency"].as_u64() <= asked.as_u64(), "{asked}"),
            _ => {}
        }
    }
}

/// A store with objectives in several states, one of which paused twice; made once.
fn with_store<T>(run: impl FnOnce(&Runtime, &TestStore) -> T) -> T {
    DESK.with_borrow_mut(|desk| {
        let (runtime, store) = desk.get_or_insert_with(|| {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            let store = runtime.block_on(filled());
            (runtime, store)
        });
        run(runtime, store)
    })
}

async fn filled() -> TestStore {
    let store = TestStore::without_disk().await;
    for results in [&[GateResult::Fail, GateResult::Fail][..], &[GateResult::Pass], &[]] {
        let cycle = PatchCycle::todo(&store).await;
        for result in results {
            cycle.run(*result).await;
            store.advance(1_000).await;
        }
    }
    PatchCycle::created(&store).await;
    store
}
