//! One state of the model: three owners, the store they share, and the commits on the way between them.
//! The history of a resource is a ghost: the properties read it, no step does.

use crate::variants::{CommitShape, Fence, Rules};

/// One process start of one worker; `owner_id` in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Owner {
    pub(crate) worker: u8,
    pub(crate) start: u8,
}

/// A granted claim, as acquire returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Claim {
    pub(crate) owner: Owner,
    pub(crate) version: u8,
    /// Ghost: the ordinal of the grant, which tells apart two grants that carry the same version.
    pub(crate) grant: u8,
}

impl Claim {
    /// Compares what a statement can compare: owner and version, not the ghost.
    pub(crate) fn names_same(self, other: Self) -> bool {
        self.owner == other.owner && self.version == other.version
    }
}

/// The claim record of a resource. The lease is live while `ticks_left` is above zero, by the store's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Row {
    pub(crate) claim: Claim,
    pub(crate) ticks_left: u8,
}

/// How the outcome of a commit reached its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Via {
    Reply,
    Reading,
}

/// Whether a release says that the resource has its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Release {
    WithOutcome,
    WithoutOutcome,
}

/// One line in the history of a resource, in the order of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Entry {
    Granted(Claim),
    /// A claim became the live one while another was live.
    Overlapped(Claim),
    /// An expired lease became live again other than by a grant.
    Revived(Claim),
    /// The owner had to count its claim as lost: a renewal failed or is unknown, or its own clock ended it.
    Lost(Claim),
    Written(Claim),
    Released(Claim, Release),
    /// The client reported the commit of this claim as done.
    Done(Claim, Via),
    /// The client reported that the commit of this claim did not happen.
    NotDone(Claim, Via),
}

/// A workorder: its claim record, its terminal bundle and the ghost history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Resource {
    pub(crate) row: Option<Row>,
    /// The claim that wrote the bundle, if there is one.
    pub(crate) bundle: Option<Claim>,
    pub(crate) history: Vec<Entry>,
}

/// Whether the process of a worker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Process {
    Up,
    /// Stopped without a trace in the process: a signal, a laptop lid, a partition.
    Paused,
    Down,
}

/// The own clock of a worker, against the store's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum WorkerClock {
    Exact,
    Ahead,
    Behind,
}

/// A claim and the resource it is on, as a worker last saw them; in the store they may be over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Held {
    pub(crate) resource: usize,
    pub(crate) claim: Claim,
}

/// Where a worker is with its one resource (W-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Task {
    Idle,
    /// Read as eligible and unclaimed, not yet acquired.
    Candidate(usize),
    /// Acquired; eligibility not yet read again.
    Claimed(Held),
    /// The work runs or is finished; no transaction is open.
    Working(Held),
    /// The commit is sent, the reply awaited.
    Committing(Held),
    /// The connection was cut before the reply.
    Unknown(Held),
}

/// One worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Worker {
    pub(crate) owner: Owner,
    pub(crate) process: Process,
    pub(crate) clock: WorkerClock,
    pub(crate) task: Task,
}

impl Worker {
    /// Returns whether this worker goes on as the holder of `held`.
    pub(crate) fn holds(&self, held: Held) -> bool {
        match self.task {
            Task::Claimed(mine) | Task::Working(mine) | Task::Committing(mine) => mine == held,
            Task::Idle | Task::Candidate(_) | Task::Unknown(_) => false,
        }
    }

    /// Returns whether this worker keeps the lease of `held` from running out: it holds it, it runs, and its
    /// clock is not behind. Being late takes a fault, so the faults bound the grants.
    pub(crate) fn keeps_up(&self, held: Held) -> bool {
        self.holds(held) && self.process == Process::Up && self.clock != WorkerClock::Behind
    }
}

/// How far the store is with a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Stage {
    Sent,
    /// The fence statement passed; what follows is the write and COMMIT.
    Fenced,
}

/// A commit between its client and its end. It outlives the client: one that is sent may land late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Commit {
    pub(crate) held: Held,
    pub(crate) stage: Stage,
    /// Whether the client still waits on this connection.
    pub(crate) connected: bool,
}

/// One state of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) workers: Vec<Worker>,
    pub(crate) resources: Vec<Resource>,
    /// Sorted, so that the order of sending makes no second state.
    pub(crate) commits: Vec<Commit>,
    pub(crate) faults_left: u8,
    pub(crate) renewals_left: u8,
}

impl World {
    /// Returns the state before the first step: every worker idle, every resource unclaimed.
    pub(crate) fn new(workers: u8, resources: usize, faults: u8, renewals: u8) -> Self {
        let idle = |worker| Worker {
            owner: Owner { worker, start: 0 },
            process: Process::Up,
            clock: WorkerClock::Exact,
            task: Task::Idle,
        };
        Self {
            workers: (0..workers).map(idle).collect(),
            resources: vec![Resource::default(); resources],
            commits: Vec::new(),
            faults_left: faults,
            renewals_left: renewals,
        }
    }

    /// Adds a commit on the way to the store.
    pub(crate) fn send(&mut self, held: Held) {
        self.commits.push(Commit { held, stage: Stage::Sent, connected: true });
        self.commits.sort_unstable();
    }

    /// Takes one commit off the way.
    pub(crate) fn take(&mut self, commit: Commit) {
        if let Some(at) = self.commits.iter().position(|c| *c == commit) {
            self.commits.remove(at);
        }
    }

    /// Breaks the connections of `owner`; what was sent on them may still reach the store.
    pub(crate) fn disconnect(&mut self, owner: Owner) {
        for commit in self.commits.iter_mut().filter(|c| c.held.claim.owner == owner) {
            commit.connected = false;
        }
        self.commits.sort_unstable();
    }

    /// Returns whether a transaction holds the row of `resource`. The fence is an UPDATE, so the row is
    /// locked from there until COMMIT: acquire, renewal and release wait, reads do not.
    pub(crate) fn is_locked(&self, resource: usize, rules: &Rules) -> bool {
        let locks = rules.commit == CommitShape::OneTransaction && rules.fence != Fence::Nothing;
        let open = |commit: &Commit| commit.held.resource == resource && commit.stage == Stage::Fenced;
        locks && self.commits.iter().any(open)
    }
}
