//! Deletes all objects of a kind.

use std::collections::BTreeMap;

use futures_util::stream::{StreamExt, iter};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, api::DynamicObject};

use crate::controller::{Context, Error, found};
use crate::kind::{Backing, Kind};

/// Objects that are read at once.
const PAGE: u32 = 500;
/// Objects that are deleted at the same time.
const AT_ONCE: usize = 16;

/// What is still there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    /// How many objects.
    pub count: usize,
    /// What holds them, and how many.
    pub finalizers: BTreeMap<String, usize>,
}

impl Left {
    fn add(&mut self, object: &ObjectMeta) {
        self.count += 1;
        for finalizer in object.finalizers.iter().flatten() {
            *self.finalizers.entry(finalizer.clone()).or_default() += 1;
        }
    }
}

/// Deletes the objects of a kind, those of a namespace or all; returns what could not go yet.
///
/// Objects of virtual kinds are unregistered where they are those of a namespace: what they stand for stays.
pub(crate) async fn empty(context: &Context, kind: &Kind, namespace: Option<&str>) -> Result<Left, Error> {
    let api = kind.api(&context.client, namespace);
    let is_unregistered = kind.backing == Backing::Virtual && namespace.is_some();
    if is_unregistered {
        let request =
            http::Request::delete(format!("{}?unregister=true", api.resource_url())).body(Vec::new())?;
        context.client.request_text(request).await?;
    }
    let mut left = Left::default();
    let mut params = ListParams::default().limit(PAGE);
    loop {
        let mut page = api.list_metadata(&params).await?;
        if is_unregistered {
            // Whatever is there again goes the same way next time.
            page.items.iter().for_each(|item| left.add(&item.metadata));
            page.items.clear();
        }
        let (client, kind) = (&context.client, kind);
        let mut deleted = iter(page.items)
            .map(|item| async move {
                delete(&kind.api(client, item.metadata.namespace.as_deref()), item.metadata).await
            })
            .buffer_unordered(AT_ONCE);
        while let Some(done) = deleted.next().await {
            if let Some(object) = done? {
                left.add(&object);
            }
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = ListParams::default().limit(PAGE).continue_token(&token),
            None => return Ok(left),
        }
    }
}

/// Deletes one; returns it if it is still there.
async fn delete(api: &Api<DynamicObject>, object: ObjectMeta) -> Result<Option<ObjectMeta>, Error> {
    if object.deletion_timestamp.is_some() {
        return Ok(Some(object));
    }
    let name = object.name.unwrap_or_default();
    let Some(deleted) = found(api.delete(&name, &DeleteParams::background()).await)? else { return Ok(None) };
    Ok(deleted.left().map(|object| object.metadata))
}
