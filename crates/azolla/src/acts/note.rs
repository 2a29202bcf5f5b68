//! The operator's notes: kept, triaged again, dealt with by hand; and the request for orientation (TF-7, S-4, MF-1).

use azolla_control_plane::operator::Requested;
use azolla_protocol::{AzollaId, AzollaType, CaptureId, CaptureStatus, OutputId};
use azolla_substrate::{CaptureFilter, StoredCapture, SubstrateRead};

use super::{Acts, Done, TRIAGE};
use crate::{
    config::AzollaConfig,
    failure::Failure,
    find::{IdPart, ambiguous, or_near},
    line,
    screen::plain,
};

impl Acts {
    /// Keeps a note, byte for byte.
    pub(crate) async fn capture(
        &self,
        named: Option<&AzollaId>,
        note: &[u8],
        label: &str,
    ) -> anyhow::Result<Done> {
        let azolla = self.one(named, AzollaType::TaskMgmt)?;
        let store = self.store(azolla).await?;
        let id = self.step(azolla, &*store, async |operator| operator.capture(note, label).await).await?;
        Ok(Done::made(id.as_str(), "the note is kept").leads("what comes of it", TRIAGE))
    }

    /// Lets notes be triaged again: one, those of a triage, or every one that was given up.
    pub(crate) async fn triage_retry(
        &self,
        named: Option<&AzollaId>,
        part: Option<&IdPart>,
    ) -> anyhow::Result<Done> {
        let azolla = self.one(named, AzollaType::TaskMgmt)?;
        let store = self.store(azolla).await?;
        let read = store.read();
        let retry = self.step(azolla, &*store, async |operator| -> anyhow::Result<Done> {
            let count = match part {
                None => operator.retry_held().await?.len(),
                Some(part) => match OutputId::new(part.as_str()) {
                    Ok(output) => operator.retry_output(&output).await?.len(),
                    Err(_) => {
                        let id = find(read, part).await?;
                        let again = operator.retry_capture(&id).await?;
                        if again != id {
                            return Ok(Done::new(format!("{id} is stored once more as {again}")).next(TRIAGE));
                        }
                        1
                    }
                },
            };
            Ok(match count {
                0 => Done::new("no note was given up"),
                1 => Done::new("a note is triaged again").next(TRIAGE),
                count => Done::new(format!("{count} notes are triaged again")).next(TRIAGE),
            })
        });
        retry.await
    }

    /// Marks a note as dealt with by hand.
    pub(crate) async fn process(
        &self,
        named: Option<&AzollaId>,
        part: &IdPart,
        reason: &str,
    ) -> anyhow::Result<Done> {
        let azolla = self.one(named, AzollaType::TaskMgmt)?;
        let store = self.store(azolla).await?;
        let id = find(store.read(), part).await?;
        self.step(azolla, &*store, async |operator| operator.process_capture(&id, reason).await).await?;
        Ok(Done::new(format!("{id} is dealt with; its text stays where it is")))
    }

    /// Asks for orientation.
    pub(crate) async fn manifest(&self, azolla: &AzollaConfig) -> anyhow::Result<(Requested, Done)> {
        let store = self.store(azolla).await?;
        let requested =
            self.step(azolla, &*store, async |operator| operator.request_manifest().await).await?;
        let what = match requested.was_open {
            true => "orientation was asked for before, and is still to come",
            false => "orientation is asked for",
        };
        Ok((requested, Done::new(what).leads("to see it", "azolla manifest --last")))
    }
}

/// Finds the one note that a part of an id means: one that waits, if there is any such.
pub(crate) async fn find(read: &dyn SubstrateRead, part: &IdPart) -> anyhow::Result<CaptureId> {
    if let Ok(id) = CaptureId::new(part.as_str())
        && read.capture(&id).await?.is_some()
    {
        return Ok(id);
    }
    const LOOKED_AT_MAX: u64 = 10_000;
    let name = |stored: &StoredCapture| {
        (stored.capture.capture_id.to_string(), line::first_line(&stored.capture.raw_content))
    };
    let (mut matches, mut known) = (Vec::new(), Vec::new());
    for status in [Some(CaptureStatus::Pending), None] {
        if matches.is_empty() {
            matches = read.captures(&CaptureFilter { status, after: None, limit: LOOKED_AT_MAX }).await?;
            known = matches.iter().map(name).collect();
            matches.retain(|stored| part.is_of(stored.capture.capture_id.as_str()));
        }
    }
    match &matches[..] {
        [one] => Ok(one.capture.capture_id.clone()),
        [] => {
            let what = format!("there is no such note: {}", part.as_str());
            let hint = or_near(part.as_str(), &known, "azolla triage captures");
            Err(Failure::not_found(what).hint(hint).into())
        }
        several => {
            let line = |stored: &StoredCapture| {
                let text = plain(&line::first_line(&stored.capture.raw_content));
                format!("{}  {text}", stored.capture.capture_id)
            };
            Err(ambiguous(part.as_str(), several.len(), several.iter().map(line)).into())
        }
    }
}
