//! New content for drafts.

use lanai_krm::digest::tree_id;
use lanai_krm::package::Package;
use lanai_store::{Blob, Transaction};
use lanai_types::lifecycle::{self, Event, Refused, Route};
use lanai_types::{Lifecycle, Namespace, ObjectName, RevisionNumber};
use serde_json::{Value, json};

use crate::content;
use crate::create::rehearsed;
use crate::diff;
use crate::engine::{Answer, Caller, DryRun, Engine, Loaded, at};
use crate::error::{Error, Reason, Subject};
use crate::fetch::{lifecycle as lifecycle_of, self_lock};
use crate::files;
use crate::kptfile;
use crate::object::{self, Facts, PUSH_ON_RENDER_FAILURE, Shown, Spec};
use crate::read::view;
use crate::rendering::{Kept, Render};
use crate::repositories::Registered;
use crate::state::{Draft, DraftPush, Life, Published, Rendered, State, Version, behind};
use crate::tasks::RENDER;

/// A draft as it will be.
pub(crate) struct Saved {
    pub(crate) object: Value,
    pub(crate) state: State,
    pub(crate) blobs: Vec<Blob>,
}

impl Engine {
    /// Replaces the files of a draft: comments that the client lost are put back, and the pipeline runs.
    ///
    /// # Errors
    /// What is no draft, content that is refused, a pipeline that fails. Then nothing changed, unless the revision asks for content
    /// to be kept all the same.
    pub async fn save(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        name: &ObjectName,
        old: &Value,
        new: &Value,
    ) -> Result<Answer, Error> {
        let result = self.save_content(caller, namespace, name, old, new).await;
        result.map_err(|error| match error.about.subject {
            Subject::PackageRevision => error.of(Subject::Resources),
            Subject::Resources | Subject::Package | Subject::Repository => error,
        })
    }

    async fn save_content(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        name: &ObjectName,
        old: &Value,
        new: &Value,
    ) -> Result<Answer, Error> {
        let held = self.inner.requests.lock(&format!("{namespace}/{name}")).await;
        self.inner.doubt.check(namespace, name.as_str())?;
        let loaded = self.load(namespace, name).await?;
        if object::version(old) != loaded.revision.to_string() {
            let error = Error::new(Reason::Overtaken, name.as_str(), "the object has been modified");
            return Err(self.lost(namespace, name.as_str(), error));
        }
        let state = lifecycle_of(&loaded.object)?;
        if let Err(refused) = lifecycle::step(state, &Event::EditContent, Route::Main) {
            return Err(not_draft(name, &refused));
        }
        let Life::Draft(draft) = &loaded.state.life else {
            return Err(Error::internal(format!("\"{name}\" is a draft and is remembered as none")));
        };
        let registered = self.inner.repositories.find(namespace, name.repository().as_str()).await?;
        let before = self.inner.fetcher.blob(&draft.content).await?;
        let wanted = files::replace(&before, &new["spec"], name.as_str())?;
        kptfile::read(&wanted).map_err(|error| named(error, name))?;
        if wanted == before && draft.rendered == Rendered::Passed {
            return Ok(view(&loaded.object, &loaded.state, &before).into());
        }
        let rendered = self.render(namespace, wanted, name.package().leaf()).await?;
        let keeps = object::annotation(&loaded.object, PUSH_ON_RENDER_FAILURE) == Some("true");
        let failure = match &rendered.failure {
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
        let mut saved = self.with_content(caller, &registered, &loaded, rendered)?;
        object::count_change(&loaded.object, &mut saved.object);
        if caller.dry_run == DryRun::Yes {
            let shown = view(&saved.object, &saved.state, &package);
            return Ok(rehearsed(shown, &diff::unified(&before, &package)));
        }
        let (engine, push) = (self.clone(), draft.push);
        let shown = view(&saved.object, &saved.state, &package);
        self.finish(async move {
            let _held = held;
            let revision = engine.write_draft(&loaded, saved).await?;
            engine.after_draft(&loaded, push).await?;
            match failure {
                Some(failure) => Err(failure),
                None => Ok(at(shown, revision).into()),
            }
        })
        .await
    }

    /// The object and state of a draft with new content.
    pub(crate) fn with_content(
        &self,
        caller: &Caller,
        registered: &Registered,
        loaded: &Loaded,
        rendered: Render,
    ) -> Result<Saved, Error> {
        let Life::Draft(draft) = &loaded.state.life else {
            return Err(Error::internal(format!("\"{}\" is no draft", loaded.name)));
        };
        let mut draft: Draft = draft.clone();
        let outcome = rendered.outcome();
        let tree = tree_id(&rendered.package)
            .map_err(|error| Error::new(Reason::Invalid, loaded.name.as_str(), error.to_string()))?;
        let mut blobs = Vec::new();
        if tree == draft.tree {
            draft.rendered = outcome;
        } else {
            let blob = Blob::new(content::encode(&rendered.package));
            let task = json!({ "type": RENDER });
            let (user, time) = (caller.user.clone(), self.now().as_second());
            let (content, bytes) = (blob.digest(), blob.content().len() as u64);
            draft.save(Version { content, tree, task, user, time, bytes }, outcome);
            blobs.push(blob);
        }
        draft.push = registered.draft_push;
        let state =
            State { life: Life::Draft(draft), render_status: Some(rendered.status), ..loaded.state.clone() };
        let object = describe_draft(registered, &loaded.object, &loaded.name, &state, &rendered.package)?;
        Ok(Saved { object, state, blobs })
    }

    /// One transaction makes a change of a draft visible; the version of its object.
    pub(crate) async fn write_draft(
        &self,
        loaded: &Loaded,
        saved: Saved,
    ) -> Result<lanai_store::Revision, Error> {
        let Saved { object, mut state, blobs } = saved;
        let mut loaded = loaded.clone();
        for _ in 0..crate::engine::MAX_ATTEMPTS {
            let writes = vec![loaded.write_object(&object), loaded.write_state(&state)];
            let transaction = Transaction { conditions: Vec::new(), writes, blobs: blobs.clone() };
            match crate::engine::commit(self.inner.store.as_ref(), transaction, 0).await {
                Err(error) if crate::engine::is_overtaken(&error) => {
                    // The outbox may have written what the remote has by now.
                    let now = self.load(&loaded.namespace, &loaded.name).await?;
                    if now.revision != loaded.revision {
                        return Err(self.lost(&loaded.namespace, loaded.name.as_str(), error));
                    }
                    state = with_pushed(&state, &loaded.state, &now.state);
                    loaded = now;
                }
                other => return other,
            }
        }
        Err(Error::modified(loaded.name.as_str()))
    }

    /// What follows the answer about a draft.
    pub(crate) async fn after_draft(&self, loaded: &Loaded, push: DraftPush) -> Result<(), Error> {
        self.note(&loaded.namespace, loaded.name.as_str());
        match push {
            DraftPush::Sync => self.push_now(&loaded.namespace, &loaded.name).await,
            DraftPush::Async => {
                self.kick(&loaded.namespace, loaded.name.repository());
                Ok(())
            }
            DraftPush::None => Ok(()),
        }
    }

    /// Keeps what a failed render said, so that the next reader sees it. The revision itself does not change.
    pub(crate) async fn remember_failure(&self, loaded: Loaded, status: Value, held: crate::locks::Held) {
        let engine = self.clone();
        let kept = self.finish(async move {
            let _held = held;
            let mut now = loaded.clone();
            for _ in 0..crate::engine::MAX_ATTEMPTS {
                let state = State { render_status: Some(status.clone()), ..now.state.clone() };
                let transaction = Transaction {
                    conditions: vec![now.holds()],
                    writes: vec![now.write_state(&state)],
                    blobs: Vec::new(),
                };
                match crate::engine::commit(engine.inner.store.as_ref(), transaction, 0).await {
                    // The outbox may have written what the remote has by now.
                    Err(error) if crate::engine::is_overtaken(&error) => {
                        now = engine.load(&loaded.namespace, &loaded.name).await?;
                        if content_of(&now.state) != content_of(&loaded.state) {
                            return Err(error);
                        }
                    }
                    other => return other.map(drop),
                }
            }
            Err(Error::modified(loaded.name.as_str()))
        });
        if let Err(error) = kept.await
            && error.reason != Reason::Overtaken
        {
            tracing::warn!(%error, "what a render said was not kept");
        }
    }
}

/// The content of a draft.
fn content_of(state: &State) -> Option<&lanai_types::Sha256Digest> {
    match &state.life {
        Life::Draft(draft) => Some(&draft.content),
        Life::Published(_) | Life::Deleted(_) => None,
    }
}

/// A state that was made of an older one, with what the outbox wrote since.
fn with_pushed(wanted: &State, older: &State, now: &State) -> State {
    let life = match (&wanted.life, &older.life, &now.life) {
        (Life::Draft(wanted), Life::Draft(older), Life::Draft(now)) => {
            let added = behind(&wanted.unpushed, older.unpushed.last());
            Life::Draft(Draft {
                unpushed: now.unpushed.iter().cloned().chain(added).collect(),
                pushed: now.pushed,
                sent: now.sent.clone(),
                diverged: now.diverged,
                ..wanted.clone()
            })
        }
        // Whether the remote knows of a deletion that is proposed is the outbox's to say.
        (Life::Published(wanted), _, Life::Published(now)) => {
            Life::Published(Published { deletion: wanted.deletion, ..now.clone() })
        }
        (Life::Draft(_) | Life::Published(_) | Life::Deleted(_), _, _) => wanted.life.clone(),
    };
    State { life, ..wanted.clone() }
}

/// The object of a draft, after its content changed.
pub(crate) fn describe_draft(
    registered: &Registered,
    object: &Value,
    name: &ObjectName,
    state: &State,
    package: &Package,
) -> Result<Value, Error> {
    let spec = Spec::of(object)?;
    let facts = Facts {
        lifecycle: lifecycle_of(object)?,
        number: RevisionNumber::UNPUBLISHED,
        tasks: spec.tasks,
        shown: Shown::of(kptfile::read(package)?.fields()),
        self_lock: self_lock(registered, state),
        published_by: None,
        published_at: None,
        deployment: registered.deployment,
        conflicts: state.conflicts.clone(),
        diverged: state.draft().and_then(|draft| draft.diverged),
    };
    Ok(object::build(&object["metadata"], name, &facts))
}

fn not_draft(name: &ObjectName, refused: &Refused) -> Error {
    let reason = match refused {
        Refused::NotDraft(
            Lifecycle::Draft | Lifecycle::Proposed | Lifecycle::Published | Lifecycle::DeletionProposed,
        )
        | Refused::DeletePublished => Reason::Conflict,
        Refused::Invalid(_) => Reason::Invalid,
        Refused::MethodNotAllowed => Reason::MethodNotAllowed,
    };
    Error::new(reason, name.as_str(), refused.to_string())
}

/// An error about content, with the name of the revision.
pub(crate) fn named(mut error: Error, name: &ObjectName) -> Error {
    if error.about.name.is_empty() {
        error.about.name = name.to_string();
    }
    error
}
