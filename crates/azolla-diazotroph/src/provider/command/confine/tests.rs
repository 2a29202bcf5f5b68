//! What is shown to a program, on real directories.

use std::{
    ffi::OsString,
    os::unix::fs::{PermissionsExt, symlink},
};

use tempfile::TempDir;

use super::*;

struct Disk(TempDir);

impl Disk {
    fn new() -> Self {
        let disk = Self(TempDir::new().unwrap());
        disk.directory("home");
        disk.directory("state");
        disk
    }

    fn at(&self, path: &str) -> PathBuf {
        // Without the links that the system's own place for temporary files may have in it.
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn directory(&self, path: &str) -> PathBuf {
        std::fs::create_dir_all(self.at(path)).unwrap();
        self.at(path)
    }

    fn program(&self, path: &str, text: &str) -> PathBuf {
        let file = self.at(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        file
    }

    /// What is shown of the disk for a program, relative to it.
    fn shown(&self, program: &Path, path: &str) -> Vec<String> {
        let (place, home) = (Place::make(&self.at("state"), "wo-1", None).unwrap(), self.at("home"));
        let directory = self.directory("worktree");
        let path = OsString::from(path);
        let around = Surroundings {
            program,
            directory: &directory,
            place: &place,
            path: &path,
            home: &home,
            writes_git: false,
        };
        let confinement = confinement(&SandboxSettings::default(), &around);
        let root = self.at("");
        let inside = confinement.read.iter().filter_map(|path| path.strip_prefix(&root).ok());
        inside.map(|path| path.to_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn a_package_of_node_is_shown_with_what_it_needs_and_its_interpreter() {
    let disk = Disk::new();
    let prefix = "home/.nvm/versions/node/v20";
    disk.program(&format!("{prefix}/lib/node_modules/@x/agent/cli.js"), "#!/usr/bin/env node\n");
    disk.program(&format!("{prefix}/bin/node"), "\x7fELF");
    let link = disk.at(&format!("{prefix}/bin/agent"));
    symlink("../lib/node_modules/@x/agent/cli.js", &link).unwrap();
    disk.program("home/.ssh/id_ed25519", "a key");
    let bin = disk.at(&format!("{prefix}/bin"));
    let shown = disk.shown(&link, bin.to_str().unwrap());
    let expected = ["bin", "lib", "lib/node_modules", "lib/node_modules/@x/agent"];
    assert_eq!(shown, expected.map(|path| format!("{prefix}/{path}")));
}

#[test]
fn a_virtual_environment_is_shown_with_the_python_that_it_is_made_of() {
    let disk = Disk::new();
    disk.program("home/.pyenv/versions/3.11/bin/python3.11", "\x7fELF");
    disk.directory("home/.pyenv/versions/3.11/lib/python3.11");
    disk.directory("home/venv/bin");
    disk.directory("home/venv/lib");
    std::fs::write(disk.at("home/venv/pyvenv.cfg"), "").unwrap();
    let python = disk.at("home/venv/bin/python");
    symlink(disk.at("home/.pyenv/versions/3.11/bin/python3.11"), &python).unwrap();
    let script = disk.program("home/venv/bin/agent", &format!("#!{}\n", python.display()));
    let shown = disk.shown(&script, "/usr/bin");
    let expected = [
        "home/.pyenv/versions/3.11/bin",
        "home/.pyenv/versions/3.11/lib",
        "home/venv/bin",
        "home/venv/lib",
        "home/venv/pyvenv.cfg",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn a_program_in_the_home_does_not_open_the_home() {
    let disk = Disk::new();
    let program = disk.program("home/agent", "\x7fELF");
    assert_eq!(disk.shown(&program, "/usr/bin"), ["home/agent"]);
    disk.directory("home/lib");
    let program = disk.program("home/bin/agent", "\x7fELF");
    assert_eq!(disk.shown(&program, "/usr/bin"), ["home/bin"], "what is beside it is the operator's");
    disk.directory("home/.pyenv/libexec");
    let program = disk.program("home/.pyenv/shims/agent", "#!/bin/sh\n");
    assert_eq!(disk.shown(&program, "/usr/bin"), ["home/.pyenv", "home/.pyenv/shims"]);
}

#[test]
fn the_worktree_is_written_and_its_git_is_not() {
    let disk = Disk::new();
    let place = Place::make(&disk.at("state"), "wo-1", Some("prompt")).unwrap();
    let (worktree, objects, more) =
        (disk.directory("worktree"), disk.directory("mirror/objects"), disk.directory("more"));
    disk.directory("worktree/.git/objects/info");
    let alternates = format!("{}\nrelative\n", objects.display());
    std::fs::write(worktree.join(".git/objects/info/alternates"), alternates).unwrap();
    let settings = SandboxSettings {
        mode: SandboxMode::Required,
        read: vec![more.clone(), "/no/such/place".into()],
        write: vec![more.clone()],
        network: true,
    };
    let around = Surroundings {
        program: Path::new("/bin/sh"),
        directory: &worktree,
        place: &place,
        path: "/bin".as_ref(),
        home: &disk.at("home"),
        writes_git: false,
    };
    let Sandbox::Required(confinement) = sandbox(&settings, &around) else { panic!("it is required") };
    assert_eq!(confinement.keep, [worktree.join(".git")]);
    let mut write = vec![worktree.clone(), place.home(), place.tmp(), more.clone()];
    write.sort();
    assert_eq!(confinement.write, write);
    for path in [objects, more, place.prompt_file()] {
        assert!(confinement.read.contains(&path), "{path:?} is not in {confinement:?}");
    }
    assert!(confinement.network);
    assert!(!confinement.read.contains(&PathBuf::from("/no/such/place")));
    let writer = Surroundings { writes_git: true, ..around };
    assert!(
        matches!(sandbox(&settings, &writer), Sandbox::Required(Confinement { keep, .. }) if keep.is_empty())
    );
    let off = SandboxSettings { mode: SandboxMode::Off, ..settings };
    assert_eq!(sandbox(&off, &writer), Sandbox::Off);
}
