//! Label and field selectors, as clients write them.

use std::collections::BTreeSet;

use lanai_api::names;
use lanai_store::{Filter, Key, Kind, Prefix, Requirement, Subject, Test};

use crate::registry::{Backing, FieldOperator, Registered};
use crate::status::Status;

/// Which rows are meant: what the store finds, and what keys say themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// For the store.
    pub filter: Filter,
    /// About name and namespace, which are in the key and need no index.
    names: Vec<NameTest>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct NameTest {
    part: Part,
    operator: Operator,
    value: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Name,
    Namespace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Is,
    IsNot,
}

impl Selection {
    /// Everything of a kind, in a namespace or in all.
    pub fn of_kind(kind: &Kind, namespace: Option<&str>) -> Result<Self, Status> {
        let prefix = match namespace {
            Some(namespace) => Prefix::namespace(kind, namespace)?,
            None => Prefix::kind(kind),
        };
        Ok(Self { filter: Filter::under(prefix), names: Vec::new() })
    }

    /// Reads the selectors of a request.
    pub fn parse(
        registered: &Registered,
        namespace: Option<&str>,
        labels: Option<&str>,
        fields: Option<&str>,
    ) -> Result<Self, Status> {
        let kind = &registered.rows;
        let mut selection = Self::of_kind(kind, namespace)?;
        if let Some(text) = labels {
            let requirements = parse_labels(text)
                .map_err(|why| Status::bad_request(format!("unable to parse requirement: {why}")))?;
            selection.filter.selector.requirements.extend(requirements);
        }
        for term in parse_fields(fields.unwrap_or_default())? {
            selection.add(term, registered)?;
        }
        selection.narrow(kind, namespace)?;
        Ok(selection)
    }

    fn add(&mut self, term: FieldTerm, registered: &Registered) -> Result<(), Status> {
        let FieldTerm { field, operator, value } = term;
        if let Backing::Virtual(kept) = &registered.backing {
            let asked = match operator {
                Operator::Is => FieldOperator::Is,
                Operator::IsNot => FieldOperator::IsNot,
            };
            if let Some(requirement) = kept.field(&field, asked, &value)? {
                self.filter.selector.requirements.push(requirement);
                return Ok(());
            }
        }
        let known = registered.selectable();
        let part = match field.as_str() {
            "metadata.name" => Part::Name,
            "metadata.namespace" => Part::Namespace,
            other if let Some(in_rows) = known.get(other) => {
                // A field that is empty is not in the index.
                let test = match (operator, value.as_str()) {
                    (Operator::Is, "") => Test::Absent,
                    (Operator::IsNot, "") => Test::Exists,
                    (Operator::Is, _) => Test::Equals(value),
                    (Operator::IsNot, _) => Test::NotIn(BTreeSet::from([value])),
                };
                self.filter
                    .selector
                    .requirements
                    .push(Requirement { subject: Subject::Field(in_rows.clone()), test });
                return Ok(());
            }
            _ => return Err(Status::bad_request(format!("field label not supported: {field}"))),
        };
        self.names.push(NameTest { part, operator, value });
        Ok(())
    }

    /// A name that is known leaves few keys to look at.
    fn narrow(&mut self, kind: &Kind, namespace: Option<&str>) -> Result<(), Status> {
        let only = |part: Part| {
            let mut tests = self.names.iter();
            tests
                .find(|test| test.part == part && test.operator == Operator::Is)
                .map(|test| test.value.as_str())
        };
        let namespace = namespace.or_else(|| only(Part::Namespace));
        self.filter.prefix = match (namespace, only(Part::Name)) {
            (Some(namespace), Some(name)) => Prefix::names(kind, namespace, name)?,
            (Some(namespace), None) => Prefix::namespace(kind, namespace)?,
            (None, _) => return Ok(()),
        };
        Ok(())
    }

    /// What the key alone decides; the store decides the rest.
    pub fn admits_key(&self, key: &Key) -> bool {
        self.names.iter().all(|test| {
            let found = match test.part {
                Part::Name => key.name(),
                Part::Namespace => key.namespace(),
            };
            (found == test.value) == (test.operator == Operator::Is)
        })
    }
}

struct FieldTerm {
    field: String,
    operator: Operator,
    value: String,
}

fn parse_fields(text: &str) -> Result<Vec<FieldTerm>, Status> {
    let wrong = || Status::bad_request(format!("invalid field selector: \"{text}\""));
    let mut terms = Vec::new();
    for term in split_unescaped(text).into_iter().filter(|term| !term.is_empty()) {
        let at = term.find(['=', '!']).ok_or_else(wrong)?;
        let (field, rest) = term.split_at(at);
        let (operator, value) = if let Some(value) = rest.strip_prefix("!=") {
            (Operator::IsNot, value)
        } else if let Some(value) = rest.strip_prefix("==").or_else(|| rest.strip_prefix('=')) {
            (Operator::Is, value)
        } else {
            return Err(wrong());
        };
        terms.push(FieldTerm { field: field.trim().to_owned(), operator, value: unescape(value) });
    }
    Ok(terms)
}

fn split_unescaped(text: &str) -> Vec<String> {
    let mut terms = vec![String::new()];
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            ',' => terms.push(String::new()),
            '\\' => {
                let last = terms.last_mut().expect("there is always one");
                last.push('\\');
                last.extend(chars.next());
            }
            other => terms.last_mut().expect("there is always one").push(other),
        }
    }
    terms
}

fn unescape(value: &str) -> String {
    let mut text = String::new();
    let mut chars = value.chars();
    while let Some(char) = chars.next() {
        text.extend(if char == '\\' { chars.next() } else { Some(char) });
    }
    text
}

/// Reads a label selector: `a=b,c!=d,e in (f,g),h notin (i),j,!k`.
pub fn parse_labels(text: &str) -> Result<Vec<Requirement>, String> {
    let mut rest = text.trim();
    let mut requirements = Vec::new();
    while !rest.is_empty() {
        let (requirement, behind) = one_label(rest)?;
        requirements.push(requirement);
        rest = match behind.strip_prefix(',') {
            Some(behind) if behind.trim().is_empty() => return Err("it ends with a comma".into()),
            Some(behind) => behind.trim_start(),
            None if behind.is_empty() => behind,
            None => return Err(format!("found '{behind}', expected: ',' or 'end of string'")),
        };
    }
    Ok(requirements)
}

fn one_label(text: &str) -> Result<(Requirement, &str), String> {
    if let Some(behind) = text.strip_prefix('!') {
        let (key, behind) = word(behind.trim_start());
        return Ok((requirement(key, Test::Absent)?, behind.trim_start()));
    }
    let (key, behind) = word(text);
    let behind = behind.trim_start();
    if behind.is_empty() || behind.starts_with(',') {
        return Ok((requirement(key, Test::Exists)?, behind));
    }
    for (sign, is_equal) in [("==", true), ("!=", false), ("=", true)] {
        if let Some(behind) = behind.strip_prefix(sign) {
            let (value, behind) = word(behind.trim_start());
            check_value(value)?;
            let wanted = if is_equal {
                Test::Equals(value.to_owned())
            } else {
                Test::NotIn(BTreeSet::from([value.to_owned()]))
            };
            return Ok((requirement(key, wanted)?, behind.trim_start()));
        }
    }
    let (operator, behind) = word(behind);
    let (values, behind) = set(behind.trim_start())?;
    let wanted = match operator {
        "in" => Test::In(values),
        "notin" => Test::NotIn(values),
        other => return Err(format!("found '{other}', expected: in, notin, =, ==, !=")),
    };
    Ok((requirement(key, wanted)?, behind))
}

fn requirement(key: &str, test: Test) -> Result<Requirement, String> {
    if let Some(wrong) = names::qualified_name(key).first() {
        return Err(format!("key: Invalid value: {key:?}: {wrong}"));
    }
    Ok(Requirement { subject: Subject::Label(key.to_owned()), test })
}

fn check_value(value: &str) -> Result<(), String> {
    match names::label_value(value).first() {
        None => Ok(()),
        Some(wrong) => Err(format!("values: Invalid value: {value:?}: {wrong}")),
    }
}

fn set(text: &str) -> Result<(BTreeSet<String>, &str), String> {
    let inner = text.strip_prefix('(').ok_or_else(|| format!("found '{text}', expected: '('"))?;
    let (inner, behind) = inner.split_once(')').ok_or("the closing parenthesis is missing")?;
    let values: BTreeSet<String> = inner.split(',').map(|value| value.trim().to_owned()).collect();
    values.iter().try_for_each(|value| check_value(value))?;
    Ok((values, behind.trim_start()))
}

fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| c.is_whitespace() || matches!(c, ',' | '=' | '!' | '(' | ')'));
    text.split_at(end.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_selectors() {
        let check = |text: &str, expected: usize| {
            assert_eq!(parse_labels(text).map(|found| found.len()).ok(), Some(expected), "{text}");
        };
        check("", 0);
        check("a=b", 1);
        check("a==b, c != d,!e,f", 4);
        check("a in (b, c),d notin (e)", 2);
        check("a/b.c=", 1);
        for text in ["a=b,", "a in b", "a in (b", "=b", "a==b c", "a~b", "a=b/c", "!"] {
            assert!(parse_labels(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_are_decided_by_keys() {
        let kind = Kind::new("configmaps").unwrap();
        let info = lanai_api::kinds::find("", "ConfigMap").unwrap().clone();
        let registered = Registered::new(info, Backing::Stored).unwrap();
        let parse = |fields: &str| Selection::parse(&registered, Some("a"), None, Some(fields));
        let selection = parse("metadata.name=b").unwrap();
        let key = |name: &str| Key::new(&kind, "a", name).unwrap();
        assert!(selection.admits_key(&key("b")) && !selection.admits_key(&key("bc")));
        assert!(!selection.filter.prefix.admits(&key("c")));
        assert!(parse("metadata.name!=b").unwrap().admits_key(&key("c")));
        assert!(parse("spec.x=b").is_err());
        assert!(parse("metadata.name").is_err());
    }
}
