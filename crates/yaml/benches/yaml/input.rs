//! The texts that are measured, and the edits that are made.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use lanai_yaml::{Content, Document, edit};

/// A text that is read, with the name that the table gives it.
pub(crate) struct Input {
    pub name: &'static str,
    pub text: String,
}

/// A stream of many manifests: 12,000 are about 5 MB.
pub(crate) fn stream(documents: usize) -> Input {
    Input { name: "stream", text: lanai_testkit::manifests(1, documents) }
}

/// One document: a `List` of as many manifests as make a text of about the size of [`stream`].
pub(crate) fn list(documents: usize) -> Input {
    let size = stream(documents).text.len();
    let manifests = lanai_testkit::manifests(2, documents);
    let mut text = String::from("apiVersion: v1\nkind: List\nmetadata:\n  name: all\nitems:\n");
    for manifest in manifests.split("---\n") {
        if text.len() >= size {
            break;
        }
        push_item(&mut text, manifest);
    }
    Input { name: "list", text }
}

/// Indents a document below a dash; comments above its first key stay above the dash.
fn push_item(text: &mut String, manifest: &str) {
    let mut lead = "  - ";
    for line in manifest.lines() {
        let above = lead == "  - " && (line.is_empty() || line.starts_with('#'));
        if above && !line.is_empty() {
            text.push_str("  ");
        } else if !line.is_empty() {
            text.push_str(lead);
            lead = "    ";
        }
        text.push_str(line);
        text.push('\n');
    }
}

/// The oracle's edit: the replicas of a document that has them, an annotation of any other.
pub(crate) fn edit_one(document: &mut Document) -> Result<(), edit::Error> {
    edit_resource(document.root_mut())
}

/// As [`edit_one`], for an item of the list.
pub(crate) fn edit_item(document: &mut Document, index: usize) -> Result<(), edit::Error> {
    edit_resource(document.root_mut().get_mut("items")?.at_mut(index)?)
}

fn edit_resource(mut resource: lanai_yaml::NodeMut<'_>) -> Result<(), edit::Error> {
    let has_replicas = resource.read().get("spec").and_then(|spec| spec.get("replicas")).is_some();
    if has_replicas {
        return resource.get_mut("spec")?.get_mut("replicas")?.set(7);
    }
    let annotated =
        resource.read().get("metadata").and_then(|metadata| metadata.get("annotations")).is_some();
    let mut metadata = resource.reborrow().get_mut("metadata")?;
    if !annotated {
        metadata.insert("annotations", Content::mapping())?;
    }
    metadata.get_mut("annotations")?.insert("lanai.dev/bench", "edited")
}

/// A file in the temporary folder, gone when dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub fn new(input: &Input) -> Result<Self, Box<dyn Error>> {
        let file = env::temp_dir().join(format!("lanai-bench-{}-{}.yaml", process::id(), input.name));
        fs::write(&file, &input.text)
            .map_err(|error| format!("cannot write \"{}\": {error}", file.display()))?;
        Ok(Self(file))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}
