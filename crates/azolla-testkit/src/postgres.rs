//! PostgreSQL for tests: an empty database per test in the run's server, or a server of the test's own.
//!
//! The run's server is started by `scripts/with-postgres` and named by `AZOLLA_TEST_PG_URL`. Without it a
//! test that needs PostgreSQL fails; it is never skipped.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tokio_postgres::NoTls;

const NOT_RUNNING: &str = "PostgreSQL is not running for the tests: run scripts/check, or \
     scripts/with-postgres cargo nextest run (AZOLLA_TEST_PG_URL is not set)";

/// How long the drop of a database may take before it is left to the end of the server.
const DROP_LIMIT: Duration = Duration::from_secs(10);

/// How long the processes of a killed server may take to be gone.
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// Creates an empty database in the server of the run. Fails where no server was started for the run.
pub async fn fresh_database() -> anyhow::Result<TestDatabase> {
    let server = std::env::var("AZOLLA_TEST_PG_URL").context(NOT_RUNNING)?;
    fresh_database_in(&server).await
}

/// Creates an empty database in the server that `server_url` leads to.
pub async fn fresh_database_in(server_url: &str) -> anyhow::Result<TestDatabase> {
    let name = fresh_name()?;
    // template0: unlike template1, no session can be connected to it, which would refuse the copy.
    execute(server_url, &format!("CREATE DATABASE {name} TEMPLATE template0")).await?;
    Ok(TestDatabase { url: with_database(server_url, &name)?, server_url: server_url.to_owned(), name })
}

/// An empty database of one test. Dropped with the value, sessions that are still connected included.
#[derive(Debug)]
pub struct TestDatabase {
    url: String,
    server_url: String,
    name: String,
}

impl TestDatabase {
    /// Returns the address of the database.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for TestDatabase {
    /// Drops the database now: each takes 7 MB, too much to leave hundreds to the end of the server.
    /// Best effort: a server that was stopped has nothing to drop. On a thread with a runtime of its own,
    /// for the test's runtime is blocked here, or is already shutting down.
    fn drop(&mut self) {
        let (server_url, name) = (std::mem::take(&mut self.server_url), std::mem::take(&mut self.name));
        let dropping = std::thread::spawn(move || -> anyhow::Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let statement = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
            runtime
                .block_on(async { tokio::time::timeout(DROP_LIMIT, execute(&server_url, &statement)).await? })
        });
        // The result is not looked at: the server's end removes what is left.
        drop(dropping.join());
    }
}

/// A server of one test, for tests that stop it. Durable as in production. Ended with the value, or with
/// the test's process, however that ends.
#[derive(Debug)]
pub struct PrivateCluster {
    /// `scripts/with-postgres`, which removes the server when the pipe to it closes.
    keeper: Child,
    url: String,
    data: PathBuf,
    programs: PathBuf,
}

impl PrivateCluster {
    /// Starts a server and waits until it answers.
    pub fn start() -> anyhow::Result<Self> {
        const REPORT_THEN_WAIT: &str = r#"
            printf '%s\n' "$AZOLLA_TEST_PG_URL" "$AZOLLA_TEST_PG_DATA" "$AZOLLA_TEST_PG_BIN"; cat"#;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/with-postgres");
        let mut keeper = program(&script)
            .args(["--durable", "sh", "-c", REPORT_THEN_WAIT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Out of reach of a signal to the test's group, so that it can still clean up after the test.
            .process_group(0)
            .spawn()
            .with_context(|| format!("starting {}", script.display()))?;
        let stdout = keeper.stdout.take().context("the keeper has no output")?;
        let mut lines = BufReader::new(stdout).lines();
        let mut next = || {
            lines
                .next()
                .context("PostgreSQL did not start; with-postgres said why")?
                .map_err(anyhow::Error::from)
        };
        let (url, data, programs) = (next()?, next()?, next()?);
        Ok(Self { keeper, url, data: data.into(), programs: programs.into() })
    }

    /// Returns the address of the server's own database, for [`fresh_database_in`].
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stops the server as a crash would: no session is finished, no checkpoint is written. What was
    /// committed is there after [`Self::restart`].
    pub fn stop_immediate(&self) -> anyhow::Result<()> {
        self.control(&["stop", "--mode=immediate"])
    }

    /// Kills the server's first process, as `kill -9` does, and waits until those that it had started have noticed and
    /// are gone: until then the memory that they share is in use, and [`Self::restart`] would be refused.
    pub fn kill(&self) -> anyhow::Result<()> {
        let file = self.data.join("postmaster.pid");
        let text = std::fs::read_to_string(&file).context("the server's process id")?;
        let pid: i32 = text.lines().next().unwrap_or_default().trim().parse()?;
        kill_process(Pid::from_raw(pid).context("the server has a process id")?, Signal::KILL)?;
        let deadline = Instant::now() + STOP_LIMIT;
        while processes_in(&self.data)? > 0 {
            ensure!(Instant::now() < deadline, "processes of a killed server are still there");
            std::thread::park_timeout(Duration::from_millis(5));
        }
        // Where nobody reaps it soon, the dead process still has its number, and the next server would yield to it.
        let directory = self.data.parent().context("the cluster is in a directory")?;
        let locks = std::fs::read_dir(directory)?.flatten().map(|entry| entry.path());
        for lock in locks.filter(|path| path.extension().is_some_and(|end| end == "lock")).chain([file]) {
            std::fs::remove_file(&lock).with_context(|| format!("removing {}", lock.display()))?;
        }
        Ok(())
    }

    /// Starts the stopped server again, at the same address, and waits until it answers.
    pub fn restart(&self) -> anyhow::Result<()> {
        self.control(&["start"])
    }

    /// Lets the server listen on the loopback interface too, and starts it again; returns the port. With a certificate
    /// and its key, in PEM form, it speaks TLS there and takes nothing else.
    pub fn listen(&self, tls: Option<(&str, &str)>) -> anyhow::Result<u16> {
        // Free a moment ago. The socket is named after the port, so only addresses with the port go on from here.
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut settings = format!("listen_addresses = '127.0.0.1'\nport = {port}\n");
        if let Some((certificate, key)) = tls {
            settings.push_str("ssl = on\n");
            self.put("server.crt", certificate)?;
            self.put("server.key", key)?;
            self.put("pg_hba.conf", "local all all trust\nhostssl all all 127.0.0.1/32 trust\n")?;
        }
        let file = self.data.join("postgresql.conf");
        let before = std::fs::read_to_string(&file).context("the settings of the server")?;
        self.put("postgresql.conf", &format!("{before}{settings}"))?;
        self.control(&["restart", "--mode=fast"])?;
        Ok(port)
    }

    /// Writes a file as the server's own, which a key has to be.
    fn put(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let (path, owner) = (self.data.join(name), std::fs::metadata(&self.data)?);
        std::fs::write(&path, text).with_context(|| format!("writing {name}"))?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        std::os::unix::fs::chown(&path, Some(owner.uid()), Some(owner.gid()))?;
        Ok(())
    }

    fn control(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let owner = std::fs::metadata(&self.data).context("the cluster's directory")?;
        let mut command = program(&self.programs.join("pg_ctl"));
        command.args(arguments).args(["--wait", "--silent", "--timeout=60"]);
        command.arg("--pgdata").arg(&self.data).arg("--log").arg(self.data.with_file_name("log"));
        // The server refuses root: the keeper created the directory as another user, who owns it.
        if rustix::process::geteuid().as_raw() != owner.uid() {
            command.uid(owner.uid()).gid(owner.gid());
        }
        // A directory that this user can enter; and no pipe of the test's, which the server would keep open.
        command.current_dir(&self.data).stdin(Stdio::null()).stdout(Stdio::null());
        let status = command.status().context("running pg_ctl")?;
        ensure!(status.success(), "pg_ctl {arguments:?} failed: {status}");
        Ok(())
    }
}

impl Drop for PrivateCluster {
    fn drop(&mut self) {
        // The end of its input tells the keeper to stop the server by its process id and to remove it.
        drop(self.keeper.stdin.take());
        drop(self.keeper.wait());
    }
}

/// Returns how many processes have this directory for their own, as all of a server do.
fn processes_in(directory: &Path) -> anyhow::Result<usize> {
    let all = std::fs::read_dir("/proc").context("the list of processes")?.flatten();
    Ok(all
        .filter(|entry| std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == directory))
        .count())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a database server of the tests, which the process crate does not know"
)]
fn program(path: &Path) -> Command {
    Command::new(path)
}

/// Returns a name that no other test of this or another run has: the kernel's random id, so that runs which
/// share a server need not know each other; the counter shows the order within a process.
fn fresh_name() -> anyhow::Result<String> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let random = match std::fs::read_to_string("/proc/sys/kernel/random/uuid") {
        Ok(uuid) => uuid.trim().replace('-', ""),
        // No such file outside Linux, where a directory's random name has the same use.
        Err(_) => {
            let unique = tempfile::Builder::new().prefix("").rand_bytes(16).tempfile()?;
            let name = unique.path().file_name().context("a temporary file has a name")?;
            name.to_string_lossy().to_ascii_lowercase()
        }
    };
    Ok(format!("azolla_test_{}_{count}_{random}", std::process::id()))
}

async fn execute(url: &str, statement: &str) -> anyhow::Result<()> {
    let (client, connection) = tokio_postgres::connect(url, NoTls)
        .await
        .with_context(|| format!("connecting to PostgreSQL at {url}"))?;
    let work = async {
        let result = client.batch_execute(statement).await;
        drop(client); // Ends the connection, and so the other half of the join.
        result
    };
    let (result, connection) = tokio::join!(work, connection);
    result.with_context(|| statement.to_owned())?;
    connection.context("the connection to PostgreSQL")
}

/// Returns `url` with its database replaced.
fn with_database(url: &str, name: &str) -> anyhow::Result<String> {
    let (scheme, rest) =
        url.split_once("://").context("AZOLLA_TEST_PG_URL is not of the form postgres://…")?;
    let (address, options) = rest.split_once('?').map_or((rest, None), |(a, o)| (a, Some(o)));
    let authority = address.split_once('/').map_or(address, |(authority, _)| authority);
    let options = options.map(|o| format!("?{o}")).unwrap_or_default();
    Ok(format!("{scheme}://{authority}/{name}{options}"))
}

#[cfg(test)]
mod tests {
    use super::with_database;

    #[test]
    fn only_the_database_of_an_address_is_replaced() {
        let replaced = |url| with_database(url, "new").unwrap();
        assert_eq!(replaced("postgres://u@%2Ftmp%2Fx/old"), "postgres://u@%2Ftmp%2Fx/new");
        assert_eq!(replaced("postgresql://u:p@h:1/old?a=b/c"), "postgresql://u:p@h:1/new?a=b/c");
        assert_eq!(replaced("postgres://h?sslmode=disable"), "postgres://h/new?sslmode=disable");
        assert!(with_database("host=h dbname=old", "new").is_err());
    }
}
