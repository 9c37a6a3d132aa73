//! `lanai pkg` with a remote behind a web server that asks for a password.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use super::World;

/// `ann:s3cret`.
const ANN: &str = "Basic YW5uOnMzY3JldA==";

/// A web server that lets git do the protocol; it answers one request after the other.
struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(root: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let serve = move || {
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                // A client that goes away is its own affair.
                let _ = answer(&root, stream);
            }
        };
        let thread = thread::Builder::new().name("web-server".into()).spawn(serve).expect("a thread");
        Self { address, stop, thread: Some(thread) }
    }

    fn address(&self, rest: &str) -> String {
        format!("http://{}/remote.git/{rest}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "git itself is the server")]
fn answer(root: &Path, stream: TcpStream) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut command = Command::new("git");
    command.arg("http-backend").env("GIT_PROJECT_ROOT", root).env("GIT_HTTP_EXPORT_ALL", "1");
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("REMOTE_ADDR", "127.0.0.1");
    command.env("PATH_INFO", path).env("QUERY_STRING", query).env("REQUEST_METHOD", method);
    let (mut length, mut is_ann) = (0, false);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap_or(0),
            "content-type" => drop(command.env("CONTENT_TYPE", value)),
            "git-protocol" => drop(command.env("GIT_PROTOCOL", value)),
            "authorization" => is_ann = value == ANN,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    let stream = stream.get_mut();
    if !is_ann {
        let refusal = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        return stream.write_all(refusal.as_bytes());
    }
    command.env("CONTENT_LENGTH", length.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut git = command.stderr(Stdio::null()).spawn()?;
    if let Some(mut input) = git.stdin.take() {
        // An error may come before all of it is read.
        let _ = input.write_all(&body);
    }
    let output = git.wait_with_output()?.stdout;
    let status = match output.strip_prefix(b"Status: ") {
        Some(rest) => String::from_utf8_lossy(rest).lines().next().unwrap_or("500").to_owned(),
        None => "200 OK".to_owned(),
    };
    write!(stream, "HTTP/1.1 {status}\r\nConnection: close\r\n")?;
    stream.write_all(&output)?;
    stream.flush()
}

/// Makes git on the machine ask a helper for passwords.
fn set_helper(world: &World, password: &str) {
    let script =
        format!("#!/bin/sh\n[ \"$1\" = get ] && printf 'username=ann\\npassword={password}\\n'\nexit 0\n");
    world.write("home/helper", &script);
    fs::set_permissions(world.path("home/helper"), fs::Permissions::from_mode(0o700)).expect("it is there");
    let helper = world.path("home/helper").display().to_string();
    world.write("home/.gitconfig", &format!("[credential]\n\thelper = {helper}\n"));
}

#[test]
fn a_package_behind_a_password_is_fetched_and_updated() {
    let world = World::with_web();
    let server = Server::start(world.path(""));
    let seen = world.lanai(&["get", &server.address("web@v1")]);
    assert_eq!(seen.code, Some(1), "nobody knows the password: {seen:?}");
    assert!(seen.stderr.contains("asks for credentials"), "{}", seen.stderr);
    set_helper(&world, "s3cret");
    let seen = world.lanai(&["get", &server.address("web@v1")]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let kptfile = world.read("desk/web/Kptfile");
    assert!(kptfile.contains(&format!("repo: http://{}/remote\n", server.address)), "{kptfile}");
    assert!(!kptfile.contains("s3cret") && !seen.stderr.contains("s3cret"), "{kptfile}");
    world.edit("desk/web/deploy.yaml", "replicas: 1", "replicas: 5");
    world.commit();
    let seen = world.lanai(&["update", "web@v2", "--policy", "local"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let text = world.read("desk/web/deploy.yaml");
    assert!(text.contains("web:2") && text.contains("replicas: 5"), "{text}");
    set_helper(&world, "wrong");
    world.commit();
    world.publish("v3", &[("web/README.md", "new\n")]);
    let seen = world.lanai(&["update", "web@v3"]);
    assert!(seen.stderr.contains("user name and password were not accepted"), "{seen:?}");
    assert_eq!(world.git("desk", &["status", "--porcelain"]), "");
}

#[test]
fn a_password_in_an_address_is_shown_to_nobody() {
    let world = World::with_web();
    let server = Server::start(world.path(""));
    let address = server.address("web@v1").replace("http://", "http://ann:s3cret@");
    let seen = world.lanai(&["get", &address]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(!seen.stderr.contains("s3cret"), "{}", seen.stderr);
    assert!(seen.stderr.contains("will stand in the Kptfile"), "{}", seen.stderr);
    world.commit();
    let seen = world.lanai(&["update", "web@v2"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(!seen.stderr.contains("s3cret"), "{}", seen.stderr);
}
