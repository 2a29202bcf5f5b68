//! `docs/security.md` has every attack, and the tests that it names are there.

use std::collections::BTreeSet;

use crate::{root, tidy::tree};

/// The attacks of the list.
const ROWS: std::ops::RangeInclusive<u32> = 1..=42;

#[test]
fn every_attack_is_tried_by_a_test_that_exists() {
    let table = std::fs::read_to_string(root().join("docs/security.md")).expect("docs/security.md");
    let known = test_names();
    let mut problems = Vec::new();
    for row in ROWS {
        let Some(line) = table.lines().find(|line| line.starts_with(&format!("| T{row} |"))) else {
            problems.push(format!("T{row} is not in the table"));
            continue;
        };
        let named: Vec<&str> =
            line.split('`').skip(1).step_by(2).filter(|name| name.matches('_').count() > 2).collect();
        if !named.iter().any(|name| name.split('_').any(|part| part == format!("t{row}"))) {
            problems.push(format!("T{row} names no test of its own"));
        }
        problems.extend(
            named.iter().filter(|name| !known.contains(**name)).map(|name| format!("there is no {name}")),
        );
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// T41: no dependency comes from anywhere but the registry, and each has a checksum.
#[test]
fn t41_every_dependency_is_pinned_and_comes_from_the_registry() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).expect("Cargo.lock");
    let packages: Vec<&str> = lock.split("[[package]]").skip(1).collect();
    assert!(packages.len() > 100, "the lock file lists {} packages", packages.len());
    for package in packages {
        let is_ours = !package.contains("\nsource = ");
        let is_of_the_registry =
            package.contains("\nsource = \"registry+") && package.contains("\nchecksum = \"");
        assert!(is_ours || is_of_the_registry, "{package}");
        assert!(!is_ours || package.contains("\nname = \"azolla"), "{package}");
    }
}

fn test_names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in tree().into_iter().filter(|file| file.path.ends_with(".rs")) {
        let mut is_test = false;
        for line in file.text.lines().map(str::trim_start) {
            // Inside of this macro every function is one, for each backend.
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            let in_macro = line.starts_with("async fn ") && line.contains("(world: ");
            let Some(rest) = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn ")) else {
                continue;
            };
            if std::mem::take(&mut is_test) || in_macro {
                names.extend(rest.split(['(', '<']).next().map(str::to_owned));
            }
        }
    }
    names
}
