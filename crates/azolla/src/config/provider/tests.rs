//! Where a key comes from, and who else could read it.

use std::{
    fs::{Permissions, set_permissions, write},
    os::unix::fs::PermissionsExt,
};

use super::*;

fn with_mode(mode: u32, text: &[u8]) -> (tempfile::TempDir, KeyFrom) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    write(&path, text).unwrap();
    set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    (directory, KeyFrom::File(path))
}

#[test]
fn t29_a_key_file_that_others_can_read_is_refused() {
    for mode in [0o600, 0o400] {
        let (_kept, from) = with_mode(mode, b"sk-canary\n");
        assert_eq!(from.read(|_| None).unwrap(), "sk-canary");
    }
    for mode in [0o640, 0o604, 0o666, 0o620] {
        let (_kept, from) = with_mode(mode, b"sk-canary\n");
        let error = from.read(|_| None).unwrap_err();
        assert!(matches!(error, UnusableKey::Open(_)), "{mode:o}: {error}");
        assert!(error.fix().starts_with("chmod 600 /"), "{}", error.fix());
        assert!(!format!("{error:?}").contains("canary"));
    }
}

#[test]
fn t29_what_is_no_key_is_refused_and_never_repeated() {
    for text in [&b"  \n"[..], b"sk-canary two", b"sk-canary\x01", "sk-canary-ü".as_bytes(), b"\xff\xfe"] {
        let (_kept, from) = with_mode(0o600, text);
        let error = from.read(|_| None).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("canary"), "{error}");
    }
    let env = |name: &str| (name == "SET").then(|| OsString::from("sk-canary"));
    assert_eq!(KeyFrom::Env("SET".into()).read(env).unwrap(), "sk-canary");
    let error = KeyFrom::Env("UNSET".into()).read(env).unwrap_err();
    assert_eq!((error.to_string(), error.fix()), ("UNSET is not set".into(), "export UNSET=…".into()));
    let missing = KeyFrom::File("/no/such/file".into()).read(env).unwrap_err();
    assert!(missing.to_string().starts_with("/no/such/file cannot be read: "), "{missing}");
    assert!(KeyFrom::File("/".into()).read(env).is_err());
}
