//! `lanai fn doc` and `lanai fn list`: what functions are for.

use std::fmt::Write as _;

use lanai_functions::catalog::find_in;
use lanai_functions::{Function, document};
use lanai_types::quote::Quoted;

use super::args::Doc;
use super::runtime;
use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};

/// How many letters of a purpose stand in a list.
const MAX_SHORT: usize = 80;

pub(super) fn run(doc: &Doc, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let Some(name) = doc.name.as_ref().or(doc.image.as_ref()) else {
        return Err(
            Failure::of(Code::Usage, "image must be specified").hint("\"lanai fn list\" names the functions")
        );
    };
    let function = find_in(&all(), name).ok_or_else(|| unknown(name))?;
    let mut page = String::new();
    document::section(&mut page, function);
    io.print(page.trim_start())?;
    Ok(Exit::Success)
}

/// The functions that come with the program, and the one that it runs by another program.
fn all() -> Vec<&'static dyn Function> {
    let mut all = runtime::functions();
    all.push(lanai_runner::about_helm());
    all.sort_by_key(|function| function.name());
    all
}

/// Lists the functions, a line each.
pub(super) fn list(io: &mut Io<'_>) -> Result<Exit, Failure> {
    let functions = all();
    let width = functions.iter().map(|function| function.name().len()).max().unwrap_or(0);
    let mut out = String::new();
    for function in functions {
        let _ = writeln!(out, "{:width$}  {}", function.name(), short(function.doc().purpose));
    }
    io.print(&out)?;
    Ok(Exit::Success)
}

/// The beginning of a text, up to the first end of a sentence or as much as fits on a line.
fn short(text: &str) -> String {
    let sentence = text.split_inclusive(". ").next().unwrap_or(text).trim();
    let mut line = String::new();
    for word in sentence.split_whitespace() {
        if line.len() + word.len() > MAX_SHORT {
            return format!("{} …", line.trim_end_matches([',', ':']));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// There is no such function.
pub(super) fn unknown(name: &str) -> Failure {
    Failure::of(Code::FunctionUnknown, format!("there is no function {}", Quoted(name)))
        .hint("\"lanai fn list\" names those that come with the program")
}
