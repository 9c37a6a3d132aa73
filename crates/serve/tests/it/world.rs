//! A server of a test, in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use lanai_apiserver::{ApiServer, Body, Identity, Limits};
use lanai_serve::{Options, Server};
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tower::Service;

/// A server that runs until this is dropped.
pub struct World {
    pub runtime: Runtime,
    pub api: ApiServer,
    pub folder: tempfile::TempDir,
    stop: CancellationToken,
    running: Option<tokio::task::JoinHandle<()>>,
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    pub headers: http::HeaderMap,
    pub body: Value,
    pub text: String,
}

pub fn options(data: &Path, limits: Limits) -> Options {
    let random = ring::rand::SystemRandom::new();
    Options {
        data: data.to_owned(),
        listen: "127.0.0.1:0".parse().unwrap(),
        names: Vec::new(),
        token_file: None,
        front_proxy_authority: None,
        front_proxies: Vec::new(),
        delegate: None,
        limits,
        packages: None,
        traces: None,
        renewal: lanai_serve::server::RENEWAL_EVERY,
        clock: Arc::new(jiff::Timestamp::now),
        chance: Arc::new(move |bytes| ring::rand::SecureRandom::fill(&random, bytes).unwrap()),
    }
}

impl World {
    pub fn new() -> Self {
        Self::with(Limits::DEFAULT)
    }

    pub fn with(limits: Limits) -> Self {
        Self::of(|data| options(data, limits))
    }

    pub fn of(options: impl FnOnce(&Path) -> Options) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let server = runtime.block_on(Server::start(options(folder.path()))).unwrap();
        let (api, stop) = (server.api(), CancellationToken::new());
        let running = Some(runtime.spawn(server.run(stop.clone())));
        let world = Self { runtime, api, folder, stop, running };
        world.settle();
        world
    }

    /// Waits until the controllers have made what every namespace has, so that nobody writes but the test.
    fn settle(&self) {
        for namespace in ["default", "kube-system", "kube-public"] {
            for object in ["serviceaccounts/default", "configmaps/kube-root-ca.crt"] {
                let path = format!("/api/v1/namespaces/{namespace}/{object}");
                assert_eq!(self.until(&path, |answer| answer.code == 200).code, 200, "{path}");
            }
        }
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// Sends a request as an administrator.
    pub fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.send_as(&Identity::server("test"), method, path, "application/json", &body.to_string())
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send_as(&Identity::server("test"), "GET", path, "application/json", "")
    }

    /// Asks until an answer is as it should be, which others in the server bring about; the last one if it never is.
    pub fn until(&self, path: &str, holds: impl Fn(&Answer) -> bool) -> Answer {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        loop {
            let answer = self.get(path);
            if holds(&answer) || std::time::Instant::now() > deadline {
                return answer;
            }
            self.runtime.block_on(async { tokio::time::sleep(std::time::Duration::from_millis(5)).await });
        }
    }

    pub fn send_as(&self, identity: &Identity, method: &str, path: &str, media: &str, body: &str) -> Answer {
        let request = Request::builder().method(method).uri(path).header("content-type", media);
        let request = request.body(Full::<Bytes>::from(body.to_owned())).unwrap();
        self.request(identity, request)
    }

    pub fn request(&self, identity: &Identity, request: Request<Full<Bytes>>) -> Answer {
        self.runtime.block_on(async {
            let response = self.api.acting_as(identity.clone()).call(request).await.unwrap();
            read(response).await
        })
    }

    /// Ends the server, and waits for it.
    pub fn end(&mut self) {
        self.stop.cancel();
        if let Some(running) = self.running.take() {
            self.runtime.block_on(running).unwrap();
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.end();
    }
}

pub async fn read(response: Response<Body>) -> Answer {
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    Answer { code: parts.status.as_u16(), headers: parts.headers, body, text }
}

/// A kubectl that is new enough; says why a test is skipped where there is none.
pub fn kubectl(test: &str) -> Option<PathBuf> {
    let program = std::env::var_os("LANAI_KUBECTL").map_or_else(|| PathBuf::from("kubectl"), PathBuf::from);
    let Some(output) = command(&program).args(["version", "--client", "-o", "json"]).output().ok() else {
        lanai_testkit::skip(test, "there is no kubectl (LANAI_KUBECTL names one)");
        return None;
    };
    let version: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let minor = version["clientVersion"]["minor"].as_str().unwrap_or_default();
    let digits: String = minor.chars().take_while(char::is_ascii_digit).collect();
    if digits.parse::<u32>().unwrap_or_default() < 28 {
        lanai_testkit::skip(test, &format!("kubectl 1.{minor} is older than 1.28"));
        return None;
    }
    Some(program)
}

#[allow(
    clippy::disallowed_methods,
    reason = "kubectl is the judge of these tests; it is started by tests only"
)]
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove("KUBECONFIG");
    command
}
