//! A server in a JSON configuration. The text is changed only where the server stands: order, spacing and everything else
//! in the file stay byte for byte.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, json, value::RawValue};

use super::clients::{Entry, NAME, is_of_a_way};
use crate::failure::Failure;

/// Returns a whole file with this server alone.
pub(super) fn alone(section: &str, entry: &Entry) -> String {
    let server = rendered(entry, &[], "  ", 2);
    format!("{{\n  {}: {{\n    {}: {server}\n  }}\n}}\n", json!(section), json!(NAME))
}

/// Returns a file with this server in it; none if it is there already.
pub(super) fn with(text: &str, section: &str, entry: &Entry) -> Result<Option<String>, Failure> {
    if text.trim().is_empty() {
        return Ok(Some(alone(section, entry)));
    }
    let whole: Fields<'_> = read(text)?;
    let indent = indent(text);
    let changed = match whole.get(section)? {
        None => {
            let server = rendered(entry, &[], indent, 2);
            let servers = format!("{{\n{indent}{indent}{}: {server}\n{indent}}}", json!(NAME));
            inserted(text, 0..text.trim_end().len(), whole.0.is_empty(), section, &servers, indent, 1)
        }
        Some(servers) => {
            let span = span(text, servers);
            let servers: Fields<'_> = read(servers.get())?;
            match servers.get(NAME)? {
                None => {
                    let server = rendered(entry, &[], indent, 2);
                    inserted(text, span, servers.0.is_empty(), NAME, &server, indent, 2)
                }
                Some(server) => {
                    let fields: Fields<'_> = read(server.get())?;
                    let is_ours = |key: &str| is_of_a_way(key) || entry.iter().any(|(ours, _)| *ours == key);
                    let others: Vec<_> = fields.0.iter().filter(|(key, _)| !is_ours(key)).collect();
                    let ours = fields.0.iter().filter(|(key, _)| is_ours(key));
                    let ours = ours.map(|(key, value)| Some((key.as_str(), value_of(value).ok()?)));
                    let mut ours: Vec<_> = ours.collect::<Option<_>>().ok_or_else(no_json)?;
                    let mut expected: Vec<_> =
                        entry.iter().map(|(key, value)| (*key, value.clone())).collect();
                    ours.sort_by_key(|(key, _)| *key);
                    expected.sort_by_key(|(key, _)| *key);
                    if ours == expected {
                        return Ok(None);
                    }
                    let at = self::span(text, server);
                    format!("{}{}{}", &text[..at.start], rendered(entry, &others, indent, 2), &text[at.end..])
                }
            }
        }
    };
    is_as_meant(text, &changed, section, entry)?;
    Ok(Some(changed))
}

/// The fields of an object in their order, as they are written.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// Returns the value of a key. One that is there twice could be read either way.
    fn get(&self, key: &str) -> Result<Option<&'a RawValue>, Failure> {
        let mut found = self.0.iter().filter(|(found, _)| found == key).map(|(_, value)| *value);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(Failure::new(format!("{key:?} is there twice"))),
            (first, None) => Ok(first),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Ordered;
        impl<'de> Visitor<'de> for Ordered {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Ordered).map(Fields)
    }
}

fn read(text: &str) -> Result<Fields<'_>, Failure> {
    serde_json::from_str(text).map_err(|_| no_json())
}

fn value_of(raw: &RawValue) -> Result<Value, Failure> {
    serde_json::from_str(raw.get()).map_err(|_| no_json())
}

fn no_json() -> Failure {
    Failure::new(
        "the file is no plain JSON of this form: it may hold comments, which this program would lose",
    )
}

/// Returns where a value that was read from a text stands in it.
fn span(text: &str, raw: &RawValue) -> std::ops::Range<usize> {
    let start = raw.get().as_ptr() as usize - text.as_ptr() as usize;
    start..start + raw.get().len()
}

/// Returns how far in the first line of the file stands.
fn indent(text: &str) -> &str {
    let first = text.lines().skip(1).find(|line| !line.trim().is_empty());
    let spaces = first.map_or("", |line| &line[..line.len() - line.trim_start().len()]);
    if spaces.is_empty() || spaces.len() > 8 { "  " } else { spaces }
}

/// Puts a field first into the object at `object`, which is `depth - 1` deep.
fn inserted(
    text: &str,
    object: std::ops::Range<usize>,
    is_empty: bool,
    key: &str,
    value: &str,
    indent: &str,
    depth: usize,
) -> String {
    let open = object.start + text[object.clone()].find('{').map_or(0, |at| at + 1);
    let field = format!("\n{}{}: {value}", indent.repeat(depth), json!(key));
    match is_empty {
        true => {
            let close = format!("\n{}}}", indent.repeat(depth - 1));
            format!("{}{field}{close}{}", &text[..open], &text[object.end..])
        }
        false => format!("{}{field},{}", &text[..open], &text[open..]),
    }
}

/// Writes the server with its keys in their order, and then what somebody else added to it.
fn rendered(entry: &Entry, others: &[&(String, &RawValue)], indent: &str, depth: usize) -> String {
    let inside = indent.repeat(depth + 1);
    let ours = entry.iter().map(|(key, value)| format!("{inside}{}: {}", json!(key), spaced(value)));
    let others = others.iter().map(|(key, value)| format!("{inside}{}: {}", json!(key), value.get()));
    let lines: Vec<_> = ours.chain(others).collect();
    format!("{{\n{}\n{}}}", lines.join(",\n"), indent.repeat(depth))
}

/// Writes a value in one line as people do.
fn spaced(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| format!("{}: {}", json!(key), spaced(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        plain => plain.to_string(),
    }
}

/// Refuses a change that does anything else than it should: the file is somebody else's.
fn is_as_meant(before: &str, after: &str, section: &str, entry: &Entry) -> Result<(), Failure> {
    let mut expected: Value = serde_json::from_str(before).map_err(|_| no_json())?;
    let found: Value = serde_json::from_str(after).map_err(|_| no_json())?;
    let server = &mut expected[section][NAME];
    if let Value::Object(fields) = server {
        fields.retain(|key, _| !is_of_a_way(key));
    }
    for (key, value) in entry {
        server[*key] = value.clone();
    }
    if expected == found { Ok(()) } else { Err(no_json()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        vec![("command", json!("/bin/azolla")), ("args", json!(["mcp"]))]
    }

    fn changed(text: &str) -> String {
        let changed = with(text, "mcpServers", &entry()).unwrap().expect("it is not there yet");
        // Once is enough.
        assert_eq!(with(&changed, "mcpServers", &entry()).unwrap(), None, "{changed}");
        changed
    }

    const SERVER: &str =
        "\"azolla\": {\n      \"command\": \"/bin/azolla\",\n      \"args\": [\"mcp\"]\n    }";

    #[test]
    fn a_new_file_holds_the_server_alone() {
        let expected = format!("{{\n  \"mcpServers\": {{\n    {SERVER}\n  }}\n}}\n");
        assert_eq!(changed(""), expected);
        assert_eq!(changed("{}\n"), expected);
        assert_eq!(changed("{\n  \"mcpServers\": {}\n}\n"), expected);
    }

    #[test]
    fn everything_else_stays_byte_for_byte() {
        let before = "{\n  \"z\": 1.0,   \"a\": [ 1 ],\n  \"mcpServers\": { \"other\": {\"x\":\"\\u0041\"} },\n  \"b\": {}\n}";
        let after = changed(before);
        let expected = before.replace("{ \"other\"", &format!("{{\n    {SERVER}, \"other\""));
        assert_eq!(after, expected);
        let without = "{\"z\": 1,\n  \"a\": 2}\n";
        let servers = format!("\"mcpServers\": {{\n    {SERVER}\n  }},");
        assert_eq!(changed(without), format!("{{\n  {servers}\"z\": 1,\n  \"a\": 2}}\n"));
    }

    #[test]
    fn another_way_takes_the_place_of_the_old_one_and_what_was_added_stays() {
        let old = "{\n  \"mcpServers\": {\n    \"azolla\": {\"type\": \"http\", \"url\": \"http://x\", \"env\": {\"B\":\"1\"}}\n  }\n}\n";
        assert_eq!(
            changed(old),
            "{\n  \"mcpServers\": {\n    \"azolla\": {\n      \"command\": \"/bin/azolla\",\n      \"args\": [\"mcp\"],\n      \
             \"env\": {\"B\":\"1\"}\n    }\n  }\n}\n"
        );
    }

    #[test]
    fn the_indentation_of_the_file_is_kept() {
        let after = changed("{\n\t\"a\": 1\n}\n");
        assert!(after.starts_with("{\n\t\"mcpServers\": {\n\t\t\"azolla\": {\n\t\t\t\"command\""), "{after}");
    }

    #[test]
    fn what_cannot_be_changed_safely_is_left_alone() {
        for text in [
            "{ // a comment\n}",
            "{\"a\": 1,}",
            "[]",
            "null",
            "{\"mcpServers\": []}",
            "{\"mcpServers\": {\"azolla\": 1}}",
            "{\"mcpServers\": {}, \"mcpServers\": {}}",
            "{\"a\": 1",
        ] {
            assert!(with(text, "mcpServers", &entry()).is_err(), "{text}");
        }
    }
}
