//! `ensure-name-substring`.

mod references;

use std::collections::HashMap;

use lanai_krm::{Resource, ResourceId, ResourceList};
use lanai_yaml::{Kind, NodeRef, Path};

use crate::config::{self, TYPED};
use crate::field_spec::{FieldSpec, Missing, Place, places};
use crate::function::{Deviation, Doc, Failure, Field, Function};
use crate::plan::{self, Change, Plan, keys};
use crate::report::{self, About, dotted};
use crate::sites::text;
use references::rows;

/// Makes names contain a text, and references follow.
pub struct EnsureNameSubstring;

/// Names what must be applied before a resource.
const DEPENDS_ON: &str = "config.kubernetes.io/depends-on";
/// The kinds that keep their names.
const KEEP: [&str; 4] = ["CustomResourceDefinition", "APIService", "Namespace", "Kptfile"];

impl Function for EnsureNameSubstring {
    fn name(&self) -> &'static str {
        "ensure-name-substring"
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v0.1", "v0.1.1", "v0.2", "v0.2.0"]
    }

    fn doc(&self) -> Doc {
        Doc {
            purpose: "Puts a text before or behind the names of resources that do not contain it yet, those for local tools included, and changes the references to \
                      them: in volumes, environments and other fields of the kinds that a cluster knows by itself, and in `depends-on` annotations. \
                      Definitions of custom resources, API services, namespaces and Kptfiles keep their names.",
            config: &[
                Field {
                    path: "data.prepend",
                    meaning: "the text to put before names; or `data.append`, to put it behind them. Exactly one of the two",
                },
                Field { path: "substring", meaning: "the text, in an `EnsureNameSubstring`" },
                Field {
                    path: "editMode",
                    meaning: "`prepend`, which is usual, or `append`, in an `EnsureNameSubstring`",
                },
                Field {
                    path: "additionalNameFields[]",
                    meaning: "further fields in an `EnsureNameSubstring`: `group`, `version`, `kind`, `path` (with slashes), `create`",
                },
            ],
            example: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  prepend: prod-\n",
            deviations: &[
                Deviation {
                    there: "the comments on the lines of names and references that change are lost; annotations are written anew, those for path and index are left out",
                    here: "only names and references change",
                    fixtures: &["prepend", "append", "there-already", "annotations"],
                },
                Deviation {
                    there: "`depends-on` gets the text also where it names a resource that keeps its name",
                    here: "it follows the resource",
                    fixtures: &["depends-on-namespace"],
                },
                Deviation {
                    there: "`depends-on` is changed also where it names a resource of the same name in another namespace",
                    here: "it is changed where it names one of the resources that are renamed",
                    fixtures: &["depends-on-other-namespace", "depends-on-elsewhere"],
                },
                Deviation {
                    there: "ends where two resources have the same name",
                    here: "both are renamed",
                    fixtures: &["same-name"],
                },
                Deviation {
                    there: "an unknown `editMode` changes nothing and says nothing",
                    here: "it is an error",
                    fixtures: &["wrong-mode"],
                },
                Deviation {
                    there: "`depends-on` is not changed on resources whose own name contains the text, nor where it names several resources",
                    here: "each name of a resource that was renamed is changed",
                    fixtures: &["depends-on"],
                },
                Deviation {
                    there: "in a role binding, users and groups with the name of a ServiceAccount are renamed, and its namespace is added to all of them",
                    here: "only subjects that are ServiceAccounts are renamed, and nothing is added",
                    fixtures: &["bindings"],
                },
                Deviation {
                    there: "a name with an anchor loses it, and its aliases break the text",
                    here: "the anchor stays, and its aliases follow",
                    fixtures: &["anchors"],
                },
                Deviation {
                    there: "ends on a resource whose metadata is no mapping",
                    here: "such a resource has no name and is left alone",
                    fixtures: &["metadata-is-text"],
                },
                Deviation {
                    there: "a list in place of a text is refused in words that name types of Go",
                    here: "the message names the field",
                    fixtures: &["wrong-type"],
                },
            ],
        }
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        let settings = match Settings::read(list) {
            Ok(settings) => settings,
            Err(message) => {
                let message = format!("failed to load the `functionConfig`: {message}");
                return Err(Failure::report(list, report::error(message)));
            }
        };
        let from = list.results.len();
        let renamed = Renamed::new(&list.items, &settings);
        for item in &mut list.items {
            let (plan, wrong) = plan(item, &settings, &renamed);
            list.results.extend(wrong);
            if let Err(error) = plan.apply(item) {
                list.results.push(*error);
            }
        }
        Failure::if_reported(list, from)
    }
}

#[derive(Clone, Copy)]
enum Mode {
    Prepend,
    Append,
}

impl Mode {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "prepend" => Ok(Mode::Prepend),
            "append" => Ok(Mode::Append),
            _ => Err(format!("unknown editMode: {text}, only prepend and append are allowed")),
        }
    }
}

struct Settings {
    substring: String,
    mode: Mode,
    fields: Vec<FieldSpec>,
}

impl Settings {
    fn read(list: &ResourceList) -> Result<Self, String> {
        let empty = "substring must not be empty";
        let config = config::given(list).ok_or(empty)?;
        let wrong = |wrong: config::Wrong| wrong.to_string();
        let settings = if config::is(&config, "v1", "ConfigMap") {
            let pairs = config::pairs(&config, "data").map_err(wrong)?;
            let [pair] = &pairs[..] else {
                return Err(format!("only 1 entry is allowed in the ConfigMap, but got: {}", pairs.len()));
            };
            Self { substring: pair.value.clone(), mode: Mode::parse(&pair.key)?, fields: Vec::new() }
        } else if config::is(&config, TYPED, "EnsureNameSubstring") {
            let old = config::list(config.root(), "fieldSpecs").map_err(wrong)?;
            let new = config::list(config.root(), "additionalNameFields").map_err(wrong)?;
            if old.is_some() && new.is_some() {
                return Err(
                    "`fieldSpecs` has been deprecated, please rename it to `additionalNameFields`".into()
                );
            }
            let field =
                |key| Ok::<_, String>(config::scalar(config.root(), key).map_err(wrong)?.unwrap_or_default());
            let mode = Some(field("editMode")?).filter(|mode| !mode.is_empty());
            let fields = new.or(old).into_iter().flat_map(NodeRef::items);
            let fields = fields.map(|node| FieldSpec::read(node, "additionalNameFields").map_err(wrong));
            Self {
                substring: field("substring")?,
                mode: Mode::parse(mode.as_deref().unwrap_or("prepend"))?,
                fields: fields.collect::<Result<_, _>>()?,
            }
        } else {
            let config::Type { api_version, kind } = config::type_of(&config);
            return Err(format!(
                "function config must be either /v1, Kind=ConfigMap or fn.kpt.dev/v1alpha1, Kind=EnsureNameSubstring, but we got: {api_version}, Kind={kind}"
            ));
        };
        if settings.substring.is_empty() { Err(empty.into()) } else { Ok(settings) }
    }

    /// The name with the text; `None` when it is in it.
    fn name(&self, name: &str) -> Option<String> {
        if name.contains(&self.substring) {
            return None;
        }
        Some(match self.mode {
            Mode::Prepend => format!("{}{name}", self.substring),
            Mode::Append => format!("{name}{}", self.substring),
        })
    }
}

/// The resources that get another name.
struct Renamed {
    /// Their new names, by what they are called now, without versions.
    names: HashMap<ResourceId, String>,
    /// Which of them have a kind and a name, in order.
    called: HashMap<Called, Vec<ResourceId>>,
}

/// What a reference says.
#[derive(PartialEq, Eq, Hash)]
struct Called {
    kind: String,
    name: String,
}

impl Called {
    fn new(kind: &str, name: &str) -> Self {
        Self { kind: kind.to_owned(), name: name.to_owned() }
    }
}

impl Renamed {
    fn new(items: &[Resource], settings: &Settings) -> Self {
        let renamed = items.iter().filter_map(|item| {
            let id = ResourceId { version: String::new(), ..item.id() };
            let new = (!KEEP.contains(&id.kind.as_str()) && !id.name.is_empty())
                .then(|| settings.name(&id.name))??;
            Some((id, new))
        });
        let names: HashMap<ResourceId, String> = renamed.collect();
        let mut called: HashMap<Called, Vec<ResourceId>> = HashMap::new();
        for id in names.keys() {
            called.entry(Called::new(&id.kind, &id.name)).or_default().push(id.clone());
        }
        for ids in called.values_mut() {
            ids.sort();
        }
        Self { names, called }
    }

    /// The new name of a resource.
    fn of(&self, item: &Resource) -> Option<&String> {
        self.names.get(&ResourceId { version: String::new(), ..item.id() })
    }

    /// The new name of the first resource of a kind and a name that is meant.
    fn first(&self, kind: &str, name: &str, is_meant: impl Fn(&ResourceId) -> bool) -> Option<&String> {
        let ids = self.called.get(&Called::new(kind, name))?;
        ids.iter().find(|id| is_meant(id)).and_then(|id| self.names.get(id))
    }

    /// The new name of what a resource refers to: something of a kind, in the same namespace, in the one that the reference names,
    /// or in none.
    fn referred(&self, kind: &str, name: &str, namespaces: &[&str]) -> Option<&String> {
        self.first(kind, name, |id| namespaces.contains(&id.namespace.as_str()))
    }

    /// A reference as `depends-on` spells it, with the new name.
    fn redirect(&self, reference: &str) -> String {
        let parts: Vec<&str> = reference.trim().split('/').collect();
        let namespace = match parts[..] {
            [_, "namespaces", namespace, _, _] => namespace,
            [_, _, _] => "",
            _ => return reference.into(),
        };
        let [group, .., kind, name] = parts[..] else { return reference.into() };
        // A resource that names no namespace may be meant for that one.
        let is_there = |id: &ResourceId| id.namespace.is_empty() || id.namespace == namespace;
        let new = self.first(kind, name, |id| id.group == group && is_there(id));
        let Some(new) = new else { return reference.into() };
        let kept = reference.trim_end().len() - name.len();
        format!("{}{new}", &reference[..kept])
    }
}

fn plan(item: &Resource, settings: &Settings, renamed: &Renamed) -> (Plan, Vec<lanai_krm::ResultItem>) {
    let mut plan = Plan::default();
    let mut wrong = Vec::new();
    if let Some(name) = renamed.of(item) {
        plan.push(keys(["metadata", "name"]), Change::Text(name.clone()));
    }
    if let Some(before) = item.annotation(DEPENDS_ON) {
        let after: Vec<String> = before.split(',').map(|one| renamed.redirect(one)).collect();
        let after = after.join(",");
        if after != before {
            plan.push(keys(["metadata", "annotations", DEPENDS_ON]), Change::Text(after));
        }
    }
    plan_references(item, renamed, &mut plan);
    for spec in settings.fields.iter().filter(|spec| spec.matches(&item.id())) {
        match spec.places(item) {
            Ok(places) => {
                for place in places {
                    let current = place.node.and_then(text).unwrap_or_default();
                    if let Some(name) = settings.name(&current) {
                        plan.push(place.path, Change::Text(name));
                    }
                }
            }
            Err(path) => {
                let path = dotted(&path);
                let message =
                    format!("the field \"{path}\" is a scalar, a mapping is expected on the way to a name");
                wrong.push(report::error(message).about(item).at(&path).in_file_of(item));
            }
        }
    }
    (plan, wrong)
}

fn plan_references(item: &Resource, renamed: &Renamed, plan: &mut Plan) {
    let id = item.id();
    for row in rows(&id) {
        // A resource of the wrong shape refers to nothing.
        for place in places(item.root(), &row.path, Missing::Skip).unwrap_or_default() {
            let around = place.path.parent().and_then(|parent| item.root().find(&parent).ok());
            let beside = |key| around.and_then(|around| text(around.get(key)?));
            if row.says_kind() && beside("kind").is_some_and(|kind| kind != row.target) {
                continue;
            }
            let namespace = beside("namespace").unwrap_or_default();
            let namespaces: &[&str] =
                if namespace.is_empty() { &[&id.namespace, ""] } else { &[&*namespace] };
            for Name { path, text } in names(place) {
                if let Some(new) = renamed.referred(row.target, &text, namespaces) {
                    plan.push(path, Change::Text(new.clone()));
                }
            }
        }
    }
}

/// A name and where it stands.
struct Name {
    path: Path,
    text: String,
}

/// The names at a place: one, or a list of them.
fn names(place: Place<'_>) -> Vec<Name> {
    let Some(node) = place.node else { return Vec::new() };
    let name = |path, node| Some(Name { path, text: text(node)?.into_owned() });
    match node.kind() {
        Kind::Sequence => {
            let items = node.items().enumerate();
            items.filter_map(|(at, node)| name(plan::item(&place.path, at), node)).collect()
        }
        Kind::Scalar | Kind::Mapping | Kind::Alias => Vec::from_iter(name(place.path, node)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_outside_of_pods_follow() {
        let secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n";
        let config = "apiVersion: v1\nkind: ConfigMap\ndata:\n  prepend: x-\n";
        for text in [
            "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata:\n  name: a\nparameters:\n  adminSecretName: s\n",
            "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata:\n  name: a\nparameters:\n  userSecretName: s\n",
            "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata:\n  name: a\nparameters:\n  secretRef: s\n",
            "apiVersion: v1\nkind: PersistentVolume\nmetadata:\n  name: a\nspec:\n  azureFile:\n    secretName: s\n",
            "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata:\n  name: a\nspec:\n  template:\n    spec:\n      containers:\n      - env:\n        - valueFrom:\n            secretKeyRef:\n              name: s\n",
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: a\n  annotations:\n    ingress.kubernetes.io/auth-secret: s\n",
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: a\n  annotations:\n    nginx.ingress.kubernetes.io/auth-secret: s\n",
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: a\n  annotations:\n    nginx.ingress.kubernetes.io/auth-tls-secret: s\n",
        ] {
            let mut list = ResourceList {
                items: vec![Resource::parse(secret).unwrap(), Resource::parse(text).unwrap()],
                function_config: Some(Resource::parse(config).unwrap()),
                ..ResourceList::default()
            };
            EnsureNameSubstring.run(&mut list).unwrap();
            let after = list.items[1].to_string();
            assert_eq!(after, text.replace("name: a\n", "name: x-a\n").replace(": s\n", ": x-s\n"));
        }
    }
}
