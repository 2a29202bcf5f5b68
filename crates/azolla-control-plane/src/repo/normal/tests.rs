//! How large a change is where it is stored.

use super::*;

#[test]
fn a_text_takes_as_many_bytes_as_it_is_counted_with() {
    let text: String = (0..0x250).filter_map(char::from_u32).chain("ü\u{2028}😀".chars()).collect();
    let quotes = 2;
    assert_eq!(stored_bytes(&text) + quotes, serde_json::to_string(&text).unwrap().len() as u64);
}
