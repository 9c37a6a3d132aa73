//! Comments that name setters: `# kpt-set: ${registry}/app:${tag}`.

use std::collections::BTreeMap;

use lanai_yaml::{Content, Document, Kind, NodeRef, Style};
use regex::Regex;

use crate::config::Pair;

/// What a comment begins with that names setters.
pub const MARKER: &str = "# kpt-set: ";

/// A text with holes that setters fill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    parts: Vec<Part>,
}

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text that stays.
    Text(String),
    /// The name of a setter.
    Hole(String),
}

impl Pattern {
    /// The pattern in a comment, if the comment has one.
    pub fn of_comment(comment: &str) -> Option<Self> {
        comment.strip_prefix(MARKER).map(Self::parse)
    }

    /// Reads a pattern: `${name}` is a hole, everything else is text.
    pub fn parse(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text.trim();
        while let Some(begin) = rest.find("${") {
            let Some(len) = rest[begin..].find('}') else { break };
            if begin > 0 {
                parts.push(Part::Text(rest[..begin].into()));
            }
            parts.push(Part::Hole(rest[begin + 2..begin + len].into()));
            rest = &rest[begin + len + 1..];
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.into()));
        }
        Self { parts }
    }

    /// The names of the setters, in order.
    pub fn holes(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Hole(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The name of the setter, when the pattern is nothing but one hole.
    pub fn only_hole(&self) -> Option<&str> {
        match &self.parts[..] {
            [Part::Hole(name)] => Some(name),
            _ => None,
        }
    }

    /// Fills the holes.
    ///
    /// # Errors
    /// The holes that have no value, in order, each once.
    pub fn fill<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> Result<String, Vec<String>> {
        let mut text = String::new();
        let mut open = Vec::new();
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Hole(name) => match value(name) {
                    Some(value) => text.push_str(value),
                    None if open.contains(name) => {}
                    None => open.push(name.clone()),
                },
            }
        }
        if open.is_empty() { Ok(text) } else { Err(open) }
    }

    /// The pattern with values in some of its holes.
    pub fn with<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> Self {
        let parts = self.parts.iter().map(|part| match part {
            Part::Hole(name) => value(name).map_or_else(|| part.clone(), |value| Part::Text(value.into())),
            Part::Text(_) => part.clone(),
        });
        Self { parts: parts.collect() }
    }

    /// What was filled into the holes to get a text; nothing when that cannot be said, or when a hole would be empty.
    ///
    /// The pattern may fit a part of the text; holes take as much as they can, the first ones first.
    pub fn recover(&self, text: &str) -> BTreeMap<String, String> {
        if let Some(name) = self.only_hole() {
            // Most patterns are one hole, and making an expression for each field takes longer than everything else.
            let line = text.split('\n').next().filter(|line| !line.is_empty());
            return line.map(|line| (name.to_owned(), line.to_owned())).into_iter().collect();
        }
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => regex::escape(text),
            Part::Hole(_) => "(.*)".into(),
        });
        let Ok(regex) = Regex::new(&parts.collect::<String>()) else { return BTreeMap::new() };
        let Some(found) = regex.captures(text) else { return BTreeMap::new() };
        let values: Vec<&str> =
            found.iter().skip(1).map(|group| group.map_or("", |group| group.as_str())).collect();
        if values.iter().any(|value| value.is_empty()) {
            return BTreeMap::new();
        }
        let mut recovered = BTreeMap::new();
        for (name, value) in self.holes().zip(values) {
            recovered.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
        recovered
    }

    /// The pattern that a text becomes when each occurrence of a value is a hole; `None` when there is none. Values that
    /// come first are looked for first.
    pub fn of_text<'a>(text: &str, setters: impl IntoIterator<Item = &'a Pair>) -> Option<Self> {
        let mut parts = vec![Part::Text(text.into())];
        for setter in setters {
            parts = parts.into_iter().flat_map(|part| split(part, setter)).collect();
        }
        let pattern = Self { parts };
        let has_holes = pattern.holes().next().is_some();
        has_holes.then_some(pattern)
    }
}

fn split(part: Part, setter: &Pair) -> Vec<Part> {
    let Pair { key: name, value } = setter;
    let Part::Text(text) = &part else { return vec![part] };
    if value.is_empty() || !text.contains(value.as_str()) {
        return vec![part];
    }
    let mut parts = Vec::new();
    for (at, piece) in text.split(value.as_str()).enumerate() {
        if at > 0 {
            parts.push(Part::Hole(name.clone()));
        }
        if !piece.is_empty() {
            parts.push(Part::Text(piece.into()));
        }
    }
    parts
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Hole(name) => write!(f, "${{{name}}}"),
        })
    }
}

/// A text to write in place of a scalar: in quotes where the scalar has quotes, else as somebody would have typed it, so that
/// `5` is a number. The empty text is in quotes.
pub fn retyped(node: NodeRef<'_>, text: &str) -> Content {
    if text.is_empty() {
        return Content::parse("\"\"").unwrap_or_else(|_| Content::string(""));
    }
    let as_typed = |document: Document| {
        let root = document.root();
        let is_plain = root.kind() == Kind::Scalar
            && root.style() == Style::Plain
            && root.tag().is_none()
            && root.anchor().is_none()
            && root.value() == text;
        is_plain.then(|| Content::from(root))
    };
    let may_be_plain = node.style() == Style::Plain && !text.contains('\n');
    let document = Document::parse(text).ok().filter(|_| may_be_plain);
    if let Some(content) = document.and_then(as_typed) {
        return content;
    }
    Content::string(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_read_and_written() {
        for text in ["${a}", "x-${a}/${b}:1", "no hole", "${open", "$${a}}"] {
            assert_eq!(Pattern::parse(text).to_string(), text);
        }
        assert_eq!(Pattern::of_comment("#kpt-set: ${a}"), None);
        assert_eq!(Pattern::of_comment("# kpt-set:${a}"), None);
        assert_eq!(Pattern::parse("${a}").only_hole(), Some("a"));
        assert_eq!(Pattern::parse("${a}${b}").only_hole(), None);
    }

    #[test]
    fn values_are_recovered() {
        let recover = |pattern: &str, text: &str| {
            let found = Pattern::parse(pattern).recover(text);
            found.into_iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(recover("${a}/${b}:${c}", "r/x/y:1"), "a=r/x b=y c=1");
        assert_eq!(recover("${a}:${b}", "x"), "");
        assert_eq!(recover("${a}-${b}", "x-"), "");
        assert_eq!(recover("(${a}", "(x"), "a=x");
    }

    #[test]
    fn texts_become_patterns() {
        let pair = |key: &str, value: &str| Pair { key: key.into(), value: value.into() };
        let setters = [pair("tag", "1.16"), pair("n", "1")];
        let of = |text: &str| Pattern::of_text(text, &setters).map(|found| found.to_string());
        assert_eq!(of("nginx:1.16"), Some("nginx:${tag}".into()));
        assert_eq!(of("1-1.16-1"), Some("${n}-${tag}-${n}".into()));
        assert_eq!(of("none"), None);
    }
}
