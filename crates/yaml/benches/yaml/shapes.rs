//! Texts of one shape each, at three sizes: a step that is not linear in any of them shows here.

use std::error::Error;
use std::fmt::Write;
use std::sync::Arc;

use lanai_yaml::{Document, Kind, Stream, edit, format_stream};

use crate::clock::{Effort, best};
use crate::growth::{Growth, measure};
use crate::report::Report;

/// A text of about that many bytes.
type Make = fn(usize) -> String;

/// Levels of the deep shapes: the default limit, less the mapping that is the document.
const DEPTH: usize = 999;

const SHAPES: &[(&str, Make)] = &[
    ("wide mapping", |size| numbered(size, |text, n| writeln!(text, "key-{n}: value {n}"))),
    ("wide list", |size| numbered(size, |text, n| writeln!(text, "- item {n}"))),
    ("wide list of mappings", |size| numbered(size, |text, n| writeln!(text, "- name: n{n}\n  value: {n}"))),
    ("many documents", |size| numbered(size, |text, n| writeln!(text, "---\na: {n}"))),
    ("many empty documents", |size| repeated(size, "---\n")),
    ("many document ends", |size| repeated(size, "...\n")),
    ("deep flow, many documents", |size| {
        repeated(size, &format!("---\na: {}{}\n", "[".repeat(DEPTH), "]".repeat(DEPTH)))
    }),
    ("deep flow mappings", |size| {
        repeated(size, &format!("---\na: {}{}\n", "{a: ".repeat(DEPTH), "}".repeat(DEPTH)))
    }),
    ("deep block, many documents", |size| repeated(size, &deep_block(DEPTH / 5, "a:\n"))),
    ("deep block with comments", |size| repeated(size, &deep_block(DEPTH / 5, "a: # c\n"))),
    ("deep dashes on one line", |size| repeated(size, &format!("---\n{}x\n", "- ".repeat(DEPTH)))),
    ("deep, then comments to the left", |size| repeated(size, &staircase(DEPTH / 5))),
    ("a comment on each line", |size| numbered(size, |text, n| writeln!(text, "k{n}: v # comment {n}"))),
    ("a comment above each key", |size| numbered(size, |text, n| writeln!(text, "# comment {n}\nk{n}: v"))),
    ("a comment below each key", |size| numbered(size, |text, n| writeln!(text, "k{n}: v\n# comment {n}\n"))),
    ("tiny comments between items", |size| numbered(size, |text, n| writeln!(text, "- {n}\n#"))),
    ("one block of comments", |size| repeated(size, "# comment\n") + "a: b\n"),
    ("comments and blank lines only", |size| String::from("a: b\n") + &repeated(size, "# comment\n\n")),
    ("comments in a flow list", |size| format!("a: [\n{}]\n", repeated(size, "  1, # c\n"))),
    ("blank lines between keys", |size| numbered(size, |text, n| writeln!(text, "k{n}: v\n\n\n\n\n\n\n"))),
    ("one run of blank lines", |size| String::from("a: b\n") + &repeated(size, "\n") + "c: d\n"),
    ("blanks before each line break", |size| repeated(size, "- a                    \n")),
    ("long plain text over lines", |size| String::from("a: b\n") + &repeated(size, "  more words\n")),
    ("long double-quoted text", |size| format!("a: \"{}\"\n", repeated(size, "words \\n\\u00e9\n  "))),
    ("long single-quoted text", |size| format!("a: '{}'\n", repeated(size, "it''s\n  "))),
    ("long literal text", |size| String::from("a: |\n") + &repeated(size, "  more words\n\n")),
    ("long folded text", |size| String::from("a: >\n") + &repeated(size, "  more words\n   deeper\n\n")),
    ("many literal texts", |size| repeated(size, "- |\n  text\n\n")),
    ("anchors and aliases", |size| numbered(size, |text, n| writeln!(text, "- &a{n} x\n- *a{n}"))),
    ("one anchor, many aliases", |size| String::from("- &a x\n") + &repeated(size, "- *a\n")),
    ("many merge keys", |size| String::from("- &a {b: c}\n") + &repeated(size, "- <<: *a\n  d: e\n")),
    ("many tags", |size| repeated(size, "- !!str x\n")),
    ("many tag handles", |size| numbered(size, |text, n| writeln!(text, "%TAG !h{n}! x")) + "---\na: b\n"),
    ("flow list on one line", |size| format!("a: [{}x]\n", repeated(size, "item, "))),
    ("flow mapping on one line", |size| {
        format!("{{{}x: y}}\n", numbered(size, |text, n| write!(text, "k{n}: v, ")))
    }),
    ("one key many times", |size| repeated(size, "a: b\n")),
    ("a very long line", |size| format!("a: {}\n", repeated(size, "word "))),
    ("a very long key", |size| format!("? {}\n: b\n", repeated(size, "word "))),
    ("explicit keys", |size| numbered(size, |text, n| writeln!(text, "? k{n}\n: v"))),
    ("Windows line ends", |size| numbered(size, |text, n| write!(text, "k{n}: v # c\r\n"))),
    ("text that is not ASCII", |size| numbered(size, |text, n| writeln!(text, "k{n}: żółć # 日本"))),
];

pub(crate) fn run(effort: &Effort, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let megabytes = crate::clock::real(effort.shape_bytes) / 1e6;
    report.part("shapes", &format!("Shapes: at {megabytes}, {} and {} MB", megabytes * 2.0, megabytes * 4.0));
    for (shape, make) in SHAPES {
        one(effort, report, shape, *make).map_err(|error| format!("\"{shape}\": {error}"))?;
    }
    let wide = SHAPES[0].1;
    measure(report, ("wide mapping", "duplicate_keys"), effort.shape_bytes, |size| {
        let stream = Stream::parse(wide(size));
        best(1, || (), |()| stream.as_ref().map(|stream| stream.documents()[0].duplicate_keys().len()).ok())
    });
    Ok(())
}

fn one(effort: &Effort, report: &mut Report, shape: &str, make: Make) -> Result<(), Box<dyn Error>> {
    let rounds = effort.growth_rounds;
    edit_last(Stream::parse(make(effort.shape_bytes / 100))?)?;
    let read = measure(report, (shape, "read"), effort.shape_bytes, |size| {
        let text: Arc<str> = make(size).into();
        best(rounds, || Arc::clone(&text), Stream::parse)
    });
    if read == Growth::Stopped {
        return Ok(());
    }
    measure(report, (shape, "edit and write"), effort.shape_bytes, |size| {
        let fresh = || Stream::parse(make(size));
        let write = |stream: Stream| (stream.to_string(), stream);
        best(rounds, fresh, |stream| stream.map(|stream| edit_last(stream).map(write)))
    });
    measure(report, (shape, "reference format"), effort.shape_bytes, |size| {
        let stream = Stream::parse(make(size));
        best(rounds, || (), |()| stream.as_ref().map(format_stream).ok())
    });
    Ok(())
}

/// Adds an entry to the last document.
fn edit_last(mut stream: Stream) -> Result<Stream, edit::Error> {
    if let Some(document) = stream.documents_mut().last_mut() {
        add_entry(document)?;
    }
    Ok(stream)
}

fn add_entry(document: &mut Document) -> Result<(), edit::Error> {
    let mut root = document.root_mut();
    match root.read().kind() {
        Kind::Sequence => root.push("added"),
        Kind::Mapping => root.insert("added", "value"),
        Kind::Scalar | Kind::Alias => root.set("added"),
    }
}

fn repeated(size: usize, text: &str) -> String {
    text.repeat(size.div_ceil(text.len()))
}

/// Writes entries with their numbers up to a size.
fn numbered(size: usize, mut entry: impl FnMut(&mut String, usize) -> std::fmt::Result) -> String {
    let mut text = String::with_capacity(size + 100);
    let mut number = 0;
    while text.len() < size {
        entry(&mut text, number).expect("writing to a String does not fail");
        number += 1;
    }
    text
}

/// A document of mappings inside of mappings, a column deeper each.
fn deep_block(depth: usize, line: &str) -> String {
    let mut text = String::from("---\n");
    for column in 0..depth {
        text.push_str(&" ".repeat(column));
        text.push_str(line);
    }
    text
}

/// A deep document, and comments that step back to the left below it.
fn staircase(depth: usize) -> String {
    let mut text = deep_block(depth, "a:\n");
    for column in (0..depth).rev() {
        text.push_str(&" ".repeat(column));
        text.push_str("# c\n");
    }
    text
}
