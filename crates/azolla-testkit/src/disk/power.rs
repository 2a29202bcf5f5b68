//! Power cuts: a scenario is recorded once, then opened as a cut after any of its operations would have left it.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use anyhow::{Context, ensure};
use tempfile::TempDir;

use super::{
    Shim,
    image::{Disk, Done, Entry, Loss},
    record::{Recorded, record},
    shim::Orders,
};
use crate::sim::chance::Chance;

const AZOLLAS: [&str; 2] = ["az-app", "az-taskmgmt"];

/// What was done to the stores in a scenario, and what the program said meanwhile.
pub struct Recording<'a> {
    recorded: Recorded<'a>,
    seed: u64,
}

/// A power cut.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// The number of operations before it.
    pub after: usize,
    /// What it costs.
    pub loss: Loss,
    /// Which, where that is left to chance.
    pub seed: u64,
}

impl<'a> Recording<'a> {
    /// Records the scenario, with so many notes that an agent takes. With `failed_sync`, that sync fails, once, and what it
    /// loses is left to chance.
    pub fn make(
        shim: &'a Shim,
        program: &'a Path,
        notes: usize,
        failed_sync: Option<u64>,
        seed: u64,
    ) -> anyhow::Result<Self> {
        Ok(Self { recorded: record(shim, program, notes, failed_sync)?, seed })
    }

    /// Returns how many operations there are to cut after.
    pub fn operations(&self) -> usize {
        self.recorded.entries.len()
    }

    /// Returns the places right after which something had to be there.
    pub fn promises(&self) -> Vec<usize> {
        let mut places: Vec<_> = self.recorded.promises.iter().map(|promise| promise.from).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Returns how often a file was synced whose name ends in this.
    pub fn syncs(&self, ending: &str) -> usize {
        let is_sync = |entry: &&Entry| matches!(&entry.what, Done::Synced(path) if path.ends_with(ending));
        self.recorded.entries.iter().filter(is_sync).count()
    }

    /// Opens what a cut leaves. An error is a violation, and says of what.
    pub fn check(&self, cut: Cut) -> anyhow::Result<()> {
        self.open(cut).with_context(|| format!("{cut:?} of recording {}", self.seed))
    }

    fn open(&self, cut: Cut) -> anyhow::Result<()> {
        let directory = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new())?;
        let home = directory.path().join("home");
        let stores = home.join("azollas");
        for made in [&home, &stores] {
            fs::create_dir(made)?;
            fs::set_permissions(made, fs::Permissions::from_mode(0o700))?;
        }
        let place = &self.recorded.course.place;
        fs::copy(place.home().join("config.toml"), home.join("config.toml"))?;
        self.leave(cut, &stores)?;
        let run = |arguments: &[&str]| -> anyhow::Result<String> {
            let answer = place.run_in(&home, arguments, &Orders::default())?;
            ensure!(answer.is_ok(), "{}: {answer:?}", arguments.join(" "));
            Ok(answer.stdout)
        };
        // Cut before a store was there, the next start makes it.
        if !AZOLLAS.iter().all(|id| stores.join(format!("{id}.sqlite")).exists()) {
            run(&["init"])?;
        }
        run(&["verify"])?;
        let found: String =
            AZOLLAS.iter().map(|&id| run(&["export", "--azolla", id])).collect::<anyhow::Result<_>>()?;
        for promise in self.recorded.promises.iter().filter(|promise| promise.from <= cut.after) {
            ensure!(
                found.contains(&promise.text),
                "acknowledged after {} and lost: {}",
                promise.from,
                promise.text
            );
        }
        Ok(())
    }

    /// Writes the files that a cut leaves.
    fn leave(&self, cut: Cut, stores: &Path) -> anyhow::Result<()> {
        // What a failed sync loses was lost before the cut, and is the same whenever that comes.
        let mut lost = Chance::new(self.seed);
        let mut disk = Disk::default();
        for entry in &self.recorded.entries[..cut.after] {
            disk.apply(&entry.what, &mut lost)?;
        }
        for (path, bytes) in disk.after_cut(cut.loss, &mut Chance::new(cut.seed)) {
            let name = Path::new(&path).file_name().context("a file has a name")?;
            fs::write(stores.join(name), bytes)?;
        }
        Ok(())
    }
}
