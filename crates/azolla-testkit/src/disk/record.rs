//! Records a scenario: every operation on the stores, and every word of the program, in one order.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Stdio},
};

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{
    Area, Fault, Injection, Shim,
    image::{Done, Entry, read_log},
    place::Place,
    shim::{Counted, Orders},
    steps::{Course, Step, ids},
};

/// Something that the program said was done.
pub(super) struct Promise {
    /// The number of operations from which on it has to be there.
    pub(super) from: usize,
    /// A piece of an export.
    pub(super) text: String,
}

/// What was recorded.
pub(super) struct Recorded<'a> {
    pub(super) course: Course<'a>,
    pub(super) entries: Vec<Entry>,
    pub(super) promises: Vec<Promise>,
}

/// Records the operator's commands and `notes` that an agent takes, one commit each, beside a run that goes on and keeps the
/// stores open: otherwise whoever closes one last would make everything in it durable. With `failed_sync`, that sync
/// fails, once.
pub(super) fn record<'a>(
    shim: &'a Shim,
    program: &'a Path,
    notes: usize,
    failed_sync: Option<u64>,
) -> anyhow::Result<Recorded<'a>> {
    let course = Course::new(Place::new(shim, program)?);
    let log = course.place.path("log");
    fs::write(&log, "")?;
    let under = Area::Store.under(&course.place.home());
    let mut orders = Orders::default();
    if let Some(at) = failed_sync {
        let injection = Injection { area: Area::Store, fault: Fault::Sync, at, sticky: false };
        orders = orders.inject(under.clone(), injection);
    }
    let mut recorder = Recorder { course, orders: orders.record(under, &log), log, commands: Vec::new() };
    recorder.run(notes)?;
    recorder.end()
}

struct Recorder<'a> {
    course: Course<'a>,
    orders: Orders,
    log: PathBuf,
    commands: Vec<Command>,
}

/// A command that did what it is for.
struct Command {
    step: Step,
    process: u32,
    /// Where the log stood when it had ended.
    end: u64,
}

impl<'a> Recorder<'a> {
    fn run(&mut self, notes: usize) -> anyhow::Result<()> {
        let mut beside = None;
        for step in Step::ALL {
            if step == Step::Triage {
                self.take_notes(notes)?;
            }
            self.take(step)?;
            if step == Step::Init {
                beside = Some(Beside::start(&self.course.place, &self.orders)?);
            }
        }
        beside.context("init is a step")?.end()
    }

    fn take(&mut self, step: Step) -> anyhow::Result<()> {
        let mut answer = self.course.take(step, &self.orders)?;
        if !answer.is_ok() && self.orders.has_fault() {
            // Of the failed sync.
            answer = self.course.take(step, &self.orders)?;
        }
        let was_done = answer.code == Some(4) && matches!(step, Step::Approve | Step::Confirm);
        ensure!(answer.is_ok() || was_done, "{step:?}: {answer:?}");
        let end = fs::metadata(&self.log)?.len();
        self.commands.push(Command { step, process: answer.process, end });
        Ok(())
    }

    /// Takes notes by one process, as an agent would: enough of them for SQLite to move its log into the file meanwhile.
    fn take_notes(&self, notes: usize) -> anyhow::Result<()> {
        let place = &self.course.place;
        let mut command = place.command(&place.home(), &["mcp"], &self.orders)?;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut input = child.stdin.take().context("stdin")?;
        let mut output = BufReader::new(child.stdout.take().context("stdout")?);
        type Asked = anyhow::Result<String>;
        let mut ask = |input: &mut ChildStdin, id: usize, method: &str, params: Value| -> Asked {
            writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
            let mut line = String::new();
            output.read_line(&mut line)?;
            ensure!(!line.is_empty(), "the server has ended");
            Ok(line)
        };
        let client = json!({"name": "notes", "version": "1"});
        let begin = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        ask(&mut input, 0, "initialize", begin)?;
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        let mut refused = 0;
        for note in 1..=notes {
            let text = format!("note {note}: {}", "what it says ".repeat(40));
            let call = json!({"name": "capture_note", "arguments": {"text": text}});
            let answer = ask(&mut input, note, "tools/call", call)?;
            refused += usize::from(!answer.contains("\"isError\":false"));
        }
        drop(input);
        ensure!(child.wait()?.success(), "the server failed");
        ensure!(refused <= usize::from(self.orders.has_fault()), "{refused} notes were refused");
        Ok(())
    }

    fn end(self) -> anyhow::Result<Recorded<'a>> {
        if self.orders.has_fault() {
            let faults = Counted::read(&self.course.place.counter())?.faults;
            ensure!(faults == 1, "{faults} syncs failed");
        }
        let entries = read_log(&fs::read(&self.log)?)?;
        let promises = self.promises(&entries)?;
        Ok(Recorded { course: self.course, entries, promises })
    }

    /// Returns what was promised: every id that was printed; and what the operator's steps are in the journal, from the
    /// first word on that their command said.
    fn promises(&self, entries: &[Entry]) -> anyhow::Result<Vec<Promise>> {
        let mut promises = Vec::new();
        for (n, entry) in entries.iter().enumerate() {
            if let Done::Said { on_stdout: true, text, .. } = &entry.what {
                promises.extend(ids(text).map(|id| Promise { from: n + 1, text: format!("\"{id}\"") }));
            }
        }
        let objective = self.course.objective.as_deref().context("there is an objective")?;
        let journal = self.course.export("az-app", &Orders::default())?;
        for command in &self.commands {
            let Some(step) = command.step.of_table() else { continue };
            let ended = entries.partition_point(|entry| entry.end <= command.end);
            let is_word = |entry: &Entry| matches!(entry.what, Done::Said { process, .. } if process == command.process);
            let said = entries[..ended].iter().position(is_word).map_or(ended, |n| n + 1);
            // A run says what it is about to do; what it did is promised by its end.
            let from = if command.step == Step::Work { ended } else { said };
            let (of, by) = (format!("\"resource_id\":\"{objective}\""), format!("\"step\":\"{step}\""));
            let mut lines = journal.lines();
            let line = lines.find(|line| line.contains(&of) && line.contains(&by)).with_context(|| step)?;
            promises.push(Promise { from, text: line.to_owned() });
        }
        Ok(promises)
    }
}

/// A run without an end. It is asked to stop, and killed if that went wrong before.
struct Beside(Child);

impl Beside {
    fn start(place: &Place<'_>, orders: &Orders) -> anyhow::Result<Self> {
        let mut command = place.command(&place.home(), &["run"], orders)?;
        Ok(Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?))
    }

    fn end(mut self) -> anyhow::Result<()> {
        kill_process(Pid::from_child(&self.0), Signal::TERM)?;
        let status = self.0.wait()?;
        ensure!(status.success(), "the run beside it ended with {status}");
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // It has ended already, unless something went wrong.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
