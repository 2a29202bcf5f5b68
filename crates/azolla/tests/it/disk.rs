//! P7 and power cuts, in short: a few boundaries and cuts of what `scripts/soak disk` and `power` walk.

use std::{path::Path, thread};

use azolla_testkit::disk::{
    Area, Cut, Fault, Injection, Loss, Recording, Shim, Walked, branch_is_synced_first, count,
    said_on_full_disk, walk,
};

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_azolla"))
}

/// What is tried: area, fault, whether it stays, and at which part of the scenario, in hundredths.
#[rustfmt::skip] // A table.
const POINTS: [(Area, Fault, bool, u64); 10] = [
    (Area::Store,    Fault::NoSpace, false, 62),
    (Area::Store,    Fault::Io,      true,  70),
    (Area::Store,    Fault::Sync,    false, 45),
    (Area::Store,    Fault::Kill,    false, 55),
    (Area::Store,    Fault::Short,   false, 97),
    (Area::Home,     Fault::NoSpace, true,  4),
    (Area::Mirror,   Fault::NoSpace, true,  30),
    (Area::Mirror,   Fault::Kill,    false, 26),
    (Area::Worktree, Fault::Io,      false, 50),
    (Area::Worktree, Fault::NoSpace, true,  20),
];

/// P7, invariants 11 to 13: what was printed is there, what failed was said, and the rest is done once the disk is sound.
#[test]
fn p7_a_disk_that_fails_loses_nothing_that_was_acknowledged() {
    let shim = Shim::compile().unwrap();
    let shim = &shim;
    let counts = thread::scope(|scope| {
        let counts = Area::ALL.map(|area| scope.spawn(move || count(shim, program(), area).unwrap()));
        counts.map(|count| count.join().unwrap())
    });
    let walked: Vec<_> = thread::scope(|scope| {
        let walks = POINTS.map(|(area, fault, sticky, part)| {
            let counted = counts[Area::ALL.iter().position(|known| *known == area).unwrap()].of(fault);
            let injection = Injection { area, fault, at: 1 + counted * part / 100, sticky };
            scope.spawn(move || (injection, walk(shim, program(), injection)))
        });
        walks.into_iter().map(|walk| walk.join().unwrap()).collect()
    });
    let bad: Vec<_> = walked.iter().filter_map(|(_, walked)| walked.as_ref().err()).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    let reached = walked.iter().filter(|(_, walked)| *walked.as_ref().unwrap() != Walked::NotReached).count();
    // The number of boundaries differs a little from run to run.
    assert!(reached >= POINTS.len() - 2, "{walked:?}");
}

/// SQLite makes its log and its index when it opens a file, and says of neither why it could not.
#[test]
fn a_full_disk_is_called_full_wherever_a_command_meets_it() {
    let shim = Shim::compile().unwrap();
    let said = |at| said_on_full_disk(&shim, program(), at).unwrap();
    let words: Vec<_> = (1..).map_while(said).collect();
    // The log, the index, their first pages, the pages of the note.
    assert!(words.len() > 8, "{words:?}");
    for (n, words) in words.iter().enumerate() {
        assert!(
            words.contains("error: the disk is full\nhint: free some space"),
            "boundary {}: {words}",
            n + 1
        );
    }
}

/// G-1, invariant 13: the branch is durable in the operator's repository before the store says that it is there.
#[test]
fn r7_a_published_branch_is_synced_before_its_pass_is_recorded() {
    assert!(branch_is_synced_first(&Shim::compile().unwrap(), program()).unwrap());
}

/// R7, invariant 13: whatever a power cut leaves of the files opens, is sound, and has everything that was acknowledged.
#[test]
fn r7_a_power_cut_loses_nothing_that_was_acknowledged() {
    const CUTS: usize = 6;
    let shim = Shim::compile().unwrap();
    let recording = Recording::make(&shim, program(), 40, None, 1).unwrap();
    let (promises, operations) = (recording.promises(), recording.operations());
    let anywhere = (0..CUTS).map(|n| Cut {
        after: (n + 1) * operations / CUTS,
        loss: Loss::Some,
        seed: u64::try_from(n).unwrap(),
    });
    // Right after an answer, and nothing of what was not synced by then is left.
    let answered = (0..CUTS).map(|n| Cut {
        after: promises[(n + 1) * (promises.len() - 1) / CUTS],
        loss: Loss::Everything,
        seed: 0,
    });
    for cut in anywhere.chain(answered) {
        recording.check(cut).unwrap();
    }
}
