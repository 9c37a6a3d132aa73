//! `set-annotations`.

use std::collections::BTreeMap;

use lanai_krm::{ResourceList, ResultItem};
use serde_json::{Map, Value};

use crate::config::{self, Pair, TYPED};
use crate::field_spec::{FieldSpec, Missing};
use crate::function::{Deviation, Doc, Failure, Field, Function};
use crate::plan::{Change, Plan, below};
use crate::report::{self, About, dotted};

/// Sets annotations.
pub struct SetAnnotations;

/// Where annotations stand in resources of a kind. What is empty is any.
struct Template {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    path: &'static str,
}

const fn of(kind: &'static str, path: &'static str) -> Template {
    Template { group: "", version: "", kind, path }
}

const POD: &str = "spec/template/metadata/annotations";

const TEMPLATES: &[Template] = &[
    of("", "metadata/annotations"),
    Template { version: "v1", ..of("ReplicationController", POD) },
    of("Deployment", POD),
    of("ReplicaSet", POD),
    of("DaemonSet", POD),
    of("StatefulSet", POD),
    Template { group: "batch", ..of("Job", POD) },
    Template { group: "batch", ..of("CronJob", "spec/jobTemplate/metadata/annotations") },
    Template { group: "batch", ..of("CronJob", "spec/jobTemplate/spec/template/metadata/annotations") },
];

impl Function for SetAnnotations {
    fn name(&self) -> &'static str {
        "set-annotations"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["set-annotation"]
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v0.1", "v0.1.4", "v0.1.5"]
    }

    fn doc(&self) -> Doc {
        Doc {
            purpose: "Sets annotations on every resource, those for local tools and the Kptfile included, and on the templates of \
                      pods and jobs. What is missing on the way is added.",
            config: &[
                Field { path: "data", meaning: "the annotations: names and values" },
                Field { path: "annotations", meaning: "the same in a `SetAnnotations`" },
                Field {
                    path: "additionalAnnotationFields[]",
                    meaning: "further places in a `SetAnnotations`: `group`, `version`, `kind`, `path` (with slashes), `create`",
                },
            ],
            example: "apiVersion: fn.kpt.dev/v1alpha1\nkind: SetAnnotations\nmetadata:\n  name: config\nannotations:\n  team: red\n\
                      additionalAnnotationFields:\n- kind: MyKind\n  path: spec/selector/annotations\n  create: true\n",
            deviations: &[
                Deviation {
                    there: "the comment on the line of an annotation that is overwritten is lost, and its quotes appear in other places of the resource",
                    here: "both stay where they are",
                    fixtures: &["comments"],
                },
                Deviation {
                    there: "a further place without a path is passed over",
                    here: "it is an error",
                    fixtures: &["wrong-field"],
                },
                Deviation {
                    there: "ends where two resources have the same name",
                    here: "both get the annotations",
                    fixtures: &["same-name"],
                },
                Deviation {
                    there: "ends, or crashes, on a resource of the wrong shape",
                    here: "the message names the resource and the field",
                    fixtures: &["metadata-is-text"],
                },
                Deviation {
                    there: "a list in place of a text is refused in words that name types of Go",
                    here: "the message names the field",
                    fixtures: &["wrong-value"],
                },
            ],
        }
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        let settings = match Settings::read(list) {
            Ok(settings) => settings,
            Err(message) => {
                let message = format!("failed to configure function: {message}");
                return Err(Failure::report(list, report::error(message)));
            }
        };
        let from = list.results.len();
        let mut done = BTreeMap::<Place, ResultItem>::new();
        let mut errors = Vec::new();
        for item in &mut list.items {
            let mut plan = Plan::default();
            for spec in settings.fields.iter().filter(|spec| spec.matches(&item.id())) {
                let places = match spec.places(item) {
                    Ok(places) => places,
                    Err(path) => {
                        let path = dotted(&path);
                        let message = format!("the field \"{path}\" is no mapping, annotations need one");
                        errors.push(report::error(message).about(item).at(&path).in_file_of(item));
                        continue;
                    }
                };
                for place in places {
                    let path = dotted(&place.path);
                    let result = report::plain(settings.message()).at(&path).in_file_of(item);
                    done.insert(Place::of(&result), result);
                    for Pair { key, value } in &settings.annotations {
                        plan.push(below(&place.path, key), Change::Text(value.clone()));
                    }
                }
            }
            if let Err(error) = plan.apply(item) {
                errors.push(*error);
            }
        }
        if done.is_empty() {
            list.results.push(report::plain("no annotations applied"));
        }
        list.results.extend(done.into_values());
        list.results.extend(errors);
        Failure::if_reported(list, from)
    }
}

/// By what results are sorted.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    file: String,
    index: usize,
    field: String,
}

impl Place {
    fn of(result: &ResultItem) -> Self {
        let file = result.file.clone().unwrap_or_default();
        let field = result.field.as_ref().map(|field| field.path.clone()).unwrap_or_default();
        Self { file: file.path, index: file.index, field }
    }
}

struct Settings {
    annotations: Vec<Pair>,
    fields: Vec<FieldSpec>,
}

impl Settings {
    fn read(list: &ResourceList) -> Result<Self, String> {
        let wrong_type = "`functionConfig` must be a `ConfigMap` or `SetAnnotations`";
        let config = config::given(list).ok_or(wrong_type)?;
        let typed =
            config::is(&config, TYPED, "SetAnnotations") || config::is(&config, TYPED, "SetAnnotationConfig");
        if !typed && !config::is(&config, "v1", "ConfigMap") {
            return Err(wrong_type.into());
        }
        let mut fields: Vec<FieldSpec> = TEMPLATES.iter().map(spec).collect();
        if typed {
            fields.extend(additional(&config)?);
        }
        let field = if typed { "annotations" } else { "data" };
        let mut annotations = config::pairs(&config, field).map_err(|wrong| wrong.to_string())?;
        annotations.sort_by(|one, other| one.key.cmp(&other.key));
        if annotations.is_empty() {
            return Err("input annotation list cannot be empty".into());
        }
        Ok(Self { annotations, fields })
    }

    fn message(&self) -> String {
        let pairs = self.annotations.iter().map(|pair| (pair.key.clone(), Value::from(pair.value.as_str())));
        format!("set annotations: {}", Value::Object(pairs.collect::<Map<_, _>>()))
    }
}

fn spec(of: &Template) -> FieldSpec {
    FieldSpec {
        group: of.group.into(),
        version: of.version.into(),
        kind: of.kind.into(),
        path: of.path.into(),
        missing: Missing::Create,
    }
}

fn additional(config: &lanai_krm::Resource) -> Result<Vec<FieldSpec>, String> {
    const NAME: &str = "additionalAnnotationFields";
    let root = config.root();
    if root.get("fieldSpecs").is_some() && root.get(NAME).is_some() {
        return Err(
            "`fieldSpecs` has been deprecated, please rename it to `additionalAnnotationFields`".into()
        );
    }
    let name = if root.get(NAME).is_some() { NAME } else { "fieldSpecs" };
    let list = config::list(root, name).map_err(|wrong| wrong.to_string())?;
    let specs = list.into_iter().flat_map(lanai_yaml::NodeRef::items);
    specs.map(|node| FieldSpec::read(node, name).map_err(|wrong| wrong.to_string())).collect()
}
