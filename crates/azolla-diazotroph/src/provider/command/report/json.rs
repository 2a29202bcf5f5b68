//! Single values out of JSON that may be anything: what is of another kind than expected counts as not there.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// A field that is looked at later, or never: it costs no memory of its own.
pub(super) type Raw<'a> = Option<&'a RawValue>;

/// Returns the field as this type.
pub(super) fn get<T: DeserializeOwned>(raw: Raw<'_>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

/// Returns a count.
pub(super) fn count(raw: Raw<'_>) -> u64 {
    get(raw).unwrap_or(0)
}

/// Returns an amount of US dollars in millionths.
pub(super) fn microusd(raw: Raw<'_>) -> Option<u64> {
    in_microusd(get(raw)?)
}

/// Returns an amount of US dollars in millionths, if it is one.
pub(super) fn in_microusd(dollars: f64) -> Option<u64> {
    // Above a billion it is no price, and the conversion stays exact.
    (0.0..=1e9).contains(&dollars).then(|| (dollars * 1e6).round() as u64)
}
