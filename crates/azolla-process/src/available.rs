//! What a sandbox comes to on a system, for `doctor`.

use std::fmt;

/// What a sandbox comes to on this system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Available {
    /// What [`Finished::sandbox_mode`](crate::Finished::sandbox_mode) says of a program that is confined here, with no
    /// network and nothing to keep.
    pub mode: String,
    /// Whether [`Sandbox::Required`] runs anything here.
    pub required: bool,
    /// Why it is not more, and what can be done; nothing where everything is there.
    pub missing: Vec<String>,
}

impl fmt::Display for Available {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.mode)?;
        for missing in &self.missing {
            write!(f, "; {missing}")?;
        }
        Ok(())
    }
}
