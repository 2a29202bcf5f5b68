//! The short form of `scripts/soak chaos` (P5, P6, P9, P18): processes of this program that are killed, stopped for longer
//! than a lease, given wrong clocks and cut off from their database.

use azolla_testkit::{
    Backend,
    chaos::{self, Faults, Settings},
};

fn survives(backend: Backend, faults: Faults) {
    let settings = Settings {
        program: env!("CARGO_BIN_EXE_azolla").into(),
        backend,
        seed: 1,
        workorders: 40,
        processes: 4,
        faults,
    };
    let figures = chaos::run(&settings).unwrap_or_else(|violation| panic!("{violation}"));
    println!("{figures}");
}

const FAULTS: Faults =
    Faults { kills: 12, pauses: 5, jumps: 4, crashes: 3, terminations: 2, holes: 1, cuts: 2 };

#[test]
fn p5_p9_p18_four_processes_on_one_file_lose_nothing_and_come_to_rest() {
    survives(Backend::Sqlite, FAULTS);
}

#[test]
fn p5_p6_p9_p18_four_machines_on_one_database_lose_nothing_and_come_to_rest() {
    survives(Backend::Postgres, FAULTS);
}
