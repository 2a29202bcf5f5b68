//! The unit reads back as what was meant.

use super::*;

fn command(words: &[&str]) -> Command {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    Command { words, environment: vec![("PATH", "/a b:/usr/bin:/100%/$x".to_owned())] }
}

#[test]
fn the_unit_runs_the_command_with_every_word_quoted() {
    let unit = unit(&command(&["/opt/my \"tools\"/azolla", "--home", "/home/me/50%$HOME\\n", "up"]));
    let line = |name: &str| unit.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert_eq!(
        line("ExecStart="),
        r#"ExecStart="/opt/my \"tools\"/azolla" "--home" "/home/me/50%%$$HOME\\n" "up""#
    );
    assert_eq!(line("Environment="), r#"Environment="PATH=/a b:/usr/bin:/100%%/$x""#);
    assert_eq!(line("Restart="), "Restart=on-failure");
    // Every line is a comment, a section, a setting or empty, and each section is there once.
    for line in unit.lines().filter(|line| !line.is_empty()) {
        let is_setting =
            line.split_once('=').is_some_and(|(name, _)| name.chars().all(char::is_alphanumeric));
        assert!(line.starts_with('#') || line.starts_with('[') || is_setting, "{line}");
    }
    let sections: Vec<_> = unit.lines().filter(|line| line.starts_with('[')).collect();
    assert_eq!(sections, ["[Unit]", "[Service]", "[Install]"]);
}

#[test]
fn t22_a_line_break_in_a_path_begins_no_setting() {
    let unit = unit(&command(&["/a\nExecStartPre=/bin/evil", "up"]));
    assert!(unit.contains("ExecStart=\"/a\\x0aExecStartPre=/bin/evil\" \"up\"\n"), "{unit}");
}
