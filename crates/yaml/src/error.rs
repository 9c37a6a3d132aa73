//! What can be wrong with a text, and where.

use std::collections::HashMap;
use std::fmt;

/// A place in a source: line and column from 1 (columns count characters), and the byte offset from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The byte offset in the source, from 0.
    pub offset: usize,
}

impl Position {
    /// The position of a byte offset. Offsets past the end name the end.
    pub fn of(source: &str, offset: usize) -> Self {
        let mut offset = offset.min(source.len());
        while !source.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &source[..offset];
        let mut line = 1;
        let mut start = 0;
        let bytes = before.as_bytes();
        for (at, byte) in bytes.iter().enumerate() {
            let lone_return = *byte == b'\r' && source.as_bytes().get(at + 1) != Some(&b'\n');
            if *byte == b'\n' || lone_return {
                line += 1;
                start = at + 1;
            }
        }
        let text = before[start..].trim_start_matches('\u{feff}');
        Self { line, column: text.chars().count() + 1, offset }
    }
}

impl Position {
    /// The positions of many offsets, in one pass over the text.
    pub(crate) fn of_all(source: &str, mut offsets: Vec<usize>) -> HashMap<usize, Self> {
        offsets.sort_unstable();
        offsets.dedup();
        let mut found = HashMap::with_capacity(offsets.len());
        let (mut line, mut start) = (1, 0);
        let mut at = 0;
        for offset in offsets {
            for (index, byte) in source.as_bytes()[at..offset].iter().enumerate() {
                let next = source.as_bytes().get(at + index + 1);
                if *byte == b'\n' || *byte == b'\r' && next != Some(&b'\n') {
                    line += 1;
                    start = at + index + 1;
                }
            }
            at = offset;
            let text = source[start..offset].trim_start_matches('\u{feff}');
            found.insert(offset, Self { line, column: text.chars().count() + 1, offset });
        }
        found
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why a text was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// The text is not YAML.
    Syntax(String),
    /// The text holds bytes that YAML does not allow.
    Encoding(String),
    /// An alias names an anchor that does not stand before it.
    UnknownAnchor(String),
    /// A limit was exceeded; the name is that of the field in `YamlLimits`.
    Limit {
        /// The field of `lanai_types::YamlLimits`.
        name: &'static str,
        /// Its value.
        limit: usize,
    },
}

/// A text that could not be read: the cause, the place, and the line that it stands in.
///
/// `Display` gives one line; `{:#}` shows the source line with a caret under the place as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub cause: Cause,
    /// Where it is wrong.
    pub position: Position,
    /// The source line, shortened when it is very long.
    pub excerpt: String,
    /// One action that helps, when there is one.
    pub hint: Option<&'static str>,
    caret: usize,
}

/// How many characters of a source line an error shows around its place.
const EXCERPT_CHARS: usize = 120;

impl Error {
    pub(crate) fn new(source: &str, offset: usize, cause: Cause, hint: Option<&'static str>) -> Self {
        let position = Position::of(source, offset);
        let offset = position.offset;
        let is_shown = |c: &char| *c != '\u{feff}';
        let on_line = |c: &char| !matches!(c, '\n' | '\r');
        let before: Vec<char> = source[..offset]
            .chars()
            .rev()
            .take_while(on_line)
            .filter(is_shown)
            .take(EXCERPT_CHARS / 2)
            .collect();
        let behind = source[offset..].chars().take_while(on_line).filter(is_shown);
        let shown = before.iter().rev().copied().chain(behind).take(EXCERPT_CHARS);
        let excerpt = shown.map(|c| if c.is_control() { ' ' } else { c }).collect();
        Self { cause, position, excerpt, hint, caret: before.len() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.position, self.cause)?;
        if f.alternate() {
            let number = self.position.line.to_string();
            write!(
                f,
                "\n{number} | {}\n{:width$} | {:caret$}^",
                self.excerpt,
                "",
                "",
                width = number.len(),
                caret = self.caret
            )?;
            if let Some(hint) = self.hint {
                write!(f, "\nhint: {hint}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Syntax(text) | Cause::Encoding(text) => f.write_str(text),
            Cause::UnknownAnchor(name) => write!(f, "alias \"{name}\" names no anchor that stands before it"),
            Cause::Limit { name, limit } => write!(f, "the document exceeds the limit `{name}` of {limit}"),
        }
    }
}

impl std::error::Error for Error {}
