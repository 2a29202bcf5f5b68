//! What each operation sends to a store. All of it is built from the model, so that both backends get the very same
//! values, and nothing is read from the store under test.

use azolla_protocol::{
    Actor, CandidateOutcome, CaptureBuffer, CaptureId, CaptureStatus, CommitId, EventId, EventType,
    GateResult, LeaseLength, Objective, ObjectiveId, ObjectiveStatus, OutputId, OwnerId, PauseReason,
    ProcessedReason, ResourceRef, RunId, WorkOrderId, WorkorderStatus, lifecycle::ObjectiveStep,
};
use azolla_substrate::{Fence, PauseKey, Release, StoredEvent, StoredObjective, StreamRoom, Write};
use azolla_testkit::{cycle, cycle::valid, store::azolla_id, triage};

use super::{
    model::Model,
    operation::{By, Edit, Entry, Lease, Mark, Move, Operation, Party, Pick, Room, Tamper, Verdict},
    plan::{Claim, Plan, target},
    values::{
        azolla_of, capture_id, deadline, is_workorder, no_workorder, objective_id, owner_id, standing_id,
        usage, workorder_of,
    },
};

/// What an operation does to a store.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Commit(Box<Plan>),
    Acquire(ResourceRef, OwnerId, LeaseLength),
    Renew(Fence, LeaseLength),
    Release(Fence, Release),
    Advance(i64),
    Switch,
}

/// Builds actions. `granted` are the fences that the store gave out, oldest first; `sent` is the last commit.
pub(super) struct Builder {
    pub(super) granted: Vec<Fence>,
    sent: Option<Plan>,
    commits: u32,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self { granted: Vec::new(), sent: None, commits: 0 }
    }

    pub(super) fn action(&mut self, operation: &Operation, model: &Model) -> Action {
        let at = At { model, granted: &self.granted };
        match at.action(operation) {
            Built::Whole(action) => action,
            Built::Commit(actor, claim, writes) => {
                self.commits += 1;
                let commit_id = CommitId::new(format!("com-{}", self.commits)).expect("a commit id");
                let plan = Plan { commit_id, actor, claim, writes };
                self.sent = Some(plan.clone());
                Action::Commit(Box::new(plan))
            }
            Built::Again => match &self.sent {
                Some(plan) => Action::Commit(Box::new(plan.clone())),
                None => Action::Advance(1),
            },
        }
    }
}

enum Built {
    Whole(Action),
    Commit(Actor, Claim, Vec<Write>),
    Again,
}

/// The state that an operation is built on.
struct At<'a> {
    model: &'a Model,
    granted: &'a [Fence],
}

impl At<'_> {
    fn action(&self, operation: &Operation) -> Built {
        let commit = |actor, writes| Built::Commit(actor, Claim::None, writes);
        let now = self.model.now;
        match operation {
            Operation::Create { objective, party } => {
                let fresh = cycle::objective(&objective_id(*objective), ObjectiveStatus::New, now);
                let write = Write::InsertObjective { objective: valid(fresh), step: ObjectiveStep::Create };
                commit(party.or(Actor::Operator), vec![write])
            }
            Operation::OpenStanding { party } => {
                let objective = valid(triage::standing(&standing_id(), now));
                let write = Write::InsertObjective { objective, step: ObjectiveStep::OpenStanding };
                commit(party.or(Actor::Init), vec![write])
            }
            Operation::Step { objective, step, party, mark } => {
                let write = self.advance(&objective_id(*objective), *step, *mark);
                commit(party.or(Actor::Operator), vec![write])
            }
            Operation::Edit { objective, edit, mark } => {
                let stored = self.stored(&objective_id(*objective));
                let mut next = Objective { updated_at: now, ..stored.objective.clone() };
                match edit {
                    Edit::Title => next.title = format!("{} again", stored.version),
                    Edit::Urgency => {
                        next.urgency = (next.urgency + 1) % 5;
                        next.metadata.remove("completion");
                    }
                }
                let was = mark.of(&stored);
                next.status = was.status;
                commit(Actor::Operator, vec![Write::EditObjective { was, next: valid(next) }])
            }
            Operation::Emit { objective, entry } => {
                let id = objective_id(*objective);
                let entry = entry.of(self.stored(&id).todo_entry);
                let event_id = EventId::for_entry(&id, entry).expect("a short id");
                let event = cycle::event(event_id, EventType::TicketReady, id.as_str(), now);
                commit(Actor::Readiness, vec![Write::EmitEvent { event: valid(event), entry: Some(entry) }])
            }
            Operation::EmitForCapture { capture, entry } => {
                let id = capture_id(*capture);
                let own = self.model.events.values().filter(|stored| stored.event.resource_id == id.as_str());
                let newest = own.filter_map(|stored| stored.entry).max().unwrap_or_default();
                let entry = match entry {
                    Entry::Current => newest + 1,
                    Entry::Before => newest.max(1),
                    Entry::Next => newest + 2,
                };
                let event_id = EventId::for_attempt(&id, entry).expect("a short id");
                let event = cycle::event(event_id, EventType::CaptureReady, id.as_str(), now);
                commit(
                    Actor::CaptureReadiness,
                    vec![Write::EmitEvent { event: valid(event), entry: Some(entry) }],
                )
            }
            Operation::EmitManifest { number } => {
                let event_id = EventId::new(format!("evt-manifest-{number}")).expect("an id");
                let event = cycle::event(event_id, EventType::ManifestRequested, azolla_id().as_str(), now);
                commit(Actor::Client, vec![Write::EmitEvent { event: valid(event), entry: None }])
            }
            Operation::Forward { objective, room, verdict } => self.forward(*objective, *room, *verdict),
            Operation::Triage { capture, room, verdict, party } => {
                self.triage(*capture, *room, *verdict, *party)
            }
            Operation::Schedule { objective, entry, claim, room, mark } => {
                self.schedule(&objective_id(*objective), *entry, *claim, *room, *mark)
            }
            Operation::BlockBeforeWork { objective, owner } => self.block_before_work(*objective, *owner),
            Operation::Skip { resource, owner } => {
                let Some(event_id) =
                    self.resource(*resource).and_then(|resource| EventId::new(resource.resource_id).ok())
                else {
                    return Built::Whole(Action::Advance(1));
                };
                let claim = Claim::Claiming((&event_id).into(), owner_id(*owner));
                let reason = ProcessedReason::NonExecutableStatus;
                Built::Commit(Actor::Scheduler, claim, vec![Write::ProcessEvent { event_id, reason }])
            }
            Operation::Acquire { resource, owner, lease } => {
                let resource = self.resource(*resource).unwrap_or_else(|| (&no_workorder()).into());
                Built::Whole(Action::Acquire(resource, owner_id(*owner), lease.length()))
            }
            Operation::Renew { fence, lease } => {
                Built::Whole(Action::Renew(self.fence(*fence, |_| true), lease.length()))
            }
            Operation::Release { fence, release } => {
                Built::Whole(Action::Release(self.fence(*fence, |_| true), release_of(*release)))
            }
            Operation::Execute { fence } => self.execute(self.fence(*fence, is_workorder)),
            Operation::RecordUsage { fence, give_back } => {
                let fence = self.fence(*fence, is_workorder);
                let usage = usage(&workorder_of(&fence), fence.claim_version, now);
                let mut writes = vec![Write::RecordUsage(valid(usage))];
                writes.extend(give_back.map(|unused| Write::GiveBack(release_of(unused))));
                Built::Commit(Actor::Runner, Claim::Fenced(fence), writes)
            }
            Operation::FailAtOnce { objective, owner } => {
                let work_order_id =
                    self.newest_workorder(&objective_id(*objective)).unwrap_or_else(no_workorder);
                let bundle = cycle::output_bundle(&work_order_id, &self.objective_of(&work_order_id), now);
                let claim = Claim::Claiming((&work_order_id).into(), owner_id(*owner));
                Built::Commit(Actor::Runner, claim, vec![Write::Execute(valid(bundle))])
            }
            Operation::Gate { fence, verdict } => self.gate(self.fence(*fence, is_workorder), *verdict),
            Operation::Deadline { objective, day, remote, urgency, party } => {
                let mut pause = cycle::pause_state(&objective_id(*objective), PauseReason::RunComplete, now);
                pause.azolla_id = azolla_of(*remote);
                let key = PauseKey::Deadline { at: deadline(*day), urgency: *urgency };
                commit(party.or(Actor::DeadlineMonitor), vec![Write::Pause { key, pause: valid(pause) }])
            }
            Operation::Snooze { objective, hours, remote, party } => {
                let (azolla_id, objective_id) = (azolla_of(*remote), objective_id(*objective));
                let until = now.plus_ms(hours * 3_600_000);
                commit(party.or(Actor::Operator), vec![Write::Snooze { azolla_id, objective_id, until }])
            }
            Operation::InsertCapture { capture } => {
                commit(Actor::Operator, vec![Write::InsertCapture(valid(self.capture(*capture)))])
            }
            Operation::ProcessCapture { capture } => {
                let write =
                    Write::ProcessCapture { capture_id: capture_id(*capture), at: now, no_action: None };
                commit(Actor::Operator, vec![write])
            }
            Operation::CountAttempt { capture, attempts, fence } => {
                let claim = Claim::Fenced(self.fence(*fence, |_| true));
                let write = Write::CountAttempt { capture_id: capture_id(*capture), attempts: *attempts };
                Built::Commit(Actor::Scheduler, claim, vec![write])
            }
            Operation::Hold { capture, fence } => {
                let claim = Claim::Fenced(self.fence(*fence, |_| true));
                Built::Commit(Actor::Gate, claim, vec![Write::HoldCapture(capture_id(*capture))])
            }
            Operation::Retry { capture, party } => {
                let capture_id = capture_id(*capture);
                let attempts = self.model.captures.get(&capture_id).map_or(0, |stored| stored.attempts);
                commit(party.or(Actor::Operator), vec![Write::RetryCapture { capture_id, attempts }])
            }
            Operation::Resolve { workorder, index, outcome } => self.resolve(*workorder, *index, *outcome),
            Operation::Reopen { workorder, index, outcome, party } => {
                let actor = match party {
                    Party::Right => Actor::Operator,
                    Party::Wrong => Actor::Gate,
                };
                // Mostly the outcome that it has.
                let output_id = self.triaged(*workorder);
                let found = self.model.resolutions.get(&(output_id.clone(), *index));
                let outcome = found.map_or(*outcome, |found| found.outcome);
                let write = triage::reopening(&output_id, *index, outcome);
                Built::Commit(actor, Claim::None, vec![write])
            }
            Operation::Clock(by) => Built::Whole(Action::Advance(self.distance(*by))),
            Operation::Switch => Built::Whole(Action::Switch),
            Operation::Resend => Built::Again,
        }
    }

    /// The next step of the patch flow.
    fn forward(&self, number: u8, room: Room, verdict: Verdict) -> Built {
        let id = objective_id(number);
        let Some(stored) = self.model.objectives.get(&id) else {
            return self.action(&Operation::Create { objective: number, party: Party::Right });
        };
        let step = |step| {
            self.action(&Operation::Step {
                objective: number,
                step,
                party: Party::Right,
                mark: Mark::Current,
            })
        };
        if stored.objective.metadata.contains_key("archived_at") {
            return step(ObjectiveStep::Unarchive);
        }
        match stored.objective.status {
            ObjectiveStatus::New => step(ObjectiveStep::Approve),
            ObjectiveStatus::Todo => {
                let event_id = EventId::for_entry(&id, stored.todo_entry).expect("a short id");
                match self.model.events.get(&event_id).map(|stored| stored.event.processed) {
                    None => self.action(&Operation::Emit { objective: number, entry: Entry::Current }),
                    Some(false) => self.schedule(&id, Entry::Current, By::Claiming(0), room, Mark::Current),
                    Some(true) => step(ObjectiveStep::WithdrawApproval),
                }
            }
            ObjectiveStatus::InProgress => self.work_on(&id, verdict),
            ObjectiveStatus::Blocked => step(ObjectiveStep::Unblock),
            ObjectiveStatus::Done if matches!(verdict, Verdict::Pass) => step(ObjectiveStep::Confirm),
            ObjectiveStatus::Done => step(ObjectiveStep::Reject),
        }
    }

    /// Claims the workorder of an objective, or ends the claim that is held with its outcome.
    fn work_on(&self, id: &ObjectiveId, verdict: Verdict) -> Built {
        let work_order_id = self.newest_workorder(id).expect("IN_PROGRESS has a workorder");
        let resource = ResourceRef::from(&work_order_id);
        let held =
            self.granted.iter().rev().find(|fence| fence.resource == resource && self.model.holds(fence));
        match (held, self.model.workorders[&work_order_id].workorder.status) {
            (None, _) => Built::Whole(Action::Acquire(resource, owner_id(0), Lease::Long.length())),
            (Some(fence), WorkorderStatus::Created) => self.execute(fence.clone()),
            (Some(fence), WorkorderStatus::Executed) => self.gate(fence.clone(), verdict),
        }
    }

    /// The next step of the triage flow for one capture, which is a batch of its own.
    fn triage(&self, number: u8, room: Room, verdict: Verdict, party: Party) -> Built {
        if !self.model.objectives.contains_key(&standing_id()) {
            return self.action(&Operation::OpenStanding { party: Party::Right });
        }
        let (id, now) = (capture_id(number), self.model.now);
        let Some(stored) = self.model.captures.get(&id) else {
            return self.action(&Operation::InsertCapture { capture: number });
        };
        if let Some(workorder) = self.open_triage(&id) {
            let resource = ResourceRef::from(workorder);
            let held =
                self.granted.iter().rev().find(|fence| fence.resource == resource && self.model.holds(fence));
            return match (held, self.model.workorders[workorder].workorder.status) {
                (None, _) => Built::Whole(Action::Acquire(resource, owner_id(0), Lease::Long.length())),
                (Some(fence), WorkorderStatus::Created) => self.execute(fence.clone()),
                (Some(fence), WorkorderStatus::Executed) => self.gate_triage(fence.clone(), verdict, party),
            };
        }
        if stored.held {
            return self.action(&Operation::Retry { capture: number, party });
        }
        let mut events = self.model.events.iter();
        let ready = |(_, stored): &(&EventId, &StoredEvent)| {
            !stored.event.processed && stored.event.resource_id == id.as_str()
        };
        let Some((event_id, _)) = events.find(ready) else {
            return self.action(&Operation::EmitForCapture { capture: number, entry: Entry::Current });
        };
        let room = StreamRoom { max_concurrent: room.0, review_limit: room.1 };
        let writes = triage::scheduling(&standing_id(), event_id, &[(id, stored.attempts)], room, now);
        Built::Commit(Actor::Scheduler, Claim::Claiming(event_id.into(), owner_id(0)), writes)
    }

    fn gate_triage(&self, fence: Fence, verdict: Verdict, party: Party) -> Built {
        let (work_order_id, now) = (workorder_of(&fence), self.model.now);
        let output_id = OutputId::of(&work_order_id);
        let batch: Vec<_> = self.capture_of(&work_order_id).into_iter().collect();
        let pending = |id| {
            self.model.captures.get(id).is_some_and(|stored| stored.capture.status == CaptureStatus::Pending)
        };
        let (result, more) = match self.model.contents.get(&output_id) {
            Some(count) if matches!(verdict, Verdict::Pass) && batch.iter().all(pending) => {
                (GateResult::Pass, triage::passing(&work_order_id, &batch, *count, now))
            }
            _ if matches!(verdict, Verdict::Block) => {
                let held = batch.iter().filter(|id| pending(*id)).cloned().map(Write::HoldCapture);
                (GateResult::Fail, held.collect())
            }
            _ => (GateResult::Fail, Vec::new()),
        };
        let writes = triage::gating(&standing_id(), &work_order_id, result, more, now);
        Built::Commit(party.or(Actor::Gate), Claim::Fenced(fence), writes)
    }

    /// The workorder in the work stream that triages a capture.
    fn open_triage(&self, id: &CaptureId) -> Option<&WorkOrderId> {
        let open = self.model.workorders.iter().filter(|(_, stored)| stored.stream_slot.is_some());
        open.map(|(work_order_id, _)| work_order_id)
            .find(|work_order_id| self.capture_of(work_order_id).as_ref() == Some(id))
    }

    /// The one capture of a triage workorder.
    fn capture_of(&self, id: &WorkOrderId) -> Option<CaptureId> {
        let stored = self.model.workorders.get(id)?;
        CaptureId::new(self.model.events[&stored.event_id].event.resource_id.clone()).ok()
    }

    fn schedule(&self, id: &ObjectiveId, entry: Entry, claim: By, room: Room, mark: Mark) -> Built {
        let (stored, now) = (self.stored(id), self.model.now);
        let event_id = EventId::for_entry(id, entry.of(stored.todo_entry)).expect("a short id");
        let resource = ResourceRef::from(&event_id);
        let claim = match claim {
            By::Claiming(owner) => Claim::Claiming(resource, owner_id(owner)),
            By::Held(pick) => {
                let fence = self.fence(pick, |fence| fence.resource == resource);
                Claim::Fenced(Fence { resource, ..fence })
            }
        };
        let room = StreamRoom { max_concurrent: room.0, review_limit: room.1 };
        let writes = vec![
            Write::InsertSnapshot {
                snapshot: valid(cycle::snapshot(&event_id, id, now)),
                objective_version: stored.version,
            },
            Write::CreateWorkorder {
                workorder: valid(cycle::workorder(&event_id, id, now)),
                event_id: event_id.clone(),
                room,
            },
            self.advance(id, ObjectiveStep::Schedule, mark),
            Write::ProcessEvent { event_id, reason: ProcessedReason::Scheduled },
        ];
        Built::Commit(Actor::Scheduler, claim, writes)
    }

    fn block_before_work(&self, objective: u8, owner: u8) -> Built {
        let id = objective_id(objective);
        let event_id = EventId::for_entry(&id, self.stored(&id).todo_entry.max(1)).expect("a short id");
        let claim = Claim::Claiming((&event_id).into(), owner_id(owner));
        let pause = valid(cycle::pause_state(&id, PauseReason::Blocked, self.model.now));
        let writes = vec![
            self.advance(&id, ObjectiveStep::BlockByScheduler, Mark::Current),
            Write::Pause { key: PauseKey::Event(event_id.clone()), pause },
            Write::ProcessEvent { event_id, reason: ProcessedReason::Blocked },
        ];
        Built::Commit(Actor::Scheduler, claim, writes)
    }

    fn execute(&self, fence: Fence) -> Built {
        let (work_order_id, now) = (workorder_of(&fence), self.model.now);
        let bundle = match self.capture_of(&work_order_id) {
            // As many candidates as the version of the claim, so that there are none, one or two.
            Some(capture) => {
                let candidates = usize::try_from(fence.claim_version % 3).expect("a small number");
                triage::triage_bundle(&work_order_id, &standing_id(), &[capture], candidates, now)
            }
            None => cycle::output_bundle(&work_order_id, &self.objective_of(&work_order_id), now),
        };
        Built::Commit(Actor::Runner, Claim::Fenced(fence), vec![Write::Execute(valid(bundle))])
    }

    fn gate(&self, fence: Fence, verdict: Verdict) -> Built {
        let (work_order_id, now) = (workorder_of(&fence), self.model.now);
        if self.capture_of(&work_order_id).is_some() {
            return self.gate_triage(fence, verdict, Party::Right);
        }
        let objective_id = self.objective_of(&work_order_id);
        let (step, result, reason) = match verdict {
            Verdict::Pass => (ObjectiveStep::GatePass, GateResult::Pass, PauseReason::RunComplete),
            Verdict::Block => (ObjectiveStep::GateFailBlock, GateResult::Fail, PauseReason::GateFailed),
            Verdict::Retry => (ObjectiveStep::GateFailRetry, GateResult::Fail, PauseReason::GateFailed),
            Verdict::Cancel => (ObjectiveStep::Cancel, GateResult::Fail, PauseReason::GateFailed),
        };
        let writes = vec![
            Write::Gate(valid(cycle::run_record(&work_order_id, &objective_id, result, now))),
            self.advance(&objective_id, step, Mark::Current),
            Write::Pause {
                key: PauseKey::Workorder(work_order_id),
                pause: valid(cycle::pause_state(&objective_id, reason, now)),
            },
        ];
        Built::Commit(Actor::Gate, Claim::Fenced(fence), writes)
    }

    fn triaged(&self, workorder: u8) -> OutputId {
        let opened = self.model.candidates.keys().map(|(output_id, _)| output_id.clone());
        let others = self.model.workorders.keys().map(OutputId::of);
        let output_id = opened.chain(others).nth(usize::from(workorder));
        output_id.unwrap_or_else(|| OutputId::of(&no_workorder()))
    }

    fn resolve(&self, workorder: u8, candidate_index: u64, outcome: CandidateOutcome) -> Built {
        let output_id = self.triaged(workorder);
        let resolution = triage::resolution(&output_id, candidate_index, outcome, self.model.now);
        Built::Commit(Actor::Operator, Claim::None, vec![triage::resolving(resolution)])
    }

    /// A step of the table, with the document that it leads to.
    fn advance(&self, id: &ObjectiveId, step: ObjectiveStep, mark: Mark) -> Write {
        let (stored, now) = (self.stored(id), self.model.now);
        let was = mark.of(&stored);
        let mut next = Objective { updated_at: now, ..stored.objective };
        next.metadata.remove("completion");
        next.metadata.remove("archived_at");
        match step {
            ObjectiveStep::Confirm => {
                let run_id = self.newest_workorder(id).unwrap_or_else(no_workorder);
                let completion = serde_json::json!({
                    "confirmed_at": now, "confirmed_by": "operator", "run_id": RunId::of(&run_id),
                });
                next.metadata.insert("completion".into(), completion);
            }
            ObjectiveStep::Archive => {
                next.metadata.insert("archived_at".into(), now.to_string().into());
            }
            _ => {}
        }
        next.status = target(step, was.status);
        Write::AdvanceObjective { was, step, next: valid(next) }
    }

    /// The objective as the model has it; one that does not exist is written as if it were NEW.
    fn stored(&self, id: &ObjectiveId) -> StoredObjective {
        self.model.objectives.get(id).cloned().unwrap_or_else(|| StoredObjective {
            objective: cycle::objective(id, ObjectiveStatus::New, self.model.now),
            version: 1,
            todo_entry: 0,
            waiting: false,
            pause_key: None,
        })
    }

    fn capture(&self, number: u8) -> CaptureBuffer {
        CaptureBuffer {
            capture_id: capture_id(number),
            azolla_id: azolla_id(),
            raw_content: format!("note {number}"),
            source_label: "cli".into(),
            status: CaptureStatus::Pending,
            created_at: self.model.now,
            updated_at: self.model.now,
        }
    }

    /// A fence among those granted that `fits`, newest first; one that was never granted if there is none.
    fn fence(&self, pick: Pick, fits: impl Fn(&Fence) -> bool) -> Fence {
        let found: Vec<_> = self.granted.iter().rev().filter(|fence| fits(fence)).collect();
        let Some(position) = usize::from(pick.0).checked_rem(found.len()) else {
            return Fence { resource: (&no_workorder()).into(), owner_id: owner_id(0), claim_version: 1 };
        };
        let mut fence = found[position].clone();
        match pick.1 {
            Tamper::No => {}
            Tamper::OldVersion => fence.claim_version -= 1,
            Tamper::NextVersion => fence.claim_version += 1,
            Tamper::OtherOwner => fence.owner_id = owner_id(7),
        }
        fence
    }

    /// Any event or workorder, the open ones first.
    fn resource(&self, number: u8) -> Option<ResourceRef> {
        let workorders = self
            .model
            .workorders
            .iter()
            .map(|(id, stored)| (stored.stream_slot.is_none(), ResourceRef::from(id)));
        let events =
            self.model.events.iter().map(|(id, stored)| (stored.event.processed, ResourceRef::from(id)));
        let mut all: Vec<_> = workorders.chain(events).collect();
        all.sort();
        all.into_iter().nth(number.into()).map(|(_, resource)| resource)
    }

    fn newest_workorder(&self, id: &ObjectiveId) -> Option<WorkOrderId> {
        let own = self.model.workorders.values().filter(|stored| stored.workorder.objective_id == *id);
        own.max_by_key(|stored| self.model.events[&stored.event_id].entry)
            .map(|stored| stored.workorder.work_order_id.clone())
    }

    fn objective_of(&self, id: &WorkOrderId) -> ObjectiveId {
        self.model
            .workorders
            .get(id)
            .map_or_else(|| objective_id(0), |stored| stored.workorder.objective_id.clone())
    }

    /// How far the clock moves: up to the lease that expires next.
    fn distance(&self, by: Move) -> i64 {
        let now = self.model.now;
        let expiries = self.model.claims.values().map(|claim| claim.record.lease_expires_at);
        let left = expiries
            .filter(|at| *at > now)
            .min()
            .map_or(1_000, |at| at.as_millisecond() - now.as_millisecond());
        match by {
            Move::Little => 7,
            Move::BeforeExpiry => left - 1,
            Move::AtExpiry => left,
            Move::PastExpiry => left + 1,
            Move::Far => 43_200_000,
        }
    }
}

fn release_of(unused: bool) -> Release {
    if unused { Release::Unused } else { Release::Failed }
}
