//! Diffs as git writes them, taken apart; and what changed inside of lines.

use super::{
    intraline::{LINE_CHARS_MAX, Left, Piece, pieces},
    *,
};

const CHANGED: &str = "diff --git a/src/share.sh b/src/share.sh\nindex 1..2 100644\n--- a/src/share.sh\n+++ b/src/share.sh\n\
@@ -3,4 +3,5 @@ share() {\n local total=$1\n-echo $((total / people))\n+# half up\n+echo $(((total + people / 2) / people))\n \n }\n";

#[test]
fn a_change_has_its_lines_with_both_numbers() {
    let files = read(CHANGED);
    let [file] = &files[..] else { panic!("{files:?}") };
    assert_eq!((file.path(), file.word(), file.added, file.removed), ("src/share.sh", "changed", 2, 1));
    assert_eq!(file.hunks[0].place, "share() {");
    let numbers: Vec<_> = file.hunks[0].lines.iter().map(|line| (line.sign, line.old, line.new)).collect();
    assert_eq!(
        numbers,
        [
            (Sign::Same, Some(3), Some(3)),
            (Sign::Removed, Some(4), None),
            (Sign::Added, None, Some(4)),
            (Sign::Added, None, Some(5)),
            (Sign::Same, Some(5), Some(6)),
            (Sign::Same, Some(6), Some(7)),
        ]
    );
    assert_eq!(file.hunks[0].lines[4].text, "");
    assert_eq!(file.lines(), 6);
}

#[test]
fn a_line_inside_of_a_hunk_is_never_a_header() {
    let text = "diff --git a/n b/n\n--- a/n\n+++ b/n\n@@ -1,3 +1,3 @@\n---- a/x\n+diff --git a/y b/y\n @@ -1 +1 @@\n +++ b/z\n\
                diff --git a/m b/m\nnew file mode 100755\n--- /dev/null\n+++ b/m\n@@ -0,0 +1 @@\n+one\n\\ No newline at end of file\n";
    let files = read(text);
    let [first, second] = &files[..] else { panic!("{files:?}") };
    let texts: Vec<_> = first.hunks[0].lines.iter().map(|line| line.text).collect();
    assert_eq!(texts, ["--- a/x", "diff --git a/y b/y", "@@ -1 +1 @@", "+++ b/z"]);
    assert_eq!((second.word(), second.remarks.as_slice()), ("new", &["can be executed".to_owned()][..]));
    assert!(second.hunks[0].lines[0].is_unended);
}

#[test]
fn a_rename_a_mode_a_binary_and_an_empty_file_say_what_they_are() {
    let text = "diff --git a/old name b/new\nsimilarity index 100%\nrename from old name\nrename to new\n\
                diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n\
                diff --git a/logo.png b/logo.png\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmZ\n\nliteral 0\nH\n\n\
                diff --git a/empty b/empty\nnew file mode 100644\nindex 000..e69\n\
                diff --git a/gone b/gone\ndeleted file mode 100644\nindex e69..000\n";
    let told: Vec<_> = read(text)
        .iter()
        .map(|file| format!("{} {} {:?} {}", file.path(), file.word(), file.remarks, file.lines()))
        .collect();
    assert_eq!(
        told,
        [
            "new renamed [\"renamed from old name\"] 0",
            "run.sh changed [\"mode 100644 to 100755\"] 0",
            "logo.png changed [\"binary, not shown\"] 0",
            "empty new [] 0",
            "gone removed [] 0",
        ]
    );
}

#[test]
fn quoted_names_and_names_with_blanks_are_read() {
    let text = "diff --git \"a/caf\\303\\251 \\\"x\\\".txt\" \"b/caf\\303\\251 \\\"x\\\".txt\"\nindex 1..2 100644\n\
                diff --git a/a b/b b/a b/b\nindex 1..2 100644\n\
                diff --git \"a/x\\\" y\\\\\" \"b/x\\\" y\\\\\"\nindex 1..2 100644\n";
    let paths: Vec<_> = read(text).iter().map(|file| file.path().to_owned()).collect();
    assert_eq!(paths, ["café \"x\".txt", "a b/b", "x\" y\\"]);
}

#[test]
fn what_is_no_diff_is_no_file() {
    for text in ["", "\n\n", "@@ -1 +1 @@\n-a\n+b\n", "diff --git"] {
        assert_eq!(read(text), [], "{text:?}");
    }
    // Counts that lie end with the text.
    assert_eq!(read("diff --git a/n b/n\n@@ -1,9 +1,99999999999999999999 @@\n-a\n")[0].removed, 1);
}

fn marked(pieces: &[Piece<'_>]) -> String {
    pieces
        .iter()
        .map(|piece| if piece.differs { format!("[{}]", piece.text) } else { piece.text.to_owned() })
        .collect()
}

#[test]
fn words_that_differ_are_marked_in_both_lines() {
    let line = |sign, text| Line { sign, old: None, new: None, text, is_unended: false };
    let table = [
        ("let total = a + b;", "let total = a - b;", "let total = a [+] b;", "let total = a [-] b;"),
        ("fn share(n: u32)", "fn share(n: u64, m: u64)", "fn share(n: [u32])", "fn share(n: [u64, m: u64])"),
        ("same", "same", "same", "same"),
        ("", "new", "", "new"),
        ("one thing", "quite another", "one thing", "quite another"),
        ("é = \"ä\"", "é = \"ö\"", "é = \"[ä]\"", "é = \"[ö]\""),
    ];
    for (old, new, before, after) in table {
        let found = pieces(
            &[line(Sign::Same, "x"), line(Sign::Removed, old), line(Sign::Added, new)],
            &mut Left::default(),
        );
        assert_eq!((marked(&found[1]).as_str(), marked(&found[2]).as_str()), (before, after));
    }
    // Lines are paired in their order; one too many stands alone.
    let three = [line(Sign::Removed, "a = 1"), line(Sign::Removed, "b = 1"), line(Sign::Added, "a = 2")];
    let found = pieces(&three, &mut Left::default());
    assert_eq!(
        found.iter().map(|pieces| marked(pieces)).collect::<Vec<_>>(),
        ["a = [1]", "b = 1", "a = [2]"]
    );
}

/// Lines that differ in one word in their middle, of `chars` characters.
fn commas(chars: usize) -> (String, String) {
    let half = "a,".repeat(chars / 4);
    (format!("{half}b,{half}"), format!("{half}c,{half}"))
}

#[test]
fn a_line_that_is_shown_cut_is_not_compared() {
    let line = |sign, text| Line { sign, old: None, new: None, text, is_unended: false };
    let (old, new) = commas(1_000_000);
    let mut left = Left::default();
    let found = pieces(&[line(Sign::Removed, &old), line(Sign::Added, &new)], &mut left);
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
    assert!(found.iter().flatten().all(|piece| !piece.differs) && left == Left::default());
    // One that is shown whole is.
    let (old, new) = commas(LINE_CHARS_MAX - 2);
    let found = pieces(&[line(Sign::Removed, &old), line(Sign::Added, &new)], &mut left);
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3]);
    // One is enough to be long.
    let long = format!("{old}{}", "x".repeat(LINE_CHARS_MAX));
    let found = pieces(&[line(Sign::Removed, &old), line(Sign::Added, &long)], &mut left);
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn a_page_compares_so_much_and_then_the_ends_alone() {
    let line = |sign, text| Line { sign, old: None, new: None, text, is_unended: false };
    // As much as one pair may have: 200 words that are all different but for every second one.
    let middle = |word: &str| format!("{word} ").repeat(100);
    let same = "the same beginning of both lines, which is long enough to count for a third of it ".repeat(2);
    let (old, new) = (format!("{same}{}end", middle("a")), format!("{same}{}end", middle("b")));
    let two = [line(Sign::Removed, &old), line(Sign::Added, &new)];
    let mut left = Left::default();
    let first = pieces(&two, &mut left);
    assert!(first[0].len() > 100 && left != Left::default());
    let mut last = first.clone();
    for _ in 0..1_000 {
        last = pieces(&two, &mut left);
    }
    assert_eq!(last.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3]);
}
