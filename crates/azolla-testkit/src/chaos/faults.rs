//! Carries out the faults of a schedule: one thread for each process, one for the database.

use std::{sync::atomic::Ordering, time::Duration};

use anyhow::Context;
use rustix::process::Signal;

use super::{
    floor::{Floor, Phase, Tally},
    hand::{Hand, is_killed},
    schedule::{Due, Fault},
    site::LEASE_MS,
};

/// What a store's clock shows more than the lease when a pause is over.
const MORE_MS: u64 = 1_500;
/// How long somebody is away at the most, waiting for what the others get done.
const AWAY: Duration = Duration::from_secs(3);
/// How long a commit is waited for whose answer is to be lost.
const CUT_WITHIN: Duration = Duration::from_secs(5);

/// Keeps a process going and does its faults when they are due; ends it in good order at the end.
pub(super) fn drive_process(floor: &Floor<'_>, number: usize, mut due: Vec<Due>) {
    due.reverse();
    let hand = match Hand::start(floor.site, number) {
        Ok(hand) => hand,
        Err(error) => return floor.violated(format!("process {number}: {error:#}")),
    };
    let mut process = Process { number, hand, due, right_at: None };
    let mut is_done = false;
    while floor.phase() != Phase::Over {
        if process.due.is_empty() && process.right_at.is_none() && !is_done {
            is_done = true;
            floor.drivers.fetch_sub(1, Ordering::SeqCst);
        }
        if let Err(error) = process.step(floor) {
            floor.violated(format!("process {number}: {error:#}"));
        }
    }
    if let Err(error) = process.hand.end() {
        floor.violated(format!("{error:#}"));
    }
}

/// A process and what is still to happen to it, the next at the end.
struct Process<'a> {
    number: usize,
    hand: Hand<'a>,
    due: Vec<Due>,
    /// After how many gated workorders its wall clock, which is off, is put right.
    right_at: Option<u64>,
}

impl Process<'_> {
    fn step(&mut self, floor: &Floor<'_>) -> anyhow::Result<()> {
        let number = self.number;
        if let Some(status) = self.hand.ended()? {
            // Only the poisoned worker may have done that.
            anyhow::ensure!(is_killed(status), "ended by itself: {status}");
            floor.note(format!("process {number} was killed by a worker"));
            Tally::add(&floor.tally.poisoned, 1);
            self.hand.start_again()?;
        }
        let (look, _) = floor.look();
        if self.right_at.take_if(|at| *at <= look.gated || floor.phase() == Phase::Draining).is_some() {
            floor.note(format!("process {number}: its wall clock is right"));
            floor.site.page_of(number).set_offset(0)?;
        }
        match self.due.pop_if(|due| due.at <= look.gated) {
            Some(Due { fault, .. }) => {
                floor.note(format!("process {number}: {fault}"));
                self.break_it(floor, fault, look.gated)
            }
            None => {
                floor.wait_for_a_look();
                Ok(())
            }
        }
    }

    fn break_it(&mut self, floor: &Floor<'_>, fault: Fault, gated: u64) -> anyhow::Result<()> {
        match fault {
            Fault::Kill { after_ms, back_after } => {
                // A moment that is not that of a look.
                floor.wait(Duration::from_millis(after_ms), |_, _| false);
                self.hand.kill()?;
                Tally::add(&floor.tally.kills, 1);
                floor.wait(AWAY, |now, _| now.gated >= gated + back_after);
                self.hand.start_again()
            }
            Fault::Pause { back_after } => pause(floor, &self.hand, gated + back_after),
            Fault::Jump { ms, back_after } => {
                Tally::add(&floor.tally.jumps, 1);
                self.right_at = Some(gated + back_after);
                floor.site.page_of(self.number).set_offset(ms)
            }
            Fault::Crash | Fault::Terminate { .. } | Fault::Hole { .. } | Fault::Cut { .. } => Ok(()),
        }
    }
}

/// Stops a process until every lease that it can have is over by the store's clock.
fn pause(floor: &Floor<'_>, hand: &Hand<'_>, back_at: u64) -> anyhow::Result<()> {
    let lease = floor.site.clock.real(LEASE_MS + MORE_MS);
    if hand.signal(Signal::STOP).is_err() {
        // It has just been killed by a worker; the next step sees that.
        return Ok(());
    }
    floor.wait(lease, |_, _| false);
    floor.wait(AWAY, |now, _| now.gated >= back_at);
    hand.signal(Signal::CONT)?;
    Tally::add(&floor.tally.pauses, 1);
    Ok(())
}

/// Does the faults of the database when they are due.
pub(super) fn drive_database(floor: &Floor<'_>, mut due: Vec<Due>) {
    due.reverse();
    while floor.phase() != Phase::Over && !due.is_empty() {
        let (look, _) = floor.look();
        let Some(Due { fault, .. }) = due.pop_if(|due| due.at <= look.gated) else {
            floor.wait_for_a_look();
            continue;
        };
        floor.note(fault.to_string());
        if let Err(error) = break_database(floor, fault) {
            floor.violated(format!("{fault}: {error:#}"));
        }
    }
    floor.drivers.fetch_sub(1, Ordering::SeqCst);
}

fn break_database(floor: &Floor<'_>, fault: Fault) -> anyhow::Result<()> {
    let database = floor.site.database.as_ref().context("there is a database")?;
    match fault {
        Fault::Crash => {
            database.crash()?;
            Tally::add(&floor.tally.crashes, 1);
        }
        Fault::Terminate { sessions } => {
            Tally::add(&floor.tally.sessions, database.terminate(sessions)? as u64);
        }
        Fault::Hole { process } => {
            database.proxy(process).black_hole();
            let lease = floor.site.clock.real(LEASE_MS + MORE_MS);
            floor.wait(lease, |_, _| false);
            database.proxy(process).restore();
            Tally::add(&floor.tally.holes, 1);
        }
        Fault::Cut { process } => {
            let proxy = database.proxy(process);
            let before = proxy.cuts();
            proxy.cut_after_commit();
            if super::site::until(CUT_WITHIN, || proxy.cuts() > before) {
                Tally::add(&floor.tally.cuts, 1);
            }
            proxy.restore();
        }
        Fault::Kill { .. } | Fault::Pause { .. } | Fault::Jump { .. } => {}
    }
    Ok(())
}
