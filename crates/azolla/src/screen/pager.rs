//! The operator's pager, for long pages on a terminal.

use std::{
    io::{IsTerminal, Write},
    path::Path,
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
};

use tokio::signal::unix::SignalKind;

/// Whether there is to be none.
static IS_OFF: AtomicBool = AtomicBool::new(false);

/// Lets no pager start from here on.
pub(super) fn turn_off() {
    IS_OFF.store(true, Ordering::Relaxed);
}

/// What became of a page.
pub(super) enum Paged {
    /// The pager showed it.
    Shown,
    /// There is no terminal or no pager.
    Not,
}

/// Shows `text` in `$AZOLLA_PAGER`, `$PAGER` or `less`. Nothing, or `cat`, is no pager; one that cannot be started neither.
pub(super) fn page(text: impl FnOnce() -> String) -> Paged {
    let is_off = IS_OFF.load(Ordering::Relaxed);
    if is_off || !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() || is_dumb() {
        return Paged::Not;
    }
    let named = ["AZOLLA_PAGER", "PAGER"].into_iter().find_map(|name| std::env::var(name).ok());
    let command = named.unwrap_or_else(|| "less".to_owned());
    let mut words = command.split_whitespace();
    let Some(program) = words.next().filter(|program| *program != "cat") else { return Paged::Not };
    let coloured = anstream::stdout().current_choice() != anstream::ColorChoice::Never;
    let shown = if coloured { text() } else { anstream::adapter::strip_str(&text()).to_string() };
    #[expect(
        clippy::disallowed_methods,
        reason = "a pager has the operator's terminal; nothing of it is captured"
    )]
    let mut pager = std::process::Command::new(program);
    pager.args(words).stdin(Stdio::piped());
    if Path::new(program).file_name().is_some_and(|name| name == "less") {
        // Our colours, whatever LESS says.
        pager.arg("-R");
    }
    if std::env::var_os("LESS").is_none() {
        // F: a page that fits is printed and the pager ends; X: it stays on the screen.
        pager.env("LESS", "FRX");
    }
    // Ctrl-C is for the pager, which has the terminal: without this it would end us and leave the pager behind.
    let _held = tokio::signal::unix::signal(SignalKind::interrupt());
    let Ok(mut running) = pager.spawn() else { return Paged::Not };
    if let Some(mut input) = running.stdin.take() {
        // Who quits the pager has read enough.
        let _ = input.write_all(shown.as_bytes());
    }
    let _ = running.wait();
    Paged::Shown
}

/// Tells whether the terminal can do no more than print.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}
