//! Conflicts that were decided by hand.

use std::collections::HashMap;
use std::path::Path;

use lanai_merge::{ConflictId, Resolution, Take};
use lanai_types::quote::Quoted;
use lanai_yaml::{Document, Kind};

use super::conflicts::{Entry, Report, Update};
use super::handed;
use crate::failure::{Code, Failure, cause};
use crate::io::Io;

/// What `--resolve` names.
#[derive(Clone, Debug)]
pub(crate) struct Resolutions {
    shown: String,
    /// The command that prints conflicts.
    printer: &'static str,
    report: Report,
    /// Where the entries of `updates` and `conflicts` begin.
    update_lines: Vec<usize>,
    conflict_lines: Vec<usize>,
}

/// What was decided, by the folder of the package that the conflicts are in.
pub(crate) type Decisions = HashMap<String, Vec<Resolution>>;

impl Resolutions {
    /// Reads the file, which the command `printer` makes.
    ///
    /// # Errors
    /// When it cannot be read, or is not what `-o yaml` prints.
    pub fn read(path: &Path, printer: &'static str, io: &mut Io<'_>) -> Result<Self, Failure> {
        let shown = path.display().to_string();
        let text = if path == Path::new("-") {
            std::io::read_to_string(&mut *io.stdin)
        } else {
            std::fs::read_to_string(io.folder.join(path))
        };
        let text = text.map_err(|error| {
            Failure::of(Code::File, format!("cannot read {}: {}", Quoted(&shown), cause(&error)))
        })?;
        let refused = |why: String| {
            Failure::of(Code::Decisions, format!("{shown}: {why}"))
                .hint(format!("begin with what \"{printer}\" prints"))
        };
        let document = Document::parse(text).map_err(|error| refused(format!("{error:#}")))?;
        let report = handed::report(document.root()).map_err(|wrong| refused(wrong.to_string()))?;
        let lines = |field: &str| {
            let list = document.root().get(field);
            list.map_or_else(Vec::new, |list| list.items().map(|item| item.position().line).collect())
        };
        Ok(Self {
            shown,
            printer,
            report,
            update_lines: lines("updates"),
            conflict_lines: match document.root().target().kind() {
                Kind::Sequence => document.root().items().map(|item| item.position().line).collect(),
                Kind::Mapping | Kind::Scalar | Kind::Alias => lines("conflicts"),
            },
        })
    }

    /// Checks the decisions against the conflicts that there are now, and returns them.
    ///
    /// # Errors
    /// All that are about another update, about no conflict, about other values, or decide nothing that can be decided.
    pub fn decisions(&self, now: &Report) -> Result<Decisions, Failure> {
        let mut wrong = Vec::new();
        let updates: HashMap<&str, &Update> =
            now.updates.iter().map(|update| (update.package.as_str(), update)).collect();
        for (update, line) in self.report.updates.iter().zip(&self.update_lines) {
            let current = updates.get(update.package.as_str());
            if current.is_none_or(|current| (&current.from, &current.to) != (&update.from, &update.to)) {
                wrong.push(format!(
                    "line {line}: package {}: it was made for the update to commit {}, which is not this one",
                    Quoted(&update.package),
                    update.to
                ));
            }
        }
        let mut decisions = Decisions::new();
        let conflicts: HashMap<Name<'_>, &Entry> =
            now.conflicts.iter().map(|found| (Name::of(found), found)).collect();
        for (entry, line) in self.report.conflicts.iter().zip(&self.conflict_lines) {
            match check(entry, conflicts.get(&Name::of(entry)).copied()) {
                Ok(None) => {}
                Ok(Some(take)) => {
                    let conflict = ConflictId::new(entry.id.as_str());
                    decisions.entry(entry.package.clone()).or_default().push(Resolution { conflict, take });
                }
                Err(why) => wrong.push(format!("line {line}: conflict {}: {why}", Quoted(&entry.id))),
            }
        }
        if wrong.is_empty() {
            return Ok(decisions);
        }
        let list = wrong.join("\n  ");
        Err(Failure::of(Code::Decisions, format!("{} does not fit:\n  {list}", Quoted(&self.shown)))
            .hint(format!("print the conflicts again with \"{}\"", self.printer)))
    }
}

impl Resolutions {
    /// Why a decision cannot be followed, with the place where it was made.
    pub fn refused(&self, package: &str, conflict: &ConflictId, why: &str) -> Failure {
        let entries = self.report.conflicts.iter().zip(&self.conflict_lines);
        let mut found =
            entries.filter(|(entry, _)| entry.id == conflict.as_str() && entry.package == package);
        // Of two the second one is too many.
        let line = found.next_back().map_or(1, |(_, line)| *line);
        Failure::of(Code::Decisions, format!("{}: line {line}: {why}", self.shown))
    }
}

/// What tells conflicts apart.
#[derive(PartialEq, Eq, Hash)]
struct Name<'a> {
    package: &'a str,
    id: &'a str,
}

impl<'a> Name<'a> {
    fn of(entry: &'a Entry) -> Self {
        Self { package: &entry.package, id: &entry.id }
    }
}

/// What an entry decides; nothing where `chosen` is empty.
fn check(entry: &Entry, found: Option<&Entry>) -> Result<Option<Take>, String> {
    let Some(found) = found else { return Err("there is no such conflict".into()) };
    let sides = [
        ("original", &entry.original, &found.original),
        ("upstream", &entry.upstream, &found.upstream),
        ("local", &entry.local, &found.local),
    ];
    // A decision without its values is about those that there are.
    let is_bare = entry.kind.is_empty();
    if let Some((side, _, _)) = sides.iter().find(|(_, then, now)| !is_bare && then != now) {
        return Err(format!("the {side} value is another one now"));
    }
    match (entry.chosen.as_str(), &entry.value) {
        ("", None) => Ok(None),
        ("upstream", None) => Ok(Some(Take::Upstream)),
        ("local", None) => Ok(Some(Take::Local)),
        ("original", None) => Ok(Some(Take::Original)),
        ("value", Some(value)) => Ok(Some(Take::Value(value.clone()))),
        ("value", None) => Err("chosen is value, and there is no value".into()),
        ("" | "upstream" | "local" | "original", Some(_)) => {
            Err("there is a value, but chosen is not value".into())
        }
        (other, _) => {
            Err(format!("chosen is {}; it can be upstream, local, original or value", Quoted(other)))
        }
    }
}
