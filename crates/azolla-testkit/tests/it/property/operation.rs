//! The operations of the property test, and how they are generated.

use azolla_protocol::{CandidateOutcome, lifecycle::ObjectiveStep};
use proptest::prelude::*;

/// One operation. Numbers pick from what there is when it runs, so that any list of operations makes sense and a
/// shrunk one still does.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    Create {
        objective: u8,
        party: Party,
    },
    OpenStanding {
        party: Party,
    },
    Step {
        objective: u8,
        step: ObjectiveStep,
        party: Party,
        mark: Mark,
    },
    Edit {
        objective: u8,
        edit: Edit,
        mark: Mark,
    },
    Emit {
        objective: u8,
        entry: Entry,
    },
    EmitForCapture {
        capture: u8,
        entry: Entry,
    },
    EmitManifest {
        number: u8,
    },
    /// The next step of the patch flow, whatever it is for this objective now.
    Forward {
        objective: u8,
        room: Room,
        verdict: Verdict,
    },
    /// The next step of the triage of one capture.
    Triage {
        capture: u8,
        room: Room,
        verdict: Verdict,
        party: Party,
    },
    Schedule {
        objective: u8,
        entry: Entry,
        claim: By,
        room: Room,
        mark: Mark,
    },
    BlockBeforeWork {
        objective: u8,
        owner: u8,
    },
    Skip {
        resource: u8,
        owner: u8,
    },
    Acquire {
        resource: u8,
        owner: u8,
        lease: Lease,
    },
    Renew {
        fence: Pick,
        lease: Lease,
    },
    Release {
        fence: Pick,
        release: bool,
    },
    Execute {
        fence: Pick,
    },
    RecordUsage {
        fence: Pick,
        /// Whether the claim is given back with it, and if so whether unused.
        give_back: Option<bool>,
    },
    FailAtOnce {
        objective: u8,
        owner: u8,
    },
    Gate {
        fence: Pick,
        verdict: Verdict,
    },
    Deadline {
        objective: u8,
        day: u8,
        remote: bool,
        urgency: u8,
        party: Party,
    },
    Snooze {
        objective: u8,
        hours: i64,
        remote: bool,
        party: Party,
    },
    InsertCapture {
        capture: u8,
    },
    ProcessCapture {
        capture: u8,
    },
    CountAttempt {
        capture: u8,
        attempts: u64,
        fence: Pick,
    },
    Hold {
        capture: u8,
        fence: Pick,
    },
    Retry {
        capture: u8,
        party: Party,
    },
    Resolve {
        workorder: u8,
        index: u64,
        outcome: CandidateOutcome,
    },
    Reopen {
        workorder: u8,
        index: u64,
        outcome: CandidateOutcome,
        party: Party,
    },
    Clock(Move),
    /// Goes on through a second handle of the store.
    Switch,
    Resend,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Party {
    Right,
    Wrong,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Mark {
    Current,
    OldVersion,
    OtherStatus,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Entry {
    Current,
    Before,
    Next,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum By {
    /// Claimed by the commit itself.
    Claiming(u8),
    /// Under a claim that was acquired before.
    Held(Pick),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Room(pub(super) u64, pub(super) u64);

/// A fence out of those that were granted, newest first; perhaps not as it was granted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pick(pub(super) u8, pub(super) Tamper);

#[derive(Clone, Copy, Debug)]
pub(super) enum Tamper {
    No,
    OldVersion,
    NextVersion,
    OtherOwner,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Lease {
    Short,
    Long,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Verdict {
    Pass,
    Block,
    Retry,
    Cancel,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Edit {
    Title,
    Urgency,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Move {
    Little,
    /// One millisecond before the next lease expires, the very instant, and one later.
    BeforeExpiry,
    AtExpiry,
    PastExpiry,
    /// Half a day.
    Far,
}

pub(super) fn operations() -> impl Strategy<Value = Vec<Operation>> {
    proptest::collection::vec(operation(), 1..=60)
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation as Op;
    // Mostly one objective, so that lists of this length get it to its end.
    let objective = || prop_oneof![4 => Just(0u8), 1 => 1..3u8];
    let owner = || 0..3u8;
    let capture = || prop_oneof![4 => Just(0u8), 1 => Just(1u8)];
    let party = || prop_oneof![9 => Just(Party::Right), 1 => Just(Party::Wrong)];
    let mark =
        || prop_oneof![8 => Just(Mark::Current), 1 => Just(Mark::OldVersion), 1 => Just(Mark::OtherStatus)];
    let entry = || prop_oneof![4 => Just(Entry::Current), 1 => Just(Entry::Before), 1 => Just(Entry::Next)];
    let room = || (1..=3u64, 0..=3u64).prop_map(|(concurrent, review)| Room(concurrent, review));
    let lease = || prop_oneof![Just(Lease::Short), Just(Lease::Long)];
    let verdict = || {
        prop_oneof![
            3 => Just(Verdict::Pass),
            1 => Just(Verdict::Block),
            1 => Just(Verdict::Retry),
            1 => Just(Verdict::Cancel)
        ]
    };
    let triage_room = prop_oneof![2 => Just(Room(3, 0)), 1 => room()];
    let triage_verdict = prop_oneof![3 => Just(Verdict::Pass), 1 => verdict()];
    let tamper = prop_oneof![
        12 => Just(Tamper::No),
        1 => Just(Tamper::OldVersion),
        1 => Just(Tamper::NextVersion),
        1 => Just(Tamper::OtherOwner)
    ];
    let pick = (prop_oneof![3 => Just(0u8), 1 => 1..4u8], tamper)
        .prop_map(|(position, tamper)| Pick(position, tamper));
    let by = prop_oneof![owner().prop_map(By::Claiming), pick.clone().prop_map(By::Held)];
    let step = (0..ObjectiveStep::ALL.len()).prop_map(|position| ObjectiveStep::ALL[position]);
    let edit = prop_oneof![Just(Edit::Title), Just(Edit::Urgency)];
    let outcome = (0..CandidateOutcome::ALL.len()).prop_map(|position| CandidateOutcome::ALL[position]);
    let reopened = outcome.clone();
    let moved = prop_oneof![
        Just(Move::Little),
        Just(Move::BeforeExpiry),
        Just(Move::AtExpiry),
        Just(Move::PastExpiry),
        Just(Move::Far)
    ];
    prop_oneof![
        3 => (objective(), party()).prop_map(|(objective, party)| Op::Create { objective, party }),
        1 => party().prop_map(|party| Op::OpenStanding { party }),
        8 => (objective(), step, party(), mark())
            .prop_map(|(objective, step, party, mark)| Op::Step { objective, step, party, mark }),
        2 => (objective(), edit, mark()).prop_map(|(objective, edit, mark)| Op::Edit { objective, edit, mark }),
        4 => (objective(), entry()).prop_map(|(objective, entry)| Op::Emit { objective, entry }),
        3 => (capture(), entry()).prop_map(|(capture, entry)| Op::EmitForCapture { capture, entry }),
        1 => (0..3u8).prop_map(|number| Op::EmitManifest { number }),
        50 => (objective(), room(), verdict())
            .prop_map(|(objective, room, verdict)| Op::Forward { objective, room, verdict }),
        40 => (capture(), triage_room, triage_verdict, party())
            .prop_map(|(capture, room, verdict, party)| Op::Triage { capture, room, verdict, party }),
        5 => (objective(), entry(), by, room(), mark())
            .prop_map(|(objective, entry, claim, room, mark)| Op::Schedule { objective, entry, claim, room, mark }),
        1 => (objective(), owner()).prop_map(|(objective, owner)| Op::BlockBeforeWork { objective, owner }),
        1 => (0..6u8, owner()).prop_map(|(resource, owner)| Op::Skip { resource, owner }),
        7 => (0..6u8, owner(), lease())
            .prop_map(|(resource, owner, lease)| Op::Acquire { resource, owner, lease }),
        4 => (pick.clone(), lease()).prop_map(|(fence, lease)| Op::Renew { fence, lease }),
        2 => (pick.clone(), any::<bool>()).prop_map(|(fence, release)| Op::Release { fence, release }),
        2 => pick.clone().prop_map(|fence| Op::Execute { fence }),
        3 => (pick.clone(), any::<Option<bool>>())
            .prop_map(|(fence, give_back)| Op::RecordUsage { fence, give_back }),
        1 => (objective(), owner()).prop_map(|(objective, owner)| Op::FailAtOnce { objective, owner }),
        2 => (pick.clone(), verdict()).prop_map(|(fence, verdict)| Op::Gate { fence, verdict }),
        6 => (objective(), 0..4u8, any::<bool>(), 0..4u8, party()).prop_map(
            |(objective, day, remote, urgency, party)| Op::Deadline { objective, day, remote, urgency, party }
        ),
        2 => (objective(), -1..30i64, any::<bool>(), party())
            .prop_map(|(objective, hours, remote, party)| Op::Snooze { objective, hours, remote, party }),
        2 => capture().prop_map(|capture| Op::InsertCapture { capture }),
        1 => capture().prop_map(|capture| Op::ProcessCapture { capture }),
        4 => (capture(), 0..3u64, pick.clone())
            .prop_map(|(capture, attempts, fence)| Op::CountAttempt { capture, attempts, fence }),
        2 => (capture(), pick.clone()).prop_map(|(capture, fence)| Op::Hold { capture, fence }),
        3 => (capture(), party()).prop_map(|(capture, party)| Op::Retry { capture, party }),
        10 => (prop_oneof![3 => Just(0u8), 1 => 1..3u8], prop_oneof![3 => Just(0u64), 1 => 1..3u64], outcome)
            .prop_map(|(workorder, index, outcome)| Op::Resolve { workorder, index, outcome }),
        5 => (prop_oneof![3 => Just(0u8), 1 => 1..3u8], prop_oneof![3 => Just(0u64), 1 => 1..3u64], reopened, party())
            .prop_map(|(workorder, index, outcome, party)| Op::Reopen { workorder, index, outcome, party }),
        8 => moved.prop_map(Op::Clock),
        3 => Just(Op::Switch),
        5 => Just(Op::Resend),
    ]
}
