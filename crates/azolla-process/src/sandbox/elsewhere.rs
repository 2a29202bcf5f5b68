//! Systems that have neither bubblewrap nor Landlock: a program is not confined, and that is what is recorded.

use std::io;

use crate::{Available, Bounds, Program, Sandbox};

const WHY: &str = "programs are confined on Linux only";

/// How a program is confined.
pub(crate) struct Confined {
    /// In words.
    pub(crate) mode: String,
}

impl Confined {
    /// Returns what is behind an error in starting the program that has to do with its sandbox.
    pub(crate) fn explain(&self, _program: &Program, _error: &io::Error) -> Option<String> {
        None
    }
}

/// What this system has to confine a program with.
#[derive(Clone)]
pub(crate) struct Layers;

impl Layers {
    pub(crate) async fn here() -> Self {
        Self
    }

    pub(crate) fn none() -> Self {
        Self
    }

    /// Refuses where anything is required.
    pub(crate) fn confine(&self, _program: &Program, bounds: &Bounds) -> io::Result<Confined> {
        match bounds.sandbox {
            Sandbox::Off | Sandbox::BestEffort(_) => Ok(Confined { mode: "off".to_owned() }),
            Sandbox::Required(_) => {
                let text =
                    format!("a sandbox is required, and {WHY}; set [sandbox] mode to off or best-effort");
                Err(io::Error::new(io::ErrorKind::Unsupported, text))
            }
        }
    }
}

/// Returns what a sandbox comes to here: nothing.
pub async fn available() -> Available {
    Available { mode: "off".to_owned(), required: false, missing: vec![WHY.to_owned()] }
}
