//! Settings as they become a sandbox, and toolchains in a home.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs,
    path::Path,
};

use azolla_process::{Confinement, Sandbox};
use tempfile::TempDir;

use super::{PrivateHome, SandboxMode, SandboxSettings, with_toolchains};

fn settings(mode: SandboxMode) -> SandboxSettings {
    SandboxSettings { mode, read: vec!["/r".into()], write: vec!["/cache".into()], network: true }
}

#[test]
fn settings_and_what_a_program_is_given_become_one_sandbox() {
    let confine = |mode| settings(mode).confine(&[Path::new("/w")], &[Path::new("/w/.git")]);
    let confinement = Confinement {
        read: vec!["/r".into()],
        write: vec!["/cache".into(), "/w".into()],
        keep: vec!["/w/.git".into()],
        network: true,
    };
    assert_eq!(confine(SandboxMode::Off), Sandbox::Off);
    assert_eq!(confine(SandboxMode::BestEffort), Sandbox::BestEffort(confinement.clone()));
    assert_eq!(confine(SandboxMode::Required), Sandbox::Required(confinement));
}

#[test]
fn nothing_is_open_by_default_but_what_the_system_cannot_close() {
    let none = SandboxSettings { mode: SandboxMode::BestEffort, read: vec![], write: vec![], network: false };
    assert_eq!(SandboxSettings::default(), none);
}

/// A home with files, and an environment with it as `HOME`, and a `PATH` with everything that one should not list.
fn home(files: &[&str]) -> (TempDir, BTreeMap<OsString, OsString>) {
    let home = TempDir::new().unwrap();
    for file in files {
        let file = home.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
    }
    let path =
        [home.path().join("bin"), home.path().to_owned(), "/".into(), "relative".into(), "/bin".into()];
    let path = std::env::join_paths(path).unwrap();
    let environment = [("HOME".into(), home.path().into()), ("PATH".into(), path)].into();
    (home, environment)
}

#[test]
fn t30_toolchains_are_read_and_logins_are_not() {
    let files = [
        ".cargo/bin/cargo",
        ".cargo/credentials.toml",
        ".cargo/registry/x",
        ".rustup/settings.toml",
        ".ssh/id_ed25519",
        ".npmrc",
        ".local/bin/tool",
        ".local/share/keyrings/x",
        "bin/mine",
    ];
    let (home, environment) = home(&files);
    let settings = with_toolchains(&SandboxSettings::default(), &environment);
    let mut below: Vec<_> =
        settings.read.iter().map(|path| path.strip_prefix(home.path()).unwrap_or(path)).collect();
    below.sort();
    let expected = ["/bin", ".cargo/bin", ".cargo/registry", ".local/bin", ".rustup", "bin"].map(Path::new);
    assert_eq!(below, expected);
}

#[test]
fn a_toolchain_is_where_its_variable_says() {
    let (home, mut environment) = home(&["elsewhere/registry/x", "venv/bin/python", ".cargo/registry/x"]);
    environment.insert("CARGO_HOME".into(), home.path().join("elsewhere").into());
    environment.insert("VIRTUAL_ENV".into(), home.path().join("venv").into());
    environment.insert("RUSTUP_HOME".into(), "relative".into());
    let settings = with_toolchains(&SandboxSettings::default(), &environment);
    let expected = ["elsewhere/registry", "venv"].map(|below| home.path().join(below));
    assert_eq!(settings.read[..2], expected);
}

#[test]
fn a_private_home_leaves_toolchains_where_they_are() {
    let (home, environment) = home(&[".cargo/bin/cargo"]);
    let place = TempDir::new().unwrap();
    let private = PrivateHome::new_in(place.path()).unwrap();
    let changed = private.environment(&environment);
    let value = |name: &str| changed.get(OsStr::new(name)).map(Path::new);
    assert_eq!(value("HOME"), Some(private.path()));
    assert_eq!(value("TMPDIR"), Some(private.path().join("tmp").as_path()));
    assert!(private.path().join("tmp").is_dir());
    assert_eq!(value("CARGO_HOME"), Some(home.path().join(".cargo").as_path()));
    assert_eq!(value("RUSTUP_HOME"), None, "what is not there is not named");
    assert_eq!(changed.get(OsStr::new("PATH")), environment.get(OsStr::new("PATH")));
    drop(private);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn the_objects_that_a_checkout_borrows_can_be_read() {
    let checkout = TempDir::new().unwrap();
    let of = || SandboxSettings::default().with_objects_of(checkout.path()).read;
    assert!(of().is_empty());
    let info = checkout.path().join(".git/objects/info");
    fs::create_dir_all(&info).unwrap();
    fs::write(info.join("alternates"), "/mirror.git/objects\n../relative\n").unwrap();
    assert_eq!(of(), [Path::new("/mirror.git/objects")]);
}

#[test]
fn what_a_shim_starts_can_be_read_wherever_it_is() {
    let elsewhere = tempfile::tempdir().expect("a directory");
    let shims = elsewhere.path().join("shims");
    std::fs::create_dir(&shims).expect("a directory");
    let environment =
        BTreeMap::from([("HOME".into(), "/nowhere".into()), ("PATH".into(), shims.clone().into_os_string())]);
    let read = with_toolchains(&SandboxSettings::default(), &environment).read;
    assert_eq!(read, [elsewhere.path().to_owned(), shims]);
}
