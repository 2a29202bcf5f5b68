//! Every capture against what a reader with endless memory would keep.

use super::Sink;
use crate::{Capture, Captured};

/// Feeds a text in pieces of every size and checks each result, and the memory it took.
fn check(capture: Capture, limit: usize, expected: impl Fn(&[u8]) -> Vec<u8>) {
    let text: Vec<u8> = (0..=255).collect();
    for length in 0..text.len() {
        for size in 1..=length.max(1) {
            let mut sink = Sink::new(capture);
            text[..length].chunks(size).for_each(|piece| sink.push(piece));
            assert!(sink.bytes.capacity() <= limit, "{capture:?} holds {} bytes", sink.bytes.capacity());
            assert_eq!(sink.is_over(), matches!(capture, Capture::All(_)) && length > limit);
            let expected = Captured { bytes: expected(&text[..length]), total: length as u64 };
            assert_eq!(sink.finish(), expected, "{capture:?} of {length} bytes in pieces of {size}");
        }
    }
}

#[test]
fn a_head_is_the_first_bytes() {
    for limit in [0, 1, 7, 64, 300] {
        check(Capture::Head(limit), limit, |text| text[..text.len().min(limit)].to_vec());
        check(Capture::All(limit), limit, |text| text[..text.len().min(limit)].to_vec());
    }
}

#[test]
fn a_tail_is_the_last_bytes() {
    for limit in [0, 1, 7, 64, 300] {
        check(Capture::Tail(limit), limit, |text| text[text.len().saturating_sub(limit)..].to_vec());
    }
}
