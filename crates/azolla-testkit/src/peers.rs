//! The other azollas, as a test sets them: who is registered and what each answers, and where candidates could go.

use std::{
    collections::BTreeMap,
    future::{Future, pending},
    pin::Pin,
    sync::{Mutex, PoisonError},
};

use azolla_control_plane::Targets;
use azolla_exchange_membrane::peers::{Asked, Peers};
use azolla_protocol::{
    AzollaId, JsonObject, QueryStatus, QueryableType, SubstrateQuery, content::TargetAzolla,
};
use azolla_substrate::BoxFuture;

/// What one azolla answers, to every query.
#[derive(Clone, Debug)]
pub enum PeerAnswer {
    /// OK, with these artifacts by what was asked for.
    Holds {
        /// Its pause_states.
        pause_states: Vec<JsonObject>,
        /// Its objectives.
        objectives: Vec<JsonObject>,
    },
    /// This, whatever was asked for.
    Says(Asked),
    /// Nothing, ever.
    Hangs,
}

impl PeerAnswer {
    /// OK, and nothing in it.
    pub fn empty() -> Self {
        Self::Holds { pause_states: Vec::new(), objectives: Vec::new() }
    }

    /// DENIED.
    pub fn denied() -> Self {
        let reason = String::new();
        Self::Says(Asked { status: QueryStatus::Denied, results: Vec::new(), reason })
    }
}

/// A registry whose azollas answer as a test says.
#[derive(Default)]
pub struct ScriptedPeers {
    answers: Mutex<BTreeMap<AzollaId, PeerAnswer>>,
    asked: Mutex<Vec<SubstrateQuery>>,
}

impl ScriptedPeers {
    /// Registers an azolla with what it answers, or sets another answer.
    pub fn register(&self, azolla_id: &str, answer: PeerAnswer) {
        let id = AzollaId::new(azolla_id).expect("an azolla id");
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).insert(id, answer);
    }

    /// Returns every query so far.
    pub fn asked(&self) -> Vec<SubstrateQuery> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Peers for ScriptedPeers {
    fn registered(&self) -> Vec<AzollaId> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    fn ask<'a>(&'a self, query: &'a SubstrateQuery) -> Pin<Box<dyn Future<Output = Asked> + Send + 'a>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(query.clone());
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answers.get(&query.target_azolla_id).cloned();
        Box::pin(async move {
            let (pause_states, objectives) = match answer {
                None => return Asked::unavailable("nobody of that name"),
                Some(PeerAnswer::Hangs) => pending().await,
                Some(PeerAnswer::Says(asked)) => return asked,
                Some(PeerAnswer::Holds { pause_states, objectives }) => (pause_states, objectives),
            };
            let results = match query.artifact_type {
                QueryableType::PauseState => pause_states,
                QueryableType::Objective => objectives,
                QueryableType::BlockerRef => Vec::new(),
            };
            Asked { status: QueryStatus::Ok, results, reason: String::new() }
        })
    }
}

/// The azollas that take tickets, as a test sets them.
#[derive(Default)]
pub struct ScriptedTargets(pub Mutex<Vec<TargetAzolla>>);

impl Targets for ScriptedTargets {
    fn targets(&self) -> BoxFuture<'_, Vec<TargetAzolla>> {
        let targets = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(async move { targets })
    }
}
