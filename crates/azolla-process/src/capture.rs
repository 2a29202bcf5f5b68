//! The kept part of a stream, in no more memory than was asked for.

use crate::{Capture, Captured};

#[cfg(test)]
mod tests;

/// Takes a stream piece by piece and keeps what [`Capture`] says.
pub(crate) struct Sink {
    capture: Capture,
    bytes: Vec<u8>,
    /// Where a full tail begins: it is overwritten in a circle.
    start: usize,
    total: u64,
}

impl Sink {
    pub(crate) fn new(capture: Capture) -> Self {
        Self { capture, bytes: Vec::new(), start: 0, total: 0 }
    }

    /// Takes the next piece.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.total += piece.len() as u64;
        match self.capture {
            Capture::All(limit) | Capture::Head(limit) => {
                let _dropped = self.fill(piece, limit);
            }
            Capture::Tail(limit) => self.circle(piece, limit),
        }
    }

    /// Whether the stream has more than [`Capture::All`] allows.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.capture, Capture::All(limit) if self.total > limit as u64)
    }

    /// Returns what was kept, in order.
    pub(crate) fn finish(mut self) -> Captured {
        self.bytes.rotate_left(self.start);
        Captured { bytes: self.bytes, total: self.total }
    }

    /// Keeps what of `piece` fits, and returns the rest.
    fn fill<'a>(&mut self, piece: &'a [u8], limit: usize) -> &'a [u8] {
        let (kept, rest) = piece.split_at(piece.len().min(limit - self.bytes.len()));
        let length = self.bytes.len() + kept.len();
        if length > self.bytes.capacity() {
            // Doubling as a vector does, but never past the limit.
            let capacity = length.max(limit.min(2 * self.bytes.capacity()));
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend_from_slice(kept);
        rest
    }

    fn circle(&mut self, piece: &[u8], limit: usize) {
        // Only the end of a long piece can survive it.
        let piece = &piece[piece.len().saturating_sub(limit)..];
        let rest = self.fill(piece, limit);
        let (to_the_end, from_the_front) = rest.split_at(rest.len().min(limit - self.start));
        self.bytes[self.start..][..to_the_end.len()].copy_from_slice(to_the_end);
        self.bytes[..from_the_front.len()].copy_from_slice(from_the_front);
        self.start = (self.start + rest.len()).checked_rem(limit).unwrap_or(0);
    }
}
