//! A server of a test as a process, and a client of its API over TLS that can go away at any time.

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail tests")]

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};

use crate::demo::program;

/// Nothing takes longer on a machine that works.
const PATIENCE: Duration = Duration::from_mins(2);

/// A program of ours that serves until this is dropped.
pub struct Served {
    child: Child,
    pub address: String,
    said: Arc<Mutex<String>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    /// Starts it, and reads what it says until it listens.
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let said: Arc<Mutex<String>> = Arc::default();
        let mut address = None;
        for line in lines.by_ref() {
            let line = line.unwrap();
            said.lock().unwrap().push_str(&line);
            if let Some(found) = line.strip_prefix("listening on ") {
                address = Some(found.trim_start_matches("https://").to_owned());
                break;
            }
        }
        let address = address.unwrap_or_else(|| panic!("it does not listen: {}", said.lock().unwrap()));
        let rest = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                rest.lock().unwrap().push_str(&line);
            }
        });
        Self { child, address, said }
    }

    /// All that it has said so far.
    pub fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Asks it to end, and waits until it has.
    pub fn end(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{}", self.said());
    }
}

/// `lanai function-runner` with programs, and what they are for: name, tag, script.
pub fn function_runner(home: &Path, programs: &[(&str, &str, &str)]) -> Served {
    let (configs, functions) = (home.join("configs"), home.join("functions"));
    for folder in [&configs, &functions] {
        std::fs::create_dir_all(folder).unwrap();
    }
    for (name, tag, text) in programs {
        script(&functions, name, text);
        let object = config(name, &json!({"binaryExecutor": {"path": name, "tags": [tag]}}));
        std::fs::write(configs.join(format!("{name}.yaml")), object.to_string()).unwrap();
    }
    let mut command = program(env!("CARGO_BIN_EXE_lanai"));
    command.args(["function-runner", "--port", "0", "--bind-address", "127.0.0.1", "--function-configs"]);
    command.arg(configs).arg("--functions").arg(functions).env("HOME", home).env_remove("LANAI_LOG");
    Served::start(command)
}

/// A program that is a script of the shell.
pub fn script(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A `FunctionConfig`.
pub fn config(name: &str, executors: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "FunctionConfig",
        "metadata": {"name": name, "namespace": "porch-fn-system"}, "spec": {"image": name},
    });
    for (key, value) in executors.as_object().unwrap() {
        object["spec"][key] = value.clone();
    }
    object
}

/// A server, with a folder of programs and a repository `blueprints`.
pub struct Shop {
    pub home: tempfile::TempDir,
    pub served: Served,
    pub client: Client,
    arguments: Vec<String>,
    environment: Vec<(OsString, OsString)>,
}

pub const CONFIGS: &str = "/apis/config.porch.kpt.dev/v1alpha1/namespaces";
pub const REVISIONS: &str = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions";
pub const FILES: &str = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisionresources";

impl Shop {
    /// Starts the server with further arguments.
    pub fn open(arguments: &[&str]) -> Self {
        Self::open_with(arguments, Vec::new())
    }

    /// The same, with variables of its environment.
    pub fn open_with(arguments: &[&str], environment: Vec<(OsString, OsString)>) -> Self {
        let home = tempfile::Builder::new().prefix("lanai-shop-").tempdir().unwrap();
        std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::create_dir(home.path().join("functions")).unwrap();
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let (served, client) = start(home.path(), &arguments, &environment);
        let shop = Self { home, served, client, arguments, environment };
        shop.make("/api/v1/namespaces", &json!({"metadata": {"name": "porch-fn-system"}}));
        shop.register("default");
        shop
    }

    /// Ends the server and starts it again, with something done in between.
    pub fn restart(&mut self, between: impl FnOnce(&Path)) {
        self.served.end();
        between(self.home.path());
        (self.served, self.client) = start(self.home.path(), &self.arguments, &self.environment);
    }

    /// Makes the repository `blueprints` of a namespace.
    pub fn register(&self, namespace: &str) {
        let folder = self.home.path().join(format!("{namespace}.git"));
        let made =
            program("git").args(["init", "--quiet", "--bare", "--initial-branch=main"]).arg(&folder).status();
        assert!(made.unwrap().success());
        let object = json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository", "metadata": {"name": "blueprints"},
            "spec": {"type": "git", "git": {"repo": folder, "createBranch": true}},
        });
        self.make(&format!("{CONFIGS}/{namespace}/repositories"), &object);
        self.until(&format!("{CONFIGS}/{namespace}/repositories/blueprints"), "it is ready", |found| {
            let conditions = found["status"]["conditions"].as_array();
            conditions.into_iter().flatten().any(|one| one["type"] == "Ready" && one["status"] == "True")
        });
    }

    /// A program in the folder of functions.
    pub fn script(&self, name: &str, text: &str) {
        script(&self.home.path().join("functions"), name, text);
    }

    /// Makes an object, or fails.
    pub fn make(&self, path: &str, object: &Value) -> Value {
        let answer = self.client.send("POST", path, object);
        assert_eq!(answer.code, 201, "{path}: {}", answer.body);
        answer.body
    }

    /// Makes a `FunctionConfig`, and waits until it was taken over.
    pub fn configure(&self, object: &Value) -> Value {
        let made = self.make(&format!("{CONFIGS}/porch-fn-system/functionconfigs"), object);
        self.taken_over(&made)
    }

    /// Changes a `FunctionConfig`, and waits until it was taken over.
    pub fn reconfigure(&self, name: &str, change: &Value) -> Value {
        let path = format!("{CONFIGS}/porch-fn-system/functionconfigs/{name}");
        let answer = self.client.send("PATCH", &path, change);
        assert_eq!(answer.code, 200, "{}", answer.body);
        self.taken_over(&answer.body)
    }

    fn taken_over(&self, object: &Value) -> Value {
        let name = object["metadata"]["name"].as_str().unwrap();
        let path = format!("{CONFIGS}/porch-fn-system/functionconfigs/{name}");
        let generation = object["metadata"]["generation"].clone();
        self.until(&path, "it is taken over", |found| {
            found["status"]["apiServerObservedGeneration"] == generation
        })
    }

    /// Makes a package with nothing in it, in a namespace.
    pub fn package(&self, namespace: &str, package: &str) -> String {
        let path = REVISIONS.replace("/default/", &format!("/{namespace}/"));
        let made = self.make(&path, &revision(package, "v1"));
        made["metadata"]["name"].as_str().unwrap().to_owned()
    }

    /// Changes files of a draft of the namespace `default`.
    pub fn save(&self, name: &str, files: &Value) -> Answer {
        self.save_in("default", name, files)
    }

    pub fn save_in(&self, namespace: &str, name: &str, files: &Value) -> Answer {
        let path = FILES.replace("/default/", &format!("/{namespace}/"));
        self.client.send("PATCH", &format!("{path}/{name}"), &json!({"spec": {"resources": files}}))
    }

    /// The files of a draft, with what is told of the last render.
    pub fn files(&self, name: &str) -> Value {
        self.client.get(&format!("{FILES}/{name}")).body
    }

    /// One file of a draft.
    pub fn file(&self, name: &str, file: &str) -> String {
        self.files(name)["spec"]["resources"][file].as_str().unwrap_or_default().to_owned()
    }

    /// Waits until an object is as it should be.
    pub fn until(&self, path: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let mut found = Value::Null;
        eventually(&format!("{path}: {what}"), || {
            found = self.client.get(path).body;
            holds(&found)
        });
        found
    }

    /// How many functions an evaluator ran, of an image that ends like that, whatever became of them.
    pub fn runs(&self, evaluator: &str, image: &str) -> u64 {
        let text = self.client.text("/metrics");
        let counts = text.lines().filter(|line| {
            line.starts_with("lanai_function_duration_seconds_count{")
                && line.contains(&format!("evaluator=\"{evaluator}\""))
                && line.contains(&format!("{image}\",code="))
        });
        counts.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
    }
}

fn start(home: &Path, arguments: &[String], environment: &[(OsString, OsString)]) -> (Served, Client) {
    let mut command = program(env!("CARGO_BIN_EXE_lanai"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(home.join("data"));
    command.arg("--functions").arg(home.join("functions")).args(arguments);
    command.env("HOME", home).env("LANAI_LOG", "debug").current_dir(home);
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    let served = Served::start(command);
    let client = Client::new(&home.join("data/kubeconfig"));
    (served, client)
}

/// A new package revision of `blueprints`.
pub fn revision(package: &str, workspace: &str) -> Value {
    json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision",
        "spec": {"repository": "blueprints", "packageName": package, "workspaceName": workspace},
    })
}

/// A Kptfile whose mutators are these images.
pub fn kptfile(name: &str, images: &[&str]) -> String {
    let functions: Vec<String> = images.iter().map(|image| format!("    - image: {image}\n")).collect();
    let functions = functions.concat();
    format!(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\npipeline:\n  mutators:\n{functions}"
    )
}

/// Waits for something that cannot tell a test when it comes.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "{what}");
        #[allow(clippy::disallowed_methods, reason = "other processes cannot notify a test")]
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// How many processes have a mark in their command lines.
pub fn processes(mark: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let lines = all.filter_map(|path: PathBuf| std::fs::read(path.join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    pub body: Value,
}

impl Answer {
    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    /// The reasons and messages of the causes.
    pub fn causes(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let causes = self.body["details"]["causes"].as_array();
        causes.into_iter().flatten().map(|cause| (text(&cause["reason"]), text(&cause["message"]))).collect()
    }
}

/// A client that makes a connection for each request.
pub struct Client {
    address: String,
    tls: Arc<ClientConfig>,
}

/// A request that was sent and not answered. Dropping it closes the connection.
pub struct Sent(StreamOwned<ClientConnection, TcpStream>);

impl Client {
    fn new(kubeconfig: &Path) -> Self {
        let text = std::fs::read_to_string(kubeconfig).unwrap();
        let config: Value = lanai_yaml::Document::parse(text).unwrap().root().deserialize().unwrap();
        let pem =
            |of: &Value, name: &str| STANDARD.decode(of[format!("{name}-data")].as_str().unwrap()).unwrap();
        let (cluster, user) = (&config["clusters"][0]["cluster"], &config["users"][0]["user"]);
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&pem(cluster, "certificate-authority")).unwrap()).unwrap();
        let certificate = CertificateDer::from_pem_slice(&pem(user, "client-certificate")).unwrap();
        let key = PrivateKeyDer::from_pem_slice(&pem(user, "client-key")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_client_auth_cert(vec![certificate], key)
            .unwrap();
        let address = cluster["server"].as_str().unwrap().trim_start_matches("https://").to_owned();
        Self { address, tls: Arc::new(tls) }
    }

    /// Sends a request, and does not wait for the answer.
    pub fn begin(&self, method: &str, path: &str, body: &str) -> Sent {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = StreamOwned::new(ClientConnection::new(self.tls.clone(), name).unwrap(), stream);
        let media = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        stream.flush().unwrap();
        Sent(stream)
    }

    pub fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let (code, text) = self.begin(method, path, &body.to_string()).answer();
        Answer { code, body: serde_json::from_str(&text).unwrap_or(Value::Null) }
    }

    pub fn get(&self, path: &str) -> Answer {
        let (code, text) = self.begin("GET", path, "").answer();
        Answer { code, body: serde_json::from_str(&text).unwrap_or(Value::Null) }
    }

    pub fn text(&self, path: &str) -> String {
        self.begin("GET", path, "").answer().1
    }
}

impl Sent {
    /// Waits for the answer.
    fn answer(self) -> (u16, String) {
        let mut reader = BufReader::new(self.0);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let code =
            line.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{line:?}"));
        let (mut length, mut is_chunked) = (0, false);
        loop {
            line.clear();
            reader.read_line(&mut line).unwrap();
            let header = line.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length: ") {
                length = value.parse().unwrap();
            }
            is_chunked |= header == "transfer-encoding: chunked";
        }
        let mut body = Vec::new();
        if is_chunked {
            loop {
                line.clear();
                reader.read_line(&mut line).unwrap();
                let size = usize::from_str_radix(line.trim(), 16).unwrap();
                let mut chunk = vec![0; size + 2];
                reader.read_exact(&mut chunk).unwrap();
                if size == 0 {
                    break;
                }
                body.extend_from_slice(&chunk[..size]);
            }
        } else {
            body.resize(length, 0);
            reader.read_exact(&mut body).unwrap();
        }
        (code, String::from_utf8(body).unwrap())
    }
}
