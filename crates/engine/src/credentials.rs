//! Credentials of remotes, from Secrets.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lanai_repository::{Credential, CredentialName, Credentials, Proof};
use lanai_store::{Key, Store};
use serde_json::Value;
use tokio::runtime::Handle;

use crate::rows;

/// Reads Secrets of the store, each time that they are asked for, so that a change counts at once.
pub struct Secrets {
    store: Arc<dyn Store>,
    runtime: Handle,
}

impl Secrets {
    /// The Secrets of a store. The runtime is the one of the server; calls come from threads that may wait.
    pub fn new(store: Arc<dyn Store>, runtime: Handle) -> Self {
        Self { store, runtime }
    }
}

impl Credentials for Secrets {
    fn resolve(&self, name: &CredentialName) -> Result<Credential, String> {
        let (namespace, secret) = name.0.split_once('/').ok_or("it has no namespace")?;
        let key = Key::new(&rows::SECRET, namespace, secret).map_err(|error| error.to_string())?;
        let context = || format!("failed to obtain credential from secret {namespace}/{secret}");
        let found = self.runtime.block_on(self.store.get(&key)).map_err(|error| error.to_string())?;
        let Some(found) = found else {
            return Err(format!(
                "{}: cannot resolve credentials in a secret {namespace}/{secret}: secrets \"{secret}\" not found",
                context()
            ));
        };
        // What is in a Secret stands in no message, not even in one about its shape.
        let object: Value = serde_json::from_slice(&found.object.value)
            .map_err(|_| format!("{}: it cannot be read", context()))?;
        credential(&object).map_err(|why| format!("{}: error resolving credential: {why}", context()))
    }
}

fn credential(secret: &Value) -> Result<Credential, String> {
    let text = |key: &str| -> Result<Option<String>, String> {
        let Some(encoded) = secret["data"][key].as_str() else { return Ok(None) };
        let bytes = STANDARD.decode(encoded).map_err(|_| format!("\"{key}\" is not in base 64"))?;
        String::from_utf8(bytes).map(Some).map_err(|_| format!("\"{key}\" is no text"))
    };
    let needed = |key: &str| text(key)?.ok_or_else(|| format!("it has no key \"{key}\""));
    let ca_bundle = text("ca.crt")?.map(String::into_bytes);
    let proof = match secret["type"].as_str().unwrap_or_default() {
        "kubernetes.io/basic-auth" => {
            Proof::Basic { user: text("username")?.unwrap_or_default(), password: needed("password")? }
        }
        "kubernetes.io/ssh-auth" => {
            Proof::SshKey { key: needed("ssh-privatekey")?, known_hosts: text("known_hosts")? }
        }
        "Opaque" | "" => match text("bearerToken")? {
            Some(token) => Proof::Bearer(token),
            None if ca_bundle.is_some() => Proof::Nothing,
            None => return Err("bearer Token secret.Data key must be set as bearerToken".to_owned()),
        },
        other => {
            return Err(format!(
                "secrets of type \"{other}\" are not used for Git; there are kubernetes.io/basic-auth, kubernetes.io/ssh-auth and Opaque"
            ));
        }
    };
    Ok(Credential { proof, ca_bundle })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_of_each_type() {
        let of = |kind: &str, data: Value| credential(&json!({"type": kind, "data": data}));
        let basic = of("kubernetes.io/basic-auth", json!({"username": "YW5u", "password": "cHc="})).unwrap();
        assert!(basic.proof == Proof::Basic { user: "ann".into(), password: "pw".into() });
        let bearer = of("Opaque", json!({"bearerToken": "dG9r", "ca.crt": "eA=="})).unwrap();
        assert!(bearer.proof == Proof::Bearer("tok".into()) && bearer.ca_bundle == Some(b"x".to_vec()));
        let ssh = of("kubernetes.io/ssh-auth", json!({"ssh-privatekey": "aw=="})).unwrap();
        assert!(ssh.proof == Proof::SshKey { key: "k".into(), known_hosts: None });
        for (kind, data, words) in [
            ("Opaque", json!({}), "bearer Token secret.Data key must be set as bearerToken"),
            ("kubernetes.io/basic-auth", json!({"username": "YW5u"}), "it has no key \"password\""),
            ("Opaque", json!({"bearerToken": "%"}), "\"bearerToken\" is not in base 64"),
            ("kpt.dev/workload-identity-auth", json!({}), "are not used for Git"),
        ] {
            let error = of(kind, data).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
