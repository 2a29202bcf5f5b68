//! The providers that speak HTTP, against a real server on loopback that answers with exact bytes.

mod bounds;
mod desk;
mod endings;
mod money;
mod places;
mod probes;
mod real;
mod retries;
mod secrets;
mod server;
mod streams;
mod structured;
mod without_files;
