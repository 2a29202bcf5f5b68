//! What happens to whom, and after how many workorders: all of it drawn from the seed.

use std::fmt;

use crate::{sim::chance::Chance, store::Backend};

/// How often each fault happens in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// SIGKILL of a process, and a start after a while.
    pub kills: u64,
    /// SIGSTOP for longer than a lease.
    pub pauses: u64,
    /// Jumps of the wall clock of one process.
    pub jumps: u64,
    /// SIGKILL of the PostgreSQL server. This and all below on PostgreSQL alone.
    pub crashes: u64,
    /// Sessions of the database ended from outside.
    pub terminations: u64,
    /// Connections that deliver nothing for longer than a lease.
    pub holes: u64,
    /// Connections cut after a COMMIT has arrived and before its answer does.
    pub cuts: u64,
}

impl Faults {
    /// Returns how often for a run of so many workorders: 160 kills and 64 pauses for 2,000 and the rest in proportion.
    pub fn of(workorders: u64) -> Self {
        let of = |per_2000: u64| (per_2000 * workorders).div_ceil(2_000);
        Self {
            kills: of(160),
            pauses: of(64),
            jumps: of(104),
            crashes: of(20),
            terminations: of(24),
            holes: of(22),
            cuts: of(24),
        }
    }

    /// Tells whether as many happened as were planned. A session that is to be ended, or an answer that is to be lost, may
    /// be gone by then.
    pub(super) fn has_all_of(&self, planned: &Self) -> bool {
        let of_chance = |happened: u64, planned: u64| happened > 0 || planned == 0;
        self.kills >= planned.kills
            && self.pauses >= planned.pauses
            && self.jumps >= planned.jumps
            && self.crashes >= planned.crashes
            && self.holes >= planned.holes
            && of_chance(self.terminations, planned.terminations)
            && of_chance(self.cuts, planned.cuts)
    }

    /// Returns those that a backend has.
    pub(super) fn on(self, backend: Backend) -> Self {
        match backend {
            Backend::Postgres => self,
            Backend::Sqlite => Self { crashes: 0, terminations: 0, holes: 0, cuts: 0, ..self },
        }
    }
}

/// One fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Killed `after_ms` from now, started again when the others have gated so many.
    Kill { after_ms: u64, back_after: u64 },
    /// Stopped, until its leases are over and the others have gated so many.
    Pause { back_after: u64 },
    /// The wall clock is off by so much, until the others have gated so many: a jump there and one back.
    Jump { ms: i64, back_after: u64 },
    /// The server is killed, and started.
    Crash,
    /// So many sessions of the database end.
    Terminate { sessions: u64 },
    /// The connections of a process deliver nothing.
    Hole { process: usize },
    /// The next answer to a COMMIT of a process is lost.
    Cut { process: usize },
}

/// A fault, and after how many gated workorders it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) at: u64,
    pub(super) fault: Fault,
}

/// All faults of a run: of each process, and of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    pub(super) processes: Vec<Vec<Due>>,
    pub(super) database: Vec<Due>,
}

/// How far a wall clock jumps, both ways: from a second to two days.
const JUMPS_MS: [i64; 8] =
    [1_000, 10_000, 40_000, 300_000, 3_600_000, 12 * 3_600_000, 24 * 3_600_000, 2 * 24 * 3_600_000];

impl Schedule {
    /// Draws the faults of a run. Those of one victim come one after the other, in the order of what is due first.
    pub(super) fn draw(seed: u64, faults: Faults, workorders: u64, processes: usize) -> Self {
        let mut chance = Chance::new(seed);
        let mut schedule = Self { processes: vec![Vec::new(); processes], database: Vec::new() };
        // The last of them are due before the end, so that they hit work.
        let last = usize::try_from(workorders * 9 / 10).unwrap_or(usize::MAX);
        for kind in kinds(faults) {
            let process = chance.below(processes);
            let fault = match kind {
                Kind::Kill => {
                    Fault::Kill { after_ms: chance.below(60) as u64, back_after: chance.below(8) as u64 }
                }
                Kind::Pause => Fault::Pause { back_after: chance.below(4) as u64 },
                Kind::Jump => {
                    let ms = *chance.pick(&JUMPS_MS);
                    let ms = if chance.per_mille(500) { ms } else { -ms };
                    Fault::Jump { ms, back_after: chance.below(12) as u64 }
                }
                Kind::Crash => Fault::Crash,
                Kind::Terminate => Fault::Terminate { sessions: 1 + chance.below(4) as u64 },
                Kind::Hole => Fault::Hole { process },
                Kind::Cut => Fault::Cut { process },
            };
            let due = Due { at: chance.below(last) as u64, fault };
            match kind {
                Kind::Kill | Kind::Pause | Kind::Jump => schedule.processes[process].push(due),
                _ => schedule.database.push(due),
            }
        }
        for list in schedule.processes.iter_mut().chain([&mut schedule.database]) {
            list.sort_by_key(|due| due.at);
        }
        schedule
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Kill,
    Pause,
    Jump,
    Crash,
    Terminate,
    Hole,
    Cut,
}

fn kinds(faults: Faults) -> Vec<Kind> {
    let Faults { kills, pauses, jumps, crashes, terminations, holes, cuts } = faults;
    let counts = [
        (Kind::Kill, kills),
        (Kind::Pause, pauses),
        (Kind::Jump, jumps),
        (Kind::Crash, crashes),
        (Kind::Terminate, terminations),
        (Kind::Hole, holes),
        (Kind::Cut, cuts),
    ];
    counts.into_iter().flat_map(|(kind, count)| (0..count).map(move |_| kind)).collect()
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill { .. } => write!(f, "killed"),
            Self::Pause { .. } => write!(f, "stopped for longer than a lease"),
            Self::Jump { ms, .. } => write!(f, "its wall clock is off by {ms} ms"),
            Self::Crash => write!(f, "PostgreSQL is killed"),
            Self::Terminate { sessions } => write!(f, "{sessions} sessions of the database are ended"),
            Self::Hole { process } => write!(f, "the connections of process {process} deliver nothing"),
            Self::Cut { process } => write!(f, "process {process} loses the answer to a COMMIT"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_schedule_with_every_fault_in_it() {
        let faults = Faults::of(2_000);
        let draw = |seed| Schedule::draw(seed, faults, 2_000, 4);
        let schedule = draw(7);
        assert_eq!(schedule, draw(7));
        assert_ne!(schedule, draw(8));
        let all = schedule.processes.iter().flatten().chain(&schedule.database);
        let is_kill = |due: &&Due| matches!(due.fault, Fault::Kill { .. });
        assert_eq!(all.clone().filter(is_kill).count() as u64, faults.kills);
        assert_eq!(all.clone().count(), kinds(faults).len());
        assert!(all.clone().all(|due| due.at < 1_800));
        assert!(schedule.processes.iter().all(|list| list.is_sorted_by_key(|due| due.at)));
    }

    #[test]
    fn a_file_has_no_faults_of_a_server() {
        let on_file = Faults::of(2_000).on(Backend::Sqlite);
        assert_eq!((on_file.kills, on_file.crashes, on_file.cuts), (160, 0, 0));
    }
}
