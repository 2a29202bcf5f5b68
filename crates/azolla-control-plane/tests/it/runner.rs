//! Runner: PF-6, every way out, and one bundle per workorder whatever happens.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use azolla_control_plane::{Tick, WorkerError, workers::runner};
use azolla_protocol::{
    AnswerForm, ClaimRecord, EventId, FailureKind, GenerationOutcome, LeaseLength, ObjectiveId, OutputBundle,
    ResourceRef, RunnerStatus, Timestamp, Usage, WorkOrderId, WorkorderStatus,
};
use azolla_substrate::{BoxFuture, ClaimOutcome, Fence, RenewOutcome, Substrate, SubstrateError};
use azolla_testkit::{
    Answer, Backend, Decorated, Decorator, MemoryRepository, PatchCycle, ScriptedDiazotroph, World,
    cycle::{LATER_MS, LEASE_MS},
    diazotroph::PATCH,
    repository::BROKEN_PATCH,
    world::ScriptedLedger,
};
use tokio::time::Instant;

pub(crate) fn workorder(id: &ObjectiveId, entry: u64) -> WorkOrderId {
    WorkOrderId::of(&EventId::for_entry(id, entry).expect("a short id"))
}

pub(crate) async fn bundle(world: &World, id: &ObjectiveId) -> OutputBundle {
    let found = world.store.read().output_of(&workorder(id, 1)).await.expect("a read");
    found.expect("the workorder has its bundle")
}

/// A hanging provider under a short lease; the store's clock moves only by hand.
async fn hanging(budget_ms: u64) -> World {
    let mut world = World::with(Backend::Sqlite, ScriptedDiazotroph::new([Answer::Hang])).await;
    world.ctx.settings.lease = LeaseLength::new(SHORT_LEASE_MS).expect("a lease");
    world.ctx.settings.budget_patch_ms = budget_ms;
    world
}

const SHORT_LEASE_MS: u64 = 3_000;

async fn answering(outcome: GenerationOutcome) -> World {
    World::with(Backend::Sqlite, ScriptedDiazotroph::new([Answer::Outcome(outcome)])).await
}

/// PF-6c: the bundle of a patch that applies.
#[tokio::test]
async fn pf6_a_patch_that_applies_is_completed() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.executed().await;
    let bundle = bundle(&world, &id).await;
    assert_eq!(bundle.metadata.runner_status, RunnerStatus::Completed);
    assert_eq!(bundle.content, PATCH);
    assert_eq!(bundle.title, "Round half up");
    assert_eq!(bundle.metadata.more["branch_name"], format!("azolla/{id}"));
    assert_eq!(bundle.metadata.more["base_commit_sha"], MemoryRepository::BASE);
    let draft = bundle.metadata.more["pr_description_draft"].as_str().expect("a text");
    assert!(draft.contains("- 0.5 rounds to 1") && draft.contains("src/lib.rs"), "{draft}");
    // G-1: the mirror's branch follows the durable bundle.
    let commit = bundle.metadata.more["commit_sha"].as_str().map(str::to_owned);
    assert_eq!(world.repository.branch(&format!("azolla/{id}")), commit);
    let stored = world.store.read().workorder(&workorder(&id, 1)).await.expect("a read").expect("it");
    assert_eq!(stored.workorder.status, WorkorderStatus::Executed);
    // B-3: what it cost is recorded with it.
    let usage = world.store.read().usage_of(&workorder(&id, 1)).await.expect("a read");
    assert_eq!(usage.iter().map(|usage| usage.requests).collect::<Vec<_>>(), [1]);
    // W-5: another look runs nothing.
    assert_eq!(world.runner().await, Tick::Idle);
    assert_eq!(world.diazotroph().calls(), 1);
}

/// PF-6b: the attempted patch is kept, with why it did not apply.
#[tokio::test]
async fn pf6_a_patch_that_does_not_apply_is_kept_with_its_reason() {
    let world = answering(GenerationOutcome::Text(format!("{BROKEN_PATCH} hunk"))).await;
    let id = world.executed().await;
    let bundle = bundle(&world, &id).await;
    assert_eq!(bundle.metadata.runner_status, RunnerStatus::PatchApplyFailed);
    assert_eq!(bundle.content, format!("{BROKEN_PATCH} hunk"));
    assert_eq!(bundle.notes, "src/lib.rs: the patch does not apply");
    assert_eq!(world.repository.branch(&format!("azolla/{id}")), None);
}

/// PF-6b, T17: of one that is too long to be kept, the files are, those that run by themselves first.
#[tokio::test]
async fn pf6_t17_a_refused_patch_that_is_cut_names_every_file() {
    let file = |path: &str, lines: usize| {
        let text = "+a line that is long enough\n".repeat(lines);
        format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -0,0 +1,{lines} @@\n{text}")
    };
    let parts = [file("a.rs", 40_000), file("b.rs", 1), file(".github/workflows/ci.yml", 1)];
    let world = answering(GenerationOutcome::Text(format!("{BROKEN_PATCH}\n{}", parts.concat()))).await;
    let id = world.executed().await;
    let bundle = bundle(&world, &id).await;
    assert_eq!(bundle.metadata.runner_status, RunnerStatus::PatchApplyFailed);
    assert!(bundle.content.len() <= 1_000_000 && !bundle.content.contains("ci.yml"));
    let said = |key: &str| bundle.metadata.more[key].clone();
    assert_eq!((said("content_is_cut"), said("files")), (true.into(), 3.into()));
    assert_eq!(said("paths"), serde_json::json!([".github/workflows/ci.yml", "a.rs", "b.rs"]));
}

/// PF-6d: a provider that failed for good, and a change that is none.
#[tokio::test]
async fn pf6_a_failed_generation_has_empty_content_and_the_reason() {
    let refused = GenerationOutcome::Failed { kind: FailureKind::Setup, reason: "no key".into() };
    let world = answering(refused).await;
    let id = world.executed().await;
    let failed = bundle(&world, &id).await;
    assert_eq!(failed.metadata.runner_status, RunnerStatus::GenerationFailed);
    assert_eq!((failed.content.as_str(), failed.notes.as_str()), ("", "no key"));
    assert_eq!(failed.metadata.more["failure"], "SETUP");

    let world = answering(GenerationOutcome::Text(String::new())).await;
    let id = world.executed().await;
    let unchanged = bundle(&world, &id).await;
    assert_eq!(unchanged.metadata.runner_status, RunnerStatus::GenerationFailed);
    assert_eq!(unchanged.notes, "The worker changed nothing.");
}

/// PF-6a: the provider says that the budget is over.
#[tokio::test]
async fn pf6_a_budget_that_is_over_yields_an_empty_bundle() {
    let world = answering(GenerationOutcome::OverBudget { said: "reading".into() }).await;
    let id = world.executed().await;
    let bundle = bundle(&world, &id).await;
    assert_eq!(bundle.metadata.runner_status, RunnerStatus::BudgetExhausted);
    assert_eq!(bundle.content, "");
    assert_eq!(bundle.notes, "The budget of 600000 ms was over before the work was complete.\nreading");
}

/// PF-6a, B-2: a provider that never returns is dropped at the end of the budget.
#[tokio::test]
async fn pf6_b2_a_hanging_provider_is_dropped_at_the_end_of_its_budget() {
    let world = hanging(50).await;
    let id = world.scheduled().await;
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!(bundle(&world, &id).await.metadata.runner_status, RunnerStatus::BudgetExhausted);
}

/// C-3, C-7: while work goes on, the lease is renewed every third of it.
#[tokio::test]
async fn c3_c7_the_lease_is_renewed_while_work_goes_on() {
    let world = hanging(2_000).await;
    let id = world.scheduled().await;
    let resource = ResourceRef::from(&workorder(&id, 1));
    let renewed = async {
        loop {
            let claim = world.store.read().claim(&resource).await.expect("a read");
            if let Some(claim) = claim {
                // By the store's clock, which the test moves, a renewal is seen as a later end.
                world.store.advance(1).await;
                let moved = until_renewed(&world, &resource, claim.lease_expires_at).await;
                return moved;
            }
            tokio::task::yield_now().await;
        }
    };
    let (tick, renewed) = tokio::join!(world.runner(), renewed);
    assert_eq!((tick, renewed), (Tick::Advanced, true));
}

/// A store that renews at once whatever it is asked for, and notes when.
struct Renewing {
    store: Arc<dyn Substrate>,
    asked: Arc<Mutex<Vec<Duration>>>,
    begun: Instant,
}

impl Decorator for Renewing {
    fn inner(&self) -> &dyn Substrate {
        &*self.store
    }

    fn renew_claim<'a>(
        &'a self,
        _: &'a Fence,
        _: LeaseLength,
    ) -> BoxFuture<'a, Result<RenewOutcome, SubstrateError>> {
        self.asked.lock().expect("no panic").push(self.begun.elapsed());
        Box::pin(async { Ok(RenewOutcome::Renewed(self.store.now().await?)) })
    }
}

/// C-3, C-7: every renewal counts anew, so that work may take many times its lease.
#[tokio::test(start_paused = true)]
async fn c3_c7_the_lease_is_renewed_at_every_third_of_it_until_the_work_ends() {
    let mut world = hanging(10_500).await;
    world.scheduled().await;
    let asked = Arc::default();
    let store = world.ctx.substrate.clone();
    let renewing = Renewing { store, asked: Arc::clone(&asked), begun: Instant::now() };
    world.ctx.substrate = Arc::new(Decorated(renewing));
    assert_eq!(world.runner().await, Tick::Advanced);
    // The budget, and the two seconds that what was started may take to end (B-2).
    let seconds: Vec<_> = (1..=12).map(Duration::from_secs).collect();
    assert_eq!(*asked.lock().expect("no panic"), seconds);
}

async fn until_renewed(world: &World, resource: &ResourceRef, before: Timestamp) -> bool {
    loop {
        let claim = world.store.read().claim(resource).await.expect("a read").expect("it stays");
        if claim.lease_expires_at > before {
            return true;
        }
        tokio::task::yield_now().await;
    }
}

/// PF-6e, C-3: a lost lease stops the work at the next renewal, and nothing is written.
#[tokio::test]
async fn pf6_c3_a_lost_lease_stops_the_work_and_writes_nothing() {
    let world = hanging(600_000).await;
    let id = world.scheduled().await;
    let resource = ResourceRef::from(&workorder(&id, 1));
    let expire = async {
        while world.store.read().claim(&resource).await.expect("a read").is_none() {
            tokio::task::yield_now().await;
        }
        world.store.advance(LEASE_MS).await;
    };
    let (tick, ()) = tokio::join!(world.runner(), expire);
    assert_eq!(tick, Tick::Advanced);
    assert_eq!(world.store.read().output_of(&workorder(&id, 1)).await.expect("a read"), None);
}

/// B-2: what a lost claim used is gone, for whoever comes next.
#[tokio::test]
async fn b2_takeovers_share_one_budget() {
    let world = hanging(60_050).await;
    let id = world.scheduled().await;
    // A claim that is lost is charged up to its lease's end: 60 s of the budget. The downtime after it is free.
    world.store.granted(&ResourceRef::from(&workorder(&id, 1))).await;
    world.store.advance(LEASE_MS + 500_000).await;
    assert_eq!(world.runner().await, Tick::Advanced);
    let bundle = bundle(&world, &id).await;
    assert_eq!(bundle.metadata.runner_status, RunnerStatus::BudgetExhausted);
    assert_eq!(bundle.metadata.elapsed_ms, 60_000, "the store's clock stood still in the second claim");
    assert_eq!(world.diazotroph().calls(), 1);
}

/// B-2: a budget that is used up before the claim starts nothing.
#[tokio::test]
async fn b2_an_empty_budget_starts_nothing() {
    let mut world = World::new(Backend::Sqlite).await;
    world.ctx.settings.budget_patch_ms = 60_000;
    let id = world.scheduled().await;
    world.store.granted(&ResourceRef::from(&workorder(&id, 1))).await;
    world.store.advance(LEASE_MS).await;
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!(world.diazotroph().calls(), 0);
    assert_eq!(bundle(&world, &id).await.metadata.runner_status, RunnerStatus::BudgetExhausted);
}

/// W-7: after three claims without an outcome the workorder gets its terminal bundle.
#[tokio::test]
async fn w7_a_workorder_that_kills_its_runner_ends_in_a_bundle() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.scheduled().await;
    for _ in 0..3 {
        world.store.granted(&ResourceRef::from(&workorder(&id, 1))).await;
        world.store.advance(LEASE_MS).await;
    }
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!(world.diazotroph().calls(), 0);
    let bundle = bundle(&world, &id).await;
    assert_eq!(bundle.metadata.runner_status, RunnerStatus::GenerationFailed);
    assert_eq!(bundle.metadata.more["failure"], "POISON");
}

/// S-m: a cancel does not wait until what failed in passing is tried again.
#[tokio::test]
async fn sm_a_cancel_does_not_wait_for_a_run_that_backs_off() {
    let panics = Answer::By(|_| panic!("a diazotroph that a test makes panic"));
    let world = World::with(Backend::Sqlite, ScriptedDiazotroph::new([panics])).await;
    let id = world.scheduled().await;
    assert!(matches!(world.runner().await, Tick::Waiting(_)));
    world.operator().cancel(&id, "wrong file").await.expect("cancelled");
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!(bundle(&world, &id).await.metadata.more["failure"], "CANCELLED");
}

/// S-m: a run that is cancelled while it works stops at the next renewal and still leaves its bundle.
#[tokio::test]
async fn sm_a_cancelled_run_stops_at_its_next_renewal() {
    let world = hanging(600_000).await;
    let id = world.scheduled().await;
    let cancel = async {
        while world.diazotroph().calls() == 0 {
            tokio::task::yield_now().await;
        }
        world.operator().cancel(&id, "wrong file").await.expect("cancelled");
    };
    let (tick, ()) = tokio::join!(world.runner(), cancel);
    assert_eq!(tick, Tick::Advanced);
    let bundle = bundle(&world, &id).await;
    assert_eq!(bundle.metadata.more["failure"], "CANCELLED");
    assert_eq!(bundle.notes, "The operator cancelled the run.");
    // B-3: it was asked, so it may have cost something.
    let usage = world.store.read().usage_of(&workorder(&id, 1)).await.expect("a read");
    assert_eq!(usage.iter().map(|usage| usage.requests).collect::<Vec<_>>(), [1]);
}

/// S-m: a run that is cancelled before it starts asks nobody.
#[tokio::test]
async fn sm_a_run_that_is_cancelled_before_it_starts_asks_nobody() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.scheduled().await;
    world.operator().cancel(&id, "wrong file").await.expect("cancelled");
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!(world.diazotroph().calls(), 0);
    assert_eq!(bundle(&world, &id).await.metadata.more["failure"], "CANCELLED");
}

/// B-2: the store's clock is the one that counts, also for an answer that came in time by ours.
#[tokio::test]
async fn b2_an_answer_that_is_late_by_the_stores_clock_is_over_budget() {
    let mut world = World::new(Backend::Sqlite).await;
    world.ctx.settings.budget_patch_ms = 1_000;
    let id = world.scheduled().await;
    world.diazotroph().take(world.store.clock(), 1_001);
    assert_eq!(world.runner().await, Tick::Advanced);
    let bundle = bundle(&world, &id).await;
    assert_eq!(bundle.metadata.runner_status, RunnerStatus::BudgetExhausted);
    assert_eq!((bundle.metadata.elapsed_ms, bundle.content.as_str()), (1_001, ""));
}

/// C-8: a workorder that somebody holds is waited for, as long as its lease lasts.
#[tokio::test]
async fn c8_a_held_workorder_is_waited_for() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.scheduled().await;
    world.store.granted(&ResourceRef::from(&workorder(&id, 1))).await;
    assert_eq!(world.runner().await, Tick::Waiting(Duration::from_millis(60_000)));
    assert_eq!(world.diazotroph().calls(), 0);
}

/// C-1: a clock that was two days ahead wrote a lease; as long as its holder renews it, it is believed.
#[tokio::test(start_paused = true)]
async fn c1_t36_what_a_clock_ahead_holds_is_taken_over_once_nobody_renews_it() {
    const TWO_DAYS_MS: i64 = 2 * 24 * 3_600_000;
    let world = World::new(Backend::Sqlite).await;
    let id = world.scheduled().await;
    world.store.advance(TWO_DAYS_MS).await;
    let held = world.store.granted(&ResourceRef::from(&workorder(&id, 1))).await;
    world.store.advance(-TWO_DAYS_MS / 2).await;
    let waits = Tick::Waiting(Duration::from_secs(120));
    assert_eq!(world.runner().await, waits);
    tokio::time::advance(Duration::from_secs(119)).await;
    assert_eq!(world.runner().await, Tick::Waiting(Duration::from_secs(1)));
    // A heartbeat that moves, still in the future: its holder is alive.
    world.store.advance(TWO_DAYS_MS / 4).await;
    world.store.store.renew_claim(&held.fence, LeaseLength::DEFAULT).await.expect("an answer");
    world.store.advance(-TWO_DAYS_MS / 4).await;
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(world.runner().await, waits);
    tokio::time::advance(Duration::from_secs(120)).await;
    assert_eq!(world.runner().await, Tick::Waiting(Duration::ZERO));
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!(world.diazotroph().calls(), 1);
}

/// A store that is away the first time that a lease is ended, before it or after it.
struct AwayOnce {
    store: Arc<dyn Substrate>,
    is_after: bool,
    was_away: AtomicBool,
}

impl Decorator for AwayOnce {
    fn inner(&self) -> &dyn Substrate {
        &*self.store
    }

    fn expire_claim<'a>(&'a self, seen: &'a ClaimRecord) -> BoxFuture<'a, Result<(), SubstrateError>> {
        Box::pin(async move {
            let is_away = !self.was_away.swap(true, Ordering::SeqCst);
            if self.is_after || !is_away {
                self.store.expire_claim(seen).await?;
            }
            if is_away { Err(SubstrateError::Unavailable("it went away".into())) } else { Ok(()) }
        })
    }
}

/// What a clock ahead holds, up to the look that ends it, at a store that is away right then.
async fn ending_a_lease(is_after: bool) -> (World, ObjectiveId) {
    const TWO_DAYS_MS: i64 = 2 * 24 * 3_600_000;
    let mut world = World::new(Backend::Sqlite).await;
    let id = world.scheduled().await;
    world.store.advance(TWO_DAYS_MS).await;
    world.store.granted(&ResourceRef::from(&workorder(&id, 1))).await;
    world.store.advance(-TWO_DAYS_MS).await;
    let store = AwayOnce { store: world.ctx.substrate.clone(), is_after, was_away: AtomicBool::default() };
    world.ctx.substrate = Arc::new(Decorated(store));
    assert_eq!(world.runner().await, Tick::Waiting(Duration::from_secs(120)));
    tokio::time::advance(Duration::from_secs(120)).await;
    let away = runner::tick(&world.ctx).await.expect_err("the store is away");
    assert!(matches!(away, WorkerError::Store(SubstrateError::Unavailable(_))), "{away:?}");
    assert_eq!(world.diazotroph().calls(), 0);
    (world, id)
}

/// C-1, T36: a lease whose end could not be written is still held, and is ended at the next look, without another wait.
#[tokio::test(start_paused = true)]
async fn c1_t36_the_end_of_a_lease_that_was_not_written_is_written_by_the_next_look() {
    let (world, id) = ending_a_lease(false).await;
    let resource = ResourceRef::from(&workorder(&id, 1));
    assert_eq!(world.store.acquire(&resource).await, ClaimOutcome::Held);
    assert_eq!(world.runner().await, Tick::Waiting(Duration::ZERO));
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!(world.diazotroph().calls(), 1);
}

/// C-1, C-9, T36: a lease that was ended, though the answer got lost, is free: the next look takes it, and ends nothing twice.
#[tokio::test(start_paused = true)]
async fn c1_c9_t36_the_end_of_a_lease_whose_answer_is_lost_is_found() {
    let (world, id) = ending_a_lease(true).await;
    let claim = async || {
        let read = world.store.read().claim(&ResourceRef::from(&workorder(&id, 1))).await;
        read.expect("a read").expect("a claim")
    };
    let ended = claim().await;
    assert_eq!((ended.claim_version, ended.lease_expires_at), (1, world.store.now().await));
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!((claim().await.claim_version, world.diazotroph().calls()), (2, 1));
}

/// A process that is asked to end gives its claim back at once, and it is not counted.
#[tokio::test]
async fn a_run_that_is_asked_to_stop_gives_its_claim_back() {
    let world = World::with(Backend::Sqlite, ScriptedDiazotroph::new([Answer::Hang])).await;
    let id = world.scheduled().await;
    let stop = async {
        tokio::task::yield_now().await;
        world.stop.send_replace(true);
    };
    let (tick, ()) = tokio::join!(world.runner(), stop);
    assert_eq!(tick, Tick::Idle);
    let stored = world.store.read().workorder(&workorder(&id, 1)).await.expect("a read").expect("it");
    assert_eq!((stored.workorder.status, stored.claim_count), (WorkorderStatus::Created, 0));
    world.store.granted(&ResourceRef::from(&workorder(&id, 1))).await;
}

/// W-7, B-3: a workorder that cannot even be loaded is counted, ends no run, and gets its bundle too.
#[tokio::test]
async fn w7_b3_a_workorder_that_cannot_be_loaded_ends_in_a_bundle() {
    let mut world = World::new(Backend::Sqlite).await;
    // Its snapshot says nothing about the objective's version.
    let work_order_id = PatchCycle::todo(&world.store).await.scheduled().await;
    for _ in 0..3 {
        assert!(matches!(world.runner().await, Tick::Waiting(_)));
        world.as_another_owner();
        world.store.advance(LATER_MS).await;
    }
    assert_eq!(world.runner().await, Tick::Advanced);
    let bundle = world.store.read().output_of(&work_order_id).await.expect("a read").expect("its bundle");
    assert_eq!(bundle.metadata.more["failure"], "POISON");
    assert_eq!(world.diazotroph().calls(), 0);
}

/// A provider that has counted this when it is dropped.
fn dropped() -> Usage {
    Usage {
        model: Some("m-1".into()),
        requests: 3,
        retries: 2,
        input_tokens: 500,
        output_tokens: 40,
        cost_microusd: Some(1_234),
    }
}

async fn assert_recorded(world: &World, id: &ObjectiveId) {
    let all = world.store.read().usage_of(&workorder(id, 1)).await.expect("a read");
    let Usage { model, requests, retries, input_tokens, output_tokens, cost_microusd } = dropped();
    let [usage] = all.as_slice() else { panic!("{all:?} is not one record") };
    assert_eq!((usage.model.clone(), usage.requests, usage.retries), (model, requests, retries));
    let tokens = (usage.input_tokens, usage.output_tokens);
    assert_eq!((tokens, usage.cost_microusd), ((input_tokens, output_tokens), cost_microusd));
}

/// B-3, O-1: a run that is asked to stop leaves what it cost on record and its time in the account, and its retries
/// count for the next claim.
#[tokio::test]
async fn b3_o1_what_a_stopped_run_used_is_recorded_and_counts_for_the_next_claim() {
    let answers = [Answer::HangAfter(dropped()), Answer::Outcome(GenerationOutcome::Text(PATCH.into()))];
    let mut world = World::with(Backend::Sqlite, ScriptedDiazotroph::new(answers)).await;
    let ledger = Arc::new(ScriptedLedger::default());
    world.ctx.ledger = ledger.clone();
    let id = world.scheduled().await;
    let stop = async {
        while world.diazotroph().calls() == 0 {
            tokio::task::yield_now().await;
        }
        world.stop.send_replace(true);
    };
    let (tick, ()) = tokio::join!(world.runner(), stop);
    assert_eq!(tick, Tick::Idle);
    assert_recorded(&world, &id).await;
    assert_eq!(ledger.ended.lock().expect("one thread").len(), 1);
    let stored = world.store.read().workorder(&workorder(&id, 1)).await.expect("a read").expect("it");
    assert_eq!((stored.workorder.status, stored.claim_count), (WorkorderStatus::Created, 0));
    world.stop.send_replace(false);
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!(world.diazotroph().retries_before(), [0, 2]);
    assert_eq!(ledger.ended.lock().expect("one thread").len(), 2);
}

/// B-3: so does one that is cancelled, and one that is dropped at the end of its budget.
#[tokio::test]
async fn b3_what_a_run_used_that_was_dropped_is_recorded() {
    let mut world =
        World::with(Backend::Sqlite, ScriptedDiazotroph::new([Answer::HangAfter(dropped())])).await;
    world.ctx.settings.budget_patch_ms = 50;
    let id = world.scheduled().await;
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_recorded(&world, &id).await;
    let over = bundle(&world, &id).await.metadata;
    assert_eq!(over.usage["input_tokens"], 500);
    assert_eq!(over.more["sandbox_mode"], "off", "a program was started, so how it was confined is told");

    let mut world =
        World::with(Backend::Sqlite, ScriptedDiazotroph::new([Answer::HangAfter(dropped())])).await;
    world.ctx.settings.lease = LeaseLength::new(SHORT_LEASE_MS).expect("a lease");
    let id = world.scheduled().await;
    let cancel = async {
        while world.diazotroph().calls() == 0 {
            tokio::task::yield_now().await;
        }
        world.operator().cancel(&id, "wrong file").await.expect("cancelled");
    };
    let (tick, ()) = tokio::join!(world.runner(), cancel);
    assert_eq!(tick, Tick::Advanced);
    assert_recorded(&world, &id).await;
    assert_eq!(bundle(&world, &id).await.metadata.more["sandbox_mode"], "off");
}

/// PF-6: a worker that answers in another form than the one that the snapshot was built for is asked in its own.
#[tokio::test]
async fn pf6_a_worker_of_another_kind_is_asked_in_its_own_form() {
    let world = World::new(Backend::Sqlite).await;
    let id = world.scheduled().await;
    world.diazotroph().answer_in(AnswerForm::WholeFile);
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!(bundle(&world, &id).await.metadata.more["answer_form"], "whole-file");
    let prompt = world.diazotroph().prompts().pop().expect("it was asked");
    assert!(prompt.starts_with("# Objective\n\nRound half up\n"), "{prompt}");
    assert!(prompt.contains("Answer with every file that changes, whole"), "{prompt}");
    assert!(!prompt.contains("unified diff"), "{prompt}");
}

/// B-3: a number that no document can hold is told as far as it can be; the run has its bundle all the same.
#[tokio::test]
async fn b3_a_provider_that_tells_absurd_numbers_loses_no_result() {
    let absurd =
        Usage { requests: 1, input_tokens: 1 << 60, cost_microusd: Some(u64::MAX), ..Usage::default() };
    let mut world = World::with(Backend::Sqlite, ScriptedDiazotroph::new([Answer::HangAfter(absurd)])).await;
    world.ctx.settings.budget_patch_ms = 50;
    let id = world.scheduled().await;
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!(bundle(&world, &id).await.metadata.usage["input_tokens"], 1_000_000_000_000u64);
    let usage = world.store.read().usage_of(&workorder(&id, 1)).await.expect("a read");
    assert_eq!(usage[0].cost_microusd, Some(1_000_000_000_000));
}

/// W-7: a run that panics is counted and its claim given back at once; in the end it is a bundle like any other failure.
#[tokio::test]
async fn w7_b3_a_run_that_panics_is_counted_and_ends_in_a_bundle() {
    let panics = || Answer::By(|_| panic!("a diazotroph that a test makes panic"));
    let mut world =
        World::with(Backend::Sqlite, ScriptedDiazotroph::new([panics(), panics(), panics()])).await;
    let id = world.scheduled().await;
    for panics in 1..=3 {
        assert!(matches!(world.runner().await, Tick::Waiting(_)));
        let stored = world.store.read().workorder(&workorder(&id, 1)).await.expect("a read");
        assert_eq!(stored.expect("it is there").claim_count, panics);
        world.as_another_owner();
        world.store.advance(LATER_MS).await;
    }
    assert_eq!(world.runner().await, Tick::Advanced);
    assert_eq!(bundle(&world, &id).await.metadata.runner_status, RunnerStatus::GenerationFailed);
    // R8: each of them was asked, and may have cost something.
    let usage = world.store.read().usage_of(&workorder(&id, 1)).await.expect("a read");
    assert_eq!(usage.iter().map(|usage| usage.claim_version).collect::<Vec<_>>(), [1, 2, 3]);
}
