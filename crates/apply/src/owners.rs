//! Server-side apply, and who owns what after any write.

use jiff::Timestamp;
use lanai_api::{KindInfo, Origin};
use serde_json::Value;

use crate::conflict::{self, Conflict};
use crate::fields::{Element, FieldSet, path_text};
use crate::managed::{self, BEFORE_FIRST_APPLY, ManagerKey, Managers, Operation, Owned};
use crate::shape::Shape;
use crate::typed::{self, Comparison};

/// The annotation in which `kubectl apply` keeps what was applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Who writes, and when.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    /// The field manager.
    pub manager: &'a str,
    /// The sub-resource that is written to, such as `status`.
    pub sub_resource: Option<&'a str>,
    /// The time.
    pub now: Timestamp,
}

/// Whether fields are taken from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// They are not: there is a conflict.
    No,
    /// They are.
    Yes,
}

/// Why nothing was applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Others own fields that are applied with other values: answer 409, `Conflict`.
    #[error("{}", conflict::message(.0))]
    Conflict(Vec<Conflict>),
    /// What is applied names managed fields: answer 400, `BadRequest`.
    #[error("metadata.managedFields must be nil")]
    ManagedFields,
    /// What is applied is in a version that the kind does not have: answer 400, `BadRequest`.
    #[error("the kind has no version \"{0}\"")]
    Version(String),
    /// What is applied does not fit the schema: answer 500, as kube-apiserver does, or 400.
    #[error("failed to create typed patch object ({object}): {cause}")]
    Typed {
        /// The object.
        object: String,
        /// What does not fit.
        cause: String,
    },
}

/// Fields that nobody owns: the server sets them.
fn stripped() -> FieldSet {
    let mut set = FieldSet::default();
    let field = |name: &str| Element::Field(name.to_owned());
    for name in ["apiVersion", "kind", "metadata"] {
        set.insert(&[field(name)]);
    }
    let server = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    for name in server {
        set.insert(&[field("metadata"), field(name)]);
    }
    set
}

/// What a write looks like to the kind.
struct View<'k> {
    shape: Shape<'k>,
    /// Fields that this write cannot change.
    ignored: FieldSet,
}

fn view<'k>(
    kind: &'k KindInfo,
    api_version: &str,
    sub_resource: Option<&str>,
    objects: &[&Value],
) -> Option<View<'k>> {
    let name = api_version.rsplit('/').next().unwrap_or_default();
    let version = kind.version(name).filter(|_| kind.api_version(name) == api_version)?;
    let mut ignored = FieldSet::default();
    match sub_resource {
        None if version.has_status() => ignored.insert(&[Element::Field("status".to_owned())]),
        Some("status") => {
            let names =
                objects.iter().filter_map(|object| object.as_object()).flat_map(serde_json::Map::keys);
            for name in names.filter(|name| !matches!(name.as_str(), "status" | "metadata")) {
                ignored.insert(&[Element::Field(name.clone())]);
            }
        }
        None | Some(_) => {}
    }
    Some(View { shape: Shape::Object(&version.schema), ignored })
}

impl View<'_> {
    /// The fields that can be owned.
    fn ownable(&self, set: &FieldSet) -> FieldSet {
        set.outside(&self.ignored).difference(&stripped())
    }
}

fn without_managed(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

fn text<'v>(object: &'v Value, name: &str) -> &'v str {
    object[name].as_str().unwrap_or_default()
}

/// What server-side apply makes of an object: fields that are applied have the values that are applied, and fields that the manager applied
/// before and does not apply now are gone, unless somebody else owns them. The new object has the new managed fields.
///
/// - `live` is the object as it is stored, `None` if there is none yet.
/// - Applying the same again changes nothing: then the answer is `live`, times included.
/// - Server fields of metadata and, where status is a sub-resource, the status are owned by nobody through this.
///
/// # Errors
/// With all conflicts, unless `force` says that fields are taken from others; and when what is applied does not fit the schema.
pub fn apply(
    kind: &KindInfo,
    live: Option<&Value>,
    applied: &Value,
    writer: &Writer<'_>,
    force: Force,
) -> Result<Value, Error> {
    if applied["metadata"]
        .get("managedFields")
        .and_then(Value::as_array)
        .is_some_and(|entries| !entries.is_empty())
    {
        return Err(Error::ManagedFields);
    }
    let api_version = text(applied, "apiVersion");
    let empty = serde_json::json!({"apiVersion": api_version, "kind": kind.names.kind, "metadata": {}});
    let mut before = live.unwrap_or(&empty).clone();
    before["apiVersion"] = api_version.into();
    let view = view(kind, api_version, writer.sub_resource, &[&before, applied])
        .ok_or_else(|| Error::Version(api_version.to_owned()))?;
    let mut managers = known(kind, live.map(Managers::of).unwrap_or_default());
    normalize(&mut managers, view.shape);
    let plain = without_managed(&before);
    let applied = without_managed(applied);
    typed::check(&applied, view.shape).map_err(|errors| Error::Typed {
        object: named(&applied),
        cause: errors.first().map(ToString::to_string).unwrap_or_default(),
    })?;
    if live.is_some() && managers.0.is_empty() {
        // Nobody kept count: all that is there belongs to somebody.
        let set = view.ownable(&typed::fields(&plain, view.shape));
        let key = ManagerKey::new(Operation::Update, BEFORE_FIRST_APPLY, None, api_version);
        let time = Some(managed::time_text(writer.now));
        managers.0.insert(key, Owned { set, api_version: api_version.to_owned(), time });
    }
    let key = ManagerKey::new(Operation::Apply, writer.manager, writer.sub_resource, api_version);
    let last = managers.0.get(&key).cloned();
    let set = view.ownable(&typed::fields(&applied, view.shape));
    let time = last.as_ref().and_then(|last| last.time.clone());
    managers.0.insert(key.clone(), Owned { set, api_version: api_version.to_owned(), time });
    let merged = typed::merge(&plain, &applied, view.shape);
    let mut merged = prune(&merged, last.as_ref(), &managers, view.shape);
    merged["metadata"] = match &merged["metadata"] {
        Value::Null => plain["metadata"].clone(),
        there => there.clone(),
    };
    let changes = typed::compare(&plain, &merged, view.shape).map(|set| view.ownable(set));
    let force =
        if was_applied_by_client(&plain, &managers, &changes, &key, view.shape) { Force::Yes } else { force };
    settle(&mut managers, &changes, Some(&key), force)?;
    if let Some(owned) = managers.0.get_mut(&key)
        && !changes.is_same()
    {
        owned.time = Some(managed::time_text(writer.now));
    }
    managers.cap();
    managers.put(&mut merged);
    Ok(match live {
        Some(live) if managed::same_but_for_times(live, &merged) => live.clone(),
        Some(_) | None => merged,
    })
}

/// An object with the managed fields that it has after an ordinary write: who changed a field owns it from then on.
///
/// - `live` is the object as it was, `None` for a creation; `new` is the object as it will be stored, but for its managed fields.
/// - Managed fields in `new` are taken for the old ones where they can be read; an empty list, or one empty entry, forgets all. On
///   sub-resources they are ignored.
/// - A write that changes nothing leaves the times of entries alone.
/// - An object that has no managed fields gets none, but for creations.
pub fn update(kind: &KindInfo, live: Option<&Value>, new: &Value, writer: &Writer<'_>) -> Value {
    let api_version = text(new, "apiVersion").to_owned();
    let given = match writer.sub_resource {
        None if managed::is_reset(new, kind.origin) => Some(Managers::default()),
        None => Managers::read(&new["metadata"]["managedFields"]).filter(|managers| !managers.0.is_empty()),
        Some(_) => None,
    };
    let is_forgotten = given.as_ref().is_some_and(|given| given.0.is_empty());
    let managers = given.unwrap_or_else(|| live.map(Managers::of).unwrap_or_default());
    let mut managers = known(kind, managers);
    let mut new = without_managed(new);
    let mut before = live.map_or_else(|| nothing(kind, &api_version), without_managed);
    before["apiVersion"] = api_version.as_str().into();
    let view = view(kind, &api_version, writer.sub_resource, &[&before, &new]);
    let is_untracked = live.is_some() && managers.0.is_empty();
    let Some(view) = view.filter(|_| !is_untracked && (live.is_none() || !is_forgotten)) else {
        if let (false, Some(live)) = (is_forgotten, live) {
            Managers::of(live).put(&mut new);
        }
        return new;
    };
    normalize(&mut managers, view.shape);
    let changes = typed::compare(&before, &new, view.shape).map(|set| view.ownable(set));
    // Nobody can be in conflict with a write that takes all that it changes.
    let settled = settle(&mut managers, &changes, None, Force::Yes);
    debug_assert!(settled.is_ok(), "fields are taken by force");
    let mine = changes.added.union(&changes.modified);
    if !mine.is_empty() {
        let key = ManagerKey::new(Operation::Update, writer.manager, writer.sub_resource, &api_version);
        let set = managers.0.get(&key).map_or_else(|| mine.clone(), |owned| owned.set.union(&mine));
        managers.0.insert(key, Owned { set, api_version, time: Some(managed::time_text(writer.now)) });
    }
    managers.cap();
    managers.put(&mut new);
    match live {
        Some(live) if managed::same_but_for_times(live, &new) => live.clone(),
        Some(_) | None => new,
    }
}

/// What is there before a creation. Objects of Kubernetes's own kinds have parts that are never absent, and that nobody owns.
fn nothing(kind: &KindInfo, api_version: &str) -> Value {
    let mut object = serde_json::json!({"apiVersion": api_version, "kind": kind.names.kind, "metadata": {}});
    if kind.origin != Origin::BuiltIn {
        return object;
    }
    let version = kind.version(api_version.rsplit('/').next().unwrap_or_default());
    let parts = ["spec", "status", "source"].into_iter();
    for part in parts.filter(|part| version.is_some_and(|version| version.schema.field(part).is_some())) {
        object[part] = serde_json::json!({});
    }
    if kind.names.kind == "CustomResourceDefinition" {
        object["spec"]["names"] = serde_json::json!({});
        object["status"]["acceptedNames"] = serde_json::json!({});
    }
    object
}

/// The entries in versions that the kind still has.
fn known(kind: &KindInfo, mut managers: Managers) -> Managers {
    managers.0.retain(|_, owned| {
        kind.versions.iter().any(|version| kind.api_version(&version.name) == owned.api_version)
    });
    managers
}

/// Entries that were written when something merged by field that merges as a whole now own the whole.
fn normalize(managers: &mut Managers, shape: Shape<'_>) {
    for owned in managers.0.values_mut() {
        owned.set = normalized(&owned.set, shape);
    }
}

fn normalized(set: &FieldSet, shape: Shape<'_>) -> FieldSet {
    let mut whole = FieldSet::default();
    for (element, below) in set.children() {
        if set.has(element) {
            whole.add(element.clone());
        }
        let inside = shape.below(element);
        if inside.is_whole() {
            whole.add(element.clone());
        } else {
            whole.put(element.clone(), normalized(below, inside));
        }
    }
    let leaves = set.paths().into_iter().filter(|path| path.len() == 1);
    for leaf in leaves {
        whole.insert(&leaf);
    }
    whole
}

/// Removes what the manager applied before and does not apply now, unless others own it.
fn prune(merged: &Value, last: Option<&Owned>, managers: &Managers, shape: Shape<'_>) -> Value {
    let Some(last) = last.filter(|last| !last.set.is_empty()) else { return merged.clone() };
    let named = |set: &FieldSet| typed::with_names(set, shape);
    let last = named(&last.set);
    let pruned = typed::without(merged, &last, shape);
    let all = named(&typed::fields(merged, shape));
    let owned = managers.0.values().fold(FieldSet::default(), |all, owned| all.union(&owned.set));
    let kept = named(&typed::fields(&pruned, shape)).union(&named(&owned));
    let pruned = typed::without(merged, &all.difference(&kept), shape);
    // Fields that nobody owns stay, although what is around them was applied.
    let left = named(&typed::fields(&pruned, shape));
    typed::without(merged, &all.difference(&left).intersection(&last), shape)
}

/// Takes what changed from its owners. `own` is the entry that may have it.
fn settle(
    managers: &mut Managers,
    changes: &Comparison,
    own: Option<&ManagerKey>,
    force: Force,
) -> Result<(), Error> {
    let taken_over = changes.modified.union(&changes.added);
    let mut conflicts = Vec::new();
    for (key, owned) in &mut managers.0 {
        if Some(key) == own {
            continue;
        }
        let taken = owned.set.intersection(&taken_over);
        if force == Force::No && !taken.is_empty() {
            let owner = owner_text(key, owned);
            conflicts.extend(
                taken.paths().iter().map(|path| Conflict { owner: owner.clone(), field: path_text(path) }),
            );
        }
        owned.set = owned.set.difference(&taken).difference(&changes.removed);
    }
    if !conflicts.is_empty() {
        conflicts.sort_by(|one, other| one.owner.cmp(&other.owner));
        return Err(Error::Conflict(conflicts));
    }
    managers.0.retain(|key, owned| Some(key) == own || !owned.set.is_empty());
    if own.and_then(|own| managers.0.get(own)).is_some_and(|owned| owned.set.is_empty()) {
        managers.0.retain(|key, _| Some(key) != own);
    }
    Ok(())
}

fn owner_text(key: &ManagerKey, owned: &Owned) -> String {
    let part = match key.sub_resource.as_str() {
        "" => String::new(),
        name => format!(" with subresource \"{name}\""),
    };
    let version = match key.operation {
        Operation::Update => format!(" using {}", owned.api_version),
        Operation::Apply => String::new(),
    };
    format!("\"{}\"{part}{version}", key.manager)
}

/// Whether all that others own and that changes was applied by kubectl on the client's side before: then it is the same person.
fn was_applied_by_client(
    live: &Value,
    managers: &Managers,
    changes: &Comparison,
    own: &ManagerKey,
    shape: Shape<'_>,
) -> bool {
    if own.manager != "kubectl" {
        return false;
    }
    let Some(text) = live["metadata"]["annotations"][LAST_APPLIED].as_str() else { return false };
    let Ok(last) = serde_json::from_str::<Value>(text) else { return false };
    if last["apiVersion"] != live["apiVersion"] {
        return false;
    }
    let last = typed::fields(&last, shape);
    let taken_over = changes.modified.union(&changes.added);
    let others = managers.0.iter().filter(|(key, _)| *key != own);
    others.into_iter().all(|(_, owned)| owned.set.intersection(&taken_over).difference(&last).is_empty())
}

fn named(object: &Value) -> String {
    let metadata = &object["metadata"];
    let name = match text(metadata, "namespace") {
        "" => format!("/{}", text(metadata, "name")),
        namespace => format!("{namespace}/{}", text(metadata, "name")),
    };
    format!("{name}; {}, Kind={}", text(object, "apiVersion"), text(object, "kind"))
}
