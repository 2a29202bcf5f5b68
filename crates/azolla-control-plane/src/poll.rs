//! The loop around the workers: a wake-up after every change, an interval as the fallback, an end in good order.

use std::{sync::Arc, time::Duration};

use azolla_substrate::{BoxFuture, SubstrateError};
use tokio::{sync::watch, task::JoinSet, time::timeout};

use crate::{
    context::{Tick, WorkerContext, WorkerError},
    workers::{gate, readiness, runner, scheduler},
};

/// When a run ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When nothing is left to do but what waits for the operator or for a limit.
    Idle,
    /// Only when it is asked to.
    Stopped,
}

/// Correctness never depends on it: a change wakes a role at once, this is for the wake-up that got lost.
const INTERVAL: Duration = Duration::from_secs(30);

/// How often in a row a role may fail before a run that has an end gives up: about half a minute.
const FAILURES_MAX: u32 = 10;

type Role = for<'a> fn(&'a WorkerContext) -> BoxFuture<'a, Result<Tick, WorkerError>>;

/// Runs the workers of several azollas until they are idle or asked to stop. Each context's `stopping` has to be a
/// receiver of `stop`.
pub async fn run(
    contexts: Vec<Arc<WorkerContext>>,
    until: Until,
    stop: &watch::Sender<bool>,
) -> Result<(), WorkerError> {
    let mut roles = JoinSet::new();
    let mut boards = Vec::new();
    for ctx in contexts {
        let tasks = roles_of(&ctx);
        let board = Arc::new(Board::new(tasks.len()));
        boards.push(board.clone());
        for (number, role) in tasks.into_iter().enumerate() {
            let place = Place { board: board.clone(), number };
            roles.spawn(run_role(ctx.clone(), role, place, until));
        }
    }
    let ended = tokio::select! {
        () = all_idle(&boards), if until == Until::Idle => Ok(()),
        ended = first_failure(&mut roles) => ended,
    };
    // Work under way is given back, then the roles end by themselves, each of them.
    stop.send_replace(true);
    let mut first = ended;
    while !roles.is_empty() {
        let drained = first_failure(&mut roles).await;
        first = first.and(drained);
    }
    first
}

/// Returns when every azolla is idle at one look: while one was waited for, another may have got work.
async fn all_idle(boards: &[Arc<Board>]) {
    while !boards.iter().all(|board| board.is_idle()) {
        for board in boards {
            board.idle().await;
        }
    }
}

/// One Readiness and one Scheduler; as many Runners and Gates as workorders may be open (W-4).
fn roles_of(ctx: &WorkerContext) -> Vec<Role> {
    let mut roles: Vec<Role> =
        vec![|ctx| Box::pin(readiness::tick(ctx)), |ctx| Box::pin(scheduler::tick(ctx))];
    for _ in 0..ctx.settings.room.max_concurrent {
        roles.push(|ctx| Box::pin(runner::tick(ctx)));
        roles.push(|ctx| Box::pin(gate::tick(ctx)));
    }
    roles
}

/// Waits until every role has ended; the first error ends the wait.
async fn first_failure(roles: &mut JoinSet<Result<(), WorkerError>>) -> Result<(), WorkerError> {
    while let Some(ended) = roles.join_next().await {
        ended.unwrap_or_else(|panic| Err(WorkerError::Broken(format!("a worker stopped: {panic}"))))?;
    }
    Ok(())
}

async fn run_role(
    ctx: Arc<WorkerContext>,
    role: Role,
    place: Place,
    until: Until,
) -> Result<(), WorkerError> {
    let mut changes = ctx.substrate.changes();
    let mut moves = place.board.moves.subscribe();
    let mut stopping = ctx.stopping.clone();
    let mut failures = 0;
    while !*stopping.borrow() {
        // Both before the look, so that what comes during it is not missed.
        changes.mark_unchanged();
        let seen = *moves.borrow_and_update();
        let wait = match role(&ctx).await {
            Ok(Tick::Advanced) => {
                failures = 0;
                place.board.moves.send_modify(|moves| *moves += 1);
                continue;
            }
            Ok(Tick::Idle) => {
                failures = 0;
                place.set_idle(Some(seen));
                INTERVAL
            }
            Ok(Tick::Waiting(wait)) => wait.min(INTERVAL),
            Err(error) if may_pass(&error) && (until == Until::Stopped || failures < FAILURES_MAX) => {
                failures += 1;
                Duration::from_millis(50 << failures.min(7))
            }
            Err(error) => return Err(error),
        };
        tokio::select! {
            // A sender that is gone means that the store is: the next look says so.
            _ = timeout(wait, changes.changed()) => {}
            _ = moves.changed() => {}
            _ = stopping.wait_for(|stopping| *stopping) => {}
        }
        place.set_idle(None);
    }
    Ok(())
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

/// Which roles of one azolla have nothing to do, as of which move.
struct Board {
    /// Counts what any role of this process moved.
    moves: watch::Sender<u64>,
    /// Per role: the count that it had looked at when it found nothing; none while it looks or waits.
    idle: watch::Sender<Vec<Option<u64>>>,
}

/// One role's line on the board.
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
    fn new(roles: usize) -> Self {
        Self { moves: watch::channel(0).0, idle: watch::channel(vec![None; roles]).0 }
    }

    /// Tells whether every role has looked after the last move and found nothing.
    fn is_idle(&self) -> bool {
        self.is_all_seen(&self.idle.borrow())
    }

    /// Returns when that is so.
    async fn idle(&self) {
        let mut idle = self.idle.subscribe();
        // The board outlives its roles.
        let _ = idle.wait_for(|roles| self.is_all_seen(roles)).await;
    }

    fn is_all_seen(&self, roles: &[Option<u64>]) -> bool {
        let moves = *self.moves.borrow();
        roles.iter().all(|seen| *seen == Some(moves))
    }
}
