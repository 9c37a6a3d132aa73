//! Reading paths.

use super::{Error, Filter, Operand, Step, Test};

/// How long a path may be, in bytes.
const MAX_PATH: usize = 4096;

pub(super) fn path(text: &str) -> Result<Vec<Step>, Error> {
    let mut reader = Reader { text, at: 0 };
    if text.len() > MAX_PATH {
        return Err(reader.error("more than 4096 bytes are too many"));
    }
    let braces = reader.take("{");
    reader.blanks();
    reader.take("$");
    let steps = reader.steps()?;
    reader.blanks();
    if braces && !reader.take("}") {
        return Err(reader.error("a brace is not closed"));
    }
    if reader.at < text.len() {
        return Err(reader.error("something stands here that is no step"));
    }
    if steps.is_empty() {
        return Err(reader.error("there is no step"));
    }
    Ok(steps)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn error(&self, cause: &'static str) -> Error {
        Error { path: self.text.to_owned(), at: self.at, cause }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn take(&mut self, what: &str) -> bool {
        let there = self.rest().starts_with(what);
        self.at += if there { what.len() } else { 0 };
        there
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn steps(&mut self) -> Result<Vec<Step>, Error> {
        let mut steps = Vec::new();
        loop {
            if self.take("..") {
                steps.push(Step::Below);
                if !self.rest().starts_with('[') {
                    steps.push(self.name()?);
                }
            } else if self.take(".") {
                if !self.rest().starts_with('[') {
                    steps.push(self.name()?);
                }
            } else if self.take("[") {
                steps.push(self.brackets()?);
            } else if steps.is_empty() && self.rest().starts_with(is_of_name) {
                steps.push(self.name()?);
            } else {
                return Ok(steps);
            }
        }
    }

    fn name(&mut self) -> Result<Step, Error> {
        if self.take("*") {
            return Ok(Step::Each);
        }
        let mut name = String::new();
        let mut letters = self.rest().chars();
        let mut read = 0;
        while let Some(letter) = letters.next() {
            if letter == '\\' {
                let escaped =
                    letters.next().ok_or_else(|| self.error("nothing stands behind a backslash"))?;
                name.push(escaped);
                read += 1 + escaped.len_utf8();
            } else if is_of_name(letter) {
                name.push(letter);
                read += letter.len_utf8();
            } else {
                break;
            }
        }
        self.at += read;
        if name.is_empty() { Err(self.error("a name is missing")) } else { Ok(Step::Field(name)) }
    }

    fn brackets(&mut self) -> Result<Step, Error> {
        self.blanks();
        if self.take("?(") {
            let filter = self.filter()?;
            return if self.take(")]") { Ok(filter) } else { Err(self.error("a filter is not closed")) };
        }
        let mut parts = vec![self.part()?];
        loop {
            self.blanks();
            if self.take("]") {
                break;
            }
            if !self.take(",") {
                return Err(self.error("a bracket is not closed"));
            }
            self.blanks();
            parts.push(self.part()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Step::Union(parts) })
    }

    fn part(&mut self) -> Result<Step, Error> {
        if self.take("*") {
            return Ok(Step::Each);
        }
        if self.rest().starts_with(['\'', '"']) {
            return self.quoted().map(Step::Field);
        }
        let first = self.number();
        if !self.take(":") {
            return first.map(Step::At).ok_or_else(|| self.error("neither a number nor a name in quotes"));
        }
        let to = self.number();
        let by = if self.take(":") { self.number().unwrap_or(1) } else { 1 };
        if by <= 0 {
            return Err(self.error("the step of a slice must be positive"));
        }
        Ok(Step::Slice { from: first, to, by })
    }

    fn number(&mut self) -> Option<i64> {
        let rest = self.rest();
        let digits = rest.strip_prefix('-').unwrap_or(rest);
        let count = digits.bytes().take_while(u8::is_ascii_digit).count();
        let length = rest.len() - digits.len() + count;
        let number = rest[..length].parse().ok()?;
        self.at += length;
        Some(number)
    }

    fn quoted(&mut self) -> Result<String, Error> {
        let mut letters = self.rest().char_indices();
        let quote = letters.next().map(|(_, letter)| letter);
        let mut text = String::new();
        while let Some((at, letter)) = letters.next() {
            if Some(letter) == quote {
                self.at += at + letter.len_utf8();
                return Ok(text);
            }
            if letter == '\\' {
                text.extend(letters.next().map(|(_, escaped)| escaped));
            } else {
                text.push(letter);
            }
        }
        Err(self.error("a quote is not closed"))
    }

    fn filter(&mut self) -> Result<Step, Error> {
        let left = self.operand()?;
        self.blanks();
        let tests = [
            ("==", Test::Equal),
            ("!=", Test::NotEqual),
            ("<=", Test::LessOrEqual),
            (">=", Test::GreaterOrEqual),
            ("<", Test::Less),
            (">", Test::Greater),
        ];
        let Some((_, test)) = tests.into_iter().find(|(sign, _)| self.take(sign)) else {
            return Ok(Step::Filter(Box::new(Filter { left, test: Test::Exists, right: None })));
        };
        let right = Some(self.operand()?);
        self.blanks();
        Ok(Step::Filter(Box::new(Filter { left, test, right })))
    }

    fn operand(&mut self) -> Result<Operand, Error> {
        self.blanks();
        if self.take("@") {
            return self.steps().map(Operand::Path);
        }
        if self.rest().starts_with(['\'', '"']) {
            return self.quoted().map(Operand::Text);
        }
        for (word, value) in [("true", true), ("false", false)] {
            if self.take(word) {
                return Ok(Operand::Boolean(value));
            }
        }
        let end = self
            .rest()
            .find(|letter: char| !letter.is_ascii_digit() && !matches!(letter, '.' | '-' | '+' | 'e' | 'E'));
        let word = &self.rest()[..end.unwrap_or(self.rest().len())];
        let number = word.parse().map_err(|_| self.error("neither a path, a text nor a number"))?;
        self.at += word.len();
        Ok(Operand::Number(number))
    }
}

fn is_of_name(letter: char) -> bool {
    !matches!(
        letter,
        '.' | '['
            | ']'
            | '{'
            | '}'
            | '('
            | ')'
            | '*'
            | '\''
            | '"'
            | '$'
            | '@'
            | ','
            | '?'
            | '='
            | '<'
            | '>'
            | '!'
    ) && !letter.is_whitespace()
}
