//! `drop-comments`.

use lanai_krm::{Resource, ResourceList};
use lanai_yaml::{Document, Resolved};
use serde_json::{Map, Value};

use crate::function::{Compared, Counterpart, Deviation, Doc, Failure, Function};
use crate::report::{self, About, dotted};
use crate::sites;

/// Writes every resource anew, without comments.
pub struct DropComments;

impl Function for DropComments {
    fn name(&self) -> &'static str {
        "drop-comments"
    }

    fn tags(&self) -> &'static [&'static str] {
        &[]
    }

    fn counterpart(&self) -> Counterpart {
        Counterpart::Program {
            version: "kptdev/krm-functions-catalog, commit 1b0ff083 (2026)",
            resources: Compared::Text,
        }
    }

    fn doc(&self) -> Doc {
        Doc {
            purpose: "Writes every resource anew, as a program does that knows only the values: comments are gone, keys are sorted, quoting and layout \
                      are uniform, aliases are expanded. Good for trying out whether what comes behind it brings comments back.",
            config: &[],
            example: "",
            deviations: &[Deviation {
                there: "ends where a value is one that JSON cannot hold",
                here: "a result says which resource has it; that one stays as it is, the others are written",
                fixtures: &["not-a-number"],
            }],
        }
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        let from = list.results.len();
        for item in &mut list.items {
            match rewritten(item) {
                Ok(new) => *item = new,
                Err(cause) => {
                    let message = format!("the resource cannot be written as JSON: {cause}");
                    list.results.push(report::error(message).about(item).in_file_of(item));
                }
            }
        }
        Failure::if_reported(list, from)
    }
}

fn rewritten(item: &Resource) -> Result<Resource, String> {
    let is_lost = |site: &sites::Site<'_>| matches!(site.node.resolved(), Resolved::Float(number) if !number.is_finite());
    if let Some(site) = sites::all(item.root()).into_iter().find(is_lost) {
        return Err(format!("the field \"{}\" is {}", dotted(&site.path), site.node.value()));
    }
    let value: Value = item.root().deserialize().map_err(|error| error.to_string())?;
    let document = Document::from_serialize(&sorted(value)).map_err(|error| error.to_string())?;
    let mut new = Resource::parse(&document.to_string()).map_err(|error| error.to_string())?;
    new.set_origin(item.origin().cloned());
    Ok(new)
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<(String, Value)> = map.into_iter().collect();
            pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::Object(pairs.into_iter().map(|(key, value)| (key, sorted(value))).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}
