//! Whose a branch is: what the operator set under our name for it is the operator's (G-2), by the log that git keeps.

use std::{fs, slice};

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

/// Logs that are no text, or long, or that git has emptied.
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
    for theirs in [line(jose, "branch: Created from main"), [long.clone(), line(jose, "x")].concat(), vec![]]
    {
        repository.publish(&attempt, &commit, &[]).await.unwrap();
        fs::write(&log, theirs).unwrap();
        assert_eq!(repository.branches().await.unwrap(), []);
        assert!(!repository.withdraw(&attempt.objective_id, failed, &[]).await.unwrap());
    }
    let ours = [line(jose, "x"), long].concat();
    fs::write(&log, ours).unwrap();
    assert!(repository.withdraw(&attempt.objective_id, failed, &[]).await.unwrap());
    // Without a log nobody can say: a bare repository keeps none.
    repository.publish(&attempt, &commit, &[]).await.unwrap();
    fs::remove_file(&log).unwrap();
    assert!(repository.withdraw(&attempt.objective_id, failed, &[]).await.unwrap());
}

#[tokio::test]
async fn g2_a_branch_that_the_operator_set_in_a_table_of_refs_is_not_withdrawn() {
    for mut world in World::all() {
        let other = world.dir.path().join("table");
        fs::create_dir(&other).unwrap();
        let from = world.repo.to_str().unwrap().to_owned();
        if world.run_in(&other, &["clone", "-q", "--ref-format=reftable", &from, "."]).0 != 0 {
            // git before 2.45 knows no such repositories; the other program of this machine does.
            continue;
        }
        world.repo = other;
        let (repository, attempt, commit) = make(&world).await;
        let failed = slice::from_ref(&commit);
        repository.publish(&attempt, &commit, &[]).await.unwrap();
        assert_eq!(repository.branches().await.unwrap().len(), 1);
        assert!(repository.withdraw(&attempt.objective_id, failed, &[]).await.unwrap());
        world.run(&["branch", "-q", BRANCH, &commit]);
        assert_eq!(repository.branches().await.unwrap(), []);
        assert!(!repository.withdraw(&attempt.objective_id, failed, &[]).await.unwrap());
        assert_eq!(world.run(&["rev-parse", BRANCH]), commit);
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
