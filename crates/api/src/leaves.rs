//! Finding a few fields of an object in its text, without reading the rest of it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Fields that are looked for, each with a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leaves {
    root: Node,
    count: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Node {
    /// Its number, if it is looked for.
    number: Option<usize>,
    /// What is looked for below it.
    below: BTreeMap<String, Node>,
}

impl Leaves {
    /// Looks for what a path of fields leads to, too; no field at all means the whole object. Returns its number.
    pub fn add<'a>(&mut self, path: impl IntoIterator<Item = &'a str>) -> usize {
        let mut at = &mut self.root;
        for field in path {
            at = at.below.entry(field.to_owned()).or_default();
        }
        *at.number.get_or_insert_with(|| {
            self.count += 1;
            self.count - 1
        })
    }

    /// The texts of what was found, by their numbers. All of the text is checked.
    ///
    /// # Errors
    /// When the text is no JSON.
    pub fn find<'t>(&self, json: &'t str) -> serde_json::Result<Vec<Option<&'t str>>> {
        let mut found = vec![None; self.count];
        self.root.look(json, &mut found)?;
        Ok(found)
    }
}

impl Node {
    fn look<'t>(&self, json: &'t str, found: &mut [Option<&'t str>]) -> serde_json::Result<()> {
        let mut from = serde_json::Deserializer::from_str(json);
        Look { node: self, found }.deserialize(&mut from)?;
        from.end()
    }
}

/// Looks for a node where its text begins.
struct Look<'n, 'f, 't> {
    node: &'n Node,
    found: &'f mut [Option<&'t str>],
}

impl<'t> DeserializeSeed<'t> for Look<'_, '_, 't> {
    type Value = ();

    fn deserialize<D: Deserializer<'t>>(self, from: D) -> Result<(), D::Error> {
        let Some(number) = self.node.number else { return from.deserialize_any(self) };
        let text = <&'t RawValue>::deserialize(from)?.get();
        self.found[number] = Some(text);
        if self.node.below.is_empty() {
            return Ok(());
        }
        // The text was checked already.
        let below = Node { number: None, below: self.node.below.clone() };
        below.look(text, self.found).map_err(serde::de::Error::custom)
    }
}

impl<'t> Visitor<'t> for Look<'_, '_, 't> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(wanted) = map.next_key_seed(Key(&self.node.below))? {
            match wanted {
                Some(node) => map.next_value_seed(Look { node, found: &mut *self.found })?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Reads a key, and finds it among those that are looked for without making a text of it.
struct Key<'n>(&'n BTreeMap<String, Node>);

impl<'t, 'n> DeserializeSeed<'t> for Key<'n> {
    type Value = Option<&'n Node>;

    fn deserialize<D: Deserializer<'t>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'n> Visitor<'_> for Key<'n> {
    type Value = Option<&'n Node>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.get(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &str =
        r#"{"a": {"b": [1, 2.50, {"c": null}], "d\n": "e\u0041"}, "f": {"g": {"h": -3}}, "i": "j", "k": 1}"#;

    fn check(paths: &[&[&str]], expected: &[Option<&str>]) {
        let mut leaves = Leaves::default();
        let numbers: Vec<_> = paths.iter().map(|path| leaves.add(path.iter().copied())).collect();
        let found = leaves.find(OBJECT).unwrap();
        let found: Vec<_> = numbers.into_iter().map(|number| found[number]).collect();
        assert_eq!(found, expected, "{paths:?}");
    }

    #[test]
    fn what_is_looked_for_is_found_as_it_is_written() {
        check(&[], &[]);
        check(&[&[]], &[Some(OBJECT)]);
        check(&[&["a", "b"], &["k"]], &[Some(r#"[1, 2.50, {"c": null}]"#), Some("1")]);
        check(&[&["a", "d\n"], &["a", "d\n"]], &[Some(r#""e\u0041""#), Some(r#""e\u0041""#)]);
        check(
            &[&["f"], &["f", "g"], &[]],
            &[Some(r#"{"g": {"h": -3}}"#), Some(r#"{"h": -3}"#), Some(OBJECT)],
        );
        check(&[&["f", "g", "h"], &["f"]], &[Some("-3"), Some(r#"{"g": {"h": -3}}"#)]);
        check(&[&["x", "y"], &["f", "x"], &["i", "x"], &["a", "b", "c"], &["k", "x"]], &[None; 5]);
    }

    #[test]
    fn what_has_no_fields_is_passed_by() {
        let object = r#"{"a": [1], "b": "c", "d": 1, "e": -1, "f": 0.5, "g": true, "h": null}"#;
        let mut leaves = Leaves::default();
        for key in ["a", "b", "d", "e", "f", "g", "h"] {
            leaves.add([key, "x"]);
        }
        assert_eq!(leaves.find(object).unwrap(), [None; 7]);
    }

    #[test]
    fn what_is_no_json_is_told() {
        let mut leaves = Leaves::default();
        leaves.add(["a"]);
        for text in ["", "{", "{\"b\":nope}", "{} {}", "{\"a\":nope}"] {
            assert!(leaves.find(text).is_err(), "{text}");
        }
    }
}
