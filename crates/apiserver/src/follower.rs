//! What requests look up, kept up to date by one watch.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use lanai_api::KindInfo;
use lanai_store::{
    Change, Error, Filter, ListRequest, Prefix, Revision, Signal, Store, Stored, WatchRequest,
};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::documents::Documents;
use crate::kinds::Special;
use crate::policy::{Policy, RoleRef};
use crate::registry::{Backing, Registered, Registry};
use crate::row;
use crate::status::Status;

/// The kinds that are served and who may do what, as of a revision.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// All that was written up to here is in it.
    pub revision: Revision,
    /// The kinds.
    pub registry: Arc<Registry>,
    /// The rules.
    pub policy: Arc<Policy>,
    /// What clients read about the kinds.
    pub documents: Arc<Documents>,
}

/// Makes a kind from an object that defines one; none while it is not established.
pub type Define = fn(&Value) -> Option<KindInfo>;

/// The kind of a definition whose names were accepted and that is established.
pub fn define(object: &Value) -> Option<KindInfo> {
    let conditions = object["status"]["conditions"].as_array()?;
    let is_true = |kind: &str| conditions.iter().any(|one| one["type"] == kind && one["status"] == "True");
    if !is_true("Established") || !is_true("NamesAccepted") {
        return None;
    }
    let mut kind = lanai_api::crd::kind(object).ok()?;
    if crate::meta::is_terminating(object) {
        // Its objects are being deleted.
        kind.verbs.retain(|verb| *verb != lanai_api::Verb::Create);
    }
    Some(kind)
}

/// Keeps a [`Snapshot`] up to date.
pub struct Follower {
    store: Arc<dyn Store>,
    current: Arc<RwLock<Snapshot>>,
    position: watch::Receiver<Revision>,
}

/// What the follower knows of each row that it follows.
struct Known {
    /// The kinds that are always there.
    base: Registry,
    define: Define,
    definitions: BTreeMap<String, Registered>,
    registry: Arc<Registry>,
    policy: Arc<Policy>,
    documents: Arc<Documents>,
}

impl Follower {
    /// Reads what is there, and follows it in a task that ends with the token.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn start(
        store: Arc<dyn Store>,
        base: Registry,
        define: Define,
        ending: CancellationToken,
    ) -> Result<(Self, tokio::task::JoinHandle<()>), Status> {
        let mut known = Known {
            registry: Arc::new(base.clone()),
            base,
            define,
            definitions: BTreeMap::new(),
            policy: Arc::new(Policy::default()),
            documents: Arc::default(),
        };
        let revision = known.read(store.as_ref()).await?;
        let current = Arc::new(RwLock::new(known.snapshot(revision)));
        let (told, position) = watch::channel(revision);
        let follower = Self { store: store.clone(), current: current.clone(), position };
        let task = tokio::spawn(async move {
            tokio::select! {
                () = ending.cancelled() => {}
                () = known.follow(store.as_ref(), &current, &told) => {}
            }
        });
        Ok((follower, task))
    }

    /// As it is now.
    pub fn snapshot(&self) -> Snapshot {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until a revision is in the snapshot, or nobody follows any more.
    pub async fn reach(&self, revision: Revision) {
        let _ = self.position.clone().wait_for(|position| *position >= revision).await;
    }

    /// A snapshot with all that was written before this was asked.
    ///
    /// # Errors
    /// When the store cannot be asked.
    pub async fn newest(&self) -> Result<Snapshot, Status> {
        let current = self.store.current().await?;
        self.reach(current).await;
        Ok(self.snapshot())
    }
}

impl Known {
    fn snapshot(&self, revision: Revision) -> Snapshot {
        Snapshot {
            revision,
            registry: self.registry.clone(),
            policy: self.policy.clone(),
            documents: self.documents.clone(),
        }
    }

    /// Reads all from the beginning.
    async fn read(&mut self, store: &dyn Store) -> Result<Revision, Error> {
        self.definitions.clear();
        self.policy = Arc::new(Policy::default());
        let revision = store.current().await?;
        let kinds: Vec<Registered> = self
            .base
            .all()
            .filter(|kind| kind.special.is_followed())
            .map(|kind| Registered::clone(kind))
            .collect();
        for kind in kinds {
            let mut request = ListRequest::all(Filter::under(Prefix::kind(&kind.rows)));
            request.at = lanai_store::At::Revision(revision);
            for stored in store.list(&request).await?.items {
                self.take(&kind, &stored, Presence::There);
            }
        }
        self.rebuild();
        Ok(revision)
    }

    async fn follow(
        &mut self,
        store: &dyn Store,
        current: &RwLock<Snapshot>,
        told: &watch::Sender<Revision>,
    ) {
        let mut revision = *told.borrow();
        loop {
            let Err(error) = self.tail(store, revision, current, told).await;
            tracing::warn!(%error, "what is served is read again");
            // A store that cannot be asked is asked again when somebody waits long enough; without it nothing works anyway.
            revision = loop {
                match self.read(store).await {
                    Ok(revision) => break revision,
                    Err(error) => {
                        tracing::error!(%error, "what is served cannot be read");
                        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                    }
                }
            };
            self.publish(revision, current, told);
        }
    }

    async fn tail(
        &mut self,
        store: &dyn Store,
        from: Revision,
        current: &RwLock<Snapshot>,
        told: &watch::Sender<Revision>,
    ) -> Result<std::convert::Infallible, Error> {
        let mut request = WatchRequest::after(from, Filter::everything());
        request.bookmarks = lanai_store::Bookmarks::Never;
        let mut watch = store.watch(request).await?;
        loop {
            let Signal::Event(event) = watch.next().await? else { continue };
            let subject = event.change.subject();
            let kind = self
                .base
                .all()
                .find(|kind| kind.special.is_followed() && kind.rows.as_str() == subject.key.kind());
            if let Some(kind) = kind.cloned() {
                let presence = match &event.change {
                    Change::Created { .. } | Change::Updated { .. } => Presence::There,
                    Change::Deleted { .. } => Presence::Gone,
                };
                self.take(&kind, subject, presence);
                if kind.special == Special::Definition {
                    self.rebuild();
                }
            }
            self.publish(event.revision, current, told);
        }
    }

    fn publish(&self, revision: Revision, current: &RwLock<Snapshot>, told: &watch::Sender<Revision>) {
        *current.write().unwrap_or_else(PoisonError::into_inner) = self.snapshot(revision);
        told.send_replace(revision);
    }

    fn take(&mut self, kind: &Registered, stored: &Stored, presence: Presence) {
        let object = match (presence, row::decode(stored)) {
            (Presence::Gone, _) => None,
            (Presence::There, Ok(object)) => Some(object),
            (Presence::There, Err(error)) => {
                tracing::error!(key = %stored.key, %error, "a row cannot be read");
                None
            }
        };
        let (namespace, name) = (stored.key.namespace().to_owned(), stored.key.name().to_owned());
        let policy = Arc::make_mut(&mut self.policy);
        match kind.special {
            Special::Role => policy.set_role(RoleRef::Role { namespace, name }, object.as_ref()),
            Special::ClusterRole => policy.set_role(RoleRef::ClusterRole { name }, object.as_ref()),
            Special::RoleBinding => policy.set_binding(Some(&namespace), &name, object.as_ref()),
            Special::ClusterRoleBinding => policy.set_binding(None, &name, object.as_ref()),
            Special::Definition => {
                let defined = object.as_ref().and_then(self.define);
                let registered =
                    defined.and_then(|info| Registered::new(Arc::new(info), Backing::Stored).ok());
                match registered {
                    Some(registered) => self.definitions.insert(name, registered),
                    None => self.definitions.remove(&name),
                };
            }
            Special::No
            | Special::Namespace
            | Special::Secret
            | Special::ConfigMap
            | Special::ServiceAccount
            | Special::Event
            | Special::Lease => {}
        }
    }

    fn rebuild(&mut self) {
        let mut registry = self.base.clone();
        for registered in self.definitions.values() {
            // What comes with the server cannot be replaced from outside.
            if registry.find_resource(&registered.info.group, &registered.info.names.plural).is_none() {
                registry.insert(registered.clone());
            }
        }
        self.registry = Arc::new(registry);
        self.documents = Arc::new(self.documents.next());
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    There,
    Gone,
}
