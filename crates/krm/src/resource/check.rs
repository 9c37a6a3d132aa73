//! Whether a resource is one that functions can work with.

use lanai_yaml::{Kind, NodeRef};

use super::{Resource, text, text_at};

/// What a resource lacks. The texts are those that kpt prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotKrm {
    /// Something that identifies it has the wrong shape.
    #[error("resource must have `apiVersion`, `kind`, and `name`")]
    Unreadable,
    /// It has no `apiVersion`.
    #[error("resource must have `apiVersion`")]
    ApiVersion,
    /// It has no `kind`.
    #[error("resource must have `kind`")]
    Kind,
    /// It has no `metadata.name`.
    #[error("resource must have `metadata.name`")]
    Name,
}

/// The file names of kustomizations.
const KUSTOMIZATION_FILES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

impl Resource {
    /// Checks that the resource has an `apiVersion`, a `kind` and a `metadata.name`, in this order. Kustomizations need
    /// none of them.
    ///
    /// # Errors
    /// The first thing that is missing.
    pub fn check_krm(&self) -> Result<(), NotKrm> {
        if self.is_kustomization() {
            return Ok(());
        }
        if !self.is_readable() {
            return Err(NotKrm::Unreadable);
        }
        let fields = [
            (self.api_version(), NotKrm::ApiVersion),
            (self.kind(), NotKrm::Kind),
            (self.name(), NotKrm::Name),
        ];
        match fields.into_iter().find(|(value, _)| value.as_deref().is_none_or(str::is_empty)) {
            Some((_, missing)) => Err(missing),
            None => Ok(()),
        }
    }

    /// Whether this configures kustomize: by the name of its file, its `apiVersion`, or its kind where it has none.
    pub fn is_kustomization(&self) -> bool {
        let path = self.path();
        let file = path.as_deref().map(|path| path.rsplit('/').next().unwrap_or(path));
        let api_version = self.api_version().unwrap_or_default();
        file.is_some_and(|file| KUSTOMIZATION_FILES.contains(&file))
            || api_version.starts_with("kustomize.config.k8s.io")
            || api_version.is_empty() && self.kind().is_some_and(|kind| kind == "Kustomization")
    }

    /// Whether the fields that identify it have the shape that they must have, where they are present.
    fn is_readable(&self) -> bool {
        let root = self.root();
        let Some(metadata) = root.get("metadata").filter(|metadata| !metadata.is_null()) else {
            return is_text(root, "apiVersion") && is_text(root, "kind");
        };
        metadata.target().kind() == Kind::Mapping
            && is_text(root, "apiVersion")
            && is_text(root, "kind")
            && is_text(metadata, "name")
            && is_text(metadata, "namespace")
            && are_texts(metadata, "labels")
            && are_texts(metadata, "annotations")
    }
}

fn is_text(mapping: NodeRef<'_>, key: &str) -> bool {
    mapping.get(key).is_none_or(NodeRef::is_null) || text_at(mapping, key).is_some()
}

fn are_texts(mapping: NodeRef<'_>, key: &str) -> bool {
    let Some(pairs) = mapping.get(key).filter(|pairs| !pairs.is_null()) else { return true };
    pairs.target().kind() == Kind::Mapping
        && pairs.entries().all(|(_, value)| value.is_null() || text(value).is_some())
}
