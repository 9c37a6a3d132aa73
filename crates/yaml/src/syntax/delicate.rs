//! Which documents are written in a way that edits must be careful with.
//!
//! Almost everything that people write is plain: block collections, keys without a `?`, comments on lines of their own
//! or behind a value, flow collections as JSON has them. There the places that an edit is about are simple. Beyond
//! that, YAML allows far more combinations than anybody can list, and an edit is proved before it counts.

use super::token::{Flags, Span, Token, TokenKind};

/// Whether a document uses anything beyond the plain part of YAML. May say so of a plain one, never the other way round.
pub(super) fn is_delicate(source: &str, document: Span, tokens: &[Token], comments: &[Span]) -> bool {
    let text = document.of(source);
    memchr::memchr2(b'\t', b'\r', text.as_bytes()).is_some()
        || text.contains('\u{feff}')
        || document.end as usize == source.len() && !text.ends_with('\n')
        || has_delicate_token(source, tokens)
        || has_comment_in_odd_place(source, tokens, comments)
        || begins_beside_marker(source, tokens)
}

fn has_delicate_token(source: &str, tokens: &[Token]) -> bool {
    let mut flow = Vec::new();
    let mut last: Option<Token> = None;
    tokens.iter().enumerate().any(|(at, token)| {
        let next = tokens.get(at + 1).map(|token| token.kind);
        let last = last.replace(*token);
        let before = last.map(|token| token.kind);
        match token.kind {
            TokenKind::Directive
            | TokenKind::DocumentEnd
            | TokenKind::ExplicitKey
            | TokenKind::Anchor
            | TokenKind::Alias
            | TokenKind::Tag => true,
            TokenKind::BlockEntry => matches!(
                next,
                None | Some(
                    TokenKind::BlockEntry
                        | TokenKind::BlockEnd
                        | TokenKind::StreamEnd
                        | TokenKind::DocumentEnd
                        | TokenKind::DocumentStart
                )
            ),
            TokenKind::FlowSequenceStart | TokenKind::FlowMappingStart => {
                flow.push(token.kind);
                token.flags.has(Flags::KEY)
            }
            TokenKind::FlowSequenceEnd | TokenKind::FlowMappingEnd => {
                flow.pop();
                before == Some(TokenKind::FlowEntry)
            }
            TokenKind::Value => match flow.last() {
                // The key is left out.
                None => !last.is_some_and(|key| key.flags.has(Flags::KEY)),
                Some(TokenKind::FlowMappingStart) => {
                    let left_out = matches!(before, Some(TokenKind::FlowEntry | TokenKind::FlowMappingStart));
                    let next_left_out =
                        matches!(next, None | Some(TokenKind::FlowEntry | TokenKind::FlowMappingEnd));
                    left_out || next_left_out
                }
                Some(_) => true,
            },
            TokenKind::Plain | TokenKind::SingleQuoted | TokenKind::DoubleQuoted => {
                let is_key = flow.last() == Some(&TokenKind::FlowMappingStart)
                    && matches!(before, Some(TokenKind::FlowEntry | TokenKind::FlowMappingStart));
                is_key && next != Some(TokenKind::Value)
            }
            TokenKind::Literal | TokenKind::Folded => {
                let header = token.span.of(source).split(['\n', ' ']).next().unwrap_or("");
                !matches!(header, "|" | "|-" | ">" | ">-")
            }
            TokenKind::DocumentStart | TokenKind::BlockEnd | TokenKind::FlowEntry | TokenKind::StreamEnd => {
                false
            }
        }
    })
}

/// Whether a comment stands between brackets, or behind a dash on its line.
fn has_comment_in_odd_place(source: &str, tokens: &[Token], comments: &[Span]) -> bool {
    if comments.is_empty() {
        return false;
    }
    let mut comments = comments.iter().peekable();
    let mut depth = 0_usize;
    let mut dash = None;
    tokens.iter().any(|token| {
        let mut passed = std::iter::from_fn(|| comments.next_if(|comment| comment.start < token.span.start));
        let first = passed.next();
        passed.for_each(drop);
        let behind_dash = dash.zip(first).is_some_and(|(end, comment)| {
            let gap = Span { start: end, end: comment.start };
            !gap.of(source).contains('\n')
        });
        dash = Some(token.span.end).filter(|_| token.kind == TokenKind::BlockEntry);
        let inside = behind_dash || depth > 0 && first.is_some();
        if matches!(token.kind, TokenKind::FlowSequenceStart | TokenKind::FlowMappingStart) {
            depth += 1;
        }
        if matches!(token.kind, TokenKind::FlowSequenceEnd | TokenKind::FlowMappingEnd) {
            depth = depth.saturating_sub(1);
        }
        inside
    })
}

/// Whether content stands on the line of `---`, or the document is a scalar.
fn begins_beside_marker(source: &str, tokens: &[Token]) -> bool {
    let marker = tokens.iter().position(|token| token.kind == TokenKind::DocumentStart);
    let Some(first) = tokens.get(marker.map_or(0, |at| at + 1)) else { return true };
    let beside = marker.is_some_and(|at| {
        let gap = Span { start: tokens[at].span.end, end: first.span.start };
        !gap.of(source).contains('\n')
    });
    let collection = first.flags.has(Flags::MAPPING)
        || first.flags.has(Flags::SEQUENCE)
        || matches!(first.kind, TokenKind::FlowMappingStart | TokenKind::FlowSequenceStart);
    beside || !collection
}
