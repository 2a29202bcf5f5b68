//! The Exchange Membrane: the only door between what diazotrophs yield and the Substrate (PROTOCOL.md section 9).

pub mod gates;
pub mod peers;
