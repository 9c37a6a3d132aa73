//! Patterns of texts.

use std::sync::Arc;

use regex::{Regex, RegexBuilder};

/// A pattern, compiled.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// As it is written.
    pub text: Arc<str>,
    regex: Regex,
}

impl Pattern {
    /// Compiles a pattern that is written for Go.
    ///
    /// # Errors
    /// In words, when it is none, or takes more bytes than that.
    pub fn compile(text: &str, max_bytes: usize) -> Result<Self, String> {
        let built =
            RegexBuilder::new(&translate(text)).size_limit(max_bytes).dfa_size_limit(max_bytes).build();
        match built {
            Ok(regex) => Ok(Self { text: text.into(), regex }),
            Err(regex::Error::CompiledTooBig(limit)) => Err(format!("it takes more than {limit} bytes")),
            Err(error) => Err(last_line(&error.to_string())),
        }
    }

    /// Whether it is found in a text.
    pub fn fits(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

/// The line of the error that says what is wrong; those above it draw the place.
fn last_line(error: &str) -> String {
    let line = error.lines().last().unwrap_or_default();
    line.trim_start_matches("error: ").to_owned()
}

/// A pattern of Go as one of Rust: in a class, `[` stands for itself, and so do `&&`, `--` and `~~`.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut letters = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                out.push(letter);
                out.extend(letters.next());
            }
            '[' if !in_class => {
                in_class = true;
                out.push(letter);
                if letters.peek() == Some(&'^') {
                    out.extend(letters.next());
                }
                // A bracket that comes first stands for itself.
                if letters.peek() == Some(&']') {
                    letters.next();
                    out.push_str("\\]");
                }
            }
            '[' if letters.peek() == Some(&':') => {
                out.push(letter);
                for letter in letters.by_ref() {
                    out.push(letter);
                    if letter == ']' {
                        break;
                    }
                }
            }
            '[' => out.push_str("\\["),
            ']' => {
                in_class = false;
                out.push(letter);
            }
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(letter);
            }
            '-' if in_class && letters.peek() == Some(&'-') => out.push_str("\\-"),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, right: &[&str], wrong: &[&str]) {
        let pattern = Pattern::compile(pattern, 1 << 20).unwrap();
        for text in right {
            assert!(pattern.fits(text), "{text:?} fits {pattern:?}");
        }
        for text in wrong {
            assert!(!pattern.fits(text), "{text:?} does not fit {pattern:?}");
        }
    }

    #[test]
    fn patterns_of_go_mean_the_same() {
        check(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", &["a-b", "a"], &["A", "-a"]);
        check(r"^[[a]+$", &["[a["], &["b"]);
        check(r"^[]a]+$", &["]a"], &["b"]);
        check(r"^[^]a]+$", &["bc"], &["]"]);
        check(r"^[a&&b~~]+$", &["a&b~"], &["c"]);
        check(r"^[[:alpha:]_]+$", &["ab_"], &["1"]);
        check(r"^\[x\]\/\d+$", &["[x]/12"], &["x/12"]);
        check(r"^[\]\-x]+$", &["]-x"], &["y"]);
        check("b", &["abc"], &["ac"]);
    }

    #[test]
    fn what_cannot_be_compiled_is_an_error_in_one_line() {
        for pattern in ["(", "(?!a)b", "[z-a]", "a{1000}{1000}{1000}", "\\", "[a"] {
            let error = Pattern::compile(pattern, 1 << 20).unwrap_err();
            assert!(!error.is_empty() && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn the_size_of_a_pattern_has_a_limit() {
        assert!(Pattern::compile("[a-z]{500}", 1 << 20).is_ok());
        let error = Pattern::compile("[a-z]{500}", 1 << 10).unwrap_err();
        assert_eq!(error, "it takes more than 1024 bytes");
    }
}
