//! Files of a commit, several in one call of git.

use std::path::Path;

use azolla_process::Capture;

use super::{
    RepositoryError,
    git::{Call, Git, unavailable},
};

/// What is at a path of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing that can be read: no such path, a submodule, or an object that is missing. git tells them apart only in
    /// a list of the tree.
    Nothing,
    /// A file.
    File(Blob),
    /// Something that is no file, in a few words.
    Other(&'static str),
}

/// A file of a commit, or its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Blob {
    /// Its object id.
    pub(super) id: String,
    /// Its size.
    pub(super) size: u64,
    /// What was kept of it.
    pub(super) bytes: Vec<u8>,
}

impl Blob {
    /// Tells whether all of it was kept.
    pub(super) fn is_whole(&self) -> bool {
        self.bytes.len() as u64 == self.size
    }

    /// Returns its text up to a limit, cut between characters. It can be in a document: a NUL, which a file in UTF-16
    /// is full of, is replaced like any other byte that is no text.
    pub(super) fn text(&self, bytes_max: usize) -> String {
        let bytes = &self.bytes[..self.bytes.len().min(bytes_max)];
        String::from_utf8_lossy(bytes).trim_end_matches('\u{fffd}').replace('\0', "\u{fffd}")
    }
}

/// Something to read.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// `<commit>:<path>`, links inside the tree followed, or an object id.
    pub(super) name: String,
    /// Of a file at least so many of its first bytes are there.
    pub(super) keep: usize,
}

/// Returns what is at each path of a commit, links inside the tree followed. Of a file at least the first `keep` bytes
/// are there.
pub(super) async fn read(
    git: &Git,
    git_dir: &Path,
    commit: &str,
    paths: &[&str],
    keep: usize,
) -> Result<Vec<Found>, RepositoryError> {
    let asked: Vec<Asked> =
        paths.iter().map(|path| Asked { name: format!("{commit}:{path}"), keep }).collect();
    read_all(git, git_dir, &asked).await
}

/// Returns what everything that is asked for is, in one call of git as a rule.
pub(super) async fn read_all(
    git: &Git,
    git_dir: &Path,
    asked: &[Asked],
) -> Result<Vec<Found>, RepositoryError> {
    /// Room for what git prints around an object, and for a little more of one that is larger than `keep`.
    const FRAME_BYTES: usize = 4_096;
    let mut found = Vec::new();
    while found.len() < asked.len() {
        let asked = &asked[found.len()..];
        if asked.iter().any(|asked| asked.name.contains('\n')) {
            return Err(unavailable("a path with a line break cannot be asked for"));
        }
        let input: String = asked.iter().map(|asked| format!("{}\n", asked.name)).collect();
        // The first file is seen up to `keep` in any case; one that pushes the next out costs one more call.
        let capture = Capture::Head(asked.iter().map(|asked| asked.keep + FRAME_BYTES).sum());
        let call = Call::new(git_dir, ["cat-file", "--batch", "--buffer", "--follow-symlinks"])
            .input(input)
            .stdout(capture);
        let seen = parse(&git.answer(call).await?, asked);
        if seen.is_empty() {
            return Err(unavailable("git cat-file gave no answer"));
        }
        found.extend(seen);
    }
    Ok(found)
}

fn parse(mut output: &[u8], asked: &[Asked]) -> Vec<Found> {
    let mut found = Vec::new();
    for asked in asked {
        let Some(end) = output.iter().position(|byte| *byte == b'\n') else { break };
        let header = String::from_utf8_lossy(&output[..end]).into_owned();
        output = &output[end + 1..];
        // `<id> <type> <size>`; what links out of the tree or to nothing is `<word> <size>`; the rest is missing.
        let words: Vec<&str> = header.rsplitn(3, ' ').collect();
        let (kind, size) = match words[..] {
            [_, "missing", ..] | ["missing" | "ambiguous", ..] => {
                found.push(Found::Nothing);
                continue;
            }
            [size, kind, ..] => (kind, size.parse::<u64>().unwrap_or(0)),
            _ => break,
        };
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        let is_cut = output.len() < length.saturating_add(1);
        if is_cut && output.len() < asked.keep.min(length) {
            break;
        }
        let bytes = output[..length.min(output.len())].to_vec();
        output = output.get(length.saturating_add(1)..).unwrap_or(&[]);
        found.push(match kind {
            "blob" => Found::File(Blob { id: words[2].to_owned(), size, bytes }),
            "tree" => Found::Other("is a directory"),
            "symlink" => Found::Other("is a link that leads out of the repository"),
            "dangling" => Found::Other("is a link to nothing"),
            "loop" => Found::Other("is a link that leads to itself"),
            "notdir" => Found::Other("leads through a file as if that were a directory"),
            _ => Found::Other("is not a file"),
        });
    }
    found
}
