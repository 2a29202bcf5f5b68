//! What a channel is given, and how it is judged.

use std::{fs, os::unix::fs::PermissionsExt, time::Instant};

use serde_json::json;

use super::*;

fn message(heading: &str, body: &str) -> Message {
    Message { heading: heading.into(), body: body.into(), document: json!({"kind": "finished"}) }
}

fn environment_of(pairs: &[(&str, &str)]) -> Environment {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

/// A directory with a program in it.
fn with_program(name: &str, script: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    directory
}

#[test]
fn a_desktop_needs_a_session_and_its_program() {
    let directory = with_program("notify-send", "#!/bin/sh\n");
    let path = directory.path().to_str().unwrap();
    let config = NotifyConfig::default();
    let channels = |pairs: &[(&str, &str)]| Channel::all(&config, &environment_of(pairs));
    let there = vec![Channel::NotifySend(directory.path().join("notify-send"))];
    for (name, value) in
        [("DISPLAY", ":0"), ("WAYLAND_DISPLAY", "wayland-0"), ("DBUS_SESSION_BUS_ADDRESS", "unix:")]
    {
        assert_eq!(channels(&[("PATH", path), (name, value)]), there, "{name}");
    }
    assert_eq!(channels(&[("PATH", path)]), []);
    assert_eq!(channels(&[("PATH", path), ("DISPLAY", "")]), []);
    assert_eq!(channels(&[("PATH", "/nonexistent"), ("DISPLAY", ":0")]), []);
    let off = NotifyConfig { desktop: false, ..NotifyConfig::default() };
    assert_eq!(Channel::all(&off, &environment_of(&[("PATH", path), ("DISPLAY", ":0")])), []);
}

/// T22: a title that a model wrote is neither an option, nor markup, nor an escape.
#[tokio::test]
async fn t22_texts_mean_nothing_to_the_desktop() {
    let directory =
        with_program("notify-send", "#!/bin/sh\nfor word; do printf '[%s]\\n' \"$word\"; done > said\n");
    let channel = Channel::NotifySend(directory.path().join("notify-send"));
    let hostile = message("Finished: <b>x</b> & y", "--hint=int:x:1 \\074i\\076 $(id)\nazolla");
    let environment = environment_of(&[("PATH", "/usr/bin:/bin")]);
    channel.send(&hostile, &environment, directory.path()).await.unwrap();
    assert_eq!(
        fs::read_to_string(directory.path().join("said")).unwrap(),
        "[--app-name=azolla]\n[--]\n[Finished: ‹b›x‹/b› ＆ y]\n[--hint=int:x:1 ＼074i＼076 $(id)\nazolla]\n"
    );
}

#[test]
fn t22_texts_are_arguments_of_a_fixed_script_on_macos() {
    let words = osascript(&message("Finished: \" & (do shell script \"id\") & \"", "b"));
    assert!(words[..6].iter().all(|word| !word.to_string_lossy().contains("shell")));
    assert_eq!(words[6..], ["--", "Finished: \" & (do shell script \"id\") & \"", "b"]);
}

#[tokio::test]
async fn a_command_gets_the_document_and_a_bare_environment() {
    let directory = with_program("hook", "#!/bin/sh\ncat > said\nenv > seen\nprintf '%s' \"$1\" > word\n");
    let path = format!("{}:/usr/bin:/bin", directory.path().display());
    let channel = Channel::Command(vec!["hook".into(), "a b".into()]);
    let environment = environment_of(&[("PATH", &path), ("HOME", "/home/me")]);
    channel.send(&message("h", "b"), &environment, directory.path()).await.unwrap();
    let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
    assert_eq!((read("said").as_str(), read("word").as_str()), ("{\"kind\":\"finished\"}\n", "a b"));
    let seen: Vec<_> = read("seen").lines().map(|line| line.split('=').next().unwrap().to_owned()).collect();
    // Beside what it is given, a shell has a few of its own.
    assert!(
        seen.iter().all(|name| ["PATH", "HOME", "PWD", "OLDPWD", "SHLVL", "_"].contains(&name.as_str())),
        "{seen:?}"
    );
}

#[tokio::test]
async fn a_command_that_fails_or_is_missing_says_why() {
    let directory = with_program("hook", "#!/bin/sh\nprintf '\\n\\033[31mno such room\\n' >&2\nexit 3\n");
    let environment = environment_of(&[("PATH", directory.path().to_str().unwrap())]);
    let send = async |name: &str| {
        let channel = Channel::Command(vec![name.into()]);
        channel.send(&message("h", "b"), &environment, directory.path()).await.unwrap_err()
    };
    let hook = directory.path().join("hook");
    let expected = format!("{} ended with exit code 3: \u{fffd}[31mno such room", hook.display());
    assert_eq!(send("hook").await, expected);
    assert_eq!(send("nowhere").await, "nowhere was not found on PATH");
}

/// T30: a hook that hangs is over in bounded time, with what it started.
#[tokio::test]
async fn t30_a_command_that_hangs_is_ended_with_everything_that_it_started() {
    let script = "#!/bin/sh\nsetsid sh -c 'echo $$ > child; exec sleep 600' &\ntrap '' TERM\nwhile :; do sleep 1; done\n";
    let directory = with_program("hook", script);
    let environment = environment_of(&[("PATH", &format!("{}:/usr/bin:/bin", directory.path().display()))]);
    let began = Instant::now();
    let channel = Channel::Command(vec!["hook".into()]);
    let why = channel.send(&message("h", "b"), &environment, directory.path()).await.unwrap_err();
    assert!(why.ends_with("took longer than 10 s and was ended"), "{why}");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let child = fs::read_to_string(directory.path().join("child")).unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", child.trim())).unwrap_or_default();
    assert!(status.is_empty() || status.contains("State:\tZ"), "{status}");
}
