//! The path policy, name by name.

use super::path::{check, check_created, check_link};

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
