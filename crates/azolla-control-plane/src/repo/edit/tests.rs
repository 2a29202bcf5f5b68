//! How answers are read and applied, without git.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use proptest::{collection::vec, prelude::*};

use super::{
    Action, Answer, Change, FileEdit, Format, Tree, apply, document::Document, fence::Fence, names,
    parts::PARTS_MAX, placeholder::is_placeholder, plain, read, render,
};
use crate::repo::patch::{Binary, Patch};

fn edits(text: &str) -> Result<Answer, String> {
    read(&plain(text), 10, &Default::default()).map_err(|refusal| refusal.to_string())
}

fn tree(files: &[(&str, &str)]) -> (Tree, HashMap<String, Vec<u8>>) {
    let listed: String = files.iter().map(|(path, _)| format!("100644 blob 1\t{path}\0")).collect();
    let blobs = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
    (Tree::read(listed.as_bytes()).unwrap(), blobs.collect())
}

#[test]
fn a_line_names_a_path_alone_and_in_many_ways() {
    for line in [
        "src/a.rs",
        "`src/a.rs`",
        "**src/a.rs**",
        "### src/a.rs",
        "#### `src/a.rs`:",
        "File: src/a.rs",
        "**File:** `src/a.rs`",
        "- src/a.rs",
        "1. `src/a.rs`",
        "./src/a.rs",
        "Path: \"src/a.rs\"",
        "`src/a.rs` (new file)",
        "**`src/a.rs`**:",
        "__src/a.rs__",
    ] {
        assert_eq!(names::of_line(line).as_deref(), Some("src/a.rs"), "{line}");
    }
    for line in [
        "",
        "Done.",
        "Note:",
        "**Important**",
        "Change the loop:",
        "see https://example.org/a",
        "1.2.3",
        "foo()",
        "a, b",
        "x = y.z",
        "<<<<<<< SEARCH",
        "and so on",
        "# Usage",
        "In `a.rs`, do this:",
    ] {
        assert_eq!(names::of_line(line), None, "{line}");
    }
    for (line, path) in [
        ("Makefile", "Makefile"),
        ("`.gitignore`", ".gitignore"),
        ("File: v", "v"),
        ("app/[id]/p.tsx", "app/[id]/p.tsx"),
    ] {
        assert_eq!(names::of_line(line).as_deref(), Some(path), "{line}");
    }
}

#[test]
fn a_sentence_names_the_one_path_that_it_has_in_backticks() {
    assert_eq!(names::of_sentence("In `src/a.rs`, call `run()`:").as_deref(), Some("src/a.rs"));
    assert_eq!(names::of_sentence("Move `a.rs` to `b.rs`:"), None);
    assert_eq!(names::of_sentence("In src/a.rs:"), None);
}

#[test]
fn a_fence_names_a_path_beside_its_language() {
    for info in [
        "src/a.rs",
        "rust path=src/a.rs",
        "rust title=\"src/a.rs\"",
        "rust:src/a.rs",
        "rust src/a.rs",
        "rs {file=src/a.rs}",
    ] {
        assert_eq!(names::of_fence(info).as_deref(), Some("src/a.rs"), "{info}");
    }
    for info in ["", "rust", "c++", "rust,ignore", "asp.net", "rust linenos", "Makefile"] {
        assert_eq!(names::of_fence(info), None, "{info}");
    }
}

#[test]
fn a_fence_is_closed_by_one_that_is_as_long_and_not_further_in() {
    let fence = Fence::open("````rust x").unwrap();
    assert_eq!((fence.info, fence.language(), fence.indent), ("rust x", "rust", 0));
    assert!(fence.is_closed_by("````") && fence.is_closed_by("`````  "));
    assert!(!fence.is_closed_by("```") && !fence.is_closed_by(" ````") && !fence.is_closed_by("````x"));
    assert!(
        Fence::open("``x").is_none() && Fence::open("```a``` b").is_none() && Fence::open("x ```").is_none()
    );
}

#[test]
fn placeholders_are_comments_that_stand_for_more() {
    for line in [
        "// ... existing code ...",
        "# rest unchanged",
        "/* ... */",
        "<!-- ... rest of the page ... -->",
        "    # ... (rest of the function remains the same)",
        "-- ...",
        "{/* ... existing JSX ... */}",
        "// …",
        "# ... existing imports ...",
        "// rest of the code remains unchanged",
    ] {
        assert!(is_placeholder(line), "{line}");
    }
    for line in [
        "...",
        "x = ...",
        "# Loading...",
        "// wait a bit more...",
        "def f(): ...",
        "# the rest is history",
        "// unchanged",
        "",
        "#",
        "//",
    ] {
        assert!(!is_placeholder(line), "{line}");
    }
}

#[test]
fn a_document_keeps_line_ends_and_places() {
    let bytes = b"a\r\nb\nc";
    let mut document = Document::new(bytes).unwrap();
    assert_eq!(document.bytes(), bytes);
    let places: Vec<usize> = document.places().collect();
    assert_eq!(places, [1, 2, 3]);
    document.remove(2);
    let end = document.end_at(1);
    let new = document.insert(1, b"x".as_slice().into(), end);
    assert_eq!(document.bytes(), b"a\r\nx\r\nc");
    assert_eq!((document.number(3), document.number(new)), (3, 2));
    for place in [1, 3, new] {
        document.remove(place);
    }
    assert!(document.is_empty() && document.bytes().is_empty());
}

#[test]
fn one_diff_names_its_files_and_hunks() {
    let answer = edits(
        "--- a/x\n+++ b/x\n@@ -1,9 @@\n-a\n+b\n@@\n c\n+d\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-z\n",
    )
    .unwrap();
    assert_eq!(answer.format, Format::Diff);
    let paths: Vec<&str> = answer.edits.iter().map(|edit| edit.path.as_str()).collect();
    assert_eq!(paths, ["x", "y"]);
    let Action::Change(changes) = &answer.edits[0].action else { panic!("{answer:?}") };
    let labels: Vec<&str> = changes.iter().map(|change| change.readings[0].label.as_str()).collect();
    assert_eq!(labels, ["hunk 1", "hunk 2"]);
    assert_eq!(changes[0].readings[0].line, Some(1));
    assert!(matches!(&answer.edits[1].action, Action::Delete { shown } if shown.len() == 1));
}

#[test]
fn blocks_of_one_file_are_one_edit() {
    let block = |n| format!("<<<<<<< SEARCH\na{n}\n=======\nb{n}\n>>>>>>> REPLACE\n");
    let answer = edits(&format!("x.c\n{}{}y.c\n{}", block(1), block(2), block(3))).unwrap();
    let count = |edit: &FileEdit| match &edit.action {
        Action::Change(changes) => changes.iter().map(|change: &Change| change.readings.len()).sum(),
        _ => 0,
    };
    assert_eq!(answer.edits.iter().map(count).collect::<Vec<usize>>(), [2, 1]);
}

#[test]
fn t5_what_is_rendered_is_an_exact_diff() {
    let (tree, blobs) = tree(&[("a", "1\n2\n3\n4\n5\n6\n7\n8\n9"), ("gone", "x\n"), ("same", "s\n")]);
    let answer = edits(
        "*** Begin Patch\n*** Update File: a\n@@\n-5\n+five\n*** Delete File: gone\n*** Add File: new\n+n\n*** End Patch\n",
    );
    let outcomes = apply(&answer.unwrap().edits, &tree, &blobs).unwrap();
    let diff = String::from_utf8(render(&outcomes)).unwrap();
    insta::assert_snapshot!(diff, @r"
    diff --git a/a b/a
    --- a/a
    +++ b/a
    @@ -2,7 +2,7 @@
     2
     3
     4
    -5
    +five
     6
     7
     8
    diff --git a/gone b/gone
    deleted file mode 100644
    --- a/gone
    +++ /dev/null
    @@ -1,1 +0,0 @@
    -x
    diff --git a/new b/new
    new file mode 100644
    --- /dev/null
    +++ b/new
    @@ -0,0 +1,1 @@
    +n
    ");
}

#[test]
fn t12_t32_ten_thousand_blocks_on_five_megabytes_are_found_in_near_linear_time() {
    let line = |n: usize| format!("line {n:06} of a file that is about five megabytes");
    let file: String = (0..100_000).map(|n| format!("{}\n", line(n))).collect();
    let (tree, blobs) = tree(&[("large.txt", &file)]);
    let block = |n: usize| format!("<<<<<<< SEARCH\n{}\n=======\n{n}\n>>>>>>> REPLACE\n", line(n * 10));
    let answer: String = std::iter::once("large.txt\n".to_owned()).chain((0..10_000).map(block)).collect();
    let begin = Instant::now();
    let outcomes = apply(&edits(&answer).unwrap().edits, &tree, &blobs).unwrap();
    let new = String::from_utf8(outcomes[0].new.as_ref().unwrap().bytes.clone()).unwrap();
    assert_eq!(new.lines().filter(|line| !line.starts_with("line ")).count(), 10_000);
    // Unoptimised it takes about a second; a comparison of every block with every line would take minutes.
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
}

#[test]
fn t12_t32_matching_that_would_take_too_long_is_refused_in_time() {
    let same = "}\n".repeat(200_000);
    let parts: String = (0..100_000).map(|n| format!("a x{n}y b\n")).collect();
    let (tree, blobs) = tree(&[("same.txt", &same), ("parts.txt", &parts)]);
    let search = "}\n".repeat(2_000);
    let blocks = format!("same.txt\n<<<<<<< SEARCH\n{search}=======\n{{\n>>>>>>> REPLACE\n");
    let edit = |n| format!("{{\"path\": \"parts.txt\", \"search\": \"x{n}y\", \"replace\": \"z\"}}");
    let document = format!("{{\"edits\": [{}]}}", (0..5_000).map(edit).collect::<Vec<_>>().join(","));
    for text in [blocks, document] {
        let begin = Instant::now();
        let told = apply(&edits(&text).unwrap().edits, &tree, &blobs).unwrap_err().to_string();
        assert_eq!(told, "finding the places of the answer takes more than 20000000 comparisons");
        // Unoptimised a few seconds; without the limit it would be minutes.
        assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    }
}

#[test]
fn t12_t13_t31_an_answer_has_at_most_ten_thousand_parts_in_every_format() {
    let diff = |n| format!("--- a/f\n+++ b/f\n{}", "@@ -1 +1 @@\n-q\n+r\n".repeat(n));
    let added = |n| format!("--- a/f\n+++ b/f\n{}", "@@\n+\n".repeat(n));
    let headless = |n| format!("f.txt\n```diff\n{}```\n", "@@ -1 +1 @@\n-q\n+r\n".repeat(n));
    let envelope = |n| format!("*** Begin Patch\n*** Update File: f\n{}*** End Patch\n", "@@\n-\n".repeat(n));
    let blocks = |n| format!("f.txt\n{}", "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n".repeat(n));
    let listed = |n| {
        let block = "  ```\n  <<<<<<< SEARCH\n  a\n  =======\n  b\n  >>>>>>> REPLACE\n  ```\n";
        format!("f.txt\n{}", block.repeat(n))
    };
    let json = |n| {
        let edit = "{\"path\": \"f\", \"search\": \"a\", \"replace\": \"b\"}";
        format!("{{\"edits\": [{}]}}", vec![edit; n].join(","))
    };
    let whole = |n| "```rust path=f.rs\n```\n".repeat(n);
    let formats: [&dyn Fn(usize) -> String; 8] =
        [&diff, &added, &headless, &envelope, &blocks, &listed, &json, &whole];
    for (n, answer) in formats.iter().enumerate() {
        if let Err(told) = edits(&answer(PARTS_MAX)) {
            panic!("format {n}: {told}");
        }
        assert_eq!(
            edits(&answer(PARTS_MAX + 1)).unwrap_err(),
            "the answer has more than 10000 hunks or blocks; give larger ones, or whole files",
            "format {n}"
        );
    }
}

/// Pieces of every format, so that arbitrary text is often nearly one of them.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "--- a/a.txt\n",
        "+++ b/a.txt\n",
        "--- /dev/null\n",
        "+++ b/new\n",
        "diff --git a/a.txt b/a.txt\n",
        "@@\n",
        "@@ -1,3 +1,4 @@\n",
        "@@ -4294967295,9 +0 @@\n",
        "@@ ... @@\n",
        " one\n",
        "-two\n",
        "+2\n",
        "\n",
        "\\ No newline\n",
        "<<<<<<< SEARCH\n",
        "=======\n",
        ">>>>>>> REPLACE\n",
        "<<<<<<< HEAD\n",
        ">>>>>>> x\n",
        "a.txt\n",
        "`a.txt`\n",
        "*** Begin Patch\n",
        "*** Update File: a.txt\n",
        "*** Add File: n\n",
        "*** Delete File: a.txt\n",
        "*** End Patch\n",
        "*** Move to: m\n",
        "*** End of File\n",
        "@@ one\n",
        "```\n",
        "```diff\n",
        "```rust path=a.txt\n",
        "  ```\n",
        "````\n",
        "{\"edits\": [",
        "{\"path\": \"a.txt\", \"search\": \"o\", \"replace\": \"\"}",
        "]}\n",
        "one\n",
        "two\n",
        "three\n",
        "<think>",
        "</think>",
        "rename from a.txt\n",
        "rename to b\n",
        "new file mode 100755\n",
        "old mode é\n",
        "\r\n",
        "é",
        "deleted file mode 100644\n",
        "index 1..2\n",
        "-- \n",
        "***************\n",
        "*** 1 ****\n",
        "{\n\"notes\"",
        "one\ntwo\n",
    ];
    prop_oneof![9 => proptest::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => "\\PC{0,12}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn t32_no_text_makes_reading_or_applying_panic(pieces in vec(piece(), 0..40), base in vec(piece(), 0..12)) {
        let (tree, blobs) = tree(&[("a.txt", &format!("one\ntwo\nthree\n{}", base.concat()))]);
        if let Ok(answer) = edits(&pieces.concat())
            && let Ok(outcomes) = apply(&answer.edits, &tree, &blobs)
        {
            let diff = String::from_utf8(render(&outcomes)).unwrap();
            let patch = Patch::read(&diff, Binary::Refused, u64::MAX);
            prop_assert_eq!(patch.map(|patch| patch.files.len()), Ok(outcomes.len()), "{}", diff);
        }
    }

    #[test]
    fn t32_arbitrary_characters_are_read_without_a_panic(text in any::<String>()) {
        let _ = edits(&text);
    }
}

/// A value of two bytes takes hundreds once it is read: what is too much is refused before.
#[test]
fn t12_t32_a_document_is_bounded_before_it_is_read() {
    let refused = |text: &str| edits(text).unwrap_err();
    let deep = format!("{{\"edits\": {}", "[".repeat(1_000_000));
    assert_eq!(refused(&deep), "the JSON document is nested deeper than edits are");
    let nested = r#"{"edits": [{"path": {"x": 1}, "content": "y"}]}"#;
    assert_eq!(refused(nested), "the JSON document is nested deeper than edits are");
    for one in ["{}", "0", "[]"] {
        let many = format!("{{\"edits\": [{}]}}", vec![one; 300_000].join(","));
        assert_eq!(refused(&many), "the JSON document has more than 10000 edits", "{one}");
    }
    // Signs inside of a text are text, and what follows the document is not looked at.
    let signs = r#"{"edits": [{"path": "a.txt", "content": "{[\"{[,,\\"}], "notes": "[[[["} {{{{{{ [[[["#;
    assert_eq!(edits(signs).unwrap().edits.len(), 1);
}
