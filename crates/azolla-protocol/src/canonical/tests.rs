//! The canonical text against a second implementation of RFC 8785, which is slower.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::Value;

use super::canonical;

/// Every kind of JSON value, with keys that sort differently in UTF-8 and UTF-16, and keys that have to be escaped.
fn any_json() -> impl Strategy<Value = Value> {
    let key = "[a-c\"\\\\\n\u{1}é\u{fb33}\u{1f600}]{0,3}";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-100..100_i64).prop_map(|number| Value::from(number as f64)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map(key, inner, 0..6).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a4_the_text_is_that_of_another_implementation(value in any_json()) {
        prop_assert_eq!(canonical(&value).unwrap(), serde_json_canonicalizer::to_string(&value).unwrap());
    }
}

#[test]
fn a4_fields_of_a_type_are_put_in_order_at_every_depth() {
    #[derive(Serialize)]
    struct Outer {
        zeta: Inner,
        alpha: u128,
        mid: [Inner; 2],
    }
    #[derive(Clone, Copy, Serialize)]
    struct Inner {
        b: i8,
        a: f32,
    }
    let inner = Inner { b: -1, a: 0.5 };
    let outer = Outer { zeta: inner, alpha: u128::MAX, mid: [inner; 2] };
    assert_eq!(
        canonical(&outer).unwrap(),
        r#"{"alpha":3.402823669209385e+38,"mid":[{"a":0.5,"b":-1},{"a":0.5,"b":-1}],"zeta":{"a":0.5,"b":-1}}"#
    );
}

#[test]
fn a4_a_key_given_twice_is_refused() {
    #[derive(Serialize)]
    struct Twice {
        b: u8,
        a: u8,
        #[serde(flatten)]
        more: BTreeMap<&'static str, u8>,
    }
    let twice = Twice { b: 1, a: 2, more: [("b", 3)].into() };
    assert!(canonical(&twice).unwrap_err().to_string().contains("duplicate object key"));
}
