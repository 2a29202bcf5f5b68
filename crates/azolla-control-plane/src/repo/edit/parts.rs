//! How many parts an answer may have: hunks, chunks, blocks and files that are given whole.

use crate::repo::refusal::Refusal;

/// Parts of one answer. A part of a few bytes takes hundreds once it is read (T12, T13), so they are counted before they
/// are kept.
pub(super) const PARTS_MAX: usize = 10_000;

/// The parts that were read so far.
#[derive(Debug, Default)]
pub(super) struct Parts {
    count: usize,
}

impl Parts {
    /// Counts one more.
    pub(super) fn add(&mut self) -> Result<(), Refusal> {
        self.add_all(1)
    }

    /// Counts several more.
    pub(super) fn add_all(&mut self, parts: usize) -> Result<(), Refusal> {
        self.count = self.count.saturating_add(parts);
        if self.count > PARTS_MAX {
            return Err(Refusal::whole(format!(
                "the answer has more than {PARTS_MAX} hunks or blocks; give larger ones, or whole files"
            )));
        }
        Ok(())
    }
}
