//! `apply-replacements`.

mod field_path;
mod replacement;
mod select;

use lanai_krm::{Resource, ResourceList};
use lanai_yaml::{Content, Document, Kind, NodeRef, Path};

use crate::config::{self, TYPED};
use crate::function::{Deviation, Doc, Failure, Field, Function};
use crate::go;
use crate::plan::{Change, Plan};
use crate::report::{self, About, dotted};
use crate::sites::{describe, text};
use field_path::FieldPath;
use replacement::{Options, Origin, Replacement, Source, Target};

/// Copies values from one resource into others.
pub struct ApplyReplacements;

impl Function for ApplyReplacements {
    fn name(&self) -> &'static str {
        "apply-replacements"
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v0.1", "v0.1.2", "v0.1.5"]
    }

    fn doc(&self) -> Doc {
        Doc {
            purpose: "Takes a value from a field of one resource and puts it into fields of others. Replacements are made in order; each sees what \
                      the ones before it did. Texts in selectors are compared as they are, without patterns.",
            config: &[
                Field {
                    path: "replacements[].source",
                    meaning: "the one resource to take from: `group`, `version`, `kind`, `name`, `namespace`; `fieldPath` (else `metadata.name`), `options.delimiter` and `options.index` for a part of the text",
                },
                Field { path: "replacements[].sourceValue", meaning: "a text, instead of a source" },
                Field {
                    path: "replacements[].targets[].select",
                    meaning: "the resources to put it into: as in a source, and `labelSelector`, `annotationSelector`. The namespace `default` also selects resources without one",
                },
                Field { path: "replacements[].targets[].reject[]", meaning: "resources that are left out" },
                Field {
                    path: "replacements[].targets[].fieldPaths[]",
                    meaning: "the fields, else `metadata.name`: keys with dots between them, `[key=value]` or a number for an item of a list, `*` for all",
                },
                Field {
                    path: "replacements[].targets[].options",
                    meaning: "`create` adds the field where it is missing; `delimiter` and `index` replace a part of the text (negative: before the first, beyond the end: behind the last)",
                },
            ],
            example: "apiVersion: fn.kpt.dev/v1alpha1\nkind: ApplyReplacements\nmetadata:\n  name: config\nreplacements:\n- source:\n    kind: ConfigMap\n    name: values\n    fieldPath: data.host\n  targets:\n  - select:\n      kind: Ingress\n    fieldPaths:\n    - spec.rules.*.host\n",
            deviations: &[
                Deviation {
                    there: "a field that is created takes the text of the source without its type: `\"5\"` becomes `5`",
                    here: "it takes the value as it is",
                    fixtures: &["create"],
                },
                Deviation {
                    there: "a mapping or list that is put into a scalar empties it",
                    here: "that is an error",
                    fixtures: &["mapping-into-scalar"],
                },
                Deviation {
                    there: "a mapping in braces is put in on lines of its own",
                    here: "it is put in as it stands in the source",
                    fixtures: &["mapping"],
                },
                Deviation {
                    there: "a text that is put in place of a number keeps the type: `!!int text`",
                    here: "it gets the type that it reads as",
                    fixtures: &["selectors"],
                },
                Deviation {
                    there: "a part before the first or behind the last is added again in every run",
                    here: "not when it is there already",
                    fixtures: &["part-is-there"],
                },
                Deviation {
                    there: "releases up to v0.1.2 do not know `sourceValue`",
                    here: "as later releases: it is a source, and excludes another",
                    fixtures: &["both-sources", "source-value"],
                },
                Deviation {
                    there: "a configuration that cannot be read is refused in words that name types of Go",
                    here: "the message names the field",
                    fixtures: &["wrong-type"],
                },
            ],
        }
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        let replacements = match read(list) {
            Ok(replacements) => replacements,
            Err(message) => return Err(Failure::report(list, report::error(message))),
        };
        for replacement in &replacements {
            if let Err(error) = apply(list, replacement) {
                return Err(Failure::report(list, *error));
            }
        }
        Ok(())
    }
}

type Refused = Box<lanai_krm::ResultItem>;

fn read(list: &ResourceList) -> Result<Vec<Replacement>, String> {
    let Some(config) = config::given(list) else {
        return Err("FunctionConfig is missing. Expect `ApplyReplacements`".into());
    };
    if !config::is(&config, TYPED, "ApplyReplacements") {
        let config::Type { api_version, kind } = config::type_of(&config);
        return Err(format!(
            "received functionConfig of kind {kind} and apiVersion {api_version}, only functionConfig of kind ApplyReplacements and apiVersion {TYPED} is supported"
        ));
    }
    let wrong = |wrong: config::Wrong| format!("unable to convert functionConfig to replacements:\n{wrong}");
    let list = config::list(config.root(), "replacements").map_err(wrong)?;
    list.into_iter().flat_map(NodeRef::items).map(|node| Replacement::read(node).map_err(wrong)).collect()
}

fn apply(list: &mut ResourceList, replacement: &Replacement) -> Result<(), Refused> {
    let error = |message: &str| Box::new(report::error(message));
    let has_source = replacement.source.is_some() || replacement.value.is_some();
    if !has_source || replacement.targets.is_empty() {
        return Err(error("replacements must specify a source and at least one target"));
    }
    let value = match (&replacement.source, &replacement.value) {
        (Some(_), Some(_)) => return Err(error("value and resource selectors are mutually exclusive")),
        (Some(source), None) => taken(&list.items, source)?,
        (None, Some(value)) => Value::of_text(value),
        (None, None) => return Ok(()),
    };
    for target in &replacement.targets {
        let Some(select) = &target.select else {
            return Err(error("target must specify resources to select"));
        };
        for item in &mut list.items {
            let rejected = target.reject.iter().any(|reject| reject.matches(item));
            if select.matches(item) && !rejected {
                put(item, target, &value)?;
            }
        }
    }
    Ok(())
}

/// What is copied.
struct Value {
    content: Content,
    /// The text, when it is a scalar.
    text: Option<String>,
    /// What it is, in words.
    found: &'static str,
}

impl Value {
    fn of_text(text: &str) -> Self {
        Self { content: Content::string(text), text: Some(text.into()), found: "a scalar" }
    }
}

fn taken(items: &[Resource], source: &Source) -> Result<Value, Refused> {
    let error = |message: String| Box::new(report::error(message));
    let mut selected = items.iter().filter(|item| source.select.matches(item));
    let item = selected.next().ok_or_else(|| error(format!("nothing selected by {source}")))?;
    if selected.next().is_some() {
        return Err(error(format!("multiple matches for selector {source}")));
    }
    let path = source.field_path.as_deref().unwrap_or("metadata.name");
    let missing = || error(format!("fieldPath `{path}` is missing for replacement source {}", source.select));
    let place = FieldPath::parse(path).find(item.root()).into_iter().next().ok_or_else(missing)?;
    let node = item.root().find(&place).map_err(|_| missing())?.target();
    let Some(delimiter) = source.options.delimiter.as_deref().filter(|delimiter| !delimiter.is_empty())
    else {
        // A copy of the value alone: the comments of the source are about the source.
        let scalar = (node.kind() == Kind::Scalar).then(|| node.value().into_owned());
        return Ok(Value { content: bare(node), text: scalar, found: describe(node) });
    };
    let whole = text(node).unwrap_or_default();
    let index = source.options.index;
    let part = usize::try_from(index).ok().and_then(|index| whole.split(delimiter).nth(index));
    part.map(Value::of_text)
        .ok_or_else(|| error(format!("options.index {index} is out of bounds for value {whole}")))
}

/// A copy of a scalar without its comments, or of a collection.
fn bare(node: NodeRef<'_>) -> Content {
    match node.kind() {
        Kind::Scalar if node.as_str().is_some() => Content::string(node.value()),
        Kind::Scalar => Content::parse(&node.value()).unwrap_or_else(|_| Content::from(node)),
        Kind::Mapping | Kind::Sequence | Kind::Alias => Content::from(node),
    }
}

fn put(item: &mut Resource, target: &Target, value: &Value) -> Result<(), Refused> {
    let mut plan = Plan::default();
    let default = [String::from("metadata.name")];
    let paths = if target.field_paths.is_empty() { &default[..] } else { &target.field_paths };
    for path in paths {
        let parsed = FieldPath::parse(path);
        let found = match target.options.origin {
            Origin::Existing => parsed.find(item.root()),
            Origin::Create => parsed.find_or_create(item.root()),
        };
        if found.is_empty() {
            let message = format!("unable to find field {} in replacement target", go::quote(path));
            return Err(Box::new(report::error(message).about(item).at(path).in_file_of(item)));
        }
        for place in found {
            if let Some(change) = change(item, &place, &target.options, value)? {
                plan.push(place, change);
            }
        }
    }
    plan.apply(item)
}

fn change(
    item: &Resource,
    place: &Path,
    options: &Options,
    value: &Value,
) -> Result<Option<Change>, Refused> {
    let node = item.root().find(place).ok().map(NodeRef::target);
    let Some(node) = node.filter(|node| node.kind() == Kind::Scalar && !node.is_null()) else {
        let same = node.is_some_and(|node| mean_the_same(Content::from(node), value.content.clone()));
        return Ok((!same).then(|| Change::Content(value.content.clone())));
    };
    let Some(text) = &value.text else {
        let path = dotted(place);
        let message =
            format!("the field \"{path}\" is a scalar, the source is {}: it has no place there", value.found);
        return Err(Box::new(report::error(message).about(item).at(&path).in_file_of(item)));
    };
    let current = node.value();
    let text = match options.delimiter.as_deref().filter(|delimiter| !delimiter.is_empty()) {
        Some(delimiter) => with_part(&current, delimiter, options.index, text),
        None => text.clone(),
    };
    if text == current {
        return Ok(None);
    }
    Ok(Some(if node.as_str().is_some() {
        Change::Text(text)
    } else {
        Change::Content(crate::setter::retyped(node, &text))
    }))
}

fn mean_the_same(one: Content, other: Content) -> bool {
    match (alone(one), alone(other)) {
        (Some(one), Some(other)) => one.means_the_same(&other),
        _ => false,
    }
}

/// A resource that is nothing but this content.
fn alone(content: Content) -> Option<Resource> {
    let mut document = Document::parse("{}").ok()?;
    document.root_mut().insert("value", content).ok()?;
    Resource::try_from(document).ok()
}

/// A text with one of its parts replaced, or one more part.
fn with_part(current: &str, delimiter: &str, index: i64, part: &str) -> String {
    let mut parts: Vec<&str> = current.split(delimiter).collect();
    match usize::try_from(index) {
        Err(_) if parts.first() == Some(&part) => {}
        Err(_) => parts.insert(0, part),
        Ok(index) if index < parts.len() => parts[index] = part,
        Ok(_) if parts.last() == Some(&part) => {}
        Ok(_) => parts.push(part),
    }
    parts.join(delimiter)
}

#[cfg(test)]
mod tests {
    use super::with_part;

    #[test]
    fn parts() {
        assert_eq!(with_part("a/b", "/", 1, "x"), "a/x");
        assert_eq!(with_part("a/b", "/", 2, "x"), "a/b/x");
        assert_eq!(with_part("a/b/x", "/", 7, "x"), "a/b/x");
        assert_eq!(with_part("a/b", "/", -1, "x"), "x/a/b");
        assert_eq!(with_part("x/a/b", "/", -1, "x"), "x/a/b");
    }
}
