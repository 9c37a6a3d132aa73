//! Making revisions.

use std::sync::Arc;

use lanai_krm::digest::tree_id;
use lanai_krm::package::Package;
use lanai_store::{Blob, Condition, Presence, Transaction, Write};
use lanai_types::lifecycle::{self, Refused};
use lanai_types::{
    Lifecycle, Limits, Namespace, ObjectName, PackageName, RepositoryName, RequestedLifecycle,
    RevisionNumber, Uid, WorkspaceName,
};
use serde_json::{Value, json};

use crate::bounds::Conflicts;
use crate::content;
use crate::context;
use crate::diff;
use crate::engine::{Answer, Caller, DryRun, Engine, MAX_ATTEMPTS, at, is_overtaken};
use crate::error::{Error, Reason};
use crate::fetch::self_lock;
use crate::kptfile;
use crate::object::{self, DRY_RUN_DIFF, Facts, LATEST, PUSH_ON_RENDER_FAILURE, Shown, Spec, Task};
use crate::packages::{Around, Change, PackageId, around, check_new};
use crate::rendering::{Kept, Render};
use crate::repositories::Registered;
use crate::rows;
use crate::state::{Draft, DraftPush, Life, Stage, State, Version};
use crate::tasks::{self, Handler, Makes, Work};

/// A draft that is ready to be written.
struct Ready {
    registered: Arc<Registered>,
    name: ObjectName,
    object: Value,
    package: Package,
    draft: Draft,
    render_status: Value,
    conflicts: Conflicts,
    upstreams: Vec<String>,
    makes: Makes,
    /// Why it is kept although it failed.
    failure: Option<Error>,
}

impl Engine {
    /// The name of the revision that a request would make; what the client calls it does not matter.
    ///
    /// # Errors
    /// 422 for parts that are no names, all together.
    pub fn name_of(&self, object: &Value) -> Result<ObjectName, Error> {
        let spec = Spec::of(object)?;
        let shown = object["metadata"]["name"].as_str().unwrap_or_default();
        if spec.repository.is_empty() {
            return Err(Error::new(Reason::BadRequest, shown, "spec.repositoryName is required"));
        }
        check_new_object(object, &spec, shown)?;
        let repository: RepositoryName =
            spec.repository.parse().map_err(|_| crate::repositories::not_found(&spec.repository))?;
        let (package, workspace) =
            (spec.package_name.parse::<PackageName>(), spec.workspace_name.parse::<WorkspaceName>());
        let (Ok(package), Ok(workspace)) = (package, workspace) else {
            return Err(Error::internal("names that were checked are none"));
        };
        ObjectName::compose(&repository, &package, &workspace).map_err(|error| {
            Error::new(Reason::Invalid, shown, format!("failed to create packagerevision: {error}"))
        })
    }

    /// Makes a revision.
    ///
    /// # Errors
    /// Whatever is wrong with the request, or stands in its way; then nothing is there.
    pub async fn create(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        object: Value,
    ) -> Result<Answer, Error> {
        let name = self.name_of(&object)?;
        let spec = Spec::of(&object)?;
        let registered = self.inner.repositories.find(namespace, name.repository().as_str()).await?;
        if name.workspace().as_str() == registered.placeholder() {
            let why = "it is the name of the branch, which stands for what is on it".to_owned();
            let value = lanai_types::quote::Quoted(name.workspace().as_str());
            let body = format!("Invalid value: {value}: {why}");
            return Err(invalid_fields(name.as_str(), &[("spec.workspaceName".to_owned(), body)]));
        }
        let held = self.inner.requests.lock(&format!("{namespace}/{name}")).await;
        self.inner.doubt.check(namespace, name.as_str())?;
        let (task, handler) = tasks::choose(&spec)?;
        let spec = Spec { tasks: vec![task.clone()], ..spec };
        self.check_free(namespace, &name, handler).await?;
        let parent_path = self.parent_path(namespace, &spec).await?;
        let work = Work {
            namespace,
            name: &name,
            spec: &spec,
            repository: &registered,
            parent_path: parent_path.as_deref(),
            fetcher: &self.inner.fetcher,
        };
        let made = handler.apply(&work, &task).await.map_err(|error| error.about_if_nobody(name.as_str()))?;
        let mut package = made.package;
        let mut kptfile = kptfile::read(&package)?;
        kptfile::patch_new(&mut kptfile, &spec)?;
        kptfile::write(&mut package, &kptfile)?;
        let rendered = self.render(namespace, package, name.package().leaf()).await?;
        let failure = keep_or_refuse(&rendered, &object, name.as_str())?;
        let before = made.before.unwrap_or_else(|| Package::new(Limits::DEFAULT));
        let difference = (caller.dry_run == DryRun::Yes).then(|| diff::unified(&before, &rendered.package));
        let ready = self.ready(
            caller,
            namespace,
            registered,
            &name,
            &object,
            &spec,
            rendered,
            (made.conflicts, handler, failure),
        )?;
        if let Some(difference) = difference {
            return Ok(rehearsed(ready.object, &difference));
        }
        let engine = self.clone();
        let namespace = namespace.clone();
        self.finish(async move {
            let _held = held;
            engine.write_new(&namespace, ready).await
        })
        .await
    }

    /// The name, and for a first revision the package, must be free.
    async fn check_free(
        &self,
        namespace: &Namespace,
        name: &ObjectName,
        handler: &dyn Handler,
    ) -> Result<(), Error> {
        let store = self.inner.store.as_ref();
        let id = PackageId::of(namespace, name)?;
        if store.get(&rows::revision_key(namespace, name)).await?.is_some() {
            let text = format!(
                "package revision workspaceNames must be unique; package revision with name {} in repo {} with workspaceName {} already exists",
                id.package,
                id.repository,
                name.workspace()
            );
            return Err(self.lost(
                namespace,
                name.as_str(),
                Error::new(Reason::AlreadyExists, name.as_str(), text),
            ));
        }
        if handler.makes() == Makes::Package {
            if handler.kind() == "clone"
                && store.get(&rows::package_key(namespace, &id.name)).await?.is_some()
            {
                let text = format!(
                    "`clone` cannot create a new revision for package \"{}\" that already exists in repo \"{}\"; make subsequent \
                     revisions using `copy`",
                    id.package, id.repository
                );
                let error = Error::new(Reason::AlreadyExists, name.as_str(), text);
                return Err(self.lost(namespace, id.name.as_str(), error));
            }
            let checked = check_new(store, &id, name.as_str()).await;
            checked.map_err(|error| self.lost(namespace, id.name.as_str(), error))?;
        }
        Ok(())
    }

    async fn parent_path(&self, namespace: &Namespace, spec: &Spec) -> Result<Option<String>, Error> {
        let Some(parent) = spec.parent.as_ref().filter(|parent| !parent.name.is_empty()) else {
            return Ok(None);
        };
        let fetched = self.inner.fetcher.revision(namespace, &parent.name).await.map_err(|error| {
            let text = format!("cannot get parent package \"{}\": {}", parent.name, error.message);
            Error { message: text, ..error }
        })?;
        Ok(Some(context::read_path(&fetched.package).unwrap_or_else(|| fetched.name.package().to_string())))
    }

    #[expect(clippy::too_many_arguments, reason = "all that was learnt on the way comes together here")]
    fn ready(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        registered: Arc<Registered>,
        name: &ObjectName,
        object: &Value,
        spec: &Spec,
        rendered: Render,
        (conflicts, handler, failure): (Conflicts, &dyn Handler, Option<Error>),
    ) -> Result<Ready, Error> {
        let now = self.now();
        let outcome = rendered.outcome();
        let tree = tree_id(&rendered.package)
            .map_err(|error| Error::new(Reason::Invalid, name.as_str(), error.to_string()))?;
        let blob = Blob::new(content::encode(&rendered.package));
        let (digest, bytes) = (blob.digest(), blob.content().len() as u64);
        let task = serde_json::to_value(&spec.tasks[0]).unwrap_or_default();
        let version =
            Version { content: digest, tree, task, user: caller.user.clone(), time: now.as_second(), bytes };
        let draft = Draft {
            stage: Stage::Draft,
            content: digest,
            tree,
            rendered: outcome,
            unpushed: vec![version],
            pushed: None,
            diverged: None,
            sent: Vec::new(),
            push: registered.draft_push,
        };
        let mut metadata = object["metadata"].clone();
        metadata["name"] = json!(name.as_str());
        metadata["namespace"] = json!(namespace.as_str());
        metadata["uid"] = json!(Uid::of_package_revision(namespace, name).to_string());
        if !metadata["creationTimestamp"].is_string() {
            metadata["creationTimestamp"] = object::time(now);
        }
        if !metadata["generation"].is_i64() {
            metadata["generation"] = json!(1);
        }
        let shown = Shown::of(kptfile::read(&rendered.package)?.fields());
        let state = State {
            repository: name.repository().clone(),
            package: name.package().clone(),
            workspace: name.workspace().clone(),
            life: Life::Draft(draft.clone()),
            render_status: None,
            conflicts: conflicts.clone(),
        };
        let facts = Facts {
            lifecycle: Lifecycle::Draft,
            number: RevisionNumber::UNPUBLISHED,
            tasks: spec.tasks.clone(),
            shown,
            self_lock: self_lock(&registered, &state),
            published_by: None,
            published_at: None,
            deployment: registered.deployment,
            conflicts: conflicts.clone(),
            diverged: None,
        };
        let object = object::build(&metadata, name, &facts);
        let upstreams = spec.upstreams().map(str::to_owned).collect();
        Ok(Ready {
            registered,
            name: name.clone(),
            object,
            package: rendered.package,
            draft,
            render_status: rendered.status,
            conflicts,
            upstreams,
            makes: handler.makes(),
            failure,
        })
    }

    /// One transaction makes the draft visible.
    async fn write_new(&self, namespace: &Namespace, ready: Ready) -> Result<Answer, Error> {
        let store = self.inner.store.as_ref();
        let id = PackageId::of(namespace, &ready.name)?;
        let blob = Blob::new(content::encode(&ready.package));
        let mut attempt = 0;
        let revision = loop {
            attempt += 1;
            let transaction = self.new_transaction(namespace, &ready, &id, &blob).await?;
            match crate::engine::commit(store, transaction, 0).await {
                Ok(revision) => break revision,
                Err(error) if is_overtaken(&error) && attempt < MAX_ATTEMPTS => {
                    self.check_free(namespace, &ready.name, handler_for(ready.makes)).await?;
                }
                Err(error) => return Err(error),
            }
        };
        self.note(namespace, ready.name.as_str());
        self.note(namespace, id.name.as_str());
        let object = at(ready.object, revision);
        match ready.draft.push {
            DraftPush::Sync => self.push_now(namespace, &ready.name).await?,
            DraftPush::Async => self.kick(namespace, &ready.registered.name),
            DraftPush::None => {}
        }
        match ready.failure {
            Some(failure) => Err(failure),
            None => Ok(object.into()),
        }
    }

    async fn new_transaction(
        &self,
        namespace: &Namespace,
        ready: &Ready,
        id: &PackageId,
        blob: &Blob,
    ) -> Result<Transaction, Error> {
        let store = self.inner.store.as_ref();
        let mut draft = ready.draft.clone();
        let state_key = rows::state_key(namespace, &ready.name);
        let before = store.get(&state_key).await?;
        if let Some(stored) = &before
            && let Life::Deleted(deleted) = rows::decode_state(stored)?.value.life
        {
            // One of the same name was deleted a moment ago, and its branch is still there or on its way: the new one goes on top of it.
            draft.pushed = deleted.pushed;
            draft.sent = deleted.sent;
        }
        let state = State {
            repository: ready.name.repository().clone(),
            package: ready.name.package().clone(),
            workspace: ready.name.workspace().clone(),
            life: Life::Draft(draft),
            render_status: Some(ready.render_status.clone()),
            conflicts: ready.conflicts.clone(),
        };
        let (Around { mut conditions, writes }, _) = around(store, id, &Change::Draft, self.now()).await?;
        // Its pipeline may have run for long: the repository must still be there.
        conditions.push(self.inner.repositories.holds(namespace, &ready.registered.name).await?);
        let is_new = writes.iter().any(|write| matches!(write, Write::Create { .. }));
        let mut all = vec![
            Write::Create {
                key: rows::revision_key(namespace, &ready.name),
                object: rows::encode_revision(&ready.object),
            },
            match before {
                None => Write::Create { key: state_key, object: state.to_object() },
                Some(stored) => {
                    Write::Update { key: state_key, expected: stored.revision, object: state.to_object() }
                }
            },
        ];
        all.extend(writes);
        if is_new {
            // Packages that would be inside of each other cannot be made at the same time.
            all.push(self.bump(namespace, &format!("packages.{}", id.repository)).await?);
        }
        for upstream in &ready.upstreams {
            all.push(self.bump(namespace, upstream).await?);
            let upstream: ObjectName =
                upstream.parse().map_err(|error: lanai_types::object_name::Error| {
                    Error::new(Reason::Invalid, upstream, error.to_string())
                })?;
            let key = rows::revision_key(namespace, &upstream);
            let found = store.get(&key).await?.ok_or_else(|| {
                Error::new(
                    Reason::NotFound,
                    upstream.as_str(),
                    format!("cannot find package revision \"{upstream}\""),
                )
            })?;
            conditions.push(Condition::Presence { key, expected: Presence::At(found.revision) });
        }
        Ok(Transaction { conditions, writes: all, blobs: vec![blob.clone()] })
    }

    /// Moves a guard.
    pub(crate) async fn bump(&self, namespace: &Namespace, name: &str) -> Result<Write, Error> {
        let key = rows::guard_key(namespace, name);
        let object = lanai_store::Object::plain(Vec::new());
        Ok(match self.inner.store.get(&key).await? {
            None => Write::Create { key, object },
            Some(stored) if rows::is_being_deleted(&stored) => {
                let why = "it is being deleted, so that nothing can be made from it any more";
                return Err(self.lost(namespace, name, Error::new(Reason::Conflict, name, why)));
            }
            Some(stored) => Write::Update { key, expected: stored.revision, object },
        })
    }
}

/// A handler that makes the same, for asking again whether it is free.
fn handler_for(makes: Makes) -> &'static dyn Handler {
    let found = tasks::ALL.iter().find(|handler| handler.makes() == makes);
    *found.expect("there are tasks of both kinds")
}

/// Whether a failed render is kept: the error that the client gets then; or the refusal.
fn keep_or_refuse(rendered: &Render, object: &Value, name: &str) -> Result<Option<Error>, Error> {
    let Some(failed) = &rendered.failure else { return Ok(None) };
    if object::annotation(object, PUSH_ON_RENDER_FAILURE) == Some("true") {
        return Ok(Some(failed.error(name, Kept::Yes)));
    }
    Err(failed.error(name, Kept::No))
}

/// The answer to a rehearsal.
pub(crate) fn rehearsed(mut object: Value, difference: &str) -> Answer {
    if !object["metadata"]["annotations"].is_object() {
        object["metadata"]["annotations"] = json!({});
    }
    object["metadata"]["annotations"][DRY_RUN_DIFF] = json!(difference);
    object.into()
}

/// What is wrong with a request to create, all together.
fn check_new_object(object: &Value, spec: &Spec, name: &str) -> Result<(), Error> {
    let mut causes: Vec<(String, String)> = Vec::new();
    if object["metadata"]["labels"].get(LATEST).is_some() {
        let text = "Forbidden: label is managed by porch and cannot be set by users";
        causes.push((format!("metadata.labels.{LATEST}"), text.to_owned()));
    }
    let mut invalid = |field: &str, value: &str, detail: String| {
        let value = lanai_types::quote::Quoted(value).to_string();
        causes.push((field.to_owned(), format!("Invalid value: {value}: {detail}")));
    };
    if let Err(error) = spec.package_name.parse::<PackageName>() {
        invalid("spec.packageName", &spec.package_name, error.to_string());
    }
    if let Err(error) = spec.workspace_name.parse::<WorkspaceName>() {
        invalid("spec.workspaceName", &spec.workspace_name, error.to_string());
    }
    if let Err(Refused::Invalid(errors)) = lifecycle::create(&RequestedLifecycle::parse(&spec.lifecycle)) {
        causes.extend(errors.iter().map(|error| (error.field.to_owned(), error.body_with(""))));
    }
    if causes.is_empty() {
        return Ok(());
    }
    Err(invalid_fields(name, &causes))
}

/// A refusal with several fields.
pub(crate) fn invalid_fields(name: &str, causes: &[(String, String)]) -> Error {
    let texts: Vec<String> = causes.iter().map(|(field, body)| format!("{field}: {body}")).collect();
    let joined = match texts.as_slice() {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let mut error = Error::new(Reason::Invalid, name, joined);
    for (field, body) in causes {
        let reason = if body.starts_with("Forbidden") { "FieldValueForbidden" } else { "FieldValueInvalid" };
        error = error.because(reason, body.clone(), field.clone());
    }
    error
}

/// The first task of a list, which says what made a revision.
pub(crate) fn first_task(tasks: &[Value]) -> Vec<Task> {
    let made = tasks.iter().find(|task| task["type"] != tasks::RENDER);
    made.and_then(|task| serde_json::from_value(task.clone()).ok()).into_iter().collect()
}
