//! One deployment of the real program: repositories of an operator, homes, configuration, and the worker that answers
//! well, badly, slowly, never, or by killing whoever started it.

use std::{
    fs::{self, File},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::{
    Settings,
    clock::{Clock, Page},
    database::Database,
};
use crate::store::Backend;

/// The lease that is configured: the shortest that the program takes.
pub(super) const LEASE_MS: u64 = 30_000;
/// How many times as fast as the machine's time passes for the processes.
const SPEED: u32 = 20;
/// How long a command may take, in the time of the machine. The slowest wait for a database that is away.
const COMMAND_LIMIT: Duration = Duration::from_secs(120);

/// The azolla that takes notes.
pub(super) const NOTES: &str = "az-taskmgmt";
/// An azolla that patches a repository: its id, its repository, and what else its section says.
pub(super) struct Patching {
    pub(super) id: &'static str,
    repository: &'static str,
    section: &'static str,
}

/// Files are edited; a change is printed, in a sandbox; files are edited, and a check is run on them; recorded answers.
pub(super) const PATCHING: [Patching; 4] = [
    Patching { id: "az-edits", repository: "app", section: "provider = \"edits\"" },
    Patching { id: "az-prints", repository: "app", section: "provider = \"prints\"" },
    Patching {
        id: "az-checks",
        repository: "lib",
        section: "provider = \"edits\"\n\
                  checks = [{ name = \"text\", command = [\"grep\", \"-qv\", \"spoilt\", \"b.txt\"] }]",
    },
    Patching { id: "az-recorded", repository: "lib", section: "provider = \"recorded\"" },
];

/// The worker. What it does stands in the title of the objective, which is in its prompt.
const WORKER: &str = r#"prompt=$(cat)
kind=good
for word in slow bad spoilt stray over poison; do
    case $prompt in *"of kind $word"*) kind=$word ;; esac
done
case $kind in
slow) sleep 0.$(($$ % 6)) ;;
bad) echo "I cannot do that."; exit 0 ;;
over) exec sleep 1000 ;;
stray)
    # Two that try to stay: in a session of their own, and orphaned.
    setsid sleep 1000 &
    (setsid sh -c 'sleep 1000 & sleep 1000' &) ;;
poison)
    # Kills the azolla above its keeper. The kernel may not let it (Landlock), so the harness is asked to.
    while read -r key value; do
        [ "$key" = PPid: ] && above=$value
    done < /proc/$PPID/status
    echo "$above" > "${0%/bin/*}/poison/$$"
    exec sleep 1000 ;;
esac
if [ "$1" = prints ]; then
    printf 'diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n one\n+two %s\n' $$
elif [ $kind = spoilt ]; then
    echo spoilt > b.txt
else
    echo "two $$" >> a.txt
fi
"#;

/// A deployment. Its directory goes with it, unless it is kept.
pub(super) struct Site {
    pub(super) clock: Clock,
    pub(super) database: Option<Database>,
    /// One for all processes on SQLite, one for each on PostgreSQL.
    homes: Vec<PathBuf>,
    pages: Vec<Page>,
    operators_page: Page,
    directory: TempDir,
    program: PathBuf,
    commands: AtomicU64,
}

/// How a command ended.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Site {
    /// Sets everything up, and starts no process that stays but a database.
    pub(super) fn new(settings: &Settings) -> anyhow::Result<Self> {
        // No disk: a process that is killed loses nothing of what the system has, and fsync is another harness's.
        let directory = TempDir::with_prefix_in("azolla-chaos-", "/dev/shm").or_else(|_| TempDir::new())?;
        let path = directory.path();
        let clock = Clock::new(path, SPEED)?;
        let pages = (0..settings.processes).map(|number| clock.page(path.join(format!("clock-{number}"))));
        let pages = pages.collect::<anyhow::Result<_>>()?;
        let database = match settings.backend {
            Backend::Sqlite => None,
            Backend::Postgres => Some(Database::start(settings.processes)?),
        };
        let homes = match settings.backend {
            Backend::Sqlite => vec![path.join("home")],
            Backend::Postgres => {
                (0..settings.processes).map(|number| path.join(format!("home-{number}"))).collect()
            }
        };
        let site = Self {
            operators_page: clock.page(path.join("clock"))?,
            clock,
            database,
            homes,
            pages,
            program: settings.program.clone(),
            commands: AtomicU64::new(0),
            directory,
        };
        site.furnish().inspect_err(|_| site.keep_for_a_look())?;
        Ok(site)
    }

    fn furnish(&self) -> anyhow::Result<()> {
        for directory in ["bin", "answers", "person", "logs", "commands", "poison"] {
            fs::create_dir(self.path(directory))?;
        }
        fs::write(self.path("bin/work.sh"), WORKER)?;
        // The first attempt does not fit, the next one does.
        fs::write(self.path("answers/1.diff"), diff("nine"))?;
        fs::write(self.path("answers/2.diff"), diff("one"))?;
        for name in ["app", "lib"] {
            self.make_repository(name)?;
        }
        for (number, home) in self.homes.iter().enumerate() {
            fs::DirBuilder::new().mode(0o700).create(home)?;
            fs::write(home.join("config.toml"), self.configuration(number)?)?;
        }
        // The first one makes the stores, and then they get their clock.
        self.azolla(0, &["init"])?.ok()?;
        side_by_side(self.azollas(), |azolla| {
            self.azolla(0, &["export", "--azolla", azolla])?.ok().map(drop)
        })?;
        side_by_side(1..self.homes.len(), |number| self.azolla(number, &["init"])?.ok().map(drop))?;
        if let Some(database) = &self.database {
            for azolla in self.azollas() {
                database.execute(&self.clock.statement(azolla))?;
            }
        }
        Ok(())
    }

    fn configuration(&self, number: usize) -> anyhow::Result<String> {
        let store = match &self.database {
            Some(database) => format!("store = {:?}\n", database.url_for(number)?),
            None => String::new(),
        };
        let mut text =
            format!("[azolla.{NOTES}]\ntype = \"TASK_MGMT_AZOLLA\"\nmanifest_every = \"2min\"\n{store}\n");
        for Patching { id, repository, section } in PATCHING {
            let repo = self.path(repository);
            text.push_str(&format!(
                "[azolla.{id}]\ntype = \"CODE_PATCH_AZOLLA\"\nrepo = {repo:?}\nbase_branch = \"main\"\n\
                 max_concurrent = 3\n{section}\n{store}\n"
            ));
        }
        let (script, answers, bin) = (self.path("bin/work.sh"), self.path("answers"), self.path("bin"));
        text.push_str(&format!(
            "[provider.edits]\nkind = \"command\"\nargv = [\"sh\", {script:?}, \"edits\"]\n\n\
             [provider.prints]\nkind = \"command\"\nargv = [\"sh\", {script:?}, \"prints\"]\nresult = \"stdout\"\n\
             sandbox = \"best-effort\"\nread = [{bin:?}]\n\n\
             [provider.recorded]\nkind = \"recorded\"\nanswers = {answers:?}\n\n\
             [limits]\nlease_ms = {LEASE_MS}\ntriage_batch = 2\n\
             budget_patch_ms = 120000\npeer_query_ms = 60000\n\n\
             [attention]\nreview_limit = 24\n\n[notify]\ndesktop = false\n\n[sandbox]\nmode = \"off\"\n"
        ));
        Ok(text)
    }

    /// Makes a repository that a person works in: branches, a stash, changes that are not committed.
    fn make_repository(&self, name: &str) -> anyhow::Result<()> {
        let path = self.path(name);
        fs::create_dir(&path)?;
        fs::write(path.join("a.txt"), "one\n")?;
        fs::write(path.join("b.txt"), "text\n")?;
        git(&path, &["init", "--quiet", "--initial-branch=main"])?;
        git(&path, &["add", "--all"])?;
        git(&path, &["commit", "--quiet", "--message=begin"])?;
        git(&path, &["branch", "mine"])?;
        git(&path, &["tag", "v1"])?;
        fs::write(path.join("b.txt"), "put away\n")?;
        git(&path, &["stash", "--quiet"])?;
        fs::write(path.join("b.txt"), "text, in the middle of a change\n")?;
        fs::write(path.join("new.txt"), "not added\n")?;
        Ok(())
    }

    /// Returns every azolla.
    pub(super) fn azollas(&self) -> impl Iterator<Item = &'static str> {
        PATCHING.iter().map(|patching| patching.id).chain([NOTES])
    }

    /// Returns a path in the site.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the homes of all machines.
    pub(super) fn homes(&self) -> &[PathBuf] {
        &self.homes
    }

    /// Returns the home of a process.
    pub(super) fn home_of(&self, process: usize) -> &Path {
        &self.homes[process % self.homes.len()]
    }

    /// Returns the clock of a process.
    pub(super) fn page_of(&self, process: usize) -> &Page {
        &self.pages[process]
    }

    /// Keeps the directory after the end.
    pub(super) fn keep_for_a_look(&self) {
        let _ = fs::write(self.path("kept"), "kept\n");
    }

    /// Kills what the poisoned worker asks to be killed.
    pub(super) fn kill_the_poisoned(&self) {
        for entry in fs::read_dir(self.path("poison")).into_iter().flatten().flatten() {
            let pid = fs::read_to_string(entry.path()).unwrap_or_default();
            let Some(pid) = pid.trim().parse().ok().and_then(Pid::from_raw) else { continue };
            let name = fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_pid())).unwrap_or_default();
            if name.trim() == "azolla" {
                // It may have ended by itself.
                let _ = kill_process(pid, Signal::KILL);
            }
            let _ = fs::remove_file(entry.path());
        }
    }

    /// Starts a process that stays, with the clock of its own.
    pub(super) fn start(&self, process: usize, arguments: &[&str], log: &Path) -> anyhow::Result<Child> {
        let log = File::options().append(true).create(true).open(log)?;
        let mut command = self.command(self.home_of(process), self.page_of(process), arguments);
        command.stdout(log.try_clone()?).stderr(log).spawn().context("starting azolla")
    }

    /// Runs a command of the operator at a machine, to its end. One that does not end is an error.
    pub(super) fn azolla(&self, machine: usize, arguments: &[&str]) -> anyhow::Result<Answer> {
        let number = self.commands.fetch_add(1, Ordering::Relaxed);
        let files = ["out", "err"].map(|stream| self.path(&format!("commands/{number}.{stream}")));
        let home = &self.homes[machine % self.homes.len()];
        let mut child = self
            .command(home, &self.operators_page, arguments)
            .stdout(File::create(&files[0])?)
            .stderr(File::create(&files[1])?)
            .spawn()
            .context("starting azolla")?;
        let Some(status) = ended_within(&mut child, COMMAND_LIMIT)? else {
            child.kill()?;
            child.wait()?;
            bail!("azolla {} did not end in {COMMAND_LIMIT:?}", arguments.join(" "));
        };
        let [stdout, stderr] = files.map(|file| {
            let text = fs::read(&file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            let _ = fs::remove_file(&file);
            text.unwrap_or_default()
        });
        Ok(Answer { code: status.code(), stdout, stderr })
    }

    #[expect(clippy::disallowed_methods, reason = "the program under test is started here")]
    fn command(&self, home: &Path, page: &Page, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(self.path("person")).stdin(Stdio::null()).env_clear();
        command.env("HOME", self.path("person")).env("USER", "tester").env("AZOLLA_HOME", home);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(self.clock.variables(page));
        command
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if self.path("kept").exists() {
            self.directory.disable_cleanup(true);
        }
    }
}

impl Answer {
    /// Returns stdout, if all is well.
    pub(super) fn ok(self) -> anyhow::Result<String> {
        ensure!(self.code == Some(0), "{:?}: {}{}", self.code, self.stdout, self.stderr);
        Ok(self.stdout)
    }
}

/// Waits for the end of a process, but not longer than `limit`.
pub(super) fn ended_within(
    child: &mut Child,
    limit: Duration,
) -> anyhow::Result<Option<std::process::ExitStatus>> {
    let mut status = None;
    until(limit, || {
        status = child.try_wait().ok().flatten();
        status.is_some()
    });
    Ok(status)
}

/// Looks again and again, until what is waited for is there or the time is over; tells whether it is.
pub(super) fn until(limit: Duration, mut is_there: impl FnMut() -> bool) -> bool {
    const EVERY: Duration = Duration::from_millis(3);
    let deadline = Instant::now() + limit;
    loop {
        if is_there() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        thread::park_timeout(EVERY);
    }
}

/// Does the same with each of several, all at once; the first error counts.
pub(super) fn side_by_side<T: Send>(
    all: impl Iterator<Item = T>,
    each: impl Fn(T) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    let each = &each;
    thread::scope(|scope| {
        let threads: Vec<_> = all.map(|one| scope.spawn(move || each(one))).collect();
        let mut ended = threads.into_iter().map(|thread| thread.join());
        ended.try_for_each(|ended| ended.unwrap_or_else(|_| bail!("a thread panicked")))
    })
}

/// Runs git as a person would, and returns what it printed.
#[expect(clippy::disallowed_methods, reason = "a person's own git")]
pub(super) fn git(directory: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git")
        .args(["-c", "user.name=P", "-c", "user.email=p@localhost.invalid"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .context("running git")?;
    ensure!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn diff(line: &str) -> String {
    format!("diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n {line}\n+two\n")
}
