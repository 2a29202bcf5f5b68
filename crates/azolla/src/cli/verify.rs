//! `azolla verify`: every schema, link and invariant of a Substrate, and with `--git` its patches too.

use std::{path::Path, process::ExitCode};

use azolla_control_plane::verify::patches;
use azolla_protocol::{AzollaId, AzollaType};
use azolla_substrate::{Finding, SubstrateRead};
use clap::Args;
use serde_json::json;

use super::{
    progress::{draw, is_watched},
    store::StoreAddress,
};
use crate::{
    config::AzollaConfig,
    deployment::Deployment,
    failure::Failure,
    screen::{self, PLAIN, Page, STRONG},
};

/// Check every schema, link and invariant of a Substrate
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla verify\n  azolla verify --azolla az-app --git\n  azolla verify --store ~/substrate.sqlite\n\n\
                        Without an azolla, outside of every repository, all that are configured are checked.\n\
                        Exits with 1 if something does not hold. No artifact is changed; a store of an older \
                        version is upgraded first, as by every command."
)]
pub(crate) struct Verify {
    #[command(flatten)]
    store: StoreAddress,

    /// Also rebuild every stored patch on its base and compare the commits.
    #[arg(long, conflicts_with = "store")]
    git: bool,

    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(super) json: bool,
}

/// What was found in the Substrate of one azolla.
struct Verified {
    azolla_id: AzollaId,
    findings: Vec<Finding>,
}

impl Verify {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let mut verified = Vec::new();
        let mut several = false;
        let mut failed = None;
        if let Some(store) = self.store.open_address().await? {
            verified.push(verify(store.read()).await?);
        } else {
            let deployment = Deployment::load(home)?;
            let azollas = self.azollas(&deployment)?;
            several = azollas.len() > 1;
            for azolla in azollas {
                match self.verify_configured(&deployment, azolla).await {
                    Ok(found) => verified.push(found),
                    // The others can be checked all the same; the first reason is the one that is told.
                    Err(error) => {
                        failed = failed.or(Some(error.context(format!("{} cannot be checked", azolla.id))))
                    }
                }
            }
        }
        match failed {
            // One document and no more: the error.
            Some(error) if self.json => return Err(error),
            Some(error) => {
                if !verified.is_empty() {
                    self.show(&verified, several)?;
                }
                return Err(error);
            }
            None => self.show(&verified, several)?,
        }
        let is_clean = verified.iter().all(|verified| verified.findings.is_empty());
        Ok(if is_clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn azollas<'a>(&self, deployment: &'a Deployment) -> Result<Vec<&'a AzollaConfig>, Failure> {
        let azollas = self.store.configured(deployment)?;
        if let (true, [only]) = (self.git, &azollas[..])
            && only.azolla_type != AzollaType::CodePatch
        {
            return Err(Failure::usage(format!("--git needs a repository, and {} has none", only.id)));
        }
        Ok(azollas)
    }

    async fn verify_configured(
        &self,
        deployment: &Deployment,
        azolla: &AzollaConfig,
    ) -> anyhow::Result<Verified> {
        let store = deployment.open(azolla).await?;
        let mut verified = verify(store.read()).await?;
        if self.git && azolla.azolla_type == AzollaType::CodePatch {
            let repository = deployment.repository(azolla)?;
            let counted = patches(store.read(), &repository, count).await;
            uncount();
            verified.findings.extend(counted?);
        }
        Ok(verified)
    }

    fn show(&self, verified: &[Verified], several: bool) -> std::io::Result<()> {
        if self.json {
            return screen::show_json("findings", verified.iter().flat_map(documents).collect());
        }
        let mut page = Page::default();
        for one in verified {
            if several {
                page.heading(one.azolla_id.as_str());
            }
            for finding in &one.findings {
                let what = format!("invariant {}: {} {}", finding.invariant, finding.resource, finding.what);
                page.line(PLAIN, &what);
            }
            match one.findings.len() {
                0 => page.line(PLAIN, "Everything holds."),
                found => page.line(
                    STRONG,
                    &format!("{found} found. Export the store before you change anything in it."),
                ),
            };
        }
        page.show()
    }
}

async fn verify(read: &dyn SubstrateRead) -> anyhow::Result<Verified> {
    let azolla_id = read.identity().await?.azolla_id;
    Ok(Verified { azolla_id, findings: azolla_substrate::verify(read).await? })
}

fn documents(verified: &Verified) -> impl Iterator<Item = serde_json::Value> {
    verified.findings.iter().map(|finding| {
        json!({"azolla_id": verified.azolla_id, "invariant": finding.invariant, "resource": finding.resource,
               "what": finding.what})
    })
}

/// Says how far it has come, where somebody watches.
fn count(patches: u64) {
    if is_watched() {
        draw(&format!("rebuilt {patches} patches"));
    }
}

fn uncount() {
    if is_watched() {
        draw("");
    }
}
