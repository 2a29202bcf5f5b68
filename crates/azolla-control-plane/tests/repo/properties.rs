//! Whatever is edited: the stored patch on the base gives the committed tree, as edits, as text and as rebuilt.

use std::{collections::BTreeMap, fs};

use azolla_control_plane::repo::{Candidate, Repository, TakeError};
use proptest::{
    collection::{btree_map, vec},
    prelude::*,
    test_runner::{Config, TestRunner},
};

use crate::support::World;

type Tree = BTreeMap<String, Vec<u8>>;

fn name() -> impl Strategy<Value = String> {
    // Few names, so that trees meet; a file and a directory never share one.
    ("[ab]/", "[a-c \"é-]").prop_map(|(directory, file)| format!("{directory}f{file}x"))
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        Just(b"same\n".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"end".to_vec()),
        Just(b"crlf\r\n".to_vec()),
        Just(b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n".to_vec()),
        Just(vec![0xff, b'\n']),
        Just(vec![0, b'\n']),
        vec(any::<u8>(), 0..6),
    ];
    vec(line, 0..8).prop_map(|lines| lines.concat())
}

fn trees() -> impl Strategy<Value = (Tree, Tree)> {
    (btree_map(name(), content(), 0..5), btree_map(name(), content(), 0..5))
}

#[test]
fn edits_text_and_rebuilding_agree() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut runner = TestRunner::new(Config { cases: 40, failure_persistence: None, ..Config::default() });
    runner.run(&trees(), |(old, new)| runtime.block_on(agree(old, new))).unwrap();
}

async fn agree(old: Tree, new: Tree) -> Result<(), TestCaseError> {
    let world = World::new();
    for (path, content) in &old {
        world.write(path, content);
    }
    world.run(&["-c", "core.autocrlf=false", "add", "-A"]);
    world.commit("old");
    let (repository, attempt) = world.begin().await;
    let worktree = repository.worktree(&attempt).await.unwrap();
    for path in old.keys() {
        fs::remove_file(worktree.path().join(path)).unwrap();
    }
    for (path, content) in &new {
        let path = worktree.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let taken = match repository.take(&attempt, Candidate::Edits(&worktree)).await {
        Err(TakeError::NoChange) => {
            prop_assert_eq!(old, new);
            return Ok(());
        }
        taken => taken.unwrap(),
    };
    for (path, content) in &new {
        prop_assert_eq!(&world.mirror_file(&taken.commit, path), content);
    }
    prop_assert_eq!(&repository.rebuild(&attempt, &taken.diff).await.unwrap(), &taken);
    if !taken.diff.contains("GIT binary patch") {
        prop_assert_eq!(&repository.take(&attempt, Candidate::Text(&taken.diff)).await.unwrap(), &taken);
    }
    Ok(())
}
