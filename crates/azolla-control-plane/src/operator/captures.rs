//! The operator's notes: the one door for captures, and what can be done with one by hand (TF-7, S-4).

use azolla_protocol::{CaptureBuffer, CaptureId, CaptureStatus, ObjectiveType, Validated};
use azolla_substrate::Write;

use super::{Operator, OperatorError, TRIES_MAX};

/// The most bytes of a note.
const NOTE_BYTES_MAX: usize = 1024 * 1024;

/// The most characters of a label.
const LABEL_CHARS_MAX: usize = 200;

impl Operator<'_> {
    /// Stores a note, byte for byte, and returns its id. Every surface that takes notes comes through here. A label
    /// says where it came from; it is made one line of at most 200 characters.
    pub async fn capture(&self, note: &[u8], label: &str) -> Result<CaptureId, OperatorError> {
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
            match self.commit(Write::InsertCapture(Validated::new(capture)?)).await {
                // Somebody has that id already: an id is never given twice (T37).
                Err(taken) if taken.is_refused_by("A-2") => {}
                done => return Ok(done.map(|()| capture_id)?),
            }
        }
        Err(refused("no fresh id was found for the note", None))
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
        let what = format!("a note has at most 1 MiB ({NOTE_BYTES_MAX} bytes); this one has {}", note.len());
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
    if text.trim().is_empty() {
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
