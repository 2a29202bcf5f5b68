//! What a patch may touch (T1 to T6): paths, modes, links and sizes, each refusal with its own reason.
//!
//! It is applied twice: to a patch as it was given, before git sees it, and to what git says has changed.

pub(super) mod path;

use std::collections::BTreeMap;

use super::{
    PatchLimits,
    edit::{Action, FileEdit},
    patch::{Body, FilePatch, Patch},
    refusal::Refusal,
};

const REGULAR: &str = "100644";
const EXECUTABLE: &str = "100755";
const SYMLINK: &str = "120000";
const GITLINK: &str = "160000";

/// Refuses a patch that touches what it may not, or puts too much into one file.
pub(super) fn check(patch: &Patch<'_>, limits: &PatchLimits) -> Result<(), Refusal> {
    for file in &patch.files {
        check_paths(file)?;
        check_modes(file)?;
        check_size(file, limits)?;
        check_link(file)?;
    }
    check_together(patch)
}

/// Refuses edits that touch what they may not, or put too much into one file, whatever format they came in.
pub(super) fn check_edits(edits: &[FileEdit], limits: &PatchLimits) -> Result<(), Refusal> {
    let mut added: BTreeMap<&str, u64> = BTreeMap::new();
    for edit in edits {
        for name in std::iter::once(&edit.path).chain(&edit.to) {
            path::check(name).map_err(|reason| Refusal::of(name, reason))?;
        }
        let created = matches!(edit.action, Action::Create(_)).then_some(&edit.path);
        for name in created.into_iter().chain(&edit.to) {
            path::check_created(name).map_err(|reason| Refusal::of(name, reason))?;
        }
        check_file_mode(edit)?;
        let bytes = added.entry(&edit.path).or_default();
        *bytes += edit.added_bytes();
        if *bytes > limits.file_bytes {
            return Err(too_much(&edit.path, limits));
        }
        if edit.has_nul() {
            return Err(Refusal::of(&edit.path, "gets a NUL; a patch in text may only have text"));
        }
    }
    Ok(())
}

/// Tells whether a patch changes a file that it changed before: one diff after another, not one diff.
pub(super) fn changes_twice(patch: &Patch<'_>) -> bool {
    check_once(patch).is_err()
}

fn check_file_mode(edit: &FileEdit) -> Result<(), Refusal> {
    match edit.mode.as_deref() {
        None | Some(REGULAR | EXECUTABLE) => Ok(()),
        Some(GITLINK) => Err(Refusal::of(&edit.path, "is a submodule; those are not changed")),
        Some(SYMLINK) => Err(Refusal::of(&edit.path, "is a link; a link is changed by an exact diff only")),
        Some(mode) => Err(odd_mode(&edit.path, mode)),
    }
}

fn odd_mode(path: &str, mode: &str) -> Refusal {
    let mode = super::refusal::visible(mode);
    Refusal::of(path, format!("has mode {mode}; only 100644, 100755 and 120000 may be"))
}

fn too_much(path: &str, limits: &PatchLimits) -> Refusal {
    Refusal::of(path, format!("gets more than {} bytes, the limit for one file", limits.file_bytes))
}

fn check_paths(file: &FilePatch<'_>) -> Result<(), Refusal> {
    for name in file.old.iter().chain(&file.new) {
        path::check(name).map_err(|reason| Refusal::of(name, reason))?;
    }
    match &file.new {
        Some(name) if file.old.as_ref() != Some(name) => {
            path::check_created(name).map_err(|reason| Refusal::of(name, reason))
        }
        _ => Ok(()),
    }
}

fn check_modes(file: &FilePatch<'_>) -> Result<(), Refusal> {
    for mode in file.old_mode.iter().chain(&file.new_mode) {
        match mode.as_str() {
            REGULAR | EXECUTABLE | SYMLINK => {}
            GITLINK => return Err(Refusal::of(file.path(), "is a submodule; those are not changed")),
            _ => return Err(odd_mode(file.path(), mode)),
        }
    }
    match (&file.old_mode, &file.new_mode) {
        (Some(_), Some(_)) if is_link(&file.old_mode) != is_link(&file.new_mode) => {
            Err(Refusal::of(file.path(), "turns a file into a link or a link into a file in place"))
        }
        _ => Ok(()),
    }
}

fn check_size(file: &FilePatch<'_>, limits: &PatchLimits) -> Result<(), Refusal> {
    if file.added_bytes() > limits.file_bytes { Err(too_much(file.path(), limits)) } else { Ok(()) }
}

/// Refuses a link that leaves the tree (T3).
fn check_link(file: &FilePatch<'_>) -> Result<(), Refusal> {
    if file.new_mode.as_deref() != Some(SYMLINK) {
        return Ok(());
    }
    let Body::Hunks(hunks) = &file.body else {
        return Err(Refusal::of(file.path(), "is a link whose target is no text"));
    };
    let mut added = hunks.iter().flat_map(|hunk| hunk.lines()).filter_map(|line| line.strip_prefix('+'));
    let (Some(target), None) = (added.next(), added.next()) else {
        // A rename, or text that cannot be a target; what git makes of it is checked afterwards.
        return if hunks.is_empty() {
            Ok(())
        } else {
            Err(Refusal::of(file.path(), "is a link with an odd target"))
        };
    };
    path::check_link(file.path(), target).map_err(|reason| Refusal::of(file.path(), reason))
}

/// Refuses two changes of one path, and a path below another that the patch makes a file or a link (T3).
fn check_together(patch: &Patch<'_>) -> Result<(), Refusal> {
    let made = check_once(patch)?;
    for name in made.keys() {
        let above = name.match_indices('/').map(|(at, _)| &name[..at]).find_map(|above| made.get(above));
        if let Some(above) = above {
            let kind = if is_link(&above.new_mode) { "link" } else { "file" };
            let reason = format!("is written through {}, which the patch makes a {kind}", above.path());
            return Err(Refusal::of(name, reason));
        }
    }
    Ok(())
}

/// Refuses two changes of one path; returns the paths that are there afterwards.
fn check_once<'p, 't>(patch: &'p Patch<'t>) -> Result<BTreeMap<&'p str, &'p FilePatch<'t>>, Refusal> {
    let mut made: BTreeMap<&str, &FilePatch<'_>> = BTreeMap::new();
    let mut gone: BTreeMap<&str, &FilePatch<'_>> = BTreeMap::new();
    for file in &patch.files {
        if let Some(old) = file.old.as_deref() {
            let is_second = gone.contains_key(old) || made.contains_key(old);
            if is_second {
                return Err(Refusal::of(old, "is changed twice in one patch"));
            }
            gone.insert(old, file);
        }
        if let Some(new) = file.new.as_deref() {
            // git shows a file that becomes a link as the one deleted and the other created, in this order.
            let before = gone.get(new).filter(|before| !std::ptr::eq(**before, file));
            let turns = before.is_none_or(|before| {
                before.new.is_none()
                    && file.old.is_none()
                    && is_link(&before.old_mode) != is_link(&file.new_mode)
            });
            if !turns || made.insert(new, file).is_some() {
                return Err(Refusal::of(new, "is changed twice in one patch"));
            }
        }
    }
    Ok(made)
}

fn is_link(mode: &Option<String>) -> bool {
    mode.as_deref() == Some(SYMLINK)
}

#[cfg(test)]
mod tests;
