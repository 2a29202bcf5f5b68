//! How a patch is read and written again.

use super::{Binary, Patch, find, paths_of, quote};

fn read(text: &str) -> Result<Patch<'_>, String> {
    Patch::read(text, Binary::Refused, 10).map_err(|refusal| refusal.to_string())
}

#[test]
fn every_form_of_a_header_is_written_in_one_form() {
    let text = "--- sub/a b.txt\t2026-01-01\n+++ sub/a b.txt\t2026-01-02\n@@ -1 +1,2 @@ fn x()\n a\n+b\n";
    let patch = read(text).unwrap();
    let expected =
        "diff --git \"a/sub/a b.txt\" \"b/sub/a b.txt\"\n--- \"a/sub/a b.txt\"\n+++ \"b/sub/a b.txt\"\n";
    assert!(patch.render().starts_with(expected), "{}", patch.render());
}

#[test]
fn what_was_written_reads_the_same() {
    let text = "diff --git a/x b/x\nnew file mode 100755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n\
        diff --git \"a/\\303\\266 \\\"q\" \"b/\\303\\266 \\\"q\"\ndeleted file mode 100644\n--- \"a/\\303\\266 \\\"q\"\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\
        diff --git a/m b/m\nold mode 100644\nnew mode 100755\n\
        diff --git a/o b/n\nrename from o\nrename to n\n";
    let patch = read(text).unwrap();
    assert_eq!(patch.paths().into_iter().collect::<Vec<_>>(), ["m", "n", "o", "x", "ö \"q"]);
    let written = patch.render();
    assert_eq!(read(&written).unwrap(), patch, "{written}");
}

#[test]
fn an_empty_line_stands_for_empty_context() {
    let patch = read("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n").unwrap();
    assert!(patch.render().ends_with("@@ -1,3 +1,3 @@\n a\n \n-b\n+c\n"), "{}", patch.render());
}

#[test]
fn lines_inside_a_hunk_are_never_headers() {
    let text = "--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n a\n--- a/y\n+++ b/y\n+@@ -1 +1 @@\n b\n";
    let patch = read(text).unwrap();
    assert_eq!(patch.paths().into_iter().collect::<Vec<_>>(), ["x"]);
}

#[test]
fn nothing_after_a_diff_is_dropped_silently() {
    let good = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    for rest in ["+c\n", " c\n", "-c\n", "\n+c\n", "and\n@@ -5 +5 @@\n-a\n+b\n", "so\n--- a/y\n+++ b/y\n"] {
        assert!(read(&format!("{good}{rest}")).is_err(), "{rest:?}");
    }
    for rest in ["", "-- \n2.39.5\n", "\nThat is all.\n- a point\n"] {
        assert!(read(&format!("{good}{rest}")).is_ok(), "{rest:?}");
    }
}

#[test]
fn huge_numbers_in_a_hunk_are_refused() {
    for header in ["@@ -1,99999999999 +1 @@", "@@ -4294967296 +1 @@", "@@ --1 +1 @@", "@@ -1 1 @@"] {
        assert!(read(&format!("--- a/x\n+++ b/x\n{header}\n-a\n+b\n")).is_err(), "{header}");
    }
    assert!(read("--- a/x\n+++ b/x\n@@ -1,4294967295 +1,4294967295 @@\n a\n").is_err());
}

#[test]
fn a_fence_in_a_diff_is_content() {
    let diff = "--- a/x.md\n+++ b/x.md\n@@ -1 +1,3 @@\n a\n+```sh\n+```\n";
    assert_eq!(find(diff).unwrap(), Some(diff));
    let fenced = format!("Look:\n```diff\n{diff}```\n");
    assert_eq!(find(&fenced).unwrap(), Some(diff));
    let longer = format!("````\n```\n{diff}```\n````\n");
    assert!(find(&longer).unwrap().unwrap().starts_with(diff));
    assert_eq!(find("```sh\nls\n```\n").unwrap(), None);
}

#[test]
fn names_are_quoted_as_git_does() {
    assert_eq!(quote::quote("plain-ö"), "plain-ö");
    assert_eq!(quote::quote("a\"b\\c\n"), "\"a\\\"b\\\\c\\012\"");
    assert_eq!(quote::unquote_whole("\"a\\\"b\\\\c\\012\\t\"").unwrap(), "a\"b\\c\n\t");
    for bad in ["\"a", "\"a\\", "\"a\\x\"", "\"a\\77\"", "\"a\"b", "\"\\377\""] {
        assert!(quote::unquote_whole(bad).is_err(), "{bad}");
    }
}

#[test]
fn t17_the_paths_of_a_stored_diff_are_told_even_if_it_cannot_be_read() {
    let good = "diff --git a/z b/z\nold mode 100644\nnew mode 100755\n\
        diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n\n\
        diff --git a/l b/l\ndeleted file mode 100644\nindex 1..0\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
        diff --git a/l b/l\nnew file mode 120000\nindex 0..1\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+z\n";
    assert_eq!(paths_of(good), ["l", "n", "o", "z"]);
    let bad = "diff --git a/src/a b.rs b/src/a b.rs\n--- a/src/a b.rs\n+++ b/src/a b.rs\n@@ -1 +1 @@\n\
        -diff --git a/no b/no\n+x\n diff --git a/no b/no\n\
        diff --git \"a/t\\303\\274\\n\\\"\" \"b/t\\303\\274\\n\\\"\"\nnew file mode 100644\n\
        diff --git a/x b/y\n";
    assert_eq!(paths_of(bad), ["src/a b.rs", "tü\n\""]);
    assert_eq!(paths_of(""), Vec::<String>::new());
}
