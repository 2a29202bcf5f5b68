//! Workers are alike and so are resources: states that differ only in their numbering are checked once.
//! The representative is a renumbering of the state itself, so a coarse order costs time, never a finding.

use crate::world::{Claim, Commit, Entry, Held, Owner, Resource, Row, Task, Worker, World};

/// Returns `world` with its resources and its workers in an order that does not depend on their numbers.
pub(crate) fn representative(world: &World) -> World {
    let numbers = Numbers::of(world);
    let mut commits: Vec<Commit> = world.commits.iter().map(|commit| numbers.commit(*commit)).collect();
    commits.sort_unstable();
    World {
        workers: numbers.workers.iter().map(|at| numbers.worker(&world.workers[*at])).collect(),
        resources: numbers.resources.iter().map(|at| numbers.resource(&world.resources[*at])).collect(),
        commits,
        faults_left: world.faults_left,
        renewals_left: world.renewals_left,
    }
}

/// The new order: at each place, the old number.
struct Numbers {
    workers: Vec<usize>,
    resources: Vec<usize>,
}

impl Numbers {
    fn of(world: &World) -> Self {
        let mut resources: Vec<usize> = (0..world.resources.len()).collect();
        resources.sort_by_cached_key(|at| resource_key(&world.resources[*at]));
        let mut workers: Vec<usize> = (0..world.workers.len()).collect();
        workers.sort_by_cached_key(|at| worker_key(world, &resources, *at));
        Self { workers, resources }
    }

    fn claim(&self, claim: Claim) -> Claim {
        let worker = (0..).zip(&self.workers).find(|(_, old)| **old == usize::from(claim.owner.worker));
        let worker = worker.map(|(new, _)| new).expect("every owner is one of the workers");
        Claim { owner: Owner { worker, ..claim.owner }, ..claim }
    }

    fn resource_number(&self, resource: usize) -> usize {
        self.resources.iter().position(|old| *old == resource).expect("every task is on one of the resources")
    }

    fn held(&self, held: Held) -> Held {
        Held { resource: self.resource_number(held.resource), claim: self.claim(held.claim) }
    }

    fn commit(&self, commit: Commit) -> Commit {
        Commit { held: self.held(commit.held), ..commit }
    }

    fn worker(&self, worker: &Worker) -> Worker {
        // An owner is renumbered as the owner of a claim is.
        let owner = self.claim(Claim { owner: worker.owner, version: 0, grant: 0 }).owner;
        let task = match worker.task {
            Task::Idle => Task::Idle,
            Task::Candidate(resource) => Task::Candidate(self.resource_number(resource)),
            Task::Claimed(held) => Task::Claimed(self.held(held)),
            Task::Working(held) => Task::Working(self.held(held)),
            Task::Committing(held) => Task::Committing(self.held(held)),
            Task::Unknown(held) => Task::Unknown(self.held(held)),
        };
        Worker { owner, task, ..*worker }
    }

    fn resource(&self, resource: &Resource) -> Resource {
        let entry = |entry: &Entry| match *entry {
            Entry::Granted(claim) => Entry::Granted(self.claim(claim)),
            Entry::Overlapped(claim) => Entry::Overlapped(self.claim(claim)),
            Entry::Revived(claim) => Entry::Revived(self.claim(claim)),
            Entry::Lost(claim) => Entry::Lost(self.claim(claim)),
            Entry::Written(claim) => Entry::Written(self.claim(claim)),
            Entry::Released(claim, release) => Entry::Released(self.claim(claim), release),
            Entry::Done(claim, via) => Entry::Done(self.claim(claim), via),
            Entry::NotDone(claim, via) => Entry::NotDone(self.claim(claim), via),
        };
        Resource {
            row: resource.row.map(|row| Row { claim: self.claim(row.claim), ..row }),
            bundle: resource.bundle.map(|claim| self.claim(claim)),
            history: resource.history.iter().map(entry).collect(),
        }
    }
}

/// What tells resources apart without naming a worker.
fn resource_key(resource: &Resource) -> (usize, Option<u8>, Vec<u8>) {
    let versions = resource.history.iter().map(|entry| claim_of(*entry).version).collect();
    (resource.history.len(), resource.row.map(|row| row.ticks_left), versions)
}

/// What tells workers apart without their numbers: what they do now, and their places in the histories.
fn worker_key(world: &World, resources: &[usize], at: usize) -> impl Ord + use<> {
    let worker = &world.workers[at];
    let (kind, resource) = match worker.task {
        Task::Idle => (0, None),
        Task::Candidate(resource) => (1, Some(resource)),
        Task::Claimed(held) => (2, Some(held.resource)),
        Task::Working(held) => (3, Some(held.resource)),
        Task::Committing(held) => (4, Some(held.resource)),
        Task::Unknown(held) => (5, Some(held.resource)),
    };
    let place = resource.and_then(|resource| resources.iter().position(|old| *old == resource));
    let histories = resources.iter().flat_map(|old| &world.resources[*old].history).enumerate();
    let mine = |entry: Entry| usize::from(claim_of(entry).owner.worker) == at;
    let places: Vec<usize> = histories.filter(|(_, entry)| mine(**entry)).map(|(place, _)| place).collect();
    (worker.process as u8, worker.clock as u8, kind, place, worker.owner.start, places)
}

fn claim_of(entry: Entry) -> Claim {
    match entry {
        Entry::Granted(claim)
        | Entry::Overlapped(claim)
        | Entry::Revived(claim)
        | Entry::Lost(claim)
        | Entry::Written(claim)
        | Entry::Released(claim, _)
        | Entry::Done(claim, _)
        | Entry::NotDone(claim, _) => claim,
    }
}
