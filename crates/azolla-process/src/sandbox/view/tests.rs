//! Paths as they are asked for, and what becomes of them.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use super::View;
use crate::Confinement;

/// A tree with real directories `a/b`, `c` and links `l -> a`, `m -> DIR/l/b`.
fn tree() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::create_dir(root.join("c")).unwrap();
    symlink("a", root.join("l")).unwrap();
    symlink(root.join("l/b"), root.join("m")).unwrap();
    (directory, root)
}

fn view(root: &Path, read: &[&str], write: &[&str], keep: &[&str]) -> io::Result<View> {
    let below = |paths: &[&str]| paths.iter().map(|path| root.join(path)).collect();
    let (read, write, keep) = (below(read), below(write), below(keep));
    View::of(&Confinement { read, write, keep, network: false }, None)
}

#[test]
fn links_are_resolved_and_remembered() {
    let (_directory, root) = tree();
    let view = view(&root, &["m"], &["c"], &[]).unwrap();
    assert_eq!((view.read, view.write), (vec![root.join("a/b")], vec![root.join("c")]));
    assert_eq!(view.links.get(&root.join("l")), Some(&PathBuf::from("a")));
    assert_eq!(view.links.get(&root.join("m")), Some(&root.join("l/b")));
}

#[test]
fn what_another_path_allows_already_is_left_out() {
    let (_directory, root) = tree();
    let read_in_write = view(&root, &["a/b", "c"], &["a"], &[]).unwrap();
    assert_eq!((read_in_write.read, read_in_write.write), (vec![root.join("c")], vec![root.join("a")]));
    let write_in_read = view(&root, &["a", "a/b"], &["a/b"], &[]).unwrap();
    assert_eq!((write_in_read.read, write_in_read.write), (vec![root.join("a")], vec![root.join("a/b")]));
}

#[test]
fn a_link_that_a_directory_shows_is_not_made_again() {
    let (_directory, root) = tree();
    let view =
        View::of(&Confinement { read: vec![root.join("l"), root.clone()], ..Confinement::default() }, None);
    assert!(!view.unwrap().links.keys().any(|link| link.starts_with(&root)));
}

#[test]
fn what_is_not_there_cannot_be_read_but_has_to_be_there_to_be_written() {
    let (_directory, root) = tree();
    assert_eq!(view(&root, &["gone", "c/gone"], &[], &[]).unwrap().read, <[PathBuf; 0]>::default());
    assert_eq!(view(&root, &[], &["gone"], &[]).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(view(&root, &[], &["a"], &["a/gone"]).unwrap().keep, <[PathBuf; 0]>::default());
}

#[test]
fn t30_what_is_kept_has_to_be_below_what_is_written() {
    let (_directory, root) = tree();
    assert_eq!(view(&root, &[], &["a"], &["a/b"]).unwrap().keep, [root.join("a/b")]);
    assert_eq!(view(&root, &[], &["a"], &["l/b"]).unwrap().keep, [root.join("a/b")]);
    assert_eq!(view(&root, &[], &["a"], &["c"]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    symlink("../c", root.join("a/out")).unwrap();
    assert_eq!(view(&root, &[], &["a"], &["a/out"]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn a_circle_of_links_ends() {
    let (_directory, root) = tree();
    symlink("round", root.join("round")).unwrap();
    assert_eq!(view(&root, &["round"], &[], &[]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn the_root_as_a_home_covers_nothing() {
    let home = |home: &str| View::of(&Confinement::default(), Some(Path::new(home))).unwrap().home;
    assert_eq!(home("/"), None);
    assert_eq!(home("/nowhere"), None);
    assert_eq!(home("/usr"), Some("/usr".into()));
}

#[test]
fn names_of_the_network_are_shown_with_the_network_only() {
    let system = |network| View::of(&Confinement { network, ..Confinement::default() }, None).unwrap().system;
    let real = Path::new("/etc/resolv.conf").canonicalize().expect("this machine has resolv.conf");
    assert!(system(true).contains(&real));
    assert!(!system(false).contains(&real));
    assert!(!system(true).contains(&"/etc".into()));
}
