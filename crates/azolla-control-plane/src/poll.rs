//! The loop around the workers: a wake-up after every change, an interval as the fallback, an end in good order.

use std::{sync::Arc, time::Duration};

use azolla_protocol::WorkerRole;
use azolla_substrate::{BoxFuture, SubstrateError};
use tokio::{sync::watch, task::JoinSet, time::timeout};

use crate::{
    caught::caught,
    context::{Tick, WorkerContext, WorkerError},
    workers::{capture_readiness, deadline_monitor, gate, manifest_scheduler, readiness, runner, scheduler},
};

/// When a run ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When nothing is left to do but what waits for the operator or for a limit.
    Idle,
    /// Only when it is asked to.
    Stopped,
}

/// Correctness never depends on it: a change wakes a lane at once, this is for the wake-up that got lost.
const INTERVAL: Duration = Duration::from_secs(30);

/// How often in a row a lane may fail before a run that has an end gives up: about half a minute.
const FAILURES_MAX: u32 = 10;

/// The longest wait of a lane that only fails: 50 ms, doubled so many times, is about the interval.
const DOUBLINGS_MAX: u32 = 9;

/// Runs the workers of several azollas until they are idle or asked to stop. Each context's `stopping` has to be a
/// receiver of `stop`. A run without an end outlives every fault: the azolla that has it backs off and is tried again,
/// and the others go on.
pub async fn run(
    contexts: Vec<Arc<WorkerContext>>,
    until: Until,
    stop: &watch::Sender<bool>,
) -> Result<(), WorkerError> {
    let mut lanes = JoinSet::new();
    let mut boards = Vec::new();
    for ctx in contexts {
        // As many at once as workorders may be open (W-4): one lane that works has nothing else to look for.
        let width = usize::try_from(scheduler::room(&ctx).max_concurrent).unwrap_or(1).max(1);
        let board =
            Arc::new(Board { changes: ctx.substrate.changes(), idle: watch::channel(vec![None; width]).0 });
        for number in 0..width {
            let place = Place { board: board.clone(), number };
            lanes.spawn(run_lane(ctx.clone(), place, until));
        }
        boards.push(board);
    }
    let mut ended = tokio::select! {
        () = all_idle(&boards), if until == Until::Idle => Ok(()),
        ended = first_failure(&mut lanes) => ended,
    };
    // Work under way is given back, then the lanes end by themselves, each of them.
    stop.send_replace(true);
    while !lanes.is_empty() {
        ended = ended.and(first_failure(&mut lanes).await);
    }
    ended
}

/// Returns when every azolla is idle at one look: while one was waited for, another may have got work.
async fn all_idle(boards: &[Arc<Board>]) {
    while !boards.iter().all(|board| board.is_idle(&board.idle.borrow())) {
        for board in boards {
            let mut idle = board.idle.subscribe();
            // The board outlives its lanes.
            let _ = idle.wait_for(|lanes| board.is_idle(lanes)).await;
        }
    }
}

/// Waits until every lane has ended; the first error ends the wait.
async fn first_failure(lanes: &mut JoinSet<Result<(), WorkerError>>) -> Result<(), WorkerError> {
    while let Some(ended) = lanes.join_next().await {
        ended.unwrap_or_else(|panic| Err(WorkerError::Broken(format!("a worker stopped: {panic}"))))?;
    }
    Ok(())
}

/// Takes an azolla's workers in the order of the flow, again and again: what one of them moves, the next finds at once.
async fn run_lane(ctx: Arc<WorkerContext>, place: Place, until: Until) -> Result<(), WorkerError> {
    let mut changes = ctx.substrate.changes();
    let mut stopping = ctx.stopping.clone();
    let mut failures = 0;
    let mut told = String::new();
    while !*stopping.borrow() {
        // Before the look, so that what comes during it is not missed.
        let seen = *changes.borrow_and_update();
        let wait = match one_round(&ctx).await {
            Ok(Tick::Advanced) => {
                failures = 0;
                continue;
            }
            Ok(Tick::Idle) => {
                failures = 0;
                told.clear();
                place.set_idle(Some(seen));
                INTERVAL
            }
            Ok(Tick::Waiting(wait)) => wait.min(INTERVAL),
            Err(error) if until == Until::Stopped || (may_pass(&error) && failures < FAILURES_MAX) => {
                failures += 1;
                let wait = Duration::from_millis(50 << failures.min(DOUBLINGS_MAX)).min(INTERVAL);
                if !may_pass(&error) && told != error.to_string() {
                    // Once, and not at every look.
                    told = error.to_string();
                    ctx.show_fault(format!("cannot go on with a part of its work: {told}"));
                }
                wait
            }
            Err(error) => return Err(error),
        };
        tokio::select! {
            // A sender that is gone means that the store is: the next look says so.
            _ = timeout(wait, changes.changed()) => {}
            _ = stopping.wait_for(|stopping| *stopping) => {}
        }
        place.set_idle(None);
    }
    Ok(())
}

type Worker = for<'a> fn(&'a WorkerContext) -> BoxFuture<'a, Result<Tick, WorkerError>>;

/// One look of every worker. A fault of one resource does not keep the workers behind from theirs (W-3): it is returned
/// once nothing else moves.
async fn one_round(ctx: &WorkerContext) -> Result<Tick, WorkerError> {
    let mut round = Tick::Idle;
    let mut fault = None;
    for role in ctx.identity.azolla_type.blueprint().workers {
        if !ctx.settings.roles.contains(role) {
            continue;
        }
        let tick: Worker = match role {
            WorkerRole::Readiness => |ctx| Box::pin(readiness::tick(ctx)),
            WorkerRole::CaptureReadiness => |ctx| Box::pin(capture_readiness::tick(ctx)),
            WorkerRole::Scheduler => |ctx| Box::pin(scheduler::tick(ctx)),
            WorkerRole::ManifestScheduler => |ctx| Box::pin(manifest_scheduler::tick(ctx)),
            WorkerRole::Runner => |ctx| Box::pin(runner::tick(ctx)),
            WorkerRole::Gate => |ctx| Box::pin(gate::tick(ctx)),
            WorkerRole::DeadlineMonitor => |ctx| Box::pin(deadline_monitor::tick(ctx)),
        };
        let tick = match caught(tick(ctx)).await {
            Err(error) if error.is_of_one_resource() => {
                fault = fault.or(Some(error));
                continue;
            }
            tick => tick?,
        };
        round = match (tick, round) {
            (Tick::Advanced, _) | (_, Tick::Advanced) => Tick::Advanced,
            (Tick::Waiting(wait), round) => round.or_wait(wait),
            (Tick::Idle, round) => round,
        };
    }
    match fault {
        Some(fault) if round != Tick::Advanced => Err(fault),
        _ => Ok(round),
    }
}

/// Faults that may be over at the next look. A worker backs off from a repository by itself.
fn may_pass(error: &WorkerError) -> bool {
    let WorkerError::Store(error) = error else { return matches!(error, WorkerError::Repository(_)) };
    matches!(
        error,
        SubstrateError::Unavailable(_)
            | SubstrateError::OutcomeUnknown { .. }
            | SubstrateError::FenceLost { .. }
            | SubstrateError::Changed { .. }
    )
}

/// Which lanes of one azolla have nothing to do, as of which change of the store.
struct Board {
    /// A store counts a change before it answers whoever made it, so a count that was seen covers all that was answered.
    changes: watch::Receiver<u64>,
    /// Per lane: the count that it had seen when it found nothing; none while it looks or waits.
    idle: watch::Sender<Vec<Option<u64>>>,
}

/// One lane's line on the board.
struct Place {
    board: Arc<Board>,
    number: usize,
}

impl Place {
    fn set_idle(&self, seen: Option<u64>) {
        self.board.idle.send_modify(|idle| idle[self.number] = seen);
    }
}

impl Board {
    /// Tells whether every lane has looked after the last change and found nothing.
    fn is_idle(&self, lanes: &[Option<u64>]) -> bool {
        let changes = *self.changes.borrow();
        lanes.iter().all(|seen| *seen == Some(changes))
    }
}
