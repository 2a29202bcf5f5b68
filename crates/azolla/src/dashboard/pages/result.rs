//! A result with everything that speaks for and against it: the criteria beside the evidence, then the change.

use azolla_protocol::{CheckEvidence, CheckSubject, GateEvidence, GateResult};
use maud::{Markup, html};

use super::change::{self, Part};
use crate::{
    actions,
    cli::review::{self, Reviewed, paths::protected_paths},
    dashboard::part,
    screen::duration,
};

/// Shows what the gate found, beside what was asked for.
pub(super) fn evidence(criteria: &str, result: &Reviewed) -> Markup {
    html! {
        div.beside {
            section aria-labelledby="criteria" {
                h2 #criteria { "Done when" }
                (criteria_view(criteria))
            }
            section aria-labelledby="evidence" {
                h2 #evidence { "Evidence" }
                (verdict(result))
                (checks(result))
            }
        }
    }
}

/// Shows when an objective is done.
pub(super) fn criteria_view(criteria: &str) -> Markup {
    match criteria.trim() {
        "" => html! { p { "Nothing is said yet." } },
        criteria => part::text(criteria),
    }
}

fn verdict(result: &Reviewed) -> Markup {
    let took = duration(result.bundle.metadata.elapsed_ms);
    html! {
        @match &result.run {
            Some(run) => {
                p { (part::verdict(run.gate_result)) " " (part::reason(&run.gate_reason)) }
                p.faint { "worker took " (took) }
                @if let Some(by_hand) = result.pause.as_ref().and_then(actions::by_hand) { p { (part::words(by_hand)) } }
            }
            None => p { "Not judged yet; the worker took " (took) "." },
        }
    }
}

/// One check, on both trees.
struct Both<'a> {
    name: &'a str,
    patched: Option<&'a CheckEvidence>,
    base: Option<&'a CheckEvidence>,
}

fn both(evidence: &GateEvidence) -> Vec<Both<'_>> {
    let mut rows: Vec<Both<'_>> = Vec::new();
    for check in &evidence.checks {
        let at = match rows.iter().position(|row| row.name == check.name) {
            Some(at) => at,
            None => {
                rows.push(Both { name: &check.name, patched: None, base: None });
                rows.len() - 1
            }
        };
        match check.subject {
            CheckSubject::Patched => rows[at].patched = Some(check),
            CheckSubject::Base => rows[at].base = Some(check),
        }
    }
    rows
}

fn checks(result: &Reviewed) -> Markup {
    let (Some(evidence), Some(run)) = (&result.evidence, &result.run) else { return html! {} };
    if evidence.checks.is_empty() {
        return html! {
            @match run.gate_result {
                GateResult::Pass => p { "No checks are configured." },
                GateResult::Fail => p { "No check was run." },
            }
        };
    }
    html! {
        table.list.checks {
            thead { tr { th scope="col" { "Check" } th scope="col" { "With the change" } th scope="col" { "Without it" } } }
            tbody {
                @for row in both(evidence) {
                    tr {
                        td { (part::words(row.name)) }
                        td { span.label { "with the change " } (outcome(row.patched)) }
                        td { span.label { "without it " } (outcome(row.base)) }
                    }
                }
            }
        }
        @for check in &evidence.checks {
            @if !check.output_tail.trim().is_empty() {
                details.tail open[!passed(check) && check.subject == CheckSubject::Patched] {
                    summary { (part::words(&check.name)) " " (on(check)) ": " (part::words(&check.command.join(" "))) }
                    (part::output(review::tail(&check.output_tail)))
                }
            }
        }
    }
}

fn on(check: &CheckEvidence) -> &'static str {
    match check.subject {
        CheckSubject::Patched => "with the change",
        CheckSubject::Base => "without it",
    }
}

fn passed(check: &CheckEvidence) -> bool {
    check.exit_code == Some(0) && !check.timed_out
}

fn outcome(check: Option<&CheckEvidence>) -> Markup {
    let Some(check) = check else { return html! { span.faint { "not run" } } };
    html! {
        @if passed(check) { span.state.s-good { "passed" } } @else { span.state.s-bad { "failed" } }
        span.faint { " " (review::outcome(check)) }
    }
}

/// Shows the change and what the worker wrote about it. `path` is that of the page.
pub(super) fn change(result: &Reviewed, path: &str, part: Part) -> Markup {
    let draft = result.bundle.metadata.more.get("pr_description_draft").and_then(|draft| draft.as_str());
    html! {
        @if !result.bundle.notes.trim().is_empty() {
            section { h2 { "Notes of the worker" } (part::text(&result.bundle.notes)) }
        }
        section #change aria-labelledby="change-title" {
            h2 #change-title { "Change" }
            (look_first(&result.paths))
            @if let Some(left_out) = &result.left_out {
                p.remark { (left_out.words(&result.bundle)) " All that was kept: " (part::command(&result.command())) }
            }
            (change::view(&result.bundle.content, path, part, &result.command()))
        }
        @if let Some(draft) = draft.filter(|draft| !draft.trim().is_empty()) {
            section { details { summary { h2 { "Text for a pull request" } } (part::text(draft)) } }
        }
    }
}

/// T17: what runs, or steers what runs, comes first.
fn look_first(paths: &[String]) -> Markup {
    let protected = protected_paths(paths);
    html! {
        @if !protected.is_empty() {
            div.remark {
                h3 { "Look at these first" }
                ul.plain { @for (path, why) in protected { li { code { (part::words(path)) } " " (why) } } }
            }
        }
    }
}
