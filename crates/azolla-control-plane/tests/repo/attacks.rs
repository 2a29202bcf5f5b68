//! Patches that reach for what they may not (T1 to T6, T12, T13, T17).

use std::time::{Duration, Instant};

use azolla_control_plane::repo::{Candidate, Protected, Repository, TakeError, protected};

use crate::support::{GOOD, World, new_file, new_link, refused};

/// Asserts that each patch is refused with this in its reason, and that git was not started for it.
async fn all_refused(world: &World, patches: &[String], reason: &str) {
    let (repository, attempt) = world.begin().await;
    let before = repository.spawns();
    for patch in patches {
        let told = refused(repository.take(&attempt, Candidate::Text(patch)).await);
        assert!(told.contains(reason), "{patch}\n{told}");
    }
    assert_eq!(repository.spawns(), before, "git was started");
}

#[tokio::test]
async fn t1_a_path_that_leaves_the_tree_is_refused_before_git() {
    let world = World::new();
    let paths = ["../x", "sub/../../x", "sub/../x", "./x", "sub/./x", "sub//x"];
    let patches: Vec<String> = paths.iter().map(|path| new_file(path, "100644", "x")).collect();
    all_refused(&world, &patches[..5], "has . or .. in its path").await;
    all_refused(&world, &patches[5..], "has an empty part").await;
    all_refused(&world, &["--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-x\n+y\n".to_owned()], "absolute")
        .await;
    all_refused(&world, &[new_file("/etc/x", "100644", "x")], "absolute").await;
}

#[tokio::test]
async fn t1_git_directories_in_any_case_are_refused_before_git() {
    let paths = [".git/config", ".GIT/hooks/x", "sub/.git/x", "sub/.Git", "git~1/config", "GIT~2/x", ".git"];
    let patches: Vec<String> = paths.iter().map(|path| new_file(path, "100644", "x")).collect();
    all_refused(&World::new(), &patches, "is .git").await;
}

#[tokio::test]
async fn t1_a_rename_out_of_the_tree_is_refused() {
    let rename = |to: &str| format!("diff --git a/a.txt b/{to}\nrename from a.txt\nrename to {to}\n");
    all_refused(&World::new(), &[rename("../a.txt"), rename("sub/../../a.txt")], "has . or ..").await;
    all_refused(&World::new(), &[rename(".git/config")], "is .git").await;
}

#[tokio::test]
async fn t1_headers_that_name_two_files_are_refused() {
    let patch = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/sub/b.txt\n@@ -1 +1 @@\n-b\n+c\n".to_owned();
    let hidden = "diff --git a/x b/x\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-b\n+c\n".to_owned();
    all_refused(&World::new(), &[patch, hidden], "names that do not agree").await;
}

#[tokio::test]
async fn t2_aliases_of_git_on_other_file_systems_are_refused() {
    let paths = [
        ".g\u{200c}it/config",
        ".gi\u{feff}t/config",
        "\u{202e}.git/x",
        ".git./config",
        ".git /config",
        ".git . ./x",
        ".git::$INDEX_ALLOCATION/config",
        ".git:x/config",
        "sub/.GIT...",
    ];
    let patches: Vec<String> = paths.iter().map(|path| new_file(path, "100644", "x")).collect();
    all_refused(&World::new(), &patches, "is .git").await;
}

#[tokio::test]
async fn t2_names_that_ntfs_reads_differently_are_refused_for_new_files() {
    let world = World::new();
    all_refused(&world, &[new_file("x.", "100644", "x"), new_file("d /x", "100644", "x")], "dot or a space")
        .await;
    all_refused(&world, &[new_file("a.txt:s", "100644", "x")], "stream").await;
    all_refused(&world, &[new_file("con.txt", "100644", "x"), new_file("LPT1", "100644", "x")], "device")
        .await;
    all_refused(&world, &["--- /dev/null\n+++ \"b/d\\\\x\"\n@@ -0,0 +1 @@\n+x\n".to_owned()], "backslash")
        .await;
}

#[tokio::test]
async fn t3_a_new_link_that_leaves_the_tree_is_refused() {
    let world = World::new();
    all_refused(&world, &[new_link("l", "/etc/passwd"), new_link("l", "C:/x")], "absolute target").await;
    all_refused(&world, &[new_link("l", "../x"), new_link("sub/l", "../../x")], "leaves the tree").await;
    all_refused(&world, &[new_link("l", "sub/../../x")], "goes up behind a name").await;
    all_refused(&world, &[new_link("l", ".git/config"), new_link("sub/l", "../.GIT")], "into .git").await;
}

#[tokio::test]
async fn t3_a_link_inside_the_tree_is_taken() {
    for world in World::all() {
        let (repository, attempt) = world.begin().await;
        let taken = repository.take(&attempt, Candidate::Text(&new_link("sub/l", "../a.txt"))).await.unwrap();
        assert_eq!(world.mirror_file(&taken.commit, "sub/l"), b"../a.txt");
        assert!(world.mirror_run(&["ls-tree", &taken.commit, "sub/"]).contains("120000 blob"));
    }
}

#[tokio::test]
async fn t3_a_file_that_becomes_a_link_is_not_written_through() {
    let world = World::new();
    let through = format!("{}{}", new_link("d", "sub"), new_file("d/x", "100644", "x"));
    all_refused(&world, &[through], "written through d").await;
    let in_place = "diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 120000\n".to_owned();
    all_refused(&world, &[in_place], "in place").await;
    let deleted = "diff --git a/sub/b.txt b/sub/b.txt\ndeleted file mode 100644\n--- a/sub/b.txt\n+++ /dev/null\n\
        @@ -1 +0,0 @@\n-b\n";
    let outside = format!("{deleted}{}", new_link("sub/b.txt", "../../x"));
    all_refused(&world, &[outside], "leaves the tree").await;
    let inside = format!("{deleted}{}", new_link("sub/b.txt", "../a.txt"));
    let (repository, attempt) = world.begin().await;
    let taken = repository.take(&attempt, Candidate::Text(&inside)).await.unwrap();
    assert_eq!(taken.paths, ["sub/b.txt"]);
    assert_eq!(repository.rebuild(&attempt, &taken.diff).await.unwrap().commit, taken.commit);
}

#[tokio::test]
async fn t3_a_link_of_the_base_is_not_turned_outside() {
    for world in World::all() {
        std::os::unix::fs::symlink("a.txt", world.repo.join("l")).unwrap();
        world.commit("link");
        // The patch does not say that it is a link; git does.
        let patch = "--- a/l\n+++ b/l\n@@ -1 +1 @@\n-a.txt\n\\ No newline at end of file\n+/etc/passwd\n\
            \\ No newline at end of file\n";
        let told = world.refusal(patch).await;
        assert!(told.contains("absolute target"), "{told}");
    }
}

#[tokio::test]
async fn t4_a_write_through_a_link_of_the_base_is_refused() {
    for world in World::all() {
        let outside = world.dir.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, world.repo.join("out")).unwrap();
        std::os::unix::fs::symlink("sub", world.repo.join("in")).unwrap();
        world.commit("links");
        for path in ["out/x", "in/x"] {
            let told = world.refusal(&new_file(path, "100644", "x")).await;
            assert!(told.contains("through a link of the base"), "{told}");
        }
        let told = world.refusal("--- a/in/b.txt\n+++ b/in/b.txt\n@@ -1 +1 @@\n-b\n+c\n").await;
        assert!(told.contains("in/b.txt"), "{told}");
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn t5_a_patch_is_applied_whole_or_not_at_all() {
    for world in World::all() {
        let (repository, attempt) = world.begin().await;
        let half = format!("{GOOD}--- a/sub/b.txt\n+++ b/sub/b.txt\n@@ -1 +1 @@\n-not there\n+c\n");
        let told = refused(repository.take(&attempt, Candidate::Text(&half)).await);
        assert!(told.contains("sub/b.txt"), "{told}");
        assert_eq!(fs_names(&world, "rej"), Vec::<String>::new());
        assert_eq!(world.mirror_run(&["for-each-ref", "--format=%(refname)"]), "refs/azolla/base/main/!");
    }
}

fn fs_names(world: &World, ending: &str) -> Vec<String> {
    let all = crate::support::fingerprint(world.dir.path(), &[]);
    all.into_keys().filter(|name| name.ends_with(ending)).collect()
}

#[tokio::test]
async fn t6_submodules_are_not_made_or_changed() {
    let world = World::new();
    let id = "1".repeat(40);
    let link = new_file("m", "160000", &format!("Subproject commit {id}"));
    all_refused(&world, &[link], "is a submodule").await;
    let names = [".gitmodules", ".GITMODULES", ".gitmodules .", "gitmod~1", ".git\u{200d}modules"];
    let patches: Vec<String> = names.iter().map(|path| new_file(path, "100644", "x")).collect();
    all_refused(&world, &patches, ".gitmodules").await;
}

#[tokio::test]
async fn t6_a_path_inside_a_submodule_is_refused_and_the_rest_still_works() {
    for world in World::all() {
        let id = world.run(&["rev-parse", "HEAD"]);
        world.run(&["update-index", "--add", "--cacheinfo", &format!("160000,{id},module")]);
        world.run(&["commit", "-q", "-m", "module"]);
        for patch in [
            new_file("module/x", "100644", "x"),
            "diff --git a/module b/module\ndeleted file mode 160000\n\
            --- a/module\n+++ /dev/null\n@@ -1 +0,0 @@\n-Subproject commit x\n"
                .to_owned(),
        ] {
            let told = world.refusal(&patch).await;
            assert!(told.contains("module"), "{told}");
        }
        let (repository, attempt) = world.begin().await;
        let taken = repository.take(&attempt, Candidate::Text(GOOD)).await.unwrap();
        assert!(world.mirror_run(&["ls-tree", &taken.commit]).contains(&format!("160000 commit {id}")));
    }
}

#[tokio::test]
async fn t12_a_binary_bomb_in_text_is_refused_before_git() {
    let bomb = format!(
        "diff --git a/x b/x\nnew file mode 100644\nindex {}..{}\nGIT binary patch\nliteral 67108864\n{}\n\nliteral 0\nHcmV?d00001\n\n",
        "0".repeat(40),
        "1".repeat(40),
        "zcmV".repeat(20_000)
    );
    let world = World::new();
    let (repository, attempt) = world.begin().await;
    let before = repository.spawns();
    let told = bounded(async || refused(repository.take(&attempt, Candidate::Text(&bomb)).await)).await;
    assert!(told.contains("is binary"), "{told}");
    assert_eq!(repository.spawns(), before, "git was started");
}

#[tokio::test]
async fn t12_a_stored_bomb_is_refused_before_git() {
    let world = World::new();
    let (repository, attempt) = world.begin().await;
    let bomb = format!(
        "diff --git a/x b/x\nnew file mode 100644\nindex {}..{}\nGIT binary patch\nliteral 67108864\nzcmV\n\nliteral 0\nHcmV?d00001\n\n",
        "0".repeat(40),
        "1".repeat(40)
    );
    let before = repository.spawns();
    let told = bounded(async || refused(repository.rebuild(&attempt, &bomb).await)).await;
    assert!(told.contains("limit for one file"), "{told}");
    assert_eq!(repository.spawns(), before);
}

#[tokio::test]
async fn t13_too_many_files_or_bytes_are_refused_within_a_second_and_without_git() {
    let world = World::new();
    let (repository, attempt) = world.begin().await;
    let many: String = (0..20_000).map(|n| new_file(&format!("f{n}"), "100644", "x")).collect();
    let long = new_file("x", "100644", &"y".repeat(50_000_000));
    let large = new_file("x", "100644", &"y".repeat(5_500_000));
    let before = repository.spawns();
    for (patch, reason) in [(&many, "500 files"), (&long, "larger than"), (&large, "larger than")] {
        let told = bounded(async || refused(repository.take(&attempt, Candidate::Text(patch)).await)).await;
        assert!(told.contains(reason), "{told}");
    }
    assert_eq!(repository.spawns(), before);
}

/// Does something that has to take less than a second and less than 100 MB.
pub(crate) async fn bounded<T>(work: impl AsyncFnOnce() -> T) -> T {
    let memory = |name: &str| -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    // The peak begins anew at what there is now.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let (begin, before) = (Instant::now(), memory("VmRSS:"));
    let done = work().await;
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    let more = memory("VmHWM:").saturating_sub(before);
    assert!(more < 100_000, "{more} KB more");
    done
}

#[tokio::test]
async fn t13_one_file_over_its_limit_is_refused() {
    let world = World::new();
    let mut settings = world.settings();
    settings.limits.file_bytes = 100;
    let repository = azolla_control_plane::repo::GitRepository::open(settings).unwrap();
    let base = repository.base("main").await.unwrap();
    let patch = new_file("x", "100644", &"y".repeat(101));
    let told = refused(repository.take(&crate::support::attempt(&base), Candidate::Text(&patch)).await);
    assert!(told.starts_with("x: gets more than 100 bytes"), "{told}");
}

#[tokio::test]
async fn t13_a_patch_that_no_document_has_room_for_is_refused_whatever_the_limit() {
    let world = World::new();
    let mut settings = world.settings();
    (settings.limits.bytes, settings.limits.file_bytes) = (50_000_000, 50_000_000);
    let repository = azolla_control_plane::repo::GitRepository::open(settings).unwrap();
    let attempt = crate::support::attempt(&repository.base("main").await.unwrap());
    let room = 7 << 20;
    for (patch, reason) in [
        (new_file("x", "100644", &"y".repeat(room)), "the patch is larger than 7340032 bytes"),
        // Each of them takes six bytes in a document.
        (
            new_file("x", "100644", &"\u{1}".repeat(room / 6)),
            "the patch takes more than 7340032 bytes to store",
        ),
    ] {
        let taken = repository.take(&attempt, Candidate::Text(&patch)).await.map(|taken| taken.diff.len());
        assert_eq!(taken.unwrap_err().to_string(), reason);
    }
    let most = new_file("x", "100644", &"y".repeat(room - 4_096));
    let taken = repository.take(&attempt, Candidate::Text(&most)).await.unwrap();
    let stored = serde_json::to_string(&taken.diff).unwrap();
    assert!(stored.len() < azolla_protocol::DOCUMENT_BYTES_MAX, "{}", stored.len());
}

#[tokio::test]
async fn t13_edits_over_the_limits_are_refused_before_a_byte_is_stored() {
    for world in World::all() {
        let (repository, attempt) = world.begin().await;
        let objects = || world.mirror_run(&["count-objects"]);
        // Naming a new file in an index takes the empty blob, and nothing of the file.
        world.mirror_run(&["hash-object", "-w", "/dev/null"]);
        let before = objects();
        let worktree = repository.worktree(&attempt).await.unwrap();
        let large = std::fs::File::create(worktree.path().join("large")).unwrap();
        large.set_len(10_000_000_000).unwrap();
        let told = refused(repository.take(&attempt, Candidate::Edits(&worktree)).await);
        assert!(told.starts_with("large: has more than"), "{told}");
        std::fs::remove_file(worktree.path().join("large")).unwrap();
        for n in 0..501 {
            std::fs::write(worktree.path().join(format!("f{n}")), "x").unwrap();
        }
        let told = refused(repository.take(&attempt, Candidate::Edits(&worktree)).await);
        assert!(told.contains("500 files"), "{told}");
        assert_eq!(objects(), before);
    }
}

#[test]
fn t17_paths_that_run_or_steer_something_are_named_first() {
    let expected = [
        (".github/workflows/ci.yml", Some(Protected::Ci)),
        (".gitlab-ci.yml", Some(Protected::Ci)),
        (".husky/pre-commit", Some(Protected::Hook)),
        (".pre-commit-config.yaml", Some(Protected::Hook)),
        ("AGENTS.md", Some(Protected::AgentConfig)),
        ("sub/CLAUDE.md", Some(Protected::AgentConfig)),
        (".claude/settings.json", Some(Protected::AgentConfig)),
        (".azolla.toml", Some(Protected::AgentConfig)),
        ("crates/x/build.rs", Some(Protected::BuildScript)),
        ("package.json", Some(Protected::BuildScript)),
        ("Makefile", Some(Protected::BuildScript)),
        ("Cargo.lock", Some(Protected::LockFile)),
        ("web/package-lock.json", Some(Protected::LockFile)),
        ("src/main.rs", None),
        ("docs/makefile.md", None),
    ];
    for (path, kind) in expected {
        assert_eq!(protected(path), kind, "{path}");
    }
}

#[tokio::test]
async fn t17_a_patch_of_protected_paths_is_taken() {
    let world = World::new();
    let (repository, attempt) = world.begin().await;
    let taken =
        repository.take(&attempt, Candidate::Text(&new_file("build.rs", "100644", "fn main() {}"))).await;
    assert_eq!(taken.unwrap().paths, ["build.rs"]);
}

#[tokio::test]
async fn modes_beyond_file_program_and_link_are_refused() {
    let world = World::new();
    let modes = ["100664", "100600", "040000", "104755", "0", "x", ""];
    for mode in modes {
        let told = world.refusal(&new_file("x", mode, "x")).await;
        assert!(told.contains("has mode"), "{mode}: {told}");
    }
}

#[tokio::test]
async fn a_change_that_is_said_twice_is_made_once_and_two_different_new_files_are_refused() {
    let world = World::new();
    let (repository, attempt) = world.begin().await;
    let good = repository.take(&attempt, Candidate::Text(GOOD)).await.unwrap();
    let twice = format!("```diff\n{GOOD}```\nonce more, the whole diff:\n```diff\n{GOOD}```\n");
    for twice in [format!("{GOOD}{GOOD}"), format!("{GOOD}\nAgain:\n\n{GOOD}"), twice] {
        assert_eq!(repository.take(&attempt, Candidate::Text(&twice)).await.unwrap(), good);
    }
    let two = format!("{}{}", new_file("x", "100644", "x"), new_file("x", "100644", "y"));
    let told = refused(repository.take(&attempt, Candidate::Text(&two)).await);
    assert_eq!(told, "x: exists and is not empty; give what to replace in it");
    let both = format!("{}{}", new_file("d", "100644", "x"), new_file("d/x", "100644", "x"));
    all_refused(&world, &[both], "written through d, which the patch makes a file").await;
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_as_a_change_is_refused_with_what_is_wrong() {
    let world = World::new();
    let cases = [
        ("--- a/a.txt\n+++ b/a.txt\nno hunk\n", "no hunk"),
        ("diff --git a/a.txt b/a.txt\ncopy from a.txt\ncopy to c.txt\n", "is a copy"),
        ("diff --git a/a.txt b/b.txt\nrename from a.txt\n", "half of a rename"),
        ("Binary files a/x and b/x differ\n", "has no change in it: Binary files a/x and b/x differ"),
        ("I could not do it.", "has no change in it: I could not do it."),
    ];
    for (text, reason) in cases {
        let told = world.refusal(text).await;
        assert!(told.contains(reason), "{text}\n{told}");
    }
}

#[tokio::test]
async fn a_diff_bare_fenced_or_in_prose_is_the_same_commit() {
    for world in World::all() {
        let (repository, attempt) = world.begin().await;
        let expected = repository.take(&attempt, Candidate::Text(GOOD)).await.unwrap();
        let texts = [
            format!("Here it is:\n\n```diff\n{GOOD}```\n\nIt adds a line.\n"),
            format!("~~~\n{GOOD}~~~"),
            format!("I add a line.\n{GOOD}\nThat is all.\n- one\n"),
            format!("{GOOD}-- \n2.47.3\n"),
            GOOD.trim_end().to_owned(),
            GOOD.replace("diff --git a/a.txt b/a.txt\n", ""),
            GOOD.replace("a/a.txt", "a.txt").replace("b/a.txt", "a.txt"),
        ];
        for text in texts {
            let taken = repository.take(&attempt, Candidate::Text(&text)).await.unwrap();
            assert_eq!(taken, expected, "{text}");
        }
    }
}

#[tokio::test]
async fn a_text_without_a_change_has_its_own_outcome() {
    let world = World::new();
    let (repository, attempt) = world.begin().await;
    let same = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+two\n three\n";
    let context = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n two\n";
    for text in ["", "  \n", same, context] {
        let taken = repository.take(&attempt, Candidate::Text(text)).await;
        assert!(matches!(taken, Err(TakeError::NoChange)), "{text}: {taken:?}");
    }
}

/// PF-6b: edits that are refused are not lost with their directory.
#[tokio::test]
async fn t3_pf6_refused_edits_are_kept_as_text() {
    let world = World::new();
    let (repository, attempt) = world.begin().await;
    let worktree = repository.worktree(&attempt).await.unwrap();
    std::fs::write(worktree.path().join("new.txt"), "kept\n").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", worktree.path().join("leak")).unwrap();
    let taken = repository.take(&attempt, Candidate::Edits(&worktree)).await;
    let Err(TakeError::Refused { reason, attempted }) = taken else { panic!("not refused: {taken:?}") };
    assert!(reason.starts_with("leak: "), "{reason}");
    for part in ["+++ b/new.txt", "+kept", "+++ b/leak", "+/etc/passwd"] {
        assert!(attempted.text.contains(part), "{part}: {attempted:?}");
    }
    assert!(!attempted.is_cut && attempted.paths.is_empty(), "all of it is there: {attempted:?}");
}

/// T17: of edits that are too many to be kept, those that run by themselves are named all the same.
#[tokio::test]
async fn t17_refused_edits_that_are_cut_name_every_path() {
    let world = World::new();
    let (repository, attempt) = world.begin().await;
    let worktree = repository.worktree(&attempt).await.unwrap();
    let write = |name: &str, text: &str| {
        let path = worktree.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("a.txt", &"a line that is long enough\n".repeat(50_000));
    write("z/build.rs", "fn main() {}\n");
    write("zz/Makefile", "all:\n");
    std::os::unix::fs::symlink("/etc/passwd", worktree.path().join("zzz-leak")).unwrap();
    let taken = repository.take(&attempt, Candidate::Edits(&worktree)).await;
    let Err(TakeError::Refused { attempted, .. }) = taken else { panic!("not refused: {taken:?}") };
    assert!(attempted.is_cut && !attempted.text.contains("build.rs"), "{}", attempted.text.len());
    let names = ["a.txt", "z/build.rs", "zz/Makefile", "zzz-leak"];
    assert_eq!(attempted.paths, names);
}

/// Makes nested directories from the innermost outwards, so that no path gets long.
fn nest(place: &std::path::Path, depth: usize) {
    let name = |n: usize| place.join(format!("nest{n}"));
    std::fs::create_dir(name(0)).unwrap();
    for n in 1..=depth {
        std::fs::create_dir(name(n)).unwrap();
        std::fs::rename(name(n - 1), name(n).join("d")).unwrap();
    }
}

#[test]
fn t30_a_worktree_with_forty_thousand_nested_directories_is_removed() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let world = World::new();
    let (repository, worktree) = runtime.block_on(async {
        let (repository, attempt) = world.begin().await;
        let worktree = repository.worktree(&attempt).await.unwrap();
        nest(worktree.path(), 40_000);
        let taken = repository.take(&attempt, Candidate::Edits(&worktree)).await;
        assert!(taken.is_err(), "{taken:?}");
        (repository, worktree)
    });
    let place = worktree.path().parent().unwrap().to_owned();
    assert!(place.is_dir());
    // Outside the runtime, so that it is gone when this returns.
    drop(worktree);
    assert!(!place.exists());
    drop(repository);
}
