//! A home, a repository of the operator and the program, all in directories of a test's own.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::{fs::PermissionsExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::shim::{Counted, Orders, Shim};

/// How often it is looked whether a fault has happened.
const LOOK: Duration = Duration::from_millis(20);
/// How long a command may go on after a fault, before the operator stops it: it may wait for better times for minutes.
const AFTER_FAULT: Duration = Duration::from_millis(1_200);
/// How long a command may take at all.
const AT_MOST: Duration = Duration::from_secs(120);
/// How long the operator waits before they ask again.
const AFTER_ASKED: Duration = Duration::from_secs(2);
/// How long a command may take to end when it is asked to.
const TO_END: Duration = Duration::from_secs(30);

/// The directories, and the program in them.
pub(super) struct Place<'a> {
    shim: &'a Shim,
    program: &'a Path,
    files: TempDir,
    tools: TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) process: u32,
    /// None if it was killed.
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// Whether it waited for better times and was asked to stop.
    pub(super) stopped: bool,
}

impl Answer {
    pub(super) fn is_ok(&self) -> bool {
        self.code == Some(0)
    }
}

impl<'a> Place<'a> {
    /// Makes a repository with one commit, and a configuration with a worker and a check for it.
    pub(super) fn new(shim: &'a Shim, program: &'a Path) -> anyhow::Result<Self> {
        // In memory, where syncing costs nothing: what a disk would keep is the shim's affair.
        let files = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new())?;
        let place = Self { shim, program, files, tools: TempDir::new()? };
        fs::create_dir(place.home())?;
        fs::set_permissions(place.home(), fs::Permissions::from_mode(0o700))?;
        fs::write(place.path("worker.sh"), "echo two >> a.txt\n")?;
        fs::write(place.path("check.sh"), "grep -q two a.txt\n")?;
        fs::write(place.home().join("config.toml"), place.configuration())?;
        place.make_git()?;
        fs::create_dir(place.app())?;
        fs::write(place.app().join("a.txt"), "one\n")?;
        for arguments in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "--all"],
            &[
                "-c",
                "user.name=P",
                "-c",
                "user.email=p@localhost.invalid",
                "commit",
                "--quiet",
                "--message=x",
            ],
        ] {
            place.git(arguments)?;
        }
        Counted::begin(&place.counter())?;
        Ok(place)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    pub(super) fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub(super) fn app(&self) -> PathBuf {
        self.path("app")
    }

    pub(super) fn counter(&self) -> PathBuf {
        self.path("counter")
    }

    fn configuration(&self) -> String {
        format!(
            "[azolla.az-taskmgmt]\ntype = \"TASK_MGMT_AZOLLA\"\n\n\
             [azolla.az-app]\ntype = \"CODE_PATCH_AZOLLA\"\nrepo = {:?}\nbase_branch = \"main\"\nprovider = \"sh\"\n\
             checks = [{{ name = \"two\", command = [\"sh\", {:?}] }}]\n\n\
             [provider.sh]\nkind = \"command\"\nargv = [\"sh\", {:?}]\nprompt = \"stdin\"\nresult = \"worktree\"\n\n\
             [sandbox]\nmode = \"off\"\n",
            self.app(),
            self.path("check.sh"),
            self.path("worker.sh"),
        )
    }

    /// A git that loads the shim where the program's own environment does not get through.
    fn make_git(&self) -> anyhow::Result<()> {
        let git = self.tools.path().join("git");
        let (told, real) = (self.path("told"), &self.shim.git);
        fs::write(
            &git,
            format!(
                "#!/bin/sh\n[ ! -e '{0}' ] || . '{0}'\nexec '{1}' \"$@\"\n",
                told.display(),
                real.display()
            ),
        )?;
        Ok(fs::set_permissions(&git, fs::Permissions::from_mode(0o755))?)
    }

    /// Runs git as the operator would, in their repository.
    #[expect(clippy::disallowed_methods, reason = "the operator's own git")]
    pub(super) fn git(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = Command::new(&self.shim.git)
            .args(arguments)
            .current_dir(self.app())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()?;
        let told = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "git {}: {told}", arguments.join(" "));
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Returns a call of the program in a home. Nothing of this process's environment gets there but the PATH.
    #[expect(clippy::disallowed_methods, reason = "the program under test is started here")]
    pub(super) fn command(
        &self,
        home: &Path,
        arguments: &[&str],
        orders: &Orders,
    ) -> anyhow::Result<Command> {
        let variables = orders.variables(self.shim, &self.counter());
        let told = variables.iter().filter(|_| orders.concern_git());
        let told: String = told.map(|(name, value)| format!("export {name}='{value}'\n")).collect();
        fs::write(self.path("told"), told)?;
        let path = std::env::var("PATH").context("PATH")?;
        let mut command = Command::new(self.program);
        command.args(arguments).current_dir(self.files.path()).env_clear().envs(variables);
        command.env("PATH", format!("{}:{path}", self.tools.path().display()));
        command.env("HOME", self.path("person")).env("USER", "tester").env("AZOLLA_HOME", home);
        Ok(command)
    }

    /// Runs the program to its end, which may be that it is killed. One that goes on after its fault is stopped.
    pub(super) fn run(&self, arguments: &[&str], orders: &Orders) -> anyhow::Result<Answer> {
        self.run_in(&self.home(), arguments, orders)
    }

    /// The same in another home.
    pub(super) fn run_in(&self, home: &Path, arguments: &[&str], orders: &Orders) -> anyhow::Result<Answer> {
        // Into files: a pipe would stay open for as long as anything that it started.
        let output = TempDir::new_in(self.files.path())?;
        let (out, err) = (output.path().join("out"), output.path().join("err"));
        let mut command = self.command(home, arguments, orders)?;
        command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?);
        let (process, status, stopped) = self.wait(command, orders).context(arguments.join(" "))?;
        let text = |path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        ensure!(
            status.code().is_some() || status.signal() == Some(Signal::KILL.as_raw()),
            "azolla {}: {status}: {}",
            arguments.join(" "),
            text(&err)?
        );
        Ok(Answer { process, code: status.code(), stdout: text(&out)?, stderr: text(&err)?, stopped })
    }

    fn wait(&self, mut command: Command, orders: &Orders) -> anyhow::Result<(u32, ExitStatus, bool)> {
        let faults_before = self.faults(orders)?;
        let mut child = command.spawn()?;
        let (pid, process) = (Pid::from_child(&child), child.id());
        let (told, ended) = mpsc::channel();
        std::thread::spawn(move || told.send(child.wait()));
        let begin = Instant::now();
        let mut fault = None;
        let mut asked = None;
        loop {
            match ended.recv_timeout(LOOK) {
                Ok(status) => return Ok((process, status?, asked.is_some())),
                Err(RecvTimeoutError::Disconnected) => bail!("nobody waits for it"),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if fault.is_none() && self.faults(orders)? > faults_before {
                fault = Some(Instant::now());
            }
            let is_over =
                begin.elapsed() > AT_MOST || fault.is_some_and(|at: Instant| at.elapsed() > AFTER_FAULT);
            match asked {
                // It may just have ended, here and below.
                None if is_over => {
                    let _ = kill_process(pid, Signal::TERM);
                    asked = Some((Instant::now(), false));
                }
                // Work that was paid for is committed for as long as its claim may hold. Asked twice, it ends at once.
                Some((at, false)) if Instant::elapsed(&at) > AFTER_ASKED => {
                    let _ = kill_process(pid, Signal::TERM);
                    asked = Some((at, true));
                }
                Some((at, true)) if Instant::elapsed(&at) > TO_END => {
                    let _ = kill_process(pid, Signal::KILL);
                    bail!("it does not end when it is asked to");
                }
                _ => {}
            }
        }
    }

    fn faults(&self, orders: &Orders) -> anyhow::Result<u64> {
        if orders.has_fault() { Ok(Counted::read(&self.counter())?.faults) } else { Ok(0) }
    }

    /// Returns every file of the operator's repository but those of our branches: their names, their logs, and objects.
    pub(super) fn repository(&self) -> anyhow::Result<BTreeMap<PathBuf, Vec<u8>>> {
        let mut files = BTreeMap::new();
        let left_out = ["objects", "refs/heads/azolla", "logs/refs/heads/azolla"]
            .map(|name| self.app().join(".git").join(name));
        let mut directories = vec![self.app()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory)? {
                let path = entry?.path();
                if left_out.contains(&path) {
                    continue;
                }
                if path.is_dir() {
                    directories.push(path);
                } else {
                    files.insert(path.clone(), fs::read(&path)?);
                }
            }
        }
        Ok(files)
    }
}
