//! Every value of every type satisfies its schema and survives its document.

use std::fmt::Debug;

use azolla_protocol::{Artifact, Validated, canonical};
use proptest::prelude::*;

use crate::strategies;

fn survives<T: Artifact + Clone + PartialEq + Debug>(value: T) -> Result<(), TestCaseError> {
    let validated = Validated::new(value.clone()).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(&*validated, &value);
    prop_assert_eq!(validated.document(), canonical(&value).unwrap());
    let read_back = Validated::<T>::parse(validated.document().as_bytes());
    prop_assert_eq!(read_back.as_ref(), Ok(&validated));
    let from_value = Validated::<T>::from_value(serde_json::to_value(&value).unwrap());
    prop_assert_eq!(from_value.as_ref(), Ok(&validated));
    Ok(())
}

macro_rules! round_trips {
    ($($test:ident $strategy:ident,)+) => {
        proptest! {
            $(#[test] fn $test(value in strategies::$strategy()) { survives(value)?; })+
        }
    };
}

round_trips! {
    a4_a5_objective objective,
    a4_a5_blocker_ref blocker_ref,
    a4_a5_capture_buffer capture_buffer,
    a4_a5_event event,
    a4_a5_context_snapshot context_snapshot,
    a4_a5_workorder workorder,
    a4_a5_output_bundle output_bundle,
    a4_a5_run_record run_record,
    a4_a5_pause_state pause_state,
    a4_a5_session_manifest session_manifest,
    a4_a5_claim_record claim_record,
    a4_a5_substrate_query substrate_query,
    a4_a5_substrate_query_response substrate_query_response,
    a4_a5_candidate_resolution candidate_resolution,
    a4_a5_gate_evidence gate_evidence,
    a4_a5_usage_record usage_record,
    a4_a5_journal journal_entry,
}
