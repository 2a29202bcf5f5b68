//! What a change touches, and what is looked at first.

use super::*;

#[test]
fn t17_what_runs_by_itself_is_named_with_why() {
    let paths = [".github/workflows/ci.yml", "src/main.rs", "AGENTS.md", "Cargo.lock"].map(str::to_owned);
    let first = [
        (".github/workflows/ci.yml", "runs in CI"),
        ("AGENTS.md", "steers an agent or an editor"),
        ("Cargo.lock", "locks dependencies"),
    ];
    assert_eq!(protected_paths(&paths), first);
}
