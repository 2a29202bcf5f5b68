//! Trees as a program leaves them that means harm, or that still runs.

use std::{
    fs, io,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

use super::{remove_tree, remove_within};

/// Nests directories, each made from inside the one before: the path of the last is longer than any that can be said.
fn nest(path: &Path, depth: usize) {
    fs::create_dir(path).unwrap();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut directory = openat(CWD, path, flags, Mode::empty()).unwrap();
    for _ in 0..depth {
        mkdirat(&directory, "d", Mode::RWXU).unwrap();
        directory = openat(&directory, "d", flags, Mode::empty()).unwrap();
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn t30_forty_thousand_nested_directories_are_removed_on_a_small_stack() {
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().join("tree");
    nest(&tree, 40_000);
    let small = std::thread::Builder::new().stack_size(128 << 10);
    small
        .spawn({
            let tree = tree.clone();
            move || remove_tree(&tree)
        })
        .unwrap()
        .join()
        .unwrap()
        .unwrap();
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn wide_and_deep_trees_are_removed_with_names_that_are_taken_already() {
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().join("tree");
    for n in 0..40 {
        fs::create_dir_all(tree.join(format!("a{n}/b/c/d/e"))).unwrap();
        fs::write(tree.join(format!("a{n}/b/c/d/file")), "x").unwrap();
    }
    fs::create_dir_all(tree.join(".removed-0/.removed-0/.removed-1/x")).unwrap();
    fs::write(tree.join(".removed-1"), "x").unwrap();
    fs::create_dir_all(tree.join(".removed-2/full")).unwrap();
    for n in 0..3_000 {
        fs::write(tree.join(format!("a1/{n}")), "").unwrap();
    }
    remove_tree(&tree).unwrap();
    assert!(!tree.exists());
}

#[test]
fn directories_without_rights_are_opened_and_removed() {
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().join("tree");
    for rights in [0o000, 0o100, 0o200, 0o400, 0o500] {
        fs::create_dir_all(tree.join("a/b/c")).unwrap();
        fs::write(tree.join("a/b/c/file"), "x").unwrap();
        mode(&tree.join("a/b/c/file"), 0);
        for path in ["a/b/c", "a/b", "a", ""] {
            mode(&tree.join(path), rights);
        }
        remove_tree(&tree).unwrap();
        assert!(fs::symlink_metadata(&tree).is_err(), "{rights:o}");
    }
}

#[test]
fn t8_links_are_removed_and_what_they_name_stays_as_it_is() {
    let place = tempfile::tempdir().unwrap();
    let (tree, outside) = (place.path().join("tree"), place.path().join("outside"));
    fs::create_dir_all(outside.join("directory")).unwrap();
    fs::write(outside.join("directory/file"), "kept").unwrap();
    mode(&outside.join("directory"), 0o755);
    fs::create_dir_all(tree.join("a/b")).unwrap();
    for link in ["link", "a/link", "a/b/link"] {
        symlink(outside.join("directory"), tree.join(link)).unwrap();
    }
    symlink("nowhere", tree.join("dangling")).unwrap();
    symlink("..", tree.join("a/up")).unwrap();
    mode(&tree.join("a"), 0o500);
    remove_tree(&tree).unwrap();
    assert!(!tree.exists());
    // A link itself, also where a slash asks to go through it.
    symlink(&outside, &tree).unwrap();
    remove_tree(&place.path().join("tree/")).unwrap();
    assert!(fs::symlink_metadata(&tree).is_err());
    assert_eq!(fs::read_to_string(outside.join("directory/file")).unwrap(), "kept");
    let rights = fs::metadata(outside.join("directory")).unwrap().permissions().mode();
    assert_eq!(rights & 0o777, 0o755);
}

#[test]
fn a_file_is_removed_and_what_is_not_there_is_no_error() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    remove_tree(&file).unwrap();
    remove_tree(&file).unwrap();
    assert!(!file.exists());
    for path in ["/", "..", ""] {
        assert_eq!(remove_tree(Path::new(path)).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{path:?}");
    }
}

/// Removes a tree while `write` goes on writing into it; returns once both have ended.
fn remove_while(write: impl Fn(&Path, u64) + Sync) {
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().join("tree");
    fs::create_dir_all(&tree).unwrap();
    let (is_over, written) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                write(&tree, written.fetch_add(1, Ordering::Relaxed));
            }
        });
        while written.load(Ordering::Relaxed) < 100 {
            std::thread::yield_now();
        }
        let begin = Instant::now();
        let removed = remove_within(&tree, Duration::from_secs(2));
        is_over.store(true, Ordering::Relaxed);
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}: {removed:?}", begin.elapsed());
    });
    remove_tree(&tree).unwrap();
    assert!(!tree.exists());
}

#[test]
fn t30_what_is_still_written_into_never_holds_a_removal_up_for_ever() {
    // What fails is the writer, whose directory went.
    remove_while(|tree, n| drop(fs::write(tree.join(format!("{n}")), "")));
    remove_while(|tree, n| {
        let _ = fs::create_dir_all(tree.join(format!("{}/{n}/a/b/c", n % 7)));
        let _ = fs::write(tree.join(format!("{}/{n}/a/file", n % 7)), "");
    });
}
