//! What a parser that is not ours says about a text.

use granit_parser::{Event, Parser, ScalarStyle};

/// The content of a document as the judge reads it: scalars by their text, aliases without their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    Scalar { text: String, plain: bool },
    Sequence(Vec<Shape>),
    Mapping(Vec<Shape>),
    Alias,
}

/// A whole text as the judge reads it.
#[derive(Debug)]
pub struct Judged {
    pub documents: Vec<Shape>,
    /// Every line of comment, `#` included, sorted.
    pub comments: Vec<String>,
}

/// Reads a text with the independent parser.
pub fn judge(text: &str) -> Result<Judged, String> {
    let mut documents = Vec::new();
    let mut comments = Vec::new();
    let mut open: Vec<Shape> = Vec::new();
    for next in Parser::new_from_str(text) {
        let done = match next.map_err(|error| error.to_string())?.0 {
            Event::Comment(text, _) => {
                comments.push(format!("#{}", text.trim_end()));
                continue;
            }
            Event::Scalar(text, style, ..) => {
                Shape::Scalar { text: text.into_owned(), plain: style == ScalarStyle::Plain }
            }
            Event::Alias(_) => Shape::Alias,
            Event::SequenceStart(..) => {
                open.push(Shape::Sequence(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Shape::Mapping(Vec::new()));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop().ok_or("an end without a beginning")?,
            _ => continue,
        };
        match open.last_mut() {
            Some(Shape::Sequence(children) | Shape::Mapping(children)) => children.push(done),
            _ => documents.push(done),
        }
    }
    comments.sort();
    Ok(Judged { documents, comments })
}
