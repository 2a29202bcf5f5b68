//! The order of mounts, which is what makes the difference.

use std::{ffi::CString, path::Path};

use super::{super::view::View, words};

fn line(view: &View, network: bool) -> String {
    let words = words(Path::new("/usr/bin/bwrap"), view, network).unwrap();
    let words: Vec<_> = words.into_iter().map(|word: CString| word.into_string().unwrap()).collect();
    words.join(" ")
}

#[test]
fn outer_directories_come_first_and_what_is_kept_comes_last() {
    let view = View {
        system: vec!["/usr".into()],
        read: vec!["/h/u/.cargo".into(), "/w/x/y".into()],
        write: vec!["/w".into(), "/h/u/.cargo/git".into()],
        keep: vec!["/w/.git".into()],
        home: Some("/h/u".into()),
        links: [("/bin".into(), "usr/bin".into())].into(),
    };
    let expected = "--ro-bind /usr /usr --tmpfs /h/u --symlink usr/bin /bin --ro-bind /h/u/.cargo /h/u/.cargo \
        --bind /h/u/.cargo/git /h/u/.cargo/git --bind /w /w --ro-bind /w/x/y /w/x/y --ro-bind /w/.git /w/.git \
        --remount-ro / --";
    assert!(line(&view, false).contains(expected), "{}", line(&view, false));
}

#[test]
fn r11_every_namespace_is_its_own_and_the_network_unless_it_is_shared() {
    let view = View::default();
    for namespace in ["user", "pid", "ipc", "uts"] {
        assert!(line(&view, true).contains(&format!("--unshare-{namespace} ")), "{namespace}");
    }
    assert!(line(&view, false).contains("--unshare-net "));
    assert!(!line(&view, true).contains("--unshare-net"));
    assert!(line(&view, true).contains("--die-with-parent --cap-drop ALL"));
}
