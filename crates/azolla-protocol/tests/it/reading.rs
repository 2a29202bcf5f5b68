//! Bytes that are no artifact: each refused with artifact, field and rule, by every way in (A-5).

use azolla_protocol::{
    ClaimRecord, DOCUMENT_BYTES_MAX, JsonObject, OutputBundle, SubstrateQuery, Validated, ValidationError,
    canonical,
};
use serde_json::{Value, json};

fn query(filter: &str) -> String {
    format!(
        r#"{{"artifact_type":"objective","created_at":"2026-01-02T03:04:05.006Z","filter":{filter},"query_id":"qry-1","source_azolla_id":"az-a","target_azolla_id":"az-b"}}"#
    )
}

fn parse(text: &str) -> Result<Validated<SubstrateQuery>, ValidationError> {
    Validated::parse(text.as_bytes())
}

fn refusal(bytes: &[u8]) -> String {
    Validated::<SubstrateQuery>::parse(bytes).unwrap_err().to_string()
}

#[test]
fn a5_bytes_that_are_not_json_are_refused() {
    for (bytes, expected) in [
        (&b""[..], "substrate_query: must be JSON: EOF while parsing a value at line 1 column 0"),
        (b"   ", "substrate_query: must be JSON: EOF while parsing a value at line 1 column 3"),
        (b"{", "substrate_query: must be JSON: EOF while parsing an object at line 1 column 1"),
        (b"{} {}", "substrate_query: must be JSON: trailing characters at line 1 column 4"),
        (b"\xef\xbb\xbf{}", "substrate_query: must be JSON: expected value at line 1 column 1"),
        (b"nul", "substrate_query: must be JSON: EOF while parsing a value at line 1 column 3"),
        (
            b"{\"filter\":{\"a\":NaN}}",
            "substrate_query.filter.a: must be JSON: expected value at line 1 column 16",
        ),
        (
            b"{\"filter\":1e400}",
            "substrate_query.filter: must be JSON: number out of range at line 1 column 15",
        ),
        (
            b"{\"filter\":\"\xff\"}",
            "substrate_query.filter: must be JSON: invalid unicode code point at line 1 column 12",
        ),
        (
            b"{\"filter\":\"\\ud800\"}",
            "substrate_query.filter: must be JSON: unexpected end of hex escape at line 1 column 18",
        ),
    ] {
        assert_eq!(refusal(bytes), expected);
    }
}

#[test]
fn a5_json_that_is_no_object_is_refused() {
    for text in ["null", "[]", "3", "\"x\"", "true"] {
        assert!(
            refusal(text.as_bytes()).starts_with("substrate_query: must be of type object, not "),
            "{text}"
        );
    }
}

/// A-5: a document cut at any byte is refused, and nothing panics.
#[test]
fn a5_every_truncation_is_refused() {
    let whole = query(r#"{"a":["b",1.5,null,{"c":"é"}]}"#);
    assert_eq!(parse(&whole).unwrap().document(), whole);
    for end in 0..whole.len() {
        assert!(Validated::<SubstrateQuery>::parse(&whole.as_bytes()[..end]).is_err(), "cut at {end}");
    }
}

#[test]
fn a5_what_other_readers_repair_is_refused_and_named() {
    for (filter, expected) in [
        (r#"{"a":{"b":1,"b":2}}"#, "substrate_query.filter.a.b: must not be given twice"),
        (r#"{"a":{"b":1,"\u0062":1}}"#, "substrate_query.filter.a.b: must not be given twice"),
        (r#"{"a":["x","y\u0000z"]}"#, "substrate_query.filter.a[1]: must not contain U+0000"),
        (r#"{"a\u0000":1}"#, "substrate_query.filter.a\\0: must have a name without U+0000"),
        (r#"{"a":9007199254740992}"#, "substrate_query.filter.a: must be a number within ±9007199254740991"),
        (r#"{"a":-9007199254740992}"#, "substrate_query.filter.a: must be a number within ±9007199254740991"),
        (
            r#"{"a":9223372036854775808}"#,
            "substrate_query.filter.a: must be a number within ±9007199254740991",
        ),
        (
            r#"{"a":18446744073709551616}"#,
            "substrate_query.filter.a: must be a number within ±9007199254740991",
        ),
        (r#"{"a":1e300}"#, "substrate_query.filter.a: must be a number within ±9007199254740991"),
    ] {
        assert_eq!(refusal(query(filter).as_bytes()), expected, "{filter}");
    }
}

#[test]
fn a5_a_key_of_the_artifact_itself_is_refused_twice() {
    let text = query("{}").replacen('{', r#"{"query_id":"qry-0","#, 1);
    assert_eq!(refusal(text.as_bytes()), "substrate_query.query_id: must not be given twice");
}

#[test]
fn a5_numbers_up_to_the_bound_are_kept() {
    let text = query(r#"{"a":9007199254740991,"b":-9007199254740991,"c":0.5}"#);
    assert_eq!(parse(&text).unwrap().document(), text);
}

/// A-5: 64 levels, the document included; the rule holds for values too.
#[test]
fn a5_nesting_is_bounded_by_every_way_in() {
    let nested = |levels: usize| format!(r#"{{"a":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
    // Two levels are the document and its filter.
    let deepest = query(&nested(62));
    assert_eq!(parse(&deepest).unwrap().document(), deepest);
    let rule = "must be nested at most 64 deep";
    let error = parse(&query(&nested(63))).unwrap_err();
    assert!(error.field.starts_with("filter.a[0]"), "{error}");
    assert_eq!(error.rule, rule);
    assert_eq!(parse(&query(&nested(100_000))).unwrap_err().rule, rule);

    let value: Value = serde_json::from_str(&query(&nested(63))).unwrap();
    let typed: SubstrateQuery = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(Validated::<SubstrateQuery>::from_value(value).unwrap_err().rule, rule);
    assert_eq!(Validated::new(typed).unwrap_err().rule, rule);
}

fn bundle(more: JsonObject) -> OutputBundle {
    let text = include_str!("../fixtures/output_bundle/full.json");
    let mut bundle: OutputBundle = serde_json::from_str(text).unwrap();
    bundle.metadata.more = more;
    bundle
}

fn object(value: Value) -> JsonObject {
    value.as_object().unwrap().clone()
}

#[test]
fn a5_values_made_here_are_held_to_the_same_rules() {
    for (more, expected) in [
        (json!({ "a": "x\0" }), "output_bundle.metadata.a: must not contain U+0000"),
        (json!({ "a\0": 1 }), "output_bundle.metadata.a\\0: must have a name without U+0000"),
        (
            json!({ "a": [u64::MAX] }),
            "output_bundle.metadata.a[0]: must be a number within ±9007199254740991",
        ),
        (
            json!({ "elapsed_ms": 1 }),
            "output_bundle: the value has no canonical JSON text: duplicate object key",
        ),
    ] {
        let made = bundle(object(more.clone()));
        assert_eq!(Validated::new(made).unwrap_err().to_string(), expected, "{more}");
    }
    let mut value = json!(bundle(JsonObject::new()));
    value["content"] = json!("\0");
    let error = Validated::<OutputBundle>::from_value(value).unwrap_err();
    assert_eq!(error.to_string(), "output_bundle.content: must not contain U+0000");
}

/// A whole float has one text, so it becomes the integer that reads back; the value agrees with the document.
#[test]
fn a4_value_and_document_agree_on_numbers() {
    let validated = Validated::new(bundle(object(json!({ "a": 2.0, "b": -0.0, "c": 2.5 })))).unwrap();
    assert_eq!(validated.metadata.more, object(json!({ "a": 2, "b": 0, "c": 2.5 })));
    assert_eq!(Validated::parse(validated.document().as_bytes()), Ok(validated));
}

#[test]
fn a5_a_fence_beyond_exact_numbers_is_refused() {
    let text = include_str!("../fixtures/claim_record/full.json");
    let mut claim: ClaimRecord = serde_json::from_str(text).unwrap();
    assert_eq!(Validated::new(claim.clone()).unwrap().claim_version, 9_007_199_254_740_991);
    for version in [1 << 53, (1 << 53) + 1, u64::MAX] {
        claim.claim_version = version;
        let error = Validated::new(claim.clone()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "claim_record.claim_version: must be a number within ±9007199254740991"
        );
    }
}

#[test]
fn a5_eight_mebibytes_is_the_most() {
    let mut value = json!(bundle(JsonObject::new()));
    value["content"] = json!("");
    let room = DOCUMENT_BYTES_MAX - canonical(&value).unwrap().len();
    value["content"] = json!("x".repeat(room));
    let largest = canonical(&value).unwrap();
    assert_eq!(largest.len(), DOCUMENT_BYTES_MAX);
    assert_eq!(
        Validated::<OutputBundle>::parse(largest.as_bytes()).unwrap().document().len(),
        DOCUMENT_BYTES_MAX
    );

    let rule = "output_bundle: must be at most 8388608 bytes, not 8388609";
    let over = format!("{largest} ");
    assert_eq!(Validated::<OutputBundle>::parse(over.as_bytes()).unwrap_err().to_string(), rule);
    value["content"] = json!("x".repeat(room + 1));
    let typed: OutputBundle = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(Validated::new(typed).unwrap_err().to_string(), rule);
    assert_eq!(Validated::<OutputBundle>::from_value(value).unwrap_err().to_string(), rule);
}

/// Numbers such as 1e9 are longer in canonical form, and the stored text is what the bound is for.
#[test]
fn a5_the_bound_holds_for_the_stored_text_too() {
    let numbers = vec!["1e15"; 700_000].join(",");
    let text = query(&format!(r#"{{"a":[{numbers}]}}"#));
    assert!(text.len() < DOCUMENT_BYTES_MAX);
    let error = parse(&text).unwrap_err();
    assert!(error.rule.starts_with("must be at most 8388608 bytes, not 119"), "{error}");
}

proptest::proptest! {
    #[test]
    fn a5_no_bytes_cause_a_panic(bytes: Vec<u8>) {
        proptest::prop_assert!(Validated::<SubstrateQuery>::parse(&bytes).is_err());
    }

    #[test]
    fn a5_no_change_of_a_byte_causes_a_panic(place in 0_usize..180, byte: u8) {
        let mut bytes = query(r#"{"a":["b",1.5]}"#).into_bytes();
        let place = place % bytes.len();
        bytes[place] = byte;
        // What is still taken is stored as a text that is taken again.
        if let Ok(taken) = Validated::<SubstrateQuery>::parse(&bytes) {
            proptest::prop_assert_eq!(Validated::parse(taken.document().as_bytes()), Ok(taken));
        }
    }
}
