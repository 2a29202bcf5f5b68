//! The time that the processes live in: faster than the machine's, so that a lease is over in seconds, and with a wall
//! clock of each process that can jump (P9). `shim/clock.c` is the other half.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, ensure};
use rustix::time::{ClockId, clock_gettime};

/// How fast time passes, and since when.
#[derive(Debug)]
pub(super) struct Clock {
    shim: PathBuf,
    speed: u32,
    wall_ns: i64,
    steady_ns: i64,
}

/// The clock of one process, which others can share.
#[derive(Debug)]
pub(super) struct Page {
    path: PathBuf,
    file: File,
}

/// Where the offset of a page is, after three other numbers.
const OFFSET_AT: u64 = 24;
/// What the shim maps.
const PAGE_BYTES: usize = 4096;

impl Clock {
    /// Builds the shim in a directory, and begins.
    pub(super) fn new(directory: &Path, speed: u32) -> anyhow::Result<Self> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("shim/clock.c");
        let shim = directory.join("clock.so");
        let built = compiler()
            .args(["-O2", "-shared", "-fPIC", "-o"])
            .args([&shim, &source])
            .output()
            .context("running cc, which the clock of the processes is built with")?;
        ensure!(built.status.success(), "cc: {}", String::from_utf8_lossy(&built.stderr));
        let read = |clock| {
            let time = clock_gettime(clock);
            time.tv_sec * 1_000_000_000 + time.tv_nsec
        };
        Ok(Self { shim, speed, wall_ns: read(ClockId::Realtime), steady_ns: read(ClockId::Monotonic) })
    }

    /// Makes the clock of a process, which is right.
    pub(super) fn page(&self, path: PathBuf) -> anyhow::Result<Page> {
        let numbers = [i64::from(self.speed), self.wall_ns, self.steady_ns, 0];
        let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        bytes.resize(PAGE_BYTES, 0);
        fs::write(&path, bytes)?;
        let file = File::options().write(true).open(&path)?;
        Ok(Page { path, file })
    }

    /// Returns the variables that give a program this clock.
    pub(super) fn variables<'a>(&'a self, page: &'a Page) -> [(&'static str, &'a Path); 2] {
        [("LD_PRELOAD", self.shim.as_path()), ("CHAOS_CLOCK", page.path.as_path())]
    }

    /// Returns how long it takes on the machine until `ms` have passed for the processes.
    pub(super) fn real(&self, ms: u64) -> Duration {
        Duration::from_millis(ms) / self.speed
    }

    /// Returns the statement that gives a schema of PostgreSQL this clock.
    pub(super) fn statement(&self, schema: &str) -> String {
        let (speed, begin) = (self.speed, self.wall_ns as f64 / 1e9);
        format!(
            "CREATE OR REPLACE FUNCTION \"{schema}\".azolla_now() RETURNS TEXT LANGUAGE sql VOLATILE AS $$
                 SELECT to_char(date_trunc('milliseconds',
                     to_timestamp({begin} + (extract(epoch FROM clock_timestamp()) - {begin}) * {speed})
                     AT TIME ZONE 'UTC'), 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') $$"
        )
    }
}

impl Page {
    /// Sets how far the wall clock is off: a jump, at once.
    pub(super) fn set_offset(&self, ms: i64) -> anyhow::Result<()> {
        Ok(self.file.write_all_at(&(ms * 1_000_000).to_ne_bytes(), OFFSET_AT)?)
    }
}

#[expect(clippy::disallowed_methods, reason = "the compiler, which no shipped program starts")]
fn compiler() -> Command {
    Command::new("cc")
}
