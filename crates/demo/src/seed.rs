//! Makes the world, through the API.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::TryStreamExt;
use kube::api::{
    Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams, WatchEvent,
    WatchParams,
};
use kube::{Client, ResourceExt};
use lanai_repository::packages::create_own;
use serde_json::{Value, json};

use crate::world::{AfterFailure, Purpose, Step, steps};

/// How long a repository may take until it is ready.
const MAX_READY: Duration = Duration::from_secs(30);

/// Why the world is not there.
#[derive(Debug, thiserror::Error)]
#[error("\"{name}\" cannot be made: {cause}")]
pub struct Error {
    /// What was being made.
    pub name: String,
    /// Why not.
    pub cause: String,
}

/// Makes everything; the Git repositories in a folder that need not be there. `told` hears of each step before it begins.
///
/// # Errors
/// At the first step that fails.
pub async fn seed(client: &Client, repositories: &Path, told: &mut dyn FnMut(&str)) -> Result<(), Error> {
    let world = World { client: client.clone(), folder: repositories.to_owned() };
    for step in steps() {
        let (name, doing) = match &step {
            Step::Register { name, .. } => ((*name).to_owned(), "registering"),
            Step::Draft { name, .. } => (name.clone(), "drafting"),
            Step::Edit { name, .. } => (name.clone(), "editing"),
            Step::Publish { name } => (name.clone(), "publishing"),
        };
        told(&format!("{doing} {name}"));
        world.make(step).await.map_err(|cause| Error { name, cause })?;
    }
    Ok(())
}

struct World {
    client: Client,
    folder: PathBuf,
}

impl World {
    async fn make(&self, step: Step) -> Result<(), String> {
        match step {
            Step::Register { name, purpose } => self.register(name, purpose).await,
            Step::Draft { object, .. } => {
                let object: DynamicObject = serde_json::from_value(object).map_err(said)?;
                self.revisions().create(&PostParams::default(), &object).await.map_err(refused)?;
                Ok(())
            }
            Step::Edit { name, resources, after_failure } => self.edit(&name, resources, after_failure).await,
            Step::Publish { name } => {
                let lifecycle = |to: &str| Patch::Merge(json!({"spec": {"lifecycle": to}}));
                let revisions = self.revisions();
                revisions
                    .patch(&name, &PatchParams::default(), &lifecycle("Proposed"))
                    .await
                    .map_err(refused)?;
                let approved = lifecycle("Published");
                revisions
                    .patch_subresource("approval", &name, &PatchParams::default(), &approved)
                    .await
                    .map_err(refused)?;
                Ok(())
            }
        }
    }

    async fn register(&self, name: &str, purpose: Purpose) -> Result<(), String> {
        let remote = create_own(&self.folder.join(format!("{name}.git")), "main").map_err(said)?;
        let object = json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "type": "git", "deployment": purpose == Purpose::Deployment,
                "git": {"repo": remote.to_string(), "branch": "main", "createBranch": true},
            },
        });
        let object: DynamicObject = serde_json::from_value(object).map_err(said)?;
        let repositories = self.api("config.porch.kpt.dev", "Repository", "repositories");
        let made = repositories.create(&PostParams::default(), &object).await.map_err(refused)?;
        let ready = self.ready(&repositories, name, made.resource_version().unwrap_or_default());
        tokio::time::timeout(MAX_READY, ready).await.map_err(|_| "it does not become ready")?
    }

    /// Waits until a repository is ready.
    async fn ready(
        &self,
        repositories: &Api<DynamicObject>,
        name: &str,
        since: String,
    ) -> Result<(), String> {
        let only = WatchParams::default().fields(&format!("metadata.name={name}"));
        let mut events = Box::pin(repositories.watch(&only, &since).await.map_err(refused)?);
        while let Some(event) = events.try_next().await.map_err(refused)? {
            if let WatchEvent::Added(object) | WatchEvent::Modified(object) = event
                && is_ready(&object)
            {
                return Ok(());
            }
        }
        Err("the server stopped telling of it".to_owned())
    }

    async fn edit(&self, name: &str, resources: Value, after_failure: AfterFailure) -> Result<(), String> {
        if after_failure == AfterFailure::Keep {
            let keep = json!({"metadata": {"annotations": {"porch.kpt.dev/push-on-render-failure": "true"}}});
            let keep = Patch::Merge(keep);
            self.revisions().patch(name, &PatchParams::default(), &keep).await.map_err(refused)?;
        }
        let content = self.api("porch.kpt.dev", "PackageRevisionResources", "packagerevisionresources");
        let patch = Patch::Merge(json!({"spec": {"resources": resources}}));
        match content.patch(name, &PatchParams::default(), &patch).await {
            Ok(_) if after_failure == AfterFailure::Keep => Err("it renders, and should not".to_owned()),
            Ok(_) => Ok(()),
            // The answer says what functions found; the content is kept.
            Err(kube::Error::Api(status)) if after_failure == AfterFailure::Keep && status.code == 422 => {
                Ok(())
            }
            Err(error) => Err(refused(error)),
        }
    }

    fn revisions(&self) -> Api<DynamicObject> {
        self.api("porch.kpt.dev", "PackageRevision", "packagerevisions")
    }

    fn api(&self, group: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(group, "v1alpha1", kind);
        Api::namespaced_with(
            self.client.clone(),
            "default",
            &ApiResource::from_gvk_with_plural(&kind, plural),
        )
    }
}

fn is_ready(object: &DynamicObject) -> bool {
    let conditions = object.data["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|one| one["type"] == "Ready" && one["status"] == "True")
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// What the server said, without what clients add to it.
fn refused(error: kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message,
        other => other.to_string(),
    }
}
