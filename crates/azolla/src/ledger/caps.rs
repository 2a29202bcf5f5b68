//! The rules: what is left of each cap, and what follows when that is too little.

use std::time::Duration;

use azolla_control_plane::spending::RunAccount;
use azolla_protocol::{
    Limit, Reservation, Spending, Timestamp, Unit, Wait, WaitSource, Withheld,
    limits::{
        DAY_MS, DAY_RUNS, DAY_TOKENS, DAY_USD, OBJECTIVE_MS, OBJECTIVE_RUNS, OBJECTIVE_TOKENS, OBJECTIVE_USD,
        RUN_TOKENS, RUN_USD,
    },
};

use super::{HOLD_MAX, words};
use crate::{
    config::Limits,
    home::{Account, Hold, Home, HomeError, Spent},
};

/// Over what a cap counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// One workorder.
    Run,
    /// All runs of an objective.
    Objective,
    /// All that happens on one day.
    Day,
}

impl Scope {
    /// Returns the caps of this scope.
    fn caps(self) -> &'static [Limit] {
        match self {
            Self::Run => &[RUN_TOKENS, RUN_USD],
            Self::Objective => &[OBJECTIVE_TOKENS, OBJECTIVE_USD, OBJECTIVE_MS, OBJECTIVE_RUNS],
            Self::Day => &[DAY_TOKENS, DAY_USD, DAY_MS, DAY_RUNS],
        }
    }

    /// Returns how a sentence names it.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Run => "one run",
            Self::Objective => "one objective",
            Self::Day => "one day",
        }
    }
}

/// What is asked for.
pub(super) enum Need {
    /// A new run: one more of them, with its time. Every cap has to have room.
    Run(Spent),
    /// A call of a run that has begun: only what it adds to is looked at.
    Call(Spent),
}

impl Need {
    fn of(&self, unit: Unit) -> Option<u64> {
        match self {
            Self::Run(spent) => Some(spent.of(unit)),
            Self::Call(spent) => matches!(unit, Unit::Tokens | Unit::MicroUsd).then(|| spent.of(unit)),
        }
    }
}

/// A cap without room for what is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) scope: Scope,
    pub(super) cap: Limit,
    pub(super) value: u64,
    pub(super) used: u64,
    pub(super) need: u64,
}

impl Reached {
    /// Tells whether it would not fit with nothing used either: waiting does not help.
    fn never_fits(&self) -> bool {
        self.need > self.value
    }
}

/// Returns the first cap of a scope that has no room, if there is one.
fn reached(scope: Scope, caps: &Limits, used: &Spent, need: &Need) -> Option<Reached> {
    scope.caps().iter().find_map(|cap| {
        let (value, used, need) = (caps.get(cap), used.of(cap.unit), need.of(cap.unit)?);
        is_full(value, used, need).then_some(Reached { scope, cap: *cap, value, used, need })
    })
}

/// Tells whether a cap has no room; 0 is no cap. One that is used up has none for what costs nothing as far as anybody
/// can tell.
fn is_full(value: u64, used: u64, need: u64) -> bool {
    value > 0 && (used >= value || used.saturating_add(need) > value)
}

/// Opens the account of a run and sets its time aside, unless a cap has no room. A run that was begun before does not
/// count against itself.
pub(super) fn begin(
    account: &Account<'_>,
    caps: &Limits,
    run: &RunAccount,
    now: Timestamp,
) -> Result<Result<(), Withheld>, HomeError> {
    let today = day(now);
    let own = account.run(run)?;
    let own_spent = own.as_ref().map(|own| own.spent).unwrap_or_default();
    let own_today = own.filter(|own| own.day == today).map(|own| own.spent).unwrap_or_default();
    let by_run = account.spent_by_run(run)? - own_spent;
    let on_objective = account.spent_on_objective(run)? - own_spent;
    let on_day = account.spent_on_day(&today)? - own_today;
    let need = Need::Run(Spent { runs: 1, ms: run.budget_ms, ..Spent::default() });
    if let Some(withheld) = withheld(account, caps, run, [by_run, on_objective, on_day], &need, now)? {
        return Ok(Err(withheld));
    }
    account.begin_run(run, &today, now)?;
    Ok(Ok(()))
}

/// Sets aside what a call may cost, unless a cap has no room.
pub(super) fn reserve(
    account: &Account<'_>,
    caps: &Limits,
    run: &RunAccount,
    most: &Spending,
    now: Timestamp,
) -> Result<Result<Reservation, Withheld>, HomeError> {
    let today = day(now);
    let spent = [account.spent_by_run(run)?, account.spent_on_objective(run)?, account.spent_on_day(&today)?];
    let need = Need::Call(Spent {
        tokens: most.tokens,
        cost_microusd: most.cost_microusd.unwrap_or(0),
        ..Spent::default()
    });
    if let Some(withheld) = withheld(account, caps, run, spent, &need, now)? {
        return Ok(Err(withheld));
    }
    account.add_call(run, &today, most).map(Ok)
}

/// Looks at the caps of the run, the objective and the day, in this order. A cap of the day that has too little room
/// is noted with what it lacks, so that nothing is claimed in vain until there is room, or the cap is another one.
fn withheld(
    account: &Account<'_>,
    caps: &Limits,
    run: &RunAccount,
    spent: [Spent; 3],
    need: &Need,
    now: Timestamp,
) -> Result<Option<Withheld>, HomeError> {
    let scopes = [Scope::Run, Scope::Objective, Scope::Day].into_iter().zip(spent);
    let mut scopes = scopes.filter(|(scope, _)| !(run.is_standing && *scope == Scope::Objective));
    let found = scopes.find_map(|(scope, used)| reached(scope, caps, &used, need));
    let Some(reached) = found else { return Ok(None) };
    let reason = words::reached(&reached);
    if reached.scope != Scope::Day || reached.never_fits() {
        return Ok(Some(Withheld::Cap(reason)));
    }
    let until = midnight(now);
    let cap = Some(reached.cap.name.to_owned());
    account.hold(&run.provider, &Hold { cap, need: reached.need, until, reason: reason.clone() })?;
    Ok(Some(Withheld::Wait(Wait { reason, time: between(now, until), source: WaitSource::Cap })))
}

/// What keeps work with a provider from starting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// What sort of reason.
    pub(crate) why: Why,
    /// The reason, in words.
    pub(crate) reason: String,
    /// When it goes on by itself.
    pub(crate) until: Timestamp,
}

/// What sort of reason it is: what the operator can do about it depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// This cap of the day has no room.
    Cap(&'static str),
    /// The provider asked for time.
    Provider,
}

impl Waiting {
    pub(super) fn wait(self, now: Timestamp) -> Wait {
        let source = match self.why {
            Why::Cap(_) => WaitSource::Cap,
            Why::Provider => WaitSource::Provider,
        };
        Wait { reason: self.reason, time: between(now, self.until), source }
    }
}

/// Returns what keeps work with a provider from starting now, if anything does: the reason that lasts longest.
///
/// What a cap held back is judged again by what is used now: calls may have cost less than was set aside, and the cap
/// may have been raised.
pub(crate) fn waiting(
    home: &Home,
    caps: &Limits,
    provider: &str,
    now: Timestamp,
) -> Result<Option<Waiting>, HomeError> {
    let account = home.look_at_account()?;
    let used = account.spent_on_day(&day(now))?;
    let nothing = Need::Call(Spent::default());
    let full = reached(Scope::Day, caps, &used, &nothing).map(|reached| Waiting {
        why: Why::Cap(reached.cap.name),
        reason: words::reached(&reached),
        until: midnight(now),
    });
    let held = account.holds(provider)?.into_iter().filter_map(|hold| held(hold, caps, &used, now));
    Ok(full.into_iter().chain(held).max_by_key(|waiting| waiting.until))
}

fn held(hold: Hold, caps: &Limits, used: &Spent, now: Timestamp) -> Option<Waiting> {
    // One that lasts longer than any may comes from a clock that was ahead (T36).
    if hold.until <= now || between(now, hold.until) > HOLD_MAX {
        return None;
    }
    let Some(name) = hold.cap else {
        return Some(Waiting { why: Why::Provider, reason: hold.reason, until: hold.until });
    };
    let cap = Scope::Day.caps().iter().find(|cap| cap.name == name)?;
    let (value, used, need) = (caps.get(cap), used.of(cap.unit), hold.need);
    let reached = Reached { scope: Scope::Day, cap: *cap, value, used, need };
    let is_held = is_full(value, used, need) && !reached.never_fits() && hold.until == midnight(now);
    is_held.then(|| Waiting { why: Why::Cap(cap.name), reason: words::reached(&reached), until: hold.until })
}

/// Returns what was spent today, over all azollas of this machine.
pub(crate) fn spent_today(home: &Home, now: Timestamp) -> Result<Spent, HomeError> {
    home.look_at_account()?.spent_on_day(&day(now))
}

const DAY: i64 = 86_400_000;

/// Returns the day in UTC.
fn day(now: Timestamp) -> String {
    now.to_string()[..10].to_owned()
}

/// Returns the first instant of the next day in UTC.
fn midnight(now: Timestamp) -> Timestamp {
    now.plus_ms(DAY - now.as_millisecond().rem_euclid(DAY))
}

fn between(now: Timestamp, until: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(until.as_millisecond() - now.as_millisecond()).unwrap_or(0))
}
