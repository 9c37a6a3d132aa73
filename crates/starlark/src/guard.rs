//! What is wrong with a script before it runs.
//!
//! The engine walks the tree of a script by recursion, so that a script which nests too deep would overflow its stack. The
//! tokens are counted before there is a tree.

use starlark_syntax::codemap::{CodeMap, Pos, Span};
use starlark_syntax::dialect::Dialect;
use starlark_syntax::lexer::{Lexer, Token};

use crate::Limits;
use crate::failure::{Failure, at};

/// The attributes of `ctx` and the words that are refused by name, each with what is said about it.
const OPEN_API: &str = "ctx.open_api is not available: functions have no schema of a cluster; look at the fields of the resources instead";
const WHILE: &str = "there is no while loop: use for and break";
const TIMES_EQUAL: &str = "there is no *=: write x = x * y";

/// Refuses scripts that are too long, that nest too deep, or that use what there is not.
///
/// # Errors
/// With the place and what is wrong there. What is no script at all is left to the parser.
pub fn check(name: &str, source: &str, limits: &Limits) -> Result<(), Failure> {
    if source.len() > limits.max_source {
        let message = format!(
            "{name}: the script has {} bytes, at most {} are accepted (max_source)",
            source.len(),
            limits.max_source
        );
        return Err(Failure::new(message));
    }
    let codemap = CodeMap::new(name.to_owned(), source.to_owned());
    let lexer = Lexer::new(source, &Dialect::Standard, codemap.clone());
    let mut nesting = Nesting::default();
    let mut behind_dot = false;
    for lexeme in lexer {
        let (begin, token, end) = match lexeme {
            Ok(lexeme) => lexeme,
            Err(error) => return reserved(&error.into_error()),
        };
        let refuse = |why: &str| Err(at(&codemap.file_span(span(begin, end)), why));
        match &token {
            Token::Identifier(word) if behind_dot && word == "open_api" => return refuse(OPEN_API),
            Token::StarEqual => return refuse(TIMES_EQUAL),
            _ => {}
        }
        behind_dot = token == Token::Dot;
        if nesting.after(&token) > limits.max_nesting {
            return refuse(&format!(
                "operators, brackets and blocks are nested deeper than {} levels here (max_nesting)",
                limits.max_nesting
            ));
        }
    }
    Ok(())
}

/// Words that are kept for later end the tokens; the parser says the same of others.
fn reserved(error: &starlark_syntax::Error) -> Result<(), Failure> {
    match error.span() {
        Some(place) if place.source_span() == "while" => Err(at(place, WHILE)),
        Some(_) | None => Ok(()),
    }
}

fn span(begin: usize, end: usize) -> Span {
    let position = |at: usize| Pos::new(u32::try_from(at).unwrap_or(u32::MAX));
    Span::new(position(begin), position(end))
}

/// How deep the tree can be at most, counted from its tokens.
#[derive(Default)]
struct Nesting {
    /// What was counted in each open bracket before the next one was opened.
    open: Vec<usize>,
    /// All that is in `open`, and the brackets themselves.
    outer: usize,
    /// The operators of the expression since the last comma, semicolon or end of a line.
    here: usize,
    blocks: usize,
    /// Branches nest in the tree, whatever block they are in.
    branches: usize,
}

impl Nesting {
    fn after(&mut self, token: &Token) -> usize {
        match token {
            Token::OpeningRound | Token::OpeningSquare | Token::OpeningCurly => {
                self.open.push(self.here + 1);
                self.outer += self.here + 1;
                self.here = 0;
            }
            Token::ClosingRound | Token::ClosingSquare | Token::ClosingCurly => {
                // What was called or indexed is below the call in the tree.
                let before = self.open.pop().unwrap_or_default();
                self.outer -= before;
                self.here = before;
            }
            Token::Comma | Token::Semicolon | Token::Newline => self.here = 0,
            Token::Indent => self.blocks += 1,
            Token::Dedent => self.blocks = self.blocks.saturating_sub(1),
            Token::Elif => self.branches += 1,
            Token::Identifier(_)
            | Token::Int(_)
            | Token::Float(_)
            | Token::String(_)
            | Token::Bytes(_)
            | Token::Comment(_) => {}
            _ => self.here += 1,
        }
        self.outer + self.here + self.blocks + self.branches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(source: &str) -> Option<String> {
        let limits = Limits { max_source: 100, max_nesting: 5, ..Limits::DEFAULT };
        check("s", source, &limits).err().map(|failure| failure.message)
    }

    fn too_deep(source: &str) -> bool {
        refused(source).is_some_and(|message| message.contains("(max_nesting)"))
    }

    #[test]
    fn nesting_is_counted_up_to_the_limit() {
        assert!(!too_deep("a = ((((1))))"));
        assert!(too_deep("a = (((((1)))))"));
        assert!(!too_deep("a = 1 + 1 + 1 + 1 + 1\na = 1 + 1"));
        assert!(too_deep("a = 1 + 1 + 1 + 1 + 1 + 1"));
        assert!(!too_deep("a = [1 + 1 + 1 + 1, 1 + 1 + 1 + 1]"));
        assert!(too_deep("a = f()()()()()"));
        assert!(too_deep("a = - - - - - 1"));
        assert!(too_deep("a = not not not not not 1"));
        assert!(!too_deep("if a: pass\nelif b: pass\nelif b: pass\n"));
        assert!(too_deep("if a: pass\nelif b: pass\nelif b: pass\nelif b: pass\nelif b: pass\n"));
        assert!(too_deep("if a:\n if a:\n  if a:\n   if a:\n    if a: pass"));
        assert!(!too_deep("a = '((((((((((' # (((((((((("));
    }

    #[test]
    fn the_source_has_at_most_so_many_bytes() {
        let limits = Limits { max_source: 5, ..Limits::DEFAULT };
        assert!(check("s", "a = 1", &limits).is_ok());
        let message = check("s", "a = 12", &limits).unwrap_err().message;
        assert_eq!(message, "s: the script has 6 bytes, at most 5 are accepted (max_source)");
    }

    #[test]
    fn what_there_is_not_is_refused_where_it_stands() {
        assert_eq!(refused("a = ctx.open_api").unwrap(), format!("s:1:9: {OPEN_API}"));
        assert_eq!(refused("\nwhile True: pass").unwrap(), format!("s:2:1: {WHILE}"));
        assert_eq!(refused("a *= 2").unwrap(), format!("s:1:3: {TIMES_EQUAL}"));
        assert_eq!(refused("open_api = 'while'"), None);
    }
}
