//! What was spent today, and what a cap or a provider's quota holds back.

use std::collections::BTreeMap;

use azolla_protocol::{
    AzollaId, Clock, Unit,
    limits::{DAY_MS, DAY_RUNS, DAY_TOKENS, DAY_USD},
};
use azolla_substrate::SystemClock;
use serde_json::{Value, json};

use crate::{
    config::Limits,
    deployment::Deployment,
    home::{Home, Spent},
    ledger::{self, Waiting, Why},
    screen::day_and_time,
};

/// What the page says about spending.
#[derive(Default)]
pub(crate) struct Spending {
    today: Spent,
    /// By azolla: its provider, and what holds that back.
    held: BTreeMap<String, Held>,
}

/// Work of an azolla that waits.
pub(crate) struct Held {
    provider: String,
    waiting: Waiting,
}

/// What the operator can do about it.
pub(crate) enum NextStep {
    /// Type this.
    Type(String),
    /// Edit this.
    Edit(String),
}

impl Spending {
    /// Reads the account. One that cannot be read is the doctor's to tell: the page does without.
    pub(crate) fn read(home: &Home, deployment: &Deployment) -> Self {
        let now = SystemClock.now();
        let held = deployment.config.azollas.iter().filter_map(|azolla| {
            let held = deployment.provider_names(azolla).into_iter().find_map(|provider| {
                let waiting = ledger::waiting(home, &deployment.config.limits, provider, now).ok()??;
                Some(Held { provider: provider.to_owned(), waiting })
            })?;
            Some((azolla.id.to_string(), held))
        });
        Self { today: ledger::spent_today(home, now).unwrap_or_default(), held: held.collect() }
    }

    /// Returns what holds back the work of an azolla, if anything does.
    pub(crate) fn held(&self, id: &AzollaId) -> Option<&Held> {
        self.held.get(id.as_str())
    }

    /// Returns the line about today, if anything was spent.
    pub(crate) fn today(&self, caps: &Limits) -> Option<String> {
        if self.today == Spent::default() {
            return None;
        }
        let shown = |unit, value| match unit {
            Unit::MicroUsd => ledger::cents(value),
            _ => ledger::amount(unit, value),
        };
        let parts = [DAY_RUNS, DAY_MS, DAY_TOKENS, DAY_USD].iter().filter_map(|cap| {
            let (used, value) = (self.today.of(cap.unit), caps.get(cap));
            // Time is worth a word only where it is capped.
            match value {
                0 if used == 0 || cap.unit == Unit::Milliseconds => None,
                0 => Some(shown(cap.unit, used)),
                _ if used == 0 && caps.configured(cap).is_none() => None,
                _ => Some(match cap.unit {
                    Unit::Tokens | Unit::Count => {
                        format!("{} of {}", ledger::number(used), ledger::amount(cap.unit, value))
                    }
                    unit => format!("{} of {}", shown(unit, used), shown(unit, value)),
                }),
            }
        });
        Some(format!("Today: {}", parts.collect::<Vec<_>>().join(", ")))
    }

    /// Returns the same for a program.
    pub(crate) fn document(&self) -> Value {
        let Spent { runs, ms, tokens, cost_microusd } = self.today;
        let held: Vec<_> = self.held.iter().map(|(id, held)| held.document(id)).collect();
        json!({"today": {"runs": runs, "ms": ms, "tokens": tokens, "cost_microusd": cost_microusd},
               "held": held})
    }
}

impl Held {
    /// Returns until when, and why.
    pub(crate) fn until_and_why(&self) -> String {
        let Waiting { reason, until, .. } = &self.waiting;
        let until = day_and_time(*until);
        match self.waiting.why {
            Why::Cap(_) => format!("until {until} UTC: {reason}"),
            Why::Provider => format!("until {until} UTC, worker {} asks for time: {reason}", self.provider),
        }
    }

    /// Returns the one thing to do about it.
    pub(crate) fn action(&self, deployment: &Deployment) -> NextStep {
        match self.waiting.why {
            Why::Cap(name) => {
                let file = deployment.place.config.display();
                NextStep::Edit(format!("to go on before that, raise {name} under [caps] in {file}"))
            }
            Why::Provider => NextStep::Type("azolla run --until-idle --now".to_owned()),
        }
    }

    fn document(&self, id: &str) -> Value {
        let cap = match self.waiting.why {
            Why::Cap(name) => Some(name),
            Why::Provider => None,
        };
        json!({"azolla_id": id, "provider": self.provider, "reason": self.waiting.reason,
               "until": self.waiting.until, "cap": cap})
    }
}

#[cfg(test)]
mod tests;
