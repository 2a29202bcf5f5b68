//! The systemd unit that `azolla up --print-service` prints.

use std::{fs, process::Stdio};

use crate::world::{World, answer};

/// systemd itself reads it where it is installed; elsewhere its form is looked at, as it is in the program's own tests.
#[test]
fn a_unit_runs_this_program_in_this_home() {
    let world = World::new();
    let unit =
        world.azolla(&["up", "--print-service", "--listen", "127.0.0.1:7600", "--roles", "http,gate"]).ok();
    let program = env!("CARGO_BIN_EXE_azolla");
    let home = world.home();
    let line = format!(
        "ExecStart=\"{program}\" \"--home\" \"{}\" \"up\" \"--listen\" \"127.0.0.1:7600\" \"--roles\" \"http,gate\"\n",
        home.display()
    );
    assert!(unit.contains(&line), "{unit}");
    for line in ["[Service]\n", "Restart=on-failure\n", "NoNewPrivileges=yes\n", "WantedBy=default.target\n"]
    {
        assert!(unit.contains(line), "{unit}");
    }
    assert!(unit.contains("#   systemctl --user enable --now azolla.service\n"), "{unit}");
    // Nothing is set up by printing it.
    assert!(!home.exists());
    // Without a home of its own it is that of the XDG directories.
    assert!(!world.azolla_xdg(&["up", "--print-service"]).ok().contains("--home"));
    let file = world.path("azolla.service");
    fs::write(&file, unit).unwrap();
    if let Some(verified) = verify(&file) {
        assert_eq!(verified, "");
    }
}

/// Returns what systemd says about a unit; none where there is no systemd.
#[expect(clippy::disallowed_methods, reason = "a judge that is not ours")]
fn verify(file: &std::path::Path) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap();
    let tool = std::env::split_paths(&path)
        .map(|directory| directory.join("systemd-analyze"))
        .find(|tool| tool.is_file())?;
    let mut command = std::process::Command::new(tool);
    command.args(["verify", "--user", "--man=no"]).arg(file);
    command.env("XDG_RUNTIME_DIR", file.parent().unwrap()).stdin(Stdio::null());
    let said = answer(command, b"");
    assert_eq!(said.code, 0, "{}", said.stderr);
    Some(said.stderr)
}
