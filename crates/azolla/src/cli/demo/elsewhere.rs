//! Another machine with work of its own: a home and a repository beside the first, behind a real HTTP server.

use std::{path::Path, sync::Arc};

use anyhow::Context;
use azolla_protocol::{AzollaId, AzollaType};
use tokio::{sync::watch, task::JoinHandle};

use super::{repository, say, step};
use crate::{
    cli::peer,
    config::{PeerConfig, add_peer, read_text, write_text},
    deployment::Deployment,
    http::{self, App},
    stores::Stores,
    token::{self, Existing},
};

/// The other machine, while it serves.
pub(super) struct Elsewhere {
    /// Where it is asked.
    pub(super) url: String,
    stop: watch::Sender<bool>,
    served: JoinHandle<()>,
}

impl Elsewhere {
    /// Sets the other machine up below `scratch`, with something overdue, and lets `asking` ask it with the token that is
    /// put into `token_file`.
    pub(super) async fn start(scratch: &Path, asking: &AzollaId, token_file: &Path) -> anyhow::Result<Self> {
        let (repo, home) = (scratch.join("site"), scratch.join("elsewhere"));
        repository::make(&repo).await?;
        std::env::set_current_dir(&repo).with_context(|| format!("{} cannot be entered", repo.display()))?;
        say("Another machine, with work of its own that is urgent and has not moved:")?;
        step(&home, &["init"]).await?;
        let urgent = ["objective", "new", "Renew the certificate", "--criteria", "It is valid for a year."];
        step(&home, &[&urgent[..], &["--urgency", "0"]].concat()).await?;
        let deployment = Deployment::load(Some(&home))?;
        admit(&deployment, asking, token_file)?;
        // Read again: the registry is what the file says at the start.
        let deployment = Arc::new(Deployment::load(Some(&home))?);
        let listening = http::bind(&deployment, Some(([127, 0, 0, 1], 0).into())).await?;
        let url = listening.url();
        say(&format!("It lets {asking} of this machine read, and serves at {url}"))?;
        let stores = Arc::new(Stores::new(deployment.clone()));
        let app = App::new(deployment, stores, listening.address, listening.is_encrypted())?;
        let (stop, stopping) = watch::channel(false);
        let served = tokio::spawn(http::serve(listening, Arc::new(app), stopping));
        Ok(Self { url, stop, served })
    }

    /// Ends the server.
    pub(super) async fn end(self) {
        self.stop.send_replace(true);
        let _ = self.served.await;
    }
}

/// What `azolla peer add ID` does, with the token in a file instead of on the screen.
fn admit(deployment: &Deployment, asking: &AzollaId, token_file: &Path) -> anyhow::Result<()> {
    let peer = PeerConfig {
        id: asking.clone(),
        azolla_type: AzollaType::TaskMgmt,
        url: None,
        token: None,
        ca_file: None,
    };
    let path = &deployment.place.config;
    let (text, _) = add_peer(&read_text(path)?.unwrap_or_default(), path, &peer)?;
    write_text(path, &text)?;
    let token = peer::fresh(deployment, &peer)?.context("a TASK_MGMT azolla reads")?;
    token::write(token_file, token.text(), Existing::Goes)
}
