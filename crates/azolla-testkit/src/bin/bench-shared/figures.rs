//! What was measured, printed as a table and as JSON lines.

use serde_json::json;

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
    place: &'static str,
    name: String,
    unit: &'static str,
    value: f64,
    goal: Goal,
}

/// All figures of a run.
pub(crate) struct Figures {
    bench: &'static str,
    /// What the first column names.
    column: &'static str,
    figures: Vec<Figure>,
}

impl Figures {
    /// Returns no figures yet, of a benchmark and with the name of their first column.
    pub(crate) fn new(bench: &'static str, column: &'static str) -> Self {
        Self { bench, column, figures: Vec::new() }
    }

    pub(crate) fn add(
        &mut self,
        place: &'static str,
        name: impl Into<String>,
        unit: &'static str,
        value: f64,
        goal: Goal,
    ) {
        self.figures.push(Figure { place, name: name.into(), unit, value, goal });
    }

    pub(crate) fn print(&self) {
        println!("{:<9} {:<48} {:>12} {:<4} {:<9}", self.column, "figure", "value", "", "goal");
        for figure in &self.figures {
            let verdict = match figure.goal {
                Goal::None => "",
                goal if goal.is_met(figure.value) => "met",
                _ => "MISSED",
            };
            println!(
                "{:<9} {:<48} {:>12.3} {:<4} {:<9} {verdict}",
                figure.place,
                figure.name,
                figure.value,
                figure.unit,
                figure.goal.text()
            );
        }
        for figure in &self.figures {
            let goal = figure.goal.text();
            let line = json!({
                "bench": self.bench, (self.column): figure.place, "figure": figure.name, "unit": figure.unit,
                "value": figure.value, "goal": goal, "met": figure.goal.is_met(figure.value),
            });
            println!("{line}");
        }
    }

    /// Returns the names of the goals that were missed.
    pub(crate) fn missed(&self, short: bool) -> Vec<String> {
        let judged = |goal| !short || matches!(goal, Goal::AtMost(_));
        let missed =
            self.figures.iter().filter(|figure| judged(figure.goal) && !figure.goal.is_met(figure.value));
        missed.map(|figure| format!("{} {}", figure.place, figure.name)).collect()
    }
}
