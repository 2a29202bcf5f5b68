//! The operator's repository on a mount that dies: nothing that looks at it comes back, and the run still ends when it is asked to.

use std::{
    fs::{self, File},
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use rustix::{
    fs::{CWD, FileType, Mode, mknodat},
    process::{Pid, Signal, kill_process},
};

use crate::world::{World, git};

/// Loaded into the program: one of its calls never comes back below DEAD_UNDER from when the file DEAD_FROM is there, and says so
/// in the pipe DEAD_PIPE.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
static void look(const char *call, const char *path) {
    const char *under = getenv("DEAD_UNDER"), *name = getenv("DEAD_CALL");
    if (!under || !path || strcmp(name, call) || strncmp(path, under, strlen(under))) return;
    if (syscall(SYS_faccessat, AT_FDCWD, getenv("DEAD_FROM"), F_OK)) return;
    long pipe = syscall(SYS_openat, AT_FDCWD, getenv("DEAD_PIPE"), O_WRONLY | O_CLOEXEC);
    if (syscall(SYS_write, pipe, "x", 1) != 1) abort();
    for (;;) pause();
}
int statx(int at, const char *restrict path, int flags, unsigned mask, struct statx *restrict found) {
    look("statx", path);
    return (int)syscall(SYS_statx, at, path, flags, mask, found);
}
int fsync(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    look("fsync", path);
    return (int)syscall(SYS_fsync, fd);
}
"#;

#[expect(clippy::disallowed_methods, reason = "the compiler of the shim is started here")]
fn compile(directory: &Path) -> PathBuf {
    let (source, library) = (directory.join("dead.c"), directory.join("dead.so"));
    fs::write(&source, SHIM).unwrap();
    let flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"];
    assert!(Command::new("cc").args(flags).args([&library, &source]).status().unwrap().success());
    library
}

/// G-1, C-6: a look that never comes back holds up neither the end of a run nor the run after it, nor does a sync.
#[test]
fn g1_a_run_ends_when_it_is_asked_to_though_the_repository_does_not_answer() {
    for call in ["statx", "fsync"] {
        let world = World::new();
        let (from, pipe) = (world.path("dead"), world.path("pipe"));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let app = world.repository("app");
        let script = format!("cat > /dev/null; echo two >> a.txt; touch '{}'\n", from.display());
        let worker = format!("sh {}", world.script("worker.sh", &script).display());
        world.azolla_in(&app, &["init", "--provider-command", &worker]).ok();
        world.open_to_workers();
        let id = world.approved("Add a line");
        let mut command = world.command(&world.path(""), &["run", "--until-idle"]);
        command.env("AZOLLA_HOME", world.home()).env("LD_PRELOAD", compile(&world.path("")));
        command
            .env("DEAD_UNDER", &app)
            .env("DEAD_FROM", &from)
            .env("DEAD_PIPE", &pipe)
            .env("DEAD_CALL", call);
        let mut run =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let pid = Pid::from_child(&run);
        // Open for both, so that neither end waits for the other. Whichever comes first is read: a look that does not come back, or
        // the end of a run that never looked.
        let mut said = File::options().read(true).write(true).open(&pipe).unwrap();
        let mut ends = said.try_clone().unwrap();
        let ended = thread::spawn(move || {
            let status = run.wait().unwrap();
            ends.write_all(b"e").unwrap();
            status
        });
        let mut first = [0];
        said.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"x", "{call}: it ended, and nobody looked");
        kill_process(pid, Signal::INT).unwrap();
        assert_eq!(ended.join().unwrap().code(), Some(130), "{call}");
        // The mount is back.
        assert!(world.azolla(&["run", "--until-idle"]).ok().starts_with("passed: Add a line\n"), "{call}");
        git(&app, &["rev-parse", "--verify", &format!("azolla/{id}")]);
    }
}
