//! What a write boundary is called: who writes, and the words of what is written.

use std::collections::BTreeSet;

use azolla_protocol::{Actor, ObjectiveStep};
use azolla_substrate::{Commit, Write};

/// Names what can be in a commit, each thing once, so that `ALL` is all of it.
macro_rules! words {
    ($($word:ident = $text:literal,)+) => {
        #[derive(Clone, Copy)]
        enum Word { $($word,)+ }

        impl Word {
            const ALL: &'static [Self] = &[$(Self::$word,)+];

            fn as_str(self) -> &'static str {
                match self { $(Self::$word => $text,)+ }
            }
        }
    };
}

words! {
    Edit = "edit",
    Capture = "capture",
    ProcessCapture = "process-capture",
    CountAttempt = "count-attempt",
    HoldCapture = "hold-capture",
    RetryCapture = "retry-capture",
    Emit = "emit",
    Event = "event",
    Snapshot = "snapshot",
    Workorder = "workorder",
    TriageFirst = "triage-first",
    Execute = "execute",
    Usage = "usage",
    GiveBack = "give-back",
    Gate = "gate",
    Evidence = "evidence",
    Pause = "pause",
    Manifest = "manifest",
    Snooze = "snooze",
    OpenCandidates = "open-candidates",
    Resolve = "resolve",
    Reopen = "reopen",
    OthersOpen = "others-open",
}

/// The calls of a repository that change something there.
pub(super) const REPOSITORY: [&str; 8] =
    ["base", "worktree", "take", "rebuild", "project", "checkout", "publish", "withdraw"];

/// The calls on a claim, each by every worker that holds one while it works.
const CLAIM: [&str; 3] = ["acquire_claim", "renew_claim", "release_claim"];

/// Returns the name of a commit: `gate.gate=PASS+gate-pass+pause`.
pub(super) fn of_commit(commit: &Commit) -> String {
    let mut words: Vec<String> = commit.writes().iter().map(of_write).collect();
    // A batch of one kind is one word, however many there are.
    words.dedup();
    format!("{}.{}", of_actor(commit.actor()), words.join("+"))
}

/// Returns the name of a call on a claim.
pub(super) fn of_claim(actor: Actor, call: &str) -> String {
    format!("{}.{call}", of_actor(actor))
}

/// Returns the name of a call of the repository.
pub(super) fn of_repository(call: &str) -> String {
    format!("repository.{call}")
}

/// Tells whether a name is that of a commit.
pub(super) fn is_commit(name: &str) -> bool {
    let call = name.split_once('.').map_or(name, |(_, call)| call);
    !CLAIM.contains(&call) && !name.starts_with("repository.")
}

/// Tells whether a name is that of a renewal.
pub(super) fn is_renewal(name: &str) -> bool {
    name.ends_with(".renew_claim")
}

fn of_actor(actor: Actor) -> String {
    actor.as_str().to_ascii_lowercase()
}

fn of_step(step: ObjectiveStep) -> String {
    step.as_str().replace(' ', "-")
}

/// One arm per kind of write and no `_`: a new one has no name until it has a word, and `uncovered` reports the word
/// until a scene writes it.
fn of_write(write: &Write) -> String {
    let (word, detail) = match write {
        Write::InsertObjective { step, .. } | Write::AdvanceObjective { step, .. } => return of_step(*step),
        Write::EditObjective { .. } => (Word::Edit, None),
        Write::InsertCapture(_) => (Word::Capture, None),
        Write::ProcessCapture { .. } => (Word::ProcessCapture, None),
        Write::CountAttempt { .. } => (Word::CountAttempt, None),
        Write::HoldCapture(_) => (Word::HoldCapture, None),
        Write::RetryCapture { .. } => (Word::RetryCapture, None),
        Write::EmitEvent { event, .. } => (Word::Emit, Some(event.event_type.as_str())),
        Write::ProcessEvent { reason, .. } => (Word::Event, Some(reason.as_str())),
        Write::InsertSnapshot { .. } => (Word::Snapshot, None),
        Write::CreateWorkorder { workorder, .. } => {
            (Word::Workorder, Some(workorder.diazotroph_type.as_str()))
        }
        Write::TriageFirst { .. } => (Word::TriageFirst, None),
        Write::Execute(bundle) => (Word::Execute, Some(bundle.metadata.runner_status.as_str())),
        Write::RecordUsage(_) => (Word::Usage, None),
        Write::GiveBack(_) => (Word::GiveBack, None),
        Write::Gate(run) => (Word::Gate, Some(run.gate_result.as_str())),
        Write::RecordEvidence(_) => (Word::Evidence, None),
        Write::Pause { pause, .. } => (Word::Pause, Some(pause.reason.as_str())),
        Write::InsertManifest { .. } => (Word::Manifest, None),
        Write::Snooze { .. } => (Word::Snooze, None),
        Write::OpenCandidates { .. } => (Word::OpenCandidates, None),
        Write::ResolveCandidate { resolution, .. } => (Word::Resolve, Some(resolution.outcome.as_str())),
        Write::ReopenCandidate { .. } => (Word::Reopen, None),
        Write::OthersOpen { .. } => (Word::OthersOpen, None),
    };
    match detail {
        Some(detail) => format!("{}={detail}", word.as_str()),
        None => word.as_str().to_owned(),
    }
}

/// Returns what no name of `names` stands for: kinds of write, steps of the transition table, parties, calls on claims
/// and calls of the repository. A boundary that no scene comes to is among them.
pub fn uncovered<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let (mut parties, mut words, mut whole) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for name in names {
        let (party, written) = name.split_once('.').unwrap_or((name, ""));
        parties.insert(party.to_owned());
        words.extend(written.split('+').map(|word| word.split('=').next().unwrap_or(word).to_owned()));
        whole.insert(name.to_owned());
    }
    let mut missing = Vec::new();
    missing.extend(Word::ALL.iter().map(|word| word.as_str().to_owned()).filter(|w| !words.contains(w)));
    // S-n: the setup of an azolla writes once, before there is anything to lose; the ground of a walk is made by it.
    let steps = ObjectiveStep::ALL.iter().filter(|step| **step != ObjectiveStep::OpenStanding);
    missing.extend(steps.map(|step| of_step(*step)).filter(|step| !words.contains(step)));
    let actors = Actor::ALL.iter().filter(|actor| **actor != Actor::Init);
    missing.extend(actors.map(|actor| of_actor(*actor)).filter(|actor| !parties.contains(actor)));
    missing.extend(REPOSITORY.iter().map(|call| of_repository(call)).filter(|name| !whole.contains(name)));
    for holder in [Actor::Runner, Actor::Gate, Actor::ManifestScheduler] {
        let calls = CLAIM.iter().map(|call| of_claim(holder, call));
        // A Runner gives a claim back by a commit, with what the work cost.
        let by_commit = |name: &String| holder == Actor::Runner && name.ends_with("release_claim");
        missing.extend(calls.filter(|name| !whole.contains(name) && !by_commit(name)));
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p4_what_no_scene_writes_is_reported() {
        let missing = uncovered(["gate.gate=PASS+gate-pass+pause=RUN_COMPLETE", "repository.take"]);
        for found in ["gate", "gate-pass", "pause", "repository.take"] {
            assert!(!missing.contains(&found.to_owned()), "{found} was written");
        }
        for absent in ["snooze", "gate-retry", "operator", "repository.publish", "gate.renew_claim"] {
            assert!(missing.contains(&absent.to_owned()), "{absent} was not written");
        }
    }
}
