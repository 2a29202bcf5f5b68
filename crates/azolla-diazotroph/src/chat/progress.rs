//! What is shown while a model answers: a few times a second at most.

use std::time::Duration;

use tokio::time::Instant;

/// Between two lines.
const EVERY: Duration = Duration::from_millis(250);

/// Lets through what comes not too soon after the last.
pub(crate) struct Progress<'a> {
    show: &'a (dyn Fn(&str) + Send + Sync),
    last: Option<Instant>,
    /// What was last worth showing, for the end of the budget.
    said: String,
}

impl<'a> Progress<'a> {
    pub(super) fn new(show: &'a (dyn Fn(&str) + Send + Sync)) -> Self {
        Self { show, last: None, said: String::new() }
    }

    /// Shows a change of what goes on.
    pub(super) fn say(&mut self, text: String) {
        self.last = Some(Instant::now());
        (self.show)(&text);
        self.said = text;
    }

    /// Shows how far it is, unless something was shown just now.
    pub(super) fn note(&mut self, text: impl FnOnce() -> String) {
        if self.last.is_none_or(|last| last.elapsed() >= EVERY) {
            self.say(text());
        }
    }

    /// Keeps a text without showing it.
    pub(super) fn keep(&mut self, text: String) {
        self.said = text;
    }

    /// Returns what was last shown or kept.
    pub(super) fn said(&self) -> &str {
        &self.said
    }
}

/// Writes a number in groups: 1,240.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1_240, "1,240"), (12_345_678, "12,345,678")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn t31_a_flood_of_notes_shows_few_of_them() {
        let count = std::sync::atomic::AtomicU32::new(0);
        let show = |_: &str| {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        };
        let mut progress = Progress::new(&show);
        let begin = Instant::now();
        (0..10_000).for_each(|number| progress.note(|| number.to_string()));
        let most = 1 + begin.elapsed().as_millis() / EVERY.as_millis();
        assert!(u128::from(count.into_inner()) <= most);
    }
}
