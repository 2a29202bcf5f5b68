//! Canonical serialization (RFC 8785), as far as stored documents rest on it (A-4).

use azolla_protocol::{SubstrateQuery, Validated, canonical};
use serde_json::{Value, json};

fn text(value: &Value) -> String {
    canonical(value).unwrap()
}

#[test]
fn a4_keys_sort_by_utf16_code_units() {
    // U+1F600 is the surrogate pair D83D DE00, so it sorts before U+FB33, unlike in UTF-8.
    let value = json!({ "\u{fb33}": 1, "\u{1f600}": 2, "é": 3, "z": 4, "a": 5, "A": 6, "": 7, "\n": 8 });
    assert_eq!(
        text(&value),
        "{\"\":7,\"\\n\":8,\"A\":6,\"a\":5,\"z\":4,\"é\":3,\"\u{1f600}\":2,\"\u{fb33}\":1}"
    );
}

#[test]
fn a4_numbers_are_written_as_ecmascript_writes_them() {
    let numbers = [
        (json!(1.0), "1"),
        (json!(-0.0), "0"),
        (json!(0.1), "0.1"),
        (json!(1e-7), "1e-7"),
        (json!(0.000001), "0.000001"),
        (json!(123456.75), "123456.75"),
        (json!(9_007_199_254_740_991_u64), "9007199254740991"),
        (json!(-9_007_199_254_740_991_i64), "-9007199254740991"),
        (json!(5e-324), "5e-324"),
    ];
    for (number, expected) in numbers {
        assert_eq!(text(&number), expected);
    }
}

#[test]
fn a4_only_what_must_be_escaped_is() {
    assert_eq!(text(&json!("\u{8}\u{c}\n\r\t\"\\/")), r#""\b\f\n\r\t\"\\/""#);
    assert_eq!(text(&json!("\u{1}\u{1f}\u{7f}é\u{2028}")), "\"\\u0001\\u001f\u{7f}é\u{2028}\"");
    assert_eq!(text(&json!("\u{1f600}")), "\"\u{1f600}\"");
}

#[test]
fn a4_no_space_and_nested_order() {
    assert_eq!(
        text(&json!({ "b": [1, { "d": null, "c": true }], "a": {} })),
        r#"{"a":{},"b":[1,{"c":true,"d":null}]}"#
    );
}

/// A-4: whatever order, spacing, escapes and number forms a document arrives in, the stored text is one.
#[test]
fn a4_two_spellings_of_a_document_are_stored_alike() {
    let plain = r#"{"artifact_type":"objective","created_at":"2026-01-02T03:04:05.006Z","filter":{"a":"é","limit":10},"query_id":"qry-1","source_azolla_id":"az-a","target_azolla_id":"az-b"}"#;
    let other = r#" { "query_id" : "qry-1", "filter" : { "limit" : 1.0e1, "a" : "\u00e9" },
        "target_azolla_id": "az-b", "source_azolla_id": "az-a", "artifact_type": "obj\u0065ctive",
        "created_at": "2026-01-02T03:04:05.006Z" } "#;
    let parse = |text: &str| Validated::<SubstrateQuery>::parse(text.as_bytes()).unwrap();
    assert_eq!(parse(plain), parse(other));
    assert_eq!(parse(other).document(), plain);
}
