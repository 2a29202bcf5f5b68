//! A server in a TOML configuration, with comments and everything else in it kept.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::clients::{Entry, NAME, is_of_a_way};
use crate::failure::Failure;

/// Returns a whole file with this server alone.
pub(super) fn alone(section: &str, entry: &Entry) -> Result<String, Failure> {
    Ok(with("", section, entry)?.unwrap_or_default())
}

/// Returns a file with this server in it; none if it is there already.
pub(super) fn with(text: &str, section: &str, entry: &Entry) -> Result<Option<String>, Failure> {
    let mut document: DocumentMut = text.parse().map_err(|_| Failure::new("the file is no TOML"))?;
    let mut implicit = Table::new();
    implicit.set_implicit(true);
    let servers = document.entry(section).or_insert(Item::Table(implicit));
    let server = servers.as_table_like_mut().ok_or_else(no_table)?.entry(NAME);
    let server = server.or_insert(Item::Table(Table::new())).as_table_like_mut().ok_or_else(no_table)?;
    let stale: Vec<String> = server
        .iter()
        .map(|(key, _)| key.to_owned())
        .filter(|key| is_of_a_way(key) && !entry.iter().any(|(ours, _)| ours == key))
        .collect();
    let mut is_same = stale.is_empty();
    for key in stale {
        server.remove(&key);
    }
    for (key, expected) in entry {
        let item = item(expected)?;
        let is_there = server.get(key).is_some_and(|found| plain(found) == plain(&item));
        if !is_there {
            is_same = false;
            server.insert(key, item);
        }
    }
    Ok((!is_same).then(|| document.to_string()))
}

fn no_table() -> Failure {
    Failure::new("the file has something else where it lists servers")
}

fn item(of: &Value) -> Result<Item, Failure> {
    match of {
        Value::String(text) => Ok(value(text.as_str())),
        Value::Array(items) => Ok(value(items.iter().filter_map(Value::as_str).collect::<Array>())),
        Value::Bool(flag) => Ok(value(*flag)),
        Value::Null | Value::Number(_) | Value::Object(_) => Err(no_table()),
    }
}

/// Returns a value as text, without the space and the comments around it.
fn plain(item: &Item) -> String {
    let mut item = item.clone();
    if let Some(value) = item.as_value_mut() {
        value.decor_mut().clear();
        if let Some(array) = value.as_array_mut() {
            array.iter_mut().for_each(|one| one.decor_mut().clear());
            array.set_trailing("");
            array.set_trailing_comma(false);
        }
    }
    // Quotes may be of either kind.
    item.to_string().replace(['\'', '"', ' '], "\u{1}").replace('\u{1}', "")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry() -> Entry {
        vec![("command", json!("/bin/azolla")), ("args", json!(["--home", "/h", "mcp"]))]
    }

    fn changed(text: &str) -> String {
        let changed = with(text, "mcp_servers", &entry()).unwrap().expect("it is not there yet");
        assert_eq!(with(&changed, "mcp_servers", &entry()).unwrap(), None, "{changed}");
        changed
    }

    const SERVER: &str =
        "[mcp_servers.azolla]\ncommand = \"/bin/azolla\"\nargs = [\"--home\", \"/h\", \"mcp\"]\n";

    #[test]
    fn a_new_file_holds_the_server_alone() {
        assert_eq!(changed(""), SERVER);
        assert_eq!(alone("mcp_servers", &entry()).unwrap(), SERVER);
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        let before = "# mine\nmodel = \"x\" # why\n\n[mcp_servers.other]\ncommand = 'o'\n\n[z]\na=1\n";
        let after = changed(before);
        assert_eq!(after.replace(&format!("\n{SERVER}"), ""), before, "{after}");
    }

    #[test]
    fn another_way_takes_the_place_of_the_old_one_and_what_was_added_stays() {
        let old = "[mcp_servers.azolla]\nurl = \"http://x\"\nstartup_timeout_sec = 20 # slow\n";
        assert_eq!(
            changed(old),
            "[mcp_servers.azolla]\nstartup_timeout_sec = 20 # slow\ncommand = \"/bin/azolla\"\n\
             args = [\"--home\", \"/h\", \"mcp\"]\n"
        );
    }

    #[test]
    fn what_somebody_wrote_otherwise_is_the_same() {
        let own = "[mcp_servers]\nazolla = { command = '/bin/azolla', args = [ '--home', '/h', 'mcp', ] }\n";
        assert_eq!(with(own, "mcp_servers", &entry()).unwrap(), None);
    }

    #[test]
    fn what_cannot_be_changed_safely_is_left_alone() {
        for text in ["a = ", "mcp_servers = 1", "[mcp_servers]\nazolla = 1"] {
            assert!(with(text, "mcp_servers", &entry()).is_err(), "{text}");
        }
    }
}
