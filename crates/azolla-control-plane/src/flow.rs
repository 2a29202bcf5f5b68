//! What the workers of each azolla type work with, besides what all of them have.

use std::sync::Arc;

use azolla_exchange_membrane::peers::Peers;
use azolla_protocol::{Diazotroph, DiazotrophType, ObjectiveId, content::TargetAzolla};
use azolla_substrate::BoxFuture;

use crate::{context::RepositoryFileReader, repo::Repository};

/// The parts of an azolla's own flows, by its blueprint.
pub enum Flow {
    /// CODE_PATCH: objectives become patches (7.1).
    Patch(PatchFlow),
    /// TASK_MGMT: captures become candidates, the state of all azollas becomes orientation (7.2 to 7.4).
    TaskMgmt(TaskMgmtFlow),
}

/// What patches are made with.
pub struct PatchFlow {
    /// The azolla's one repository.
    pub repository: Arc<dyn Repository>,
    /// How objectives name it.
    pub repo_ref: String,
    /// Who does the work.
    pub diazotroph: Arc<dyn Diazotroph>,
    /// Reads the repository's own settings, if the operator trusts them.
    pub repository_file: Arc<dyn RepositoryFileReader>,
}

/// What triage and orientation are made with.
pub struct TaskMgmtFlow {
    /// The standing objective, which everything here belongs to (S-n).
    pub standing: ObjectiveId,
    /// Who triages.
    pub triage: Arc<dyn Diazotroph>,
    /// Who gives orientation.
    pub manifest: Arc<dyn Diazotroph>,
    /// The other azollas of the registry.
    pub peers: Arc<dyn Peers>,
    /// The azollas that a candidate could go to.
    pub targets: Arc<dyn Targets>,
}

/// Knows the azollas of this machine that take tickets.
pub trait Targets: Send + Sync {
    /// Returns them, with some paths of their repositories. What cannot be read now is left out.
    fn targets(&self) -> BoxFuture<'_, Vec<TargetAzolla>>;
}

impl Flow {
    /// Returns who does work of a type; none if it is not this azolla's.
    pub fn diazotroph(&self, diazotroph_type: DiazotrophType) -> Option<&dyn Diazotroph> {
        match (self, diazotroph_type) {
            (Self::Patch(flow), DiazotrophType::Patch) => Some(&*flow.diazotroph),
            (Self::TaskMgmt(flow), DiazotrophType::Triage) => Some(&*flow.triage),
            (Self::TaskMgmt(flow), DiazotrophType::ManifestBuilder) => Some(&*flow.manifest),
            (Self::Patch(_), DiazotrophType::Triage | DiazotrophType::ManifestBuilder)
            | (Self::TaskMgmt(_), DiazotrophType::Patch) => None,
        }
    }

    /// Returns the names of the providers that do this azolla's work, each once.
    pub fn providers(&self) -> Vec<&str> {
        let mut names = match self {
            Self::Patch(flow) => vec![flow.diazotroph.provider()],
            Self::TaskMgmt(flow) => vec![flow.triage.provider(), flow.manifest.provider()],
        };
        names.dedup();
        names
    }

    /// Returns the objective that something about `resource_id` is shown under.
    pub(crate) fn subject(&self, resource_id: &str) -> Option<ObjectiveId> {
        match self {
            Self::Patch(_) => ObjectiveId::new(resource_id).ok(),
            Self::TaskMgmt(flow) => Some(flow.standing.clone()),
        }
    }
}
