//! Real manifests: what people run is valid.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use lanai_krm::Resource;
use lanai_schema::{Limits, Schemas, UnknownFields};
use lanai_testkit::{corpus, skip};

/// Something that is wrong with resources of the corpus, as a person found who looked.
struct Known {
    /// A part of the file's path.
    within: &'static str,
    /// The finding.
    finding: &'static str,
    /// Why it is right.
    why: &'static str,
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.within, self.finding, self.why)
    }
}

const fn known(within: &'static str, finding: &'static str, why: &'static str) -> Known {
    Known { within, finding, why }
}

const NO_SELECTOR: &str = "spec: missing property 'selector'";
const PATCH: &str = "it is a patch, not a whole resource";
const TEST_DATA: &str = "the test data of a tool that does not look at selectors";
const OLD_REVISION: &str = "the sample is older than the definition, in which revisions became numbers";

const KNOWN: &[Known] = &[
    known("kustomize/minio-patch.yaml", NO_SELECTOR, PATCH),
    known("/pass-patch.yaml", NO_SELECTOR, PATCH),
    known("kustomize/examples/ldap/overlays/production/deployment.yaml", NO_SELECTOR, PATCH),
    known(
        "kustomize/examples/ldap/overlays/production/deployment.yaml",
        "spec.template.spec: missing property 'containers'",
        PATCH,
    ),
    known(
        "kustomize/examples/ldap/overlays/staging/deployment.yaml",
        "spec: missing properties 'selector', 'template'",
        PATCH,
    ),
    known("kustomize/examples/springboot/overlays/production/", NO_SELECTOR, PATCH),
    known("kustomize/examples/wordpress/patch.yaml", NO_SELECTOR, PATCH),
    known("kustomize/cmd/config/internal/commands/test/", NO_SELECTOR, TEST_DATA),
    known("kustomize/kyaml/fn/framework/testdata/patch-selector/", NO_SELECTOR, TEST_DATA),
    known("testdata/keep-tagged-null/", "data.deletedInOrigin: got object, want null or string", TEST_DATA),
    known("testdata/keep-tagged-null/", "data.deletedInDest: got object, want null or string", TEST_DATA),
    known("testdata/keep-tagged-null/", "data.addedInUpdated: got object, want null or string", TEST_DATA),
    known(
        "kustomize/examples/validationTransformer/invalid.yaml",
        "data: got array, want null or object",
        "it is there to be wrong",
    ),
    known(
        "_archived/volumes/fibre_channel/fc.yaml",
        "spec.volumes.0.fc.lun: got string, want null or integer",
        "the number stands in quotes, and the server refuses it",
    ),
    known("porch/controllers/", "spec.upstream.revision: got string, want integer", OLD_REVISION),
    known("tutorials/starting-with-porch/", "spec.upstream.revision: got string, want integer", OLD_REVISION),
];

#[test]
fn real_manifests_are_valid() {
    let Some(root) = corpus("manifests") else {
        skip("schema::corpus::real_manifests_are_valid", "the corpus \"manifests\" is not on this machine");
        return;
    };
    let limits = Limits::default();
    let mut found = Vec::new();
    let mut unused: Vec<usize> = (0..KNOWN.len()).collect();
    let (mut checked, mut without) = (0, BTreeMap::<String, usize>::new());
    for folder in folders(&root) {
        let files: Vec<(PathBuf, Vec<Resource>)> = files(&folder).into_iter().filter_map(read).collect();
        let all: Vec<Resource> = files.iter().flat_map(|(_, resources)| resources.clone()).collect();
        let schemas = Schemas::of(&all, &limits);
        for warning in schemas.warnings() {
            found.push(format!("{}: warning: {}", folder.display(), warning.finding));
        }
        for (path, resources) in &files {
            let path = path.strip_prefix(&root).unwrap().display().to_string();
            for resource in resources {
                let answer = schemas.check(resource.root(), UnknownFields::Accepted, &limits);
                checked += usize::from(answer.missing.is_empty());
                for missing in answer.missing {
                    *without.entry(format!("{} {}", missing.api_version, missing.kind)).or_default() += 1;
                }
                for finding in answer.findings {
                    let text = finding.to_string();
                    let known =
                        KNOWN.iter().position(|known| path.contains(known.within) && known.finding == text);
                    match known {
                        Some(at) => unused.retain(|unused| *unused != at),
                        None => found.push(format!("{path}: {}: {finding}", resource.id().kind)),
                    }
                }
            }
        }
    }
    println!("{checked} resources checked; without a schema: {without:#?}");
    assert!(found.is_empty(), "{}", found.join("\n"));
    let unused: Vec<String> = unused.into_iter().map(|at| KNOWN[at].to_string()).collect();
    assert!(unused.is_empty(), "not found any more:\n{}", unused.join("\n"));
    assert!(checked > 500, "only {checked} resources were checked");
}

/// The folders whose definitions belong together.
fn folders(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.is_dir());
    found.sort();
    found
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The resources of a file; none for files that cannot be read as such.
fn read(path: PathBuf) -> Option<(PathBuf, Vec<Resource>)> {
    let text = fs::read_to_string(&path).ok()?;
    let resources = Resource::parse_stream(&text).ok()?;
    Some((path, resources))
}
