//! Which resources a replacement means.

use std::fmt;

use lanai_krm::{Resource, ResourceId};
use lanai_yaml::NodeRef;

use crate::config::{self, Wrong};

/// What a resource must say. What is empty asks for nothing.
#[derive(Clone, Debug, Default)]
pub struct Select {
    id: ResourceId,
    labels: Vec<Requirement>,
    annotations: Vec<Requirement>,
}

impl Select {
    /// Reads one.
    ///
    /// # Errors
    /// When a field of it is no text, or a selector of labels or annotations cannot be read.
    pub fn read(node: NodeRef<'_>) -> Result<Self, Wrong> {
        let field = |key| Ok(config::scalar(node, key)?.unwrap_or_default());
        let id = ResourceId {
            group: field("group")?,
            version: field("version")?,
            kind: field("kind")?,
            namespace: field("namespace")?,
            name: field("name")?,
        };
        let requirements = |key: &str| {
            let text = config::scalar(node, key)?.unwrap_or_default();
            requirements(&text).ok_or(Wrong {
                path: key.into(),
                found: "something else",
                expected: "a selector such as a=b,c!=d,e in (f,g),!h",
            })
        };
        Ok(Self {
            id,
            labels: requirements("labelSelector")?,
            annotations: requirements("annotationSelector")?,
        })
    }

    /// Whether a resource says all of it.
    pub fn matches(&self, resource: &Resource) -> bool {
        let is = resource.id();
        let fits = |asked: &str, is: &str| asked.is_empty() || asked == is;
        let namespace = fits(&self.id.namespace, &is.namespace)
            || self.id.namespace == "default" && is.namespace.is_empty();
        namespace
            && fits(&self.id.group, &is.group)
            && fits(&self.id.version, &is.version)
            && fits(&self.id.kind, &is.kind)
            && fits(&self.id.name, &is.name)
            && self.labels.iter().all(|one| one.holds(resource.label(&one.key).as_deref()))
            && self.annotations.iter().all(|one| one.holds(resource.annotation(&one.key).as_deref()))
    }
}

impl fmt::Display for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |text: &str, none: &str| if text.is_empty() { none.to_owned() } else { text.to_owned() };
        let id = &self.id;
        write!(
            f,
            "{}.{}.{}/{}.{}",
            part(&id.kind, "[noKind]"),
            part(&id.version, "[noVer]"),
            part(&id.group, "[noGrp]"),
            part(&id.name, "[noName]"),
            part(&id.namespace, "[noNs]")
        )
    }
}

/// What a label or an annotation must be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    need: Need,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Need {
    OneOf(Vec<String>),
    NoneOf(Vec<String>),
    There,
    Missing,
}

impl Requirement {
    fn holds(&self, value: Option<&str>) -> bool {
        let is_one_of = |values: &[String]| value.is_some_and(|is| values.iter().any(|one| one == is));
        match &self.need {
            Need::OneOf(values) => is_one_of(values),
            Need::NoneOf(values) => !is_one_of(values),
            Need::There => value.is_some(),
            Need::Missing => value.is_none(),
        }
    }
}

/// Reads `a=b,c!=d,e in (f,g),h notin (i),j,!k`; `None` when it is something else.
fn requirements(text: &str) -> Option<Vec<Requirement>> {
    parts(text)?.into_iter().map(|part| requirement(part.trim())).collect()
}

fn requirement(part: &str) -> Option<Requirement> {
    let make = |key: &str, need| {
        let key = key.trim();
        let fits = !key.is_empty() && !key.contains([' ', '(', ')', '=', '!']);
        fits.then(|| Requirement { key: key.into(), need })
    };
    let one = |value: &str| vec![value.trim().to_owned()];
    if let Some(inside) = part.strip_suffix(')') {
        let (head, values) = inside.split_once('(')?;
        let values = values.split(',').map(|value| value.trim().to_owned()).collect();
        let head = head.trim();
        return match head.strip_suffix(" notin") {
            Some(key) => make(key, Need::NoneOf(values)),
            None => make(head.strip_suffix(" in")?, Need::OneOf(values)),
        };
    }
    if let Some((key, value)) = part.split_once("!=") {
        return make(key, Need::NoneOf(one(value)));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return make(key, Need::OneOf(one(value)));
    }
    match part.strip_prefix('!') {
        Some(key) => make(key, Need::Missing),
        None => make(part, Need::There),
    }
}

/// Splits at commas that are not between parentheses.
fn parts(text: &str) -> Option<Vec<&str>> {
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    let mut parts = Vec::new();
    let (mut from, mut open) = (0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' if open => return None,
            '(' => open = true,
            ')' if !open => return None,
            ')' => open = false,
            ',' if !open => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    (!open).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors() {
        let check = |text: &str, value: Option<&str>, expected: bool| {
            let requirements = requirements(text).unwrap();
            assert_eq!(requirements.iter().all(|one| one.holds(value)), expected, "{text}");
        };
        check("a=b", Some("b"), true);
        check("a==b", Some("c"), false);
        check("a!=b", None, true);
        check("a in (b, c)", Some("c"), true);
        check("a notin (b,c),a", Some("d"), true);
        check("!a", None, true);
        check("a", None, false);
        check("", None, true);
        for text in ["(", "a b", "a in b", ",", "a in (b", "=b", "a)"] {
            assert_eq!(requirements(text), None, "{text}");
        }
    }
}
