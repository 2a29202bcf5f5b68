//! What is taken for a secret.

use super::*;

fn found_in(text: &str) -> (Vec<String>, Vec<String>) {
    let mut found = Found::default();
    find_secrets(text, &mut found);
    let texts =
        |values: Vec<OsString>| values.into_iter().map(|value| value.into_string().unwrap()).collect();
    (texts(found.named), texts(found.alike))
}

#[test]
fn t29_secrets_of_a_login_are_found_by_name_and_by_look() {
    let json = r#"{"tokens": {"access_token": "abcdefghijklmnopqrstuvwxyz", "list": ["sk-0123456789abcdef"]},
        "expires": 1794900000, "short_key": "short", "api_key": "two words that are none",
        "url": "https://api.example.com/v1/models", "path": "/usr/lib/something-1234567"}"#;
    assert_eq!(
        found_in(json),
        (vec!["abcdefghijklmnopqrstuvwxyz".into()], vec!["sk-0123456789abcdef".into()])
    );
    let yaml =
        "OPENAI_API_KEY: 'sk-abcdefghijklmnop'\nhost: https://api.example.com\nid: 0123456789abcdefg\n";
    assert_eq!(found_in(yaml), (vec!["sk-abcdefghijklmnop".into()], vec!["0123456789abcdefg".into()]));
    let toml = "api_key = \"sk-abcdefghijklmnop\"\nmodel = \"some-model\"\n";
    assert_eq!(found_in(toml), (vec!["sk-abcdefghijklmnop".into()], vec![]));
    assert_eq!(found_in("0123456789abcdefghij\n"), (vec![], vec!["0123456789abcdefghij".into()]));
}

#[test]
fn t31_deep_json_is_no_harm() {
    let deep = format!("{}\"sk-0123456789abcdef\"{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(found_in(&deep), (vec![], vec![]), "too deep for the parser, and one line of no key");
}
