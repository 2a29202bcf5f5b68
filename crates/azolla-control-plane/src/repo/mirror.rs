//! The bare mirror on disk: made without git, and put back into its known form before every use (T9).
//!
//! Its `config` and `info/attributes` are compared with the bytes that they must have, because a worker that runs
//! without a sandbox could have written there. What git would also read (hooks, alternates, grafts) is removed.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use azolla_process::remove_tree;

use super::{
    RepositoryError,
    git::{FETCH_TIME, unavailable},
};

/// Time after which a ref is not held any more by a git whose azolla was killed.
const ORPHAN_TIME: Duration = Duration::from_secs(60);
/// Times that a call of git waits for whoever puts the mirror right, and how long each time.
const WAITS: usize = 250;
const WAIT: Duration = Duration::from_millis(20);

/// Content as it is: no line endings, filters or encodings, and no `-diff` that hides a change (T7, T8). It wins over
/// every `.gitattributes`, macros included.
pub(super) const ATTRIBUTES: &str =
    "* -text !eol !crlf -ident -filter !working-tree-encoding !diff !merge !whitespace\n";
/// What command-line agents leave behind and nobody means to commit.
pub(super) const EXCLUDE: &str = ".aider*\n";
/// Everything as binary, for content that is no text.
const BINARY_ATTRIBUTES: &str =
    "* -text !eol !crlf -ident -filter !working-tree-encoding -diff !merge !whitespace\n";
/// Stands for the user's configuration. The repository's owner may be another user than ours: the operator named it.
const GLOBAL: &str = "[safe]\n\tdirectory = *\n";
const HEAD: &str = "ref: refs/heads/none\n";
macro_rules! config {
    ($version:literal, $extensions:literal) => {
        concat!(
            "[core]\n\trepositoryformatversion = ",
            $version,
            "\n\tbare = true\n\tlogallrefupdates = false\n",
            $extensions,
            "[gc]\n\tauto = 0\n[uploadpack]\n\tallowanysha1inwant = true\n"
        )
    };
}
const CONFIG_SHA1: &str = config!("0", "");
const CONFIG_SHA256: &str = config!("1", "[extensions]\n\tobjectFormat = sha256\n");

/// Where the mirror is.
#[derive(Clone, Debug)]
pub(super) struct Mirror {
    directory: PathBuf,
}

impl Mirror {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Returns the git directory.
    pub(super) fn git_dir(&self) -> &Path {
        &self.directory
    }

    /// Returns where objects are.
    pub(super) fn objects(&self) -> PathBuf {
        self.directory.join("objects")
    }

    /// Returns the git directory that shows the same objects as binary.
    pub(super) fn binary_view(&self) -> PathBuf {
        self.directory.join("azolla/binary")
    }

    /// Returns the file that stands for the user's configuration.
    pub(super) fn global_config(&self) -> PathBuf {
        self.directory.join("azolla/gitconfig")
    }

    /// Makes the mirror if it is not there, and puts its files back into their known form.
    pub(super) fn prepare(&self) -> Result<(), RepositoryError> {
        self.put_right().map_err(|error| {
            let place = self.directory.display();
            match error.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory => RepositoryError::Unusable {
                    what: format!("the mirror {place} cannot be written: {error}"),
                    action: "make its directory writable, or set another home".to_owned(),
                },
                _ => unavailable(format!("the mirror {place}: {error}")),
            }
        })
    }

    /// Makes everything durable that calls which have ended wrote: one flush of the journal and the disk's cache.
    pub(super) async fn flush(&self) -> Result<(), RepositoryError> {
        let objects = self.objects();
        let flushed = tokio::task::spawn_blocking(move || {
            let mut file = tempfile::NamedTempFile::new_in(objects)?;
            io::Write::write_all(&mut file, b"flush\n")?;
            file.as_file().sync_all()
        });
        let flushed = flushed.await.map_err(|error| unavailable(error.to_string()))?;
        flushed.map_err(|error| unavailable(format!("the mirror cannot be flushed: {error}")))
    }

    /// Tells whether objects are named by SHA-256.
    pub(super) fn is_sha256(&self) -> bool {
        fs::read_to_string(self.directory.join("config")).is_ok_and(|text| says_sha256(&text))
    }

    /// Turns a mirror that has nothing in it yet into one for SHA-256.
    pub(super) fn become_sha256(&self) -> Result<(), RepositoryError> {
        put(&self.directory.join("config"), CONFIG_SHA256)
            .and_then(|()| put(&self.binary_view().join("config"), CONFIG_SHA256))
            .map_err(|error| unavailable(error.to_string()))
    }

    /// Returns the file whose lock says that git runs in the mirror; see [`in_use`].
    pub(super) fn use_lock(&self) -> PathBuf {
        self.directory.join("azolla/in-use")
    }

    /// Tells whether a call that failed because of a lock goes better at once; `complaint` is what git said. Removes a
    /// lock that a power cut left behind.
    pub(super) fn may_try_again(&self, complaint: &str) -> bool {
        let lock = complaint.split('\'').map(Path::new).find(|path| {
            path.extension().is_some_and(|extension| extension == "lock") && path.starts_with(&self.directory)
        });
        match lock {
            // Not a lock, but another value than expected: somebody else was faster.
            None => true,
            // git waits for every lock but this one.
            Some(path) if path.ends_with("shallow.lock") => {
                self.remove_stale_lock(path, FETCH_TIME);
                true
            }
            Some(path) => self.remove_stale_lock(path, ORPHAN_TIME) || !path.exists(),
        }
    }

    /// Removes a lock of git's that nobody holds; tells whether it did.
    ///
    /// The mirror is ours alone, and every call of ours holds [`in_use`]: while nobody does, no lock in it is held. The
    /// exceptions are a git whose azolla was killed, and one whose caller was dropped, for its grace; so the lock has to be
    /// older than such a git may hold it: a ref is held for milliseconds, `shallow` for a whole fetch.
    fn remove_stale_lock(&self, path: &Path, orphan_time: Duration) -> bool {
        self.while_unused(|| is_older(path, orphan_time) && fs::remove_file(path).is_ok())
    }

    /// Returns the locks of git's that nobody holds. An age that is enough for every kind is asked of each.
    pub(super) fn stale_locks(&self) -> Vec<PathBuf> {
        // Whoever runs git waits for what is done while nobody does: it is not a walk over all refs.
        let mut locks = locks_below(&self.directory);
        locks.retain(|lock| is_older(lock, FETCH_TIME));
        if locks.is_empty() {
            return locks;
        }
        self.while_unused(|| {
            locks.retain(|lock| is_older(lock, FETCH_TIME));
            locks
        })
    }

    /// Removes them; returns those that it removed.
    pub(super) fn remove_stale_locks(&self) -> Vec<PathBuf> {
        let mut locks = self.stale_locks();
        locks.retain(|lock| self.remove_stale_lock(lock, FETCH_TIME));
        locks
    }

    /// Does something while no git runs in the mirror, and nothing otherwise.
    fn while_unused<T: Default>(&self, work: impl FnOnce() -> T) -> T {
        let Ok(nobody) = fs::File::open(self.use_lock()) else { return T::default() };
        if nobody.try_lock().is_err() {
            return T::default();
        }
        work()
    }

    fn put_right(&self) -> io::Result<()> {
        let config = if self.is_sha256() { CONFIG_SHA256 } else { CONFIG_SHA1 };
        let binary = self.binary_view();
        for directory in ["objects/info", "objects/pack", "refs/heads", "info", "azolla"] {
            make_directory(&self.directory.join(directory))?;
        }
        for directory in ["objects", "refs", "info"] {
            make_directory(&binary.join(directory))?;
        }
        for path in ["hooks", "config.worktree", "commondir", "objects/info/alternates", "info/grafts"] {
            remove_tree(&self.directory.join(path))?;
        }
        for path in ["hooks", "config.worktree", "commondir"] {
            remove_tree(&binary.join(path))?;
        }
        put(&self.directory.join("config"), config)?;
        put(&self.directory.join("info/attributes"), ATTRIBUTES)?;
        put(&self.directory.join("info/exclude"), EXCLUDE)?;
        put(&self.directory.join("HEAD"), HEAD)?;
        put(&self.global_config(), GLOBAL)?;
        make(&self.use_lock())?;
        put(&binary.join("config"), config)?;
        put(&binary.join("info/attributes"), BINARY_ATTRIBUTES)?;
        put(&binary.join("HEAD"), HEAD)
    }
}

/// Holds the mirror as one of those that run git in it, until the file is dropped. It is a lock of the system on the
/// file [`Mirror::use_lock`]: it goes with the process, also in a power cut.
pub(super) async fn in_use(use_lock: &Path) -> Result<fs::File, RepositoryError> {
    let failed = |error: &dyn std::fmt::Display| unavailable(format!("{}: {error}", use_lock.display()));
    let file = fs::File::open(use_lock).map_err(|error| failed(&error))?;
    let mut pace = tokio::time::interval(WAIT);
    for _ in 0..WAITS {
        match file.try_lock_shared() {
            Ok(()) => return Ok(file),
            // For the moment in which another process removes a lock. An answer that was paid for may wait here.
            Err(fs::TryLockError::WouldBlock) => pace.tick().await,
            Err(fs::TryLockError::Error(error)) => return Err(failed(&error)),
        };
    }
    Err(failed(&"another process puts the mirror right"))
}

/// A clock that was set back makes a file of the future, which is as old as it is far away.
fn is_older(path: &Path, time: Duration) -> bool {
    let modified = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| modified.elapsed().unwrap_or_else(|ahead| ahead.duration()) > time)
}

/// Returns git's locks in a directory. There are none among the objects, which are many.
fn locks_below(directory: &Path) -> Vec<PathBuf> {
    let mut locks = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        if kind.as_ref().is_ok_and(|kind| kind.is_dir()) && !path.ends_with("objects") {
            locks.extend(locks_below(&path));
        } else if kind.is_ok_and(|kind| kind.is_file())
            && path.extension().is_some_and(|extension| extension == "lock")
        {
            locks.push(path);
        }
    }
    locks
}

/// Tells whether a text is a full object id.
pub(super) fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn says_sha256(config: &str) -> bool {
    config.lines().any(|line| {
        let line: String = line.split_whitespace().collect();
        line.eq_ignore_ascii_case("objectformat=sha256")
    })
}

/// Makes a directory where there is none: a full disk is no reason to refuse what is there.
fn make_directory(path: &Path) -> io::Result<()> {
    if path.is_dir() { Ok(()) } else { fs::create_dir_all(path) }
}

/// Gives a file this text, in one step, if it has another or is no plain file.
fn put(path: &Path, text: &str) -> io::Result<()> {
    let is_plain = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
    if is_plain && fs::read(path).is_ok_and(|bytes| bytes == text.as_bytes()) {
        return Ok(());
    }
    if !is_plain {
        remove_tree(path)?;
    }
    let directory = path.parent().expect("every file of the mirror is in a directory");
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    io::Write::write_all(&mut file, text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

/// Makes an empty file where there is none. One that is there is never replaced: others hold a lock on it.
fn make(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => return Ok(()),
        Ok(_) => remove_tree(path)?,
        Err(_) => {}
    }
    fs::OpenOptions::new().append(true).create(true).open(path).map(drop)
}
