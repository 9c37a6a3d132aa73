//! The packages, from `demo/` of this repository.

use serde_json::{Map, Value, json};

/// One version of a blueprint.
pub(crate) struct Blueprint {
    pub package: &'static str,
    pub version: &'static str,
    pub files: &'static [(&'static str, &'static str)],
}

macro_rules! blueprint {
    ($package:literal, $version:literal, [$($file:literal),*]) => {
        Blueprint {
            package: $package,
            version: $version,
            files: &[$(($file, include_str!(concat!("../../../demo/blueprints/", $package, "/", $version, "/", $file)))),*],
        }
    };
}

/// All of them, in the order in which they are published.
pub(crate) const BLUEPRINTS: [Blueprint; 4] = [
    blueprint!("namespace", "v1", ["Kptfile", "namespace.yaml", "setters.yaml"]),
    blueprint!("cache", "v1", ["Kptfile", "statefulset.yaml"]),
    blueprint!("web", "v1", ["Kptfile", "deployment.yaml", "policy.yaml", "service.yaml", "setters.yaml"]),
    blueprint!("web", "v2", ["Kptfile", "deployment.yaml", "policy.yaml", "service.yaml", "setters.yaml"]),
];

impl Blueprint {
    /// The files as the API takes them.
    pub fn resources(&self) -> Value {
        let files = self.files.iter().map(|(name, text)| ((*name).to_owned(), json!(text)));
        Value::Object(files.collect::<Map<_, _>>())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_folder_is_in_the_program() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../demo/blueprints"));
        let below = |path: &Path| -> BTreeSet<String> {
            let entries = std::fs::read_dir(path).unwrap();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        };
        let mut there = BTreeSet::new();
        for package in below(root) {
            for version in below(&root.join(&package)) {
                for file in below(&root.join(&package).join(&version)) {
                    there.insert(format!("{package}/{version}/{file}"));
                }
            }
        }
        let inside: BTreeSet<String> = BLUEPRINTS
            .iter()
            .flat_map(|one| {
                one.files.iter().map(|(file, _)| format!("{}/{}/{file}", one.package, one.version))
            })
            .collect();
        assert_eq!(inside, there);
    }
}
