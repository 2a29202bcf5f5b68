//! `azolla completions`: what a shell needs to complete commands and options.

use std::{io::Write, process::ExitCode};

use clap::Args;

/// Print what bash, zsh or fish needs to complete commands
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla completions bash > ~/.local/share/bash-completion/completions/azolla\n  \
                  azolla completions zsh > ~/.zfunc/_azolla      with fpath+=~/.zfunc before compinit in ~/.zshrc\n  \
                  azolla completions fish > ~/.config/fish/completions/azolla.fish\n\n\
                  The directory has to be there; a new shell has it."
)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Completions {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let shell = match self.shell {
            Shell::Bash => clap_complete::Shell::Bash,
            Shell::Zsh => clap_complete::Shell::Zsh,
            Shell::Fish => clap_complete::Shell::Fish,
        };
        // Put together first: a pipe that closes is no reason to panic.
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut super::help::command(), "azolla", &mut script);
        let mut out = std::io::stdout().lock();
        out.write_all(&script)?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}
