//! Whose a branch is: what the operator set under our name for it is the operator's (G-2), by the log that git keeps.

use std::{fs, os::unix::fs::PermissionsExt, slice};

use azolla_control_plane::repo::{Published, Repository};

use crate::{
    publish::{again, make},
    support::World,
};

const BRANCH: &str = "azolla/obj-1";
const REF: &str = "refs/heads/azolla/obj-1";

/// Also where it is at what failed.
#[tokio::test]
async fn g2_a_branch_that_the_operator_set_is_not_withdrawn() {
    for world in World::all() {
        let (repository, attempt, commit) = make(&world).await;
        let failed = slice::from_ref(&commit);
        repository.publish(&attempt, &commit, &[]).await.unwrap();
        for set in [["branch", BRANCH, &commit], ["update-ref", REF, &commit]] {
            world.run(&["branch", "-q", "-D", BRANCH]);
            world.run(&set);
            assert_eq!(repository.branches().await.unwrap(), []);
            assert!(!repository.withdraw(&attempt.objective_id, failed, &[]).await.unwrap());
            assert_eq!(world.run(&["rev-parse", BRANCH]), commit);
        }
    }
}

/// Logs that are no text, or long.
#[tokio::test]
async fn g2_the_last_line_of_any_log_tells_whose_a_branch_is() {
    let world = World::new();
    let (repository, attempt, commit) = make(&world).await;
    let failed = slice::from_ref(&commit);
    let log = world.repo.join(".git/logs").join(REF);
    let line = |who: &[u8], what: &str| {
        let zeros = "0".repeat(40);
        [format!("{zeros} {commit} ").as_bytes(), who, format!(" 1 +0000\t{what}\n").as_bytes()].concat()
    };
    let jose = b"Jos\xe9 <jose@example.org>".as_slice();
    let long = line(b"azolla <a@b>", "azolla: publish").repeat(20_000);
    for theirs in [line(jose, "branch: Created from main"), [long.clone(), line(jose, "x")].concat()] {
        repository.publish(&attempt, &commit, &[]).await.unwrap();
        fs::write(&log, theirs).unwrap();
        assert_eq!(repository.branches().await.unwrap(), []);
        assert!(!repository.withdraw(&attempt.objective_id, failed, &[]).await.unwrap());
    }
    let ours = [line(jose, "x"), long].concat();
    fs::write(&log, ours).unwrap();
    assert!(repository.withdraw(&attempt.objective_id, failed, &[]).await.unwrap());
    // Nobody can say without a log, such as in a bare repository, and with one that git has emptied.
    for empty in [true, false] {
        repository.publish(&attempt, &commit, &[]).await.unwrap();
        if empty {
            fs::write(&log, "").unwrap()
        } else {
            fs::remove_file(&log).unwrap()
        }
        assert!(repository.withdraw(&attempt.objective_id, failed, &[]).await.unwrap());
    }
    // A log that cannot be read is no reason to take anything away.
    repository.publish(&attempt, &commit, &[]).await.unwrap();
    fs::remove_file(&log).unwrap();
    fs::create_dir(&log).unwrap();
    assert_eq!(repository.branches().await.unwrap(), []);
    repository.withdraw(&attempt.objective_id, failed, &[]).await.unwrap_err();
    assert_eq!(world.run(&["rev-parse", BRANCH]), commit);
}

/// With a log, and where none is kept.
#[tokio::test]
async fn g2_a_table_of_refs_tells_whose_a_branch_is_too() {
    for has_log in [true, false] {
        for world in World::all() {
            let Some(world) = with_table(world) else { continue };
            world.run(&["config", "core.logAllRefUpdates", if has_log { "true" } else { "false" }]);
            let (repository, first, commit) = make(&world).await;
            let failed = slice::from_ref(&commit);
            repository.publish(&first, &commit, &[]).await.unwrap();
            assert_eq!(repository.branches().await.unwrap().len(), 1, "{has_log}");
            assert!(repository.withdraw(&first.objective_id, failed, &[]).await.unwrap(), "{has_log}");
            world.run(&["branch", "-q", BRANCH, &commit]);
            assert_eq!(repository.branches().await.unwrap().is_empty(), has_log);
            let (second, second_commit) = again(&repository, &first, "wo-1-2", "and more").await;
            let published = repository.publish(&second, &second_commit, &[]).await.unwrap();
            assert_eq!(published == Published::Done, !has_log, "{published:?}");
        }
    }
}

/// Returns a world whose repository has its refs in a table. git before 2.45 knows no such repositories; the other program of
/// this machine does.
fn with_table(mut world: World) -> Option<World> {
    let (from, table) = (world.repo.to_str().unwrap().to_owned(), world.dir.path().join("table"));
    let arguments = ["clone", "-q", "--ref-format=reftable", &from, table.to_str().unwrap()];
    let is_made = world.run_in(world.dir.path(), &arguments).0 == 0;
    world.repo = table;
    is_made.then_some(world)
}

/// R10, T9: what the repository would have run to look at a signature is not run.
#[tokio::test]
async fn t9_no_program_for_signatures_is_started() {
    for world in World::all() {
        let Some(world) = with_table(world) else { continue };
        let canary = world.dir.path().join("canary");
        let program = world.dir.path().join("signs");
        // Signs, and leaves a mark when it is asked to look at a signature.
        let signs = "cat > /dev/null; echo '[GNUPG:] SIG_CREATED ' >&2; echo '-----BEGIN PGP SIGNATURE-----'";
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *--verify*) touch '{}';; *) {signs};; esac\n",
            canary.display()
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        for (key, value) in [("log.showSignature", "true"), ("gpg.program", program.to_str().unwrap())] {
            world.run(&["config", key, value]);
        }
        world.run(&["checkout", "-q", "-b", BRANCH]);
        world.run(&[
            "-c",
            "user.name=x",
            "-c",
            "user.email=y",
            "commit",
            "-q",
            "-S",
            "--allow-empty",
            "-m",
            "x",
        ]);
        world.run(&["log", "-1"]);
        assert!(canary.exists(), "the operator's own git looks at it");
        fs::remove_file(&canary).unwrap();
        let (repository, _, _) = make(&world).await;
        repository.branches().await.unwrap();
        assert!(!canary.exists());
    }
}

/// The next attempt is published by hand then.
#[tokio::test]
async fn g2_a_branch_that_the_operator_set_is_not_moved_on() {
    for world in World::all() {
        let (repository, first, commit) = make(&world).await;
        repository.publish(&first, &commit, &[]).await.unwrap();
        world.run(&["branch", "-q", "-D", BRANCH]);
        world.run(&["branch", "-q", BRANCH, &commit]);
        let (second, second_commit) = again(&repository, &first, "wo-1-2", "and more").await;
        let published = repository.publish(&second, &second_commit, &[]).await.unwrap();
        let Published::ByHand { reason, .. } = published else { panic!("{published:?}") };
        assert_eq!(reason, "azolla/obj-1 was set by somebody else");
        assert_eq!(world.run(&["rev-parse", BRANCH]), commit);
    }
}
