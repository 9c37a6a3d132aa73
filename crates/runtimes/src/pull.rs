//! The Secrets by which registries know a namespace.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The type of such Secrets.
pub const TYPE: &str = "kubernetes.io/dockerconfigjson";
/// The key in them.
const KEY: &str = ".dockerconfigjson";

/// How a registry knows somebody. What is secret of it is shown by nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct RegistryLogin {
    /// The registry, as `registry.example.com:5000`.
    pub registry: String,
    /// The user.
    pub user: String,
    /// The password, or a token in its place.
    pub password: String,
}

impl fmt::Debug for RegistryLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RegistryLogin {{ registry: {:?}, .. }}", self.registry)
    }
}

/// The logins in a Secret.
///
/// # Errors
/// When it has none. The text says nothing of what is in the Secret.
pub fn logins(secret: &Value) -> Result<Vec<RegistryLogin>, String> {
    let kind = secret["type"].as_str().unwrap_or_default();
    if kind != TYPE {
        return Err(format!("its type is not {TYPE}"));
    }
    let encoded = secret["data"][KEY].as_str().ok_or_else(|| format!("it has no key \"{KEY}\""))?;
    let bytes = STANDARD.decode(encoded).map_err(|_| format!("\"{KEY}\" is not in base 64"))?;
    // A message of the parser could quote what it stumbled over.
    let config: Value = serde_json::from_slice(&bytes).map_err(|_| format!("\"{KEY}\" is not in JSON"))?;
    let auths = config["auths"].as_object().ok_or_else(|| format!("\"{KEY}\" has no auths"))?;
    auths.iter().map(|(registry, auth)| login(registry, auth)).collect()
}

fn login(registry: &str, auth: &Value) -> Result<RegistryLogin, String> {
    let text = |key: &str| auth[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let joined = text("auth").and_then(|auth| {
        let joined = String::from_utf8(STANDARD.decode(auth).ok()?).ok()?;
        let (user, password) = joined.split_once(':')?;
        Some((user.to_owned(), password.to_owned()))
    });
    let (user, password) = joined
        .or_else(|| Some((text("username")?, text("password")?)))
        .ok_or_else(|| format!("for the registry \"{registry}\" it has no user and password"))?;
    let registry = registry.trim_start_matches("https://").trim_start_matches("http://");
    let registry = registry.split('/').next().unwrap_or_default().to_owned();
    Ok(RegistryLogin { registry, user, password })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secret(config: &str) -> Value {
        json!({"type": TYPE, "data": {KEY: STANDARD.encode(config)}})
    }

    #[test]
    fn logins_are_read_in_both_forms() {
        let config = json!({"auths": {
            "https://one.example.com/v1/": {"auth": STANDARD.encode("ann:pass:word")},
            "two.example.com:5000": {"username": "bob", "password": "hunter2"},
        }});
        let found = logins(&secret(&config.to_string())).unwrap();
        let shown: Vec<_> = found
            .iter()
            .map(|one| [one.registry.as_str(), one.user.as_str(), one.password.as_str()])
            .collect();
        assert_eq!(
            shown,
            [["one.example.com", "ann", "pass:word"], ["two.example.com:5000", "bob", "hunter2"]]
        );
        let debug = format!("{found:?}");
        assert!(
            !debug.contains("hunter2") && !debug.contains("pass:word") && !debug.contains("ann"),
            "{debug}"
        );
    }

    #[test]
    fn what_is_wrong_is_told_without_what_is_in_it() {
        for (object, words) in [
            (json!({"type": "Opaque"}), "its type is not"),
            (json!({"type": TYPE}), "it has no key"),
            (json!({"type": TYPE, "data": {KEY: "%hunter2"}}), "is not in base 64"),
            (secret("{hunter2"), "is not in JSON"),
            (secret("{\"a\": \"hunter2\"}"), "has no auths"),
            (secret(r#"{"auths": {"r": {"auth": "hunter2"}}}"#), "for the registry \"r\" it has no user"),
        ] {
            let why = logins(&object).unwrap_err();
            assert!(why.contains(words) && !why.contains("hunter2"), "{why}");
        }
    }
}
