//! The pages, one file each: what is read, and how it is shown.

pub(super) mod home;
