//! The other azolla of a scene, which answers as the mood is.

use std::{future::pending, pin::Pin, sync::Arc};

use azolla_exchange_membrane::peers::{Asked, Peers};
use azolla_protocol::{AzollaId, JsonObject, QueryStatus, QueryableType, SubstrateQuery};
use serde_json::json;

use super::mood::{Mood, PeersMood};

/// The id of the other azolla.
pub(super) const OTHER: &str = "az-other";

/// The other azolla.
pub(super) struct MoodyPeers(pub(super) Arc<Mood>);

impl Peers for MoodyPeers {
    fn registered(&self) -> Vec<AzollaId> {
        vec![AzollaId::new(OTHER).expect("an azolla id")]
    }

    fn ask<'a>(&'a self, query: &'a SubstrateQuery) -> Pin<Box<dyn Future<Output = Asked> + Send + 'a>> {
        Box::pin(async move {
            self.0.is_asked();
            let mut results = Vec::new();
            match self.0.peers() {
                PeersMood::Ready => {}
                PeersMood::Late => self.0.renewal().await,
                PeersMood::Never => pending().await,
                PeersMood::Away => return Asked::unavailable("nobody answers"),
                PeersMood::Overdue(id) => {
                    if query.artifact_type == QueryableType::Objective {
                        results.push(overdue(&id));
                    }
                }
            }
            Asked { status: QueryStatus::Ok, results, reason: String::new() }
        })
    }
}

fn overdue(id: &str) -> JsonObject {
    let objective = json!({
        "objective_id": id, "azolla_id": OTHER, "title": "One", "acceptance_criteria": "It holds.",
        "objective_type": "TICKET", "status": "TODO", "importance": 2, "urgency": 0, "blocked_reason": null,
        "blocked_on": [], "metadata": {}, "created_at": "2026-01-01T00:00:00.000Z",
        "updated_at": "2026-01-01T00:00:00.000Z",
    });
    objective.as_object().cloned().unwrap_or_default()
}
