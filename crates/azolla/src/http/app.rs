//! What every request is answered from.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use azolla_control_plane::operator::{Operator, OperatorError};
use azolla_exchange_membrane::query::Source;
use azolla_protocol::{AzollaId, Clock};
use azolla_substrate::{Identity, Substrate, SubstrateError, SystemClock, SystemIds};
use tokio::{sync::Mutex, task::spawn_blocking};

use super::{
    answer::ApiError,
    front::Hosts,
    log::{Kind, Log},
    mcp::Mcp,
    metrics::{Counter, Metrics},
    replay::Replay,
};
use crate::{
    acts::{self, Acts, Asked},
    config::AzollaConfig,
    dashboard::{Door, Live, Sessions},
    deployment::Deployment,
    desk::Look,
    failure::sentence,
    home::{Home, HomeError},
    stores::Stores,
    token::{Token, TokenHash},
    under_way::{Step, UnderWay},
};

/// The parts that requests are answered from.
pub(crate) struct App {
    pub(crate) deployment: Arc<Deployment>,
    pub(crate) stores: Arc<Stores>,
    pub(crate) operator: TokenHash,
    pub(super) mcp: Mcp,
    pub(super) hosts: Hosts,
    pub(super) metrics: Metrics,
    pub(super) replay: Replay,
    pub(super) log: Arc<Log>,
    pub(super) ids: SystemIds,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) sessions: Sessions,
    pub(crate) door: Door,
    pub(crate) live: Live,
    /// The operator's steps, as on the command line.
    pub(crate) acts: Acts,
    who: String,
    /// What is under way in this process, and which roles of which azollas run here.
    pub(crate) steps: Arc<UnderWay>,
    roles: BTreeMap<AzollaId, String>,
    /// Whoever reads it waits for the one before: a crowd without tokens takes one thread, not all.
    home: Arc<Mutex<Home>>,
}

impl App {
    /// Puts the parts together for a server that listens at `address`. The operator's token and
    /// that of MCP clients are made if there are none.
    pub(crate) fn new(
        deployment: Arc<Deployment>,
        stores: Arc<Stores>,
        address: SocketAddr,
        encrypted: bool,
    ) -> anyhow::Result<Self> {
        let operator = Token::in_file(&deployment.place.operator_token())?.hash();
        let log = Arc::new(Log::default());
        let home = Arc::new(Mutex::new(Home::open(&deployment.place.home_store())?));
        let mcp = Mcp::new(&deployment, &stores, &home, &log)?;
        let hosts = Hosts::new(&deployment.config.http.hosts, address, encrypted);
        let who = acts::who();
        Ok(Self {
            acts: Acts::new(stores.clone(), who.clone(), Asked::OnAPage),
            stores,
            operator,
            mcp,
            hosts,
            metrics: Metrics::default(),
            replay: Replay::default(),
            log,
            ids: SystemIds::default(),
            clock: Arc::new(SystemClock),
            sessions: Sessions::new(encrypted, address.port())?,
            door: Door::default(),
            live: Live::new()?,
            who,
            steps: Arc::default(),
            roles: BTreeMap::new(),
            home,
            deployment,
        })
    }

    /// Lets pages show what is under way in this process, and the roles of each azolla that run here, in words.
    pub(crate) fn watching(self, steps: Arc<UnderWay>, roles: BTreeMap<AzollaId, String>) -> Self {
        Self { steps, roles, ..self }
    }

    /// Tells whether what is due is worked on by this process.
    pub(crate) fn works(&self) -> bool {
        !self.roles.is_empty()
    }

    /// Returns the roles of an azolla that run in this process; none if no role of it does.
    pub(crate) fn roles_of(&self, id: &AzollaId) -> Option<&str> {
        self.roles.get(id).map(String::as_str)
    }

    /// Returns what is under way in this process, the latest step last.
    pub(crate) async fn under_way(&self) -> Vec<Step> {
        for azolla in &self.deployment.config.azollas {
            if self.steps.steps().iter().any(|step| step.azolla_id == azolla.id)
                && let Ok(store) = self.stores.looking(azolla).await
            {
                // One that cannot be read now stays until it can.
                let _ = self.steps.forget_over(&azolla.id, &*store).await;
            }
        }
        self.steps.steps()
    }

    /// Returns the peer that a token belongs to: one of the registry, with the token that it has now.
    pub(super) async fn peer_of(self: &App, presented: &TokenHash) -> Result<Option<Source>, ApiError> {
        let tokens = self.at_home(|home| home.peer_tokens()).await.map_err(|error| {
            self.log.line(Kind::Failed, &format!("the tokens of peers cannot be read: {error:#}"));
            ApiError::unavailable()
        })?;
        // All of them are compared, so that the time tells nothing.
        let mut found: Option<AzollaId> = None;
        for token in tokens {
            if token.hash.is(presented) {
                found = Some(token.azolla_id);
            }
        }
        let peer = found.and_then(|id| self.deployment.config.peer(&id));
        Ok(peer.map(|peer| Source { azolla_id: peer.id.clone(), azolla_type: peer.azolla_type }))
    }

    /// Asks the home store something.
    pub(crate) async fn at_home<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut Home) -> Result<T, HomeError> + Send + 'static,
    ) -> anyhow::Result<T> {
        let mut home = self.home.clone().lock_owned().await;
        Ok(spawn_blocking(move || ask(&mut home)).await??)
    }

    /// Reads what lies on the operator's desk, through the stores that are open already. The mark of what was seen stays
    /// where it is.
    pub(crate) async fn look(&self) -> Look {
        Look::kept(&self.deployment, &self.stores, &self.home).await
    }

    /// Returns the store of an azolla. One that cannot be opened is away, for whatever reason.
    pub(super) async fn store(&self, azolla: &AzollaConfig) -> Result<Arc<dyn Substrate>, ApiError> {
        self.stores.whole(azolla).await.map_err(|error| {
            self.log.line(Kind::Failed, &format!("{}: {}", azolla.id, sentence(&error)));
            ApiError::unavailable()
        })
    }

    /// Returns the operator at an azolla: the same steps as on the command line.
    pub(crate) fn operator_at<'a>(
        &'a self,
        substrate: &'a dyn Substrate,
        identity: &'a Identity,
    ) -> Operator<'a> {
        Operator { substrate, identity, ids: &self.ids, who: &self.who }
    }

    /// Notes in our own log that something failed.
    pub(crate) fn log_failure(&self, what: &str) {
        self.log.line(Kind::Failed, what);
    }

    /// Notes that somebody could not log in.
    pub(crate) fn refused_log_in(&self, remote: IpAddr) {
        self.metrics.count(Counter::Unauthorized, "operator");
        let what = format!("refused {remote}: it could not log in");
        self.log.line(Kind::Unauthorized, &what);
    }

    /// Tells why a step of the operator did not happen.
    pub(super) fn not_done(&self, what: &str, error: OperatorError) -> ApiError {
        match error {
            OperatorError::NotFound { what } => ApiError::not_found(what),
            OperatorError::Refused { what, hint } => ApiError::refused(what, hint),
            OperatorError::Store(error) => self.failed(what, error),
        }
    }

    /// Writes what went wrong with a store into our own log; whoever asks is told that something did.
    pub(super) fn failed(&self, what: &str, error: SubstrateError) -> ApiError {
        if let SubstrateError::Invalid(broken) = &error {
            return ApiError::invalid(broken.to_string());
        }
        self.log.line(Kind::Failed, &format!("{what}: {}", sentence(&error.into())));
        ApiError::unavailable()
    }
}
