//! The store: what one statement does to a claim record. Each function is one atomic step.

use crate::variants::{CommitShape, ExpiryClock, Fence, Renewal, Rules};
use crate::world::{
    Claim, Commit, Entry, Held, Owner, Process, Release, Resource, Row, Stage, Task, Via, Worker,
    WorkerClock, World,
};

/// The length of a lease in ticks. Two, so that a lease that is live by the store's clock can be expired by
/// a clock that is one tick ahead.
pub(crate) const LEASE_TICKS: u8 = 2;

impl Resource {
    /// Returns whether acquire would succeed for `worker`: no claim, or an expired one (C-1, C-7).
    pub(crate) fn is_free(&self, worker: &Worker, rules: &Rules) -> bool {
        let early = match rules.expiry_clock {
            ExpiryClock::Worker if worker.clock == WorkerClock::Ahead => 1,
            ExpiryClock::Worker | ExpiryClock::Store => 0,
        };
        self.row.is_none_or(|row| row.ticks_left <= early)
    }

    /// Grants the claim to `owner`, who found it free (C-1), and returns it.
    pub(crate) fn grant(&mut self, owner: Owner, rules: &Rules) -> Claim {
        let bump = u8::from(rules.takeover_bumps_version);
        let version = self.row.map_or(1, |row| row.claim.version + bump);
        let grants = self.history.iter().filter(|entry| matches!(entry, Entry::Granted(_))).count();
        let grant = u8::try_from(grants + 1).expect("the fault budget bounds the grants");
        let claim = Claim { owner, version, grant };
        if self.row.is_some_and(|row| row.ticks_left > 0) {
            self.history.push(Entry::Overlapped(claim));
        }
        self.row = Some(Row { claim, ticks_left: LEASE_TICKS });
        self.history.push(Entry::Granted(claim));
        claim
    }

    /// Renews the lease of `claim` and returns whether the store accepted it (C-3).
    pub(crate) fn renew(&mut self, claim: Claim, rules: &Rules) -> bool {
        let live = self.row.is_some_and(|row| row.ticks_left > 0);
        let accepted = match rules.renewal {
            Renewal::OwnerVersionAndExpiry => self.is_held(claim) && live,
            Renewal::OwnerAndVersion => self.is_held(claim),
            Renewal::Nothing => true,
        };
        if !accepted {
            return false;
        }
        if !live {
            self.history.push(Entry::Revived(claim));
        } else if !self.is_held(claim) {
            self.history.push(Entry::Overlapped(claim));
        }
        self.row = Some(Row { claim, ticks_left: LEASE_TICKS });
        true
    }

    /// Returns whether a commit under `claim` passes the fence now (C-4).
    pub(crate) fn passes_fence(&self, claim: Claim, rules: &Rules) -> bool {
        let live = self.row.is_some_and(|row| row.ticks_left > 0);
        match rules.fence {
            Fence::OwnerVersionAndExpiry => self.is_held(claim) && live,
            Fence::OwnerOnly => self.row.is_some_and(|row| row.claim.owner == claim.owner) && live,
            Fence::Nothing => true,
        }
    }

    /// Releases `claim` if the row still names it: the record stays, expired (C-2).
    pub(crate) fn release(&mut self, claim: Claim, release: Release, rules: &Rules) {
        if !self.is_held(claim) {
            return;
        }
        self.row = rules.release_keeps_row.then_some(Row { claim, ticks_left: 0 });
        self.history.push(Entry::Released(claim, release));
    }

    /// Ends a commit that passed its fence: the bundle and the release, together (C-4, C-5). Returns whether
    /// it was written; only a unique key refuses it here.
    pub(crate) fn write(&mut self, claim: Claim, rules: &Rules) -> bool {
        if rules.unique_key && self.bundle.is_some() {
            return false;
        }
        self.bundle = Some(claim);
        self.history.push(Entry::Written(claim));
        if rules.commit != CommitShape::ReleaseThenWrite {
            self.release(claim, Release::WithOutcome, rules);
        }
        true
    }

    /// Returns whether the row names `claim`, expired or not.
    pub(crate) fn is_held(&self, claim: Claim) -> bool {
        self.row.is_some_and(|row| row.claim.names_same(claim))
    }
}

/// Runs the fence statement of a commit: it passes, or the transaction rolls back and the client is refused.
pub(crate) fn evaluate_fence(world: &mut World, commit: Commit, rules: &Rules) {
    let Held { resource, claim } = commit.held;
    world.take(commit);
    if !world.resources[resource].passes_fence(claim, rules) {
        reply(world, commit, Entry::NotDone);
        return;
    }
    if rules.commit == CommitShape::ReleaseThenWrite {
        world.resources[resource].release(claim, Release::WithOutcome, rules);
    }
    world.commits.push(Commit { stage: Stage::Fenced, ..commit });
    world.commits.sort_unstable();
}

/// Runs the rest of a commit whose fence passed, and answers the client.
pub(crate) fn land(world: &mut World, commit: Commit, rules: &Rules) {
    world.take(commit);
    let written = world.resources[commit.held.resource].write(commit.held.claim, rules);
    reply(world, commit, if written { Entry::Done } else { Entry::NotDone });
}

/// Brings the outcome of a commit to its client, if one still waits. A paused client misses it and finds its
/// connection cut when it resumes.
fn reply(world: &mut World, commit: Commit, report: fn(Claim, Via) -> Entry) {
    if !commit.connected {
        return;
    }
    let client = usize::from(commit.held.claim.owner.worker);
    if world.workers[client].process == Process::Paused {
        world.workers[client].task = Task::Unknown(commit.held);
        return;
    }
    world.workers[client].task = Task::Idle;
    world.resources[commit.held.resource].history.push(report(commit.held.claim, Via::Reply));
}

/// Moves the store's clock on by one tick.
pub(crate) fn tick(world: &mut World) {
    for (resource, row) in
        world.resources.iter_mut().enumerate().filter_map(|(at, r)| Some((at, r.row.as_mut()?)))
    {
        row.ticks_left = row.ticks_left.saturating_sub(1);
        if row.ticks_left > 0 {
            continue;
        }
        // One fault affects one claim: a clock that was behind is set right once a lease was missed by it.
        let held = Held { resource, claim: row.claim };
        for worker in world.workers.iter_mut().filter(|worker| worker.holds(held)) {
            if worker.clock == WorkerClock::Behind {
                worker.clock = WorkerClock::Exact;
            }
        }
    }
}
