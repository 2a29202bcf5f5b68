//! `azolla peer`: the azollas of other machines, and the tokens that they and we prove ourselves with.

use std::{
    io::{BufRead, IsTerminal, Read},
    path::{Path, PathBuf},
    process::ExitCode,
};

use azolla_protocol::{AzollaId, AzollaType, Clock};
use azolla_substrate::SystemClock;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::{
    config::{self, Added, Config, KeyFrom, PeerConfig, read_text, write_text},
    deployment::Deployment,
    failure::Failure,
    home::{Home, PeerToken},
    nearest::nearest,
    screen::{self, FAINT, PLAIN, Page, STRONG, day_and_time, remark},
    token::{self, Existing, Token},
};

/// Add, list and remove azollas of other machines, and change their tokens
#[derive(Args)]
#[command(after_help = "Examples:\n  \
                  shop$ azolla peer add az-taskmgmt                          shows a token once\n  \
                  desk$ azolla peer add az-app --url https://shop:7517       reads that token from stdin\n  \
                  desk$ azolla peer list\n\n\
                  These are two machines, of which desk asks shop. \
                  A TASK_MGMT_AZOLLA may read objectives and pauses; nobody can write over this door. Changes of the \
                  list count from the next start of `azolla up`; a token that is changed or removed is worth nothing \
                  at once.")]
pub(crate) struct Peer {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Add(Add),
    List(List),
    Rotate(Rotate),
    Remove(Remove),
}

/// Add an azolla of another machine
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla peer add az-taskmgmt                  it asks here; its token is shown once\n  \
                  azolla peer add az-app --url https://shop:7517 < token\n  \
                  azolla peer add az-app --url https://shop:7517 --token-file ~/shop.token --ca-file ~/shop.crt\n\n\
                  On a terminal the token is asked for; otherwise it comes from stdin or --token-file."
)]
struct Add {
    /// Its id there, such as az-app.
    id: AzollaId,

    /// Where it is asked: https://…, or http:// for this machine. Without it, it only asks.
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// What it is; otherwise CODE_PATCH_AZOLLA with a URL, and TASK_MGMT_AZOLLA without.
    #[arg(long = "type", value_name = "TYPE")]
    azolla_type: Option<AzollaType>,

    /// The file of the token that it is asked with, mode 600; otherwise the token is read from stdin and kept.
    #[arg(long, value_name = "PATH", requires = "url")]
    token_file: Option<PathBuf>,

    /// The certificates that its server is known by, in PEM, if the system trusts it not.
    #[arg(long, value_name = "PATH", requires = "url")]
    ca_file: Option<PathBuf>,
}

/// List the azollas of other machines
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla peer list\n  azolla peer list --json")]
struct List {
    /// Print one JSON document instead of text.
    #[arg(long)]
    json: bool,
}

/// Give a peer a new token; the old one is worth nothing at once
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla peer rotate az-taskmgmt    shows the new one once")]
struct Rotate {
    /// Its id.
    id: AzollaId,
}

/// Remove a peer and its token
#[derive(Args)]
#[command(after_help = "Examples:\n  azolla peer remove az-taskmgmt")]
struct Remove {
    /// Its id.
    id: AzollaId,
}

impl Peer {
    pub(super) fn asks_for_json(&self) -> bool {
        matches!(&self.command, Command::List(list) if list.json)
    }

    pub(crate) fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let deployment = Deployment::load(home)?;
        match self.command {
            Command::Add(command) => command.run(&deployment)?,
            Command::List(command) => command.run(&deployment)?,
            Command::Rotate(command) => command.run(&deployment)?,
            Command::Remove(command) => command.run(&deployment)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Add {
    fn run(self, deployment: &Deployment) -> anyhow::Result<()> {
        let place = &deployment.place;
        place.make()?;
        if deployment.config.peer(&self.id).is_some() {
            return Err(Failure::refused(format!("{} is a peer already", self.id))
                .hint(format!("azolla peer rotate {0}, or azolla peer remove {0}", self.id))
                .into());
        }
        let absolute = |path: &PathBuf| std::path::absolute(path);
        let given = self.token_file.as_ref().map(absolute).transpose()?;
        let kept = self.url.is_some() && given.is_none();
        let token = match (given, kept) {
            (Some(path), _) => Some(KeyFrom::File(path)),
            (None, true) => Some(KeyFrom::File(place.peer_token(&self.id))),
            (None, false) => None,
        };
        let peer = PeerConfig {
            id: self.id.clone(),
            azolla_type: self.type_or_default(),
            url: self.url.clone(),
            token,
            ca_file: self.ca_file.as_ref().map(absolute).transpose()?,
        };
        let text = read_text(&place.config)?.unwrap_or_default();
        let (text, added) = config::add_peer(&text, &place.config, &peer)?;
        if added == Added::Already {
            let what = format!("[peer.{}] cannot be added to {}", self.id, place.config.display());
            return Err(Failure::new(what).hint("write the peers as sections: [peer.ID]").into());
        }
        // Before anything is kept: a URL that cannot be used is refused here.
        Config::parse(&text, &place.config)?;
        match &peer.token {
            Some(KeyFrom::File(path)) if kept => token::write(path, &read_token(&self.id)?, Existing::Goes)?,
            Some(from) => {
                let read = from.read(|name| std::env::var_os(name));
                read.map_err(|error| Failure::new(error.to_string()).hint(error.fix()))?;
            }
            None => {}
        }
        let shown = fresh(deployment, &peer)?;
        write_text(&place.config, &text)?;
        remark(&format!("added [peer.{}] to {}", self.id, place.config.display()));
        show(&peer, shown)?;
        remark("it counts from the next start of: azolla up");
        Ok(())
    }

    /// What is asked is mostly where work is done; what only asks is there for orientation.
    fn type_or_default(&self) -> AzollaType {
        let default = if self.url.is_some() { AzollaType::CodePatch } else { AzollaType::TaskMgmt };
        self.azolla_type.unwrap_or(default)
    }
}

impl List {
    fn run(self, deployment: &Deployment) -> anyhow::Result<()> {
        let tokens = Home::open(&deployment.place.home_store())?.peer_tokens()?;
        let made_at = |peer: &PeerConfig| {
            tokens.iter().find(|token: &&PeerToken| token.azolla_id == peer.id).map(|token| token.made_at)
        };
        let peers = &deployment.config.peers;
        if self.json {
            let data: Vec<_> = peers
                .iter()
                .map(|peer| {
                    json!({"azolla_id": peer.id, "type": peer.azolla_type, "url": peer.url,
                           "token_from": peer.token.as_ref().map(ToString::to_string),
                           "ca_file": peer.ca_file, "token_made_at": made_at(peer)})
                })
                .collect();
            return Ok(screen::show_json("peers", json!(data))?);
        }
        let mut page = Page::default();
        for peer in peers {
            page.add(STRONG, peer.id.as_str()).line(FAINT, &format!("  {}", peer.azolla_type));
            match (&peer.url, &peer.token) {
                (Some(url), Some(token)) => {
                    page.line(PLAIN, &format!("  asked at {url}, with the token of {token}"))
                }
                _ => page.line(PLAIN, "  not asked from here"),
            };
            page.line(
                PLAIN,
                &match (reads(peer), made_at(peer)) {
                    (true, Some(at)) => format!("  may ask here, with the token made {}", day_and_time(at)),
                    (true, None) => {
                        format!("  cannot ask here, it has no token: azolla peer rotate {}", peer.id)
                    }
                    (false, _) => "  may read nothing here".to_owned(),
                },
            );
        }
        if peers.is_empty() {
            page.line(PLAIN, "There are no peers.").command("  ", "azolla peer add ID --url URL");
        }
        Ok(page.show()?)
    }
}

impl Rotate {
    fn run(self, deployment: &Deployment) -> anyhow::Result<()> {
        let peer = known(deployment, &self.id)?;
        let shown = fresh(deployment, peer)?;
        if shown.is_none() {
            let what = format!("{} is a {}, which may read nothing here", peer.id, peer.azolla_type);
            return Err(Failure::refused(what).into());
        }
        show(peer, shown)?;
        remark("the old one is worth nothing from now on");
        Ok(())
    }
}

impl Remove {
    fn run(self, deployment: &Deployment) -> anyhow::Result<()> {
        let place = &deployment.place;
        known(deployment, &self.id)?;
        // What it proves itself with goes first.
        Home::open(&place.home_store())?.drop_peer_token(&self.id)?;
        let text = read_text(&place.config)?.unwrap_or_default();
        write_text(&place.config, &config::remove_peer(&text, &place.config, &self.id)?)?;
        match std::fs::remove_file(place.peer_token(&self.id)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        remark(&format!("removed {}: it can ask no more; it is asked until azolla up starts again", self.id));
        Ok(())
    }
}

fn known<'a>(deployment: &'a Deployment, id: &AzollaId) -> Result<&'a PeerConfig, Failure> {
    deployment.config.peer(id).ok_or_else(|| {
        let known: Vec<_> = deployment.config.peers.iter().map(|peer| peer.id.as_str()).collect();
        let hint = match nearest(id.as_str(), &known) {
            Some(near) => format!("did you mean {near}? all of them: azolla peer list"),
            None => "azolla peer list".to_owned(),
        };
        Failure::not_found(format!("there is no peer {id}")).hint(hint)
    })
}

fn reads(peer: &PeerConfig) -> bool {
    !peer.azolla_type.blueprint().cross_azolla_reads.is_empty()
}

/// Makes a token for a peer and keeps its hash. None for one that may read nothing: a secret that opens no door is only
/// one more to lose.
pub(super) fn fresh(deployment: &Deployment, peer: &PeerConfig) -> anyhow::Result<Option<Token>> {
    if !reads(peer) {
        return Ok(None);
    }
    let token = Token::fresh()?;
    let home = Home::open(&deployment.place.home_store())?;
    home.set_peer_token(&peer.id, &token.hash(), SystemClock.now())?;
    Ok(Some(token))
}

/// Shows a token, this once.
fn show(peer: &PeerConfig, token: Option<Token>) -> anyhow::Result<()> {
    let Some(token) = token else { return Ok(()) };
    remark(&format!("the token that {} asks with here, shown this once; on its machine:", peer.id));
    remark("  azolla peer add ID --url URL    with the id of an azolla here, and the token on stdin");
    Ok(screen::show_line(token.text())?)
}

/// More than any token has.
const TOKEN_BYTES_MAX: u64 = 1024;

/// Reads a token from stdin: a line where a person types, and otherwise all of it.
fn read_token(id: &AzollaId) -> anyhow::Result<String> {
    let stdin = std::io::stdin().lock();
    let mut text = String::new();
    if stdin.is_terminal() {
        remark(&format!("the token that the machine of {id} showed, then Enter:"));
        stdin.take(TOKEN_BYTES_MAX).read_line(&mut text)?;
    } else {
        stdin.take(TOKEN_BYTES_MAX).read_to_string(&mut text)?;
    }
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let hint =
            format!("on the machine of {id}: azolla peer add AZ-THAT-ASKS; its token goes to stdin here");
        return Err(Failure::usage("stdin holds no token: one word is needed").hint(hint).into());
    }
    Ok(token.to_owned())
}
