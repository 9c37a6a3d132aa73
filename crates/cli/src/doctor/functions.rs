//! Functions that pipelines of packages name and nothing runs.

use std::collections::{BTreeMap, BTreeSet};

use lanai_functions::catalog::find_in;
use lanai_krm::Kptfile;
use lanai_krm::kptfile::Stage;
use serde_json::Value;

use super::report::Check;
use super::server::Answering;
use crate::client::{Request, Resource, Trouble};
use crate::failure::Code;
use crate::io::Io;
use crate::rpkg::{REVISIONS, Rehearsal};

const NAME: &str = "functions";
/// How many packages are looked into.
const MAX_PACKAGES: usize = 100;

const CONFIGS: Resource = Resource {
    group: "config.porch.kpt.dev",
    version: "v1alpha1",
    plural: "functionconfigs",
    singular: "functionconfig",
    kind: "FunctionConfig",
};

/// Looks into the pipelines of drafts, and of the newest revision of each package. Images that do not come with the program are asked
/// for by rehearsing a save of a draft that names them, where there is one.
pub(super) fn checks(server: &Answering, io: &mut Io<'_>) -> Vec<Check> {
    match look(server, io) {
        Ok(checks) => checks,
        // What we may do, and whether there are packages at all, is told elsewhere.
        Err(Trouble::Refused(refusal)) if matches!(refusal.code, 403 | 404) => Vec::new(),
        Err(trouble) => vec![Check::warning(NAME, trouble.to_string(), "read the log of the server")],
    }
}

fn look(server: &Answering, io: &mut Io<'_>) -> Result<Vec<Check>, Trouble> {
    let client = &server.client;
    let request = Request::get(REVISIONS.all(Some(&client.namespace)), "listing packagerevisions");
    let list = client.send(&request, io)?;
    let all: Vec<&Value> =
        list["items"].as_array().into_iter().flatten().filter(|item| is_current(item)).collect();
    let configured = configured(server, io);
    let mut unknown: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for object in all.iter().take(MAX_PACKAGES) {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let resources = match Rehearsal::read(client, name, io) {
            Ok(resources) => resources,
            // It went in the meantime.
            Err(Trouble::Refused(refusal)) if refusal.is_missing() => continue,
            Err(trouble) => return Err(trouble),
        };
        for image in images(&resources) {
            if !is_known(&image, &configured) {
                unknown.entry(image.clone()).or_default().push(object);
            }
            seen.insert(image);
        }
    }
    let mut checks = Vec::new();
    for (image, users) in &unknown {
        checks.extend(judged(image, users, server, io)?);
    }
    let left = all.len().saturating_sub(MAX_PACKAGES);
    let left =
        if left == 0 { String::new() } else { format!("; {left} further packages were not looked into") };
    let runs = seen.len() - checks.len();
    checks
        .insert(0, Check::ok(NAME, format!("{runs} of {} that packages name can be run{left}", seen.len())));
    Ok(checks)
}

/// Whether somebody may render this revision, or make a new one of it.
fn is_current(object: &Value) -> bool {
    let lifecycle = object["spec"]["lifecycle"].as_str().unwrap_or("Draft");
    let is_latest = object["metadata"]["labels"]["kpt.dev/latest-revision"] == "true";
    lifecycle == "Draft" || lifecycle == "Proposed" || is_latest
}

/// The images of which the server was told how they are run.
fn configured(server: &Answering, io: &mut Io<'_>) -> BTreeSet<String> {
    let client = &server.client;
    let request =
        Request::get(CONFIGS.all(Some(crate::serve::FUNCTION_NAMESPACE)), "listing functionconfigs");
    let list = client.send(&request, io).unwrap_or_default();
    let items = list["items"].as_array().into_iter().flatten();
    items.filter_map(|item| item["spec"]["image"].as_str()).map(|image| short(image).to_owned()).collect()
}

/// A name without registry, tag and digest.
fn short(image: &str) -> &str {
    let name = image.rsplit_once('/').map_or(image, |(_, name)| name);
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    name.split_once(':').map_or(name, |(name, _)| name)
}

fn is_known(image: &str, configured: &BTreeSet<String>) -> bool {
    find_in(&lanai_runner::functions(), image).is_some() || configured.contains(short(image))
}

/// The images that the pipelines of a package name.
fn images(resources: &Value) -> BTreeSet<String> {
    let files = resources["spec"]["resources"].as_object();
    let is_kptfile = |path: &str| path.rsplit('/').next() == Some(lanai_krm::kptfile::FILE_NAME);
    let texts = files
        .into_iter()
        .flatten()
        .filter(|(path, _)| is_kptfile(path))
        .filter_map(|(_, text)| text.as_str());
    let kptfiles = texts.filter_map(|text| Kptfile::parse(text).ok());
    kptfiles
        .flat_map(|kptfile| {
            let stages = [Stage::Mutators, Stage::Validators];
            let functions = stages.into_iter().flat_map(|stage| kptfile.functions(stage).to_vec());
            functions.map(|function| function.image).filter(|image| !image.is_empty()).collect::<Vec<_>>()
        })
        .collect()
}

/// What is to be said of an image that does not come with the program.
fn judged(
    image: &str,
    users: &[&Value],
    server: &Answering,
    io: &mut Io<'_>,
) -> Result<Option<Check>, Trouble> {
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let names: Vec<String> = users.iter().map(|object| name(object)).collect();
    let mend = "name one that lanai fn list has, or tell the server how to run it (a FunctionConfig; docs/evaluators.md)";
    let draft =
        users.iter().find(|object| object["spec"]["lifecycle"].as_str().unwrap_or("Draft") == "Draft");
    if let Some(draft) = draft {
        return match Rehearsal::save(&server.client, &name(draft), io) {
            Err(Trouble::Refused(refusal)) if refusal.cause() == Code::FunctionUnknown => {
                let found = format!("nothing runs {image}, which {} names", names.join(", "));
                Ok(Some(Check::problem(NAME, found, mend)))
            }
            // It was run, well or not; or another one stands before it.
            Ok(()) | Err(Trouble::Refused(_)) => Ok(None),
            Err(trouble) => Err(trouble),
        };
    }
    if !server.is_ours {
        return Ok(None);
    }
    let found = format!("{image}, which {} names, does not come with the program", names.join(", "));
    Ok(Some(Check::warning(NAME, found, mend)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn images_of_all_pipelines_are_found() {
        let kptfile = |image: &str| {
            format!(
                "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\npipeline:\n  validators:\n  - image: {image}\n"
            )
        };
        let resources = json!({"spec": {"resources": {
            "Kptfile": kptfile("a/b:v1"), "sub/Kptfile": kptfile("c"), "notKptfile": "{", "bad/Kptfile": "{",
        }}});
        assert_eq!(images(&resources), BTreeSet::from(["a/b:v1".to_owned(), "c".to_owned()]));
    }

    #[test]
    fn what_comes_with_the_program_or_is_configured_is_known() {
        let configured = BTreeSet::from(["mine".to_owned()]);
        for image in [
            "set-labels:v0.2",
            "ghcr.io/kptdev/krm-functions-catalog/set-labels",
            "host:5000/x/mine:v3@sha256:0",
        ] {
            assert!(is_known(image, &configured), "{image}");
        }
        for image in ["set-labels:v99", "example.com/other:v1"] {
            assert!(!is_known(image, &configured), "{image}");
        }
    }
}
