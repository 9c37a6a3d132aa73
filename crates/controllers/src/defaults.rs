//! What every namespace has: the service account `default`, and the certificate of the server's authority in the `ConfigMap` `kube-root-ca.crt`.

use async_trait::async_trait;
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::controller::{Context, Controller, Error, code, found};
use crate::hub::Change;
use crate::work::Next;

const ACCOUNT: &str = "default";
const ROOT: &str = "kube-root-ca.crt";

/// Makes and repairs them. A key is the name of a namespace.
pub struct Defaults {
    /// The certificate of the authority, in PEM.
    pub authority: String,
}

#[async_trait]
impl Controller for Defaults {
    type Key = String;
    const NAME: &'static str = "defaults";

    fn see(&self, change: &Change<'_>) -> Vec<String> {
        see(change).into_iter().collect()
    }

    async fn reconcile(&self, context: &Context, name: &String) -> Result<Next, Error> {
        let Some(namespaces) = context.kinds.find("", "Namespace") else { return Ok(Next::Done) };
        let found = namespaces.api(&context.client, None).get_metadata_opt(name).await?;
        if found.is_none_or(|namespace| namespace.metadata.deletion_timestamp.is_some()) {
            return Ok(Next::Done);
        }
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT}});
        ensure(context, name, account, None).await?;
        let about = "The certificate by which clients inside know this server.";
        let metadata = json!({"name": ROOT, "annotations": {"kubernetes.io/description": about}});
        let data = json!({"ca.crt": self.authority});
        let root = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
        ensure(context, name, root, Some(&data)).await?;
        Ok(Next::Done)
    }
}

fn see(change: &Change<'_>) -> Option<String> {
    match change {
        Change::There { kind, object } if kind.is("", "Namespace") => {
            object.name.clone().filter(|_| object.deletion_timestamp.is_none())
        }
        Change::There { kind, object }
            if kind.is("", "ConfigMap") && object.name.as_deref() == Some(ROOT) =>
        {
            object.namespace.clone()
        }
        Change::Gone { kind, object }
            if (kind.is("", "ConfigMap") && object.name.as_deref() == Some(ROOT))
                || (kind.is("", "ServiceAccount") && object.name.as_deref() == Some(ACCOUNT)) =>
        {
            object.namespace.clone()
        }
        Change::There { .. }
        | Change::Gone { .. }
        | Change::Listing(_)
        | Change::Listed(_)
        | Change::Served(_)
        | Change::Withdrawn(_) => None,
    }
}

/// Makes an object if there is none; sets its data if it has other.
async fn ensure(
    context: &Context,
    namespace: &str,
    object: Value,
    data: Option<&Value>,
) -> Result<(), Error> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let Some(kind) = context.kinds.find("", kind) else { return Ok(()) };
    let api = kind.api(&context.client, Some(namespace));
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    match found(api.get(&name).await)? {
        None => {
            let object: DynamicObject = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
            match api.create(&PostParams::default(), &object).await {
                // Somebody was faster, or the namespace is on its way out.
                Err(error) if matches!(code(&error), Some(403 | 404 | 409)) => Ok(()),
                answer => answer.map(|_| ()).map_err(Error::from),
            }
        }
        Some(mut there)
            if there.metadata.deletion_timestamp.is_none()
                && data.is_some_and(|data| there.data["data"] != *data) =>
        {
            there.data["data"] = data.cloned().unwrap_or_default();
            match api.replace(&name, &PostParams::default(), &there).await {
                // An immutable one is left as it is.
                Err(error) if code(&error) == Some(422) => Ok(()),
                answer => found(answer).map(|_| ()).map_err(Error::from),
            }
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::tests::kind;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    use lanai_api::Scope;
    use std::sync::Arc;

    #[test]
    fn what_is_missing_is_noticed() {
        let of = |kind_name: &str, plural: &str, scope| Arc::new(kind("", kind_name, plural, scope));
        let namespaces = of("Namespace", "namespaces", Scope::Cluster);
        let maps = of("ConfigMap", "configmaps", Scope::Namespaced);
        let accounts = of("ServiceAccount", "serviceaccounts", Scope::Namespaced);
        let object = |name: &str| ObjectMeta {
            name: Some(name.into()),
            namespace: Some("a".into()),
            ..ObjectMeta::default()
        };
        let check = |change: Change<'_>, expected: Option<&str>| {
            assert_eq!(see(&change).as_deref(), expected, "{change:?}");
        };
        check(Change::There { kind: &namespaces, object: &object("n") }, Some("n"));
        check(Change::Gone { kind: &namespaces, object: &object("n") }, None);
        check(Change::There { kind: &maps, object: &object(ROOT) }, Some("a"));
        check(Change::Gone { kind: &maps, object: &object(ROOT) }, Some("a"));
        check(Change::Gone { kind: &maps, object: &object("other") }, None);
        check(Change::There { kind: &accounts, object: &object(ACCOUNT) }, None);
        check(Change::Gone { kind: &accounts, object: &object(ACCOUNT) }, Some("a"));
    }
}
