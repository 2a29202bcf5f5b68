//! A process that competes for one workorder: it acquires whenever the lease is free, never renews, and tries to
//! commit under every claim that somebody has taken over. `rival PLACE WORKORDER OBJECTIVE LAST` stops once
//! claim_version LAST is granted. Each line that it prints is one event, for the test to judge.

use std::{path::Path, sync::Arc};

use anyhow::{Context, bail};
use azolla_protocol::{
    Actor, CommitId, IdSource, LeaseLength, ObjectiveId, OwnerId, ResourceRef, WorkOrderId,
};
use azolla_substrate::{
    ClaimOutcome, Commit, CommitOutcome, Fence, Opening, PostgresSubstrate, SqliteSubstrate, Substrate,
    SubstrateError, SubstrateRead, SystemClock, SystemIds, Write,
};
use azolla_testkit::{
    cycle::{output_bundle, valid},
    store::azolla_id,
};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [place, work_order_id, objective_id, last] = &arguments[..] else { bail!("four arguments") };
    let store: Arc<dyn Substrate> = if place.starts_with("postgres") {
        Arc::new(PostgresSubstrate::open(place, &azolla_id(), Opening::Existing).await?)
    } else {
        Arc::new(SqliteSubstrate::open(Path::new(place), Opening::Existing, Arc::new(SystemClock)).await?)
    };
    let rival = Rival {
        store,
        ids: SystemIds::default(),
        work_order_id: WorkOrderId::new(work_order_id)?,
        objective_id: ObjectiveId::new(objective_id)?,
    };
    rival.compete(last.parse().context("LAST is a number")?).await
}

struct Rival {
    store: Arc<dyn Substrate>,
    ids: SystemIds,
    work_order_id: WorkOrderId,
    objective_id: ObjectiveId,
}

impl Rival {
    async fn compete(&self, last: u64) -> anyhow::Result<()> {
        let owner_id = OwnerId::from_body(&self.ids.body());
        let resource = ResourceRef::from(&self.work_order_id);
        let lease = LeaseLength::new(40)?;
        let mut lost: Option<Fence> = None;
        loop {
            let read: &dyn SubstrateRead = &*self.store;
            if read.claim(&resource).await?.is_some_and(|claim| claim.claim_version >= last) {
                break;
            }
            match self.store.acquire_claim(&resource, &owner_id, lease, Actor::Runner).await {
                Ok(ClaimOutcome::Granted(grant)) => {
                    let version = grant.fence.claim_version;
                    println!("granted {version} {} {}", grant.granted_at, grant.lease_expires_at);
                    if let Some(stale) = lost.replace(grant.fence) {
                        println!("stale {}", self.execute(stale).await?);
                    }
                }
                // Another process holds the claim, or SQLite's write lock: try again.
                Ok(ClaimOutcome::Held) | Err(SubstrateError::Unavailable(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(stale) = lost.filter(|fence| fence.claim_version < last) {
            println!("stale {}", self.execute(stale).await?);
        }
        Ok(())
    }

    async fn execute(&self, fence: Fence) -> anyhow::Result<&'static str> {
        let read: &dyn SubstrateRead = &*self.store;
        let bundle = valid(output_bundle(&self.work_order_id, &self.objective_id, read.now().await?));
        let commit =
            Commit::new(CommitId::from_body(&self.ids.body()), Actor::Runner).with(Write::Execute(bundle));
        Ok(match self.store.commit(commit.fenced(fence)).await {
            Ok(CommitOutcome::Done) => "done",
            Err(SubstrateError::FenceLost { .. }) => "refused",
            other => bail!("{other:?}"),
        })
    }
}
