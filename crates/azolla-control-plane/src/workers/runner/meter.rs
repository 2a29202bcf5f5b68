//! What a claim cost, also where the work was dropped in the middle and returned nothing (B-3).

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use azolla_protocol::{Allowance, Reservation, Spending, Usage, Withheld};

/// Hands everything on, and adds it up.
pub(super) struct Meter {
    allowance: Box<dyn Allowance>,
    count: Mutex<Count>,
}

#[derive(Default)]
struct Count {
    /// By reservation: what was set aside, or what it came to.
    calls: HashMap<u64, Spending>,
    requests: u64,
    /// What the diazotroph itself counted, which says more.
    told: Option<Usage>,
    /// How a program of its was confined, if one was started.
    sandbox_mode: Option<String>,
}

impl Meter {
    pub(super) fn new(allowance: Box<dyn Allowance>) -> Self {
        Self { allowance, count: Mutex::default() }
    }

    /// Returns what is known; none if nobody was asked. Where it is not told apart, all tokens count as sent.
    pub(super) fn usage(&self, is_asked: bool) -> Option<Usage> {
        let count = self.count();
        if !is_asked && count.requests == 0 {
            return None;
        }
        Some(count.told.clone().unwrap_or_else(|| Usage {
            requests: count.requests.max(1),
            input_tokens: count.calls.values().fold(0, |sum, call| sum.saturating_add(call.tokens)),
            cost_microusd:
                count.calls.values().filter_map(|call| call.cost_microusd).reduce(u64::saturating_add),
            ..Usage::default()
        }))
    }

    /// Returns how the program that was asked was confined; none if none was started.
    pub(super) fn sandbox_mode(&self) -> Option<String> {
        self.count().sandbox_mode.clone()
    }

    fn count(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Allowance for Meter {
    fn reserve(&self, most: Spending) -> Result<Reservation, Withheld> {
        let reservation = self.allowance.reserve(most)?;
        let mut count = self.count();
        count.requests += 1;
        count.calls.insert(reservation.0, most);
        Ok(reservation)
    }

    fn settle(&self, reservation: Reservation, spent: Spending) {
        self.allowance.settle(reservation, spent);
        if let Some(call) = self.count().calls.get_mut(&reservation.0) {
            // As in the account: a cost that nobody can tell leaves what was set aside for it.
            *call = Spending { cost_microusd: spent.cost_microusd.or(call.cost_microusd), ..spent };
        }
    }

    fn counted(&self, usage: &Usage) {
        self.allowance.counted(usage);
        self.count().told = Some(usage.clone());
    }

    fn started(&self, sandbox_mode: &str) {
        self.allowance.started(sandbox_mode);
        self.count().sandbox_mode = Some(sandbox_mode.to_owned());
    }
}

#[cfg(test)]
mod tests;
