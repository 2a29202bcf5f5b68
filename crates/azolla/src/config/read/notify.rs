//! `[notify]`: how the operator is told that something waits.

use super::Section;
use crate::config::{NotifyConfig, keys, report::Fault};

/// Reads the section.
pub(super) fn read(section: &Section<'_>) -> Result<NotifyConfig, Fault> {
    section.only(&[&keys::NOTIFY])?;
    let default = NotifyConfig::default();
    let command = match section.key("command") {
        Some(_) => section.needed_words("command")?,
        None => default.command,
    };
    let quiet = match section.text("quiet")? {
        Some((text, span)) => Some(text.parse().map_err(|_| {
            Fault::new(span, "`quiet` is no part of a day")
                .help("two times of the day, such as \"22:00-07:00\"")
        })?),
        None => None,
    };
    Ok(NotifyConfig { desktop: section.flag("desktop")?.unwrap_or(default.desktop), command, quiet })
}
