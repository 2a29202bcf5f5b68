//! Edits in a worktree: what hides a change, and what would run (T7 to T11).

use std::{
    fs,
    os::{
        fd::AsRawFd,
        unix::fs::{PermissionsExt, symlink},
    },
    path::Path,
    time::{Duration, Instant},
};

use azolla_control_plane::repo::{Attempt, Candidate, GitRepository, Repository, TakeError, Taken, Worktree};

use crate::support::{World, refused};

/// Takes the edits and checks the rule of T7 and T8: the stored patch on the base gives the committed tree.
async fn take(repository: &GitRepository, attempt: &Attempt, worktree: &Worktree) -> Taken {
    let taken = repository.take(attempt, Candidate::Edits(worktree)).await.unwrap();
    let rebuilt = repository.rebuild(attempt, &taken.diff).await.unwrap();
    assert_eq!((&rebuilt.commit, &rebuilt.tree), (&taken.commit, &taken.tree));
    taken
}

/// Writes a program that leaves a mark when it runs.
fn canary(path: &Path, mark: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\ntouch {}\nexit 1\n", mark.display())).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn t7_attributes_hide_and_change_nothing() {
    for world in World::all() {
        let mark = world.dir.path().join("mark");
        world.write(
            ".gitattributes",
            "[attr]odd filter=evil -diff\n*.txt eol=crlf\n*.dat -diff odd\n* ident\n",
        );
        world.write("x.dat", "one\n$Id$\n");
        world.write("u.txt", "one\r\ntwo\n");
        world.run(&["config", "filter.evil.clean", "cat"]);
        world.run(&["-c", "core.autocrlf=false", "add", "-A"]);
        // The exact bytes, whatever the attributes make of them.
        let id = world.run(&["hash-object", "-w", "--no-filters", "u.txt"]);
        world.run(&["update-index", "--cacheinfo", &format!("100644,{id},u.txt")]);
        world.run(&["commit", "-q", "-m", "attributes"]);
        let (repository, attempt) = world.begin().await;
        let worktree = repository.worktree(&attempt).await.unwrap();
        assert_eq!(fs::read(worktree.path().join("u.txt")).unwrap(), b"one\r\ntwo\n");
        assert_eq!(fs::read(worktree.path().join("x.dat")).unwrap(), b"one\n$Id$\n");
        fs::write(worktree.path().join("x.dat"), "two\n$Id: x $\n").unwrap();
        fs::write(
            worktree.path().join(".gitattributes"),
            "* -diff filter=evil working-tree-encoding=UTF-16\n",
        )
        .unwrap();
        let script = world.dir.path().join("evil");
        canary(&script, &mark);
        let config =
            format!("[filter \"evil\"]\n\tclean = {0}\n\tsmudge = {0}\n\trequired\n", script.display());
        fs::write(worktree.path().join(".git/config"), config).unwrap();
        let taken = take(&repository, &attempt, &worktree).await;
        assert_eq!(taken.paths, [".gitattributes", "x.dat"]);
        assert!(taken.diff.contains("+two\n"), "{}", taken.diff);
        assert_eq!(world.mirror_file(&taken.commit, "x.dat"), b"two\n$Id: x $\n");
        assert!(!mark.exists(), "a filter ran");
    }
}

#[tokio::test]
async fn t8_marks_in_the_workers_index_hide_nothing() {
    for world in World::all() {
        let (repository, attempt) = world.begin().await;
        let worktree = repository.worktree(&attempt).await.unwrap();
        for arguments in [
            ["update-index", "--assume-unchanged", "a.txt"],
            ["update-index", "--skip-worktree", "sub/b.txt"],
        ] {
            assert_eq!(world.run_in(worktree.path(), &arguments).0, 0);
        }
        fs::write(worktree.path().join("a.txt"), "changed\n").unwrap();
        fs::write(worktree.path().join("sub/b.txt"), "B\n").unwrap();
        let taken = take(&repository, &attempt, &worktree).await;
        assert_eq!(taken.paths, ["a.txt", "sub/b.txt"]);
    }
}

#[tokio::test]
async fn t8_ignored_files_stay_out_and_a_tracked_one_cannot_be_ignored() {
    for world in World::all() {
        world.write(".gitignore", "target/\n");
        world.commit("ignore");
        let (repository, attempt) = world.begin().await;
        let worktree = repository.worktree(&attempt).await.unwrap();
        fs::create_dir(worktree.path().join("target")).unwrap();
        fs::write(worktree.path().join("target/x"), "built").unwrap();
        fs::write(worktree.path().join(".aider.chat.history.md"), "said").unwrap();
        fs::write(worktree.path().join(".gitignore"), "target/\na.txt\n").unwrap();
        fs::write(worktree.path().join("a.txt"), "changed\n").unwrap();
        fs::write(worktree.path().join(".git/info/exclude"), "*\n").unwrap();
        let taken = take(&repository, &attempt, &worktree).await;
        assert_eq!(taken.paths, [".gitignore", "a.txt"]);
    }
}

#[tokio::test]
async fn t9_what_a_worker_writes_into_git_configurations_never_runs() {
    for world in World::all() {
        let mark = world.dir.path().join("mark");
        let script = world.dir.path().join("evil");
        canary(&script, &mark);
        let evil = format!(
            "[core]\n\tfsmonitor = {0}\n\tsshCommand = {0}\n\thooksPath = {1}\n\tpager = {0}\n\talternateRefsCommand = {0}\n\
             \tattributesFile = {1}/attributes\n[filter \"x\"]\n\tclean = {0}\n[diff]\n\texternal = {0}\n\
             [uploadpack]\n\tpackObjectsHook = {0}\n[gpg]\n\tprogram = {0}\n[commit]\n\tgpgsign = true\n",
            script.display(),
            world.dir.path().display()
        );
        let (repository, attempt) = world.begin().await;
        let worktree = repository.worktree(&attempt).await.unwrap();
        for git_dir in [worktree.path().join(".git"), world.mirror(), world.mirror().join("azolla/binary")] {
            fs::write(git_dir.join("config"), &evil).unwrap();
            fs::create_dir_all(git_dir.join("info")).unwrap();
            fs::write(git_dir.join("info/attributes"), "* filter=x -diff\n").unwrap();
            for hook in
                ["reference-transaction", "post-index-change", "pre-commit", "post-checkout", "pre-auto-gc"]
            {
                canary(&git_dir.join("hooks").join(hook), &mark);
            }
        }
        canary(&world.dir.path().join("reference-transaction"), &mark);
        fs::write(world.mirror().join("azolla/gitconfig"), &evil).unwrap();
        fs::write(worktree.path().join("a.txt"), "changed\n").unwrap();
        let taken = take(&repository, &attempt, &worktree).await;
        repository.project(&attempt, &taken.commit).await.unwrap();
        repository.base("main").await.unwrap();
        repository.publish(&attempt, &taken.commit, &[]).await.unwrap();
        assert!(!mark.exists(), "something of the worker's ran");
        assert!(!world.mirror().join("hooks").exists());
    }
}

#[tokio::test]
async fn t10_a_replaced_git_directory_has_no_effect() {
    for world in World::all() {
        let (repository, attempt) = world.begin().await;
        let mut commits = Vec::new();
        for how in 0..4 {
            let worktree = repository.worktree(&attempt).await.unwrap();
            let git = worktree.path().join(".git");
            if how > 0 {
                fs::remove_dir_all(&git).unwrap();
            }
            match how {
                0 => {
                    // Agents commit; the change is against the base, not against HEAD.
                    fs::write(worktree.path().join("a.txt"), "changed\n").unwrap();
                    assert_eq!(world.run_in(worktree.path(), &["commit", "-qam", "mine"]).0, 0);
                }
                1 => fs::write(&git, "gitdir: /etc\n").unwrap(),
                2 => symlink(world.repo.join(".git"), &git).unwrap(),
                _ => {}
            }
            fs::write(worktree.path().join("a.txt"), "changed\n").unwrap();
            commits.push(take(&repository, &attempt, &worktree).await.commit);
        }
        assert!(commits.windows(2).all(|pair| pair[0] == pair[1]), "{commits:?}");
        assert_eq!(world.run(&["log", "--oneline"]).lines().count(), 1);
    }
}

#[tokio::test]
async fn t11_planted_programs_named_git_never_run() {
    for world in World::all() {
        let mark = world.dir.path().join("mark");
        for name in ["git", "git-upload-pack", "git-remote-https", "sh", "ssh"] {
            canary(&world.repo.join(name), &mark);
        }
        world.commit("plant");
        let (repository, attempt) = world.begin().await;
        let worktree = repository.worktree(&attempt).await.unwrap();
        for name in ["git", "git-upload-pack", "git-add", "ssh"] {
            canary(&worktree.path().join(name), &mark);
            canary(&worktree.path().join("bin").join(name), &mark);
        }
        let taken = take(&repository, &attempt, &worktree).await;
        repository.project(&attempt, &taken.commit).await.unwrap();
        repository.publish(&attempt, &taken.commit, &[]).await.unwrap();
        assert!(!mark.exists(), "a planted program ran");
    }
}

#[tokio::test]
async fn the_worktree_is_clean_for_a_git_of_its_own_and_goes_when_dropped() {
    for world in World::all() {
        let (repository, attempt) = world.begin().await;
        let worktree = repository.worktree(&attempt).await.unwrap();
        let place = worktree.path().parent().unwrap().to_owned();
        let name = place.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("wo-1-1-1-"), "{name}");
        assert_eq!(world.run_in(worktree.path(), &["status", "--porcelain"]), (0, String::new()));
        assert_eq!(world.run_in(worktree.path(), &["rev-parse", "HEAD"]).1.trim_end(), attempt.base);
        assert_eq!(world.run_in(worktree.path(), &["branch", "--show-current"]).1.trim_end(), "azolla/obj-1");
        assert_eq!(world.run_in(worktree.path(), &["remote"]).1, "");
        assert_eq!(worktree.tree(), world.run(&["rev-parse", "main^{tree}"]));
        let nothing = repository.take(&attempt, Candidate::Edits(&worktree)).await;
        assert!(matches!(nothing, Err(TakeError::NoChange)), "{nothing:?}");
        // A directory without rights, and a link that leads out.
        let locked = worktree.path().join("locked/deep");
        fs::create_dir_all(&locked).unwrap();
        fs::write(locked.join("x"), "x").unwrap();
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
        symlink(&world.repo, worktree.path().join("out")).unwrap();
        drop(worktree);
        gone(&place).await;
        assert!(world.repo.join("a.txt").exists());
    }
}

/// Waits until a directory is gone: that is another thread's work.
async fn gone(place: &Path) {
    let end = Instant::now() + Duration::from_secs(30);
    while place.exists() {
        assert!(Instant::now() < end, "{} is still there", place.display());
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn g1_two_holders_of_one_attempt_do_not_remove_each_others_files() {
    let world = World::new();
    let (repository, attempt) = world.begin().await;
    // One that was paused, and its successor in another process, under the same names.
    let paused = repository.worktree(&attempt).await.unwrap();
    fs::write(paused.path().join("a.txt"), "paused\n").unwrap();
    let successor = world.open();
    let theirs = successor.worktree(&attempt).await.unwrap();
    assert_ne!(paused.path(), theirs.path());
    assert_eq!(fs::read_to_string(paused.path().join("a.txt")).unwrap(), "paused\n");
    fs::write(theirs.path().join("a.txt"), "theirs\n").unwrap();
    assert_eq!(successor.sweep(), 0);
    let place = paused.path().parent().unwrap().to_owned();
    drop(paused);
    gone(&place).await;
    assert_eq!(fs::read_to_string(theirs.path().join("a.txt")).unwrap(), "theirs\n");
    assert_eq!(take(&successor, &attempt, &theirs).await.paths, ["a.txt"]);
}

#[test]
fn a_worktree_is_removed_beside_the_runtime_and_without_one_at_once() {
    let world = World::new();
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
    let runtime = runtime().unwrap();
    let worktree = runtime.block_on(async {
        let (repository, attempt) = world.begin().await;
        let worktree = repository.worktree(&attempt).await.unwrap();
        let (release, held) = std::sync::mpsc::channel::<()>();
        // The one thread for such work is busy: a drop that removed the files itself would be seen.
        let busy = tokio::task::spawn_blocking(move || held.recv());
        let other = repository.worktree(&attempt).await.unwrap();
        let place = other.path().parent().unwrap().to_owned();
        drop(other);
        assert!(place.exists(), "the drop removed the files itself");
        assert_eq!(repository.sweep(), 0);
        release.send(()).unwrap();
        busy.await.unwrap().unwrap();
        gone(&place).await;
        worktree
    });
    let place = worktree.path().parent().unwrap().to_owned();
    drop(worktree);
    assert!(!place.exists());
}

#[test]
fn what_a_runtime_that_ends_leaves_behind_is_swept() {
    let world = World::new();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap();
    let (release, held) = std::sync::mpsc::channel::<()>();
    let place = runtime.block_on(async {
        let (repository, attempt) = world.begin().await;
        let worktree = repository.worktree(&attempt).await.unwrap();
        drop(tokio::task::spawn_blocking(move || held.recv()));
        worktree.path().parent().unwrap().to_owned()
    });
    runtime.shutdown_background();
    assert_eq!(world.open().sweep(), 0, "the removal may yet begin");
    drop(release);
    let end = Instant::now() + Duration::from_secs(30);
    while place.exists() {
        assert!(Instant::now() < end, "{} is still there", place.display());
        world.open().sweep();
    }
}

#[tokio::test]
async fn edits_that_are_no_files_of_the_repository_are_refused() {
    for world in World::all() {
        let (repository, attempt) = world.begin().await;
        let worktree = repository.worktree(&attempt).await.unwrap();
        let nested = worktree.path().join("nested");
        fs::create_dir(&nested).unwrap();
        world.run_in(&nested, &["init", "-q"]);
        fs::write(nested.join("x"), "x").unwrap();
        let told = refused(repository.take(&attempt, Candidate::Edits(&worktree)).await);
        assert!(told.contains("nested"), "{told}");
        fs::remove_dir_all(&nested).unwrap();

        fs::remove_dir_all(worktree.path().join("sub")).unwrap();
        symlink("/etc", worktree.path().join("sub")).unwrap();
        let told = refused(repository.take(&attempt, Candidate::Edits(&worktree)).await);
        assert!(told.contains("absolute target"), "{told}");
    }
}

/// Makes directories whose path together is longer than the system takes, with a file at the end.
fn beyond_path_max(directory: &Path) -> String {
    let name = "d".repeat(200);
    let mut at = fs::File::open(directory).unwrap();
    for _ in 0..25 {
        let below = format!("/proc/self/fd/{}/{name}", at.as_raw_fd());
        fs::create_dir(&below).unwrap();
        at = fs::File::open(&below).unwrap();
    }
    fs::write(format!("/proc/self/fd/{}/f.txt", at.as_raw_fd()), "new\n").unwrap();
    name
}

/// T8: what git passes over is named.
#[tokio::test]
async fn t8_a_file_beyond_the_longest_path_is_not_left_out_in_silence() {
    let world = World::new();
    let (repository, attempt) = world.begin().await;
    let worktree = repository.worktree(&attempt).await.unwrap();
    let name = beyond_path_max(worktree.path());
    // Alone it is no change, and not none either.
    let told = refused(repository.take(&attempt, Candidate::Edits(&worktree)).await);
    let expected = format!("Left out, as it could not be read (its path is too long): {name}/");
    assert!(told.starts_with(&expected), "{told}");
    fs::write(worktree.path().join("a.txt"), "changed\n").unwrap();
    let taken = take(&repository, &attempt, &worktree).await;
    assert_eq!(taken.paths, ["a.txt"]);
    let left_out = taken.left_out.unwrap();
    assert!(left_out.starts_with(&expected) && left_out.len() < 1_000, "{left_out}");
}

#[tokio::test]
async fn a_fifo_in_place_of_a_file_does_not_hang() {
    let world = World::new();
    let (repository, attempt) = world.begin().await;
    let worktree = repository.worktree(&attempt).await.unwrap();
    let fifo = |name: &str| {
        let path = worktree.path().join(name);
        let _ = fs::remove_file(&path);
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    };
    fifo("new");
    let nothing = repository.take(&attempt, Candidate::Edits(&worktree)).await;
    assert!(matches!(nothing, Err(TakeError::NoChange)), "{nothing:?}");
    fifo("a.txt");
    let told = refused(repository.take(&attempt, Candidate::Edits(&worktree)).await);
    assert!(told.contains("neither a file nor a link"), "{told}");
}

#[tokio::test]
async fn directories_of_a_dead_process_are_swept_and_those_in_use_are_not() {
    let world = World::new();
    let (repository, attempt) = world.begin().await;
    let worktree = repository.worktree(&attempt).await.unwrap();
    let left = world.dir.path().join("scratch/wo-9-9-1");
    fs::create_dir_all(left.join("files")).unwrap();
    fs::write(left.join("lock"), "held\n").unwrap();
    assert_eq!(world.open().sweep(), 1);
    assert!(!left.exists());
    assert!(worktree.path().exists());
    repository.take(&attempt, Candidate::Text(crate::support::GOOD)).await.unwrap();
}

/// T6: it is told even where nothing else was changed, so that nobody takes it for no work at all.
#[tokio::test]
async fn t6_what_is_written_in_a_submodule_alone_is_refused_by_name() {
    let world = World::new();
    let id = world.run(&["rev-parse", "HEAD"]);
    world.run(&["update-index", "--add", "--cacheinfo", &format!("160000,{id},deep/module")]);
    world.run(&["commit", "-q", "-m", "module"]);
    let (repository, attempt) = world.begin().await;
    let worktree = repository.worktree(&attempt).await.unwrap();
    let untouched = repository.take(&attempt, Candidate::Edits(&worktree)).await;
    assert!(matches!(untouched, Err(TakeError::NoChange)), "{untouched:?}");
    fs::write(worktree.path().join("deep/module/x"), "x").unwrap();
    let told = refused(repository.take(&attempt, Candidate::Edits(&worktree)).await);
    assert_eq!(told, "Left out, as submodules are not changed: what was written in deep/module");
}

/// What a worker does to a submodule of the base, by the path of its files, with the git that it has.
type Meddling = fn(&World, &Path);

/// T6: whatever a worker does where the base has a submodule is refused in words or left out by name, and the commit has
/// the submodule where it was.
#[tokio::test]
async fn t6_a_submodule_of_the_base_stays_whatever_a_worker_does_to_it() {
    let commits_inside = |world: &World, files: &Path| {
        let inside = files.join("module");
        fs::write(inside.join("x"), "x").unwrap();
        for arguments in [
            &["init", "-q"][..],
            &["add", "-A"],
            &["-c", "user.name=w", "-c", "user.email=w@example.org", "commit", "-q", "-m", "inside"],
        ] {
            let (code, out) = world.run_in(&inside, arguments);
            assert_eq!(code, 0, "{out}");
        }
    };
    let cases: [(&str, Meddling, &str); 6] = [
        ("writes into it", |_, files| fs::write(files.join("module/x"), "x").unwrap(), "module"),
        ("makes it a repository and commits", commits_inside, "module"),
        ("removes it", |_, files| fs::remove_dir(files.join("module")).unwrap(), "module"),
        (
            "puts a file in its place",
            |_, files| {
                fs::remove_dir(files.join("module")).unwrap();
                fs::write(files.join("module"), "x").unwrap();
            },
            "module",
        ),
        (
            "puts a link in its place",
            |_, files| {
                fs::remove_dir(files.join("module")).unwrap();
                symlink("a.txt", files.join("module")).unwrap();
            },
            "module",
        ),
        (
            "says where it comes from",
            |_, files| fs::write(files.join(".gitmodules"), "[submodule \"module\"]\n").unwrap(),
            ".gitmodules",
        ),
    ];
    for world in World::all() {
        let id = world.run(&["rev-parse", "HEAD"]);
        world.run(&["update-index", "--add", "--cacheinfo", &format!("160000,{id},module")]);
        world.run(&["commit", "-q", "-m", "module"]);
        let (repository, attempt) = world.begin().await;
        for (what, meddle, name) in cases {
            let worktree = repository.worktree(&attempt).await.unwrap();
            // Beside it, a change that is all right.
            fs::write(worktree.path().join("a.txt"), "changed\n").unwrap();
            meddle(&world, worktree.path());
            match repository.take(&attempt, Candidate::Edits(&worktree)).await {
                Ok(taken) => {
                    let tree = world.mirror_run(&["ls-tree", "-r", &taken.commit]);
                    assert!(tree.contains(&format!("160000 commit {id}\tmodule")), "{what}: {tree}");
                    assert_eq!(taken.paths, ["a.txt"], "{what}");
                    let left_out = taken.left_out.unwrap_or_default();
                    assert!(left_out.contains(name), "{what}: {left_out:?}");
                }
                Err(TakeError::Refused { reason, .. }) => assert!(reason.contains(name), "{what}: {reason}"),
                Err(error) => panic!("{what}: {error}"),
            }
        }
    }
}
