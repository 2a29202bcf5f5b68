//! Tokens differ, are kept for their owner alone, and are told apart by all of their bits.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn r12_a_token_is_random_and_told_apart_by_every_bit() {
    let (a, b) = (Token::fresh().unwrap(), Token::fresh().unwrap());
    assert_eq!((a.text().len(), a.text() == b.text()), (64, false));
    assert!(a.hash().is(&TokenHash::of(a.text())));
    assert!(!a.hash().is(&b.hash()));
    for bit in 0..256 {
        let mut bytes = *a.hash().as_bytes();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(!a.hash().is(&TokenHash::from(bytes)), "bit {bit}");
    }
}

#[test]
fn r12_the_token_of_a_file_is_made_once_and_for_its_owner_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("below").join("operator.token");
    let first = Token::in_file(&path).unwrap();
    assert_eq!(Token::in_file(&path).unwrap().text(), first.text());
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    // Somebody else made it meanwhile: that one counts.
    write(&path, "another", Existing::Stays).unwrap();
    assert_eq!(Token::in_file(&path).unwrap().text(), first.text());
    write(&path, "another", Existing::Goes).unwrap();
    assert_eq!(Token::in_file(&path).unwrap().text(), "another");
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let refused = Token::in_file(&path).map(drop).unwrap_err();
    assert!(refused.to_string().ends_with("can be read by others"), "{refused}");
}

#[test]
fn r12_a_token_that_cannot_be_kept_is_a_fault() {
    let directory = tempfile::tempdir().unwrap();
    // No file can have this name: it says that it is a directory.
    for existing in [Existing::Stays, Existing::Goes] {
        assert!(write(&directory.path().join("token/"), "x", existing).is_err(), "{existing:?}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left of it");
}
