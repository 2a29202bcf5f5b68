//! The azolla types: static blueprints, known at compile time (PROTOCOL.md section 2, Y-1).

use crate::names::named_enum;
use crate::{DiazotrophType, ObjectiveType, QueryableType};

/// What an azolla of one type consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blueprint {
    /// The type it describes.
    pub azolla_type: AzollaType,
    /// What it is for.
    pub category: Category,
    /// The objectives it works on.
    pub objective_type: ObjectiveType,
    /// The diazotrophs it may ask.
    pub diazotrophs: &'static [DiazotrophType],
    /// The workers of its Control Plane.
    pub workers: &'static [WorkerRole],
    /// What it may read from other azollas (M-2).
    pub cross_azolla_reads: &'static [QueryableType],
}

named_enum! {
    /// The types of azollas.
    pub enum AzollaType {
        /// Turns tickets into gated patches.
        CodePatch = "CODE_PATCH_AZOLLA",
        /// Holds captures and gives orientation.
        TaskMgmt = "TASK_MGMT_AZOLLA",
    }
}

named_enum! {
    /// What an azolla is for.
    pub enum Category {
        /// It changes something outside.
        Execution = "EXECUTION",
        /// It keeps and orders.
        MemorySupport = "MEMORY_SUPPORT",
    }
}

named_enum! {
    /// The workers of a Control Plane (PROTOCOL.md section 6).
    pub enum WorkerRole {
        /// Emits TICKET_READY.
        Readiness = "READINESS",
        /// Turns events into workorders.
        Scheduler = "SCHEDULER",
        /// Runs workorders.
        Runner = "RUNNER",
        /// Evaluates what came back.
        Gate = "GATE",
        /// Emits CAPTURE_READY.
        CaptureReadiness = "CAPTURE_READINESS",
        /// Turns MANIFEST_REQUESTED into workorders.
        ManifestScheduler = "MANIFEST_SCHEDULER",
        /// Points at what is overdue.
        DeadlineMonitor = "DEADLINE_MONITOR",
    }
}

static CODE_PATCH: Blueprint = Blueprint {
    azolla_type: AzollaType::CodePatch,
    category: Category::Execution,
    objective_type: ObjectiveType::Ticket,
    diazotrophs: &[DiazotrophType::Patch],
    workers: &[WorkerRole::Readiness, WorkerRole::Scheduler, WorkerRole::Runner, WorkerRole::Gate],
    cross_azolla_reads: &[],
};

static TASK_MGMT: Blueprint = Blueprint {
    azolla_type: AzollaType::TaskMgmt,
    category: Category::MemorySupport,
    objective_type: ObjectiveType::Standing,
    diazotrophs: &[DiazotrophType::Triage, DiazotrophType::ManifestBuilder],
    workers: &[
        WorkerRole::CaptureReadiness,
        WorkerRole::Scheduler,
        WorkerRole::ManifestScheduler,
        WorkerRole::Runner,
        WorkerRole::Gate,
        WorkerRole::DeadlineMonitor,
    ],
    cross_azolla_reads: &[QueryableType::PauseState, QueryableType::Objective],
};

impl AzollaType {
    /// Returns what an azolla of this type consists of.
    pub fn blueprint(self) -> &'static Blueprint {
        match self {
            Self::CodePatch => &CODE_PATCH,
            Self::TaskMgmt => &TASK_MGMT,
        }
    }
}
