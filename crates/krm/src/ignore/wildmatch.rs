//! Git's patterns for paths.

use super::Steps;

/// A pattern, compiled. Matching takes time in the product of both lengths at worst, whatever the pattern.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    /// What stands before the first wildcard. It is compared as it is, and the rest is read as if it began there.
    literal: Vec<u8>,
    tokens: Vec<Token>,
    /// How many of the last tokens are bytes: with these the text must end, which is quickly seen.
    tail: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// This byte.
    Byte(u8),
    /// One byte but a slash.
    One,
    /// One byte of a set, but never a slash.
    Set(ByteSet),
    /// Any bytes but slashes.
    Star,
    /// Any bytes.
    Deep,
    /// Nothing; the next two tokens, which are `Deep` and a slash, may be left out.
    Optional,
}

const WILDCARDS: [u8; 4] = *b"*?[\\";

impl Glob {
    /// Reads a pattern; `None` when it is malformed, and so matches nothing.
    pub(super) fn parse(pattern: &str) -> Option<Self> {
        let pattern = pattern.as_bytes();
        let wild = pattern.iter().position(|byte| WILDCARDS.contains(byte)).unwrap_or(pattern.len());
        let (literal, rest) = pattern.split_at(wild);
        let tokens = tokens(rest)?;
        let tail = tokens.iter().rev().take_while(|token| matches!(token, Token::Byte(_))).count();
        // The slash behind `**` may be left out.
        let begins_with_slash = matches!(tokens[..tokens.len() - tail], [.., Token::Optional, Token::Deep]);
        let tail = tail - usize::from(begins_with_slash && tail > 0);
        Some(Self { literal: literal.to_vec(), tokens, tail })
    }

    /// Whether the pattern matches all of the text.
    pub(super) fn matches(&self, text: &[u8], steps: &mut Steps) -> bool {
        steps.took(1);
        let Some(text) = text.strip_prefix(self.literal.as_slice()) else { return false };
        match self.tokens.as_slice() {
            [] => text.is_empty(),
            [Token::Star] => !text.contains(&b'/'),
            tokens => self.has_tail(text) && run(tokens, text, steps),
        }
    }

    fn has_tail(&self, text: &[u8]) -> bool {
        let Some(end) = text.len().checked_sub(self.tail) else { return false };
        let tail = &self.tokens[self.tokens.len() - self.tail..];
        tail.iter().zip(&text[end..]).all(|(token, byte)| *token == Token::Byte(*byte))
    }
}

/// Follows all ways through the tokens at once. `live[i]` tells that everything before token `i` has matched.
fn run(tokens: &[Token], text: &[u8], steps: &mut Steps) -> bool {
    let mut live = vec![false; tokens.len() + 1];
    let mut next = live.clone();
    enter(tokens, &mut live, 0);
    for byte in text {
        next.fill(false);
        steps.took(tokens.len());
        for (at, token) in tokens.iter().enumerate().filter(|(at, _)| live[*at]) {
            let to = match token {
                Token::Byte(wanted) => (wanted == byte).then_some(at + 1),
                Token::One => (*byte != b'/').then_some(at + 1),
                Token::Set(set) => (*byte != b'/' && set.holds(*byte)).then_some(at + 1),
                Token::Star => (*byte != b'/').then_some(at),
                Token::Deep => Some(at),
                Token::Optional => None,
            };
            if let Some(to) = to {
                enter(tokens, &mut next, to);
            }
        }
        std::mem::swap(&mut live, &mut next);
        if !live.contains(&true) {
            return false;
        }
    }
    live[tokens.len()]
}

/// Marks a token as live, and those that can be reached from it without a byte.
fn enter(tokens: &[Token], live: &mut [bool], mut at: usize) {
    while !std::mem::replace(&mut live[at], true) {
        match tokens.get(at) {
            Some(Token::Star | Token::Deep) => at += 1,
            Some(Token::Optional) => {
                enter(tokens, live, at + 1);
                at += 3;
            }
            Some(Token::Byte(_) | Token::One | Token::Set(_)) | None => return,
        }
    }
}

fn tokens(pattern: &[u8]) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(byte) = pattern.get(at) {
        let (token, len) = match byte {
            b'\\' => (Token::Byte(*pattern.get(at + 1)?), 2),
            b'?' => (Token::One, 1),
            b'[' => {
                let (set, len) = ByteSet::parse(&pattern[at..])?;
                (Token::Set(set), len)
            }
            b'*' => {
                let stars = pattern[at..].iter().take_while(|byte| **byte == b'*').count();
                let rest = &pattern[at + stars..];
                let begins = at == 0 || pattern[at - 1] == b'/';
                let ends = rest.is_empty() || rest.starts_with(b"/") || rest.starts_with(b"\\/");
                let deep = stars > 1 && begins && ends;
                if deep && rest.starts_with(b"/") {
                    tokens.push(Token::Optional);
                }
                (if deep { Token::Deep } else { Token::Star }, stars)
            }
            byte => (Token::Byte(*byte), 1),
        };
        tokens.push(token);
        at += len;
    }
    Some(tokens)
}

/// A set of bytes, as `[a-z]` describes one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ByteSet([u64; 4]);

impl ByteSet {
    /// Reads a set, with the length that it has in the pattern; `None` when it has no end or names an unknown class.
    ///
    /// A bracket that closes, in the first place, is one of the bytes; so is a hyphen in the first or last place.
    fn parse(pattern: &[u8]) -> Option<(Self, usize)> {
        let peek = |at: usize| pattern.get(at).copied();
        let mut set = Self([0; 4]);
        let negated = matches!(peek(1), Some(b'!' | b'^'));
        let mut at = if negated { 2 } else { 1 };
        // The byte that a range could begin with.
        let mut low = None;
        let mut first = true;
        loop {
            let byte = peek(at)?;
            if byte == b']' && !first {
                break;
            }
            first = false;
            match (byte, low, peek(at + 1)) {
                (b'\\', _, next) => {
                    set.add(next?);
                    low = next;
                    at += 2;
                }
                (b'-', Some(from), Some(next)) if next != b']' => {
                    let escaped = usize::from(next == b'\\');
                    (from..=peek(at + 1 + escaped)?).for_each(|byte| set.add(byte));
                    low = None;
                    at += 2 + escaped;
                }
                (b'[', _, Some(b':')) => {
                    let end = at + 2 + pattern[at + 2..].iter().position(|byte| *byte == b']')?;
                    if let Some(name) = pattern[at + 2..end].strip_suffix(b":") {
                        (0..=u8::MAX).filter(class(name)?).for_each(|byte| set.add(byte));
                        low = None;
                        at = end + 1;
                    } else {
                        set.add(b'[');
                        low = Some(b'[');
                        at += 1;
                    }
                }
                _ => {
                    set.add(byte);
                    low = Some(byte);
                    at += 1;
                }
            }
        }
        if negated {
            set.0 = set.0.map(|bits| !bits);
        }
        Some((set, at + 1))
    }

    fn add(&mut self, byte: u8) {
        self.0[usize::from(byte / 64)] |= 1 << (byte % 64);
    }

    fn holds(&self, byte: u8) -> bool {
        self.0[usize::from(byte / 64)] & (1 << (byte % 64)) != 0
    }
}

/// The bytes of a class such as `[:digit:]`; only ASCII is in any.
fn class(name: &[u8]) -> Option<fn(&u8) -> bool> {
    Some(match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |byte| matches!(byte, b' '..=b'~'),
        b"punct" => u8::is_ascii_punctuation,
        b"space" => |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    })
}
