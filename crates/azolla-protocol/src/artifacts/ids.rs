//! Ids: a newtype per kind, `<prefix>-<body>`, one allow-list for all (`[a-z]{2,4}-[a-z0-9-]{1,60}`).
//!
//! A derived id reuses the body of the id that it comes from, so that idempotence is a unique key (W-5).

use std::fmt;

use crate::Timestamp;
use crate::excerpt::excerpt;

/// The most characters after the prefix and its `-`.
const BODY_CHARS_MAX: usize = 60;

/// A text that is not an id of the expected kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{shown}\" is not an id of the form {prefix}-…, with 1 to 60 of a-z, 0-9 and - after the prefix")]
pub struct InvalidId {
    prefix: &'static str,
    shown: String,
}

macro_rules! ids {
    ($($(#[$attribute:meta])* $name:ident = $prefix:literal,)+) => {$(
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// What stands before the first `-`.
            pub const PREFIX: &'static str = $prefix;

            /// Returns the id, or refuses a text with another prefix or outside the allow-list.
            pub fn new(text: impl Into<String>) -> Result<Self, InvalidId> {
                let text = text.into();
                if is_id(&text, $prefix) { Ok(Self(text)) } else { Err(invalid(&text, $prefix)) }
            }

            /// Returns the id with a fresh body.
            pub fn from_body(body: &IdBody) -> Self {
                Self::with_body(body.as_str())
            }

            /// Returns what follows the first `-`.
            pub fn body(&self) -> &str {
                &self.0[$prefix.len() + 1..]
            }

            /// Returns the whole text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            // For bodies that come out of a checked id or an `IdBody`.
            fn with_body(body: &str) -> Self {
                Self(format!(concat!($prefix, "-{}"), body))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                Self::new(text).map_err(serde::de::Error::custom)
            }
        }
    )+};
}

ids! {
    /// Names an azolla of the static registry (Y-1).
    AzollaId = "az",
    /// Names an objective.
    ObjectiveId = "obj",
    /// Names a blocker_ref of an objective.
    BlockerId = "blk",
    /// Names a capture_buffer.
    CaptureId = "cap",
    /// Names an event.
    EventId = "evt",
    /// Names a context_snapshot.
    SnapshotId = "snap",
    /// Names a workorder.
    WorkOrderId = "wo",
    /// Names an output_bundle.
    OutputId = "out",
    /// Names a run_record and its gate_evidence.
    RunId = "run",
    /// Names a session_manifest.
    ManifestId = "man",
    /// Names a substrate_query.
    QueryId = "qry",
    /// Names a substrate_query_response.
    ResponseId = "rsp",
    /// Names one start of one process, as the holder of claims (C-4).
    OwnerId = "own",
    /// Names one commit to a Substrate, so that an unknown outcome can be read back (C-9).
    CommitId = "com",
}

impl EventId {
    /// Returns the id of the event for the `n`th entry of `objective` into TODO (W-1).
    pub fn for_entry(objective: &ObjectiveId, n: u64) -> Result<Self, InvalidId> {
        Self::new(format!("evt-{}-{n}", objective.body()))
    }

    /// Returns the id of the event for the `n`th triage attempt of `capture` (W-2).
    pub fn for_attempt(capture: &CaptureId, n: u64) -> Result<Self, InvalidId> {
        Self::new(format!("evt-{}-{n}", capture.body()))
    }
}

impl SnapshotId {
    /// Returns the id of the one snapshot built for `event`.
    pub fn of(event: &EventId) -> Self {
        Self::with_body(event.body())
    }
}

impl WorkOrderId {
    /// Returns the id of the one workorder created for `event` (W-5).
    pub fn of(event: &EventId) -> Self {
        Self::with_body(event.body())
    }
}

impl OutputId {
    /// Returns the id of the one bundle of `workorder` (B-3).
    pub fn of(workorder: &WorkOrderId) -> Self {
        Self::with_body(workorder.body())
    }
}

impl RunId {
    /// Returns the id of the one run record of `workorder` (W-5).
    pub fn of(workorder: &WorkOrderId) -> Self {
        Self::with_body(workorder.body())
    }
}

impl ManifestId {
    /// Returns the id of the one manifest of `workorder`.
    pub fn of(workorder: &WorkOrderId) -> Self {
        Self::with_body(workorder.body())
    }
}

impl ObjectiveId {
    /// Returns the id of the objective promoted from a candidate of `output`, the same at every try (TF-8).
    pub fn promoted(output: &OutputId, candidate_index: u64) -> Result<Self, InvalidId> {
        Self::new(format!("obj-{}-{candidate_index}", output.body()))
    }
}

/// The body of a fresh id: 12 lowercase Crockford base32 characters, which sort by time of creation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdBody([u8; 12]);

impl IdBody {
    /// 2026-01-01T00:00:00.000Z.
    const EPOCH_MS: i64 = 1_767_225_600_000;
    const TIME_MAX: u64 = (1 << 40) - 1;
    const RANDOM_BITS: u32 = 20;
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

    /// Returns 40 bits of milliseconds since 2026-01-01, held at both ends, then the low 20 bits of `random`.
    pub fn new(at: Timestamp, random: u32) -> Self {
        let since = u64::try_from(at.as_millisecond() - Self::EPOCH_MS).unwrap_or(0).min(Self::TIME_MAX);
        let random = u64::from(random) & ((1 << Self::RANDOM_BITS) - 1);
        let bits = since << Self::RANDOM_BITS | random;
        Self(std::array::from_fn(|i| Self::ALPHABET[(bits >> (55 - 5 * i) & 31) as usize]))
    }

    /// Returns the 12 characters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("the alphabet is ASCII")
    }
}

impl fmt::Display for IdBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for IdBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdBody({self})")
    }
}

fn is_id(text: &str, prefix: &str) -> bool {
    let Some(body) = text.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('-')) else {
        return false;
    };
    (1..=BODY_CHARS_MAX).contains(&body.len())
        && body.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

fn invalid(text: &str, prefix: &'static str) -> InvalidId {
    InvalidId { prefix, shown: excerpt(text) }
}

#[cfg(test)]
mod tests;
