//! `[notify]`: how the operator is told that something waits, and when not.

use std::{fmt, str::FromStr};

/// How notifications reach the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotifyConfig {
    /// Whether they pop up on the desktop, where there is one.
    pub(crate) desktop: bool,
    /// Program and arguments that get each one as a JSON document; none if empty.
    pub(crate) command: Vec<String>,
    /// When nothing is sent.
    pub(crate) quiet: Option<QuietHours>,
}

impl Default for NotifyConfig {
    fn default() -> Self {
        Self { desktop: true, command: Vec::new(), quiet: None }
    }
}

/// A part of every day, by the local time of this machine, in minutes since midnight. It may go over midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QuietHours {
    from: u16,
    to: u16,
}

/// A text that is no part of a day.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotQuiet;

impl QuietHours {
    /// Tells whether this minute of the day is one of them. The end is not.
    pub(crate) fn holds(self, minute: u16) -> bool {
        if self.from < self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        }
    }
}

impl FromStr for QuietHours {
    type Err = NotQuiet;

    fn from_str(text: &str) -> Result<Self, NotQuiet> {
        let (from, to) = text.split_once('-').ok_or(NotQuiet)?;
        let (from, to) = (minute(from.trim()).ok_or(NotQuiet)?, minute(to.trim()).ok_or(NotQuiet)?);
        if from == to { Err(NotQuiet) } else { Ok(Self { from, to }) }
    }
}

impl fmt::Display for QuietHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [from, to] = [self.from, self.to].map(|minute| format!("{:02}:{:02}", minute / 60, minute % 60));
        write!(f, "{from}-{to}")
    }
}

/// Reads `07:00`, in two digits each.
fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str, below: u16| {
        let is_one = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u16>().ok().filter(|number| is_one && *number < below)
    };
    Some(number(hour, 24)? * 60 + number(minute, 60)?)
}

#[cfg(test)]
mod tests;
