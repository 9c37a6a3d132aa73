//! Paths into a document: `spec.template.spec.containers[name=app].image`.
//!
//! | written | leads to |
//! |---|---|
//! | `a.b` | the value of the key `b` in the mapping under `a` |
//! | `a["b.c/d"]`, `a['b.c/d']`, `a.b\.c/d` | the value of a key with any letters in it |
//! | `a[0]`, `a[-1]` | the first item of a list, the last |
//! | `a[name=x]`, `a[name="x y"]` | the first mapping of a list whose scalar `name` has that text |
//! | `a[]`, `a[+]` | behind the last item of a list: only to write there |
//! | nothing, or `.` | the root |

mod parse;

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::str::FromStr;

use lanai_types::quote::Quoted;

use crate::node::NodeRef;
use crate::scalar::Resolved;
use crate::tree::Kind;
use parse::Parser;

/// How many segments a text may have to be taken for a path.
pub const MAX_SEGMENTS: usize = 1_000;

/// How many characters of a path an error shows around the place that it is about.
const EXCERPT_CHARS: usize = 120;

/// How many names [`NotFound`] lists before it counts the rest.
const MAX_NAMES: usize = 20;

/// A way from the root of a document to a node; the syntax is in the documentation of [the module](self).
///
/// `Display` gives one spelling for each path, which parses to the same path and stays on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Path {
    segments: Vec<Segment>,
}

/// One step of a [`Path`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// Into a mapping: the value of a key.
    Key(String),
    /// Into a list: the item with this number, from 0; negative numbers count from the end, the last being -1.
    Index(isize),
    /// Into a list: the first mapping in which `key` is a scalar with the text `value`.
    Match {
        /// The key to look at.
        key: String,
        /// The text that it must have.
        value: String,
    },
    /// Behind the last item of a list. There is nothing to read; an edit puts a new item there.
    Append,
}

impl Path {
    /// The path of the root: no steps at all.
    pub fn root() -> Self {
        Self::default()
    }

    /// Reads a path.
    ///
    /// # Errors
    /// The first thing that is wrong, with its column; a path of more than [`MAX_SEGMENTS`] segments.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Parser::new(text).path()
    }

    /// The steps, in order.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Whether the path is that of the root.
    pub fn is_root(&self) -> bool {
        self.segments.is_empty()
    }

    /// Goes one step further. The caller answers for what parsing would refuse: too many steps, and steps behind
    /// [`Segment::Append`], which lead nowhere.
    pub fn push(&mut self, segment: Segment) {
        self.segments.push(segment);
    }

    /// The path without its last step; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        let (_, before) = self.segments.split_last()?;
        Some(Self { segments: before.to_vec() })
    }
}

impl FromStr for Path {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

impl FromIterator<Segment> for Path {
    fn from_iter<I: IntoIterator<Item = Segment>>(segments: I) -> Self {
        Self { segments: segments.into_iter().collect() }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_segments(&self.segments, f)
    }
}

/// A text that is not a path: what is wrong, and in which column.
///
/// `Display` gives one line; `{:#}` shows the path with a caret under the place as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub cause: Cause,
    /// Where, in characters from 1.
    pub column: usize,
    /// The path, shortened when it is very long.
    pub excerpt: String,
    caret: usize,
}

/// Why a text is not a path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A dot with nothing behind it, or two dots in a row.
    EmptyKey,
    /// A key that follows a bracket without a dot.
    MissingDot,
    /// `[` without its `]`.
    OpenBracket,
    /// `]` without its `[`.
    StrayBracket,
    /// A quote at the beginning of a key that is not in brackets.
    StrayQuote,
    /// A quoted text without its end.
    OpenQuote,
    /// Something behind a quoted text that does not belong there.
    AfterQuote,
    /// A backslash before something that needs none, or before nothing.
    BadEscape,
    /// Brackets around something that is none of the things that can stand there.
    Bracket(String),
    /// `=` in brackets without a key before it.
    EmptyMatchKey,
    /// A number that is too large for any list.
    IndexTooLarge,
    /// Something behind `[]`.
    AfterAppend,
    /// More than [`MAX_SEGMENTS`] segments.
    TooLong,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cause, column, excerpt, caret } = self;
        if f.alternate() {
            return write!(f, "column {column}: {cause}\n  {excerpt}\n  {:caret$}^", "");
        }
        write!(f, "the path {} is wrong in column {column}: {cause}", Quoted(excerpt))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::EmptyKey => f.write_str("a key is missing here; write `[\"\"]` for the empty key"),
            Cause::MissingDot => f.write_str("a key needs a dot before it"),
            Cause::OpenBracket => f.write_str("this `[` has no `]`; write `\\[` for a bracket in a key"),
            Cause::StrayBracket => f.write_str("this `]` has no `[`; write `\\]` for a bracket in a key"),
            Cause::StrayQuote => f.write_str("quotes stand in brackets, as in `[\"a.b\"]`"),
            Cause::OpenQuote => f.write_str("this quote is not closed"),
            Cause::AfterQuote => f.write_str("a `]` is expected behind the quoted text"),
            Cause::BadEscape => f.write_str("this backslash escapes nothing; write `\\\\` for a backslash"),
            Cause::Bracket(text) => {
                write!(f, "{} is neither a number nor `key=value`; write `[\"key\"]` for a key", Quoted(text))
            }
            Cause::EmptyMatchKey => f.write_str("a key is missing before `=`"),
            Cause::IndexTooLarge => f.write_str("this number is too large"),
            Cause::AfterAppend => f.write_str("nothing can follow `[]`"),
            Cause::TooLong => write!(f, "the path has more than {MAX_SEGMENTS} segments"),
        }
    }
}

impl std::error::Error for Error {}

impl<'a> NodeRef<'a> {
    /// Follows a path that begins at this node, through aliases and merge keys.
    ///
    /// The node that is found may itself be an alias; [`NodeRef::target`] follows it.
    ///
    /// # Errors
    /// How far the path led, and what was there.
    pub fn find(self, path: &Path) -> Result<NodeRef<'a>, NotFound> {
        let mut at = self;
        for (reached, segment) in path.segments.iter().enumerate() {
            let Some(next) = step(at, segment) else {
                return Err(NotFound { path: path.clone(), reached, why: why_not(at, segment) });
            };
            at = next;
        }
        Ok(at)
    }

    /// The path with items by their index, as far as it leads: an edit of what an item is named by does not turn it away.
    #[must_use]
    pub fn index_path(self, path: &Path) -> Path {
        let mut at = Some(self);
        let fixed = path.segments.iter().map(|segment| {
            let index = at.and_then(|at| index_of(at, segment)).and_then(|index| index.try_into().ok());
            at = at.and_then(|at| step(at, segment));
            index.map_or_else(|| segment.clone(), Segment::Index)
        });
        fixed.collect()
    }
}

/// A path that leads to nothing: how far it led, and what was there instead of the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound {
    /// The whole path.
    pub path: Path,
    /// How many of its segments led somewhere.
    pub reached: usize,
    /// Why the next one did not.
    pub why: Why,
}

/// Why a step leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// A mapping without that key; its keys, merged ones included.
    NoKey(Vec<String>),
    /// A key was looked for in something that is not a mapping, described in words.
    NotMapping(String),
    /// An item was looked for in something that is not a list, described in words.
    NotList(String),
    /// A list without that item, of this length.
    NoItem(usize),
    /// A list without a mapping that matches; the texts that it has under the key.
    NoMatch(Vec<String>),
    /// [`Segment::Append`]: a place to write, with nothing to read.
    Append,
}

impl NotFound {
    /// The part of the path that led somewhere.
    pub fn found(&self) -> Path {
        self.path.segments.iter().take(self.reached).cloned().collect()
    }
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.reached == 0 {
            f.write_str("the root is ")?;
        } else {
            write_segments(&self.path.segments[..self.reached], f)?;
            f.write_str(" exists, it is ")?;
        }
        let step = self.path.segments.get(self.reached);
        match (&self.why, step) {
            (Why::NoKey(has), Some(Segment::Key(key))) => {
                write!(f, "a mapping without key {}", Quoted(key))?;
                write_names(has, f)
            }
            (Why::NoMatch(has), Some(Segment::Match { key, value })) => {
                f.write_str("a list without an item whose ")?;
                write_word(key, f)?;
                write!(f, " is {}", Quoted(value))?;
                write_names(has, f)
            }
            (Why::NoItem(length), Some(segment)) => {
                let plural = if *length == 1 { "" } else { "s" };
                write!(f, "a list of {length} item{plural} without ")?;
                write_segments(std::slice::from_ref(segment), f)
            }
            (Why::NotMapping(is), Some(Segment::Key(key))) => {
                write!(f, "{is}, not a mapping with key {}", Quoted(key))
            }
            (Why::NotList(is), _) => write!(f, "{is}, not a list"),
            (Why::Append, _) => f.write_str("a list; there is nothing to read behind its last item"),
            (Why::NoKey(_) | Why::NoMatch(_) | Why::NoItem(_) | Why::NotMapping(_), _) => {
                f.write_str("not what the path asks for")
            }
        }
    }
}

impl std::error::Error for NotFound {}

/// What a segment leads to from a node.
pub(crate) fn step<'a>(at: NodeRef<'a>, segment: &Segment) -> Option<NodeRef<'a>> {
    match segment {
        Segment::Key(key) => at.get(key),
        Segment::Index(index) => at.at(from_front(at, *index)?),
        Segment::Match { key, value } => at.items().find(|item| matches(*item, key, value)),
        Segment::Append => None,
    }
}

/// The index of the item of a list that a segment leads to.
pub(crate) fn index_of(list: NodeRef<'_>, segment: &Segment) -> Option<usize> {
    match segment {
        Segment::Index(index) => from_front(list, *index).filter(|index| list.at(*index).is_some()),
        Segment::Match { key, value } => list.items().position(|item| matches(item, key, value)),
        Segment::Key(_) | Segment::Append => None,
    }
}

/// The index of an item that may be counted from the end of its list.
fn from_front(list: NodeRef<'_>, index: isize) -> Option<usize> {
    if index < 0 { list.len().checked_add_signed(index) } else { index.try_into().ok() }
}

fn matches(item: NodeRef<'_>, key: &str, value: &str) -> bool {
    text_of(item, key).is_some_and(|text| text == value)
}

/// Why a segment leads nowhere from a node.
fn why_not(at: NodeRef<'_>, segment: &Segment) -> Why {
    let kind = at.target().kind();
    match segment {
        Segment::Key(_) if kind == Kind::Mapping => Why::NoKey(keys(at)),
        Segment::Key(_) => Why::NotMapping(describe(at)),
        Segment::Index(_) | Segment::Match { .. } | Segment::Append if kind != Kind::Sequence => {
            Why::NotList(describe(at))
        }
        Segment::Index(_) => Why::NoItem(at.len()),
        Segment::Match { key, .. } => {
            let texts = at.items().filter_map(|item| text_of(item, key));
            Why::NoMatch(texts.map(Cow::into_owned).collect())
        }
        Segment::Append => Why::Append,
    }
}

/// The text of the scalar under a key of a mapping.
fn text_of<'a>(mapping: NodeRef<'a>, key: &str) -> Option<Cow<'a, str>> {
    let value = mapping.get(key)?.target();
    (value.kind() == Kind::Scalar).then(|| value.value())
}

/// The scalar keys of a mapping: its own, then those of the mappings that it merges itself.
fn keys(mapping: NodeRef<'_>) -> Vec<String> {
    let mut keys = Vec::new();
    for source in std::iter::once(mapping).chain(mapping.merged()) {
        let names = source.entries().map(|(key, _)| key.target()).filter(|key| key.kind() == Kind::Scalar);
        keys.extend(
            names.filter(|key| key.resolved() != Resolved::Merge).map(|key| key.value().into_owned()),
        );
    }
    keys
}

/// What a node is, in words.
fn describe(node: NodeRef<'_>) -> String {
    let node = node.target();
    let value = node.value();
    match (node.kind(), node.resolved()) {
        (Kind::Mapping, _) => "a mapping".into(),
        (Kind::Sequence, _) => "a list".into(),
        (Kind::Alias, _) => format!("the alias *{value}, which leads in a circle"),
        (Kind::Scalar, Resolved::Null) => "null".into(),
        (Kind::Scalar, Resolved::Bool(_)) => format!("the boolean {value}"),
        (Kind::Scalar, Resolved::Int(_) | Resolved::Float(_)) => format!("the number {value}"),
        (Kind::Scalar, Resolved::Str | Resolved::Timestamp | Resolved::Merge) => {
            let shown: String = value.chars().take(EXCERPT_CHARS).collect();
            let more = if shown.len() < value.len() { "…" } else { "" };
            format!("the text {}{more}", Quoted(&shown))
        }
    }
}

/// Writes `; it has: a, b`, or nothing where there is nothing to list.
fn write_names(names: &[String], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (at, name) in names.iter().take(MAX_NAMES).enumerate() {
        f.write_str(if at == 0 { "; it has: " } else { ", " })?;
        if is_bare(name) { f.write_str(name)? } else { write!(f, "{}", Quoted(name))? }
    }
    match names.len().checked_sub(MAX_NAMES) {
        None | Some(0) => Ok(()),
        Some(more) => write!(f, " and {more} more"),
    }
}

// ---- writing

fn write_segments(segments: &[Segment], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if segments.is_empty() {
        return f.write_str(".");
    }
    for (at, segment) in segments.iter().enumerate() {
        match segment {
            Segment::Key(key) if is_bare(key) => write!(f, "{}{key}", if at == 0 { "" } else { "." })?,
            Segment::Key(key) => {
                f.write_char('[')?;
                write_quoted(key, f)?;
                f.write_char(']')?;
            }
            Segment::Index(index) => write!(f, "[{index}]")?,
            Segment::Match { key, value } => {
                f.write_char('[')?;
                write_word(key, f)?;
                f.write_char('=')?;
                write_word(value, f)?;
                f.write_char(']')?;
            }
            Segment::Append => f.write_str("[]")?,
        }
    }
    Ok(())
}

/// A key that needs neither quotes nor escapes anywhere in a path.
fn is_bare(key: &str) -> bool {
    let plain =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | ':' | '@' | '$' | '%' | '~' | '*');
    !key.is_empty() && key.chars().all(plain)
}

/// One side of `key=value`: dots need no quotes there.
fn write_word(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let bare = text.split('.').all(is_bare);
    if bare { f.write_str(text) } else { write_quoted(text, f) }
}

fn write_quoted(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c if c.is_control() || is_line_break(c) => write!(f, "\\u{{{:x}}}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

/// Breaks of lines that are not control characters.
fn is_line_break(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Document;

    const DOCUMENT: &str = "\
base: &base {image: registry/base, 'a.b/c': x}
spec:
  <<: *base
  name: web
  replicas: 3
  nothing:
  args: [one, 2, \"three\"]
  containers:
  - {name: app, port: 80}
  - *base
  - name: logs
    port: '80'
";

    #[test]
    fn nodes_are_found() {
        let document = Document::parse(DOCUMENT).unwrap();
        let check = |path: &str, expected: &str| {
            let found = document.root().find(&Path::parse(path).unwrap()).expect(path);
            assert_eq!(found.target().value(), expected, "{path}");
        };
        check("spec.name", "web");
        check("spec.image", "registry/base");
        check("spec[\"a.b/c\"]", "x");
        check("spec.args[0]", "one");
        check("spec.args[-1]", "three");
        check("spec.args[-3]", "one");
        check("spec.containers[name=logs].port", "80");
        check("spec.containers[port=80].name", "app");
        check("spec.containers[image=registry/base]['a.b/c']", "x");
        check("spec.nothing", "");
        assert_eq!(document.root().find(&Path::root()).unwrap().kind(), Kind::Mapping);
    }

    #[test]
    fn what_is_missing_is_told() {
        let document = Document::parse(DOCUMENT).unwrap();
        let check = |path: &str, expected: &str| {
            let missing = document.root().find(&Path::parse(path).unwrap()).expect_err(path);
            assert_eq!(missing.to_string(), expected, "{path}");
        };
        check("spce", "the root is a mapping without key \"spce\"; it has: base, spec");
        check(
            "spec.x.y",
            "spec exists, it is a mapping without key \"x\"; it has: name, replicas, nothing, args, containers, \
             image, \"a.b/c\"",
        );
        check("spec.replicas.x", "spec.replicas exists, it is the number 3, not a mapping with key \"x\"");
        check("spec.name[0]", "spec.name exists, it is the text \"web\", not a list");
        check("spec.nothing.x", "spec.nothing exists, it is null, not a mapping with key \"x\"");
        check("spec[a=b]", "spec exists, it is a mapping, not a list");
        check("spec.args.x", "spec.args exists, it is a list, not a mapping with key \"x\"");
        check("spec.args[3]", "spec.args exists, it is a list of 3 items without [3]");
        check("spec.args[-4]", "spec.args exists, it is a list of 3 items without [-4]");
        check(
            "spec.containers[name=ap].port",
            "spec.containers exists, it is a list without an item whose name is \"ap\"; it has: app, logs",
        );
        check("spec.args[]", "spec.args exists, it is a list; there is nothing to read behind its last item");
        let missing = document.root().find(&Path::parse("spec.args[9].x").unwrap()).unwrap_err();
        assert_eq!((missing.reached, missing.found().to_string()), (2, "spec.args".into()));
        assert_eq!(missing.why, Why::NoItem(3));
    }

    #[test]
    fn long_lists_of_names_are_cut() {
        let told = |count: usize| {
            let lines: Vec<String> = (0..count).map(|n| format!("k{n}: 1\n")).collect();
            let document = Document::parse(lines.concat()).unwrap();
            document.root().find(&Path::parse("x").unwrap()).unwrap_err().to_string()
        };
        assert!(told(MAX_NAMES).ends_with(", k19"), "{}", told(MAX_NAMES));
        assert!(told(MAX_NAMES + 1).ends_with(", k19 and 1 more"), "{}", told(MAX_NAMES + 1));
    }

    fn segment() -> impl Strategy<Value = Segment> {
        let text = || {
            prop_oneof![
                "[a-z]{1,6}",
                "[ -~]{0,8}",
                ".{0,6}",
                "(?s)[\n\r\t\u{85}\u{2028}'\"=\\[\\].\\\\]{0,6}"
            ]
        };
        prop_oneof![
            text().prop_map(Segment::Key),
            any::<isize>().prop_map(Segment::Index),
            (text(), text()).prop_map(|(key, value)| Segment::Match { key, value }),
        ]
    }

    proptest! {
        #[test]
        fn the_spelling_parses_to_the_same_path(
            mut segments in prop::collection::vec(segment(), 0..6),
            append in any::<bool>(),
        ) {
            segments.extend(append.then_some(Segment::Append));
            let path: Path = segments.into_iter().collect();
            let spelling = path.to_string();
            prop_assert_eq!(Path::parse(&spelling), Ok(path), "{}", spelling);
            prop_assert!(!spelling.contains(|c: char| c.is_control() || is_line_break(c)));
        }

        #[test]
        fn any_text_is_a_path_or_an_error(text in "[a\\[\\].=\"'\\\\u{}+0ü -]{0,16}") {
            match Path::parse(&text) {
                Ok(path) => prop_assert_eq!(Path::parse(&path.to_string()), Ok(path)),
                Err(error) => prop_assert!(error.column <= text.chars().count() + 1),
            }
        }
    }
}
