//! Reading a few fields of an object without the rest of it.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Which fields of an object are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parts {
    /// All of them.
    Whole,
    /// These, and of each what stands behind it.
    Fields(BTreeMap<String, Parts>),
}

impl Default for Parts {
    /// Nothing.
    fn default() -> Self {
        Self::Fields(BTreeMap::new())
    }
}

impl Parts {
    /// Wants what a path of fields leads to, too; no field at all means the whole object.
    pub fn add<'a>(&mut self, path: impl IntoIterator<Item = &'a str>) {
        let mut at = self;
        for field in path {
            match at {
                Self::Whole => return,
                Self::Fields(fields) => at = fields.entry(field.to_owned()).or_default(),
            }
        }
        *at = Self::Whole;
    }

    /// Reads an object as far as it is wanted. What was not is not there, whether the object has it or not; the text is checked all the same.
    ///
    /// # Errors
    /// When the text is no JSON.
    pub fn read(&self, json: &[u8]) -> serde_json::Result<Value> {
        let mut from = serde_json::Deserializer::from_slice(json);
        let value = self.deserialize(&mut from)?;
        from.end()?;
        Ok(value)
    }
}

impl<'de> DeserializeSeed<'de> for &Parts {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        match self {
            Parts::Whole => serde::Deserialize::deserialize(from),
            Parts::Fields(fields) => from.deserialize_any(Of(fields)),
        }
    }
}

/// Reads some fields of what it finds, if it has fields. What has none is of no use to whoever asked for them.
struct Of<'a>(&'a BTreeMap<String, Parts>);

impl<'de> Visitor<'de> for Of<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut found = Map::new();
        while let Some(wanted) = map.next_key_seed(Key(self.0))? {
            match wanted {
                Some((key, parts)) => {
                    let value = map.next_value_seed(parts)?;
                    found.insert(key.to_owned(), value);
                }
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Value::Object(found))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_str<E>(self, _: &str) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

/// Reads a key, and finds it among those that are wanted without making a text of it.
struct Key<'a>(&'a BTreeMap<String, Parts>);

impl<'de, 'a> DeserializeSeed<'de> for Key<'a> {
    type Value = Option<(&'a str, &'a Parts)>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for Key<'a> {
    type Value = Option<(&'a str, &'a Parts)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.get_key_value(key).map(|(key, parts)| (key.as_str(), parts)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(paths: &[&[&str]], object: &Value, expected: &Value) {
        let mut parts = Parts::default();
        for path in paths {
            parts.add(path.iter().copied());
        }
        let read = parts.read(object.to_string().as_bytes()).unwrap();
        assert_eq!(read, *expected, "{paths:?}");
    }

    #[test]
    fn only_what_is_wanted_is_read() {
        let object =
            json!({"a": {"b": [1, 2.5, {"c": null}], "d\n": "e"}, "f": {"g": {"h": -3}}, "i": "j", "k": 1});
        check(&[], &object, &json!({}));
        check(&[&[]], &object, &object);
        check(&[&["a", "b"]], &object, &json!({"a": {"b": [1, 2.5, {"c": null}]}}));
        check(&[&["a", "d\n"], &["f"]], &object, &json!({"a": {"d\n": "e"}, "f": {"g": {"h": -3}}}));
        check(&[&["f"], &["f", "g"]], &object, &json!({"f": {"g": {"h": -3}}}));
        check(&[&["f", "g"], &["f"]], &object, &json!({"f": {"g": {"h": -3}}}));
        check(&[&["x", "y"], &["f", "x"]], &object, &json!({"f": {}}));
    }

    #[test]
    fn what_has_no_fields_is_nothing() {
        let object = json!({"a": [1], "b": "c", "d": 1, "e": -1, "f": 0.5, "g": true, "h": null});
        let mut parts = Parts::default();
        for key in object.as_object().unwrap().keys() {
            parts.add([key.as_str(), "x"]);
        }
        let read = parts.read(object.to_string().as_bytes()).unwrap();
        for (key, value) in read.as_object().unwrap() {
            assert!(value.get("x").is_none(), "{key}: {value}");
        }
    }

    #[test]
    fn what_is_no_json_is_told() {
        let mut parts = Parts::default();
        parts.add(["a"]);
        for text in ["", "{", "{\"b\":nope}", "{} {}"] {
            assert!(parts.read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
