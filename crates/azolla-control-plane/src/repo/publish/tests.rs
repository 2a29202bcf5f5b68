//! What is synced, and what cannot be.

use std::fs;

use super::sync_names;

/// G-1: a directory that git has removed meanwhile is nothing to sync; one that cannot be opened is told.
#[test]
fn g1_names_that_cannot_be_synced_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let heads = directory.path().join("heads");
    fs::create_dir_all(heads.join("azolla")).unwrap();
    sync_names(&heads.join("azolla/obj-1")).unwrap();
    fs::remove_dir(heads.join("azolla")).unwrap();
    sync_names(&heads.join("azolla/obj-1")).unwrap();
    fs::remove_dir(&heads).unwrap();
    fs::write(&heads, "").unwrap();
    sync_names(&heads.join("azolla/obj-1")).unwrap_err();
}
