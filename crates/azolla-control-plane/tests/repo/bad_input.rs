//! Repositories that cannot be used, and those that only look like it: each with a next step.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    time::{Duration, Instant},
};

use azolla_control_plane::repo::{Candidate, GitRepository, Published, Repository, RepositoryError};

use crate::{
    names::words,
    support::{GOOD, World, attempt},
};

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
        assert!(what.contains("has no branch master") && action.ends_with(": main, dev"), "{what}; {action}");
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
async fn a_repository_with_commits_and_no_branch_is_told() {
    for world in World::all() {
        let other = world.dir.path().join("detached");
        fs::create_dir(&other).unwrap();
        world.run_in(&other, &["clone", "-q", world.repo.to_str().unwrap(), "."]);
        world.run_in(&other, &["checkout", "-q", "--detach"]);
        world.run_in(&other, &["branch", "-q", "-D", "main"]);
        let (what, action) = unusable(&at(&world, "detached"), "main").await;
        assert!(what.ends_with("has no branch main"), "{what}");
        assert_eq!(action, "make that branch there: git branch main");
        assert_eq!(world.run_in(&other, &["branch", "main"]).0, 0);
        at(&world, "detached").base("main").await.unwrap();
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
            assert_eq!(
                repository.publish(&attempt, &taken.commit, &[]).await.unwrap(),
                Published::Done,
                "{repo}"
            );
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
        assert_eq!(repository.publish(&attempt, &taken.commit, &[]).await.unwrap(), Published::Done);
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
        assert_eq!(repository.publish(&attempt, &taken.commit, &[]).await.unwrap(), Published::Done);
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
        let told = repository.publish(&attempt, &taken.commit, &[]).await.unwrap();
        let Published::ByHand { reason, command } = told else { panic!("{told:?}") };
        assert!(reason.contains("cannot be read"), "{reason}");
        fs::rename(&away, &world.repo).unwrap();
        // What the operator is told to type brings it.
        assert_eq!(world.run_in(world.dir.path(), &words(&command)).0, 0, "{command}");
        assert_eq!(repository.publish(&attempt, &taken.commit, &[]).await.unwrap(), Published::Done);
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
async fn a_lock_that_a_power_cut_left_in_the_mirror_is_removed_while_nobody_runs_git_there() {
    let world = World::new();
    let (repository, attempt) = world.begin().await;
    let taken = repository.take(&attempt, Candidate::Text(GOOD)).await.unwrap();
    world.commit("next");
    let old = Duration::from_secs(61);
    let base_lock = world.mirror().join("refs/azolla/base/main/!.lock");
    // A git whose azolla was killed may hold it yet.
    let file = fs::File::create(&base_lock).unwrap();
    let told = repository.base("main").await.unwrap_err();
    assert!(matches!(told, RepositoryError::Unavailable(_)), "{told}");
    file.set_modified(file.metadata().unwrap().modified().unwrap() - old).unwrap();

    // Another process runs git in the mirror, and the lock may be its.
    let other = fs::File::open(world.mirror().join("azolla/in-use")).unwrap();
    other.lock_shared().unwrap();
    let told = repository.base("main").await.unwrap_err();
    assert!(matches!(told, RepositoryError::Unavailable(_)) && base_lock.exists(), "{told}");
    drop(other);
    assert_eq!(repository.base("main").await.unwrap(), world.run(&["rev-parse", "main"]));

    // The same for refs that are set, also where the clock was set back.
    let heads = world.mirror().join("refs/heads/azolla");
    fs::create_dir_all(&heads).unwrap();
    let file = fs::File::create(heads.join("obj-1.lock")).unwrap();
    file.set_modified(file.metadata().unwrap().modified().unwrap() + Duration::from_secs(86_400)).unwrap();
    repository.project(&attempt, &taken.commit).await.unwrap();
    assert_eq!(world.mirror_run(&["rev-parse", "azolla/obj-1"]), taken.commit);
}

#[tokio::test]
async fn a_call_of_git_holds_the_mirror_until_it_ends() {
    let world = World::new();
    let (repository, _) = world.begin().await;
    let other = fs::File::open(world.mirror().join("azolla/in-use")).unwrap();
    let (begun, go) = (world.dir.path().join("begun"), world.dir.path().join("go"));
    let script = format!(
        "#!/bin/sh\ntouch {}\nuntil [ -e {} ]; do :; done\nexec {} \"$@\"\n",
        begun.display(),
        go.display(),
        world.git.display()
    );
    let mut settings = world.settings();
    settings.git = program(&world, &script);
    let slow = GitRepository::open(settings).unwrap();
    let look = async {
        let end = Instant::now() + Duration::from_secs(30);
        while !begun.exists() && Instant::now() < end {
            tokio::task::yield_now().await;
        }
        let taken = other.try_lock();
        fs::write(&go, "").unwrap();
        taken
    };
    let (base, taken) = tokio::join!(slow.base("main"), look);
    base.unwrap();
    assert!(matches!(taken, Err(fs::TryLockError::WouldBlock)), "nothing held the mirror: {taken:?}");
    // While another puts it right, no call is made, and none waits for ever.
    other.try_lock().unwrap();
    tokio::time::pause();
    let told = repository.base("main").await.unwrap_err();
    assert!(matches!(told, RepositoryError::Unavailable(_)), "{told}");
    tokio::time::resume();
    drop(other);
    repository.base("main").await.unwrap();
}

/// B-3: an answer is paid for, and `azolla doctor` may look at the mirror at any time.
#[tokio::test]
async fn b3_a_mirror_that_is_put_right_for_a_moment_costs_no_answer() {
    let world = World::new();
    let (repository, attempt) = world.begin().await;
    let other = fs::File::open(world.mirror().join("azolla/in-use")).unwrap();
    other.try_lock().unwrap();
    // In this order: it is let go of once the other has met it.
    let (taken, ()) = tokio::join!(repository.take(&attempt, Candidate::Text(GOOD)), async { drop(other) });
    assert_eq!(taken.unwrap().paths, ["a.txt"]);
}

/// Writes a program.
fn program(world: &World, text: &str) -> PathBuf {
    let path = world.dir.path().join("program");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[tokio::test]
async fn a_git_that_the_machine_cannot_start_now_is_tried_again_later() {
    let world = World::new();
    let (repository, _) = world.begin().await;
    // More than the system passes to a program: git is there, and starting it fails all the same.
    let told = repository.describe(&"1".repeat(4 << 20), &|_| Vec::new()).await.unwrap_err();
    assert!(
        matches!(&told, RepositoryError::Unavailable(text) if text.contains("cannot be started")),
        "{told}"
    );
}

#[tokio::test]
async fn g2_objects_that_a_partial_clone_lacks_are_not_fetched_behind_the_operators_back() {
    let world = World::new();
    let seen = world.dir.path().join("seen");
    let script = format!("#!/bin/sh\nenv > {}\nexec {} \"$@\"\n", seen.display(), world.git.display());
    let mut settings = world.settings();
    settings.git = program(&world, &script);
    GitRepository::open(settings).unwrap().base("main").await.unwrap();
    let environment = fs::read_to_string(&seen).unwrap();
    assert!(environment.lines().any(|line| line == "GIT_NO_LAZY_FETCH=1"), "{environment}");

    world.run(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", world.repo.display());
    let clone = ["clone", "-q", "--filter=blob:none", "--no-checkout", &url, "partial"];
    let (code, out) = world.run_in(world.dir.path(), &clone);
    assert_eq!(code, 0, "{out}");
    let partial = world.dir.path().join("partial");
    let missing = || world.run_in(&partial, &["rev-list", "--objects", "--missing=print", "--all"]).1;
    let before = missing();
    assert!(before.contains("\n?"), "nothing is missing: {before}");
    let mut settings = world.settings();
    settings.repo = partial.to_str().unwrap().to_owned();
    settings.mirror = world.dir.path().join("empty.git");
    unusable(&GitRepository::open(settings).unwrap(), "main").await;
    assert_eq!(missing(), before);
}
