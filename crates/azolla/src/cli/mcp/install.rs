//! `azolla mcp install`: shows how a client is set up, or does it.

use std::{
    fs,
    io::{ErrorKind, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use clap::Args;

use super::{
    clients::{Client, Entry, Form, TOKEN_VARIABLE, Way},
    json, toml,
};
use crate::{
    config::Place,
    deployment::Deployment,
    failure::Failure,
    screen::{FAINT, PLAIN, Page, quoted, remark},
    token::Token,
};

/// Show how an agent or an editor is set up for azolla, or set it up
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla mcp install                              for every client that is known\n  \
                  azolla mcp install --client claude\n  azolla mcp install --client codex --write\n  \
                  azolla mcp install --client vscode --http       through a running azolla up\n\n\
                  --write keeps a copy of the file beside it (.bak) and everything else in it. Over HTTP a client takes the\n\
                  token from the variable AZOLLA_MCP_TOKEN; it is written into no file."
)]
pub(super) struct Install {
    /// Only this client.
    #[arg(long, value_name = "CLIENT")]
    client: Option<Client>,

    /// Reach azolla through a running `azolla up`; otherwise the client starts azolla itself.
    #[arg(long)]
    http: bool,

    /// Change the client's own configuration.
    #[arg(long, requires = "client")]
    write: bool,
}

impl Install {
    pub(super) fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let way = self.way(home)?;
        match (self.client, self.write) {
            (Some(client), true) => write(client, &client.entry(&way)?)?,
            (Some(client), false) => show(&[client], &way)?,
            (None, _) => show(&Client::ALL, &way)?,
        }
        if self.http {
            let token = Place::find(home)?.mcp_token();
            // It is made here too, so that the next line works before the first start of the server.
            Token::in_file(&token)?;
            remark("before the client starts, in its environment:");
            let path = quoted(&token.display().to_string());
            remark(&format!("  export {TOKEN_VARIABLE}=\"$(cat {path})\""));
            remark("and the server runs with: azolla up");
        }
        Ok(ExitCode::SUCCESS)
    }

    fn way(&self, home: Option<&Path>) -> anyhow::Result<Way> {
        if self.http {
            let http = Deployment::load(home)?.config.http;
            let scheme = if http.tls.is_some() { "https" } else { "http" };
            let mut address = http.listen;
            if address.ip().is_unspecified() {
                address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
            }
            return Ok(Way::Http { url: format!("{scheme}://{address}/mcp") });
        }
        let command = std::env::current_exe().context("this program does not know where it is")?;
        let text = |path: &Path| {
            let text = path.to_str().map(str::to_owned);
            text.ok_or_else(|| Failure::new(format!("{} is no path that JSON can hold", path.display())))
        };
        let mut arguments = Vec::new();
        if let Some(home) = home {
            arguments.extend(["--home".to_owned(), text(&std::path::absolute(home)?)?]);
        }
        arguments.push("mcp".to_owned());
        Ok(Way::Stdio { command: text(&command)?, arguments })
    }
}

fn show(clients: &[Client], way: &Way) -> anyhow::Result<()> {
    let mut page = Page::default();
    for client in clients {
        let entry = match client.entry(way) {
            Ok(entry) => entry,
            Err(error) if clients.len() == 1 => return Err(error.into()),
            // One of several that has no such way.
            Err(_) => continue,
        };
        page.heading(client.title());
        page.line(FAINT, &format!("in {}:", client.file()?.display()));
        let text = match client.form() {
            Form::Json => json::alone(client.section(), &entry),
            Form::Toml => toml::alone(client.section(), &entry)?,
        };
        page.block("", PLAIN, &text);
    }
    page.show()?;
    let (client, http) = match clients {
        [one] => (one.word(), matches!(way, Way::Http { .. })),
        _ => ("CLIENT".to_owned(), matches!(way, Way::Http { .. })),
    };
    let http = if http { " --http" } else { "" };
    remark(&format!("to have it written there: azolla mcp install --client {client}{http} --write"));
    Ok(())
}

/// Writes a server into the configuration of a client.
fn write(client: Client, entry: &Entry) -> anyhow::Result<()> {
    let named = client.file()?;
    let failed = || format!("{} cannot be changed", named.display());
    // A link stays one: what it leads to is changed.
    let (path, before) = match fs::canonicalize(&named) {
        Ok(path) => (path.clone(), Some(fs::read_to_string(&path).with_context(failed)?)),
        Err(error) if error.kind() == ErrorKind::NotFound => (named.clone(), None),
        Err(error) => return Err(error).with_context(failed),
    };
    let text = before.as_deref().unwrap_or_default();
    let changed = match client.form() {
        Form::Json => json::with(text, client.section(), entry),
        Form::Toml => toml::with(text, client.section(), entry),
    };
    let changed = changed.map_err(|error| {
        let hint = format!("add by hand what this shows: azolla mcp install --client {}", client.word());
        Failure::new(format!("{} was left as it is: {error}", path.display())).hint(hint)
    })?;
    let Some(changed) = changed else {
        remark(&format!("{} has azolla already", path.display()));
        return Ok(());
    };
    if before.is_some() {
        let backup = back_up(&path).with_context(failed)?;
        remark(&format!("as it was: {}", backup.display()));
    }
    replace(&path, &changed).with_context(failed)?;
    remark(&format!("{} has azolla now; restart {} to use it", path.display(), client.title()));
    Ok(())
}

/// Copies a file beside it, over no earlier copy.
fn back_up(path: &Path) -> std::io::Result<PathBuf> {
    let beside = |end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    let text = fs::read(path)?;
    let mode = fs::metadata(path)?.permissions().mode() & 0o777;
    let mut number = 1;
    loop {
        let to = beside(&if number == 1 { ".bak".to_owned() } else { format!(".bak{number}") });
        match fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&to) {
            Ok(mut file) => {
                file.write_all(&text)?;
                file.sync_all()?;
                return Ok(to);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Replaces a file as a whole or not at all, for the same people as before, or for its owner alone.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Ok(before) = fs::metadata(path) {
        fs::set_permissions(file.path(), before.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
