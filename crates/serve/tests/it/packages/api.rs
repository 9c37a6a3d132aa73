//! Package revisions over the wire, without kubectl.

use std::collections::BTreeMap;

use futures_util::io::{AsyncBufReadExt, Lines};
use futures_util::stream::StreamExt;
use http::Request;
use kube::Client;
use lanai_testkit::objects::{Became, Event};
use serde_json::{Value, json};

pub(super) const REVISIONS: &str = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions";
pub(super) const FILES: &str = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisionresources";
/// The annotation in which a test leaves marks.
pub(super) const MARK: &str = "test/mark";

/// Sends a request; the object, or code and message.
pub(super) async fn send(
    client: &Client,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<Value, (u16, String)> {
    let media = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request =
        Request::builder().method(method).uri(path).header("content-type", media).body(body).unwrap();
    client.request::<Value>(request).await.map_err(|error| match error {
        kube::Error::Api(status) => (status.code, status.message),
        other => (0, other.to_string()),
    })
}

pub(super) fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).unwrap_or(0)
}

pub(super) fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

/// Everything of an object but its version.
pub(super) fn state(object: &Value) -> Value {
    let mut state = object.clone();
    for (of, field) in [("metadata", "resourceVersion"), ("metadata", "managedFields")] {
        state[of].as_object_mut().map(|fields| fields.remove(field));
    }
    state
}

/// A watch of all package revisions behind a version.
pub(super) struct Watch {
    lines: Lines<Box<dyn futures_util::io::AsyncBufRead + Send + Unpin>>,
}

impl Watch {
    pub(super) async fn open(client: &Client, behind: u64) -> Self {
        let uri = format!("{REVISIONS}?watch=true&allowWatchBookmarks=true&resourceVersion={behind}");
        let request = Request::get(uri).body(Vec::new()).unwrap();
        let stream = client.request_stream(request).await.unwrap();
        Self { lines: (Box::new(stream) as Box<dyn futures_util::io::AsyncBufRead + Send + Unpin>).lines() }
    }

    /// The next event; none when the watch ends.
    pub(super) async fn next(&mut self) -> Option<(Event, Value)> {
        loop {
            let line = self.lines.next().await?.ok()?;
            let event: Value = serde_json::from_str(&line).unwrap();
            let became = match event["type"].as_str().unwrap_or_default() {
                "ADDED" => Became::Added,
                "MODIFIED" => Became::Modified,
                "DELETED" => Became::Deleted,
                "BOOKMARK" => continue,
                other => panic!("{other}: {line}"),
            };
            let object = event["object"].clone();
            let mark = object["metadata"]["annotations"][MARK].as_str().map(str::to_owned);
            let event = Event {
                version: version(&object),
                object: name(&object),
                became,
                state: state(&object),
                mark,
            };
            return Some((event, object));
        }
    }

    /// Events up to that of an object.
    pub(super) async fn until(&mut self, last: &str, became: Became) -> Vec<(Event, Value)> {
        let mut heard = Vec::new();
        loop {
            let next = tokio::time::timeout(std::time::Duration::from_mins(1), self.next()).await;
            let next =
                next.unwrap_or_else(|_| panic!("nothing more is heard, and \"{last}\" was not: {heard:#?}"));
            let (event, object) = next.expect("the watch goes on");
            let is_last = event.object == last && event.became == became;
            heard.push((event, object));
            if is_last {
                return heard;
            }
        }
    }
}

/// All package revisions, and the version of the list.
pub(super) async fn list(client: &Client) -> (u64, BTreeMap<String, (u64, Value)>) {
    let listed = send(client, "GET", REVISIONS, &Value::Null).await.unwrap();
    let items = listed["items"].as_array().cloned().unwrap_or_default();
    let items = items.into_iter().map(|mut item| {
        // Items of a list do not say what they are.
        item["apiVersion"] = json!("porch.kpt.dev/v1alpha1");
        item["kind"] = json!("PackageRevision");
        (name(&item), (version(&item), state(&item)))
    });
    (version(&listed), items.collect())
}
