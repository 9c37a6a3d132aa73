//! The content of revisions, as `PackageRevisionResources` shows it.

use lanai_types::{Namespace, ObjectName};
use serde_json::{Value, json};

use crate::engine::{Engine, Loaded};
use crate::error::{Error, Subject};
use crate::files;
use crate::object::API_VERSION;
use crate::rendering::empty_status;
use crate::state::State;

impl Engine {
    /// The resources of a revision whose object is known.
    ///
    /// # Errors
    /// When the revision is gone by now, or its content cannot be read.
    pub async fn resources(&self, namespace: &Namespace, object: &Value) -> Result<Value, Error> {
        let raw = object["metadata"]["name"].as_str().unwrap_or_default();
        let name: ObjectName = raw.parse().map_err(|_| Error::not_found(raw).of(Subject::Resources))?;
        let loaded = self.load(namespace, &name).await.map_err(|error| error.of(Subject::Resources))?;
        self.resources_of(&loaded).await
    }

    pub(crate) async fn resources_of(&self, loaded: &Loaded) -> Result<Value, Error> {
        let repository = loaded.name.repository().as_str();
        let (registered, _) = self.inner.repositories.any(&loaded.namespace, repository).await?;
        let package = self.inner.fetcher.content(&registered, &loaded.state).await;
        let package = package.map_err(|error| Error {
            about: crate::error::About { subject: Subject::Resources, name: loaded.name.to_string() },
            ..error
        })?;
        Ok(view(&loaded.object, &loaded.state, &package))
    }
}

/// The view of a revision and its files.
pub(crate) fn view(object: &Value, state: &State, package: &lanai_krm::Package) -> Value {
    let (texts, binaries) = files::show(package);
    let mut metadata = json!({});
    for key in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(key) {
            metadata[key] = value.clone();
        }
    }
    let mut spec = json!({});
    for key in ["packageName", "workspaceName", "revision", "repository"] {
        if let Some(value) = object["spec"].get(key) {
            spec[key] = value.clone();
        }
    }
    spec[files::TEXTS] = texts;
    if let Some(binaries) = binaries {
        spec[files::BINARIES] = binaries;
    }
    let status = state.render_status.clone().unwrap_or_else(empty_status);
    json!({
        "apiVersion": API_VERSION, "kind": "PackageRevisionResources", "metadata": metadata,
        "spec": spec, "status": {"renderStatus": status},
    })
}
