//! T29: a key is sent to its server, and is found nowhere else: no file, no screen, no child process.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
};

use crate::{
    model_server::{KINDS, Kind, Reply, Server},
    models::EDIT,
    world::{Answer, World, git_bytes},
};

const CANARY: &str = "sk-canary-7f3a9c51e2d84b06";

/// Where the key is for the program to find.
#[derive(Clone, Copy, Debug)]
enum Source {
    Variable,
    File,
}

#[test]
fn t29_a_key_is_found_nowhere_but_at_its_server() {
    std::thread::scope(|scope| {
        for kind in KINDS {
            for source in [Source::Variable, Source::File] {
                scope.spawn(move || one_key(kind, source));
            }
        }
    });
}

fn one_key(kind: Kind, source: Source) {
    let server = Server::start(vec![kind.says(EDIT)]);
    let desk = Desk::new(&server, kind, source);
    let world = &desk.world;

    // A run that goes well.
    let first = world.approved("First");
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    desk.is_clean(&ran);
    assert!(server.asked()[0].contains(CANARY), "the server gets it");
    let seen = fs::read_to_string(world.path("seen")).unwrap();
    assert!(seen.contains("for-each-ref") || seen.contains("rev-parse") || seen.contains("fetch"), "{seen}");
    assert!(seen.contains("PATH=") && seen.contains("check-was-here"), "children were looked at:\n{seen}");

    // What was there to be found is found in the store, in the repository and in the mirror.
    let places = desk.places_of("one\ntwo\n");
    assert!(places.ends_with(&["app".to_owned(), "home/mirrors/az-app.git".to_owned()]), "{places:?}");
    let places = desk.places_of(&first);
    assert!(places.iter().any(|place| place.contains("az-app.sqlite")), "{places:?}");

    // A key that is refused, by a server that repeats it.
    let body = format!(r#"{{"error":{{"type":"authentication_error","message":"no such key: {CANARY}"}}}}"#);
    server.reply(vec![Reply::status(401, &format!("x-echo: {CANARY}\r\n"), &body)]);
    let second = world.approved("Second");
    let refused = desk.run();
    assert_eq!(refused.code, 5, "{}{}", refused.stdout, refused.stderr);
    desk.is_clean(&refused);

    // An answer that repeats it.
    server.reply(vec![kind.says(&EDIT.replace("two", CANARY))]);
    let third = world.approved("Third");
    let repeated = desk.run();
    assert_eq!(repeated.code, 5, "{}{}", repeated.stdout, repeated.stderr);
    desk.is_clean(&repeated);

    // A crash in the middle of a request.
    server.reply(vec![Reply::Silence]);
    world.approved("Fourth");
    let asked = server.asked().len();
    let mut command = desk.command(&["run", "--until-idle"]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    server.until_asked(asked + 1);
    let line = fs::read_to_string(format!("/proc/{}/cmdline", child.id())).unwrap();
    assert!(line.contains("run") && !line.contains(CANARY));
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    desk.is_clean(&Answer { code: 0, stdout: text(output.stdout), stderr: text(output.stderr) });

    for id in [&first, &second, &third] {
        desk.is_clean(&desk.ok(&["explain", id, "--json"]));
        desk.is_clean(&desk.ok(&["objective", "show", id]));
        desk.is_clean(&desk.ok(&["review", id]));
    }
    for arguments in [&["export", "--azolla", "az-app"][..], &["log"], &["limits"], &[]] {
        desk.is_clean(&desk.ok(arguments));
    }
    desk.is_clean(&desk.program(&["doctor", "--json"]));
}

/// A home with a key, where every git and every check writes down what it was given.
struct Desk {
    world: World,
    source: Source,
}

impl Desk {
    fn new(server: &Server, kind: Kind, source: Source) -> Self {
        let world = World::with_provider("models", "");
        let key = match source {
            Source::Variable => "key_env = \"MODEL_KEY\"".to_owned(),
            Source::File => {
                fs::write(world.path("key"), format!("{CANARY}\n")).unwrap();
                fs::set_permissions(world.path("key"), fs::Permissions::from_mode(0o600)).unwrap();
                format!("key_file = {:?}", world.path("key"))
            }
        };
        world.configure(&server.section("models", kind, &key));
        // Results may wait here while the next run begins.
        world.configure("[attention]\nreview_limit = 0");
        let look = format!(
            "for file in /proc/self/environ /proc/self/cmdline /proc/$$/cmdline /proc/$PPID/cmdline; do tr '\\0' '\\n' \
             < $file; done >> {} 2>/dev/null",
            world.path("seen").display()
        );
        let check = world.script(
            "check.sh",
            &format!("{look}\necho check-was-here >> {}\n", world.path("seen").display()),
        );
        world.set_for_app(&format!("checks = [{{ name = \"look\", command = [\"sh\", {check:?}] }}]"));
        // The check writes down what it sees beside its files; the key's file is no part of what it is given.
        world.configure(&format!("[sandbox]\nread = [{check:?}]\nwrite = [{:?}]", world.script("seen", "")));
        let bin = world.path("bin");
        fs::create_dir(&bin).unwrap();
        let real = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|directory| directory.join("git"))
            .find(|git| git.is_file())
            .unwrap();
        fs::write(bin.join("git"), format!("#!/bin/sh\n{look}\nexec {} \"$@\"\n", real.display())).unwrap();
        fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
        Self { world, source }
    }

    fn command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = self.world.command(&self.world.path(""), arguments);
        let path = format!("{}:{}", self.world.path("bin").display(), std::env::var("PATH").unwrap());
        command.env("AZOLLA_HOME", self.world.home()).env("PATH", path);
        if let Source::Variable = self.source {
            command.env("MODEL_KEY", CANARY);
        }
        command
    }

    fn program(&self, arguments: &[&str]) -> Answer {
        let output = self.command(arguments).stdin(Stdio::null()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Answer {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    fn ok(&self, arguments: &[&str]) -> Answer {
        let answer = self.program(arguments);
        assert_eq!(answer.code, 0, "{arguments:?}: {}{}", answer.stdout, answer.stderr);
        answer
    }

    fn run(&self) -> Answer {
        self.program(&["run", "--until-idle"])
    }

    /// Looks for the key on the screen and in every file of the world, git's packed ones included.
    #[track_caller]
    fn is_clean(&self, answer: &Answer) {
        let case = self.source;
        assert!(!answer.stdout.contains(CANARY), "{case:?}, stdout: {}", answer.stdout);
        assert!(!answer.stderr.contains(CANARY), "{case:?}, stderr: {}", answer.stderr);
        assert_eq!(self.places_of(CANARY), Vec::<String>::new(), "{case:?}");
    }

    /// Returns the files and repositories that a text is in.
    fn places_of(&self, text: &str) -> Vec<String> {
        let has = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        let key = self.world.path("key");
        let mut files = Vec::new();
        collect(&self.world.path(""), &mut files);
        // A file that is gone again holds nothing.
        files.retain(|file| *file != key && has(&fs::read(file).unwrap_or_default()));
        let mut places: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
        for repository in ["app", "home/mirrors/az-app.git"] {
            let all = ["cat-file", "--batch-all-objects", "--batch", "--buffer"];
            if has(&git_bytes(&self.world.path(repository), &all)) {
                places.push(repository.to_owned());
            }
        }
        places
    }
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&entry.path(), files),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
}
