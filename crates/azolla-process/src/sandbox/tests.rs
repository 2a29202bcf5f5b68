//! What a confined program can reach, with every combination of layers.

use std::{
    fs,
    io::ErrorKind,
    net::{TcpListener, UdpSocket},
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::*;
use crate::{Finished, SpawnError};

/// What is recorded beside the layers where there is only Landlock.
const OPEN: &str = ", modes and times not protected";

/// What of the layers there can be, under the name that is recorded first.
async fn combinations() -> Vec<(&'static str, Layers)> {
    let here = Layers::here().await;
    here.bubblewrap.as_ref().expect("bubblewrap works where this is tested");
    assert!(here.landlock >= 6, "the kernel's Landlock has scopes where this is tested");
    let no_room = Layers { bubblewrap: Err("it is left out".to_owned()), ..here.clone() };
    vec![
        ("bubblewrap+landlock", here.clone()),
        ("bubblewrap", Layers { landlock: 0, ..here }),
        ("landlock+seccomp", no_room.clone()),
        ("landlock without network isolation", Layers { no_sockets: false, ..no_room }),
    ]
}

fn has_room(mode: &str) -> bool {
    mode.starts_with("bubblewrap")
}

/// A place with a directory to write, with something to keep in it, one to read, and secrets beside them.
struct Place {
    directory: TempDir,
    in_home: TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        for (file, text) in [
            ("work/file", "mine"),
            ("work/.git/HEAD", "base"),
            ("read/file", "shown"),
            ("secret/id_ed25519", "CANARY"),
        ] {
            let file = directory.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let in_home = tempfile::tempdir_in(home().unwrap()).unwrap();
        fs::write(in_home.path().join("id_ed25519"), "CANARY").unwrap();
        Self { directory, in_home }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.directory.path().join(below)
    }

    fn confinement(&self) -> Confinement {
        Confinement {
            read: vec![self.path("read")],
            write: vec![self.path("work")],
            keep: vec![self.path("work/.git")],
            network: false,
        }
    }

    /// Runs a script in the directory to write, with the place as `$D`, a directory in the operator's home as `$H`.
    async fn run(&self, text: &str, layers: &Layers, confinement: Confinement) -> Finished {
        self.try_run(text, layers, Sandbox::BestEffort(confinement)).await.unwrap()
    }

    async fn try_run(&self, text: &str, layers: &Layers, sandbox: Sandbox) -> Result<Finished, SpawnError> {
        run::run_with(&self.program(text), &bounds(sandbox), layers).await
    }

    fn program(&self, text: &str) -> Program {
        let environment = [
            ("PATH", Path::new("/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")),
            ("D", self.directory.path()),
            ("H", self.in_home.path()),
        ];
        Program {
            path: "/bin/sh".into(),
            arguments: vec!["-c".into(), text.into()],
            directory: self.path("work"),
            environment: environment.map(|(name, value)| (name.into(), value.into())).into(),
            input: Vec::new(),
        }
    }
}

fn bounds(sandbox: Sandbox) -> Bounds {
    Bounds {
        time: Some(Duration::from_secs(60)),
        grace: Duration::from_millis(300),
        stdout: Capture::All(1 << 20),
        stderr: Capture::Tail(1 << 20),
        containment: Containment::Tree,
        limits: ResourceLimits::default(),
        sandbox,
    }
}

fn stdout(finished: &Finished) -> String {
    String::from_utf8(finished.stdout.bytes.clone()).unwrap().trim_end().to_owned()
}

fn stderr(finished: &Finished) -> String {
    String::from_utf8_lossy(&finished.stderr.bytes).into_owned()
}

#[tokio::test]
async fn t30_what_is_not_asked_for_cannot_be_read() {
    let place = Place::new();
    let text =
        "cat file $D/read/file; for f in $D/secret/id_ed25519 $H/id_ed25519 /etc/shadow /proc/1/environ
        do cat $f; done 2>/dev/null; ls -A $D/secret $H 2>/dev/null";
    for (mode, layers) in combinations().await {
        let finished = place.run(text, &layers, place.confinement()).await;
        assert_eq!(stdout(&finished), "mineshown", "{mode}: {}", stderr(&finished));
    }
    // The control: without a sandbox all of it is there.
    let finished = place.try_run(text, &Layers::none(), Sandbox::Off).await.unwrap();
    assert!(stdout(&finished).contains("CANARYCANARY"), "{}", stdout(&finished));
}

#[tokio::test]
async fn t30_what_is_not_asked_for_cannot_be_written() {
    let place = Place::new();
    let text = "echo new > file && echo new > other && mkdir deep && echo x > deep/x && mv deep/x deep/y && rm other
        for f in $D/new $D/secret/new $D/secret/id_ed25519 $D/read/new $D/read/file $H/new $H/id_ed25519 /etc/new \
            /usr/new; do echo gone > $f; rm -f $f; done 2>/dev/null
        mkdir $D/dir $D/secret/dir $D/read/dir 2>/dev/null; mv $D/read/file file2 2>/dev/null; rm -rf $D/read $D/secret 2>/dev/null
        ln $D/read/file hard 2>/dev/null; truncate -s 0 $D/read/file $D/secret/id_ed25519 2>/dev/null; echo done";
    for (mode, layers) in combinations().await {
        let finished = place.run(text, &layers, place.confinement()).await;
        assert_eq!(stdout(&finished), "done", "{mode}: {}", stderr(&finished));
        let read = |file: &str| fs::read_to_string(place.path(file)).unwrap();
        assert_eq!(read("work/file"), "new\n", "{mode}");
        assert!(place.path("work/deep/y").is_file() && !place.path("work/other").exists(), "{mode}");
        assert_eq!(
            (read("read/file").as_str(), read("secret/id_ed25519").as_str()),
            ("shown", "CANARY"),
            "{mode}"
        );
        let names = |directory: &Path| fs::read_dir(directory).unwrap().count();
        let counts = ["", "read", "secret"].map(|below| names(&place.path(below)));
        assert_eq!((counts, names(place.in_home.path())), ([3, 1, 1], 1), "{mode}");
        fs::remove_dir_all(place.path("work/deep")).unwrap();
    }
}

#[tokio::test]
async fn t30_what_is_kept_stays_and_where_it_cannot_the_mode_says_so() {
    let text = "cat .git/HEAD; echo x > .git/HEAD; echo x > .git/hook; rm -rf .git; mv .git away; rmdir .git
        mkdir .git; umount .git; mount -o remount,rw .git; unshare -Urm umount .git; chmod 777 .git/HEAD; :";
    for (mode, layers) in combinations().await {
        let place = Place::new();
        let finished = place.run(text, &layers, place.confinement()).await;
        assert!(stdout(&finished).starts_with("base"), "{mode}: {}", stderr(&finished));
        if !has_room(mode) {
            assert_eq!(finished.sandbox_mode, format!("{mode}{OPEN}, kept files not protected"));
            continue;
        }
        assert_eq!(finished.sandbox_mode, mode);
        let git = place.path("work/.git");
        let names: Vec<_> = fs::read_dir(&git).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(
            (names, fs::read_to_string(git.join("HEAD")).unwrap().as_str()),
            (vec!["HEAD".into()], "base")
        );
    }
}

/// A program that ran before could have put a link where something is to be kept.
#[tokio::test]
async fn t30_a_link_in_the_place_of_what_is_kept_shows_nothing() {
    let place = Place::new();
    fs::remove_dir_all(place.path("work/.git")).unwrap();
    std::os::unix::fs::symlink(place.path("secret"), place.path("work/.git")).unwrap();
    for (mode, layers) in combinations().await {
        let refused =
            place.try_run(":", &layers, Sandbox::BestEffort(place.confinement())).await.unwrap_err();
        assert_eq!(refused.source.kind(), ErrorKind::InvalidInput, "{mode}");
        let without = Confinement { keep: Vec::new(), ..place.confinement() };
        let finished = place.run("cat .git/id_ed25519", &layers, without).await;
        assert_eq!((finished.exit, stdout(&finished).as_str()), (Exit::Code(1), ""), "{mode}");
    }
}

/// Connects, or sends, to everything that listens here, and prints where that worked.
const REACH: &str = r#"perl -MSocket -e '
    sub try { my ($name, $family, $type, $address) = @_; my $s;
        socket($s, $family, $type, 0) && connect($s, $address) && send($s, "x", 0) && print "$name\n" }
    my $ip = inet_aton("127.0.0.1");
    try("tcp", PF_INET, SOCK_STREAM, pack_sockaddr_in($ENV{TCP}, $ip));
    try("udp", PF_INET, SOCK_DGRAM, pack_sockaddr_in($ENV{UDP}, $ip));
    try("unix", PF_UNIX, SOCK_STREAM, pack_sockaddr_un("$ENV{D}/secret/socket"));
    try("abstract", PF_UNIX, SOCK_STREAM, pack_sockaddr_un("\0$ENV{D}"));
' 2>/dev/null; echo end"#;

/// What only a room can keep from being changed, and what is recorded where there is none.
#[tokio::test]
async fn t30_modes_and_times_of_files_are_protected_or_it_is_said_that_they_are_not() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let secret = place.path("secret/id_ed25519");
    let text = "chmod 604 $D/secret/id_ed25519; touch -d 2001-01-01 $D/secret/id_ed25519; touch file && chmod 700 file";
    for (mode, layers) in combinations().await {
        let closed = fs::Permissions::from_mode(0o600);
        fs::set_permissions(&secret, closed).unwrap();
        let before = fs::metadata(&secret).unwrap();
        let finished = place.run(text, &layers, place.confinement()).await;
        assert_eq!(finished.exit, Exit::Code(0), "{mode}: its own files are its own");
        let after = fs::metadata(&secret).unwrap();
        let is_changed = (after.permissions(), after.modified().unwrap())
            != (before.permissions(), before.modified().unwrap());
        assert_eq!(finished.sandbox_mode.contains(OPEN), is_changed, "{}", finished.sandbox_mode);
        assert_eq!(is_changed, !has_room(mode), "{mode}");
    }
}

#[tokio::test]
async fn t30_nothing_that_listens_on_the_machine_is_reached() {
    use std::os::linux::net::SocketAddrExt;
    let place = Place::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_nonblocking(true).unwrap();
    let _unix = UnixListener::bind(place.path("secret/socket")).unwrap();
    let name = place.directory.path().as_os_str().as_encoded_bytes();
    let address = std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap();
    let _abstract = UnixListener::bind_addr(&address).unwrap();
    let (tcp_port, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    let text = format!("export TCP={tcp_port} UDP={udp_port}; {REACH}");
    let was_sent = || udp.recv(&mut [0; 8]).is_ok();
    for (mode, layers) in combinations().await {
        let finished = place.run(&text, &layers, place.confinement()).await;
        match mode {
            // Packets are counted where they arrive: inside a room they are sent, to a machine that is not there.
            "bubblewrap" | "bubblewrap+landlock" => assert!(!stdout(&finished).contains("tcp"), "{mode}"),
            "landlock+seccomp" => assert_eq!(stdout(&finished), "end", "{mode}"),
            // What is left open is why it is not called confined.
            _ => assert_eq!(stdout(&finished), "udp\nunix\nend", "{mode}: {}", stderr(&finished)),
        }
        assert_eq!(was_sent(), mode == "landlock without network isolation", "{mode}");
        // The control, and what `network` is for.
        let open = Confinement { network: true, keep: Vec::new(), ..place.confinement() };
        let finished = place.run(&text, &layers, open).await;
        let reached = stdout(&finished);
        assert!(reached.starts_with("tcp\nudp\n"), "{mode}: {reached}");
        assert!(was_sent(), "{mode}");
        let recorded = match has_room(mode) {
            true => format!("{mode}, network"),
            false => format!("landlock, network{OPEN}"),
        };
        assert_eq!(finished.sandbox_mode, recorded);
        assert_eq!(reached.contains("abstract"), mode == "bubblewrap", "{mode}: {reached}");
        assert_eq!(reached.contains("unix"), !has_room(mode), "{mode}: {reached}");
    }
}

#[tokio::test]
async fn a_room_has_a_loopback_of_its_own() {
    let place = Place::new();
    let text = r#"perl -MSocket -e '
        socket(my $l, PF_INET, SOCK_STREAM, 0); bind($l, pack_sockaddr_in(0, INADDR_LOOPBACK)) or die; listen($l, 1);
        socket(my $c, PF_INET, SOCK_STREAM, 0); connect($c, getsockname($l)) or die; print "connected"'; hostname"#;
    for (mode, layers) in combinations().await.into_iter().filter(|(mode, _)| has_room(mode)) {
        let finished = place.run(text, &layers, place.confinement()).await;
        assert_eq!(stdout(&finished), "connectedlocalhost", "{mode}: {}", stderr(&finished));
    }
}

#[tokio::test]
async fn r11_other_processes_are_not_seen_in_a_room_and_not_touched_anywhere() {
    let place = Place::new();
    let us = std::process::id();
    let text = format!(
        "[ $PPID = 0 ] || kill -9 $PPID; kill -0 {us} && echo signalled; cat /proc/{us}/environ /proc/{us}/mem
        readlink /proc/{us}/exe; ls /proc | grep -c '^[0-9]'; :"
    );
    for (mode, layers) in combinations().await {
        let finished = place.run(&text, &layers, place.confinement()).await;
        assert_eq!(finished.exit, Exit::Code(0), "{mode}: {}", stderr(&finished));
        let seen: u32 = stdout(&finished).parse().unwrap_or_else(|_| panic!("{mode}: {}", stdout(&finished)));
        // bubblewrap, what holds the room, the shell and what it starts.
        assert!(!has_room(mode) || seen <= 6, "{mode}: {seen} processes");
    }
}

#[tokio::test]
async fn r11_a_confined_program_has_no_privileges_whoever_runs_it() {
    let place = Place::new();
    let text = "sed -n 's/^\\(Cap...\\|NoNewPrivs\\):.0*/\\1/p' /proc/self/status; mount -t tmpfs none /tmp && echo mounted";
    for (mode, layers) in combinations().await {
        let finished = place.run(text, &layers, place.confinement()).await;
        let mut lines: Vec<_> = stdout(&finished).lines().map(str::to_owned).collect();
        if !has_room(mode) && !rustix::process::geteuid().is_root() {
            // What an ordinary user could at most be given, and is not.
            lines.retain(|line| !line.starts_with("CapBnd"));
            lines.insert(3, "CapBnd".to_owned());
        }
        assert_eq!(lines, ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs1"], "{mode}");
    }
}

#[tokio::test]
async fn the_exit_is_the_programs_own_in_every_layer() {
    let place = Place::new();
    for (mode, layers) in combinations().await {
        for (text, exit) in [
            ("exit 0", Exit::Code(0)),
            ("exit 137", Exit::Code(137)),
            ("exit 255", Exit::Code(255)),
            ("kill -9 $$", Exit::Signal(9)),
            ("kill -SEGV $$", Exit::Signal(11)),
            ("(sh -c 'exit 9' &); exit 4", Exit::Code(4)),
        ] {
            let finished = place.run(text, &layers, place.confinement()).await;
            assert_eq!(finished.exit, exit, "{mode}: {text}: {}", stderr(&finished));
        }
    }
}

#[tokio::test]
async fn a_program_gets_what_it_was_given_in_every_layer() {
    let place = Place::new();
    for (mode, layers) in combinations().await {
        let mut program =
            place.program("pwd; printf '<%s>' \"$@\"; cat; env -u D -u H; exec ls /proc/self/fd");
        program.arguments.extend(["name".into(), "a b".into(), "".into()]);
        program.environment.insert("A".into(), "1 =\n2".into());
        program.input = b"input\n".to_vec();
        let finished =
            run::run_with(&program, &bounds(Sandbox::BestEffort(place.confinement())), &layers).await;
        let finished = finished.unwrap();
        let path = program.environment[std::ffi::OsStr::new("PATH")].to_string_lossy();
        let work = place.path("work");
        let mut lines: Vec<_> = stdout(&finished).lines().map(str::to_owned).collect();
        // The shell adds its directory, in whatever place.
        lines.retain(|line| {
            !line.starts_with("PWD=") && !line.starts_with("OLDPWD=") && !line.starts_with("_=")
        });
        lines[2..5].sort();
        let expected = format!("{}\n<a b><>input\n2\nA=1 =\nPATH={path}\n0\n1\n2\n3", work.display());
        assert_eq!(lines.join("\n"), expected, "{mode}: {}", stderr(&finished));
    }
}

/// The first process of a room collects them, so that whoever waits for one to be gone does not wait for ever.
#[tokio::test]
async fn orphans_in_a_room_are_collected() {
    let place = Place::new();
    let text = "(sh -c 'echo $$ > orphan' &); until [ -s orphan ]; do :; done
        while kill -0 $(cat orphan) 2>/dev/null; do :; done; echo gone";
    for (mode, layers) in combinations().await.into_iter().filter(|(mode, _)| *mode == "bubblewrap") {
        let finished = place.run(text, &layers, place.confinement()).await;
        assert_eq!(stdout(&finished), "gone", "{mode}: {}", stderr(&finished));
    }
}

#[tokio::test]
async fn a_room_has_its_own_temporary_files_and_an_empty_home() {
    let place = Place::new();
    let home = home().unwrap();
    let text = format!(
        "ls -A {home}; for d in {home} /tmp /var/tmp /dev/shm; do echo x > $d/in-a-room && cat $d/in-a-room; done
        echo x > /x; echo x > /run/x; echo x >/dev/null && head -c 1 /dev/urandom | wc -c",
        home = home.display()
    );
    for (mode, layers) in combinations().await.into_iter().filter(|(mode, _)| has_room(mode)) {
        let finished = place.run(&text, &layers, place.confinement()).await;
        assert_eq!(stdout(&finished), "x\nx\nx\nx\n1", "{mode}: {}", stderr(&finished));
        for directory in [home.as_path(), Path::new("/tmp"), Path::new("/var/tmp"), Path::new("/dev/shm")] {
            assert!(!directory.join("in-a-room").exists(), "{mode}: {}", directory.display());
        }
    }
}

/// Links on the way to what is asked for are there too, and lead to the same.
#[tokio::test]
async fn a_path_through_a_link_can_be_used_as_it_was_given() {
    let place = Place::new();
    std::os::unix::fs::symlink("work", place.path("link")).unwrap();
    std::os::unix::fs::symlink(place.path("read"), place.path("absolute")).unwrap();
    let confinement = Confinement {
        read: vec![place.path("absolute/file")],
        write: vec![place.path("link")],
        ..Default::default()
    };
    for (mode, layers) in combinations().await {
        let text = "echo x > $D/link/through && cat $D/absolute/file";
        let finished = place.run(text, &layers, confinement.clone()).await;
        assert_eq!(stdout(&finished), "shown", "{mode}: {}", stderr(&finished));
        fs::remove_file(place.path("work/through")).unwrap();
    }
}

#[tokio::test]
async fn r11_required_refuses_where_there_is_no_room() {
    let place = Place::new();
    let missing =
        Layers { bubblewrap: Err("bubblewrap is not installed".to_owned()), ..Layers::here().await };
    for layers in [Layers::none(), missing] {
        let sandbox = Sandbox::Required(place.confinement());
        let refused = place.try_run("echo ran > ran", &layers, sandbox).await.unwrap_err();
        assert_eq!(refused.source.kind(), ErrorKind::Unsupported);
        let text = refused.to_string();
        assert!(text.contains("install bubblewrap, or set [sandbox] mode"), "{text}");
    }
    assert!(!place.path("work/ran").exists());
    let finished =
        place.try_run("echo ran", &Layers::here().await, Sandbox::Required(place.confinement())).await;
    assert_eq!(finished.unwrap().sandbox_mode, "bubblewrap+landlock");
}

#[tokio::test]
async fn r11_nothing_to_confine_with_is_recorded_as_off() {
    let place = Place::new();
    let finished = place.run("cat $D/secret/id_ed25519", &Layers::none(), place.confinement()).await;
    assert_eq!((stdout(&finished).as_str(), finished.sandbox_mode.as_str()), ("CANARY", "off"));
    // Too old to keep files from being cut off.
    let old = Layers { landlock: 2, ..Layers::none() };
    assert_eq!(place.run(":", &old, place.confinement()).await.sandbox_mode, "off");
    assert_eq!(old.report().mode, "off");
    assert_eq!(old.report().missing.len(), 2);
}

/// A bubblewrap that fails at the last moment: the program does not run without it, in either mode.
#[tokio::test]
async fn r11_a_room_that_cannot_be_built_is_a_refusal() {
    let place = Place::new();
    let broken = place.path("work/bwrap");
    fs::write(&broken, "#!/bin/sh\necho 'no room here' >&2; exit 1\n").unwrap();
    fs::set_permissions(&broken, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let layers = Layers { bubblewrap: Ok(broken), ..Layers::here().await };
    for sandbox in [Sandbox::BestEffort(place.confinement()), Sandbox::Required(place.confinement())] {
        let refused = place.try_run("echo ran > ran", &layers, sandbox).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "/bin/sh cannot be started: its sandbox cannot be built: no room here"
        );
    }
    assert!(!place.path("work/ran").exists());
}

#[tokio::test]
async fn what_a_sandbox_does_not_show_is_named() {
    let place = Place::new();
    let tool = place.path("secret/tool");
    fs::copy("/bin/true", &tool).unwrap();
    for (mode, layers) in combinations().await {
        let mut program = place.program(":");
        program.path = tool.clone();
        let sandbox = bounds(Sandbox::BestEffort(place.confinement()));
        let refused = run::run_with(&program, &sandbox, &layers).await.unwrap_err().to_string();
        assert!(refused.contains("add what is missing to [sandbox] read"), "{mode}: {refused}");
        program = place.program(":");
        program.directory = place.path("secret");
        let refused = run::run_with(&program, &sandbox, &layers).await;
        // Landlock lets a program stand where it can see nothing.
        assert_eq!(refused.is_err(), has_room(mode), "{mode}");
    }
}

#[tokio::test]
async fn a_sandbox_with_the_whole_machine_or_a_relative_path_is_refused() {
    let place = Place::new();
    for path in ["/", "relative", "/.."] {
        let confinement = Confinement { read: vec![path.into()], ..place.confinement() };
        for (mode, layers) in combinations().await {
            let refused =
                place.try_run(":", &layers, Sandbox::BestEffort(confinement.clone())).await.unwrap_err();
            assert_eq!(refused.source.kind(), ErrorKind::InvalidInput, "{mode}");
        }
    }
    let gone = Confinement { write: vec![place.path("gone")], ..Default::default() };
    let refused = place.try_run(":", &Layers::here().await, Sandbox::BestEffort(gone)).await.unwrap_err();
    assert_eq!(refused.source.kind(), ErrorKind::NotFound);
    assert!(refused.to_string().contains("gone is to be writable"), "{refused}");
}

#[tokio::test]
async fn a_group_cannot_be_confined() {
    let place = Place::new();
    let bounds =
        Bounds { containment: Containment::Group, ..bounds(Sandbox::BestEffort(place.confinement())) };
    let refused = run::run_with(&place.program(":"), &bounds, &Layers::here().await).await.unwrap_err();
    assert_eq!(refused.source.kind(), ErrorKind::InvalidInput);
}

/// Puts a key into the session that this process shares with others of the user, for a minute.
#[expect(unsafe_code, reason = "system calls without a wrapper")]
fn add_key(name: &std::ffi::CStr) {
    const SESSION: libc::c_long = -3;
    const SET_TIMEOUT: libc::c_long = 15;
    // SAFETY: the texts live through the call, and the lengths are theirs.
    unsafe {
        let key = libc::syscall(
            libc::SYS_add_key,
            c"user".as_ptr(),
            name.as_ptr(),
            c"CANARY".as_ptr(),
            6_usize,
            SESSION,
        );
        assert!(key > 0, "{}", io::Error::last_os_error());
        libc::syscall(libc::SYS_keyctl, SET_TIMEOUT, key, 60);
    }
}

#[tokio::test]
async fn t30_keys_of_the_operators_session_are_not_found() {
    let place = Place::new();
    let name = format!("azolla-{}", std::process::id());
    add_key(&CString::new(name.clone()).unwrap());
    let text = format!(
        r#"perl -e 'my ($type, $name) = ("user", "{name}"); print syscall({}, $type, $name, 0, 0) > 0 ? "found" : "none"'"#,
        libc::SYS_request_key
    );
    for (mode, layers) in combinations().await {
        let finished = place.run(&text, &layers, place.confinement()).await;
        assert_eq!(stdout(&finished), "none", "{mode}: {}", stderr(&finished));
    }
    let finished = place.try_run(&text, &Layers::none(), Sandbox::Off).await.unwrap();
    assert_eq!(stdout(&finished), "found", "the control: {}", stderr(&finished));
}

/// bubblewrap, but it does nothing until a file is there.
fn held_back(place: &Place) -> (PathBuf, PathBuf) {
    let (held, go) = (place.path("bwrap"), place.path("go"));
    let real = bubblewrap::installed().unwrap();
    let text = format!(
        "#!/bin/sh\necho > '{0}.begun'; until [ -e '{1}' ]; do :; done; exec '{2}' \"$@\"\n",
        held.display(),
        go.display(),
        real.display()
    );
    fs::write(&held, text).unwrap();
    fs::set_permissions(&held, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    (held, go)
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(std::time::Instant::now() < deadline, "{what} did not come to hold");
        tokio::task::yield_now().await;
    }
}

/// There is one thread here: what has to happen for the room to be built happens on it meanwhile.
#[tokio::test(flavor = "current_thread")]
async fn a_room_that_is_being_built_holds_nobody_up() {
    let place = Place::new();
    let (held, go) = held_back(&place);
    let layers = Layers { bubblewrap: Ok(held), ..Layers::here().await };
    let meanwhile = async {
        until("the beginning", || place.path("bwrap.begun").exists()).await;
        fs::write(&go, "").unwrap();
    };
    let (finished, ()) = tokio::join!(place.run("echo ran", &layers, place.confinement()), meanwhile);
    assert_eq!(stdout(&finished), "ran", "{}", stderr(&finished));
}

#[tokio::test(flavor = "current_thread")]
async fn b2_dropping_the_future_while_its_room_is_built_ends_the_program() {
    let place = Place::new();
    let (held, go) = held_back(&place);
    let layers = Layers { bubblewrap: Ok(held), ..Layers::here().await };
    let marked = format!(": {}; while :; do :; done", place.directory.path().display());
    tokio::select! {
        finished = place.run(&marked, &layers, place.confinement()) => panic!("it ended: {finished:?}"),
        () = until("the beginning", || place.path("bwrap.begun").exists()) => {}
    }
    let mark = place.directory.path().to_str().unwrap();
    assert!(bearers(mark) > 0, "the control: bubblewrap is at work");
    fs::write(&go, "").unwrap();
    until("the end of all of it", || bearers(mark) == 0).await;
}

/// Counts the processes in whose command line a text is.
fn bearers(text: &str) -> usize {
    let lines = fs::read_dir("/proc").unwrap().flatten();
    let lines = lines.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(text)).count()
}

/// B-2: what it takes to find out how a program can be confined is part of its time.
#[tokio::test]
async fn b2_a_trial_of_bubblewrap_that_does_not_end_is_over_with_the_time() {
    let place = Place::new();
    let bounds =
        Bounds { time: Some(Duration::from_millis(50)), ..bounds(Sandbox::BestEffort(place.confinement())) };
    let refused =
        run::run_after(&place.program("echo > ran"), &bounds, std::future::pending(), &|_| {}).await;
    assert_eq!(refused.unwrap_err().source.kind(), ErrorKind::TimedOut);
    // Found out in time, but with all of it.
    let late = async {
        let until = tokio::time::Instant::now() + Duration::from_millis(50);
        let layers = Layers::here().await;
        tokio::time::timeout_at(until, std::future::pending::<()>()).await.unwrap_err();
        layers
    };
    let begin = std::time::Instant::now();
    let ended = run::run_after(&place.program("while :; do :; done"), &bounds, late, &|_| {}).await;
    assert!(ended.is_err_and(|error| error.source.kind() == ErrorKind::TimedOut));
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    assert!(!place.path("work/ran").exists());
}
