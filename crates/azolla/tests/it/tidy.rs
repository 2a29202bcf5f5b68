//! Reads the tree and checks what no lint can: where SQL is, the vocabulary, placeholders, file headers.
//!
//! Each check is a pure function over a file's text with a unit test that shows it fail. This file holds the
//! words that it looks for, so it is the one file that the word checks leave out.

use std::path::Path;

use crate::root;

const THIS_FILE: &str = "crates/azolla/tests/it/tidy.rs";

#[test]
fn sql_is_only_in_sql_files() {
    let elsewhere = |path: &str| is_rust(path) && is_source(path) && !holds_sql(path);
    assert_clean("SQL text belongs in a sql.rs or in migrations/", elsewhere, sql);
}

#[test]
fn every_schema_has_its_type() {
    let source: String = tree()
        .into_iter()
        .filter(|file| is_rust(&file.path) && file.path.starts_with("crates/azolla-protocol/src/"))
        .map(|file| file.text)
        .collect();
    let folder = root().join("crates/azolla-protocol/schemas");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let schemas: Vec<_> =
        names.filter_map(|name| name.strip_suffix(".schema.json").map(str::to_owned)).collect();
    assert!(!schemas.is_empty(), "{} holds no schema", folder.display());
    let missing = schemas_without_type(&schemas, &source);
    assert!(missing.is_empty(), "schemas without a public type in azolla-protocol: {missing:?}");
}

#[test]
fn the_machine_is_described_as_a_machine_in_code() {
    let in_scope = |path: &str| is_rust(path) && is_source(path);
    assert_clean("the machine decides, wants, thinks, learns nothing: say what it does", in_scope, |text| {
        vocabulary(text, WORDS_IN_CODE)
    });
}

#[test]
fn the_machine_is_described_as_a_machine_in_documents() {
    let in_scope = |path: &str| path.ends_with(".md");
    assert_clean("the machine decides, wants, thinks, learns nothing: say what it does", in_scope, |text| {
        vocabulary(text, WORDS_IN_DOCUMENTS)
    });
}

#[test]
fn no_test_sleeps() {
    let in_scope = |path: &str| is_rust(path) && is_test(path);
    assert_clean("a test waits for the thing itself, with a timeout", in_scope, sleeps);
}

#[test]
fn nothing_is_left_to_do() {
    assert_clean("do it, or open an issue", |_| true, placeholders);
}

#[test]
fn no_test_is_ignored() {
    assert_clean("a test runs or does not exist", is_rust, ignored_tests);
}

#[test]
fn every_rust_file_says_what_it_is() {
    assert_clean("a file opens with //! and what it is", is_rust, no_header);
}

/// One place in a text: its line and what was found.
type Hit = (usize, String);

pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Runs a check over the files in scope and fails with every place that it found.
fn assert_clean(advice: &str, in_scope: impl Fn(&str) -> bool, check: impl Fn(&str) -> Vec<Hit>) {
    let files: Vec<_> =
        tree().into_iter().filter(|file| file.path != THIS_FILE && in_scope(&file.path)).collect();
    let hits: Vec<_> = files
        .iter()
        .flat_map(|file| check(&file.text).into_iter().map(move |hit| (file, hit)))
        .map(|(file, (line, found))| format!("{}:{line}: {found}", file.path))
        .collect();
    assert!(hits.is_empty(), "{advice}:\n{}", hits.join("\n"));
}

/// Returns the text files of the tree, without what is built or git's.
pub(crate) fn tree() -> Vec<File> {
    let mut files = Vec::new();
    walk(&root(), "", &mut files);
    assert!(files.iter().any(|file| file.path == THIS_FILE), "the tree was not found");
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn walk(folder: &Path, prefix: &str, files: &mut Vec<File>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the tree can be read") {
        let entry = entry.expect("an entry of the tree can be read");
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().expect("an entry has a type");
        if kind.is_dir() {
            // Cargo marks a target directory, whatever its name, with this file.
            let built = entry.path().join("CACHEDIR.TAG").exists();
            if !built && !matches!(path.as_str(), ".git" | "target") {
                walk(&entry.path(), &format!("{path}/"), files);
            }
        } else if kind.is_file()
            && let Ok(text) = std::fs::read_to_string(entry.path())
        {
            // What is not UTF-8 is not text. A file that is gone since it was listed is no part of the tree.
            files.push(File { path, text });
        }
    }
}

fn is_rust(path: &str) -> bool {
    path.ends_with(".rs")
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// Whether a file is part of a crate's own code, not of its tests and benches.
fn is_source(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/") && !is_test(path)
}

fn holds_sql(path: &str) -> bool {
    path.ends_with("/sql.rs") || path.contains("/migrations/") || path.starts_with("crates/azolla-testkit/")
}

/// Finds string literals that open like an SQL statement.
fn sql(text: &str) -> Vec<Hit> {
    string_literals(text).into_iter().filter(|(_, literal)| is_sql(literal)).map(first_line).collect()
}

fn first_line((line, literal): Hit) -> Hit {
    (line, literal.trim().lines().next().unwrap_or_default().to_owned())
}

fn is_sql(literal: &str) -> bool {
    let mut words = literal.split_whitespace().map(|word| word.trim_end_matches(';'));
    let (first, second, third) =
        (words.next().unwrap_or(""), words.next().unwrap_or(""), words.next().unwrap_or(""));
    // Lower case is read as SQL only where English would not say it.
    match (first, second, third) {
        ("SELECT" | "PRAGMA" | "SAVEPOINT" | "RELEASE" | "LISTEN" | "NOTIFY" | "VALUES", second, _) => {
            !second.is_empty()
        }
        ("INSERT" | "insert" | "REPLACE", second, _) => matches!(second, "INTO" | "into" | "OR" | "or"),
        ("DELETE", "FROM", _) | ("delete", "from", _) | ("TRUNCATE" | "LOCK", "TABLE", _) => true,
        ("UPDATE" | "update", _, "SET" | "set") | ("WITH", _, "AS") | ("WITH", "RECURSIVE", _) => true,
        ("CREATE" | "create" | "DROP" | "drop" | "ALTER" | "alter", object, _) => {
            let objects = "TABLE INDEX UNIQUE TRIGGER VIEW FUNCTION SCHEMA DATABASE TEMP TEMPORARY OR TYPE";
            object.len() > 1 && objects.split(' ').any(|known| known.eq_ignore_ascii_case(object))
        }
        ("BEGIN", kind, _) => {
            matches!(kind, "" | "IMMEDIATE" | "EXCLUSIVE" | "DEFERRED" | "TRANSACTION" | "ISOLATION")
        }
        ("COMMIT" | "ROLLBACK" | "VACUUM", second, _) => second.is_empty() || second == "TO",
        ("SET", "LOCAL" | "SESSION" | "TRANSACTION", _) => true,
        _ => false,
    }
}

/// Returns the string literals of a Rust source, with the line on which each begins. Comments, characters
/// and lifetimes are passed over.
fn string_literals(source: &str) -> Vec<Hit> {
    let chars: Vec<char> = source.chars().collect();
    let at = |index: usize| chars.get(index).copied().unwrap_or('\0');
    let line_of = |index: usize| 1 + chars[..index].iter().filter(|c| **c == '\n').count();
    let mut found = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        match (at(i), at(i + 1)) {
            ('/', '/') => {
                while i < chars.len() && at(i) != '\n' {
                    i += 1;
                }
            }
            ('/', '*') => i = after_comment(&chars, i),
            ('\'', '\\') => {
                i += 3;
                while i < chars.len() && at(i) != '\'' {
                    i += 1;
                }
                i += 1;
            }
            ('\'', _) if at(i + 2) == '\'' => i += 3,
            ('r', '"' | '#')
                if !is_word(at(i.wrapping_sub(1))) || matches!(at(i.wrapping_sub(1)), 'b' | 'c') =>
            {
                let hashes = chars[i + 1..].iter().take_while(|c| **c == '#').count();
                if at(i + 1 + hashes) != '"' {
                    i += 1; // A raw identifier.
                    continue;
                }
                let begin = i + hashes + 2;
                let closes = |end: usize| at(end) == '"' && (1..=hashes).all(|n| at(end + n) == '#');
                let end = (begin..chars.len()).find(|end| closes(*end)).unwrap_or(chars.len());
                found.push((line_of(i), chars[begin..end].iter().collect()));
                i = end + 1 + hashes;
            }
            ('"', _) => {
                let (literal, end) = plain_literal(&chars, i + 1);
                found.push((line_of(i), literal));
                i = end;
            }
            _ => i += 1,
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the index after a block comment, which may hold others.
fn after_comment(chars: &[char], mut i: usize) -> usize {
    let mut depth = 0;
    while i < chars.len() {
        match (chars[i], chars.get(i + 1)) {
            ('/', Some('*')) => (depth, i) = (depth + 1, i + 2),
            ('*', Some('/')) => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            break;
        }
    }
    i
}

/// Returns the text of a literal with escapes, and the index after its closing quote.
fn plain_literal(chars: &[char], mut i: usize) -> (String, usize) {
    let mut literal = String::new();
    while i < chars.len() && chars[i] != '"' {
        if chars[i] == '\\' {
            i += 1;
            match chars.get(i) {
                Some('n' | 't' | 'r') => literal.push(' '),
                // A continued line: its indentation is no part of the literal.
                Some('\n') => {}
                Some(c) => literal.push(*c),
                None => {}
            }
        } else {
            literal.push(chars[i]);
        }
        i += 1;
    }
    (literal, i + 1)
}

/// Returns the schemas (`run_record`) for which the source has no public type (`RunRecord`).
fn schemas_without_type(schemas: &[String], source: &str) -> Vec<String> {
    let has = |keyword: &str, name: &str| {
        source
            .match_indices(&format!("pub {keyword} {name}"))
            .any(|(at, found)| !source[at + found.len()..].starts_with(is_word))
    };
    let missing = schemas.iter().filter(|schema| {
        let name = type_name(schema);
        !["struct", "enum", "type"].iter().any(|keyword| has(keyword, &name))
    });
    missing.cloned().collect()
}

/// Returns the name of a schema's type: `run_record` is `RunRecord`.
fn type_name(schema: &str) -> String {
    if schema == "journal" {
        return "JournalEntry".to_owned(); // The schema is of one row, and the journal is all of them.
    }
    let capital =
        |word: &str| word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect();
    schema.split(['_', '-']).map(capital).collect::<Vec<String>>().concat()
}

const WORDS_IN_CODE: &[&str] = &[
    "decide", "decides", "decided", "deciding", "want", "wants", "wanted", "think", "thinks", "learn",
    "learns", "learned", "learning",
];

/// Documents address people, who do want things: only the forms that need a subject of their own.
const WORDS_IN_DOCUMENTS: &[&str] = &["decides", "wants", "thinks", "learns"];

/// Before a word of the list, these say that its subject is a person, or that nothing does it.
const PEOPLE: &[&str] = &[
    "operator",
    "operators",
    "person",
    "people",
    "human",
    "user",
    "reader",
    "developer",
    "maintainer",
    "you",
    "who",
    "whoever",
    "anyone",
    "nobody",
    "nothing",
];

/// Finds words of the list, as words of their own or as parts of an identifier, unless one of the eight
/// words before says that a person is meant.
fn vocabulary(text: &str, list: &[&str]) -> Vec<Hit> {
    let words: Vec<Hit> = text.lines().enumerate().flat_map(|(n, line)| words_of(n + 1, line)).collect();
    let person_before = |index: usize| {
        words[index.saturating_sub(8)..index].iter().any(|(_, word)| PEOPLE.contains(&word.as_str()))
    };
    let listed = words.iter().enumerate().filter(|(_, (_, word))| list.contains(&word.as_str()));
    listed.filter(|(index, _)| !person_before(*index)).map(|(_, hit)| hit.clone()).collect()
}

/// Splits a line into lower-case words: `fn decideNext_step` is fn, decide, next, step.
fn words_of(number: usize, line: &str) -> Vec<Hit> {
    let mut words = vec![String::new()];
    let mut previous = ' ';
    for c in line.chars() {
        if !c.is_alphabetic() || (c.is_uppercase() && previous.is_lowercase()) {
            words.push(String::new());
        }
        if c.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        previous = c;
    }
    words.into_iter().filter(|word| !word.is_empty()).map(|word| (number, word)).collect()
}

/// Finds the lines for which `found` gives something.
fn lines(text: &str, found: impl Fn(&str) -> bool) -> Vec<Hit> {
    let numbered = text.lines().enumerate().filter(|(_, line)| found(line));
    numbered.map(|(index, line)| (index + 1, line.trim().to_owned())).collect()
}

/// Whether `needle` occurs with no letter, digit or underscore beside it.
fn has_word(line: &str, needle: &str) -> bool {
    line.match_indices(needle).any(|(at, _)| {
        let beside = |c: char| is_word(c) && needle.ends_with(is_word);
        !line[..at].ends_with(is_word) && !line[at + needle.len()..].starts_with(beside)
    })
}

fn sleeps(text: &str) -> Vec<Hit> {
    lines(text, |line| ["sleep(", "thread::sleep", "time::sleep"].iter().any(|call| has_word(line, call)))
}

fn placeholders(text: &str) -> Vec<Hit> {
    let words = ["todo!", "unimplemented!", "FIXME", "XXX"];
    lines(text, |line| words.iter().any(|word| has_word(line, word)))
}

fn ignored_tests(text: &str) -> Vec<Hit> {
    lines(text, |line| line.contains("#[ignore"))
}

fn no_header(text: &str) -> Vec<Hit> {
    let first = text.lines().next().unwrap_or_default();
    if first.starts_with("//!") { Vec::new() } else { vec![(1, first.to_owned())] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_on(hits: &[Hit]) -> Vec<usize> {
        hits.iter().map(|(line, _)| *line).collect()
    }

    #[test]
    fn sql_is_found_in_every_kind_of_literal() {
        let source = r###"
            // "SELECT 1" in a comment, and 'a lifetime
            let a = "SELECT 1"; let b: &'static str = "selected";
            let c = r#"UPDATE t SET i = 1"#; let quote = '"';
            /* "DELETE FROM t" /* nested */ "DELETE FROM t" */
            let d = "\
                INSERT INTO t VALUES (1)";
            let e = br"PRAGMA user_version"; let r#type = "CREATED"; let f = '\'';
            let g = "BEGIN IMMEDIATE"; let h = "say \"SELECT 1\"";
        "###;
        assert_eq!(found_on(&sql(source)), [3, 4, 6, 8, 9]);
    }

    #[test]
    fn sql_is_told_from_english() {
        for statement in [
            "COMMIT;",
            "ROLLBACK TO a",
            "CREATE TABLE t (i)",
            "create index i",
            "DROP TRIGGER t",
            "delete from t",
            "WITH a AS (SELECT 1) SELECT * FROM a",
            "NOTIFY c",
            "update t set i = 1",
            "SAVEPOINT s",
        ] {
            assert!(is_sql(statement), "{statement}");
        }
        for text in
            ["", "SELECT", "COMMIT failed", "Update the set", "created", "drop it", "with it", "BEGIN PATCH"]
        {
            assert!(!is_sql(text), "{text}");
        }
    }

    #[test]
    fn a_schema_without_a_type_is_named() {
        let schemas = ["run_record", "event", "claim_record"].map(str::to_owned);
        let source = "pub struct RunRecord {\n}\npub enum Event {}\npub struct ClaimRecordRef;";
        assert_eq!(schemas_without_type(&schemas, source), ["claim_record"]);
    }

    #[test]
    fn the_vocabulary_is_found_in_words_and_identifiers() {
        let code = "/// The gate decides.\nfn wants_retry() {}\nstruct LearnRate;\n// emitted, returned\nlet undecided = 1;";
        assert_eq!(found_on(&vocabulary(code, WORDS_IN_CODE)), [1, 2, 3]);
        let document = "The model thinks.\nIf you want to, the operator decides.\nDESIGN_DECISION";
        assert_eq!(found_on(&vocabulary(document, WORDS_IN_DOCUMENTS)), [1]);
    }

    #[test]
    fn a_person_may_do_what_the_machine_does_not() {
        let wrapped = "the operator\ndecides when. Nothing decides, wants, thinks or learns.";
        assert_eq!(vocabulary(wrapped, WORDS_IN_CODE), []);
    }

    #[test]
    fn sleeping_is_found() {
        let text = "std::thread::sleep(d);\nuse tokio::time::sleep;\nsleep(d).await;\nfn no_sleeping() {}\n\
                    tokio::time::sleep_until(t)";
        assert_eq!(found_on(&sleeps(text)), [1, 2, 3]);
    }

    #[test]
    fn placeholders_are_found() {
        let text = "todo!()\nunimplemented!()\n// FIXME: x\n# XXX\nmktemp a.XXXXXX\nstatus TODO";
        assert_eq!(found_on(&placeholders(text)), [1, 2, 3, 4]);
    }

    #[test]
    fn ignored_tests_are_found() {
        assert_eq!(
            found_on(&ignored_tests("#[test]\n#[ignore]\n#[ignore = \"slow\"]\nfn ignore() {}")),
            [2, 3]
        );
    }

    #[test]
    fn a_missing_header_is_found() {
        assert_eq!(no_header("//! What it is.\nfn main() {}"), []);
        assert_eq!(found_on(&no_header("use a::b;\n//! Too late.")), [1]);
        assert_eq!(found_on(&no_header("")), [1]);
    }
}
