//! `gen-pkg-context`.

use lanai_krm::resource::{Location, annotation};
use lanai_krm::{Resource, ResourceList};
use lanai_yaml::Kind;

use crate::config;
use crate::function::{Compared, Counterpart, Deviation, Doc, Failure, Field, Function};
use crate::plan::{Change, Plan, keys};
use crate::report::{self, About};

/// Writes down the name of the package, for other functions.
pub struct GenPkgContext;

/// The name of the `ConfigMap`.
const NAME: &str = "kptfile.kpt.dev";
/// The file that it stands in.
const FILE: &str = "package-context.yaml";
/// What it is before anything is filled in.
const EMPTY: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\n";

impl Function for GenPkgContext {
    fn name(&self) -> &'static str {
        "gen-pkg-context"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["builtins/gen-pkg-context"]
    }

    fn tags(&self) -> &'static [&'static str] {
        &[]
    }

    fn counterpart(&self) -> Counterpart {
        Counterpart::Program {
            version: "the function inside of kpt v1.0.0-beta.62.1",
            resources: Compared::Text,
        }
    }

    fn doc(&self) -> Doc {
        Doc {
            purpose: "Writes a ConfigMap named `kptfile.kpt.dev`, for local tools only, into `package-context.yaml`, with the name of the package from the \
                      Kptfile at the root. Other ConfigMaps of that name go.",
            config: &[Field {
                path: "data.package-path",
                meaning: "the path of the package, if it is to be written down as well",
            }],
            example: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  package-path: a/b\n",
            deviations: &[
                Deviation {
                    there: "a ConfigMap that is there is replaced by a new one behind all resources",
                    here: "it is edited where it stands: its comments and its other data stay",
                    fixtures: &["existing", "others-go"],
                },
                Deviation {
                    there: "a list in place of the path counts as none",
                    here: "it is refused; the message names the field",
                    fixtures: &["wrong-type"],
                },
            ],
        }
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        let path = match package_path(list) {
            Ok(path) => path,
            Err(message) => return Err(Failure::report(list, report::error(message))),
        };
        let is_context = |item: &Resource| {
            config::is(item, "v1", "ConfigMap") && item.name().is_some_and(|name| name == NAME)
        };
        let root = list.items.iter().find(|item| {
            item.kind().is_some_and(|kind| kind == "Kptfile")
                && item.path().is_some_and(|path| path == "Kptfile")
        });
        let Some(name) = root.map(|root| root.name().unwrap_or_default().into_owned()) else {
            list.items.retain(|item| !is_context(item));
            return Ok(());
        };
        let mut found = 0;
        list.items.retain(|item| {
            if !is_context(item) {
                return true;
            }
            let is_ours = item.path().is_some_and(|path| path == FILE) && can_be_edited(item);
            found += usize::from(is_ours);
            is_ours && found == 1
        });
        let at = match list.items.iter().position(is_context) {
            Some(at) => at,
            None => match new() {
                Ok(item) => {
                    list.items.push(item);
                    list.items.len() - 1
                }
                Err(message) => return Err(Failure::report(list, report::error(message))),
            },
        };
        let mut plan = Plan::default();
        plan.push(keys(["metadata", "annotations", annotation::LOCAL_CONFIG]), Change::Text("true".into()));
        plan.push(keys(["data", "name"]), Change::Text(name));
        if let Some(path) = path {
            plan.push(keys(["data", "package-path"]), Change::Text(path));
        }
        if let Err(error) = plan.apply(&mut list.items[at]) {
            return Err(Failure::report(list, *error));
        }
        let result = report::info("generated package context").in_file_of(&list.items[at]);
        list.results.push(result);
        Ok(())
    }
}

/// Whether data and annotations are mappings, as far as they are there.
fn can_be_edited(item: &Resource) -> bool {
    let annotations = item.root().get("metadata").and_then(|metadata| metadata.get("annotations"));
    let mut parts = item.root().get("data").into_iter().chain(annotations);
    parts.all(|part| part.target().kind() == Kind::Mapping)
}

fn new() -> Result<Resource, String> {
    let mut item = Resource::parse(EMPTY).map_err(|error| error.to_string())?;
    item.set_location(&Location { path: FILE.into(), index: 0 }).map_err(|error| error.to_string())?;
    Ok(item)
}

fn package_path(list: &ResourceList) -> Result<Option<String>, String> {
    let Some(config) = config::given(list) else { return Ok(None) };
    let pairs = config::pairs(&config, "data").map_err(|wrong| wrong.to_string())?;
    Ok(config::value(&pairs, "package-path").filter(|path| !path.is_empty()).map(String::from))
}
