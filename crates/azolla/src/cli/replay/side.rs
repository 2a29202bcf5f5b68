//! One result, as it is compared with another.

use azolla_control_plane::generation::Yield;
use azolla_protocol::{AnswerForm, RunnerStatus, Usage, WorkOrderId};
use serde_json::{Value, json};

use crate::{failure::Failure, find::Found, screen::duration};

/// What a worker came to, and what it cost.
#[derive(Debug)]
pub(super) struct Side {
    provider: String,
    model: Option<String>,
    runner_status: RunnerStatus,
    tree: Option<String>,
    paths: Vec<String>,
    elapsed_ms: u64,
    requests: u64,
    retries: u64,
    input_tokens: u64,
    output_tokens: u64,
    cost_microusd: Option<u64>,
    sandbox_mode: Option<String>,
    /// The form in which the answer was asked for, where it is not the snapshot's.
    pub(super) answer_form: Option<AnswerForm>,
    /// What the worker said, or why it failed.
    pub(super) notes: String,
    /// The change, or what came back and is none.
    pub(super) content: String,
}

/// Returns what the workorder's own run came to.
pub(super) async fn recorded(found: &Found, id: &WorkOrderId) -> anyhow::Result<Side> {
    let bundle = found.read().output_of(id).await?;
    let bundle = bundle.ok_or_else(|| {
        Failure::refused(format!("{id} has no result yet to compare with")).hint("azolla run --until-idle")
    })?;
    let usage = found.read().usage_of(id).await?;
    let text = |key: &str| bundle.metadata.more.get(key).and_then(|value| value.as_str()).map(str::to_owned);
    let paths = bundle.metadata.more.get("paths").and_then(|paths| paths.as_array());
    let sum = |part: fn(&azolla_protocol::UsageRecord) -> u64| usage.iter().map(part).sum();
    Ok(Side {
        provider: usage.last().map(|usage| usage.provider.clone()).unwrap_or_default(),
        model: usage.last().and_then(|usage| usage.model.clone()),
        runner_status: bundle.metadata.runner_status,
        tree: text("tree"),
        paths: paths.into_iter().flatten().filter_map(|path| path.as_str()).map(str::to_owned).collect(),
        elapsed_ms: bundle.metadata.elapsed_ms,
        requests: sum(|usage| usage.requests),
        retries: sum(|usage| usage.retries),
        input_tokens: sum(|usage| usage.input_tokens),
        output_tokens: sum(|usage| usage.output_tokens),
        cost_microusd: usage.iter().filter_map(|usage| usage.cost_microusd).reduce(|a, b| a + b),
        sandbox_mode: text("sandbox_mode"),
        answer_form: text("answer_form").and_then(|form| form.parse().ok()),
        notes: bundle.notes.clone(),
        content: bundle.content,
    })
}

impl Side {
    /// Returns what a replay came to.
    pub(super) fn of(provider: &str, result: Yield, elapsed_ms: u64) -> Self {
        let usage = result.usage.unwrap_or_default();
        let (tree, paths, content) = match result.taken {
            Some((_, taken)) => (Some(taken.tree), taken.paths, taken.diff),
            None => (None, Vec::new(), result.content),
        };
        Self {
            provider: provider.to_owned(),
            model: usage.model,
            runner_status: result.status,
            tree,
            paths,
            elapsed_ms,
            requests: usage.requests,
            retries: usage.retries,
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cost_microusd: usage.cost_microusd,
            sandbox_mode: result.sandbox_mode,
            answer_form: result.answer_form,
            notes: result.notes,
            content,
        }
    }

    /// Returns a replay that had to be dropped at the end of its budget.
    pub(super) fn over_budget(provider: &str, usage: Usage, elapsed_ms: u64) -> Self {
        Self {
            provider: provider.to_owned(),
            model: usage.model,
            runner_status: RunnerStatus::BudgetExhausted,
            tree: None,
            paths: Vec::new(),
            elapsed_ms,
            requests: usage.requests,
            retries: usage.retries,
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cost_microusd: usage.cost_microusd,
            sandbox_mode: None,
            answer_form: None,
            notes: "the worker did not stop at the end of the budget and was dropped".to_owned(),
            content: String::new(),
        }
    }

    /// Returns all of it.
    pub(super) fn document(&self) -> Value {
        json!({
            "provider": self.provider,
            "model": self.model,
            "runner_status": self.runner_status,
            "tree": self.tree,
            "paths": self.paths,
            "elapsed_ms": self.elapsed_ms,
            "requests": self.requests,
            "retries": self.retries,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_microusd": self.cost_microusd,
            "sandbox_mode": self.sandbox_mode,
            "answer_form": self.answer_form.map(AnswerForm::as_str),
            "notes": self.notes,
            "content": self.content,
        })
    }

    /// Tells whether two changes come to the same files; none if one of them is no change.
    pub(super) fn same_tree(&self, other: &Self) -> Option<bool> {
        Some(self.tree.as_ref()? == other.tree.as_ref()?)
    }

    /// Returns what is shown of it, line by line.
    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let (added, removed) = lines(&self.content);
        let change = match (&self.tree, self.paths.as_slice()) {
            (None, _) => "none".to_owned(),
            (_, [path]) => format!("{path} +{added} -{removed}"),
            (_, paths) => format!("{} files +{added} -{removed}", paths.len()),
        };
        let cost = self
            .cost_microusd
            .map_or_else(|| "not known".to_owned(), |cost| format!("${:.4}", cost as f64 / 1e6));
        vec![
            ("worker", self.provider.clone()),
            ("model", self.model.clone().unwrap_or_else(|| "not told".to_owned())),
            ("result", self.runner_status.to_string()),
            ("change", change),
            ("time", duration(self.elapsed_ms)),
            ("requests", format!("{} ({} retries)", self.requests, self.retries)),
            ("tokens", format!("{} in, {} out", self.input_tokens, self.output_tokens)),
            ("cost", cost),
            ("sandbox", self.sandbox_mode.clone().unwrap_or_else(|| "no program was run".to_owned())),
        ]
    }
}

/// Counts the lines that a diff adds and removes.
fn lines(diff: &str) -> (usize, usize) {
    let (mut added, mut removed, mut in_hunk) = (0, 0, false);
    for line in diff.lines() {
        match line.as_bytes().first() {
            Some(b'@') => in_hunk = true,
            Some(b'd') => in_hunk = false,
            Some(b'+') if in_hunk => added += 1,
            Some(b'-') if in_hunk => removed += 1,
            _ => {}
        }
    }
    (added, removed)
}
