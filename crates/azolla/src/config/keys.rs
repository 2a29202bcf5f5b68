//! Every key of `config.toml` and `.azolla.toml`, in one table: what the reader knows comes from here, and so does
//! docs/configuration.md. A key without its meaning cannot be read.

mod azolla;
mod limits;
mod machine;
mod provider;

use azolla_protocol::{Limit, Unit};

pub(super) use self::{
    azolla::{CHECK, CODE_PATCH, TASK_MGMT},
    limits::{ATTENTION, CAPS, DEADLINES, LIMITS},
    machine::{HTTP, NOTIFY, PEER, SANDBOX},
    provider::{ANTHROPIC, COMMAND, MAX_TOKENS, OPENAI, PRICE, RECORDED},
};

/// One table of a file.
pub(crate) struct Table {
    /// How it is written, such as `[http]` or `[peer.<id>]`; empty for the file itself.
    pub(crate) header: &'static str,
    /// Which of several that are written alike it is, such as `kind = "command"`; empty if there is only one.
    pub(crate) variant: &'static str,
    /// What it is about.
    pub(crate) about: &'static str,
    /// A header as one would type it.
    pub(crate) example: &'static str,
    /// Its keys, in groups that tables share.
    pub(crate) groups: &'static [&'static [Key]],
}

/// One key.
pub(crate) struct Key {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it takes.
    pub(crate) form: Form,
    /// What holds without it.
    pub(crate) unset: Unset,
    /// What it is for.
    pub(crate) meaning: &'static str,
    /// A value as one would type it.
    pub(crate) example: &'static str,
    /// Lines that it does not go without; empty if it needs none.
    pub(crate) with: &'static str,
}

/// What a key takes.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// Exactly this text, which says which table it is.
    Fixed(&'static str),
    /// A text; in words, which.
    Text(&'static str),
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// An absolute path, where `~/` is the home directory.
    Path,
    /// A list of such paths.
    Paths,
    /// A list of texts; in words, which.
    Words(&'static str),
    /// true or false.
    Flag,
    /// A whole number in the range of a limit.
    Whole(&'static Limit),
    /// US dollars in the range of a limit.
    Money(&'static Limit),
    /// A number from 0 to this.
    Decimal(f64),
    /// A length of time, or "none".
    Period,
    /// A list of inline tables, described by their own.
    Tables,
}

/// What holds where a key is not there.
#[derive(Clone, Copy)]
pub(crate) enum Unset {
    /// Nothing does: it has to be there.
    Needed,
    /// This value.
    Value(&'static str),
    /// The default of its limit.
    OfLimit,
    /// Something else, in words.
    Words(&'static str),
}

impl Table {
    /// Returns its keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static Key> + use<> {
        self.groups.iter().flat_map(|group| group.iter())
    }

    /// Tells whether it has a key of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.keys().any(|key| key.name == name)
    }

    /// Returns the first word of its header: what stands at the top of the file.
    pub(crate) fn root(&self) -> &'static str {
        self.header.trim_matches(['[', ']']).split('.').next().unwrap_or_default()
    }

    /// Tells whether there are many of it, each with a name of its own.
    pub(crate) fn is_named(&self) -> bool {
        self.header.contains(".<")
    }
}

/// The tables of `config.toml`, in the order of the reference.
pub(crate) const USER_TABLES: [&Table; 14] = [
    &TASK_MGMT,
    &CODE_PATCH,
    &COMMAND,
    &ANTHROPIC,
    &OPENAI,
    &RECORDED,
    &CAPS,
    &ATTENTION,
    &DEADLINES,
    &NOTIFY,
    &SANDBOX,
    &HTTP,
    &PEER,
    &LIMITS,
];

/// The table of `.azolla.toml`: the file itself.
pub(crate) const REPOSITORY_TABLE: &Table = &azolla::REPOSITORY;

/// The table of one of `checks`, in both files.
pub(crate) const CHECK_TABLE: &Table = &CHECK;

/// Returns what may stand at the top of `config.toml`.
pub(super) fn roots() -> Vec<&'static str> {
    let mut roots: Vec<_> = USER_TABLES.iter().map(|table| table.root()).collect();
    roots.dedup();
    roots
}

impl Key {
    /// Returns what it takes, in words.
    pub(crate) fn takes(&self) -> String {
        match self.form {
            Form::Fixed(text) => format!("`\"{text}\"`"),
            Form::Text(which) => which.to_owned(),
            Form::OneOf(texts) => {
                texts.iter().map(|text| format!("`\"{text}\"`")).collect::<Vec<_>>().join(", ")
            }
            Form::Path => "absolute path, or below `~/`".to_owned(),
            Form::Paths => "list of absolute paths, or below `~/`".to_owned(),
            Form::Words(which) => which.to_owned(),
            Form::Flag => "`true` or `false`".to_owned(),
            Form::Whole(limit) => whole(limit),
            Form::Money(limit) => {
                let most = limit.maximum.map_or_else(String::new, |most| format!(" to {}", dollars(most)));
                format!("US dollars, from 0{most}")
            }
            Form::Decimal(most) => format!("number from 0 to {most}"),
            Form::Period => "length of time (`s`, `min`, `h`, `d`), or `\"none\"`".to_owned(),
            Form::Tables => "list of tables".to_owned(),
        }
    }

    /// Returns what holds without it, in words.
    pub(crate) fn without(&self) -> String {
        match (self.unset, self.form) {
            (Unset::Needed, _) => "has to be there".to_owned(),
            (Unset::Value(value), _) => format!("`{value}`"),
            (Unset::Words(words), _) => words.to_owned(),
            (Unset::OfLimit, Form::Whole(limit) | Form::Money(limit)) => {
                format!("`{}`", self.default_of(limit))
            }
            (Unset::OfLimit, _) => String::new(),
        }
    }

    /// Returns a limit's default as it would be typed here.
    pub(crate) fn default_of(&self, limit: &Limit) -> String {
        match self.form {
            Form::Money(_) => dollars(limit.default),
            _ => limit.default.to_string(),
        }
    }
}

fn whole(limit: &Limit) -> String {
    let unit = match limit.unit {
        Unit::Milliseconds => "milliseconds",
        Unit::Bytes => "bytes",
        Unit::Tokens => "tokens",
        Unit::Count | Unit::MicroUsd => "whole number",
    };
    match limit.maximum {
        Some(maximum) => format!("{unit}, {} to {maximum}", limit.minimum),
        None => format!("{unit}, {} or more", limit.minimum),
    }
}

/// Returns millionths of a dollar as dollars, with no more decimals than there are.
fn dollars(microusd: u64) -> String {
    let (whole, rest) = (microusd / 1_000_000, microusd % 1_000_000);
    let decimals = format!("{rest:06}");
    let decimals = decimals.trim_end_matches('0');
    if decimals.is_empty() { whole.to_string() } else { format!("{whole}.{decimals}") }
}

#[cfg(test)]
mod tests;
