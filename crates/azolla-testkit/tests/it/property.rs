//! P3: a stateful property test of the store. The same list of operations goes to both backends and to a model that
//! is written from the protocol's text; every answer, and the state that can be read, have to be the same.
//!
//! `AZOLLA_PROPERTY_CASES` raises the number of lists (500; 50,000 for a full run), `AZOLLA_PROPERTY_SEED` changes
//! what is generated. A failure prints the shortest list found and the seed.

mod action;
mod model;
mod operation;
mod plan;
mod values;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use azolla_protocol::{Actor, Clock};
use azolla_substrate::{
    ClaimOutcome, CommitOutcome, RenewOutcome, StoredCapture, Substrate, SubstrateError, export, verify,
};
use azolla_testkit::{Backend, ManualClock, TestStore};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use self::{
    action::{Action, Builder},
    model::Model,
    operation::{Operation, operations},
    plan::Answer,
};

/// Cases in a short run.
const CASES: u32 = 500;

/// The limit of automatic attempts on a capture.
const ATTEMPTS_MAX: u64 = 2;

/// How often the readable state is compared, in operations.
const COMPARE_EVERY: usize = 20;

/// Every answer that a run has to have seen.
const EVERY_ANSWER: [&str; 21] = [
    "Done",
    "Held",
    "StreamFull",
    "ReviewLimit",
    "Granted",
    "Renewed",
    "Lost",
    "FenceLost",
    "Malformed",
    "Transition",
    "Changed",
    "A-1",
    "A-2",
    "A-3",
    "C-9",
    "D-1",
    "S-3",
    "S-j",
    "TF-8",
    "W-1",
    "W-2",
];

#[test]
fn p3_both_backends_answer_every_sequence_as_the_protocol_says() {
    let number = |name: &str, default| {
        std::env::var(name)
            .map_or(default, |text| text.parse::<u32>().unwrap_or_else(|_| panic!("{name}={text}")))
    };
    let (cases, seed) = (number("AZOLLA_PROPERTY_CASES", CASES), number("AZOLLA_PROPERTY_SEED", 1));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let stores = runtime.block_on(Stores::new());
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&seed.to_le_bytes());
    // The seed is all that a failure needs; a file of failures would be a second way to the same.
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 600, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let result = runner.run(&operations(), |operations| {
        runtime.block_on(stores.case(&operations)).map_err(TestCaseError::fail)
    });
    if let Err(failure) = result {
        panic!("AZOLLA_PROPERTY_SEED={seed}: {failure}");
    }
    // A generator that no longer reaches an answer would show nothing about it.
    let reached = stores.reached.into_inner().expect("no case panicked");
    if cases >= CASES {
        let missed: Vec<_> = EVERY_ANSWER.iter().filter(|answer| !reached.contains_key(**answer)).collect();
        assert_eq!(missed, [] as [&&str; 0], "never answered; reached: {reached:?}");
    }
}

/// The store that all cases share. A new schema per case would take longer than the case.
struct Stores {
    postgres: TestStore,
    /// As another process has it open. It stays open, for its statements are prepared.
    again: Arc<dyn Substrate>,
    /// How often each answer was given.
    reached: Mutex<BTreeMap<String, u32>>,
}

/// One store under test, open twice: `Operation::Switch` goes on with the other handle.
struct Subject<'a> {
    world: &'a TestStore,
    store: Arc<dyn Substrate>,
    other: Arc<dyn Substrate>,
}

impl Stores {
    async fn new() -> Self {
        let postgres = TestStore::new(Backend::Postgres).await;
        let again = postgres.open_again().await.expect("a store opens twice");
        Self { postgres, again, reached: Mutex::default() }
    }

    async fn case(&self, operations: &[Operation]) -> Result<(), String> {
        let mut model = Model::new(ManualClock::default().now());
        let sqlite = TestStore::without_disk().await;
        self.postgres.clear().await;
        let again = sqlite.open_again().await.map_err(|error| error.to_string())?;
        let mut sqlite = Subject { world: &sqlite, store: sqlite.store.clone(), other: again };
        let mut postgres =
            Subject { world: &self.postgres, store: self.postgres.store.clone(), other: self.again.clone() };
        let mut builder = Builder::new();
        for (position, operation) in operations.iter().enumerate() {
            let action = builder.action(operation, &model);
            let expected = expect(&mut model, &action);
            let (by_sqlite, by_postgres) = tokio::join!(sqlite.perform(&action), postgres.perform(&action));
            for (name, found) in [("SQLite", &by_sqlite), ("PostgreSQL", &by_postgres)] {
                if *found != expected {
                    return Err(format!(
                        "{name}, operation {position}, {operation:?}: {found:?}, not {expected:?}; it was {action:?}"
                    ));
                }
            }
            *self.reached.lock().expect("no case panicked").entry(expected.name()).or_default() += 1;
            if let Answer::Granted(grant) = expected {
                builder.granted.push(grant.fence);
            }
            if position % COMPARE_EVERY == COMPARE_EVERY - 1 {
                tokio::try_join!(sqlite.compare(&model), postgres.compare(&model))?;
            }
        }
        let (one, other) = tokio::try_join!(sqlite.finish(&model), postgres.finish(&model))?;
        if one == other { Ok(()) } else { Err(format!("exports differ:\n{one:#?}\n{other:#?}")) }
    }
}

/// What the model says an action ends with.
fn expect(model: &mut Model, action: &Action) -> Answer {
    match action {
        Action::Commit(plan) => model.commit(plan),
        Action::Acquire(resource, owner, lease) => model.acquire(resource, owner, *lease),
        Action::Renew(fence, lease) => model.renew(fence, *lease),
        Action::Release(fence, release) => model.release(fence, *release),
        Action::Advance(ms) => {
            model.now = model.now.plus_ms(*ms);
            Answer::Done
        }
        Action::Switch => Answer::Done,
    }
}

impl Subject<'_> {
    async fn perform(&mut self, action: &Action) -> Answer {
        let answer = match action {
            Action::Commit(plan) => self.store.commit(plan.commit()).await.map(|outcome| match outcome {
                CommitOutcome::Done => Answer::Done,
                CommitOutcome::Held => Answer::Held,
                CommitOutcome::StreamFull => Answer::StreamFull,
                CommitOutcome::ReviewLimit => Answer::ReviewLimit,
            }),
            Action::Acquire(resource, owner, lease) => {
                let outcome = self.store.acquire_claim(resource, owner, *lease, Actor::Runner).await;
                outcome.map(|outcome| match outcome {
                    ClaimOutcome::Granted(grant) => Answer::Granted(grant),
                    ClaimOutcome::Held => Answer::Held,
                })
            }
            Action::Renew(fence, lease) => {
                self.store.renew_claim(fence, *lease).await.map(|outcome| match outcome {
                    RenewOutcome::Renewed(until) => Answer::Renewed(until),
                    RenewOutcome::Lost => Answer::Lost,
                })
            }
            Action::Release(fence, release) => {
                self.store.release_claim(fence, *release, Actor::Runner).await.map(|()| Answer::Done)
            }
            Action::Advance(ms) => {
                self.world.advance(*ms).await;
                Ok(Answer::Done)
            }
            Action::Switch => {
                std::mem::swap(&mut self.store, &mut self.other);
                Ok(Answer::Done)
            }
        };
        answer.unwrap_or_else(|error| match error {
            SubstrateError::Refused { rule, .. } => Answer::Refused(rule),
            SubstrateError::Changed { artifact } => Answer::Changed(artifact.into()),
            SubstrateError::FenceLost { .. } => Answer::FenceLost,
            SubstrateError::Malformed(_) => Answer::Malformed,
            SubstrateError::Transition(_) => Answer::Transition,
            other => Answer::Failed(format!("{other:?}")),
        })
    }

    /// Compares everything that can be read with what the model holds.
    async fn compare(&self, model: &Model) -> Result<(), String> {
        let read = self.store.read();
        for (id, expected) in &model.objectives {
            same(id, read.objective(id).await, expected)?;
        }
        for (id, expected) in &model.captures {
            same(id, read.capture(id).await, expected)?;
        }
        for (id, expected) in &model.events {
            same(id, read.event(id).await, expected)?;
        }
        for (id, expected) in &model.workorders {
            same(id, read.workorder(id).await, expected)?;
        }
        for (resource, expected) in &model.claims {
            same(resource, read.claim(resource).await, &expected.record)?;
        }
        for ((output_id, index), expected) in &model.resolutions {
            let found = read.resolutions_of(output_id).await;
            let found = found.map(|all| all.into_iter().find(|found| found.candidate_index == *index));
            same(output_id, found, expected)?;
        }
        let (eligible, awaiting) = (model.eligible(ATTEMPTS_MAX), model.awaiting_event(ATTEMPTS_MAX));
        let is_fresh = |stored: &&StoredCapture| stored.attempts == stored.attempts_before;
        let fresh: Vec<_> = eligible.iter().filter(is_fresh).cloned().collect();
        same(&"pending captures", read.pending_captures(ATTEMPTS_MAX, 10).await.map(Some), &eligible)?;
        same(&"fresh captures", read.fresh_captures(10).await.map(Some), &fresh)?;
        let found = read.captures_awaiting_event(ATTEMPTS_MAX, 10).await;
        same(&"captures awaiting an event", found.map(Some), &awaiting)?;
        same(&"deadlines", read.deadline_pauses(20).await.map(Some), &model.deadlines())?;
        same(&"snoozes", read.snoozes().await.map(Some), &model.snoozes())?;
        same(&"stream", read.stream().await.map(Some), &model.stream())?;
        same(&"current pause_states", read.current_pause_states().await.map(Some), &model.current_pauses())
    }

    /// Compares once more, verifies, and returns the export.
    async fn finish(&self, model: &Model) -> Result<Vec<String>, String> {
        self.compare(model).await?;
        same(&"verify", verify(self.store.read()).await.map(Some), &Vec::new())?;
        let mut lines = Vec::new();
        export(self.store.read(), &mut |line| {
            lines.push(renumbered(line, lines.len()));
            Ok(())
        })
        .await
        .map_err(|error| error.to_string())?;
        Ok(lines)
    }
}

fn same<T: PartialEq + std::fmt::Debug>(
    what: &impl std::fmt::Debug,
    found: Result<Option<T>, SubstrateError>,
    expected: &T,
) -> Result<(), String> {
    match found {
        Ok(Some(found)) if found == *expected => Ok(()),
        other => Err(format!("{what:?}: {other:?}, not {expected:?}")),
    }
}

/// A transaction that PostgreSQL rolls back has used up its journal numbers, so only their order is compared.
fn renumbered(line: &str, number: usize) -> String {
    let mut document: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
    if document["kind"] != "journal" {
        return line.to_owned();
    }
    document["document"]["seq"] = number.into();
    document.to_string()
}
