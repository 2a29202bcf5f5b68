//! Names of repositories and branches, one by one.

use std::path::PathBuf;

use super::{RepoRef, check_branch, check_repo_ref};
use crate::repo::RepositoryError;

fn what<T>(checked: Result<T, RepositoryError>) -> Option<String> {
    match checked {
        Ok(_) => None,
        Err(RepositoryError::Unusable { what, .. }) => Some(what),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn t19_t20_a_path_is_a_path_and_a_url_allows_one_transport() {
    for path in ["/a", "a", "./a::b", "../a::b", "/a::b", "~/a::b", "a/b:c", "./a:b", "a b"] {
        assert_eq!(check_repo_ref(path).ok(), Some(RepoRef::Path(PathBuf::from(path))), "{path}");
    }
    for (url, protocol) in [
        ("https://h/p", "https"),
        ("http://h-1.a_b/p", "http"),
        ("ssh://u@h:22/p", "ssh"),
        ("ssh://[::1]/p", "ssh"),
        ("ssh://[fe80::1.2]:22/p", "ssh"),
        ("git://h/p", "git"),
        ("u@h:p", "ssh"),
        ("h:p/q", "ssh"),
        ("h:/p", "ssh"),
    ] {
        let expected = RepoRef::Url { url: url.to_owned(), protocol };
        assert_eq!(expected.protocol(), protocol);
        assert_eq!(check_repo_ref(url).ok(), Some(expected), "{url}");
    }
    assert_eq!(RepoRef::Path("a".into()).protocol(), "file");
}

#[test]
fn t19_t20_what_is_neither_is_refused_with_its_reason() {
    let host = "has a host, user or port that is not one";
    let no_path = "has no path, or one that is not one";
    let neither = "is neither a path nor user@host:path";
    for (text, reason) in [
        ("-x", "reads like an option"),
        ("a\u{7}", "is too long or has control characters"),
        ("file:///a", "is a file URL"),
        ("ftp://h/p", "has a transport that is not known"),
        ("ext::sh", "names a transport helper, which runs a program"),
        ("ssh://[::1]-x/y", "has something between its address and its port"),
        ("https:///p", host),
        ("https://-h/p", host),
        ("https://h%2d/p", host),
        ("https://h:/p", host),
        ("https://h:x/p", host),
        ("https://a]b/p", host),
        ("https://[]/p", host),
        ("https://[g]/p", host),
        ("https://[::1/p", host),
        ("https://@h/p", host),
        ("https://-u@h/p", host),
        ("https://[1]@h/p", host),
        ("https://h", no_path),
        ("https://h/", no_path),
        ("https://h/-p", no_path),
        ("https://h/a b", no_path),
        ("u@h:", neither),
        ("u@h:-p", neither),
        ("u@h:a b", neither),
        ("@h:p", neither),
        ("u@:p", neither),
        ("u@-h:p", neither),
        ("[1]@h:p", neither),
    ] {
        let shown = text.replace('\u{7}', "\\u{7}");
        assert_eq!(what(check_repo_ref(text)), Some(format!("\"{shown}\" {reason}")));
    }
    assert_eq!(what(check_repo_ref("")).as_deref(), Some("the repository has no name"));
    assert_eq!(
        what(check_repo_ref("https://u:secret@h/p")).as_deref(),
        Some("\"the URL\" has a password in it")
    );
}

#[test]
fn t19_a_name_has_at_most_4096_bytes() {
    assert_eq!(what(check_repo_ref(&"x".repeat(4_096))), None);
    assert!(what(check_repo_ref(&"x".repeat(4_097))).is_some());
}

#[test]
fn t18_a_branch_is_a_branch_to_git() {
    for name in ["main", "a/b", "a.b_c-d+e#f@g=h,i%j", "ö", "a.lockx", "HEADS", "@a", "a@", &"x".repeat(200)]
    {
        assert_eq!(what(check_branch(name)), None, "{name}");
    }
    let ends = "begins or ends with a character that it may not";
    let part = "has an empty part, or one that begins with `.` or ends with `.lock`";
    for (name, reason) in [
        ("", "is empty"),
        (&*"x".repeat(201), "is longer than 200 bytes"),
        ("a b", "has a character that a branch may not have"),
        ("a~1", "has a character that a branch may not have"),
        ("-a", ends),
        ("/a", ends),
        ("a/", ends),
        ("a.", ends),
        ("@", "reads like a revision"),
        ("HEAD", "reads like a revision"),
        ("a..b", "reads like a revision"),
        ("a//b", part),
        (".a", part),
        ("a/.b", part),
        ("a.lock", part),
        ("a.lock/b", part),
    ] {
        assert_eq!(what(check_branch(name)), Some(format!("the base branch \"{name}\" {reason}")));
    }
}
