//! Values out of nodes, and documents out of values.

mod reading;
mod refusing;
mod suite;
mod writing;

use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use lanai_yaml::Document;

/// Decodes a whole text.
fn read<T: DeserializeOwned>(text: &str) -> Result<T, lanai_yaml::de::Error> {
    Document::parse(text).expect("the test's text is YAML").root().deserialize()
}

/// Bytes that ask for bytes, as `Vec<u8>` does not.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Take;

        impl Visitor<'_> for Take {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.into()))
            }
        }

        deserializer.deserialize_byte_buf(Take)
    }
}
