//! The table of keys is true of the reader, complete, and docs/configuration.md is made of it.

mod markdown;

use std::path::Path;

use azolla_protocol::limits::{CAPS, LIMITS};

use super::*;
use crate::config::{Config, RepositoryFile};

#[test]
fn configuration_the_document_that_is_checked_in_is_this_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let text = markdown::markdown();
    if std::env::var_os("AZOLLA_UPDATE_CONFIG").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "docs/configuration.md is not what the program reads; AZOLLA_UPDATE_CONFIG=1 cargo nextest run -p azolla configuration"
    );
}

#[test]
fn configuration_every_key_says_what_it_is_for() {
    for (table, key) in all() {
        let at = format!("{} {}", table.header, key.name);
        assert!(key.meaning.ends_with('.') && key.meaning.len() > 8, "{at}: {:?}", key.meaning);
        assert!(!key.takes().is_empty() && !key.without().is_empty() && !key.example.is_empty(), "{at}");
        assert!(table.keys().filter(|other| other.name == key.name).count() == 1, "{at} is there twice");
    }
}

/// What a limit is called is said once, in the protocol; it is configured in one place.
#[test]
fn o2_configuration_every_limit_and_every_cap_is_a_key_of_one_table() {
    let tables = [&super::LIMITS, &super::CAPS, &ATTENTION, &CODE_PATCH];
    for limit in LIMITS.iter().chain(&CAPS) {
        let keys = tables.iter().flat_map(|table| table.keys()).filter(|key| key.name == limit.name);
        let found: Vec<_> = keys.collect();
        assert_eq!(found.len(), 1, "{}", limit.name);
        assert!(matches!(found[0].form, Form::Whole(of) | Form::Money(of) if of == limit), "{}", limit.name);
    }
}

#[test]
fn configuration_every_example_can_be_typed() {
    for (table, key) in all() {
        parse(table, Some((key, key.example)), key).unwrap_or_else(|fault| panic!("{fault}"));
    }
}

#[test]
fn configuration_what_holds_without_a_key_is_what_its_default_says() {
    let mut seen = 0;
    for (table, key) in all() {
        let default = match (key.unset, key.form) {
            (Unset::Value(value), _) => value.to_owned(),
            (Unset::OfLimit, Form::Whole(limit) | Form::Money(limit)) => key.default_of(limit),
            _ => continue,
        };
        let (said, unsaid) = (parse(table, Some((key, &default)), key), parse(table, None, key));
        let effect = |parsed: Result<Read, String>| parsed.unwrap_or_else(|fault| panic!("{fault}")).effect();
        assert_eq!(effect(said), effect(unsaid), "{} {} = {default}", table.header, key.name);
        seen += 1;
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn configuration_the_words_of_a_choice_are_all_that_it_takes() {
    for (table, key) in all() {
        let Form::OneOf(words) = key.form else { continue };
        for word in words {
            let value = format!("\"{word}\"");
            parse(table, Some((key, &value)), key).unwrap_or_else(|fault| panic!("{fault}"));
        }
        let refused = parse(table, Some((key, "\"no-such-word\"")), key).unwrap_err();
        assert!(refused.contains(&format!("one of {}", words.join(", "))), "{}: {refused}", key.name);
    }
}

#[test]
fn configuration_a_limit_is_refused_just_outside_its_range() {
    for (table, key) in all() {
        let Form::Whole(limit) = key.form else { continue };
        let outside = [limit.minimum.checked_sub(1), limit.maximum.map(|most| most + 1)];
        for value in outside.into_iter().flatten() {
            let refused = parse(table, Some((key, &value.to_string())), key).err();
            assert!(refused.is_some_and(|fault| fault.contains("out of its range")), "{} {value}", key.name);
        }
        for value in [Some(limit.minimum), limit.maximum].into_iter().flatten() {
            assert!(parse(table, Some((key, &value.to_string())), key).is_ok(), "{} {value}", key.name);
        }
    }
}

/// Every table with every one of its keys.
fn all() -> impl Iterator<Item = (&'static Table, &'static Key)> {
    let tables = USER_TABLES.into_iter().chain([CHECK_TABLE, REPOSITORY_TABLE]);
    tables.flat_map(|table| table.keys().map(move |key| (table, key)))
}

/// What one of the two files reads to.
#[derive(Debug)]
enum Read {
    User(Box<Config>),
    Repository(RepositoryFile),
}

impl Read {
    /// What is in effect: a limit that is set to its default is the same as one that is not set.
    fn effect(self) -> String {
        match self {
            Self::User(mut config) => {
                let limits: Vec<_> =
                    LIMITS.iter().chain(&CAPS).map(|limit| config.limits.get(limit)).collect();
                config.limits = Default::default();
                for provider in config.providers.values_mut() {
                    use crate::config::ProviderConfig::{Anthropic, OpenAi};
                    if let Anthropic { api, .. } | OpenAi { api, .. } = provider {
                        api.max_tokens = api.max_tokens.or(Some(MAX_TOKENS.default));
                    }
                }
                format!("{config:?} {limits:?}")
            }
            Self::Repository(file) => format!("{file:?}"),
        }
    }
}

/// Reads a file with what a table needs, what `about` needs, and `set`.
fn parse(table: &Table, set: Option<(&Key, &str)>, about: &Key) -> Result<Read, String> {
    let mut lines: Vec<String> = about.with.lines().map(str::to_owned).collect();
    lines.extend(set.map(|(key, value)| format!("{} = {value}", key.name)));
    let has = |lines: &[String], name: &str| lines.iter().any(|line| line.starts_with(&format!("{name} =")));
    for needed in table.keys().filter(|key| matches!(key.unset, Unset::Needed)) {
        if !has(&lines, needed.name) {
            lines.push(format!("{} = {}", needed.name, needed.example));
        }
    }
    // A server elsewhere is asked with a key.
    if table.has("key_env") && !has(&lines, "key_env") && !has(&lines, "key_file") {
        lines.push("key_env = \"MY_KEY\"".to_owned());
    }
    let text = match (table.header, table.root()) {
        ("", _) => lines.join("\n"),
        _ if std::ptr::eq(table, CHECK_TABLE) => format!("checks = [{{ {} }}]", lines.join(", ")),
        (_, "azolla") => format!("{}\n{}\n{PROVIDERS}", table.example, lines.join("\n")),
        _ => format!("{}\n{}\n", table.example, lines.join("\n")),
    };
    let shown = |problem: crate::config::Problem| format!("{problem}\n{text}");
    if table.header.starts_with('[') {
        Ok(Read::User(Box::new(Config::parse(&text, Path::new("c")).map_err(shown)?)))
    } else {
        Ok(Read::Repository(RepositoryFile::parse(text.as_bytes()).map_err(shown)?))
    }
}

/// Providers that an azolla may name.
const PROVIDERS: &str = "[provider.agent]\nkind = \"recorded\"\nanswers = \"/a\"\n\
                         [provider.local]\nkind = \"recorded\"\nanswers = \"/a\"\n";
