//! Resources in JSON files.

use std::ops::Range;

use lanai_types::SafePath;
use lanai_yaml::{Document, Kind, NodeRef};
use serde_json::Value;

use super::Error;
use crate::Resource;

pub(super) fn is_json_name(path: &SafePath) -> bool {
    path.extension() == Some("json")
}

/// The text of a resource as JSON: as it is where it is JSON already; else with what is not JSON in it, such as words without quotes
/// that an edit put there, spelled as JSON; where that is not enough anew, two spaces a level, keys in their order.
pub(super) fn text(path: &SafePath, resource: &Resource) -> Result<String, Error> {
    let written = resource.to_string();
    if is_json(&written) {
        return Ok(written);
    }
    let failed = |cause: String| Error::NotJson { path: path.clone(), cause };
    let value: Value = resource.root().deserialize().map_err(|error| failed(error.to_string()))?;
    if let Some(spelled) = spelled(&written).filter(|spelled| says(spelled, &value)) {
        return Ok(spelled);
    }
    let mut text = serde_json::to_string_pretty(&value).map_err(|error| failed(error.to_string()))?;
    text.push('\n');
    Ok(text)
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn says(text: &str, value: &Value) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|found| found == *value)
}

/// A piece of the text that is to be another.
struct Splice {
    range: Range<usize>,
    text: String,
}

/// The text with every scalar spelled as JSON; `None` when it cannot be. What is JSON already stays as it is.
fn spelled(written: &str) -> Option<String> {
    let document = Document::parse(written).ok()?;
    let mut splices = Vec::new();
    spell(document.root(), written, &mut splices)?;
    splices.sort_by_key(|splice| splice.range.start);
    let (mut text, mut at) = (String::with_capacity(written.len()), 0);
    for splice in splices {
        text.push_str(written.get(at..splice.range.start)?);
        text.push_str(&splice.text);
        at = splice.range.end;
    }
    text.push_str(written.get(at..)?);
    Some(text)
}

/// Collects what is to be spelled otherwise below a node.
fn spell(root: NodeRef<'_>, written: &str, splices: &mut Vec<Splice>) -> Option<()> {
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        match node.kind() {
            Kind::Mapping => {
                for (key, value) in node.entries() {
                    let range = key.source_range()?;
                    if serde_json::from_str::<String>(written.get(range.clone())?).is_err() {
                        let name = key.as_str().unwrap_or_else(|| key.value());
                        splices.push(Splice { range, text: serde_json::to_string(&name).ok()? });
                    }
                    open.push(value);
                }
            }
            Kind::Sequence => open.extend(node.items()),
            Kind::Scalar => {
                let range = node.source_range()?;
                if !is_json(written.get(range.clone())?) {
                    let value: Value = node.deserialize().ok()?;
                    splices.push(Splice { range, text: serde_json::to_string(&value).ok()? });
                }
            }
            Kind::Alias => return None,
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_json_stays_and_the_rest_is_spelled_as_json() {
        for (written, expected) in [
            ("{\"a\": 1.0,  \"b\":[true , x]}", "{\"a\": 1.0,  \"b\":[true , \"x\"]}"),
            (
                "{\n\t\"a\": {tier: 'front', \"n\": yes, 7: ~}\n}\n",
                "{\n\t\"a\": {\"tier\": \"front\", \"n\": \"yes\", \"7\": null}\n}\n",
            ),
            ("{\"a\": \"\\x41\", \"b\": 0x10}", "{\"a\": \"A\", \"b\": 16}"),
        ] {
            assert_eq!(spelled(written).as_deref(), Some(expected), "{written}");
        }
    }
}
