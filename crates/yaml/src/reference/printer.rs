//! Lines, columns and the gaps between tokens.

/// Text under construction, with what decides about the next gap or line break.
pub(super) struct Printer {
    out: String,
    /// How many characters the last line has.
    column: usize,
    /// The last thing written needs no space behind it.
    spaced: bool,
    /// The last line holds nothing but spaces, dashes and the marks of explicit keys.
    leading: bool,
    /// The column of a foot comment that was just written: a line that starts there is set off by a blank one.
    foot: Option<usize>,
}

/// What a token does to the gaps around it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Glue {
    /// A space before it, unless there is one.
    Apart,
    /// Nothing before it.
    Close,
    /// A space before it, nothing needed behind it.
    Opening,
    /// A space before it; the line still counts as not begun.
    Leading,
}

impl Default for Printer {
    fn default() -> Self {
        Self { out: String::new(), column: 0, spaced: true, leading: true, foot: None }
    }
}

impl Printer {
    pub fn into_text(self) -> String {
        self.out
    }

    pub fn at_line_start(&self) -> bool {
        self.column == 0
    }

    /// Whether a sequence that begins here can have its dashes in the column of the key that it belongs to.
    pub fn allows_compact(&self) -> bool {
        self.column == 0 || !self.leading
    }

    /// The next line that starts in this column gets a blank one before it; `None` takes that back.
    pub fn set_off(&mut self, column: Option<usize>) {
        self.foot = column;
    }

    pub fn line_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
        self.leading = true;
    }

    /// Goes to a column of a line that has nothing on it yet but perhaps dashes.
    pub fn start_line(&mut self, column: usize) {
        if !self.leading || self.column > column || (self.column == column && !self.spaced) {
            self.line_break();
        }
        if self.foot.take() == Some(column) {
            self.line_break();
        }
        while self.column < column {
            self.push(' ');
        }
        self.spaced = true;
    }

    pub fn token(&mut self, text: &str, glue: Glue) {
        if glue != Glue::Close {
            self.gap();
        }
        self.push_all(text);
        self.spaced = glue == Glue::Opening;
        self.leading &= glue == Glue::Leading;
    }

    /// Writes the text of a scalar that is not a block scalar; it may have several lines.
    pub fn scalar(&mut self, text: &str) {
        if !text.is_empty() {
            self.gap();
            self.push_all(text);
            self.spaced = false;
        }
        self.leading = false;
    }

    /// Writes the lines of a block scalar behind its header line.
    pub fn block(&mut self, lines: &str) {
        self.out.push_str(lines);
        self.line_break();
        self.spaced = true;
    }

    /// A space, unless there is one.
    pub fn gap(&mut self) {
        if !self.spaced {
            self.push(' ');
        }
    }

    /// Writes a comment, its later lines in `column`, and ends the line.
    pub fn comment(&mut self, text: &str, column: usize) {
        let mut open = true;
        let mut first = true;
        for line in text.split_inclusive(is_break) {
            let content = line.trim_end_matches(is_break);
            if !content.is_empty() {
                if !first {
                    self.start_line(column);
                }
                if !content.starts_with('#') {
                    self.push_all("# ");
                }
                self.push_all(content);
                self.leading = false;
            }
            first = false;
            open = content.len() == line.len();
            match line[content.len()..].chars().next() {
                None => {}
                Some('\n') => self.line_break(),
                Some(other) => {
                    self.line_break();
                    self.out.pop();
                    self.out.push(other);
                }
            }
        }
        if open {
            self.line_break();
        }
        self.spaced = true;
    }

    fn push(&mut self, char: char) {
        self.out.push(char);
        self.column += 1;
    }

    fn push_all(&mut self, text: &str) {
        self.out.push_str(text);
        self.column = match memchr::memrchr(b'\n', text.as_bytes()) {
            Some(at) => text[at + 1..].chars().count(),
            None => self.column + text.chars().count(),
        };
    }
}

/// The line breaks of YAML 1.1.
fn is_break(char: char) -> bool {
    matches!(char, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
