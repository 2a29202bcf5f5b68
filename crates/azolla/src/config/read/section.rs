//! One table of a file, with typed looks at its keys.

use std::{ops::Range, path::PathBuf, time::Duration};

use azolla_protocol::Limit;
use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

use crate::config::{keys::Table, report::Fault};

/// A table, and how an error names it.
pub(in crate::config) struct Section<'a> {
    name: String,
    table: &'a DeTable<'a>,
    /// Where the table is, for what it lacks.
    span: Range<usize>,
}

impl<'a> Section<'a> {
    pub(in crate::config) fn new(name: impl Into<String>, table: &'a DeTable<'a>) -> Self {
        Self { name: name.into(), table, span: 0..0 }
    }

    /// Refuses keys that are in none of the tables that this may be.
    pub(in crate::config) fn only(&self, tables: &[&Table]) -> Result<(), Fault> {
        let mut known: Vec<_> = Vec::new();
        for key in tables.iter().flat_map(|table| table.keys()) {
            if !known.contains(&key.name) {
                known.push(key.name);
            }
        }
        self.only_named(&known)
    }

    /// Refuses keys that are not `known`.
    pub(in crate::config) fn only_named(&self, known: &[&str]) -> Result<(), Fault> {
        match self.table.keys().find(|key| !known.contains(&key.get_ref().as_ref())) {
            Some(key) => Err(self.unknown(key.get_ref(), key.span(), known)),
            None => Ok(()),
        }
    }

    /// Returns the fault of a key that is not `known`.
    pub(in crate::config) fn unknown(&self, key: &str, span: Range<usize>, known: &[&str]) -> Fault {
        Fault::unknown(span, key, &self.name, known)
    }

    /// Returns where a key is.
    pub(in crate::config) fn key(&self, key: &str) -> Option<Range<usize>> {
        self.table.keys().find(|found| found.get_ref() == key).map(Spanned::span)
    }

    /// Returns a text that is not empty, and where it is.
    pub(in crate::config) fn text(&self, key: &str) -> Result<Option<(String, Range<usize>)>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match value.get_ref().as_str() {
            Some(text) if !text.trim().is_empty() => Ok(Some((text.to_owned(), value.span()))),
            Some(_) => Err(Fault::new(value.span(), format!("`{key}` must not be empty"))),
            None => Err(wrong(key, value, "a text")),
        }
    }

    /// Returns a text that has to be there.
    pub(in crate::config) fn needed_text(&self, key: &str) -> Result<(String, Range<usize>), Fault> {
        self.text(key)?.ok_or_else(|| self.lacks(key))
    }

    /// Returns one of a few words, or none.
    pub(in crate::config) fn choice<T: Copy>(
        &self,
        key: &str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, Fault> {
        let Some((text, span)) = self.text(key)? else { return Ok(None) };
        match choices.iter().find(|(word, _)| *word == text) {
            Some((_, choice)) => Ok(Some(*choice)),
            None => {
                let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
                Err(Fault::new(span, format!("`{key}` is not `{text}`"))
                    .help(format!("one of {}", words.join(", "))))
            }
        }
    }

    /// Returns a number inside the range of `limit`.
    pub(in crate::config) fn limit(&self, key: &str, limit: &Limit) -> Result<Option<u64>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let Some(integer) = value.get_ref().as_integer() else {
            return Err(wrong(key, value, "a whole number"));
        };
        let number = u64::from_str_radix(integer.as_str(), integer.radix())
            .map_err(|_| wrong(key, value, "a whole number from 0 up"))?;
        let named = Limit { name: "it", ..*limit };
        named.check(number).map(Some).map_err(|refused| {
            Fault::new(value.span(), format!("`{key}` is out of its range")).help(refused.to_string())
        })
    }

    /// Returns an amount of US dollars, in millionths of one, inside the range of `limit`.
    pub(in crate::config) fn money(&self, key: &str, limit: &Limit) -> Result<Option<u64>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let written = match value.get_ref() {
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
            DeValue::Float(float) => float.as_str(),
            _ => return Err(wrong(key, value, "an amount of US dollars, such as 2 or 0.50")),
        };
        let microusd = microusd(written).ok_or_else(|| {
            Fault::new(value.span(), format!("`{key}` must be an amount of US dollars from 0 up"))
                .help("digits, with up to six decimals, such as 2 or 0.50")
        })?;
        limit.check(microusd).map(Some).map_err(|_| {
            let most = limit.maximum.unwrap_or(u64::MAX) / 1_000_000;
            Fault::new(value.span(), format!("`{key}` is out of its range"))
                .help(format!("it must be at most {most} dollars"))
        })
    }

    /// Returns a number, with or without decimals, from 0 to `most`.
    pub(in crate::config) fn number(&self, key: &str, most: f64) -> Result<Option<f64>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let written = match value.get_ref() {
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
            DeValue::Float(float) => float.as_str(),
            _ => return Err(wrong(key, value, "a number")),
        };
        match written.parse::<f64>() {
            Ok(number) if (0.0..=most).contains(&number) => Ok(Some(number)),
            _ => Err(Fault::new(value.span(), format!("`{key}` is out of its range"))
                .help(format!("it must be from 0 to {most}"))),
        }
    }

    /// Returns a length of time, such as "90 min", "6h" or "2d"; or never, written "none".
    pub(in crate::config) fn period(&self, key: &str) -> Result<Option<Period>, Fault> {
        let Some((text, span)) = self.text(key)? else { return Ok(None) };
        let fault = || {
            Fault::new(span.clone(), format!("`{key}` is no length of time"))
                .help("a whole number and s, min, h or d, such as \"6h\"; or \"none\"")
        };
        period(&text).ok_or_else(fault).map(Some)
    }

    /// Returns yes or no, or none.
    pub(in crate::config) fn flag(&self, key: &str) -> Result<Option<bool>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        value.get_ref().as_bool().map(Some).ok_or_else(|| wrong(key, value, "true or false"))
    }

    /// Returns a list of absolute paths, where `~/` is the operator's home; empty if the key is not there.
    pub(in crate::config) fn paths(&self, key: &str) -> Result<Vec<PathBuf>, Fault> {
        let words = self.words(key)?;
        words.iter().zip(self.items(key)).map(|(word, span)| absolute(word, span, key)).collect()
    }

    /// Returns an absolute path, where `~/` is the operator's home.
    pub(in crate::config) fn path(&self, key: &str) -> Result<Option<PathBuf>, Fault> {
        let Some((text, span)) = self.text(key)? else { return Ok(None) };
        absolute(&text, span, key).map(Some)
    }

    /// Returns where the items of a list are.
    pub(in crate::config) fn items(&self, key: &str) -> impl Iterator<Item = Range<usize>> {
        let array = self.value(key).and_then(|value| value.get_ref().as_array());
        array.into_iter().flat_map(|array| array.iter().map(Spanned::span))
    }

    /// Returns the keys that are there, in the order of the file.
    pub(in crate::config) fn keys(&self) -> Vec<(&str, Range<usize>)> {
        let mut keys: Vec<_> = self.table.keys().map(|key| (key.get_ref().as_ref(), key.span())).collect();
        keys.sort_by_key(|(_, span)| span.start);
        keys
    }

    /// Returns a list of texts; empty if the key is not there.
    pub(in crate::config) fn words(&self, key: &str) -> Result<Vec<String>, Fault> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let array = value.get_ref().as_array().ok_or_else(|| wrong(key, value, "a list of texts"))?;
        let word = |item: &Spanned<DeValue<'_>>| {
            item.get_ref().as_str().map(str::to_owned).ok_or_else(|| wrong(key, item, "a list of texts"))
        };
        array.iter().map(word).collect()
    }

    /// Returns a list of texts that has to be there, with a first one that is not empty: a program.
    pub(in crate::config) fn needed_words(&self, key: &str) -> Result<Vec<String>, Fault> {
        let value = self.value(key).ok_or_else(|| self.lacks(key))?;
        let words = self.words(key)?;
        match words.first() {
            Some(program) if !program.trim().is_empty() => Ok(words),
            _ => Err(Fault::new(value.span(), format!("`{key}` names no program"))
                .help("such as [\"cargo\", \"test\"]")),
        }
    }

    /// Refuses a list with more texts, or with one of more characters.
    pub(in crate::config) fn words_within(
        &self,
        key: &str,
        words_max: usize,
        chars_max: usize,
    ) -> Result<(), Fault> {
        let Some(value) = self.value(key) else { return Ok(()) };
        let words = value.get_ref().as_array().into_iter().flat_map(|array| array.iter());
        for (count, word) in words.enumerate() {
            if count == words_max {
                return Err(Fault::new(word.span(), format!("`{key}` has more than {words_max} words"))
                    .help("put the rest into a script"));
            }
            if word.get_ref().as_str().is_some_and(|text| text.chars().count() > chars_max) {
                let what = format!("a word of `{key}` has more than {chars_max} characters");
                return Err(Fault::new(word.span(), what).help("put it into a script"));
            }
        }
        Ok(())
    }

    /// Returns a table below this one.
    pub(in crate::config) fn section(&self, key: &str) -> Result<Option<Section<'a>>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let table = value.get_ref().as_table().ok_or_else(|| wrong(key, value, "a section"))?;
        let span = self.key(key).unwrap_or_default();
        Ok(Some(Section { name: format!("[{key}]"), table, span }))
    }

    /// Returns the named tables below `key`: `[key.name]`.
    pub(in crate::config) fn sections(
        &self,
        key: &str,
    ) -> Result<Vec<(&'a Spanned<DeString<'a>>, Section<'a>)>, Fault> {
        let Some(all) = self.section(key)? else { return Ok(Vec::new()) };
        let one = |(name, value): (&'a Spanned<DeString<'a>>, &'a Spanned<DeValue<'a>>)| {
            let table = value.get_ref().as_table().ok_or_else(|| {
                Fault::new(name.span(), format!("`{}` in [{key}] is not a section", name.get_ref()))
                    .help(format!("write [{key}.{}]", name.get_ref()))
            })?;
            let section = Section { name: format!("[{key}.{}]", name.get_ref()), table, span: name.span() };
            Ok((name, section))
        };
        all.table.iter().map(one).collect()
    }

    /// Returns the tables of a list; empty if the key is not there.
    pub(in crate::config) fn list(&self, key: &str) -> Result<Vec<Section<'a>>, Fault> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let array = value.get_ref().as_array().ok_or_else(|| wrong(key, value, "a list"))?;
        let one = |item: &'a Spanned<DeValue<'a>>| {
            let table = item.get_ref().as_table().ok_or_else(|| wrong(key, item, "a list of {…}"))?;
            Ok(Section { name: format!("an entry of `{key}`"), table, span: item.span() })
        };
        array.iter().map(one).collect()
    }

    /// The fault of a key that is not there.
    pub(in crate::config) fn lacks(&self, key: &str) -> Fault {
        Fault::new(self.span.clone(), format!("{} has no `{key}`", self.name)).help(format!("add {key} = …"))
    }

    fn value(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.iter().find(|(found, _)| found.get_ref() == key).map(|(_, value)| value)
    }
}

/// A length of time, as it is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) enum Period {
    /// This long.
    Every(Duration),
    /// For ever.
    Never,
}

/// Reads digits and a unit, up to ten years.
fn period(text: &str) -> Option<Period> {
    const MOST: u64 = 10 * 365 * 86_400;
    if text == "none" {
        return Some(Period::Never);
    }
    let unit = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let seconds = match text[unit..].trim() {
        "s" => 1,
        "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        // Nothing needs no unit.
        "" if text.trim_start_matches('0').is_empty() && !text.is_empty() => 1,
        _ => return None,
    };
    let seconds = text[..unit].parse::<u64>().ok()?.checked_mul(seconds)?;
    (seconds <= MOST).then(|| Period::Every(Duration::from_secs(seconds)))
}

fn wrong(key: &str, value: &Spanned<DeValue<'_>>, expected: &str) -> Fault {
    let found = value.get_ref().type_str();
    Fault::new(value.span(), format!("`{key}` must be {expected}")).help(format!("this is of type {found}"))
}

/// Reads digits with up to six decimals, exactly: a float would round.
fn microusd(written: &str) -> Option<u64> {
    let (whole, decimals) = written.split_once('.').unwrap_or((written, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let decimals = decimals.trim_end_matches('0');
    if !is_digits(whole) || !(decimals.is_empty() || is_digits(decimals)) || decimals.len() > 6 {
        return None;
    }
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(format!("{decimals:0<6}").parse().ok()?)
}

fn absolute(text: &str, span: Range<usize>, key: &str) -> Result<PathBuf, Fault> {
    let expanded = match text.strip_prefix("~/") {
        Some(below) => match std::env::home_dir() {
            Some(home) => home.join(below),
            None => {
                return Err(Fault::new(span, format!("`{key}` is below a home directory that nobody knows")));
            }
        },
        None => PathBuf::from(text),
    };
    if !expanded.is_absolute() {
        return Err(Fault::new(span, format!("`{key}` must be an absolute path")).help("/… or ~/…"));
    }
    Ok(expanded)
}
