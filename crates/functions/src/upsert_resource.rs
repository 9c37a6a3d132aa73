//! `upsert-resource`.

use lanai_krm::resource::annotation;
use lanai_krm::{Resource, ResourceId, ResourceList};
use lanai_yaml::{Document, NodeRef, edit};

use crate::config;
use crate::function::{Deviation, Doc, Failure, Field, Function};
use crate::report::{self, is_bookkeeping};

/// Replaces resources, or adds them.
pub struct UpsertResource;

/// Says in which file a resource is to be looked for, or put.
const TARGET_PATH: &str = "config.kubernetes.io/target-path";

impl Function for UpsertResource {
    fn name(&self) -> &'static str {
        "upsert-resource"
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v0.2", "v0.2.0", "v0.2.1"]
    }

    fn doc(&self) -> Doc {
        Doc {
            purpose: "Puts the resource that is its configuration, or each of a `List`, in place of those with the same group, kind, namespace and name, in the file \
                      that the annotation `config.kubernetes.io/target-path` names, if it has one; where there is none, the resource is added. The place in \
                      its file stays, the annotation goes.",
            config: &[Field { path: "the whole", meaning: "a resource, or a `List` of `v1` with `items`" }],
            example: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: values\n  annotations:\n    config.kubernetes.io/target-path: values.yaml\ndata:\n  a: b\n",
            deviations: &[
                Deviation {
                    there: "the comments of a resource that says the same already are lost",
                    here: "such a resource is left alone",
                    fixtures: &["same"],
                },
                Deviation {
                    there: "the ConfigMap `function-input`, which stands for no configuration, is added as a resource",
                    here: "it counts as no configuration, which is an error",
                    fixtures: &["placeholder"],
                },
                Deviation {
                    there: "crashes without a configuration",
                    here: "the same error as for an empty one",
                    fixtures: &["no-config"],
                },
                Deviation {
                    there: "a resource without a name is added",
                    here: "that is an error",
                    fixtures: &["no-name"],
                },
                Deviation {
                    there: "a `List` whose items are no list adds nothing and says nothing",
                    here: "that is an error",
                    fixtures: &["wrong-list"],
                },
            ],
        }
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        let result = wanted(list).and_then(|wanted| wanted.into_iter().try_for_each(|new| upsert(list, new)));
        match result {
            Ok(()) => Ok(()),
            Err(message) => {
                let error = report::error(format!("failed to upsert resource: {message}"));
                Err(Failure::report(list, error))
            }
        }
    }
}

/// The resources of the configuration.
fn wanted(list: &ResourceList) -> Result<Vec<Resource>, String> {
    let missing = "missing Resource metadata";
    let config = config::given(list).filter(|config| !config::is_placeholder(config)).ok_or(missing)?;
    let resources = if config::is(&config, "v1", "List") {
        let items = config::list(config.root(), "items").map_err(|wrong| wrong.to_string())?;
        items.into_iter().flat_map(NodeRef::items).map(of_node).collect::<Result<_, _>>()?
    } else {
        vec![config]
    };
    let named = |resource: &Resource| resource.name().is_some_and(|name| !name.is_empty());
    if resources.iter().all(named) { Ok(resources) } else { Err(missing.into()) }
}

fn of_node(node: NodeRef<'_>) -> Result<Resource, String> {
    let text = node.excerpt();
    let whole = match text.and_then(|text| Resource::parse(&text).ok()) {
        Some(resource) => return Ok(resource),
        None => Document::parse("{}"),
    };
    let mut document = whole.map_err(|error| error.to_string())?;
    document.root_mut().set(lanai_yaml::Content::from(node)).map_err(|error| error.to_string())?;
    Resource::try_from(document).map_err(|error| error.to_string())
}

fn upsert(list: &mut ResourceList, new: Resource) -> Result<(), String> {
    let cause = |error: edit::Error| error.to_string();
    let target = new.annotation(TARGET_PATH).map(std::borrow::Cow::into_owned);
    let new = without_marks(new).map_err(cause)?;
    let id = without_version(new.id());
    let mut found = false;
    for item in &mut list.items {
        let in_file = target.as_ref().is_none_or(|target| item.path().is_some_and(|path| path == *target));
        if !in_file || without_version(item.id()) != id {
            continue;
        }
        found = true;
        let replaced = with_marks_of(new.clone(), item).map_err(cause)?;
        if !replaced.means_the_same(item) {
            *item = replaced;
        }
    }
    if !found {
        let mut new = new;
        if let Some(target) = target {
            new.set_annotation(annotation::LEGACY_PATH, &target).map_err(cause)?;
            new.set_annotation(annotation::PATH, &target).map_err(cause)?;
        }
        list.items.push(new);
    }
    Ok(())
}

/// Upserting goes by the group: a resource in another version is the same.
fn without_version(id: ResourceId) -> ResourceId {
    ResourceId { version: String::new(), ..id }
}

/// The resource without the annotations that say where it stands or should.
fn without_marks(mut resource: Resource) -> Result<Resource, edit::Error> {
    let keys: Vec<String> = resource.annotations().map(|(key, _)| key.into_owned()).collect();
    for key in keys.iter().filter(|key| *key == TARGET_PATH || is_bookkeeping(key)) {
        resource.remove_annotation(key)?;
    }
    resource.set_origin(None);
    Ok(resource)
}

/// The resource at the place where another one stands.
fn with_marks_of(mut resource: Resource, other: &Resource) -> Result<Resource, edit::Error> {
    for (key, value) in other.annotations().filter(|(key, _)| is_bookkeeping(key)) {
        resource.set_annotation(&key, &value)?;
    }
    resource.set_origin(other.origin().cloned());
    Ok(resource)
}
