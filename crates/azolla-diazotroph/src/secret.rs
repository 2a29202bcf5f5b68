//! A key, kept out of everything that is printed (T29).

use std::fmt;

/// A key and where it came from. It is overwritten when it is dropped, and `Debug` shows the place alone.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    value: String,
    source: String,
}

impl Secret {
    /// Takes a key, without blanks around it, and the name of the variable or file that it was read from.
    pub fn new(mut value: String, source: impl Into<String>) -> Self {
        value.truncate(value.trim_end().len());
        let blanks = value.len() - value.trim_start().len();
        value.drain(..blanks);
        Self { value, source: source.into() }
    }

    /// Returns where it came from, for the operator.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the key itself: for the header of a request, and to find it in what a server says.
    pub(crate) fn expose(&self) -> &str {
        &self.value
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret(from {})", self.source)
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.value).into_bytes();
        bytes.fill(0);
        // Read afterwards, so that the overwriting is not optimised away.
        std::hint::black_box(&bytes);
    }
}
