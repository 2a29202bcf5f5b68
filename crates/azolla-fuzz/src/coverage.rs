//! Which edges of the code an input takes. The long form is built with counters of LLVM (`-Cpasses=sancov-module`), which
//! hands them over before `main`; without them there are none, and every input counts alike.
#![allow(unsafe_code)]

use std::sync::Mutex;

/// Where counters are, as addresses: every module hands over the same range of its program.
static RANGES: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// Called by every module that has counters, before `main`.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *mut u8) {
    let range = (start.expose_provenance(), stop.addr());
    let mut ranges = RANGES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if range.0 < range.1 && !ranges.contains(&range) {
        ranges.push(range);
    }
}

/// What was seen so far: per edge, a bit for each magnitude of how often it was taken.
#[derive(Debug)]
pub(crate) struct Coverage {
    ranges: Vec<(usize, usize)>,
    seen: Vec<u8>,
}

/// How often an edge was taken, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grain {
    /// Whether at all.
    Edge,
    /// In which magnitude.
    Count,
}

impl Coverage {
    /// Nothing seen. Counters that were counted up to now are set back.
    pub(crate) fn new() -> Self {
        let mut coverage = Self { ranges: ranges(), seen: vec![0; edges()] };
        coverage.take(Grain::Edge);
        coverage.seen.fill(0);
        coverage
    }

    /// Adds what was counted since the last call, and returns how much of it is new.
    pub(crate) fn take(&mut self, grain: Grain) -> usize {
        let mut new = 0;
        let mut at = 0;
        for (start, stop) in self.ranges.iter().copied() {
            // SAFETY: the linker made this range of bytes, they live as long as the program, and nothing but the code
            // under test, which runs on this thread and not now, writes to them.
            let counters = unsafe {
                std::slice::from_raw_parts_mut(
                    std::ptr::with_exposed_provenance_mut::<u8>(start),
                    stop - start,
                )
            };
            for block in counters.chunks_mut(64) {
                // All of them at once: most are zero.
                if block.iter().fold(0, |all, count| all | *count) != 0 {
                    for (count, seen) in block.iter_mut().zip(&mut self.seen[at..]) {
                        let bit = magnitude(std::mem::take(count), grain);
                        new += usize::from(bit & !*seen != 0);
                        *seen |= bit;
                    }
                }
                at += block.len();
            }
        }
        new
    }

    /// Returns how many edges were taken at all.
    pub(crate) fn edges_seen(&self) -> usize {
        self.seen.iter().filter(|seen| **seen != 0).count()
    }
}

/// Returns how many edges are counted.
pub(crate) fn edges() -> usize {
    ranges().iter().map(|(start, stop)| stop - start).sum()
}

fn ranges() -> Vec<(usize, usize)> {
    RANGES.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
}

fn magnitude(count: u8, grain: Grain) -> u8 {
    match (count, grain) {
        (0, _) => 0,
        (_, Grain::Edge) | (1, _) => 1,
        (2, _) => 2,
        (3, _) => 4,
        (4..8, _) => 8,
        (8..16, _) => 16,
        (16..32, _) => 32,
        (32..128, _) => 64,
        _ => 128,
    }
}
