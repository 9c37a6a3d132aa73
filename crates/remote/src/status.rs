//! Errors, as gRPC says them.

use lanai_evaluate::{Error, Failed};
use lanai_krm::ResultItem;
use prost::Message;
use tonic::{Code, Status};

use crate::proto::{Any, FUNCTION_FAILURE, FunctionFailure, RpcStatus};

/// How much of what a function wrote to its standard error output goes into an error: headers have limits, and so have their readers.
const MAX_STDERR: usize = 2 * 1024;
/// How much of an error goes into the message.
const MAX_MESSAGE: usize = 4 * 1024;

/// How a function failed, beside the message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// The code that it ended with.
    pub exit_code: i32,
    /// The beginning of what it wrote to its standard error output.
    pub stderr: String,
    /// What it reported.
    pub results: Vec<ResultItem>,
}

impl Details {
    /// An error with these details.
    pub fn into_status(self, message: &str) -> Status {
        let message = beginning(message, MAX_MESSAGE);
        let mut failure = FunctionFailure {
            exit_code: self.exit_code,
            stderr: beginning(&self.stderr, MAX_STDERR).to_owned(),
            results: serde_json::to_string(&self.results).unwrap_or_default(),
        };
        if failure.results.len() > MAX_STDERR {
            // The message has the beginning.
            failure.results = String::new();
        }
        let detail = Any { type_url: FUNCTION_FAILURE.to_owned(), value: failure.encode_to_vec() };
        let code = Code::Internal;
        let status = RpcStatus { code: code as i32, message: message.to_owned(), details: vec![detail] };
        Status::with_details(code, message, status.encode_to_vec().into())
    }

    /// The details of an error, if it has some of ours.
    pub fn of(status: &Status) -> Option<Self> {
        let rich = RpcStatus::decode(status.details()).ok()?;
        let detail = rich.details.iter().find(|detail| detail.type_url == FUNCTION_FAILURE)?;
        let failure = FunctionFailure::decode(detail.value.as_slice()).ok()?;
        let results = serde_json::from_str(&failure.results).unwrap_or_default();
        Some(Self { exit_code: failure.exit_code, stderr: failure.stderr, results })
    }
}

/// An error of an evaluator for a caller.
pub(crate) fn of(image: &str, error: Error) -> Status {
    match error {
        Error::NotFound(_) => Status::not_found(format!("function \"{image}\" is not known here")),
        Error::Failed(failed) => {
            let Failed { why, exit_code, results, stderr } = *failed;
            let told: Vec<&str> = results.iter().map(|result| result.message.as_str()).collect();
            let message = format!(
                "failed to evaluate function \"{image}\": {why}; results: {}; stderr: {stderr}",
                told.join("; ")
            );
            Details { exit_code, stderr, results }.into_status(&message)
        }
        Error::Timeout { limit, .. } => Status::deadline_exceeded(format!(
            "function evaluation timed out for \"{image}\" after {limit:?}"
        )),
        Error::Cancelled => Status::cancelled(format!("function \"{image}\" was called off")),
        Error::Refused(why) => Status::permission_denied(format!("function \"{image}\" may not run: {why}")),
        error => Status::internal(format!("Failed to execute function \"{image}\": {error}")),
    }
}

/// The first bytes of a text, up to the end of a letter.
pub(crate) fn beginning(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_go_through() {
        let results = vec![ResultItem { message: "no".into(), ..ResultItem::default() }];
        let details = Details { exit_code: 3, stderr: "why".into(), results };
        let status = details.clone().into_status("it failed");
        assert_eq!((status.code(), status.message()), (Code::Internal, "it failed"));
        assert_eq!(Details::of(&status), Some(details));
        assert_eq!(Details::of(&Status::internal("other")), None);
    }

    #[test]
    fn texts_are_cut_between_letters() {
        assert_eq!(beginning("aé", 2), "a");
        assert_eq!(beginning("aé", 3), "aé");
    }
}
