//! Reads a configuration with the place of every key and value, so that each fault can be shown where it is.

mod azolla;
mod http;
mod notify;
mod peer;
mod provider;
mod section;

use azolla_control_plane::sandbox::{SandboxMode, SandboxSettings};
use azolla_protocol::{Deadlines, Limit, limits};
use toml::de::DeTable;

use self::section::{Period, Section};
use super::{
    CheckConfig, Config, Limits,
    keys::{self, Form, Table},
    report::Fault,
};

pub(crate) use azolla::BUILTIN;

/// Where a limit of the protocol's table is set, if not under `[limits]`.
const ELSEWHERE: [(&Limit, &str); 2] =
    [(&limits::REVIEW_LIMIT, "[attention]"), (&limits::MAX_CONCURRENT, "the section of its azolla")];

/// Reads `config.toml`.
pub(super) fn config(text: &str) -> Result<Config, Fault> {
    let parsed = parse(text)?;
    let file = Section::new("the file", &parsed);
    file.only_named(&keys::roots())?;
    let mut config = Config::default();
    if let Some(section) = file.section("limits")? {
        refuse_elsewhere(&section)?;
        read_limits(&section, &keys::LIMITS, &mut config.limits)?;
    }
    if let Some(section) = file.section("attention")? {
        read_limits(&section, &keys::ATTENTION, &mut config.limits)?;
    }
    if let Some(section) = file.section("caps")? {
        read_limits(&section, &keys::CAPS, &mut config.limits)?;
    }
    if let Some(section) = file.section("sandbox")? {
        config.sandbox = read_sandbox(&section)?;
    }
    if let Some(section) = file.section("deadlines")? {
        config.deadlines = read_deadlines(&section)?;
    }
    if let Some(section) = file.section("notify")? {
        config.notify = notify::read(&section)?;
    }
    for (name, section) in file.sections("provider")? {
        if name.get_ref() == BUILTIN {
            let what = "`builtin` is always there, and needs no section";
            return Err(Fault::new(name.span(), what).help("give this one another name"));
        }
        config.providers.insert(name.get_ref().to_string(), provider::read(&section, config.sandbox.mode)?);
    }
    for (name, section) in file.sections("azolla")? {
        config.azollas.push(azolla::read(name, &section, &config.providers)?);
    }
    config.azollas.sort_by(|a, b| a.id.as_str().cmp(b.id.as_str()));
    for (name, section) in file.sections("peer")? {
        config.peers.push(peer::read(name, &section, &config.azollas)?);
    }
    config.peers.sort_by(|a, b| a.id.as_str().cmp(b.id.as_str()));
    if let Some(section) = file.section("http")? {
        config.http = http::read(&section)?;
    }
    Ok(config)
}

/// Reads the text of a TOML file.
pub(super) fn parse(text: &str) -> Result<DeTable<'_>, Fault> {
    DeTable::parse(text).map(toml::Spanned::into_inner).map_err(|error| {
        let what = format!("not valid TOML: {}", error.message().lines().next().unwrap_or_default());
        Fault::whole(error.span(), what)
    })
}

pub(super) use section::Section as FileSection;

/// Says where a limit goes that is not set under `[limits]`.
fn refuse_elsewhere(section: &Section<'_>) -> Result<(), Fault> {
    for (limit, place) in ELSEWHERE {
        if let Some(key) = section.key(limit.name) {
            let what = format!("`{}` is not set in [limits]", limit.name);
            return Err(Fault::new(key, what).help(format!("it goes under {place}")));
        }
    }
    Ok(())
}

/// Reads every limit of a table.
fn read_limits(section: &Section<'_>, table: &Table, configured: &mut Limits) -> Result<(), Fault> {
    section.only(&[table])?;
    for key in table.keys() {
        let (limit, value) = match key.form {
            Form::Whole(limit) => (limit, section.limit(key.name, limit)?),
            Form::Money(limit) => (limit, section.money(key.name, limit)?),
            _ => continue,
        };
        if let Some(value) = value {
            configured.set(limit, value);
        }
    }
    Ok(())
}

/// Reads `urgency_0 = "1h"` and so on; "none" is no deadline.
fn read_deadlines(section: &Section<'_>) -> Result<Deadlines, Fault> {
    section.only(&[&keys::DEADLINES])?;
    let mut deadlines = Deadlines::default();
    for (key, deadline) in keys::DEADLINES.keys().zip(&mut deadlines.0) {
        match section.period(key.name)? {
            Some(Period::Never) => *deadline = None,
            Some(Period::Every(time)) => {
                *deadline = Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
            }
            None => {}
        }
    }
    Ok(deadlines)
}

fn read_sandbox(section: &Section<'_>) -> Result<SandboxSettings, Fault> {
    section.only(&[&keys::SANDBOX])?;
    Ok(SandboxSettings {
        mode: section.choice("mode", &SANDBOX_MODES)?.unwrap_or_default(),
        read: section.paths("read")?,
        write: section.paths("write")?,
        network: section.flag("network")?.unwrap_or(false),
    })
}

const SANDBOX_MODES: [(&str, SandboxMode); 3] = [
    ("off", SandboxMode::Off),
    ("best-effort", SandboxMode::BestEffort),
    ("required", SandboxMode::Required),
];

/// Reads `checks = [{name, command, time_ms}]`. What the record of a gate could not hold is refused here.
pub(super) fn checks(section: &Section<'_>) -> Result<Vec<CheckConfig>, Fault> {
    let listed = section.list("checks")?;
    if let (true, Some(span)) = (listed.len() > CHECKS_MAX, section.key("checks")) {
        return Err(Fault::new(span, format!("there are more than {CHECKS_MAX} checks"))
            .help("let one of them run several commands"));
    }
    let mut checks: Vec<CheckConfig> = Vec::new();
    for check in listed {
        check.only(&[&keys::CHECK])?;
        let (name, span) = check.needed_text("name")?;
        if name.chars().count() > NAME_CHARS_MAX {
            let what = format!("the name of a check has at most {NAME_CHARS_MAX} characters");
            return Err(Fault::new(span, what));
        }
        if checks.iter().any(|other| other.name == name) {
            return Err(Fault::new(span, format!("there is a check `{name}` already")));
        }
        let command = check.needed_words("command")?;
        check.words_within("command", WORDS_MAX, WORD_CHARS_MAX)?;
        let time_ms = check.limit("time_ms", &limits::CHECK_MS)?;
        checks.push(CheckConfig { name, command, time_ms });
    }
    Ok(checks)
}

/// What the schema of gate_evidence has room for; a check is recorded twice, with the change and without it.
const CHECKS_MAX: usize = 400;
const NAME_CHARS_MAX: usize = 200;
const WORDS_MAX: usize = 200;
const WORD_CHARS_MAX: usize = 4096;
