//! Ids, branches and names of repositories, read again by the rules of `git check-ref-format` and of git's transports.

use azolla_fuzz::Verdict;
use azolla_protocol::{
    AzollaId, BlockerId, CaptureId, CommitId, EventId, ManifestId, ObjectiveId, OutputId, OwnerId, QueryId,
    ResponseId, RunId, SnapshotId, WorkOrderId,
};

use crate::repo::{RepoRef, check_branch, check_repo_ref};

pub(super) const WORDS: &[&str] = &[
    "az-",
    "obj-",
    "blk-",
    "cap-",
    "evt-",
    "snap-",
    "wo-",
    "out-",
    "run-",
    "man-",
    "qry-",
    "rsp-",
    "own-",
    "com-",
    "..",
    "/.",
    ".lock",
    "@{",
    "@",
    "HEAD",
    "refs/heads/",
    "--",
    "-",
    "^",
    "~",
    ":",
    "?",
    "*",
    "[",
    "\\",
    " ",
    "//",
    "/",
    "main",
    "https://",
    "http://",
    "ssh://",
    "git://",
    "file://",
    "ext::",
    "fd::",
    "::",
    "user@",
    "host",
    "[::1]",
    ":22/",
    "%2d",
    "-oProxyCommand=",
    "--upload-pack=",
    "./",
    "~/",
    "C:",
    ".git",
];

pub(super) fn check(bytes: &[u8]) -> Verdict {
    let Ok(text) = std::str::from_utf8(bytes) else { return Verdict::Refused };
    // One after the other, not one or the other: each is tried on every text.
    let taken = [id(text), branch(text), repository(text)];
    if taken.contains(&true) { Verdict::Taken } else { Verdict::Refused }
}

fn id(text: &str) -> bool {
    let mut taken = 0;
    macro_rules! each {
        ($($name:ident)+) => {$(
            if let Ok(id) = $name::new(text) {
                taken += 1;
                assert_eq!(id.as_str(), text);
                assert_eq!(format!("{}-{}", $name::PREFIX, id.body()), text);
                let json = serde_json::to_string(&id).expect("an id is a text");
                assert_eq!(serde_json::from_str::<$name>(&json).expect("its own text"), id);
            }
        )+};
    }
    each! {
        AzollaId BlockerId CaptureId CommitId EventId ManifestId ObjectiveId OutputId OwnerId QueryId ResponseId RunId
        SnapshotId WorkOrderId
    }
    assert!(taken <= 1, "an id is of one kind: {text:?}");
    if taken == 1 {
        let is_listed = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
        assert!(text.bytes().all(|byte| is_listed(&byte)) && text.len() <= 65, "{text:?}");
        assert!(text.starts_with(|first: char| first.is_ascii_lowercase()), "{text:?} reads like an option");
        let branch = format!("azolla/{text}");
        assert!(is_ref(&format!("refs/heads/{branch}")), "{branch:?}");
        assert!(check_branch(&branch).is_ok(), "{branch:?} is the branch of an objective");
    }
    taken == 1
}

fn branch(text: &str) -> bool {
    let taken = check_branch(text).is_ok();
    if taken {
        assert!(is_ref(&format!("refs/heads/{text}")), "{text:?} is no ref");
        assert!(!text.starts_with('-') && text != "HEAD" && text != "@", "{text:?} is something else to git");
        assert!(text.len() <= 200, "{text:?}");
    }
    taken
}

/// The rules of `git check-ref-format`, from its manual page.
fn is_ref(name: &str) -> bool {
    let bytes = name.as_bytes();
    let has = |part: &str| name.contains(part);
    let is_forbidden = |byte: &u8| *byte < 0x20 || *byte == 0x7f || b" ~^:?*[\\".contains(byte);
    let is_component = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    has("/")
        && name.split('/').all(is_component)
        && !bytes.iter().any(is_forbidden)
        && !has("..")
        && !has("@{")
        && !name.ends_with('.')
        && name != "@"
}

fn repository(text: &str) -> bool {
    let Ok(taken) = check_repo_ref(text) else { return false };
    assert!(!text.is_empty() && !text.starts_with('-'), "{text:?} reads like an option");
    assert!(!text.chars().any(char::is_control), "{text:?}");
    assert_eq!(helper(text), None, "{text:?} runs a program");
    match taken {
        RepoRef::Path(path) => {
            assert_eq!(path.as_os_str(), text);
            assert!(!text.contains("://"), "{text:?} is a URL to git");
            // git: what has a colon before its first slash is on another machine.
            let colon = text.find(':').unwrap_or(usize::MAX);
            assert!(text.find('/').unwrap_or(usize::MAX) <= colon, "{text:?} is on another machine");
        }
        RepoRef::Url { url, protocol } => {
            assert_eq!(url, text);
            assert!(!text.contains(char::is_whitespace), "{text:?}");
            match text.split_once("://") {
                Some((scheme, rest)) => {
                    assert_eq!(scheme, protocol);
                    assert!(["https", "http", "ssh", "git"].contains(&scheme), "{text:?}");
                    place(rest.split('/').next().unwrap_or_default(), text);
                }
                None => {
                    assert_eq!(protocol, "ssh");
                    let (host, path) = text.split_once(':').expect("user@host:path has a colon");
                    assert!(!path.is_empty() && !path.starts_with('-'), "{text:?}");
                    place(host, text);
                }
            }
        }
    }
    true
}

/// Returns the transport helper that git would start: `NAME::`, with a NAME of letters and digits.
fn helper(text: &str) -> Option<&str> {
    let (name, _) = text.split_once("::")?;
    (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(name)
}

/// A host that ssh is given as an argument, with a user perhaps.
fn place(authority: &str, text: &str) {
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    assert!(!host.is_empty() && !host.starts_with('-'), "{text:?} has a host that is an option");
    assert!(!authority.starts_with('-') && !authority.contains('%'), "{text:?}");
    assert!(!user.contains(':'), "{text:?} has a password in it");
}
