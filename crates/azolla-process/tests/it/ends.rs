//! How a program ends, or does not begin.

use std::{fs, io::ErrorKind, os::unix::fs::PermissionsExt};

use azolla_process::{Captured, Containment, Exit, Program, SpawnError, run};

use crate::world::*;

async fn exit_of(text: &str, containment: Containment) -> Exit {
    run_script(text, &Mark::new(), containment, |_| ()).await.unwrap().exit
}

#[tokio::test]
async fn the_exit_code_or_signal_is_the_programs_own() {
    for containment in [Group, Tree] {
        assert_eq!(exit_of("exit 0", containment).await, Exit::Code(0));
        assert_eq!(exit_of("exit 123", containment).await, Exit::Code(123));
        assert_eq!(exit_of("exit 255", containment).await, Exit::Code(255));
        assert_eq!(exit_of("kill -9 $$", containment).await, Exit::Signal(9));
        assert_eq!(exit_of("kill -15 $$", containment).await, Exit::Signal(15));
        assert_eq!(exit_of("kill -SEGV $$", containment).await, Exit::Signal(11));
        // Not that of an orphan that ends before.
        assert_eq!(exit_of("(sh -c 'exit 9' &) ; sleep 0.05; exit 4", containment).await, Exit::Code(4));
    }
}

#[tokio::test]
async fn a_program_that_prints_nothing_has_printed_nothing() {
    for containment in [Group, Tree] {
        let finished = run_script(":", &Mark::new(), containment, |_| ()).await.unwrap();
        assert_eq!((finished.stdout, finished.stderr), (Captured::default(), Captured::default()));
    }
}

/// Runs something that cannot be started, in both ways, and returns why not.
async fn refused(change: impl Fn(&mut Program)) -> SpawnError {
    let mark = Mark::new();
    let mut program = script(":", &mark);
    change(&mut program);
    let group = run(&program, &bounds(Group)).await.unwrap_err();
    let tree = run(&program, &bounds(Tree)).await.unwrap_err();
    assert_eq!(group.to_string(), tree.to_string());
    no_child_is_left().await;
    tree
}

#[tokio::test]
async fn a_missing_program_is_refused() {
    let error = refused(|program| program.path = "/nowhere/tool".into()).await;
    assert_eq!(error.source.kind(), ErrorKind::NotFound);
    assert_eq!(error.to_string(), "/nowhere/tool cannot be started: No such file or directory (os error 2)");
}

#[tokio::test]
async fn a_program_that_is_not_executable_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tool");
    fs::write(&path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let error = refused(|program| program.path = path.clone()).await;
    assert_eq!(error.source.kind(), ErrorKind::PermissionDenied);
    let error = refused(|program| program.path = directory.path().to_owned()).await;
    assert_eq!(error.source.kind(), ErrorKind::PermissionDenied);
}

#[tokio::test]
async fn a_missing_directory_is_named() {
    let error = refused(|program| program.directory = "/nowhere".into()).await;
    assert_eq!(error.source.kind(), ErrorKind::NotFound);
    assert_eq!(error.to_string(), "/bin/sh cannot be started: there is no directory /nowhere to start it in");
}

#[tokio::test]
async fn t11_a_relative_path_is_refused() {
    let error = refused(|program| program.path = "sh".into()).await;
    assert_eq!(error.source.kind(), ErrorKind::InvalidInput);
    let error = refused(|program| program.path = "./sh".into()).await;
    assert_eq!(error.source.kind(), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn an_argument_with_a_nul_is_refused() {
    let error = refused(|program| program.arguments.push("a\0b".into())).await;
    assert_eq!(error.source.kind(), ErrorKind::InvalidInput);
}
