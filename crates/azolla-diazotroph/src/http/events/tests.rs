//! Events out of bytes, wherever those are cut.

use super::*;

const STREAM: &[u8] = "\u{feff}: ping\r\nevent: a\r\ndata: {\"x\":\"é日\"}\r\n\r\ndata:one\ndata: two\n\n\
    event: lost\n\nid: 7\nretry: 5\ndata\n\ndata: cr\r\rdata: not ended\n"
    .as_bytes();

fn read(pieces: &[&[u8]]) -> Result<Vec<(String, String)>, TooLong> {
    let mut events = Events::new(64);
    let mut found = Vec::new();
    for piece in pieces {
        let mut rest = *piece;
        while let Some(event) = events.next(&mut rest)? {
            found.push((event.name, String::from_utf8(event.data).unwrap()));
        }
        assert!(rest.is_empty());
    }
    Ok(found)
}

fn expected() -> Vec<(String, String)> {
    [("a", "{\"x\":\"é日\"}"), ("", "one\ntwo"), ("", ""), ("", "cr")]
        .map(|(name, data)| (name.to_owned(), data.to_owned()))
        .to_vec()
}

#[test]
fn t31_a_stream_reads_the_same_wherever_it_is_cut() {
    assert_eq!(read(&[STREAM]).unwrap(), expected());
    for cut in 0..=STREAM.len() {
        let (front, back) = STREAM.split_at(cut);
        assert_eq!(read(&[front, back]).unwrap(), expected(), "cut at {cut}");
    }
    let single: Vec<&[u8]> = STREAM.chunks(1).collect();
    assert_eq!(read(&single).unwrap(), expected());
}

#[test]
fn t31_an_event_without_end_is_refused_at_its_bound() {
    assert_eq!(read(&[&[b'x'; 64]]), Ok(vec![]));
    assert_eq!(read(&[&[b'x'; 65]]), Err(TooLong));
    assert_eq!(read(&[&[b'x'; 40], &[b'x'; 40]]), Err(TooLong));
    let lines = b"data: 0123456789\n".repeat(7);
    assert_eq!(read(&[&lines]), Err(TooLong));
    // Many small ones are no large one.
    let comments = b": 0123456789\n\n".repeat(100);
    assert_eq!(read(&[&comments]), Ok(vec![]));
}
