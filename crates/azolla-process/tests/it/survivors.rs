//! T30, B-2: nothing that a program starts outlives it, its time, or the interest in it.

use std::time::{Duration, Instant};

use azolla_process::{Bounds, Confinement, Exit, Finished, Sandbox, run};

use crate::world::{text as text_of, *};

/// How often each abuse takes place: P8 in its long form has 50 rounds.
fn rounds() -> usize {
    let set = std::env::var("AZOLLA_ABUSE_ROUNDS");
    set.map_or(1, |n| n.parse().ok().filter(|n| *n > 0).expect("AZOLLA_ABUSE_ROUNDS is a number from 1 on"))
}

/// Abuses a time limit as often as is asked for; returns the last round.
async fn ends_in_time(sandbox: Sandbox, script: (&str, usize)) -> Finished {
    for _ in 1..rounds() {
        one_ends_in_time(sandbox.clone(), script).await;
    }
    one_ends_in_time(sandbox, script).await
}

/// Runs a script that never ends by itself, with a time limit, and checks that the limit holds and nobody survives.
/// Before the limit there must be `count` processes, or the attack did not take place.
async fn one_ends_in_time(sandbox: Sandbox, (text, count): (&str, usize)) -> Finished {
    let time = Duration::from_millis(if count < 100 { 1000 } else { 3000 });
    let mark = Mark::new();
    let mut bounds = bounds(Tree);
    bounds.time = Some(time);
    bounds.sandbox = sandbox;
    // Whether there is a sandbox is found out once, before the time runs.
    azolla_process::available().await;
    let program = script(text, &mark);
    let begin = Instant::now();
    let mut work = std::pin::pin!(run(&program, &bounds));
    let mut most = 0;
    let mut interval = tokio::time::interval(Duration::from_millis(20));
    let finished = loop {
        tokio::select! {
            biased;
            finished = &mut work => break finished.unwrap(),
            _ = interval.tick() => most = most.max(mark.bearers().len()),
        }
    };
    mark.assert_no_survivors();
    assert_eq!(finished.exit, Exit::TimedOut);
    assert!(begin.elapsed() < time + Duration::from_secs(2), "took {:?}", begin.elapsed());
    assert!(finished.duration >= time, "took {:?}", finished.duration);
    assert!(most >= count, "{most} processes were seen");
    finished
}

/// In a room: one that there is, or the program does not run.
fn in_a_room() -> Sandbox {
    Sandbox::Required(Confinement::default())
}

/// Scripts that abuse their time, with how many processes there have to be.
const DEAF: (&str, usize) = ("trap '' TERM; sleep $0 & while :; do sleep 1; done", 2);
const SESSIONS: (&str, usize) = ("setsid sleep $0 & setsid setsid sleep $0 & wait", 3);
const ORPHANS: (&str, usize) = ("(setsid sleep $0 &) ; ( (sleep $0 &) & ) ; sleep $0", 3);
const HELD_STREAMS: (&str, usize) = ("sleep $0 & (setsid sleep $0 &) ; sleep $0", 3);
const ALL_AT_ONCE: (&str, usize) = (
    "trap '' TERM HUP INT; ( (setsid sh -c 'trap \"\" TERM; while :; do sleep $0; done' $0 &) & )
    setsid sh -c '(setsid sleep $0 &); sleep $0' $0 & sleep $0 & while :; do sleep 1; done",
    5,
);
const STOPPED: (&str, usize) = ("sleep $0 & kill -STOP $!; kill -STOP $$", 2);
/// Each of 200 processes is another's child, and none lets go by itself.
const STORM: (&str, usize) = (
    "trap '' TERM; storm() { if [ $1 -gt 0 ]; then storm $(($1-1)) & storm $(($1-1)) & fi; wait; sleep $0; }
    storm 7; sleep $0",
    200,
);
/// A chain in which every process starts the next and ends at once, so that there is nearly always a newer one.
const CHAIN: (&str, usize) =
    ("next() { printf .; next & exit; }; trap '' TERM; next & next & next & next & sleep $0", 2);

#[tokio::test]
async fn t30_ignored_sigterm_ends_in_time() {
    ends_in_time(Sandbox::Off, DEAF).await;
}

#[tokio::test]
async fn t30_setsid_ends_in_time() {
    ends_in_time(Sandbox::Off, SESSIONS).await;
}

#[tokio::test]
async fn t30_double_fork_ends_in_time() {
    ends_in_time(Sandbox::Off, ORPHANS).await;
}

#[tokio::test]
async fn t30_a_child_that_holds_stdout_ends_in_time() {
    ends_in_time(Sandbox::Off, HELD_STREAMS).await;
}

#[tokio::test]
async fn t30_all_of_it_at_once_ends_in_time() {
    ends_in_time(Sandbox::Off, ALL_AT_ONCE).await;
}

#[tokio::test]
async fn t30_a_stopped_process_ends_in_time() {
    ends_in_time(Sandbox::Off, STOPPED).await;
}

#[tokio::test]
async fn t30_a_storm_of_forks_ends_in_time() {
    ends_in_time(Sandbox::Off, STORM).await;
}

#[tokio::test]
async fn t30_a_chain_that_outruns_signals_ends_in_time() {
    let finished = ends_in_time(Sandbox::Off, CHAIN).await;
    assert!(finished.stdout.total > 100, "the chain had {} links", finished.stdout.total);
}

#[tokio::test]
async fn t30_r11_ignored_sigterm_in_a_room_ends_in_time() {
    ends_in_time(in_a_room(), DEAF).await;
}

#[tokio::test]
async fn t30_r11_setsid_in_a_room_ends_in_time() {
    ends_in_time(in_a_room(), SESSIONS).await;
}

#[tokio::test]
async fn t30_r11_double_fork_in_a_room_ends_in_time() {
    ends_in_time(in_a_room(), ORPHANS).await;
}

#[tokio::test]
async fn t30_r11_a_child_that_holds_stdout_in_a_room_ends_in_time() {
    ends_in_time(in_a_room(), HELD_STREAMS).await;
}

#[tokio::test]
async fn t30_r11_all_of_it_at_once_in_a_room_ends_in_time() {
    ends_in_time(in_a_room(), ALL_AT_ONCE).await;
}

#[tokio::test]
async fn t30_r11_a_stopped_process_in_a_room_ends_in_time() {
    ends_in_time(in_a_room(), STOPPED).await;
}

#[tokio::test]
async fn t30_r11_a_storm_of_forks_in_a_room_ends_in_time() {
    ends_in_time(in_a_room(), STORM).await;
}

#[tokio::test]
async fn t30_r11_a_chain_that_outruns_signals_in_a_room_ends_in_time() {
    let finished = ends_in_time(in_a_room(), CHAIN).await;
    assert!(finished.stdout.total > 100, "the chain had {} links", finished.stdout.total);
}

#[tokio::test]
async fn t30_what_a_program_leaves_behind_ends_with_it() {
    let mark = Mark::new();
    let text =
        "(setsid sleep $0 &); sleep $0 & trap '' TERM HUP; setsid sh -c 'sleep $0; :' $0 & echo done; exit 3";
    for sandbox in [Sandbox::Off, in_a_room()] {
        let change = |bounds: &mut Bounds| bounds.sandbox = sandbox;
        let finished = run_script(text, &mark, Tree, change).await.unwrap();
        mark.assert_no_survivors();
        assert_eq!((finished.exit, text_of(&finished)), (Exit::Code(3), "done".to_owned()));
        assert!(finished.duration < Duration::from_secs(10), "waited for a stream that was held open");
    }
    no_child_is_left().await;
}

#[tokio::test]
async fn a_group_ends_with_its_leader_and_a_held_stream_is_not_waited_for() {
    let mark = Mark::new();
    let finished =
        run_script("setsid sh -c 'sleep $0 &' $0; sleep $0 & echo done; exit 3", &mark, Group, |_| ())
            .await
            .unwrap();
    assert_eq!((finished.exit, text_of(&finished)), (Exit::Code(3), "done".to_owned()));
    assert!(finished.duration < Duration::from_secs(10), "waited for a stream that was held open");
    // What has left the group is the one that stays: this is what the tree is for.
    eventually("one process", || mark.bearers().len() == 1).await;
}

#[tokio::test]
async fn a_group_is_killed_at_the_end_of_its_time() {
    let mark = Mark::new();
    let text = "trap '' TERM; sleep $0 & while :; do sleep 1; done";
    let time = |bounds: &mut Bounds| bounds.time = Some(Duration::from_millis(200));
    let finished = run_script(text, &mark, Group, time).await.unwrap();
    assert_eq!(finished.exit, Exit::TimedOut);
    assert!(finished.duration < Duration::from_secs(2), "took {:?}", finished.duration);
    mark.borne_by_none().await;
}

#[tokio::test]
async fn a_program_that_is_asked_to_stop_may_clean_up_and_print() {
    for (containment, sandbox) in [(Group, Sandbox::Off), (Tree, Sandbox::Off), (Tree, in_a_room())] {
        let mark = Mark::new();
        // The child is in a session of its own, with its parent alive, and is asked too.
        let text = "trap 'wait; echo cleaned; exit 7' TERM; echo begun
            setsid sh -c 'trap \"echo child; exit\" TERM; while :; do sleep 0.02; done' $0 & child=$!
            while :; do sleep 0.02; done";
        let text = if containment == Group { text.replace("setsid", "") } else { text.to_owned() };
        let change = |bounds: &mut Bounds| {
            bounds.time = Some(Duration::from_secs(1));
            bounds.grace = PATIENCE;
            bounds.sandbox = sandbox;
        };
        let finished = run_script(&text, &mark, containment, change).await.unwrap();
        mark.borne_by_none().await;
        let printed = String::from_utf8(finished.stdout.bytes).unwrap();
        assert_eq!((finished.exit, printed.as_str()), (Exit::TimedOut, "begun\nchild\ncleaned\n"));
    }
}

#[tokio::test]
async fn b2_dropping_the_future_ends_the_tree() {
    let mark = Mark::new();
    let program = script("trap '' TERM; (setsid sleep $0 &); sleep $0 & while :; do sleep 1; done", &mark);
    drop_once(run(&program, &bounds(Tree)), "three processes", || mark.bearers().len() >= 3).await;
    mark.borne_by_none().await;
    no_child_is_left().await;
}

#[tokio::test]
async fn b2_dropping_the_future_ends_the_room() {
    let mark = Mark::new();
    let program = script("trap '' TERM; (setsid sleep $0 &); sleep $0 & while :; do sleep 1; done", &mark);
    let mut bounds = bounds(Tree);
    bounds.sandbox = in_a_room();
    drop_once(run(&program, &bounds), "three processes", || mark.bearers().len() >= 3).await;
    mark.borne_by_none().await;
    no_child_is_left().await;
}

#[tokio::test]
async fn b2_dropping_the_future_ends_the_group() {
    let mark = Mark::new();
    let program = script("trap '' TERM; sleep $0 & while :; do sleep 1; done", &mark);
    drop_once(run(&program, &bounds(Group)), "two processes", || mark.bearers().len() >= 2).await;
    mark.borne_by_none().await;
    no_child_is_left().await;
}

/// Git removes its locks when it is asked to stop, and not when it is killed. What it started goes with it.
#[tokio::test]
async fn a_group_that_is_dropped_may_clean_up() {
    let mark = Mark::new();
    let directory = tempfile::tempdir().unwrap();
    let lock = directory.path().join("lock");
    // A shell says of its child that it was ended, and nobody reads that any more.
    let text = format!(
        "exec 2>/dev/null; sh -c 'trap \"\" TERM; while :; do sleep 1; done' $0 &
        trap 'rm {0}; exit' TERM; : >{0}; while :; do sleep 0.02; done",
        lock.display()
    );
    let program = script(&text, &mark);
    // The grace is not waited for where the program itself has ended.
    let bounds = Bounds { grace: 2 * PATIENCE, ..bounds(Group) };
    drop_once(run(&program, &bounds), "a lock", || lock.exists() && mark.bearers().len() >= 2).await;
    eventually("no lock", || !lock.exists()).await;
    mark.borne_by_none().await;
    no_child_is_left().await;
}

/// The end of the runtime drops its tasks, and there is nothing then to wait on.
#[test]
fn b2_the_end_of_the_runtime_ends_the_tree() {
    let mark = Mark::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let program = script("(setsid sleep $0 &); sleep $0 & wait", &mark);
    runtime.spawn(async move { run(&program, &bounds(Tree)).await });
    runtime.block_on(mark.borne_by(3));
    drop(runtime);
    let after = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    after.block_on(mark.borne_by_none());
    after.block_on(no_child_is_left());
}
