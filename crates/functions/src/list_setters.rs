//! `list-setters`.

use std::collections::BTreeMap;

use lanai_krm::{Resource, ResourceList};
use lanai_yaml::{Document, Kind, NodeRef, Resolved};

use crate::function::{Doc, Failure, Function};
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
            deviations: &[],
        }
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        let mut setters = BTreeMap::new();
        given(&list.items, &mut setters);
        for item in &list.items {
            used(item, &mut setters);
        }
        if setters.is_empty() {
            list.results.push(report::warning("no setters found"));
        }
        list.results.extend(setters.iter().map(|(name, setter)| {
            let Setter { value, kind, count } = setter;
            report::info(format!("Name: {name}, Value: {value}, Type: {kind}, Count: {count}"))
        }));
        Ok(())
    }
}

struct Setter {
    value: String,
    kind: &'static str,
    count: usize,
}

/// The setters that the root Kptfile gives to `apply-setters`.
fn given(items: &[Resource], setters: &mut BTreeMap<String, Setter>) {
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
        add(step.get("configMap"), setters);
        let path = step.get("configPath").and_then(sites::text);
        let file = path.and_then(|path| items.iter().find(|item| item.path().is_some_and(|is| is == path)));
        add(file.and_then(|file| file.root().get("data")), setters);
    }
}

fn add(pairs: Option<NodeRef<'_>>, setters: &mut BTreeMap<String, Setter>) {
    for (key, value) in pairs.into_iter().flat_map(NodeRef::entries) {
        let Some(text) = sites::text(value) else { continue };
        let setter = described(&text);
        setters.entry(key.target().value().into_owned()).or_insert(setter);
    }
}

/// The setters that the comments of a resource name.
fn used(item: &Resource, setters: &mut BTreeMap<String, Setter>) {
    for site in sites::all(item.root()) {
        let Some(pattern) = site.line_comment().as_deref().and_then(Pattern::of_comment) else { continue };
        let node = site.node.target();
        match node.kind() {
            Kind::Scalar => {
                let values = pattern.recover(&node.value());
                for name in pattern.holes() {
                    let Some(value) = values.get(name) else { continue };
                    setters.entry(name.into()).or_insert_with(|| described(value)).count += 1;
                }
            }
            Kind::Sequence => {
                let Some(name) = pattern.only_hole() else { continue };
                setters.entry(name.into()).or_insert_with(|| array(site.node)).count += 1;
            }
            Kind::Mapping | Kind::Alias => {}
        }
    }
}

/// A setter with this value, which is YAML.
fn described(text: &str) -> Setter {
    let plain = |kind| Setter { value: text.into(), kind, count: 0 };
    let Ok(document) = Document::parse(text) else { return plain("str") };
    let root = document.root();
    if root.kind() == Kind::Sequence {
        return array(root);
    }
    match root.resolved() {
        Resolved::Int(_) => plain("int"),
        Resolved::Bool(_) => plain("bool"),
        Resolved::Float(_) => plain("float"),
        Resolved::Null if !text.is_empty() => plain("null"),
        _ => plain("str"),
    }
}

fn array(list: NodeRef<'_>) -> Setter {
    let texts: Vec<String> = list.items().filter_map(|item| Some(sites::text(item)?.into_owned())).collect();
    Setter { value: format!("[{}]", texts.join(", ")), kind: "array", count: 0 }
}
