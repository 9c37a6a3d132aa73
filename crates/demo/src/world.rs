//! What is made, and in which order.

use serde_json::{Value, json};

use crate::files::BLUEPRINTS;

/// The repository of blueprints.
pub(crate) const BLUEPRINT_REPOSITORY: &str = "blueprints";
/// The repositories that are deployed from.
pub(crate) const DEPLOYMENTS: [&str; 2] = ["staging", "production"];
/// The draft that does not render.
pub(crate) const BROKEN: &str = "staging.checkout.v1";
/// The upgrade with a conflict.
pub(crate) const UPGRADE: &str = "production.shop.v2";

/// What it upgrades.
pub(crate) const LOCAL: &str = "production.shop.v1";

/// One thing that is made.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// A Git repository, and its Repository object.
    Register { name: &'static str, purpose: Purpose },
    /// A draft.
    Draft { name: String, object: Value },
    /// Other files in a draft: a merge of these with those that are there.
    Edit { name: String, resources: Value, after_failure: AfterFailure },
    /// Propose and approve.
    Publish { name: String },
}

/// What a repository is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Blueprints,
    Deployment,
}

/// What becomes of content that does not render.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterFailure {
    Refuse,
    Keep,
}

/// All steps.
pub(crate) fn steps() -> Vec<Step> {
    let mut steps = vec![Step::Register { name: BLUEPRINT_REPOSITORY, purpose: Purpose::Blueprints }];
    steps.extend(DEPLOYMENTS.map(|name| Step::Register { name, purpose: Purpose::Deployment }));
    for blueprint in &BLUEPRINTS {
        let task = match blueprint.version {
            "v1" => Value::Null,
            _ => {
                json!({"type": "edit", "edit": {"sourceRef": {"name": revision(BLUEPRINT_REPOSITORY, blueprint.package, "v1")}}})
            }
        };
        let name = revision(BLUEPRINT_REPOSITORY, blueprint.package, blueprint.version);
        steps.push(draft(BLUEPRINT_REPOSITORY, blueprint.package, blueprint.version, &task));
        steps.push(edit(&name, blueprint.resources()));
        steps.push(Step::Publish { name });
    }
    for (repository, replicas) in [("staging", "2"), ("production", "6")] {
        let name = revision(repository, "shop", "v1");
        steps.push(draft(repository, "shop", "v1", &clone("blueprints.web.v1")));
        steps.push(edit(&name, json!({"setters.yaml": setters("shop", replicas, "1.27")})));
        steps.push(Step::Publish { name });
    }
    let team = revision("staging", "team-shop", "v1");
    steps.push(draft("staging", "team-shop", "v1", &clone("blueprints.namespace.v1")));
    steps.push(Step::Publish { name: team });
    steps.push(draft("staging", "checkout", "v1", &clone("blueprints.web.v2")));
    steps.push(Step::Edit {
        name: BROKEN.to_owned(),
        resources: json!({"setters.yaml": setters("checkout", "1", "latest")}),
        after_failure: AfterFailure::Keep,
    });
    steps.push(Step::Draft { name: UPGRADE.to_owned(), object: upgrade() });
    steps
}

/// The upgrade, with nothing decided about its conflicts.
fn upgrade() -> Value {
    let upgrade = json!({
        "oldUpstreamRef": {"name": "blueprints.web.v1"},
        "newUpstreamRef": {"name": "blueprints.web.v2"},
        "localPackageRevisionRef": {"name": LOCAL},
        "strategy": "resource-merge",
    });
    object("production", "shop", "v2", &json!({"type": "upgrade", "upgrade": upgrade}))
}

/// The settings of a web application.
fn setters(app: &str, replicas: &str, tag: &str) -> String {
    let [.., web] = &BLUEPRINTS;
    let template = web.files.iter().find(|(file, _)| *file == "setters.yaml").map_or("", |(_, text)| *text);
    template
        .replace("app: web", &format!("app: {app}"))
        .replace("replicas: \"3\"", &format!("replicas: \"{replicas}\""))
        .replace("tag: \"1.29\"", &format!("tag: \"{tag}\""))
}

fn clone(upstream: &str) -> Value {
    json!({"type": "clone", "clone": {"upstreamRef": {"upstreamRef": {"name": upstream}}}})
}

fn revision(repository: &str, package: &str, workspace: &str) -> String {
    format!("{repository}.{package}.{workspace}")
}

fn draft(repository: &str, package: &str, workspace: &str, task: &Value) -> Step {
    let name = revision(repository, package, workspace);
    Step::Draft { name, object: object(repository, package, workspace, task) }
}

fn object(repository: &str, package: &str, workspace: &str, task: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision",
        // The server makes the name; clients want one all the same.
        "metadata": {"namespace": "default", "name": revision(repository, package, workspace)},
        "spec": {"repository": repository, "packageName": package, "workspaceName": workspace, "lifecycle": "Draft"},
    });
    if !task.is_null() {
        object["spec"]["tasks"] = json!([task]);
    }
    object
}

fn edit(name: &str, resources: Value) -> Step {
    Step::Edit { name: name.to_owned(), resources, after_failure: AfterFailure::Refuse }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_those_of_the_blueprint_with_other_values() {
        let text = setters("shop", "6", "1.27");
        for line in ["  app: shop\n", "  replicas: \"6\"\n", "  tag: \"1.27\"\n"] {
            assert!(text.contains(line), "{text}");
        }
    }
}
