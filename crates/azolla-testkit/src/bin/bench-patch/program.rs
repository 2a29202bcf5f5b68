//! The real program in a home of its own: where it is, how it is started, what the system says about it.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::{
    git::Git,
    origin::{Origin, PATCH, Shape},
};

const REPOSITORY: Shape = Shape { directories: 5, files_each: 8 };

/// `azolla`, with a configuration of several patch azollas on one repository.
pub(crate) struct Program {
    path: PathBuf,
    home: PathBuf,
    origin: Origin,
    _directory: TempDir,
}

impl Program {
    /// Finds the program beside this one, and makes a home with the stores of so many azollas.
    pub(crate) fn new(git: &Git, azollas: usize) -> anyhow::Result<Self> {
        let path = std::env::current_exe()?.with_file_name("azolla");
        ensure!(path.is_file(), "{} is missing: run this by scripts/bench patch", path.display());
        let directory = TempDir::new()?;
        let origin = Origin::new(git, &directory.path().join("origin"), REPOSITORY)?;
        let home = directory.path().join("home");
        fs::create_dir(&home)?;
        fs::set_permissions(&home, fs::Permissions::from_mode(0o700))?;
        let answer = home.join("answer.patch");
        fs::write(&answer, PATCH)?;
        fs::write(home.join("config.toml"), configuration(&answer, origin.path(), azollas))?;
        let program = Self { path, home, origin, _directory: directory };
        program.run(&["init"])?;
        Ok(program)
    }

    /// Returns a call of the program; nothing of this process's environment gets there but the PATH.
    #[expect(clippy::disallowed_methods, reason = "the program under measurement is started here")]
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.args(arguments).current_dir(self.origin.path()).env_clear();
        command.env("PATH", path).env("HOME", &self.home).env("AZOLLA_HOME", &self.home);
        command
    }

    /// Runs it to its end and returns what it printed.
    pub(crate) fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = self.command(arguments).stdin(Stdio::null()).output()?;
        let told = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "azolla {}: {told}", arguments.join(" "));
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// Starts it and leaves it running.
    pub(crate) fn start(&self, arguments: &[&str]) -> anyhow::Result<Running> {
        let mut command = self.command(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Running(command.spawn()?))
    }
}

fn configuration(answer: &Path, repo: &Path, azollas: usize) -> String {
    let mut text = format!("[provider.recorded]\nkind = \"recorded\"\nanswers = \"{}\"\n", answer.display());
    for n in 1..=azollas {
        text.push_str(&format!(
            "\n[azolla.az-{n}]\ntype = \"CODE_PATCH_AZOLLA\"\nrepo = \"{}\"\nbase_branch = \"main\"\n\
             provider = \"recorded\"\n",
            repo.display()
        ));
    }
    text
}

/// A program that runs; ended when it is dropped.
pub(crate) struct Running(Child);

/// What a process has used so far.
pub(crate) struct Used {
    pub(crate) cpu_ms: f64,
    pub(crate) bytes_to_disk: u64,
    pub(crate) resident_mb: f64,
}

impl Running {
    /// Asks the system. CPU time comes in ticks, mostly of ten milliseconds.
    pub(crate) fn used(&self) -> anyhow::Result<Used> {
        let place = PathBuf::from(format!("/proc/{}", self.0.id()));
        let stat = fs::read_to_string(place.join("stat")).context("it has ended")?;
        let (_, rest) = stat.rsplit_once(") ").context("no name in stat")?;
        // After the name: state, parent, …, utime and stime as the 12th and 13th.
        let ticks: Vec<u64> = rest.split_whitespace().skip(11).take(2).flat_map(str::parse).collect();
        let per_second = rustix::param::clock_ticks_per_second();
        Ok(Used {
            cpu_ms: ticks.iter().sum::<u64>() as f64 * 1e3 / per_second as f64,
            bytes_to_disk: number(&place.join("io"), "write_bytes:")?,
            resident_mb: number(&place.join("status"), "VmRSS:")? as f64 / 1024.0,
        })
    }

    /// Asks it to end, and waits for that.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        let pid = Pid::from_child(&self.0);
        kill_process(pid, Signal::TERM)?;
        let status = self.0.wait()?;
        ensure!(status.success(), "azolla run ended with {status}");
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, unless something went wrong before.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn number(file: &Path, name: &str) -> anyhow::Result<u64> {
    let text = fs::read_to_string(file)?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).context("no such line")?;
    line.split_whitespace().next().context("no number")?.parse().context("not a number")
}
