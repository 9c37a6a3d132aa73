//! What makes the content of a new revision.
//!
//! A task is one file here and one line in [`ALL`].

mod clone;
mod edit;
mod init;
mod upgrade;

use async_trait::async_trait;
use lanai_krm::Package;
use lanai_repository::packages::Event;
use lanai_types::{Namespace, ObjectName};
use serde_json::Value;

use crate::bounds::Conflicts;
use crate::error::{Error, Reason};
use crate::fetch::Fetcher;
use crate::object::{InitTask, Spec, Task};
use crate::repositories::Registered;

/// All tasks that can make a revision.
pub static ALL: &[&dyn Handler] = &[&init::Init, &clone::Clone, &edit::Edit, &upgrade::Upgrade];

/// The type of the task that stands in the commits of changes.
pub const RENDER: &str = "render";

/// How one type of task is done.
#[async_trait]
pub trait Handler: Sync {
    /// The type, as requests write it.
    fn kind(&self) -> &'static str;

    /// What its commit says.
    fn event(&self) -> Event;

    /// Whether it makes a package that must not be there yet.
    fn makes(&self) -> Makes;

    /// Makes the content. Reads what it needs, and changes nothing.
    ///
    /// # Errors
    /// What is missing or does not fit; the request is refused with it.
    async fn apply(&self, work: &Work<'_>, task: &Task) -> Result<Made, Error>;
}

/// What a task makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Makes {
    /// The first revision of a package.
    Package,
    /// A further revision of a package, or the first.
    Revision,
}

/// What a task has to work with.
pub struct Work<'a> {
    /// The namespace.
    pub namespace: &'a Namespace,
    /// The revision that is made.
    pub name: &'a ObjectName,
    /// What was asked for.
    pub spec: &'a Spec,
    /// Where it will be.
    pub repository: &'a Registered,
    /// The path of the package that this one is part of.
    pub parent_path: Option<&'a str>,
    /// Gets other packages.
    pub fetcher: &'a Fetcher,
}

/// What a task made.
pub struct Made {
    /// The content, before it is rendered.
    pub package: Package,
    /// Where both sides changed the same, as clients see it.
    pub conflicts: Conflicts,
    /// What a client can compare it with: the revision that it was made from, if there is one.
    pub before: Option<Package>,
}

impl Made {
    fn plain(package: Package) -> Self {
        Self { package, conflicts: Conflicts::default(), before: None }
    }
}

/// The task of a request: the one that is there, or an empty package.
///
/// # Errors
/// More than one, or one that nobody knows.
pub fn choose(spec: &Spec) -> Result<(Task, &'static dyn Handler), Error> {
    let task = match spec.tasks.as_slice() {
        [] => {
            let description = format!("{} description", spec.package_name);
            let init = InitTask { description, ..InitTask::default() };
            Task { kind: "init".to_owned(), init: Some(init), ..Task::default() }
        }
        [task] => task.clone(),
        _ => {
            let why = "task list must not contain more than one task";
            return Err(Error::new(Reason::Invalid, "", why).because("FieldValueInvalid", why, "spec.tasks"));
        }
    };
    let handler = ALL.iter().find(|handler| handler.kind() == task.kind);
    let handler = handler.ok_or_else(|| {
        let why = format!("task of type \"{}\" not supported", task.kind);
        Error::new(Reason::Invalid, "", why.clone()).because(
            "FieldValueNotSupported",
            why,
            "spec.tasks[0].type",
        )
    })?;
    Ok((task, *handler))
}

/// What a commit of this task says.
pub fn event_of(task: &Value) -> Event {
    let kind = task["type"].as_str().unwrap_or_default();
    if kind == RENDER {
        return Event::Update;
    }
    let handler = ALL.iter().find(|handler| handler.kind() == kind);
    handler.map_or_else(|| Event::Other(kind.to_owned()), |handler| handler.event())
}

/// A task whose payload is missing.
fn without_payload(kind: &str) -> Error {
    let why = format!("{kind} not set for task of type \"{kind}\"");
    Error::new(Reason::Invalid, "", why.clone()).because(
        "FieldValueRequired",
        why,
        format!("spec.tasks[0].{kind}"),
    )
}

/// A source that does not fit.
fn refused(why: impl Into<String>) -> Error {
    let why = why.into();
    Error::new(Reason::Invalid, "", why.clone()).because("FieldValueInvalid", why, "spec.tasks[0]")
}

/// Says what somebody was trying to do when it failed.
fn while_doing(what: &str, error: Error) -> Error {
    Error { message: format!("{what}: {}", error.message), ..error }
}
