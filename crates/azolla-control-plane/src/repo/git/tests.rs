//! What becomes of a git that cannot be started.

use super::*;

fn told(kind: io::ErrorKind, directory: &Path) -> RepositoryError {
    cannot_start(&SpawnError { program: "/usr/bin/git".to_owned(), source: kind.into() }, directory)
}

#[test]
fn only_a_git_that_is_not_there_is_for_the_operator() {
    let directory = tempfile::tempdir().unwrap();
    for kind in [io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied] {
        let told = told(kind, directory.path());
        assert!(
            matches!(&told, RepositoryError::Unusable { action, .. } if action.contains("install")),
            "{told}"
        );
    }
    for kind in [io::ErrorKind::WouldBlock, io::ErrorKind::OutOfMemory, io::ErrorKind::ArgumentListTooLong] {
        let told = told(kind, directory.path());
        assert!(matches!(told, RepositoryError::Unavailable(_)), "{told}");
    }
    let too_many = SpawnError { program: "git".to_owned(), source: io::Error::from_raw_os_error(24) };
    let told = cannot_start(&too_many, directory.path());
    assert!(matches!(told, RepositoryError::Unavailable(_)), "{told}");
}

#[test]
fn a_directory_that_is_gone_is_not_a_git_that_is_not_there() {
    let told = told(io::ErrorKind::NotFound, Path::new("/nonexistent"));
    assert!(matches!(told, RepositoryError::Unavailable(_)), "{told}");
}

/// Who starts a program waits until it has got into its directory, and on a mount that is dead nobody does.
#[test]
fn git_is_started_in_the_mirror_whatever_repository_it_is_for() {
    let mirror = Mirror::new("/mirror".into());
    let git = Git::new("/usr/bin/git".into(), &mirror, "file");
    assert_eq!(git.program_of(Call::new(Path::new("/elsewhere"), ["log"])).directory, mirror.git_dir());
    let work_tree = Call::new(mirror.git_dir(), ["log"]).work_tree(Path::new("/work-tree"));
    assert_eq!(git.program_of(work_tree).directory, Path::new("/work-tree"));
}
