//! The path policy, name by name.

use super::{
    changes_twice, check as check_patch, check_edits,
    path::{check, check_created, check_link},
};
use crate::repo::{
    PatchLimits,
    edit::{Action, FileEdit},
    patch::{Binary, Patch},
};

#[test]
fn t1_t2_ordinary_names_pass() {
    for name in [
        "a",
        ".gitignore",
        ".gitattributes",
        ".github/x",
        "git",
        "gitx",
        ".gitx",
        "a.git/x",
        "x~1",
        "...",
        "a..b",
        "日本/ö",
        "git~",
        "git~x",
        "gi7eb~1",
        "gi7~x000",
        "-rf",
        "with blank",
        ".g",
        "gitmodules",
        "a:b",
        "x.",
        "d\\e",
        "aux",
    ] {
        assert_eq!(check(name), Ok(()), "{name}");
    }
}

#[test]
fn t1_t2_every_spelling_of_git_is_refused() {
    for name in [
        ".git",
        ".GiT",
        "x/.git/y",
        "git~1",
        "GIT~12",
        ".git.",
        ".git..",
        ".git ",
        ".git. .",
        ".git:x",
        ".git::$DATA",
        "a\\.git",
        "a\\.git\\b",
        ".git\\x",
        "git~1.",
        ".gi\u{200d}t",
        "\u{feff}.git",
        ".g\u{ad}it",
        ".gitmodules",
        ".GITMODULES",
        "gitmod~1",
        "gi7eba~2",
        "GI7EB~10",
        "g~100000",
        ".gitmodule\u{17f}",
        ".g\u{131}t",
        ".gitmodules:x",
        "..",
        "a/..",
        "a\\..\\b",
        "/a",
        "",
        "a//b",
        "a/",
        "a\u{7f}",
        "a\u{85}",
    ] {
        assert!(check(name).is_err(), "{name:?}");
    }
    assert!(check(&"x".repeat(1_025)).is_err());
}

#[test]
fn t2_new_names_are_the_same_on_every_file_system() {
    for name in ["a:b", "x.", "x ", "d ./y", "d\\e", "aux", "AUX.c", "com1", "Lpt9.txt", "nul", "conin$"] {
        assert!(check_created(name).is_err(), "{name}");
    }
    for name in ["auxiliary", "com10", "com", "x.y", "lpt0", "console"] {
        assert_eq!(check_created(name), Ok(()), "{name}");
    }
}

#[test]
fn t3_a_link_stays_in_the_tree() {
    for (path, target) in
        [("l", "a"), ("l", "./a/b"), ("d/l", "../a"), ("d/e/l", "../../x"), ("l", "."), ("d/l", "..")]
    {
        assert_eq!(check_link(path, target), Ok(()), "{path} -> {target}");
    }
    for (path, target) in [
        ("l", ".."),
        ("l", "../a"),
        ("d/l", "../../a"),
        ("l", "/a"),
        ("l", "\\a"),
        ("l", "c:\\a"),
        ("l", "a/.."),
        ("d/l", ".././.."),
        ("l", "d\\..\\..\\x"),
        ("l", ""),
        ("l", "a\nb"),
        ("l", ".git"),
        ("d/l", "../.git/hooks"),
        ("l", "git~1"),
    ] {
        assert!(check_link(path, target).is_err(), "{path} -> {target}");
    }
}

/// What the policy says of a diff, where a file may get 4 bytes.
fn told(diff: &str) -> String {
    let patch = Patch::read(diff, Binary::Allowed, 10).unwrap();
    check_patch(&patch, &LIMITS).map_or_else(|refusal| refusal.to_string(), |()| "passes".to_owned())
}

fn told_of_edits(edits: &[FileEdit]) -> String {
    check_edits(edits, &LIMITS).map_or_else(|refusal| refusal.to_string(), |()| "passes".to_owned())
}

const LIMITS: PatchLimits = PatchLimits { bytes: 1_000, files: 10, file_bytes: 4 };

fn created(path: &str, mode: &str, line: &str) -> String {
    format!(
        "diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n"
    )
}

fn deleted(path: &str, mode: &str) -> String {
    format!(
        "diff --git a/{path} b/{path}\ndeleted file mode {mode}\n--- a/{path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    )
}

fn changed(path: &str) -> String {
    format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n")
}

fn renamed(old: &str, new: &str) -> String {
    format!("diff --git a/{old} b/{new}\nrename from {old}\nrename to {new}\n")
}

fn edit(path: &str, text: &str) -> FileEdit {
    let action = Action::Create(text.to_owned());
    FileEdit { path: path.to_owned(), to: None, mode: None, action }
}

#[test]
fn t13_a_file_may_get_as_much_as_its_limit_and_no_more() {
    let too_much = "x: gets more than 4 bytes, the limit for one file";
    assert_eq!(told(&created("x", "100644", "abc")), "passes");
    assert_eq!(told(&created("x", "100644", "abcd")), too_much);
    assert_eq!(told_of_edits(&[edit("x", "ab"), edit("x", "cd"), edit("y", "abcd")]), "passes");
    assert_eq!(told_of_edits(&[edit("x", "ab"), edit("x", "cde")]), too_much);
}

#[test]
fn t2_an_old_name_may_stay_and_not_be_made() {
    let colon = "a:b: has a colon in its name, which names a stream on NTFS";
    assert_eq!(told(&changed("a:b")), "passes");
    assert_eq!(told(&deleted("a:b", "100644")), "passes");
    assert_eq!(told(&renamed("a:b", "c")), "passes");
    assert_eq!(told(&renamed("c", "a:b")), colon);
    assert_eq!(told(&created("a:b", "100644", "x")), colon);
    assert_eq!(told_of_edits(&[edit("a:b", "x")]), colon);
    let moved = |path: &str, to: &str| FileEdit {
        to: Some(to.to_owned()),
        action: Action::Change(Vec::new()),
        ..edit(path, "")
    };
    assert_eq!(told_of_edits(&[moved("a:b", "c")]), "passes");
    assert_eq!(told_of_edits(&[moved("c", "a:b")]), colon);
    assert_eq!(told_of_edits(&[moved("c", "../d")]), "../d: has . or .. in its path");
}

#[test]
fn t5_t6_modes_are_those_of_files_and_links() {
    let odd = |mode: &str| format!("x: has mode {mode}; only 100644, 100755 and 120000 may be");
    let submodule = "x: is a submodule; those are not changed";
    for (mode, of_diff, of_edit) in [
        ("100644", "passes", "passes"),
        ("100755", "passes", "passes"),
        ("120000", "passes", "x: is a link; a link is changed by an exact diff only"),
        ("160000", submodule, submodule),
        ("100600", &*odd("100600"), &*odd("100600")),
    ] {
        assert_eq!(told(&created("x", mode, "a")), of_diff);
        assert_eq!(told(&deleted("x", mode)), of_diff);
        assert_eq!(told_of_edits(&[FileEdit { mode: Some(mode.to_owned()), ..edit("x", "a") }]), of_edit);
    }
    let becomes =
        |old: &str, new: &str| told(&format!("diff --git a/x b/x\nold mode {old}\nnew mode {new}\n"));
    assert_eq!(becomes("100644", "100755"), "passes");
    for (old, new) in [("100644", "120000"), ("120000", "100755")] {
        assert_eq!(becomes(old, new), "x: turns a file into a link or a link into a file in place");
    }
}

#[test]
fn t3_the_target_of_a_link_is_one_line_that_stays() {
    let link = |lines: &str, count: u32| {
        told(&format!(
            "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,{count} @@\n{lines}"
        ))
    };
    assert_eq!(link("+a\n", 1), "passes");
    assert_eq!(link("+..\n", 1), "x: is a link that leaves the tree");
    assert_eq!(link("+a\n+b\n", 2), "x: is a link with an odd target");
    assert_eq!(told("diff --git a/x b/x\nnew file mode 120000\n"), "passes");
    let binary = "diff --git a/x b/x\nnew file mode 120000\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\nliteral 0\nHcmV?d00001\n\n";
    assert_eq!(told(binary), "x: is a link whose target is no text");
}

#[test]
fn t3_no_path_is_changed_twice_or_written_through_another() {
    let twice = "x: is changed twice in one patch";
    for (parts, expected) in [
        (vec![changed("x"), changed("y")], "passes"),
        (vec![changed("x"), changed("x")], twice),
        (vec![created("x", "100644", "a"), changed("x")], twice),
        (vec![created("x", "100644", "a"), created("x", "100644", "a")], twice),
        (vec![deleted("x", "100644"), deleted("x", "100644")], twice),
        (vec![deleted("x", "100644"), created("x", "120000", "a")], "passes"),
        (vec![deleted("x", "120000"), created("x", "100644", "a")], "passes"),
        (vec![deleted("x", "100644"), created("x", "100644", "a")], twice),
        (vec![deleted("x", "120000"), created("x", "120000", "a")], twice),
        (vec![deleted("x", "120000"), renamed("y", "x")], twice),
        (vec![changed("x"), created("x", "120000", "a")], twice),
        (vec![renamed("x", "y"), created("x", "120000", "a")], twice),
        (
            vec![created("x", "120000", "a"), created("x/y", "100644", "a")],
            "x/y: is written through x, which the patch makes a link",
        ),
        (
            vec![created("x", "100644", "a"), created("x/y/z", "100644", "a")],
            "x/y/z: is written through x, which the patch makes a file",
        ),
        (vec![deleted("x", "100644"), created("x/y", "100644", "a")], "passes"),
    ] {
        let diff = parts.concat();
        assert_eq!(told(&diff), expected, "{diff}");
        let patch = Patch::read(&diff, Binary::Allowed, 10).unwrap();
        assert_eq!(changes_twice(&patch), expected == twice, "{diff}");
    }
}

#[test]
fn t1_a_path_has_at_most_1024_bytes() {
    assert_eq!(check(&"x".repeat(1_024)), Ok(()));
}

#[test]
fn t32_an_edit_puts_no_nul_into_a_file() {
    assert_eq!(told_of_edits(&[edit("x", "a\0")]), "x: gets a NUL; a patch in text may only have text");
}
