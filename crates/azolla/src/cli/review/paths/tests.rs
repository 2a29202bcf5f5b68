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

#[test]
fn the_paths_of_a_diff_are_its_headers() {
    let diff = "diff --git a/src/a b.rs b/src/a b.rs\nindex 1..2 100644\n--- a/src/a b.rs\n+++ b/src/a b.rs\n@@ -1 +1 @@\n\
                -diff --git a/no b/no\n+x\n diff --git a/no b/no\n\
                diff --git \"a/t\\303\\274\\n\\\"\" \"b/t\\303\\274\\n\\\"\"\nnew file mode 100644\n\
                diff --git a/x b/y\n";
    assert_eq!(changed(diff), ["src/a b.rs", "tü\n\""]);
    assert_eq!(changed(""), Vec::<String>::new());
}
