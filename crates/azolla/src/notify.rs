//! Tells the operator of two things while roles work: that something waits for them, and that a result has passed its
//! gate. Both come from the journal, so it does not matter who did the work.
//!
//! A pause_state is told of at most once. It is claimed in the home store before it is sent: of several programs one
//! sends it, and one that is killed in between has told nobody. All of this is beside the work: whatever fails or hangs
//! here is a remark, and neither stops nor slows a flow.

mod channel;
mod follow;
mod message;
mod notice;

use std::{
    collections::HashSet,
    io::IsTerminal,
    path::PathBuf,
    time::{Duration, Instant},
};

use azolla_protocol::{Clock, Timestamp};
use azolla_substrate::SystemClock;
use futures_util::future::{join_all, select_all};
use tokio::{
    sync::watch,
    task::{JoinHandle, spawn_blocking},
    time::timeout,
};

pub(crate) use channel::{COMMAND, Channel, DESKTOP, environment, found, has_session};
pub(crate) use follow::Followed;
#[cfg(test)]
pub(crate) use notice::Kind;
pub(crate) use notice::Notice;

use self::{channel::Environment, message::Message};
use crate::{
    cli::draw,
    config::QuietHours,
    deployment::Deployment,
    failure::sentence,
    home::{Claim, Delivery, Home, HomeError},
    screen::remark,
};

/// The wake-up that got lost, and the end of quiet hours.
const INTERVAL: Duration = Duration::from_secs(30);
/// How long more is waited for after the first change, so that what comes together is told together.
const SETTLE: Duration = Duration::from_secs(2);
/// The same right after a notification: a storm is a few of them, not one each.
const SETTLE_AFTER: Duration = Duration::from_secs(15);

/// Follows azollas until it is ended; nothing at all where there is no way to the operator.
pub(crate) struct Notifier(Option<(JoinHandle<()>, watch::Sender<Option<End>>)>);

/// How a notifier ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// After a last look: the work has come to its end.
    AfterALook,
    /// Without one: what is new is found at the next start.
    Now,
}

impl Notifier {
    /// Begins to follow `azollas`, which are opened only where there is a way to the operator. From here on nothing that
    /// pauses is missed.
    pub(crate) async fn start(deployment: &Deployment, azollas: impl AsyncFnOnce() -> Vec<Followed>) -> Self {
        let environment = channel::environment();
        let channels = Channel::all(&deployment.config.notify, &environment);
        if channels.is_empty() {
            return Self(None);
        }
        let azollas = azollas().await;
        if azollas.is_empty() {
            return Self(None);
        }
        let mut desk = Desk {
            azollas,
            channels,
            environment,
            quiet: deployment.config.notify.quiet,
            data: deployment.place.data.clone(),
            home: deployment.place.home_store(),
            may_hold: true,
            remarked: HashSet::new(),
        };
        desk.begin().await;
        let (end, ending) = watch::channel(None);
        Self(Some((tokio::spawn(desk.follow(ending)), end)))
    }

    /// Ends it. A notification that is on its way is waited for, which takes some seconds at the most.
    pub(crate) async fn end(self, how: End) {
        if let Some((task, end)) = self.0 {
            end.send_replace(Some(how));
            let _ = task.await;
        }
    }
}

/// Everything that a look needs.
struct Desk {
    azollas: Vec<Followed>,
    channels: Vec<Channel>,
    environment: Environment,
    quiet: Option<QuietHours>,
    data: PathBuf,
    home: PathBuf,
    /// Whether quiet hours may have left something.
    may_hold: bool,
    remarked: HashSet<String>,
}

/// What became of a look.
#[derive(PartialEq, Eq)]
enum Looked {
    Told,
    Nothing,
}

impl Desk {
    async fn follow(mut self, mut ending: watch::Receiver<Option<End>>) {
        let mut changes: Vec<_> = self.azollas.iter().map(|azolla| azolla.store.changes()).collect();
        let mut told_at: Option<Instant> = None;
        loop {
            for change in &mut changes {
                change.mark_unchanged();
            }
            if self.look_and_tell().await == Looked::Told {
                told_at = Some(Instant::now());
            }
            let is_woken = tokio::select! {
                woken = timeout(INTERVAL, any(&mut changes)) => woken.is_ok(),
                _ = ending.wait_for(Option::is_some) => false,
            };
            if is_woken {
                let rest = told_at.map(|at| SETTLE_AFTER.saturating_sub(at.elapsed())).unwrap_or_default();
                let _ = timeout(rest.max(SETTLE), ending.wait_for(Option::is_some)).await;
            }
            let end = match ending.has_changed() {
                Ok(_) => *ending.borrow(),
                // Whoever would end it is gone.
                Err(_) => Some(End::Now),
            };
            if end == Some(End::AfterALook) {
                self.look_and_tell().await;
            }
            if end.is_some() {
                return self.leave().await;
            }
        }
    }

    /// Finds out where each journal was left.
    async fn begin(&mut self) {
        for at in 0..self.azollas.len() {
            if self.azollas[at].cursor.is_some() {
                continue;
            }
            if let Err(error) = self.begin_one(at).await {
                let id = self.azollas[at].azolla_id.clone();
                self.remark(&format!("notifications of {id} begin later: {}", sentence(&error)));
            }
        }
    }

    async fn begin_one(&mut self, at: usize) -> anyhow::Result<()> {
        let id = self.azollas[at].azolla_id.clone();
        let left = self.at_home(move |home| home.notice_place(&id)).await?;
        let azolla = &mut self.azollas[at];
        let Some(begun) = azolla.begin(left).await? else { return Ok(()) };
        let id = azolla.azolla_id.clone();
        if left != Some(begun) {
            self.at_home(move |home| home.set_notice_place(&id, begun)).await?;
        }
        Ok(())
    }

    async fn look_and_tell(&mut self) -> Looked {
        self.begin().await;
        let now = SystemClock.now();
        let is_quiet = self.quiet.is_some_and(|quiet| quiet.holds(minute_of_day(now)));
        let claims = self.look().await;
        let has_news = claims.iter().any(|claim| !claim.notices.is_empty());
        let cursors: Vec<_> = claims.iter().map(|claim| (claim.azolla_id.clone(), claim.cursor)).collect();
        let releases = self.may_hold && !is_quiet;
        let claimed = match has_news || releases {
            true => self.claim(claims, is_quiet, releases, now).await,
            // How far it was looked is kept with the next claim, or at the end.
            false => Ok(Vec::new()),
        };
        self.may_hold = is_quiet || (self.may_hold && claimed.is_err());
        match claimed {
            Ok(notices) => {
                for (id, cursor) in cursors {
                    if let Some(azolla) = self.azollas.iter_mut().find(|azolla| azolla.azolla_id == id) {
                        azolla.cursor = Some(cursor);
                    }
                }
                match Message::of(&notices) {
                    Some(message) => self.send(&message).await,
                    None => Looked::Nothing,
                }
            }
            Err(error) => {
                // Nothing is claimed, so nothing is sent, and the next look finds it again.
                self.remark(&format!("notifications wait: {}", sentence(&error)));
                Looked::Nothing
            }
        }
    }

    /// Looks at every journal. One that cannot be read now is read at the next look.
    async fn look(&mut self) -> Vec<Claim> {
        let looks = join_all(self.azollas.iter().map(|azolla| azolla.look(&self.azollas))).await;
        let mut claims = Vec::new();
        for (at, look) in looks.into_iter().enumerate() {
            match look {
                Ok(claim) => claims.extend(claim),
                Err(error) => {
                    let id = self.azollas[at].azolla_id.clone();
                    self.remark(&format!("notifications of {id} wait: {}", sentence(&error.into())));
                }
            }
        }
        claims
    }

    /// Claims what is new and takes what quiet hours left. Returns what is to be sent now.
    async fn claim(
        &self,
        claims: Vec<Claim>,
        is_quiet: bool,
        releases: bool,
        now: Timestamp,
    ) -> anyhow::Result<Vec<Notice>> {
        let delivery = if is_quiet { Delivery::Later } else { Delivery::Now };
        let (fresh, released) = self
            .at_home(move |home| match releases {
                true => home.claim_and_release_notices(&claims, delivery, now),
                false => Ok((home.claim_notices(&claims, delivery, now)?, Vec::new())),
            })
            .await?;
        let mut notices = Vec::new();
        for (id, notice) in released {
            let azolla = self.azollas.iter().find(|azolla| azolla.azolla_id == id);
            // What cannot be looked at now is told of: it may still wait.
            let still = match azolla {
                Some(azolla) => azolla.still(&notice, &self.azollas).await.unwrap_or(true),
                None => true,
            };
            if still {
                notices.push(notice);
            }
        }
        if delivery == Delivery::Now {
            notices.extend(fresh);
        }
        Ok(notices)
    }

    /// Sends a message by every channel, side by side.
    async fn send(&mut self, message: &Message) -> Looked {
        let sent = self.channels.iter().map(|channel| channel.send(message, &self.environment, &self.data));
        let outcomes = join_all(sent).await;
        let outcomes: Vec<_> = self.channels.iter().map(Channel::name).zip(outcomes).collect();
        for (channel, outcome) in &outcomes {
            if let Err(reason) = outcome {
                self.remark(&format!("a notification was not sent ({channel}): {reason}"));
            }
        }
        let now = SystemClock.now();
        let recorded = self.at_home(move |home| {
            for (channel, outcome) in &outcomes {
                match outcome {
                    Ok(()) => home.channel_sent(channel, now)?,
                    Err(reason) => home.channel_failed(channel, reason, now)?,
                }
            }
            Ok(())
        });
        // For the doctor alone: what is wrong with the home is told of elsewhere.
        let _ = recorded.await;
        Looked::Told
    }

    /// Keeps how far each journal was looked through, so that the next start does not read it again.
    async fn leave(&self) {
        let places = self.azollas.iter().filter_map(|azolla| {
            let (azolla_id, cursor) = (azolla.azolla_id.clone(), azolla.cursor?);
            Some(Claim { azolla_id, cursor, notices: Vec::new() })
        });
        let places: Vec<Claim> = places.collect();
        let now = SystemClock.now();
        // Not kept, it is read once more: what was claimed stays claimed.
        let _ = self.at_home(move |home| home.claim_notices(&places, Delivery::Now, now)).await;
    }

    /// Works on the home store, which may be busy, away from the threads of the roles.
    async fn at_home<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Home) -> Result<T, HomeError> + Send + 'static,
    ) -> anyhow::Result<T> {
        let path = self.home.clone();
        Ok(spawn_blocking(move || work(&mut Home::open(&path)?)).await??)
    }

    /// Says what is wrong, once per cause.
    fn remark(&mut self, text: &str) {
        if self.remarked.insert(text.to_owned()) {
            if std::io::stderr().is_terminal() {
                draw("");
            }
            remark(text);
        }
    }
}

/// Waits for a change of any store. One whose store is gone changes no more.
async fn any(changes: &mut [watch::Receiver<u64>]) {
    let changed = changes.iter_mut().map(|change| {
        Box::pin(async move {
            if change.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    });
    select_all(changed).await;
}

/// Returns the minute of the day by the local time of this machine.
fn minute_of_day(now: Timestamp) -> u16 {
    let at = jiff::Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let local = at.to_zoned(jiff::tz::TimeZone::system());
    let number = |part: i8| u16::try_from(part).unwrap_or(0);
    number(local.hour()) * 60 + number(local.minute())
}
