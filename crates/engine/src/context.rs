//! The `ConfigMap` that tells functions what their package is called.

use lanai_krm::package::{File, OtherYaml, Package, Placed, ReadOptions};
use lanai_types::SafePath;
use lanai_yaml::Document;
use serde_json::json;

use crate::error::{Error, Reason};

/// The file that it stands in.
pub const FILE: &str = "package-context.yaml";
/// What it is called.
const NAME: &str = "kptfile.kpt.dev";

/// The path of the file.
pub fn path() -> SafePath {
    FILE.parse().expect("it is a plain name")
}

/// The text, with the name of a package and, for deployments, its path.
pub fn text(name: &str, package_path: Option<&str>) -> String {
    let mut data = json!({ "name": name });
    if let Some(path) = package_path {
        data["package-path"] = json!(path);
    }
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": NAME, "annotations": {"config.kubernetes.io/local-config": "true"}}, "data": data,
    });
    Document::from_serialize(&object).map_or_else(|_| object.to_string(), |document| document.to_string())
}

/// Removes all such `ConfigMaps`, and writes one at the root.
///
/// # Errors
/// When the package cannot be read or is full.
pub fn set(package: &mut Package, name: &str, package_path: &str) -> Result<(), Error> {
    let refuse = |error: lanai_krm::package::Error| {
        Error::new(Reason::Invalid, "", format!("failed to set the package context: {error}"))
    };
    let options = ReadOptions { other_yaml: OtherYaml::Opaque, ..ReadOptions::default() };
    let resources = package.resources(options).map_err(refuse)?;
    let is_context = |resource: &lanai_krm::Resource| {
        resource.kind().as_deref() == Some("ConfigMap")
            && resource.api_version().as_deref() == Some("v1")
            && resource.name().as_deref() == Some(NAME)
    };
    let (contexts, others): (Vec<_>, Vec<_>) =
        resources.into_iter().partition(|located| is_context(&located.resource));
    if !contexts.is_empty() {
        package
            .write_resources(others.into_iter().map(Placed::from).collect::<Vec<_>>(), options)
            .map_err(refuse)?;
    }
    package.insert(path(), File::from_text(text(name, Some(package_path)))).map_err(refuse)?;
    Ok(())
}

/// The path that the context of a package says, for packages that are made inside of it.
pub fn read_path(package: &Package) -> Option<String> {
    let document = Document::parse(package.get(&path())?.text()?).ok()?;
    let data = document.root().get("data")?;
    let value = data.get("package-path").or_else(|| data.get("name"))?;
    Some(value.value().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanai_types::Limits;

    #[test]
    fn there_is_one_context_and_it_is_at_the_root() {
        let other = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\n";
        let mut package = Package::from_entries(
            [
                ("package-context.yaml", File::from_text(text("example", None))),
                ("sub/ctx.yaml", File::from_text(format!("{}---\n{other}", text("example", None)))),
            ],
            Limits::DEFAULT,
        )
        .unwrap();
        set(&mut package, "dns", "platform/dns").unwrap();
        let read = |path: &str| package.get(&path.parse().unwrap()).and_then(File::text).unwrap().to_owned();
        assert_eq!(
            read("package-context.yaml"),
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n  annotations:\n    \
             config.kubernetes.io/local-config: \"true\"\ndata:\n  name: dns\n  package-path: platform/dns\n"
        );
        assert_eq!(read("sub/ctx.yaml").trim_start_matches("---\n"), other);
        assert_eq!(read_path(&package).as_deref(), Some("platform/dns"));
    }
}
