//! Turns a `Commit` into the statements that both backends run, and refuses one that is put together wrongly:
//! a write without the claim that protects it (R1), a step by the wrong party (S-1), a document of another azolla.

use azolla_protocol::{
    Actor, Artifact, AzollaId, AzollaType, EventId, GateResult, JournalStep, Objective, OutputId,
    ProcessedReason, ResourceRef, ResourceType, Validated, WorkOrderId,
    lifecycle::{self, ObjectiveStep},
};

use crate::{
    claim::{Fence, Release},
    commit::{ClaimUse, Commit, ObjectiveMark, PauseKey, StreamRoom, Write},
    error::SubstrateError,
    journal::{JournalRow, journal_steps},
    read::Identity,
    rows, sql,
    statement::{Expect, Miss, Statement, Step},
};

/// What a backend does for a commit, in order. `claim` comes first and is the backends' own.
pub(crate) struct Plan {
    pub(crate) claim: ClaimUse,
    pub(crate) steps: Vec<Step>,
}

/// Plans `commit` for the azolla that the store belongs to.
pub(crate) fn plan(commit: &Commit, identity: &Identity) -> Result<Plan, SubstrateError> {
    let mut planner = Planner { commit, identity, steps: Vec::new(), rows: Vec::new() };
    match &commit.claim {
        ClaimUse::None => {}
        ClaimUse::Claiming { resource, .. } => {
            planner.rows.push(JournalRow::of_claim(JournalStep::Grant, resource));
            if resource.resource_type == ResourceType::Workorder {
                let charge = Statement::new(sql::CHARGE_LOST_CLAIM, [resource.resource_id.as_str().into()]);
                planner.push("workorder", charge, Expect::Any);
            }
        }
        ClaimUse::Fenced(fence) => planner.steps.push(fence_step(fence)),
    }
    let before = planner.rows.len();
    for write in &commit.writes {
        planner.write(write)?;
    }
    if let (Some(reason), Some(first)) = (&commit.reason, planner.rows.get_mut(before)) {
        first.detail("reason", reason.as_str());
    }
    whole(commit)?;
    if let ClaimUse::Fenced(fence) = &commit.claim
        && fence.resource.resource_type == ResourceType::Workorder
        && !commit.writes.iter().any(|write| is_outcome(write) || matches!(write, Write::GiveBack(_)))
    {
        // The claim ends here without an outcome: its time is charged all the same (B-2).
        planner.steps.push(settle_step(fence, Release::Failed));
    }
    if let Some(resource) = commit.claim.resource() {
        // After everything that it protected: artifact before release, always.
        planner.rows.push(JournalRow::of_claim(JournalStep::Release, resource));
    }
    let Planner { mut steps, rows, .. } = planner;
    steps.extend(journal_steps(&rows, commit.actor, &commit.claim, Some(&commit.commit_id)));
    Ok(Plan { claim: commit.claim.clone(), steps })
}

/// Refuses a commit that would leave half of a flow's step behind: what `verify` would find afterwards.
fn whole(commit: &Commit) -> Result<(), SubstrateError> {
    if commit.writes.is_empty() {
        return Err(malformed("it writes nothing"));
    }
    for write in &commit.writes {
        let (kept, missing) = match write {
            Write::CreateWorkorder { event_id, .. } => (
                commit.writes.iter().any(|other| is_scheduled(other, event_id)),
                "a workorder is created with its event processed SCHEDULED",
            ),
            Write::ProcessEvent { event_id, reason: ProcessedReason::Scheduled } => (
                commit.writes.iter().any(|other| is_workorder_of(other, event_id)),
                "an event is processed SCHEDULED with its workorder",
            ),
            Write::Gate(run) => (
                commit.writes.iter().any(|other| is_pause_of(other, &run.work_order_id)),
                "a run_record comes with the pause_state of its workorder",
            ),
            Write::GiveBack(_) => {
                (!commit.writes.iter().any(is_outcome), "a claim that is given back comes to no outcome")
            }
            Write::OpenCandidates { output_id, work_order_id, .. } => (
                commit.writes.iter().any(|other| is_pass_of(other, work_order_id, output_id)),
                "candidates are opened with the run_record that passed their bundle",
            ),
            _ => continue,
        };
        if !kept {
            return Err(malformed(missing));
        }
    }
    Ok(())
}

/// Tells whether a write is what a claim was for; the time under it is charged by that write itself (B-2).
fn is_outcome(write: &Write) -> bool {
    matches!(write, Write::Execute(_) | Write::Gate(_))
}

fn is_scheduled(write: &Write, event: &EventId) -> bool {
    matches!(write, Write::ProcessEvent { event_id, reason: ProcessedReason::Scheduled } if event_id == event)
}

fn is_workorder_of(write: &Write, event: &EventId) -> bool {
    matches!(write, Write::CreateWorkorder { event_id, .. } if event_id == event)
}

fn is_pass_of(write: &Write, work_order_id: &WorkOrderId, output_id: &OutputId) -> bool {
    matches!(write, Write::Gate(run) if run.gate_result == GateResult::Pass
        && run.work_order_id == *work_order_id && run.output_id == *output_id)
}

fn is_pause_of(write: &Write, work_order_id: &WorkOrderId) -> bool {
    matches!(write, Write::Pause { key: PauseKey::Workorder(id), .. } if id == work_order_id)
}

/// Plans the release of a claim without an outcome.
pub(crate) fn plan_release(fence: &Fence, release: Release, actor: Actor) -> Vec<Step> {
    let row = JournalRow::of_claim(JournalStep::Release, &fence.resource);
    let mut steps = vec![fence_step(fence), settle_step(fence, release)];
    steps.extend(journal_steps(&[row], actor, &ClaimUse::Fenced(fence.clone()), None));
    steps
}

/// Charges a claim that ends without an outcome, and counts it or takes its count back (B-2, W-7).
fn settle_step(fence: &Fence, release: Release) -> Step {
    let (settle, artifact) = match fence.resource.resource_type {
        ResourceType::Event => (sql::SETTLE_EVENT, "event"),
        ResourceType::Workorder => (sql::SETTLE_WORKORDER, "workorder"),
    };
    let uncount = match release {
        Release::Unused => 1u64,
        Release::Failed => 0,
    };
    let statement = Statement::new(settle, [uncount.into(), fence.resource.resource_id.as_str().into()]);
    Step { statement, expect: Expect::Any, artifact }
}

fn fence_step(fence: &Fence) -> Step {
    let values = [
        fence.resource.resource_type.as_str().into(),
        fence.resource.resource_id.as_str().into(),
        fence.owner_id.as_str().into(),
        fence.claim_version.into(),
    ];
    Step {
        statement: Statement::new(sql::FENCE, values),
        expect: Expect::Written(Miss::FenceLost),
        artifact: "claim_record",
    }
}

pub(crate) struct Planner<'a> {
    pub(crate) commit: &'a Commit,
    pub(crate) identity: &'a Identity,
    steps: Vec<Step>,
    rows: Vec<JournalRow>,
}

impl Planner<'_> {
    fn write(&mut self, write: &Write) -> Result<(), SubstrateError> {
        match write {
            Write::InsertObjective { objective, step } => self.insert_objective(objective, *step),
            Write::AdvanceObjective { was, step, next } => self.advance_objective(was, *step, next),
            Write::EditObjective { was, next } => self.edit_objective(was, next),
            Write::InsertCapture(capture) => self.insert_capture(capture),
            Write::ProcessCapture { capture_id, at, no_action } => {
                self.process_capture(capture_id, *at, no_action.as_deref())
            }
            Write::CountAttempt { capture_id, attempts } => self.count_attempt(capture_id, *attempts),
            Write::HoldCapture(capture_id) => self.hold_capture(capture_id),
            Write::RetryCapture { capture_id, attempts } => self.retry_capture(capture_id, *attempts),
            Write::EmitEvent { event, entry } => {
                self.same_azolla::<azolla_protocol::Event>(&event.azolla_id)?;
                if event.processed {
                    return Err(malformed("an event is emitted unprocessed"));
                }
                let values = rows::event(event, *entry, 0);
                self.push("event", Statement::new(sql::INSERT_EVENT, values), Expect::Any);
                self.note(JournalStep::Emit, "event", event.event_id.as_str()).to(event.event_type);
                Ok(())
            }
            Write::ProcessEvent { event_id, reason } => {
                self.needs_claim(&event_id.into())?;
                let values = [reason.as_str().into(), event_id.as_str().into()];
                self.push("event", Statement::new(sql::PROCESS_EVENT, values), CHANGED);
                if *reason == ProcessedReason::Blocked && self.identity.azolla_type == AzollaType::TaskMgmt {
                    self.capture_of_is_held(event_id);
                }
                self.note(JournalStep::Process, "event", event_id.as_str()).to(*reason);
                Ok(())
            }
            Write::InsertSnapshot { snapshot, objective_version } => {
                self.needs_any_claim()?;
                let values = rows::snapshot(snapshot, *objective_version);
                self.push("context_snapshot", Statement::new(sql::INSERT_SNAPSHOT, values), Expect::Any);
                self.note(JournalStep::Insert, "context_snapshot", snapshot.snapshot_id.as_str());
                Ok(())
            }
            Write::CreateWorkorder { workorder, event_id, room } => {
                self.create_workorder(workorder, event_id, *room)
            }
            Write::TriageFirst { attempts_max, review_limit } => {
                self.triage_first(*attempts_max, *review_limit)
            }
            Write::Execute(bundle) => self.execute(bundle),
            Write::RecordUsage(usage) => {
                self.needs_claim(&(&usage.work_order_id).into())?;
                if let ClaimUse::Fenced(fence) = &self.commit.claim
                    && fence.claim_version != usage.claim_version
                {
                    return Err(malformed("the usage is that of another claim"));
                }
                self.push("usage_record", Statement::new(sql::INSERT_USAGE, rows::usage(usage)), Expect::Any);
                self.note(JournalStep::Insert, "usage_record", usage.work_order_id.as_str());
                Ok(())
            }
            Write::GiveBack(release) => {
                let ClaimUse::Fenced(fence) = &self.commit.claim else {
                    return Err(malformed("only a claim that is held is given back"));
                };
                self.steps.push(settle_step(fence, *release));
                Ok(())
            }
            Write::Gate(run) => self.gate(run),
            Write::RecordEvidence(evidence) => {
                self.needs_claim(&(&evidence.work_order_id).into())?;
                let values = rows::evidence(evidence);
                self.push("gate_evidence", Statement::new(sql::INSERT_EVIDENCE, values), Expect::Any);
                self.note(JournalStep::Insert, "gate_evidence", evidence.run_id.as_str());
                Ok(())
            }
            Write::Pause { key, pause } => self.pause(key, pause),
            Write::InsertManifest { manifest, work_order_id } => {
                self.insert_manifest(manifest, work_order_id)
            }
            Write::Snooze { azolla_id, objective_id, until } => self.snooze(azolla_id, objective_id, *until),
            Write::OpenCandidates { output_id, work_order_id, count } => {
                self.open_candidates(output_id, work_order_id, *count)
            }
            Write::ReopenCandidate { output_id, candidate_index, outcome, by } => {
                self.reopen_candidate((output_id, *candidate_index), *outcome, by)
            }
            Write::ResolveCandidate { resolution, target } => {
                self.resolve_candidate(resolution, target.as_ref())
            }
            Write::OthersOpen { output_id, candidate_index, count } => {
                self.others_open(output_id, *candidate_index, *count);
                Ok(())
            }
        }
    }

    fn insert_objective(
        &mut self,
        objective: &Validated<Objective>,
        step: ObjectiveStep,
    ) -> Result<(), SubstrateError> {
        self.same_azolla::<Objective>(&objective.azolla_id)?;
        self.by_party(step)?;
        self.leads_to(lifecycle::advance(objective.objective_type, None, step)?, objective)?;
        if lifecycle::is_confirmed(objective) || lifecycle::is_archived(objective) {
            return Err(malformed("a new objective is neither confirmed nor archived"));
        }
        let statement = Statement::new(sql::INSERT_OBJECTIVE, rows::objective(objective, 1, 0, false)?);
        self.push("objective", statement, Expect::Any);
        self.keep_version(objective, 1);
        self.note(step.into(), "objective", objective.objective_id.as_str()).to(objective.status);
        Ok(())
    }

    fn advance_objective(
        &mut self,
        was: &ObjectiveMark,
        step: ObjectiveStep,
        next: &Validated<Objective>,
    ) -> Result<(), SubstrateError> {
        self.by_party(step)?;
        if step.row().from.is_empty() {
            return Err(malformed("a first step inserts the objective"));
        }
        self.leads_to(lifecycle::advance(next.objective_type, Some(was.status), step)?, next)?;
        if was.archived != (step == ObjectiveStep::Unarchive) {
            // Archived means hidden and never scheduled: it comes back before anything else happens to it (S-o).
            let stands = if was.archived { "an archived" } else { "no archived" };
            return Err(malformed(format!("{step} of {stands} objective")));
        }
        for (key, needed_by) in
            [("completion", ObjectiveStep::Confirm), ("archived_at", ObjectiveStep::Archive)]
        {
            let needed = step == needed_by;
            if next.metadata.contains_key(key) != needed {
                let verb = if needed { "sets" } else { "does not keep" };
                return Err(malformed(format!("{step} {verb} metadata.{key}")));
            }
        }
        self.under_own_claim(next.objective_id.as_str());
        let waiting =
            matches!(step, ObjectiveStep::GatePass | ObjectiveStep::GateFailBlock | ObjectiveStep::Cancel);
        let enters_todo = next.status == azolla_protocol::ObjectiveStatus::Todo && was.status != next.status;
        self.update_objective(was, next, enters_todo, Some(waiting))?;
        let row = self.note(step.into(), "objective", next.objective_id.as_str());
        row.from(was.status).to(next.status);
        if matches!(step, ObjectiveStep::Archive | ObjectiveStep::Unarchive) {
            // Both are S-o, from a status to the same.
            row.detail("archived", step == ObjectiveStep::Archive);
        }
        Ok(())
    }

    fn edit_objective(
        &mut self,
        was: &ObjectiveMark,
        next: &Validated<Objective>,
    ) -> Result<(), SubstrateError> {
        if !matches!(self.commit.actor, Actor::Operator | Actor::Client) {
            return Err(malformed(format!("{} edits nothing", self.commit.actor)));
        }
        self.leads_to(was.status, next)?;
        if lifecycle::is_confirmed(next) {
            // Completion is never inferred: only the operator's confirmation records it (S-2, S-j).
            return Err(malformed("an edit sets metadata.completion"));
        }
        if lifecycle::is_archived(next) != was.archived {
            return Err(malformed("an edit changes metadata.archived_at"));
        }
        self.update_objective(was, next, false, None)?;
        self.note(JournalStep::Edit, "objective", next.objective_id.as_str())
            .from(was.status)
            .to(next.status);
        Ok(())
    }

    fn update_objective(
        &mut self,
        was: &ObjectiveMark,
        next: &Validated<Objective>,
        enters_todo: bool,
        waiting: Option<bool>,
    ) -> Result<(), SubstrateError> {
        self.same_azolla::<Objective>(&next.azolla_id)?;
        let values = [
            next.title.as_str().into(),
            next.acceptance_criteria.as_str().into(),
            next.status.as_str().into(),
            u64::from(next.importance).into(),
            u64::from(next.urgency).into(),
            next.blocked_reason.as_deref().into(),
            rows::json(&next.blocked_on)?.into(),
            rows::json(&next.metadata)?.into(),
            next.updated_at.into(),
            enters_todo.into(),
            waiting.into(),
            next.metadata.contains_key("completion").into(),
            next.metadata.contains_key("archived_at").into(),
            (self.commit.actor == Actor::Operator).into(),
            next.objective_id.as_str().into(),
            was.version.into(),
            was.status.as_str().into(),
        ];
        self.push("objective", Statement::new(sql::UPDATE_OBJECTIVE, values), CHANGED);
        self.keep_version(next, was.version + 1);
        Ok(())
    }

    /// Keeps the whole document of this version.
    fn keep_version(&mut self, objective: &Validated<Objective>, version: u64) {
        let values = [objective.objective_id.as_str().into(), version.into(), objective.document().into()];
        let statement = Statement::new(sql::INSERT_OBJECTIVE_VERSION, values);
        self.push("objective_version", statement, Expect::Any);
    }

    fn create_workorder(
        &mut self,
        workorder: &Validated<azolla_protocol::Workorder>,
        event_id: &azolla_protocol::EventId,
        room: StreamRoom,
    ) -> Result<(), SubstrateError> {
        self.needs_claim(&event_id.into())?;
        if workorder.status != azolla_protocol::WorkorderStatus::Created {
            return Err(malformed("a new workorder is CREATED"));
        }
        if self.identity.azolla_type == AzollaType::TaskMgmt && room.max_concurrent != 1 {
            return Err(malformed("the work stream of a TASK_MGMT azolla is exactly 1 wide"));
        }
        self.push("azolla", Statement::new(sql::LOCK_STREAM, []), CHANGED);
        let limit = Statement::new(sql::CHECK_REVIEW_LIMIT, [room.review_limit.into()]);
        self.push("workorder", limit, Expect::Found(Miss::ReviewLimit));
        let values = [
            workorder.work_order_id.as_str().into(),
            workorder.objective_id.as_str().into(),
            workorder.diazotroph_type.as_str().into(),
            workorder.context_snapshot_id.as_str().into(),
            workorder.branch_name.as_deref().into(),
            workorder.budget_ms.into(),
            workorder.created_at.into(),
            event_id.as_str().into(),
            room.max_concurrent.into(),
        ];
        let create = Statement::new(sql::CREATE_WORKORDER, values);
        self.push("workorder", create, Expect::Written(Miss::StreamFull));
        // The limits in force, so that the journal alone shows that they held.
        self.note(JournalStep::Insert, "workorder", workorder.work_order_id.as_str())
            .to(workorder.status)
            .detail("max_concurrent", room.max_concurrent)
            .detail("objective_id", workorder.objective_id.as_str())
            .detail("review_limit", room.review_limit);
        Ok(())
    }

    fn execute(&mut self, bundle: &Validated<azolla_protocol::OutputBundle>) -> Result<(), SubstrateError> {
        let work_order_id = &bundle.metadata.work_order_id;
        self.needs_claim(&work_order_id.into())?;
        let insert = Statement::new(sql::INSERT_OUTPUT_BUNDLE, rows::output_bundle(bundle));
        self.push("output_bundle", insert, Expect::Any);
        let values = [work_order_id.as_str().into(), bundle.objective_id.as_str().into()];
        self.push("workorder", Statement::new(sql::EXECUTE_WORKORDER, values), CHANGED);
        self.note(JournalStep::Insert, "output_bundle", bundle.output_id.as_str())
            .to(bundle.metadata.runner_status);
        self.note(JournalStep::Execute, "workorder", work_order_id.as_str()).from("CREATED").to("EXECUTED");
        Ok(())
    }

    fn gate(&mut self, run: &Validated<azolla_protocol::RunRecord>) -> Result<(), SubstrateError> {
        self.needs_claim(&(&run.work_order_id).into())?;
        let insert = Statement::new(sql::INSERT_RUN_RECORD, rows::run_record(run));
        self.push("run_record", insert, Expect::Any);
        let values = [run.work_order_id.as_str().into()];
        self.push("workorder", Statement::new(sql::GATE_WORKORDER, values), CHANGED);
        self.note(JournalStep::Insert, "run_record", run.run_id.as_str()).to(run.gate_result);
        self.note(JournalStep::Gate, "workorder", run.work_order_id.as_str()).from("EXECUTED").to("EXECUTED");
        Ok(())
    }

    fn pause(
        &mut self,
        key: &PauseKey,
        pause: &Validated<azolla_protocol::PauseState>,
    ) -> Result<(), SubstrateError> {
        match key {
            PauseKey::Workorder(id) => self.needs_claim(&id.into())?,
            PauseKey::Event(id) => self.needs_claim(&id.into())?,
            PauseKey::Deadline { .. } if self.commit.actor == Actor::DeadlineMonitor => {}
            PauseKey::Deadline { .. } => {
                return Err(malformed("only the deadline monitor records a deadline"));
            }
        }
        let local = pause.azolla_id == self.identity.azolla_id;
        if !local && !matches!(key, PauseKey::Deadline { .. }) {
            self.same_azolla::<azolla_protocol::PauseState>(&pause.azolla_id)?;
        }
        let (pause_key, insert) = rows::pause(key, pause, local);
        self.push("pause_state", Statement::new(sql::INSERT_PAUSE, insert), Expect::Any);
        if local {
            let values = [pause_key.as_str().into(), pause.objective_id.as_str().into()];
            self.push("objective", Statement::new(sql::POINT_TO_PAUSE, values), CHANGED);
        }
        self.note(JournalStep::Insert, "pause_state", &pause_key)
            .to(pause.reason)
            .detail("objective_id", pause.objective_id.as_str());
        Ok(())
    }

    pub(crate) fn push(&mut self, artifact: &'static str, statement: Statement, expect: Expect) {
        self.steps.push(Step { statement, expect, artifact });
    }

    pub(crate) fn note(
        &mut self,
        step: JournalStep,
        resource_type: &str,
        resource_id: &str,
    ) -> &mut JournalRow {
        self.rows.push(JournalRow::new(step, resource_type, resource_id));
        self.rows.last_mut().expect("a row was pushed")
    }

    pub(crate) fn same_azolla<A: Artifact>(&self, azolla_id: &AzollaId) -> Result<(), SubstrateError> {
        if *azolla_id == self.identity.azolla_id {
            return Ok(());
        }
        Err(SubstrateError::foreign::<A>(azolla_id, &self.identity.azolla_id))
    }

    /// A write that a claim protects never happens without that claim (C-4).
    pub(crate) fn needs_claim(&self, resource: &ResourceRef) -> Result<(), SubstrateError> {
        if self.commit.claim.resource() == Some(resource) {
            return Ok(());
        }
        Err(malformed(format!("it needs the claim on {resource}")))
    }

    /// The machine writes nothing of a flow outside a claim.
    pub(crate) fn needs_any_claim(&self) -> Result<(), SubstrateError> {
        self.commit.claim.resource().map(drop).ok_or_else(|| malformed("it needs a claim"))
    }

    /// Only the party that the table names takes a step, and the machine's parties only under a claim.
    fn by_party(&self, step: ObjectiveStep) -> Result<(), SubstrateError> {
        let actor = Actor::from(step.row().party);
        if self.commit.actor != actor {
            return Err(malformed(format!("{step} is for {actor}, not {}", self.commit.actor)));
        }
        if matches!(actor, Actor::Scheduler | Actor::Gate) && matches!(self.commit.claim, ClaimUse::None) {
            return Err(malformed(format!("{step} needs a claim")));
        }
        Ok(())
    }

    /// A step under a claim is about the objective of what is claimed.
    fn under_own_claim(&mut self, objective_id: &str) {
        let Some(resource) = self.commit.claim.resource() else { return };
        let (check, artifact) = match resource.resource_type {
            ResourceType::Event => (sql::CHECK_EVENT_OF_OBJECTIVE, "event"),
            ResourceType::Workorder => (sql::CHECK_WORKORDER_OF_OBJECTIVE, "workorder"),
        };
        let values = [resource.resource_id.as_str().into(), objective_id.into()];
        self.push(artifact, Statement::new(check, values), Expect::Found(Miss::Changed));
    }

    fn leads_to(
        &self,
        status: azolla_protocol::ObjectiveStatus,
        next: &Validated<Objective>,
    ) -> Result<(), SubstrateError> {
        if next.status == status {
            return Ok(());
        }
        Err(malformed(format!("{} says {}, the step leads to {status}", next.objective_id, next.status)))
    }
}

pub(crate) const CHANGED: Expect = Expect::Written(Miss::Changed);

pub(crate) fn malformed(what: impl Into<String>) -> SubstrateError {
    SubstrateError::Malformed(what.into())
}
