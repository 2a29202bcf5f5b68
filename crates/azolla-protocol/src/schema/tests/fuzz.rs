//! A target of P10: artifacts as documents. What the schema lets through the type takes, and the other way round it is written
//! as what it was read from, once and for all.

use azolla_fuzz::{Target, Verdict};

use super::*;

const WORDS: &[&str] = &[
    "null",
    "true",
    "false",
    "[]",
    "{}",
    ",",
    ":",
    "\"",
    "0",
    "-0",
    "-0.0",
    "1.0",
    "1e2",
    "1e-7",
    "9007199254740991",
    "0.1",
    "9007199254740993",
    "\"objective_id\":\"obj-1\"",
    "\"work_order_id\":\"wo-1\"",
    "\"event_id\":\"evt-1\"",
    "\"status\":\"TODO\"",
    "\"2026-11-01T08:00:00.000Z\"",
    "\"0000-01-01T00:00:00.000Z\"",
    "\"9999-12-31T23:59:59.999Z\"",
    "\"2026-02-30T00:00:00.000Z\"",
    "\"2026-11-01T23:59:60.000Z\"",
    "\"metadata\":{}",
    "\"metadata\":{\"a\":{\"b\":[1]}}",
    "\"filter\":{\"limit\":1}",
    "\"results\":[{}]",
    "\"detail\":{}",
    "\"PATCH\"",
    "\"TRIAGE\"",
    "\"MANIFEST\"",
    "\"PASS\"",
    "\"FAIL\"",
    "\"CODE_PATCH_AZOLLA\"",
    "\"COMPLETED\"",
    "\"BLOCKED\"",
    "\\u0000",
    "\\ud83d\\ude00",
    "\\ud800",
    "\u{20ac}\":1",
    "\u{1f600}\":1",
    "\u{fb33}\":1",
    "\\u0080",
    "\\n",
    "x-extra",
];

#[test]
fn p10_a4_a5_schema_and_type_take_the_same_documents_and_write_them_as_they_were_read() {
    Target { name: "artifact", inputs: 4_000, bytes_max: 4_000, words: WORDS, check }.run();
}

fn check(bytes: &[u8]) -> Verdict {
    let Ok(value) = read::read(bytes) else {
        // What cannot be read strictly is an artifact of no kind.
        assert!(
            Validated::<Objective>::parse(bytes).is_err() && Validated::<JournalEntry>::parse(bytes).is_err()
        );
        return Verdict::Refused;
    };
    let text = canonical(&value).expect("what was read strictly has a canonical text");
    assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value, "{text}");
    let mut kinds = 0;
    macro_rules! each {
        ($($type:ident)+) => {$( kinds += u32::from(is::<$type>(bytes, &value, &text)); )+};
    }
    each! {
        Objective BlockerRef CaptureBuffer Event ContextSnapshot Workorder OutputBundle RunRecord PauseState SessionManifest
        ClaimRecord SubstrateQuery SubstrateQueryResponse CandidateResolution GateEvidence UsageRecord JournalEntry
    }
    assert!(kinds <= 1, "a document is of one kind: {text}");
    if kinds == 1 { Verdict::Taken } else { Verdict::Refused }
}

fn is<T: Artifact + Clone + PartialEq + std::fmt::Debug>(bytes: &[u8], value: &Value, text: &str) -> bool {
    let by_schema = super::super::check::check(T::KIND, value);
    let parsed = Validated::<T>::parse(bytes);
    assert_eq!(parsed.is_ok(), by_schema.is_ok(), "{}: {by_schema:?}, {:?}", T::KIND, parsed.err());
    let from_value = Validated::<T>::from_value(value.clone());
    assert_eq!(from_value.is_ok(), by_schema.is_ok(), "{}", T::KIND);
    let (Ok(parsed), Ok(from_value)) = (parsed, from_value) else { return false };
    assert_eq!(T::deserialize(value).expect("what validates decodes"), *parsed);
    assert_eq!(parsed.document(), text);
    assert_eq!(from_value, parsed);
    let again = Validated::<T>::parse(parsed.document().as_bytes()).expect("its own text");
    assert_eq!(again, parsed, "its own text is another document");
    // What the program writes of it is the same artifact, whether a field that is absent is written or not.
    let written = Validated::<T>::new(parsed.clone().into_inner()).expect("what was read can be written");
    assert_eq!(*written, *parsed);
    let rewritten = Validated::<T>::new(written.clone().into_inner()).expect("and written again");
    assert_eq!(rewritten, written);
    true
}
