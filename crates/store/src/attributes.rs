//! By what objects are found.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

/// Labels, and the fields by which objects of this kind are selected.
///
/// They are one text, as tables keep it: there are many objects in memory, and few of them are asked.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Attributes(Option<Box<str>>);

/// A label or a field of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute<'t> {
    /// Which of the two.
    pub sort: Sort,
    /// Its name.
    pub name: Cow<'t, str>,
    /// Its value.
    pub value: Cow<'t, str>,
}

/// What an attribute is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// A label.
    Label,
    /// A chosen field.
    Field,
}

#[derive(Serialize)]
struct Written<'m> {
    #[serde(rename = "l", skip_serializing_if = "BTreeMap::is_empty")]
    labels: &'m BTreeMap<String, String>,
    #[serde(rename = "f", skip_serializing_if = "BTreeMap::is_empty")]
    fields: &'m BTreeMap<String, String>,
}

#[derive(Deserialize, Default)]
struct Read<'t> {
    #[serde(default, rename = "l", borrow)]
    labels: Pairs<'t>,
    #[serde(default, rename = "f", borrow)]
    fields: Pairs<'t>,
}

#[derive(Default)]
struct Pairs<'t>(Vec<(Cow<'t, str>, Cow<'t, str>)>);

/// A text that is copied only where it has escapes.
#[derive(Deserialize)]
struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

impl Attributes {
    /// The attributes of an object.
    pub fn new(labels: &BTreeMap<String, String>, fields: &BTreeMap<String, String>) -> Self {
        if labels.is_empty() && fields.is_empty() {
            return Self::default();
        }
        let text = serde_json::to_string(&Written { labels, fields });
        Self(Some(text.expect("maps of texts can be written as JSON").into()))
    }

    /// The attributes of an object without labels.
    pub fn of_fields(fields: &BTreeMap<String, String>) -> Self {
        Self::new(&BTreeMap::new(), fields)
    }

    /// What a table has; none if it is nothing that was written here.
    pub(crate) fn of_text(text: Option<String>) -> Option<Self> {
        let is_ours = text.as_deref().is_none_or(|text| serde_json::from_str::<Read<'_>>(text).is_ok());
        is_ours.then(|| Self(text.map(String::into_boxed_str)))
    }

    /// What tables keep; none without attributes.
    pub(crate) fn text(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The bytes that they take.
    pub(crate) fn len(&self) -> usize {
        self.text().map_or(0, str::len)
    }

    /// True without labels and fields.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// A label.
    pub fn label(&self, name: &str) -> Option<Cow<'_, str>> {
        find(self.read().labels, name)
    }

    /// A chosen field.
    pub fn field(&self, name: &str) -> Option<Cow<'_, str>> {
        find(self.read().fields, name)
    }

    /// All of them: labels first, each sort in the order of the names.
    pub fn all(&self) -> impl Iterator<Item = Attribute<'_>> {
        let Read { labels, fields } = self.read();
        let of = |sort| move |(name, value)| Attribute { sort, name, value };
        labels.0.into_iter().map(of(Sort::Label)).chain(fields.0.into_iter().map(of(Sort::Field)))
    }

    fn read(&self) -> Read<'_> {
        let read =
            self.text().map(|text| serde_json::from_str(text).expect("it was checked when it was made"));
        read.unwrap_or_default()
    }
}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attributes({})", self.text().unwrap_or("{}"))
    }
}

fn find<'t>(pairs: Pairs<'t>, name: &str) -> Option<Cow<'t, str>> {
    pairs.0.into_iter().find(|(found, _)| found == name).map(|(_, value)| value)
}

impl<'de: 't, 't> Deserialize<'de> for Pairs<'t> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(ReadsPairs)
    }
}

struct ReadsPairs;

impl<'de> Visitor<'de> for ReadsPairs {
    type Value = Pairs<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("names with values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de>, A::Error> {
        let mut pairs = Vec::new();
        while let Some((Text(name), Text(value))) = map.next_entry()? {
            pairs.push((name, value));
        }
        Ok(Pairs(pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn each_is_found_by_its_name_and_sort() {
        let made = Attributes::new(&map(&[("a", "1"), ("q\"\n", "ü\\")]), &map(&[("a", "2")]));
        assert_eq!(made.label("a").as_deref(), Some("1"));
        assert_eq!(made.field("a").as_deref(), Some("2"));
        assert_eq!(made.label("q\"\n").as_deref(), Some("ü\\"));
        assert_eq!(made.field("q\"\n"), None);
        let all: Vec<_> = made.all().map(|one| (one.sort, one.name.into_owned())).collect();
        assert_eq!(
            all,
            [(Sort::Label, "a".to_owned()), (Sort::Label, "q\"\n".to_owned()), (Sort::Field, "a".to_owned())]
        );
    }

    #[test]
    fn a_text_of_a_table_is_taken_only_if_it_was_written_so() {
        let made = Attributes::new(&map(&[("a", "1")]), &BTreeMap::new());
        assert_eq!(Attributes::of_text(made.text().map(str::to_owned)), Some(made));
        assert_eq!(Attributes::of_text(None), Some(Attributes::default()));
        for bad in ["", "1", "{\"l\":[]}", "{\"l\":{\"a\":1}}", "{\"l\":{}}x"] {
            assert_eq!(Attributes::of_text(Some(bad.to_owned())), None, "{bad}");
        }
    }

    #[test]
    fn without_any_there_is_no_text() {
        assert!(Attributes::new(&BTreeMap::new(), &BTreeMap::new()).is_empty());
        assert_eq!(Attributes::default().all().count(), 0);
    }
}
