//! What the pure rules take from outside: the time and fresh ids.

use crate::{IdBody, Timestamp};

/// Where `now` comes from, except for leases, which use the store's clock (C-7).
pub trait Clock: Send + Sync {
    /// Returns the present instant.
    fn now(&self) -> Timestamp;
}

/// Where fresh ids come from.
pub trait IdSource: Send + Sync {
    /// Returns a body that no earlier call returned.
    fn body(&self) -> IdBody;
}
