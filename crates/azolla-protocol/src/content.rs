//! What a snapshot for triage or orientation carries as data, and what comes back: the shapes that the Control Plane, a
//! diazotroph, the gates and the screens have in common (TF-3, TF-5, MF-4, MF-5).

mod data;
mod manifest;
mod triage;

pub use data::{read_data, write_data};
pub use manifest::{
    AzollaReport, ManifestAnswer, ManifestInput, ObjectiveBrief, manifest_answer_schema, numbered_actions,
};
pub use triage::{
    ASKED_AGAIN, Candidate, CaptureText, Confidence, NoAction, TargetAzolla, TriageContent, TriageInput,
    triage_content_schema,
};

#[cfg(test)]
mod tests;
