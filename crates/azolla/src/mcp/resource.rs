//! What can be read by address: the newest manifest, open objectives, one objective.

use azolla_protocol::{AzollaId, ObjectiveId};
use rmcp::model::{Resource, ResourceTemplate};
use serde_json::Value;

use super::{
    arguments::{ListObjectives, parsed},
    bounded::{ANSWER_BYTES_MAX, fit},
    look, orientation,
    source::Reach,
};
use crate::{failure::Failure, find};

/// What every document here is.
pub(super) const MIME: &str = "application/json";

const MANIFEST: &str = "azolla://manifest";
const OBJECTIVES: &str = "azolla://objectives";
/// Runs that an objective is shown with.
const RUNS_MAX: u64 = 10;

/// Lists what has an address of its own.
pub(super) fn resources() -> Vec<Resource> {
    let of = |uri: &str, name: &str, title: &str, description: &str| {
        Resource::new(uri, name).with_title(title).with_description(description).with_mime_type(MIME)
    };
    vec![
        of(MANIFEST, "manifest", "Newest orientation", "The newest session_manifest of all azollas."),
        of(OBJECTIVES, "objectives", "Open objectives", "The first page of what is open, in all azollas."),
    ]
}

/// Lists the forms of other addresses.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let of = |uri: &str, name: &str, title: &str, description: &str| {
        let template = ResourceTemplate::new(uri, name);
        template.with_title(title).with_description(description).with_mime_type(MIME)
    };
    vec![
        of(
            "azolla://objectives/{objective_id}",
            "objective",
            "An objective",
            "One piece of work with its newest runs.",
        ),
        of(
            "azolla://objectives{?after}",
            "objectives-page",
            "More open objectives",
            "The page that comes after the `next` of another one.",
        ),
        of(
            "azolla://manifest/{azolla_id}",
            "manifest-of",
            "Newest orientation of an azolla",
            "The newest session_manifest of one azolla.",
        ),
    ]
}

/// Reads what stands at an address; none if nothing can.
pub(super) async fn read(reach: &Reach, uri: &str) -> anyhow::Result<Option<Value>> {
    if uri == MANIFEST {
        return Ok(Some(manifest(reach, None).await?));
    }
    if uri == OBJECTIVES {
        return Ok(Some(look::list(reach, ListObjectives::default()).await?));
    }
    if let Some(id) = uri.strip_prefix(MANIFEST).and_then(|rest| rest.strip_prefix('/')) {
        let id: AzollaId = parsed("azolla_id", id)?;
        reach.deployment.named(&id)?;
        return Ok(Some(manifest(reach, Some(&id)).await?));
    }
    if let Some(after) = uri.strip_prefix(OBJECTIVES).and_then(|rest| rest.strip_prefix("?after=")) {
        // A client may write the colon of a place either way.
        let after = Some(after.replace("%3A", ":").replace("%3a", ":"));
        return Ok(Some(look::list(reach, ListObjectives { after, ..ListObjectives::default() }).await?));
    }
    let Some(id) = uri.strip_prefix(OBJECTIVES).and_then(|rest| rest.strip_prefix('/')) else {
        return Ok(None);
    };
    // An address names one thing, so it takes a whole id.
    let id: ObjectiveId = parsed("objective_id", id)?;
    let part = parsed("objective_id", id.as_str())?;
    let found = find::objective(reach.opens(), None, &part).await?;
    Ok(Some(look::show(&found, None, RUNS_MAX).await?))
}

async fn manifest(reach: &Reach, named: Option<&AzollaId>) -> anyhow::Result<Value> {
    let none =
        || Failure::not_found("there is no orientation yet").hint("the operator types: azolla manifest");
    let newest = orientation::manifest(reach, named).await?.ok_or_else(none)?;
    let (mut newest, left_out) = fit(&newest, ANSWER_BYTES_MAX - 1024);
    if !left_out.is_empty() {
        newest["left_out"] = left_out.into();
    }
    Ok(newest)
}
