//! What a simulation seldom comes to. It is counted, so that none of it can quietly stop being reached.

use std::collections::BTreeMap;

use azolla_protocol::JournalStep;
use azolla_substrate::{Commit, JournalCursor, SubstrateError, SubstrateRead, Write};

use super::block::block_on;

/// How often a simulation came to what seldom happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rare {
    /// Commits and releases whose claim was gone (C-4).
    pub lost_fences: u64,
    /// Commits that were written after their sender had heard of nothing (C-9).
    pub late_done: u64,
    /// Those that came too late.
    pub late_refused: u64,
    /// Leases of a clock ahead that were ended (C-1, T36).
    pub leases_ended: u64,
    /// Events and workorders that were given up after too many claims without an outcome (W-7).
    pub poisonings: u64,
    /// Gates that claimed before they looked (W-7).
    pub claimed_gates: u64,
    /// Claims that were taken over from somebody who did not give them back (C-6).
    pub takeovers: u64,
}

impl Rare {
    /// Returns all of it by name.
    pub fn all(&self) -> [(&'static str, u64); 7] {
        [
            ("lost fences", self.lost_fences),
            ("late commits done", self.late_done),
            ("late commits refused", self.late_refused),
            ("leases ended", self.leases_ended),
            ("poisonings", self.poisonings),
            ("claimed gates", self.claimed_gates),
            ("takeovers", self.takeovers),
        ]
    }
}

impl std::ops::AddAssign for Rare {
    fn add_assign(&mut self, other: Self) {
        self.lost_fences += other.lost_fences;
        self.late_done += other.late_done;
        self.late_refused += other.late_refused;
        self.leases_ended += other.leases_ended;
        self.poisonings += other.poisonings;
        self.claimed_gates += other.claimed_gates;
        self.takeovers += other.takeovers;
    }
}

/// Tells whether a commit gives something up because too many had failed with it (W-7).
pub(super) fn gives_up(commit: &Commit) -> bool {
    commit.writes().iter().any(|write| match write {
        Write::Execute(bundle) => {
            bundle.metadata.more.get("failure").and_then(|failure| failure.as_str()) == Some("POISON")
        }
        Write::Gate(run) => run.gate_reason.ends_with("ended without a result"),
        Write::AdvanceObjective { next, .. } => {
            next.blocked_reason.as_ref().is_some_and(|reason| reason.starts_with("scheduling failed "))
        }
        _ => false,
    })
}

/// Adds what the journal tells.
pub(super) fn from_store(read: &dyn SubstrateRead, rare: &mut Rare) -> Result<(), SubstrateError> {
    const PAGE: u64 = 500;
    let (mut after, mut held) = (JournalCursor::default(), BTreeMap::new());
    loop {
        let page = block_on(read.journal_after(after, PAGE))?;
        let Some((last, _)) = page.last() else { break };
        after = *last;
        for (_, entry) in page {
            let is_held =
                held.entry((entry.resource_type.clone(), entry.resource_id.clone())).or_insert(false);
            match entry.step {
                JournalStep::Grant => rare.takeovers += u64::from(std::mem::replace(is_held, true)),
                JournalStep::Release => *is_held = false,
                _ => {}
            }
        }
    }
    Ok(())
}
