//! `azolla man`: the manual pages, made of the same help.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use clap::{Args, Command};
use clap_mangen::Man as Page;

use crate::screen::remark;

/// Print the manual page, or write one for every command
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla man | man -l -\n  azolla man ~/.local/share/man/man1    then: man azolla-run"
)]
pub(crate) struct Man {
    /// Where to write the pages of all commands, a directory; otherwise the first page goes to stdout.
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let mut command = super::help::command().disable_help_subcommand(true);
        command.build();
        match self.directory {
            None => {
                let mut out = std::io::stdout().lock();
                out.write_all(rendered(&command)?.as_bytes())?;
                out.flush()?;
            }
            Some(directory) => {
                let failed = || format!("{} cannot be made", directory.display());
                std::fs::create_dir_all(&directory).with_context(failed)?;
                let count = write(&directory, &command)?;
                remark(&format!("{count} pages are in {}", directory.display()));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes the page of a command and of all that are below it; returns how many.
fn write(directory: &Path, command: &Command) -> anyhow::Result<usize> {
    let path = directory.join(format!("{}.1", command.get_display_name().unwrap_or("azolla")));
    std::fs::write(&path, rendered(command)?)
        .with_context(|| format!("{} cannot be written", path.display()))?;
    let mut count = 1;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        count += write(directory, below)?;
    }
    Ok(count)
}

fn rendered(command: &Command) -> anyhow::Result<String> {
    let page =
        Page::new(command.clone()).source(format!("azolla {}", env!("CARGO_PKG_VERSION"))).manual("azolla");
    let mut text = Vec::new();
    page.render(&mut text)?;
    // What stands below the options is mostly how the command is typed.
    Ok(String::from_utf8(text)?.replacen("\n.SH EXTRA\n", "\n.SH EXAMPLES\n", 1))
}
