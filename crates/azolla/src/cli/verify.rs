//! `azolla verify`: every schema, link and invariant of a Substrate; and, where asked to, its patches, what is left to
//! do, and what somebody was told.

use std::{
    io::Read,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::Context;
use azolla_control_plane::{
    WorkerError,
    verify::{LeftBranch, Limits, branches, left_to_do, patches},
};
use azolla_protocol::{AzollaId, AzollaType, DiazotrophType, limits};
use azolla_substrate::{Finding, StreamRoom, Substrate, SubstrateRead};
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
    workers,
};

/// Check every schema, link and invariant of a Substrate
#[derive(Args)]
#[command(
    after_help = "Examples:\n  azolla verify\n  azolla verify --azolla az-app --git\n  azolla verify --store ~/substrate.sqlite\n  \
                        azolla run --until-idle && azolla verify --idle\n  \
                        azolla verify --known ids.txt      every id of a file, one per line, is there\n\n\
                        Without an azolla, outside of every repository, all that are configured are checked.\n\
                        Exits with 1 if something does not hold. No artifact is changed; a store of an older \
                        version is upgraded first, as by every command."
)]
pub(crate) struct Verify {
    #[command(flatten)]
    store: StoreAddress,

    /// Also rebuild every stored patch on its base and compare the commits, and look for branches of patches that failed.
    #[arg(long, conflicts_with = "store")]
    git: bool,

    /// Also check that nothing is left to do but what waits for you or for a limit; for when nothing runs.
    #[arg(long, conflicts_with = "store")]
    idle: bool,

    /// Also check that every id of a file is there, one per line; - reads them from standard input.
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,

    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(super) json: bool,
}

/// What was found in the Substrate of one azolla.
struct Verified {
    azolla_id: AzollaId,
    findings: Vec<Finding>,
    store: Arc<dyn Substrate>,
}

impl Verify {
    pub(crate) async fn run(self, home: Option<&Path>) -> anyhow::Result<ExitCode> {
        let known = self.known.as_deref().map(read_known).transpose()?;
        let mut verified = Vec::new();
        let mut several = false;
        let mut failed = None;
        if let Some(store) = self.store.open_address().await? {
            verified.push(verify(store).await?);
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
        if let (Some(known), None) = (known, &failed) {
            let unknown = unknown(&verified, known).await?;
            // In none of them, so that it is nobody's in particular.
            if let Some(first) = verified.first_mut() {
                first.findings.extend(unknown);
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
        let mut verified = verify(deployment.open(azolla).await?).await?;
        if self.git && azolla.azolla_type == AzollaType::CodePatch {
            let repository = deployment.repository(azolla)?;
            let counted = patches(verified.store.read(), &repository, count).await;
            uncount();
            // What else was found is told all the same.
            let unseen = |what: &str, error: &WorkerError| Finding {
                invariant: 11,
                resource: azolla.id.to_string(),
                what: format!("{what} could not be looked at: {error}"),
            };
            verified.findings.extend(counted.unwrap_or_else(|error| vec![unseen("its patches", &error)]));
            match branches(verified.store.read(), &repository).await {
                Ok(left) => verified.findings.extend(left.iter().map(LeftBranch::finding)),
                Err(error) => verified.findings.push(unseen("its branches", &error)),
            }
        }
        if self.idle {
            let left = left(deployment, azolla, verified.store.read()).await?;
            verified.findings.extend(left);
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

async fn verify(store: Arc<dyn Substrate>) -> anyhow::Result<Verified> {
    let azolla_id = store.read().identity().await?.azolla_id;
    Ok(Verified { azolla_id, findings: azolla_substrate::verify(store.read()).await?, store })
}

/// Returns what the workers of an azolla have left to do, under the limits of the configuration.
async fn left(
    deployment: &Deployment,
    azolla: &AzollaConfig,
    read: &dyn SubstrateRead,
) -> anyhow::Result<Vec<Finding>> {
    let ledger = workers::ledger(deployment);
    let is_held_back = |work| {
        let provider = match work {
            DiazotrophType::Patch => deployment.provider_name(azolla).ok(),
            DiazotrophType::Triage => azolla.triage_provider.as_deref(),
            DiazotrophType::ManifestBuilder => azolla.manifest_provider.as_deref(),
        };
        provider.is_some_and(|name| ledger.waits(name).is_some())
    };
    let limit = |limit| deployment.config.limits.get(limit);
    let room =
        StreamRoom { max_concurrent: azolla.max_concurrent, review_limit: limit(&limits::REVIEW_LIMIT) };
    let limits = Limits { room, attempts_max: limit(&limits::ATTEMPTS_MAX), is_held_back: &is_held_back };
    Ok(left_to_do(read, &limits).await?)
}

/// Reads ids that somebody was given, one per line.
fn read_known(file: &Path) -> anyhow::Result<Vec<String>> {
    let text = if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(file)
    };
    let text = text.with_context(|| format!("{} cannot be read", file.display()))?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// Returns the ids that are in none of the stores (invariant 13).
async fn unknown(verified: &[Verified], known: Vec<String>) -> anyhow::Result<Vec<Finding>> {
    let mut unknown = Vec::new();
    for id in known {
        let mut is_there = false;
        for one in verified {
            is_there = is_there || one.store.read().holds(&id).await?;
        }
        if !is_there {
            unknown.push(Finding {
                invariant: 13,
                resource: id,
                what: "was told to somebody and is not there".into(),
            });
        }
    }
    Ok(unknown)
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
