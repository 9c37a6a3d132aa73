//! Secrets and configuration maps.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lanai_api::{Cause, FieldPath};
use serde_json::{Value, json};

/// All data of one secret or configuration map.
pub const MAX_DATA: usize = 1024 * 1024;

pub(super) fn prepare_secret(object: &mut Value) {
    let fields = object.as_object_mut().expect("objects are decoded as such");
    if let Some(Value::Object(texts)) = fields.shift_remove("stringData") {
        for (key, text) in texts {
            let text = text.as_str().unwrap_or_default();
            object["data"][key] = json!(STANDARD.encode(text));
        }
    }
    if object["type"].as_str().unwrap_or_default().is_empty() {
        object["type"] = json!("Opaque");
    }
}

pub(super) fn validate_secret(new: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut size = 0;
    for (key, value) in new["data"].as_object().into_iter().flatten() {
        let field = FieldPath::from("data").key(key);
        check_key(&field, key, &mut causes);
        match value.as_str().map(|text| STANDARD.decode(text)) {
            Some(Ok(bytes)) => size += bytes.len(),
            // The value is not repeated: it may be a secret that somebody forgot to encode.
            Some(Err(_)) | None => causes.push(Cause::invalid(&field, "<redacted>", "must be base64")),
        }
    }
    check_size(size, &mut causes);
    if new["type"] == "kubernetes.io/tls" {
        for key in ["tls.crt", "tls.key"].into_iter().filter(|key| !new["data"][key].is_string()) {
            causes.push(Cause::required(&FieldPath::from("data").key(key), ""));
        }
    }
    if let Some(old) = old {
        if old["type"] != new["type"] {
            causes.push(Cause::invalid(&"type".into(), new["type"].clone(), "field is immutable"));
        }
        check_immutable(new, old, &["data"], &mut causes);
    }
    causes
}

pub(super) fn validate_config_map(new: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut size = 0;
    for part in ["data", "binaryData"] {
        for (key, value) in new[part].as_object().into_iter().flatten() {
            let field = FieldPath::from(part).key(key);
            check_key(&field, key, &mut causes);
            if part == "binaryData" && new["data"].get(key).is_some() {
                causes.push(Cause::invalid(&field, key.as_str(), "duplicate of key present in data"));
            }
            size += value.as_str().map_or(0, str::len);
        }
    }
    check_size(size, &mut causes);
    if let Some(old) = old {
        check_immutable(new, old, &["data", "binaryData"], &mut causes);
    }
    causes
}

fn check_immutable(new: &Value, old: &Value, parts: &[&str], causes: &mut Vec<Cause>) {
    if old["immutable"] != true {
        return;
    }
    let why = "field is immutable when `immutable` is set";
    if new["immutable"] != true {
        causes.push(Cause::forbidden(&"immutable".into(), why));
    }
    for part in parts.iter().filter(|part| new[**part] != old[**part]) {
        causes.push(Cause::forbidden(&(*part).into(), why));
    }
}

fn check_key(field: &FieldPath, key: &str, causes: &mut Vec<Cause>) {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if key.is_empty() || key.len() > 253 || !key.bytes().all(fits) || key == "." || key.starts_with("..") {
        let why = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
        causes.push(Cause::invalid(field, key, why));
    }
}

fn check_size(size: usize, causes: &mut Vec<Cause>) {
    if size > MAX_DATA {
        causes.push(Cause::too_long(&FieldPath::root(), MAX_DATA));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_secrets_is_encoded() {
        let mut secret = json!({"stringData": {"a": "b"}, "data": {"c": "ZA=="}});
        prepare_secret(&mut secret);
        assert_eq!(secret, json!({"data": {"c": "ZA==", "a": "Yg=="}, "type": "Opaque"}));
        assert!(validate_secret(&secret, None).is_empty());
        secret["data"]["a"] = json!("plain text!");
        let causes = validate_secret(&secret, None);
        assert_eq!(causes.len(), 1);
        assert!(!causes[0].to_string().contains("plain"));
    }

    #[test]
    fn data_has_a_largest_size() {
        let of = |bytes: usize| json!({"data": {"a": "x".repeat(bytes)}});
        assert!(validate_config_map(&of(MAX_DATA), None).is_empty());
        assert_eq!(validate_config_map(&of(MAX_DATA + 1), None).len(), 1);
    }

    #[test]
    fn what_is_immutable_stays() {
        let old = json!({"immutable": true, "data": {"a": "b"}});
        assert!(validate_config_map(&old, Some(&old)).is_empty());
        let new = json!({"data": {"a": "c"}});
        assert_eq!(validate_config_map(&new, Some(&old)).len(), 2);
    }
}
