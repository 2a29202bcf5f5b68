//! What was measured, printed as a table and as JSON lines.

use serde_json::json;

use crate::cycles::Measured;

/// What a figure should be.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    /// It is there to compare with.
    None,
    /// The same on every machine.
    AtMost(f64),
    /// Depends on the machine and on how long the run is: not judged in a short run.
    MachineAtMost(f64),
    /// As above, the other way round.
    MachineAtLeast(f64),
}

impl Goal {
    pub(crate) fn machine_at_most(limit: f64) -> Self {
        Self::MachineAtMost(limit)
    }

    fn is_met(self, value: f64) -> bool {
        match self {
            Self::None => true,
            Self::AtMost(limit) | Self::MachineAtMost(limit) => value <= limit,
            Self::MachineAtLeast(limit) => value >= limit,
        }
    }

    fn text(self) -> String {
        match self {
            Self::None => String::new(),
            Self::AtMost(limit) | Self::MachineAtMost(limit) => format!("<= {limit}"),
            Self::MachineAtLeast(limit) => format!(">= {limit}"),
        }
    }
}

struct Figure {
    backend: &'static str,
    name: String,
    unit: &'static str,
    value: f64,
    goal: Goal,
}

/// All figures of a run.
#[derive(Default)]
pub(crate) struct Figures(Vec<Figure>);

impl Figures {
    pub(crate) fn add(
        &mut self,
        backend: &'static str,
        name: impl Into<String>,
        unit: &'static str,
        value: f64,
        goal: Goal,
    ) {
        self.0.push(Figure { backend, name: name.into(), unit, value, goal });
    }

    /// Adds what every run of cycles has.
    pub(crate) fn cycles(&mut self, backend: &'static str, owners: usize, measured: &Measured, raw: f64) {
        let name = |what: &str| format!("{owners} owner{}: {what}", if owners == 1 { "" } else { "s" });
        self.add(backend, name("cycles"), "/s", measured.rate, Goal::None);
        self.add(backend, name("cycles against raw commits"), "x", measured.rate / raw, Goal::None);
        self.add(backend, name("p50"), "ms", measured.p50_ms, Goal::None);
        self.add(backend, name("p99"), "ms", measured.p99_ms, Goal::None);
    }

    pub(crate) fn print(&self) {
        println!("{:<9} {:<48} {:>12} {:<4} {:<9}", "backend", "figure", "value", "", "goal");
        for figure in &self.0 {
            let verdict = match figure.goal {
                Goal::None => "",
                goal if goal.is_met(figure.value) => "met",
                _ => "MISSED",
            };
            println!(
                "{:<9} {:<48} {:>12.3} {:<4} {:<9} {verdict}",
                figure.backend,
                figure.name,
                figure.value,
                figure.unit,
                figure.goal.text()
            );
        }
        for figure in &self.0 {
            let goal = figure.goal.text();
            let line = json!({
                "bench": "store", "backend": figure.backend, "figure": figure.name, "unit": figure.unit,
                "value": figure.value, "goal": goal, "met": figure.goal.is_met(figure.value),
            });
            println!("{line}");
        }
    }

    /// Returns the names of the goals that were missed.
    pub(crate) fn missed(&self, short: bool) -> Vec<String> {
        let judged = |goal| !short || matches!(goal, Goal::AtMost(_));
        let missed = self.0.iter().filter(|figure| judged(figure.goal) && !figure.goal.is_met(figure.value));
        missed.map(|figure| format!("{} {}", figure.backend, figure.name)).collect()
    }
}
