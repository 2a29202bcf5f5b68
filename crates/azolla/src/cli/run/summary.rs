//! How a run ended, objective by objective, and the exit code that it stands for.

use std::{process::ExitCode, sync::Arc};

use azolla_control_plane::WorkerContext;
use azolla_protocol::{ObjectiveStatus, PauseReason, Timestamp};

use crate::screen::{BAD, FAINT, GOOD, PLAIN, Page};

/// What a run began with.
pub(super) struct Summary {
    contexts: Vec<(Arc<WorkerContext>, Timestamp)>,
}

/// Exit codes of a run whose work did not go through: gate, budget, and what could not run at all.
const GATE_FAILED: u8 = 5;
const BUDGET_EXHAUSTED: u8 = 6;
const BLOCKED: u8 = 4;

impl Summary {
    /// Notes the time of every store.
    pub(super) async fn begin(contexts: &[Arc<WorkerContext>]) -> anyhow::Result<Self> {
        let mut begun = Vec::new();
        for context in contexts {
            begun.push((context.clone(), context.read().now().await?));
        }
        Ok(Self { contexts: begun })
    }

    /// Shows where everything paused since then.
    pub(super) async fn show(self) -> anyhow::Result<ExitCode> {
        let mut page = Page::default();
        let mut codes = Vec::new();
        for (context, begun) in self.contexts {
            let read = context.read();
            for pause in read.current_pause_states().await? {
                if pause.created_at < begun {
                    continue;
                }
                let Some(stored) = read.objective(&pause.objective_id).await? else { continue };
                let objective = stored.objective;
                let (style, word) = match (objective.status, pause.reason) {
                    (ObjectiveStatus::Done, _) => (GOOD, "passed"),
                    (_, PauseReason::BudgetExhausted) => (BAD, "over its budget"),
                    (_, PauseReason::GateFailed) => (BAD, "failed its gate"),
                    (_, PauseReason::RunComplete | PauseReason::Blocked) => (BAD, "blocked"),
                };
                page.add(style, word).line(PLAIN, &format!(": {}", objective.title));
                for action in &pause.prioritized_actions {
                    page.line(FAINT, &format!("  {action}"));
                }
                if objective.status == ObjectiveStatus::Blocked {
                    codes.push(match pause.reason {
                        PauseReason::GateFailed => GATE_FAILED,
                        PauseReason::BudgetExhausted => BUDGET_EXHAUSTED,
                        PauseReason::RunComplete | PauseReason::Blocked => BLOCKED,
                    });
                }
            }
        }
        page.show()?;
        let first = [GATE_FAILED, BUDGET_EXHAUSTED, BLOCKED].into_iter().find(|code| codes.contains(code));
        Ok(first.map_or(ExitCode::SUCCESS, ExitCode::from))
    }
}
