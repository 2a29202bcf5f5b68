//! A worker: what it may do next, and what each step does to it and to the store.

use crate::store::LEASE_TICKS;
use crate::variants::{Rules, UnknownCommit};
use crate::world::{Entry, Held, Release, Task, Via, WorkerClock, World};

/// One step of a running worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Reads a resource as a candidate: no bundle, no live claim.
    Select(usize),
    Acquire(usize),
    /// Finds the candidate held by another owner and goes on (C-8).
    SkipHeld,
    /// Reads eligibility again; what is no longer eligible is released (C-1).
    ReadEligibility(Held),
    Renew(Held),
    /// Ends the work because the own clock says that the lease is over (R4).
    StopByOwnClock(Held),
    SendCommit(Held),
    ResolveByReading(Held),
    /// Drops an unknown commit without a report; the next owner finds out.
    LeaveUnresolved,
    /// Broken variants only: acquires and goes on to write, without reading.
    AcquireAndWriteAgain(usize),
    /// Broken variants only.
    ReportDone(Held),
}

/// Lists the steps of the running worker `at`.
pub(crate) fn steps(world: &World, at: usize, rules: &Rules) -> impl Iterator<Item = Step> {
    let worker = &world.workers[at];
    let mut steps = Vec::new();
    match worker.task {
        Task::Idle => {
            let eligible = world
                .resources
                .iter()
                .enumerate()
                .filter(|(_, resource)| resource.bundle.is_none() && resource.is_free(worker, rules));
            steps.extend(eligible.map(|(resource, _)| Step::Select(resource)));
        }
        Task::Candidate(resource) if world.is_locked(resource, rules) => {}
        Task::Candidate(resource) if world.resources[resource].is_free(worker, rules) => {
            steps.push(Step::Acquire(resource));
        }
        Task::Candidate(_) => steps.push(Step::SkipHeld),
        // The release of an ineligible resource waits like any other write.
        Task::Claimed(held) if world.is_locked(held.resource, rules) => {}
        Task::Claimed(held) => steps.push(Step::ReadEligibility(held)),
        Task::Working(held) => {
            steps.push(Step::SendCommit(held));
            if may_renew(world, held, rules) {
                steps.push(Step::Renew(held));
            }
            if worker.clock == WorkerClock::Ahead && ticks_left(world, held) <= 1 {
                steps.push(Step::StopByOwnClock(held));
            }
        }
        // R14: nothing but the reply ends a commit, so a renewal never races it.
        Task::Committing(_) => {}
        Task::Unknown(held) => {
            steps.push(Step::LeaveUnresolved);
            steps.extend(unknown_step(world, at, held, rules));
        }
    }
    steps.into_iter()
}

/// Returns whether a renewal is due and can reach the row.
pub(crate) fn may_renew(world: &World, held: Held, rules: &Rules) -> bool {
    let due = world.renewals_left > 0 && ticks_left(world, held) < LEASE_TICKS;
    due && !world.is_locked(held.resource, rules)
}

/// Returns what is left of the lease of `held`, nothing if the row names another claim.
fn ticks_left(world: &World, held: Held) -> u8 {
    let row = world.resources[held.resource].row.filter(|row| row.claim.names_same(held.claim));
    row.map_or(0, |row| row.ticks_left)
}

/// Returns what the client of a cut commit may do beyond dropping it (C-9).
fn unknown_step(world: &World, at: usize, held: Held, rules: &Rules) -> Option<Step> {
    let resource = &world.resources[held.resource];
    match rules.unknown_commit {
        // Absence alone proves nothing: the commit may still land. A bundle does, and so does a newer claim,
        // which was granted after every transaction on the row had ended.
        UnknownCommit::Read => {
            let settled = resource.bundle.is_some() || !resource.is_held(held.claim);
            settled.then_some(Step::ResolveByReading(held))
        }
        UnknownCommit::ReadAndTrustAbsence => Some(Step::ResolveByReading(held)),
        UnknownCommit::AcquireAndWriteAgain => {
            let free = resource.is_free(&world.workers[at], rules) && !world.is_locked(held.resource, rules);
            free.then_some(Step::AcquireAndWriteAgain(held.resource))
        }
        UnknownCommit::SendAgain => Some(Step::SendCommit(held)),
        UnknownCommit::ReportDone => Some(Step::ReportDone(held)),
    }
}

/// Takes one step of worker `at`.
pub(crate) fn apply(world: &mut World, at: usize, step: Step, rules: &Rules) {
    let owner = world.workers[at].owner;
    let task = match step {
        Step::Select(resource) => Task::Candidate(resource),
        Step::Acquire(resource) => {
            Task::Claimed(Held { resource, claim: world.resources[resource].grant(owner, rules) })
        }
        Step::AcquireAndWriteAgain(resource) => {
            Task::Working(Held { resource, claim: world.resources[resource].grant(owner, rules) })
        }
        Step::ReadEligibility(held) => {
            let resource = &mut world.resources[held.resource];
            if resource.bundle.is_none() {
                Task::Working(held)
            } else {
                resource.release(held.claim, Release::WithoutOutcome, rules);
                Task::Idle
            }
        }
        Step::Renew(held) => {
            world.renewals_left -= 1;
            let resource = &mut world.resources[held.resource];
            if resource.renew(held.claim, rules) {
                Task::Working(held)
            } else {
                resource.history.push(Entry::Lost(held.claim));
                Task::Idle
            }
        }
        Step::StopByOwnClock(held) => {
            // One fault affects one claim: the clock is set right, so that the faults bound the grants.
            world.workers[at].clock = WorkerClock::Exact;
            world.resources[held.resource].history.push(Entry::Lost(held.claim));
            Task::Idle
        }
        Step::SendCommit(held) => {
            world.send(held);
            Task::Committing(held)
        }
        Step::ResolveByReading(held) => {
            let resource = &mut world.resources[held.resource];
            // By id: the bundle under this very claim, not any bundle (R6).
            let mine = resource.bundle.is_some_and(|bundle| bundle.names_same(held.claim));
            let report = if mine { Entry::Done } else { Entry::NotDone };
            resource.history.push(report(held.claim, Via::Reading));
            Task::Idle
        }
        Step::ReportDone(held) => {
            world.resources[held.resource].history.push(Entry::Done(held.claim, Via::Reading));
            Task::Idle
        }
        Step::SkipHeld | Step::LeaveUnresolved => Task::Idle,
    };
    world.workers[at].task = task;
}
