//! What a crate may depend on is a rule of the protocol: who cannot reach a thing cannot misuse it.

use std::{collections::BTreeSet, fs};

use crate::root;

/// Every crate of ours, and the crates of ours that it may depend on outside its tests.
const ALLOWED: &[(&str, &[&str])] = &[
    ("azolla-protocol", &[]),
    ("azolla-process", &[]),
    ("azolla-fuzz", &[]),
    ("azolla-substrate", &["azolla-protocol"]),
    ("azolla-diazotroph", &["azolla-process", "azolla-protocol"]),
    ("azolla-exchange-membrane", &["azolla-protocol", "azolla-substrate"]),
    (
        "azolla-control-plane",
        &["azolla-exchange-membrane", "azolla-process", "azolla-protocol", "azolla-substrate"],
    ),
    (
        "azolla",
        &[
            "azolla-control-plane",
            "azolla-diazotroph",
            "azolla-exchange-membrane",
            "azolla-process",
            "azolla-protocol",
            "azolla-substrate",
        ],
    ),
    (
        "azolla-testkit",
        &["azolla-control-plane", "azolla-exchange-membrane", "azolla-protocol", "azolla-substrate"],
    ),
];

/// B-1: what runs a diazotroph has no way to the Substrate. M-1: what moves work along has none to a provider, so an
/// output comes in as a bundle or not at all.
#[test]
fn b1_m1_no_crate_reaches_further_than_it_may() {
    for (name, allowed) in ALLOWED {
        let found = ours(name);
        let allowed: BTreeSet<String> = allowed.iter().map(|name| (*name).to_owned()).collect();
        let too_far: Vec<_> = found.difference(&allowed).collect();
        assert!(too_far.is_empty(), "{name} depends on {too_far:?}");
    }
}

/// A crate that is not in the list above has no rule.
#[test]
fn every_crate_is_listed() {
    let entries = fs::read_dir(root().join("crates")).unwrap();
    let found: BTreeSet<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let listed: BTreeSet<String> = ALLOWED.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(found, listed);
}

fn ours(name: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
    let manifest: toml::Table = text.parse().unwrap();
    let dependencies = manifest["dependencies"].as_table().unwrap();
    dependencies.keys().filter(|name| name.starts_with("azolla")).cloned().collect()
}
