//! What a check can do in the sandbox that it has by default: everything that tests of a repository need, and no more.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
};

use azolla_control_plane::{
    checks::{self, Check, NotStarted},
    sandbox::{SandboxMode, SandboxSettings},
};
use azolla_protocol::{CheckEvidence, CheckSubject};
use tempfile::TempDir;

/// A checkout beside nothing else, as the gate makes one.
struct Checkout {
    place: TempDir,
    environment: BTreeMap<OsString, OsString>,
    sandbox: SandboxSettings,
}

impl Checkout {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = TempDir::new().expect("a directory");
        for (name, text) in [(".git/HEAD", "ref: refs/heads/x\n")].iter().chain(files) {
            let file = place.path().join("files").join(name);
            fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
            fs::write(file, text).expect("a file");
        }
        // What the program passes on of the operator's environment, as far as it matters here.
        let names =
            ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "PYENV_ROOT", "VIRTUAL_ENV"];
        let environment =
            names.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect();
        Self { place, environment, sandbox: SandboxSettings::default() }
    }

    fn files(&self) -> PathBuf {
        self.place.path().join("files")
    }

    async fn run(&self, command: &[&str]) -> CheckEvidence {
        self.try_run(command).await.expect("it starts")
    }

    async fn try_run(&self, command: &[&str]) -> Result<CheckEvidence, NotStarted> {
        let check = Check {
            name: "check".into(),
            command: command.iter().map(|&word| word.to_owned()).collect(),
            time_ms: 300_000,
        };
        let (environment, sandbox) = (&self.environment, &self.sandbox);
        checks::run(&check, CheckSubject::Patched, &self.files(), "tree", environment, sandbox).await
    }

    async fn sh(&self, text: &str) -> CheckEvidence {
        self.run(&["sh", "-c", text]).await
    }
}

fn passed(evidence: &CheckEvidence) {
    assert_eq!(evidence.exit_code, Some(0), "{evidence:#?}");
    assert_eq!(evidence.sandbox_mode, "bubblewrap+landlock");
}

#[tokio::test]
async fn t30_a_check_sees_its_files_and_nothing_of_the_operators() {
    let real_home = std::env::home_dir().expect("a home");
    let in_home = tempfile::tempdir_in(&real_home).expect("a directory");
    fs::write(in_home.path().join("id_ed25519"), "CANARY").expect("a file");
    let checkout = Checkout::new(&[("a.txt", "one")]);
    let secret = checkout.place.path().join("index");
    fs::write(&secret, "CANARY").expect("a file");
    let text = format!(
        "cat a.txt; cat {home}/id_ed25519 {secret} 2>/dev/null; {{ echo x > {secret}; }} 2>/dev/null
        {{ echo x > .git/HEAD; }} 2>/dev/null; echo x > b.txt && echo x > $HOME/.cache && echo x > $TMPDIR/x && echo written",
        home = in_home.path().display(),
        secret = secret.display(),
    );
    let evidence = checkout.sh(&text).await;
    passed(&evidence);
    assert_eq!(evidence.output_tail, "onewritten\n");
    assert_eq!(fs::read_to_string(&secret).expect("a file"), "CANARY");
    assert_eq!(
        fs::read_to_string(checkout.files().join(".git/HEAD")).expect("a file"),
        "ref: refs/heads/x\n"
    );
    assert!(checkout.files().join("b.txt").is_file());
    let mut left: Vec<_> = fs::read_dir(checkout.place.path())
        .expect("a directory")
        .map(|entry| entry.expect("it").file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["files", "index"], "the home of a check goes with it");
}

#[tokio::test]
async fn t30_a_check_has_no_network_unless_the_operator_says_so() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let text =
        format!("perl -MIO::Socket::INET -e 'exit(IO::Socket::INET->new(\"127.0.0.1:{port}\") ? 0 : 3)'");
    let mut checkout = Checkout::new(&[]);
    assert_eq!(checkout.sh(&text).await.exit_code, Some(3));
    checkout.sandbox.network = true;
    let open = checkout.sh(&text).await;
    assert_eq!(
        (open.exit_code, open.sandbox_mode.as_str()),
        (Some(0), "bubblewrap+landlock, network"),
        "{open:#?}"
    );
}

#[tokio::test]
async fn what_the_operator_adds_can_be_read_and_written() {
    let shared = TempDir::new().expect("a directory");
    let (read, write) = (shared.path().join("read"), shared.path().join("write"));
    fs::create_dir(&read).expect("a directory");
    fs::create_dir(&write).expect("a directory");
    let mut checkout = Checkout::new(&[]);
    checkout.sandbox.read.push(read.clone());
    checkout.sandbox.write.push(write.clone());
    let text = format!(
        "ls {read} && echo x > {write}/x && ! echo x > {read}/x",
        read = read.display(),
        write = write.display()
    );
    passed(&checkout.sh(&text).await);
    assert!(write.join("x").is_file() && !read.join("x").exists());
}

#[tokio::test]
async fn without_a_sandbox_a_check_runs_as_the_operator_and_that_is_recorded() {
    let mut checkout = Checkout::new(&[]);
    checkout.sandbox.mode = SandboxMode::Off;
    let evidence = checkout.sh("echo $HOME").await;
    let home = checkout.environment.get(OsStr::new("HOME")).expect("a home").to_string_lossy();
    assert_eq!((evidence.sandbox_mode.as_str(), evidence.output_tail.trim_end()), ("off", &*home));
}

#[tokio::test]
async fn a_script_of_the_repository_runs() {
    let checkout =
        Checkout::new(&[("scripts/check", "#!/bin/sh\nset -e\ngrep -q one a.txt\n"), ("a.txt", "one\n")]);
    let script = checkout.files().join("scripts/check");
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("its mode");
    passed(&checkout.run(&["./scripts/check"]).await);
}

/// T30, T7: a link in the repository is no way to a file outside.
#[tokio::test]
async fn t30_a_check_that_is_a_link_out_of_the_repository_does_not_start() {
    let checkout = Checkout::new(&[]);
    let secret = checkout.place.path().join("index");
    fs::write(&secret, "#!/bin/sh\necho CANARY\n").expect("a file");
    fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("its mode");
    std::os::unix::fs::symlink("../index", checkout.files().join("check")).expect("a link");
    let not = checkout.try_run(&["./check"]).await.expect_err("it does not start");
    assert!(not.is_of_tree && not.action.contains("[sandbox] read"), "{not:?}");
    // O-1: the files are elsewhere in every attempt, and the same failure reads the same.
    assert!(!not.reason.contains(&checkout.files().display().to_string()), "{}", not.reason);
}

/// With a dependency that is in the operator's cache, as the dependencies of a repository are that was built before.
#[tokio::test]
async fn cargo_test_works_offline() {
    let manifest =
        "[package]\nname = \"it\"\nedition = \"2024\"\n[dependencies]\ncfg-if = \"1\"\n[workspace]\n";
    let test = "#[test]\nfn holds() { cfg_if::cfg_if! { if #[cfg(unix)] { assert!(true) } } }\n";
    let checkout = Checkout::new(&[("Cargo.toml", manifest), ("src/lib.rs", test)]);
    let evidence = checkout.run(&["cargo", "test", "--offline"]).await;
    passed(&evidence);
    assert!(evidence.output_tail.contains("test holds ... ok"), "{}", evidence.output_tail);
}

#[tokio::test]
async fn python_unittest_works() {
    assert!(is_installed("python3"), "this needs python3: apt-get install -y python3");
    let test = "import multiprocessing, socket, tempfile, unittest\n\
        class T(unittest.TestCase):\n\
        \x20   def test_it(self):\n\
        \x20       with tempfile.NamedTemporaryFile() as f: f.write(b'x')\n\
        \x20       multiprocessing.Lock()\n\
        \x20       with socket.create_server(('127.0.0.1', 0)) as s: socket.create_connection(s.getsockname()).close()\n";
    let checkout = Checkout::new(&[("test_it.py", test)]);
    passed(&checkout.run(&["python3", "-m", "unittest"]).await);
}

#[tokio::test]
async fn node_test_works() {
    assert!(is_installed("node"), "this needs node: apt-get install -y nodejs");
    let test =
        "require('node:test')('it', () => require('fs').writeFileSync(require('os').tmpdir() + '/x', 'x'))\n";
    let checkout = Checkout::new(&[("it.test.js", test)]);
    passed(&checkout.run(&["node", "--test"]).await);
}

fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").expect("a PATH");
    azolla_process::find(name.as_ref(), &path).is_some_and(|path| path.starts_with(Path::new("/")))
}
