//! What servers say, and what they refuse.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use crate::failure::{Code, Failure};
use crate::io::Io;

/// The reason of causes that are conflicts of an upgrade.
const MERGE_CONFLICT: &str = "MergeConflict";
/// How it is told that something published is not deleted at once.
const DELETION_WORDS: &str = "must be proposed for deletion";
/// How it is told that others came from a revision.
const UPSTREAM_WORDS: &str = "referenced as upstream by";
/// How it is told that an address is none to clone from.
const ADDRESS_WORDS: &str = "is no place to clone from";
/// The reasons of causes that a pipeline gives.
const RENDERING: [&str; 4] = ["FunctionResult", "FunctionFailed", "FunctionUnusable", "RenderFailed"];
/// How it is told that functions of a pipeline cannot be run.
const UNRUNNABLE_WORDS: &str = "cannot run, and none did";
/// How Porch begins to tell that a pipeline failed.
const RENDERING_WORDS: &str = "fn.render:";

/// Why there is no answer that can be used.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The server said no.
    Refused(Refusal),
    /// It could not be asked, or did not answer to the end.
    Unreachable(String),
    /// Somebody wants the command to end.
    Stopped,
}

/// The server said no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The code of HTTP.
    pub code: u16,
    pub reason: String,
    pub message: String,
    pub causes: Vec<Cause>,
}

/// One of the reasons why it said no.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Cause {
    pub reason: String,
    pub message: String,
    pub field: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    kind: String,
    message: String,
    reason: String,
    details: Option<Details>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    causes: Option<Vec<Cause>>,
}

impl Refusal {
    /// What an answer with that code says.
    pub fn of(code: u16, body: &[u8]) -> Self {
        let status: Option<Status> = serde_json::from_slice(body).ok();
        if let Some(status) = status.filter(|status| status.kind == "Status") {
            let causes = status.details.and_then(|details| details.causes).unwrap_or_default();
            return Self { code, reason: status.reason, message: status.message, causes };
        }
        let text = String::from_utf8_lossy(body);
        let said = text.trim().lines().next().unwrap_or_default().to_owned();
        let message = match (code, said.as_str()) {
            (_, "") => format!("the server answered {code} without a word"),
            _ => format!("the server answered {code}: {said}"),
        };
        Self { code, reason: String::new(), message, causes: Vec::new() }
    }

    pub fn is_missing(&self) -> bool {
        self.code == 404
    }

    /// Whether it was more than the server takes.
    pub fn is_too_large(&self) -> bool {
        self.code == 413
    }

    /// Whether somebody else was quicker.
    pub fn is_conflict(&self) -> bool {
        const WORDS: &str = "the object has been modified; please apply your changes to the latest version";
        // Porch says it with another code.
        (self.code == 409 && self.reason == "Conflict" && self.merge_conflicts().is_empty())
            || (self.code == 500 && self.message.contains(WORDS))
    }

    /// The conflicts of an upgrade that nobody resolved.
    pub fn merge_conflicts(&self) -> Vec<Value> {
        let causes = self.causes.iter().filter(|cause| cause.reason == MERGE_CONFLICT);
        causes.filter_map(|cause| serde_json::from_str(&cause.message).ok()).collect()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message.trim_end())
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Unreachable(why) => f.write_str(why),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl Refusal {
    /// Why the server said no.
    pub fn cause(&self) -> Code {
        let mut said = self.causes.iter().map(|cause| cause.message.as_str()).chain([self.message.as_str()]);
        if said.any(|text| text.contains(UNRUNNABLE_WORDS)) {
            return Code::FunctionUnknown;
        }
        let is_rendering = |cause: &Cause| RENDERING.contains(&cause.reason.as_str());
        if self.causes.iter().any(is_rendering) || self.message.contains(RENDERING_WORDS) {
            return Code::FunctionFailed;
        }
        if self.is_conflict() {
            return Code::Stale;
        }
        if !self.merge_conflicts().is_empty() {
            return Code::Undecided;
        }
        match (self.code, self.reason.as_str()) {
            // No rule forbids it, but the place of the revision in its life.
            (403, _) if self.message.contains(DELETION_WORDS) || self.message.contains(UPSTREAM_WORDS) => {
                Code::Lifecycle
            }
            (403, _) if self.message.contains(ADDRESS_WORDS) => Code::Address,
            (401, _) => Code::Unauthorized,
            (403, _) => Code::Forbidden,
            (404, _) => Code::NotFound,
            (413, _) => Code::Limit,
            (409, "AlreadyExists") => Code::AlreadyThere,
            (409, _) => Code::Lifecycle,
            (408 | 429 | 503 | 504, _) => Code::Unavailable,
            (500.., _) => Code::ServerError,
            _ => Code::Invalid,
        }
    }
}

impl Refusal {
    /// Says what functions, or others whom the server asked, gave as their reasons, as far as the message does not say it. Conflicts
    /// are shown elsewhere.
    pub fn tell_causes(&self, io: &mut Io<'_>) {
        let is_new =
            |cause: &&Cause| cause.reason != MERGE_CONFLICT && !self.message.contains(cause.message.trim());
        for cause in self.causes.iter().filter(is_new) {
            let place = if cause.field.is_empty() { String::new() } else { format!("{}: ", cause.field) };
            io.tell(&format!("  {place}{}", cause.message));
        }
    }
}

impl Trouble {
    /// Why there is no answer.
    pub fn code(&self) -> Code {
        match self {
            Self::Refused(refusal) => refusal.cause(),
            Self::Unreachable(_) => Code::Unreachable,
            Self::Stopped => Code::Interrupted,
        }
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        let code = trouble.code();
        let failure = Self::of(code, trouble.to_string());
        match (&trouble, code) {
            (Trouble::Stopped, _) => Self::NobodyReads,
            (_, Code::Unauthorized) => {
                failure.hint("the server does not know who you are: see the user of the kubeconfig")
            }
            (_, Code::Limit) => failure.hint("limits are in bytes; of lanai serve it is maxBody"),
            (_, Code::Forbidden) => failure.hint("\"lanai doctor\" says what you may do"),
            (_, Code::Unreachable) => failure.hint("\"lanai doctor\" looks for the reason"),
            _ => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_status_is_told_as_it_is() {
        let check =
            |body: &str, message: &str| assert_eq!(Refusal::of(503, body.as_bytes()).message, message);
        check("", "the server answered 503 without a word");
        check("no backend\nmore", "the server answered 503: no backend");
        check("{\"kind\":\"Status\",\"message\":\"busy\"}", "busy");
    }

    #[test]
    fn refusals_have_the_code_of_their_cause() {
        let check = |code: u16, reason: &str, message: &str, causes: &[&str], expected: Code| {
            let cause = |reason: &&str| Cause { reason: (*reason).to_owned(), ..Cause::default() };
            let causes = causes.iter().map(cause).collect();
            let refusal = Refusal { code, reason: reason.into(), message: message.into(), causes };
            assert_eq!(refusal.cause(), expected, "{refusal:?}");
        };
        check(401, "Unauthorized", "", &[], Code::Unauthorized);
        check(403, "Forbidden", "x", &[], Code::Forbidden);
        check(403, "Forbidden", "published ones must be proposed for deletion", &[], Code::Lifecycle);
        check(403, "Forbidden", "x, it is referenced as upstream by: y", &[], Code::Lifecycle);
        check(403, "Forbidden", "x: a folder is no place to clone from", &[], Code::Address);
        check(404, "NotFound", "", &[], Code::NotFound);
        check(413, "RequestEntityTooLarge", "", &[], Code::Limit);
        check(409, "AlreadyExists", "", &[], Code::AlreadyThere);
        check(409, "Conflict", "", &[], Code::Stale);
        check(422, "Invalid", "", &["FieldValueInvalid"], Code::Invalid);
        check(422, "Invalid", "", &["FunctionResult"], Code::FunctionFailed);
        check(
            422,
            "Invalid",
            "a function cannot run, and none did: x",
            &["RenderFailed"],
            Code::FunctionUnknown,
        );
        check(500, "InternalError", "fn.render: pkg /: no", &[], Code::FunctionFailed);
        check(429, "TooManyRequests", "", &[], Code::Unavailable);
        check(500, "InternalError", "", &[], Code::ServerError);
    }

    #[test]
    fn conflicts_are_known_by_the_words_of_porch_too() {
        let words = "Internal error occurred: Operation cannot be fulfilled on x: the object has been modified; please apply your changes to the latest version and try again";
        let refusal = |code: u16, reason: &str, message: &str| Refusal {
            code,
            reason: reason.into(),
            message: message.into(),
            causes: Vec::new(),
        };
        assert!(refusal(500, "InternalError", words).is_conflict());
        assert!(refusal(409, "Conflict", "any").is_conflict());
        assert!(!refusal(409, "AlreadyExists", "any").is_conflict());
        assert!(!refusal(500, "InternalError", "another").is_conflict());
    }
}
