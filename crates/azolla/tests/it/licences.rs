//! Every dependency may be used under a licence of the list in `deny.toml`. The same check as
//! `cargo deny check licenses`, without the tool and without the network.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::root;

const OURS: &str = "MIT OR Apache-2.0";

#[test]
fn every_dependency_has_a_licence_of_the_list() -> anyhow::Result<()> {
    let deny = std::fs::read_to_string(root().join("deny.toml")).context("deny.toml")?;
    let allowed = allow_list(&deny)?;
    let metadata = cargo_metadata()?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let problems: Vec<_> = packages.iter().filter_map(|package| problem(package, &allowed)).collect();
    assert!(problems.is_empty(), "licences that deny.toml does not allow:\n{}", problems.join("\n"));
    Ok(())
}

/// Says what is wrong with the licence of one package of `cargo metadata`.
fn problem(package: &Value, allowed: &BTreeSet<String>) -> Option<String> {
    let at = format!("{} {}", package["name"], package["version"]);
    let ours = package["source"].is_null();
    match package["license"].as_str() {
        None => Some(format!("{at}: no licence expression")),
        Some(expression) if ours && expression != OURS => Some(format!("{at}: {expression}, not {OURS}")),
        Some(expression) => match satisfied(expression, allowed) {
            Ok(true) => None,
            Ok(false) => Some(format!("{at}: {expression}")),
            Err(error) => Some(format!("{at}: {expression}: {error}")),
        },
    }
}

fn cargo_metadata() -> anyhow::Result<Value> {
    let arguments = ["metadata", "--format-version", "1", "--locked", "--offline"];
    #[expect(clippy::disallowed_methods, reason = "cargo itself, which the process crate has no part in")]
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output()?;
    ensure!(
        output.status.success(),
        "cargo metadata failed; packages of other platforms are downloaded by: cargo fetch --locked\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Returns the `allow` list of the `[licenses]` section, without a TOML parser: the file is ours.
fn allow_list(deny: &str) -> anyhow::Result<BTreeSet<String>> {
    let section = deny.split_once("\n[licenses]\n").context("deny.toml has no [licenses]")?.1;
    let list = section.split_once("\nallow = [").context("[licenses] has no allow")?.1;
    let list = list.split_once(']').context("the list has no end")?.0;
    let quoted = list.lines().filter(|line| !line.trim_start().starts_with('#'));
    let allowed: BTreeSet<_> =
        quoted.flat_map(|line| line.split('"').skip(1).step_by(2)).map(str::to_owned).collect();
    ensure!(!allowed.is_empty(), "the list of allowed licences is empty");
    Ok(allowed)
}

/// Whether an SPDX expression can be satisfied from the list. The old `A/B` means `A OR B`.
fn satisfied(expression: &str, allowed: &BTreeSet<String>) -> anyhow::Result<bool> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut tokens = spaced.split_whitespace().peekable();
    let result = either(&mut tokens, allowed)?;
    match tokens.next() {
        None => Ok(result),
        Some(token) => bail!("unexpected {token}"),
    }
}

type Tokens<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn either(tokens: &mut Tokens<'_>, allowed: &BTreeSet<String>) -> anyhow::Result<bool> {
    let mut result = both(tokens, allowed)?;
    while tokens.next_if_eq(&"OR").is_some() {
        result |= both(tokens, allowed)?;
    }
    Ok(result)
}

fn both(tokens: &mut Tokens<'_>, allowed: &BTreeSet<String>) -> anyhow::Result<bool> {
    let mut result = one(tokens, allowed)?;
    while tokens.next_if_eq(&"AND").is_some() {
        result &= one(tokens, allowed)?;
    }
    Ok(result)
}

fn one(tokens: &mut Tokens<'_>, allowed: &BTreeSet<String>) -> anyhow::Result<bool> {
    match tokens.next() {
        None | Some("OR" | "AND" | "WITH" | ")") => bail!("a licence is missing"),
        Some("(") => {
            let result = either(tokens, allowed)?;
            ensure!(tokens.next() == Some(")"), "a parenthesis is not closed");
            Ok(result)
        }
        Some(licence) if tokens.next_if_eq(&"WITH").is_some() => {
            let exception = tokens.next().context("an exception is missing")?;
            Ok(allowed.contains(&format!("{licence} WITH {exception}")))
        }
        Some(licence) => Ok(allowed.contains(licence)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list() -> BTreeSet<String> {
        ["MIT", "Apache-2.0", "Zlib", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).into()
    }

    #[test]
    fn expressions_are_read_as_spdx_has_them() {
        for (expression, expected) in [
            ("MIT", true),
            ("GPL-3.0-only", false),
            ("MIT/Apache-2.0", true),
            ("GPL-3.0-only OR MIT", true),
            ("GPL-3.0-only AND MIT", false),
            ("MIT OR GPL-3.0-only AND GPL-2.0-only", true),
            ("(MIT OR GPL-3.0-only) AND Unicode-3.0", false),
            ("(MIT OR GPL-3.0-only) AND Zlib", true),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("MIT WITH LLVM-exception", false),
        ] {
            assert_eq!(satisfied(expression, &list()).unwrap(), expected, "{expression}");
        }
        for broken in ["", "MIT OR", "(MIT", "MIT)", "MIT Zlib", "MIT WITH"] {
            assert!(satisfied(broken, &list()).is_err(), "{broken}");
        }
    }

    #[test]
    fn the_list_is_read_from_its_section() {
        let deny = "[bans]\nallow = [\"x\"]\n\n[licenses]\n# why\nallow = [\n    \"MIT\",\n    # \"GPL-3.0-only\",\n    \"A WITH b\",\n]\n";
        assert_eq!(allow_list(deny).unwrap(), ["MIT", "A WITH b"].map(str::to_owned).into());
        assert!(allow_list("[bans]\n").is_err());
    }

    #[test]
    fn a_package_without_a_permitted_licence_is_named() {
        let source = "registry+https://example.org";
        let package = |source: Value, license: Value| {
            problem(&json!({"name": "p", "version": "1.0.0", "source": source, "license": license}), &list())
        };
        assert_eq!(package(json!(source), json!("MIT")), None);
        assert_eq!(package(json!(source), json!("GPL-3.0-only")).unwrap(), r#""p" "1.0.0": GPL-3.0-only"#);
        assert!(package(json!(source), Value::Null).is_some());
        assert_eq!(package(Value::Null, json!(OURS)), None);
        assert!(package(Value::Null, json!("MIT")).is_some());
    }
}
