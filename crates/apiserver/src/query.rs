//! The part of a request behind the question mark.

use std::num::NonZeroUsize;
use std::time::Duration;

use form_urlencoded::parse;
use lanai_api::Cause;
use lanai_apply::Force;
use lanai_store::Revision;

use crate::status::{GroupResource, Status};

/// Names and values, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads what is behind the question mark.
    pub fn parse(raw: &str) -> Self {
        Self(parse(raw.as_bytes()).into_owned().collect())
    }

    /// The first value of a name; none where it is empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// All values of a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// True where the name stands there without a value, or with one that says yes.
    pub fn flag(&self, name: &str) -> bool {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.is_some_and(|(_, value)| {
            matches!(value.as_str(), "" | "1" | "t" | "T" | "true" | "TRUE" | "True")
        })
    }

    fn switch(&self, name: &str) -> Option<Switch> {
        self.0
            .iter()
            .any(|(key, _)| key == name)
            .then(|| if self.flag(name) { Switch::On } else { Switch::Off })
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Status> {
        let read = |text: &str| {
            text.parse()
                .map_err(|_| Status::bad_request(format!("{name}: \"{text}\" is not a number that is taken")))
        };
        self.get(name).map(read).transpose()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Switch {
    On,
    Off,
}

/// Whether a write is made, or only answered as if.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    /// It is made.
    No,
    /// Everything but the writing.
    All,
}

impl DryRun {
    /// Reads `dryRun`, from the query or from options in a body.
    fn read<'a>(values: impl Iterator<Item = &'a str>, causes: &mut Vec<Cause>) -> Self {
        let mut found = Self::No;
        for value in values {
            if value != "All" {
                causes.push(Cause::not_supported(&"dryRun".into(), value, &["All"]));
            }
            found = Self::All;
        }
        found
    }

    /// Reads `dryRun` of a deletion, from the query and from the options in its body.
    pub fn of_delete<'a>(values: impl Iterator<Item = &'a str>) -> Result<Self, Status> {
        let mut causes = Vec::new();
        let found = Self::read(values, &mut causes);
        if causes.is_empty() { Ok(found) } else { Err(Written::Delete.refused(&causes)) }
    }
}

/// What is done about fields that a kind does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldValidation {
    /// They are dropped.
    Ignore,
    /// They are dropped, and the client is warned.
    Warn,
    /// The request is refused.
    Strict,
}

impl FieldValidation {
    fn read(query: &Query, causes: &mut Vec<Cause>) -> Self {
        match query.get("fieldValidation") {
            None | Some("Warn") => Self::Warn,
            Some("Ignore") => Self::Ignore,
            Some("Strict") => Self::Strict,
            Some(other) => {
                let known = ["", "Ignore", "Strict", "Warn"];
                causes.push(Cause::not_supported(&"fieldValidation".into(), other, &known));
                Self::Warn
            }
        }
    }
}

/// How something is written: the options of each have a name of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// By `POST`.
    Create,
    /// By `PUT`.
    Update,
    /// By a patch.
    Patch,
    /// By server-side apply.
    Apply,
    /// By `DELETE`.
    Delete,
}

impl Written {
    fn refused(self, causes: &[Cause]) -> Status {
        let name = match self {
            Self::Create => "CreateOptions",
            Self::Update => "UpdateOptions",
            Self::Patch | Self::Apply => "PatchOptions",
            Self::Delete => "DeleteOptions",
        };
        let kind = GroupResource { group: "meta.k8s.io".into(), resource: name.into() };
        Status::invalid(&kind, "", causes)
    }
}

/// The longest name of a field manager, in bytes.
pub const MAX_MANAGER: usize = 128;

/// What a write asks for beside its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOptions {
    /// Whether it is only a rehearsal.
    pub dry_run: DryRun,
    /// What is done about fields that the kind does not have.
    pub validation: FieldValidation,
    /// Who is to own what is written, if it is said.
    pub manager: Option<String>,
    /// Whether fields are taken from others.
    pub force: Force,
}

impl WriteOptions {
    /// What holds where nothing is said.
    pub const NONE: Self =
        Self { dry_run: DryRun::No, validation: FieldValidation::Warn, manager: None, force: Force::No };

    /// Reads the options of a write.
    pub fn of(query: &Query, written: Written) -> Result<Self, Status> {
        let mut causes = Vec::new();
        let manager = query.get("fieldManager").map(str::to_owned);
        let field = "fieldManager".into();
        match (written, &manager) {
            (Written::Apply, None) => causes.push(Cause::required(&field, "is required for apply patch")),
            (Written::Patch, _) if query.switch("force").is_some() => {
                causes.push(Cause::forbidden(&"force".into(), "may not be specified for non-apply patch"));
            }
            _ => {}
        }
        match &manager {
            Some(manager) if manager.len() > MAX_MANAGER => {
                causes.push(Cause::too_long(&field, MAX_MANAGER));
            }
            Some(manager) if manager.chars().any(char::is_control) => {
                causes.push(Cause::invalid(
                    &field,
                    manager.as_str(),
                    "should only contain printable characters",
                ));
            }
            Some(_) | None => {}
        }
        let dry_run = DryRun::read(query.all("dryRun"), &mut causes);
        let validation = FieldValidation::read(query, &mut causes);
        if !causes.is_empty() {
            return Err(written.refused(&causes));
        }
        let force = if query.flag("force") { Force::Yes } else { Force::No };
        Ok(Self { dry_run, validation, manager, force })
    }
}

/// What `resourceVersion` and its companions ask of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// Now.
    Latest,
    /// Now, and not before this revision.
    NotOlderThan(Revision),
    /// Then.
    Exact(Revision),
    /// Behind another page; the token as it was given.
    Continue(String),
}

/// What a list asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListOptions {
    /// As of when.
    pub moment: Moment,
    /// How many at once.
    pub limit: Option<NonZeroUsize>,
}

impl ListOptions {
    /// Reads the options of a list.
    pub fn of(query: &Query) -> Result<Self, Status> {
        let limit: Option<u64> = query.number("limit")?;
        let limit = limit.and_then(|limit| NonZeroUsize::new(usize::try_from(limit).unwrap_or(usize::MAX)));
        let matching = query.get("resourceVersionMatch");
        if query.switch("sendInitialEvents").is_some() {
            return Err(refused(Cause::forbidden(
                &"sendInitialEvents".into(),
                "sendInitialEvents is forbidden for list",
            )));
        }
        let version = query.get("resourceVersion").map(revision).transpose()?;
        if let Some(token) = query.get("continue") {
            if matching.is_some() {
                let why = "resourceVersionMatch is forbidden when continue is provided";
                return Err(refused(Cause::forbidden(&"resourceVersionMatch".into(), why)));
            }
            if version.is_some_and(|version| version != Revision::ZERO) {
                let why = "specifying resource version is not allowed when using continue";
                return Err(Status::bad_request(why));
            }
            return Ok(Self { moment: Moment::Continue(token.to_owned()), limit });
        }
        let zero = Revision::ZERO;
        let moment = match (matching, version) {
            (Some("Exact"), Some(version)) if version != zero => Moment::Exact(version),
            (Some("Exact"), Some(_)) => {
                let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                return Err(refused(Cause::forbidden(&"resourceVersionMatch".into(), why)));
            }
            (Some("Exact" | "NotOlderThan"), None) => {
                let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                return Err(refused(Cause::forbidden(&"resourceVersionMatch".into(), why)));
            }
            (Some("NotOlderThan"), Some(version)) => Moment::NotOlderThan(version),
            (Some(other), _) => {
                let known = ["", "Exact", "NotOlderThan"];
                return Err(refused(Cause::not_supported(&"resourceVersionMatch".into(), other, &known)));
            }
            (None, None) => Moment::Latest,
            // With a limit and no match, clients of old mean exactly this revision.
            (None, Some(version)) if limit.is_some() && version != zero => Moment::Exact(version),
            (None, Some(version)) => Moment::NotOlderThan(version),
        };
        Ok(Self { moment, limit })
    }
}

/// Where a watch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With what is there, then what happens.
    State(Initial),
    /// Behind this revision.
    After(Revision),
    /// Behind what is there now.
    Now,
}

/// How a client learns that it has seen all that was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initial {
    /// It does not.
    Silent,
    /// By a bookmark that says so.
    Marked,
}

/// What a watch asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchOptions {
    /// From when on.
    pub start: Start,
    /// What is there must not be older than this.
    pub not_older: Revision,
    /// Whether bookmarks are understood.
    pub bookmarks: Bookmarked,
    /// When it ends by itself.
    pub timeout: Option<Duration>,
}

/// Whether a client wants to hear how far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bookmarked {
    /// It does.
    Yes,
    /// It does not.
    No,
}

impl WatchOptions {
    /// Reads the options of a watch.
    pub fn of(query: &Query) -> Result<Self, Status> {
        let version = query.get("resourceVersion").map(revision).transpose()?;
        let matching = query.get("resourceVersionMatch");
        let bookmarks = if query.flag("allowWatchBookmarks") { Bookmarked::Yes } else { Bookmarked::No };
        let seconds: Option<u64> = query.number("timeoutSeconds")?;
        let timeout = seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs);
        let start = match (query.switch("sendInitialEvents"), matching) {
            (Some(_), None | Some("Exact")) => {
                let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                return Err(refused(Cause::forbidden(&"resourceVersionMatch".into(), why)));
            }
            (None, Some(_)) => {
                let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
                return Err(refused(Cause::forbidden(&"resourceVersionMatch".into(), why)));
            }
            (Some(_), Some(other)) if other != "NotOlderThan" => {
                let error = Cause::not_supported(&"resourceVersionMatch".into(), other, &["NotOlderThan"]);
                return Err(refused(error));
            }
            (Some(Switch::On), Some(_)) => Start::State(Initial::Marked),
            (Some(Switch::Off), Some(_)) => match version {
                None | Some(Revision::ZERO) => Start::Now,
                Some(version) => Start::After(version),
            },
            (None, None) => match version {
                None | Some(Revision::ZERO) => Start::State(Initial::Silent),
                Some(version) => Start::After(version),
            },
        };
        Ok(Self { start, not_older: version.unwrap_or(Revision::ZERO), bookmarks, timeout })
    }
}

/// Reads a resource version that a client sends.
pub(crate) fn revision(text: &str) -> Result<Revision, Status> {
    text.parse().map_err(|_| {
        let why = format!("Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax");
        Status::bad_request(format!("resourceVersion: {why}"))
    })
}

fn refused(error: Cause) -> Status {
    let kind = GroupResource { group: "meta.k8s.io".into(), resource: "ListOptions".into() };
    Status::invalid(&kind, "", &[error])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_lists() {
        let check = |raw: &str, expected: Moment| {
            assert_eq!(ListOptions::of(&Query::parse(raw)).unwrap().moment, expected, "{raw}");
        };
        check("", Moment::Latest);
        check("resourceVersion=0", Moment::NotOlderThan(Revision::ZERO));
        check("resourceVersion=7", Moment::NotOlderThan(Revision::new(7)));
        check("resourceVersion=7&limit=2", Moment::Exact(Revision::new(7)));
        check("resourceVersion=7&resourceVersionMatch=Exact", Moment::Exact(Revision::new(7)));
        check("continue=abc&resourceVersion=0", Moment::Continue("abc".into()));
        for raw in [
            "resourceVersion=x",
            "resourceVersionMatch=Exact",
            "resourceVersion=0&resourceVersionMatch=Exact",
            "resourceVersion=1&resourceVersionMatch=Newest",
            "continue=a&resourceVersion=3",
            "continue=a&resourceVersionMatch=Exact",
            "sendInitialEvents=true",
            "limit=-1",
        ] {
            assert!(ListOptions::of(&Query::parse(raw)).is_err(), "{raw}");
        }
    }

    #[test]
    fn starts_of_watches() {
        let check = |raw: &str, expected: Start| {
            assert_eq!(WatchOptions::of(&Query::parse(raw)).unwrap().start, expected, "{raw}");
        };
        check("", Start::State(Initial::Silent));
        check("resourceVersion=0", Start::State(Initial::Silent));
        check("resourceVersion=9", Start::After(Revision::new(9)));
        check(
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=",
            Start::State(Initial::Marked),
        );
        check("sendInitialEvents=false&resourceVersionMatch=NotOlderThan", Start::Now);
        for raw in ["sendInitialEvents=true", "resourceVersionMatch=NotOlderThan", "timeoutSeconds=x"] {
            assert!(WatchOptions::of(&Query::parse(raw)).is_err(), "{raw}");
        }
    }
}
