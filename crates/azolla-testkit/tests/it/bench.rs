//! The short forms of `scripts/bench`: they run, and what no machine changes holds: syncs, round trips, spawns.

/// Runs a benchmark and returns its JSON lines.
#[expect(clippy::disallowed_methods, reason = "the benchmark is a program of its own")]
fn bench(program: &str, parts: &[&str]) -> Vec<serde_json::Value> {
    let output = std::process::Command::new(program).arg("--short").args(parts).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    let lines = stdout.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_store_benchmark_meets_the_goals_that_do_not_depend_on_the_machine() {
    let figures = bench(env!("CARGO_BIN_EXE_bench-store"), &[]);
    for backend in ["sqlite", "postgres"] {
        assert!(figures.iter().any(|figure| figure["backend"] == backend), "{figures:?}");
    }
}

#[test]
fn the_patch_benchmark_meets_the_goals_that_do_not_depend_on_the_machine() {
    // The other parts start the program, which is no binary of this crate.
    let parts = ["cycle", "small", "large"];
    let figures = bench(env!("CARGO_BIN_EXE_bench-patch"), &parts);
    for part in parts {
        assert!(figures.iter().any(|figure| figure["part"] == part), "{figures:?}");
    }
}
