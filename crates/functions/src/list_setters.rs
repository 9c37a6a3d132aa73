//! `list-setters`.

use std::collections::BTreeMap;

use lanai_krm::{Resource, ResourceList};
use lanai_yaml::{Document, Kind, NodeRef, Resolved};

use crate::function::{Deviation, Doc, Failure, Function};
use crate::report;
use crate::setter::Pattern;
use crate::sites;

/// Reports the setters of a package.
pub struct ListSetters;

impl Function for ListSetters {
    fn name(&self) -> &'static str {
        "list-setters"
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v0.1", "v0.1.0"]
    }

    fn doc(&self) -> Doc {
        Doc {
            purpose: "Reports each setter with its value, the type of the value, and the number of fields that it sets. Setters are those that the \
                      pipeline of the Kptfile gives to `apply-setters`, in place or in a file of the list, and those that comments name. \
                      Values in the Kptfile count before those of fields. Nothing is changed.",
            config: &[],
            example: "",
            deviations: &[
                Deviation {
                    there: "comments behind an alias are not seen",
                    here: "they count, because `apply-setters` sees them, too",
                    fixtures: &["alias"],
                },
                Deviation {
                    there: "a list whose comment is more than one hole counts as one whose setter has an odd name",
                    here: "it has no setter: `apply-setters` refuses it",
                    fixtures: &["list-pattern"],
                },
            ],
        }
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        let mut setters = Setters::default();
        given(&list.items, &mut setters);
        for item in &list.items {
            used(item, &mut setters);
        }
        if setters.is_empty() {
            list.results.push(report::warning("no setters found"));
        }
        list.results.extend(setters.iter().map(|((name, _), setter)| {
            let Setter { value, kind, count } = setter;
            report::plain(format!("Name: {name}, Value: {value}, Type: {kind}, Count: {count}"))
        }));
        Ok(())
    }
}

/// What a setter sets. One name may set both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shape {
    List,
    Scalar,
}

/// The setters, by name.
type Setters = BTreeMap<(String, Shape), Setter>;

struct Setter {
    value: String,
    kind: &'static str,
    count: usize,
}

/// The type of a setter of which only a text is known.
const TEXT: &str = "str";

/// The setters that the root Kptfile gives to `apply-setters`.
fn given(items: &[Resource], setters: &mut Setters) {
    let is_root = |item: &&Resource| {
        item.kind().is_some_and(|kind| kind == "Kptfile") && item.path().is_none_or(|path| path == "Kptfile")
    };
    let Some(kptfile) = items.iter().find(is_root) else { return };
    let Some(mutators) = sites::at(kptfile.root(), &["pipeline", "mutators"]) else { return };
    for step in mutators.items() {
        let image = step.get("image").and_then(sites::text).unwrap_or_default();
        let name = image.rsplit('/').next().unwrap_or_default();
        if name.split([':', '@']).next() != Some("apply-setters") {
            continue;
        }
        if let Some(setters_of_step) = step.get("configMap") {
            add(setters_of_step, setters);
            continue;
        }
        let path = step.get("configPath").and_then(sites::text);
        let file = path.and_then(|path| items.iter().find(|item| item.path().is_some_and(|is| is == path)));
        if let Some(data) = file.and_then(|file| file.root().get("data")) {
            add(data, setters);
        }
    }
}

/// Adds setters and their values; what comes later counts.
fn add(pairs: NodeRef<'_>, setters: &mut Setters) {
    for (key, value) in pairs.entries() {
        let Some(text) = sites::text(value) else { continue };
        let name = key.target().value().into_owned();
        let list = Document::parse(&*text).ok().filter(|document| document.root().kind() == Kind::Sequence);
        if let Some(list) = list {
            setters.insert((name, Shape::List), array(&texts(list.root())));
        } else {
            let setter = Setter { value: text.into_owned(), kind: TEXT, count: 0 };
            setters.insert((name, Shape::Scalar), setter);
        }
    }
}

/// The setters that the comments of a resource name.
fn used(item: &Resource, setters: &mut Setters) {
    for site in sites::all(item.root()) {
        let Some(pattern) = site.line_comment().as_deref().and_then(Pattern::of_comment) else { continue };
        let node = site.node.target();
        match node.kind() {
            Kind::Scalar => {
                let kind = type_of(node);
                for (name, value) in pattern.recover(&node.value()) {
                    let new = || Setter { value, kind, count: 0 };
                    let setter = setters.entry((name, Shape::Scalar)).or_insert_with(new);
                    setter.count += 1;
                    // A text may be one because the setter is only a part of it, or because the Kptfile has nothing else.
                    if setter.kind == TEXT {
                        setter.kind = kind;
                    }
                }
            }
            Kind::Sequence => {
                let Some(name) = pattern.only_hole() else { continue };
                let mut texts = texts(site.node);
                texts.sort();
                setters.entry((name.into(), Shape::List)).or_insert_with(|| array(&texts)).count += 1;
            }
            Kind::Mapping | Kind::Alias => {}
        }
    }
}

/// The type of a scalar, as its tag spells it.
fn type_of(node: NodeRef<'_>) -> &'static str {
    match node.resolved() {
        Resolved::Int(_) => "int",
        Resolved::Bool(_) => "bool",
        Resolved::Float(_) => "float",
        Resolved::Null => "null",
        _ => TEXT,
    }
}

fn texts(list: NodeRef<'_>) -> Vec<String> {
    list.items().filter_map(|item| Some(sites::text(item)?.into_owned())).collect()
}

fn array(texts: &[String]) -> Setter {
    Setter { value: format!("[{}]", texts.join(", ")), kind: "array", count: 0 }
}
