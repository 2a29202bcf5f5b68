//! Repositories that cannot be used, and those that only look like it: each with a next step.

use std::fs;

use azolla_control_plane::repo::{Candidate, GitRepository, Published, Repository, RepositoryError};

use crate::support::{GOOD, World, attempt};

async fn unusable(repository: &GitRepository, branch: &str) -> (String, String) {
    match repository.base(branch).await {
        Err(RepositoryError::Unusable { what, action }) => (what, action),
        other => panic!("not refused: {other:?}"),
    }
}

fn at(world: &World, repo: &str) -> GitRepository {
    let mut settings = world.settings();
    settings.repo = world.dir.path().join(repo).to_str().unwrap().to_owned();
    GitRepository::open(settings).unwrap()
}

#[tokio::test]
async fn a_path_that_is_no_repository_is_told() {
    let world = World::new();
    fs::create_dir(world.dir.path().join("plain")).unwrap();
    fs::write(world.dir.path().join("file"), "x").unwrap();
    for (path, said, action) in [
        ("missing", "cannot be read", "new place"),
        ("file", "is a file", "directory"),
        ("plain", "is not in a git repository", "git init"),
    ] {
        let (what, next) = unusable(&at(&world, path), "main").await;
        assert!(what.contains(said) && next.contains(action), "{what}; {next}");
    }
}

#[tokio::test]
async fn a_missing_base_branch_is_told_with_those_that_are_there() {
    for world in World::all() {
        world.run(&["branch", "dev"]);
        let (what, action) = unusable(&world.open(), "master").await;
        assert!(what.contains("has no branch master") && action.contains("dev, main"), "{what}; {action}");
    }
}

#[tokio::test]
async fn a_repository_without_a_commit_is_told() {
    for world in World::all() {
        let empty = world.dir.path().join("empty");
        fs::create_dir(&empty).unwrap();
        world.run_in(&empty, &["init", "-q", "-b", "main"]);
        let (what, action) = unusable(&at(&world, "empty"), "main").await;
        assert!(what.contains("has no commit yet") && action.contains("git commit"), "{what}; {action}");
    }
}

#[tokio::test]
async fn an_unborn_or_detached_head_does_not_matter() {
    for world in World::all() {
        let main = world.run(&["rev-parse", "main"]);
        world.run(&["checkout", "-q", "--detach"]);
        assert_eq!(world.open().base("main").await.unwrap(), main);
        world.run(&["checkout", "-q", "--orphan", "new"]);
        assert_eq!(world.open().base("main").await.unwrap(), main);
    }
}

#[tokio::test]
async fn a_bare_repository_and_one_found_from_below_or_beside_work_alike() {
    for world in World::all() {
        let main = world.run(&["rev-parse", "main"]);
        world.run(&["clone", "-q", "--bare", ".", "../bare.git"]);
        world.run(&["worktree", "add", "-q", "--detach", "../linked"]);
        for repo in ["bare.git", "operator/sub", "operator/.git", "linked/sub"] {
            let repository = at(&world, repo);
            assert_eq!(repository.base("main").await.unwrap(), main, "{repo}");
            let attempt = attempt(&main);
            let taken = repository.take(&attempt, Candidate::Text(GOOD)).await.unwrap();
            repository.project(&attempt, &taken.commit).await.unwrap();
            assert_eq!(repository.publish(&attempt, &taken.commit).await.unwrap(), Published::Done, "{repo}");
        }
        let bare = world.dir.path().join("bare.git");
        assert_eq!(world.run_in(&bare, &["rev-parse", "azolla/obj-1"]).0, 0);
        assert_eq!(world.run_in(&world.repo, &["rev-parse", "azolla/obj-1"]).0, 0);
    }
}

#[tokio::test]
async fn a_shallow_repository_works() {
    for world in World::all() {
        world.write("a.txt", "one\ntwo\nthree\n");
        world.commit("second");
        world.commit("third");
        let shallow = world.dir.path().join("shallow");
        let url = format!("file://{}", world.repo.display());
        let (code, out) = world.run_in(world.dir.path(), &["clone", "-q", "--depth=1", &url, "shallow"]);
        assert_eq!(code, 0, "{out}");
        let repository = at(&world, "shallow");
        let base = repository.base("main").await.unwrap();
        let attempt = attempt(&base);
        let taken = repository.take(&attempt, Candidate::Text(GOOD)).await.unwrap();
        let worktree = repository.worktree(&attempt).await.unwrap();
        assert_eq!(world.run_in(worktree.path(), &["log", "--oneline"]).1.lines().count(), 1);
        repository.project(&attempt, &taken.commit).await.unwrap();
        assert_eq!(repository.publish(&attempt, &taken.commit).await.unwrap(), Published::Done);
        assert_eq!(world.run_in(&shallow, &["rev-parse", "azolla/obj-1"]).1.trim_end(), taken.commit);
        assert_eq!(world.run_in(&shallow, &["fsck", "--connectivity-only"]).0, 0);
    }
}

#[tokio::test]
async fn a_repository_with_sha256_ids_works() {
    for world in World::all() {
        let other = world.dir.path().join("sha256");
        fs::create_dir(&other).unwrap();
        let run = |arguments: &[&str]| {
            let (code, out) = world.run_in(&other, arguments);
            assert_eq!(code, 0, "{out}");
            out.trim_end().to_owned()
        };
        run(&["init", "-q", "-b", "main", "--object-format=sha256"]);
        fs::write(other.join("a.txt"), "one\ntwo\nthree\n").unwrap();
        run(&["add", "-A"]);
        run(&["-c", "user.name=x", "-c", "user.email=y", "commit", "-qm", "x"]);
        let repository = at(&world, "sha256");
        let base = repository.base("main").await.unwrap();
        assert_eq!(base, run(&["rev-parse", "main"]));
        let attempt = attempt(&base);
        let taken = repository.take(&attempt, Candidate::Text(GOOD)).await.unwrap();
        let worktree = repository.worktree(&attempt).await.unwrap();
        assert_eq!(world.run_in(worktree.path(), &["status", "--porcelain"]), (0, String::new()));
        repository.project(&attempt, &taken.commit).await.unwrap();
        assert_eq!(repository.publish(&attempt, &taken.commit).await.unwrap(), Published::Done);
        assert_eq!(run(&["rev-parse", "azolla/obj-1"]), taken.commit);
    }
}

#[tokio::test]
async fn a_repository_that_disappears_mid_run_is_told_and_nothing_is_lost() {
    for world in World::all() {
        let (repository, attempt) = world.begin().await;
        let away = world.dir.path().join("away");
        fs::rename(&world.repo, &away).unwrap();
        let taken = repository.take(&attempt, Candidate::Text(GOOD)).await.unwrap();
        repository.project(&attempt, &taken.commit).await.unwrap();
        let (what, _) = unusable(&repository, "main").await;
        assert!(what.contains("cannot be read"), "{what}");
        let told = repository.publish(&attempt, &taken.commit).await;
        assert!(matches!(told, Err(RepositoryError::Unusable { .. })), "{told:?}");
        fs::rename(&away, &world.repo).unwrap();
        assert_eq!(repository.publish(&attempt, &taken.commit).await.unwrap(), Published::Done);
    }
}

#[tokio::test]
async fn a_repository_whose_objects_are_damaged_is_told() {
    for world in World::all() {
        let objects = world.repo.join(".git/objects");
        for entry in fs::read_dir(&objects).unwrap().flatten() {
            if entry.file_name().len() == 2 {
                fs::remove_dir_all(entry.path()).unwrap();
            }
        }
        let told = world.open().base("main").await.unwrap_err();
        assert!(
            matches!(&told, RepositoryError::Unusable { action, .. } if action.contains("fsck")),
            "{told}"
        );
    }
}

#[tokio::test]
async fn a_git_that_is_not_there_is_told() {
    let world = World::new();
    let mut settings = world.settings();
    settings.git = "/nonexistent/git".into();
    let (what, action) = unusable(&GitRepository::open(settings).unwrap(), "main").await;
    assert!(what.contains("/nonexistent/git") && action.contains("install git"), "{what}; {action}");
}

#[tokio::test]
async fn a_branch_that_gives_way_to_one_below_its_name_is_followed() {
    for world in World::all() {
        world.run(&["branch", "topic"]);
        let repository = world.open();
        repository.base("topic").await.unwrap();
        world.run(&["branch", "-D", "-q", "topic"]);
        world.run(&["branch", "topic/one"]);
        repository.base("topic/one").await.unwrap();
    }
}

#[tokio::test]
async fn a_rewritten_base_is_followed() {
    for world in World::all() {
        let repository = world.open();
        repository.base("main").await.unwrap();
        world.run(&["commit", "-q", "--amend", "-m", "other"]);
        assert_eq!(repository.base("main").await.unwrap(), world.run(&["rev-parse", "main"]));
    }
}

#[tokio::test]
async fn a_mirror_that_lacks_the_base_fetches_it() {
    for world in World::all() {
        let (repository, attempt) = world.begin().await;
        let taken = repository.take(&attempt, Candidate::Text(GOOD)).await.unwrap();
        world.commit("the branch has moved on");
        let mut settings = world.settings();
        settings.mirror = world.dir.path().join("other.git");
        let other = GitRepository::open(settings).unwrap();
        assert_eq!(other.rebuild(&attempt, &taken.diff).await.unwrap().commit, taken.commit);
        let gone = crate::support::attempt(&"1".repeat(40));
        let told = other.rebuild(&gone, &taken.diff).await.unwrap_err().to_string();
        assert!(told.contains("is not in"), "{told}");
    }
}

#[tokio::test]
async fn two_processes_on_one_mirror_both_get_through() {
    for world in World::all() {
        let (one, other) = (world.open(), world.open());
        for n in 0..5 {
            world.commit(&format!("{n}"));
            let (a, b) = tokio::join!(one.base("main"), other.base("main"));
            assert_eq!(a.unwrap(), b.unwrap());
        }
    }
}

#[tokio::test]
async fn an_old_lock_in_the_mirror_is_removed_and_a_young_one_is_respected() {
    let world = World::new();
    let (repository, _) = world.begin().await;
    world.commit("next");
    let lock = world.mirror().join("refs/azolla/base/main/!.lock");
    let file = fs::File::create(&lock).unwrap();
    let told = repository.base("main").await.unwrap_err();
    assert!(matches!(told, RepositoryError::Unavailable(_)), "{told}");
    let old = file.metadata().unwrap().modified().unwrap() - std::time::Duration::from_secs(86_400);
    file.set_modified(old).unwrap();
    repository.base("main").await.unwrap();
}
