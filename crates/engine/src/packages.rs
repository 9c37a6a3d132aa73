//! The rows of packages, and which revision of a package is the latest.

use jiff::Timestamp;
use lanai_store::{Condition, Presence, Store, Write};
use lanai_types::{Namespace, ObjectName, PackageName, PackageObjectName, RepositoryName};
use serde_json::{Value, json};

use crate::error::{Error, Reason};
use crate::object::{API_VERSION, Latest, set_latest, time};
use crate::rows;

/// A package, by its names.
#[derive(Debug, Clone)]
pub(crate) struct PackageId {
    pub(crate) namespace: Namespace,
    pub(crate) repository: RepositoryName,
    pub(crate) package: PackageName,
    pub(crate) name: PackageObjectName,
}

impl PackageId {
    /// The package of a revision.
    pub(crate) fn of(namespace: &Namespace, revision: &ObjectName) -> Result<Self, Error> {
        Self::new(namespace, revision.repository(), revision.package())
    }

    fn object(&self, now: Timestamp, latest: Option<i64>) -> Value {
        let uid = lanai_types::Uid::of_package(&self.namespace, &self.name).to_string();
        let status = latest.map_or_else(|| json!({}), |number| json!({ "latestRevision": number }));
        json!({
            "apiVersion": API_VERSION, "kind": "PorchPackage",
            "metadata": {"name": self.name.as_str(), "namespace": self.namespace.as_str(), "uid": uid, "creationTimestamp": time(now)},
            "spec": {"packageName": self.package.leaf(), "repository": self.repository.as_str()}, "status": status,
        })
    }

    /// A package by its parts.
    pub(crate) fn new(
        namespace: &Namespace,
        repository: &RepositoryName,
        package: &PackageName,
    ) -> Result<Self, Error> {
        let name = PackageObjectName::compose(repository, package)
            .map_err(|error| Error::new(Reason::Invalid, package.as_str(), error.to_string()))?;
        Ok(Self {
            namespace: namespace.clone(),
            repository: repository.clone(),
            package: package.clone(),
            name,
        })
    }

    /// The rows of a package whose revisions were found: one for itself while there are any, and its highest number.
    pub(crate) async fn writes(
        &self,
        store: &dyn Store,
        presence: Rows,
        latest: i64,
        now: Timestamp,
    ) -> Result<Vec<Write>, Error> {
        let key = rows::package_key(&self.namespace, &self.name);
        let before = match presence {
            Rows::New => None,
            Rows::Known | Rows::Empty => store.get(&key).await?,
        };
        let shown = self.object(now, (latest > 0).then_some(latest));
        let mut writes = Vec::new();
        match before {
            Some(stored) if presence == Rows::Empty => {
                writes.push(Write::Delete { key, expected: stored.revision });
            }
            Some(stored) => {
                let mut object = rows::decode(&stored)?;
                if object["status"] != shown["status"] {
                    object["status"] = shown["status"].clone();
                    let object = rows::encode(&object, &fields(self));
                    writes.push(Write::Update { key, expected: stored.revision, object });
                }
            }
            None if presence == Rows::Empty => {}
            None => writes.push(Write::Create { key, object: rows::encode(&shown, &fields(self)) }),
        }
        if latest > 0 {
            writes.extend(raise(store, self, latest).await?);
        }
        Ok(writes)
    }

    /// The highest number that was ever seen.
    pub(crate) async fn highest(&self, store: &dyn Store) -> Result<i64, Error> {
        let stored = store.get(&rows::number_key(&self.namespace, &self.name)).await?;
        let text = stored.map(|stored| String::from_utf8_lossy(&stored.object.value).into_owned());
        Ok(text.and_then(|text| text.parse().ok()).unwrap_or(0))
    }
}

/// What the store has of a package whose revisions were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// Nothing.
    New,
    /// Something.
    Known,
    /// Something, and there are no revisions any more.
    Empty,
}

/// What is written about a package beside its revisions.
#[derive(Debug, Default)]
pub(crate) struct Around {
    pub(crate) conditions: Vec<Condition>,
    pub(crate) writes: Vec<Write>,
}

/// How the revisions of a package will be.
pub(crate) enum Change<'a> {
    /// One is there that is not published.
    Draft,
    /// One has this number.
    Published {
        /// Which.
        name: &'a ObjectName,
        /// The number.
        number: i64,
    },
    /// One is gone.
    Gone {
        /// Which.
        name: &'a ObjectName,
    },
}

/// Keeps the rows of a package in step with its revisions: the package itself, its highest number, and who is the latest.
///
/// The caller writes the row of the revision that changes; whether that one is the latest is the second answer.
pub(crate) async fn around(
    store: &dyn Store,
    id: &PackageId,
    change: &Change<'_>,
    now: Timestamp,
) -> Result<(Around, Latest), Error> {
    let mut around = Around::default();
    let key = rows::package_key(&id.namespace, &id.name);
    let package = store.get(&key).await?;
    if let Change::Draft = change {
        match package {
            Some(stored) => {
                around.conditions.push(Condition::Presence { key, expected: Presence::At(stored.revision) });
            }
            None => around
                .writes
                .push(Write::Create { key, object: rows::encode(&id.object(now, None), &fields(id)) }),
        }
        return Ok((around, Latest::No));
    }
    let others = rows::revisions_of(store, &id.namespace, &id.repository, &id.package).await?;
    let changed = match change {
        Change::Published { name, .. } | Change::Gone { name } => name.as_str(),
        Change::Draft => "",
    };
    let others: Vec<_> = others.into_iter().filter(|stored| stored.key.name() != changed).collect();
    let number_of = |stored: &lanai_store::Stored| {
        let number = stored.object.attributes.field("spec.revision");
        number.and_then(|number| number.parse::<i64>().ok()).unwrap_or(0)
    };
    let best = others.iter().max_by_key(|stored| number_of(stored)).filter(|stored| number_of(stored) > 0);
    let best_number = best.map_or(0, |best| number_of(best));
    let (latest, is_latest) = match change {
        Change::Published { number, .. } if *number > best_number => (*number, Latest::Yes),
        Change::Published { .. } | Change::Gone { .. } | Change::Draft => (best_number, Latest::No),
    };
    for stored in &others {
        let is_best = best.is_some_and(|best| best.key == stored.key) && is_latest == Latest::No;
        let mut object = rows::decode(stored)?;
        if set_latest(&mut object, if is_best { Latest::Yes } else { Latest::No }) {
            around.writes.push(Write::Update {
                key: stored.key.clone(),
                expected: stored.revision,
                object: rows::encode_revision(&object),
            });
        } else if is_best {
            // Who stays the latest must still be there.
            let expected = Presence::At(stored.revision);
            around.conditions.push(Condition::Presence { key: stored.key.clone(), expected });
        }
    }
    if let Change::Published { number, .. } = change {
        around.writes.extend(raise(store, id, *number).await?);
    }
    let is_empty = others.is_empty() && matches!(change, Change::Gone { .. });
    let shown = id.object(now, (latest > 0).then_some(latest));
    match package {
        Some(stored) if is_empty => around.writes.push(Write::Delete { key, expected: stored.revision }),
        Some(stored) => {
            let mut object = rows::decode(&stored)?;
            if object["status"] == shown["status"] {
                around.conditions.push(Condition::Presence { key, expected: Presence::At(stored.revision) });
            } else {
                object["status"] = shown["status"].clone();
                let object = rows::encode(&object, &fields(id));
                around.writes.push(Write::Update { key, expected: stored.revision, object });
            }
        }
        None if is_empty => {}
        None => around.writes.push(Write::Create { key, object: rows::encode(&shown, &fields(id)) }),
    }
    Ok((around, is_latest))
}

/// Remembers a number as seen.
async fn raise(store: &dyn Store, id: &PackageId, number: i64) -> Result<Option<Write>, Error> {
    let key = rows::number_key(&id.namespace, &id.name);
    let object = lanai_store::Object {
        value: number.to_string().into(),
        attributes: lanai_store::Attributes::of_fields(&std::collections::BTreeMap::from([(
            crate::state::REPOSITORY.to_owned(),
            id.repository.to_string(),
        )])),
        ..lanai_store::Object::default()
    };
    Ok(match store.get(&key).await? {
        None => Some(Write::Create { key, object }),
        Some(stored) => {
            let seen = String::from_utf8_lossy(&stored.object.value).parse().unwrap_or(0);
            (seen < number).then_some(Write::Update { key, expected: stored.revision, object })
        }
    })
}

fn fields(id: &PackageId) -> std::collections::BTreeMap<String, String> {
    std::collections::BTreeMap::from([(crate::state::REPOSITORY.to_owned(), id.repository.to_string())])
}

/// Refuses a new package where one is, or above or below one.
///
/// # Errors
/// 409 with the words of Porch.
pub(crate) async fn check_new(store: &dyn Store, id: &PackageId, target: &str) -> Result<(), Error> {
    let refuse = |why: String| Error::new(Reason::AlreadyExists, target, why);
    if store.get(&rows::package_key(&id.namespace, &id.name)).await?.is_some() {
        return Err(refuse(format!(
            "package \"{}\" already exists in repository \"{}\"",
            id.package, id.repository
        )));
    }
    let nested = |other: &str| {
        refuse(format!(
            "package path \"{}\" conflicts with existing package \"{other}\": packages cannot be nested",
            id.package
        ))
    };
    let mut above = id.package.path();
    while !above.is_empty() {
        let key = format!("{}.{}", id.repository, above.replace('/', "."));
        if let Ok(name) = PackageObjectName::parse(&key)
            && store.get(&rows::package_key(&id.namespace, &name)).await?.is_some()
        {
            return Err(nested(above));
        }
        above = above.rsplit_once('/').map_or("", |(above, _)| above);
    }
    let prefix = lanai_store::Prefix::names(&rows::PACKAGE, id.namespace.as_str(), &format!("{}.", id.name))?;
    let mut request = lanai_store::ListRequest::all(lanai_store::Filter::under(prefix));
    request.limit = std::num::NonZeroUsize::new(1);
    if let Some(below) = store.list(&request).await?.items.first() {
        let name = below.key.name().strip_prefix(&format!("{}.", id.repository)).unwrap_or_default();
        return Err(nested(&name.replace('.', "/")));
    }
    Ok(())
}
