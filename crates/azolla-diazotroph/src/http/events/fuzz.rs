//! A target of P10: however a stream is cut into pieces, its events are the same, and they are those of a second reading.

use azolla_fuzz::{Target, Verdict};

use super::{Event, Events, TooLong};

const WORDS: &[&str] = &[
    "data:",
    "data: ",
    "event:",
    "event: ping",
    "id: 1",
    "retry: 5",
    ":",
    ": keep-alive",
    "\n",
    "\n\n",
    "\r",
    "\r\n",
    "\r\r",
    "\n\r",
    "\u{feff}",
    "data",
    "datas:",
    "[DONE]",
    "{\"type\":\"message_stop\"}",
];

/// Small, so that inputs reach it.
const BYTES_MAX: usize = 200;

#[test]
fn p10_t31_events_are_the_same_however_their_bytes_arrive() {
    Target { name: "stream", inputs: 7_000, bytes_max: 1_000, words: WORDS, check }.run();
}

fn check(bytes: &[u8]) -> Verdict {
    let whole = read([bytes]);
    assert_eq!(read(bytes.chunks(1)), whole, "byte by byte");
    for size in [2, 3, 7, 64] {
        assert_eq!(read(bytes.chunks(size)), whole, "in pieces of {size}");
    }
    for at in cuts(bytes) {
        let (begin, end) = bytes.split_at(at);
        assert_eq!(read([begin, end]), whole, "cut at {at}");
        assert_eq!(read([begin, &[], end]), whole, "cut at {at}, with nothing between");
    }
    let (events, ended) = whole;
    assert!(events.iter().all(|event| event.data.len() <= BYTES_MAX && event.name.len() <= 3 * BYTES_MAX));
    let again = second_reading(bytes);
    match ended {
        Ok(()) => assert_eq!(events, again),
        // What came before the one that is too long is not lost.
        Err(TooLong) => assert_eq!(events, again[..events.len()]),
    }
    if events.is_empty() { Verdict::Refused } else { Verdict::Taken }
}

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Event>, Result<(), TooLong>) {
    let (mut reader, mut events) = (Events::new(BYTES_MAX), Vec::new());
    for mut piece in pieces {
        loop {
            match reader.next(&mut piece) {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(too_long) => return (events, Err(too_long)),
            }
        }
        assert!(piece.is_empty(), "bytes are left over");
    }
    (events, Ok(()))
}

/// Returns a few places, from the bytes themselves.
fn cuts(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let length = bytes.len();
    let sum = bytes.iter().fold(17_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into()));
    let ends =
        bytes.iter().enumerate().filter(|(_, byte)| matches!(byte, b'\r' | b'\n')).map(|(at, _)| at + 1);
    let ends: Vec<usize> = ends.take(8).collect();
    ends.into_iter().chain([sum % (length + 1), sum / 7 % (length + 1)])
}

/// The event stream of the HTML standard, read from a whole text: lines first, then fields.
fn second_reading(bytes: &[u8]) -> Vec<Event> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut lines: Vec<Vec<u8>> = vec![Vec::new()];
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'\r', Some(b'\n')) => {
                lines.push(Vec::new());
                at += 1;
            }
            (b'\r' | b'\n', _) => lines.push(Vec::new()),
            (byte, _) => lines.last_mut().expect("there is one").push(byte),
        }
        at += 1;
    }
    // What has no end is not there yet.
    lines.pop();
    let (mut events, mut name, mut data): (Vec<Event>, String, Vec<Vec<u8>>) = Default::default();
    for line in lines {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let field = parts.next().unwrap_or_default();
        let value = parts.next().unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        if line.is_empty() {
            if !data.is_empty() {
                events.push(Event { name: std::mem::take(&mut name), data: data.join(&b'\n') });
            }
            name.clear();
            data.clear();
        } else if field == b"data" {
            data.push(value.to_vec());
        } else if field == b"event" {
            name = String::from_utf8_lossy(value).into_owned();
        }
    }
    events
}
