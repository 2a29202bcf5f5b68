//! The scenario: what an operator types from an empty home to a confirmed branch and a triaged note.

use std::collections::BTreeSet;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use super::{
    place::{Answer, Place},
    shim::Orders,
};

/// One command of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Init,
    New,
    Approve,
    Work,
    Capture,
    Triage,
    Confirm,
}

impl Step {
    pub(super) const ALL: [Self; 7] =
        [Self::Init, Self::New, Self::Approve, Self::Work, Self::Capture, Self::Triage, Self::Confirm];

    /// Returns the step of the transition table that it takes the objective by, if it does.
    pub(super) fn of_table(self) -> Option<&'static str> {
        match self {
            Self::New => Some("S-a"),
            Self::Approve => Some("S-b"),
            Self::Work => Some("S-e"),
            Self::Confirm => Some("S-j"),
            Self::Init | Self::Capture | Self::Triage => None,
        }
    }
}

/// How far an operator has come.
pub(super) struct Course<'a> {
    pub(super) place: Place<'a>,
    pub(super) objective: Option<String>,
    /// Every id that a command printed.
    pub(super) given: BTreeSet<String>,
}

impl<'a> Course<'a> {
    pub(super) fn new(place: Place<'a>) -> Self {
        Self { place, objective: None, given: BTreeSet::new() }
    }

    /// Types the command of a step.
    pub(super) fn take(&mut self, step: Step, orders: &Orders) -> anyhow::Result<Answer> {
        let objective = self.objective.clone().unwrap_or_default();
        let answer = match step {
            Step::Init => self.place.run(&["init"], orders),
            Step::New => {
                self.place.run(&["objective", "new", "Add a line", "--criteria", "it is there"], orders)
            }
            Step::Approve => self.place.run(&["objective", "approve", &objective], orders),
            Step::Work | Step::Triage => self.place.run(&["run", "--until-idle"], orders),
            Step::Capture => self.place.run(&["capture", "the login page is slow"], orders),
            Step::Confirm => self.place.run(&["objective", "confirm", &objective], orders),
        }?;
        // Also of a command that was killed after it had spoken.
        self.given.extend(ids(&answer.stdout));
        if step == Step::New && answer.is_ok() {
            self.objective = Some(answer.stdout.trim().to_owned());
        }
        Ok(answer)
    }

    /// Types a command again, after the fault is gone: what it was for has to be there now.
    pub(super) fn take_again(&mut self, step: Step, orders: &Orders) -> anyhow::Result<()> {
        let answer = self.take(step, orders)?;
        // What was done and could not be said is refused the second time.
        let was_done = answer.code == Some(4) && matches!(step, Step::Approve | Step::Confirm);
        ensure!(answer.is_ok() || was_done, "{step:?} again: {answer:?}");
        self.check(step, orders)
    }

    /// Checks that a step came to what it is for.
    pub(super) fn check(&self, step: Step, orders: &Orders) -> anyhow::Result<()> {
        match step {
            Step::Init | Step::Capture | Step::New => Ok(()),
            Step::Approve => self.check_status(&["TODO"], orders),
            Step::Work => self.check_status(&["DONE"], orders),
            Step::Triage => self.check_notes(orders),
            Step::Confirm => {
                self.check_status(&["DONE"], orders)?;
                let objective = self.document(orders)?;
                ensure!(objective["metadata"]["completion"].is_object(), "not confirmed: {objective}");
                Ok(())
            }
        }
    }

    fn check_status(&self, expected: &[&str], orders: &Orders) -> anyhow::Result<()> {
        let objective = self.document(orders)?;
        let status = objective["status"].as_str().unwrap_or_default();
        ensure!(expected.contains(&status), "the objective is {status}: {objective}");
        Ok(())
    }

    fn document(&self, orders: &Orders) -> anyhow::Result<Value> {
        let id = self.objective.as_deref().context("there is no objective yet")?;
        let answer = self.place.run(&["objective", "show", id, "--json"], orders)?;
        ensure!(answer.is_ok(), "show: {answer:?}");
        let document: Value = serde_json::from_str(&answer.stdout)?;
        Ok(document["data"].clone())
    }

    /// Checks that no note waits to be triaged.
    fn check_notes(&self, orders: &Orders) -> anyhow::Result<()> {
        let lines = self.export("az-taskmgmt", orders)?;
        let mut notes = lines.lines().filter(|line| line.contains("\"kind\":\"capture_buffer\"")).peekable();
        ensure!(notes.peek().is_some(), "there is no note");
        match notes.find(|line| !line.contains("\"status\":\"PROCESSED\"")) {
            Some(line) => bail!("a note waits: {line}"),
            None => Ok(()),
        }
    }

    /// Checks every invariant of the stores, and of the mirror.
    pub(super) fn verify(&self, orders: &Orders) -> anyhow::Result<()> {
        let answer = self.place.run(&["verify", "--git"], orders)?;
        ensure!(answer.is_ok(), "verify: {answer:?}");
        Ok(())
    }

    /// Checks that everything that a command printed is there (invariant 13).
    pub(super) fn check_given(&self, orders: &Orders) -> anyhow::Result<()> {
        let lines = self.export("az-app", orders)? + &self.export("az-taskmgmt", orders)?;
        for id in &self.given {
            ensure!(lines.contains(&format!("\"{id}\"")), "{id} was printed and is not there");
        }
        Ok(())
    }

    /// Checks what the operator's repository got, against what it had.
    pub(super) fn check_branch(&self) -> anyhow::Result<()> {
        let id = self.objective.as_deref().context("there is no objective")?;
        let text = self.place.git(&["show", &format!("azolla/{id}:a.txt")])?;
        ensure!(text == "one\ntwo\n", "the branch has {text:?}");
        let branches = self.place.git(&["for-each-ref", "--format=%(refname)"])?;
        let expected = format!("refs/heads/azolla/{id}\nrefs/heads/main\n");
        ensure!(branches == expected, "the repository has {branches}");
        let objects = self.place.git(&["fsck", "--full", "--strict"])?;
        ensure!(objects.is_empty(), "fsck: {objects}");
        Ok(())
    }

    pub(super) fn export(&self, azolla: &str, orders: &Orders) -> anyhow::Result<String> {
        let answer = self.place.run(&["export", "--azolla", azolla], orders)?;
        ensure!(answer.is_ok(), "export: {answer:?}");
        Ok(answer.stdout)
    }
}

/// Returns the ids of objectives and notes in what a command printed.
pub(super) fn ids(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
    let is_id = |word: &&str| {
        let body = word.strip_prefix("obj-").or_else(|| word.strip_prefix("cap-"));
        body.is_some_and(|body| body.len() == 12 && body.chars().all(|c| c.is_ascii_alphanumeric()))
    };
    words.filter(is_id).map(str::to_owned)
}
