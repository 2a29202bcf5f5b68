//! The pages, one file each: what is read, and how it is shown.

mod change;
pub(super) mod health;
pub(super) mod home;
mod load;
pub(super) mod manifests;
pub(super) mod notes;
pub(super) mod objective;
pub(super) mod objectives;
mod result;
pub(super) mod run;
pub(super) mod runs;

#[cfg(test)]
mod tests;
