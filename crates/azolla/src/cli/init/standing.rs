//! The standing objective of a TASK_MGMT azolla (S-n).

use azolla_protocol::{
    Actor, AzollaId, CommitId, IdSource, Objective, ObjectiveId, ObjectiveStatus, ObjectiveType, Validated,
    lifecycle::ObjectiveStep,
};
use azolla_substrate::{Commit, Substrate, SystemIds, Write};
use serde_json::json;

use crate::{config::Added, deployment::STANDING};

/// Opens it, if it is not there.
pub(super) async fn open(store: &(dyn Substrate + 'static), azolla_id: &AzollaId) -> anyhow::Result<Added> {
    let objective_id = ObjectiveId::new(STANDING)?;
    if store.read().objective(&objective_id).await?.is_some() {
        return Ok(Added::Already);
    }
    let now = store.read().now().await?;
    let scope = json!({"scope_description": "Notes, their triage, and orientation over all azollas."});
    let objective = Objective {
        objective_id,
        azolla_id: azolla_id.clone(),
        title: "Continuity of context".into(),
        acceptance_criteria: "Every note is kept and triaged; where things stand can be read at any time."
            .into(),
        objective_type: ObjectiveType::Standing,
        status: ObjectiveStatus::InProgress,
        importance: 2,
        urgency: 4,
        blocked_reason: None,
        blocked_on: Vec::new(),
        metadata: scope.as_object().cloned().unwrap_or_default(),
        created_at: now,
        updated_at: now,
    };
    let objective = Validated::new(objective)?;
    let commit = Commit::new(CommitId::from_body(&SystemIds::default().body()), Actor::Init)
        .with(Write::InsertObjective { objective, step: ObjectiveStep::OpenStanding });
    store.commit(commit).await?;
    Ok(Added::New)
}
