//! Programs to run, and a look at what is left of them.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    future::Future,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use azolla_process::{
    Bounds, Capture, Containment, Finished, Program, ResourceLimits, Sandbox, SpawnError, run,
};

pub(crate) use azolla_process::Containment::{Group, Tree};

/// How long anything may take that is not measured.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Returns a program that runs a shell script. Every process that the script starts without exec has `mark` in its
/// command line, and so has what it starts with `$0`.
pub(crate) fn script(text: &str, mark: &Mark) -> Program {
    Program {
        path: "/bin/sh".into(),
        arguments: ["-c", text, &mark.0].map(OsString::from).to_vec(),
        directory: "/".into(),
        environment: BTreeMap::from([("PATH".into(), "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".into())]),
        input: Vec::new(),
    }
}

/// Returns bounds in which a script of a test has all that it needs.
pub(crate) fn bounds(containment: Containment) -> Bounds {
    Bounds {
        time: Some(PATIENCE),
        grace: Duration::from_millis(300),
        stdout: Capture::All(1 << 20),
        stderr: Capture::All(1 << 20),
        containment,
        limits: ResourceLimits::default(),
        sandbox: Sandbox::Off,
    }
}

/// Runs a script with [`bounds`] that the caller changes.
pub(crate) async fn run_script(
    text: &str,
    mark: &Mark,
    containment: Containment,
    change: impl FnOnce(&mut Bounds),
) -> Result<Finished, SpawnError> {
    let mut bounds = bounds(containment);
    change(&mut bounds);
    run(&script(text, mark), &bounds).await
}

/// A text that is in the command line of the processes of one test and of no others. As a number of seconds it is
/// longer than any test, so that `sleep $0` is a process that stays.
pub(crate) struct Mark(pub(crate) String);

impl Mark {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (process, next) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self(format!("1000.{process:08}{next:04}"))
    }

    /// Returns the processes that have the mark and run, as number and command line.
    pub(crate) fn bearers(&self) -> Vec<(i32, String)> {
        let line = |pid: i32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let lines =
            pids().into_iter().map(|pid| (pid, String::from_utf8_lossy(&line(pid)).replace('\0', " ")));
        // This very process can have it too, in the environment or as an argument.
        lines.filter(|(pid, line)| line.contains(&self.0) && *pid != std::process::id() as i32).collect()
    }

    /// Waits until `count` processes have the mark.
    pub(crate) async fn borne_by(&self, count: usize) {
        eventually("processes with the mark", || self.bearers().len() >= count).await;
    }

    /// Waits until nobody has the mark. Dying takes a moment after the kill, so that `none` cannot be asked at once
    /// where nobody has waited for it.
    pub(crate) async fn borne_by_none(&self) {
        eventually("no processes with the mark", || self.bearers().is_empty()).await;
    }

    /// Fails if anybody has the mark now.
    pub(crate) fn assert_no_survivors(&self) {
        assert_eq!(self.bearers(), [], "survivors");
    }
}

/// What a test leaves behind, it kills: a failure is not to hurt the next test.
impl Drop for Mark {
    fn drop(&mut self) {
        for (pid, _) in self.bearers() {
            signal(pid, rustix::process::Signal::KILL);
        }
    }
}

pub(crate) fn signal(pid: i32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid).expect("no process has the number 0");
    let _ended = rustix::process::kill_process(pid, signal);
}

/// Waits until something is so, and fails if it is not within [`PATIENCE`].
pub(crate) async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    let mut interval = tokio::time::interval(Duration::from_millis(5));
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "there were to be {what}");
        interval.tick().await;
    }
}

/// Polls `work` until `is_so`, then drops it; `work` must not end before.
pub(crate) async fn drop_once(work: impl Future, what: &str, is_so: impl FnMut() -> bool) {
    tokio::select! {
        _ = work => panic!("ended before there were {what}"),
        () = eventually(what, is_so) => (),
    }
}

pub(crate) fn pids() -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the parent of a process.
pub(crate) fn parent(pid: i32) -> Option<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Returns our children, dead ones too.
fn our_children() -> Vec<i32> {
    let us = std::process::id() as i32;
    pids().into_iter().filter(|pid| parent(*pid) == Some(us)).collect()
}

/// Waits until no child of ours is left that there is now. Those of other tests in this process end by themselves; one
/// that is never collected stays.
pub(crate) async fn no_child_is_left() {
    let mut children = our_children();
    eventually("no children of ours", || {
        let ours = our_children();
        children.retain(|child| ours.contains(child));
        children.is_empty()
    })
    .await;
}

/// Returns stdout as text, without the last newline.
pub(crate) fn text(finished: &Finished) -> String {
    assert_eq!(String::from_utf8_lossy(&finished.stderr.bytes), "", "stderr");
    String::from_utf8(finished.stdout.bytes.clone()).unwrap().trim_end().to_owned()
}
