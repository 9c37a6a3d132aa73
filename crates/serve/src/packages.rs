//! Package revisions in the API: the engine does their writes.

mod fields;
mod overlap;
mod status;

pub(crate) use overlap::Overlap;

use std::sync::Arc;

use async_trait::async_trait;
use lanai_api::{KindInfo, Verb};
use lanai_apiserver::{
    Backing, ContentIn, DryRun, FieldOperator, Registered, Registry, Status, Virtual, VirtualWrite, Written,
};
use lanai_engine::{Answer, Caller, Engine, Route};
use lanai_store::{Key, Requirement, Revision, Stored};
use lanai_types::{Namespace, ObjectName, Uid};
use serde_json::{Value, json};

/// Adds the kinds of packages.
///
/// # Errors
/// When their names cannot be those of rows.
pub(crate) fn register(registry: &mut Registry, engine: &Engine) -> Result<(), Status> {
    let [revisions, resources, packages] = lanai_api::kinds::packages::all().map(Arc::new);
    let add = |registry: &mut Registry, info: Arc<KindInfo>, kept: Arc<dyn Virtual>, rows: Option<&str>| {
        let registered = Registered::new(info, Backing::Virtual(kept))?;
        registry.insert(match rows {
            Some(rows) => registered.over_rows_of(rows)?,
            None => registered,
        });
        Ok::<_, Status>(())
    };
    add(registry, revisions, Arc::new(Revisions(engine.clone())), None)?;
    let rows = Some(lanai_engine::rows::REVISIONS);
    add(registry, resources, Arc::new(Resources(engine.clone())), rows)?;
    add(registry, packages, Arc::new(Packages(engine.clone())), None)
}

/// Package revisions.
struct Revisions(Engine);

/// Their files.
struct Resources(Engine);

/// Packages, which nobody writes.
struct Packages(Engine);

fn caller(write: &VirtualWrite) -> Caller {
    let dry_run = match write.dry_run {
        DryRun::All => lanai_engine::DryRun::Yes,
        DryRun::No => lanai_engine::DryRun::No,
    };
    Caller { user: write.identity.user.clone(), dry_run }
}

fn namespace(raw: &str) -> Result<Namespace, Status> {
    raw.parse().map_err(|_| Status::bad_request(format!("\"{raw}\" is no namespace")))
}

fn name(raw: &str) -> Result<ObjectName, Status> {
    raw.parse().map_err(|error: lanai_types::object_name::Error| Status::bad_request(error.to_string()))
}

fn written(answer: Answer) -> Written {
    Written { object: answer.object, warnings: answer.warnings }
}

/// Says to whoever came too late that somebody else was there a moment ago.
fn explain(engine: &Engine, key: &Key, status: Status) -> Status {
    match engine.was_just_written(key.namespace(), key.name()) {
        Some(said) if !status.message.contains(&said) => status::concurrent(status, said),
        Some(_) | None => status,
    }
}

fn version(object: &Value) -> String {
    object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned()
}

#[async_trait]
impl Virtual for Revisions {
    fn prepare(&self, raw: &str, object: &mut Value) -> Result<(), Status> {
        let name = self.0.name_of(object).map_err(|error| status::of(&error))?;
        let namespace = namespace(raw)?;
        object["metadata"]["name"] = json!(name.as_str());
        object["metadata"]["uid"] = json!(Uid::of_package_revision(&namespace, &name).to_string());
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.shift_remove("generateName");
        }
        Ok(())
    }

    fn field(
        &self,
        field: &str,
        operator: FieldOperator,
        value: &str,
    ) -> Result<Option<Requirement>, Status> {
        fields::requirement(field, operator, value)
    }

    fn explain(&self, key: &Key, status: Status) -> Status {
        explain(&self.0, key, status)
    }

    async fn create(&self, write: VirtualWrite, object: Value) -> Result<Written, Status> {
        let namespace = namespace(write.key.namespace())?;
        let made = self.0.create(&caller(&write), &namespace, object).await;
        made.map(written).map_err(|error| status::of(&error))
    }

    async fn update(&self, write: VirtualWrite, old: Value, new: Value) -> Result<Written, Status> {
        let (namespace, name) = (namespace(write.key.namespace())?, name(write.key.name())?);
        let route = match write.subresource.as_deref() {
            Some("approval") => Route::Approval,
            _ => Route::Main,
        };
        let changed = self.0.update(&caller(&write), &namespace, &name, route, &old, new).await;
        changed.map(written).map_err(|error| status::of(&error))
    }

    async fn delete(&self, write: VirtualWrite, old: Value) -> Result<(), Status> {
        let (namespace, name) = (namespace(write.key.namespace())?, name(write.key.name())?);
        let gone = self.0.delete(&caller(&write), &namespace, &name, &version(&old)).await;
        gone.map_err(|error| status::of(&error))
    }

    async fn unregister(&self, raw: &str) -> Result<(), Status> {
        self.0.unregister_namespace(&namespace(raw)?).await.map_err(|error| status::of(&error))
    }
}

#[async_trait]
impl Virtual for Resources {
    fn content(&self) -> ContentIn {
        ContentIn::Elsewhere
    }

    async fn read(&self, stored: &Stored, revision: Revision) -> Result<Value, Status> {
        let object = lanai_apiserver::row::decode_at(stored, revision)?;
        let read = self.0.resources(&namespace(stored.key.namespace())?, &object).await;
        read.map_err(|error| status::of(&error))
    }

    fn field(
        &self,
        field: &str,
        operator: FieldOperator,
        value: &str,
    ) -> Result<Option<Requirement>, Status> {
        fields::requirement(field, operator, value)
    }

    fn not_allowed(&self, verb: Verb) -> Status {
        status::not_allowed("packagerevisionresources", verb)
    }

    fn explain(&self, key: &Key, status: Status) -> Status {
        explain(&self.0, key, status)
    }

    async fn create(&self, _: VirtualWrite, _: Value) -> Result<Written, Status> {
        Err(Status::method_not_allowed())
    }

    async fn update(&self, write: VirtualWrite, old: Value, new: Value) -> Result<Written, Status> {
        let (namespace, name) = (namespace(write.key.namespace())?, name(write.key.name())?);
        let saved = self.0.save(&caller(&write), &namespace, &name, &old, &new).await;
        saved.map(written).map_err(|error| status::of(&error))
    }

    async fn delete(&self, _: VirtualWrite, _: Value) -> Result<(), Status> {
        Err(Status::method_not_allowed())
    }

    async fn unregister(&self, _: &str) -> Result<(), Status> {
        Ok(())
    }
}

#[async_trait]
impl Virtual for Packages {
    fn not_allowed(&self, verb: Verb) -> Status {
        status::not_allowed("packages", verb)
    }

    async fn create(&self, _: VirtualWrite, _: Value) -> Result<Written, Status> {
        Err(self.not_allowed(Verb::Create))
    }

    async fn update(&self, _: VirtualWrite, _: Value, _: Value) -> Result<Written, Status> {
        Err(self.not_allowed(Verb::Update))
    }

    async fn delete(&self, _: VirtualWrite, _: Value) -> Result<(), Status> {
        Err(self.not_allowed(Verb::Delete))
    }

    async fn unregister(&self, raw: &str) -> Result<(), Status> {
        self.0.unregister_namespace(&namespace(raw)?).await.map_err(|error| status::of(&error))
    }
}
