//! Answers in every format, on a small base: as an exact diff and as edits. What comes of them is written as a diff, which an
//! applier of this file's own takes to the same files.

use std::{
    collections::{BTreeSet, HashMap},
    sync::LazyLock,
};

use azolla_fuzz::Verdict;

use super::path::{holds, holds_of_created};
use crate::repo::{
    PatchLimits,
    edit::{self, Answer, FileEdit, Tree},
    patch::{self, Binary, Patch},
    paths_of, policy,
};

pub(super) const WORDS: &[&str] = &[
    "diff --git a/src/lib.rs b/src/lib.rs\n",
    "--- a/src/lib.rs\n",
    "+++ b/src/lib.rs\n",
    "--- /dev/null\n",
    "+++ /dev/null\n",
    "@@ -1,3 +1,3 @@\n",
    "@@\n",
    "@@ ... @@\n",
    "\\ No newline at end of file\n",
    "new file mode 100644\n",
    "deleted file mode 100644\n",
    "old mode 100644\nnew mode 100755\n",
    "new file mode 120000\n",
    "rename from README.md\n",
    "rename to b\n",
    "index 0000000..1111111 100644\n",
    "GIT binary patch\n",
    "literal 4\n",
    "delta 4\n",
    "Binary files a and b differ\n",
    "<<<<<<< SEARCH\n",
    "=======\n",
    ">>>>>>> REPLACE\n",
    "*** Begin Patch\n",
    "*** Update File: README.md\n",
    "*** Add File: x.txt\n",
    "*** Delete File: README.md\n",
    "*** Move to: y.txt\n",
    "*** End of File\n",
    "*** End Patch\n",
    "```\n",
    "```diff\n",
    "```rust src/lib.rs\n",
    "~~~~\n",
    "{\"edits\":[",
    "{\"path\":\"README.md\",",
    "\"search\":\"",
    "\"replace\":\"",
    "\"content\":\"",
    "\"delete\":true",
    "],\"notes\":\"\"}",
    "<thinking>",
    "</thinking>",
    "README.md",
    "src/lib.rs",
    "crlf.txt",
    "bare.txt",
    "conf.yaml",
    "empty.txt",
    "link",
    "module",
    "run.sh",
    "`README.md`:\n",
    "File: conf.yaml\n",
    "\r\n",
    "+",
    "-",
    " ",
    "\t",
    "    ",
    "// ...\n",
    "../",
    ".git/config",
    "\"a/\\303\\251\"",
];

/// A file of every sort.
const BASE: &[(&str, &str, &[u8])] = &[
    ("100644", "README.md", b"# Sums\n\nAdds numbers.\n"),
    ("100644", "app/greet.py", b"import sys\n\n\ndef greet(name):\n    return \"Hello \" + name\n\n\ndef part(name):\n    return \"Bye \" + name\n"),
    ("100644", "bare.txt", b"one\ntwo\nthree"),
    ("100644", "binary", b"\0\x01\xff\n"),
    ("100644", "conf.yaml", b"web:\n  port: 80\n  host: a\napi:\n  port: 80\n  host: b\n"),
    ("100644", "crlf.txt", b"one\r\ntwo\r\nthree\r\n"),
    ("100644", "empty.txt", b""),
    ("100644", "latin.txt", b"caf\xe9\nth\xe9\n"),
    ("120000", "link", b"README.md"),
    ("160000", "module", b""),
    ("100755", "run.sh", b"#!/bin/sh\n\trun \\\n\t\tit\n"),
    ("100644", "src/lib.rs", b"//! Sums.\n\npub fn sum(values: &[i64]) -> i64 {\n    let mut total = 0;\n    for value in values {\n        total += value;\n    }\n    total\n}\n\npub fn mean(values: &[i64]) -> i64 {\n    sum(values) / values.len() as i64\n}\n"),
];

const LIMITS: PatchLimits = PatchLimits { bytes: 16 << 10, files: 6, file_bytes: 4 << 10 };

static FILES: LazyLock<(Tree, HashMap<String, Vec<u8>>)> = LazyLock::new(|| {
    let listed: Vec<u8> =
        BASE.iter().flat_map(|(mode, path, _)| format!("{mode} blob 1\t{path}\0").into_bytes()).collect();
    let blobs = BASE.iter().map(|(_, path, bytes)| ((*path).to_owned(), bytes.to_vec()));
    (Tree::read(&listed).expect("a list as git makes it"), blobs.collect())
});

pub(super) fn check(bytes: &[u8]) -> Verdict {
    let Ok(text) = std::str::from_utf8(bytes) else { return Verdict::Refused };
    let text = &*edit::plain(text);
    let taken = [exactly(text, Binary::Refused), exactly(text, Binary::Allowed), edits(text)];
    if taken.contains(&true) { Verdict::Taken } else { Verdict::Refused }
}

/// A diff that is taken as it stands: it says the same once it is written again.
fn exactly(text: &str, binary: Binary) -> bool {
    let found = match binary {
        Binary::Refused => patch::find(text).ok().flatten(),
        Binary::Allowed => Some(text),
    };
    let Some(patch) = found.and_then(|diff| Patch::read(diff, binary, LIMITS.files).ok()) else {
        return false;
    };
    assert!(patch.files.len() as u64 <= LIMITS.files);
    if policy::check(&patch, &LIMITS).is_err() {
        return false;
    }
    patch.paths().into_iter().for_each(holds);
    for file in &patch.files {
        file.new.iter().filter(|new| file.old.as_ref() != Some(*new)).for_each(|new| holds_of_created(new));
        assert!(file.added_bytes() <= LIMITS.file_bytes, "{}", file.path());
    }
    let written = patch.render();
    let again = Patch::read(&written, binary, LIMITS.files)
        .unwrap_or_else(|refusal| panic!("what was taken is refused once written: {refusal}\n{written}"));
    assert_eq!(again.render(), written);
    assert_eq!(again.paths(), patch.paths());
    assert_eq!(policy::check(&again, &LIMITS), Ok(()), "{written}");
    let shown: BTreeSet<String> = paths_of(&written).into_iter().collect();
    assert_eq!(
        shown,
        patch.paths().into_iter().map(str::to_owned).collect(),
        "a reviewer is shown other paths"
    );
    !patch.files.is_empty()
}

/// Edits of any format: the files that they make are those that their diff makes.
fn edits(text: &str) -> bool {
    let (tree, blobs) = &*FILES;
    let known = edit::bare_names(text)
        .into_iter()
        .filter(|name| tree.get(name).is_some())
        .map(str::to_owned)
        .collect();
    let Ok(Answer { edits, .. }) = edit::read(text, LIMITS.files, &known) else { return false };
    if edits.iter().map(FileEdit::bytes).sum::<u64>() > LIMITS.bytes
        || policy::check_edits(&edits, &LIMITS).is_err()
    {
        return false;
    }
    let Ok(outcomes) = edit::apply(&edits, tree, blobs) else { return false };
    for outcome in &outcomes {
        holds(&outcome.path);
        let base = BASE.iter().find(|(_, path, _)| *path == outcome.path);
        assert_eq!(outcome.old.as_ref().map(|old| old.bytes.as_slice()), base.map(|(_, _, bytes)| *bytes));
        let Some(new) = &outcome.new else { continue };
        assert!(matches!(new.mode.as_str(), "100644" | "100755"), "{} gets mode {}", outcome.path, new.mode);
        assert!(new.bytes.len() <= most(text), "{} gets {} bytes", outcome.path, new.bytes.len());
        if outcome.old.is_none() {
            holds_of_created(&outcome.path);
        }
    }
    let diff = edit::render(&outcomes);
    let sections = sections(&diff);
    assert_eq!(sections.len(), outcomes.len());
    for (outcome, section) in outcomes.iter().zip(sections) {
        let old = outcome.old.as_ref().map_or(&[][..], |old| &old.bytes);
        let new = outcome.new.as_ref().map_or(&[][..], |new| &new.bytes);
        let made = applied(old, section);
        assert_eq!(
            made.escape_ascii().to_string(),
            new.escape_ascii().to_string(),
            "{}",
            section.escape_ascii()
        );
    }
    // What is not UTF-8 in the base is in the diff too, and git reads it as it is.
    if let Ok(diff) = std::str::from_utf8(&diff) {
        let patch = Patch::read(diff, Binary::Refused, LIMITS.files * 2)
            .unwrap_or_else(|refusal| panic!("our own diff is refused: {refusal}\n{diff}"));
        assert_eq!(patch.paths(), outcomes.iter().map(|outcome| outcome.path.as_str()).collect());
    }
    !outcomes.is_empty()
}

/// A file gets no more than it had and what the answer has, each of its lines indented as far as any other.
fn most(text: &str) -> usize {
    const BASE_BYTES: usize = 1 << 10;
    let lines = text.matches(['\n', '\\']).count() + 2;
    BASE_BYTES + lines * (text.len() + BASE_BYTES)
}

/// Splits a diff of ours where a file begins; every line inside of a hunk has a sign before it.
fn sections(diff: &[u8]) -> Vec<&[u8]> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in diff.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"diff --git ") {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().copied().skip(1).chain([diff.len()]);
    starts.iter().zip(ends).map(|(start, end)| &diff[*start..end]).collect()
}

/// Applies the section of one file, strictly: every line of context and every line that goes has to be where it is said to be.
fn applied(old: &[u8], section: &[u8]) -> Vec<u8> {
    let base: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    let (mut new, mut at, mut counts) = (Vec::new(), 0, None);
    let mut lines = section.split_inclusive(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        if let Some(header) = line.strip_prefix(b"@@ -") {
            let header = std::str::from_utf8(header).expect("numbers");
            let numbers: Vec<usize> = header
                .split(|c: char| !c.is_ascii_digit())
                .filter(|number| !number.is_empty())
                .map(|number| number.parse().expect("a number"))
                .collect();
            let [start, old_count, _, new_count] = numbers[..] else { panic!("{header}") };
            let begin = if old_count == 0 { start } else { start - 1 };
            new.extend(base[at..begin].concat());
            (at, counts) = (begin, Some((old_count, new_count)));
            continue;
        }
        let Some((old_left, new_left)) = &mut counts else { continue };
        let (sign, rest) = line.split_first().expect("a line has a sign");
        let has_end = lines.next_if(|next| next.starts_with(b"\\ ")).is_none();
        let content = if has_end { rest } else { rest.strip_suffix(b"\n").unwrap_or(rest) };
        if matches!(sign, b' ' | b'-') {
            assert_eq!(
                base[at].escape_ascii().to_string(),
                content.escape_ascii().to_string(),
                "the base is another one"
            );
            at += 1;
            *old_left -= 1;
        }
        if matches!(sign, b' ' | b'+') {
            new.extend_from_slice(content);
            *new_left -= 1;
        }
    }
    assert!(counts.is_none_or(|counts| counts == (0, 0)), "the counts of a hunk are wrong");
    new.extend(base[at..].concat());
    new
}
