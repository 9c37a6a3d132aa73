//! Why something was not done, for whoever answers the client.

use std::fmt;

/// The cause of a refusal for somebody who came too late.
pub const CONCURRENT: &str = "ConcurrentRequest";

/// A failure with what a client of the API is told about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// By what programs decide.
    pub reason: Reason,
    /// What it is about.
    pub about: About,
    /// For people; what stands behind the name of the object, where the reason has a text of its own.
    pub message: String,
    /// All that is wrong, one by one.
    pub causes: Vec<Cause>,
}

/// By what programs decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// 400: the request makes no sense.
    BadRequest,
    /// 403: it is against the rules, whoever asks.
    Forbidden,
    /// 404: there is no such object.
    NotFound,
    /// 405: the kind has no such verb.
    MethodNotAllowed,
    /// 409: there is one already.
    AlreadyExists,
    /// 409: things are not as the request expects them.
    Conflict,
    /// 409: somebody else was faster, and the request named no version: it can be made again.
    Overtaken,
    /// 413: it is larger than what is taken.
    TooLarge,
    /// 422: what was sent breaks rules.
    Invalid,
    /// 500: something of ours is wrong.
    Internal,
    /// 503: a remote or the store cannot be reached now.
    Unavailable,
    /// 504: what became of it is not known yet.
    Unknown,
}

/// The kinds that errors are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// `packagerevisions.porch.kpt.dev`
    PackageRevision,
    /// `packagerevisionresources.porch.kpt.dev`
    Resources,
    /// `packages.porch.kpt.dev`
    Package,
    /// `repositories.config.porch.kpt.dev`
    Repository,
}

impl Subject {
    /// The group.
    pub const fn group(self) -> &'static str {
        match self {
            Self::PackageRevision | Self::Resources | Self::Package => "porch.kpt.dev",
            Self::Repository => "config.porch.kpt.dev",
        }
    }

    /// The plural.
    pub const fn resource(self) -> &'static str {
        match self {
            Self::PackageRevision => "packagerevisions",
            Self::Resources => "packagerevisionresources",
            Self::Package => "packages",
            Self::Repository => "repositories",
        }
    }

    /// The kind.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::PackageRevision => "PackageRevision",
            Self::Resources => "PackageRevisionResources",
            Self::Package => "PorchPackage",
            Self::Repository => "Repository",
        }
    }
}

/// An object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Its kind.
    pub subject: Subject,
    /// Its name; may be empty.
    pub name: String,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// By what programs decide, as `FieldValueInvalid`.
    pub reason: String,
    /// For people.
    pub message: String,
    /// The field or file; empty where it is about none.
    pub field: String,
}

impl Error {
    /// The same about an object, if it says nothing of whom it is about.
    #[must_use]
    pub fn about_if_nobody(mut self, name: &str) -> Self {
        if self.about.name.is_empty() {
            name.clone_into(&mut self.about.name);
        }
        self
    }

    /// A failure that concerns a package revision.
    pub fn new(reason: Reason, name: impl Into<String>, message: impl Into<String>) -> Self {
        let about = About { subject: Subject::PackageRevision, name: name.into() };
        Self { reason, about, message: message.into(), causes: Vec::new() }
    }

    /// The same about an object of another kind.
    #[must_use]
    pub fn of(mut self, subject: Subject) -> Self {
        self.about.subject = subject;
        self
    }

    /// Adds something that is wrong.
    #[must_use]
    pub fn because(mut self, reason: &str, message: impl Into<String>, field: impl Into<String>) -> Self {
        self.causes.push(Cause { reason: reason.to_owned(), message: message.into(), field: field.into() });
        self
    }

    /// There is no such revision.
    pub fn not_found(name: impl Into<String>) -> Self {
        Self::new(Reason::NotFound, name, "not found")
    }

    /// One field is wrong.
    pub fn invalid(name: &str, field: &str, value: &str, detail: &str) -> Self {
        let body = format!("Invalid value: {}: {detail}", lanai_types::quote::Quoted(value));
        Self::new(Reason::Invalid, name, format!("{field}: {body}")).because("FieldValueInvalid", body, field)
    }

    /// Something of ours is wrong.
    pub fn internal(why: impl fmt::Display) -> Self {
        Self::new(Reason::Internal, "", why.to_string())
    }

    /// Somebody else was faster.
    pub fn modified(name: &str) -> Self {
        let text =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::new(Reason::Conflict, name, text)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<lanai_store::Error> for Error {
    fn from(error: lanai_store::Error) -> Self {
        use lanai_store::Error as Store;
        use lanai_store::error::Invalid;
        let reason = match &error {
            Store::Conflict { .. } => Reason::Overtaken,
            Store::Full { .. } | Store::Unavailable { .. } => Reason::Unavailable,
            Store::Unknown { .. } => Reason::Unknown,
            Store::Invalid(
                Invalid::ValueTooLarge { .. }
                | Invalid::TransactionTooLarge { .. }
                | Invalid::BlobTooLarge { .. },
            ) => Reason::TooLarge,
            Store::Invalid(_) => Reason::BadRequest,
            Store::Fenced { .. }
            | Store::Held { .. }
            | Store::Expired { .. }
            | Store::TooNew { .. }
            | Store::BlobsMissing { .. }
            | Store::Damaged { .. }
            | Store::Sealed { .. } => Reason::Internal,
        };
        Self::new(reason, "", error.to_string())
    }
}

impl From<lanai_store::error::Invalid> for Error {
    fn from(error: lanai_store::error::Invalid) -> Self {
        lanai_store::Error::from(error).into()
    }
}
