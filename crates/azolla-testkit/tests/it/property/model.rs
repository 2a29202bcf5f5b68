//! What PROTOCOL.md sections 3 to 6 say that a store answers, written from the text and not from the code: a few
//! maps, one clock, and no SQL. A commit is tried on a copy, which replaces the model only if all of it holds.

use std::collections::{BTreeMap, BTreeSet};

use azolla_protocol::{
    Actor, AzollaId, CandidateOutcome, CandidateResolution, CaptureId, CaptureStatus, ClaimRecord, CommitId,
    DiazotrophType, EventId, EventType, LeaseLength, Objective, ObjectiveId, ObjectiveStatus, OutputId,
    OwnerId, PauseState, ResourceRef, ResourceType, RunId, SnapshotId, Timestamp, WorkOrderId,
    WorkorderStatus, content::TriageContent, lifecycle::ObjectiveStep,
};
use azolla_substrate::{
    DeadlinePause, Fence, Grant, ObjectiveMark, PauseKey, Release, Snooze, StoredCapture, StoredEvent,
    StoredObjective, StoredWorkorder, StreamState, Write,
};
use azolla_testkit::store::azolla_id;

use super::plan::{Answer, Claim, Plan, shape};

fn refused<T>(rule: &str) -> Result<T, Answer> {
    Err(Answer::Refused(rule.into()))
}

fn changed<T>(artifact: &str) -> Result<T, Answer> {
    Err(Answer::Changed(artifact.into()))
}

#[derive(Clone, Debug)]
pub(super) struct ModelClaim {
    pub(super) record: ClaimRecord,
    granted_at: Timestamp,
    released: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) now: Timestamp,
    pub(super) objectives: BTreeMap<ObjectiveId, StoredObjective>,
    pub(super) captures: BTreeMap<CaptureId, StoredCapture>,
    pub(super) events: BTreeMap<EventId, StoredEvent>,
    pub(super) workorders: BTreeMap<WorkOrderId, StoredWorkorder>,
    pub(super) claims: BTreeMap<ResourceRef, ModelClaim>,
    pub(super) pauses: BTreeMap<String, PauseState>,
    pub(super) resolutions: BTreeMap<(OutputId, u64), CandidateResolution>,
    /// Per azolla and objective, oldest first.
    deadlines: BTreeMap<(AzollaId, ObjectiveId), Vec<DeadlinePause>>,
    snoozes: BTreeMap<(AzollaId, ObjectiveId), Timestamp>,
    /// Whether a candidate is open.
    pub(super) candidates: BTreeMap<(OutputId, u64), bool>,
    /// Per triage output: how many candidates its content has.
    pub(super) contents: BTreeMap<OutputId, u64>,
    snapshots: BTreeSet<SnapshotId>,
    outputs: BTreeSet<OutputId>,
    runs: BTreeSet<RunId>,
    usage: BTreeSet<(WorkOrderId, u64)>,
    commits: BTreeSet<CommitId>,
}

impl Model {
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            now,
            objectives: BTreeMap::new(),
            captures: BTreeMap::new(),
            events: BTreeMap::new(),
            workorders: BTreeMap::new(),
            claims: BTreeMap::new(),
            pauses: BTreeMap::new(),
            resolutions: BTreeMap::new(),
            deadlines: BTreeMap::new(),
            snoozes: BTreeMap::new(),
            candidates: BTreeMap::new(),
            contents: BTreeMap::new(),
            snapshots: BTreeSet::new(),
            outputs: BTreeSet::new(),
            runs: BTreeSet::new(),
            usage: BTreeSet::new(),
            commits: BTreeSet::new(),
        }
    }

    /// C-1, C-2: one atomic grant, by a version that never came before.
    pub(super) fn acquire(&mut self, resource: &ResourceRef, owner: &OwnerId, lease: LeaseLength) -> Answer {
        if !self.is_open(resource) || !self.is_free(resource) {
            return Answer::Held;
        }
        let claim_version = self.take(resource, owner, i64::try_from(lease.as_ms()).expect("a short lease"));
        let (claim_count, budget_consumed_ms) = self.count(resource, 1);
        Answer::Granted(Grant {
            fence: Fence { resource: resource.clone(), owner_id: owner.clone(), claim_version },
            granted_at: self.now,
            lease_expires_at: self.claims[resource].record.lease_expires_at,
            claim_count,
            budget_consumed_ms,
        })
    }

    /// C-3: a compare-and-swap on an unexpired lease.
    pub(super) fn renew(&mut self, fence: &Fence, lease: LeaseLength) -> Answer {
        if !self.holds(fence) {
            return Answer::Lost;
        }
        let now = self.now;
        let claim = self.claims.get_mut(&fence.resource).expect("it is held");
        claim.record.heartbeat_at = now;
        claim.record.lease_expires_at = now.plus_ms(i64::try_from(lease.as_ms()).expect("a short lease"));
        Answer::Renewed(claim.record.lease_expires_at)
    }

    /// C-2, W-7: the record stays, expired; only an unused claim is not counted.
    pub(super) fn release(&mut self, fence: &Fence, release: Release) -> Answer {
        if let Err(answer) = self.end(fence) {
            return answer;
        }
        self.count(&fence.resource, if release == Release::Unused { -1 } else { 0 });
        Answer::Done
    }

    /// All of a commit or none of it.
    pub(super) fn commit(&mut self, plan: &Plan) -> Answer {
        let mut next = self.clone();
        match next.try_commit(plan) {
            Ok(()) => {
                *self = next;
                Answer::Done
            }
            Err(answer) => answer,
        }
    }

    pub(super) fn stream(&self) -> StreamState {
        let open = self.workorders.values().filter(|workorder| workorder.stream_slot.is_some()).count();
        let waiting = self.objectives.values().filter(|objective| objective.waiting).count();
        // O-3: a triage output waits once, as long as any of its candidates is open.
        let outputs: BTreeSet<_> =
            self.candidates.iter().filter(|(_, open)| **open).map(|(key, _)| &key.0).collect();
        StreamState { open: open as u64, waiting: (waiting + outputs.len()) as u64 }
    }

    /// the latest of each objective, unless an operator's step followed it; oldest first.
    pub(super) fn current_pauses(&self) -> Vec<PauseState> {
        let keys = self.objectives.values().filter_map(|objective| objective.pause_key.as_ref());
        let mut found: Vec<_> = keys.map(|key| (self.pauses[key].created_at, key)).collect();
        found.sort();
        found.into_iter().map(|(_, key)| self.pauses[key].clone()).collect()
    }

    /// Section 7.4: the latest of each objective, newest first.
    pub(super) fn deadlines(&self) -> Vec<DeadlinePause> {
        let mut found: Vec<_> = self.deadlines.values().filter_map(|all| all.last().cloned()).collect();
        let key = |deadline: &DeadlinePause| {
            let DeadlinePause { pause, at, .. } = deadline;
            (pause.created_at, pause.azolla_id.clone(), pause.objective_id.clone(), *at)
        };
        found.sort_by_key(|deadline| std::cmp::Reverse(key(deadline)));
        found
    }

    /// Those that still hold, the first to end first.
    pub(super) fn snoozes(&self) -> Vec<Snooze> {
        let live = self.snoozes.iter().filter(|(_, until)| **until > self.now);
        let mut found: Vec<_> = live
            .map(|((azolla_id, objective_id), until)| Snooze {
                azolla_id: azolla_id.clone(),
                objective_id: objective_id.clone(),
                until: *until,
            })
            .collect();
        found.sort_by_key(|snooze| (snooze.until, snooze.azolla_id.clone(), snooze.objective_id.clone()));
        found
    }

    /// Section 7.2: PENDING, not held, attempts left since the operator's last step; oldest first.
    pub(super) fn eligible(&self, attempts_max: u64) -> Vec<StoredCapture> {
        let has_left = |stored: &&StoredCapture| {
            stored.capture.status == CaptureStatus::Pending
                && !stored.held
                && stored.attempts - stored.attempts_before < attempts_max
        };
        let mut found: Vec<_> = self.captures.values().filter(has_left).cloned().collect();
        found.sort_by_key(|stored| (stored.capture.created_at, stored.capture.capture_id.clone()));
        found
    }

    /// W-2: an event for each of them that has no unprocessed one, and after a failed triage, not during one.
    pub(super) fn awaiting_event(&self, attempts_max: u64) -> Vec<(CaptureId, u64)> {
        let is_triage = |stored: &StoredWorkorder| stored.workorder.diazotroph_type == DiazotrophType::Triage;
        let runs = self.workorders.values().any(|stored| is_triage(stored) && stored.stream_slot.is_some());
        let events = |id: &CaptureId| {
            let own = self.events.values().filter(|stored| stored.event.resource_id == id.as_str());
            own.map(|stored| (stored.entry.unwrap_or_default(), stored.event.processed)).collect::<Vec<_>>()
        };
        let awaits = self.eligible(attempts_max).into_iter().filter_map(|stored| {
            let own = events(&stored.capture.capture_id);
            let tried = stored.attempts > stored.attempts_before;
            let entry = own.iter().map(|(entry, _)| *entry).max().unwrap_or_default() + 1;
            let awaits = own.iter().all(|(_, processed)| *processed) && !(tried && runs);
            awaits.then_some((stored.capture.capture_id, entry))
        });
        awaits.collect()
    }

    fn try_commit(&mut self, plan: &Plan) -> Result<(), Answer> {
        plan.writes.iter().try_for_each(|write| shape(plan, write))?;
        match &plan.claim {
            Claim::None => {}
            Claim::Claiming(resource, owner) => {
                if !self.is_open(resource) || !self.is_free(resource) {
                    return Err(Answer::Held);
                }
                let claim_version = self.take(resource, owner, 1);
                let fence = Fence { resource: resource.clone(), owner_id: owner.clone(), claim_version };
                self.end(&fence)?;
            }
            Claim::Fenced(fence) => self.end(fence)?,
        }
        plan.writes.iter().try_for_each(|write| self.write(plan.actor, write))?;
        if let Claim::Fenced(fence) = &plan.claim
            && plan.writes.iter().any(|write| matches!(write, Write::GiveBack(Release::Unused)))
        {
            self.count(&fence.resource, -1);
        }
        if self.commits.insert(plan.commit_id.clone()) { Ok(()) } else { refused("C-9") }
    }

    fn write(&mut self, actor: Actor, write: &Write) -> Result<(), Answer> {
        match write {
            Write::InsertObjective { objective, .. } => self.create(objective),
            Write::AdvanceObjective { was, step, next } => self.change(actor, was, Some(*step), next),
            Write::EditObjective { was, next } => self.change(actor, was, None, next),
            Write::InsertCapture(capture) => {
                let capture = (**capture).clone();
                let id = capture.capture_id.clone();
                let stored = StoredCapture { capture, attempts: 0, attempts_before: 0, held: false };
                self.captures.insert(id, stored).map_or(Ok(()), |_| refused("A-2"))
            }
            Write::ProcessCapture { capture_id, at, .. } => {
                let capture = self.pending(capture_id)?;
                capture.capture.status = CaptureStatus::Processed;
                capture.capture.updated_at = *at;
                capture.held = false;
                Ok(())
            }
            Write::HoldCapture(capture_id) => {
                self.pending(capture_id)?.held = true;
                Ok(())
            }
            Write::RetryCapture { capture_id, attempts } => {
                let capture = self.pending(capture_id)?;
                if capture.attempts != *attempts {
                    return changed("capture_buffer");
                }
                (capture.held, capture.attempts_before) = (false, capture.attempts);
                Ok(())
            }
            Write::CountAttempt { capture_id, attempts } => {
                let capture = self.pending(capture_id)?;
                if capture.held || capture.attempts != *attempts {
                    return changed("capture_buffer");
                }
                capture.attempts += 1;
                Ok(())
            }
            Write::EmitEvent { event, entry } => {
                self.emit(StoredEvent { event: (**event).clone(), entry: *entry, claim_count: 0 })
            }
            Write::ProcessEvent { event_id, reason } => {
                let now = self.now;
                let Some(stored) = self.events.get_mut(event_id).filter(|stored| !stored.event.processed)
                else {
                    return changed("event");
                };
                stored.event.processed = true;
                stored.event.processed_reason = Some(*reason);
                stored.event.processed_at = Some(now);
                stored.claim_count = 0;
                Ok(())
            }
            Write::InsertSnapshot { snapshot, objective_version } => {
                if !self.snapshots.insert(snapshot.snapshot_id.clone()) {
                    return refused("A-1");
                }
                let newest = self.objectives.get(&snapshot.objective_id).map_or(0, |stored| stored.version);
                if (1..=newest).contains(objective_version) { Ok(()) } else { refused("A-3") }
            }
            Write::CreateWorkorder { workorder, event_id, room } => {
                let stream = self.stream();
                if room.review_limit > 0 && stream.open + stream.waiting >= room.review_limit {
                    return Err(Answer::ReviewLimit);
                }
                if stream.open >= room.max_concurrent {
                    return Err(Answer::StreamFull);
                }
                let taken = |slot| self.workorders.values().any(|other| other.stream_slot == Some(slot));
                let slot = (0..3).find(|slot| !taken(*slot)).expect("max_concurrent is 3 at the most");
                let stored = StoredWorkorder {
                    workorder: (**workorder).clone(),
                    event_id: event_id.clone(),
                    budget_consumed_ms: 0,
                    claim_count: 0,
                    stream_slot: Some(slot),
                };
                self.workorders
                    .insert(workorder.work_order_id.clone(), stored)
                    .map_or(Ok(()), |_| refused("W-5"))
            }
            Write::Execute(bundle) => {
                if !self.outputs.insert(bundle.output_id.clone()) {
                    return refused("A-1");
                }
                if let Ok(content) = serde_json::from_str::<TriageContent>(&bundle.content) {
                    self.contents.insert(bundle.output_id.clone(), content.candidates.len() as u64);
                }
                let stored = self.workorders.get_mut(&bundle.metadata.work_order_id).expect("it is claimed");
                stored.workorder.status = WorkorderStatus::Executed;
                stored.claim_count = 0;
                Ok(())
            }
            Write::RecordUsage(usage) => {
                let key = (usage.work_order_id.clone(), usage.claim_version);
                if self.usage.insert(key) { Ok(()) } else { refused("A-1") }
            }
            Write::Gate(run) => {
                if !self.runs.insert(run.run_id.clone()) {
                    return refused("A-1");
                }
                if !self.outputs.contains(&run.output_id) {
                    return refused("A-3");
                }
                let stored = self.workorders.get_mut(&run.work_order_id).expect("it is claimed");
                stored.stream_slot = None;
                stored.claim_count = 0;
                Ok(())
            }
            Write::Pause { key, pause } => self.pause(key, pause),
            Write::ResolveCandidate { resolution, .. } => {
                let key = (resolution.output_id.clone(), resolution.candidate_index);
                let stands = |old: &CandidateResolution| old.outcome != CandidateOutcome::Deferred;
                if self.resolutions.get(&key).is_some_and(stands) {
                    return refused("TF-8");
                }
                let Some(open) = self.candidates.get_mut(&key) else { return refused("A-3") };
                *open = false;
                self.resolutions.insert(key, (**resolution).clone());
                Ok(())
            }
            Write::ReopenCandidate { output_id, candidate_index, outcome, .. } => {
                let key = (output_id.clone(), *candidate_index);
                if self.resolutions.get(&key).is_none_or(|found| found.outcome != *outcome) {
                    return changed("candidate_resolution");
                }
                self.resolutions.remove(&key);
                self.candidates.insert(key, true);
                Ok(())
            }
            Write::Snooze { azolla_id: source, objective_id, until } => {
                self.snoozes.insert((source.clone(), objective_id.clone()), *until);
                // an operator's step follows the deadline's pause_state.
                let own = self.objectives.get_mut(objective_id).filter(|_| *source == azolla_id());
                if let Some(stored) = own
                    && stored.pause_key.as_ref().is_some_and(|key| key.starts_with("deadline:"))
                {
                    stored.pause_key = None;
                }
                Ok(())
            }
            Write::OpenCandidates { output_id, count, .. } => {
                self.candidates.extend((0..*count).map(|index| ((output_id.clone(), index), true)));
                Ok(())
            }
            // Counted with its claim, which ended with the commit.
            Write::GiveBack(_) => Ok(()),
            Write::RecordEvidence(_)
            | Write::InsertManifest { .. }
            | Write::OthersOpen { .. }
            | Write::TriageFirst { .. } => {
                unreachable!("not generated")
            }
        }
    }

    fn create(&mut self, objective: &Objective) -> Result<(), Answer> {
        let stored = StoredObjective {
            objective: objective.clone(),
            version: 1,
            todo_entry: 0,
            waiting: false,
            pause_key: None,
        };
        self.objectives.insert(objective.objective_id.clone(), stored).map_or(Ok(()), |_| refused("A-2"))
    }

    /// S-3: every write compares the version; S-j: confirmed is final.
    fn change(
        &mut self,
        actor: Actor,
        was: &ObjectiveMark,
        step: Option<ObjectiveStep>,
        next: &Objective,
    ) -> Result<(), Answer> {
        let Some(stored) = self
            .objectives
            .get_mut(&next.objective_id)
            .filter(|stored| stored.version == was.version && stored.objective.status == was.status)
        else {
            return changed("objective");
        };
        if stored.objective.metadata.contains_key("completion") {
            return refused("S-j");
        }
        let approved = matches!(was.status, ObjectiveStatus::Todo | ObjectiveStatus::InProgress);
        if approved && next.status != ObjectiveStatus::New && stored.objective.title != next.title {
            return refused("S-3");
        }
        stored.version += 1;
        if next.status == ObjectiveStatus::Todo && was.status != ObjectiveStatus::Todo {
            stored.todo_entry += 1;
        }
        if let Some(step) = step {
            // O-3: what a gate ended with waits for the operator.
            let by_gate = [ObjectiveStep::GatePass, ObjectiveStep::GateFailBlock, ObjectiveStep::Cancel];
            stored.waiting = by_gate.contains(&step);
        }
        if actor == Actor::Operator {
            stored.pause_key = None;
        }
        stored.objective = next.clone();
        Ok(())
    }

    fn emit(&mut self, stored: StoredEvent) -> Result<(), Answer> {
        let same_entry = |other: &StoredEvent| {
            other.event.event_type == stored.event.event_type
                && other.event.resource_id == stored.event.resource_id
                && other.entry == stored.entry
                && stored.entry.is_some()
        };
        if self.events.contains_key(&stored.event.event_id) || self.events.values().any(same_entry) {
            return refused("W-1");
        }
        let blocks = |other: &StoredEvent| {
            !other.event.processed
                && other.event.event_type == stored.event.event_type
                && other.event.event_type != EventType::TicketReady
                && other.event.resource_id == stored.event.resource_id
        };
        if self.events.values().any(blocks) {
            return refused("W-2");
        }
        self.events.insert(stored.event.event_id.clone(), stored);
        Ok(())
    }

    fn pause(&mut self, key: &PauseKey, pause: &PauseState) -> Result<(), Answer> {
        let text = match key {
            PauseKey::Workorder(id) => format!("workorder:{id}"),
            PauseKey::Event(id) => format!("event:{id}"),
            PauseKey::Deadline { at, .. } => {
                format!("deadline:{}:{}:{at}", pause.azolla_id, pause.objective_id)
            }
        };
        if self.pauses.insert(text.clone(), pause.clone()).is_some() {
            return refused("A-1");
        }
        if let PauseKey::Deadline { at, urgency } = key {
            let (azolla_id, objective_id) = (pause.azolla_id.clone(), pause.objective_id.clone());
            let deadline = DeadlinePause { pause: pause.clone(), at: *at, urgency: *urgency };
            let recorded = self.deadlines.entry((azolla_id, objective_id)).or_default();
            // D-1: one in 24 hours, unless it is more urgent than the one before; the clock only goes forward.
            let day_ago = pause.created_at.plus_ms(-86_400_000);
            if recorded.last().is_some_and(|last| {
                last.pause.created_at > day_ago
                    && (last.urgency <= *urgency || last.pause.created_at == pause.created_at)
            }) {
                return refused("D-1");
            }
            recorded.push(deadline);
        }
        if pause.azolla_id != azolla_id() {
            return Ok(());
        }
        let Some(stored) = self.objectives.get_mut(&pause.objective_id) else { return refused("A-3") };
        stored.pause_key = Some(text);
        Ok(())
    }

    fn pending(&mut self, id: &CaptureId) -> Result<&mut StoredCapture, Answer> {
        let found =
            self.captures.get_mut(id).filter(|stored| stored.capture.status == CaptureStatus::Pending);
        found.ok_or_else(|| Answer::Changed("capture_buffer".into()))
    }

    /// Whether there is anything left to do on a resource.
    fn is_open(&self, resource: &ResourceRef) -> bool {
        match resource.resource_type {
            ResourceType::Event => {
                let found = self.events.iter().find(|(id, _)| id.as_str() == resource.resource_id);
                found.is_some_and(|(_, stored)| !stored.event.processed)
            }
            ResourceType::Workorder => {
                self.workorder(resource).is_some_and(|stored| stored.stream_slot.is_some())
            }
        }
    }

    fn is_free(&self, resource: &ResourceRef) -> bool {
        self.claims.get(resource).is_none_or(|claim| claim.record.lease_expires_at <= self.now)
    }

    /// Whether a claim protects a write (C-4).
    pub(super) fn holds(&self, fence: &Fence) -> bool {
        self.claims.get(&fence.resource).is_some_and(|claim| {
            claim.record.owner_id == fence.owner_id
                && claim.record.claim_version == fence.claim_version
                && claim.record.lease_expires_at > self.now
                && !claim.released
        })
    }

    /// Grants a free resource; a claim that was lost on it is charged up to its expiry (B-2).
    fn take(&mut self, resource: &ResourceRef, owner: &OwnerId, lease_ms: i64) -> u64 {
        let before = self.claims.get(resource).cloned();
        if let Some(lost) = before.as_ref().filter(|claim| !claim.released) {
            self.charge(resource, lost.granted_at, lost.record.lease_expires_at);
        }
        let claim_version = before.map_or(1, |claim| claim.record.claim_version + 1);
        let record = ClaimRecord {
            resource_type: resource.resource_type,
            resource_id: resource.resource_id.clone(),
            owner_id: owner.clone(),
            lease_expires_at: self.now.plus_ms(lease_ms),
            heartbeat_at: self.now,
            claim_version,
        };
        self.claims.insert(resource.clone(), ModelClaim { record, granted_at: self.now, released: false });
        claim_version
    }

    /// Ends a claim that is held, or answers that it is not (C-4); its time is charged (B-2).
    fn end(&mut self, fence: &Fence) -> Result<(), Answer> {
        if !self.holds(fence) {
            return Err(Answer::FenceLost);
        }
        let now = self.now;
        let claim = self.claims.get_mut(&fence.resource).expect("it is held");
        (claim.record.lease_expires_at, claim.record.heartbeat_at, claim.released) = (now, now, true);
        let granted_at = claim.granted_at;
        self.charge(&fence.resource, granted_at, now);
        Ok(())
    }

    fn charge(&mut self, resource: &ResourceRef, from: Timestamp, to: Timestamp) {
        let spent = u64::try_from(to.as_millisecond() - from.as_millisecond()).expect("time goes forward");
        if let Some(stored) = self.workorder_mut(resource)
            && stored.workorder.status == WorkorderStatus::Created
        {
            stored.budget_consumed_ms += spent;
        }
    }

    /// Adds to the claims without an outcome; returns them and the budget used.
    fn count(&mut self, resource: &ResourceRef, more: i64) -> (u64, u64) {
        let add = |count: &mut u64| *count = count.checked_add_signed(more).expect("a claim was counted");
        if let Some(stored) = self.workorder_mut(resource) {
            add(&mut stored.claim_count);
            return (stored.claim_count, stored.budget_consumed_ms);
        }
        let mut events = self.events.iter_mut();
        let (_, stored) = events.find(|(id, _)| id.as_str() == resource.resource_id).expect("it was granted");
        add(&mut stored.claim_count);
        (stored.claim_count, 0)
    }

    fn workorder(&self, resource: &ResourceRef) -> Option<&StoredWorkorder> {
        let id = WorkOrderId::new(resource.resource_id.clone()).ok()?;
        self.workorders.get(&id)
    }

    fn workorder_mut(&mut self, resource: &ResourceRef) -> Option<&mut StoredWorkorder> {
        let id = WorkOrderId::new(resource.resource_id.clone()).ok()?;
        self.workorders.get_mut(&id)
    }
}
