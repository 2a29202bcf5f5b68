//! How many of the changed files were found, and what a ranking that uses less finds.

use crate::figures::{Figures, Goal};

/// Parts of the default limit of a prompt's repository part: all of it, a quarter, a tenth.
pub(crate) const LIMITS: [u64; 3] = [1, 4, 10];

/// One fix: what it changed, and what each ranking says.
pub(crate) struct Fix {
    pub(crate) title: String,
    pub(crate) changed: Vec<String>,
    pub(crate) ranked: Vec<String>,
    pub(crate) alphabetical: Vec<String>,
    pub(crate) path_names: Vec<String>,
    /// What the prompt shows, for each of the limits.
    pub(crate) shown: Vec<Vec<String>>,
    pub(crate) survey_ms: f64,
}

/// All fixes of a history.
#[derive(Default)]
pub(crate) struct Recall(Vec<Fix>);

/// Which of a fix's lists is meant.
type List = fn(&Fix) -> &[String];

impl Recall {
    pub(crate) fn push(&mut self, fix: Fix) {
        self.0.push(fix);
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(crate) fn fixes(&self) -> usize {
        self.0.len()
    }

    /// Reports what was found, beside what the other rankings find.
    pub(crate) fn report(&self, part: &'static str, figures: &mut Figures) {
        figures.add(part, "fixes", "", self.fixes() as f64, Goal::None);
        for (at, share) in LIMITS.into_iter().enumerate() {
            let found = self.mean(|fix| share_of(&fix.changed, &fix.shown[at]));
            figures.add(part, format!("recall in the prompt, limit / {share}"), "", found, Goal::None);
        }
        for first in [5, 10] {
            let found = self.recall(|fix| &fix.ranked, first);
            figures.add(part, format!("recall in the first {first} files"), "", found, Goal::None);
            for (name, list) in OTHERS {
                let other = self.recall(list, first);
                figures.add(
                    part,
                    format!("recall in the first {first} files, {name}"),
                    "",
                    other,
                    Goal::None,
                );
            }
        }
        let any =
            self.mean(|fix| if share_of(&fix.changed, first(&fix.ranked, 10)) > 0.0 { 1.0 } else { 0.0 });
        figures.add(part, "a changed file is in the first 10", "", any, Goal::None);
    }

    /// Reports what all generated histories together have to reach.
    pub(crate) fn report_goals(&self, part: &'static str, figures: &mut Figures) {
        let missed = 1.0 - self.recall(|fix| &fix.ranked, 10);
        figures.add(part, "changed files not in the first 10", "", missed, Goal::AtMost(MISSED_MAX));
        let ours = self.recall(|fix| &fix.ranked, 10);
        for (name, list) in OTHERS {
            let ratio = ours / self.recall(list, 10).max(0.001);
            figures.add(
                part,
                format!("recall in the first 10, against {name}"),
                "x",
                ratio,
                Goal::MachineAtLeast(1.5),
            );
        }
        let slowest = self.0.iter().map(|fix| fix.survey_ms).fold(0.0, f64::max);
        figures.add(part, "slowest look at a commit", "ms", slowest, Goal::MachineAtMost(500.0));
    }

    /// Prints the fixes of which a file is not in the first 10, and what is there instead.
    pub(crate) fn print_misses(&self, part: &str) {
        for fix in self.0.iter().filter(|fix| share_of(&fix.changed, first(&fix.ranked, 10)) < 1.0) {
            let place = |path: &String| fix.ranked.iter().position(|ranked| ranked == path).map(|at| at + 1);
            let places: Vec<_> = fix.changed.iter().map(|path| (path, place(path))).collect();
            println!("{part}: {}\n  changed {places:?}\n  first {:?}", fix.title, first(&fix.ranked, 5));
        }
    }

    fn recall(&self, list: List, count: usize) -> f64 {
        self.mean(|fix| share_of(&fix.changed, first(list(fix), count)))
    }

    fn mean(&self, of: impl Fn(&Fix) -> f64) -> f64 {
        self.0.iter().map(of).sum::<f64>() / self.0.len().max(1) as f64
    }
}

/// The rankings to compare with.
const OTHERS: [(&str, List); 2] =
    [("alphabetical", |fix| &fix.alphabetical), ("path names", |fix| &fix.path_names)];

/// The share of changed files that may be missed: 0.15 is measured, and the same on every machine; the room is for
/// changes that give up a little here for more on real histories.
const MISSED_MAX: f64 = 0.2;

fn first(list: &[String], count: usize) -> &[String] {
    &list[..list.len().min(count)]
}

fn share_of(changed: &[String], found: &[String]) -> f64 {
    changed.iter().filter(|path| found.contains(path)).count() as f64 / changed.len().max(1) as f64
}
