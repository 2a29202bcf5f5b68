//! The machine's account of what is spent, in `home.sqlite`: what a call may cost is set aside before the call, so that
//! a cap holds whatever crashes. A day is a day in UTC, by the clock of this machine.

mod caps;
mod words;

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use azolla_control_plane::spending::{Ledger, RunAccount};
use azolla_protocol::{Allowance, Clock, Reservation, Spending, Timestamp, Wait, WaitSource, Withheld};
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::{
    config::{BUILTIN, Limits},
    home::{Account, Hold, Home, HomeError},
};

pub(crate) use self::{
    caps::{Waiting, Why, spent_today, waiting},
    words::{amount, cents, number},
};

/// The account in the home store. Several processes share it.
pub(crate) struct HomeLedger(Arc<Books>);

struct Books {
    path: PathBuf,
    caps: Limits,
    clock: Arc<dyn Clock>,
    /// Opened at the first answer, and again where it failed or another file has taken its place.
    open: Mutex<Option<Open>>,
    /// Why and when a write failed, until something is set aside again. It is on no record, and what only reads, or
    /// changes nothing, goes well all the same.
    failed: Mutex<Option<(Timestamp, Wait)>>,
}

struct Open {
    home: Home,
    device_and_file: (u64, u64),
}

/// How long work waits for an account that cannot be used.
const UNUSABLE: Duration = Duration::from_secs(60);

/// The shortest time that a provider is left alone. One that asks for less would be asked again and again: a wait counts
/// neither as a retry nor as a claim.
const HOLD_MIN: Duration = Duration::from_secs(60);

/// The longest time that a provider is left alone. What says more is a mistake, or the clock was.
const HOLD_MAX: Duration = Duration::from_secs(8 * 86_400);

/// The most that is kept of what a provider says.
const REASON_CHARS_MAX: usize = 500;

impl HomeLedger {
    /// Makes the account in the home store at `path`, with the caps that are configured.
    pub(crate) fn new(path: PathBuf, caps: Limits, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Books { path, caps, clock, open: Mutex::default(), failed: Mutex::default() }))
    }
}

impl Ledger for HomeLedger {
    fn waits(&self, provider: &str) -> Option<Wait> {
        if provider == BUILTIN {
            return None;
        }
        let now = self.0.clock.now();
        if let Some(wait) = self.0.failed(now) {
            return Some(wait);
        }
        match self.0.with(|home| waiting(home, &self.0.caps, provider, now)) {
            Ok(waiting) => waiting.map(|waiting| waiting.wait(now)),
            Err(error) => Some(unusable(&error)),
        }
    }

    fn begin(&self, run: &RunAccount) -> Result<Box<dyn Allowance>, Withheld> {
        if run.provider == BUILTIN {
            return Ok(Box::new(Costless));
        }
        self.0.answer(|account, caps, now| caps::begin(account, caps, run, now))?;
        Ok(Box::new(Purse { books: self.0.clone(), run: run.clone() }))
    }

    fn end(&self, run: &RunAccount, consumed_ms: u64) {
        if run.provider == BUILTIN {
            return;
        }
        // Where this fails, the time stays set aside: the caps hold.
        let _ = self.0.write(|account| account.end_run(run, consumed_ms));
    }

    fn hold(&self, provider: &str, wait: &Wait) {
        // A wait that a cap of ours asked for is on record already, with what lifts it, and one that the account asked
        // for is none of the provider's.
        if wait.source != WaitSource::Provider {
            return;
        }
        let now = self.0.clock.now();
        // Where this fails, the provider says it again at the next call.
        let _ = self.0.write(|account| hold(account, provider, wait, now));
    }
}

/// Work of what is built in costs nothing and asks nobody: no cap is there for it.
struct Costless;

impl Allowance for Costless {
    fn reserve(&self, _most: Spending) -> Result<Reservation, Withheld> {
        Ok(Reservation(0))
    }

    fn settle(&self, _reservation: Reservation, _spent: Spending) {}
}

/// The account of one run.
struct Purse {
    books: Arc<Books>,
    run: RunAccount,
}

impl Allowance for Purse {
    fn reserve(&self, most: Spending) -> Result<Reservation, Withheld> {
        self.books.answer(|account, caps, now| caps::reserve(account, caps, &self.run, &most, now))
    }

    fn settle(&self, reservation: Reservation, spent: Spending) {
        // Where this fails, the most that the call could cost stays set aside: the caps hold.
        let _ = self.books.write(|account| account.settle_call(reservation, &spent));
    }
}

impl Books {
    /// Gives one answer in one transaction, which is durable before the answer is given, a refusal too.
    fn answer<T>(
        &self,
        judge: impl FnOnce(&Account<'_>, &Limits, Timestamp) -> Result<Result<T, Withheld>, HomeError>,
    ) -> Result<T, Withheld> {
        let now = self.clock.now();
        let answered = self.write(|account| judge(account, &self.caps, now));
        if let Ok(Ok(_)) = &answered {
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        answered.unwrap_or_else(|error| Err(Withheld::Wait(unusable(&error))))
    }

    fn write<T>(&self, work: impl FnOnce(&Account<'_>) -> Result<T, HomeError>) -> Result<T, HomeError> {
        let done = aside(|| {
            self.with(|home| {
                let account = home.account()?;
                let done = work(&account)?;
                account.commit()?;
                Ok(done)
            })
        });
        if let Err(error) = &done {
            let failed = (self.clock.now(), unusable(error));
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(failed);
        }
        done
    }

    /// Returns what is left of the time in which an account that could not be written is not tried again.
    fn failed(&self, now: Timestamp) -> Option<Wait> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, wait) = failed.as_ref()?;
        // A time before that is one of a clock that was ahead (T36): it holds nothing back.
        let since = u64::try_from(now.as_millisecond() - at.as_millisecond()).ok()?;
        let time = wait.time.checked_sub(Duration::from_millis(since)).filter(|left| !left.is_zero())?;
        Some(Wait { time, ..wait.clone() })
    }

    fn with<T>(&self, work: impl FnOnce(&Home) -> Result<T, HomeError>) -> Result<T, HomeError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // A file that was removed or replaced is no longer the one that other processes write to.
        let in_place = fs::metadata(&self.path).ok().map(|found| (found.dev(), found.ino()));
        open.take_if(|open| in_place != Some(open.device_and_file));
        let current = match open.take() {
            Some(current) => current,
            None => {
                let home = Home::open(&self.path)?;
                let found = fs::metadata(&self.path)?;
                Open { home, device_and_file: (found.dev(), found.ino()) }
            }
        };
        let done = work(&current.home)?;
        // Not kept after an error: the next answer begins with a new connection.
        *open = Some(current);
        Ok(done)
    }
}

/// Does what may wait for another program, while other threads take over what this one has to do besides.
fn aside<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        // One thread has nothing else to do, or there is no runtime at all.
        _ => work(),
    }
}

/// Notes that a provider is to be left alone.
fn hold(account: &Account<'_>, provider: &str, wait: &Wait, now: Timestamp) -> Result<(), HomeError> {
    let ms = i64::try_from(wait.time.clamp(HOLD_MIN, HOLD_MAX).as_millis()).unwrap_or(i64::MAX);
    let reason = wait.reason.chars().take(REASON_CHARS_MAX).collect();
    account.hold(provider, &Hold { cap: None, need: 0, until: now.plus_ms(ms), reason })
}

fn unusable(error: &HomeError) -> Wait {
    let mut reason = format!("the account of what is spent cannot be used: {error}");
    if let Some(cause) = std::error::Error::source(error) {
        reason = format!("{reason}: {cause}");
    }
    Wait { reason, time: UNUSABLE, source: WaitSource::Ledger }
}

#[cfg(test)]
mod tests;
