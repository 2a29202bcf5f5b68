//! `azolla run` killed with SIGKILL at every point of the patch flow: the next run finishes, exactly once.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use rustix::{
    fs::{CWD, FileType, Mode, mknodat},
    process::{Pid, Signal, kill_process},
};

use crate::world::{World, git};

/// A point of the flow, and what stands still there the first time that it is reached.
#[derive(Clone, Copy, Debug)]
enum Point {
    /// git, at this subcommand.
    Git(&'static str),
    /// The worker.
    Worker,
    /// The check.
    Check,
}

const DIFF: &str = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n one\n+two\n";

/// C-6, B-3, W-5: one bundle, one run record and one pause_state, whatever was cut off. The points wait for a lease of
/// thirty seconds each, so they go side by side.
#[test]
fn c6_b3_w5_a_killed_run_is_finished_by_the_next_one() {
    // With what is stored when it is killed: workorders, bundles, run records, pause_states.
    let points = [
        ("scheduling", Point::Git("fetch"), [0, 0, 0, 0]),
        ("generation", Point::Worker, [1, 0, 0, 0]),
        ("applying", Point::Git("apply"), [1, 0, 0, 0]),
        ("before the bundle commit", Point::Git("diff-tree"), [1, 0, 0, 0]),
        ("after the bundle commit", Point::Git("update-ref"), [1, 1, 0, 0]),
        ("gating", Point::Check, [1, 1, 0, 0]),
    ];
    std::thread::scope(|scope| {
        let runs =
            points.map(|(name, point, left)| (name, scope.spawn(move || killed_at(name, point, left))));
        for (name, run) in runs {
            assert!(run.join().is_ok(), "killed at {name}");
        }
    });
}

fn killed_at(name: &str, point: Point, left: [usize; 4]) {
    let world = World::new();
    let trap = Trap::new(&world);
    let app = world.repository("app");
    let wait_if = |is_here: bool| if is_here { trap.script() } else { String::new() };
    let worker =
        format!("{}cat > /dev/null\ncat <<'DIFF'\n{DIFF}DIFF\n", wait_if(matches!(point, Point::Worker)));
    let check = format!("{}grep -q two a.txt\n", wait_if(matches!(point, Point::Check)));
    let check = world.script("check.sh", &check);
    world.azolla_in(&app, &["init"]).ok();
    world.configure(&format!(
        "[provider.trap]\nkind = \"command\"\nargv = [\"sh\", \"{}\"]\nprompt = \"stdin\"\nresult = \"stdout\"\n\
         [limits]\nlease_ms = 30000\n[sandbox]\nmode = \"off\"",
        world.script("worker.sh", &worker).display()
    ));
    let config = fs::read_to_string(world.config()).unwrap();
    let set = format!(
        "provider = \"trap\"\nchecks = [{{ name = \"two\", command = [\"sh\", \"{}\"] }}]\nbase_branch",
        check.display()
    );
    fs::write(world.config(), config.replacen("base_branch", &set, 1)).unwrap();
    let id = world.approved("Add a line");

    let mut first = run(&world, point, &trap);
    let stuck = trap.wait();
    first.kill().unwrap();
    first.wait().unwrap();
    // A worker and a check have died with the run; git, which is ours, would have ended by itself.
    let _ = kill_process(stuck, Signal::KILL);
    assert_eq!(stored(&world), left, "{name}: what the kill left");

    let second = world.azolla(&["run", "--until-idle"]);
    assert_eq!(second.code, 0, "{name}: {}{}", second.stdout, second.stderr);
    assert_eq!(stored(&world), [1, 1, 1, 1], "{name}");
    assert_eq!(world.azolla(&["verify", "--azolla", "az-app"]).ok(), "Everything holds.\n", "{name}");
    assert_eq!(git(&app, &["show", &format!("azolla/{id}:a.txt")]), "one\ntwo\n", "{name}");
    assert_eq!(git(&app, &["status", "--porcelain"]), "", "{name}");
}

/// Counts the workorders, bundles, run records and pause_states.
fn stored(world: &World) -> [usize; 4] {
    let exported = world.azolla(&["export", "--azolla", "az-app"]).ok();
    ["workorder", "output_bundle", "run_record", "pause_state"].map(|kind| {
        let kind = format!("\"kind\":\"{kind}\"");
        exported.lines().filter(|line| line.contains(&kind)).count()
    })
}

/// Starts a run that stops at `point`.
fn run(world: &World, point: Point, trap: &Trap) -> Child {
    let mut command: Command = world.command(&world.path(""), &["run", "--until-idle"]);
    command.env("AZOLLA_HOME", world.home()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Point::Git(subcommand) = point {
        let directory = world.path("trapped");
        fs::create_dir(&directory).unwrap();
        trap.git(&directory.join("git"), subcommand);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", directory.display()));
    }
    command.spawn().unwrap()
}

/// Where a process stands still the first time that it comes by.
pub(crate) struct Trap {
    reached: PathBuf,
    /// A pipe with a name: who stands still says its pid there.
    pipe: PathBuf,
}

impl Trap {
    pub(crate) fn new(world: &World) -> Self {
        let trap = Self { reached: world.path("reached"), pipe: world.path("pipe") };
        mknodat(CWD, &trap.pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        trap
    }

    /// Lines of a shell script that stand still, once.
    pub(crate) fn script(&self) -> String {
        let (reached, pipe) = (self.reached.display(), self.pipe.display());
        format!("if mkdir {reached} 2>/dev/null; then echo $$ > {pipe}; exec /bin/sleep 1000; fi\n")
    }

    /// A git that stands still at a subcommand, once, and is the real one otherwise.
    fn git(&self, file: &Path, subcommand: &str) {
        let real = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|directory| directory.join("git"))
            .find(|git| git.is_file())
            .unwrap();
        let script = format!(
            "#!/bin/sh\nfor word in \"$@\"; do\nif [ \"$word\" = {subcommand} ]; then\n{}fi\ndone\nexec {} \"$@\"\n",
            self.script(),
            real.display()
        );
        fs::write(file, script).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Returns who stands still, when it does.
    pub(crate) fn wait(&self) -> Pid {
        let (said, hear) = mpsc::channel();
        let pipe = self.pipe.clone();
        std::thread::spawn(move || said.send(fs::read_to_string(pipe).unwrap()));
        let pid = hear.recv_timeout(Duration::from_secs(60)).expect("the run comes by in time");
        Pid::from_raw(pid.trim().parse().unwrap()).unwrap()
    }
}
