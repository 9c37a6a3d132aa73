//! Three packages out of bytes: one that both sides began with, and two that became of it by edits.

use std::collections::BTreeMap;

use lanai_krm::Package;
use lanai_krm::package::{File, Mode};
use lanai_types::Limits;

use super::choices::Choices;

/// A package before it is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    pub files: BTreeMap<&'static str, Content>,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Resources(Vec<Resource>),
    Text { lines: Vec<&'static str>, mode: Mode },
    Binary(u8),
}

/// A resource before it is written. Numbers are places in the tables below.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    pub kind: usize,
    pub name: usize,
    /// The name that a local rename left in the mark.
    pub mark: Option<usize>,
    /// Comments above all, above `metadata`, behind a value, and in a document of their own behind the resource.
    pub comments: [usize; 4],
    /// Values by key.
    pub fields: BTreeMap<usize, usize>,
    /// Items of a list: keys, values and comments.
    pub items: Vec<[usize; 3]>,
}

const RESOURCE_FILES: [&str; 8] = [
    "a.yaml",
    "b.yaml",
    "d/c.yaml",
    "s/a.yaml",
    "s/t/x.yaml",
    "ignored.yaml",
    "values.yaml",
    "kustomization.yaml",
];
const OTHER_FILES: [&str; 9] =
    ["README.md", "run.sh", "logo.bin", "data.json", ".krmignore", "s/Kptfile", "s/t/Kptfile", "d", "s/t"];

const KINDS: [(&str, &str, &str); 5] = [
    ("v1", "ConfigMap", "data"),
    ("v1", "Service", "spec"),
    ("apps/v1", "Deployment", "spec"),
    ("example.com/v1", "Thing", "spec"),
    ("example.com/v2", "Thing", "spec"),
];
const NAMES: [&str; 4] = ["a", "b", "web", "shop"];
const KEYS: [&str; 6] = ["v", "w", "replicas", "x.y/z", "map", "list"];
const VALUES: [&str; 15] = [
    "1",
    "2",
    "\"2\"",
    "x",
    "null",
    "{}",
    "[]",
    "{a: 1, b: 2}",
    "{a: 1, b: 3}",
    "{b: 2, c: {d: 1}}",
    "[1, 2]",
    "[1, 3]",
    "0x10",
    "[{name: a, v: 1}]",
    "{a: 1, b: 4, c: 5}",
];
const COMMENTS: [&str; 5] = ["", "# one", "# two", "# three", "# four"];
const LINES: [&str; 6] = ["a\n", "b\n", "c\n", "d\n", "\n", "{\n"];

/// The three sides of a merge.
pub struct Sides {
    pub original: Model,
    pub upstream: Model,
    pub local: Model,
}

/// What the sides may do to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edits {
    /// Anything.
    Any,
    /// Upstream and local set different fields and items of the same resources.
    Apart,
}

pub fn sides(choices: &mut Choices<'_>, edits: Edits) -> Sides {
    let mut original = model(choices);
    if edits == Edits::Apart {
        // Neither files that are no resources, nor references to packages that are not there.
        original.files.retain(|path, _| *path != ".krmignore" && !path.ends_with("Kptfile"));
    }
    let mut upstream = original.clone();
    let mut local = original.clone();
    let count = 1 + choices.below(6);
    for _ in 0..count {
        edit(choices, &mut upstream, edits, 0);
    }
    let count = 1 + choices.below(6);
    for _ in 0..count {
        edit(choices, &mut local, edits, 1);
    }
    Sides { original, upstream, local }
}

fn model(choices: &mut Choices<'_>) -> Model {
    let mut model = Model::default();
    let count = 1 + choices.below(7);
    for _ in 0..count {
        add_file(choices, &mut model);
    }
    model
}

fn add_file(choices: &mut Choices<'_>, model: &mut Model) {
    if choices.once_in(3) {
        let path = choices.of(&OTHER_FILES);
        let content = other(choices, path);
        if model.has_room(path) {
            model.files.entry(path).or_insert(content);
        }
        return;
    }
    let path = choices.of(&RESOURCE_FILES);
    let mut resources: Vec<Resource> = Vec::new();
    let count = 1 + choices.below(3);
    for _ in 0..count {
        let resource = resource(choices);
        if resources.iter().all(|other| other.id() != resource.id()) {
            resources.push(resource);
        }
    }
    if matches!(path, "values.yaml" | "kustomization.yaml") {
        resources.truncate(1);
    }
    if model.has_room(path) {
        model.files.entry(path).or_insert(Content::Resources(resources));
    }
}

fn other(choices: &mut Choices<'_>, path: &str) -> Content {
    let count = choices.below(6);
    let mode = if path == "run.sh" && choices.once_in(2) { Mode::Executable } else { Mode::Regular };
    match path {
        "logo.bin" => Content::Binary(choices.byte()),
        "s/Kptfile" | "s/t/Kptfile" => Content::Text { lines: vec![KPTFILE, choices.of(&ORIGINS)], mode },
        ".krmignore" => Content::Text { lines: vec!["ignored.yaml\n"], mode },
        "data.json" => Content::Text { lines: vec![choices.of(&JSON)], mode },
        _ => Content::Text { lines: (0..count).map(|_| choices.of(&LINES)).collect(), mode },
    }
}

const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: s\n";
const ORIGINS: [&str; 5] = [
    "",
    "info:\n  description: d\n",
    "upstream:\n  type: git\n  git: {repo: r, directory: /d, ref: v1}\nupstreamLock:\n  type: git\n  git: {repo: r, commit: c1}\n",
    "upstream:\n  type: git\n  git: {repo: r, directory: /d, ref: v2}\nupstreamLock:\n  type: git\n  git: {repo: r, commit: c2}\n",
    "upstream:\n  type: git\n  git: {repo: other, directory: /d, ref: v1}\n",
];
const JSON: [&str; 4] = [
    "{\n  \"a\": 1,\n  \"b\": [1, 2]\n}\n",
    "{\n  \"a\": 2,\n  \"b\": [1, 2]\n}\n",
    "{\n  \"a\": 1,\n  \"b\": [3],\n  \"c\": \"x\"\n}\n",
    "{ no json\n",
];

fn resource(choices: &mut Choices<'_>) -> Resource {
    let mut resource = Resource {
        kind: choices.below(KINDS.len()),
        name: choices.below(NAMES.len()),
        mark: None,
        comments: [
            choices.below(COMMENTS.len()),
            choices.below(COMMENTS.len()),
            choices.below(COMMENTS.len()),
            if choices.once_in(4) { choices.below(COMMENTS.len()) } else { 0 },
        ],
        fields: BTreeMap::new(),
        items: Vec::new(),
    };
    for _ in 0..choices.below(4) {
        resource.fields.insert(choices.below(KEYS.len()), choices.below(VALUES.len()));
    }
    for _ in 0..choices.below(4) {
        let item = [choices.below(4), choices.below(3), choices.below(COMMENTS.len())];
        if resource.items.iter().all(|other| other[0] != item[0]) {
            resource.items.push(item);
        }
    }
    resource
}

fn edit(choices: &mut Choices<'_>, model: &mut Model, edits: Edits, side: usize) {
    let paths: Vec<&'static str> = model.files.keys().copied().collect();
    if edits == Edits::Any && choices.once_in(6) {
        return add_file(choices, model);
    }
    if paths.is_empty() {
        return;
    }
    let path = choices.of(&paths);
    if edits == Edits::Any && choices.once_in(8) {
        if choices.once_in(2) {
            let folder = path.rsplit_once('/').map_or("s/", |(folder, _)| folder);
            model.files.retain(|path, _| !path.starts_with(folder));
        }
        model.files.remove(path);
        return;
    }
    match model.files.get_mut(path) {
        Some(Content::Resources(resources)) => {
            if edits == Edits::Any && choices.once_in(4) {
                return rearrange(choices, model, path);
            }
            let at = choices.below(resources.len());
            if let Some(resource) = resources.get_mut(at) {
                let keyed =
                    ["Service", "Deployment"].contains(&KINDS[resource.kind].1) && path.ends_with("a.yaml");
                if edits == Edits::Any || keyed {
                    edit_resource(choices, resource, edits, side);
                } else {
                    resource
                        .fields
                        .insert(choices.below(KEYS.len() / 2) * 2 + side, choices.below(VALUES.len()));
                }
            }
        }
        Some(Content::Text { .. } | Content::Binary(_)) if edits == Edits::Apart => {}
        Some(Content::Text { lines, mode }) => match choices.below(4) {
            0 if path == "run.sh" => {
                *mode = choices.of(&[Mode::Regular, Mode::Executable, Mode::Symlink]);
            }
            1 if path == "README.md" && !lines.is_empty() => {
                let at = choices.below(lines.len());
                lines[at] = choices.of(&LINES);
            }
            _ => *model.files.get_mut(path).expect("it was found") = other(choices, path),
        },
        Some(Content::Binary(byte)) => *byte = choices.byte(),
        None => {}
    }
}

/// Adds, removes or moves a resource.
fn rearrange(choices: &mut Choices<'_>, model: &mut Model, path: &'static str) {
    let one = matches!(path, "values.yaml" | "kustomization.yaml");
    let Some(Content::Resources(resources)) = model.files.get_mut(path) else { return };
    let at = choices.below(resources.len());
    match choices.below(3) {
        0 if !one => {
            let new = resource(choices);
            if resources.iter().all(|other| other.id() != new.id()) {
                resources.push(new);
            }
        }
        1 if resources.len() > 1 => {
            resources.remove(at);
        }
        2 if !one => {
            let to = choices.of(&RESOURCE_FILES[..5]);
            if !model.has_room(to) {
                return;
            }
            let Some(Content::Resources(resources)) = model.files.get_mut(path) else { return };
            let moved = resources.remove(at);
            if resources.is_empty() {
                model.files.remove(path);
            }
            let there = model.files.entry(to).or_insert_with(|| Content::Resources(Vec::new()));
            if let Content::Resources(resources) = there
                && resources.iter().all(|other| other.id() != moved.id())
            {
                resources.push(moved);
            }
        }
        _ => {}
    }
}

fn edit_resource(choices: &mut Choices<'_>, resource: &mut Resource, edits: Edits, side: usize) {
    let key = match edits {
        Edits::Any => choices.below(KEYS.len()),
        Edits::Apart => choices.below(KEYS.len() / 2) * 2 + side,
    };
    let wanted = |item: usize| edits == Edits::Any || item % 2 == side;
    match choices.below(8) {
        0 => {
            resource.fields.remove(&key);
        }
        1 if edits == Edits::Any => resource.comments[choices.below(4)] = choices.below(COMMENTS.len()),
        2 if edits == Edits::Any && side == 1 && resource.mark.is_none() => {
            resource.mark = Some(resource.name);
            resource.name = choices.below(NAMES.len());
        }
        3 => {
            let item = [choices.below(4), choices.below(3), choices.below(COMMENTS.len())];
            let new = resource.items.iter().all(|other| other[0] != item[0]);
            if new && wanted(item[0]) {
                resource.items.push(item);
            }
        }
        4 if !resource.items.is_empty() => {
            let at = choices.below(resource.items.len());
            if wanted(resource.items[at][0]) {
                resource.items[at][1] = choices.below(3);
            }
        }
        5 if !resource.items.is_empty() => {
            let at = choices.below(resource.items.len());
            // A list without items is not written: what both sides remove together must not be all of it.
            let stays = |item: &[usize; 3]| item[0] < 2;
            let more = !stays(&resource.items[at]) && resource.items.iter().any(stays);
            if edits == Edits::Any || wanted(resource.items[at][0]) && more {
                resource.items.remove(at);
            }
        }
        6 if edits == Edits::Any => resource.items.reverse(),
        _ => {
            resource.fields.insert(key, choices.below(VALUES.len()));
        }
    }
}

impl Resource {
    /// What names it in a merge.
    pub fn id(&self) -> (&'static str, usize) {
        (KINDS[self.kind].1, self.mark.unwrap_or(self.name))
    }

    fn write(&self, out: &mut String, path: &str) {
        let (api, kind, body) = KINDS[self.kind];
        let [top, above, behind, _] = self.comments.map(|at| COMMENTS[at]);
        if !top.is_empty() {
            out.extend([top, "\n\n"]);
        }
        match path {
            "values.yaml" => {}
            "kustomization.yaml" => out.push_str("kind: Kustomization\n"),
            _ => out.extend(["apiVersion: ", api, "\nkind: ", kind, "\n"]),
        }
        if !above.is_empty() {
            out.extend([above, "\n"]);
        }
        match self.mark.map(|at| NAMES[at]) {
            Some(name) => out.extend(["metadata: # kpt-merge: /", name, "\n"]),
            None => out.push_str("metadata:\n"),
        }
        out.extend(["  name: ", NAMES[self.name], "\n", body, ":\n  first: 1"]);
        if !behind.is_empty() {
            out.extend([" ", behind]);
        }
        out.push('\n');
        for (key, value) in &self.fields {
            out.extend(["  ", KEYS[*key], ": ", VALUES[*value], "\n"]);
        }
        if self.items.is_empty() {
            return;
        }
        let (list, indent, key) = match kind {
            "Service" => ("  ports:\n", "  ", "port"),
            "Deployment" => ("  template:\n    spec:\n      containers:\n", "      ", "name"),
            _ => ("  items:\n", "  ", "name"),
        };
        out.push_str(list);
        for [name, value, comment] in &self.items {
            let comment = COMMENTS[*comment];
            if !comment.is_empty() {
                out.extend([indent, comment, "\n"]);
            }
            let (name, value) = ((name + 80).to_string(), value.to_string());
            out.extend([indent, "- ", key, ": ", &name, "\n", indent, "  value: ", &value, "\n"]);
        }
    }
}

impl Model {
    pub fn package(&self) -> Package {
        let files = self.files.iter().map(|(path, content)| {
            let file = match content {
                Content::Binary(byte) => File::regular(&[0, *byte][..]),
                Content::Text { lines, mode } => File::new(lines.concat().as_bytes(), *mode),
                Content::Resources(resources) => {
                    let mut text = String::new();
                    for (at, resource) in resources.iter().enumerate() {
                        if at > 0 {
                            text.push_str("---\n");
                        }
                        resource.write(&mut text, path);
                        let remark = COMMENTS[resource.comments[3]];
                        if !remark.is_empty() {
                            text.extend(["---\n", remark, "\n"]);
                        }
                    }
                    File::from_text(text)
                }
            };
            (*path, file)
        });
        Package::from_entries(files, Limits::default()).expect("a small package")
    }

    /// Whether a file can be there: no folder is, and no file is on the way.
    fn has_room(&self, path: &str) -> bool {
        let inside =
            |outer: &str, inner: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
        self.files.keys().all(|other| !inside(path, other) && !inside(other, path))
    }

    /// Whether no file has two resources that a merge takes for one.
    pub fn is_distinct(&self) -> bool {
        self.files.values().all(|content| match content {
            Content::Resources(resources) => resources
                .iter()
                .enumerate()
                .all(|(at, one)| resources[..at].iter().all(|other| other.id() != one.id())),
            Content::Text { .. } | Content::Binary(_) => true,
        })
    }
}
