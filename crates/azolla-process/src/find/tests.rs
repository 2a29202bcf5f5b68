//! Names as an operator types them, lists as `PATH` has them.

use std::{ffi::OsStr, fs, os::unix::fs::PermissionsExt, path::Path};

use super::find;

fn file(path: &Path, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn the_first_executable_of_the_list_is_found() {
    let home = tempfile::tempdir().unwrap();
    file(&home.path().join("a/tool"), 0o644);
    file(&home.path().join("b/tool"), 0o755);
    file(&home.path().join("c/tool"), 0o755);
    fs::create_dir_all(home.path().join("d/tool")).unwrap();
    let list = std::env::join_paths(["d", "a", "b", "c"].map(|name| home.path().join(name))).unwrap();
    assert_eq!(find(OsStr::new("tool"), &list), Some(home.path().join("b/tool")));
    assert_eq!(find(OsStr::new("other"), &list), None);
    assert_eq!(find(OsStr::new(""), &list), None);
}

#[test]
fn t11_nothing_is_found_relative_to_the_directory_one_is_in() {
    assert!(Path::new("src/lib.rs").is_file());
    assert_eq!(find(OsStr::new("sh"), OsStr::new("../../../../../../bin:bin::.")), None);
    assert_eq!(find(OsStr::new("../bin/sh"), OsStr::new("/bin")), None);
}

#[test]
fn an_absolute_name_is_itself_if_it_can_be_run() {
    assert_eq!(find(OsStr::new("/bin/sh"), OsStr::new("")), Some("/bin/sh".into()));
    assert_eq!(find(OsStr::new("/etc/passwd"), OsStr::new("/bin")), None);
    assert_eq!(find(OsStr::new("/bin"), OsStr::new("/bin")), None);
}
