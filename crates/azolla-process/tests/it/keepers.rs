//! The keeper of a tree: it outlives what it has to, and is out of the program's reach.

use std::{
    fs,
    io::ErrorKind,
    mem::ManuallyDrop,
    os::unix::{fs::MetadataExt, process::CommandExt},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use azolla_process::{Bounds, Confinement, Exit, Sandbox, run};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::world::{text as text_of, *};

const STAND_IN: &str = "AZOLLA_PROCESS_STAND_IN_FOR_AZOLLA";

/// Runs the calling test, `name`, a second time: in a process of its own and a group of its own, to stand in for azolla
/// and be stopped or killed. There this runs `text` and does not return.
#[expect(clippy::disallowed_methods, reason = "the stand-in is killed, not run to its end")]
async fn stand_in(name: &str, text: &str, sandbox: Sandbox) -> (Child, Mark) {
    if let Ok(mark) = std::env::var(STAND_IN) {
        let program = script(text, &ManuallyDrop::new(Mark(mark)));
        run(&program, &Bounds { sandbox, ..bounds(Tree) }).await.unwrap();
        unreachable!("the program does not end by itself");
    }
    let mark = Mark::new();
    let stand_in = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(STAND_IN, &mark.0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    (stand_in, mark)
}

/// With the whole group, so that nothing in it can do anything more.
#[tokio::test]
async fn b2_our_own_death_ends_the_tree() {
    let attack = "trap '' TERM HUP; (setsid sleep $0 &); sleep $0 & while :; do sleep 1; done";
    let (mut azolla, mark) = stand_in("keepers::b2_our_own_death_ends_the_tree", attack, Sandbox::Off).await;
    mark.borne_by(3).await;
    kill_process_group(Pid::from_child(&azolla), Signal::KILL).unwrap();
    azolla.wait().unwrap();
    mark.borne_by_none().await;
}

#[tokio::test]
async fn b2_our_own_death_ends_the_room() {
    let attack = "trap '' TERM HUP; (setsid sleep $0 &); sleep $0 & while :; do sleep 1; done";
    let in_a_room = Sandbox::Required(Confinement::default());
    let (mut azolla, mark) = stand_in("keepers::b2_our_own_death_ends_the_room", attack, in_a_room).await;
    mark.borne_by(3).await;
    kill_process_group(Pid::from_child(&azolla), Signal::KILL).unwrap();
    azolla.wait().unwrap();
    mark.borne_by_none().await;
}

/// All of it, what had left the program too: that is what a room has over a tree.
#[tokio::test]
async fn b2_r11_the_death_of_the_keeper_ends_the_room_without_us() {
    let name = "keepers::b2_r11_the_death_of_the_keeper_ends_the_room_without_us";
    let text = "(setsid sleep $0 &); exec sleep $0";
    let (mut azolla, mark) = stand_in(name, text, Sandbox::Required(Confinement::default())).await;
    let pid = azolla.id() as i32;
    eventually("both", || mark.bearers().iter().filter(|(_, line)| line.starts_with("sleep")).count() == 2)
        .await;
    let keeper = keeper(&mark, pid);
    signal(pid, Signal::STOP);
    signal(keeper, Signal::KILL);
    mark.borne_by_none().await;
    azolla.kill().unwrap();
    azolla.wait().unwrap();
}

#[tokio::test]
async fn b2_the_death_of_the_keeper_ends_the_program_without_us() {
    let name = "keepers::b2_the_death_of_the_keeper_ends_the_program_without_us";
    let (mut azolla, mark) = stand_in(name, "exec sleep $0", Sandbox::Off).await;
    let pid = azolla.id() as i32;
    eventually("the program", || mark.bearers().iter().any(|(_, line)| line.starts_with("sleep"))).await;
    let keeper = keeper(&mark, pid);
    signal(pid, Signal::STOP);
    signal(keeper, Signal::KILL);
    mark.borne_by_none().await;
    azolla.kill().unwrap();
    azolla.wait().unwrap();
}

/// Returns the keeper of the tree in which `mark` is borne: the child of `azolla`, and parent of the program.
fn keeper(mark: &Mark, azolla: i32) -> i32 {
    let mut parents = mark.bearers().into_iter().filter_map(|(pid, _)| parent(pid));
    parents.find(|pid| parent(*pid) == Some(azolla)).expect("the program has a keeper")
}

/// Starts a program that stays, hands its keeper to `attack`, and checks that nobody survives.
async fn keeper_under(attack: impl Fn(i32)) -> Exit {
    let mark = Mark::new();
    let mut bounds = bounds(Tree);
    bounds.time = Some(Duration::from_secs(2));
    let program = script("sleep $0 & (sleep $0 &) ; sleep $0; :", &mark);
    let attack = async {
        mark.borne_by(4).await;
        attack(keeper(&mark, std::process::id() as i32));
    };
    let (finished, ()) = tokio::join!(run(&program, &bounds), attack);
    mark.borne_by_none().await;
    no_child_is_left().await;
    finished.unwrap().exit
}

#[tokio::test]
async fn t30_a_killed_keeper_takes_the_program_with_it() {
    assert_eq!(keeper_under(|keeper| signal(keeper, Signal::KILL)).await, Exit::Signal(9));
}

#[tokio::test]
async fn t30_a_stopped_keeper_does_its_work_at_the_end() {
    assert_eq!(keeper_under(|keeper| signal(keeper, Signal::STOP)).await, Exit::TimedOut);
}

#[tokio::test]
async fn t30_a_keeper_cannot_be_asked_to_go() {
    let polite = [Signal::TERM, Signal::INT, Signal::HUP, Signal::CHILD, Signal::USR1, Signal::PIPE];
    let exit = keeper_under(|keeper| polite.into_iter().for_each(|polite| signal(keeper, polite))).await;
    assert_eq!(exit, Exit::TimedOut);
}

#[tokio::test]
async fn a_keeper_holds_no_files_and_no_directory_and_shows_no_memory() {
    let mark = Mark::new();
    let directory = tempfile::tempdir().unwrap();
    let mut program = script("sleep $0; :", &mark);
    program.directory = directory.path().to_owned();
    let check = async {
        mark.borne_by(2).await;
        let keeper = keeper(&mark, std::process::id() as i32);
        let listed = fs::read_dir(format!("/proc/{keeper}/fd")).map(Iterator::count);
        let directory = fs::read_link(format!("/proc/{keeper}/cwd"));
        if rustix::process::geteuid().is_root() {
            // Lifeline, report, and where it hears of its children.
            assert_eq!(listed.unwrap(), 3);
            assert_eq!(directory.unwrap(), Path::new("/"));
        } else {
            assert_eq!(listed.unwrap_err().kind(), ErrorKind::PermissionDenied);
        }
        let owner = fs::metadata(format!("/proc/{keeper}/mem")).unwrap().uid();
        assert_eq!(owner, 0, "what is not to be read is root's");
    };
    let bounds = bounds(Tree);
    tokio::select! {
        _ = run(&program, &bounds) => panic!("ended early"),
        () = check => (),
    }
}

/// Whether the kernel can keep a process from signalling others: Landlock's sixth version.
#[expect(unsafe_code, reason = "a system call without a wrapper")]
fn has_landlock_scopes() -> bool {
    const VERSION: libc::c_long = 1;
    // SAFETY: with this flag the call takes no ruleset, and only returns a number.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) };
    version >= 6
}

/// Signals of a program reach its own processes and nobody else. Where the kernel is too old for that, a program that
/// kills its keeper is killed itself.
#[tokio::test]
async fn t30_a_program_cannot_signal_its_keeper_or_us() {
    let mark = Mark::new();
    let us = std::process::id();
    let text = format!(
        "sleep $0 & kill -0 $! && echo own; kill -9 $PPID 2>/dev/null || echo keeper
        kill -0 {us} 2>/dev/null || echo us; kill -STOP $PPID 2>/dev/null; kill -TERM 0; sleep $0"
    );
    let finished = run_script(&text, &mark, Tree, |_| ()).await.unwrap();
    mark.borne_by_none().await;
    if has_landlock_scopes() {
        assert_eq!(text_of(&finished), "own\nkeeper\nus");
        assert_eq!(finished.exit, Exit::Signal(15), "`kill 0` is for the program itself");
    } else {
        assert_eq!(finished.exit, Exit::Signal(9));
    }
}

#[tokio::test]
async fn a_program_gains_no_privileges() {
    let mark = Mark::new();
    let finished = run_script("grep NoNewPrivs /proc/$$/status", &mark, Tree, |_| ()).await.unwrap();
    assert_eq!(text_of(&finished), "NoNewPrivs:\t1");
}

/// Orphans that end while the program runs are collected, not kept as zombies until its end.
#[tokio::test]
async fn orphans_are_collected_while_the_program_runs() {
    let mark = Mark::new();
    let text = "i=0; while [ $i -lt 50 ]; do (setsid true &) ; i=$((i+1)); done
        while grep -s '^State:.Z' /proc/[0-9]*/status /dev/null >/dev/null && grep -sl \"^PPid:.$PPID\\$\" \
            $(grep -sl '^State:.Z' /proc/[0-9]*/status) >/dev/null; do :; done; echo none";
    let finished = run_script(text, &mark, Tree, |_| ()).await.unwrap();
    assert_eq!(text_of(&finished), "none");
}
