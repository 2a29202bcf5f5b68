//! HTTP as far as a model server needs it: where a key may go (T28), one client, bounded reading (T31).

mod client;
mod endpoint;
mod events;
mod retry_after;

pub(crate) use client::{Body, Http, NotSent, causes};
pub use endpoint::check_base_url;
pub(crate) use endpoint::{Endpoint, authority};
pub(crate) use events::{Event, Events, TooLong};
pub(crate) use retry_after::retry_after;
