//! What `/metrics` counts, in the text form of Prometheus.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Mutex, PoisonError},
};

use azolla_protocol::{AzollaId, QueryStatus};

/// Counters since the start. Labels are words of ours, so there are only so many.
#[derive(Default)]
pub(super) struct Metrics {
    counts: Mutex<BTreeMap<(Counter, &'static str), u64>>,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Counter {
    /// Requests, by the class of their answer.
    Requests,
    /// Requests without a token that counts, by what they were for.
    Unauthorized,
    /// Queries of peers, by outcome.
    Queries,
    /// Queries that were refused, by the reason that the peer is not told.
    Denied,
    /// Captures taken.
    Captures,
}

impl Counter {
    const ALL: [Self; 5] = [Self::Requests, Self::Unauthorized, Self::Queries, Self::Denied, Self::Captures];

    /// Returns its name, the name of its label if it has one, and what it counts.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Requests => {
                ("azolla_http_requests_total", "class", "Requests by the class of their answer.")
            }
            Self::Unauthorized => {
                ("azolla_http_unauthorized_total", "access", "Requests without a token that counts.")
            }
            Self::Queries => ("azolla_queries_total", "status", "Queries of other azollas by outcome."),
            Self::Denied => {
                ("azolla_queries_denied_total", "reason", "Queries that were refused, by reason.")
            }
            Self::Captures => ("azolla_captures_total", "", "Captures taken over HTTP."),
        }
    }
}

/// What stands open in one azolla, read when somebody looks.
pub(super) struct Gauges {
    /// The azolla.
    pub(super) azolla_id: AzollaId,
    /// Workorders created and not yet gated.
    pub(super) workorders_open: u64,
    /// Results that wait for the operator.
    pub(super) results_waiting: u64,
}

impl Metrics {
    /// Counts one more.
    pub(super) fn count(&self, counter: Counter, label: &'static str) {
        *self.counts().entry((counter, label)).or_default() += 1;
    }

    /// Counts the answer to a query.
    pub(super) fn answered(&self, status: QueryStatus) {
        self.count(Counter::Queries, status.as_str());
    }

    /// Returns all of it as text.
    pub(super) fn text(&self, gauges: &[Gauges]) -> String {
        let mut text = String::new();
        let counts = self.counts();
        for counter in Counter::ALL {
            let (name, label_name, help) = counter.words();
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
            if label_name.is_empty() {
                let _ = writeln!(text, "{name} {}", counts.get(&(counter, "")).copied().unwrap_or(0));
            }
            for ((_, label), count) in
                counts.iter().filter(|((of, label), _)| *of == counter && !label.is_empty())
            {
                let _ = writeln!(text, "{name}{{{label_name}=\"{label}\"}} {count}");
            }
        }
        drop(counts);
        add_gauge(
            &mut text,
            "azolla_workorders_open",
            "Workorders created and not yet gated.",
            gauges,
            |of| of.workorders_open,
        );
        add_gauge(&mut text, "azolla_results_waiting", "Results that wait for the operator.", gauges, |of| {
            of.results_waiting
        });
        text
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, BTreeMap<(Counter, &'static str), u64>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn add_gauge(text: &mut String, name: &str, help: &str, gauges: &[Gauges], value: impl Fn(&Gauges) -> u64) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
    for gauge in gauges {
        let _ = writeln!(text, "{name}{{azolla_id=\"{}\"}} {}", gauge.azolla_id, value(gauge));
    }
}
