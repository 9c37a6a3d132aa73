//! Texts of YAML: not values written down, but what people write, in every layout that the format allows.

use super::choices::Choices;

/// How deep generated collections are nested.
const DEPTH: usize = 4;

/// Plain scalars that are fine everywhere, in flow collections and as keys.
const PLAIN: &[&str] = &[
    "x",
    "web",
    "1",
    "true",
    "null",
    "~",
    "0x1f",
    "1.5",
    ".inf",
    "2001-12-14",
    "yes",
    "012",
    "1_000",
    "a b",
    "nginx:1.25",
    "http://h/p?q=1",
    "a#b",
    "-x",
    "é",
    "日本",
    "it's",
    "a\"b",
    "<none>",
    "12e03",
    "NO",
    "x-1/y.z",
    "$(VAR)",
    "=",
    "a\\b",
    "😀",
];

const SINGLE: &[&str] =
    &["'x'", "''", "'it''s'", "'a: b'", "'# no'", "'yes'", "' lead'", "'[a, b]'", "'\\n'", "'日'"];

const DOUBLE: &[&str] = &[
    "\"x\"",
    "\"\"",
    "\"a\\nb\"",
    "\"\\t\\u00e9\\x41\"",
    "\"say \\\"hi\\\"\"",
    "\"a: b # c\"",
    "\"012\"",
    "\"\\U0001F600\"",
    "\"\\\\\"",
    "\"\\0\"",
];

const LINES: &[&str] = &[
    "text",
    "more words here",
    "- looks: like",
    "# no comment",
    "key: value",
    "é",
    "\"quoted\"",
    "",
    "  deeper",
    "trailing ",
];

/// Tags that any node may have, as far as the grammar goes; the first is of nobody, and others decide what a scalar means.
const TAGS: &[&str] =
    &["!t", "!!str", "!!int", "!<tag:example.com,2026:t>", "!", "!!float", "!a.b/c%20d", "!!binary"];

/// The same where a directive declares the handle `!e!`.
const TAGS_WITH_HANDLE: &[&str] = &["!e!t", "!t", "!!str", "!e!a%2Cb"];

/// What a value stands behind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    Key,
    Dash,
    Start,
}

/// Which parts of YAML a text may use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    /// Everything.
    All,
    /// Neither anchors nor aliases, and no comments: what can be content of another document.
    Bare,
}

pub struct Text<'c, 'b> {
    choices: &'c mut Choices<'b>,
    out: String,
    parts: Parts,
    /// Counts comments, keys and anchors, so that each is unique.
    count: usize,
    /// The anchors that may be used; those of mappings are marked.
    anchors: Vec<(String, bool)>,
    /// The last value was a block scalar: deeper lines behind it would be a part of it.
    behind_block: bool,
    left: usize,
    /// The tags that the document may use.
    tags: &'static [&'static str],
}

/// A stream of one or more documents.
pub fn stream(choices: &mut Choices<'_>) -> String {
    let mut text = Text::new(choices, Parts::All);
    let documents = if text.choices.once_in(3) { 1 + text.choices.below(3) } else { 1 };
    for at in 0..documents {
        text.anchors.clear();
        let end = text.choices.once_in(4);
        text.document(at > 0);
        if end && at + 1 < documents {
            text.out.push_str("...\n");
        }
    }
    text.finish()
}

/// One document without markers, in a layout of its own.
pub fn document(choices: &mut Choices<'_>, parts: Parts) -> String {
    let mut text = Text::new(choices, parts);
    text.root();
    text.finish()
}

impl<'c, 'b> Text<'c, 'b> {
    fn new(choices: &'c mut Choices<'b>, parts: Parts) -> Self {
        Self {
            choices,
            out: String::new(),
            parts,
            count: 0,
            anchors: Vec::new(),
            behind_block: false,
            left: 40,
            tags: TAGS,
        }
    }

    fn finish(self) -> String {
        let Self { choices, mut out, parts, .. } = self;
        if choices.once_in(6) && out.ends_with('\n') {
            out.pop();
        }
        let out = if choices.once_in(6) { out.replace('\n', "\r\n") } else { out };
        if parts == Parts::All && choices.once_in(8) { format!("\u{feff}{out}") } else { out }
    }

    fn document(&mut self, marker: bool) {
        self.tags = TAGS;
        if marker || self.choices.once_in(5) {
            if !marker && self.choices.once_in(4) {
                self.comment_line(0);
            }
            if !marker && self.parts == Parts::All && self.choices.once_in(6) {
                let directive = self.choices.of(&["%YAML 1.2", "%TAG !e! tag:example.com,2026:"]);
                self.out.push_str(directive);
                if directive.starts_with("%TAG") {
                    self.tags = TAGS_WITH_HANDLE;
                }
                self.line_end();
            }
            self.out.push_str("---");
            self.behind_block = false;
            if self.choices.once_in(4) {
                self.value(0, Behind::Start, DEPTH);
                return;
            }
            self.line_end();
        }
        self.root();
    }

    fn root(&mut self) {
        self.behind_block = false;
        self.trivia(0);
        match self.choices.below(8) {
            0..=4 => self.mapping(0, DEPTH),
            5 | 6 => self.sequence(0, DEPTH),
            _ => {
                let flow = self.flow(1, DEPTH);
                self.out.push_str(&flow);
                self.line_end();
            }
        }
        self.trivia(0);
    }

    // ---- trivia

    fn next(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    fn indent(&mut self, column: usize) {
        self.out.extend(std::iter::repeat_n(' ', column));
    }

    fn comment(&mut self) -> String {
        let number = self.next();
        let form = self.choices.of(&["# c", "#c", "# kpt-set: ${c", "## -- c: "]);
        format!("{form}{number}")
    }

    fn comment_line(&mut self, column: usize) {
        if self.parts == Parts::Bare {
            return;
        }
        let column = match self.choices.below(8) {
            6 if !self.behind_block => column + 1 + self.choices.below(4),
            7 => column / 2,
            _ => column,
        };
        self.indent(column);
        let comment = self.comment();
        self.out.push_str(&comment);
        self.out.push('\n');
        if column == 0 || !self.behind_block {
            self.behind_block = false;
        }
    }

    /// Blank lines and comments between entries.
    fn trivia(&mut self, column: usize) {
        for _ in 0..4 {
            match self.choices.below(8) {
                5 => {
                    let blank = self.choices.of(&["\n", "\n", "\n\n", "  \n"]);
                    self.out.push_str(if self.behind_block { "\n" } else { blank });
                }
                6 | 7 => self.comment_line(column),
                _ => return,
            }
        }
    }

    /// The rest of a line: perhaps a comment, perhaps blanks.
    fn line_end(&mut self) {
        match self.choices.below(8) {
            5 if self.parts == Parts::All => {
                let gap = self.choices.of(&[" ", "  ", "\t", "     "]);
                let comment = self.comment();
                self.out.push_str(gap);
                self.out.push_str(&comment);
            }
            6 => self.out.push_str(self.choices.of(&[" ", "  "])),
            _ => {}
        }
        self.out.push('\n');
    }

    // ---- collections

    fn entries(&mut self, depth: usize) -> usize {
        if depth == 0 || self.left == 0 { 1 } else { 1 + self.choices.below(4) }
    }

    /// The pairs of a block mapping; the first one begins where the text stands.
    fn mapping(&mut self, column: usize, depth: usize) {
        for at in 0..self.entries(depth) {
            if at > 0 {
                self.trivia(column);
                self.indent(column);
            }
            self.behind_block = false;
            self.left = self.left.saturating_sub(1);
            if self.parts == Parts::All && at > 0 && self.choices.once_in(12) {
                let maps: Vec<String> =
                    self.anchors.iter().filter(|(_, map)| *map).map(|(name, _)| name.clone()).collect();
                if let Some(name) = maps.last() {
                    self.out.extend(["<<: *", name.as_str()]);
                    self.line_end();
                    continue;
                }
            }
            if self.choices.once_in(16) {
                self.explicit_key(column, depth);
            } else {
                let key = self.key();
                self.out.push_str(&key);
                self.out.push_str(self.choices.of(&[":", ":", ":", " :"]));
            }
            self.value(column, Behind::Key, depth);
        }
    }

    fn key(&mut self) -> String {
        let number = self.next();
        match self.choices.below(20) {
            10 => format!("\"k{number}\""),
            11 => format!("'k {number}'"),
            12 => number.to_string(),
            13 => format!("app.io/k{number}"),
            14 => format!("k {number}"),
            15 => format!("\"k\\t{number}\""),
            16 => format!("[k{number}, x]"),
            17 if self.parts == Parts::All => format!("&k{number} k{number}"),
            18 => format!("!!str k{number}"),
            _ => format!("k{number}"),
        }
    }

    fn explicit_key(&mut self, column: usize, depth: usize) {
        self.out.push('?');
        if self.choices.once_in(3) && depth > 0 {
            self.out.push(' ');
            self.sequence(column + 2, 0);
        } else {
            let key = self.key();
            self.out.push(' ');
            self.out.push_str(&key);
            self.line_end();
        }
        self.indent(column);
        self.out.push(':');
        self.behind_block = false;
    }

    /// The items of a block sequence; the first one begins where the text stands.
    fn sequence(&mut self, column: usize, depth: usize) {
        for at in 0..self.entries(depth) {
            if at > 0 {
                self.trivia(column);
                self.indent(column);
            }
            self.behind_block = false;
            self.left = self.left.saturating_sub(1);
            self.out.push('-');
            self.value(column, Behind::Dash, depth);
        }
    }

    // ---- values

    /// All from behind a colon, a dash or `---` to the end of the value's last line.
    fn value(&mut self, column: usize, behind: Behind, depth: usize) {
        self.behind_block = false;
        let deep = depth > 0 && self.left > 0;
        let kind = self.choices.below(20);
        let properties = self.properties();
        match kind {
            6 if properties.is_empty() => self.line_end(),
            7 if self.parts == Parts::All && properties.is_empty() && !self.anchors.is_empty() => {
                let at = self.choices.below(self.anchors.len());
                let name = self.anchors[at].0.clone();
                self.out.extend([" *", name.as_str()]);
                self.line_end();
            }
            8 => self.block_scalar(column, behind, &properties),
            9 => self.long_scalar(column, &properties),
            10..=12 if deep => self.nested(column, behind, depth, &properties, Self::mapping),
            13..=15 if deep => self.nested(column, behind, depth, &properties, Self::sequence),
            16 | 17 => {
                let flow = self.flow(column + 1, depth.min(2));
                self.on_line(&properties, &flow);
            }
            _ => {
                let scalar = self.scalar();
                self.on_line(&properties, &scalar);
            }
        }
        self.declare(&properties, deep && matches!(kind, 10..=12));
    }

    /// From here on the anchor can be used: not inside of what it stands for, where an alias would lead in a circle.
    fn declare(&mut self, properties: &str, mapping: bool) {
        if let Some(name) = properties.split(' ').find_map(|word| word.strip_prefix('&')) {
            self.anchors.push((name.into(), mapping));
        }
    }

    fn on_line(&mut self, properties: &str, text: &str) {
        self.out.push_str(self.choices.of(&[" ", " ", " ", "  "]));
        self.out.push_str(properties);
        self.out.push_str(text);
        self.line_end();
    }

    /// An anchor or a tag with the blank behind it, or nothing.
    fn properties(&mut self) -> String {
        if self.parts == Parts::Bare || !self.choices.once_in(10) {
            return String::new();
        }
        match self.choices.below(8) {
            6 => format!("{} ", self.tag()),
            7 => format!("{} &a{} ", self.tag(), self.next()),
            _ => format!("&a{} ", self.next()),
        }
    }

    /// A tag. Which one is not chosen by a byte of its own, so that what is kept of earlier runs still means the same text.
    fn tag(&self) -> &'static str {
        self.tags[(self.count + self.out.len()) % self.tags.len()]
    }

    fn nested(
        &mut self,
        column: usize,
        behind: Behind,
        depth: usize,
        properties: &str,
        write: fn(&mut Self, usize, usize),
    ) {
        let is_mapping = write as usize == Self::mapping as fn(&mut Self, usize, usize) as usize;
        if behind == Behind::Dash && properties.is_empty() && !self.choices.once_in(5) {
            let gap = 1 + if self.choices.once_in(4) { self.choices.below(4) } else { 0 };
            self.indent(gap);
            write(self, column + 1 + gap, depth - 1);
            return;
        }
        if !properties.is_empty() {
            self.out.push(' ');
            self.out.push_str(properties.trim_end());
        }
        self.line_end();
        let deeper = match behind {
            Behind::Start => 0,
            Behind::Key if !is_mapping => self.choices.of(&[0, 2, 0, 4, 1, 3]),
            Behind::Key | Behind::Dash => self.choices.of(&[2, 2, 4, 1, 3, 8, 2, 5, 6, 7]),
        };
        self.trivia(column + deeper);
        self.indent(column + deeper);
        write(self, column + deeper, depth - 1);
    }

    fn scalar(&mut self) -> String {
        match self.choices.below(6) {
            4 => self.choices.of(SINGLE).into(),
            5 => self.choices.of(DOUBLE).into(),
            _ => self.choices.of(PLAIN).into(),
        }
    }

    /// A plain or quoted scalar on several lines.
    fn long_scalar(&mut self, column: usize, properties: &str) {
        let indent = column + 1 + self.choices.below(4);
        let quote = self.choices.of(&["", "'", "\""]);
        let mut text = format!("{quote}first");
        for _ in 0..=self.choices.below(3) {
            text.push_str(self.choices.of(&["\n", "\n", "\n\n"]));
            text.extend(std::iter::repeat_n(' ', indent));
            text.push_str(self.choices.of(&["word", "two words", "1", "x:y"]));
        }
        text.push_str(quote);
        self.on_line(properties, &text);
    }

    fn block_scalar(&mut self, column: usize, behind: Behind, properties: &str) {
        let deeper = 1 + self.choices.below(6);
        let explicit = behind != Behind::Start && self.choices.once_in(3);
        self.out.push(' ');
        self.out.push_str(properties);
        self.out.push(self.choices.of(&['|', '>']));
        let indicator = if explicit { deeper.to_string() } else { String::new() };
        let chomp = self.choices.of(&["", "-", "+"]);
        if self.choices.once_in(2) {
            self.out.push_str(&indicator);
            self.out.push_str(chomp);
        } else {
            self.out.push_str(chomp);
            self.out.push_str(&indicator);
        }
        self.line_end();
        for at in 0..self.choices.below(4) {
            let line = self.choices.of(LINES);
            // The first line with text decides about the indentation, unless the header does.
            let line = if at == 0 && !explicit { line.trim_start() } else { line };
            let line = if at == 0 && !explicit && line.is_empty() { "text" } else { line };
            if !line.is_empty() {
                self.indent(column + deeper);
            }
            self.out.push_str(line);
            self.out.push('\n');
        }
        self.behind_block = true;
    }

    // ---- flow collections

    /// A flow collection whose further lines are at least at `column`.
    fn flow(&mut self, column: usize, depth: usize) -> String {
        let mapping = self.choices.once_in(2);
        let (open, close) = if mapping { ('{', '}') } else { ('[', ']') };
        let lines = self.choices.once_in(3);
        let pad = if lines { "" } else { self.choices.of(&["", "", " "]) };
        let count = self.choices.below(4);
        let mut out = format!("{open}");
        for at in 0..count {
            self.left = self.left.saturating_sub(1);
            if lines {
                self.flow_break(column, &mut out);
            } else {
                out.push_str(if at == 0 { pad } else { self.choices.of(&[" ", " ", "", "  "]) });
            }
            let entry = self.flow_entry(mapping, column, depth);
            out.push_str(&entry);
            if at + 1 < count || self.choices.once_in(4) {
                out.push_str(self.choices.of(&[",", ",", ",", " ,"]));
            }
        }
        if lines {
            self.flow_break(column, &mut out);
        } else {
            out.push_str(pad);
        }
        out.push(close);
        out
    }

    fn flow_break(&mut self, column: usize, out: &mut String) {
        if self.parts == Parts::All && self.choices.once_in(4) {
            out.push(' ');
            out.push_str(&self.comment());
        }
        out.push('\n');
        if self.parts == Parts::All && self.choices.once_in(8) {
            out.extend(std::iter::repeat_n(' ', column));
            out.push_str(&self.comment());
            out.push('\n');
        }
        let more = self.choices.below(4);
        out.extend(std::iter::repeat_n(' ', column + more));
    }

    fn flow_entry(&mut self, mapping: bool, column: usize, depth: usize) -> String {
        if !mapping && self.choices.once_in(10) {
            let number = self.next();
            return format!("k{number}: {}", self.choices.of(PLAIN));
        }
        if mapping && self.choices.once_in(10) {
            return format!("k{}", self.next());
        }
        let value = self.flow_value(column, depth);
        if !mapping {
            return if value.is_empty() { "x".into() } else { value };
        }
        let number = self.next();
        match self.choices.below(8) {
            6 => {
                format!("\"k{number}\":{}", self.choices.of(&["\"x\"", "1", "[]"]))
                    + if value.is_empty() { "" } else { ", " }
                    + &self.pair(&value)
            }
            5 => format!("\"k{number}\": {value}"),
            7 => format!("? k{number} : {value}"),
            _ => format!("k{number}: {value}"),
        }
    }

    fn pair(&mut self, value: &str) -> String {
        if value.is_empty() { String::new() } else { format!("k{}: {value}", self.next()) }
    }

    fn flow_value(&mut self, column: usize, depth: usize) -> String {
        match self.choices.below(12) {
            8 if depth > 0 && self.left > 0 => self.flow(column, depth - 1),
            9 if self.parts == Parts::All && !self.anchors.is_empty() => {
                let at = self.choices.below(self.anchors.len());
                format!("*{} ", self.anchors[at].0)
            }
            10 => String::new(),
            11 => {
                let properties = self.properties();
                self.declare(&properties, false);
                format!("{properties}{}", self.scalar())
            }
            _ => self.scalar(),
        }
    }
}
