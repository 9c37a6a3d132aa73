//! What every type that is written as text has in common.

/// Derives `TryFrom`, `Serialize` and `Deserialize` from `FromStr` and `Display`.
///
/// Reading a value from the wire goes through the same door as parsing it, so an invalid one cannot be made by
/// deserialising.
macro_rules! text_forms {
    ($type:ty, $error:ty) => {
        impl TryFrom<&str> for $type {
            type Error = $error;

            fn try_from(raw: &str) -> Result<Self, $error> {
                raw.parse()
            }
        }

        impl TryFrom<String> for $type {
            type Error = $error;

            fn try_from(raw: String) -> Result<Self, $error> {
                raw.parse()
            }
        }

        $crate::text::text_serde!($type, |raw: &str| raw.parse::<$type>());
    };
}

/// `Serialize` by `Display`, `Deserialize` by the given parse function.
macro_rules! text_serde {
    ($type:ty, $parse:expr) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let raw = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                let parse = $parse;
                parse(&raw).map_err(serde::de::Error::custom)
            }
        }
    };
}

/// `Display`, `AsRef<str>` and `as_str` for a struct around one checked `String` in `.0`.
macro_rules! text_access {
    ($type:ty) => {
        impl $type {
            /// The text, as it is written on the wire.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $type {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

pub(crate) use {text_access, text_forms, text_serde};
