//! What the Rego of a policy sees.

use std::collections::BTreeMap;

use lanai_krm::Resource;
use lanai_krm::resource::ResourceId;
use regorus::Value;
use serde::Deserialize;

/// A resource as Rego sees it.
///
/// # Errors
/// In words, when it says something that Rego cannot.
pub fn object(resource: &Resource) -> Result<Value, String> {
    Value::deserialize(resource.root()).map_err(|error| error.to_string())
}

/// The input of a policy: a review of a resource that is to be created, and the parameters.
pub fn input(id: &ResourceId, object: &Value, parameters: &Value) -> Value {
    let text = |text: &str| Value::from(text);
    let kind =
        mapping([("group", text(&id.group)), ("version", text(&id.version)), ("kind", text(&id.kind))]);
    let mut review = vec![
        ("kind", kind),
        ("name", text(&id.name)),
        ("operation", text("CREATE")),
        ("object", object.clone()),
    ];
    if !id.namespace.is_empty() {
        review.push(("namespace", text(&id.namespace)));
    }
    mapping([("review", mapping(review)), ("parameters", parameters.clone())])
}

/// All resources as `data.inventory`: below `cluster`, or below `namespace` and the namespace, by group and version, kind
/// and name.
pub fn inventory<'a>(objects: impl Iterator<Item = (&'a ResourceId, &'a Value)>) -> Value {
    let mut cluster = Tree::default();
    let mut namespaces: BTreeMap<&str, Tree<'_>> = BTreeMap::new();
    for (id, object) in objects {
        let tree = match id.namespace.as_str() {
            "" => &mut cluster,
            namespace => namespaces.entry(namespace).or_default(),
        };
        let kinds = tree.0.entry(id.api_version()).or_default();
        kinds.entry(&id.kind).or_default().insert(&id.name, object.clone());
    }
    let namespaces: BTreeMap<&str, Value> =
        namespaces.into_iter().map(|(name, tree)| (name, tree.value())).collect();
    mapping([("inventory", mapping([("cluster", cluster.value()), ("namespace", mapping(namespaces))]))])
}

/// Resources by group and version, kind and name.
#[derive(Default)]
struct Tree<'a>(BTreeMap<String, BTreeMap<&'a str, BTreeMap<&'a str, Value>>>);

impl Tree<'_> {
    fn value(self) -> Value {
        let kinds = |kinds: BTreeMap<&str, BTreeMap<&str, Value>>| {
            mapping(kinds.into_iter().map(|(kind, names)| (kind, mapping(names))).collect::<Vec<_>>())
        };
        let versions = self.0.into_iter().map(|(version, inner)| (Value::from(version), kinds(inner)));
        Value::from(versions.collect::<BTreeMap<_, _>>())
    }
}

fn mapping<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    Value::from(fields.into_iter().map(|(key, value)| (Value::from(key), value)).collect::<BTreeMap<_, _>>())
}
