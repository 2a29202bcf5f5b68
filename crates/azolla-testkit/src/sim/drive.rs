//! One simulation from its seed to rest: draws what happens next, checks what has to hold after every change.

use std::{
    collections::VecDeque,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Waker},
    time::Duration,
};

use azolla_control_plane::{
    Flow, PatchFlow, Settings, TaskMgmtFlow, Tick, WorkerContext, WorkerError,
    verify::{self, Limits, left_to_do},
    workers::{capture_readiness, deadline_monitor, gate, manifest_scheduler, readiness, runner, scheduler},
};
use azolla_protocol::{
    AzollaType, EventId, IdSource, ObjectiveId, ObjectiveStatus, OwnerId, ResourceRef, WorkerRole, lifecycle,
};
use azolla_substrate::{CommitOutcome, Finding, StreamRoom, SubstrateError, verify_rows};
use tokio::{
    sync::watch,
    task::{spawn_blocking, unconstrained},
    time,
};

use super::{
    block::block_on,
    board::{Board, Point, Shut, Verdict},
    chance::Chance,
    operator::SimOperator,
    parts::{SimDiazotroph, SimRepository, patch},
    rare::{self, Rare},
    store::SimStore,
};
use crate::{
    TaskWorld,
    ids::SequentialIds,
    peers::{PeerAnswer, ScriptedPeers, ScriptedTargets},
    repository::MemoryRepository,
    store::TestStore,
    task_world::{STANDING, one_action, one_candidate_each},
    world::{NoCaps, REPO, TrustEverything},
};

/// What a simulation came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Choices that were made.
    pub steps: u64,
    /// Owners that crashed.
    pub crashes: u64,
    /// Owners that stood still for longer than a lease.
    pub pauses: u64,
    /// Calls that failed, were lost or landed late.
    pub faults: u64,
    /// How often it came to what seldom happens.
    pub rare: Rare,
    /// A checksum of everything that happened: the same for the same seed.
    pub trace: u64,
}

/// Something that must not be.
#[derive(Debug)]
pub struct Violation {
    /// The seed that shows it again.
    pub seed: u64,
    /// What does not hold.
    pub what: String,
    /// What happened last, oldest first.
    pub lately: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.what)?;
        self.lately.iter().try_for_each(|line| writeln!(f, "    {line}"))
    }
}

/// Runs the simulation of a seed.
pub fn simulate(seed: u64) -> Result<Outcome, Violation> {
    // One blocking thread works off what it is given in order, so that its work can be waited for.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .max_blocking_threads(1)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut sim = Sim::new(seed).await;
        let ran = sim.run().await;
        ran.map_err(|what| Violation { seed, what, lately: sim.lately.iter().cloned().collect() })?;
        Ok(sim.outcome)
    })
}

/// What a seed makes of a simulation.
struct Profile {
    azolla_type: AzollaType,
    owners: usize,
    /// Of a thousand calls, so many fail in some way.
    faults: usize,
    /// Of a thousand reads, so many are gates.
    reads_gated: usize,
    steps: u64,
    room: StreamRoom,
}

impl Profile {
    fn draw(chance: &mut Chance) -> Self {
        Self {
            azolla_type: *chance.pick(&[AzollaType::CodePatch, AzollaType::CodePatch, AzollaType::TaskMgmt]),
            owners: 1 + chance.below(4),
            faults: *chance.pick(&[0, 10, 50, 200]),
            reads_gated: *chance.pick(&[0, 30, 200]),
            steps: 100 + chance.below(300) as u64,
            room: StreamRoom {
                max_concurrent: 1 + chance.below(3) as u64,
                review_limit: *chance.pick(&[0, 1, 3]),
            },
        }
    }
}

/// A worker of an owner, somewhere in its look.
struct Actor {
    owner: usize,
    future: Pin<Box<dyn Future<Output = ()>>>,
}

struct Sim {
    profile: Profile,
    board: Arc<Board>,
    store: TestStore,
    late: Arc<Mutex<Vec<azolla_substrate::Commit>>>,
    rare: Arc<Mutex<Rare>>,
    repository: Arc<MemoryRepository>,
    ids: Arc<SequentialIds>,
    operator: SimOperator,
    actors: Vec<Actor>,
    /// Until when an owner stands still.
    still: Vec<Option<time::Instant>>,
    /// What a worker returned that no fault explains.
    broken: Arc<Mutex<Option<String>>>,
    /// How often a worker moved something.
    moved: Arc<Mutex<u64>>,
    changes: watch::Receiver<u64>,
    // Kept so that nobody is asked to stop.
    _stop: watch::Sender<bool>,
    outcome: Outcome,
    lately: VecDeque<String>,
}

const LEASE: Duration = Duration::from_secs(60);

impl Sim {
    async fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let profile = Profile::draw(&mut chance);
        let board = Board::new(chance, profile.reads_gated);
        let store = TestStore::without_disk_of(profile.azolla_type).await;
        let store = match profile.azolla_type {
            AzollaType::CodePatch => store,
            // Its standing objective has to be there.
            AzollaType::TaskMgmt => TaskWorld::on(store, []).await.store,
        };
        let ids = Arc::new(SequentialIds::starting_at(500_000));
        let operator = SimOperator {
            substrate: store.store.clone(),
            identity: crate::store::identity(profile.azolla_type),
            ids: ids.clone(),
            objectives: Default::default(),
            captures: Default::default(),
            events: Default::default(),
        };
        let mut sim = Self {
            changes: store.store.changes(),
            still: vec![None; profile.owners],
            profile,
            board,
            store,
            late: Arc::default(),
            rare: Arc::default(),
            repository: Arc::default(),
            ids,
            operator,
            actors: Vec::new(),
            broken: Arc::default(),
            moved: Arc::default(),
            _stop: watch::channel(false).0,
            outcome: Outcome::default(),
            lately: VecDeque::new(),
        };
        for owner in 0..sim.profile.owners {
            sim.start(owner);
        }
        for actor in 0..sim.actors.len() {
            sim.poll(actor).await;
        }
        sim
    }

    /// Starts the workers of an owner: a new process.
    fn start(&mut self, owner: usize) {
        let ctx = Arc::new(self.context());
        for role in self.profile.azolla_type.blueprint().workers {
            let (ctx, board) = (ctx.clone(), self.board.clone());
            let (broken, moved) = (self.broken.clone(), self.moved.clone());
            let future = Box::pin(unconstrained(async move {
                loop {
                    board.gate(Point::Tick).await;
                    match tick(*role, &ctx).await {
                        Ok(Tick::Advanced) => *lock(&moved) += 1,
                        Ok(Tick::Idle | Tick::Waiting(_)) => {}
                        Err(error) if may_be(&error) => {}
                        Err(error) => *lock(&broken) = Some(format!("{role}: {error:?}")),
                    }
                }
            }));
            self.actors.push(Actor { owner, future });
        }
    }

    fn context(&self) -> WorkerContext {
        let azolla_type = self.profile.azolla_type;
        let worker = |good| Arc::new(SimDiazotroph { board: self.board.clone(), good });
        let peers = Arc::<ScriptedPeers>::default();
        peers.register("az-other", PeerAnswer::empty());
        let flow = match azolla_type {
            AzollaType::CodePatch => Flow::Patch(PatchFlow {
                repository: Arc::new(SimRepository {
                    inner: self.repository.clone(),
                    board: self.board.clone(),
                }),
                repo_ref: REPO.to_owned(),
                diazotroph: worker(patch),
                repository_file: Arc::new(TrustEverything),
            }),
            AzollaType::TaskMgmt => Flow::TaskMgmt(TaskMgmtFlow {
                standing: ObjectiveId::new(STANDING).expect("an id"),
                triage: worker(one_candidate_each),
                manifest: worker(one_action),
                peers,
                targets: Arc::<ScriptedTargets>::default(),
            }),
        };
        WorkerContext {
            substrate: Arc::new(SimStore {
                inner: self.store.store.clone(),
                board: self.board.clone(),
                late: self.late.clone(),
                rare: self.rare.clone(),
            }),
            identity: crate::store::identity(azolla_type),
            owner_id: OwnerId::from_body(&self.ids.body()),
            ids: self.ids.clone(),
            flow,
            ledger: Arc::new(NoCaps),
            settings: Settings { room: self.profile.room, ..Settings::of(azolla_type) },
            watcher: Arc::new(|_| {}),
            stopping: self._stop.subscribe(),
            backoff: Default::default(),
            overheard: Default::default(),
        }
    }

    async fn run(&mut self) -> Result<(), String> {
        while self.outcome.steps < self.profile.steps {
            let what = self.step().await?;
            self.note(what);
            self.check().await?;
        }
        self.come_to_rest().await?;
        self.note("at rest".to_owned());
        self.check_rest()?;
        self.outcome.rare = *lock(&self.rare);
        rare::from_store(self.store.read(), &mut self.outcome.rare).map_err(|error| error.to_string())
    }

    /// Takes one step of chance and returns what it was.
    async fn step(&mut self) -> Result<String, String> {
        self.outcome.steps += 1;
        let which = self.board.draw(|chance| chance.below(1_000));
        Ok(match which {
            0..720 => self.open_some_gate().await,
            720..840 => self.pass_time().await,
            840..930 => self.operate().map_err(|error| format!("the operator met {error:?}"))?,
            930..955 => self.crash().await,
            955..975 => self.stand_still(),
            975..990 => self.land_late(),
            _ => self.jump(),
        })
    }

    async fn open_some_gate(&mut self) -> String {
        let now = time::Instant::now();
        let mut shut = self.board.shut();
        shut.retain(|shut| self.still[self.actors[shut.actor].owner].is_none_or(|until| until <= now));
        if shut.is_empty() {
            return self.pass_time().await;
        }
        let faults = self.profile.faults;
        let (shut, verdict) = self.board.draw(|chance| (*chance.pick(&shut), verdict(chance, faults)));
        if verdict != Verdict::Go && shut.point != Point::Tick {
            self.outcome.faults += 1;
        }
        self.go_on(shut, verdict).await;
        let owner = self.actors[shut.actor].owner;
        format!("owner {owner}, worker {}: {:?} {verdict:?}", shut.actor, shut.point)
    }

    async fn go_on(&mut self, shut: Shut, verdict: Verdict) {
        self.board.open(shut.gate, verdict);
        self.poll(shut.actor).await;
    }

    /// Moves one worker to its next gate, or to a wait for time.
    async fn poll(&mut self, actor: usize) {
        const HOPS_MAX: usize = 6;
        for _ in 0..HOPS_MAX {
            self.board.moves(actor);
            let mut context = Context::from_waker(Waker::noop());
            // A worker's loop has no end.
            let _ = self.actors[actor].future.as_mut().poll(&mut context);
            if self.board.shut().iter().any(|shut| shut.actor == actor) {
                return;
            }
            // What it gave to the blocking thread is done when this is.
            let _ = spawn_blocking(|| ()).await;
        }
    }

    async fn pass_time(&mut self) -> String {
        let ms = self.board.draw(|chance| *chance.pick(&[10, 1_000, 10_000, 21_000, 61_000, 300_000]));
        // The store's clock and that of an owner do not run alike.
        let drift = self.board.draw(|chance| *chance.pick(&[0, 0, 0, 5, -5]));
        self.advance(ms, ms + ms * drift / 100).await;
        format!("{ms} ms pass")
    }

    async fn advance(&mut self, ms: i64, store_ms: i64) {
        self.store.advance(store_ms).await;
        time::advance(Duration::from_millis(ms.unsigned_abs())).await;
        tokio::task::yield_now().await;
        for actor in 0..self.actors.len() {
            self.poll(actor).await;
        }
    }

    fn operate(&mut self) -> Result<String, SubstrateError> {
        let mut chance = self.board.draw(|chance| Chance::new(chance.below(usize::MAX) as u64));
        let fresh = chance.per_mille(400);
        let done = match (self.profile.azolla_type, fresh) {
            (AzollaType::CodePatch, true) => self.operator.ask_for_work().map(|()| "new"),
            (AzollaType::TaskMgmt, true) => self.operator.note(&mut chance).map(|()| "note"),
            (AzollaType::CodePatch, false) => return self.operator.step_on_work(&mut chance).map(said),
            (AzollaType::TaskMgmt, false) => return self.operator.step_on_notes(&mut chance).map(said),
        };
        Ok(done.map_or_else(|error| format!("operator: {error}"), said))
    }

    async fn crash(&mut self) -> String {
        let owner = self.board.draw(|chance| chance.below(self.profile.owners));
        self.outcome.crashes += 1;
        self.restart(owner).await;
        format!("owner {owner} crashes")
    }

    /// Drops all of an owner's workers where they are, and starts new ones in their places.
    async fn restart(&mut self, owner: usize) {
        let places: Vec<_> = (0..self.actors.len()).filter(|n| self.actors[*n].owner == owner).collect();
        let first = self.actors.len();
        self.start(owner);
        for place in places.iter().rev() {
            // The new worker moves into the place of the old one, whose gates go with it.
            let new = self.actors.pop().expect("as many were started");
            self.actors[*place] = new;
        }
        debug_assert_eq!(self.actors.len(), first);
        self.still[owner] = None;
        for place in places {
            self.poll(place).await;
        }
    }

    fn stand_still(&mut self) -> String {
        let owner = self.board.draw(|chance| chance.below(self.profile.owners));
        self.still[owner] = Some(time::Instant::now() + 2 * LEASE);
        self.outcome.pauses += 1;
        format!("owner {owner} stands still")
    }

    fn land_late(&mut self) -> String {
        let mut late = lock(&self.late);
        if late.is_empty() {
            return "nothing lands late".to_owned();
        }
        let which = self.board.draw(|chance| chance.below(late.len()));
        let commit = late.remove(which);
        // Its claim may be gone by now: then it is refused, and nobody hears of it.
        let is_done =
            block_on(self.store.store.commit(commit)).is_ok_and(|landed| landed == CommitOutcome::Done);
        let mut rare = lock(&self.rare);
        let count = if is_done { &mut rare.late_done } else { &mut rare.late_refused };
        *count += 1;
        format!("a commit lands late: {}", if is_done { "done" } else { "refused" })
    }

    fn jump(&mut self) -> String {
        const DAY: i64 = 86_400_000;
        let ms = self.board.draw(|chance| *chance.pick(&[-DAY, -120_000, -1_000, 1_000, 120_000, DAY]));
        self.store.clock().advance(ms);
        format!("the store's clock jumps by {ms} ms")
    }

    fn note(&mut self, what: String) {
        const KEPT: usize = 60;
        for byte in what.bytes() {
            self.outcome.trace = (self.outcome.trace ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        if self.lately.len() == KEPT {
            self.lately.pop_front();
        }
        self.lately.push_back(format!("{:>4} {what}", self.outcome.steps));
    }

    /// Checks what has to hold at every instant, if anything changed since the last look.
    async fn check(&mut self) -> Result<(), String> {
        if let Some(broken) = lock(&self.broken).take() {
            return Err(format!("a worker returned what no fault explains: {broken}"));
        }
        if !self.changes.has_changed().unwrap_or(true) {
            return Ok(());
        }
        self.changes.mark_unchanged();
        let findings = verify_rows(self.store.read()).await.map_err(|error| format!("verify: {error}"))?;
        match findings.is_empty() {
            true => Ok(()),
            false => Err(format!("{findings:?}")),
        }
    }

    /// Lets everything go as it should until nothing moves any more.
    async fn come_to_rest(&mut self) -> Result<(), String> {
        const ROUNDS_MAX: usize = 400;
        // A lease of a clock that was ahead is watched in one round, ended in the next, and its work is taken up in a third.
        const QUIET_ROUNDS: usize = 4;
        while !lock(&self.late).is_empty() {
            self.land_late();
        }
        self.still.fill(None);
        let mut quiet = 0;
        for _ in 0..ROUNDS_MAX {
            let before = *lock(&self.moved);
            for actor in 0..self.actors.len() {
                self.one_look(actor).await;
                self.check().await?;
            }
            // Longer than any lease, backoff and wait.
            self.advance(310_000, 310_000).await;
            quiet = if *lock(&self.moved) == before { quiet + 1 } else { 0 };
            if quiet == QUIET_ROUNDS {
                return Ok(());
            }
        }
        Err("it does not come to rest".to_owned())
    }

    /// Lets a worker go on without faults until it has looked once.
    async fn one_look(&mut self, actor: usize) {
        const GATES_MAX: usize = 500;
        for look in 0..GATES_MAX {
            let shut = self.board.shut().into_iter().find(|shut| shut.actor == actor);
            match shut {
                Some(shut) if shut.point == Point::Tick && look > 0 => return,
                Some(shut) => self.go_on(shut, Verdict::Go).await,
                // It waits for time.
                None if look == 0 => self.poll(actor).await,
                None => return,
            }
        }
    }

    /// Checks what has to hold once everything is at rest (invariants 12 and 13, P18).
    fn check_rest(&self) -> Result<(), String> {
        let read = self.store.read();
        let failed = |error: SubstrateError| format!("{error}");
        // Once, and not after every change: no fault here reaches a page of the file.
        let broken = block_on(read.integrity()).map_err(failed)?;
        if !broken.is_empty() {
            return Err(format!("the database says {broken:?}"));
        }
        for id in &self.operator.objectives {
            block_on(read.objective(id)).map_err(failed)?.ok_or_else(|| format!("{id} was lost"))?;
        }
        for id in &self.operator.captures {
            block_on(read.capture(id)).map_err(failed)?.ok_or_else(|| format!("{id} was lost"))?;
        }
        for id in &self.operator.events {
            block_on(read.event(id)).map_err(failed)?.ok_or_else(|| format!("{id} was lost"))?;
        }
        let limits = Limits {
            room: scheduling_room(&self.profile),
            attempts_max: Settings::of(self.profile.azolla_type).attempts_max,
            is_held_back: &|_| false,
        };
        for left in block_on(left_to_do(read, &limits)).map_err(failed)? {
            if !self.is_moot(&left).map_err(failed)? {
                return Err(format!("{} {}", left.resource, left.what));
            }
        }
        self.check_branches()
    }

    /// Tells whether what is left is a claim that a clock ahead wrote, on an event that is processed, put away, or held back by
    /// the results that wait: nobody needs it now, so nobody ends it.
    fn is_moot(&self, left: &Finding) -> Result<bool, SubstrateError> {
        let read = self.store.read();
        let Ok(id) = EventId::new(left.resource.as_str()) else { return Ok(false) };
        let (claim, event) =
            (block_on(read.unreleased_claim(&ResourceRef::from(&id)))?, block_on(read.event(&id))?);
        let (Some(claim), Some(event), true) = (claim, event, left.what.starts_with("is claimed until"))
        else {
            return Ok(false);
        };
        let is_put_away = match ObjectiveId::new(event.event.resource_id.as_str()) {
            Ok(id) => {
                block_on(read.objective(&id))?.is_some_and(|stored| lifecycle::is_archived(&stored.objective))
            }
            // A note's, or that of an orientation.
            Err(_) => false,
        };
        let (stream, limit) = (block_on(read.stream())?, self.profile.room.review_limit);
        let is_held_back = limit > 0 && stream.open + stream.waiting >= limit;
        Ok(claim.heartbeat_at > block_on(read.now())?
            && (event.event.processed || is_put_away || is_held_back))
    }

    /// What passed and waits for the operator, or was confirmed, has its branch (G-1), unless the operator was told to fetch
    /// it by hand; and what failed has none.
    fn check_branches(&self) -> Result<(), String> {
        let read = self.store.read();
        let left = block_on(verify::branches(read, &*self.repository)).map_err(|error| error.to_string())?;
        if let Some(left) = left.first() {
            return Err(format!("{:?}", left.finding()));
        }
        for id in &self.operator.objectives {
            let stored = block_on(read.objective(id)).map_err(|error| error.to_string())?;
            let Some(stored) = stored.filter(|stored| stored.objective.status == ObjectiveStatus::Done)
            else {
                continue;
            };
            let runs = block_on(read.runs_of(id)).map_err(|error| error.to_string())?;
            let entry = format!("wo-{}-{}", id.body(), stored.todo_entry);
            let passed = runs.into_iter().find(|run| run.work_order_id.as_str() == entry);
            let (commit, branch) = (passed.and_then(|run| run.commit_sha), format!("azolla/{id}"));
            let published = self.repository.published(&branch);
            let key = format!("workorder:{entry}");
            let pause = block_on(read.pause_state(&key)).map_err(|error| error.to_string())?;
            let by_hand = |action: &String| action.starts_with("Fetch the branch by hand");
            let is_told = pause.is_some_and(|pause| pause.prioritized_actions.iter().any(by_hand));
            if commit != published && !is_told {
                return Err(format!("{branch} is at {published:?}, and {commit:?} passed"));
            }
        }
        Ok(())
    }
}

/// The work stream of a TASK_MGMT azolla is one wide (W-4).
fn scheduling_room(profile: &Profile) -> StreamRoom {
    match profile.azolla_type {
        AzollaType::CodePatch => profile.room,
        AzollaType::TaskMgmt => StreamRoom { max_concurrent: 1, ..profile.room },
    }
}

fn said(name: &'static str) -> String {
    format!("operator: {name}")
}

fn verdict(chance: &mut Chance, faults: usize) -> Verdict {
    if !chance.per_mille(faults) {
        return if chance.per_mille(150) { Verdict::GoSlowly } else { Verdict::Go };
    }
    *chance.pick(&[Verdict::Refuse, Verdict::LoseAnswer, Verdict::LandLater])
}

async fn tick(role: WorkerRole, ctx: &WorkerContext) -> Result<Tick, WorkerError> {
    match role {
        WorkerRole::Readiness => readiness::tick(ctx).await,
        WorkerRole::CaptureReadiness => capture_readiness::tick(ctx).await,
        WorkerRole::Scheduler => scheduler::tick(ctx).await,
        WorkerRole::ManifestScheduler => manifest_scheduler::tick(ctx).await,
        WorkerRole::Runner => runner::tick(ctx).await,
        WorkerRole::Gate => gate::tick(ctx).await,
        WorkerRole::DeadlineMonitor => deadline_monitor::tick(ctx).await,
    }
}

/// Tells whether a worker may return this among others and faults.
fn may_be(error: &WorkerError) -> bool {
    match error {
        WorkerError::Repository(_) => true,
        WorkerError::Store(error) => matches!(
            error,
            SubstrateError::Unavailable(_)
                | SubstrateError::OutcomeUnknown { .. }
                | SubstrateError::FenceLost { .. }
                | SubstrateError::Changed { .. }
        ),
        WorkerError::Broken(_) => false,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
