//! What nearly every run asks of a commit: its tree, a few files, and the texts that a prompt is made from.
//!
//! A commit never changes, so the tree and the known files are read once and kept together. The tree also tells a path
//! that is not there from one that is there and cannot be read, which `git cat-file` does not.

use std::{collections::BTreeSet, sync::Arc};

use azolla_process::Capture;

use super::{
    Description, Entry, GitRepository, Guide, Pick, RepositoryError,
    cat_file::{self, Asked, Blob, Found},
    git::Call,
    refusal::{escaped, visible},
};

/// Bytes of the list of a tree that are read.
const LIST_BYTES: usize = 256 << 20;
/// Bytes of a guide that a prompt may get.
const GUIDE_BYTES: usize = 64 << 10;
/// Bytes of all texts that one look may ask for: whoever picks them keeps to less.
const TEXTS_BYTES: u64 = 64 << 20;
/// Files that nearly every run asks for, so that one call reads them all.
const KNOWN_FILES: [&str; 3] = [".azolla.toml", "AGENTS.md", "CLAUDE.md"];
/// Commits whose facts are kept.
const KEPT: usize = 4;

/// What is known of a commit.
#[derive(Debug)]
pub(super) struct Facts {
    entries: Arc<[Entry]>,
    /// One for each of the known files.
    known: Vec<Found>,
}

impl GitRepository {
    pub(super) async fn describe_commit(
        &self,
        commit: &str,
        pick: &Pick<'_>,
    ) -> Result<Description, RepositoryError> {
        let kept = self.kept(commit);
        let entries = match &kept {
            Some(facts) => {
                self.mirror.prepare()?;
                Arc::clone(&facts.entries)
            }
            None => self.list(commit).await?,
        };
        let picked = readable(&entries, pick(&entries));
        let mut asked: Vec<Asked> = match &kept {
            Some(_) => Vec::new(),
            // One call reads the known files and those that were picked.
            None => known_files(commit),
        };
        let known = asked.len();
        asked.extend(picked.iter().map(|&n| Asked {
            name: entries[n].blob.clone(),
            keep: usize::try_from(entries[n].size).unwrap_or(usize::MAX),
        }));
        let mut found = cat_file::read_all(&self.git, self.mirror.git_dir(), &asked).await?;
        let texts =
            picked.into_iter().zip(found.drain(known..)).filter_map(|(n, found)| Some((n, text(found)?)));
        let texts = texts.collect();
        let facts = kept.unwrap_or_else(|| self.keep_facts(commit, Facts::new(entries, found)));
        Ok(Description { entries: Arc::clone(&facts.entries), guide: facts.guide(), texts })
    }

    pub(super) async fn read_file(
        &self,
        commit: &str,
        path: &str,
        bytes_max: usize,
    ) -> Result<Option<Vec<u8>>, RepositoryError> {
        let found = match KNOWN_FILES.iter().position(|known| *known == path) {
            Some(n) => match self.facts(commit).await?.known[n].clone() {
                // Only its beginning is kept.
                Found::File(blob) if !blob.is_whole() && blob.size <= bytes_max as u64 => {
                    self.look_up(commit, path, bytes_max).await?
                }
                found => found,
            },
            None => self.look_up(commit, path, bytes_max).await?,
        };
        match found {
            Found::Nothing => Ok(None),
            Found::File(blob) => whole(blob, bytes_max).map(Some).ok_or_else(|| {
                unreadable(commit, path, bytes_max, &format!("is larger than {bytes_max} bytes"))
            }),
            Found::Other(what) => Err(unreadable(commit, path, bytes_max, what)),
        }
    }

    /// Returns what is at a path that is asked for seldom.
    async fn look_up(&self, commit: &str, path: &str, keep: usize) -> Result<Found, RepositoryError> {
        self.mirror.prepare()?;
        // First, as it brings a commit that is not in the mirror. One that is nowhere is an error here, not a commit
        // without the path.
        let arguments = ["ls-tree", "-z", "--name-only", "--end-of-options", commit, "--", path];
        let call = || Call::new(self.mirror.git_dir(), arguments);
        let names = self.run_on(commit, call).await?.answer("ls-tree")?;
        let found = cat_file::read(&self.git, self.mirror.git_dir(), commit, &[path], keep).await?.remove(0);
        Ok(match found {
            Found::Nothing => or_hidden(found, !names.is_empty()),
            found => found,
        })
    }

    async fn facts(&self, commit: &str) -> Result<Arc<Facts>, RepositoryError> {
        if let Some(facts) = self.kept(commit) {
            return Ok(facts);
        }
        // Not side by side: the list brings a commit that is not in the mirror, and only then are its files there.
        let entries = self.list(commit).await?;
        let known = cat_file::read_all(&self.git, self.mirror.git_dir(), &known_files(commit)).await?;
        Ok(self.keep_facts(commit, Facts::new(entries, known)))
    }

    fn kept(&self, commit: &str) -> Option<Arc<Facts>> {
        self.facts.lock().expect("no holder of this lock panics").get(commit).cloned()
    }

    fn keep_facts(&self, commit: &str, facts: Facts) -> Arc<Facts> {
        let facts = Arc::new(facts);
        let mut kept = self.facts.lock().expect("no holder of this lock panics");
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(commit.to_owned(), Arc::clone(&facts));
        facts
    }

    /// Returns the tree of a commit.
    async fn list(&self, commit: &str) -> Result<Arc<[Entry]>, RepositoryError> {
        self.mirror.prepare()?;
        let arguments = ["ls-tree", "-r", "-z", "-l", "--end-of-options", commit];
        let call = || Call::new(self.mirror.git_dir(), arguments).stdout(Capture::Head(LIST_BYTES));
        let list = self.run_on(commit, call).await?.answer("ls-tree")?;
        // The end of the last one may be missing.
        let lines = list.split_inclusive(|byte| *byte == 0).filter_map(|line| line.strip_suffix(&[0]));
        Ok(lines.filter_map(entry).collect())
    }
}

impl Facts {
    /// Puts together what `git ls-tree` listed and what is at the known paths.
    fn new(entries: Arc<[Entry]>, known: Vec<Found>) -> Self {
        let is_listed = |path: &str| entries.iter().any(|entry| entry.path == path);
        let known = KNOWN_FILES.iter().zip(known).map(|(path, found)| match found {
            Found::Nothing => or_hidden(found, is_listed(path)),
            found => found,
        });
        let known = known.collect();
        Self { entries, known }
    }

    fn guide(&self) -> Option<Guide> {
        let mut guides = KNOWN_FILES.into_iter().zip(&self.known).skip(1);
        guides.find_map(|(path, found)| match found {
            Found::File(blob) => {
                Some(Guide { path: path.to_owned(), blob: blob.id.clone(), text: blob.text(GUIDE_BYTES) })
            }
            Found::Nothing | Found::Other(_) => None,
        })
    }
}

fn known_files(commit: &str) -> Vec<Asked> {
    let named = |path: &&str| Asked { name: format!("{commit}:{path}"), keep: GUIDE_BYTES };
    KNOWN_FILES.iter().map(named).collect()
}

/// Reads `<mode> <type> <id> <size>\t<path>`; the size is padded, `-` of a submodule and `BAD` of a missing object.
fn entry(line: &[u8]) -> Option<Entry> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let mut words = str::from_utf8(&line[..tab]).ok()?.split_ascii_whitespace();
    let (mode, _, blob) = (words.next()?, words.next()?, words.next()?);
    Some(Entry {
        // T21: a path cannot forge a line of a prompt.
        path: escaped(&String::from_utf8_lossy(&line[tab + 1..])),
        blob: blob.to_owned(),
        size: words.next()?.parse().unwrap_or(0),
        mode: u32::from_str_radix(mode, 8).ok()?,
    })
}

/// Returns the files among what was picked, each once, as many as may be read at a time.
fn readable(entries: &[Entry], picked: Vec<usize>) -> BTreeSet<usize> {
    let mut left = TEXTS_BYTES;
    let picked = picked.into_iter().filter(|&n| entries.get(n).is_some_and(Entry::is_file));
    picked
        .take_while(|&n| {
            let fits = entries[n].size <= left;
            left = left.saturating_sub(entries[n].size);
            fits
        })
        .collect()
}

/// Returns a file as text: none if it is binary, which has a NUL in it, or could not be read.
fn text(found: Found) -> Option<String> {
    let Found::File(blob) = found else { return None };
    let is_text = blob.is_whole() && !blob.bytes.contains(&0);
    is_text.then(|| {
        String::from_utf8(blob.bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    })
}

/// Returns what a path is that cannot be read, once it is known whether the tree lists it.
fn or_hidden(found: Found, is_listed: bool) -> Found {
    if is_listed { Found::Other("is a submodule, or an object that the mirror does not have") } else { found }
}

fn whole(blob: Blob, bytes_max: usize) -> Option<Vec<u8>> {
    (blob.size <= bytes_max as u64 && blob.is_whole()).then_some(blob.bytes)
}

/// Fails closed: the operator is told what is in the way.
fn unreadable(commit: &str, path: &str, bytes_max: usize, what: &str) -> RepositoryError {
    let short = commit.get(..12).unwrap_or(commit);
    RepositoryError::Unusable {
        what: format!("{} at {short} {what}", visible(path)),
        action: format!("Make {} a file of at most {bytes_max} bytes", visible(path)),
    }
}
