//! The operator's notes: the one door for captures, and what can be done with one by hand (TF-7, S-4).

use azolla_protocol::{
    Actor, CaptureBuffer, CaptureId, CaptureStatus, ObjectiveType, OutputId, Validated, content::ASKED_AGAIN,
    is_blank,
};
use azolla_substrate::{StoredCapture, SubstrateError, Write};

use super::{Operator, OperatorError, TRIES_MAX};
use crate::triage;

/// The most bytes of a note.
const NOTE_BYTES_MAX: usize = 1024 * 1024;

/// The most characters of a label.
const LABEL_CHARS_MAX: usize = 200;

impl Operator<'_> {
    /// Stores a note, byte for byte, and returns its id. Every surface that takes notes comes through here. A label
    /// says where it came from; it is made one line of at most 200 characters.
    pub async fn capture(&self, note: &[u8], label: &str) -> Result<CaptureId, OperatorError> {
        self.capture_as(Actor::Operator, note, label).await
    }

    pub(super) async fn capture_as(
        &self,
        actor: Actor,
        note: &[u8],
        label: &str,
    ) -> Result<CaptureId, OperatorError> {
        self.takes_captures()?;
        let text = text_of(note)?;
        for _ in 0..TRIES_MAX {
            let capture_id = CaptureId::from_body(&self.ids.body());
            let now = self.read().now().await?;
            let capture = CaptureBuffer {
                capture_id: capture_id.clone(),
                azolla_id: self.identity.azolla_id.clone(),
                raw_content: text.to_owned(),
                source_label: label_of(label),
                status: CaptureStatus::Pending,
                created_at: now,
                updated_at: now,
            };
            let write = Write::InsertCapture(Validated::new(capture)?);
            match self.commit_as(actor, vec![write], None).await {
                // Somebody has that id already: an id is never given twice (T37).
                Err(taken) if taken.is_refused_by("A-2") => {}
                done => return Ok(done.map(|()| capture_id)?),
            }
        }
        Err(refused("no fresh id was found for the note", None))
    }

    /// Lets a capture be triaged again: it is no longer held, and its attempts begin anew (W-2). One that is PROCESSED stays
    /// so (S-4): if nothing came of it, its text is stored once more, and the new capture is returned.
    pub async fn retry_capture(&self, id: &CaptureId) -> Result<CaptureId, OperatorError> {
        let stored = self.stored_capture(id).await?;
        if stored.capture.status == CaptureStatus::Processed {
            return self.capture_again(&stored.capture).await;
        }
        self.retry_all(std::slice::from_ref(id)).await.map(|_| id.clone())
    }

    /// Stores the text of a capture that came to nothing once more, under an id that derives from it: asked for twice, it is
    /// there once.
    async fn capture_again(&self, was: &CaptureBuffer) -> Result<CaptureId, OperatorError> {
        let id = &was.capture_id;
        let explain = format!("azolla explain {id}");
        for triaged in triage::attempts_on(self.read(), id).await? {
            if let Some(candidate) = triaged.candidates_of(id).first() {
                let what = format!("capture {id} is PROCESSED: candidate {candidate} came of it");
                return Err(refused(what, Some(&explain)));
            }
        }
        let again = CaptureId::new(format!("cap-{}-again", id.body()))
            .map_err(|_| refused(format!("{id} was asked for too often"), Some("azolla capture TEXT")))?;
        let now = self.read().now().await?;
        let capture = CaptureBuffer {
            capture_id: again.clone(),
            source_label: label_of(&format!("{ASKED_AGAIN}{id}")),
            status: CaptureStatus::Pending,
            created_at: now,
            updated_at: now,
            ..was.clone()
        };
        match self.commit(Write::InsertCapture(Validated::new(capture)?)).await {
            Err(taken) if taken.is_refused_by("A-2") => {
                let what = format!("capture {id} was asked for again before, as {again}");
                Err(refused(what, Some(&format!("azolla explain {again}"))))
            }
            done => Ok(done.map(|()| again)?),
        }
    }

    /// Lets the captures of a triage be triaged again, those that are PENDING, and returns them.
    pub async fn retry_output(&self, id: &OutputId) -> Result<Vec<CaptureId>, OperatorError> {
        let bundle = self.read().output_bundle(id).await?;
        let azolla_id = &self.identity.azolla_id;
        let bundle = bundle
            .ok_or_else(|| OperatorError::NotFound { what: format!("there is no {id} in {azolla_id}") })?;
        let named = bundle.metadata.more.get("capture_ids").and_then(|ids| ids.as_array());
        let mut pending = Vec::new();
        for named in named.into_iter().flatten().filter_map(|id| CaptureId::new(id.as_str()?).ok()) {
            let stored = self.read().capture(&named).await?;
            if stored.is_some_and(|stored| stored.capture.status == CaptureStatus::Pending) {
                pending.push(named);
            }
        }
        if pending.is_empty() {
            let what = format!("no capture of {id} is PENDING; retry needs PENDING");
            return Err(refused(what, Some("azolla triage")));
        }
        self.retry_all(&pending).await
    }

    /// Lets every capture that is held be triaged again, and returns them.
    pub async fn retry_held(&self) -> Result<Vec<CaptureId>, OperatorError> {
        /// As many as one commit takes well.
        const AT_ONCE_MAX: u64 = 200;
        let mut retried = Vec::new();
        loop {
            // What is retried is no longer held.
            let held = self.read().held_captures(AT_ONCE_MAX).await?;
            if held.is_empty() {
                return Ok(retried);
            }
            retried.extend(self.retry_all(&held).await?);
        }
    }

    /// Takes a capture out of triage by hand, with the reason (S-4).
    pub async fn process_capture(&self, id: &CaptureId, reason: &str) -> Result<(), OperatorError> {
        const REASON_CHARS_MAX: usize = 1_000;
        if is_blank(reason) || reason.contains('\0') || reason.chars().count() > REASON_CHARS_MAX {
            let what = format!("a reason is needed, of at most {REASON_CHARS_MAX} characters");
            return Err(refused(what, Some(&format!("azolla triage process {id} --reason TEXT"))));
        }
        for _ in 0..TRIES_MAX {
            let stored = self.stored_capture(id).await?;
            if stored.capture.status == CaptureStatus::Processed {
                let what = format!("capture {id} is PROCESSED already");
                return Err(refused(what, Some("azolla triage")));
            }
            let at = self.read().now().await?;
            let mut writes = vec![Write::ProcessCapture { capture_id: id.clone(), at, no_action: None }];
            // The pause_state that asked for it is over with it.
            writes.extend(self.end_pause_about(std::slice::from_ref(id)).await?);
            match self.commit_all(writes, Some(reason)).await {
                Err(SubstrateError::Changed { .. }) => {}
                done => return Ok(done?),
            }
        }
        Err(refused(format!("capture {id} kept changing"), Some("azolla triage")))
    }

    /// Lets those of them that are PENDING be triaged again, and returns them.
    async fn retry_all(&self, ids: &[CaptureId]) -> Result<Vec<CaptureId>, OperatorError> {
        for _ in 0..TRIES_MAX {
            // The attempts are read first: one that begins after the look at what is under way changes them.
            let (mut retried, mut writes) = (Vec::new(), Vec::new());
            for id in ids {
                let stored = self.stored_capture(id).await?;
                if stored.capture.status == CaptureStatus::Pending {
                    retried.push(id.clone());
                    let (capture_id, attempts) = (id.clone(), stored.attempts);
                    writes.push(Write::RetryCapture { capture_id, attempts });
                }
            }
            if let Some((work_order_id, batch)) = triage::under_way(self.read()).await?
                && let Some(id) = retried.iter().find(|id| batch.contains(*id))
            {
                let what = format!("capture {id} is in triage now, by {work_order_id}");
                return Err(refused(what, Some("azolla run")));
            }
            if retried.is_empty() {
                return Err(refused(
                    "the captures are PROCESSED; retry needs PENDING",
                    Some("azolla triage"),
                ));
            }
            // The pause_state that asked for it is over with it.
            writes.extend(self.end_pause_about(&retried).await?);
            match self.commit_all(writes, None).await {
                Err(SubstrateError::Changed { .. }) => {}
                done => return Ok(done.map(|()| retried)?),
            }
        }
        Err(refused("the captures kept changing", Some("azolla triage")))
    }

    async fn stored_capture(&self, id: &CaptureId) -> Result<StoredCapture, OperatorError> {
        let found = self.read().capture(id).await?;
        found.ok_or_else(|| OperatorError::NotFound {
            what: format!("there is no capture {id} in {}", self.identity.azolla_id),
        })
    }

    pub(super) fn takes_captures(&self) -> Result<(), OperatorError> {
        let blueprint = self.identity.azolla_type.blueprint();
        if blueprint.objective_type == ObjectiveType::Standing {
            return Ok(());
        }
        let what = format!("{} is a {}: it takes no notes", self.identity.azolla_id, blueprint.azolla_type);
        Err(refused(what, None))
    }
}

/// A note as text, as it came: refused where a store could not keep every byte of it.
fn text_of(note: &[u8]) -> Result<&str, OperatorError> {
    if note.len() > NOTE_BYTES_MAX {
        // How long it is nobody knows: it is read no further.
        let what = format!("a note has at most 1 MiB ({NOTE_BYTES_MAX} bytes); this one has more");
        return Err(refused(what, Some("capture a shorter note that names the file")));
    }
    let text = str::from_utf8(note).map_err(|error| {
        let what = format!("a note is text in UTF-8; byte {} of this one is not", error.valid_up_to());
        refused(what, Some("capture a note that names the file instead"))
    })?;
    if let Some(at) = text.find('\0') {
        let what = format!("a note cannot hold NUL characters; byte {at} of this one is one");
        return Err(refused(what, Some("capture a note that names the file instead")));
    }
    if is_blank(text) {
        return Err(refused("a note cannot be empty", Some("azolla capture TEXT")));
    }
    Ok(text)
}

fn label_of(label: &str) -> String {
    let printable: String = label.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let one_line = printable.split_whitespace().collect::<Vec<_>>().join(" ");
    one_line.chars().take(LABEL_CHARS_MAX).collect()
}

pub(super) fn refused(what: impl Into<String>, hint: Option<&str>) -> OperatorError {
    OperatorError::Refused { what: what.into(), hint: hint.map(str::to_owned) }
}
