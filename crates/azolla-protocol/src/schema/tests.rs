//! Schema and type, held to each other: subjects of every kind, with the decoder and the schema apart.

mod agreement;
mod fuzz;
mod refusals;

use serde::de::{Deserializer, Error, Visitor};
use serde_json::Value;

use super::*;

/// One kind of artifact, seen from both sides.
struct Subject {
    kind: ArtifactKind,
    /// Every field present.
    full: Value,
    /// Every field absent or null that may be.
    sparse: Value,
    /// The field names that the type reads.
    fields: &'static [&'static str],
    /// The type alone, without its schema.
    decodes: fn(&Value) -> bool,
    validate: fn(&Value) -> Result<String, ValidationError>,
}

macro_rules! subjects {
    ($($type:ident $name:literal,)+) => {
        fn subjects() -> Vec<Subject> {
            vec![$(Subject {
                kind: <$type as Artifact>::KIND,
                full: fixture(include_str!(concat!("../../tests/fixtures/", $name, "/full.json"))),
                sparse: fixture(include_str!(concat!("../../tests/fixtures/", $name, "/sparse.json"))),
                fields: fields_of::<$type>(),
                decodes: |document| <$type as serde::Deserialize>::deserialize(document).is_ok(),
                validate: |document| {
                    let bytes = serde_json::to_vec(document).unwrap();
                    Validated::<$type>::parse(&bytes).map(|artifact| artifact.document().to_owned())
                },
            },)+]
        }
    };
}

subjects! {
    Objective "objective",
    BlockerRef "blocker_ref",
    CaptureBuffer "capture_buffer",
    Event "event",
    ContextSnapshot "context_snapshot",
    Workorder "workorder",
    OutputBundle "output_bundle",
    RunRecord "run_record",
    PauseState "pause_state",
    SessionManifest "session_manifest",
    ClaimRecord "claim_record",
    SubstrateQuery "substrate_query",
    SubstrateQueryResponse "substrate_query_response",
    CandidateResolution "candidate_resolution",
    GateEvidence "gate_evidence",
    UsageRecord "usage_record",
    JournalEntry "journal",
}

fn fixture(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn schema(kind: ArtifactKind) -> Value {
    serde_json::from_str(kind.schema_text()).unwrap()
}

/// Returns the field names that a struct asks its deserializer for.
fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    struct Asked<'a>(&'a mut &'static [&'static str]);

    impl<'de> Deserializer<'de> for Asked<'_> {
        type Error = serde_json::Error;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
            Err(Error::custom("not a struct"))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, Self::Error> {
            *self.0 = fields;
            Err(Error::custom("asked"))
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    let mut fields: &[&str] = &[];
    assert!(T::deserialize(Asked(&mut fields)).is_err());
    fields
}
