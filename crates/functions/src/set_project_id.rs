//! `set-project-id`.

use lanai_krm::{Resource, ResourceList};
use lanai_yaml::{Content, NodeRef, Path};

use crate::config;
use crate::function::{CATALOG, Compared, Counterpart, Deviation, Doc, Failure, Field, Function};
use crate::plan::{Change, Plan, below, item, keys};
use crate::report;
use crate::sites::{at, text};

/// Gives a package the id of its cloud project.
pub struct SetProjectId;

/// The setter.
const SETTER: &str = "project-id";
/// The annotation of resources that a cloud's controllers read.
const ANNOTATION: &str = "cnrm.cloud.google.com/project-id";
/// The step that is added to pipelines.
const IMAGE: &str = "gcr.io/kpt-fn/apply-setters:v0.2";

impl Function for SetProjectId {
    fn name(&self) -> &'static str {
        "set-project-id"
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v0.2", "v0.2.0", "v0.2.1"]
    }

    fn counterpart(&self) -> Counterpart {
        Counterpart::Program { version: CATALOG, resources: Compared::Values }
    }

    fn doc(&self) -> Doc {
        Doc {
            purpose: "Gives the setter `project-id` to the step `apply-setters` of every Kptfile (a step is added where there is none), and the annotation \
                      `cnrm.cloud.google.com/project-id` to the resources whose group ends in `cnrm.cloud.google.com`. What is there already stays.",
            config: &[Field { path: "data.project-id", meaning: "the id of the project" }],
            example: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  project-id: my-project\n",
            deviations: &[
                Deviation {
                    there: "without a configuration, writes an empty id",
                    here: "that is an error",
                    fixtures: &["no-config"],
                },
                Deviation {
                    there: "`configPath` is looked for at the root of the package",
                    here: "it is looked for beside the Kptfile that names it",
                    fixtures: &["config-path"],
                },
                Deviation {
                    there: "a step `apply-setters` without a configuration is an error",
                    here: "it gets one",
                    fixtures: &["bare-step"],
                },
                Deviation {
                    there: "a Kptfile without an annotation for its path takes the place of the first resource without one",
                    here: "it is changed where it stands",
                    fixtures: &["kptfile-without-path"],
                },
                Deviation {
                    there: "aliases in a Kptfile are expanded",
                    here: "an anchor is changed, and its aliases follow",
                    fixtures: &["anchors"],
                },
                Deviation {
                    there: "words about a pipeline that is no mapping name types of Go",
                    here: "the message names the field",
                    fixtures: &["pipeline-is-text"],
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
        match set(list) {
            Ok(()) => Ok(()),
            Err(message) => {
                let error = report::error(format!("failed to set project-id setter: {message}"));
                Err(Failure::report(list, error))
            }
        }
    }
}

fn set(list: &mut ResourceList) -> Result<(), String> {
    let id = project_id(list)?;
    let is_kptfile = |item: &Resource| item.kind().is_some_and(|kind| kind == "Kptfile");
    let kptfiles: Vec<usize> = (0..list.items.len()).filter(|at| is_kptfile(&list.items[*at])).collect();
    if kptfiles.is_empty() {
        return Err("failed to find Kptfile: unable to find Kptfile, please include --include-meta-resources flag if a Kptfile is present".into());
    }
    for kptfile in kptfiles {
        let Setting { item, plan } = setter(&list.items, kptfile, &id)?;
        plan.apply(&mut list.items[item])
            .map_err(|error| format!("error updating Kptfile: {}", error.message))?;
    }
    for item in &mut list.items {
        if !item.id().group.ends_with("cnrm.cloud.google.com") || item.annotation(ANNOTATION).is_some() {
            continue;
        }
        let mut plan = Plan::default();
        plan.push(keys(["metadata", "annotations", ANNOTATION]), Change::Text(id.clone()));
        plan.apply(item).map_err(|error| error.message)?;
    }
    Ok(())
}

fn project_id(list: &ResourceList) -> Result<String, String> {
    let missing = "the field \"data.project-id\" of the function config is missing, a text is expected";
    let config = config::given(list).ok_or(missing)?;
    let pairs = config::pairs(&config, "data").map_err(|wrong| wrong.to_string())?;
    let id = config::value(&pairs, SETTER).filter(|id| !id.is_empty());
    id.map(String::from).ok_or_else(|| missing.into())
}

/// What is to be done with which resource.
struct Setting {
    item: usize,
    plan: Plan,
}

fn setter(items: &[Resource], kptfile: usize, id: &str) -> Result<Setting, String> {
    let file = &items[kptfile];
    let mutators = keys(["pipeline", "mutators"]);
    let steps = at(file.root(), &["pipeline", "mutators"]);
    let step =
        steps.into_iter().flat_map(NodeRef::items).enumerate().find(|(_, step)| is_apply_setters(*step));
    let mut plan = Plan::default();
    let Some((index, step)) = step else {
        let mut path = mutators;
        path.push(lanai_yaml::path::Segment::Append);
        plan.push(path, Change::Content(new_step(id)?));
        return Ok(Setting { item: kptfile, plan });
    };
    let Some(config) = step.get("configPath").and_then(text) else {
        let place = below(&item(&mutators, index), "configMap");
        add(step.get("configMap"), &place, id, &mut plan);
        return Ok(Setting { item: kptfile, plan });
    };
    let folder = file.path().and_then(|path| Some(path.rsplit_once('/')?.0.to_owned()));
    let config = folder.map_or_else(|| config.to_string(), |folder| format!("{folder}/{config}"));
    let found = items.iter().position(|item| item.path().is_some_and(|path| path == config));
    let found = found.ok_or_else(|| {
        format!("error updating Kptfile: failed to find setter file: file {config} doesn't exist, please ensure the file specified in \"configPath\" exists and retry")
    })?;
    add(items[found].root().get("data"), &keys(["data"]), id, &mut plan);
    Ok(Setting { item: found, plan })
}

fn add(setters: Option<NodeRef<'_>>, place: &Path, id: &str, plan: &mut Plan) {
    if setters.and_then(|setters| setters.get(SETTER)).is_none() {
        plan.push(below(place, SETTER), Change::Text(id.into()));
    }
}

fn is_apply_setters(step: NodeRef<'_>) -> bool {
    let image = step.get("image").and_then(text).unwrap_or_default();
    let name = image.rsplit('/').next().unwrap_or_default();
    name.split([':', '@']).next() == Some("apply-setters")
}

fn new_step(id: &str) -> Result<Content, String> {
    let step = serde_json::json!({ "image": IMAGE, "configMap": { SETTER: id } });
    let document = lanai_yaml::Document::from_serialize(&step).map_err(|error| error.to_string())?;
    Ok(Content::from(document))
}
