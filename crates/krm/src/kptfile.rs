//! The Kptfile of a package.
//!
//! | module | what it knows |
//! |---|---|
//! | `fields` | what a Kptfile says, as values |
//! | `schema` | which fields there may be, and in which order |
//! | `decode` | strict reading |
//! | `sync` | bringing changed values into the text |
//! | `validate`, `image` | what can be said about a pipeline without looking at files |

mod decode;
mod error;
mod fields;
mod image;
mod schema;
mod sync;
mod validate;
mod words;

use std::fmt;

use lanai_yaml::{Document, NodeRef, Stream, edit};
use serde_json::Value;

use crate::resource::{Resource, text};

pub use error::{Error, Problem, Unreadable, Wrong};
pub use fields::{
    Condition, ConditionStatus, Fields, Function, GenericLock, Git, GitLock, Info, Inventory, Metadata,
    OriginType, Pipeline, ReadinessGate, RenderStatus, Stage, Status, StepResult, UpdateStrategy, Upstream,
    UpstreamLock,
};
pub use image::check as check_image;
pub use validate::Invalid;

/// The name of the file.
pub const FILE_NAME: &str = "Kptfile";
/// The `apiVersion` that is understood.
pub const API_VERSION: &str = "kpt.dev/v1";
/// The kind.
pub const KIND: &str = "Kptfile";

/// A Kptfile: its text, and what it says.
///
/// It was read strictly: every field in it is known and is what it must be. Setters edit the text where something changes
/// and nowhere else, comments and order stay; a new field gets its usual place among the fields that are there. `Display`
/// writes the whole file, further documents in it included.
#[derive(Clone, Debug)]
pub struct Kptfile {
    stream: Stream,
    /// Which document of the stream it is.
    at: usize,
    fields: Fields,
}

impl Kptfile {
    /// Reads the text of a Kptfile. It is the first document with content; others are kept and not looked at.
    ///
    /// # Errors
    /// When it is of another type or version, is no YAML, or has anything in it that does not belong there.
    pub fn parse(source: &str) -> Result<Self, Error> {
        let unreadable = |why| Error::Unreadable(why);
        let stream = Stream::parse(source).map_err(|error| unreadable(Unreadable::Syntax(error)))?;
        let at = stream.documents().iter().position(|document| !document.root().is_null());
        let at = at.ok_or(unreadable(Unreadable::Empty))?;
        let document = &stream.documents()[at];
        check_type(document.root())?;
        let (value, problems) = decode::decode(source, document.root(), &schema::KPTFILE);
        if !problems.is_empty() {
            return Err(unreadable(Unreadable::Fields(problems)));
        }
        let fields = serde_json::from_value(value).expect("the schema has the shape of the fields");
        Ok(Self { stream, at, fields })
    }

    /// A new Kptfile for a package of that name.
    pub fn new(name: &str) -> Self {
        let metadata = Metadata { name: name.into(), ..Metadata::default() };
        let (api_version, kind) = (API_VERSION.into(), KIND.into());
        let fields = Fields { api_version, kind, metadata, ..Fields::default() };
        let document = Document::from_serialize(&fields).expect("three fields fit into a document");
        Self::parse(&document.to_string()).expect("it was written by the rules that it is read by")
    }

    /// The document.
    pub fn document(&self) -> &Document {
        &self.stream.documents()[self.at]
    }

    /// What it says.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// The package's name; empty when there is none.
    pub fn name(&self) -> &str {
        &self.fields.metadata.name
    }

    /// The functions of a list; none where there is no pipeline.
    pub fn functions(&self, stage: Stage) -> &[Function] {
        self.fields.pipeline.as_ref().map_or(&[], |pipeline| pipeline.stage(stage))
    }

    /// The condition of that type.
    pub fn condition(&self, condition_type: &str) -> Option<&Condition> {
        let conditions = &self.fields.status.as_ref()?.conditions;
        conditions.iter().find(|condition| condition.condition_type == condition_type)
    }

    /// What is wrong with the pipeline, as far as that can be said without looking at files: for each function the first
    /// thing, mutators before validators. Empty when it can be run.
    pub fn validate(&self) -> Vec<Invalid> {
        self.fields.pipeline.as_ref().map(validate::pipeline).unwrap_or_default()
    }

    /// Changes what the Kptfile says, and its text where that differs.
    ///
    /// # Errors
    /// When the text cannot be edited; then nothing changed. Reasons are an alias that stands for too much, and a field to be
    /// removed that a merge key brings in.
    pub fn edit(&mut self, change: impl FnOnce(&mut Fields)) -> Result<(), edit::Error> {
        let mut fields = self.fields.clone();
        change(&mut fields);
        fields.forget_structure();
        let (before, after) = (values(&self.fields), values(&fields));
        let mut stream = self.stream.clone();
        let document = &mut stream.documents_mut()[self.at];
        document
            .edit_together(|document| sync::sync(document.root_mut(), &before, &after, &schema::KPTFILE))?;
        (self.stream, self.fields) = (stream, fields);
        Ok(())
    }

    /// Sets the package's name.
    ///
    /// # Errors
    /// As [`Kptfile::edit`].
    pub fn set_name(&mut self, name: &str) -> Result<(), edit::Error> {
        self.edit(|fields| fields.metadata.name = name.into())
    }

    /// Sets or removes `upstream`.
    ///
    /// # Errors
    /// As [`Kptfile::edit`].
    pub fn set_upstream(&mut self, upstream: Option<Upstream>) -> Result<(), edit::Error> {
        self.edit(|fields| fields.upstream = upstream)
    }

    /// Sets or removes `upstreamLock`.
    ///
    /// # Errors
    /// As [`Kptfile::edit`].
    pub fn set_upstream_lock(&mut self, lock: Option<UpstreamLock>) -> Result<(), edit::Error> {
        self.edit(|fields| fields.upstream_lock = lock)
    }

    /// Changes `info`.
    ///
    /// # Errors
    /// As [`Kptfile::edit`].
    pub fn edit_info(&mut self, change: impl FnOnce(&mut Info)) -> Result<(), edit::Error> {
        self.edit(|fields| change(fields.info.get_or_insert_default()))
    }

    /// Sets an annotation.
    ///
    /// # Errors
    /// As [`Kptfile::edit`].
    pub fn set_annotation(&mut self, key: &str, value: &str) -> Result<(), edit::Error> {
        self.edit(|fields| {
            fields.metadata.annotations.insert(key.into(), value.into());
        })
    }

    /// Removes an annotation; with the last one goes the mapping.
    ///
    /// # Errors
    /// As [`Kptfile::edit`].
    pub fn remove_annotation(&mut self, key: &str) -> Result<(), edit::Error> {
        self.edit(|fields| {
            fields.metadata.annotations.remove(key);
        })
    }

    /// Sets a label.
    ///
    /// # Errors
    /// As [`Kptfile::edit`].
    pub fn set_label(&mut self, key: &str, value: &str) -> Result<(), edit::Error> {
        self.edit(|fields| {
            fields.metadata.labels.insert(key.into(), value.into());
        })
    }

    /// Removes a label; with the last one goes the mapping.
    ///
    /// # Errors
    /// As [`Kptfile::edit`].
    pub fn remove_label(&mut self, key: &str) -> Result<(), edit::Error> {
        self.edit(|fields| {
            fields.metadata.labels.remove(key);
        })
    }

    /// Adds a function behind the others of its list.
    ///
    /// # Errors
    /// As [`Kptfile::edit`].
    pub fn add_function(&mut self, stage: Stage, function: Function) -> Result<(), edit::Error> {
        self.edit(|fields| fields.pipeline.get_or_insert_default().stage_mut(stage).push(function))
    }

    /// Removes a function from its list and returns it; `None` when there are fewer.
    ///
    /// # Errors
    /// As [`Kptfile::edit`].
    pub fn remove_function(&mut self, stage: Stage, index: usize) -> Result<Option<Function>, edit::Error> {
        let Some(function) = self.functions(stage).get(index).cloned() else { return Ok(None) };
        self.edit(|fields| {
            fields.pipeline.get_or_insert_default().stage_mut(stage).remove(index);
        })?;
        Ok(Some(function))
    }

    /// Sets a condition: the one of that type, else a new one behind the others.
    ///
    /// # Errors
    /// As [`Kptfile::edit`].
    pub fn set_condition(&mut self, condition: Condition) -> Result<(), edit::Error> {
        self.edit(|fields| {
            let conditions = &mut fields.status.get_or_insert_default().conditions;
            match conditions.iter_mut().find(|old| old.condition_type == condition.condition_type) {
                Some(old) => *old = condition,
                None => conditions.push(condition),
            }
        })
    }

    /// Removes the condition of that type; with the last thing in it goes the status.
    ///
    /// # Errors
    /// As [`Kptfile::edit`].
    pub fn remove_condition(&mut self, condition_type: &str) -> Result<(), edit::Error> {
        self.edit_status(|status| {
            status.conditions.retain(|condition| condition.condition_type != condition_type);
        })
    }

    /// Sets or removes what the last render did; with the last thing in it goes the status.
    ///
    /// # Errors
    /// As [`Kptfile::edit`].
    pub fn set_render_status(&mut self, render_status: Option<RenderStatus>) -> Result<(), edit::Error> {
        self.edit_status(|status| status.render_status = render_status)
    }

    fn edit_status(&mut self, change: impl FnOnce(&mut Status)) -> Result<(), edit::Error> {
        self.edit(|fields| {
            let mut status = fields.status.take().unwrap_or_default();
            change(&mut status);
            fields.status = (status != Status::default()).then_some(status);
        })
    }
}

/// Checks version and kind; what is no scalar counts as empty.
fn check_type(root: NodeRef<'_>) -> Result<(), Error> {
    let field = |key| root.get(key).and_then(text).unwrap_or_default().into_owned();
    let (api_version, kind) = (field("apiVersion"), field("kind"));
    match (api_version.as_str(), kind.as_str()) {
        (API_VERSION, KIND) => Ok(()),
        ("kpt.dev/v1alpha1", KIND) => Err(Error::OldVersion { version: "v1alpha1" }),
        ("kpt.dev/v1alpha2", KIND) => Err(Error::OldVersion { version: "v1alpha2" }),
        ("", "") if root.get("metadata").is_none_or(NodeRef::is_empty) => {
            Err(Error::Unreadable(Unreadable::NoMetadata))
        }
        _ => Err(Error::UnknownType { api_version, kind }),
    }
}

fn values(fields: &Fields) -> Value {
    serde_json::to_value(fields).expect("all keys are texts")
}

impl TryFrom<&Resource> for Kptfile {
    type Error = Error;

    fn try_from(resource: &Resource) -> Result<Self, Error> {
        Self::parse(&resource.to_string())
    }
}

impl fmt::Display for Kptfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.stream, f)
    }
}
