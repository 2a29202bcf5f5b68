//! Closed sets of names: a Rust enum and the texts that the schemas list, written once.

use crate::excerpt::excerpt;

/// A name that is in none of the places where a closed set of names is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{shown}\" is not one of {allowed}")]
pub struct UnknownName {
    shown: String,
    allowed: String,
}

impl UnknownName {
    pub(crate) fn new(text: &str, allowed: impl Iterator<Item = &'static str>) -> Self {
        Self { shown: excerpt(text), allowed: allowed.collect::<Vec<_>>().join(", ") }
    }
}

/// Defines an enum whose variants serialize to the given texts, in the order of the protocol.
macro_rules! named_enum {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident { $($(#[$variant_attribute:meta])* $variant:ident = $text:literal,)+ }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_attribute])* $variant,)+
        }

        impl $name {
            /// Every value, in the order of the protocol.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the text by which artifacts name this value.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err($crate::UnknownName::new(text, Self::ALL.iter().map(|name| name.as_str()))),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use named_enum;
