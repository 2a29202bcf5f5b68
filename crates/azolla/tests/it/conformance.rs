//! `docs/conformance.md` names the tests that prove each rule of the protocol: a table `| rule | tests |`
//! with `path/to/file.rs#test_name` entries, separated by commas, or `not yet: <area>`. A rule without a
//! row, a row without its test, and a row of no rule fail.

use std::collections::BTreeSet;

use crate::root;

/// How many rules have no test yet. It only goes down, and in the commit that adds the tests.
const NOT_YET: usize = 0;

/// The parts of the program whose rules may still be without a test.
const AREAS: &[&str] = &["patch flow", "real workers", "task management", "operator surfaces", "faults"];

#[rustfmt::skip] // A line per section of PROTOCOL.md.
const RULES: &[&str] = &[
    "A-1", "A-2", "A-3", "A-4", "A-5", "A-6",
    "Y-1",
    "S-a", "S-b", "S-c", "S-d", "S-e", "S-f", "S-g", "S-h", "S-i", "S-j", "S-k", "S-l", "S-m", "S-n", "S-o",
    "S-1", "S-2", "S-3", "S-4",
    "C-1", "C-2", "C-3", "C-4", "C-5", "C-6", "C-7", "C-8", "C-9",
    "W-1", "W-2", "W-3", "W-4", "W-5", "W-6", "W-7",
    "PF-1", "PF-2", "PF-3", "PF-4", "PF-5", "PF-6", "PF-7", "PF-8",
    "TF-1", "TF-2", "TF-3", "TF-4", "TF-5", "TF-6", "TF-7", "TF-8",
    "MF-1", "MF-2", "MF-3", "MF-4", "MF-5", "MF-6", "MF-7",
    "D-1", "D-2",
    "G-1", "G-2",
    "B-1", "B-2", "B-3", "B-4",
    "M-1", "M-2", "M-3", "M-4",
    "O-1", "O-2", "O-3",
];

#[test]
fn every_rule_has_its_tests() {
    let path = root().join("docs/conformance.md");
    let table = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let problems = problems(&table, RULES, NOT_YET, |file| std::fs::read_to_string(root().join(file)).ok());
    assert!(problems.is_empty(), "docs/conformance.md:\n{}", problems.join("\n"));
}

/// Lists what is wrong with the table. `read` gives the text of a file, or nothing where there is none.
fn problems(
    table: &str,
    rules: &[&str],
    not_yet: usize,
    read: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    let mut waiting = 0;
    for (number, cells) in rows(table) {
        let [rule, tests] = cells.as_slice() else {
            problems.push(format!("line {number}: a row has two cells, rule and tests"));
            continue;
        };
        if !rules.contains(&rule.as_str()) {
            problems.push(format!("line {number}: {rule} is not a rule of the protocol"));
        } else if !seen.insert(rule.clone()) {
            problems.push(format!("line {number}: {rule} has a row already"));
        }
        match tests.strip_prefix("not yet:").map(str::trim) {
            Some(area) if AREAS.contains(&area) => waiting += 1,
            Some(area) => problems.push(format!("line {number}: {rule}: {area} is none of {AREAS:?}")),
            None => {
                let missing = tests.split(',').filter_map(|entry| entry_problem(entry, &read));
                problems.extend(missing.map(|problem| format!("line {number}: {rule}: {problem}")));
            }
        }
    }
    let absent = rules.iter().filter(|rule| !seen.contains(**rule));
    problems.extend(absent.map(|rule| format!("{rule} has no row")));
    if waiting != not_yet {
        problems.push(format!("{waiting} rules are not yet tested, NOT_YET says {not_yet}"));
    }
    problems
}

/// Returns the rows of the tables, each with its line number and its cells without their Markdown.
fn rows(table: &str) -> impl Iterator<Item = (usize, Vec<String>)> {
    let lines = table.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let rows = lines.filter_map(|(number, line)| {
        let inner = line.strip_prefix('|')?;
        let inner = inner.strip_suffix('|').unwrap_or(inner);
        let cells = inner.split('|').map(|cell| cell.replace(['`', '*'], "").trim().to_owned());
        Some((number, cells.collect::<Vec<_>>()))
    });
    rows.filter(|(_, cells)| {
        let header = cells.first().is_some_and(|cell| cell.eq_ignore_ascii_case("rule"));
        let ruler = cells.iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| "-: ".contains(c)));
        !header && !ruler
    })
}

/// Says what is wrong with one `file.rs#test_name`.
fn entry_problem(entry: &str, read: impl Fn(&str) -> Option<String>) -> Option<String> {
    let entry = entry.trim();
    let Some((file, test)) = entry.split_once('#') else {
        return Some(format!("'{entry}' is not of the form path/to/file.rs#test_name"));
    };
    match read(file) {
        None => Some(format!("there is no file {file}")),
        Some(text) if !has_function(&text, test) => Some(format!("{file} has no fn {test}")),
        Some(_) => None,
    }
}

/// Whether a file holds the function, outside a comment. A suite's functions are called by a macro, so an
/// attribute before them is not asked for.
fn has_function(text: &str, name: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    !name.is_empty()
        && text.lines().filter(|line| !line.trim_start().starts_with("//")).any(|line| {
            line.match_indices("fn ").any(|(at, _)| {
                let rest = line[at + 3..].trim_start();
                !line[..at].ends_with(is_name)
                    && rest.strip_prefix(name).is_some_and(|after| !after.starts_with(is_name))
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &[&str] = &["C-1", "C-2"];

    fn check(rows: &str, not_yet: usize) -> Vec<String> {
        let read = |file: &str| {
            (file == "a.rs")
                .then(|| "#[test]\nfn c1_held() {}\nasync fn c2_grows(\n// fn gone()\n".to_owned())
        };
        problems(&format!("# Title\n\n| rule | tests |\n|---|---|\n{rows}"), TWO, not_yet, read)
    }

    #[test]
    fn a_complete_table_has_no_problem() {
        let none: [&str; 0] = [];
        assert_eq!(check("| C-1 | `a.rs#c1_held` |\n| **C-2** | a.rs#c2_grows, a.rs#c1_held |\n", 0), none);
        assert_eq!(check("| C-1 | a.rs#c1_held |\n| C-2 | not yet: faults |\n", 1), none);
    }

    #[test]
    fn every_gap_is_named() {
        let good = "| C-2 | a.rs#c2_grows |\n";
        let with = |row: &str| check(&format!("{good}{row}"), 0);
        let first = |row: &str| with(row).first().cloned().unwrap_or_default();
        assert_eq!(with(""), ["C-1 has no row"]);
        assert_eq!(with("| C-1 | a.rs#c1 |\n"), ["line 6: C-1: a.rs has no fn c1"]);
        assert_eq!(with("| C-1 | a.rs#gone |\n"), ["line 6: C-1: a.rs has no fn gone"]);
        assert_eq!(with("| C-1 | b.rs#c1_held |\n"), ["line 6: C-1: there is no file b.rs"]);
        assert_eq!(
            first("| C-1 | a.rs#c1_held, |\n"),
            "line 6: C-1: '' is not of the form path/to/file.rs#test_name"
        );
        assert_eq!(first("| C-1 | |\n"), "line 6: C-1: '' is not of the form path/to/file.rs#test_name");
        assert_eq!(first("| C-2 | a.rs#c2_grows |\n"), "line 6: C-2 has a row already");
        assert_eq!(first("| C-3 | a.rs#c1_held |\n"), "line 6: C-3 is not a rule of the protocol");
        assert_eq!(first("| C-1 | x | y |\n"), "line 6: a row has two cells, rule and tests");
        assert_eq!(first("| C-1 | not yet: later |\n").split(" is").next(), Some("line 6: C-1: later"));
    }

    #[test]
    fn the_number_of_rules_without_a_test_is_stated() {
        let rows = "| C-1 | not yet: faults |\n| C-2 | a.rs#c2_grows |\n";
        assert_eq!(check(rows, 0), ["1 rules are not yet tested, NOT_YET says 0"]);
        assert_eq!(check(rows, 2), ["1 rules are not yet tested, NOT_YET says 2"]);
    }

    #[test]
    fn no_rule_is_listed_twice() {
        assert_eq!(RULES.iter().collect::<BTreeSet<_>>().len(), RULES.len());
    }
}
