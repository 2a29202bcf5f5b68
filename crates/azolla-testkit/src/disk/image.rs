//! What a disk holds after a power cut, from the log of what was done to it.
//!
//! Of a file, everything up to its last completed sync is there. Of what was written after that, anything may be: each
//! write is there, is not, or is torn at a sector. A name is made, moved or gone for sure only after its directory was
//! synced; before that it may be either way. After a sync that failed, what it was to sync may be lost for good, though
//! every later read finds it and every later sync succeeds.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, bail, ensure};

use crate::sim::chance::Chance;

/// What a disk writes at once.
const SECTOR: u64 = 512;

/// One line of the log.
#[derive(Debug)]
pub(super) struct Entry {
    /// Where in the log it ends.
    pub(super) end: u64,
    pub(super) what: Done,
}

/// What was done.
#[derive(Debug)]
pub(super) enum Done {
    Made(String),
    Wrote {
        path: String,
        change: Change,
    },
    Synced(String),
    SyncFailed(String),
    Moved {
        from: String,
        to: String,
    },
    Gone(String),
    /// A process printed this.
    Said {
        process: u32,
        on_stdout: bool,
        text: String,
    },
}

/// A change of a file's content.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Bytes { offset: u64, bytes: Vec<u8> },
    Size(u64),
}

/// Reads a log of the shim.
pub(super) fn read_log(bytes: &[u8]) -> anyhow::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let kind = u32::from_ne_bytes(take(&mut rest)?);
        let path_length = u32::from_ne_bytes(take(&mut rest)?) as usize;
        let offset = u64::from_ne_bytes(take(&mut rest)?);
        let length = usize::try_from(u64::from_ne_bytes(take(&mut rest)?))?;
        ensure!(rest.len() >= path_length + length, "the log is cut off");
        let (path, after) = rest.split_at(path_length);
        let (bytes_of, after) = after.split_at(length);
        let path = String::from_utf8(path.to_vec())?;
        let text = || String::from_utf8_lossy(bytes_of).into_owned();
        let what = match u8::try_from(kind)? {
            b'C' => Done::Made(path),
            b'W' => Done::Wrote { path, change: Change::Bytes { offset, bytes: bytes_of.to_vec() } },
            b'T' => Done::Wrote { path, change: Change::Size(offset) },
            b'S' => Done::Synced(path),
            b'F' => Done::SyncFailed(path),
            b'R' => Done::Moved { from: path, to: text() },
            b'U' => Done::Gone(path),
            b'A' => Done::Said {
                process: u32::try_from(offset >> 8)?,
                on_stdout: offset & 0xff == 1,
                text: text(),
            },
            kind => bail!("no line of the log is of kind {kind}"),
        };
        rest = after;
        entries.push(Entry { end: (bytes.len() - rest.len()) as u64, what });
    }
    Ok(entries)
}

fn take<const N: usize>(rest: &mut &[u8]) -> anyhow::Result<[u8; N]> {
    let (first, after) = rest.split_first_chunk().context("the log is cut off")?;
    *rest = after;
    Ok(*first)
}

/// The files of one directory.
#[derive(Debug, Default)]
pub(super) struct Disk {
    files: Vec<File>,
    /// As programs see them.
    names: BTreeMap<String, usize>,
    /// As the last sync of the directory left them.
    durable: BTreeMap<String, usize>,
    pending: Vec<Naming>,
}

#[derive(Debug, Default)]
struct File {
    durable: Vec<u8>,
    pending: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Naming {
    Made(String, usize),
    Moved(String, String, usize),
    Gone(String),
}

/// How much of what was not synced is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// All of it.
    Everything,
    /// Nothing.
    Nothing,
    /// Some of it, by chance.
    Some,
}

impl Disk {
    /// Does what a line of the log says.
    pub(super) fn apply(&mut self, what: &Done, chance: &mut Chance) -> anyhow::Result<()> {
        match what {
            Done::Said { .. } => {}
            Done::Made(name) => {
                let file = self.files.len();
                self.files.push(File::default());
                self.names.insert(name.clone(), file);
                self.pending.push(Naming::Made(name.clone(), file));
            }
            Done::Wrote { path, change } => {
                // What has no name any more is written by whoever still has it open, and read by nobody.
                if let Some(file) = self.file(path) {
                    self.files[file].pending.push(change.clone());
                }
            }
            Done::Synced(path) => match self.file(path) {
                Some(file) => self.files[file].sync(),
                None if self.is_directory(path) => {
                    self.durable = self.names.clone();
                    self.pending.clear();
                }
                None => {}
            },
            // Of a directory: SQLite does not look at the result, and a file system that cannot sync a directory is not
            // written to any more. What was named before is left as uncertain as it was.
            Done::SyncFailed(path) => {
                if let Some(file) = self.file(path) {
                    self.files[file].fail_to_sync(chance);
                }
            }
            Done::Moved { from, to } => {
                let file = self.names.remove(from).with_context(|| format!("{from} was never made"))?;
                self.names.insert(to.clone(), file);
                self.pending.push(Naming::Moved(from.clone(), to.clone(), file));
            }
            Done::Gone(name) => {
                if self.names.remove(name).is_some() {
                    self.pending.push(Naming::Gone(name.clone()));
                }
            }
        }
        Ok(())
    }

    /// Returns the files as the next start finds them, without what SQLite makes anew for its own memory.
    pub(super) fn after_cut(&self, loss: Loss, chance: &mut Chance) -> BTreeMap<String, Vec<u8>> {
        let mut names = self.durable.clone();
        for naming in self.pending.iter().filter(|_| is_kept(loss, chance)) {
            match naming.clone() {
                Naming::Made(name, file) => drop(names.insert(name, file)),
                Naming::Gone(name) => drop(names.remove(&name)),
                Naming::Moved(from, to, file) => {
                    names.remove(&from);
                    names.insert(to, file);
                }
            }
        }
        names.retain(|name, _| !name.ends_with("-shm"));
        names.into_iter().map(|(name, file)| (name, self.files[file].after_cut(loss, chance))).collect()
    }

    fn file(&self, path: &str) -> Option<usize> {
        self.names.get(path).copied()
    }

    fn is_directory(&self, path: &str) -> bool {
        self.names.keys().any(|name| Path::new(name).parent() == Some(Path::new(path)))
            || self.pending.iter().any(|naming| {
                let (Naming::Made(name, _) | Naming::Moved(name, ..) | Naming::Gone(name)) = naming;
                Path::new(name).parent() == Some(Path::new(path))
            })
    }
}

impl File {
    fn sync(&mut self) {
        for change in std::mem::take(&mut self.pending) {
            change.apply(&mut self.durable);
        }
    }

    /// The system has told of the failure once and takes what it could not write for written.
    fn fail_to_sync(&mut self, chance: &mut Chance) {
        for change in std::mem::take(&mut self.pending) {
            if let Some(change) = change.survivor(Loss::Some, chance) {
                change.apply(&mut self.durable);
            }
        }
    }

    fn after_cut(&self, loss: Loss, chance: &mut Chance) -> Vec<u8> {
        let mut content = self.durable.clone();
        for change in &self.pending {
            if let Some(change) = change.clone().survivor(loss, chance) {
                change.apply(&mut content);
            }
        }
        content
    }
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Size(length) => content.resize(*length as usize, 0),
            Self::Bytes { offset, bytes } => {
                let (begin, end) = (*offset as usize, *offset as usize + bytes.len());
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[begin..end].copy_from_slice(bytes);
            }
        }
    }

    /// Returns what is left of it: all, nothing, or the part before or after some sector.
    fn survivor(self, loss: Loss, chance: &mut Chance) -> Option<Self> {
        if !is_kept(loss, chance) {
            return None;
        }
        if loss != Loss::Some || !chance.per_mille(300) {
            return Some(self);
        }
        let Self::Bytes { offset, mut bytes } = self else { return Some(self) };
        let first = offset.next_multiple_of(SECTOR) - offset;
        let sectors = (bytes.len() as u64).saturating_sub(first) / SECTOR;
        let cut = usize::try_from(first + SECTOR * chance.below(sectors as usize + 1) as u64).unwrap_or(0);
        let cut = cut.min(bytes.len());
        if chance.per_mille(500) {
            bytes.truncate(cut);
            Some(Self::Bytes { offset, bytes })
        } else {
            Some(Self::Bytes { offset: offset + cut as u64, bytes: bytes.split_off(cut) })
        }
    }
}

fn is_kept(loss: Loss, chance: &mut Chance) -> bool {
    match loss {
        Loss::Everything => false,
        Loss::Nothing => true,
        Loss::Some => chance.per_mille(500),
    }
}
