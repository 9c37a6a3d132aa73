//! What a program answered, as an evaluator says it.

use lanai_evaluate::wire::Sent;
use lanai_evaluate::{Error, Failed, Failing, Response};
use lanai_krm::ResourceList;
use lanai_process::{Finished, Status};

/// The answer to what was sent, of a program that ended by itself.
///
/// A program that failed has failed whatever it wrote; its results are kept if they can be read.
pub(crate) fn of(finished: Finished, sent: &Sent) -> Result<Response, Error> {
    let list = read(&finished.output, sent);
    let stderr = finished.messages;
    let failed = |why, exit_code, results| {
        Err(Error::Failed(Box::new(Failed { why, exit_code, results, stderr: stderr.clone() })))
    };
    let results = |list: Result<ResourceList, Failing>| list.map(|list| list.results).unwrap_or_default();
    match (finished.status, list) {
        (Status::Exited(0), Ok(list)) => Ok(Response { list, stderr, evaluator: "exec", exit_code: 0 }),
        (Status::Exited(0), Err(why)) => failed(why, 1, Vec::new()),
        (Status::Exited(code), list) => failed(Failing::Exit(code), code, results(list)),
        (Status::Killed(signal), list) => failed(Failing::Signal(signal), 1, results(list)),
    }
}

/// The error for a program that did not get to its end.
pub(crate) fn error(error: lanai_process::Error) -> Error {
    let beyond = |limit: String, stderr| {
        Error::Failed(Box::new(Failed {
            why: Failing::Limit(limit),
            exit_code: 1,
            results: Vec::new(),
            stderr,
        }))
    };
    match error {
        lanai_process::Error::TooLong { limit, messages, .. } => Error::Timeout { limit, stderr: messages },
        lanai_process::Error::TooMuch { limit, messages, .. } => {
            beyond(format!("it wrote more than the {limit} of max_output"), messages)
        }
        lanai_process::Error::TooLarge { limit, messages, .. } => {
            beyond(format!("it took more than the {limit} of max_memory"), messages)
        }
        lanai_process::Error::Cage { .. } => Error::Refused(error.to_string()),
        error => Error::Infrastructure(error.to_string()),
    }
}

fn read(output: &[u8], sent: &Sent) -> Result<ResourceList, Failing> {
    let text = std::str::from_utf8(output).map_err(|cause| Failing::Output(cause.to_string()))?;
    Ok(sent.receive(text)?)
}
