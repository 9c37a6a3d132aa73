//! Types and kinds.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::read;

/// What a field holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Text.
    Text,
    /// Bytes, written as text in base 64.
    Bytes,
    /// A time, written as text.
    Time,
    /// A quantity such as `500m`: text or a number.
    Quantity,
    /// An integer of 32 bits, or text.
    IntegerOrText,
    /// An integer of 32 bits.
    Int32,
    /// An integer of 64 bits.
    Int64,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
    /// An object with any fields.
    Object,
    /// Anything.
    Any,
    /// An object of a type.
    Type(TypeId),
    /// An object whose fields have any name and this shape.
    Map(Box<Shape>),
    /// A list.
    List(Box<List>),
}

/// What a list holds, and how it merges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// How it merges.
    pub merge: Merge,
    /// How it merges in strategic merge patches; by one key at most.
    pub patch: Merge,
    /// What it holds.
    pub items: Shape,
}

/// How a list merges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    /// As a whole.
    Whole,
    /// As a set of scalars.
    Set,
    /// Items with the same values under these keys are the same.
    Keys(Vec<&'static str>),
}

/// Whether an object of a type merges as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whole {
    /// Field by field.
    #[default]
    ByField,
    /// As a whole.
    Atomic,
}

/// A type of a [`Table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId(pub(crate) usize);

impl TypeId {
    /// The place of the type among [`Table::types`].
    pub fn number(self) -> usize {
        self.0
    }
}

/// The fields of an object.
#[derive(Clone, Debug, Default)]
pub struct Type {
    pub(crate) name: &'static str,
    pub(crate) merge: Whole,
    /// By name.
    pub(crate) fields: Vec<(&'static str, Shape)>,
    pub(crate) required: Vec<&'static str>,
    pub(crate) variants: Vec<&'static str>,
}

impl Type {
    /// Its name in `OpenAPI` documents, such as `io.k8s.api.core.v1.ConfigMap`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// How its objects merge.
    pub fn merge(&self) -> Whole {
        self.merge
    }

    /// What a field holds; `None` for a field that the type does not have.
    pub fn field(&self, name: &str) -> Option<&Shape> {
        let at = self.fields.binary_search_by(|(field, _)| (*field).cmp(name)).ok()?;
        Some(&self.fields[at].1)
    }

    /// The fields that must be there, in the order of the `OpenAPI` document.
    pub fn required(&self) -> &[&'static str] {
        &self.required
    }

    /// Whether the mapping in a field, or each item of the list in it, can have the keys of one variant only: a volume has one
    /// source, whatever else could be there.
    pub fn has_variants(&self, field: &str) -> bool {
        self.variants.contains(&field)
    }

    /// All fields and what they hold, by name.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &Shape)> {
        self.fields.iter().map(|(name, shape)| (*name, shape))
    }
}

/// A version of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Version {
    /// Its name, such as `v1beta1`.
    pub name: &'static str,
    /// Its type.
    pub id: TypeId,
}

/// A kind.
#[derive(Clone, Copy, Debug)]
pub struct Kind<'a> {
    /// Its group; that of the core is empty.
    pub group: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its versions, in the order of their names.
    pub versions: &'a [Version],
}

/// The types that are known, and the kinds that have them.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub(crate) types: Vec<Type>,
    /// By group, then by kind.
    pub(crate) kinds: HashMap<&'static str, HashMap<&'static str, Vec<Version>>>,
}

impl Table {
    /// The type of a kind; the group of the core is empty.
    pub fn kind(&self, group: &str, version: &str, kind: &str) -> Option<&Type> {
        self.versions(group, kind).iter().find(|known| known.name == version).map(|known| self.get(known.id))
    }

    /// The versions of a kind, in the order of their names.
    pub fn versions(&self, group: &str, kind: &str) -> &[Version] {
        self.kinds.get(group).and_then(|kinds| kinds.get(kind)).map_or(&[], Vec::as_slice)
    }

    /// The type of a kind as a place in the table.
    pub fn id(&self, group: &str, version: &str, kind: &str) -> Option<TypeId> {
        self.versions(group, kind).iter().find(|known| known.name == version).map(|known| known.id)
    }

    /// A type.
    pub fn get(&self, id: TypeId) -> &Type {
        &self.types[id.0]
    }

    /// All types, in the order of [`TypeId::number`].
    pub fn types(&self) -> &[Type] {
        &self.types
    }

    /// All kinds, in no order.
    pub fn kinds(&self) -> impl Iterator<Item = Kind<'_>> {
        self.kinds
            .iter()
            .flat_map(|(group, kinds)| kinds.iter().map(|(name, versions)| Kind { group, name, versions }))
    }
}

/// The table of the built-in kinds.
pub fn built_in() -> &'static Table {
    static TABLE: LazyLock<Table> = LazyLock::new(|| read::table(include_str!("builtin.txt")));
    &TABLE
}
