//! Deleting revisions.

use lanai_repository::packages::{Mark, Operation, Person, Request};
use lanai_store::{Condition, Key, Presence, Transaction, Write};
use lanai_types::lifecycle::{self, Event, Refused, Route};
use lanai_types::{Namespace, ObjectName};

use crate::bounds::Conflicts;
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
        let guard = self.check_deletable(&loaded).await?;
        if caller.dry_run == DryRun::Yes {
            return Ok(());
        }
        match loaded.state.life.clone() {
            Life::Draft(draft) => {
                let engine = self.clone();
                self.finish(async move { engine.delete_draft(loaded, &draft, guard, held).await }).await
            }
            Life::Published(published) => self.delete_published(caller, loaded, published, guard, held).await,
            Life::Deleted(_) => Err(Error::not_found(name.as_str())),
        }
    }

    /// Its lifecycle and those who came from it must allow it; what must still hold when it goes.
    pub(crate) async fn check_deletable(&self, loaded: &Loaded) -> Result<Guard, Error> {
        let state = lifecycle_of(&loaded.object)?;
        lifecycle::step(state, &Event::Delete, Route::Main).map_err(|refused: Refused| {
            Error::new(Reason::Forbidden, loaded.name.as_str(), refused.to_string())
        })?;
        self.unreferenced(loaded).await
    }

    /// Nobody may have come from it; what must still hold when it goes.
    async fn unreferenced(&self, loaded: &Loaded) -> Result<Guard, Error> {
        let store = self.inner.store.as_ref();
        let guard = self.guard(loaded).await?;
        let fields = [(rows::UPSTREAM, loaded.name.as_str())];
        let found =
            rows::list(store, rows::with_fields(&rows::REVISION, &loaded.namespace, &fields)?).await?;
        let is_real = |stored: &&std::sync::Arc<lanai_store::Stored>| {
            stored.object.attributes.field("spec.revision").is_none_or(|number| number != "-1")
                && stored.key.name() != loaded.name.as_str()
        };
        if let Some(other) = found.iter().find(is_real) {
            let text = format!(
                "cannot delete package revision, it is referenced as upstream by: {}",
                other.key.name()
            );
            return Err(Error::new(Reason::Forbidden, loaded.name.as_str(), text));
        }
        Ok(guard)
    }

    async fn guard(&self, loaded: &Loaded) -> Result<Guard, Error> {
        let key = rows::guard_key(&loaded.namespace, loaded.name.as_str());
        let revision = self.inner.store.get(&key).await?.map(|stored| stored.revision);
        Ok(Guard { key, revision })
    }

    /// One transaction before the remote is asked to delete something: from here on nobody begins to refer to it.
    async fn reserve(&self, loaded: &Loaded, guard: Guard) -> Result<Guard, Error> {
        let Guard { key, revision } = guard;
        let object = rows::being_deleted();
        let write = match revision {
            None => Write::Create { key: key.clone(), object },
            Some(expected) => Write::Update { key: key.clone(), expected, object },
        };
        let transaction =
            Transaction { conditions: vec![loaded.holds()], writes: vec![write], blobs: Vec::new() };
        let revision = crate::engine::commit(self.inner.store.as_ref(), transaction, 0).await?;
        Ok(Guard { key, revision: Some(revision) })
    }

    /// A deletion is over, or never was: whoever wants may refer to the revision again, if it is there.
    pub(crate) async fn let_go(&self, namespace: &Namespace, name: &ObjectName) -> Result<(), Error> {
        self.let_row_go(&rows::guard_key(namespace, name.as_str())).await
    }

    async fn let_row_go(&self, key: &Key) -> Result<(), Error> {
        let store = self.inner.store.as_ref();
        for _ in 0..MAX_ATTEMPTS {
            let stored = store.get(key).await?;
            let Some(stored) = stored.filter(rows::is_being_deleted) else { return Ok(()) };
            let write = Write::Delete { key: key.clone(), expected: stored.revision };
            match crate::engine::commit(store, write.into(), 0).await {
                Err(error) if is_overtaken(&error) => {}
                other => return other.map(|_| ()),
            }
        }
        Err(Error::modified(key.name()))
    }

    /// Deletions of an earlier process that never came to their push are over. Of those that did, it is being found out what became of them.
    pub(crate) async fn let_all_go(&self) -> Result<(), Error> {
        let filter = rows::everywhere(&rows::GUARD, &[(rows::DELETING, "true")]);
        for stored in rows::list(self.inner.store.as_ref(), filter).await? {
            let Ok(namespace) = stored.key.namespace().parse::<Namespace>() else { continue };
            if self.inner.doubt.check(&namespace, stored.key.name()).is_ok() {
                self.let_row_go(&stored.key).await?;
            }
        }
        Ok(())
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
            life: Life::Deleted(Deleted::of(draft)),
            render_status: None,
            conflicts: Conflicts::default(),
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
                    let fresh = match self.load(&namespace, &name).await {
                        // What the remote has deleted is gone; a look at it was faster.
                        Err(error) if error.reason == Reason::NotFound && tombstone.is_none() => {
                            self.note(&namespace, name.as_str());
                            return self.let_go(&namespace, &name).await;
                        }
                        fresh => fresh?,
                    };
                    if tombstone.is_some() && fresh.revision != loaded.revision {
                        let error =
                            Error::new(Reason::Overtaken, name.as_str(), "the object has been modified");
                        return Err(self.lost(&namespace, name.as_str(), error));
                    }
                    loaded = fresh;
                    guard = match tombstone {
                        Some(_) => self.unreferenced(&loaded).await?,
                        // What the remote has deleted is gone.
                        None => self.guard(&loaded).await?,
                    };
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
        guard: Guard,
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
            let guard = engine.reserve(&loaded, guard).await?;
            if let Err(error) = engine.write(&registered, &loaded, request).await {
                // While nobody knows, nobody begins to refer to it.
                if error.reason != Reason::Unknown {
                    engine.let_go(&loaded.namespace, &name).await?;
                }
                return Err(error);
            }
            let gone = match engine.load(&loaded.namespace, &name).await {
                // A look at the remote was faster.
                Err(error) if error.reason == Reason::NotFound => {
                    engine.let_go(&loaded.namespace, &name).await
                }
                Err(error) => Err(error),
                Ok(fresh) => engine.write_gone(fresh, None, guard).await,
            };
            engine.after_landed(&registered, &loaded, &label, gone).await
        })
        .await
    }
}

/// What moves when somebody begins to refer to a revision.
pub(crate) struct Guard {
    key: Key,
    revision: Option<lanai_store::Revision>,
}

impl Guard {
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
    let deleted = match &now.life {
        Life::Draft(draft) => Deleted::of(draft),
        Life::Deleted(deleted) => deleted.clone(),
        Life::Published(_) => Deleted::default(),
    };
    State { life: Life::Deleted(deleted), ..tombstone.clone() }
}
