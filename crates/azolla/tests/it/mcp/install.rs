//! `azolla mcp install`: what it shows, and what it leaves alone in the files of others.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use serde_json::{Value, json};

use crate::world::World;

/// Every client, its file below a person's home, and where the server stands in it.
const JSON_CLIENTS: [(&str, &str, &str); 5] = [
    ("claude", ".claude.json", "mcpServers"),
    ("cursor", ".cursor/mcp.json", "mcpServers"),
    ("vscode", ".config/Code/User/mcp.json", "servers"),
    ("gemini", ".gemini/settings.json", "mcpServers"),
    ("opencode", ".config/opencode/opencode.json", "mcp"),
];

fn file(world: &World, name: &str) -> PathBuf {
    world.path("person").join(name)
}

fn read(world: &World, name: &str) -> String {
    fs::read_to_string(file(world, name)).unwrap()
}

#[test]
fn it_shows_the_setup_of_every_client_and_changes_nothing() {
    let world = World::new();
    let shown = world.azolla(&["mcp", "install"]);
    assert!(shown.stderr.contains("azolla mcp install --client CLIENT --write"), "{}", shown.stderr);
    let text = shown.ok();
    for (_, name, section) in JSON_CLIENTS {
        assert!(text.contains(&file(&world, name).display().to_string()), "{name}: {text}");
        assert!(text.contains(&format!("{section:?}: {{")), "{section}: {text}");
    }
    assert!(text.contains("[mcp_servers.azolla]") && text.contains("Claude Desktop"), "{text}");
    assert!(text.contains("\"mcp\"]") && text.contains(env!("CARGO_BIN_EXE_azolla")), "{text}");
    assert!(!world.path("person").exists());
    // What is shown for one is what its file takes.
    let one = world.azolla(&["mcp", "install", "--client", "cursor"]).ok();
    let document: Value = serde_json::from_str(one.split_once(":\n").unwrap().1).unwrap();
    let home = world.home().display().to_string();
    let expected = json!({"command": env!("CARGO_BIN_EXE_azolla"), "args": ["--home", home, "mcp"]});
    assert_eq!(document["mcpServers"]["azolla"], expected);
}

#[test]
fn a_file_is_changed_once_after_a_copy_and_keeps_everything_else() {
    let world = World::new();
    for (client, name, section) in JSON_CLIENTS {
        let path = file(&world, name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let before = format!(
            "{{\n    \"z\": 1.50,\n    \"{section}\": {{\"b\": {{\"x\": [ ]}}}},\n    \"a\": null\n}}\n"
        );
        fs::write(&path, &before).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let write = ["mcp", "install", "--client", client, "--write"];
        let told = world.azolla(&write);
        assert!(told.stderr.contains("has azolla now; restart"), "{client}: {}", told.stderr);
        told.ok();
        let after = read(&world, name);
        let added: Value = serde_json::from_str(&after).unwrap();
        assert!(added[section]["azolla"]["command"].to_string().contains("azolla"), "{client}: {after}");
        let (begin, rest) = before.split_once("{\"b\"").unwrap();
        assert!(after.starts_with(begin) && after.ends_with(&format!("\"b\"{rest}")), "{client}: {after}");
        assert_eq!(read(&world, &format!("{name}.bak")), before);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        // Twice is once: no second copy, and not a byte more.
        assert!(world.azolla(&write).stderr.contains("has azolla already"), "{client}");
        assert_eq!(read(&world, name), after);
        assert!(!file(&world, &format!("{name}.bak2")).exists(), "{client}");
    }
    let codex = "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"o\" # keep\n";
    fs::create_dir_all(file(&world, ".codex")).unwrap();
    fs::write(file(&world, ".codex/config.toml"), codex).unwrap();
    world.azolla(&["mcp", "install", "--client", "codex", "--write"]).ok();
    let after = read(&world, ".codex/config.toml");
    assert!(after.starts_with(codex) && after.contains("[mcp_servers.azolla]\ncommand = "), "{after}");
    assert_eq!(read(&world, ".codex/config.toml.bak"), codex);
}

#[test]
fn a_new_file_is_for_its_owner_and_a_link_stays_one() {
    let world = World::new();
    world.azolla(&["mcp", "install", "--client", "cursor", "--write"]).ok();
    let mode = fs::metadata(file(&world, ".cursor/mcp.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let real = world.path("dotfiles.json");
    fs::write(&real, "{}").unwrap();
    std::os::unix::fs::symlink(&real, file(&world, ".claude.json")).unwrap();
    world.azolla(&["mcp", "install", "--client", "claude", "--write"]).ok();
    assert!(fs::symlink_metadata(file(&world, ".claude.json")).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("\"azolla\""));
}

#[test]
fn what_could_be_lost_is_left_alone_with_the_text_to_add() {
    let world = World::new();
    let path = file(&world, ".config/Code/User/mcp.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let commented = "{\n  // servers of mine\n  \"servers\": {}\n}\n";
    fs::write(&path, commented).unwrap();
    let told = world.azolla(&["mcp", "install", "--client", "vscode", "--write"]).refused(1);
    assert!(
        told.contains("was left as it is") && told.contains("azolla mcp install --client vscode"),
        "{told}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), commented);
    assert!(!file(&world, ".config/Code/User/mcp.json.bak").exists());
}

#[test]
fn over_http_the_token_is_in_no_file_and_on_no_screen() {
    let world = World::new();
    world.azolla_in(&world.repository("app"), &["init"]).ok();
    let shown = world.azolla(&["mcp", "install", "--http"]);
    let token = fs::read_to_string(world.home().join("mcp.token")).unwrap().trim().to_owned();
    assert!(!shown.stdout.contains(&token) && !shown.stderr.contains(&token));
    assert!(shown.stderr.contains("export AZOLLA_MCP_TOKEN=\"$(cat "), "{}", shown.stderr);
    assert!(shown.stdout.contains("http://127.0.0.1:7517/mcp"), "{}", shown.stdout);
    for client in ["claude", "codex", "cursor", "vscode", "gemini", "opencode"] {
        world.azolla(&["mcp", "install", "--client", client, "--http", "--write"]).ok();
    }
    for name in JSON_CLIENTS.map(|(_, name, _)| name).into_iter().chain([".codex/config.toml"]) {
        let text = read(&world, name);
        assert!(text.contains("AZOLLA_MCP_TOKEN") && !text.contains(&token), "{name}: {text}");
    }
    // Back to the other way: nothing of this one is left.
    world.azolla(&["mcp", "install", "--client", "claude", "--write"]).ok();
    assert!(!read(&world, ".claude.json").contains("AZOLLA_MCP_TOKEN"));
    let told = world.azolla(&["mcp", "install", "--client", "claude-desktop", "--http"]).refused(2);
    assert!(told.contains("azolla mcp install --client claude-desktop"), "{told}");
    assert!(world.azolla(&["mcp", "install", "--write"]).refused(2).contains("--client"));
}
