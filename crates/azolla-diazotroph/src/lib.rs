//! The diazotrophs: what a provider is told and how its answer is read. No store is in reach from here (B-1).

mod chat;
mod http;
pub mod provider;
mod said;
mod secret;

pub use http::check_base_url;
