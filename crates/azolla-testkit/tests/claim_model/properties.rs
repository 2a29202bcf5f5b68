//! What holds in every state, what must be reachable, and where every path ends. Each property reads the
//! history of one resource at a time, as `azolla verify` reads the journal of a store.

use stateright::Property;

use crate::model::ClaimModel;
use crate::world::{Claim, Entry, Owner, Process, Release, Resource, Via, World};

pub(crate) const ONE_WRITE: &str = "B-3 W-6: a resource has at most one terminal write";
pub(crate) const NEWEST_WRITES: &str = "C-4 R1: the terminal write is under the newest grant";
pub(crate) const VERSIONS_GROW: &str = "C-2 R2: granted versions grow and never repeat";
pub(crate) const ONE_LIVE_CLAIM: &str = "C-1 C-7: a resource has at most one live claim";
pub(crate) const EXPIRED_STAYS_EXPIRED: &str = "C-3: an expired lease becomes live by a grant only";
pub(crate) const LOST_WRITES_NOTHING: &str =
    "C-3 C-4: an owner that lost or released its claim writes nothing";
pub(crate) const WRITE_BEFORE_RELEASE: &str = "C-5: the terminal write is before or with the release";
pub(crate) const DONE_IS_PRESENT: &str = "C-9 R6: what was reported as done is present";
pub(crate) const NOT_DONE_IS_ABSENT: &str = "C-9 R6: what was reported as not done never appears";
pub(crate) const EVERYTHING_ENDS: &str = "C-6: when the faults are spent, every resource is terminal";

pub(crate) const TAKEOVER_AFTER_CRASH: &str = "C-6: a takeover after a crash completes";
pub(crate) const UNKNOWN_WAS_DONE: &str = "C-9: an unknown commit is resolved as done";
pub(crate) const UNKNOWN_WAS_NOT_DONE: &str =
    "C-9: an unknown commit was not done and another owner completes";

/// The properties that no state may break, and the one that no path may end without.
pub(crate) const SAFETY_AND_END: [&str; 10] = [
    ONE_WRITE,
    NEWEST_WRITES,
    VERSIONS_GROW,
    ONE_LIVE_CLAIM,
    EXPIRED_STAYS_EXPIRED,
    LOST_WRITES_NOTHING,
    WRITE_BEFORE_RELEASE,
    DONE_IS_PRESENT,
    NOT_DONE_IS_ABSENT,
    EVERYTHING_ENDS,
];

/// What some path must reach, or the model covers less than it says.
pub(crate) const REACHABLE: [&str; 3] = [TAKEOVER_AFTER_CRASH, UNKNOWN_WAS_DONE, UNKNOWN_WAS_NOT_DONE];

/// Returns every property of the model.
pub(crate) fn all() -> Vec<Property<ClaimModel>> {
    vec![
        Property::always(ONE_WRITE, |_, world| every(world, one_write)),
        Property::always(NEWEST_WRITES, |_, world| every(world, newest_writes)),
        Property::always(VERSIONS_GROW, |_, world| every(world, versions_grow)),
        Property::always(ONE_LIVE_CLAIM, |_, world| every(world, one_live_claim)),
        Property::always(EXPIRED_STAYS_EXPIRED, |_, world| every(world, expired_stays_expired)),
        Property::always(LOST_WRITES_NOTHING, |_, world| every(world, lost_writes_nothing)),
        Property::always(WRITE_BEFORE_RELEASE, |_, world| every(world, write_before_release)),
        Property::always(DONE_IS_PRESENT, |_, world| every(world, done_is_present)),
        Property::always(NOT_DONE_IS_ABSENT, |_, world| every(world, not_done_is_absent)),
        // Exact here, though `eventually` is not in general: no path has a cycle, and a bundle stays.
        Property::eventually(EVERYTHING_ENDS, |_, world| every(world, |r| r.bundle.is_some())),
        Property::sometimes(TAKEOVER_AFTER_CRASH, |_, world| some(world, |r| crash_was_taken_over(world, r))),
        Property::sometimes(UNKNOWN_WAS_DONE, |_, world| some(world, unknown_was_done)),
        Property::sometimes(UNKNOWN_WAS_NOT_DONE, |_, world| some(world, unknown_was_not_done)),
    ]
}

fn every(world: &World, holds: impl Fn(&Resource) -> bool) -> bool {
    world.resources.iter().all(holds)
}

fn some(world: &World, holds: impl Fn(&Resource) -> bool) -> bool {
    world.resources.iter().any(holds)
}

fn one_write(resource: &Resource) -> bool {
    writes(&resource.history).count() <= 1
}

/// Compares grants, not versions: two grants with one version are told apart here as no fence could.
fn newest_writes(resource: &Resource) -> bool {
    written(resource).all(|(claim, before)| grants(before).last() == Some(claim))
}

fn versions_grow(resource: &Resource) -> bool {
    grants(&resource.history)
        .zip(grants(&resource.history).skip(1))
        .all(|(one, next)| one.version < next.version)
}

fn one_live_claim(resource: &Resource) -> bool {
    !resource.history.iter().any(|entry| matches!(entry, Entry::Overlapped(_)))
}

fn expired_stays_expired(resource: &Resource) -> bool {
    !resource.history.iter().any(|entry| matches!(entry, Entry::Revived(_)))
}

/// A crash is not in this list: what was sent before it may land, under the newest grant only.
fn lost_writes_nothing(resource: &Resource) -> bool {
    written(resource).all(|(claim, before)| {
        let ended = |entry: &Entry| match entry {
            Entry::Lost(lost) => *lost == claim,
            Entry::Released(released, _) => *released == claim,
            _ => false,
        };
        !before.iter().any(ended)
    })
}

fn write_before_release(resource: &Resource) -> bool {
    prefixes(resource).all(|(entry, before)| match entry {
        Entry::Released(claim, Release::WithOutcome) => writes(before).any(|written| written == claim),
        _ => true,
    })
}

fn done_is_present(resource: &Resource) -> bool {
    prefixes(resource).all(|(entry, before)| match entry {
        Entry::Done(claim, _) => resource.bundle.is_some() && writes(before).any(|written| written == claim),
        _ => true,
    })
}

fn not_done_is_absent(resource: &Resource) -> bool {
    resource.history.iter().all(|entry| match entry {
        Entry::NotDone(claim, _) => writes(&resource.history).all(|written| written != *claim),
        _ => true,
    })
}

/// A crashed owner had the grant before, never released it, and another owner wrote.
fn crash_was_taken_over(world: &World, resource: &Resource) -> bool {
    let crashed = |owner: Owner| {
        let worker = &world.workers[usize::from(owner.worker)];
        worker.process == Process::Down || worker.owner != owner
    };
    let released =
        |claim: Claim| resource.history.iter().any(|e| matches!(e, Entry::Released(c, _) if *c == claim));
    let left = |claim: Claim| crashed(claim.owner) && !released(claim);
    writes(&resource.history).any(|winner| {
        grants(&resource.history).any(|claim| claim.owner.worker != winner.owner.worker && left(claim))
    })
}

fn unknown_was_done(resource: &Resource) -> bool {
    resource.history.iter().any(|entry| matches!(entry, Entry::Done(_, Via::Reading)))
}

fn unknown_was_not_done(resource: &Resource) -> bool {
    resource.history.iter().any(|entry| match entry {
        Entry::NotDone(claim, Via::Reading) => {
            writes(&resource.history).any(|winner| winner.owner.worker != claim.owner.worker)
        }
        _ => false,
    })
}

/// Pairs every entry with the history before it.
fn prefixes(resource: &Resource) -> impl Iterator<Item = (Entry, &[Entry])> {
    resource.history.iter().enumerate().map(|(at, entry)| (*entry, &resource.history[..at]))
}

/// Pairs every terminal write with the history before it.
fn written(resource: &Resource) -> impl Iterator<Item = (Claim, &[Entry])> {
    prefixes(resource).filter_map(|(entry, before)| match entry {
        Entry::Written(claim) => Some((claim, before)),
        _ => None,
    })
}

fn writes(history: &[Entry]) -> impl Iterator<Item = Claim> {
    history.iter().filter_map(|entry| match entry {
        Entry::Written(claim) => Some(*claim),
        _ => None,
    })
}

fn grants(history: &[Entry]) -> impl Iterator<Item = Claim> {
    history.iter().filter_map(|entry| match entry {
        Entry::Granted(claim) => Some(*claim),
        _ => None,
    })
}
