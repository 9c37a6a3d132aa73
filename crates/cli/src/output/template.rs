//! Texts with paths in them, as `-o jsonpath` takes them.

use lanai_api::JsonPath;
use serde_json::Value;

/// A text with paths in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Path(JsonPath),
    /// `{range PATH}…{end}`
    Range(JsonPath, Vec<Part>),
}

/// How deep ranges may be in ranges.
const MAX_DEPTH: usize = 16;

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// When a brace or a range has no end, or a path is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut rest = if text.contains('{') { text.to_owned() } else { format!("{{{text}}}") };
        let mut open: Vec<(JsonPath, Vec<Part>)> = Vec::new();
        let mut parts = Vec::new();
        while let Some(at) = rest.find('{') {
            if at > 0 {
                parts.push(Part::Text(rest[..at].to_owned()));
            }
            let end = closing(&rest[at + 1..])
                .ok_or_else(|| format!("unclosed action in the template {text:?}"))?;
            let inside = rest[at + 1..at + 1 + end].trim().to_owned();
            rest.drain(..at + 2 + end);
            if let Some(path) = inside.strip_prefix("range ") {
                if open.len() == MAX_DEPTH {
                    return Err(format!("more than {MAX_DEPTH} ranges are in each other"));
                }
                open.push((path_of(path)?, std::mem::take(&mut parts)));
            } else if inside == "end" {
                let (path, outer) = open.pop().ok_or("not in range, nothing to end")?;
                let inner = std::mem::replace(&mut parts, outer);
                parts.push(Part::Range(path, inner));
            } else if let Some(text) = literal(&inside) {
                parts.push(Part::Text(text));
            } else {
                parts.push(Part::Path(path_of(&inside)?));
            }
        }
        if !open.is_empty() {
            return Err(format!("a range has no end in the template {text:?}"));
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest));
        }
        Ok(Self { parts })
    }

    /// The text for an object.
    pub fn fill(&self, object: &Value) -> String {
        fill(&self.parts, object)
    }
}

fn fill(parts: &[Part], value: &Value) -> String {
    parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Path(path) => path.print(value),
            Part::Range(path, inner) => {
                let found = path.find(value).into_iter();
                // A path to a list goes over what is in it.
                let items = found.flat_map(|found| match found {
                    Value::Array(items) => items.iter().collect(),
                    other => vec![other],
                });
                items.map(|item| fill(inner, item)).collect()
            }
        })
        .collect()
}

fn path_of(text: &str) -> Result<JsonPath, String> {
    JsonPath::parse(text.trim()).map_err(|error| error.to_string())
}

/// Where the brace ends that is open; braces in quotes do not count.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '}') => return Some(at),
            (Some(_) | None, _) => {}
        }
    }
    None
}

/// The text between quotes.
fn literal(text: &str) -> Option<String> {
    let inside = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let inside = inside.or_else(|| text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')))?;
    let mut out = String::new();
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                other => out.push(other),
            },
            c => out.push(c),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn templates_are_filled() {
        let object = json!({"a": {"b": "x"}, "list": [{"n": 1}, {"n": 2}]});
        let check = |text: &str, expected: &str| {
            assert_eq!(Template::parse(text).unwrap().fill(&object), expected, "{text}");
        };
        check("{.a.b}", "x");
        check(".a.b", "x");
        check("[{.a.b}]{\"\\t}\"}", "[x]\t}");
        check("{range .list[*]}{.n},{end}.", "1,2,.");
        check("{range .list}{.n}{end}", "12");
        check("{.missing}", "");
    }

    #[test]
    fn what_is_open_is_refused() {
        for wrong in ["{.a", "{range .a}", "{end}", "{range .a}{.b}"] {
            assert!(Template::parse(wrong).is_err(), "{wrong}");
        }
        let deep = "{range .a}".repeat(MAX_DEPTH) + &"{end}".repeat(MAX_DEPTH);
        assert!(Template::parse(&deep).is_ok());
        assert!(Template::parse(&format!("{{range .a}}{deep}{{end}}")).is_err());
    }
}
