//! The writes of task management, as statements.

use azolla_protocol::{
    Actor, AzollaId, CandidateOutcome, CandidateResolution, CaptureBuffer, CaptureId, EventId, JournalStep,
    ObjectiveId, OutputId, ResourceType, SessionManifest, Timestamp, Validated, WorkOrderId,
};

use super::sql;
use crate::{
    commit::Write,
    error::SubstrateError,
    plan::{CHANGED, Planner, malformed},
    rows,
    sql::LOCK_STREAM,
    statement::{Expect, Miss, Statement},
};

impl Planner<'_> {
    pub(crate) fn insert_capture(
        &mut self,
        capture: &Validated<CaptureBuffer>,
    ) -> Result<(), SubstrateError> {
        self.same_azolla::<CaptureBuffer>(&capture.azolla_id)?;
        let values = rows::capture(capture, 0, 0, false);
        self.push("capture_buffer", Statement::new(sql::INSERT_CAPTURE, values), Expect::Any);
        self.note(JournalStep::Insert, "capture_buffer", capture.capture_id.as_str()).to(capture.status);
        Ok(())
    }

    pub(crate) fn process_capture(
        &mut self,
        capture_id: &CaptureId,
        at: Timestamp,
        no_action: Option<&str>,
    ) -> Result<(), SubstrateError> {
        match (self.commit.actor, self.claimed()) {
            (Actor::Operator, _) | (Actor::Gate, Some(ResourceType::Workorder)) => {}
            _ => {
                return Err(malformed(
                    "a capture is processed by the gate under its claim, or by the operator",
                ));
            }
        }
        let values = [at.into(), capture_id.as_str().into()];
        self.push("capture_buffer", Statement::new(sql::PROCESS_CAPTURE, values), CHANGED);
        let row = self.note(JournalStep::Process, "capture_buffer", capture_id.as_str());
        row.from("PENDING").to("PROCESSED");
        if let Some(reason) = no_action {
            row.detail("no_action", reason);
        }
        Ok(())
    }

    pub(crate) fn count_attempt(
        &mut self,
        capture_id: &CaptureId,
        attempts: u64,
    ) -> Result<(), SubstrateError> {
        let (Actor::Scheduler, Some(ResourceType::Event)) = (self.commit.actor, self.claimed()) else {
            return Err(malformed("an attempt is counted by the scheduler, under its claim"));
        };
        let values = [capture_id.as_str().into(), attempts.into()];
        self.push("capture_buffer", Statement::new(sql::COUNT_ATTEMPT, values), CHANGED);
        let claimed = self.commit.claim.resource().map(|resource| resource.resource_id.clone());
        let row = self.note(JournalStep::Attempt, "capture_buffer", capture_id.as_str());
        if let Some(event_id) = claimed {
            // The event that it is made for: from there the ids of the whole attempt derive.
            row.detail("event_id", event_id);
        }
        Ok(())
    }

    pub(crate) fn hold_capture(&mut self, capture_id: &CaptureId) -> Result<(), SubstrateError> {
        match (self.commit.actor, self.claimed()) {
            (Actor::Gate, Some(ResourceType::Workorder)) | (Actor::Scheduler, Some(ResourceType::Event)) => {}
            _ => return Err(malformed("a capture is held by the gate or the scheduler, under its claim")),
        }
        let values = [capture_id.as_str().into()];
        self.push("capture_buffer", Statement::new(sql::HOLD_CAPTURE, values), CHANGED);
        self.note(JournalStep::Hold, "capture_buffer", capture_id.as_str());
        Ok(())
    }

    /// An event that ends BLOCKED leaves no capture behind that another event would follow for.
    pub(crate) fn capture_of_is_held(&mut self, event_id: &EventId) {
        let check = Statement::new(sql::CHECK_CAPTURE_OF_EVENT_HELD, [event_id.as_str().into()]);
        self.push("capture_buffer", check, Expect::Found(Miss::Changed));
    }

    pub(crate) fn retry_capture(
        &mut self,
        capture_id: &CaptureId,
        attempts: u64,
    ) -> Result<(), SubstrateError> {
        if self.commit.actor != Actor::Operator {
            return Err(malformed("only the operator asks for further attempts on a capture"));
        }
        let values = [capture_id.as_str().into(), attempts.into()];
        self.push("capture_buffer", Statement::new(sql::RETRY_CAPTURE, values), CHANGED);
        self.note(JournalStep::Retry, "capture_buffer", capture_id.as_str());
        Ok(())
    }

    fn claimed(&self) -> Option<ResourceType> {
        self.commit.claim.resource().map(|resource| resource.resource_type)
    }

    pub(crate) fn triage_first(
        &mut self,
        attempts_max: u64,
        review_limit: u64,
    ) -> Result<(), SubstrateError> {
        let creates = |write: &Write| matches!(write, Write::CreateWorkorder { .. });
        if !self.commit.writes.iter().any(creates) {
            return Err(malformed("triage goes before a workorder, and there is none"));
        }
        let values = [attempts_max.into(), review_limit.into()];
        let check = Statement::new(sql::CHECK_TRIAGE_FIRST, values);
        self.push("workorder", check, Expect::Found(Miss::StreamFull));
        Ok(())
    }

    pub(crate) fn insert_manifest(
        &mut self,
        manifest: &Validated<SessionManifest>,
        work_order_id: &WorkOrderId,
    ) -> Result<(), SubstrateError> {
        self.same_azolla::<SessionManifest>(&manifest.azolla_id)?;
        self.needs_claim(&work_order_id.into())?;
        let values = rows::manifest(manifest, work_order_id.as_str());
        self.push("session_manifest", Statement::new(sql::INSERT_MANIFEST, values), Expect::Any);
        self.note(JournalStep::Insert, "session_manifest", manifest.manifest_id.as_str());
        Ok(())
    }

    pub(crate) fn snooze(
        &mut self,
        azolla_id: &AzollaId,
        objective_id: &ObjectiveId,
        until: Timestamp,
    ) -> Result<(), SubstrateError> {
        if self.commit.actor != Actor::Operator {
            return Err(malformed("only the operator moves a deadline"));
        }
        let values = [azolla_id.as_str().into(), objective_id.as_str().into(), until.into()];
        self.push("snooze", Statement::new(sql::SNOOZE, values), Expect::Any);
        if *azolla_id == self.identity.azolla_id {
            let leave = Statement::new(sql::LEAVE_DEADLINE, [objective_id.as_str().into()]);
            self.push("objective", leave, Expect::Any);
        }
        // Under the objective's id, so that it is part of its history.
        self.note(JournalStep::Insert, "snooze", objective_id.as_str())
            .detail("azolla_id", azolla_id.as_str())
            .detail("until", until.to_string());
        Ok(())
    }

    pub(crate) fn open_candidates(
        &mut self,
        output_id: &OutputId,
        work_order_id: &WorkOrderId,
        count: u64,
    ) -> Result<(), SubstrateError> {
        if self.commit.actor != Actor::Gate {
            return Err(malformed("only the gate opens candidates"));
        }
        self.needs_claim(&work_order_id.into())?;
        if count == 0 {
            return Ok(());
        }
        let values = [count.into(), output_id.as_str().into()];
        self.push("candidate", Statement::new(sql::OPEN_CANDIDATES, values), Expect::Any);
        self.note(JournalStep::Insert, "candidate", output_id.as_str()).detail("count", count);
        Ok(())
    }

    pub(crate) fn resolve_candidate(
        &mut self,
        resolution: &Validated<CandidateResolution>,
        target: Option<&AzollaId>,
    ) -> Result<(), SubstrateError> {
        if self.commit.actor != Actor::Operator {
            return Err(malformed("only the operator resolves a candidate"));
        }
        let statement = Statement::new(sql::RESOLVE_CANDIDATE, rows::resolution(resolution, false));
        self.push("candidate_resolution", statement, Expect::Any);
        let id = format!("{}#{}", resolution.output_id, resolution.candidate_index);
        // What is taken back is no longer in its row: the journal alone keeps it.
        let row = self.note(JournalStep::Insert, "candidate_resolution", &id).to(resolution.outcome);
        row.detail("resolved_by", resolution.resolved_by.as_str());
        if let Some(objective_id) = &resolution.objective_id {
            row.detail("objective_id", objective_id.as_str());
        }
        if let Some(azolla_id) = target {
            row.detail("target", azolla_id.as_str());
        }
        Ok(())
    }

    pub(crate) fn reopen_candidate(
        &mut self,
        (output_id, candidate_index): (&OutputId, u64),
        outcome: CandidateOutcome,
        by: &str,
    ) -> Result<(), SubstrateError> {
        if self.commit.actor != Actor::Operator {
            return Err(malformed("only the operator takes back what became of a candidate"));
        }
        // Under the lock of the work stream, which the open ones count into (O-3).
        self.push("azolla", Statement::new(LOCK_STREAM, []), CHANGED);
        let values = [output_id.as_str().into(), candidate_index.into(), outcome.as_str().into()];
        self.push("candidate_resolution", Statement::new(sql::REOPEN_CANDIDATE, values), CHANGED);
        let id = format!("{output_id}#{candidate_index}");
        self.note(JournalStep::Undo, "candidate_resolution", &id).from(outcome).detail("resolved_by", by);
        Ok(())
    }

    pub(crate) fn others_open(&mut self, output_id: &OutputId, candidate_index: u64, count: u64) {
        // Under the lock of the work stream, which the open ones count into (O-3).
        self.push("azolla", Statement::new(LOCK_STREAM, []), CHANGED);
        let values = [output_id.as_str().into(), candidate_index.into(), count.into()];
        let check = Statement::new(sql::CHECK_OTHERS_OPEN, values);
        self.push("candidate", check, Expect::Found(Miss::Changed));
    }
}
