//! The short form of `scripts/soak points` (P4): the process is killed at every write boundary, on both backends.

use std::{collections::BTreeSet, path::PathBuf};

use azolla_testkit::{
    Backend,
    points::{Action, Company, Plan, uncovered, walk},
};

async fn killed_at_every_point(backend: Backend) {
    let plan = Plan {
        program: PathBuf::from(env!("CARGO_BIN_EXE_points")),
        backend,
        actions: vec![Action::Abort],
        company: Company::Alone,
        grounds: 6,
    };
    let report = walk(&plan).await.unwrap();
    assert!(report.violations.is_empty(), "{}", report.violations.join("\n"));
    assert_eq!(report.sprung, report.points.len(), "every point that was recorded is walked");
    let names: BTreeSet<&str> = report.points.iter().map(|point| point.name()).collect();
    let none: [String; 0] = [];
    assert_eq!(uncovered(names.iter().copied()), none, "a write that no scene comes to");
    assert!(names.len() >= 40, "{} points: {names:?}", names.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_a_process_that_is_killed_at_any_write_loses_nothing_on_sqlite() {
    killed_at_every_point(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p4_a_process_that_is_killed_at_any_write_loses_nothing_on_postgres() {
    killed_at_every_point(Backend::Postgres).await;
}
