//! What is different between two answers.

use std::collections::BTreeMap;

use lanai_functions::{Answer, Compared};
use lanai_krm::result::{ResourceRef, ResultItem, Severity};
use lanai_krm::{Resource, ResourceList};
use lanai_yaml::{SequenceIndent, Stream, format_document};
use serde_json::Value;

use super::difference::{Both, section};
use super::record::Record;

/// Everything in which our answer is another than that of the program, a few lines each; empty when they are equal.
pub fn differences(ours: &Answer, theirs: &Record, compared: Compared) -> String {
    let lists = Both { there: read(&theirs.stdout), here: read(&ours.stdout) };
    let why = |list: &Result<ResourceList, String>| Vec::from_iter(list.as_ref().err().cloned());
    let unreadable = Both { there: why(&lists.there), here: why(&lists.here) };
    let (there, here) = (lists.there.unwrap_or_default(), lists.here.unwrap_or_default());
    let results = their_results(&there, theirs);
    // Errors are failures.
    let failed = results.iter().any(|item| item.severity == Some(Severity::Error));
    let exit_code = if failed && theirs.exit_code == 0 { 1 } else { theirs.exit_code };
    let exit_codes = Both { there: vec![exit_code.to_string()], here: vec![ours.exit_code.to_string()] };
    let mut out = section("exit code", &exit_codes);
    out += &section("results", &spell(Both { there: results, here: here.results.clone() }));
    out += &section("the list cannot be read", &unreadable);
    // Whoever fails says that its resources are not to be used.
    if (ours.exit_code == 0 || exit_code == 0) && unreadable.are_equal() {
        out += &section("resources", &Both { there: texts(&there, compared), here: texts(&here, compared) });
    }
    out
}

/// The results of a program. One that fails without a result says why on stderr only.
fn their_results(list: &ResourceList, record: &Record) -> Vec<ResultItem> {
    let mut results = list.results.clone();
    let is_error = |item: &ResultItem| item.severity == Some(Severity::Error);
    if record.exit_code != 0 && !results.iter().any(is_error) {
        let message = said_once(record.stderr.trim_end());
        let severity = Some(Severity::Error);
        results.push(ResultItem { message: message.into(), severity, ..ResultItem::default() });
    }
    results
}

/// A text that may be the same text twice, once.
fn said_once(text: &str) -> &str {
    let text = text.strip_prefix("Error: ").unwrap_or(text);
    let half = text.len() / 2;
    let is_twice = text.is_char_boundary(half) && text[..half] == text[half..];
    if is_twice { &text[..half] } else { text }
}

/// The results of both, a line each. What docs/functions.md says of files, and of errors that name what they are about, makes no
/// difference.
fn spell(mut results: Both<Vec<ResultItem>>) -> Both<Vec<String>> {
    let Both { there, here } = &mut results;
    for item in there.iter_mut().chain(here.iter_mut()) {
        item.file = item.file.take().filter(|file| !file.path.is_empty());
        item.resource_ref = item.resource_ref.take().filter(|of| *of != ResourceRef::default());
    }
    for (there, here) in there.iter_mut().zip(here) {
        match (&mut there.file, &here.file) {
            (None, _) => here.file = None,
            (Some(file), Some(ours)) if file.path == ours.path && file.index == 0 => *file = ours.clone(),
            (Some(_), _) => {}
        }
        if here.severity == Some(Severity::Error) {
            here.resource_ref = here.resource_ref.take().filter(|_| there.resource_ref.is_some());
            here.field = here.field.take().filter(|_| there.field.is_some());
        }
    }
    let lines =
        |items: &[ResultItem]| items.iter().map(|item| serde_json::to_string(item).unwrap()).collect();
    Both { there: lines(&results.there), here: lines(&results.here) }
}

/// The list in a text; none where there is no text.
fn read(text: &str) -> Result<ResourceList, String> {
    if text.is_empty() {
        return Ok(ResourceList::default());
    }
    ResourceList::parse(text).map_err(|error| error.to_string())
}

/// The resources of a list, each a text, without what readers and writers of packages note in them.
fn texts(list: &ResourceList, compared: Compared) -> Vec<String> {
    let text = |item: &Resource| {
        let stream = Stream::parse(item.to_string()).unwrap();
        let text = format_document(&stream.documents()[0], SequenceIndent::Compact);
        match compared {
            Compared::Text => text,
            Compared::Values => {
                let value: Value = Resource::parse(&text).unwrap().root().deserialize().unwrap();
                serde_json::to_string_pretty(&sorted(value)).unwrap()
            }
        }
    };
    let mut texts: Vec<String> = list.items.iter().map(text).collect();
    texts.sort();
    texts
}

/// A value whose mappings are sorted by key.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let map: BTreeMap<String, Value> =
                map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(map.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}
