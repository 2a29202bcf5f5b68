//! What is under way in this process, step by step: for the line on a terminal and for the pages.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

use azolla_control_plane::Activity;
use azolla_protocol::{AzollaId, ObjectiveId, ObjectiveStatus, ObjectiveType};
use azolla_substrate::{SubstrateError, SubstrateRead};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::screen::plain;

/// The steps that the roles have told of and that are not over.
pub(crate) struct UnderWay {
    steps: Mutex<Vec<Step>>,
    moved: watch::Sender<u64>,
}

/// More than can be under way at once.
const STEPS_MAX: usize = 64;

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Where.
    pub(crate) azolla_id: AzollaId,
    /// On what.
    pub(crate) objective_id: ObjectiveId,
    /// What, in plain words.
    pub(crate) step: String,
    /// How far it is, where that is known.
    pub(crate) detail: Option<String>,
    /// How long it may take, where there is a limit.
    pub(crate) limit_ms: Option<u64>,
    since: Instant,
}

/// What a step that was told of is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    /// Another one than before.
    New,
    /// The one that was known, perhaps further on.
    Known,
}

impl Default for UnderWay {
    fn default() -> Self {
        Self { steps: Mutex::default(), moved: watch::Sender::new(0) }
    }
}

impl Step {
    /// Returns how long it has taken so far.
    pub(crate) fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns it for a program.
    pub(crate) fn document(&self) -> Value {
        json!({"azolla_id": self.azolla_id, "objective_id": self.objective_id, "step": plain(&self.step),
               "detail": self.detail.as_deref().map(plain), "elapsed_ms": self.elapsed_ms(), "limit_ms": self.limit_ms})
    }
}

impl UnderWay {
    /// Takes note of a step on an objective.
    pub(crate) fn note(&self, objective_id: &ObjectiveId, activity: &Activity) -> Noted {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let is_about =
            |step: &Step| step.objective_id == *objective_id && step.azolla_id == activity.azolla_id;
        let noted = match steps.iter().position(is_about) {
            Some(known) if steps[known].step == activity.step => {
                steps[known].detail.clone_from(&activity.detail);
                Noted::Known
            }
            known => {
                known.map(|known| steps.remove(known));
                // Those that nobody asked about since they were over.
                if steps.len() >= STEPS_MAX {
                    steps.remove(0);
                }
                steps.push(Step {
                    azolla_id: activity.azolla_id.clone(),
                    objective_id: objective_id.clone(),
                    step: activity.step.clone(),
                    detail: activity.detail.clone(),
                    limit_ms: activity
                        .limit
                        .map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
                    since: Instant::now(),
                });
                Noted::New
            }
        };
        drop(steps);
        self.moved.send_modify(|moved| *moved = moved.wrapping_add(1));
        noted
    }

    /// Returns the steps, the latest last.
    pub(crate) fn steps(&self) -> Vec<Step> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tells when a step begins, goes on or is over.
    pub(crate) fn moves(&self) -> watch::Receiver<u64> {
        self.moved.subscribe()
    }

    /// Drops the steps of an azolla that nobody works on any more.
    pub(crate) async fn forget_over(
        &self,
        azolla_id: &AzollaId,
        read: &dyn SubstrateRead,
    ) -> Result<(), SubstrateError> {
        let mut over = Vec::new();
        for step in self.steps().into_iter().filter(|step| step.azolla_id == *azolla_id) {
            if is_over(read, &step.objective_id).await? {
                over.push((step.objective_id, step.since));
            }
        }
        if over.is_empty() {
            return Ok(());
        }
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        // One that has begun since is another one.
        steps.retain(|step| {
            step.azolla_id != *azolla_id
                || !over.iter().any(|(id, since)| *id == step.objective_id && *since == step.since)
        });
        drop(steps);
        self.moved.send_modify(|moved| *moved = moved.wrapping_add(1));
        Ok(())
    }
}

/// Tells whether nobody works on an objective. The standing one is never done: it is over with its workorder.
async fn is_over(read: &dyn SubstrateRead, id: &ObjectiveId) -> Result<bool, SubstrateError> {
    let Some(stored) = read.objective(id).await? else { return Ok(true) };
    if stored.objective.objective_type == ObjectiveType::Standing {
        return Ok(read.stream().await?.open == 0);
    }
    Ok(!matches!(stored.objective.status, ObjectiveStatus::Todo | ObjectiveStatus::InProgress))
}
