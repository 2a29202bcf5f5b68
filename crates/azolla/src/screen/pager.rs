//! The operator's pager, for long pages on a terminal.

use std::{
    io::{IsTerminal, Write},
    process::Stdio,
};

/// What became of a page.
pub(super) enum Paged {
    /// The pager showed it.
    Shown,
    /// There is no terminal or no pager.
    Not,
}

/// Shows `text` in `$AZOLLA_PAGER`, `$PAGER` or `less`.
pub(super) fn page(text: &str) -> Paged {
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Paged::Not;
    }
    let named = ["AZOLLA_PAGER", "PAGER"].into_iter().find_map(|name| std::env::var(name).ok());
    let command = named.unwrap_or_else(|| "less".to_owned());
    let mut words = command.split_whitespace();
    let Some(program) = words.next().filter(|program| *program != "cat") else { return Paged::Not };
    let coloured = anstream::stdout().current_choice() != anstream::ColorChoice::Never;
    let shown = if coloured { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() };
    #[expect(
        clippy::disallowed_methods,
        reason = "a pager has the operator's terminal; nothing of it is captured"
    )]
    let mut pager = std::process::Command::new(program);
    // -F: a page that fits is printed and the pager ends; -R: our colours; -X: it stays on the screen.
    pager
        .args(words)
        .env("LESS", std::env::var("LESS").unwrap_or_else(|_| "FRX".to_owned()))
        .stdin(Stdio::piped());
    let Ok(mut running) = pager.spawn() else { return Paged::Not };
    if let Some(mut input) = running.stdin.take() {
        // Who quits the pager has read enough.
        let _ = input.write_all(shown.as_bytes());
    }
    let _ = running.wait();
    Paged::Shown
}
