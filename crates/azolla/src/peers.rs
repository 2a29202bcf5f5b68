//! The other azollas of the registry, as an azolla of this machine asks them: in their store if they are here, over HTTP
//! if they are elsewhere. Asking never fails; what goes wrong is an answer (M-4).

mod remote;

use std::{future::Future, pin::Pin, sync::Arc};

use azolla_exchange_membrane::{
    peers::{Asked, Peers},
    query::{Form, Source, answer},
};
use azolla_protocol::{
    AzollaId, Clock, IdSource, QueryStatus, ResponseId, SubstrateQuery, SubstrateQueryResponse, limits,
};
use azolla_substrate::{SystemClock, SystemIds};

use self::remote::{Clients, Remote};
use crate::{
    config::AzollaConfig,
    deployment::{Deployment, identity},
    failure::sentence,
    stores::Stores,
};

/// The registry, seen from one azolla of this machine.
pub(crate) struct RegistryPeers {
    source: Source,
    stores: Arc<Stores>,
    remotes: Vec<Remote>,
    /// Every other azolla that can be asked.
    others: Vec<AzollaId>,
    answer_bytes: u64,
    ids: SystemIds,
}

impl RegistryPeers {
    /// Puts the registry together for `azolla`. Nothing is opened and nothing connected.
    pub(crate) fn new(deployment: &Deployment, stores: Arc<Stores>, azolla: &AzollaConfig) -> Self {
        let config = &deployment.config;
        let shared = Arc::new(Clients::default());
        let remotes = config.peers.iter().filter_map(|peer| Remote::new(peer, &config.limits, &shared));
        let remotes: Vec<Remote> = remotes.collect();
        let here = config.azollas.iter().map(|other| &other.id).filter(|id| **id != azolla.id);
        let mut others: Vec<AzollaId> = here.chain(remotes.iter().map(Remote::id)).cloned().collect();
        others.sort_unstable();
        let source = Source { azolla_id: azolla.id.clone(), azolla_type: azolla.azolla_type };
        let answer_bytes = config.limits.get(&limits::PEER_ANSWER_BYTES);
        Self { source, stores, remotes, others, answer_bytes, ids: SystemIds::default() }
    }

    /// Asks an azolla of this machine, by the same rules as one from elsewhere would be answered by.
    async fn ask_here(&self, azolla: &AzollaConfig, query: &SubstrateQuery) -> Asked {
        let read = match self.stores.reading(azolla).await {
            Ok(read) => read,
            Err(error) => return Asked::unavailable(sentence(&error)),
        };
        let form = Form {
            response_id: ResponseId::from_body(&self.ids.body()),
            now: SystemClock.now(),
            bytes_max: self.answer_bytes,
        };
        let answer = answer(&*read, &identity(azolla), &self.source, query, form).await;
        match answer.fault {
            Some(fault) => Asked::unavailable(sentence(&fault.into())),
            None => asked(answer.response),
        }
    }
}

impl Peers for RegistryPeers {
    fn registered(&self) -> Vec<AzollaId> {
        self.others.clone()
    }

    fn ask<'a>(&'a self, query: &'a SubstrateQuery) -> Pin<Box<dyn Future<Output = Asked> + Send + 'a>> {
        Box::pin(async move {
            let target = &query.target_azolla_id;
            if !self.others.contains(target) {
                return Asked::unavailable("it is no other azolla of the registry");
            }
            match (self.stores.azolla(target), self.remotes.iter().find(|remote| remote.id() == target)) {
                (Some(azolla), _) => self.ask_here(azolla, query).await,
                (None, Some(remote)) => remote.ask(query).await,
                (None, None) => Asked::unavailable("it is no other azolla of the registry"),
            }
        })
    }
}

/// What an answer that has been checked comes to.
fn asked(response: SubstrateQueryResponse) -> Asked {
    let reason = match response.status {
        QueryStatus::Ok => "",
        QueryStatus::Denied => "it refused the query",
        QueryStatus::TargetUnavailable => "its store does not answer",
    };
    Asked { status: response.status, results: response.results, reason: reason.to_owned() }
}
