//! What the operator asks a TASK_MGMT azolla for: orientation, and a later deadline (MF-1, D-1).

use azolla_protocol::{AzollaId, Event, EventId, EventType, ObjectiveId, Timestamp, Validated};
use azolla_substrate::{SubstrateError, Write};

use super::{Operator, OperatorError, TRIES_MAX, captures::refused};

/// A request for orientation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requested {
    /// The event that stands for it.
    pub event_id: EventId,
    /// Whether it was asked for before and is still to come.
    pub was_open: bool,
}

impl Operator<'_> {
    /// Asks for orientation. There is one open request at a time: while there is, it is the answer. The pause_state that
    /// the last orientation ended with is over with it.
    pub async fn request_manifest(&self) -> Result<Requested, OperatorError> {
        self.takes_captures()?;
        let event_id = EventId::from_body(&self.ids.body());
        let event = Event {
            event_id: event_id.clone(),
            event_type: EventType::ManifestRequested,
            resource_id: self.identity.azolla_id.as_str().to_owned(),
            azolla_id: self.identity.azolla_id.clone(),
            created_at: self.read().now().await?,
            processed: false,
            processed_reason: None,
            processed_at: None,
        };
        let emit = Write::EmitEvent { event: Validated::new(event)?, entry: None };
        for _ in 0..TRIES_MAX {
            // What the last one ended with is answered by asking again.
            let mut writes = vec![emit.clone()];
            writes.extend(self.end_pause_of_orientation().await?);
            match self.commit_all(writes, None).await {
                Ok(()) => return Ok(Requested { event_id, was_open: false }),
                Err(SubstrateError::Changed { .. }) => {}
                Err(error) if error.is_refused_by("W-2") => {
                    let open = self.read().unprocessed_events(EventType::ManifestRequested, 1).await?.pop();
                    // One that was processed since the refusal no longer stands for it: it is asked for again, so that
                    // nobody is given an id that nothing has.
                    if let Some(open) = open {
                        return Ok(Requested { event_id: open.event.event_id, was_open: true });
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(refused("the standing objective kept changing", Some("azolla manifest")))
    }

    /// Moves the deadline of an objective, of this azolla or another one, to `until`.
    pub async fn snooze(
        &self,
        azolla_id: &AzollaId,
        objective_id: &ObjectiveId,
        until: Timestamp,
    ) -> Result<(), OperatorError> {
        self.takes_captures()?;
        let now = self.read().now().await?;
        if until <= now {
            let what = format!("{until} has passed: a deadline moves to a later time");
            return Err(refused(what, Some(&format!("azolla snooze {objective_id} --days 3"))));
        }
        let (azolla_id, objective_id) = (azolla_id.clone(), objective_id.clone());
        Ok(self.commit(Write::Snooze { azolla_id, objective_id, until }).await?)
    }
}
