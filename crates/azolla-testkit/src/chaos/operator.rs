//! The operator, at the command line of the real program, while everything around breaks. What a command said with exit
//! code 0 is remembered, and has to be there at the end (13).

use std::sync::atomic::Ordering;

use super::{
    floor::{Floor, Phase, Tally},
    look::{Look, Resting},
    site::{Answer, NOTES, PATCHING},
};
use crate::sim::chance::Chance;

/// What the operator was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Promise {
    pub(super) azolla: &'static str,
    pub(super) id: String,
    pub(super) what: Told,
}

/// What was said about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    /// It exists, as an artifact of this kind.
    Made(&'static str),
    /// The objective took this step of the transition table.
    Took(&'static str),
    /// The candidate has this outcome.
    Became(&'static str),
}

/// How much may be open before the operator waits with more.
const FULL: u64 = 28;

/// What the worker makes of an objective, and how often in a thousand.
const KINDS: [(&str, usize); 6] =
    [("good", 640), ("slow", 130), ("bad", 90), ("spoilt", 70), ("stray", 55), ("over", 15)];

/// Works at the command line until the run is over.
pub(super) fn work(floor: &Floor<'_>, number: u64) {
    let mut operator = Operator {
        floor,
        chance: Chance::new(floor.seed ^ (0x0bad_cafe + number)),
        number,
        serial: 0,
        has_brought_poison: false,
        machines: floor.site.homes().len(),
    };
    loop {
        let phase = floor.phase();
        let (look, _) = floor.look();
        let acted = match phase {
            Phase::Over => return,
            Phase::Working => {
                floor.commands.fetch_add(1, Ordering::SeqCst);
                let acted = operator.act(&look);
                floor.commands.fetch_sub(1, Ordering::SeqCst);
                acted
            }
            Phase::Draining => operator.clear(&look),
        };
        match acted {
            Ok(true) => {}
            Ok(false) => floor.wait_for_a_look(),
            Err(error) => floor.violated(format!("{error:#}")),
        }
    }
}

struct Operator<'a> {
    floor: &'a Floor<'a>,
    chance: Chance,
    number: u64,
    serial: u64,
    has_brought_poison: bool,
    machines: usize,
}

impl Operator<'_> {
    /// Does one thing of the day; tells whether there was one.
    fn act(&mut self, look: &Look) -> anyhow::Result<bool> {
        match self.chance.below(1_000) {
            0..550 if look.open < FULL => self.bring(),
            550..850 => self.review(look, Phase::Working),
            850..990 => self.sort(look, Phase::Working),
            990..995 => self.verify(),
            _ => Ok(false),
        }
    }

    /// Takes what waits out of the way, and brings nothing new.
    fn clear(&mut self, look: &Look) -> anyhow::Result<bool> {
        Ok(self.review(look, Phase::Draining)? || self.sort(look, Phase::Draining)?)
    }

    fn bring(&mut self) -> anyhow::Result<bool> {
        self.serial += 1;
        // One of them kills whoever runs it, however often it is tried (P18).
        let is_poison = self.number == 0 && self.serial >= 4 && !self.has_brought_poison;
        if !is_poison && self.chance.per_mille(280) {
            return self.capture();
        }
        let patching = self.chance.below(PATCHING.len());
        let azolla = if is_poison { "az-edits" } else { PATCHING[patching].id };
        let kind = if is_poison { "poison" } else { self.kind() };
        let title = format!("Piece {}-{} of kind {kind}", self.number, self.serial);
        let urgency = self.chance.below(5).to_string();
        let words =
            ["objective", "new", &title, "--criteria", "a.txt has another line", "--urgency", &urgency];
        let made = self.run(&[&words[..], &["--azolla", azolla]].concat())?;
        if let Some(id) = self.made(made, azolla, "objective") {
            self.has_brought_poison |= is_poison;
            self.step("approve", &[], azolla, &id, "S-b")?;
        }
        Ok(true)
    }

    fn kind(&mut self) -> &'static str {
        let mut drawn = self.chance.below(KINDS.iter().map(|(_, often)| often).sum());
        for (kind, often) in KINDS {
            if drawn < often {
                return kind;
            }
            drawn -= often;
        }
        "good"
    }

    fn capture(&mut self) -> anyhow::Result<bool> {
        let verb = *self.chance.pick(&["Order", "Paint", "Repair", "Sell", "Describe"]);
        let thing = *self.chance.pick(&["tyres", "fences", "clocks", "invoices", "windows"]);
        let note = format!("{verb} {thing} for customer {}-{}", self.number, self.serial);
        let made = self.run(&["capture", &note, "--azolla", NOTES])?;
        self.made(made, NOTES, "capture_buffer");
        Ok(true)
    }

    /// Takes a step on an objective that waits; the last ones are confirmed and put away only.
    fn review(&mut self, look: &Look, phase: Phase) -> anyhow::Result<bool> {
        let waits = |resting: &&Resting| phase == Phase::Working || resting.status != "NEW";
        let waiting: Vec<&Resting> = look.resting.iter().filter(waits).collect();
        if waiting.is_empty() {
            return Ok(false);
        }
        let resting = *self.chance.pick(&waiting);
        let (azolla, id) = (resting.azolla, &resting.id);
        let again = phase == Phase::Working && self.chance.per_mille(200);
        match (resting.status.as_str(), again) {
            ("NEW", _) => self.step("approve", &[], azolla, id, "S-b")?,
            ("DONE", true) => {
                self.step("reject", &["--feedback", "another line, please"], azolla, id, "S-i")?;
            }
            ("DONE", false) => self.step("confirm", &[], azolla, id, "S-j")?,
            (_, true) => self.step("retry", &[], azolla, id, "S-h")?,
            (_, false) => self.step("archive", &[], azolla, id, "S-o")?,
        }
        Ok(true)
    }

    /// Makes a candidate an objective, or sets it aside.
    fn sort(&mut self, look: &Look, phase: Phase) -> anyhow::Result<bool> {
        if look.candidates.is_empty() {
            return Ok(false);
        }
        let candidate = self.chance.pick(&look.candidates).clone();
        let became = |outcome| Promise { azolla: NOTES, id: candidate.clone(), what: Told::Became(outcome) };
        if phase == Phase::Working && self.chance.per_mille(500) {
            let azolla = self.chance.pick(&PATCHING).id;
            let made = self.run(&["triage", "promote", &candidate, "--azolla", azolla, "--from", NOTES])?;
            if self.made(made, azolla, "objective").is_some() {
                self.floor.promised(became("PROMOTED"));
            }
        } else if self.run(&["triage", "discard", &candidate, "--azolla", NOTES])?.is_some() {
            self.floor.promised(became("DISCARDED"));
        }
        Ok(true)
    }

    /// What holds at rest holds in between as well.
    fn verify(&mut self) -> anyhow::Result<bool> {
        let machine = self.chance.below(self.machines);
        let answer = self.floor.site.azolla(machine, &["verify", "--json"])?;
        let findings = answer.stdout.contains("\"invariant\"");
        anyhow::ensure!(!findings, "azolla verify, while work goes on: {}", answer.stdout);
        self.judge(answer, &["verify"])?;
        Ok(true)
    }

    fn step(
        &mut self,
        verb: &str,
        more: &[&str],
        azolla: &'static str,
        id: &str,
        step: &'static str,
    ) -> anyhow::Result<()> {
        let words = [&["objective", verb, id, "--azolla", azolla][..], more].concat();
        if self.run(&words)?.is_some() {
            self.floor.promised(Promise { azolla, id: id.to_owned(), what: Told::Took(step) });
        }
        Ok(())
    }

    /// Remembers the id that a command printed.
    fn made(&self, stdout: Option<String>, azolla: &'static str, kind: &'static str) -> Option<String> {
        let id = stdout?.trim_end().to_owned();
        self.floor.promised(Promise { azolla, id: id.clone(), what: Told::Made(kind) });
        Some(id)
    }

    /// Runs a command at any machine; returns what it printed, if it said that it was done.
    fn run(&mut self, words: &[&str]) -> anyhow::Result<Option<String>> {
        let machine = self.chance.below(self.machines);
        let answer = self.floor.site.azolla(machine, words)?;
        self.judge(answer, words)
    }

    fn judge(&self, answer: Answer, words: &[&str]) -> anyhow::Result<Option<String>> {
        let Answer { code, stdout, stderr } = answer;
        let is_fine = code.is_some_and(|code| code != 101) && !stderr.contains("panicked");
        anyhow::ensure!(is_fine, "azolla {} ended with {code:?}: {stderr}", words.join(" "));
        if code == Some(0) {
            return Ok(Some(stdout));
        }
        Tally::add(&self.floor.tally.refused, 1);
        // 4 is a state that has moved on since it was looked at.
        if code != Some(4) {
            self.floor.note(format!("azolla {}: {code:?} {}", words.join(" "), stderr.trim_end()));
        }
        Ok(None)
    }
}
