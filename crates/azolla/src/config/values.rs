//! What a configuration says, key by key: the value as it is written and its line, or that there is none.

use toml::{Spanned, de::DeTable, de::DeValue};

use super::{
    Problem,
    keys::{Form, Key, Table, USER_TABLES},
    read,
};

/// One table, as it is in the file; of those without a name also what is not there.
pub(crate) struct Part {
    /// Its header, such as `[http]` or `[azolla.az-app]`.
    pub(crate) header: String,
    /// Every key that it may have.
    pub(crate) settings: Vec<Setting>,
}

/// One key of it.
pub(crate) struct Setting {
    /// The key.
    pub(crate) key: &'static Key,
    /// Its value, if the file has one.
    pub(crate) written: Option<Written>,
}

/// A value in the file.
pub(crate) struct Written {
    /// As it stands there, in one line and without a password.
    pub(crate) value: String,
    /// Where, from 1.
    pub(crate) line: usize,
}

/// Takes the text of a configuration apart, which was read without a fault before.
pub(crate) fn parts(text: &str, path: &std::path::Path) -> Result<Vec<Part>, Problem> {
    let parsed = read::parse(text).map_err(|fault| fault.at(text, path))?;
    let mut parts = Vec::new();
    for table in USER_TABLES {
        let root = get(&parsed, table.root()).and_then(DeValue::as_table);
        if !table.is_named() {
            parts.push(part(text, table.header.to_owned(), table, root));
            continue;
        }
        for (name, value) in root.into_iter().flat_map(|root| root.iter()) {
            let found = value.get_ref().as_table();
            if found.is_some_and(|found| is_of(table, found)) {
                parts.push(part(text, format!("[{}.{}]", table.root(), name.get_ref()), table, found));
            }
        }
    }
    Ok(parts)
}

fn part(text: &str, header: String, table: &Table, found: Option<&DeTable<'_>>) -> Part {
    let written = |key: &Key| {
        let (at, value) = found?.iter().find(|(name, _)| name.get_ref() == key.name)?;
        let line = text.get(..at.span().start)?.matches('\n').count() + 1;
        Some(Written { value: one_line(text.get(value.span())?), line })
    };
    let settings = table.keys().map(|key| Setting { key, written: written(key) }).collect();
    Part { header, settings }
}

/// Tells whether a table of the file is of this sort, where several are written alike.
fn is_of(table: &Table, found: &DeTable<'_>) -> bool {
    table.keys().all(|key| match key.form {
        Form::Fixed(text) => get(found, key.name).and_then(DeValue::as_str) == Some(text),
        _ => true,
    })
}

fn get<'a>(table: &'a DeTable<'_>, name: &str) -> Option<&'a DeValue<'a>> {
    table.iter().find(|(key, _)| key.get_ref() == name).map(|(_, value): (_, &Spanned<_>)| value.get_ref())
}

/// Puts a value into one line; the password of an address is left out (T29).
fn one_line(value: &str) -> String {
    let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((scheme, rest)) = value.split_once("://") else { return value };
    let end = if value.ends_with('"') { "\"" } else { "" };
    if rest.to_ascii_lowercase().contains("password") {
        return format!("{scheme}://…{end}");
    }
    match rest.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((name, _)) => format!("{scheme}://{name}:…@{host}"),
            None => value,
        },
        None => value,
    }
}

#[cfg(test)]
mod tests;
