//! Many at once: tasks over several handles, and real processes.

use std::{collections::BTreeMap, sync::Arc};

use azolla_protocol::{
    Actor, IdSource, ObjectiveId, ObjectiveStatus, ResourceRef, Timestamp, lifecycle::ObjectiveStep,
};
use azolla_substrate::{
    ClaimOutcome, Commit, CommitOutcome, ObjectiveFilter, StreamRoom, Substrate, SubstrateError, Write,
    verify,
};
use azolla_testkit::{
    Backend, PatchCycle, SequentialIds, TestStore,
    cycle::{LEASE_MS, ROOM, lease, objective, valid},
    store::Place,
};
use tokio::task::JoinSet;

const TASKS: usize = 16;
const HANDLES: usize = 4;
const PROCESSES: usize = 4;

/// Runs one future per task at once, each on one of several handles of the same store.
async fn at_once<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    handles: &[Arc<dyn Substrate>],
    work: impl Fn(usize, Arc<dyn Substrate>) -> F,
) -> Vec<T> {
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        tasks.spawn(work(task, handles[task % handles.len()].clone()));
    }
    tasks.join_all().await
}

async fn handles(world: &TestStore) -> Vec<Arc<dyn Substrate>> {
    let mut handles = vec![world.store.clone()];
    for _ in 1..HANDLES {
        handles.push(world.open_again().await.unwrap());
    }
    handles
}

/// Counts the outcomes that are not errors; an error is counted by the rule that refused.
fn count(outcomes: Vec<Result<CommitOutcome, SubstrateError>>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for outcome in outcomes {
        let name = match outcome {
            Ok(outcome) => format!("{outcome:?}"),
            Err(SubstrateError::Refused { rule, .. }) => rule,
            Err(other) => format!("{other:?}"),
        };
        *counts.entry(name).or_default() += 1;
    }
    counts
}

fn counts<const N: usize>(expected: [(&str, usize); N]) -> BTreeMap<String, usize> {
    expected.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

on_both_backends! {
    async fn c1_sixteen_acquirers_and_one_winner_per_lease(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let resource: ResourceRef = (&cycle.scheduled().await).into();
        let handles = handles(&world).await;
        for round in 1..=20 {
            let owners: Vec<_> = (0..TASKS).map(|_| world.ids.owner_id()).collect();
            let outcomes = at_once(&handles, |task, store| {
                let (resource, owner) = (resource.clone(), owners[task].clone());
                async move { store.acquire_claim(&resource, &owner, lease(), Actor::Runner).await.unwrap() }
            });
            let versions: Vec<u64> = outcomes.await.into_iter().filter_map(|outcome| match outcome {
                ClaimOutcome::Granted(grant) => Some(grant.fence.claim_version),
                ClaimOutcome::Held => None,
            }).collect();
            assert_eq!(versions, [round]);
            world.advance(LEASE_MS).await;
        }
        assert_eq!(verify(world.read()).await.unwrap(), []);
    }

    async fn w5_sixteen_schedulers_make_one_workorder(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let event_id = cycle.emitted().await;
        let handles = handles(&world).await;
        let mut commits = Vec::new();
        for _ in 0..TASKS {
            let commit = cycle.schedule_commit(&event_id, ROOM).await;
            commits.push(commit.claiming((&event_id).into(), world.ids.owner_id()));
        }
        let outcomes = at_once(&handles, |task, store| {
            let commit = commits[task].clone();
            async move { store.commit(commit).await }
        });
        assert_eq!(count(outcomes.await), counts([("Done", 1), ("Held", TASKS - 1)]));
        assert_eq!(world.read().stream().await.unwrap().open, 1);
        assert_eq!(verify(world.read()).await.unwrap(), []);
    }

    async fn w4_sixteen_schedulers_fill_the_stream_and_no_more(world: TestStore) {
        let room = StreamRoom { max_concurrent: 2, review_limit: 0 };
        let mut commits = Vec::new();
        for _ in 0..TASKS {
            let cycle = PatchCycle::todo(&world).await;
            let event_id = cycle.emitted().await;
            let commit = cycle.schedule_commit(&event_id, room).await;
            commits.push(commit.claiming((&event_id).into(), world.ids.owner_id()));
        }
        let handles = handles(&world).await;
        let outcomes = at_once(&handles, |task, store| {
            let commit = commits[task].clone();
            async move { store.commit(commit).await }
        });
        assert_eq!(count(outcomes.await), counts([("Done", 2), ("StreamFull", TASKS - 2)]));
        assert_eq!(verify(world.read()).await.unwrap(), []);
    }

    async fn w1_sixteen_readiness_workers_emit_one_event(world: TestStore) {
        let cycle = PatchCycle::todo(&world).await;
        let event = valid(cycle.event(1).await);
        let ids: Vec<_> = (0..TASKS).map(|_| world.ids.commit_id()).collect();
        let handles = handles(&world).await;
        let outcomes = at_once(&handles, |task, store| {
            let write = Write::EmitEvent { event: event.clone(), entry: Some(1) };
            let commit = Commit::new(ids[task].clone(), Actor::Readiness).with(write);
            async move { store.commit(commit).await }
        });
        assert_eq!(count(outcomes.await), counts([("Done", 1), ("W-1", TASKS - 1)]));
        assert_eq!(verify(world.read()).await.unwrap(), []);
    }

    async fn t40_four_handles_write_at_once_and_nothing_is_lost(world: TestStore) {
        let handles = handles(&world).await;
        let now = world.now().await;
        let outcomes = at_once(&handles, |task, store| {
            let ids = SequentialIds::starting_at(1_000 * (task as u32 + 1));
            async move {
                for _ in 0..25 {
                    let new = objective(&ObjectiveId::from_body(&ids.body()), ObjectiveStatus::New, now);
                    let write = Write::InsertObjective { objective: valid(new), step: ObjectiveStep::Create };
                    store.commit(Commit::new(ids.commit_id(), Actor::Operator).with(write)).await?;
                }
                Ok::<_, SubstrateError>(25)
            }
        });
        let acknowledged: usize = outcomes.await.into_iter().map(|done| done.unwrap()).sum();
        assert_eq!(acknowledged, 25 * TASKS);
        let all = ObjectiveFilter { status: None, max_urgency: 4, after: None, limit: 10_000 };
        assert_eq!(world.read().objectives(&all).await.unwrap().len(), acknowledged);
        assert_eq!(verify(world.read()).await.unwrap(), []);
    }
}

/// C-1, C-4: processes on the real clock take turns at one workorder. No two leases overlap, every version is
/// granted once, and no commit under a claim that was taken over goes through.
async fn four_processes_take_turns(backend: Backend) {
    const LAST: u64 = 24;
    let world = TestStore::new(backend).await;
    let cycle = PatchCycle::todo(&world).await;
    let work_order_id = cycle.scheduled().await;
    world.give_back_clock().await;
    let place = match &world.place {
        Place::File(path, _) => path.display().to_string(),
        Place::Database(database) => database.url().to_owned(),
    };
    let mut rivals = JoinSet::new();
    for _ in 0..PROCESSES {
        let arguments =
            [place.clone(), work_order_id.to_string(), cycle.objective_id.to_string(), LAST.to_string()];
        rivals.spawn_blocking(move || run_rival(&arguments));
    }
    let printed = rivals.join_all().await.concat();
    let mut grants: Vec<(u64, Timestamp, Timestamp)> = Vec::new();
    let mut stale = Vec::new();
    for line in printed.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["granted", version, from, until] => {
                grants.push((version.parse().unwrap(), from.parse().unwrap(), until.parse().unwrap()));
            }
            ["stale", answer] => stale.push(answer),
            _ => panic!("{line}"),
        }
    }
    grants.sort_unstable();
    // A rival that waited for the file's lock after its look may have been granted one more; none is granted two.
    let most = LAST + PROCESSES as u64 - 1;
    assert!((LAST..=most).contains(&(grants.len() as u64)), "{grants:?}");
    let versions: Vec<_> = (1..=grants.len() as u64).collect();
    assert_eq!(grants.iter().map(|grant| grant.0).collect::<Vec<_>>(), versions);
    for pair in grants.windows(2) {
        assert!(pair[1].1 >= pair[0].2, "{pair:?} overlap");
    }
    assert_eq!(stale, vec!["refused"; LAST as usize - 1]);
    assert_eq!(world.read().output_of(&work_order_id).await.unwrap(), None);
    assert_eq!(verify(world.read()).await.unwrap(), []);
}

#[expect(clippy::disallowed_methods, reason = "the test starts its rivals")]
fn run_rival(arguments: &[String]) -> String {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_rival")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

mod processes {
    use azolla_testkit::Backend;

    #[tokio::test(flavor = "multi_thread")]
    async fn c1_c4_four_processes_take_turns_on_sqlite() {
        super::four_processes_take_turns(Backend::Sqlite).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn c1_c4_four_processes_take_turns_on_postgres() {
        super::four_processes_take_turns(Backend::Postgres).await;
    }
}
