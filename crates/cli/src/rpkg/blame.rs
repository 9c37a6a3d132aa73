//! `lanai rpkg blame`: which revision set each line of a file, or a field.

use std::collections::HashMap;
use std::ffi::OsString;

use lanai_yaml::{NodeRef, Path, Stream};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::ancestry::{Origin, Revisions, origin};
use super::args::{Blame, BlameFormat};
use super::server::{Server, lifecycle, name_of, number, text};
use crate::client::Trouble;
use crate::failure::{Code, Failure};
use crate::file::Source;
use crate::io::{Exit, Io};
use crate::output;
use crate::table;
use crate::yaml::{Purpose, choose};

/// How many revisions are looked at.
const MAX_REVISIONS: usize = 200;

pub(super) fn run(blame: &Blame, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let all = Revisions::load(server, io)?;
    let mut search = Search { all: &all, server, file: &blame.file, known: HashMap::new() };
    if !all.by_name.contains_key(&blame.package) {
        // In the words of the server.
        server.get(&blame.package, io)?;
    }
    let Some(lines) = search.blame(&blame.package, io)? else {
        let resources = server.resources(&blame.package, io)?;
        if resources["spec"]["binaryResources"].get(&blame.file).is_some() {
            return Err(Failure::of(
                Code::Text,
                format!("\"{}\" of {} is no text: it has no lines", blame.file, blame.package),
            ));
        }
        return Err(Failure::of(Code::Absent, format!("{} has no file \"{}\"", blame.package, blame.file)));
    };
    let content: String = lines.iter().map(|line| line.text.as_str()).collect();
    let wanted = match &blame.field {
        Some(field) => field_lines(field, blame, &content)?,
        None => 1..=lines.len(),
    };
    let shown = lines.iter().enumerate().filter(|(at, _)| wanted.contains(&(at + 1)));
    let entries: Vec<Value> = shown.map(|(at, line)| entry(at + 1, line, &all)).collect();
    let shown = match blame.output {
        BlameFormat::Json => output::json(&json!(entries)) + "\n",
        BlameFormat::Table => {
            let row = |entry: &Value| {
                let fields = ["name", "revision", "by", "at", "line", "text"];
                fields.iter().map(|field| text(entry, field).to_owned()).collect()
            };
            table::text(
                &["SET BY", "REVISION", "WHO", "WHEN", "LINE", "TEXT"],
                entries.iter().map(row).collect(),
            )
        }
    };
    io.print(&shown)?;
    Ok(Exit::Success)
}

/// A line, and the oldest revision that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    text: String,
    set_by: String,
}

struct Search<'a> {
    all: &'a Revisions,
    server: &'a Server,
    file: &'a str,
    /// What was found of a revision; nothing where it has no such file, or is not there any more.
    known: HashMap<String, Option<Vec<Line>>>,
}

impl Search<'_> {
    /// The lines of the file in a revision; none where it has no such file.
    fn blame(&mut self, name: &str, io: &mut Io<'_>) -> Result<Option<Vec<Line>>, Failure> {
        // Revisions are gone through from the oldest; what a revision was made of comes before it.
        let mut order = Vec::new();
        let mut open = vec![name.to_owned()];
        while let Some(next) = open.pop() {
            if order.contains(&next) || order.len() == MAX_REVISIONS {
                continue;
            }
            open.extend(self.parents(&next));
            order.push(next);
        }
        // A parent that was met first would stand behind its child.
        let mut waiting: Vec<String> = order.into_iter().rev().collect();
        while !waiting.is_empty() {
            let ready = waiting.iter().position(|name| {
                self.parents(name)
                    .iter()
                    .all(|parent| self.known.contains_key(parent) || !waiting.contains(parent))
            });
            let name = waiting.remove(ready.unwrap_or(0));
            let lines = self.lines(&name, io)?;
            self.known.insert(name, lines);
        }
        Ok(self.known.remove(name).flatten())
    }

    fn parents(&self, name: &str) -> Vec<String> {
        let Some(object) = self.all.by_name.get(name) else { return Vec::new() };
        if number(object) < 0 {
            return self.all.before(object).map(|parent| name_of(parent).to_owned()).into_iter().collect();
        }
        match origin(object) {
            // Made elsewhere: the revision before it, and what its upstream lock names.
            Origin::Nothing | Origin::Git(_) => {
                let before = self.all.before(object).into_iter().chain(self.all.upstream(object));
                before.map(|parent| name_of(parent).to_owned()).collect()
            }
            Origin::Copy(source) | Origin::Clone(source) => vec![source],
            Origin::Upgrade { local, new, .. } => vec![local, new],
        }
    }

    fn lines(&self, name: &str, io: &mut Io<'_>) -> Result<Option<Vec<Line>>, Failure> {
        let resources = match self.server.resources(name, io) {
            Ok(resources) => resources,
            Err(Trouble::Refused(refusal)) if refusal.is_missing() => return Ok(None),
            Err(trouble) => return Err(trouble.into()),
        };
        let Some(content) = resources["spec"]["resources"][self.file].as_str() else { return Ok(None) };
        let parents = self.parents(name);
        let known: Vec<&[Line]> =
            parents.iter().filter_map(|parent| self.known.get(parent)?.as_deref()).collect();
        Ok(Some(attributed(name, content, &known)))
    }
}

/// The lines of a text. Those that a parent has were set by whom they were set there; of two parents, the first.
fn attributed(name: &str, content: &str, parents: &[&[Line]]) -> Vec<Line> {
    let own = |text: &str| Line { text: text.to_owned(), set_by: name.to_owned() };
    let mut lines: Vec<Line> = content.split_inclusive('\n').map(own).collect();
    let mut is_known = vec![false; lines.len()];
    for parent in parents {
        let before: String = parent.iter().map(|line| line.text.as_str()).collect();
        for change in TextDiff::from_lines(before.as_str(), content).iter_all_changes() {
            if let (ChangeTag::Equal, Some(old), Some(new)) =
                (change.tag(), change.old_index(), change.new_index())
                && let (Some(old), Some(line), Some(known)) =
                    (parent.get(old), lines.get_mut(new), is_known.get_mut(new))
                && !*known
            {
                line.set_by.clone_from(&old.set_by);
                *known = true;
            }
        }
    }
    lines
}

fn entry(number_of_line: usize, line: &Line, all: &Revisions) -> Value {
    let object = all.by_name.get(&line.set_by).unwrap_or(&Value::Null);
    let status = &object["status"];
    let dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    let revision = match number(object) {
        0 => lifecycle(object).to_owned(),
        -1 => "branch".to_owned(),
        number => format!("v{number}"),
    };
    json!({
        "name": name_of_or(object, &line.set_by), "revision": revision,
        "by": dash(text(status, "publishedBy")),
        "at": dash(status["publishTimestamp"].as_str().unwrap_or_default()),
        "line": number_of_line.to_string(),
        "text": line.text.trim_end_matches(['\n', '\r']),
    })
}

fn name_of_or<'a>(object: &'a Value, otherwise: &'a str) -> &'a str {
    match name_of(object) {
        "" => otherwise,
        name => name,
    }
}

/// The lines on which a field stands.
fn field_lines(
    field: &str,
    blame: &Blame,
    content: &str,
) -> Result<std::ops::RangeInclusive<usize>, Failure> {
    let file = Source::from(OsString::from(&blame.file));
    let refused = |why: String| Failure::of(Code::Absent, format!("{file}: {why}"));
    let path = Path::parse(field).map_err(|error| refused(format!("{error:#}")))?;
    let stream = Stream::parse(content).map_err(|error| refused(format!("{error:#}")))?;
    let at = choose(&stream, blame.document.as_ref(), &path, Purpose::Read, &file)?;
    let node = stream.documents()[at]
        .root()
        .find(&path)
        .map_err(|missing| refused(format!("there is no {path}: {missing}")))?;
    let first = node.position().line;
    Ok(first..=last_line(node).max(first))
}

/// The last line on which something of a value begins.
fn last_line(node: NodeRef<'_>) -> usize {
    let mut last = node.position().line;
    let mut open: Vec<NodeRef<'_>> = vec![node];
    while let Some(node) = open.pop() {
        last = last.max(node.position().line);
        open.extend(node.entries().map(|(_, value)| value));
        open.extend(node.items());
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_belongs_to_the_oldest_that_has_it() {
        let base = attributed("base", "a: 1\nb: 2\nc: 3\n", &[]);
        let upstream = attributed("upstream", "a: 1\nb: 20\nc: 3\nd: 4\n", &[&base]);
        let local = attributed("local", "a: 10\nb: 2\nc: 3\n", &[&base]);
        let merged = attributed("merged", "a: 10\nb: 20\nc: 3\nd: 4\ne: 5\n", &[&local, &upstream]);
        let by: Vec<&str> = merged.iter().map(|line| line.set_by.as_str()).collect();
        assert_eq!(by, ["local", "upstream", "base", "upstream", "merged"]);
    }
}
