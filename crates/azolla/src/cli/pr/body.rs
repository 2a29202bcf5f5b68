//! The text of a pull request: the stored description, and the evidence as a table. It stands between two marks, so that
//! what people wrote around it stays when it is brought up to date.

use azolla_protocol::{CheckEvidence, CheckSubject, GateEvidence, Objective, OutputBundle, RunRecord};

use crate::screen::{duration, plain, plain_lines};

/// What the text is made from.
pub(super) struct Body<'a> {
    pub(super) objective: &'a Objective,
    pub(super) run: &'a RunRecord,
    pub(super) bundle: &'a OutputBundle,
    pub(super) evidence: Option<&'a GateEvidence>,
}

/// The marks. Neither is shown, and no text of a worker's can hold one.
const BEGIN: &str = "<!-- azolla: from here to the end mark the text is replaced by `azolla pr` -->";
const END: &str = "<!-- azolla: end -->";

/// Characters of the description, and rows of the table; the host takes 65,536 characters in all.
const DESCRIPTION_MAX: usize = 30_000;
const ROWS_MAX: usize = 100;

impl Body<'_> {
    /// Returns the text, put in the place that it has in `present`; at the end of it if it has none.
    pub(super) fn within(&self, present: &str) -> String {
        let own = self.own();
        let present = present.replace("\r\n", "\n");
        let marked = present.find(BEGIN).and_then(|begin| {
            let end = begin + present[begin..].find(END)? + END.len();
            Some((&present[..begin], &present[end..]))
        });
        match marked {
            Some((before, after)) => format!("{before}{own}{after}"),
            None if present.trim().is_empty() => own,
            None => format!("{}\n\n{own}", present.trim_end()),
        }
    }

    fn own(&self) -> String {
        let stored = self.bundle.metadata.more.get("pr_description_draft").and_then(|text| text.as_str());
        let description = match described(stored.unwrap_or_default()) {
            text if text.is_empty() => format!("Done when: {}", cell(&self.objective.acceptance_criteria)),
            text => text,
        };
        format!("{BEGIN}\n{description}\n\n{}\n{END}", self.evidence())
    }

    fn evidence(&self) -> String {
        let run = self.run;
        let mut text =
            format!("### Evidence\n\n`{}` passed its gate: {}", run.run_id, cell(&run.gate_reason));
        if let Some(commit) = &run.commit_sha {
            text.push_str(&format!("\n\nCommit {commit}"));
        }
        if let Some(base) = self.evidence.and_then(|evidence| evidence.base_commit_sha.as_ref()) {
            text.push_str(&format!(", on {base}"));
        }
        let checks = self.evidence.map_or(&[][..], |evidence| &evidence.checks);
        if checks.is_empty() {
            text.push_str("\n\nNo checks are configured.");
            return text;
        }
        text.push_str("\n\n| check | on | result | exit code | took | tree |\n|---|---|---|---|---|---|");
        for check in checks.iter().take(ROWS_MAX) {
            text.push('\n');
            text.push_str(&row(check));
        }
        if checks.len() > ROWS_MAX {
            text.push_str(&format!("\n\nand {} more", checks.len() - ROWS_MAX));
        }
        text
    }
}

fn row(check: &CheckEvidence) -> String {
    let on = match check.subject {
        CheckSubject::Patched => "with the change",
        CheckSubject::Base => "without it",
    };
    let result = match (check.timed_out, check.exit_code) {
        (true, _) => "stopped at its time limit",
        (false, Some(0)) => "passed",
        (false, _) => "failed",
    };
    let code = check.exit_code.map_or_else(|| "none".to_owned(), |code| code.to_string());
    let tree = check.tree.as_deref().unwrap_or("none");
    let (name, took) = (cell(&check.name), duration(check.duration_ms));
    format!("| {name} | {on} | {result} | {code} | {took} | {} |", cell(tree))
}

/// Returns a worker's text as Markdown that stays what it is, except that it notifies nobody and ends nothing of ours.
fn described(text: &str) -> String {
    let text: String = plain_lines(text.trim()).chars().take(DESCRIPTION_MAX).collect();
    let mut fence: Option<&str> = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, Some(_)) => fence = mark,
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        // Inside a fence nothing is read as a name or a mark, but one that is left open must not hide the end mark.
        let line = line.replace("<!--", "< !--");
        lines.push(if fence.is_some() { line } else { without_mentions(&line) });
    }
    lines.extend(fence.map(str::to_owned));
    lines.join("\n")
}

/// Keeps names from being notified: a comment between the sign and the name is not shown. Code stays as it is.
fn without_mentions(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let (mut is_code, mut characters) = (false, line.chars().peekable());
    while let Some(c) = characters.next() {
        is_code ^= c == '`';
        text.push(c);
        if c == '@' && !is_code && characters.peek().is_some_and(|next| next.is_alphanumeric()) {
            text.push_str("<!-- -->");
        }
    }
    text
}

/// Returns text as it stands, on one line, for a cell or a sentence: nothing in it is Markdown.
fn cell(text: &str) -> String {
    const CHARS_MAX: usize = 500;
    let mut escaped = String::new();
    for c in plain(text.trim()).chars().take(CHARS_MAX) {
        match c {
            '@' => escaped.push_str("@<!-- -->"),
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            c if r"\`*_{}[]#|!~$>".contains(c) => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
