//! Files of a commit in a directory, for workers that edit files and for checks; and the edits taken from there.
//!
//! The directory has a `.git` of its own, for programs that need one. We never use it: edits are read with the mirror,
//! our own index and the recorded base, so that nothing that is written there runs or hides anything (T7 to T11).

use std::{
    fs, io,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use azolla_process::Capture;

use super::{
    Attempt, Attempted, GitRepository, RepositoryError, TakeError, Taken, Worktree,
    git::{Call, unavailable},
    mirror::{ATTRIBUTES, EXCLUDE},
    refusal::{Refusal, visible},
    take::is_fault,
};

/// Bytes of all names of changed files.
const NAMES_BYTES: usize = 16 << 20;
/// Bytes of a list of everything in an index.
const INDEX_BYTES: usize = 64 << 20;

impl GitRepository {
    pub(super) async fn files_of(
        &self,
        attempt: &Attempt,
        commit: &str,
        name: String,
    ) -> Result<Worktree, RepositoryError> {
        let base = self.index_of(commit).await?;
        let place = self.scratch.place(&name)?;
        let (files, index) = (place.directory().join("files"), place.directory().join("index"));
        fs::create_dir(&files)
            .and_then(|()| fs::copy(base.path(), &index).map(drop))
            .map_err(|error| unavailable(error.to_string()))?;
        let arguments = ["checkout-index", "--all", "--quiet", "--force", "--index"];
        let output =
            self.git.run(Call::new(self.mirror.git_dir(), arguments).work_tree(&files).index(&index)).await?;
        if output.code != Some(0) {
            return Err(unavailable(format!("the files cannot be written: {}", output.complaint())));
        }
        self.give_git(attempt, commit, &files, &index).map_err(|error| unavailable(error.to_string()))?;
        let tree = self.write_tree(&index).await?;
        Ok(Worktree { path: files, tree, place })
    }

    pub(super) async fn take_edits(
        &self,
        attempt: &Attempt,
        worktree: &Worktree,
    ) -> Result<Taken, TakeError> {
        match self.commit_edits(attempt, worktree).await {
            Err(TakeError::Refused { reason, .. }) => {
                let attempted = self.edits_as_text(attempt, worktree).await;
                Err(TakeError::Refused { reason, attempted })
            }
            taken => taken,
        }
    }

    /// Returns edits that were refused, so that they are not lost with the worktree (PF-6b): a diff, cut where it gets
    /// too long, and no text where git cannot say. What they touch is told whole wherever it can be listed.
    async fn edits_as_text(&self, attempt: &Attempt, worktree: &Worktree) -> Attempted {
        // The worktree's own index may have the edits in it already.
        let Ok(index) = self.index_of(&attempt.base).await else { return Attempted::default() };
        let Changed { paths: changed, .. } =
            self.changed_files(worktree.path(), index.path()).await.unwrap_or_default();
        let text = self.diff_of(worktree, &changed, index.path()).await;
        let is_cut = match &text {
            Some(text) => text.len() >= Attempted::BYTES_MAX,
            None => !changed.is_empty(),
        };
        let mut paths: Vec<String> = Vec::new();
        if is_cut {
            paths.extend(changed.iter().map(|path| path.to_string_lossy().into_owned()));
            paths.sort();
            paths.dedup();
        }
        Attempted { text: text.unwrap_or_default(), is_cut, paths }
    }

    /// Returns the beginning of what changed, if git can say.
    async fn diff_of(&self, worktree: &Worktree, changed: &[PathBuf], index: &Path) -> Option<String> {
        let sizes = changed.iter().filter_map(|path| fs::symlink_metadata(worktree.path().join(path)).ok());
        if sizes.map(|metadata| metadata.len()).sum::<u64>() > self.limits.total() {
            return None;
        }
        let call = |arguments: &[&str]| {
            Call::new(self.mirror.git_dir(), arguments).work_tree(worktree.path()).index(index)
        };
        // New files are in a diff once the index knows their names. What cannot be added is not in it.
        let _ = self.git.run(call(&["add", "--all", "--intent-to-add", "--ignore-errors"])).await;
        let diff = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames"];
        let output = self.git.run(call(&diff).stdout(Capture::Head(Attempted::BYTES_MAX))).await.ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    async fn commit_edits(&self, attempt: &Attempt, worktree: &Worktree) -> Result<Taken, TakeError> {
        self.mirror.prepare()?;
        let index = worktree.place.directory().join("index");
        let Changed { paths, left_out } = self.changed_files(worktree.path(), &index).await?;
        let inside = self.written_in_submodules(worktree.path(), &index).await?;
        let left_out =
            [left_out, inside].into_iter().flatten().reduce(|one, other| format!("{one}\n{other}"));
        if paths.is_empty() {
            return Err(left_out.map_or(TakeError::NoChange, |left_out| Refusal::whole(left_out).into()));
        }
        self.check_files(worktree.path(), &paths)?;
        let call =
            Call::new(self.mirror.git_dir(), ["add", "--all"]).work_tree(worktree.path()).index(&index);
        let output = self.git.run(call).await?;
        if output.code != Some(0) {
            return Err(if is_fault(&output) {
                unavailable(output.complaint()).into()
            } else {
                Refusal::whole(format!("the edits cannot be taken: {}", output.complaint())).into()
            });
        }
        let taken = self.commit_index(attempt, &index, None).await?;
        Ok(Taken { left_out, ..taken })
    }

    /// Returns the paths that differ from the base, ignored new ones left out.
    async fn changed_files(&self, files: &Path, index: &Path) -> Result<Changed, TakeError> {
        let arguments = ["ls-files", "-z", "--modified", "--others", "--exclude-standard"];
        let call = Call::new(self.mirror.git_dir(), arguments)
            .work_tree(files)
            .index(index)
            .stdout(Capture::All(NAMES_BYTES));
        let output = self.git.run(call).await?;
        match output.code {
            Some(0) => {}
            Some(_) => return Err(unavailable(format!("git ls-files: {}", output.complaint())).into()),
            None => return Err(Refusal::whole("the edits touch too many files").into()),
        }
        let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let paths = names.map(|name| PathBuf::from(std::ffi::OsString::from_vec(name.to_vec()))).collect();
        Ok(Changed { paths, left_out: unread(&output.stderr) })
    }

    /// Returns what was written where the base has a submodule, in words. To git that is another repository's, and it
    /// passes over it without a word (T6).
    async fn written_in_submodules(&self, files: &Path, index: &Path) -> Result<Option<String>, TakeError> {
        // The mode of a submodule's entry. Nearly no repository has one, and then git is not asked.
        let bytes = fs::read(index).map_err(|error| unavailable(error.to_string()))?;
        if !bytes.windows(4).any(|four| four == [0, 0, 0xe0, 0]) {
            return Ok(None);
        }
        let call = Call::new(self.mirror.git_dir(), ["ls-files", "-z", "--stage"])
            .index(index)
            .stdout(Capture::Head(INDEX_BYTES));
        let listed = self.git.run(call).await?.stdout;
        let entries = listed.split(|byte| *byte == 0).filter(|entry| entry.starts_with(b"160000 "));
        let names = entries.filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1));
        let is_written = |name: &&[u8]| {
            let place = files.join(std::ffi::OsStr::from_bytes(name));
            let is_directory = fs::symlink_metadata(&place).is_ok_and(|found| found.is_dir());
            is_directory && fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_some())
        };
        let names: Vec<String> =
            names.filter(is_written).map(|name| visible(&String::from_utf8_lossy(name))).collect();
        Ok(match names.split_first() {
            None => None,
            Some((name, more)) => {
                let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
                Some(format!("Left out, as submodules are not changed: what was written in {name}{more}"))
            }
        })
    }

    /// Refuses what is too much, or no file, before a byte of it is stored.
    fn check_files(&self, files: &Path, changed: &[PathBuf]) -> Result<(), Refusal> {
        if changed.len() as u64 > self.limits.files {
            return Err(Refusal::whole(format!("the edits touch more than {} files", self.limits.files)));
        }
        let mut total = 0_u64;
        for path in changed {
            let shown = path.to_string_lossy();
            if path.as_os_str().as_bytes().ends_with(b"/") {
                return Err(Refusal::of(&shown, "is a repository inside the repository"));
            }
            // Not there: deleted, or behind a file that took the place of a directory.
            let Ok(metadata) = fs::symlink_metadata(files.join(path)) else { continue };
            if !metadata.is_file() && !metadata.is_symlink() && !metadata.is_dir() {
                return Err(Refusal::of(&shown, "is neither a file nor a link"));
            }
            if metadata.is_file() && metadata.len() > self.limits.file_bytes {
                let reason =
                    format!("has more than {} bytes, the limit for one file", self.limits.file_bytes);
                return Err(Refusal::of(&shown, reason));
            }
            total = total.saturating_add(metadata.len());
        }
        if total > self.limits.total() {
            return Err(Refusal::whole("the changed files are too large together"));
        }
        Ok(())
    }

    /// Makes a repository of its own beside the files: the base on the branch, objects borrowed from the mirror.
    fn give_git(&self, attempt: &Attempt, commit: &str, files: &Path, index: &Path) -> io::Result<()> {
        let git = files.join(".git");
        let branch = format!("refs/heads/{}", attempt.branch());
        let branch_file = git.join(&branch);
        for directory in [&git.join("objects/info"), &git.join("objects/pack"), &git.join("info")] {
            fs::create_dir_all(directory)?;
        }
        fs::create_dir_all(branch_file.parent().expect("a branch is below refs/heads"))?;
        fs::write(git.join("HEAD"), format!("ref: {branch}\n"))?;
        fs::write(branch_file, format!("{commit}\n"))?;
        fs::write(git.join("config"), config(self.mirror.is_sha256()))?;
        fs::write(git.join("info/attributes"), ATTRIBUTES)?;
        fs::write(git.join("info/exclude"), EXCLUDE)?;
        let mut alternates = self.mirror.objects().into_os_string().into_vec();
        alternates.push(b'\n');
        fs::write(git.join("objects/info/alternates"), alternates)?;
        let shallow = self.mirror.git_dir().join("shallow");
        if shallow.is_file() {
            fs::copy(shallow, git.join("shallow"))?;
        }
        fs::copy(index, git.join("index")).map(drop)
    }
}

/// What a worker changed.
#[derive(Default)]
struct Changed {
    paths: Vec<PathBuf>,
    /// What git passed over, in words.
    left_out: Option<String>,
}

/// Returns what git says of a directory that it could not look into: one whose path is too long for the system, or that
/// is closed to us. It goes on without it.
fn unread(stderr: &str) -> Option<String> {
    let mut warnings = stderr.split("warning: could not open directory '").skip(1);
    let warning = warnings.next()?.lines().next().unwrap_or_default();
    // git cuts a warning off, so that the end of a path that is too long is not in it.
    let (path, reason) = warning.rsplit_once("': ").unwrap_or((warning, "its path is too long"));
    let more = match warnings.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("Left out, as it could not be read ({}): {}{more}", visible(reason), visible(path)))
}

fn config(sha256: bool) -> String {
    let (version, extension) = if sha256 { (1, "[extensions]\n\tobjectFormat = sha256\n") } else { (0, "") };
    format!(
        "[core]\n\trepositoryformatversion = {version}\n\tbare = false\n{extension}[gc]\n\tauto = 0\n\
         [user]\n\tname = azolla\n\temail = azolla@localhost.invalid\n"
    )
}
