//! What all verbs share.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use lanai_api::Version;
use lanai_store::{Condition, Key, Kind, Object, Presence, Revision, Store, Stored, Write};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::accept::Accept;
use crate::authorize::Delegate;
use crate::follower::Follower;
use crate::identity::Identity;
use crate::kinds::Special;
use crate::limits::Limits;
use crate::meta;
use crate::path::ResourcePath;
use crate::query::{Query, WriteOptions};
use crate::registry::Registered;
use crate::row;
use crate::status::Status;
use crate::view::{Include, View};

/// How often a write begins again because somebody else was faster.
pub const MAX_ATTEMPTS: usize = 32;

/// The rows that definitions of one group change together with themselves. No kind can have this name.
const NAMES: &str = "-names";

/// What time it is.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Where unforeseeable bytes come from.
pub type Chance = Arc<dyn Fn(&mut [u8]) + Send + Sync>;

/// What all verbs share.
pub struct Core {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) follower: Follower,
    pub(crate) delegate: Option<Arc<dyn Delegate>>,
    pub(crate) clock: Clock,
    pub(crate) chance: Chance,
    pub(crate) limits: Limits,
    pub(crate) ending: CancellationToken,
}

/// A request for objects, understood and allowed.
pub(crate) struct Call {
    pub identity: Identity,
    pub path: ResourcePath,
    pub kind: Arc<Registered>,
    pub query: Query,
    pub options: WriteOptions,
    /// The program, for managed fields where nobody is named.
    pub agent: String,
    pub accept: Accept,
    pub content_type: String,
    pub body: Bytes,
    pub now: Timestamp,
}

impl Call {
    pub fn view(&self) -> Result<View, Status> {
        let include = Include::of(&self.query)?;
        let version = self.path.gv.version.clone();
        Ok(View { accept: self.accept, kind: self.kind.clone(), version, include, now: self.now })
    }

    pub fn version(&self) -> Result<&Version, Status> {
        self.kind.served(&self.path.gv.version).ok_or_else(Status::no_such_path)
    }

    pub fn name(&self) -> Result<&str, Status> {
        self.path.name.as_deref().ok_or_else(Status::method_not_allowed)
    }

    pub fn namespace(&self) -> Option<&str> {
        self.path.namespace.as_deref()
    }

    /// Who writes, as managed fields name them.
    pub fn writer(&self) -> lanai_apply::Writer<'_> {
        let manager = self.options.manager.as_deref().unwrap_or(&self.agent);
        lanai_apply::Writer { manager, sub_resource: self.path.subresource.as_deref(), now: self.now }
    }

    /// The object in the version in which it is stored.
    pub fn to_storage(&self, object: Value) -> Value {
        self.kind.stored(object)
    }
}

impl Core {
    pub(crate) async fn find(&self, call: &Call) -> Result<Arc<Stored>, Status> {
        let name = call.name()?;
        let key = call.kind.key(call.namespace(), name)?;
        let found = self.store.get(&key).await?;
        found.map(Arc::new).ok_or_else(|| Status::not_found(&call.kind.resource(), name))
    }

    /// What must still hold when something is created in a namespace: that it is as it was, and not on its way out.
    pub(crate) async fn namespace_holds(&self, call: &Call, name: &str) -> Result<Option<Condition>, Status> {
        let Some(namespace) = call.namespace() else { return Ok(None) };
        let stored = self.namespace(namespace).await?;
        if meta::is_terminating(&row::decode(&stored)?) {
            let why = format!(
                "unable to create new content in namespace {namespace} because it is being terminated"
            );
            return Err(Status::forbidden(&call.kind.resource(), name, &why).because(
                "NamespaceTerminating",
                format!("namespace {namespace} is being terminated"),
                "metadata.namespace",
            ));
        }
        Ok(Some(Condition::Presence { key: stored.key, expected: Presence::At(stored.revision) }))
    }

    /// Whether a namespace is on its way out.
    pub(crate) async fn is_ending(&self, namespace: &str) -> Result<bool, Status> {
        Ok(meta::is_terminating(&row::decode(&self.namespace(namespace).await?)?))
    }

    async fn namespace(&self, name: &str) -> Result<Stored, Status> {
        let registry = &self.follower.snapshot().registry;
        let kind = registry.all().find(|kind| kind.special == Special::Namespace);
        let kind = kind.ok_or_else(|| Status::internal("namespaces are not served"))?;
        let found = self.store.get(&kind.key(None, name)?).await?;
        found.ok_or_else(|| Status::not_found(&kind.resource(), name))
    }

    /// What the write of a definition takes along, so that no two of one group get the same names at the same moment: a row of the group that each of
    /// them changes. The snapshot has all that was written before.
    pub(crate) async fn claim_names(&self, call: &Call, object: &Value) -> Result<Option<Write>, Status> {
        let group = object["spec"]["group"].as_str().unwrap_or_default();
        if call.kind.special != Special::Definition || group.is_empty() {
            return Ok(None);
        }
        let key = Key::new(&Kind::new(NAMES)?, "", group)?;
        let found = self.store.get(&key).await?;
        self.follower.newest().await?;
        let object = Object { value: "{}".into(), ..Object::default() };
        Ok(Some(match found {
            Some(stored) => Write::Update { key, expected: stored.revision, object },
            None => Write::Create { key, object },
        }))
    }

    /// What is written together with an object, if somebody looks at objects of its kind.
    pub(crate) async fn admit(
        &self,
        call: &Call,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<Option<Write>, Status> {
        match &call.kind.admission {
            Some(admission) => admission.admit(self.store.as_ref(), new, old).await,
            None => Ok(None),
        }
    }

    /// Waits until the snapshot has what was written, if it is about such things.
    pub(crate) async fn settle(&self, kind: &Registered, revision: Revision) {
        if kind.special.is_followed() {
            self.follower.reach(revision).await;
        }
    }

    /// A random text of letters and digits that cannot become words.
    pub(crate) fn suffix(&self) -> String {
        const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut bytes = [0; 5];
        (self.chance)(&mut bytes);
        bytes.iter().map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])).collect()
    }

    pub(crate) fn new_uid(&self) -> String {
        let mut bytes = [0; 16];
        (self.chance)(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }
}
