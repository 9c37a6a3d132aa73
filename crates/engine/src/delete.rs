//! Deleting revisions.

use lanai_repository::packages::{Mark, Operation, Person, Request};
use lanai_store::{Condition, Presence, Transaction, Write};
use lanai_types::lifecycle::{self, Event, Refused, Route};
use lanai_types::{Namespace, ObjectName};

use crate::doubt;
use crate::engine::{Caller, DryRun, Engine, Loaded, MAX_ATTEMPTS, is_overtaken};
use crate::error::{Error, Reason};
use crate::fetch::lifecycle as lifecycle_of;
use crate::locks::Held;
use crate::packages::{Around, Change, PackageId, around};
use crate::rows;
use crate::state::{Deleted, Draft, Life, Published, State};

impl Engine {
    /// Deletes a revision: a draft at once, what is published when the remote has done it.
    ///
    /// # Errors
    /// What the lifecycle refuses, what others came from, what the remote refuses.
    pub async fn delete(
        &self,
        caller: &Caller,
        namespace: &Namespace,
        name: &ObjectName,
        version: &str,
    ) -> Result<(), Error> {
        let held = self.inner.requests.lock(&format!("{namespace}/{name}")).await;
        self.inner.doubt.check(namespace, name.as_str())?;
        let loaded = self.load(namespace, name).await?;
        if version != loaded.revision.to_string() {
            let error = Error::new(Reason::Overtaken, name.as_str(), "the object has been modified");
            return Err(self.lost(namespace, name.as_str(), error));
        }
        let state = lifecycle_of(&loaded.object)?;
        lifecycle::step(state, &Event::Delete, Route::Main)
            .map_err(|refused: Refused| Error::new(Reason::Forbidden, name.as_str(), refused.to_string()))?;
        let guard = self.unreferenced(&loaded).await?;
        if caller.dry_run == DryRun::Yes {
            return Ok(());
        }
        match loaded.state.life.clone() {
            Life::Draft(draft) => {
                let engine = self.clone();
                self.finish(async move { engine.delete_draft(loaded, &draft, guard, held).await }).await
            }
            Life::Published(published) => self.delete_published(caller, loaded, published, held).await,
            Life::Deleted(_) => Err(Error::not_found(name.as_str())),
        }
    }

    /// Nobody may have come from it; what must still hold when it goes.
    async fn unreferenced(&self, loaded: &Loaded) -> Result<Guard, Error> {
        let store = self.inner.store.as_ref();
        let key = rows::guard_key(&loaded.namespace, loaded.name.as_str());
        let guard = store.get(&key).await?.map(|stored| stored.revision);
        let fields = [(rows::UPSTREAM, loaded.name.as_str())];
        let found =
            rows::list(store, rows::with_fields(&rows::REVISION, &loaded.namespace, &fields)?).await?;
        let is_real = |stored: &&lanai_store::Stored| {
            stored.object.attributes.fields.get("spec.revision").is_none_or(|number| number != "-1")
                && stored.key.name() != loaded.name.as_str()
        };
        if let Some(other) = found.iter().find(is_real) {
            let text = format!(
                "cannot delete package revision, it is referenced as upstream by: {}",
                other.key.name()
            );
            return Err(Error::new(Reason::Forbidden, loaded.name.as_str(), text));
        }
        Ok(Guard { key, revision: guard })
    }

    async fn delete_draft(
        &self,
        loaded: Loaded,
        draft: &Draft,
        guard: Guard,
        held: Held,
    ) -> Result<(), Error> {
        let _held = held;
        // The remote may have its branch, or is just getting it. The state stays until the outbox has seen to that.
        let state = State {
            life: Life::Deleted(Deleted { pushed: draft.pushed }),
            render_status: None,
            conflicts: Vec::new(),
            ..loaded.state.clone()
        };
        self.write_gone(loaded, Some(state), guard).await
    }

    /// One transaction makes a revision vanish.
    async fn write_gone(
        &self,
        mut loaded: Loaded,
        tombstone: Option<State>,
        mut guard: Guard,
    ) -> Result<(), Error> {
        let store = self.inner.store.as_ref();
        let (namespace, name) = (loaded.namespace.clone(), loaded.name.clone());
        let id = PackageId::of(&namespace, &name)?;
        for _ in 0..MAX_ATTEMPTS {
            let (Around { mut conditions, mut writes }, _) =
                around(store, &id, &Change::Gone { name: &name }, self.now()).await?;
            writes.insert(
                0,
                Write::Delete { key: rows::revision_key(&namespace, &name), expected: loaded.revision },
            );
            writes.push(match &tombstone {
                Some(state) => loaded.write_state(&with_newest(state, &loaded.state)),
                None => {
                    Write::Delete { key: rows::state_key(&namespace, &name), expected: loaded.state_revision }
                }
            });
            guard.add(&mut conditions, &mut writes);
            let transaction = Transaction { conditions, writes, blobs: Vec::new() };
            match crate::engine::commit(store, transaction, 0).await {
                Ok(_) => {
                    self.note(&namespace, name.as_str());
                    self.kick(&namespace, name.repository());
                    return Ok(());
                }
                Err(error) if is_overtaken(&error) => {
                    let fresh = self.load(&namespace, &name).await?;
                    if tombstone.is_some() && fresh.revision != loaded.revision {
                        let error =
                            Error::new(Reason::Overtaken, name.as_str(), "the object has been modified");
                        return Err(self.lost(&namespace, name.as_str(), error));
                    }
                    loaded = fresh;
                    guard = self.unreferenced(&loaded).await.or_else(|error| {
                        // What the remote has deleted is gone, whoever refers to it by now.
                        if tombstone.is_none() { Ok(Guard::none(&loaded)) } else { Err(error) }
                    })?;
                }
                Err(error) => return Err(error),
            }
        }
        Err(Error::modified(name.as_str()))
    }

    async fn delete_published(
        &self,
        caller: &Caller,
        loaded: Loaded,
        published: Published,
        held: Held,
    ) -> Result<(), Error> {
        let name = loaded.name.clone();
        let registered = self.inner.repositories.find(&loaded.namespace, name.repository().as_str()).await?;
        let talk = self.inner.talks.lock(&format!("{}/{name}", loaded.namespace)).await;
        let is_placeholder = published.ref_name == *registered.spec.layout.branch.ref_name();
        let what = if is_placeholder {
            Operation::DeletePlaceholder(name.package().clone())
        } else {
            let last = published.ref_name.as_str().rsplit('/').next().unwrap_or_default().to_owned();
            Operation::DeleteRevision(Mark { package: name.package().clone(), last, at: published.commit })
        };
        let (engine, user) = (self.clone(), caller.user.clone());
        self.finish(async move {
            let _both = (held, talk);
            let label = doubt::label(&loaded.namespace, name.as_str());
            let time = engine.now().as_second();
            let request = Request { what, user: Person::user(&user), time, label: label.clone() };
            engine.write(&registered, &loaded, request).await?;
            let guard = Guard::none(&loaded);
            let fresh = match engine.load(&loaded.namespace, &name).await {
                // A look at the remote was faster.
                Err(error) if error.reason == Reason::NotFound => return Ok(()),
                other => other?,
            };
            let gone = engine.write_gone(fresh, None, guard).await;
            engine.inner.pushes.settled(&label).await;
            gone
        })
        .await
    }
}

/// What moves when somebody begins to refer to a revision.
struct Guard {
    key: lanai_store::Key,
    revision: Option<lanai_store::Revision>,
}

impl Guard {
    /// Nothing that must hold.
    fn none(loaded: &Loaded) -> Self {
        // The key of something that nobody refers to by this name.
        Self { key: rows::guard_key(&loaded.namespace, &format!("gone.{}", loaded.name)), revision: None }
    }

    fn add(&self, conditions: &mut Vec<Condition>, writes: &mut Vec<Write>) {
        match self.revision {
            None => {
                conditions.push(Condition::Presence { key: self.key.clone(), expected: Presence::Absent });
            }
            Some(expected) => writes.push(Write::Delete { key: self.key.clone(), expected }),
        }
    }
}

/// A tombstone with what the outbox wrote last.
fn with_newest(tombstone: &State, now: &State) -> State {
    let pushed = match &now.life {
        Life::Draft(draft) => draft.pushed,
        Life::Deleted(deleted) => deleted.pushed,
        Life::Published(_) => None,
    };
    State { life: Life::Deleted(Deleted { pushed }), ..tombstone.clone() }
}
