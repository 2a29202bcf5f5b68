//! Byte-exact content and deterministic commits (T14 to T16, G-1).

use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
};

use azolla_control_plane::repo::{Candidate, GitRepository, PatchLimits, Repository, TakeError};

use crate::support::{GOOD, World, new_file, refused};

#[tokio::test]
async fn t14_odd_content_is_stored_as_it_is_and_rebuilt_from_the_patch() {
    let long = [vec![b'x'; 9_000], b"\n\0after\n".to_vec()].concat();
    let contents: [(&str, &[u8]); 9] = [
        ("crlf.txt", b"one\r\ntwo\r\n"),
        ("mixed.txt", b"one\r\ntwo\nthree\r"),
        ("no-newline.txt", b"one\ntwo"),
        ("empty.txt", b""),
        ("latin1.txt", b"gr\xf6\xdfe\nm\xfcller\n"),
        ("binary.dat", b"\0\x01\x02\xff\n\0"),
        ("late-nul.txt", &long),
        ("tabs\u{20ac}.txt", b"\ttab \n\n \n+plus\n-minus\n@@ -1 +1 @@\ndiff --git a/x b/x\n```\n"),
        ("-rf", b"--force\n"),
    ];
    for world in World::all() {
        world.write("latin1.txt", b"gr\xf6\xdfe\nmeier\n");
        world.write("crlf.txt", b"one\r\n");
        world.write("binary.dat", b"\0\0\0");
        world.commit("odd");
        let (repository, attempt) = world.begin().await;
        let worktree = repository.worktree(&attempt).await.unwrap();
        for (path, content) in contents {
            fs::write(worktree.path().join(path), content).unwrap();
        }
        fs::set_permissions(worktree.path().join("a.txt"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(worktree.path().join("sub/b.txt")).unwrap();
        symlink("a.txt", worktree.path().join("link")).unwrap();
        let taken = repository.take(&attempt, Candidate::Edits(&worktree)).await.unwrap();
        for (path, content) in contents {
            assert_eq!(world.mirror_file(&taken.commit, path), content, "{path}");
        }
        assert!(!taken.diff.contains('\0'));
        let tree = world.mirror_run(&["ls-tree", "-r", &taken.commit]);
        assert!(
            tree.contains("100755 blob") && tree.contains("120000 blob") && !tree.contains("sub/b.txt"),
            "{tree}"
        );
        // Another mirror, from the patch alone.
        let mut settings = world.settings();
        settings.mirror = world.dir.path().join("other.git");
        let other = GitRepository::open(settings).unwrap();
        let rebuilt = other.rebuild(&attempt, &taken.diff).await.unwrap();
        assert_eq!((rebuilt.commit, rebuilt.tree, rebuilt.paths), (taken.commit, taken.tree, taken.paths));
    }
}

#[tokio::test]
async fn t14_a_text_patch_with_crlf_and_no_final_newline_is_exact() {
    for world in World::all() {
        world.write("w.txt", "one\r\ntwo\r\nlast");
        world.commit("crlf");
        let (repository, attempt) = world.begin().await;
        let patch = "--- a/w.txt\n+++ b/w.txt\n@@ -1,3 +1,3 @@\n one\r\n-two\r\n-last\n\\ No newline at end of file\n\
            +zwei\r\n+end\n\\ No newline at end of file\n";
        let taken = repository.take(&attempt, Candidate::Text(patch)).await.unwrap();
        assert_eq!(world.mirror_file(&taken.commit, "w.txt"), b"one\r\nzwei\r\nend");
        // Line ends are the file's, whichever the answer was carried with.
        for carried in [patch.replace('\r', ""), patch.replace('\r', "").replace('\n', "\r\n")] {
            assert_eq!(repository.take(&attempt, Candidate::Text(&carried)).await.unwrap(), taken);
        }
    }
}

#[tokio::test]
async fn t15_names_with_control_characters_or_no_text_are_refused() {
    for world in World::all() {
        for name in ["\"b/a\\nb\"", "\"b/a\\033[2J\"", "\"b/a\\001\"", "\"b/\\302\\205\"", "b/a\rb"] {
            let told = world.refusal(&format!("--- /dev/null\n+++ {name}\n@@ -0,0 +1 @@\n+x\n")).await;
            assert!(told.contains("control character"), "{name}: {told}");
            assert!(!told.contains('\u{1b}') && !told.contains('\n'), "{told:?}");
        }
        let told = world.refusal("--- /dev/null\n+++ \"b/\\377\"\n@@ -0,0 +1 @@\n+x\n").await;
        assert!(told.contains("not UTF-8"), "{told}");
        let (repository, attempt) = world.begin().await;
        for (name, reason) in
            [(&b"a\nb"[..], "control character"), (b"\x1b[2J", "control character"), (b"\xff", "not UTF-8")]
        {
            let worktree = repository.worktree(&attempt).await.unwrap();
            fs::write(worktree.path().join(OsStr::from_bytes(name)), "x").unwrap();
            let told = refused(repository.take(&attempt, Candidate::Edits(&worktree)).await);
            assert!(told.contains(reason), "{told}");
            assert!(!told.contains('\u{1b}') && !told.contains('\n'), "{told:?}");
        }
    }
}

#[tokio::test]
async fn t15_names_with_blanks_quotes_and_umlauts_are_exact() {
    for world in World::all() {
        let names = ["with blank.txt", "qu\"ote", "-rf", "größe/x", "b/a", "tab'", "日本"];
        for name in names {
            world.write(&format!("old/{name}"), "one\n");
        }
        world.commit("names");
        let (repository, attempt) = world.begin().await;
        let worktree = repository.worktree(&attempt).await.unwrap();
        for name in names {
            fs::write(worktree.path().join("old").join(name), "two\n").unwrap();
            let new = worktree.path().join(name);
            fs::create_dir_all(new.parent().unwrap()).unwrap();
            fs::write(new, "new\n").unwrap();
        }
        let taken = repository.take(&attempt, Candidate::Edits(&worktree)).await.unwrap();
        assert_eq!(taken.paths.len(), 2 * names.len());
        // The same text as an answer gives the same commit: our reading of names is git's.
        let again = repository.take(&attempt, Candidate::Text(&taken.diff)).await.unwrap();
        assert_eq!(again, taken);
    }
}

#[tokio::test]
async fn t16_modes_renames_and_deletions_in_text_are_taken() {
    for world in World::all() {
        let (repository, attempt) = world.begin().await;
        let patch = "diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n\
            diff --git a/sub/b.txt b/c d.txt\nsimilarity index 50%\nrename from sub/b.txt\nrename to c d.txt\n\
            --- a/sub/b.txt\n+++ b/c d.txt\t\n@@ -1 +1,2 @@\n b\n+c\n\
            diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n";
        let taken = repository.take(&attempt, Candidate::Text(patch)).await.unwrap();
        assert_eq!(taken.paths, ["a.txt", "c d.txt", "e", "sub/b.txt"]);
        assert_eq!(world.mirror_file(&taken.commit, "c d.txt"), b"b\nc\n");
        assert_eq!(world.mirror_file(&taken.commit, "e"), b"");
        assert!(world.mirror_run(&["ls-tree", &taken.commit, "a.txt"]).starts_with("100755"));
        assert_eq!(repository.rebuild(&attempt, &taken.diff).await.unwrap().commit, taken.commit);
    }
}

#[tokio::test]
async fn t16_a_patch_that_changes_nothing_has_a_reason_of_its_own() {
    let world = World::new();
    let (repository, attempt) = world.begin().await;
    let worktree = repository.worktree(&attempt).await.unwrap();
    fs::write(worktree.path().join("a.txt"), "x").unwrap();
    fs::write(worktree.path().join("a.txt"), "one\ntwo\nthree\n").unwrap();
    let taken = repository.take(&attempt, Candidate::Edits(&worktree)).await;
    assert!(matches!(taken, Err(TakeError::NoChange)), "{taken:?}");
    assert!(matches!(repository.rebuild(&attempt, "").await, Err(TakeError::NoChange)));
}

#[tokio::test]
async fn g1_an_attempt_is_the_same_commit_on_every_machine() {
    let mut commits = Vec::new();
    for world in World::all() {
        // The base is made with fixed dates, so that both programs begin with the same one.
        world.run(&["checkout", "-q", "--orphan", "fixed"]);
        let tree = world.run(&["write-tree"]);
        let object = format!("tree {tree}\nauthor x <x> 0 +0000\ncommitter x <x> 0 +0000\n\nfixed\n");
        fs::write(world.dir.path().join("object"), object).unwrap();
        let base = world.run(&["hash-object", "-t", "commit", "-w", "../object"]);
        world.run(&["update-ref", "refs/heads/main", &base]);
        let (repository, mut attempt) = world.begin().await;
        attempt.title = "Two\u{1b}[2J  lines\nof \u{202e}title ".to_owned();
        let taken = repository.take(&attempt, Candidate::Text(GOOD)).await.unwrap();
        let shown = world.mirror_run(&["cat-file", "commit", &taken.commit]);
        assert_eq!(
            shown,
            format!(
                "tree {}\nparent {base}\nauthor azolla <azolla@localhost.invalid> 1770091506 +0000\n\
                 committer azolla <azolla@localhost.invalid> 1770091506 +0000\n\nTwo [2J lines of title\n\n\
                 Objective: obj-1\nWorkorder: wo-1-1",
                taken.tree
            )
        );
        commits.push((taken.commit, taken.diff));
    }
    assert!(commits.windows(2).all(|pair| pair[0] == pair[1]), "{commits:?}");
}

/// A-4, invariant 11: limits are for what is taken. What was stored stays what it is when they are lowered, or lower elsewhere.
#[tokio::test]
async fn a4_a_stored_patch_is_rebuilt_whatever_the_limits_are_now() {
    for world in World::all() {
        let asset = |n: u8| -> Vec<u8> { (0..=255).cycle().take(9_000).chain([n]).collect() };
        (0..6).for_each(|n| world.write(&format!("asset-{n}"), asset(0)));
        world.commit("assets");
        let (repository, attempt) = world.begin().await;
        let worktree = repository.worktree(&attempt).await.unwrap();
        (0..6).for_each(|n| fs::write(worktree.path().join(format!("asset-{n}")), asset(n + 1)).unwrap());
        fs::write(worktree.path().join("a.txt"), "one\ntwo\nthree\nand four\n").unwrap();
        let taken = repository.take(&attempt, Candidate::Edits(&worktree)).await.unwrap();
        assert!(taken.diff.contains("\ndelta "), "{}", taken.diff);
        let three = [GOOD.to_owned(), new_file("x", "100644", "four"), new_file("y", "100644", "x")].concat();
        let limits = PatchLimits::default();
        for (n, limits) in [
            PatchLimits { bytes: 10, ..limits },
            PatchLimits { files: 1, ..limits },
            PatchLimits { file_bytes: 3, ..limits },
        ]
        .into_iter()
        .enumerate()
        {
            // In the mirror that has what the patch makes, and in one that has not.
            for mirror in [world.mirror(), world.dir.path().join(format!("other-{n}.git"))] {
                let mut settings = world.settings();
                (settings.limits, settings.mirror) = (limits, mirror);
                let repository = GitRepository::open(settings).unwrap();
                let rebuilt = repository.rebuild(&attempt, &taken.diff).await.unwrap();
                assert_eq!(rebuilt, taken, "{limits:?}");
                assert!(repository.applies(&attempt.base, &taken.diff).await.unwrap());
                // What comes in is held to them.
                refused(repository.take(&attempt, Candidate::Text(&three)).await);
            }
        }
    }
}

#[tokio::test]
async fn a_patch_applies_to_a_base_that_moved_only_where_it_fits() {
    for world in World::all() {
        let (repository, attempt) = world.begin().await;
        let taken = repository.take(&attempt, Candidate::Text(GOOD)).await.unwrap();
        world.write("sub/b.txt", "elsewhere\n");
        world.commit("elsewhere");
        let moved = repository.base("main").await.unwrap();
        assert!(repository.applies(&moved, &taken.diff).await.unwrap());
        world.write("a.txt", "all new\n");
        world.commit("conflict");
        let moved = repository.base("main").await.unwrap();
        assert!(!repository.applies(&moved, &taken.diff).await.unwrap());
    }
}

#[tokio::test]
async fn checks_get_the_files_of_the_attempt() {
    for world in World::all() {
        let (repository, attempt) = world.begin().await;
        let taken = repository.take(&attempt, Candidate::Text(GOOD)).await.unwrap();
        let patched = repository.checkout(&attempt, &taken.commit).await.unwrap();
        let base = repository.checkout(&attempt, &attempt.base).await.unwrap();
        assert_eq!(patched.tree(), taken.tree);
        assert_ne!(patched.path(), base.path());
        assert_eq!(
            fs::read_to_string(patched.path().join("a.txt")).unwrap(),
            "one\ntwo\ntwo and a half\nthree\n"
        );
        assert_eq!(fs::read_to_string(base.path().join("a.txt")).unwrap(), "one\ntwo\nthree\n");
        assert_eq!(world.run_in(patched.path(), &["status", "--porcelain"]), (0, String::new()));
    }
}
