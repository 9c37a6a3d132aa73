//! What clients are told when something did not work.

use std::fmt;

use http::StatusCode;
use lanai_store::error::Invalid;
use serde_json::{Map, Value, json};

/// The reason of a cause that names two versions of an object.
const VERSION_CONFLICT: &str = "ResourceVersionConflict";

/// A failure as Kubernetes clients know it.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// The code of HTTP.
    pub code: StatusCode,
    /// By what programs decide.
    pub reason: Reason,
    /// For people.
    pub message: String,
    /// On what, and why exactly.
    pub details: Option<Box<Details>>,
    /// Where a list can go on that cannot go on where it was.
    pub go_on: Option<String>,
}

/// What a failure is about.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Details {
    /// The object.
    pub name: String,
    /// Its group; empty for the core group.
    pub group: String,
    /// Its resource, or its kind where the object itself is wrong.
    pub kind: String,
    /// Its uid.
    pub uid: String,
    /// All that is wrong.
    pub causes: Vec<Cause>,
    /// After how many seconds asking again makes sense.
    pub retry_after: Option<u32>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// By what programs decide, as `FieldValueInvalid`.
    pub reason: String,
    /// For people.
    pub message: String,
    /// The field; empty where it is about none.
    pub field: String,
}

/// Kubernetes's reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation: they are Kubernetes's")]
pub enum Reason {
    AlreadyExists,
    BadRequest,
    Conflict,
    Expired,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    RequestEntityTooLarge,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
    Unauthorized,
    UnsupportedMediaType,
}

impl Reason {
    /// The code that goes with it.
    pub const fn code(self) -> StatusCode {
        match self {
            Self::AlreadyExists | Self::Conflict => StatusCode::CONFLICT,
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::Expired | Self::Gone => StatusCode::GONE,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::RequestEntityTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::ServiceUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Timeout => StatusCode::GATEWAY_TIMEOUT,
            Self::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A resource with its group, as messages name it: `configmaps`, `repositories.config.porch.kpt.dev`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    /// Empty for the core group.
    pub group: String,
    /// The plural.
    pub resource: String,
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(f, &self.resource, &self.group)
    }
}

fn dotted(f: &mut fmt::Formatter<'_>, name: &str, group: &str) -> fmt::Result {
    match group {
        "" => f.write_str(name),
        _ => write!(f, "{name}.{group}"),
    }
}

impl Status {
    /// A failure that is about nothing in particular.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { code: reason.code(), reason, message: message.into(), details: None, go_on: None }
    }

    /// Says which object it is about.
    #[must_use]
    pub fn about(mut self, resource: &GroupResource, name: &str) -> Self {
        let details = self.details.get_or_insert_default();
        details.group.clone_from(&resource.group);
        details.kind.clone_from(&resource.resource);
        name.clone_into(&mut details.name);
        self
    }

    /// The request makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(Reason::BadRequest, message)
    }

    /// There is no such object.
    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        Self::new(Reason::NotFound, format!("{resource} \"{name}\" not found")).about(resource, name)
    }

    /// There is nothing behind this path.
    pub fn no_such_path() -> Self {
        let mut status = Self::new(Reason::NotFound, "the server could not find the requested resource");
        status.details = Some(Box::default());
        status
    }

    /// There is one already.
    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        Self::new(Reason::AlreadyExists, format!("{resource} \"{name}\" already exists"))
            .about(resource, name)
    }

    /// It is not as the request expects it.
    pub fn conflict(resource: &GroupResource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}");
        Self::new(Reason::Conflict, message).about(resource, name)
    }

    /// Somebody else was faster; names both versions.
    pub fn modified(resource: &GroupResource, name: &str, shown: &str, found: &str) -> Self {
        let mut status = Self::conflict(
            resource,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        );
        let message = format!("resourceVersion \"{shown}\" was sent, and \"{found}\" is there");
        status.details.get_or_insert_default().causes.push(Cause {
            reason: VERSION_CONFLICT.into(),
            message,
            field: "metadata.resourceVersion".into(),
        });
        status
    }

    /// True for what [`Status::modified`] makes: whoever named no version can try again.
    pub fn is_overtaken(&self) -> bool {
        let causes = self.details.iter().flat_map(|details| &details.causes);
        self.reason == Reason::Conflict && causes.into_iter().any(|cause| cause.reason == VERSION_CONFLICT)
    }

    /// The object breaks rules; at least one.
    pub fn invalid(kind: &GroupResource, name: &str, causes: &[lanai_api::Cause]) -> Self {
        let joined = lanai_api::cause::joined(causes);
        let mut status = Self::new(Reason::Invalid, format!("{kind} \"{name}\" is invalid: {joined}"));
        status = status.about(kind, name);
        status.details.get_or_insert_default().causes = causes.iter().map(Cause::from).collect();
        status
    }

    /// They may not.
    pub fn forbidden(resource: &GroupResource, name: &str, why: &str) -> Self {
        let what = match name {
            "" => format!("{resource} is forbidden: {why}"),
            _ => format!("{resource} \"{name}\" is forbidden: {why}"),
        };
        Self::new(Reason::Forbidden, what).about(resource, name)
    }

    /// Nobody knows who they are.
    pub fn unauthorized() -> Self {
        Self::new(Reason::Unauthorized, "Unauthorized")
    }

    /// The resource has no such verb.
    pub fn method_not_allowed() -> Self {
        let mut status = Self::new(
            Reason::MethodNotAllowed,
            "the server does not allow this method on the requested resource",
        );
        status.details = Some(Box::default());
        status
    }

    /// Something of ours is wrong.
    pub fn internal(why: impl fmt::Display) -> Self {
        let why = why.to_string();
        let mut status = Self::new(Reason::InternalError, format!("Internal error occurred: {why}"));
        let cause = Cause { reason: String::new(), message: why, field: String::new() };
        status.details = Some(Box::new(Details { causes: vec![cause], ..Details::default() }));
        status
    }

    /// Too many ask at once.
    pub fn too_many(message: impl Into<String>) -> Self {
        Self::new(Reason::TooManyRequests, message).retry_after(1)
    }

    /// The body is above the limit.
    pub fn too_large(limit: u64) -> Self {
        Self::new(Reason::RequestEntityTooLarge, format!("Request entity too large: limit is {limit}"))
    }

    /// Says when asking again makes sense.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.details.get_or_insert_default().retry_after = Some(seconds);
        self
    }

    /// Adds a cause.
    #[must_use]
    pub fn because(mut self, reason: &str, message: impl Into<String>, field: &str) -> Self {
        let cause = Cause { reason: reason.into(), message: message.into(), field: field.into() };
        self.details.get_or_insert_default().causes.push(cause);
        self
    }

    /// The object on the wire.
    pub fn to_value(&self) -> Value {
        let mut metadata = Map::new();
        if let Some(token) = &self.go_on {
            metadata.insert("continue".into(), json!(token));
        }
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": metadata,
            "status": "Failure", "message": self.message, "reason": self.reason.to_string(),
        });
        if let Some(details) = &self.details {
            status["details"] = details.to_value();
        }
        status["code"] = json!(self.code.as_u16());
        status
    }
}

impl Details {
    pub(crate) fn to_value(&self) -> Value {
        let mut fields = Map::new();
        let texts = [("name", &self.name), ("group", &self.group), ("kind", &self.kind), ("uid", &self.uid)];
        for (key, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            fields.insert(key.into(), json!(text));
        }
        if !self.causes.is_empty() {
            fields.insert("causes".into(), self.causes.iter().map(Cause::to_value).collect());
        }
        if let Some(seconds) = self.retry_after {
            fields.insert("retryAfterSeconds".into(), json!(seconds));
        }
        Value::Object(fields)
    }
}

impl From<&lanai_api::Cause> for Cause {
    fn from(cause: &lanai_api::Cause) -> Self {
        let field = cause.field.to_string();
        Self { reason: cause.reason.code().into(), message: cause.message(), field }
    }
}

impl Cause {
    fn to_value(&self) -> Value {
        let mut fields = Map::new();
        let texts = [("reason", &self.reason), ("message", &self.message), ("field", &self.field)];
        for (key, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            fields.insert(key.into(), json!(text));
        }
        Value::Object(fields)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}

impl From<lanai_store::Error> for Status {
    fn from(error: lanai_store::Error) -> Self {
        use lanai_store::Error;
        match &error {
            Error::Expired { asked, horizon } => {
                let message = format!("too old resource version: {asked} ({horizon})");
                Self::new(Reason::Expired, message)
            }
            Error::TooNew { asked, current } => {
                let message = format!("Too large resource version: {asked}, current: {current}");
                Self::new(Reason::Timeout, format!("Timeout: {message}"))
                    .because("ResourceVersionTooLarge", "Too large resource version", "")
                    .retry_after(1)
            }
            Error::Invalid(
                Invalid::ValueTooLarge { limit, .. } | Invalid::TransactionTooLarge { limit, .. },
            ) => Self::too_large(limit.get()),
            Error::Invalid(_) => Self::bad_request(error.to_string()),
            Error::Full { .. } | Error::Unavailable { .. } => {
                Self::new(Reason::ServiceUnavailable, error.to_string()).retry_after(1)
            }
            Error::Conflict { .. }
            | Error::Fenced { .. }
            | Error::Held { .. }
            | Error::BlobsMissing { .. }
            | Error::Unknown { .. }
            | Error::Damaged { .. }
            | Error::Sealed { .. } => Self::internal(error),
        }
    }
}

impl From<Invalid> for Status {
    fn from(error: Invalid) -> Self {
        lanai_store::Error::from(error).into()
    }
}
