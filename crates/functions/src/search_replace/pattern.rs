//! Patterns of paths.

use lanai_yaml::Path;
use lanai_yaml::path::Segment;
use regex::Regex;

/// A pattern of paths of fields: `spec.**.name`, `a.*.c`, `list[*].x`.
pub struct FieldPattern {
    elements: Vec<String>,
}

impl FieldPattern {
    /// Reads a pattern. A dot always ends an element.
    pub fn parse(text: &str) -> Self {
        Self { elements: text.split('.').map(Into::into).collect() }
    }

    /// Whether it fits the whole path.
    pub fn matches(&self, path: &Path) -> bool {
        let path = elements(path);
        // `fits[i]`: whether the pattern so far fits the first `i` elements of the path.
        let mut fits = vec![false; path.len() + 1];
        fits[0] = true;
        for element in &self.elements {
            let before = fits.clone();
            fits[0] = before[0] && element == "**";
            for at in 1..fits.len() {
                fits[at] = if element == "**" {
                    before[at] || fits[at - 1]
                } else {
                    before[at - 1] && element_matches(element, &path[at - 1])
                };
            }
        }
        fits.last() == Some(&true)
    }
}

/// The elements of a path; indexes belong to the key before them.
fn elements(path: &Path) -> Vec<String> {
    let mut elements: Vec<String> = Vec::new();
    for segment in path.segments() {
        match (segment, elements.last_mut()) {
            (Segment::Key(key), _) => elements.push(key.clone()),
            (Segment::Index(index), Some(last)) => last.extend(["[", &index.to_string(), "]"]),
            (Segment::Index(index), None) => elements.push(format!("[{index}]")),
            (Segment::Match { .. } | Segment::Append, _) => {}
        }
    }
    elements
}

fn element_matches(pattern: &str, element: &str) -> bool {
    if pattern == "*" || pattern == element {
        return true;
    }
    let (pattern, element): (Vec<_>, Vec<_>) = (pattern.split('[').collect(), element.split('[').collect());
    let alike = |(pattern, part): (&&str, &&str)| pattern == part || **pattern == *"*]";
    pattern.len() == element.len() && pattern.iter().zip(&element).all(alike)
}

/// A pattern of paths of files, as a regular expression: `*` and `?` stay in a folder, `**` does not, `{a,b}` is either, `[ab]`
/// one of these letters.
///
/// # Errors
/// When it is no such pattern.
pub fn file_pattern(pattern: &str) -> Result<Regex, regex::Error> {
    let mut out = String::from("^");
    let mut rest = pattern;
    let mut open = 0_usize;
    while let Some(letter) = rest.chars().next() {
        let taken = if rest.starts_with("**/") {
            out.push_str("(?:.*/)?");
            3
        } else if rest.starts_with("**") {
            out.push_str(".*");
            2
        } else {
            match letter {
                '*' => out.push_str("[^/]*"),
                '?' => out.push_str("[^/]"),
                '[' if rest[1..].starts_with(['!', '^']) => {
                    out.push_str("[^");
                    rest = &rest[1..];
                }
                '[' | ']' => out.push(letter),
                '{' => {
                    open += 1;
                    out.push_str("(?:");
                }
                '}' if open > 0 => {
                    open -= 1;
                    out.push(')');
                }
                ',' if open > 0 => out.push('|'),
                other => out.push_str(&regex::escape(&other.to_string())),
            }
            letter.len_utf8()
        };
        rest = &rest[taken..];
    }
    out.push('$');
    Regex::new(&out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        let check = |pattern: &str, path: &str, expected: bool| {
            let fits = FieldPattern::parse(pattern).matches(&path.parse().unwrap());
            assert_eq!(fits, expected, "{pattern} {path}");
        };
        check("a.b", "a.b", true);
        check("a.b", "a", false);
        check("a.*", "a.b", true);
        check("a.*", "a.b[0]", true);
        check("a.*", "a.b.c", false);
        check("a.*.c", "a.b[0].c", true);
        check("a[*].c", "a[3].c", true);
        check("a[1].c", "a[3].c", false);
        check("**.c", "c", true);
        check("**.c", "a.b[0].c", true);
        check("a.**", "a", true);
        check("a.**.d", "a.b.c.d", true);
        check("**", "a.b", true);
        check("a.b", "[\"a.b\"]", false);
    }

    #[test]
    fn files() {
        let check = |pattern: &str, path: &str, expected: bool| {
            assert_eq!(file_pattern(pattern).unwrap().is_match(path), expected, "{pattern} {path}");
        };
        check("*.yaml", "a.yaml", true);
        check("*.yaml", "b/a.yaml", false);
        check("**/*.yaml", "a.yaml", true);
        check("**/*.yaml", "b/c/a.yaml", true);
        check("b/**", "b/c/a.yaml", true);
        check("{a,b}.y?ml", "b.yaml", true);
        check("[ab].yaml", "c.yaml", false);
        check("[!ab].yaml", "c.yaml", true);
        assert!(file_pattern("[").is_err());
    }
}
