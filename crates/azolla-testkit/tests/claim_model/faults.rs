//! What goes wrong: each fault takes one from the budget of the model.

use crate::variants::Rules;
use crate::worker::may_renew;
use crate::world::{Entry, Held, Process, Release, Task, WorkerClock, World};

/// One fault of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The process ends; what it sent may still reach the store.
    Crash,
    /// The process stops, for as long as it takes, and resumes with the claim it had.
    Pause,
    SkewClock(WorkerClock),
    /// The reply to a commit is lost, whatever becomes of the commit.
    CutConnection(Held),
    /// The reply to a renewal is lost.
    LoseRenewalReply(Held, Applied),
    /// The work is given up without an outcome and its claim released.
    ReleaseEarly(Held),
}

/// Whether the store applied a renewal whose reply was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Applied {
    Yes,
    No,
}

/// Lists the faults that can strike worker `at`.
pub(crate) fn possible(world: &World, at: usize, rules: &Rules) -> impl Iterator<Item = Fault> {
    let worker = &world.workers[at];
    let mut faults = Vec::new();
    if worker.process != Process::Down {
        faults.push(Fault::Crash);
    }
    if worker.process == Process::Up {
        faults.push(Fault::Pause);
        if worker.clock == WorkerClock::Exact {
            faults.extend([Fault::SkewClock(WorkerClock::Ahead), Fault::SkewClock(WorkerClock::Behind)]);
        }
        match worker.task {
            Task::Committing(held) => faults.push(Fault::CutConnection(held)),
            Task::Working(held) => {
                if may_renew(world, held, rules) {
                    faults.extend([Applied::Yes, Applied::No].map(|a| Fault::LoseRenewalReply(held, a)));
                }
                if !world.is_locked(held.resource, rules) {
                    faults.push(Fault::ReleaseEarly(held));
                }
            }
            Task::Idle | Task::Candidate(_) | Task::Claimed(_) | Task::Unknown(_) => {}
        }
    }
    faults.into_iter()
}

/// Strikes worker `at` with `fault`.
pub(crate) fn apply(world: &mut World, at: usize, fault: Fault, rules: &Rules) {
    world.faults_left -= 1;
    let owner = world.workers[at].owner;
    match fault {
        Fault::Crash => {
            world.disconnect(owner);
            world.workers[at].process = Process::Down;
            world.workers[at].task = Task::Idle;
        }
        Fault::Pause => world.workers[at].process = Process::Paused,
        Fault::SkewClock(clock) => world.workers[at].clock = clock,
        Fault::CutConnection(held) => {
            world.disconnect(owner);
            world.workers[at].task = Task::Unknown(held);
        }
        Fault::LoseRenewalReply(held, applied) => {
            world.renewals_left -= 1;
            let resource = &mut world.resources[held.resource];
            if applied == Applied::Yes {
                resource.renew(held.claim, rules);
            }
            // Recorded in every variant: by C-3 the claim is lost.
            resource.history.push(Entry::Lost(held.claim));
            if rules.unknown_renewal_is_lost {
                world.workers[at].task = Task::Idle;
            }
        }
        Fault::ReleaseEarly(held) => {
            world.resources[held.resource].release(held.claim, Release::WithoutOutcome, rules);
            world.workers[at].task = Task::Idle;
        }
    }
}
