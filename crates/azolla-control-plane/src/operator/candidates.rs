//! How the candidates of a triage are named.

use std::{fmt, str::FromStr};

use azolla_protocol::{InvalidId, OutputId};

/// One candidate of one triage bundle. Written `out-…/1` for the first one, and read back from that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidateRef {
    /// The bundle.
    pub output_id: OutputId,
    /// Its place in it, from 0.
    pub index: u64,
}

impl fmt::Display for CandidateRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.output_id, self.index.saturating_add(1))
    }
}

impl FromStr for CandidateRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text} is no candidate: one is written out-…/1");
        let (output_id, number) = text.split_once('/').ok_or_else(wrong)?;
        let output_id = OutputId::new(output_id).map_err(|error: InvalidId| error.to_string())?;
        let number: u64 = number.parse().map_err(|_| wrong())?;
        Ok(Self { output_id, index: number.checked_sub(1).ok_or_else(wrong)? })
    }
}
