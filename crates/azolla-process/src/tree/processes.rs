//! The process table, for what the keeper does not do: asking politely, killing many generations at once, and looking
//! for what a killed keeper left.

use std::{collections::BTreeSet, fs, time::Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// How many processes are looked at. Those beyond are the keeper's to find.
const DESCENDANTS_MAX: usize = 4096;

/// How often the table is read before it is given up to find it empty.
const PASSES_MAX: usize = 100;

/// Signals every descendant of `ancestor`, but not itself, or those that are found by `until`. That must be a child of
/// ours that is not collected yet.
pub(super) fn signal_descendants(ancestor: Pid, signal: Signal, until: Option<Instant>) {
    let mut found = BTreeSet::from([ancestor.as_raw_pid()]);
    let mut next = vec![ancestor.as_raw_pid()];
    while let Some(parent) = next.pop() {
        for child in children(parent) {
            if until.is_some_and(|until| Instant::now() >= until) {
                return;
            }
            if found.len() <= DESCENDANTS_MAX && found.insert(child) {
                send(child, signal, |entry| found.contains(&entry.parent));
                next.push(child);
            }
        }
    }
}

/// Kills the members of a session until there are none.
pub(super) fn kill_session(session: Pid) {
    let session = session.as_raw_pid();
    for _ in 0..PASSES_MAX {
        let mut alive = 0;
        for pid in numbers_in("/proc") {
            if Entry::read(pid).is_some_and(|entry| entry.session == session && !entry.is_zombie) {
                send(pid, Signal::KILL, |entry| entry.session == session);
                alive += 1;
            }
        }
        if alive == 0 {
            return;
        }
    }
}

/// Signals a process if `is_it` holds for it. Between being found and being signalled it may have ended, and its number
/// may be another's: so it is held on to, then looked at again.
fn send(pid: i32, signal: Signal, is_it: impl FnOnce(&Entry) -> bool) {
    let Some(held) = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
        return;
    };
    // The dead that nobody has collected yet take no signal.
    if Entry::read(pid).is_some_and(|entry| !entry.is_zombie && is_it(&entry)) {
        let _ended: rustix::io::Result<()> = pidfd_send_signal(held, signal);
    }
}

/// Returns the children of all threads of a process.
fn children(pid: i32) -> Vec<i32> {
    let list = |thread: i32| fs::read_to_string(format!("/proc/{pid}/task/{thread}/children"));
    let threads = numbers_in(&format!("/proc/{pid}/task"));
    let lists = threads.into_iter().filter_map(|thread| list(thread).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

fn numbers_in(directory: &str) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// What the process table says of a process.
struct Entry {
    is_zombie: bool,
    parent: i32,
    session: i32,
}

impl Entry {
    fn read(pid: i32) -> Option<Self> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // Number, name in brackets, state, parent, group, session. The name can hold anything, brackets too.
        let after_name = text.iter().rposition(|byte| *byte == b')')? + 1;
        let text = String::from_utf8_lossy(&text[after_name..]);
        let mut fields = text.split_whitespace();
        let is_zombie = matches!(fields.next()?, "Z" | "X");
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        Some(Self { is_zombie, parent, session })
    }
}
