//! What clients are told when the engine refuses.

use lanai_api::Verb;
use lanai_apiserver::Status;
use lanai_apiserver::status::{GroupResource, Reason as ApiReason};
use lanai_engine::error::{About, CONCURRENT};
use lanai_engine::{Error, Reason};

/// The answer for a failure of the engine.
pub(super) fn of(error: &Error) -> Status {
    let About { subject, name } = &error.about;
    let resource =
        GroupResource { group: subject.group().to_owned(), resource: subject.resource().to_owned() };
    let kind = GroupResource { group: subject.group().to_owned(), resource: subject.kind().to_owned() };
    let said = &error.message;
    let mut status = match error.reason {
        Reason::BadRequest => Status::bad_request(said),
        Reason::Forbidden => Status::forbidden(&resource, name, said),
        Reason::NotFound if said == "not found" => Status::not_found(&resource, name),
        Reason::NotFound => Status::new(ApiReason::NotFound, said).about(&resource, name),
        Reason::MethodNotAllowed => Status::method_not_allowed(),
        Reason::AlreadyExists => Status::new(ApiReason::AlreadyExists, said).about(&resource, name),
        Reason::Conflict => Status::conflict(&resource, name, said),
        Reason::Overtaken => Status::modified(&resource, name, "", ""),
        Reason::TooLarge => Status::new(ApiReason::RequestEntityTooLarge, said),
        Reason::Invalid => {
            let message = format!("{kind} \"{name}\" is invalid: {said}");
            Status::new(ApiReason::Invalid, message).about(&kind, name)
        }
        Reason::Internal => Status::internal(said),
        Reason::Unavailable => {
            Status::new(ApiReason::ServiceUnavailable, said).about(&resource, name).retry_after(1)
        }
        Reason::Unknown => Status::new(ApiReason::Timeout, said).about(&resource, name).retry_after(1),
    };
    for cause in &error.causes {
        if cause.reason == CONCURRENT {
            status = concurrent(status, cause.message.clone());
            continue;
        }
        status = status.because(&cause.reason, cause.message.clone(), &cause.field);
    }
    status
}

/// The same for somebody who came too late.
pub(super) fn concurrent(mut status: Status, said: String) -> Status {
    status.message = format!("{}; {said}", status.message);
    status.because(CONCURRENT, said, "")
}

/// The words of Porch for verbs that a kind has not.
pub(super) fn not_allowed(plural: &str, verb: Verb) -> Status {
    let instead =
        |what: &str| format!("{what} is not supported on resources of kind \"{plural}.porch.kpt.dev\"");
    let text = match (plural, verb) {
        (_, Verb::Watch) => instead("watch"),
        ("packages", Verb::Create) => instead(
            "create or clone a PackageRevision resource to create a package as direct package creation",
        ),
        ("packages", Verb::Update | Verb::Patch) => {
            instead("update a PackageRevision resource to update a package as direct package update")
        }
        ("packages", Verb::Delete) => instead(
            "delete all PackageRevisions resources of a package to delete a package as direct package deletion",
        ),
        _ => return Status::method_not_allowed(),
    };
    let resource = GroupResource { group: "porch.kpt.dev".to_owned(), resource: plural.to_owned() };
    Status::new(ApiReason::MethodNotAllowed, text).about(&resource, "")
}
