//! Publishing: exactly one ref, and every other byte of the operator's repository as it was (G-1, G-2).

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    time::{Duration, Instant},
};

use azolla_control_plane::repo::{Attempt, Candidate, GitRepository, Published, Repository};
use azolla_protocol::{ObjectiveId, WorkOrderId};

use crate::{
    names::words,
    support::{GOOD, World, fingerprint},
};

/// What publishing may add: the ref, its log, and the directories that they are in.
const OURS: [&str; 6] = [
    ".git/refs/heads/azolla",
    ".git/refs/heads/azolla/obj-1",
    ".git/logs/refs/heads/azolla",
    ".git/logs/refs/heads/azolla/obj-1",
    ".git/objects",
    ".git/refs/heads",
];

/// Puts canaries in every hook of the operator's repository.
fn plant_hooks(world: &World) {
    let mark = world.dir.path().join("mark");
    let hooks = world.repo.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in [
        "reference-transaction",
        "post-checkout",
        "post-merge",
        "pre-receive",
        "update",
        "post-receive",
        "post-update",
        "post-commit",
        "pre-push",
        "fsmonitor-watchman",
        "post-rewrite",
        "pre-auto-gc",
        "post-index-change",
    ] {
        let path = hooks.join(hook);
        fs::write(&path, format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

pub(crate) async fn make(world: &World) -> (GitRepository, Attempt, String) {
    let (repository, attempt) = world.begin().await;
    let taken = repository.take(&attempt, Candidate::Text(GOOD)).await.unwrap();
    repository.project(&attempt, &taken.commit).await.unwrap();
    (repository, attempt, taken.commit)
}

fn assert_untouched(world: &World, before: &std::collections::BTreeMap<String, String>, but: &[&str]) {
    let after = fingerprint(&world.repo, but);
    for (name, what) in before {
        assert_eq!(after.get(name), Some(what), "{name} changed");
    }
    let new: Vec<&String> = after.keys().filter(|name| !before.contains_key(*name)).collect();
    assert!(new.is_empty(), "new: {new:?}");
    assert!(!world.dir.path().join("mark").exists(), "a hook ran");
    let packs = fs::read_dir(world.repo.join(".git/objects/pack")).unwrap().flatten();
    let kept = packs.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "keep"));
    assert_eq!(kept.count(), 0, "a pack is kept for ever");
}

/// Publishes in a state that `prepare` makes, and compares everything else.
async fn publishes_untouched(prepare: impl Fn(&World)) {
    for world in World::all() {
        prepare(&world);
        plant_hooks(&world);
        let before = fingerprint(&world.repo, &OURS);
        let status =
            world.run_in(&world.repo, &["--no-optional-locks", "status", "--porcelain=v2", "--branch"]);
        let (repository, attempt, commit) = make(&world).await;
        assert_eq!(repository.publish(&attempt, &commit, &[]).await.unwrap(), Published::Done);
        assert_untouched(&world, &before, &OURS);
        // A second time is the same as once.
        assert_eq!(repository.publish(&attempt, &commit, &[]).await.unwrap(), Published::Done);
        assert_untouched(&world, &before, &OURS);
        let after =
            world.run_in(&world.repo, &["--no-optional-locks", "status", "--porcelain=v2", "--branch"]);
        assert_eq!(after, status);
        assert_eq!(world.run(&["rev-parse", "azolla/obj-1"]), commit);
        assert_eq!(world.run(&["show", "azolla/obj-1:a.txt"]), "one\ntwo\ntwo and a half\nthree");
    }
}

#[tokio::test]
async fn g2_a_clean_repository_gets_one_ref() {
    publishes_untouched(|_| {}).await;
}

#[tokio::test]
async fn g2_a_dirty_repository_gets_one_ref() {
    publishes_untouched(|world| {
        world.write("a.txt", "mine\n");
        world.write("new.txt", "new\n");
        world.write("staged.txt", "staged\n");
        world.run(&["add", "staged.txt"]);
        world.write("staged.txt", "and changed\n");
    })
    .await;
}

#[tokio::test]
async fn g2_stash_tags_notes_and_other_branches_stay() {
    publishes_untouched(|world| {
        world.write("a.txt", "stashed\n");
        world.run(&["stash", "-q"]);
        world.run(&["tag", "v1"]);
        world.run(&["notes", "add", "-m", "note"]);
        world.run(&["branch", "other"]);
        world.run(&["reset", "-q", "--hard"]);
    })
    .await;
}

#[tokio::test]
async fn g2_packed_refs_stay_packed() {
    publishes_untouched(|world| {
        world.run(&["branch", "other"]);
        world.run(&["pack-refs", "--all"]);
        world.run(&["gc", "-q"]);
    })
    .await;
}

/// Makes a branch `topic` that conflicts with `main`, and stays on `main`.
fn topic_that_conflicts(world: &World) {
    world.run(&["checkout", "-q", "-b", "topic"]);
    world.write("sub/b.txt", "theirs\n");
    world.commit("theirs");
    world.run(&["checkout", "-q", "main"]);
    world.write("sub/b.txt", "ours\n");
    world.commit("ours");
}

#[tokio::test]
async fn g2_a_repository_in_the_middle_of_a_rebase_gets_one_ref() {
    publishes_untouched(|world| {
        topic_that_conflicts(world);
        world.run(&["checkout", "-q", "topic"]);
        assert_ne!(world.run_in(&world.repo, &["rebase", "main"]).0, 0);
        assert!(world.repo.join(".git/rebase-merge").exists());
    })
    .await;
}

#[tokio::test]
async fn g2_a_repository_in_the_middle_of_a_merge_gets_one_ref() {
    publishes_untouched(|world| {
        topic_that_conflicts(world);
        assert_ne!(world.run_in(&world.repo, &["merge", "topic"]).0, 0);
        assert!(world.repo.join(".git/MERGE_HEAD").exists());
    })
    .await;
}

#[tokio::test]
async fn g2_settings_that_make_a_fetch_write_more_have_no_effect() {
    publishes_untouched(|world| {
        world.run(&["remote", "add", "origin", "/nonexistent"]);
        for (key, value) in [
            ("fetch.prune", "true"),
            ("fetch.pruneTags", "true"),
            ("fetch.writeCommitGraph", "true"),
            ("gc.auto", "1"),
            ("maintenance.auto", "true"),
            ("fetch.recurseSubmodules", "true"),
            ("fetch.unpackLimit", "1"),
            ("core.fsmonitor", "true"),
            ("transfer.fsckObjects", "true"),
            ("fetch.parallel", "4"),
        ] {
            world.run(&["config", key, value]);
        }
    })
    .await;
}

/// The branch is not moved, nothing at all changes, and the command that is shown does the job.
async fn refuses_untouched(prepare: impl Fn(&World), said: &str) {
    for world in World::all() {
        prepare(&world);
        plant_hooks(&world);
        let (repository, attempt, commit) = make(&world).await;
        let before = fingerprint(&world.repo, &[".git/objects"]);
        let Published::ByHand { reason, command } = repository.publish(&attempt, &commit, &[]).await.unwrap()
        else {
            panic!("published although {said}");
        };
        assert_untouched(&world, &before, &[".git/objects"]);
        assert!(reason.contains(said), "{reason}");
        fs::remove_dir_all(world.repo.join(".git/hooks")).unwrap();
        let (code, out) = world.run_in(world.dir.path(), &words(&command));
        assert_eq!(code, 0, "{command}: {out}");
        assert_eq!(world.run(&["rev-parse", "azolla-wo-1-1"]), commit);
    }
}

#[tokio::test]
async fn g2_a_branch_that_is_checked_out_is_not_moved() {
    refuses_untouched(
        |world| drop(world.run(&["checkout", "-q", "-b", "azolla/obj-1"])),
        "has it checked out",
    )
    .await;
}

#[tokio::test]
async fn g2_a_branch_that_is_checked_out_unborn_is_not_made() {
    refuses_untouched(
        |world| drop(world.run(&["checkout", "-q", "--orphan", "azolla/obj-1"])),
        "has it checked out",
    )
    .await;
}

#[tokio::test]
async fn g2_a_branch_that_a_linked_worktree_has_checked_out_is_not_moved() {
    refuses_untouched(
        |world| drop(world.run(&["worktree", "add", "-q", "-b", "azolla/obj-1", "../linked"])),
        "linked has it checked out",
    )
    .await;
}

#[tokio::test]
async fn g2_a_branch_that_is_being_rebased_is_not_moved() {
    refuses_untouched(
        |world| {
            world.run(&["checkout", "-q", "-b", "azolla/obj-1"]);
            world.write("sub/b.txt", "theirs\n");
            world.commit("theirs");
            world.run(&["checkout", "-q", "main"]);
            world.write("sub/b.txt", "ours\n");
            world.commit("ours");
            world.run(&["checkout", "-q", "azolla/obj-1"]);
            assert_ne!(world.run_in(&world.repo, &["rebase", "main"]).0, 0);
        },
        "is rebasing it",
    )
    .await;
}

#[tokio::test]
async fn g2_a_branch_that_is_being_bisected_is_not_moved() {
    refuses_untouched(
        |world| {
            world.run(&["checkout", "-q", "-b", "azolla/obj-1"]);
            for n in 0..3 {
                world.commit(&n.to_string());
            }
            world.run(&["bisect", "start", "HEAD", "HEAD~3"]);
        },
        "is bisecting it",
    )
    .await;
}

#[tokio::test]
async fn g2_a_branch_that_the_operator_committed_on_is_not_moved() {
    refuses_untouched(
        |world| {
            world.run(&["branch", "azolla/obj-1"]);
            world.run(&["checkout", "-q", "azolla/obj-1"]);
            world.commit("mine");
            world.run(&["checkout", "-q", "main"]);
        },
        "no attempt of ours",
    )
    .await;
}

#[tokio::test]
async fn g2_a_symbolic_branch_does_not_lead_to_another_one() {
    refuses_untouched(
        |world| drop(world.run(&["symbolic-ref", "refs/heads/azolla/obj-1", "refs/heads/main"])),
        "stands for refs/heads/main",
    )
    .await;
}

#[tokio::test]
async fn g1_a_later_attempt_replaces_an_earlier_one_and_both_stay_in_the_mirror() {
    for world in World::all() {
        let (repository, first, commit) = make(&world).await;
        assert_eq!(repository.publish(&first, &commit, &[]).await.unwrap(), Published::Done);
        let second =
            Attempt { work_order_id: WorkOrderId::new("wo-1-2").unwrap(), claim_version: 7, ..first.clone() };
        let patch = GOOD.replace("and a half", "and more");
        let taken = repository.take(&second, Candidate::Text(&patch)).await.unwrap();
        repository.project(&second, &taken.commit).await.unwrap();
        let before = fingerprint(&world.repo, &OURS);
        assert_eq!(repository.publish(&second, &taken.commit, &[]).await.unwrap(), Published::Done);
        assert_untouched(&world, &before, &OURS);
        assert_eq!(world.run(&["rev-parse", "azolla/obj-1"]), taken.commit);
        let refs = world.mirror_run(&[
            "for-each-ref",
            "--format=%(objectname) %(refname)",
            "refs/azolla/attempts",
            "refs/heads",
        ]);
        let expected = format!(
            "{commit} refs/azolla/attempts/wo-1-1/1\n{0} refs/azolla/attempts/wo-1-2/7\n{0} refs/heads/azolla/obj-1",
            taken.commit
        );
        assert_eq!(refs, expected);
    }
}

/// Makes another attempt at the same objective, and keeps it.
pub(crate) async fn again(
    repository: &GitRepository,
    first: &Attempt,
    id: &str,
    words: &str,
) -> (Attempt, String) {
    let next = Attempt { work_order_id: WorkOrderId::new(id).unwrap(), claim_version: 7, ..first.clone() };
    let patch = GOOD.replace("and a half", words);
    let taken = repository.take(&next, Candidate::Text(&patch)).await.unwrap();
    repository.project(&next, &taken.commit).await.unwrap();
    (next, taken.commit)
}

#[tokio::test]
async fn g1_an_earlier_attempt_does_not_move_the_mirrors_branch_back() {
    for world in World::all() {
        let (repository, first, commit) = make(&world).await;
        // Ten, not two: numbers are compared, not texts.
        let (ninth, ninth_commit) = again(&repository, &first, "wo-1-9", "and nine").await;
        let (_, tenth_commit) = again(&repository, &first, "wo-1-10", "and ten").await;
        let branch = || world.mirror_run(&["rev-parse", "azolla/obj-1"]);
        assert_eq!(branch(), tenth_commit);
        for (attempt, commit) in [(&first, &commit), (&ninth, &ninth_commit)] {
            repository.project(attempt, commit).await.unwrap();
            assert_eq!(branch(), tenth_commit);
        }
        // One that was paused before it was kept at all: kept now, and the branch stays.
        let (_, eighth_commit) = again(&repository, &first, "wo-1-8", "and eight").await;
        assert_eq!(branch(), tenth_commit);
        assert_eq!(world.mirror_run(&["rev-parse", "refs/azolla/attempts/wo-1-8/7"]), eighth_commit);
        // Also where somebody tidied up, and the refs are not files of their own any more.
        world.mirror_run(&["pack-refs", "--all", "--prune"]);
        repository.project(&ninth, &ninth_commit).await.unwrap();
        assert_eq!(branch(), tenth_commit);
        let (_, eleventh_commit) = again(&repository, &first, "wo-1-11", "and eleven").await;
        assert_eq!(branch(), eleventh_commit);
    }
}

#[tokio::test]
async fn g1_another_objectives_attempts_fence_nothing() {
    let world = World::new();
    let (repository, first, _) = make(&world).await;
    let other = Attempt { objective_id: ObjectiveId::new("obj-1-1").unwrap(), ..first.clone() };
    again(&repository, &other, "wo-1-1-5", "and five").await;
    let (_, second_commit) = again(&repository, &first, "wo-1-2", "and two").await;
    assert_eq!(world.mirror_run(&["rev-parse", "azolla/obj-1"]), second_commit);
}

#[tokio::test]
async fn g1_a_branch_of_the_mirror_that_is_at_no_attempt_is_repaired() {
    let world = World::new();
    let (repository, attempt, commit) = make(&world).await;
    world.mirror_run(&["update-ref", "refs/heads/azolla/obj-1", &attempt.base]);
    repository.project(&attempt, &commit).await.unwrap();
    assert_eq!(world.mirror_run(&["rev-parse", "azolla/obj-1"]), commit);
}

#[tokio::test]
async fn g1_an_earlier_attempt_does_not_replace_a_later_one_that_is_published() {
    for world in World::all() {
        let (repository, first, commit) = make(&world).await;
        assert_eq!(repository.publish(&first, &commit, &[]).await.unwrap(), Published::Done);
        let (second, second_commit) = again(&repository, &first, "wo-1-2", "and more").await;
        // Nothing of the second is published yet: what is there is the first, and it says so.
        assert_eq!(repository.publish(&first, &commit, &[]).await.unwrap(), Published::Done);
        assert_eq!(repository.publish(&second, &second_commit, &[]).await.unwrap(), Published::Done);
        let before = fingerprint(&world.repo, &[]);
        let Published::ByHand { reason, command } = repository.publish(&first, &commit, &[]).await.unwrap()
        else {
            panic!("an earlier attempt replaced a later one");
        };
        assert_eq!(reason, "a later attempt is published");
        assert_untouched(&world, &before, &[]);
        assert_eq!(world.run(&["rev-parse", "azolla/obj-1"]), second_commit);
        // The command is about the attempt itself, not about what the mirror's branch is at by now.
        assert_eq!(world.run_in(world.dir.path(), &words(&command)).0, 0, "{command}");
        assert_eq!(world.run(&["rev-parse", "azolla-wo-1-1"]), commit);

        world.run(&["branch", "-q", "-D", "azolla/obj-1"]);
        let published = repository.publish(&first, &commit, &[]).await.unwrap();
        let Published::ByHand { reason, .. } = published else { panic!("{published:?}") };
        assert_eq!(reason, "a later attempt has been made");
        assert_eq!(repository.publish(&second, &second_commit, &[]).await.unwrap(), Published::Done);
    }
}

#[tokio::test]
async fn g1_a_branch_is_withdrawn_only_where_it_is_at_what_failed_and_what_it_replaced_comes_back() {
    for world in World::all() {
        let (repository, first, commit) = make(&world).await;
        repository.publish(&first, &commit, &[]).await.unwrap();
        let (second, second_commit) = again(&repository, &first, "wo-1-2", "and more").await;
        let (passed, failed) = ([commit.clone()], [second_commit.clone()]);
        // What is published is another attempt.
        repository.withdraw(&second.objective_id, &failed, &passed).await.unwrap();
        assert_eq!(world.run(&["rev-parse", "azolla/obj-1"]), commit);
        repository.publish(&second, &second_commit, &[]).await.unwrap();
        let before = fingerprint(&world.repo, &OURS);
        repository.withdraw(&second.objective_id, &failed, &passed).await.unwrap();
        let there = || world.run(&["for-each-ref", "--format=%(objectname)", "refs/heads/azolla"]);
        assert_eq!(there(), commit);
        assert_eq!(world.run(&["log", "-g", "-1", "--format=%gs", "azolla/obj-1"]), "azolla: withdraw");
        assert_untouched(&world, &before, &OURS);
        // It is not at the second any more, so there is nothing to do.
        repository.withdraw(&second.objective_id, &failed, &passed).await.unwrap();
        assert_eq!(there(), commit);

        // Nor does what failed.
        repository.publish(&second, &second_commit, &[]).await.unwrap();
        repository.withdraw(&second.objective_id, &failed, &[]).await.unwrap();
        assert_eq!(there(), "");
        world.run(&["update-ref", "refs/heads/azolla/obj-1", &commit]);

        // What the operator had deleted before does not come back.
        world.run(&["branch", "-q", "-D", "azolla/obj-1"]);
        repository.publish(&second, &second_commit, &[]).await.unwrap();
        repository.withdraw(&second.objective_id, &failed, &passed).await.unwrap();
        assert_eq!(there(), "");
    }
}

/// G-1: what was left of any attempt that failed goes, whichever that was; what is there is told as it is.
#[tokio::test]
async fn g1_a_branch_of_any_attempt_that_failed_is_withdrawn_and_others_are_listed() {
    for world in World::all() {
        let (repository, first, commit) = make(&world).await;
        assert_eq!(repository.branches().await.unwrap(), []);
        repository.publish(&first, &commit, &[]).await.unwrap();
        let (_, second_commit) = again(&repository, &first, "wo-1-2", "and more").await;
        world.run(&["branch", "-q", "azolla/not an id".replace(' ', "-").as_str()]);
        world.run(&["symbolic-ref", "refs/heads/azolla/obj-9", "refs/heads/azolla/obj-1"]);
        let id = first.objective_id.clone();
        assert_eq!(repository.branches().await.unwrap(), [(id.clone(), commit.clone())]);
        let failed = [commit, second_commit];
        assert!(repository.withdraw(&id, &failed, &[]).await.unwrap());
        assert!(!repository.withdraw(&id, &failed, &[]).await.unwrap());
        assert_eq!(repository.branches().await.unwrap(), []);
    }
}

#[tokio::test]
async fn g2_a_branch_that_is_checked_out_is_not_withdrawn() {
    let world = World::new();
    let (repository, attempt, commit) = make(&world).await;
    repository.publish(&attempt, &commit, &[]).await.unwrap();
    world.run(&["checkout", "-q", "azolla/obj-1"]);
    assert!(!repository.withdraw(&attempt.objective_id, std::slice::from_ref(&commit), &[]).await.unwrap());
    assert_eq!(world.run(&["rev-parse", "azolla/obj-1"]), commit);
}

#[tokio::test]
async fn g2_a_branch_that_is_checked_out_beside_a_git_directory_of_another_name_is_left_alone() {
    let mut world = World::new();
    world.run(&["init", "-q", "--separate-git-dir", "../elsewhere.git"]);
    let tree = std::mem::replace(&mut world.repo, world.dir.path().join("elsewhere.git"));
    let (repository, attempt, commit) = make(&world).await;
    assert_eq!(repository.publish(&attempt, &commit, &[]).await.unwrap(), Published::Done);
    assert_eq!(world.run_in(&tree, &["checkout", "-q", "azolla/obj-1"]).0, 0);
    repository.withdraw(&attempt.objective_id, std::slice::from_ref(&commit), &[]).await.unwrap();
    assert_eq!(world.run(&["rev-parse", "azolla/obj-1"]), commit);
    let (second, second_commit) = again(&repository, &attempt, "wo-1-2", "and more").await;
    let published = repository.publish(&second, &second_commit, &[]).await.unwrap();
    let Published::ByHand { reason, .. } = published else { panic!("{published:?}") };
    assert!(reason.contains("has it checked out"), "{reason}");
}

#[tokio::test]
async fn g1_an_earlier_attempt_that_another_machine_made_is_replaced_and_a_later_one_is_not() {
    let world = World::new();
    let (repository, first, commit) = make(&world).await;
    assert_eq!(repository.publish(&first, &commit, &[]).await.unwrap(), Published::Done);
    // Another machine on the same repository: its mirror has never seen the first attempt.
    let mut settings = world.settings();
    settings.mirror = world.dir.path().join("other.git");
    let other = GitRepository::open(settings).unwrap();
    assert_eq!(other.base("main").await.unwrap(), first.base);
    let (second, second_commit) = again(&other, &first, "wo-1-2", "and more").await;
    let published = other.publish(&second, &second_commit, &[]).await.unwrap();
    let Published::ByHand { reason, .. } = published else { panic!("{published:?}") };
    assert!(reason.contains("no attempt of ours"), "{reason}");
    let published = other.publish(&second, &second_commit, std::slice::from_ref(&commit)).await.unwrap();
    assert_eq!(published, Published::Done);
    assert_eq!(world.run(&["rev-parse", "azolla/obj-1"]), second_commit);
    // The first machine is late.
    let published = repository.publish(&first, &commit, &[]).await.unwrap();
    assert!(matches!(published, Published::ByHand { .. }), "{published:?}");
    assert_eq!(world.run(&["rev-parse", "azolla/obj-1"]), second_commit);
}

/// Opens the repository with a shell script for git.
pub(crate) fn with_git(world: &World, script: &str) -> GitRepository {
    let program = world.dir.path().join("git-of-a-test");
    fs::write(&program, format!("#!/bin/sh\n{script}")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut settings = world.settings();
    settings.git = program;
    GitRepository::open(settings).unwrap()
}

/// A git that lets the operator check the branch out right before its ref is set.
fn with_a_checkout_before_the_ref_is_set(world: &World) -> GitRepository {
    let (git_dir, git) = (world.repo.join(".git"), world.git.display());
    let script = format!(
        "case \"$*\" in *{0}*update-ref*) echo 'ref: refs/heads/azolla/obj-1' >{0}/HEAD ;; esac\n\
         exec {git} \"$@\"\n",
        git_dir.display()
    );
    with_git(world, &script)
}

#[tokio::test]
async fn g2_a_branch_that_is_checked_out_while_it_is_published_or_withdrawn_stays_as_it_was() {
    let world = World::new();
    let (repository, first, commit) = make(&world).await;
    repository.publish(&first, &commit, &[]).await.unwrap();
    let (second, second_commit) = again(&repository, &first, "wo-1-2", "and more").await;
    let raced = with_a_checkout_before_the_ref_is_set(&world);
    let published = raced.publish(&second, &second_commit, &[]).await.unwrap();
    let Published::ByHand { reason, .. } = published else { panic!("{published:?}") };
    assert!(reason.contains("has it checked out"), "{reason}");
    assert_eq!(world.run(&["rev-parse", "HEAD"]), commit);

    world.run(&["symbolic-ref", "HEAD", "refs/heads/main"]);
    raced.withdraw(&first.objective_id, std::slice::from_ref(&commit), &[]).await.unwrap();
    assert_eq!(world.run(&["rev-parse", "HEAD"]), commit);
}

/// G-1: a branch that another gate is at for longer than git waits by itself is set when that one is done.
#[tokio::test]
async fn g1_a_branch_that_is_locked_for_a_moment_is_set_after_it() {
    let world = World::new();
    let (_, attempt, commit) = make(&world).await;
    let lock = world.repo.join(".git/refs/heads/azolla/obj-1.lock");
    let script = format!(
        "case \" $* \" in *' update-ref '*)\n  mkdir -p '{folder}'; : >'{lock}'\n  (sleep 1; rm '{lock}') >/dev/null 2>&1 &\nesac\nexec '{git}' \"$@\"\n",
        folder = lock.parent().unwrap().display(),
        lock = lock.display(),
        git = world.git.display()
    );
    let beside = with_git(&world, &script);
    assert_eq!(beside.publish(&attempt, &commit, &[]).await.unwrap(), Published::Done);
    assert_eq!(world.run(&["rev-parse", "refs/heads/azolla/obj-1"]), commit);
}

/// Waits until a file has these words.
async fn says(path: &Path, words: &str) {
    let begin = Instant::now();
    let mut interval = tokio::time::interval(Duration::from_millis(5));
    while !fs::read_to_string(path).is_ok_and(|text| text.contains(words)) {
        assert!(begin.elapsed() < Duration::from_secs(60), "{} does not say {words}", path.display());
        interval.tick().await;
    }
}

/// G-1: a lease that is lost, a cancel or the end of the program drops the work in the middle of this very step.
#[tokio::test]
async fn g1_publishing_that_is_dropped_while_git_holds_the_branch_leaves_no_lock() {
    let world = World::new();
    let (repository, attempt, commit) = make(&world).await;
    let lock = world.repo.join(".git/refs/heads/azolla/obj-1.lock");
    let (fifo, told) = (world.dir.path().join("fifo"), world.dir.path().join("told"));
    // The ref is locked, and what is to follow does not come.
    let script = format!(
        "case \"$*\" in *{operator}*update-ref*)\n  mkfifo {fifo}; exec 3<&0\n  \
         (echo start; cat <&3; echo prepare; exec sleep 1000) >{fifo} &\n  \
         exec {git} \"$@\" <{fifo} >{told} 3<&-\nesac\nexec {git} \"$@\"\n",
        operator = world.repo.display(),
        fifo = fifo.display(),
        told = told.display(),
        git = world.git.display()
    );
    let stuck = with_git(&world, &script);
    let locked = async {
        says(&told, "prepare: ok").await;
        assert!(lock.exists());
    };
    tokio::select! {
        published = stuck.publish(&attempt, &commit, &[]) => panic!("{published:?}"),
        () = locked => (),
    }
    // This one waits for a lock, for a while.
    assert_eq!(repository.publish(&attempt, &commit, &[]).await.unwrap(), Published::Done);
    assert!(!lock.exists());
}

/// G-1: whoever recorded a FAIL may be late to take its branch away, between any two steps of the next attempt's gate.
#[tokio::test]
async fn g1_a_branch_that_a_late_gate_takes_away_meanwhile_is_made_again() {
    // Before the look at what is there, and between that and the step.
    for (call, time) in [("for-each-ref", 1), ("update-ref", 2)] {
        let world = World::new();
        let (repository, first, commit) = make(&world).await;
        repository.publish(&first, &commit, &[]).await.unwrap();
        let (second, second_commit) = again(&repository, &first, "wo-1-2", "and more").await;
        let calls = world.dir.path().join("calls");
        let script = format!(
            "case \"$*\" in *{operator}*{call}*)\n  echo >>{calls}\n  \
             if [ $(wc -l <{calls}) = {time} ]; then\n    \
             {git} --git-dir={operator}/.git update-ref -d refs/heads/azolla/obj-1 </dev/null\n  fi\nesac\n\
             exec {git} \"$@\"\n",
            operator = world.repo.display(),
            calls = calls.display(),
            git = world.git.display()
        );
        let raced = with_git(&world, &script);
        assert_eq!(raced.publish(&second, &second_commit, &[]).await.unwrap(), Published::Done, "{call}");
        assert_eq!(world.run(&["rev-parse", "refs/heads/azolla/obj-1"]), second_commit);
        assert!(fs::read_to_string(calls).unwrap().len() >= time, "{call}: nobody was late");
    }
}

/// G-1: what git fails with is tried again a few times, but for a lock, for which git itself has waited.
#[tokio::test]
async fn g1_a_branch_that_cannot_be_set_is_left_to_the_operator_and_a_lock_is_named() {
    let world = World::new();
    let (_, attempt, commit) = make(&world).await;
    let calls = world.dir.path().join("calls");
    for (complaint, times) in [
        ("cannot lock ref 'x': is at a but expected b", 3),
        ("cannot lock ref 'x': Unable to create '/y/x.lock': File exists.", 1),
    ] {
        let script = format!(
            "case \"$*\" in *{operator}*update-ref*) echo >>{calls}; echo \"fatal: {complaint}\" >&2; exit 128 ;; esac\n\
             exec {git} \"$@\"\n",
            operator = world.repo.display(),
            calls = calls.display(),
            git = world.git.display()
        );
        fs::write(&calls, "").unwrap();
        let published = with_git(&world, &script).publish(&attempt, &commit, &[]).await.unwrap();
        let Published::ByHand { reason, .. } = published else { panic!("{published:?}") };
        assert_eq!(reason, format!("azolla/obj-1 could not be made: {complaint}"));
        assert_eq!(fs::read_to_string(&calls).unwrap().len(), times, "{complaint}");
    }
}

#[tokio::test]
async fn g1_an_attempt_of_another_objective_is_not_replaced() {
    let world = World::new();
    let (repository, first, commit) = make(&world).await;
    let other = Attempt { objective_id: ObjectiveId::new("obj-2").unwrap(), ..first.clone() };
    let (_, other_commit) = again(&repository, &other, "wo-2-1", "and other").await;
    world.run(&["fetch", "-q", world.mirror().to_str().unwrap(), "refs/heads/azolla/obj-2"]);
    world.run(&["update-ref", "refs/heads/azolla/obj-1", &other_commit]);
    let published = repository.publish(&first, &commit, &[]).await.unwrap();
    let Published::ByHand { reason, .. } = published else { panic!("{published:?}") };
    assert!(reason.contains("no attempt of ours"), "{reason}");
}

#[tokio::test]
async fn g1_projecting_twice_starts_git_once() {
    let world = World::new();
    let (repository, attempt, commit) = make(&world).await;
    let before = repository.spawns();
    repository.project(&attempt, &commit).await.unwrap();
    repository.project(&Attempt { claim_version: 2, ..attempt }, &commit).await.unwrap();
    assert_eq!(repository.spawns(), before);
}

#[tokio::test]
async fn g2_a_repository_with_a_table_of_refs_is_handled_like_any_other() {
    for world in World::all() {
        let other = world.dir.path().join("table");
        fs::create_dir(&other).unwrap();
        if world.run_in(&other, &["init", "-q", "-b", "main", "--ref-format=reftable"]).0 != 0 {
            // git before 2.45 knows no such repositories; the other program of this machine does.
            continue;
        }
        fs::write(other.join("a.txt"), "one\ntwo\nthree\n").unwrap();
        for arguments in
            [&["add", "-A"][..], &["-c", "user.name=x", "-c", "user.email=y", "commit", "-qm", "x"]]
        {
            assert_eq!(world.run_in(&other, arguments).0, 0);
        }
        let world = World { repo: other, ..world };
        let (repository, attempt, commit) = make(&world).await;
        assert_eq!(repository.publish(&attempt, &commit, &[]).await.unwrap(), Published::Done);
        world.run(&["checkout", "-q", "azolla/obj-1"]);
        let second = Attempt { work_order_id: WorkOrderId::new("wo-1-2").unwrap(), ..attempt };
        let taken = repository.take(&second, Candidate::Text(&GOOD.replace("half", "bit"))).await.unwrap();
        let published = repository.publish(&second, &taken.commit, &[]).await.unwrap();
        assert!(matches!(published, Published::ByHand { .. }), "{published:?}");
    }
}
