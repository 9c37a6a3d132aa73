//! What is written down about a run.

use std::collections::BTreeSet;
use std::fmt;

use lanai_evaluate::{FunctionRef, Grants};
use lanai_krm::kptfile::{Stage, StepResult};
use lanai_krm::package::{Mode, ReadOptions, is_resource_name};
use lanai_krm::{Package, ResultItem, digest};
use lanai_types::{BlobId, SafePath};
use lanai_yaml::{SequenceIndent, encode_document};
use serde::Serialize;

use crate::config::file_of;
use crate::options::{ExecPolicy, Options, RenderLimits, StatusPolicy};
use crate::tree::{Kptfiles, Node};

/// What one function did.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FunctionResult {
    /// The image that ran.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// The command that ran.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub exec: String,
    /// What it said.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// How it ended.
    pub exit_code: i32,
    /// What it reported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ResultItem>,
}

impl FunctionResult {
    /// What a function did.
    pub fn new(function: &FunctionRef, stderr: &str, exit_code: i32, results: &[ResultItem]) -> Self {
        let (image, exec) = match function {
            FunctionRef::Image(image) => (image.clone(), String::new()),
            FunctionRef::Exec(exec) => (String::new(), exec.clone()),
        };
        Self { image, exec, stderr: stderr.to_owned(), exit_code, results: results.to_vec() }
    }
}

/// What all functions did: the content of `results.yaml`. `Display` writes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultList {
    /// In the order in which they ran.
    pub items: Vec<FunctionResult>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata,
    exit_code: i32,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    items: &'a [FunctionResult],
}

#[derive(Serialize)]
struct Metadata {
    name: &'static str,
}

impl ResultList {
    /// 1 when a function failed, else 0.
    pub fn exit_code(&self) -> i32 {
        i32::from(self.items.iter().any(|item| item.exit_code != 0))
    }
}

impl fmt::Display for ResultList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let document = Document {
            api_version: "kpt.dev/v1",
            kind: "FunctionResultList",
            metadata: Metadata { name: "fnresults" },
            exit_code: self.exit_code(),
            items: &self.items,
        };
        let document = lanai_yaml::Document::from_serialize(&document).map_err(|_| fmt::Error)?;
        f.write_str(&encode_document(&document, SequenceIndent::Wide))
    }
}

/// Everything that could make the answer of a render another one, but for the evaluator: the same inputs and functions that
/// answer alike give the same package, results and status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// The files that were read, in byte order: resource files, `.krmignore` files, and what configures functions.
    pub files: Vec<Input>,
    /// The other files, in byte order. What is in them was not looked at; that they are there keeps others from their places.
    pub others: Vec<SafePath>,
    /// The functions that were asked for, in order, with their resolved images. Those that were skipped are not among them.
    pub functions: Vec<FunctionRef>,
    /// What the caller decided.
    pub settings: Settings,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The file.
    pub path: SafePath,
    /// Its mode: symbolic links are not followed.
    pub mode: Mode,
    /// What was in it.
    pub content: BlobId,
}

/// What the caller of a render decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What short names of images are prefixed with.
    pub image_prefix: String,
    /// Whether a pipeline may name programs of this machine.
    pub exec: ExecPolicy,
    /// What functions may do.
    pub grants: Grants,
    /// How files become resources.
    pub read: ReadOptions,
    /// Whether the root Kptfile tells about the render.
    pub status: StatusPolicy,
    /// Bounds.
    pub limits: RenderLimits,
}

impl Inputs {
    /// What a render of this package goes by, before any function was asked for.
    pub(crate) fn of(package: &Package, options: &Options<'_>, nodes: &[Node], kptfiles: &Kptfiles) -> Self {
        let configs = configs(nodes, kptfiles);
        let is_read = |path: &SafePath| {
            is_resource_name(path.file_name())
                || path.file_name() == lanai_krm::ignore::FILE_NAME
                || configs.contains(path)
        };
        let mut inputs = Self { settings: Settings::of(options), ..Self::default() };
        for (path, file) in package.iter() {
            let content = is_read(path).then(|| digest::blob_id(file.content()).ok()).flatten();
            match content {
                Some(content) => {
                    inputs.files.push(Input { path: path.clone(), mode: file.mode(), content });
                }
                None => inputs.others.push(path.clone()),
            }
        }
        inputs
    }
}

/// The files that configure functions.
fn configs(nodes: &[Node], kptfiles: &Kptfiles) -> BTreeSet<SafePath> {
    let mut configs = BTreeSet::new();
    for (node, kptfile) in nodes.iter().zip(kptfiles) {
        let Ok(kptfile) = kptfile else { continue };
        for stage in [Stage::Mutators, Stage::Validators] {
            let functions = kptfile.functions(stage).iter();
            configs.extend(functions.filter_map(|function| file_of(&node.folder, function)));
        }
    }
    configs
}

impl Settings {
    fn of(options: &Options<'_>) -> Self {
        Self {
            image_prefix: options.image_prefix.clone(),
            exec: options.exec,
            grants: options.grants.clone(),
            read: options.read,
            status: options.status,
            limits: options.limits,
        }
    }
}

/// A step of a pipeline, while it is on its way.
pub(crate) fn step(name: &str, function: &FunctionRef, when: &str) -> StepResult {
    let (image, exec) = match function {
        FunctionRef::Image(image) => (image.clone(), String::new()),
        FunctionRef::Exec(exec) => (String::new(), exec.clone()),
    };
    StepResult { name: name.to_owned(), image, exec, when: when.to_owned(), ..StepResult::default() }
}
