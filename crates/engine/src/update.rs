//! Changing revisions: metadata, lifecycle, and what the Kptfile says.

use lanai_types::lifecycle::{self, Event, Next, Refused, RestOfSpec};
use lanai_types::{Lifecycle, Namespace, ObjectName, RequestedLifecycle};
use serde_json::{Value, json};

use crate::create::{invalid_fields, rehearsed};
use crate::diff;
use crate::engine::{Answer, Caller, DryRun, Engine, Loaded, at};
use crate::error::{Error, Reason};
use crate::fetch::{lifecycle as lifecycle_of, self_lock};
use crate::kptfile;
use crate::locks::Held;
use crate::object::{self, LATEST, PUSH_ON_RENDER_FAILURE, Spec};
use crate::readiness;
use crate::rendering::{Kept, Render};
use crate::repositories::Registered;
use crate::save::{Saved, describe_draft, named};
use crate::state::{Deletion, Draft, Life, Rendered, Stage, State};

pub use lanai_types::lifecycle::Route;

/// A change that is wanted, understood and allowed by the lifecycle.
pub(crate) struct Wanted {
    pub(crate) loaded: Loaded,
    /// The object that was sent.
    pub(crate) new: Value,
    pub(crate) spec: Spec,
    pub(crate) next: Next,
    pub(crate) warnings: Vec<String>,
}

impl Engine {
    /// Changes a revision.
    ///
    /// # Errors
    /// What the lifecycle refuses, what does not fit together, a pipeline that fails. Then nothing changed.
    pub async fn update(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        name: &ObjectName,
        route: Route,
        old: &Value,
        new: Value,
    ) -> Result<Answer, Error> {
        let held = self.inner.requests.lock(&format!("{namespace}/{name}")).await;
        self.inner.doubt.check(namespace, name.as_str())?;
        let loaded = self.load(namespace, name).await?;
        if object::version(old) != loaded.revision.to_string() {
            let error = Error::new(Reason::Overtaken, name.as_str(), "the object has been modified");
            return Err(self.lost(namespace, name.as_str(), error));
        }
        if is_terminating(&new) && !is_terminating(&loaded.object) {
            // It goes when nothing holds it any more; whether it may go is asked now, and again then.
            self.check_deletable(&loaded).await?;
        }
        let wanted = decide(loaded, new, route)?;
        match wanted.next {
            Next::Stay(Lifecycle::Draft) | Next::Propose => self.change_draft(caller, wanted, held).await,
            Next::Stay(Lifecycle::Proposed) | Next::Reject => self.change_stage(caller, wanted, held).await,
            Next::Publish => self.publish(caller, wanted, held).await,
            Next::Stay(Lifecycle::Published | Lifecycle::DeletionProposed)
            | Next::ProposeDeletion
            | Next::RejectDeletion => self.change_published(caller, wanted, held).await,
            Next::Delete => Err(Error::internal("an update does not delete")),
        }
    }

    /// Metadata, gates and conditions of a draft, and proposing it.
    async fn change_draft(&self, caller: &Caller, wanted: Wanted, held: Held) -> Result<Answer, Error> {
        let Wanted { loaded, new, spec, next, warnings } = wanted;
        let name = loaded.name.clone();
        let registered = self.inner.repositories.find(&loaded.namespace, name.repository().as_str()).await?;
        let Life::Draft(draft) = loaded.state.life.clone() else {
            return Err(Error::internal(format!("\"{name}\" is a draft and is remembered as none")));
        };
        let before = self.inner.fetcher.blob(&draft.content).await?;
        let mut package = before.clone();
        let mut kptfile = kptfile::read(&package).map_err(|error| named(error, &name))?;
        let conditions = new["status"]["conditions"].as_array().map(Vec::as_slice);
        kptfile::patch_changed(&mut kptfile, &spec, conditions, name.as_str())
            .map_err(|error| named(error, &name))?;
        kptfile::write(&mut package, &kptfile)?;
        let is_proposed = next == Next::Propose;
        let needs_render = package != before || (is_proposed && draft.rendered != Rendered::Passed);
        let mut failure = None;
        let (saved, package) = if needs_render {
            let rendered = self.render(&loaded.namespace, package, name.package().leaf()).await?;
            let keeps = object::annotation(&new, PUSH_ON_RENDER_FAILURE) == Some("true") && !is_proposed;
            failure = match &rendered.failure {
                None => None,
                Some(failed) if keeps => Some(failed.error(name.as_str(), Kept::Yes)),
                Some(failed) => {
                    let error = failed.error(name.as_str(), Kept::No);
                    if caller.dry_run == DryRun::No {
                        self.remember_failure(loaded, rendered.status, held).await;
                    }
                    return Err(error);
                }
            };
            let package = rendered.package.clone();
            (self.with_new_metadata(caller, &registered, &loaded, &new, rendered)?, package)
        } else {
            let state = loaded.state.clone();
            let object =
                describe_draft(&registered, &with_metadata(&loaded.object, &new), &name, &state, &before)?;
            (Saved { object, state, blobs: Vec::new() }, before.clone())
        };
        let saved = if is_proposed { self.proposed(&registered, &name, saved)? } else { saved };
        if caller.dry_run == DryRun::Yes {
            return Ok(Answer { warnings, ..rehearsed(saved.object, &diff::unified(&before, &package)) });
        }
        self.write_change(loaded, saved, registered.draft_push, warnings, failure, held).await
    }

    fn with_new_metadata(
        &self,
        caller: &Caller,
        registered: &Registered,
        loaded: &Loaded,
        new: &Value,
        rendered: Render,
    ) -> Result<Saved, Error> {
        let loaded = Loaded { object: with_metadata(&loaded.object, new), ..loaded.clone() };
        self.with_content(caller, registered, &loaded, rendered)
    }

    /// A draft that becomes a proposed one, if its gates are met.
    fn proposed(&self, registered: &Registered, name: &ObjectName, saved: Saved) -> Result<Saved, Error> {
        let Saved { object, state, blobs } = saved;
        let spec = Spec::of(&object)?;
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let gates = spec.readiness_gates.unwrap_or_default();
        readiness::check(self.inner.readiness, name.as_str(), &gates, &conditions)?;
        let (object, state) = at_stage(registered, object, state, Stage::Proposed);
        Ok(Saved { object, state, blobs })
    }

    /// Metadata of a proposed one, and rejecting it.
    async fn change_stage(&self, caller: &Caller, wanted: Wanted, held: Held) -> Result<Answer, Error> {
        let Wanted { loaded, new, next, warnings, .. } = wanted;
        let registered =
            self.inner.repositories.find(&loaded.namespace, loaded.name.repository().as_str()).await?;
        let to = if next == Next::Reject { Stage::Draft } else { Stage::Proposed };
        let (object, state) =
            at_stage(&registered, with_metadata(&loaded.object, &new), loaded.state.clone(), to);
        if caller.dry_run == DryRun::Yes {
            return Ok(Answer { warnings, ..rehearsed(object, "") });
        }
        let saved = Saved { object, state, blobs: Vec::new() };
        self.write_change(loaded, saved, registered.draft_push, warnings, None, held).await
    }

    async fn write_change(
        &self,
        loaded: Loaded,
        saved: Saved,
        push: crate::state::DraftPush,
        warnings: Vec<String>,
        failure: Option<Error>,
        held: Held,
    ) -> Result<Answer, Error> {
        let engine = self.clone();
        self.finish(async move {
            let _held = held;
            let object = saved.object.clone();
            let revision = engine.write_draft(&loaded, saved).await?;
            engine.after_draft(&loaded, push).await?;
            match failure {
                Some(failure) => Err(failure),
                None => Ok(Answer { object: at(object, revision), warnings }),
            }
        })
        .await
    }

    /// Metadata of something published, and proposing its deletion.
    async fn change_published(&self, caller: &Caller, wanted: Wanted, held: Held) -> Result<Answer, Error> {
        let Wanted { loaded, new, next, warnings, .. } = wanted;
        let mut object = with_metadata(&loaded.object, &new);
        let mut state = loaded.state.clone();
        let lifecycle = next.state().unwrap_or(Lifecycle::Published);
        object["spec"]["lifecycle"] = json!(lifecycle.as_str());
        if let Life::Published(published) = &mut state.life {
            published.deletion = Deletion::from(lifecycle);
        }
        if caller.dry_run == DryRun::Yes {
            return Ok(Answer { warnings, ..rehearsed(object, "") });
        }
        let saved = Saved { object, state, blobs: Vec::new() };
        self.write_change(loaded, saved, crate::state::DraftPush::Async, warnings, None, held).await
    }
}

fn is_terminating(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// What the lifecycle says about a change.
fn decide(loaded: Loaded, new: Value, route: Route) -> Result<Wanted, Error> {
    let name = loaded.name.clone();
    let (old_spec, mut spec) = (Spec::of(&loaded.object)?, Spec::of(&new)?);
    let state = lifecycle_of(&loaded.object)?;
    let mut causes = Vec::new();
    if route == Route::Main && label(&loaded.object) != label(&new) {
        let text = "Forbidden: label is managed by porch and cannot be modified by users";
        causes.push((format!("metadata.labels.{LATEST}"), text.to_owned()));
    }
    if spec.package_metadata.is_none() {
        spec.package_metadata.clone_from(&old_spec.package_metadata);
    }
    let mut warnings = Vec::new();
    for (field, old, new) in [
        ("repository", &old_spec.repository, &spec.repository),
        ("packageName", &old_spec.package_name, &spec.package_name),
        ("workspaceName", &old_spec.workspace_name, &spec.workspace_name),
    ] {
        if !state.is_published() && old != new {
            warnings
                .push(format!("spec.{field} is part of the name and stays; the change to it was ignored"));
        }
    }
    if spec.tasks != old_spec.tasks {
        if !state.is_published() || route == Route::Approval {
            warnings.push("spec.tasks is recorded by the server; the change to it was ignored".to_owned());
        }
        if !state.is_published() {
            spec.tasks.clone_from(&old_spec.tasks);
        }
    }
    let rest = if same_rest(&old_spec, &spec) { RestOfSpec::Same } else { RestOfSpec::Differs };
    let event = Event::Update { lifecycle: RequestedLifecycle::parse(&spec.lifecycle), rest };
    let next = match lifecycle::step(state, &event, route) {
        Ok(next) => next,
        Err(Refused::Invalid(errors)) => {
            let sent = new["spec"].to_string();
            causes.extend(errors.iter().map(|error| (error.field.to_owned(), error.body_with(&sent))));
            return Err(invalid_fields(name.as_str(), &causes));
        }
        Err(refused) => return Err(Error::new(Reason::Forbidden, name.as_str(), refused.to_string())),
    };
    if !causes.is_empty() {
        return Err(invalid_fields(name.as_str(), &causes));
    }
    if route == Route::Approval {
        // Nothing but the lifecycle changes by this route.
        spec = Spec { lifecycle: spec.lifecycle, ..old_spec };
    }
    Ok(Wanted { loaded, new, spec, next, warnings })
}

fn label(object: &Value) -> Option<&str> {
    object["metadata"]["labels"][LATEST].as_str()
}

/// Whether two specs mean the same but for the lifecycle.
fn same_rest(old: &Spec, new: &Spec) -> bool {
    let plain = |spec: &Spec| Spec {
        lifecycle: String::new(),
        parent: None,
        readiness_gates: spec.readiness_gates.clone().filter(|gates| !gates.is_empty()),
        package_metadata: None,
        ..spec.clone()
    };
    let maps = |spec: &Spec| {
        let metadata = spec.package_metadata.clone().unwrap_or_default();
        (metadata.labels.unwrap_or_default(), metadata.annotations.unwrap_or_default())
    };
    plain(old) == plain(new) && maps(old) == maps(new)
}

/// The object with the metadata that was sent.
fn with_metadata(object: &Value, new: &Value) -> Value {
    let mut changed = object.clone();
    let mut metadata = new["metadata"].clone();
    // The server knows who is the latest; approving must not carry an old answer over.
    if let Some(latest) = object["metadata"]["labels"].get(LATEST) {
        if !metadata["labels"].is_object() {
            metadata["labels"] = json!({});
        }
        metadata["labels"][LATEST] = latest.clone();
    } else if let Some(labels) = metadata["labels"].as_object_mut() {
        labels.shift_remove(LATEST);
    }
    for own in ["name", "namespace", "uid", "creationTimestamp", "resourceVersion"] {
        if let Some(value) = object["metadata"].get(own) {
            metadata[own] = value.clone();
        }
    }
    changed["metadata"] = metadata;
    changed
}

/// A draft at another stage.
fn at_stage(registered: &Registered, mut object: Value, state: State, to: Stage) -> (Value, State) {
    let life = match state.life {
        Life::Draft(draft) => Life::Draft(Draft { stage: to, push: registered.draft_push, ..draft }),
        other @ (Life::Published(_) | Life::Deleted(_)) => other,
    };
    let state = State { life, ..state };
    let lifecycle = match to {
        Stage::Draft => Lifecycle::Draft,
        Stage::Proposed => Lifecycle::Proposed,
    };
    object["spec"]["lifecycle"] = json!(lifecycle.as_str());
    object["status"]["selfLock"] = self_lock(registered, &state);
    (object, state)
}

/// The object that a change asked for, for verbs that finish it elsewhere.
pub(crate) fn asked_for(wanted: &Wanted) -> Value {
    with_metadata(&wanted.loaded.object, &wanted.new)
}
