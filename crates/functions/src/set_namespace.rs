//! `set-namespace`.

use std::collections::{BTreeSet, HashSet};

use lanai_krm::{Resource, ResourceList};
use lanai_yaml::Path;

use crate::config::{self, TYPED};
use crate::function::{Compared, Counterpart, Deviation, Doc, Failure, Field, Function};
use crate::go;
use crate::plan::{Change, Plan, below, keys};
use crate::report::{self, About, resource_text};
use crate::scope::{Scope, Scopes};
use crate::sites::{at, text};

/// Sets the namespace of resources, and what refers to it.
pub struct SetNamespace;

/// What a missing namespace means.
const DEFAULT: &str = "default";
/// Names what must be applied before a resource.
const DEPENDS_ON: &str = "config.kubernetes.io/depends-on";
/// Names the resource that a resource was copied from: `group|kind|namespace|name`.
const ORIGIN: &str = "internal.kpt.dev/upstream-identifier";
/// The name of the `ConfigMap` that says what package this is.
const PACKAGE_CONTEXT: &str = "kptfile.kpt.dev";

impl Function for SetNamespace {
    fn name(&self) -> &'static str {
        "set-namespace"
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v0.4", "v0.4.1", "v0.4.2", "v0.4.5"]
    }

    fn counterpart(&self) -> Counterpart {
        Counterpart::Program {
            version: "kptdev/krm-functions-catalog, release v0.4.5",
            resources: Compared::Text,
        }
    }

    fn doc(&self) -> Doc {
        Doc {
            purpose: "Sets `metadata.namespace` of every resource that lives in a namespace, the name of `Namespace` resources, \
                      the namespace in the subjects of role bindings, in conversion webhooks of custom resource definitions and in API services, \
                      and the namespace in `depends-on` annotations that point at resources of the list. \
                      Resources for local tools only are left alone.",
            config: &[
                Field {
                    path: "data.namespace",
                    meaning: "the namespace; `namespace` in a `SetNamespace`. In a ConfigMap named `kptfile.kpt.dev`, `data.name` serves where this is empty",
                },
                Field {
                    path: "data.namespaceMatcher",
                    meaning: "only where the namespace, or that of the origin, is this; `namespaceMatcher` in a `SetNamespace`",
                },
            ],
            example: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  namespace: staging\n",
            deviations: &[
                Deviation {
                    there: "creates a conversion webhook in definitions of custom resources, and a service in API services, that have none",
                    here: "changes these fields only where they are: a definition with an invented webhook cannot be applied",
                    fixtures: &["crd-and-apiservice", "custom-resources"],
                },
                Deviation {
                    there: "does not change the subjects of a RoleBinding",
                    here: "changes `subjects[].namespace` of RoleBindings as of ClusterRoleBindings, where it is present",
                    fixtures: &["bindings"],
                },
                Deviation {
                    there: "with a matcher that does not match, writes `default` where there is no namespace",
                    here: "leaves it alone",
                    fixtures: &["matcher", "default-with-matcher"],
                },
                Deviation {
                    there: "custom resources without a namespace are never changed",
                    here: "changed when their definition is in the list and says that they live in a namespace",
                    fixtures: &["custom-resources"],
                },
                Deviation {
                    there: "a built-in kind in a version that is not listed counts as unknown",
                    here: "group and kind decide, whatever the version",
                    fixtures: &["unlisted-version"],
                },
                Deviation {
                    there: "`depends-on` with several references, or with blanks around one, is not understood",
                    here: "each reference is looked at",
                    fixtures: &["depends-on", "depends-on-forms"],
                },
                Deviation {
                    there: "a resource that came from outside of all namespaces is left alone (releases before v0.4.5 refuse it, refuse resources of \
                            several origins, and warn about all without one)",
                    here: "where something came from matters only to a matcher",
                    fixtures: &["cluster-origin"],
                },
                Deviation {
                    there: "crashes on an origin that is not of the form `group|kind|namespace|name`",
                    here: "such a resource counts as one without an origin",
                    fixtures: &["malformed-origin"],
                },
                Deviation {
                    there: "a namespace with an anchor loses it, and its aliases break the text",
                    here: "the anchor stays, and its aliases follow",
                    fixtures: &["typed"],
                },
                Deviation {
                    there: "an annotation that is no string (`config.kubernetes.io/local-config: true` without quotes) does not count",
                    here: "it counts",
                    fixtures: &["local-config-bare"],
                },
                Deviation {
                    there: "ends, or crashes, on a resource of the wrong shape",
                    here: "the message names the resource and the field",
                    fixtures: &["metadata-is-text"],
                },
                Deviation {
                    there: "a list or a mapping in place of a text counts as empty, or is refused in words that name types of Go",
                    here: "it is refused; the message names the field",
                    fixtures: &["wrong-type"],
                },
            ],
        }
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        let settings = match Settings::read(list) {
            Ok(settings) => settings,
            Err(message) => {
                let error = report::error(message);
                let error = match config::given(list) {
                    Some(config) => error.about(&config),
                    None => error,
                };
                return Err(Failure::report(list, error));
            }
        };
        let from = list.results.len();
        let mut change = Changes::new(list, settings);
        change.run(list);
        Failure::if_reported(list, from)
    }
}

struct Settings {
    namespace: String,
    matcher: Option<String>,
}

impl Settings {
    fn read(list: &ResourceList) -> Result<Self, String> {
        let Some(config) = config::given(list) else {
            return Err(
                "FunctionConfig is missing. Expect `ConfigMap.v1` or `SetNamespace.v1alpha1.fn.kpt.dev`"
                    .into(),
            );
        };
        if config::is(&config, "v1", "ConfigMap") {
            let data = config::pairs(&config, "data").map_err(|wrong| wrong.to_string())?;
            let value = |key| config::value(&data, key).filter(|value| !value.is_empty());
            let context = config.name().is_some_and(|name| name == PACKAGE_CONTEXT);
            let namespace = value("namespace").or_else(|| value("name").filter(|_| context));
            let namespace = namespace.ok_or("`data.namespace` should not be empty")?;
            return Ok(Self {
                namespace: namespace.into(),
                matcher: value("namespaceMatcher").map(Into::into),
            });
        }
        if config::is(&config, TYPED, "SetNamespace") {
            let value = |key| {
                let value = config::scalar(config.root(), key).map_err(|wrong| wrong.to_string())?;
                Ok::<_, String>(value.filter(|value| !value.is_empty()))
            };
            let namespace = value("namespace")?.ok_or("`namespace` should not be empty")?;
            return Ok(Self { namespace, matcher: value("namespaceMatcher")? });
        }
        let config::Type { api_version, kind } = config::type_of(&config);
        Err(format!(
            "unknown functionConfig Kind={kind} ApiVersion={api_version}, expect `ConfigMap.v1` or `SetNamespace.v1alpha1.fn.kpt.dev`"
        ))
    }
}

/// A resource as `depends-on` names it.
#[derive(PartialEq, Eq, Hash)]
struct Reference {
    group: String,
    kind: String,
    namespace: String,
    name: String,
}

/// What was changed so far.
struct Changes {
    settings: Settings,
    scopes: Scopes,
    present: HashSet<Reference>,
    values: Counted,
    references: Counted,
}

/// How often something was changed, and what it was.
#[derive(Default)]
struct Counted {
    count: usize,
    old: BTreeSet<String>,
}

impl Counted {
    fn add(&mut self, old: &str) {
        self.count += 1;
        self.old.insert(old.into());
    }
}

impl Changes {
    fn new(list: &ResourceList, settings: Settings) -> Self {
        let scopes = Scopes::of(list);
        let namespaced =
            |item: &&Resource| !item.is_local_config() && scopes.scope(item) == Scope::Namespaced;
        let present = list.items.iter().filter(namespaced).map(|item| {
            let id = item.id();
            let namespace = if id.namespace.is_empty() { DEFAULT.into() } else { id.namespace };
            Reference { group: id.group, kind: id.kind, namespace, name: id.name }
        });
        let present = present.collect();
        Self { settings, scopes, present, values: Counted::default(), references: Counted::default() }
    }

    fn run(&mut self, list: &mut ResourceList) {
        for scope in [Scope::Cluster, Scope::Namespaced] {
            for at in 0..list.items.len() {
                let item = &list.items[at];
                if item.is_local_config() || self.scopes.scope(item) != scope {
                    continue;
                }
                let mut plan = Plan::default();
                let origin = self.plan(item, scope, &mut plan);
                self.plan_depends_on(item, &mut plan);
                list.results.extend(origin);
                if let Err(error) = plan.apply(&mut list.items[at]) {
                    list.results.push(*error);
                }
            }
        }
        self.summarize(list);
    }

    fn summarize(&self, list: &mut ResourceList) {
        let namespace = go::quote(&self.settings.namespace);
        let Counted { count, old } = &self.values;
        list.results.push(report::info(if *count == 0 {
            format!("all matching namespaces are already {namespace}. no value changed")
        } else {
            format!("namespace {} updated to {namespace}, {count} value(s) changed", go::list(old))
        }));
        let Counted { count, old } = &self.references;
        list.results.push(report::info(if *count == 0 {
            "all `depends-on` annotations are up-to-date. no `namespace` changed".into()
        } else {
            format!(
                "`depends-on` annotation namespace {} updated to {namespace}, {count} value(s) changed",
                go::list(old)
            )
        }));
    }

    /// Plans the namespaces in a resource; gives what is to be said about its origin.
    fn plan(&mut self, item: &Resource, scope: Scope, plan: &mut Plan) -> Option<lanai_krm::ResultItem> {
        let id = item.id();
        if id.kind == "ClusterRoleBinding" || id.kind == "RoleBinding" {
            self.plan_subjects(item, plan);
        }
        if scope == Scope::Namespaced {
            return self.plan_own(item, plan);
        }
        let nested: &[&str] = match (id.kind.as_str(), id.version.as_str()) {
            ("Namespace", "v1") if id.group.is_empty() => return self.plan_name(item, plan),
            ("CustomResourceDefinition", "v1") => {
                &["spec", "conversion", "webhook", "clientConfig", "service", "namespace"]
            }
            ("APIService", "v1") => &["spec", "service", "namespace"],
            _ => return None,
        };
        if let Some(value) = at(item.root(), nested) {
            self.set(&text(value).unwrap_or_default(), keys(nested.iter().copied()), plan);
        }
        None
    }

    fn plan_own(&mut self, item: &Resource, plan: &mut Plan) -> Option<lanai_krm::ResultItem> {
        let current = item.namespace().unwrap_or_default();
        let current = if current.is_empty() { DEFAULT } else { &*current };
        let path = keys(["metadata", "namespace"]);
        // What is meant already is written down, unless a matcher asks for something else.
        if current == self.settings.namespace
            && self.settings.matcher.as_ref().is_none_or(|matcher| matcher == current)
        {
            plan.push(path, Change::Text(current.into()));
            return None;
        }
        let origin = origin(item).map_or_else(|| current.into(), |origin| origin.namespace);
        self.plan_with_origin(item, &Value { current, origin }, path, plan)
    }

    /// The name of a namespace is one, too.
    fn plan_name(&mut self, item: &Resource, plan: &mut Plan) -> Option<lanai_krm::ResultItem> {
        let current = item.name()?;
        let origin = origin(item).map_or_else(|| current.to_string(), |origin| origin.name);
        self.plan_with_origin(item, &Value { current: &current, origin }, keys(["metadata", "name"]), plan)
    }

    fn plan_with_origin(
        &mut self,
        item: &Resource,
        value: &Value<'_>,
        path: Path,
        plan: &mut Plan,
    ) -> Option<lanai_krm::ResultItem> {
        let Value { current, origin } = value;
        if *current == self.settings.namespace {
            return None;
        }
        let Some(matcher) = &self.settings.matcher else {
            self.change(current, path, plan);
            return None;
        };
        let from_origin = (matcher == origin)
            .then(|| report::info(format!("[{}] has matching origin {origin}", resource_text(item))));
        if from_origin.is_some() || matcher == current {
            self.change(current, path, plan);
        }
        from_origin
    }

    fn plan_subjects(&mut self, item: &Resource, plan: &mut Plan) {
        let Some(subjects) = item.root().get("subjects") else { return };
        for (index, subject) in subjects.items().enumerate() {
            if let Some(namespace) = subject.get("namespace") {
                let path = below(&crate::plan::item(&keys(["subjects"]), index), "namespace");
                self.set(&text(namespace).unwrap_or_default(), path, plan);
            }
        }
    }

    /// Plans a field that has this value, if it is one to be changed.
    fn set(&mut self, current: &str, path: Path, plan: &mut Plan) {
        let current = if current.is_empty() { DEFAULT } else { current };
        if self.settings.matcher.as_ref().is_some_and(|matcher| matcher != current) {
            return;
        }
        if current == self.settings.namespace {
            plan.push(path, Change::Text(current.into()));
        } else {
            self.change(current, path, plan);
        }
    }

    fn change(&mut self, current: &str, path: Path, plan: &mut Plan) {
        self.values.add(current);
        plan.push(path, Change::Text(self.settings.namespace.clone()));
    }

    fn plan_depends_on(&mut self, item: &Resource, plan: &mut Plan) {
        let Some(before) = item.annotation(DEPENDS_ON) else { return };
        let after: Vec<String> = before.split(',').map(|one| self.redirect(one)).collect();
        let after = after.join(",");
        if after != before {
            plan.push(keys(["metadata", "annotations", DEPENDS_ON]), Change::Text(after));
        }
    }

    /// A reference with the new namespace, if it points at a resource of the list.
    fn redirect(&mut self, reference: &str) -> String {
        let parts: Vec<&str> = reference.trim().split('/').collect();
        let [group, "namespaces", namespace, kind, name] = parts[..] else { return reference.into() };
        let target = Reference {
            group: group.into(),
            kind: kind.into(),
            namespace: namespace.into(),
            name: name.into(),
        };
        let matches = self.settings.matcher.as_ref().is_none_or(|matcher| matcher == namespace);
        if !matches || namespace == self.settings.namespace || !self.present.contains(&target) {
            return reference.into();
        }
        self.references.add(namespace);
        let blanks = &reference[..reference.len() - reference.trim_start().len()];
        format!("{blanks}{group}/namespaces/{}/{kind}/{name}", self.settings.namespace)
    }
}

/// A namespace as a resource has it, and as the resource has it that it was copied from.
struct Value<'a> {
    current: &'a str,
    origin: String,
}

/// The resource that another one was copied from.
struct Origin {
    namespace: String,
    name: String,
}

/// What a resource was copied from, if it says so in the form that is expected.
fn origin(item: &Resource) -> Option<Origin> {
    let identifier = item.annotation(ORIGIN)?;
    let parts: Vec<&str> = identifier.split('|').collect();
    match parts[..] {
        [_, _, namespace, name] => Some(Origin { namespace: namespace.into(), name: name.into() }),
        _ => None,
    }
}
