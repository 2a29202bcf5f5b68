//! How an input comes from others: a few small changes, at the level of bytes, numbers, words and lines.

use std::ops::Range;

use crate::chance::Chance;

/// Changes of one kind of input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mutator<'a> {
    /// Words of the format.
    pub(crate) words: &'a [&'a str],
    /// The most bytes of an input.
    pub(crate) bytes_max: usize,
}

/// Bytes at which formats and numbers turn.
const BYTES: [u8; 16] = [0, 1, 9, 10, 13, 27, 32, b'"', b'/', b'\\', b':', b'[', 0x7f, 0x80, 0xc2, 0xff];

/// Numbers at which sizes, counts and times turn.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "255",
    "256",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740991",
    "9007199254740992",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "1e400",
    "1e-400",
    "0.5",
    "00",
];

/// Characters that are several bytes, take no column or two, turn text or mean something to a file system.
const CHARACTERS: &[&str] = &[
    "\u{0}",
    "\u{1b}",
    "\u{7f}",
    "\u{85}",
    "\u{9b}",
    "\u{a0}",
    "\u{ad}",
    "é",
    "e\u{301}",
    "\u{130}",
    "\u{131}",
    "\u{17f}",
    "\u{200b}",
    "\u{200c}",
    "\u{200d}",
    "\u{200f}",
    "\u{2028}",
    "\u{202e}",
    "\u{2066}",
    "\u{212a}",
    "\u{fe0f}",
    "\u{feff}",
    "\u{ff0e}",
    "\u{fffd}",
    "漢",
    "👩\u{200d}🔧",
    "🇩🇪",
    "👍🏽",
    "\u{e0041}",
    "\u{10ffff}",
];

impl Mutator<'_> {
    /// Returns a child of `parent`, with parts of `other` where they are spliced.
    pub(crate) fn child(&self, chance: &mut Chance, parent: &[u8], other: &[u8]) -> Vec<u8> {
        let mut child = parent.to_vec();
        // Mostly few: an input that is changed everywhere is refused at its first byte.
        let most = 1 << chance.below(4);
        let steps = 1 + chance.below(most);
        for _ in 0..steps {
            self.step(chance, &mut child, other);
            child.truncate(self.bytes_max);
        }
        child
    }

    fn step(&self, chance: &mut Chance, child: &mut Vec<u8>, other: &[u8]) {
        let at = chance.below(child.len() + 1);
        match chance.below(16) {
            0 => {
                if let Some(byte) = child.get_mut(at) {
                    *byte ^= 1 << chance.below(8);
                }
            }
            1 => {
                if let Some(byte) = child.get_mut(at) {
                    *byte = BYTES[chance.below(BYTES.len())];
                }
            }
            2 => child.insert(at, (chance.next() & 0xff) as u8),
            3 => insert(child, at, chance.pick(CHARACTERS).as_bytes()),
            4 => drop(child.drain(chance.range(child.len()))),
            5 => {
                let part = child[chance.range(child.len())].to_vec();
                insert(child, at, &part);
            }
            6 => {
                let part = child[chance.range(child.len())].to_vec();
                let end = (at + part.len()).min(child.len());
                child.splice(at..end, part);
            }
            // Many times the same: what is quadratic shows.
            7 => {
                let part = child[chance.range(child.len())].to_vec();
                let times = 1 << chance.below(8);
                let room = self.bytes_max.saturating_sub(child.len());
                let part: Vec<u8> = part.repeat(times).into_iter().take(room).collect();
                insert(child, at, &part);
            }
            8 => insert(child, at, &other[chance.range(other.len())]),
            9 => {
                let from = chance.below(other.len() + 1);
                child.truncate(at);
                child.extend_from_slice(&other[from..]);
            }
            10 | 11 if !self.words.is_empty() => insert(child, at, chance.pick(self.words).as_bytes()),
            12 if !self.words.is_empty() => {
                let range = chance.range(child.len());
                child.splice(range, chance.pick(self.words).bytes());
            }
            13 => {
                let number = digits(child, at);
                child.splice(number, chance.pick(NUMBERS).bytes());
            }
            14 => lines(chance, child),
            _ => {
                let part = chance.range(child.len());
                child[part]
                    .iter_mut()
                    .for_each(|byte| *byte ^= if byte.is_ascii_alphabetic() { 0x20 } else { 0 });
            }
        }
    }
}

fn insert(child: &mut Vec<u8>, at: usize, part: &[u8]) {
    child.splice(at..at, part.iter().copied());
}

/// Returns where the next number after `at` is; nothing at `at` if there is none.
fn digits(child: &[u8], at: usize) -> Range<usize> {
    let Some(start) = child[at..].iter().position(u8::is_ascii_digit).map(|from| at + from) else {
        return at..at;
    };
    let length = child[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    start..start + length
}

/// Doubles a line, takes one out or puts one elsewhere.
fn lines(chance: &mut Chance, child: &mut Vec<u8>) {
    let mut all: Vec<Vec<u8>> = child.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if all.is_empty() {
        return;
    }
    let (from, to) = (chance.below(all.len()), chance.below(all.len()));
    match chance.below(3) {
        0 => drop(all.remove(from)),
        1 => all.insert(to, all[from].clone()),
        _ => all.swap(from, to),
    }
    *child = all.concat();
}
