//! P11: whatever is edited, the stored patch on the base gives the committed tree: as edits, as text and as rebuilt.

use std::{collections::BTreeMap, fs};

use azolla_control_plane::repo::{Attempt, Candidate, GitRepository, Repository, TakeError};
use proptest::{
    collection::{btree_map, vec},
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};

use crate::support::{Node, World, attempt};

type Tree = BTreeMap<String, Node>;

/// Returns how many round trips are made; 10,000 in the long form.
pub(crate) fn round_trips() -> usize {
    std::env::var("AZOLLA_ROUND_TRIPS").map_or(300, |n| n.parse().expect("AZOLLA_ROUND_TRIPS is a number"))
}

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

fn node() -> impl Strategy<Value = Node> {
    prop_oneof![
        8 => content().prop_map(Node::File),
        1 => content().prop_map(Node::Executable),
        1 => proptest::sample::select(&["fax", "../b/fbx", "../nowhere"][..])
            .prop_map(|target| Node::Link(target.as_bytes().to_vec())),
    ]
}

fn tree() -> impl Strategy<Value = Tree> {
    btree_map(name(), node(), 0..5)
}

/// P11, G-1: edits that are taken have every byte and mode; their patch, rebuilt and as an answer, is the same commit.
#[test]
fn p11_edits_text_and_rebuilding_agree_on_generated_trees() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let rounds = round_trips();
    let config =
        Config { cases: u32::try_from(rounds).unwrap(), failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let world = World::in_memory();
    let bases: Vec<Tree> =
        (0..=rounds / 8).map(|_| tree().new_tree(&mut runner).unwrap().current()).collect();
    let commits = make(&world, &bases);
    let repository = world.open();
    runtime.block_on(repository.base("main")).unwrap();
    let cases = (0..bases.len(), tree());
    let agree = |(base, new): (usize, Tree)| {
        runtime.block_on(agree(&world, &repository, &attempt(&commits[base]), &bases[base], &new))
    };
    runner.run(&cases, agree).unwrap();
}

/// Makes a commit on `main` of each tree, all of them by one process; returns their ids.
fn make(world: &World, trees: &[Tree]) -> Vec<String> {
    let mut stream = Vec::new();
    for (n, tree) in trees.iter().enumerate() {
        let head = format!(
            "commit refs/heads/main\nmark :{}\ncommitter Op <op@example.org> {n} +0000\ndata 1\n.\ndeleteall\n",
            n + 1
        );
        stream.extend(head.into_bytes());
        for (path, node) in tree {
            let (mode, content) = match node {
                Node::File(content) => ("100644", content),
                Node::Executable(content) => ("100755", content),
                Node::Link(target) => ("120000", target),
            };
            let quoted = path.replace('"', "\\\"");
            stream.extend(format!("M {mode} inline \"{quoted}\"\ndata {}\n", content.len()).into_bytes());
            stream.extend(content);
            stream.push(b'\n');
        }
    }
    let marks = world.dir.path().join("marks");
    let export = format!("--export-marks={}", marks.display());
    world.ask_in(&world.repo, &["fast-import", "--quiet", "--force", &export], &stream);
    let marks = fs::read_to_string(marks).unwrap();
    let ids: BTreeMap<usize, String> = marks
        .lines()
        .map(|line| line[1..].split_once(' ').unwrap())
        .map(|(mark, id)| (mark.parse().unwrap(), id.to_owned()))
        .collect();
    assert_eq!(ids.len(), trees.len());
    ids.into_values().collect()
}

async fn agree(
    world: &World,
    repository: &GitRepository,
    attempt: &Attempt,
    old: &Tree,
    new: &Tree,
) -> Result<(), TestCaseError> {
    let worktree = repository.worktree(attempt).await.unwrap();
    for path in old.keys() {
        fs::remove_file(worktree.path().join(path)).unwrap();
    }
    for (path, node) in new {
        node.put(&worktree.path().join(path));
    }
    let taken = match repository.take(attempt, Candidate::Edits(&worktree)).await {
        Err(TakeError::NoChange) => {
            prop_assert_eq!(old, new);
            return Ok(());
        }
        taken => taken.unwrap(),
    };
    prop_assert_eq!(&tree_of(world, &taken.commit), new);
    prop_assert_eq!(&repository.rebuild(attempt, &taken.diff).await.unwrap(), &taken);
    if !taken.diff.contains("GIT binary patch") {
        prop_assert_eq!(&repository.take(attempt, Candidate::Text(&taken.diff)).await.unwrap(), &taken);
    }
    Ok(())
}

/// Returns every path of a commit in the mirror, as git has it.
fn tree_of(world: &World, commit: &str) -> Tree {
    let mirror = world.mirror();
    let listed = world.ask_in(&mirror, &["ls-tree", "-r", "-z", "--end-of-options", commit], b"");
    let listed = String::from_utf8(listed).unwrap();
    let (mut paths, mut blobs) = (Vec::new(), Vec::new());
    for entry in listed.split_terminator('\0') {
        let (what, path) = entry.split_once('\t').unwrap();
        let [mode, _, id] = what.split(' ').collect::<Vec<_>>()[..] else { panic!("{what}") };
        paths.push(path.to_owned());
        blobs.push((mode, id));
    }
    paths.into_iter().zip(world.nodes(&mirror, &blobs)).collect()
}
