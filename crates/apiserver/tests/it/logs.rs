//! What is written down about requests has nothing of what is secret.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use crate::world::World;

/// All that was logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// The secret, and how it looks in base 64.
const SECRET: [&str; 2] = ["hunter2-plain", "aHVudGVyMi1wbGFpbg=="];

#[tokio::test]
async fn no_log_and_no_refusal_has_a_secret_value() {
    let lines = Lines::default();
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(lines.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let world = World::new(|_, _| None).await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = |fields: Value| {
        let mut object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
        object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        object
    };
    let (plain, encoded) = (SECRET[0], SECRET[1]);
    let asks: Vec<(&str, String, &str, Value, u16)> = vec![
        ("POST", secrets.into(), "application/json", secret(json!({"stringData": {"p": plain}})), 201),
        ("POST", secrets.into(), "application/json", secret(json!({"data": {"p": encoded}})), 409),
        (
            "POST",
            format!("{secrets}?dryRun=All"),
            "application/json",
            secret(json!({"data": {"p": plain}})),
            400,
        ),
        ("POST", secrets.into(), "application/json", secret(json!({"data": {plain: [plain]}})), 400),
        (
            "POST",
            secrets.into(),
            "application/json",
            secret(
                json!({"type": "kubernetes.io/tls", "metadata": {"name": "t"}, "stringData": {"p": plain}}),
            ),
            422,
        ),
        (
            "PUT",
            format!("{secrets}/s"),
            "application/json",
            secret(json!({"data": {"p": encoded}, "type": "other"})),
            422,
        ),
        ("PUT", format!("{secrets}/s"), "application/json", secret(json!({"stringData": {"q": plain}})), 200),
        ("PATCH", format!("{secrets}/s"), "application/merge-patch+json", json!({"data": {"p": plain}}), 422),
        (
            "PATCH",
            format!("{secrets}/s"),
            "application/json-patch+json",
            json!([{"op": "test", "path": "/data/q", "value": plain}]),
            422,
        ),
        (
            "PATCH",
            format!("{secrets}/s"),
            "application/strategic-merge-patch+json",
            json!({"stringData": {"r": plain}}),
            200,
        ),
        (
            "PATCH",
            format!("{secrets}/s?fieldManager=a"),
            "application/apply-patch+yaml",
            secret(json!({"data": {"q": "eA=="}})),
            409,
        ),
        (
            "PATCH",
            format!("{secrets}/s?fieldManager=a&force=true"),
            "application/apply-patch+yaml",
            secret(json!({"stringData": {"z": plain}})),
            200,
        ),
        (
            "POST",
            "/apis/authentication.k8s.io/v1/tokenreviews".into(),
            "application/json",
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": plain}}),
            201,
        ),
        ("DELETE", format!("{secrets}/s"), "application/json", Value::Null, 200),
    ];
    for (method, path, media, body, code) in asks {
        let headers = [("content-type".to_owned(), media.to_owned())];
        let answer = world.ask(method, &path, &headers, body.to_string()).await;
        assert_eq!(answer.code, code, "{method} {path}: {}", answer.text);
        if code >= 400 {
            assert!(
                SECRET.iter().all(|secret| !answer.text.contains(secret)),
                "{method} {path}: {}",
                answer.text
            );
        }
    }
    let logged = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(logged.matches("\\\"resource\\\":\\\"secrets\\\"").count() >= 13, "writes are told: {logged}");
    for secret in SECRET {
        let line = logged.lines().find(|line| line.contains(secret));
        assert!(line.is_none(), "{line:?}");
    }
}
