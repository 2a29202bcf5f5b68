//! P1: model check of the claim protocol (PROTOCOL.md section 5), and of its neighbours with one rule broken.
//!
//! `AZOLLA_MODEL_STATES` is how many states the check must cover: 50,000 when it is not set, 1,000,000 in the
//! long form. The bounds follow from it, and a model that has shrunk below it fails.

mod faults;
mod model;
mod properties;
mod store;
mod symmetry;
mod variants;
mod worker;
mod world;

use std::collections::BTreeSet;

use stateright::{Checker, HasDiscoveries, Model};

use crate::model::{Action, Bounds, ClaimModel};
use crate::properties::{
    DONE_IS_PRESENT, EVERYTHING_ENDS, EXPIRED_STAYS_EXPIRED, LOST_WRITES_NOTHING, NEWEST_WRITES,
    NOT_DONE_IS_ABSENT, ONE_LIVE_CLAIM, ONE_WRITE, REACHABLE, SAFETY_AND_END, VERSIONS_GROW,
    WRITE_BEFORE_RELEASE,
};
use crate::variants::Variant;

/// Three workers, two resources, any one fault. About 170,000 states.
const SHORT: Bounds = Bounds { workers: 3, resources: 2, faults: 1, renewals: 1 };
/// The same with any two faults, and no renewal to keep it to minutes. About 5,300,000 states.
const LONG: Bounds = Bounds { workers: 3, resources: 2, faults: 2, renewals: 0 };
/// Where the variants break: two workers, one resource and at most two faults are enough.
const NARROW: Bounds = Bounds { workers: 2, resources: 1, faults: 2, renewals: 1 };

const STATES_SHORT: usize = 50_000;

/// Each broken variant, with the properties that it breaks.
#[rustfmt::skip] // A table.
const BROKEN: [(Variant, &[&str]); 16] = [
    (Variant::NoFence,                        &[ONE_WRITE, NEWEST_WRITES]),
    (Variant::UniqueKeyWithoutFence,          &[NEWEST_WRITES]),
    (Variant::RowDeletedOnRelease,            &[VERSIONS_GROW, NEWEST_WRITES]),
    (Variant::OwnerReusedAndVersionUnchecked, &[NEWEST_WRITES]),
    (Variant::VersionKeptOnTakeover,          &[VERSIONS_GROW, NEWEST_WRITES]),
    (Variant::ExpiryByWorkerClock,            &[ONE_LIVE_CLAIM]),
    (Variant::CheckThenWrite,                 &[NEWEST_WRITES, ONE_WRITE]),
    (Variant::WrittenAgainBlindly,            &[ONE_WRITE]),
    (Variant::ReleasedBeforeWritten,          &[WRITE_BEFORE_RELEASE, LOST_WRITES_NOTHING, ONE_WRITE]),
    (Variant::RenewalWithoutCompareAndSwap,   &[ONE_LIVE_CLAIM, NEWEST_WRITES]),
    (Variant::RenewalIgnoresExpiry,           &[EXPIRED_STAYS_EXPIRED]),
    (Variant::UnknownRenewalCountsAsHeld,     &[LOST_WRITES_NOTHING]),
    (Variant::SentAgainAndAnswerReported,     &[NOT_DONE_IS_ABSENT]),
    (Variant::AbsentReportedAsNotDone,        &[NOT_DONE_IS_ABSENT]),
    (Variant::UnknownReportedAsDone,          &[DONE_IS_PRESENT]),
    (Variant::LeaseNeverExpires,              &[EVERYTHING_ENDS]),
];

/// C-1..C-9, B-3, R1..R6: in the whole state space no property breaks, and every outcome is reached.
#[test]
fn c1_c4_r1_the_sound_protocol_holds() {
    let required = states_required();
    assert_sound(SHORT, STATES_SHORT);
    if required > STATES_SHORT {
        assert_sound(LONG, required);
    }
}

/// The control of the table below: the bounds that break the variants do not break the protocol.
#[test]
fn c1_c4_r1_the_sound_protocol_holds_where_the_variants_break() {
    assert_sound(NARROW, 40_000);
}

/// P1: what catches a variant is the property that names its rule, not any property.
#[test]
fn p1_every_broken_variant_is_caught() {
    for (variant, broken) in BROKEN {
        for property in broken {
            let found = counterexample(variant, property);
            let (faults, actions) = found.unwrap_or_else(|| panic!("{variant:?} does not break: {property}"));
            println!("{variant:?}, {faults} fault(s), {} steps, breaks {property}", actions.len());
        }
    }
}

/// P1: a property that no variant breaks would show nothing by holding.
#[test]
fn p1_every_property_catches_a_variant() {
    let caught: BTreeSet<&str> = BROKEN.iter().flat_map(|(_, broken)| broken.iter().copied()).collect();
    assert_eq!(caught, BTreeSet::from(SAFETY_AND_END));
}

/// Checks the sound protocol in all states within `bounds`, and that there are at least `required` of them.
///
/// States that are the same but for the numbering of workers and resources count once.
fn assert_sound(bounds: Bounds, required: usize) {
    let model = ClaimModel { variant: Variant::Sound, bounds };
    let checker = model
        .checker()
        .finish_when(HasDiscoveries::AnyFailures)
        .symmetry_fn(symmetry::representative)
        .spawn_dfs()
        .join();
    let found = checker.discoveries();
    for property in SAFETY_AND_END {
        let actions = found.get(property).map(|path| path.clone().into_actions());
        assert!(actions.is_none(), "broken: {property}, by {actions:#?}");
    }
    for property in REACHABLE {
        assert!(found.contains_key(property), "never reached: {property}");
    }
    let explored = checker.unique_state_count();
    println!("{bounds:?}: {explored} unique states, depth {}", checker.max_depth());
    assert!(explored >= required, "the model has shrunk: {explored} states explored, {required} required");
}

/// Returns how `variant` breaks `property`: with the fewest faults, then in the fewest steps.
fn counterexample(variant: Variant, property: &'static str) -> Option<(u8, Vec<Action>)> {
    (0..=NARROW.faults).find_map(|faults| {
        let model = ClaimModel { variant, bounds: Bounds { faults, ..NARROW } };
        shortest_path(model, property).map(|actions| (faults, actions))
    })
}

/// Returns a shortest path on which `model` breaks `property`, or `None` after its last state.
fn shortest_path(model: ClaimModel, property: &'static str) -> Option<Vec<Action>> {
    // The checker keeps the last path it finds, not the first, so the depth grows until there is one.
    let mut depth = 1;
    loop {
        let finish = HasDiscoveries::AnyOf(BTreeSet::from([property]));
        let checker = model.checker().finish_when(finish).target_max_depth(depth).spawn_bfs().join();
        if let Some(path) = checker.discovery(property) {
            return Some(path.into_actions());
        }
        if checker.max_depth() < depth {
            return None;
        }
        depth += 1;
    }
}

/// Returns how many states the environment asks for.
fn states_required() -> usize {
    let asked = std::env::var("AZOLLA_MODEL_STATES").ok();
    asked.map_or(STATES_SHORT, |asked| asked.parse().expect("AZOLLA_MODEL_STATES is a number of states"))
}
