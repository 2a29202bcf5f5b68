//! How the operator would be told that something waits, and whether that worked the last time.

use super::Line;
use crate::{
    config::NotifyConfig,
    deployment::Deployment,
    home::Home,
    notify::{self, COMMAND, Channel, DESKTOP},
    screen::day_and_time,
};

/// Is there a way to the operator, and did it work the last time?
pub(super) fn look(deployment: &Deployment) -> Vec<Line> {
    let config = &deployment.config.notify;
    // A home that does not open has a line of its own.
    let home = Home::open(&deployment.place.home_store()).ok();
    let mut lines = Vec::new();
    if config.desktop {
        lines.push(with_failure(
            DESKTOP,
            Ok(desktop(config)),
            home.as_ref(),
            "try it: notify-send azolla works; or set desktop = false in [notify]",
        ));
    }
    if let Some(program) = config.command.first() {
        let environment = notify::environment();
        let found = notify::found(program, &environment).map(|path| path.display().to_string());
        let state = found.ok_or_else(|| format!("{program} was not found on PATH"));
        let fix = "correct command of [notify], or the program itself";
        lines.push(with_failure(COMMAND, state, home.as_ref(), fix));
    }
    if lines.is_empty() {
        lines.push(Line::good("notifications", "off, as configured"));
    }
    if let Some(quiet) = config.quiet {
        let held = home.and_then(|home| home.held_notices().ok()).filter(|held| *held > 0);
        let held = held.map_or_else(String::new, |held| format!("; held back now: {held}"));
        lines.push(Line::good("quiet hours", format!("{quiet}, local time{held}")));
    }
    lines
}

fn desktop(config: &NotifyConfig) -> String {
    let environment = notify::environment();
    let desktop = NotifyConfig { command: Vec::new(), ..config.clone() };
    match Channel::all(&desktop, &environment).first() {
        Some(Channel::NotifySend(path) | Channel::OsaScript(path)) => format!("by {}", path.display()),
        _ if notify::has_session(&environment) => "none: notify-send was not found on PATH".to_owned(),
        _ => "none: there is no desktop in this session".to_owned(),
    }
}

/// What there is, or how it failed since it last worked.
fn with_failure(channel: &str, state: Result<String, String>, home: Option<&Home>, fix: &str) -> Line {
    let what = format!("notify by {channel}");
    let failure = home.and_then(|home| home.channel_failure(channel).ok().flatten());
    match (state, failure) {
        // Work goes on all the same.
        (Err(state), _) => Line::attention(what, state, fix),
        (Ok(state), Some((at, reason))) => {
            let at = day_and_time(at);
            Line::attention(what, format!("{state}; the last one, at {at} UTC, was not sent: {reason}"), fix)
        }
        (Ok(state), None) => Line::good(what, state),
    }
}
