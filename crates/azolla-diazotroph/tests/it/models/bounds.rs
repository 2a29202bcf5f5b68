//! A server that sends more than it should: bounded memory, an explicit end, no panic (T31).

use std::time::Duration;

use azolla_protocol::{FailureKind, GenerationOutcome};

use super::{
    desk::{Desk, KINDS, Kind},
    server::{Server, Step, head, status, stream, stream_then},
};

/// What a hostile server is ready to send.
const FLOOD: u64 = 600 * 1024 * 1024;

/// The most that this process may have grown by.
const MEMORY_MAX: u64 = 100 * 1024 * 1024;

/// The most memory that this process has had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// How much the peak has grown by. The kernel counts in batches, so it can seem to have shrunk.
fn grown_since(before: u64) -> u64 {
    peak().saturating_sub(before)
}

fn flood(begin: &[u8], unit: &[u8]) -> Vec<Step> {
    vec![Step::Send([head().as_slice(), begin].concat()), Step::Flood(unit.to_vec(), FLOOD)]
}

#[tokio::test(flavor = "multi_thread")]
async fn t31_a_flood_is_read_no_further_than_an_answer_can_be() {
    for kind in KINDS {
        let before = peak();
        let unit = kind.delta(&"x".repeat(1_000));
        let server = Server::start(vec![flood(kind.begin("").as_bytes(), unit.as_bytes())]).await;
        let ran = Desk::new(kind, &server).run().await;
        let reason = ran.failed(FailureKind::Other);
        assert_eq!(reason, "the answer has more than 8388608 bytes; it was read no further");
        assert_eq!(ran.counts(), (1, 0));
        assert!(server.flooded() < 64 * 1024 * 1024, "{} bytes were taken", server.flooded());
        assert!(grown_since(before) < MEMORY_MAX, "{} bytes", grown_since(before));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t31_a_line_without_end_is_read_no_further_than_an_event_can_be() {
    for kind in KINDS {
        for (begin, unit) in [("data: ", "xxxxxxxx"), (": ", "x"), ("", "x"), ("data: ", "\ndata: xxxxxxxxx")]
        {
            let before = peak();
            let server = Server::start(vec![flood(begin.as_bytes(), unit.as_bytes())]).await;
            let reason = Desk::new(kind, &server).run().await.failed(FailureKind::Other);
            assert_eq!(reason, "an event of the answer has more than 9437184 bytes; it was read no further");
            assert!(grown_since(before) < MEMORY_MAX, "{} bytes", grown_since(before));
        }
    }
}

/// T31: nothing of it is an answer, so only the budget ends it.
#[tokio::test(flavor = "multi_thread")]
async fn t31_noise_without_end_takes_no_memory_and_the_budget_ends_it() {
    for kind in KINDS {
        let before = peak();
        let server =
            Server::start(vec![flood(b"", b": x\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n\n\n")]).await;
        let ran = Desk { remaining: Duration::from_millis(700), ..Desk::new(kind, &server) }.run().await;
        assert!(
            matches!(ran.generation.outcome, GenerationOutcome::OverBudget { .. }),
            "{:?}",
            ran.generation
        );
        assert!(ran.took < Duration::from_secs(3), "{:?}", ran.took);
        assert!(grown_since(before) < MEMORY_MAX, "{} bytes", grown_since(before));
    }
}

/// T31: it is an answer, a byte at a time, and never a whole one: neither its size nor a silence ends it.
#[tokio::test(flavor = "multi_thread")]
async fn t31_a_drip_without_end_is_ended_by_the_budget() {
    for kind in KINDS {
        let before = peak();
        let begin = [head().as_slice(), kind.begin("").as_bytes()].concat();
        let drip = vec![Step::Send(begin), Step::DripOn(kind.delta("x").into_bytes())];
        let server = Server::start(vec![drip]).await;
        let ran = Desk { remaining: Duration::from_millis(700), ..Desk::new(kind, &server) }.run().await;
        let outcome = &ran.generation.outcome;
        assert!(matches!(outcome, GenerationOutcome::OverBudget { .. }), "{outcome:?}");
        assert!(ran.took < Duration::from_secs(3), "{:?}", ran.took);
        assert!(grown_since(before) < MEMORY_MAX, "{} bytes", grown_since(before));
        // The connection is over too.
        server.left().await;
        assert_eq!(server.asked().len(), 1);
    }
}

/// T31, B-4: nobody asked for gzip, so what comes in it is no answer: neither a small one that would be a good one, nor one
/// that becomes 256 MB.
#[tokio::test(flavor = "multi_thread")]
async fn t31_a_compressed_answer_is_not_unpacked() {
    for kind in KINDS {
        for body in [gzip(&kind.answer("a patch")), bomb()] {
            let before = peak();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n\
                        connection: close\r\n\r\n";
            let server = Server::start(vec![vec![Step::Send([head.as_bytes(), &body].concat())]]).await;
            let ran = Desk::new(kind, &server).run().await;
            let reason = ran.failed(FailureKind::Other);
            assert!(
                reason.ends_with(" compresses its answers, which nobody asked for: switch that off there"),
                "{reason}"
            );
            let asked = server.asked();
            assert_eq!(asked.len(), 1, "B-4: it is not asked again");
            let head = asked[0].head.to_ascii_lowercase();
            assert!(!head.contains("accept-encoding"), "{head}");
            assert!(grown_since(before) < MEMORY_MAX, "{} bytes", grown_since(before));
        }
    }
}

/// Returns a gzip file of a text in ASCII, by the codes that are always there (RFC 1951, RFC 1952).
fn gzip(text: &str) -> Vec<u8> {
    let crc = !text.bytes().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    });
    let bits = text.bytes().flat_map(letter).chain(code(0, 7)).collect();
    let length = u32::try_from(text.len()).unwrap();
    [begun(bits).as_slice(), &crc.to_le_bytes(), &length.to_le_bytes()].concat()
}

/// Returns the beginning of a gzip file that becomes 256 MB: one letter, then copies of the 258 bytes before, 13 bits each.
fn bomb() -> Vec<u8> {
    let copy = || code(0b1100_0101, 8).chain(code(0, 5));
    begun(letter(b'x').chain((0..(1 << 28) / 258).flat_map(|_| copy())).collect())
}

fn letter(byte: u8) -> impl Iterator<Item = u8> {
    code(0x30 + byte, 8)
}

/// The bits of a code, the highest first.
fn code(value: u8, length: u32) -> impl Iterator<Item = u8> {
    (0..length).rev().map(move |bit| value >> bit & 1)
}

/// A gzip file without name and time, with one last block of these bits, the first of a byte lowest.
fn begun(bits: Vec<u8>) -> Vec<u8> {
    let bits = [vec![1, 1, 0], bits].concat();
    let bytes = bits.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit));
    [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255].into_iter().chain(bytes).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn t31_lists_in_an_event_take_the_memory_of_one_item() {
    let body =
        |item: &str| format!("data: {{\"choices\":[{}{{}}]}}\n\n", item.repeat(9_000_000 / item.len()));
    let before = peak();
    for item in ["{},", "{\"index\":1},", "{\"delta\":{}},"] {
        let server = Server::start(vec![stream(format!("{}{}", body(item), Kind::OpenAi.answer("x")))]).await;
        assert_eq!(Desk::new(Kind::OpenAi, &server).run().await.text(), "x");
    }
    let many = format!(
        "data: {{\"type\":\"later\",\"x\":[{}0]}}\n\n{}",
        "0,".repeat(4_000_000),
        Kind::Anthropic.answer("x")
    );
    let server = Server::start(vec![stream(many)]).await;
    assert_eq!(Desk::new(Kind::Anthropic, &server).run().await.text(), "x");
    // The test itself holds each body twice, at nine megabytes.
    assert!(grown_since(before) < MEMORY_MAX, "{} bytes", grown_since(before));
}

#[tokio::test(flavor = "multi_thread")]
async fn t31_an_error_without_end_is_read_no_further_than_its_beginning() {
    for kind in KINDS {
        let before = peak();
        let head = "HTTP/1.1 418 Teapot\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n";
        let answer = vec![Step::Send(head.into()), Step::Flood(b"short and stout ".to_vec(), FLOOD)];
        let server = Server::start(vec![answer]).await;
        let reason = Desk::new(kind, &server).run().await.failed(FailureKind::Other);
        assert!(reason.contains("(418): short and stout") && reason.len() < 500, "{reason}");
        assert!(server.flooded() < 64 * 1024 * 1024 && grown_since(before) < MEMORY_MAX);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t31_headers_without_end_are_a_failure_in_passing() {
    for kind in KINDS {
        let answer = vec![
            Step::Send(b"HTTP/1.1 200 OK\r\n".to_vec()),
            Step::Flood(b"x-more: yes\r\n".to_vec(), FLOOD),
        ];
        let server = Server::start(vec![answer]).await;
        let before = peak();
        let ran = Desk { retries_max: 1, ..Desk::new(kind, &server) }.run().await;
        ran.failed(FailureKind::Retries);
        assert!(grown_since(before) < MEMORY_MAX, "{} bytes", grown_since(before));
    }
}

#[tokio::test]
async fn t31_bytes_that_are_no_http_are_a_failure_in_passing() {
    for kind in KINDS {
        for bytes in [&b"\x00\x01\x02\xff\r\n\r\n"[..], b"HTTP/9.9 200\r\n\r\n", b"SSH-2.0-OpenSSH\r\n"] {
            let server = Server::start(vec![vec![Step::Send(bytes.to_vec())]]).await;
            Desk { retries_max: 1, ..Desk::new(kind, &server) }.run().await.failed(FailureKind::Retries);
        }
    }
}

#[tokio::test]
async fn t31_deep_json_is_a_failure_wherever_it_stands() {
    let deep = format!("{}1{}", "[".repeat(50_000), "]".repeat(50_000));
    for kind in KINDS {
        let server = Server::start(vec![status(400, "", &deep)]).await;
        Desk::new(kind, &server).run().await.failed(FailureKind::Other);
        let server = Server::start(vec![stream(format!("data: {{\"error\":{deep}}}\n\n"))]).await;
        Desk { retries_max: 1, ..Desk::new(kind, &server) }.run().await.failed(FailureKind::Retries);
        let server =
            Server::start(vec![stream(format!("data: {{\"later\":{deep}}}\n\n{}", kind.answer("x")))]).await;
        assert_eq!(Desk::new(kind, &server).run().await.text(), "x", "what is not read does no harm");
    }
}

#[tokio::test]
async fn t31_an_answer_of_the_greatest_size_is_one() {
    let text = "x".repeat(8_388_608);
    for kind in KINDS {
        let server = Server::start(vec![stream_then(kind.answer(&text), Step::Hang)]).await;
        assert_eq!(Desk::new(kind, &server).run().await.text().len(), text.len());
    }
}
