//! A web server that lets git do the protocol.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// `ann:s3cret`.
const ANN: &str = "Basic YW5uOnMzY3JldA==";

/// A web server that lets git do the protocol; it answers one request after the other.
pub(crate) struct Server {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// How the server treats those who come.
pub(crate) enum Manners {
    /// Everybody is let in.
    Plain,
    /// Only Ann is let in.
    AsksWho,
    /// Everybody is let in, but in the middle of a pack it waits to be told to go on, or for a time.
    Waits { signal: Receiver<()>, at_most: Duration },
}

impl Server {
    pub fn start(root: PathBuf, manners: Manners) -> Self {
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
                let _ = answer(&root, stream, &manners);
            }
        };
        let thread = thread::Builder::new().name("web-server".into()).spawn(serve).expect("a thread");
        Self { address, stop, thread: Some(thread) }
    }

    pub fn address(&self, rest: &str) -> String {
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
fn answer(root: &Path, stream: TcpStream, manners: &Manners) -> io::Result<()> {
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
    if matches!(manners, Manners::AsksWho) && !is_ann {
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
    if let Manners::Waits { signal, at_most } = manners
        && output.windows(4).any(|bytes| bytes == b"PACK")
    {
        let (first, second) = output.split_at(output.len() / 2);
        stream.write_all(first)?;
        stream.flush()?;
        let _ = signal.recv_timeout(*at_most);
        return stream.write_all(second).and_then(|()| stream.flush());
    }
    stream.write_all(&output)?;
    stream.flush()
}
