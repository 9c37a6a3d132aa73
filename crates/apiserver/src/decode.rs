//! Bodies.

use lanai_api::{Cause, schema};
use lanai_types::limits::YamlLimits;
use lanai_yaml::Stream;
use serde_json::Value;

use crate::core::Call;
use crate::meta;
use crate::query::FieldValidation;
use crate::status::{Reason, Status};

/// An object that a client sent, with what it is warned of.
pub(crate) struct Decoded {
    pub object: Value,
    pub warnings: Vec<String>,
}

/// Reads a body in JSON or YAML.
pub(crate) fn value(content_type: &str, body: &[u8]) -> Result<Value, Status> {
    let media = content_type.split(';').next().unwrap_or_default().trim();
    match media {
        "" | "application/json" | "text/plain" | "application/x-www-form-urlencoded" => json(body),
        "application/yaml" | "application/apply-patch+yaml" => yaml(body),
        other => Err(unsupported(&["application/json", "application/yaml"], other)),
    }
}

/// Reads JSON.
pub(crate) fn json(body: &[u8]) -> Result<Value, Status> {
    serde_json::from_slice(body).map_err(|error| {
        Status::bad_request(format!("the object provided is unrecognized (must be of type JSON): {error}"))
    })
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
pub(crate) fn unsupported(known: &[&str], found: &str) -> Status {
    let known = known.join(", ");
    let message =
        format!("the body of the request was in an unknown format - accepted media types include: {known}");
    let status = Status::new(Reason::UnsupportedMediaType, message);
    status.because("UnexpectedServerResponse", format!("found \"{found}\""), "")
}

/// Reads the object of a create or update.
pub(crate) fn object(call: &Call) -> Result<Decoded, Status> {
    let object = value(&call.content_type, &call.body)?;
    admit(call, object)
}

/// Checks that an object is one of the kind, fills in defaults, and drops what the kind does not have.
pub(crate) fn admit(call: &Call, mut object: Value) -> Result<Decoded, Status> {
    let validation = FieldValidation::of(&call.query)?;
    check_type(call, &mut object)?;
    let version = call.version()?;
    let mut warnings: Vec<String> = version.deprecation.iter().cloned().collect();
    let pruned = schema::prune(&mut object, &version.schema);
    let words: Vec<String> = pruned.iter().map(schema::Pruned::message).collect();
    match validation {
        FieldValidation::Strict if !words.is_empty() => {
            let names = &call.kind.info.names;
            let message = format!("strict decoding error: {}", words.join(", "));
            return Err(Status::bad_request(match call.kind.info.origin {
                lanai_api::Origin::BuiltIn => {
                    let version = &call.path.gv.version;
                    format!(
                        "{} in version {version:?} cannot be handled as a {}: {message}",
                        names.kind, names.kind
                    )
                }
                lanai_api::Origin::Ours | lanai_api::Origin::Custom => message,
            }));
        }
        FieldValidation::Warn => warnings.extend(words),
        FieldValidation::Strict | FieldValidation::Ignore => {}
    }
    schema::fill(&mut object, &version.schema);
    Ok(Decoded { object, warnings })
}

fn check_type(call: &Call, object: &mut Value) -> Result<(), Status> {
    let info = &call.kind.info;
    let expected = info.api_version(&call.path.gv.version);
    if !object.is_object() {
        return Err(Status::bad_request("the object provided is not an object"));
    }
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    let api_version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
    if kind.is_empty() && info.origin != lanai_api::Origin::BuiltIn {
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

/// What is wrong with metadata that clients write.
pub(crate) fn check_metadata(object: &Value) -> Vec<Cause> {
    let metadata = &object["metadata"];
    let mut causes = Vec::new();
    let maps = [("labels", "metadata.labels"), ("annotations", "metadata.annotations")];
    for (name, path) in maps {
        match &metadata[name] {
            Value::Null => {}
            Value::Object(map) if name == "labels" => causes.extend(crate::labels::check_labels(path, map)),
            Value::Object(map) => causes.extend(crate::labels::check_annotations(map)),
            other => causes.push(Cause::wrong_type(&path.into(), other.clone(), "must be an object")),
        }
    }
    for finalizer in meta::finalizers(object) {
        let is_builtin = [meta::ORPHAN, meta::FOREGROUND, "kubernetes"].contains(&finalizer);
        if !crate::labels::is_qualified_name(finalizer) {
            causes.push(Cause::invalid(&"metadata.finalizers".into(), finalizer, crate::labels::NOT_A_NAME));
        } else if !finalizer.contains('/') && !is_builtin {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid(&"metadata.finalizers".into(), finalizer, why));
        }
    }
    causes.extend(check_owners(metadata));
    causes
}

fn check_owners(metadata: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut controllers = 0;
    for owner in metadata["ownerReferences"].as_array().into_iter().flatten() {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if owner[field].as_str().unwrap_or_default().is_empty() {
                let path = format!("metadata.ownerReferences.{field}");
                causes.push(Cause::invalid(&path.as_str().into(), "", format!("{field} must not be empty")));
            }
        }
        controllers += usize::from(owner["controller"] == true);
    }
    if controllers > 1 {
        let why = "Only one reference can have Controller set to true";
        causes.push(Cause::invalid(
            &"metadata.ownerReferences".into(),
            metadata["ownerReferences"].clone(),
            why,
        ));
    }
    causes
}
