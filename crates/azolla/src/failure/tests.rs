//! What an error comes to: its words, the next step and the exit code.

use super::*;

#[test]
fn a_store_that_is_away_says_what_to_do_in_plain_words() {
    let away = SubstrateError::Unavailable("the connection was refused".into());
    let words = in_words(&anyhow::Error::from(away));
    assert_eq!(words.text, "the store does not answer: the connection was refused");
    assert_eq!((words.code, words.hint.as_deref()), (Code::Temporary, Some(AWAY)));
}

#[test]
fn a_full_disk_says_what_to_do() {
    let full = SubstrateError::Unusable { what: "the disk is full".into(), action: "free some space".into() };
    let words = in_words(&anyhow::Error::from(full));
    assert_eq!(words.text, "the disk is full");
    assert!(
        words
            .hint
            .is_some_and(|hint| hint.starts_with("free some space; ") && hint.contains("azolla doctor"))
    );
    let full = SubstrateError::Unusable { what: "the disk is full".into(), action: "free some space".into() };
    let words = in_words(&anyhow::Error::from(WorkerError::Store(full)));
    assert_eq!((words.text.as_str(), words.hint.is_some()), ("the disk is full", true));
    let write = std::io::Error::from(ErrorKind::StorageFull);
    let words = in_words(&anyhow::Error::from(write).context("config.toml cannot be written"));
    assert!(words.text.starts_with("config.toml cannot be written: "), "{}", words.text);
    assert_eq!(words.hint.as_deref(), Some("make room; to see where: azolla doctor"));
}

#[test]
fn a_home_that_cannot_be_used_names_the_doctor() {
    let error = HomeError::Io(std::io::Error::from(ErrorKind::ReadOnlyFilesystem));
    assert_eq!(in_words(&anyhow::Error::from(error)).hint.as_deref(), Some("azolla doctor"));
}

#[test]
fn a_disk_that_fails_says_what_to_do() {
    let refused = || std::io::Error::from_raw_os_error(Errno::IO.raw_os_error());
    let path = std::path::PathBuf::from("/home/p/azollas");
    let words = in_words(&anyhow::Error::from(Unsafe::Io { path, source: refused() }));
    // Once, though it is the cause of the other.
    assert_eq!(words.text, format!("/home/p/azollas cannot be used: {}", refused()));
    assert!(words.hint.is_some_and(|hint| hint.starts_with("the disk may be failing: ")));
}
