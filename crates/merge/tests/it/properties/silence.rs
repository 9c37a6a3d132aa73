//! No silent choice: what one side alone changed arrives, and where both changed the same otherwise there is a conflict.
//!
//! Packages are taken apart into single facts (a value, a comment, the file of a resource, a mode), and the table of
//! `docs/upgrades.md` is applied to each of them. Nothing of the merge is used for that.

use std::collections::{BTreeMap, BTreeSet};

use lanai_krm::package::{File, OtherYaml, ReadOptions, is_resource_name};
use lanai_krm::{Package, Resource};
use lanai_merge::{Conflict, Merged, Side};
use serde_json::Value;

/// What a fact is about: a resource by its package and name, any other document or file by its path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Thing {
    package: String,
    name: String,
}

/// Which fact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// A scalar, or a list that is one value.
    Value(String),
    /// That there is a mapping, or a list with keys.
    Inner(String),
    /// A comment, with the field that it stands at.
    Comment(String),
    /// The document of comments only behind a resource.
    Remarks,
    Place,
    Content,
    Mode,
}

/// The facts of a package, and the files of each thing.
#[derive(Default)]
struct Facts {
    parts: BTreeMap<(Thing, Part), String>,
    places: BTreeMap<Thing, Vec<String>>,
}

/// The files that merge by rules of their own: what any side ignores, and packages that come from elsewhere.
struct Exempt {
    ignores: bool,
    roots: BTreeSet<String>,
    remote: BTreeSet<String>,
}

impl Exempt {
    fn new(sides: [&Package; 3]) -> Self {
        let mut exempt = Self { ignores: false, roots: BTreeSet::new(), remote: BTreeSet::new() };
        for (path, file) in sides.into_iter().flat_map(Package::iter) {
            exempt.ignores |= path.file_name() == ".krmignore";
            if let Some(folder) = path.as_str().strip_suffix("/Kptfile") {
                exempt.roots.insert(folder.into());
                if file.text().is_some_and(|text| text.contains("upstream:")) {
                    exempt.remote.insert(folder.into());
                }
            }
        }
        exempt
    }

    fn covers(&self, path: &str) -> bool {
        let below =
            |folder: &String| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'));
        self.ignores && path == "ignored.yaml" || self.remote.iter().any(below)
    }

    fn owner(&self, path: &str) -> String {
        let below =
            |folder: &&String| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'));
        self.roots.iter().filter(below).max_by_key(|folder| folder.len()).cloned().unwrap_or_default()
    }
}

/// Fails where a fact went, or came, without a reason.
pub fn no_silent_choice(sides: [&Package; 3], merges: &[&Merged]) {
    let exempt = Exempt::new(sides);
    let before = sides.map(|side| facts(side, &exempt));
    for merged in merges {
        check(&before, &facts(&merged.package, &exempt), merged);
    }
}

fn check([original, upstream, local]: &[Facts; 3], result: &Facts, merged: &Merged) {
    let all = [original, upstream, local, result];
    let keys: BTreeSet<&(Thing, Part)> = all.into_iter().flat_map(|facts| facts.parts.keys()).collect();
    for key in keys {
        let (thing, part) = key;
        let places = |facts: &Facts| facts.places.get(thing).map_or(&[][..], Vec::as_slice).to_vec();
        // A name that one side has twice, as of a patch and its target, stands for two resources.
        if [original, upstream, local].into_iter().any(|facts| places(facts).len() > 1) {
            continue;
        }
        let paths: BTreeSet<String> = all.into_iter().flat_map(places).collect();
        let about = |one: &&Conflict| covers(one, &paths, thing, part);
        let settled = merged.conflicts.iter().find(about);
        let [was, theirs, ours, is] = all.map(|facts| facts.parts.get(key));
        let expected = match (theirs == was, ours == was, theirs == ours) {
            (true, ..) | (_, _, true) => Some(ours),
            (false, true, false) => Some(theirs),
            (false, false, false) => None,
        };
        if let (Part::Place, true) = (part, theirs.is_none() || ours.is_none() || is.is_none()) {
            continue;
        }
        let shown =
            || format!("{key:?}: {was:?}, {theirs:?}, {ours:?} became {is:?}\n{:#?}", merged.conflicts);
        match (expected, settled) {
            (Some(expected), None) => assert!(is == expected || excused(result, key, is), "{}", shown()),
            (None, None) => {
                // Where one side has it no more there is nothing to merge with: that is a conflict, never a choice.
                let everywhere = theirs.is_some() && ours.is_some() && is.is_some();
                assert!(merges_further(part) && everywhere, "no conflict: {}", shown());
            }
            (_, Some(conflict)) => {
                let exact = matches!(part, Part::Value(path) if Name::of(conflict).field == *path);
                match conflict.chosen {
                    Side::Upstream if exact => assert_eq!(is, theirs, "{}", shown()),
                    Side::Local if exact => assert_eq!(is, ours, "{}", shown()),
                    Side::Upstream | Side::Local | Side::Original | Side::Value => {}
                }
            }
        }
        assert!(places(result).len() <= 1 || settled.is_some(), "twice: {}", shown());
    }
}

/// Whether a fact that differs is what the rules say: a mapping of which something is left stays.
fn excused(result: &Facts, (thing, part): &(Thing, Part), is: Option<&String>) -> bool {
    let inside = |path: &str| {
        result.parts.keys().any(|(other, part)| match part {
            Part::Value(at) | Part::Inner(at) => {
                other == thing && at.len() > path.len() && at.starts_with(path)
            }
            Part::Comment(_) | Part::Remarks | Part::Place | Part::Content | Part::Mode => false,
        })
    };
    match part {
        Part::Inner(path) => is.is_some() && inside(path),
        Part::Value(_) | Part::Comment(_) | Part::Remarks | Part::Place | Part::Content | Part::Mode => false,
    }
}

/// Whether both sides' changes can be there: texts merge by lines.
fn merges_further(part: &Part) -> bool {
    match part {
        Part::Content => true,
        Part::Value(_) | Part::Inner(_) | Part::Comment(_) | Part::Remarks | Part::Place | Part::Mode => {
            false
        }
    }
}

/// The name of a conflict, taken apart.
struct Name<'a> {
    file: &'a str,
    resource: &'a str,
    field: &'a str,
    aspect: &'a str,
}

impl<'a> Name<'a> {
    fn of(conflict: &'a Conflict) -> Self {
        let id = conflict.id.as_str();
        let (id, aspect) = id.split_once('~').unwrap_or((id, ""));
        let id = id.split_once('@').map_or(id, |(id, _)| id);
        let (id, field) = id.split_once('#').unwrap_or((id, ""));
        let (file, resource) = id.split_once(':').unwrap_or((id, ""));
        Self { file, resource, field, aspect }
    }
}

fn covers(conflict: &Conflict, paths: &BTreeSet<String>, thing: &Thing, part: &Part) -> bool {
    let Name { file, resource, field, aspect } = Name::of(conflict);
    let folder = file.strip_suffix('/').or((aspect == "folder").then_some(file));
    if let Some(folder) = folder {
        let below = |path: &String| {
            path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        return paths.iter().any(below);
    }
    if !paths.contains(file) || !(resource.is_empty() || thing.name.is_empty() || resource == thing.name) {
        return false;
    }
    let touches = |path: &str| path.starts_with(field) || field.starts_with(path);
    match (aspect, part) {
        ("", Part::Value(path) | Part::Inner(path))
        | ("" | "head-comment" | "line-comment" | "foot-comment" | "preface", Part::Comment(path)) => {
            touches(path)
        }
        ("", Part::Remarks | Part::Place | Part::Content | Part::Mode) => field.is_empty(),
        ("variant", Part::Value(path) | Part::Inner(path) | Part::Comment(path)) => path.starts_with(field),
        ("remarks" | "preamble", part) => *part == Part::Remarks,
        ("place", part) => *part == Part::Place,
        ("mode", part) => *part == Part::Mode,
        (_, _) => false,
    }
}

fn facts(package: &Package, exempt: &Exempt) -> Facts {
    let mut facts = Facts::default();
    let mut readable = package.clone();
    for (path, file) in package.iter() {
        let resources = is_resource_name(path.file_name()) && path.as_str() != "data.json";
        if exempt.covers(path.as_str()) || !resources {
            readable.remove(path);
        }
        if !exempt.covers(path.as_str()) && !resources {
            other(&mut facts, path.as_str(), file);
        }
        if path.file_name() == ".krmignore" {
            readable.remove(path);
        }
    }
    let options = ReadOptions { other_yaml: OtherYaml::Included, ..ReadOptions::default() };
    let mut read: BTreeMap<String, usize> = BTreeMap::new();
    for found in readable.resources(options).expect("resources can be read") {
        let path = found.path.as_str();
        let thing = resource(&mut facts, path, &found.resource, exempt);
        let at = read.entry(path.into()).or_default();
        let text = package.get(&found.path).and_then(File::text).unwrap_or_default();
        if let Some(remarks) = remarks(text).into_iter().nth(*at).filter(|text| !text.is_empty()) {
            facts.parts.insert((thing, Part::Remarks), remarks);
        }
        *at += 1;
    }
    facts
}

/// What stands behind each resource of a file, in documents of comments only.
fn remarks(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for document in text.split("---\n").filter(|document| !document.is_empty()) {
        match all.last_mut() {
            Some(last) if document.lines().all(|line| line.starts_with('#')) => last.push_str(document),
            Some(_) | None => all.push(String::new()),
        }
    }
    all
}

fn other(facts: &mut Facts, path: &str, file: &File) {
    let thing = Thing { package: path.into(), name: String::new() };
    facts.places.entry(thing.clone()).or_default().push(path.into());
    facts.parts.insert((thing.clone(), Part::Content), String::from_utf8_lossy(file.content()).into_owned());
    facts.parts.insert((thing, Part::Mode), format!("{:?}", file.mode()));
}

fn resource(facts: &mut Facts, path: &str, resource: &Resource, exempt: &Exempt) -> Thing {
    let text = resource.to_string();
    let value: Value = resource.root().deserialize().expect("a resource is JSON");
    let word = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let (api, kind) = (word("apiVersion"), word("kind"));
    let thing = if api.is_empty() || path.ends_with("Kptfile") {
        Thing { package: path.into(), name: String::new() }
    } else {
        let mark = text.split_once("# kpt-merge: /").and_then(|(_, rest)| rest.lines().next());
        let name = mark.unwrap_or_else(|| value["metadata"]["name"].as_str().unwrap_or_default());
        let group = api.split_once('/').map_or(String::new(), |(group, _)| format!(".{group}"));
        Thing { package: exempt.owner(path), name: format!("{kind}{group}/{name}") }
    };
    let mut add = |part, text: String| facts.parts.insert((thing.clone(), part), text);
    leaves(&kind, &value, "", &mut add);
    comments(&kind, &text, &mut add);
    add(Part::Place, path.into());
    facts.places.entry(thing.clone()).or_default().push(path.into());
    thing
}

/// The list keys that the generator uses.
fn keys(kind: &str, path: &str) -> &'static [&'static str] {
    match (kind, path) {
        ("Service", "spec.ports") => &["port", "protocol"],
        ("Deployment", "spec.template.spec.containers") | ("Pod", "spec.containers") => &["name"],
        ("Pod", path) if path.ends_with("].env") => &["name"],
        _ => &[],
    }
}

fn leaves(kind: &str, value: &Value, path: &str, add: &mut impl FnMut(Part, String) -> Option<String>) {
    match value {
        Value::Object(map) => {
            add(Part::Inner(path.into()), "mapping".into());
            for (key, value) in map {
                let plain = key.chars().all(char::is_alphanumeric);
                let step = if plain { format!(".{key}") } else { format!("[{key:?}]") };
                let below = format!("{path}{step}");
                leaves(kind, value, below.strip_prefix('.').unwrap_or(&below), add);
            }
        }
        Value::Array(items) if !keys(kind, path).is_empty() => {
            add(Part::Inner(path.into()), "list".into());
            for item in items {
                leaves(kind, item, &format!("{path}{}", key_of(item, keys(kind, path))), add);
            }
        }
        other => _ = add(Part::Value(path.into()), other.to_string()),
    }
}

fn key_of(item: &Value, keys: &[&str]) -> String {
    let part = |key: &&str| match &item[*key] {
        Value::Null => format!("{key}={:?}", "TCP"),
        value => format!("{key}={:?}", value.to_string()),
    };
    format!("[{}]", keys.iter().map(part).collect::<Vec<_>>().join(","))
}

/// The comments that the generator writes: above all, above `metadata`, behind `first`, and above items with keys.
fn comments(kind: &str, text: &str, add: &mut impl FnMut(Part, String) -> Option<String>) {
    let lines: Vec<&str> = text.lines().filter(|line| *line != "---").collect();
    if let [first, "", ..] = lines[..]
        && first.starts_with('#')
    {
        add(Part::Comment(String::new()), first.into());
    }
    let (mut section, mut list) = ("", "");
    for pair in lines.windows(2) {
        let (above, line) = (pair[0].trim(), pair[1].trim());
        if !pair[1].starts_with([' ', '-', '#']) {
            section = line.split(':').next().unwrap_or_default();
        }
        if let Some(name) = line.strip_suffix(':') {
            list = name;
        }
        if above.starts_with('#') && line.starts_with("metadata:") {
            add(Part::Comment("metadata".into()), above.into());
        }
        if let Some((_, comment)) =
            line.split_once("periodSeconds: ").and_then(|(_, rest)| rest.split_once('#'))
        {
            let probe = "spec.containers[name=\"1\"].livenessProbe";
            add(Part::Comment(format!("{probe}.periodSeconds")), comment.into());
        }
        if let Some((_, comment)) = line.split_once("first: 1 #") {
            add(Part::Comment(format!("{section}.first")), comment.into());
        }
        let path = match list {
            "ports" => format!("{section}.ports"),
            "containers" => format!("{section}.template.spec.containers"),
            _ => continue,
        };
        let item = line.strip_prefix("- port: ").or(line.strip_prefix("- name: "));
        if let Some(name) = item.filter(|_| above.starts_with('#')) {
            let key = match keys(kind, &path) {
                [] => continue,
                ["port", ..] => format!("port={name:?},protocol=\"TCP\""),
                _ => format!("name={name:?}"),
            };
            add(Part::Comment(format!("{path}[{key}]")), above.into());
        }
    }
}

/// Fields of which a mapping of the generator can have one.
const KINDS: [&[&str]; 4] = [
    &["exec", "grpc", "httpGet", "tcpSocket"],
    &["value", "valueFrom"],
    &["configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef"],
    &["maxUnavailable", "minAvailable"],
];

/// Fails where the API server would: at a mapping with two fields that exclude each other.
pub fn no_two_of_one_kind(resource: &Resource) {
    let value: Value = resource.root().deserialize().expect("a resource is JSON");
    let mut open = vec![&value];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                for kind in KINDS {
                    let has = kind.iter().filter(|name| map.contains_key(**name)).count();
                    assert!(has <= 1, "{kind:?} in {resource}");
                }
                open.extend(map.values());
            }
            Value::Array(items) => open.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// The values of a resource by their fields; items of lists with keys by these, in any order.
pub fn values(resource: &Resource) -> BTreeMap<String, String> {
    let value: Value = resource.root().deserialize().expect("a resource is JSON");
    let mut all = BTreeMap::new();
    let kind = value["kind"].as_str().unwrap_or_default();
    leaves(kind, &value, "", &mut |part, text| all.insert(format!("{part:?}"), text));
    all
}
