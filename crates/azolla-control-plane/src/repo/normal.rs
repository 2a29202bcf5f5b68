//! The normal form of a change, computed by git (PF-6c), and the policy applied to it.
//!
//! It is stored as a JSON string, so it has to be text: where content is not UTF-8, or has a NUL, the file's part is
//! taken from a second diff that shows everything as binary.

use std::collections::BTreeSet;

use azolla_process::Capture;

use super::{
    GitRepository, TakeError,
    engine::STORED_BYTES_MAX,
    git::{Call, unavailable},
    patch::{Binary, Patch},
    policy,
    refusal::Refusal,
};

/// What changed between two trees.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) diff: String,
    pub(super) paths: Vec<String>,
}

/// Room for the list of changed paths before the diff.
const LIST_BYTES: usize = 1 << 20;

impl GitRepository {
    /// Returns what changed from `base` to `tree`, or refuses it.
    pub(super) async fn normalize(&self, base: &str, tree: &str) -> Result<Change, TakeError> {
        let output = self.diff(base, tree, View::Text).await?;
        if output.is_empty() {
            return Err(TakeError::NoChange);
        }
        let (paths, diff) = split_list(&output, self.limits.files)?;
        let parts = split_files(diff);
        if parts.iter().any(|part| !is_text(part)) {
            let output = self.diff(base, tree, View::Binary).await?;
            let (_, diff) = split_list(&output, self.limits.files)?;
            let binary = split_files(diff);
            if binary.len() != parts.len() {
                return Err(unavailable("git showed two different sets of changes").into());
            }
            let chosen =
                parts.iter().zip(binary).map(|(text, binary)| if is_text(text) { text } else { binary });
            let diff: Vec<u8> = chosen.flatten().copied().collect();
            return self.judge(paths, &diff);
        }
        self.judge(paths, diff)
    }

    fn judge(&self, paths: Vec<String>, diff: &[u8]) -> Result<Change, TakeError> {
        if diff.len() as u64 > self.limits.bytes {
            return Err(self.limits.too_large().into());
        }
        let diff = String::from_utf8(diff.to_vec())
            .map_err(|_| Refusal::whole("a changed file has a name that is not UTF-8"))?;
        if stored_bytes(&diff) > STORED_BYTES_MAX {
            return Err(Refusal::whole(format!(
                "the patch takes more than {STORED_BYTES_MAX} bytes to store"
            ))
            .into());
        }
        let patch = Patch::read(&diff, Binary::Allowed, self.limits.parts())?;
        policy::check(&patch, &self.limits)?;
        let read: BTreeSet<&str> = patch.paths();
        let listed: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
        if read != listed {
            return Err(Refusal::whole("the diff does not show every path that changes").into());
        }
        Ok(Change { diff, paths })
    }

    async fn diff(&self, base: &str, tree: &str, view: View) -> Result<Vec<u8>, TakeError> {
        #[rustfmt::skip]
        let arguments = [
            "diff-tree", "-r", "-z", "--patch-with-raw", "--binary", "--full-index", "--no-renames", "--no-color",
            "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "--diff-algorithm=histogram",
            "--unified=3", "--inter-hunk-context=0", "--indent-heuristic", "--submodule=short", "--end-of-options",
            base, tree,
        ];
        let binary_view = self.mirror.binary_view();
        let git_dir = match view {
            View::Text => self.mirror.git_dir(),
            View::Binary => &binary_view,
        };
        let bytes_max = usize::try_from(self.limits.bytes).unwrap_or(usize::MAX).saturating_add(LIST_BYTES);
        let call =
            Call::new(git_dir, arguments).objects(&self.mirror.objects()).stdout(Capture::All(bytes_max));
        let output = self.git.run(call).await?;
        match output.code {
            Some(0) => Ok(output.stdout),
            Some(_) => Err(unavailable(format!("git diff-tree: {}", output.complaint())).into()),
            None => Err(self.limits.too_large().into()),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum View {
    Text,
    Binary,
}

/// Splits `:modes ids status NUL path NUL … NUL diff` into the paths and the diff.
fn split_list(output: &[u8], files_max: u64) -> Result<(Vec<String>, &[u8]), TakeError> {
    let odd = || unavailable("git diff-tree printed a list that cannot be read");
    let mut paths = Vec::new();
    let mut rest = output;
    while rest.first() == Some(&b':') {
        let (_, after) = split_nul(rest).ok_or_else(odd)?;
        let (path, after) = split_nul(after).ok_or_else(odd)?;
        let Ok(path) = std::str::from_utf8(path) else {
            let shown = String::from_utf8_lossy(path).into_owned();
            return Err(Refusal::of(&shown, "has a name that is not UTF-8").into());
        };
        paths.push(path.to_owned());
        rest = after;
        if paths.len() as u64 > files_max {
            return Err(Refusal::whole(format!("the patch touches more than {files_max} files")).into());
        }
    }
    Ok((paths, rest.strip_prefix(b"\0").unwrap_or(rest)))
}

fn split_nul(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|byte| *byte == 0)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

/// Splits a diff before every `diff --git`; no line of a hunk begins like that.
fn split_files(diff: &[u8]) -> Vec<&[u8]> {
    let mut starts = vec![0];
    let mark = b"\ndiff --git ";
    starts.extend(
        diff.windows(mark.len()).enumerate().filter(|(_, window)| window == mark).map(|(at, _)| at + 1),
    );
    starts.push(diff.len());
    starts.windows(2).map(|pair| &diff[pair[0]..pair[1]]).collect()
}

/// Tells whether it can be in a document: no NUL, and UTF-8.
fn is_text(part: &[u8]) -> bool {
    !part.contains(&0) && std::str::from_utf8(part).is_ok()
}

/// Returns how many bytes a text takes inside a JSON document.
fn stored_bytes(text: &str) -> u64 {
    let bytes = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0x00..=0x1f => 6,
        _ => 1,
    });
    bytes.sum()
}

#[cfg(test)]
mod tests;
