//! A commit as both the store and the model take it, what is refused in it before a store is asked, and the columns of
//! the transition table (PROTOCOL.md section 4) that this rests on.

use azolla_protocol::{
    Actor, CommitId, ObjectiveStatus, ObjectiveType, OwnerId, ResourceRef, ResourceType, Timestamp,
    lifecycle::ObjectiveStep,
};
use azolla_substrate::{Commit, Fence, Grant, PauseKey, Write};

/// A commit before it is one: the store gets it as a `Commit`, the model reads its parts.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) commit_id: CommitId,
    pub(super) actor: Actor,
    pub(super) claim: Claim,
    pub(super) writes: Vec<Write>,
}

#[derive(Clone, Debug)]
pub(super) enum Claim {
    None,
    Claiming(ResourceRef, OwnerId),
    Fenced(Fence),
}

impl Plan {
    pub(super) fn commit(&self) -> Commit {
        let start = Commit::new(self.commit_id.clone(), self.actor);
        let commit = self.writes.iter().cloned().fold(start, Commit::with);
        match &self.claim {
            Claim::None => commit,
            Claim::Claiming(resource, owner) => commit.claiming(resource.clone(), owner.clone()),
            Claim::Fenced(fence) => commit.fenced(fence.clone()),
        }
    }
}

/// What a store answered, or should have: the kind of outcome, without its wording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Done,
    Held,
    StreamFull,
    ReviewLimit,
    Granted(Grant),
    Renewed(Timestamp),
    Lost,
    Refused(String),
    Changed(String),
    FenceLost,
    Malformed,
    Transition,
    /// Never expected.
    Failed(String),
}

impl Answer {
    /// The name of the answer; of a refusal, its rule.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Refused(rule) => rule.clone(),
            other => format!("{other:?}").split('(').next().unwrap_or_default().to_owned(),
        }
    }
}

/// What a commit is refused for before the store is asked: a step of the wrong party, a step that the table does not
/// have, a write without the claim that protects it.
pub(super) fn shape(plan: &Plan, write: &Write) -> Result<(), Answer> {
    let under = |resource: ResourceRef| match &plan.claim {
        Claim::Claiming(held, _) | Claim::Fenced(Fence { resource: held, .. }) if *held == resource => Ok(()),
        _ => Err(Answer::Malformed),
    };
    let by_party = |step: ObjectiveStep| {
        let needs_claim = matches!(party(step), Actor::Scheduler | Actor::Gate);
        let lacks_claim = needs_claim && matches!(plan.claim, Claim::None);
        if plan.actor != party(step) || lacks_claim { Err(Answer::Malformed) } else { Ok(()) }
    };
    match write {
        Write::InsertObjective { step, .. } => by_party(*step),
        Write::AdvanceObjective { was, step, next } => {
            by_party(*step)?;
            if starts(*step).is_empty() {
                return Err(Answer::Malformed);
            }
            let known = starts(*step).contains(&was.status) && next.objective_type == ObjectiveType::Ticket;
            // S-o: what is archived comes back before anything else happens to it.
            let in_sight = was.archived == (*step == ObjectiveStep::Unarchive);
            match (known, in_sight) {
                (false, _) => Err(Answer::Transition),
                (true, false) => Err(Answer::Malformed),
                (true, true) => Ok(()),
            }
        }
        // S-2: completion is recorded by its own step alone.
        Write::EditObjective { next, .. } if next.metadata.contains_key("completion") => {
            Err(Answer::Malformed)
        }
        Write::ProcessEvent { event_id, .. } | Write::CreateWorkorder { event_id, .. } => {
            under(event_id.into())
        }
        Write::Execute(bundle) => under((&bundle.metadata.work_order_id).into()),
        Write::RecordUsage(usage) => under((&usage.work_order_id).into()),
        Write::Gate(run) => under((&run.work_order_id).into()),
        Write::Pause { key: PauseKey::Deadline { .. }, .. } if plan.actor != Actor::DeadlineMonitor => {
            Err(Answer::Malformed)
        }
        Write::Snooze { .. } if plan.actor != Actor::Operator => Err(Answer::Malformed),
        // S-4: by the gate's PASS, or by the operator.
        Write::ProcessCapture { .. } => match (plan.actor, &plan.claim) {
            (Actor::Operator, _) => Ok(()),
            (Actor::Gate, Claim::Claiming(held, _) | Claim::Fenced(Fence { resource: held, .. }))
                if held.resource_type == ResourceType::Workorder =>
            {
                Ok(())
            }
            _ => Err(Answer::Malformed),
        },
        // O-1: by the gate of a workorder, or by the scheduler of an event.
        Write::HoldCapture(_) => match (plan.actor, &plan.claim) {
            (actor, Claim::Claiming(held, _) | Claim::Fenced(Fence { resource: held, .. })) => {
                let needed = match held.resource_type {
                    ResourceType::Workorder => Actor::Gate,
                    ResourceType::Event => Actor::Scheduler,
                };
                if actor == needed { Ok(()) } else { Err(Answer::Malformed) }
            }
            _ => Err(Answer::Malformed),
        },
        // W-2: by the scheduler of an event.
        Write::CountAttempt { .. } => match (plan.actor, &plan.claim) {
            (Actor::Scheduler, Claim::Claiming(held, _) | Claim::Fenced(Fence { resource: held, .. }))
                if held.resource_type == ResourceType::Event =>
            {
                Ok(())
            }
            _ => Err(Answer::Malformed),
        },
        Write::RetryCapture { .. } if plan.actor != Actor::Operator => Err(Answer::Malformed),
        Write::ReopenCandidate { .. } if plan.actor != Actor::Operator => Err(Answer::Malformed),
        // TF-7: candidates are opened by the gate.
        Write::OpenCandidates { .. } if plan.actor != Actor::Gate => Err(Answer::Malformed),
        Write::OpenCandidates { work_order_id, .. } => under(work_order_id.into()),
        Write::Pause { key: PauseKey::Workorder(id), .. } => under(id.into()),
        Write::Pause { key: PauseKey::Event(id), .. } => under(id.into()),
        _ => Ok(()),
    }
}

/// Section 4, the column "who".
fn party(step: ObjectiveStep) -> Actor {
    match step {
        ObjectiveStep::Schedule | ObjectiveStep::BlockByScheduler => Actor::Scheduler,
        ObjectiveStep::GatePass
        | ObjectiveStep::GateFailBlock
        | ObjectiveStep::GateFailRetry
        | ObjectiveStep::Cancel => Actor::Gate,
        ObjectiveStep::OpenStanding => Actor::Init,
        _ => Actor::Operator,
    }
}

/// Section 4, the column "from".
fn starts(step: ObjectiveStep) -> &'static [ObjectiveStatus] {
    use ObjectiveStatus::{Blocked, Done, InProgress, New, Todo};
    match step {
        ObjectiveStep::Create | ObjectiveStep::OpenStanding => &[],
        ObjectiveStep::Approve => &[New],
        ObjectiveStep::Schedule | ObjectiveStep::BlockByScheduler | ObjectiveStep::WithdrawApproval => {
            &[Todo]
        }
        ObjectiveStep::GatePass
        | ObjectiveStep::GateFailBlock
        | ObjectiveStep::GateFailRetry
        | ObjectiveStep::Cancel => &[InProgress],
        ObjectiveStep::Unblock => &[Blocked],
        ObjectiveStep::Reject | ObjectiveStep::Confirm => &[Done],
        ObjectiveStep::Block => &[New, Todo],
        ObjectiveStep::Archive | ObjectiveStep::Unarchive => &[New, Todo, Blocked],
    }
}

/// Section 4, the column "to".
pub(super) fn target(step: ObjectiveStep, from: ObjectiveStatus) -> ObjectiveStatus {
    match step {
        ObjectiveStep::Create | ObjectiveStep::WithdrawApproval => ObjectiveStatus::New,
        ObjectiveStep::Approve
        | ObjectiveStep::GateFailRetry
        | ObjectiveStep::Unblock
        | ObjectiveStep::Reject => ObjectiveStatus::Todo,
        ObjectiveStep::Schedule | ObjectiveStep::OpenStanding => ObjectiveStatus::InProgress,
        ObjectiveStep::BlockByScheduler
        | ObjectiveStep::GateFailBlock
        | ObjectiveStep::Block
        | ObjectiveStep::Cancel => ObjectiveStatus::Blocked,
        ObjectiveStep::GatePass | ObjectiveStep::Confirm => ObjectiveStatus::Done,
        ObjectiveStep::Archive | ObjectiveStep::Unarchive => from,
    }
}
