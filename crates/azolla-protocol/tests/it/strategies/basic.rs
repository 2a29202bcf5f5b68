//! What artifacts are made of: texts, times, counts, open objects.

use azolla_protocol::{JsonObject, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

/// Any characters but U+0000: control characters, quotes, astral ones.
pub(crate) fn text(chars_max: usize) -> impl Strategy<Value = String> {
    vec(any::<char>(), 0..chars_max)
        .prop_map(|chars| chars.into_iter().filter(|char| *char != '\0').collect())
}

pub(crate) fn named() -> impl Strategy<Value = String> {
    text(20).prop_map(|text| format!("n{text}"))
}

pub(crate) fn sha() -> impl Strategy<Value = String> {
    prop_oneof!["[0-9a-f]{40}", "[0-9a-f]{64}"]
}

pub(crate) fn timestamp() -> impl Strategy<Value = Timestamp> {
    (Timestamp::MIN.as_millisecond()..=Timestamp::MAX.as_millisecond())
        .prop_map(|ms| Timestamp::from_millisecond(ms).unwrap())
}

pub(crate) fn count() -> impl Strategy<Value = u64> {
    0..=9_007_199_254_740_991_u64
}

pub(crate) fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
        // Whole floats read back as integers, so only the others are the same value again.
        (-1e12_f64..1e12).prop_filter("whole", |float| float.fract() != 0.0).prop_map(Value::from),
        text(12).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((text(6), inner), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

pub(crate) fn object() -> impl Strategy<Value = JsonObject> {
    vec((text(8).prop_map(|key| format!("x{key}")), json()), 0..4)
        .prop_map(|fields| fields.into_iter().collect())
}
