//! Reads what other azollas answered: off the task that asks, which also renews the lease and counts the time of every
//! query, and no more in all than there is room for (M-4, P16).

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use azolla_exchange_membrane::peers::Asked;
use azolla_protocol::{Artifact, AzollaId, JsonObject, QueryStatus, Validated};
use serde_json::Value;
use tokio::{sync::Semaphore, task::spawn_blocking};

use super::{Heard, REMARK_CHARS_MAX, RESULTS_MAX, one_line, unusable};

/// What is kept of all answers to one question to everybody.
const KEPT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Answers that are read at once: reading is all computing, so more would only take cores from other work.
const READ_AT_ONCE: usize = 2;

/// Where the answers to one question to everybody come in.
pub(super) struct Intake {
    turns: Semaphore,
    room: Arc<AtomicUsize>,
}

impl Intake {
    pub(super) fn new() -> Self {
        Self::with_room(KEPT_BYTES_MAX)
    }

    fn with_room(bytes: usize) -> Self {
        Self { turns: Semaphore::new(READ_AT_ONCE), room: Arc::new(AtomicUsize::new(bytes)) }
    }

    /// Reads an answer. One artifact that breaks its schema, or that `owner` says is another's, and none of it counts:
    /// whoever gives out what is not its own has not answered.
    pub(super) async fn read<A: Artifact + Send + 'static>(
        &self,
        azolla_id: AzollaId,
        asked: Asked,
        owner: fn(&A) -> &AzollaId,
    ) -> Heard<A> {
        if asked.status != QueryStatus::Ok {
            let remark = match one_line(&asked.reason, REMARK_CHARS_MAX) {
                reason if reason.is_empty() => asked.status.to_string(),
                reason => format!("{}: {reason}", asked.status),
            };
            return Heard { azolla_id, status: asked.status, remark, found: Vec::new() };
        }
        if asked.results.is_empty() {
            return Heard { azolla_id, status: asked.status, remark: String::new(), found: Vec::new() };
        }
        // It is never closed.
        let _turn = self.turns.acquire().await;
        let (room, id) = (self.room.clone(), azolla_id.clone());
        match spawn_blocking(move || accept(id, asked.results, owner, &room)).await {
            Ok(heard) => heard,
            // The runtime ends, or an answer broke what reads it.
            Err(error) => unusable(azolla_id, &format!("its answer could not be read: {error}")),
        }
    }
}

fn accept<A: Artifact>(
    azolla_id: AzollaId,
    results: Vec<JsonObject>,
    owner: fn(&A) -> &AzollaId,
    room: &AtomicUsize,
) -> Heard<A> {
    let is_more = results.len() > RESULTS_MAX;
    let mut found = Vec::new();
    for result in results.into_iter().take(RESULTS_MAX) {
        let result = Value::Object(result);
        let bytes = size(&result);
        if room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(bytes)).is_err() {
            return unusable(azolla_id, "there was no room for all of its answer beside those of the others");
        }
        match Validated::<A>::from_value(result) {
            Ok(artifact) if *owner(&artifact) == azolla_id => found.push(artifact.into_inner()),
            _ => return unusable(azolla_id, &format!("it answered with what is no {} of its own", A::KIND)),
        }
    }
    let remark = match is_more || found.len() == RESULTS_MAX {
        true => format!("it gave the first {RESULTS_MAX} of a kind; there may be more"),
        false => String::new(),
    };
    Heard { azolla_id, status: QueryStatus::Ok, remark, found }
}

/// Returns about as many bytes as a document takes in memory.
fn size(value: &Value) -> usize {
    const EACH: usize = size_of::<Value>();
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => EACH,
        Value::String(text) => EACH + text.len(),
        Value::Array(items) => EACH + items.iter().map(size).sum::<usize>(),
        Value::Object(fields) => {
            EACH + fields.iter().map(|(key, field)| EACH + key.len() + size(field)).sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests;
