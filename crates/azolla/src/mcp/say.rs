//! What an agent may say: a note, a proposal, what is in the way. All of it is on record as a client's, and waits for the
//! operator.

use azolla_control_plane::operator::{Client, Operator};
use azolla_protocol::{AzollaType, BlockerId, BlockerKind, is_blank};
use azolla_substrate::SystemIds;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    arguments::{CaptureNote, ProposeObjective, ReportBlocker, azolla, optional, parsed, read},
    proposal::Proposal,
    source::Reach,
};
use crate::{
    acts,
    deployment::{Deployment, identity},
    failure::Failure,
    find::{self, IdPart},
};

/// A note that is kept.
#[derive(Serialize, JsonSchema)]
pub(super) struct Kept {
    /// The note.
    capture_id: String,
    /// Where it is kept.
    azolla_id: String,
    /// Where it says that it comes from.
    source_label: String,
    /// What the operator types to go on.
    operator_command: String,
}

/// A blocker that is on record.
#[derive(Serialize, JsonSchema)]
pub(super) struct Reported {
    /// The blocker.
    blocker_id: String,
    /// What it holds up.
    objective_id: String,
    /// Where that is.
    azolla_id: String,
    /// Where the objective stands, which the report did not change.
    status: String,
    /// What the operator types once it is settled.
    operator_command: String,
}

/// Keeps a note.
pub(super) async fn capture_note(
    reach: &Reach,
    client: &str,
    arguments: Option<JsonObject>,
) -> anyhow::Result<Value> {
    let given: CaptureNote = read(arguments)?;
    keep(reach, given.azolla.as_deref(), &given.text, &format!("mcp:{client}")).await
}

/// Keeps a proposal, which is a note: triage makes a candidate of it, and the operator an objective or nothing.
pub(super) async fn propose_objective(
    reach: &Reach,
    client: &str,
    arguments: Option<JsonObject>,
) -> anyhow::Result<Value> {
    let given: ProposeObjective = read(arguments)?;
    acts::check_title(&given.title)?;
    if is_blank(&given.criteria) {
        return Err(Failure::usage("the criteria are empty: say what has to hold when it is done").into());
    }
    let deployment = &reach.deployment;
    let target = match azolla_target(deployment, given.target.as_deref())? {
        Some(target) => Some(target),
        None => reach.here().filter(|here| here.azolla_type == AzollaType::CodePatch),
    };
    let proposal = Proposal {
        title: &given.title,
        criteria: &given.criteria,
        rationale: given.rationale.as_deref(),
        target: target.map(|target| &target.id),
    };
    keep(reach, given.azolla.as_deref(), &proposal.text(), &format!("proposal:{client}")).await
}

/// Puts on record what is in the way of an objective. The objective stays where it is; the operator settles it.
pub(super) async fn report_blocker(
    reach: &Reach,
    client: &str,
    arguments: Option<JsonObject>,
) -> anyhow::Result<Value> {
    let given: ReportBlocker = read(arguments)?;
    let part: IdPart = parsed("objective_id", &given.objective_id)?;
    let kind: BlockerKind = optional("kind", given.kind.as_deref())?.unwrap_or(BlockerKind::UserInput);
    if is_blank(&given.reason) {
        return Err(Failure::usage("a reason is needed").into());
    }
    let named = azolla(given.azolla.as_deref())?;
    let found = find::objective(reach.opens(), named.as_ref(), &part).await?;
    let (identity, ids, who) = (identity(&found.azolla), SystemIds::default(), acts::who());
    let operator = Operator { substrate: &*found.store, identity: &identity, ids: &ids, who: &who };
    let reason = format!("{} (reported by {client})", given.reason.trim());
    let (objective, blocker) = Client::of(operator).report_blocker(found.id(), &reason, kind).await?;
    let blocker_id: &BlockerId = &blocker.blocker_id;
    Ok(json!(Reported {
        blocker_id: blocker_id.to_string(),
        objective_id: objective.objective_id.to_string(),
        azolla_id: objective.azolla_id.to_string(),
        status: objective.status.to_string(),
        operator_command: format!(
            "azolla objective unblock {} --blocker {blocker_id}",
            objective.objective_id
        ),
    }))
}

fn azolla_target<'a>(
    deployment: &'a Deployment,
    text: Option<&str>,
) -> Result<Option<&'a crate::config::AzollaConfig>, Failure> {
    let named = optional("target", text)?;
    named.map(|named| deployment.one(Some(&named), AzollaType::CodePatch)).transpose()
}

async fn keep(reach: &Reach, named: Option<&str>, text: &str, label: &str) -> anyhow::Result<Value> {
    let named = azolla(named)?;
    let azolla = reach.one(named.as_ref(), AzollaType::TaskMgmt)?;
    let store = reach.whole(azolla).await?;
    let (identity, ids, who) = (identity(azolla), SystemIds::default(), acts::who());
    let operator = Operator { substrate: &*store, identity: &identity, ids: &ids, who: &who };
    let capture_id = Client::of(operator).capture(text.as_bytes(), label).await?;
    Ok(json!(Kept {
        capture_id: capture_id.to_string(),
        azolla_id: azolla.id.to_string(),
        source_label: label.to_owned(),
        operator_command: "azolla triage".to_owned(),
    }))
}
