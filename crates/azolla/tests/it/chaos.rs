//! The short form of `scripts/soak chaos` (P5, P6, P9, P18): processes of this program that are killed, stopped for longer
//! than a lease, given wrong clocks and cut off from their database.

use azolla_testkit::{
    Backend,
    chaos::{self, Faults, Settings},
};

const WORKORDERS: u64 = 200;

fn survives(backend: Backend) {
    let settings = Settings {
        program: env!("CARGO_BIN_EXE_azolla").into(),
        backend,
        seed: 1,
        workorders: WORKORDERS,
        processes: 4,
        faults: Faults { crashes: 3, ..Faults::of(WORKORDERS) },
    };
    let figures = chaos::run(&settings).unwrap_or_else(|violation| panic!("{violation}"));
    println!("{figures}");
}

#[test]
fn p5_p9_p18_four_processes_on_one_file_lose_nothing_and_come_to_rest() {
    survives(Backend::Sqlite);
}

#[test]
fn p5_p6_p9_p18_four_machines_on_one_database_lose_nothing_and_come_to_rest() {
    survives(Backend::Postgres);
}
