//! What of a tree is listed.

use super::listing;
use crate::{
    repo::Entry,
    snapshot::relevance::{Query, Ranked, Texts},
};

fn entry(path: &str) -> Entry {
    Entry { path: path.to_owned(), blob: "1".repeat(40), size: 1, mode: 0o100_644 }
}

#[test]
fn a_small_tree_is_listed_in_full() {
    let entries = [entry("a.rs"), entry("b/c.rs")];
    assert_eq!(listing(&entries, &[], 100), "a.rs\nb/c.rs\n");
}

#[test]
fn a_large_tree_has_its_directories_and_what_is_beside_the_relevant_files() {
    let mut entries: Vec<Entry> =
        (0..10).flat_map(|d| (0..100).map(move |f| entry(&format!("lib/part{d}/file{f:02}.rs")))).collect();
    entries.push(entry("README.md"));
    let ranked = [Ranked { entry: 250, score: 1, lines: Vec::new() }];
    let text = listing(&entries, &ranked, 4_000);
    assert!(text.len() < 4_100, "{} bytes", text.len());
    assert!(
        text.starts_with("Directories, with the number of files in each:\n\n./ 1\nlib/part0/ 100\n"),
        "{text}"
    );
    assert!(text.contains("\nlib/part2/file50.rs\n") && text.contains("\nlib/part2/file99.rs\n"), "{text}");
    assert!(!text.contains("lib/part3/file"), "{text}");
    assert!(text.ends_with("(901 more are not listed)\n"), "{text}");
}

#[test]
fn a_tree_of_too_many_directories_is_still_within_its_bytes() {
    let entries: Vec<Entry> = (0..5_000).map(|n| entry(&format!("d{n}/file.rs"))).collect();
    let text = listing(&entries, &[Ranked { entry: 7, score: 1, lines: Vec::new() }], 1_000);
    assert_eq!(text, "\nFiles beside the most relevant ones:\n\nd7/file.rs\n(4999 more are not listed)\n");
}

#[test]
fn nothing_relevant_leaves_the_directories() {
    let query = Query::new(&Texts::default(), Vec::new());
    let entries: Vec<Entry> = (0..50).map(|n| entry(&format!("src/f{n}.rs"))).collect();
    let ranking = crate::snapshot::relevance::rank(&query, &entries, &Default::default());
    let text = listing(&entries, &ranking.files, 200);
    assert_eq!(text, "Directories, with the number of files in each:\n\nsrc/ 50\n(50 more are not listed)\n");
}
