//! `set-labels`.

mod table;

use lanai_krm::{Resource, ResourceList};
use lanai_yaml::{Kind, NodeRef};

use crate::config::{self, Pair};
use crate::field_spec::{Missing, places};
use crate::function::{Deviation, Doc, Failure, Field, Function};
use crate::plan::{Change, Plan, below};
use crate::report::{self, About, dotted};
use crate::sites::at;
use table::{When, rows};

/// Sets labels, and the selectors that must agree with them.
pub struct SetLabels;

impl Function for SetLabels {
    fn name(&self) -> &'static str {
        "set-labels"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["set-label"]
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v0.2", "v0.2.0", "v0.2.1", "v0.2.2"]
    }

    fn doc(&self) -> Doc {
        Doc {
            purpose: "Sets labels on every resource that is not for local tools only, on the templates in it, and in the selectors that \
                      must agree with them: selectors of services and workloads are added to, other selectors are only changed \
                      where they have the label already.",
            config: &[
                Field { path: "data", meaning: "the labels: names and values" },
                Field { path: "labels", meaning: "the same in a `SetLabels` of `fn.kpt.dev`" },
            ],
            example: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  app: web\n  tier: front\n",
            deviations: &[
                Deviation {
                    there: "that there is no configuration is information, although the function fails",
                    here: "it is an error",
                    fixtures: &["no-config", "empty-config", "placeholder"],
                },
                Deviation {
                    there: "looks for the labels of pod affinity, and for the selectors of volume claim templates, one level too high and never finds them",
                    here: "changes them where they have the label already",
                    fixtures: &["affinity"],
                },
                Deviation {
                    there: "messages about a field of the wrong type leave the `apiVersion` empty",
                    here: "they name it",
                    fixtures: &["wrong-target"],
                },
                Deviation {
                    there: "crashes on labels that are an alias",
                    here: "what the anchor names is changed, and its aliases follow",
                    fixtures: &["anchors"],
                },
                Deviation {
                    there: "an annotation that is no string (`config.kubernetes.io/local-config: true` without quotes) does not count",
                    here: "it counts",
                    fixtures: &["local-config-bare"],
                },
                Deviation {
                    there: "a value that is replaced loses its quotes (in later releases it keeps them)",
                    here: "it keeps them",
                    fixtures: &["quoted"],
                },
                Deviation {
                    there: "a configuration that cannot be read is refused in words that name types of Go",
                    here: "the message names the field",
                    fixtures: &["wrong-value", "data-is-text"],
                },
            ],
        }
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        let from = list.results.len();
        let labels = match labels(list) {
            Ok(labels) => labels,
            Err(message) => return Err(Failure::report(list, report::error(message))),
        };
        let nothing_to_do = list.items.iter().all(Resource::is_local_config);
        let not_given = "`FunctionConfig` is not given";
        if labels.is_none() && nothing_to_do {
            list.results.push(report::info(not_given));
        }
        if nothing_to_do {
            list.results.push(report::info("no input resources"));
        }
        let labels = match labels {
            Some(labels) => labels,
            None if nothing_to_do => return Ok(()),
            None => return Err(Failure::report(list, report::error(not_given))),
        };
        if nothing_to_do {
            return Ok(());
        }
        if labels.is_empty() {
            list.results.push(report::warning("no `labels` arguments are given in FunctionConfig"));
            return Ok(());
        }
        let mut count = 0;
        for item in list.items.iter_mut().filter(|item| !item.is_local_config()) {
            let (plan, wrong) = plan(item, &labels, &mut count);
            list.results.extend(wrong);
            if let Err(error) = plan.apply(item) {
                list.results.push(*error);
            }
        }
        list.results.push(report::info(format!("set {count} labels in total")));
        Failure::if_reported(list, from)
    }
}

/// The labels by name; `None` when there is no configuration.
fn labels(list: &ResourceList) -> Result<Option<Vec<Pair>>, String> {
    let Some(config) = config::given(list).filter(|config| !config::is_placeholder(config)) else {
        return Ok(None);
    };
    let id = config.id();
    let field = match (id.group.as_str(), id.kind.as_str()) {
        ("", "ConfigMap") if id.version == "v1" => "data",
        ("fn.kpt.dev", "SetLabels") => "labels",
        (group, kind) => {
            return Err(format!(
                "unknown FunctionConfig `{kind}.{group}`, expect `SetLabels.fn.kpt.dev` or `ConfigMap.v1`"
            ));
        }
    };
    let mut labels = config::pairs(&config, field).map_err(|wrong| wrong.to_string())?;
    labels.sort_by(|one, other| one.key.cmp(&other.key));
    Ok(Some(labels))
}

/// What is to be done with a resource, and what is wrong with it. Counts every label at every place that was looked at.
fn plan(item: &Resource, labels: &[Pair], count: &mut usize) -> (Plan, Vec<lanai_krm::ResultItem>) {
    let mut plan = Plan::default();
    let mut wrong = Vec::new();
    let id = item.id();
    for row in rows(&id) {
        let create = match row.when {
            When::Always => true,
            When::Template(template) => {
                let template: Vec<&str> = template.split('/').collect();
                if at(item.root(), &template).is_none() {
                    continue;
                }
                true
            }
            When::Existing => false,
        };
        let missing = if create { Missing::Create } else { Missing::Skip };
        let reached = places(item.root(), row.path, missing).and_then(|places| {
            let is_wrong = |node: NodeRef<'_>| node.kind() != Kind::Mapping;
            match places.iter().find(|place| place.node.is_some_and(is_wrong)) {
                Some(place) => Err(place.path.clone()),
                None => Ok(places),
            }
        });
        let reached = match reached {
            Ok(reached) => reached,
            Err(path) => {
                let asked = row.path.replace("[]", "").replace("//", "/").replace('/', ".");
                let key = labels.first().map_or("", |label| label.key.as_str());
                let message = format!(
                    "Resource(apiVersion={}, kind={}) has unmatched field type \"string\" in fieldpath .{asked}.{key}",
                    id.api_version(),
                    id.kind
                );
                wrong.push(report::error(message).about(item).at(&dotted(&path)).in_file_of(item));
                break;
            }
        };
        let visited = if create { reached.len() } else { row.visited(item.root()) };
        *count += labels.len() * visited;
        for place in reached {
            for label in labels {
                let there = place.node.and_then(|node| node.get(&label.key));
                if create || there.is_some() {
                    plan.push(below(&place.path, &label.key), Change::Text(label.value.clone()));
                }
            }
        }
    }
    (plan, wrong)
}
