//! Values as they are shown: in one line, with their place, without a password (T29).

use std::path::Path;

use super::*;

#[test]
fn a_value_is_shown_with_its_line_and_a_default_as_none() {
    let text = "[http]\nlisten = \"127.0.0.1:1\"\n\n[azolla.az-a]\ntype = \"TASK_MGMT_AZOLLA\"\nmanifest_every = \"6h\"\n\
                [provider.p]\nkind = \"command\"\nargv = [\n  \"a\",\n  \"b\",\n]\n";
    let parts = parts(text, Path::new("c")).unwrap();
    let shown: Vec<_> = parts
        .iter()
        .flat_map(|part| part.settings.iter().map(move |setting| (part, setting)))
        .filter_map(|(part, setting)| {
            let written = setting.written.as_ref()?;
            Some((part.header.as_str(), setting.key.name, written.value.as_str(), written.line))
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("[azolla.az-a]", "type", "\"TASK_MGMT_AZOLLA\"", 5),
            ("[azolla.az-a]", "manifest_every", "\"6h\"", 6),
            ("[provider.p]", "kind", "\"command\"", 8),
            ("[provider.p]", "argv", "[ \"a\", \"b\", ]", 9),
            ("[http]", "listen", "\"127.0.0.1:1\"", 2),
        ]
    );
    let http = parts.iter().find(|part| part.header == "[http]").unwrap();
    assert!(http.settings.iter().any(|setting| setting.key.name == "hosts" && setting.written.is_none()));
}

#[test]
fn t29_a_password_in_an_address_is_not_shown() {
    for (written, shown) in [
        ("\"postgres://me@db/x\"", "\"postgres://me@db/x\""),
        ("\"postgres://me:s3cr3t@db/x\"", "\"postgres://me:…@db/x\""),
        ("\"postgres://me:s3@cr3t@db/x\"", "\"postgres://me:…@db/x\""),
        ("\"postgres://db/x?user=me&password=s3cr3t\"", "\"postgres://…\""),
        ("'postgres://db/x?PassWord=s3cr3t'", "'postgres://…"),
        ("\"https://shop:7517\"", "\"https://shop:7517\""),
    ] {
        assert_eq!(one_line(written), shown);
    }
}
