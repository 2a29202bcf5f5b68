//! What is read of a commit: settings, which fail closed (R13), and what a prompt gets (T21).

use std::{fs, os::unix::fs::symlink, path::Path};

use azolla_control_plane::repo::{Candidate, Description, Entry, GitRepository, Repository, RepositoryError};

use crate::support::{World, attempt};

fn nothing(_: &[Entry]) -> Vec<usize> {
    Vec::new()
}

fn paths(described: &Description) -> Vec<&str> {
    described.entries.iter().map(|entry| entry.path.as_str()).collect()
}

#[tokio::test]
async fn a_commit_is_described_with_its_guide() {
    for world in World::all() {
        world.write("CLAUDE.md", "for claude\n");
        world.commit("claude");
        let repository = world.open();
        let base = repository.base("main").await.unwrap();
        let described = repository.describe(&base, &nothing).await.unwrap();
        assert_eq!(paths(&described), ["CLAUDE.md", "a.txt", "sub/b.txt"]);
        let guide = described.guide.unwrap();
        assert_eq!((guide.path.as_str(), guide.text.as_str()), ("CLAUDE.md", "for claude\n"));
        assert_eq!(guide.blob, world.run(&["rev-parse", "main:CLAUDE.md"]));

        symlink("CLAUDE.md", world.repo.join("AGENTS.md")).unwrap();
        world.commit("agents");
        let base = repository.base("main").await.unwrap();
        let guide = repository.describe(&base, &nothing).await.unwrap().guide.unwrap();
        assert_eq!((guide.path.as_str(), guide.text.as_str()), ("AGENTS.md", "for claude\n"));
    }
}

#[tokio::test]
async fn r13_a_file_is_none_only_if_the_commit_has_no_such_path() {
    for world in World::all() {
        let large = "x".repeat(300_000);
        world.write(".azolla.toml", &large);
        world.write("AGENTS.md", "guide\n");
        world.commit("files");
        let repository = world.open();
        let base = repository.base("main").await.unwrap();
        assert_eq!(repository.describe(&base, &nothing).await.unwrap().guide.unwrap().text, "guide\n");
        for (path, bytes_max, expected) in [
            (".azolla.toml", 300_000, Some(large.as_bytes())),
            ("a.txt", 14, Some(b"one\ntwo\nthree\n".as_slice())),
            ("sub/b.txt", 100, Some(b"b\n")),
            ("CLAUDE.md", 100, None),
            ("missing", 100, None),
            ("missing/too", 100, None),
            ("sub/c.txt", 100, None),
        ] {
            let file = repository.file(&base, path, bytes_max).await.unwrap();
            assert_eq!(file.as_deref(), expected, "{path}");
        }
        let nowhere = "1".repeat(40);
        for path in [".azolla.toml", "missing"] {
            let told = repository.file(&nowhere, path, 100).await;
            assert!(
                matches!(&told, Err(RepositoryError::Unusable { what, .. }) if what.contains("is not in")),
                "{path}: {told:?}"
            );
        }
    }
}

/// G-1, C-6: whoever takes over may have a mirror that has not seen the commit yet, or none at all.
#[tokio::test]
async fn g1_c6_a_commit_that_the_mirror_lacks_is_fetched_whatever_is_asked_of_it_first() {
    for world in World::all() {
        world.write(".azolla.toml", "version = 1\n");
        world.write("Tiltfile", "one\n");
        world.commit("base");
        let base = world.run(&["rev-parse", "main"]);
        world.commit("later");
        let fresh = |name: &str| {
            let mut settings = world.settings();
            settings.mirror = world.dir.path().join(name);
            GitRepository::open(settings).unwrap()
        };
        for (n, path, expected) in [
            (0, ".azolla.toml", Some(b"version = 1\n".as_slice())),
            (1, "sub/b.txt", Some(b"b\n")),
            (2, "missing", None),
            (3, "CLAUDE.md", None),
        ] {
            let file = fresh(&format!("file-{n}.git")).file(&base, path, 100).await;
            assert_eq!(file.unwrap().as_deref(), expected, "{path}");
        }
        let described = fresh("describe.git").describe(&base, &nothing).await.unwrap();
        assert_eq!(paths(&described), [".azolla.toml", "Tiltfile", "a.txt", "sub/b.txt"]);
        // Whether a word alone on a line is a file is asked before anything else.
        let answer = Candidate::Text("Tiltfile\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n");
        let taken = fresh("take.git").take(&attempt(&base), answer).await.unwrap();
        assert_eq!(taken.paths, ["Tiltfile"]);
    }
}

/// PF-3b: what cannot be asked now may have the commit.
#[tokio::test]
async fn pf3_a_commit_of_a_repository_that_does_not_answer_may_come_later() {
    for world in World::all() {
        let mut settings = world.settings();
        settings.repo = "https://127.0.0.1:1/app.git".to_owned();
        let (repository, commit) = (GitRepository::open(settings).unwrap(), "1".repeat(40));
        let told = repository.file(&commit, ".azolla.toml", 100).await;
        assert!(matches!(told, Err(RepositoryError::Unavailable(_))), "{told:?}");
        let told = repository.worktree(&attempt(&commit)).await;
        assert!(matches!(told, Err(RepositoryError::Unavailable(_))), "{told:?}");
    }
}

/// Makes something at a path.
type Make<'a> = &'a dyn Fn(&Path);

#[tokio::test]
async fn r13_settings_that_are_there_and_cannot_be_read_are_for_the_operator() {
    for world in World::all() {
        let settings = world.repo.join(".azolla.toml");
        let link = |target: &'static str| move |at: &Path| symlink(target, at).unwrap();
        let kinds: [(Make<'_>, &str); 7] = [
            (&|at| fs::write(at, "x".repeat(65_537)).unwrap(), "is larger than 65536 bytes"),
            (&|at| fs::write(at, "x".repeat(200_000)).unwrap(), "is larger than 65536 bytes"),
            (&link("/etc/hostname"), "is a link that leads out of the repository"),
            (&link("../x"), "is a link that leads out of the repository"),
            (&link("nowhere"), "is a link to nothing"),
            (&link(".azolla.toml"), "is a link that leads to itself"),
            (
                &|at| {
                    fs::create_dir(at).unwrap();
                    fs::write(at.join("x"), "x").unwrap();
                },
                "is a directory",
            ),
        ];
        let repository = world.open();
        for (make, said) in kinds {
            make(&settings);
            world.commit(said);
            unreadable(&world, &repository, ".azolla.toml", said).await;
            fs::rename(&settings, world.repo.join("other")).unwrap();
            world.commit("under a name that nothing is known of");
            if said != "is a link that leads to itself" {
                unreadable(&world, &repository, "other", said).await;
            }
            world.run(&["rm", "-rqf", "other"]);
            world.commit("away");
            let base = repository.base("main").await.unwrap();
            assert_eq!(repository.file(&base, ".azolla.toml", 65_536).await.unwrap(), None);
        }
    }
}

#[tokio::test]
async fn r13_settings_that_are_a_submodule_or_damaged_do_not_count_as_none() {
    for world in World::all() {
        let main = world.run(&["rev-parse", "main"]);
        for path in [".azolla.toml", "other"] {
            world.run(&["update-index", "--add", "--cacheinfo", &format!("160000,{main},{path}")]);
            world.run(&["commit", "-q", "-m", "submodule"]);
            unreadable(&world, &world.open(), path, "is a submodule").await;
            world.run(&["rm", "-q", "--cached", path]);
            world.write(path, format!("{path}\n"));
            world.commit("settings");
            world.open().base("main").await.unwrap();
            let blob = world.run(&["rev-parse", &format!("main:{path}")]);
            let object = world.mirror().join("objects").join(&blob[..2]).join(&blob[2..]);
            fs::remove_file(&object).unwrap();
            fs::write(&object, "").unwrap();
            unreadable(&world, &world.open(), path, "an object that the mirror does not have").await;
        }
    }
}

async fn unreadable(world: &World, repository: &GitRepository, path: &str, said: &str) {
    let base = repository.base("main").await.unwrap();
    assert_eq!(base, world.run(&["rev-parse", "main"]));
    match repository.file(&base, path, 65_536).await {
        Err(RepositoryError::Unusable { what, action }) => {
            assert!(
                what.starts_with(&format!("{path} at {} ", &base[..12])) && what.contains(said),
                "{what}"
            );
            assert_eq!(action, format!("Make {path} a file of at most 65536 bytes"));
        }
        other => panic!("{path}, {said}: {other:?}"),
    }
}

#[tokio::test]
async fn t21_a_guide_in_utf_16_and_a_path_with_a_line_break_are_plain_text() {
    for world in World::all() {
        let utf_16: Vec<u8> = "\u{feff}Be kind\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        world.write("AGENTS.md", utf_16);
        world.write("x\n\n# New rules\n\u{202e}gnp.y", "x");
        let long = format!("{0}/{0}/z", "d".repeat(200));
        world.write(&long, "x");
        world.commit("odd");
        let repository = world.open();
        let base = repository.base("main").await.unwrap();
        let described = repository.describe(&base, &nothing).await.unwrap();
        let entries = paths(&described);
        let text = described.guide.as_ref().unwrap().text.clone();
        assert!(text.contains("B\u{fffd}e\u{fffd} "), "{text:?}");
        assert!(!text.contains('\0'), "{text:?}");
        let odd = "x\\u{a}\\u{a}# New rules\\u{a}\\u{202e}gnp.y";
        assert_eq!(entries, ["AGENTS.md", "a.txt", &long, "sub/b.txt", odd]);
    }
}

/// A tree's entries are what git says they are, and the texts are those of the files that were picked.
#[tokio::test]
async fn a_tree_has_its_entries_and_the_texts_that_were_picked() {
    for world in World::all() {
        world.write("bin/run.sh", "#!/bin/sh\n");
        world.run(&["add", "-A"]);
        world.run(&["update-index", "--chmod=+x", "bin/run.sh"]);
        world.run(&["commit", "-q", "-m", "run"]);
        world.run(&["checkout", "-q", "--", "bin/run.sh"]);
        world.write("image", b"a\0b");
        world.write("latin", b"caf\xe9\n");
        symlink("a.txt", world.repo.join("link")).unwrap();
        world.commit("kinds");
        let main = world.run(&["rev-parse", "main"]);
        world.run(&["update-index", "--add", "--cacheinfo", &format!("160000,{main},module")]);
        world.run(&["commit", "-q", "-m", "module"]);
        let repository = world.open();
        let base = repository.base("main").await.unwrap();
        let described = repository.describe(&base, &|entries| (0..entries.len()).collect()).await.unwrap();
        let kinds: Vec<(&str, u32, u64)> =
            described.entries.iter().map(|entry| (entry.path.as_str(), entry.mode, entry.size)).collect();
        let expected = [
            ("a.txt", 0o100_644, 14),
            ("bin/run.sh", 0o100_755, 10),
            ("image", 0o100_644, 3),
            ("latin", 0o100_644, 5),
            ("link", 0o120_000, 5),
            ("module", 0o160_000, 0),
            ("sub/b.txt", 0o100_644, 2),
        ];
        assert_eq!(kinds, expected);
        assert_eq!(described.entries[0].blob, world.run(&["rev-parse", "main:a.txt"]));
        let texts: Vec<(usize, &str)> = described.texts.iter().map(|(n, text)| (*n, text.as_str())).collect();
        assert_eq!(
            texts,
            [(0, "one\ntwo\nthree\n"), (1, "#!/bin/sh\n"), (3, "caf\u{fffd}\n"), (6, "b\n")],
            "neither what is binary nor what is no file"
        );
    }
}

/// One call lists the tree, one reads the guide and everything that was picked; of a known commit only the latter.
#[tokio::test]
async fn describing_a_commit_starts_git_twice_and_again_once() {
    for world in World::all() {
        world.write("AGENTS.md", "guide\n");
        (0..300).for_each(|n| world.write(&format!("many/{n}.txt"), format!("{n}\n").repeat(n)));
        world.commit("many");
        let repository = world.open();
        let base = repository.base("main").await.unwrap();
        let all = |entries: &[Entry]| (0..entries.len()).collect();
        for (expected, pick) in [(2, true), (1, true), (0, false)] {
            let before = repository.spawns();
            let described = if pick {
                repository.describe(&base, &all).await.unwrap()
            } else {
                repository.describe(&base, &nothing).await.unwrap()
            };
            assert_eq!(repository.spawns() - before, expected);
            assert_eq!(described.texts.len(), if pick { 303 } else { 0 });
            assert_eq!(described.guide.unwrap().text, "guide\n");
        }
    }
}

/// R13: which branches there are may be the first thing that is asked, on a machine whose mirror is not made yet.
#[tokio::test]
async fn branches_are_listed_before_anything_was_fetched() {
    let world = World::new();
    world.run(&["branch", "release-1"]);
    assert_eq!(world.open().bases().await.unwrap(), ["main", "release-1"]);
}
