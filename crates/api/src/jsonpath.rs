//! Paths in the dialect of kubectl: `.status.conditions[?(@.type=="Ready")].status`, `.metadata.labels['a\.b/c']`.

mod parse;

use std::fmt::Write as _;

use serde_json::Value;

/// A path, parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

/// Why a text is no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cause} at byte {at} of the path {path:?}")]
pub struct Error {
    /// The text.
    pub path: String,
    /// Where it goes wrong.
    pub at: usize,
    /// What is wrong.
    pub cause: &'static str,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// `.name`
    Field(String),
    /// `.*` and `[*]`
    Each,
    /// `..`: the value and all below it.
    Below,
    /// `[1:5:2]`; a single index is a slice of one.
    Slice { from: Option<i64>, to: Option<i64>, by: i64 },
    /// `[-1]`
    At(i64),
    /// `['a','b']` and `[0,2]`
    Union(Vec<Step>),
    /// `[?(@.a == "b")]`
    Filter(Box<Filter>),
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Operand,
    test: Test,
    right: Option<Operand>,
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Path(Vec<Step>),
    Text(String),
    Number(f64),
    Boolean(bool),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Test {
    Exists,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl JsonPath {
    /// Parses a path; braces around it and `$` in front of it may be left out.
    ///
    /// # Errors
    /// When the text is no path.
    pub fn parse(text: &str) -> Result<Self, Error> {
        parse::path(text).map(|steps| Self { steps })
    }

    /// What it leads to, in order; nothing where fields are missing.
    pub fn find<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        // Most paths are fields only, and lead to one value.
        let mut at = value;
        for (passed, step) in self.steps.iter().enumerate() {
            let Step::Field(name) = step else { return follow(&self.steps[passed..], vec![at]) };
            let Some(below) = at.get(name.as_str()) else { return Vec::new() };
            at = below;
        }
        vec![at]
    }

    /// Whether it has no steps but fields, and so leads to one value or none.
    pub fn is_fields_only(&self) -> bool {
        self.leading_fields().count() == self.steps.len()
    }

    /// The fields that it begins with: all that it leads to stands behind them.
    pub fn leading_fields(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map_while(|step| match step {
            Step::Field(name) => Some(name.as_str()),
            Step::Each
            | Step::Below
            | Step::Slice { .. }
            | Step::At(_)
            | Step::Union(_)
            | Step::Filter(_) => None,
        })
    }

    /// What it leads to as one text: values one behind the other with blanks between them, objects and lists as JSON.
    pub fn print(&self, value: &Value) -> String {
        print(&self.find(value))
    }
}

/// What a path led to as one text; see [`JsonPath::print`].
pub(crate) fn print(all: &[&Value]) -> String {
    let mut out = String::new();
    for (at, found) in all.iter().enumerate() {
        if at > 0 {
            out.push(' ');
        }
        match found {
            Value::String(text) => out.push_str(text),
            Value::Null => out.push_str("<nil>"),
            other => {
                let _ = write!(out, "{other}");
            }
        }
    }
    out
}

fn follow<'v>(steps: &[Step], mut found: Vec<&'v Value>) -> Vec<&'v Value> {
    for step in steps {
        found = found.into_iter().flat_map(|value| take(step, value)).collect();
    }
    found
}

fn take<'v>(step: &Step, value: &'v Value) -> Vec<&'v Value> {
    match step {
        Step::Field(name) => value.get(name.as_str()).into_iter().collect(),
        Step::Each => children(value),
        Step::Below => {
            let mut all = vec![value];
            let mut next = 0;
            while next < all.len() {
                let below = children(all[next]);
                all.extend(below);
                next += 1;
            }
            all
        }
        Step::At(at) => {
            value.as_array().and_then(|items| items.get(index(*at, items.len())?)).into_iter().collect()
        }
        Step::Slice { from, to, by } => {
            let Value::Array(items) = value else { return Vec::new() };
            let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
            let clamp = |at: i64| (if at < 0 { at + count } else { at }).clamp(0, count);
            let (from, to) = (from.map_or(0, clamp), to.map_or(count, clamp));
            let chosen = (from..to.max(from)).step_by(usize::try_from(*by).unwrap_or(1).max(1));
            chosen.filter_map(|at| items.get(usize::try_from(at).ok()?)).collect()
        }
        Step::Union(parts) => parts.iter().flat_map(|part| take(part, value)).collect(),
        Step::Filter(filter) => children(value).into_iter().filter(|one| filter.holds(one)).collect(),
    }
}

fn index(at: i64, count: usize) -> Option<usize> {
    if at < 0 {
        count.checked_sub(usize::try_from(at.unsigned_abs()).ok()?)
    } else {
        usize::try_from(at).ok()
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

impl Filter {
    fn holds(&self, value: &Value) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let left = self.left.value(value);
        let Some(right) = &self.right else { return left.is_some() };
        let (Some(left), Some(right)) = (left, right.value(value)) else { return false };
        let order = compare(&left, &right);
        match self.test {
            Test::Exists => true,
            Test::Equal => order == Some(Equal),
            Test::NotEqual => order.is_some_and(|order| order != Equal),
            Test::Less => order == Some(Less),
            Test::LessOrEqual => matches!(order, Some(Less | Equal)),
            Test::Greater => order == Some(Greater),
            Test::GreaterOrEqual => matches!(order, Some(Greater | Equal)),
        }
    }
}

impl Operand {
    fn value(&self, of: &Value) -> Option<Value> {
        match self {
            Self::Path(steps) => follow(steps, vec![of]).first().map(|value| (*value).clone()),
            Self::Text(text) => Some(text.clone().into()),
            Self::Number(number) => Some((*number).into()),
            Self::Boolean(value) => Some((*value).into()),
        }
    }
}

/// How two values of the same type compare; `None` for others.
fn compare(left: &Value, right: &Value) -> Option<std::cmp::Ordering> {
    match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) => left.as_f64()?.partial_cmp(&right.as_f64()?),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(path: &str, expected: &str) {
        let value = json!({
            "metadata": {"labels": {"a.b/c": "dotted"}, "name": "n"},
            "list": [{"t": "A", "s": "True", "n": 1}, {"t": "B", "s": "False", "n": 2}, {"t": "C", "n": 3}],
            "words": ["x", "y", "z"],
            "on": true,
            "deep": {"k": 1, "below": {"k": 2}},
        });
        let path = JsonPath::parse(path).unwrap();
        assert_eq!(path.print(&value), expected, "{path:?}");
    }

    #[test]
    fn paths_lead_to_values() {
        check(".metadata.name", "n");
        check("{.metadata.name}", "n");
        check("$.metadata.name", "n");
        check("metadata.name", "n");
        check(r".metadata.labels.a\.b/c", "dotted");
        check(r".metadata.labels['a\.b/c']", "dotted");
        check(r#".metadata.labels["a.b/c"]"#, "dotted");
        check(".list[0].t", "A");
        check(".list[-1].t", "C");
        check(".list[7].t", "");
        check(".list[*].t", "A B C");
        check(".list[1:].t", "B C");
        check(".list[0:3:2].t", "A C");
        check(".words[0,2]", "x z");
        check("['on','words']", r#"true ["x","y","z"]"#);
        check(r#".list[?(@.t=="B")].s"#, "False");
        check(".list[?(@.t=='B')].s", "False");
        check(".list[?(@.n>=2)].t", "B C");
        check(".list[?(@.t != 'A')].t", "B C");
        check(".list[?(@.s)].t", "A B");
        check(".on", "true");
        check("..k", "1 2");
        check(".deep.*", r#"1 {"k":2}"#);
        check(".missing.more", "");
    }

    #[test]
    fn what_is_no_path_is_refused_with_its_place() {
        for text in [
            "",
            ".",
            ".a[",
            ".a[]",
            ".a[x]",
            ".a[?(@.b]",
            ".a[?(@.b=)]",
            ".a['b]",
            "{.a",
            ".a}b",
            ".a..",
            ".a[1:2:0]",
        ] {
            let error = JsonPath::parse(text).unwrap_err();
            assert!(error.at <= text.len(), "{error}");
            assert!(error.to_string().contains(&format!("{text:?}")), "{error}");
        }
    }
}
