//! The Exchange Membrane: the only door between what diazotrophs yield and the Substrate, and the only one through which
//! other azollas read it (PROTOCOL.md section 9).

pub mod gates;
pub mod peers;
pub mod query;
