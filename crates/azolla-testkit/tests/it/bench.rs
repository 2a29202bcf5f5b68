//! The short form of `scripts/bench store`: it runs, and what no machine changes holds: syncs and round trips.

#[expect(clippy::disallowed_methods, reason = "the benchmark is a program of its own")]
fn bench() -> std::process::Output {
    std::process::Command::new(env!("CARGO_BIN_EXE_bench-store")).arg("--short").output().unwrap()
}

#[test]
fn the_store_benchmark_meets_the_goals_that_do_not_depend_on_the_machine() {
    let output = bench();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    let lines = stdout.lines().filter(|line| line.starts_with('{'));
    let figures: Vec<serde_json::Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    for backend in ["sqlite", "postgres"] {
        assert!(figures.iter().any(|figure| figure["backend"] == backend), "{stdout}");
    }
}
