//! Bodies.

use lanai_api::{Origin, cause, decode, protobuf, schema};
use lanai_types::limits::YamlLimits;
use lanai_yaml::Stream;
use serde_json::Value;

use crate::core::Call;
use crate::meta;
use crate::owners::{self, Owners};
use crate::query::FieldValidation;
use crate::status::{Reason, Status};

/// A value that a client sent.
pub(crate) struct Sent {
    pub value: Value,
    /// What is said of fields that stand there twice.
    pub duplicates: Vec<String>,
}

impl Sent {
    /// A value without any.
    pub fn plain(value: Value) -> Self {
        Self { value, duplicates: Vec::new() }
    }
}

/// An object that is to be written, with what the client is warned of.
#[derive(Clone)]
pub(crate) struct Decoded {
    pub object: Value,
    pub owners: Owners,
    pub warnings: Vec<String>,
}

/// The media type, without its parameters.
pub(crate) fn media(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

/// Reads a body.
pub(crate) fn sent(call: &Call, kind: &str) -> Result<Sent, Status> {
    match media(&call.content_type) {
        "" | "application/json" => {
            let read = decode::json(&call.body).map_err(|error| {
                Status::bad_request(format!(
                    "the object provided is unrecognized (must be of type {kind}): {error}"
                ))
            })?;
            Ok(Sent { value: read.value, duplicates: read.duplicates })
        }
        "application/yaml" => Ok(Sent::plain(yaml(&call.body)?)),
        protobuf::MEDIA_TYPE if call.kind.info.origin == Origin::BuiltIn || kind == "DeleteOptions" => {
            let read = protobuf::read(&call.body).map_err(|error| {
                Status::bad_request(format!(
                    "the object provided is unrecognized (must be of type {kind}): {error}"
                ))
            })?;
            Ok(Sent::plain(read))
        }
        _ => {
            let known: &[&str] = match call.kind.info.origin {
                Origin::BuiltIn => &["application/json", "application/yaml", protobuf::MEDIA_TYPE],
                Origin::Ours | Origin::Custom => &["application/json", "application/yaml"],
            };
            Err(unsupported(known))
        }
    }
}

/// Reads a patch in JSON.
pub(crate) fn patch(body: &[u8]) -> Result<Value, Status> {
    let read =
        decode::json(body).map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))?;
    Ok(read.value)
}

/// Reads one document of YAML, of which JSON is a part.
pub(crate) fn yaml(body: &[u8]) -> Result<Value, Status> {
    let wrong = |why: String| Status::bad_request(format!("error decoding YAML: {why}"));
    let stream =
        Stream::parse_bytes(body, &YamlLimits::default()).map_err(|error| wrong(error.to_string()))?;
    let [document] = stream.documents() else { return Err(wrong("one document is needed".into())) };
    document.root().deserialize().map_err(|error| wrong(error.to_string()))
}

/// 415.
pub(crate) fn unsupported(known: &[&str]) -> Status {
    let known = known.join(", ");
    let message =
        format!("the body of the request was in an unknown format - accepted media types include: {known}");
    Status::new(Reason::UnsupportedMediaType, message)
}

/// Reads the object of a create or update.
pub(crate) fn object(call: &Call) -> Result<Decoded, Status> {
    admit(call, sent(call, &call.kind.info.names.kind)?, Owners::ByChange)
}

/// Checks that an object is one of the kind, fills in defaults, and drops what the kind does not have.
///
/// Managed fields are left alone: what of them can be read is decided where they are used.
pub(crate) fn admit(call: &Call, sent: Sent, owners: Owners) -> Result<Decoded, Status> {
    let Sent { value: mut object, duplicates } = sent;
    if decode::depth(&object) > decode::MAX_DEPTH {
        let message = format!("the object provided is deeper than {}", decode::MAX_DEPTH);
        return Err(Status::bad_request(message));
    }
    check_type(call, &mut object)?;
    let managed = owners::take(&mut object);
    let version = call.version()?;
    decode::typed(&object, &call.kind.info, version).map_err(Status::bad_request)?;
    check_formats(call, &object)?;
    let mut warnings: Vec<String> = version.deprecation.iter().cloned().collect();
    let pruned = decode::unknown(&mut object, version);
    let mut words = duplicates;
    words.extend(pruned.iter().map(schema::Pruned::message));
    match call.options.validation {
        FieldValidation::Strict if !words.is_empty() => {
            return Err(unreadable(call, &format!("strict decoding error: {}", words.join(", "))));
        }
        FieldValidation::Warn => warnings.extend(words),
        FieldValidation::Strict | FieldValidation::Ignore => {}
    }
    match call.kind.info.origin {
        Origin::BuiltIn => lanai_api::core::fill(&call.kind.info, &mut object),
        Origin::Ours | Origin::Custom => schema::fill(&mut object, &version.schema),
    }
    owners::put(&mut object, managed);
    Ok(Decoded { object, owners, warnings })
}

/// The body is not an object of the kind, in the words of kube-apiserver for kinds of its own and for others.
fn unreadable(call: &Call, why: &str) -> Status {
    let kind = &call.kind.info.names.kind;
    Status::bad_request(match call.kind.info.origin {
        Origin::BuiltIn => {
            format!("{kind} in version {:?} cannot be handled as a {kind}: {why}", call.path.gv.version)
        }
        Origin::Ours | Origin::Custom => why.to_owned(),
    })
}

/// Texts of Kubernetes's own kinds that stand for something else, such as times and bytes, cannot be read at all if they are wrong. They are not
/// repeated: they may be secrets that somebody forgot to encode.
fn check_formats(call: &Call, object: &Value) -> Result<(), Status> {
    if call.kind.info.origin != Origin::BuiltIn {
        return Ok(());
    }
    let causes = schema::validate(object, None, &call.version()?.schema, &schema::Limits::default());
    if let Some(found) = causes.iter().find(|found| found.reason != cause::Reason::Required) {
        return Err(unreadable(call, &format!("the value of {} does not fit its type", found.field)));
    }
    let times = call.kind.special.exact_times().iter();
    let wrong =
        times.filter(|at| object.pointer(at).and_then(Value::as_str).is_some_and(|time| !is_exact(time)));
    match wrong.map(|at| at.trim_start_matches('/').replace('/', ".")).next() {
        None => Ok(()),
        Some(field) => {
            Err(unreadable(call, &format!("the time of {field} has not six digits behind its point")))
        }
    }
}

/// True for times such as `2026-01-01T00:00:00.000000Z`.
fn is_exact(time: &str) -> bool {
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).count();
    time.split_once('.').is_some_and(|(_, rest)| digits(rest) == 6)
}

fn check_type(call: &Call, object: &mut Value) -> Result<(), Status> {
    let info = &call.kind.info;
    let expected = info.api_version(&call.path.gv.version);
    if !object.is_object() {
        return Err(Status::bad_request("the object provided is not an object"));
    }
    let text = |name: &str| object[name].as_str().unwrap_or_default().to_owned();
    let (kind, api_version) = (text("kind"), text("apiVersion"));
    if kind.is_empty() && info.origin != Origin::BuiltIn {
        return Err(Status::bad_request("Object 'Kind' is missing in the body"));
    }
    if !api_version.is_empty() && api_version != expected {
        let message = format!(
            "the API version in the data ({api_version}) does not match the expected API version ({expected})"
        );
        return Err(Status::bad_request(message));
    }
    if !kind.is_empty() && kind != info.names.kind {
        let message = format!(
            "{kind} in version {:?} cannot be handled as a {}: no kind {kind:?} is registered here",
            call.path.gv.version, info.names.kind
        );
        return Err(Status::bad_request(message));
    }
    object["apiVersion"] = expected.into();
    object["kind"] = info.names.kind.clone().into();
    let metadata = &object["metadata"];
    if !metadata.is_null() && !metadata.is_object() {
        return Err(Status::bad_request("metadata of the object is not an object"));
    }
    for field in ["name", "generateName", "namespace", "uid", "resourceVersion"] {
        let value = &object["metadata"][field];
        if !value.is_null() && !value.is_string() {
            return Err(Status::bad_request(format!("metadata.{field} of the object is not a text")));
        }
    }
    Ok(())
}

/// Sets the namespace of the request, or refuses another one.
pub(crate) fn place(call: &Call, object: &mut Value) -> Result<(), Status> {
    let found = meta::namespace(object).to_owned();
    match call.namespace() {
        Some(namespace) if found.is_empty() => {
            meta::metadata(object).insert("namespace".into(), namespace.into());
            Ok(())
        }
        Some(namespace) if found == namespace => Ok(()),
        Some(_) => Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
        None if found.is_empty() => Ok(()),
        None => Err(Status::bad_request("namespace specified for an object that lives in none")),
    }
}
