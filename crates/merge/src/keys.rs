//! How lists merge: by key, as sets, or as a whole.
//!
//! Built-in kinds are in the table of `lanai_openapi`; custom resources bring their own with the definitions in the package, for as
//! long as one merge.

mod crd;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use lanai_openapi::{Merge, Shape};
use lanai_types::SafePath;
use lanai_yaml::{Document, Kind, NodeRef};

use crate::unions;

const KUSTOMIZE: &str = "kustomize.config.k8s.io";

/// A field by which the items of a list are told apart, and what it is where an item does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MapKey {
    name: String,
    default: Option<String>,
}

impl MapKey {
    fn of(name: &str) -> Self {
        Self { name: name.into(), default: None }
    }

    /// A key of a kind that is built into Kubernetes.
    fn built_in(name: &str) -> Self {
        Self { default: (name == "protocol").then(|| "TCP".into()), ..Self::of(name) }
    }
}

/// How a list merges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum List {
    /// As a whole.
    Atomic,
    /// As a set of scalars.
    Set,
    /// Items with the same values under these keys are the same.
    Map(Vec<MapKey>),
    /// Functions of a pipeline: by name, else by image without tag, else by the command; see [`crate::keyring`].
    Functions,
}

/// Which keys a mapping can have together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    Any,
    /// Those of one variant: a volume has one source, whatever else could be there.
    OneVariant,
}

#[derive(Clone, Debug)]
struct Field {
    list: List,
    holds: Option<usize>,
    /// Of the mapping in the field, or of each item of the list.
    keys: Keys,
}

#[derive(Clone, Debug, Default)]
struct Type {
    fields: HashMap<String, Field>,
    /// What is under any other key.
    rest: Option<Field>,
    /// The fields that exclude each other.
    members: &'static [&'static str],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct GroupKind {
    group: String,
    kind: String,
}

#[derive(Clone, Debug)]
struct Version {
    name: String,
    number: usize,
}

/// The types that a merge knows.
#[derive(Clone)]
pub(crate) struct Schemas {
    types: Vec<Type>,
    /// Versions in the order of the table.
    kinds: HashMap<GroupKind, Vec<Version>>,
}

/// Where in a type a field stands; a number of `None` where nothing is known.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    schemas: &'a Schemas,
    at: Option<usize>,
    keys: Keys,
}

/// What is known about a node.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    /// How it merges if it is a list.
    pub list: &'a List,
    /// What it holds if it is a mapping, and what its items hold if it is a list.
    pub below: Cursor<'a>,
}

impl Schemas {
    /// The table of the built-in kinds, and that of the Kptfile.
    pub fn built_in() -> &'static Self {
        static TABLE: LazyLock<Schemas> = LazyLock::new(Schemas::read);
        &TABLE
    }

    fn read() -> Self {
        let table = lanai_openapi::built_in();
        let types = table.types().iter().map(known_type).collect();
        let mut schemas = Self { types, kinds: HashMap::new() };
        for kind in table.kinds() {
            for version in kind.versions {
                schemas.add_kind(kind.group, version.name, kind.name, version.id.number());
            }
        }
        schemas.add_kptfile();
        schemas.add_kustomization();
        schemas
    }

    fn add_kind(&mut self, group: &str, version: &str, kind: &str, number: usize) {
        let kind = GroupKind { group: group.into(), kind: kind.into() };
        // What the package defines comes before what is built in.
        self.kinds.entry(kind).or_default().insert(0, Version { name: version.into(), number });
    }

    fn add_type(&mut self, fields: HashMap<String, Field>) -> usize {
        self.types.push(Type { fields, ..Type::default() });
        self.types.len() - 1
    }

    fn add_kptfile(&mut self) {
        let field = |list, holds| Field { list, holds, keys: Keys::Any };
        let by = |key: &str| field(List::Map(vec![MapKey::of(key)]), None);
        let functions = || field(List::Functions, None);
        let pipeline = self.add_type(HashMap::from([
            ("mutators".to_owned(), functions()),
            ("validators".to_owned(), functions()),
        ]));
        let info = self.add_type(HashMap::from([("readinessGates".to_owned(), by("conditionType"))]));
        let status = self.add_type(HashMap::from([("conditions".to_owned(), by("type"))]));
        let below = |holds| field(List::Atomic, Some(holds));
        let kptfile = self.add_type(HashMap::from([
            ("pipeline".to_owned(), below(pipeline)),
            ("info".to_owned(), below(info)),
            ("status".to_owned(), below(status)),
        ]));
        self.add_kind("kpt.dev", "v1", "Kptfile", kptfile);
    }

    /// The lists of a kustomization: files are sets, what has a name merges by it. Where the order of patches or the
    /// whole of a rule counts, lists stay wholes.
    fn add_kustomization(&mut self) {
        let sets = ["resources", "components", "bases", "crds", "generators", "transformers", "validators"];
        let sets = sets.into_iter().chain(["configurations", "patchesStrategicMerge"]);
        let named = ["images", "replicas", "configMapGenerator", "secretGenerator", "vars", "helmCharts"];
        let by_name = || List::Map(vec![MapKey::of("name")]);
        let files = || Field { list: List::Set, holds: None, keys: Keys::Any };
        let generator = self.add_type(HashMap::from([
            ("files".to_owned(), files()),
            ("literals".to_owned(), files()),
            ("envs".to_owned(), files()),
        ]));
        let mut fields: HashMap<String, Field> = sets.map(|name| (name.to_owned(), files())).collect();
        for name in named {
            let holds = name.ends_with("Generator").then_some(generator);
            fields.insert(name.to_owned(), Field { list: by_name(), holds, keys: Keys::Any });
        }
        let number = self.add_type(fields);
        self.add_kind(KUSTOMIZE, "v1beta1", "Kustomization", number);
        self.add_kind(KUSTOMIZE, "v1alpha1", "Component", number);
    }

    /// Takes the lists of a custom resource definition; passes over any other document.
    pub fn add_definition(&mut self, document: &Document) {
        crd::add(self, document.root());
    }

    /// The type of a resource; that of another version of its kind where its own is not known. A kustomization is known by
    /// its file when it does not say what it is.
    pub fn of(&self, path: &SafePath, root: NodeRef<'_>) -> Cursor<'_> {
        let text = |key: &str| root.get(key).map(|node| node.target().value().into_owned());
        let (mut api, mut kind) = (text("apiVersion").unwrap_or_default(), text("kind").unwrap_or_default());
        if kind.is_empty() && ["kustomization.yaml", "kustomization.yml"].contains(&path.file_name()) {
            (api, kind) = (format!("{KUSTOMIZE}/v1beta1"), "Kustomization".into());
        }
        let (group, version) = api.split_once('/').unwrap_or(("", &api));
        let versions = self.kinds.get(&GroupKind { group: group.to_owned(), kind });
        let exact = versions.and_then(|all| all.iter().find(|one| one.name == version));
        let found = exact.or_else(|| versions.and_then(|all| all.first()));
        Cursor { schemas: self, at: found.map(|version| version.number), keys: Keys::Any }
    }
}

impl<'a> Cursor<'a> {
    /// What is known about a field.
    pub fn field(self, name: &str) -> Known<'a> {
        let within = self.at.and_then(|at| self.schemas.types.get(at));
        let field = within.and_then(|within| within.fields.get(name).or(within.rest.as_ref()));
        let below = |at, keys| Cursor { schemas: self.schemas, at, keys };
        match field {
            Some(field) => Known { list: &field.list, below: below(field.holds, field.keys) },
            None => Known { list: &List::Atomic, below: below(None, Keys::Any) },
        }
    }

    /// What is known about the mapping that the cursor stands in.
    pub fn here(self) -> Known<'a> {
        Known { list: &List::Atomic, below: self }
    }

    /// The fields of the mapping that exclude each other.
    pub fn members(self) -> &'static [&'static str] {
        self.at.and_then(|at| self.schemas.types.get(at)).map_or(&[], |within| within.members)
    }

    /// Whether a mapping can have the keys of one variant only.
    pub fn has_variants(self) -> bool {
        match self.keys {
            Keys::Any => false,
            Keys::OneVariant => true,
        }
    }
}

/// What a merge has to know of a type.
fn known_type(of: &lanai_openapi::Type) -> Type {
    let fields = of.fields().filter_map(|(name, shape)| {
        let (list, holds) = match shape {
            Shape::Type(id) => (List::Atomic, Some(id.number())),
            Shape::List(list) => {
                let merge = match &list.merge {
                    Merge::Whole => return None,
                    Merge::Set => List::Set,
                    Merge::Keys(keys) => List::Map(keys.iter().map(|key| MapKey::built_in(key)).collect()),
                };
                let holds = if let Shape::Type(id) = &list.items { Some(id.number()) } else { None };
                (merge, holds)
            }
            Shape::Text
            | Shape::Bytes
            | Shape::Time
            | Shape::Quantity
            | Shape::IntegerOrText
            | Shape::Int32
            | Shape::Int64
            | Shape::Number
            | Shape::Boolean
            | Shape::Object
            | Shape::Any
            | Shape::Map(_) => return None,
        };
        let keys = if of.has_variants(name) || unions::is_typed(name) { Keys::OneVariant } else { Keys::Any };
        Some((name.to_owned(), Field { list, holds, keys }))
    });
    Type { fields: fields.collect(), rest: None, members: unions::members(of) }
}

/// A part of what identifies an item: a field and its value. Of a scalar, the field has no name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KeyPart {
    pub name: String,
    pub value: String,
}

/// What identifies an item. `None` for what has no such key.
pub(crate) fn key_of(item: NodeRef<'_>, list: &List) -> Option<Vec<KeyPart>> {
    let text = |key: &str| scalar(item, key);
    match list {
        List::Atomic => None,
        List::Set => {
            let node = item.target();
            let part = || KeyPart { name: String::new(), value: node.value().into_owned() };
            (node.kind() == Kind::Scalar).then(|| vec![part()])
        }
        List::Map(keys) => {
            let part = |key: &MapKey| {
                let value = text(&key.name).map(Cow::into_owned).or_else(|| key.default.clone())?;
                Some(KeyPart { name: key.name.clone(), value })
            };
            keys.iter().map(part).collect()
        }
        List::Functions => match text("name") {
            Some(name) => Some(vec![KeyPart { name: "name".into(), value: name.into_owned() }]),
            None => program_of(item).map(|program| vec![program]),
        },
    }
}

/// What a function of a pipeline runs: its image without tag, else its command.
pub(crate) fn program_of(item: NodeRef<'_>) -> Option<KeyPart> {
    let text = |key: &str| scalar(item, key);
    if let Some(image) = text("image") {
        return Some(KeyPart { name: "image".into(), value: without_tag(&image).into() });
    }
    text("exec").map(|exec| KeyPart { name: "exec".into(), value: exec.into_owned() })
}

fn scalar<'a>(item: NodeRef<'a>, key: &str) -> Option<Cow<'a, str>> {
    let node = item.get(key)?.target();
    (node.kind() == Kind::Scalar && !node.is_null()).then(|| node.value())
}

/// The image without tag and digest: `host:5000/set-labels:v1` is `host:5000/set-labels`.
fn without_tag(image: &str) -> &str {
    let image = image.split_once('@').map_or(image, |(image, _)| image);
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        Some(_) | None => image,
    }
}
