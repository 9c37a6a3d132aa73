//! What is wrong with a definition, in the words of kube-apiserver.

use serde_json::{Map, Value};

use crate::cause::{Cause, FieldPath, Reason};
use crate::jsonpath::JsonPath;
use crate::names;
use crate::schema::{self, Limits, Schema, Type, rules};

const CELL_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const CELL_FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const SELECTABLE: &str = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are \
                          allowed.";
/// How many fields of a version selectors can name.
const MAX_SELECTABLE: usize = 8;

/// What is wrong with a definition that [`fill`](super::fill) has been over; `old` is the one that it replaces. Metadata is checked
/// elsewhere, but for the name.
pub fn validate(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let spec = &object["spec"];
    let root = FieldPath::from("spec");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    let name = text(&object["metadata"]["name"]);
    if name != format!("{plural}.{group}") {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid(&FieldPath::from("metadata.name"), name, detail));
    }
    check_group(&group, object, &mut causes);
    check_scope(spec, &mut causes);
    check_versions(spec, &mut causes);
    check_names(&spec["names"], &root.child("names"), &mut causes);
    check_conversion(&spec["conversion"], &root.child("conversion"), &mut causes);
    if spec["preserveUnknownFields"] == true {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        causes.push(Cause::invalid(&root.child("preserveUnknownFields"), true, detail));
    }
    if let Some(old) = old {
        check_change(spec, old, &mut causes);
    }
    let mut seen: Vec<String> = Vec::new();
    causes.retain(|cause| {
        let text = cause.to_string();
        let is_new = !seen.contains(&text);
        seen.push(text);
        is_new
    });
    causes
}

fn check_group(group: &str, object: &Value, causes: &mut Vec<Cause>) {
    let at = FieldPath::from("spec.group");
    if group.is_empty() {
        causes.push(Cause::required(&at, ""));
        return;
    }
    let wrong = names::dns_1123_subdomain(group);
    if !wrong.is_empty() {
        causes.push(Cause::invalid(&at, group, wrong.join(",")));
    } else if !group.contains('.') {
        causes.push(Cause::invalid(&at, group, "should be a domain with at least one dot"));
    }
    let is_protected =
        ["k8s.io", "kubernetes.io"].iter().any(|one| group == *one || group.ends_with(&format!(".{one}")));
    if is_protected
        && object["metadata"]["annotations"]["api-approved.kubernetes.io"]
            .as_str()
            .unwrap_or_default()
            .is_empty()
    {
        let at = FieldPath::from("metadata.annotations").key("api-approved.kubernetes.io");
        let detail = "protected groups must have approval annotation \"api-approved.kubernetes.io\", see \
                      https://github.com/kubernetes/enhancements/pull/1111";
        causes.push(Cause::required(&at, detail));
    }
}

fn check_scope(spec: &Value, causes: &mut Vec<Cause>) {
    let at = FieldPath::from("spec.scope");
    match spec["scope"].as_str().unwrap_or_default() {
        "" => causes.push(Cause::required(&at, "")),
        "Cluster" | "Namespaced" => {}
        other => causes.push(Cause::not_supported(&at, other, &["Cluster", "Namespaced"])),
    }
}

fn check_versions(spec: &Value, causes: &mut Vec<Cause>) {
    let at = FieldPath::from("spec.versions");
    let versions = spec["versions"].as_array().map_or(&[][..], Vec::as_slice);
    for (index, version) in versions.iter().enumerate() {
        let name = version["name"].as_str().unwrap_or_default();
        let wrong = names::dns_1035_label(name);
        if !wrong.is_empty() {
            causes.push(Cause::invalid(&at.index(index).child("name"), name, wrong.join(",")));
        }
    }
    let stored: Vec<&Value> = versions
        .iter()
        .filter(|version| version["storage"] == true)
        .map(|version| &version["name"])
        .collect();
    let mut named: Vec<&Value> = versions.iter().map(|version| &version["name"]).collect();
    named.sort_by_key(ToString::to_string);
    named.dedup();
    if named.len() < versions.len() {
        causes.push(Cause::invalid(&at, shown(versions), "must contain unique version names"));
    }
    let at_stored = FieldPath::from("status.storedVersions");
    match stored.as_slice() {
        [_] => {}
        [] => {
            causes.push(Cause::invalid(
                &at,
                shown(versions),
                "must have exactly one version marked as storage version",
            ));
            causes.push(Cause::invalid(&at_stored, Value::Null, "must have at least one stored version"));
        }
        _ => causes.push(Cause::invalid(
            &at,
            shown(versions),
            "must have exactly one version marked as storage version",
        )),
    }
    for (index, version) in versions.iter().enumerate() {
        check_version(spec, index, version, causes);
    }
}

/// Versions as the messages of kube-apiserver show them, without their schemas.
fn shown(versions: &[Value]) -> Value {
    let one = |version: &Value| {
        let mut fields = Map::new();
        fields.insert("Name".to_owned(), version["name"].clone());
        for (name, field) in [("Served", "served"), ("Storage", "storage"), ("Deprecated", "deprecated")] {
            fields.insert(name.to_owned(), (version[field] == true).into());
        }
        for name in
            ["DeprecationWarning", "Schema", "Subresources", "AdditionalPrinterColumns", "SelectableFields"]
        {
            fields.insert(name.to_owned(), Value::Null);
        }
        Value::Object(fields)
    };
    versions.iter().map(one).collect()
}

fn check_version(spec: &Value, index: usize, version: &Value, causes: &mut Vec<Cause>) {
    let places = super::places(spec, index);
    let source = &version["schema"]["openAPIV3Schema"];
    if source.is_null() {
        let at = FieldPath::from("spec.versions").index(index).child("schema.openAPIV3Schema");
        causes.push(Cause::required(&at, ""));
        return;
    }
    let limits = Limits::default();
    match schema::parse(source, &places.schema, &limits) {
        Ok(schema) => {
            causes.extend(rules::compile(&schema, &places.schema, &limits));
            check_selectable(&version["selectableFields"], &schema, &places.selectable, causes);
        }
        Err(wrong) => causes.extend(wrong),
    }
    for (index, column) in version["additionalPrinterColumns"].as_array().into_iter().flatten().enumerate() {
        check_column(column, &places.columns.index(index), causes);
    }
    if let Some(scale) = version["subresources"].get("scale").filter(|scale| scale.is_object()) {
        check_scale(scale, &places.sub_resources.child("scale"), causes);
    }
}

fn check_column(column: &Value, at: &FieldPath, causes: &mut Vec<Cause>) {
    let text = |name: &str| column[name].as_str().unwrap_or_default();
    if text("name").is_empty() {
        causes.push(Cause::required(&at.child("name"), ""));
    }
    let types = format!("must be one of {}", CELL_TYPES.join(","));
    match text("type") {
        "" => causes.push(Cause::required(&at.child("type"), types)),
        known if CELL_TYPES.contains(&known) => {}
        other => causes.push(Cause::invalid(&at.child("type"), other, types)),
    }
    if !text("format").is_empty() && !CELL_FORMATS.contains(&text("format")) {
        let detail = format!("must be one of {}", CELL_FORMATS.join(","));
        causes.push(Cause::invalid(&at.child("format"), text("format"), detail));
    }
    let at_path = at.child("JSONPath");
    match text("jsonPath") {
        "" => causes.push(Cause::required(&at_path, "")),
        path => causes.extend(path_problem(path, &at_path)),
    }
}

fn path_problem(path: &str, at: &FieldPath) -> Option<Cause> {
    let is_path = path.starts_with('.') && JsonPath::parse(path).is_ok();
    (!is_path).then(|| Cause::invalid(at, path, "must be a simple json path starting with ."))
}

fn check_scale(scale: &Value, at: &FieldPath, causes: &mut Vec<Cause>) {
    for (name, root, is_required) in [
        ("specReplicasPath", "spec", true),
        ("statusReplicasPath", "status", true),
        ("labelSelectorPath", "", false),
    ] {
        let (path, at) = (scale[name].as_str().unwrap_or_default(), at.child(name));
        if path.is_empty() {
            if is_required {
                causes.push(Cause::required(&at, ""));
            }
            continue;
        }
        if let Some(problem) = path_problem(path, &at) {
            causes.push(problem);
        } else if root.is_empty() && !path.starts_with(".spec.") && !path.starts_with(".status.") {
            causes.push(Cause::invalid(&at, path, "should be a json path under either .spec or .status"));
        } else if !root.is_empty() && !path.starts_with(&format!(".{root}.")) {
            causes.push(Cause::invalid(&at, path, format!("should be a json path under .{root}")));
        }
    }
}

fn check_selectable(fields: &Value, schema: &Schema, at: &FieldPath, causes: &mut Vec<Cause>) {
    let fields = fields.as_array().map_or(&[][..], Vec::as_slice);
    if fields.len() > MAX_SELECTABLE {
        causes.push(Cause::too_many(at, fields.len(), MAX_SELECTABLE));
    }
    for (index, field) in fields.iter().enumerate() {
        let (path, at) = (field["jsonPath"].as_str().unwrap_or_default(), at.index(index).child("jsonPath"));
        if path.is_empty() {
            causes.push(Cause::required(&at, ""));
            continue;
        }
        if fields[..index].contains(field) {
            causes.push(Cause::duplicate(&at, path));
        }
        let steps = path.trim_start_matches('.').split('.');
        let found = steps.into_iter().try_fold(schema, |schema, name| schema.properties.get(name));
        match found.map(|found| found.kind) {
            _ if path.starts_with(".metadata") => {
                causes.push(Cause::invalid(&at, path, "must not point to fields in metadata"));
            }
            None => {
                causes.push(Cause::invalid(&at, path, "is an invalid path: does not refer to a valid field"));
            }
            Some(Type::String | Type::Boolean | Type::Integer) => {}
            Some(
                Type::Any | Type::Object | Type::Array | Type::Number | Type::IntOrString | Type::Quantity,
            ) => {
                causes.push(Cause::invalid(&at, path, SELECTABLE));
            }
        }
    }
}

fn check_names(source: &Value, at: &FieldPath, causes: &mut Vec<Cause>) {
    let text = |name: &str| source[name].as_str().unwrap_or_default().to_owned();
    // A kind is a name with letters of both sizes.
    let labels = [
        ("plural", text("plural")),
        ("singular", text("singular")),
        ("kind", text("kind")),
        ("listKind", text("listKind")),
    ];
    for (name, value) in &labels {
        let at = at.child(name);
        if value.is_empty() {
            causes.push(Cause::required(&at, ""));
            continue;
        }
        let lower = if matches!(*name, "kind" | "listKind") { value.to_lowercase() } else { value.clone() };
        let wrong = names::dns_1035_label(&lower);
        if !wrong.is_empty() {
            let detail = wrong.join(",");
            let detail = if *name == "kind" || *name == "listKind" {
                format!("may have mixed case, but should otherwise match: {detail}")
            } else {
                detail
            };
            causes.push(Cause::invalid(&at, value.as_str(), detail));
        }
    }
    for list in ["shortNames", "categories"] {
        for (index, value) in source[list].as_array().into_iter().flatten().enumerate() {
            let value = value.as_str().unwrap_or_default();
            let wrong = names::dns_1035_label(value);
            if !wrong.is_empty() {
                causes.push(Cause::invalid(&at.child(list).index(index), value, wrong.join(",")));
            }
        }
    }
    if !text("kind").is_empty() && text("kind") == text("listKind") {
        causes.push(Cause::invalid(
            &at.child("listKind"),
            text("listKind"),
            "kind and listKind may not be the same",
        ));
    }
}

fn check_conversion(source: &Value, at: &FieldPath, causes: &mut Vec<Cause>) {
    match source["strategy"].as_str().unwrap_or("None") {
        "None" => {
            if source.get("webhook").is_some_and(|webhook| !webhook.is_null()) {
                let detail = "should not be set when strategy is not set to Webhook";
                causes.push(Cause::forbidden(&at.child("webhookClientConfig"), detail));
            }
        }
        "Webhook" => {
            let detail = "conversion by webhooks is not supported by this server: use the strategy None";
            causes.push(Cause::new(Reason::Forbidden, &at.child("strategy"), None, detail));
        }
        other => causes.push(Cause::not_supported(&at.child("strategy"), other, &["None", "Webhook"])),
    }
}

/// What cannot change any more.
fn check_change(spec: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let is_established = old["status"]["conditions"]
        .as_array()
        .is_some_and(|list| list.iter().any(|one| one["type"] == "Established" && one["status"] == "True"));
    let mut fixed = vec!["group"];
    if is_established {
        fixed.push("scope");
    }
    for field in fixed {
        if spec[field] != old["spec"][field] {
            let at = FieldPath::from("spec").child(field);
            causes.push(Cause::invalid(&at, spec[field].clone(), "field is immutable"));
        }
    }
    for field in ["plural", "kind"] {
        if is_established && field == "kind" && spec["names"][field] != old["spec"]["names"][field] {
            let at = FieldPath::from("spec.names").child(field);
            causes.push(Cause::invalid(&at, spec["names"][field].clone(), "field is immutable"));
        }
        if field == "plural" && spec["names"][field] != old["spec"]["names"][field] {
            let at = FieldPath::from("spec.names").child(field);
            causes.push(Cause::invalid(&at, spec["names"][field].clone(), "field is immutable"));
        }
    }
    let versions = spec["versions"].as_array().map_or(&[][..], Vec::as_slice);
    for (index, stored) in old["status"]["storedVersions"].as_array().into_iter().flatten().enumerate() {
        if !versions.iter().any(|version| version["name"] == *stored) {
            let at = FieldPath::from("status.storedVersions").index(index);
            let name = stored.as_str().unwrap_or_default();
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
            );
            causes.push(Cause::invalid(&at, stored.clone(), detail));
        }
    }
}
