//! Small pieces that several pages are made of. Text from outside goes through `words` or `text` alone: what a terminal
//! would obey deceives a reader of a page too (T22), and maud escapes the rest (T23).

use azolla_protocol::{
    AzollaId, GateResult, Objective, ObjectiveId, ObjectiveStatus, RunId, Timestamp, lifecycle,
};
use maud::{Markup, html};

use crate::screen::{self, ago, day_and_time, duration, plain, plain_lines};
use crate::under_way::Step;

/// Returns one line from outside.
pub(super) fn words(text: &str) -> String {
    plain(text)
}

/// Returns one line of our own words from outside, with the ids of commits as short as git shows them.
pub(super) fn reason(text: &str) -> String {
    const SHOWN: usize = 12;
    let is_commit = |word: &str| word.len() == 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let text = plain(text);
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()).map(|word| {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        if is_commit(bare) { format!("{}{}", &bare[..SHOWN], &word[bare.len()..]) } else { word.to_owned() }
    });
    words.collect()
}

/// Shows a text of any number of lines from outside.
pub(super) fn text(text: &str) -> Markup {
    html! { div.text { (plain_lines(text.trim_end())) } }
}

/// Shows output of a program, in lines that scroll inside of their box.
pub(super) fn output(text: &str) -> Markup {
    html! { pre.output tabindex="0" { (plain_lines(text.trim_end())) } }
}

/// Shows the beginning of output that may be huge, and says so where it is cut, with the command that shows all of it.
pub(super) fn beginning(text: &str, all: &str) -> Markup {
    const CHARS_MAX: usize = 40_000;
    let shown: String = text.chars().take(CHARS_MAX).collect();
    html! {
        (output(&shown))
        @if shown.len() < text.trim_end().len() { p.faint { "The beginning alone is shown. All of it: " (command(all)) } }
    }
}

/// Shows an instant as how long ago it was; the instant itself is a hover away.
pub(super) fn when(at: Timestamp, now: Timestamp) -> Markup {
    html! { time data-ago datetime=(at) title={ (day_and_time(at)) " UTC" } { (ago(at, now)) } }
}

/// Shows a command to type.
pub(super) fn command(command: &str) -> Markup {
    html! { code.command { (plain(command)) } }
}

/// Shows where an objective stands: a word, and a sign that does without colour.
pub(super) fn state(objective: &Objective) -> Markup {
    let word = screen::status(objective);
    html! { span class={ "state " (kind(objective)) } { (word) } }
}

fn kind(objective: &Objective) -> &'static str {
    if lifecycle::is_archived(objective) {
        return "s-rest";
    }
    match objective.status {
        ObjectiveStatus::New => "s-new",
        ObjectiveStatus::Todo => "s-next",
        ObjectiveStatus::InProgress => "s-run",
        ObjectiveStatus::Blocked => "s-stop",
        ObjectiveStatus::Done if lifecycle::is_confirmed(objective) => "s-rest",
        ObjectiveStatus::Done => "s-you",
    }
}

/// Shows a verdict.
pub(super) fn verdict(result: GateResult) -> Markup {
    match result {
        GateResult::Pass => html! { span.state.s-good { "passed" } },
        GateResult::Fail => html! { span.state.s-bad { "failed" } },
    }
}

/// Shows how much of a budget is used: a bar, and the same in words.
pub(super) fn budget(used_ms: u64, budget_ms: u64, label: &str) -> Markup {
    let words = format!("{} of {}", duration(used_ms), duration(budget_ms));
    html! {
        span.budget {
            progress value=(used_ms.min(budget_ms)) max=(budget_ms) aria-label=(plain(label)) { (words) }
            span { (words) }
        }
    }
}

/// Returns a step of a run in words.
pub(super) fn step(step: &Step) -> String {
    match &step.detail {
        Some(detail) => format!("{}, {detail}", step.step),
        None => step.step.clone(),
    }
}

/// Shows `count` of something.
pub(super) fn counted(count: usize, one: &str, several: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {several}") }
}

/// A field for an importance or an urgency.
pub(super) fn level(name: &str, label: &str, value: u8) -> Markup {
    html! {
        label { (label) select name=(name) {
            @for level in 0..=4_u8 { option value=(level) selected[level == value] { (level) @if level == 0 { " (most)" } } }
        } }
    }
}

/// A link to an older page of a list.
pub(super) fn older(path: &str) -> Markup {
    html! { nav.pager aria-label="Pages" { a.button href=(path) rel="next" { "Older" } } }
}

/// Returns the path of an objective's page.
pub(super) fn objective_path(azolla: &AzollaId, id: &ObjectiveId) -> String {
    format!("/objectives/{azolla}/{id}")
}

/// Returns the path of a run's page.
pub(super) fn run_path(azolla: &AzollaId, id: &RunId) -> String {
    format!("/runs/{azolla}/{id}")
}
