//! Publishing: the one gate through which a draft becomes final.

use std::sync::Arc;

use jiff::Timestamp;
use lanai_repository::packages::{
    Conflict, Done, Operation, Person, Publish, Request, Source, Versions, WriteError,
};
use lanai_repository::{Silent, packages};
use lanai_store::{Transaction, Write};
use lanai_types::{CommitId, Lifecycle, ObjectName, RefName, RevisionNumber, TreeId};
use serde_json::{Value, json};

use crate::bounds::Conflicts;
use crate::create::rehearsed;
use crate::doubt;
use crate::engine::{Answer, Caller, DryRun, Engine, Loaded, MAX_ATTEMPTS, at, is_overtaken};
use crate::error::{Error, Reason};
use crate::fetch::{blocking, remote_error, self_lock};
use crate::locks::Held;
use crate::object::{self, Facts, Shown, Spec, found_metadata, set_latest};
use crate::outbox::MAX_PART;
use crate::packages::{Around, Change, PackageId, around};
use crate::readiness;
use crate::repositories::Registered;
use crate::rows;
use crate::state::{Deletion, Draft, DraftPush, Life, Published, State};
use crate::tasks::event_of;
use crate::update::{Wanted, asked_for};

/// A publication that the remote has.
struct Landed {
    registered: Arc<Registered>,
    number: RevisionNumber,
    commit: CommitId,
    tag: RefName,
    tree: TreeId,
    user: String,
    time: Timestamp,
    /// The object as the request wants it, before it was published.
    asked: Value,
}

impl Engine {
    /// Publishes a proposed draft: the remote decides, then one transaction makes it visible.
    pub(crate) async fn publish(&self, caller: &Caller, wanted: Wanted, held: Held) -> Result<Answer, Error> {
        let asked = asked_for(&wanted);
        let Wanted { loaded, warnings, .. } = wanted;
        let name = loaded.name.clone();
        let registered = self.inner.repositories.find(&loaded.namespace, name.repository().as_str()).await?;
        let spec = Spec::of(&loaded.object)?;
        let conditions = loaded.object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        readiness::check(
            self.inner.readiness,
            name.as_str(),
            &spec.readiness_gates.unwrap_or_default(),
            &conditions,
        )?;
        if let Some(draft) = loaded.state.draft() {
            check_undiverged(&name, draft)?;
        }
        if caller.dry_run == DryRun::Yes {
            let mut object = asked;
            set_latest(&mut object, object::Latest::Yes);
            object["spec"]["lifecycle"] = json!(Lifecycle::Published.as_str());
            let highest = PackageId::of(&loaded.namespace, &name)?.highest(self.inner.store.as_ref()).await?;
            object["spec"]["revision"] = json!(highest + 1);
            return Ok(Answer { warnings, ..rehearsed(object, "") });
        }
        let talk = self.inner.talks.lock(&format!("{}/{name}", loaded.namespace)).await;
        // What the outbox did meanwhile counts.
        let fresh = self.load(&loaded.namespace, &name).await?;
        if fresh.revision != loaded.revision {
            let error = Error::new(Reason::Overtaken, name.as_str(), "the object has been modified");
            return Err(self.lost(&loaded.namespace, name.as_str(), error));
        }
        let is_small = fresh.state.first_part(MAX_PART).life == fresh.state.life;
        let source = if is_small { Some(self.source(&fresh).await?) } else { None };
        let highest_seen =
            PackageId::of(&loaded.namespace, &name)?.highest(self.inner.store.as_ref()).await?;
        let (engine, user) = (self.clone(), caller.user.clone());
        // From here on it is finished, whoever still waits.
        self.finish(async move {
            let _both = (held, talk);
            let (fresh, source) = match source {
                Some(source) => (fresh, source),
                None => engine.all_but_last(fresh, &registered).await?,
            };
            let time = engine.now();
            let label = doubt::label(&fresh.namespace, name.as_str());
            let publish = Publish {
                package: name.package().clone(),
                workspace: name.workspace().clone(),
                source,
                highest_seen,
            };
            let request = Request {
                what: Operation::Publish(publish),
                user: Person::user(&user),
                time: time.as_second(),
                label: label.clone(),
            };
            let done = engine.write(&registered, &fresh, request).await?;
            let landed = landed(registered, &fresh, &done, user, time, asked)?;
            let registered = landed.registered.clone();
            let answer = engine.write_published(&fresh, landed).await;
            let answer = engine.after_landed(&registered, &fresh, &label, answer).await?;
            Ok(Answer { warnings, ..answer.into() })
        })
        .await
    }

    /// Brings to the remote what is more than goes in one push; what is left to be published.
    async fn all_but_last(
        &self,
        loaded: Loaded,
        registered: &Arc<Registered>,
    ) -> Result<(Loaded, Source), Error> {
        // Where drafts are never pushed, all goes together.
        if loaded.state.draft().is_some_and(|draft| draft.push != DraftPush::None) {
            self.send_all_but_last(&loaded.namespace, &loaded.name, registered).await?;
        }
        let fresh = self.load(&loaded.namespace, &loaded.name).await?;
        if fresh.revision != loaded.revision {
            let error = Error::new(Reason::Overtaken, loaded.name.as_str(), "the object has been modified");
            return Err(self.lost(&loaded.namespace, loaded.name.as_str(), error));
        }
        let source = self.source(&fresh).await?;
        Ok((fresh, source))
    }

    /// What is published: the branch as it is on the remote, or what the remote lacks on top of it.
    async fn source(&self, loaded: &Loaded) -> Result<Source, Error> {
        let Life::Draft(draft) = &loaded.state.life else {
            return Err(Error::internal(format!("\"{}\" is no draft", loaded.name)));
        };
        check_undiverged(&loaded.name, draft)?;
        let branch = draft.pushed.map(|pushed| (pushed.stage.into(), pushed.commit));
        match (draft.unpushed.is_empty(), branch) {
            (true, Some((stage, at))) => Ok(Source::Branch { stage, at }),
            (true, None) => Err(Error::internal(format!("\"{}\" has no content", loaded.name))),
            (false, branch) => {
                let versions = self.versions(draft).await?;
                Ok(Source::Versions(Box::new(Versions { versions, branch })))
            }
        }
    }

    /// The versions of a draft that the remote lacks, with their files.
    pub(crate) async fn versions(&self, draft: &Draft) -> Result<Vec<packages::Version>, Error> {
        let mut versions = Vec::with_capacity(draft.unpushed.len());
        for version in &draft.unpushed {
            versions.push(packages::Version {
                content: self.inner.fetcher.blob(&version.content).await?,
                event: event_of(&version.task),
                task: Some(version.task.clone()),
                user: Person::user(&version.user),
                time: version.time,
            });
        }
        Ok(versions)
    }

    /// Asks the remote for something, and says in the words of the API why it was not done.
    pub(crate) async fn write(
        &self,
        registered: &Arc<Registered>,
        loaded: &Loaded,
        request: Request,
    ) -> Result<Done, Error> {
        let git = registered.git.clone();
        let label = request.label.clone();
        let done = blocking(move || git.write(request, &Silent)).await?;
        match done {
            Ok(done) => Ok(done),
            Err(WriteError::Unknown { cause }) => {
                self.inner.doubt.add([label]);
                self.show_doubt(loaded, Some(&cause.to_string())).await;
                self.settle_later(&loaded.namespace, &registered.name);
                let why = format!(
                    "what became of the push is not known, and is being found out; until then the package revision refuses changes: {cause}"
                );
                Err(Error::new(Reason::Unknown, loaded.name.as_str(), why))
            }
            Err(error) => Err(write_error(loaded.name.as_str(), &error)),
        }
    }

    /// What follows a push that has landed. Where its effects could not be written here, the note of it stays, and what it did is found
    /// out; until then the revision refuses changes.
    pub(crate) async fn after_landed<T>(
        &self,
        registered: &Registered,
        loaded: &Loaded,
        label: &str,
        written: Result<T, Error>,
    ) -> Result<T, Error> {
        let error = match written {
            Ok(value) => {
                self.inner.pushes.settled(label).await;
                return Ok(value);
            }
            Err(error) => error,
        };
        self.inner.doubt.add([label.to_owned()]);
        self.inner.pushes.unsettled(label);
        self.settle_later(&loaded.namespace, &registered.name);
        let why = format!(
            "the remote has done it, and it could not be written down here, which is tried again; until then the package revision refuses \
             changes: {error}"
        );
        self.show_doubt(loaded, Some(&why)).await;
        Err(Error::new(Reason::Unknown, loaded.name.as_str(), why))
    }

    /// Shows in the object that it is in doubt, or is not any more. What cannot be shown is tried no further: writes are refused all the same.
    pub(crate) async fn show_doubt(&self, loaded: &Loaded, why: Option<&str>) {
        let Ok(fresh) = self.load(&loaded.namespace, &loaded.name).await else { return };
        let mut object = fresh.object.clone();
        if doubt::show(&mut object, why) {
            let written = self.inner.store.commit(fresh.write_object(&object).into()).await;
            if let Err(error) = written {
                tracing::warn!(%error, name = %loaded.name, "the condition Publishing was not written");
            }
        }
    }

    /// One transaction: the revision is published, the one before is not the latest any more, the placeholder follows.
    async fn write_published(&self, loaded: &Loaded, landed: Landed) -> Result<Value, Error> {
        for _ in 0..MAX_ATTEMPTS {
            let fresh = match self.load(&loaded.namespace, &loaded.name).await {
                Ok(fresh) => fresh,
                Err(error) => return Err(error),
            };
            let (object, transaction) = self.published_transaction(&fresh, &landed).await?;
            match crate::engine::commit(self.inner.store.as_ref(), transaction, 0).await {
                Ok(revision) => {
                    self.note(&loaded.namespace, loaded.name.as_str());
                    return Ok(at(object, revision));
                }
                // The remote has it: whatever changed here meanwhile gives way, or has seen the same.
                Err(error) if is_overtaken(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::new(
            Reason::Unknown,
            loaded.name.as_str(),
            "it is published, and too many others wrote at the same time to show it here; the next look at the repository will",
        ))
    }

    async fn published_transaction(
        &self,
        loaded: &Loaded,
        landed: &Landed,
    ) -> Result<(Value, Transaction), Error> {
        let (namespace, name) = (&loaded.namespace, &loaded.name);
        let state = State {
            life: Life::Published(Published {
                number: landed.number,
                ref_name: landed.tag.clone(),
                commit: landed.commit,
                tree: landed.tree,
                deletion: Deletion::Unproposed,
                marked: Deletion::Unproposed,
            }),
            ..loaded.state.clone()
        };
        let id = PackageId::of(namespace, name)?;
        let change = Change::Published { name, number: landed.number.get() };
        let (Around { conditions, writes }, latest) =
            around(self.inner.store.as_ref(), &id, &change, landed.time).await?;
        let mut object = landed.asked.clone();
        object["spec"]["lifecycle"] = json!(Lifecycle::Published.as_str());
        object["spec"]["revision"] = json!(landed.number.get());
        object["status"]["selfLock"] = self_lock(&landed.registered, &state);
        object["status"]["publishedBy"] = json!(landed.user);
        object["status"]["publishTimestamp"] = object::time(landed.time);
        doubt::show(&mut object, None);
        set_latest(&mut object, latest);
        let mut all = vec![loaded.write_object(&object), loaded.write_state(&state)];
        all.extend(writes);
        all.extend(self.placeholder(loaded, landed, &object).await?);
        let mut seen = std::collections::BTreeSet::new();
        // The placeholder may be among those that are not the latest: it never was.
        all.retain(|write| seen.insert(write.key().clone()));
        Ok((object, Transaction { conditions, writes: all, blobs: Vec::new() }))
    }

    /// The placeholder of the package, which stands for what the branch has now.
    async fn placeholder(
        &self,
        loaded: &Loaded,
        landed: &Landed,
        object: &Value,
    ) -> Result<Vec<Write>, Error> {
        let registered = &landed.registered;
        let Ok(workspace) = lanai_types::WorkspaceName::imported(&registered.placeholder()) else {
            return Ok(Vec::new());
        };
        let Ok(name) = ObjectName::compose(loaded.name.repository(), loaded.name.package(), &workspace)
        else {
            return Ok(Vec::new());
        };
        if name == loaded.name {
            return Ok(Vec::new());
        }
        let store = self.inner.store.as_ref();
        let key = rows::revision_key(&loaded.namespace, &name);
        let state_key = rows::state_key(&loaded.namespace, &name);
        let (before, state_before) = (store.get(&key).await?, store.get(&state_key).await?);
        if let Some(stored) = &state_before
            && !matches!(rows::decode_state(stored)?.value.life, Life::Published(Published { number, .. }) if number.get() < 0)
        {
            // Somebody calls a workspace like the branch.
            return Ok(Vec::new());
        }
        let state = State {
            repository: name.repository().clone(),
            package: name.package().clone(),
            workspace,
            life: Life::Published(Published {
                number: RevisionNumber::UNNUMBERED,
                ref_name: registered.spec.layout.branch.ref_name().clone(),
                commit: landed.commit,
                tree: landed.tree,
                deletion: Deletion::Unproposed,
                marked: Deletion::Unproposed,
            }),
            render_status: None,
            conflicts: Conflicts::default(),
        };
        let spec = Spec::of(object)?;
        let conditions = loaded.object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let conditions = conditions
            .into_iter()
            .filter(|one| one["type"] != doubt::PUBLISHING && one["type"] != object::CONFLICTS);
        let facts = Facts {
            lifecycle: Lifecycle::Published,
            number: RevisionNumber::UNNUMBERED,
            tasks: spec.tasks,
            shown: Shown {
                package_metadata: spec.package_metadata.unwrap_or_default(),
                gates: spec.readiness_gates.unwrap_or_default(),
                conditions: conditions.collect(),
                upstream_lock: object["status"]["upstreamLock"].clone(),
            },
            self_lock: self_lock(registered, &state),
            published_by: Some(landed.user.clone()),
            published_at: Some(landed.time),
            deployment: registered.deployment,
            conflicts: Conflicts::default(),
            diverged: None,
        };
        let metadata = match &before {
            Some(stored) => rows::decode(stored)?["metadata"].clone(),
            None => found_metadata(&loaded.namespace, &name, landed.time),
        };
        let row = rows::encode_revision(&object::build(&metadata, &name, &facts));
        let write = |key, before: Option<lanai_store::Stored>, object| match before {
            Some(stored) => Write::Update { key, expected: stored.revision, object },
            None => Write::Create { key, object },
        };
        Ok(vec![write(key, before, row), write(state_key, state_before, state.to_object())])
    }
}

fn landed(
    registered: Arc<Registered>,
    loaded: &Loaded,
    done: &Done,
    user: String,
    time: Timestamp,
    asked: Value,
) -> Result<Landed, Error> {
    let broken = || Error::internal("a publication has no commit, number or content");
    let (commit, number) = (done.commit.ok_or_else(broken)?, done.revision.ok_or_else(broken)?);
    let tag =
        registered.spec.layout.tag_name(loaded.name.package(), &format!("v{number}")).ok_or_else(broken)?;
    let tree = loaded.state.draft().ok_or_else(broken)?.tree;
    Ok(Landed { registered, number, commit, tag, tree, user, time, asked })
}

/// A draft that went another way on the remote must be looked at first.
fn check_undiverged(name: &ObjectName, draft: &Draft) -> Result<(), Error> {
    let Some(commit) = draft.diverged else { return Ok(()) };
    let why = format!(
        "somebody else changed the branch of this draft on the remote (commit {commit}) while it was changed here; take over what you need, \
         then delete this revision or that branch"
    );
    Err(Error::new(Reason::Conflict, name.as_str(), why.clone()).because(
        "Diverged",
        why,
        "status.conditions",
    ))
}

/// What a client is told about a write to a remote that was not done.
pub(crate) fn write_error(name: &str, error: &WriteError) -> Error {
    match error {
        WriteError::Conflict(conflict) => {
            let reason = match conflict {
                Conflict::NoKptfile { .. } | Conflict::BadName { .. } => Reason::Invalid,
                Conflict::Moved { .. }
                | Conflict::NoBranch { .. }
                | Conflict::NoPackage { .. }
                | Conflict::Beside { .. }
                | Conflict::Occupied { .. }
                | Conflict::NoNumber { .. } => Reason::Conflict,
            };
            Error::new(reason, name, format!("the remote is not as expected: {conflict}"))
        }
        WriteError::Refused { .. } => Error::new(Reason::Forbidden, name, error.to_string()),
        WriteError::Contended { .. } => Error::new(Reason::Conflict, name, error.to_string()),
        // What is not found is the remote, and not the package revision.
        WriteError::Remote(cause) => Error { reason: Reason::Unavailable, ..remote_error(name, cause) },
        WriteError::Unknown { .. } => Error::new(Reason::Unknown, name, error.to_string()),
        _ => Error::internal(error),
    }
}
