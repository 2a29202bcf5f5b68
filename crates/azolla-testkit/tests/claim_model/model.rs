//! The claim protocol (PROTOCOL.md section 5) as a model: workers, faults, the store and time take turns.
//! Faults come out of one budget and a running worker is late only by a fault, so every path ends.

use stateright::{Model, Property};

use crate::faults::{self, Fault};
use crate::properties;
use crate::store;
use crate::variants::{Rules, Variant};
use crate::worker::{self, Step};
use crate::world::{Commit, Held, Process, Stage, World};

/// How much of the protocol one check covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) workers: u8,
    pub(crate) resources: usize,
    /// Crashes, pauses, cuts, skewed clocks, unknown renewals and early releases, together.
    pub(crate) faults: u8,
    pub(crate) renewals: u8,
}

/// The claim protocol in one of its variants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClaimModel {
    pub(crate) variant: Variant,
    pub(crate) bounds: Bounds,
}

/// One step of the model; the number is a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Step(usize, Step),
    Fault(usize, Fault),
    Restart(usize),
    Resume(usize),
    /// The fence statement of a commit reaches the store.
    EvaluateFence(Commit),
    /// The write and the COMMIT of a commit whose fence passed reach the store.
    Land(Commit),
    /// A commit whose connection is cut never reaches its end.
    Vanish(Commit),
    /// The store's clock moves on.
    Tick,
}

impl Model for ClaimModel {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let Bounds { workers, resources, faults, renewals } = self.bounds;
        vec![World::new(workers, resources, faults, renewals)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        let rules = self.rules();
        for (at, worker) in world.workers.iter().enumerate() {
            match worker.process {
                Process::Up => {
                    actions.extend(worker::steps(world, at, &rules).map(|step| Action::Step(at, step)))
                }
                Process::Paused => actions.push(Action::Resume(at)),
                Process::Down => actions.push(Action::Restart(at)),
            }
            if world.faults_left > 0 {
                actions.extend(faults::possible(world, at, &rules).map(|fault| Action::Fault(at, fault)));
            }
        }
        for commit in &world.commits {
            actions.push(match commit.stage {
                Stage::Sent => Action::EvaluateFence(*commit),
                Stage::Fenced => Action::Land(*commit),
            });
            if !commit.connected {
                actions.push(Action::Vanish(*commit));
            }
        }
        if rules.leases_expire && time_can_pass(world) {
            actions.push(Action::Tick);
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let rules = self.rules();
        let mut next = world.clone();
        match action {
            Action::Step(at, step) => worker::apply(&mut next, at, step, &rules),
            Action::Fault(at, fault) => faults::apply(&mut next, at, fault, &rules),
            Action::Restart(at) => {
                next.workers[at].process = Process::Up;
                next.workers[at].owner.start += u8::from(rules.owner_fresh_per_start);
            }
            Action::Resume(at) => next.workers[at].process = Process::Up,
            Action::EvaluateFence(commit) => {
                // A second transaction on the same row waits for the first.
                if world.is_locked(commit.held.resource, &rules) {
                    return None;
                }
                store::evaluate_fence(&mut next, commit, &rules);
            }
            Action::Land(commit) => store::land(&mut next, commit, &rules),
            Action::Vanish(commit) => next.take(commit),
            Action::Tick => store::tick(&mut next),
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}

impl ClaimModel {
    fn rules(&self) -> Rules {
        self.variant.rules()
    }
}

/// Returns whether a tick changes something and passes no lease that its holder keeps up.
fn time_can_pass(world: &World) -> bool {
    let live = |ticks_left: u8| ticks_left > 0;
    let rows = || world.resources.iter().enumerate().filter_map(|(at, r)| r.row.map(|row| (at, row)));
    let kept = rows().any(|(resource, row)| {
        let held = Held { resource, claim: row.claim };
        row.ticks_left == 1 && world.workers.iter().any(|worker| worker.keeps_up(held))
    });
    !kept && rows().any(|(_, row)| live(row.ticks_left))
}
