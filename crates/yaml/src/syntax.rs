//! The syntax layer: text in, a tree of nodes with spans and comments out.
//!
//! Everything that knows YAML's grammar is behind [`parse`]. Three steps, each linear: [`scan`] makes tokens,
//! [`build`] makes nodes of them, [`attach`] gives the comments to nodes.

mod attach;
mod build;
mod delicate;
mod scan;
pub(crate) mod token;

use std::borrow::Cow;
use std::sync::Arc;

use lanai_types::YamlLimits;

use crate::error::{Cause, Error};
use crate::tree::Tree;
use scan::{Budget, Scanner, Stop};
use token::{Span, TokenKind};

pub(crate) use attach::text_of as comment_text;

/// A reason to stop reading, before it is turned into an [`Error`] that shows the source.
#[derive(Debug)]
pub(crate) struct Fail {
    offset: usize,
    cause: Cause,
    hint: Option<&'static str>,
}

impl Fail {
    fn syntax(offset: usize, message: impl Into<Cow<'static, str>>) -> Self {
        Self { offset, cause: Cause::Syntax(message.into().into_owned()), hint: None }
    }

    fn limit(offset: usize, name: &'static str, limit: usize) -> Self {
        Self { offset, cause: Cause::Limit { name, limit }, hint: None }
    }

    fn hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }

    fn show(self, source: &str) -> Error {
        Error::new(source, self.offset, self.cause, self.hint)
    }
}

/// The trees of a stream, and the bytes behind the last of them.
pub(crate) struct Parsed {
    pub trees: Vec<Tree>,
    pub tail: Span,
}

/// Reads a stream whose size was checked. Fails on the first error, with its place; limits are checked before memory is spent.
pub(crate) fn parse(source: &Arc<str>, limits: &YamlLimits) -> Result<Parsed, Error> {
    check_text(source)?;
    let mut scanner = Scanner::new(source, limits.max_depth);
    let mut parsed = Parsed { trees: Vec::new(), tail: Span::default() };
    let mut start = 0;
    let mut nodes = 0;
    loop {
        scanner.budget = Budget { max_nodes: limits.max_nodes, left: limits.max_nodes - nodes };
        let stop = scanner.document().map_err(|fail| fail.show(source))?;
        let end = scanner.offset();
        let content = scanner.tokens.iter().any(|token| token.kind != TokenKind::StreamEnd);
        let only_end = scanner.tokens.first().is_some_and(|token| token.kind == TokenKind::DocumentEnd);
        if content && !only_end {
            if parsed.trees.len() >= limits.max_documents {
                return Err(Fail::limit(start, "max_documents", limits.max_documents).show(source));
            }
            let budget = build::Budget { nodes: limits.max_nodes - nodes, limits };
            let span = Span::new(start, end);
            let mut tree = build::build(source, span, &scanner.tokens, &scanner.comments, &budget)
                .map_err(|fail| fail.show(source))?;
            tree.delicate = delicate::is_delicate(source, span, &scanner.tokens, &scanner.comments);
            nodes += tree.nodes.len();
            parsed.trees.push(tree);
            start = end;
        } else if let (true, Some(last)) = (only_end, parsed.trees.last_mut()) {
            // A second `...` behind a document belongs to it.
            last.span.end = Span::new(0, end).end;
            start = end;
        }
        if stop == Stop::Stream {
            parsed.tail = Span::new(start, source.len());
            return Ok(parsed);
        }
    }
}

/// The comments of a document that stand inside of a range.
pub(crate) fn comments_within(source: &str, document: Span, range: Span) -> Vec<Span> {
    if !range.of(source).contains('#') {
        return Vec::new();
    }
    let text = document.of(source);
    let mut scanner = Scanner::new(text, usize::MAX);
    let mut found = Vec::new();
    while let Ok(stop) = scanner.document() {
        let moved = scanner
            .comments
            .iter()
            .map(|span| Span { start: span.start + document.start, end: span.end + document.start });
        found.extend(moved.filter(|span| range.start <= span.start && span.end <= range.end));
        if stop == Stop::Stream {
            break;
        }
    }
    found
}

/// Refuses a text that is too long.
pub(crate) fn check_size(source: &str, limits: &YamlLimits) -> Result<(), Error> {
    let limit = limits.max_bytes.min(i32::MAX as usize);
    if source.len() > limit { Err(Fail::limit(0, "max_bytes", limit).show(source)) } else { Ok(()) }
}

/// Refuses what no YAML text may hold, in one pass over the bytes.
fn check_text(source: &str) -> Result<(), Error> {
    let bytes = source.as_bytes();
    // Without a branch for each byte, so that it runs over many at once.
    let control = bytes.iter().fold(0, |any, byte| any | is_control(*byte));
    // The only bytes that forbidden characters beyond ASCII begin with.
    let mut leads = memchr::memchr2_iter(0xC2, 0xEF, bytes);
    if control == 0 && !leads.any(|at| begins_forbidden(&bytes[at..])) {
        return Ok(());
    }
    let bad = source.char_indices().find(|(_, c)| {
        let code = u32::from(*c);
        code < 0x20 && !matches!(code, 9 | 10 | 13)
            || (0x7f..0xa0).contains(&code) && code != 0x85
            || matches!(code, 0xfffe | 0xffff)
    });
    match bad {
        None => Ok(()),
        Some((at, c)) => {
            let cause =
                Cause::Encoding(format!("the character U+{:04X} is not allowed in YAML", u32::from(c)));
            let hint = Some("write it as an escape in double quotes");
            Err(Fail { offset: at, cause, hint }.show(source))
        }
    }
}

/// 1 for the control characters of ASCII that YAML forbids.
fn is_control(byte: u8) -> u8 {
    let allowed = u8::from(byte == b'\t') | u8::from(byte == b'\n') | u8::from(byte == b'\r');
    u8::from(byte < 0x20) & (1 - allowed) | u8::from(byte == 0x7f)
}

/// Whether bytes begin with U+0080 to U+009F, except U+0085, or with U+FFFE or U+FFFF.
fn begins_forbidden(bytes: &[u8]) -> bool {
    match bytes {
        [0xC2, 0x85, ..] => false,
        [0xC2, 0x80..=0x9F, ..] | [0xEF, 0xBF, 0xBE | 0xBF, ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::scan::{Scanner, Stop};
    use super::token::TokenKind;

    /// Every byte is in a token, in a comment, or is white space between two of them.
    fn check_tiling(name: &str, text: &str) {
        let mut scanner = Scanner::new(text, 1_000);
        let mut owned = vec![false; text.len()];
        loop {
            let Ok(stop) = scanner.document() else { return };
            let mut end = 0;
            for token in &scanner.tokens {
                assert!(token.span.start >= end, "{name}: tokens overlap at {}", token.span.start);
                end = token.span.end;
                owned[token.span.range()].fill(true);
                let empty = matches!(token.kind, TokenKind::BlockEnd | TokenKind::StreamEnd);
                assert_eq!(empty, token.span.is_empty(), "{name}: {token:?}");
            }
            for comment in &scanner.comments {
                assert!(comment.of(text).starts_with('#'), "{name}: {comment:?}");
                owned[comment.range()].fill(true);
            }
            if stop == Stop::Stream {
                break;
            }
        }
        for (at, c) in text.char_indices().filter(|(at, _)| !owned[*at]) {
            assert!(
                matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{feff}'),
                "{name}: {c:?} at {at} belongs to nothing"
            );
        }
    }

    #[test]
    fn every_byte_belongs_to_a_token() {
        let folder = lanai_testkit::workspace_root().join("tests/oracle/fixtures");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).expect("the fixtures are there") {
            let path = entry.expect("the folder is readable").path();
            if let Ok(text) = String::from_utf8(std::fs::read(&path).expect("fixtures are readable")) {
                check_tiling(&path.display().to_string(), &text);
                count += 1;
            }
        }
        assert!(count >= 60, "there are at least sixty fixtures");
        check_tiling("manifests", &lanai_testkit::manifests(3, 200));
    }
}
