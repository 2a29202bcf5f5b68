//! The short form of `scripts/soak sim` (P2): the workers of several owners, from seeds, with every fault that is drawn.

use std::thread;

use azolla_testkit::sim::simulate;

/// Runs seeds in two threads; every violation says how to see it again.
fn seeds(from: u64, count: u64) {
    let half = |first: u64| {
        let of_half = (from + first..from + count).step_by(2);
        of_half
            .filter_map(|seed| simulate(seed).err())
            .map(|violation| violation.to_string())
            .collect::<Vec<_>>()
    };
    let found = thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        let mut found = half(0);
        found.extend(other.join().expect("the other half ends"));
        found
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn p2_p18_no_seed_breaks_an_invariant_and_all_come_to_rest() {
    seeds(0, 300);
}

/// A violation could not be looked into if its seed did not show it again.
#[test]
fn p2_a_seed_replays_exactly() {
    for seed in [3, 14, 159] {
        let first = simulate(seed).unwrap_or_else(|violation| panic!("{violation}"));
        assert_eq!(simulate(seed).unwrap_or_else(|violation| panic!("{violation}")), first, "seed {seed}");
    }
}
