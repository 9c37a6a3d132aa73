//! Package revisions on a server.

use serde_json::{Value, json};

use crate::client::{Client, Method, Request, Resource, Trouble};
use crate::failure::{Code, Failure};
use crate::io::Io;
use crate::persona::Persona;

/// How often a change is tried when others are quicker.
const MAX_TRIES: usize = 5;

/// The kind of object that a revision is.
pub(crate) const REVISIONS: Resource = Resource {
    group: "porch.kpt.dev",
    version: "v1alpha1",
    plural: "packagerevisions",
    singular: "packagerevision",
    kind: "PackageRevision",
};

/// The files of a revision.
pub(super) const RESOURCES: Resource = Resource {
    group: "porch.kpt.dev",
    version: "v1alpha1",
    plural: "packagerevisionresources",
    singular: "packagerevisionresources",
    kind: "PackageRevisionResources",
};

/// A server, the version of the API that is spoken, and for whom.
pub(super) struct Server {
    pub client: Client,
    pub version: Version,
    pub persona: Persona,
}

/// The version of the API of package revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V1Alpha1,
    V1Alpha2,
}

/// Whether something is really done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dry {
    Run,
    No,
}

impl Dry {
    pub fn of(flag: bool) -> Self {
        if flag { Self::Run } else { Self::No }
    }

    /// What stands behind the line that says what was done.
    pub fn remark(self) -> &'static str {
        match self {
            Self::Run => " (dry run)",
            Self::No => "",
        }
    }

    pub fn on(self, request: Request) -> Request {
        match self {
            Self::Run => request.query("dryRun", "All"),
            Self::No => request,
        }
    }
}

impl Version {
    /// Reads the flag, or else the variable.
    ///
    /// # Errors
    /// When there is no such version.
    pub fn of(flag: Option<&str>, io: &Io<'_>) -> Result<Self, Failure> {
        let variable = io.environment.get(std::ffi::OsStr::new("PORCHCTL_API_VERSION"));
        let variable = variable.map(|value| value.to_string_lossy().into_owned());
        match flag.map(str::to_owned).or(variable).as_deref() {
            None | Some("" | "v1alpha1") => Ok(Self::V1Alpha1),
            Some("v1alpha2") => Ok(Self::V1Alpha2),
            Some(other) => Err(Failure::of(
                Code::Usage,
                format!("there is no version \"{other}\" of the API; there are v1alpha1 and v1alpha2"),
            )),
        }
    }

    /// The kind of object that a revision is.
    pub fn revisions(self) -> Resource {
        match self {
            Self::V1Alpha1 => REVISIONS,
            Self::V1Alpha2 => Resource { version: "v1alpha2", ..REVISIONS },
        }
    }
}

impl Server {
    fn path(&self, name: &str) -> String {
        self.version.revisions().one(&self.client.namespace, name)
    }

    /// One revision.
    pub fn get(&self, name: &str, io: &mut Io<'_>) -> Result<Value, Trouble> {
        self.client.send(&Request::get(self.path(name), format!("reading {name}")), io)
    }

    /// All revisions of the namespace with these fields and labels, by their names.
    pub fn list(
        &self,
        fields: &[(&str, &str)],
        labels: Option<&str>,
        io: &mut Io<'_>,
    ) -> Result<Vec<Value>, Trouble> {
        let path = self.version.revisions().all(Some(&self.client.namespace));
        let mut request = Request::get(path, "listing packagerevisions");
        if !fields.is_empty() {
            let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
            request = request.query("fieldSelector", fields.join(","));
        }
        if let Some(labels) = labels {
            request = request.query("labelSelector", labels);
        }
        let mut list = self.client.send(&request, io)?;
        Ok(match list["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        })
    }

    /// Makes a revision.
    pub fn create(&self, spec: &Value, dry: Dry, io: &mut Io<'_>) -> Result<Value, Trouble> {
        let resource = self.version.revisions();
        let doing = format!(
            "making {}/{} {}",
            text(spec, "repository"),
            text(spec, "packageName"),
            text(spec, "workspaceName")
        );
        let mut metadata = json!({"namespace": self.client.namespace});
        if self.version == Version::V1Alpha2 {
            // There, the name is the client's business.
            let package = text(spec, "packageName").replace('/', ".");
            let name = format!("{}.{package}.{}", text(spec, "repository"), text(spec, "workspaceName"));
            metadata["name"] = json!(name);
        }
        let object = json!({
            "apiVersion": resource.api_version(), "kind": resource.kind, "metadata": metadata, "spec": spec,
        });
        let request =
            Request::new(Method::Post, resource.all(Some(&self.client.namespace)), doing).body(object);
        self.client.send(&dry.on(request), io)
    }

    /// Changes a revision. `change` says what becomes of it, and nothing if it is to stay as it is; when others are quicker, it is
    /// asked again with what they made.
    pub fn change<E: From<Trouble>>(
        &self,
        name: &str,
        doing: &str,
        dry: Dry,
        io: &mut Io<'_>,
        mut change: impl FnMut(&mut Value) -> Result<Change, E>,
    ) -> Result<Value, E> {
        let mut tries = 1;
        loop {
            let mut object = self.get(name, io)?;
            let path = match change(&mut object)? {
                Change::None => return Ok(object),
                Change::Approval if self.version == Version::V1Alpha1 => {
                    format!("{}/approval", self.path(name))
                }
                Change::Approval | Change::Object => self.path(name),
            };
            let request = Request::new(Method::Put, path, format!("{doing} {name}")).body(object);
            match self.client.send(&dry.on(request), io) {
                Err(Trouble::Refused(refusal)) if refusal.is_conflict() && tries < MAX_TRIES => tries += 1,
                other => return other.map_err(E::from),
            }
        }
    }

    /// Deletes a revision.
    pub fn delete(&self, name: &str, dry: Dry, io: &mut Io<'_>) -> Result<Value, Trouble> {
        let request = Request::new(Method::Delete, self.path(name), format!("deleting {name}"));
        self.client.send(&dry.on(request), io)
    }

    /// The files of a revision.
    pub fn resources(&self, name: &str, io: &mut Io<'_>) -> Result<Value, Trouble> {
        let path = RESOURCES.one(&self.client.namespace, name);
        self.client.send(&Request::get(path, format!("fetching the files of {name}")), io)
    }

    /// Replaces the files of a draft; the answer says what its pipeline did.
    pub fn save(&self, name: &str, object: Value, dry: Dry, io: &mut Io<'_>) -> Result<Value, Trouble> {
        let path = RESOURCES.one(&self.client.namespace, name);
        let request = Request::new(Method::Put, path, format!("saving and rendering {name}"));
        // A server that does not know a field would lose what is in it.
        self.client.send(&dry.on(request.query("fieldValidation", "Strict").body(object)), io)
    }
}

/// Looking into a revision, and rehearsing to save it as it is, for whoever has a client only.
pub(crate) struct Rehearsal;

impl Rehearsal {
    /// The files of a revision.
    pub fn read(client: &Client, name: &str, io: &mut Io<'_>) -> Result<Value, Trouble> {
        let path = RESOURCES.one(&client.namespace, name);
        client.send(&Request::get(path, format!("fetching the files of {name}")), io)
    }

    /// Whether its pipeline would run. What is the same is not rendered again, so that the Kptfile gets a comment.
    pub fn save(client: &Client, name: &str, io: &mut Io<'_>) -> Result<(), Trouble> {
        let mut object = Self::read(client, name, io)?;
        let kptfile = &mut object["spec"]["resources"][lanai_krm::kptfile::FILE_NAME];
        *kptfile = json!(format!("{}\n# rehearsed\n", kptfile.as_str().unwrap_or_default()));
        let path = RESOURCES.one(&client.namespace, name);
        let request =
            Request::new(Method::Put, path, format!("rehearsing the pipeline of {name}")).body(object);
        client.send(&Dry::Run.on(request), io).map(drop)
    }
}

/// What becomes of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    /// It is replaced.
    Object,
    /// The same through the sub-resource that takes a permission of its own.
    Approval,
}

/// The text of a field; empty where there is none.
pub(super) fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

/// The name of an object.
pub(super) fn name_of(object: &Value) -> &str {
    text(&object["metadata"], "name")
}

/// Where a revision is in its life.
pub(super) fn lifecycle(object: &Value) -> &str {
    match text(&object["spec"], "lifecycle") {
        "" => "Draft",
        lifecycle => lifecycle,
    }
}

/// The number of a revision: 0 for drafts.
pub(super) fn number(object: &Value) -> i64 {
    let spec = object["spec"]["revision"].as_i64();
    spec.or_else(|| object["status"]["revision"].as_i64()).unwrap_or_default()
}

/// Whether a revision is published, be it to be deleted or not.
pub(super) fn is_published(object: &Value) -> bool {
    matches!(lifecycle(object), "Published" | "DeletionProposed")
}
