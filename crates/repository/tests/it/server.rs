//! A web server that lets git do the protocol (`git http-backend`).

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A server for all repositories below a folder. Its threads end with the test's process.
pub(crate) struct Server {
    address: SocketAddr,
    scheme: &'static str,
    shared: Arc<Shared>,
}

/// How the server behaves.
#[derive(Clone, Default)]
pub(crate) struct Behaviour {
    /// The `Authorization` that it asks for.
    pub(crate) authorization: Option<String>,
    /// How many bytes of a pack it sends before it drops the connection, the first time.
    pub(crate) cut_after: Option<usize>,
    /// Spoils packs whose deltas may build upon what the client has.
    pub(crate) spoil_thin: bool,
    /// Begins to send a pack and then says nothing more.
    pub(crate) stall: bool,
    /// Sends requests for paths below the first to the second.
    pub(crate) moved: Option<(String, String)>,
    /// Speaks the oldest protocol only.
    pub(crate) old: bool,
    /// An answer to everything: status and text.
    pub(crate) always: Option<(u16, String)>,
    /// Certificate and key.
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    /// How many answers to pushes are lost: git does the work, and the connection ends.
    pub(crate) lose_answers: usize,
    /// How many pushes are lost before git sees them.
    pub(crate) lose_pushes: usize,
    /// How pushes are answered before git sees them: status, headers and text.
    pub(crate) refuse_pushes: Option<(u16, String, String)>,
    /// How many requests are answered with this status first.
    pub(crate) troubles: Option<(usize, u16)>,
    /// What becomes of a connection behind an answer that nothing is wrong with.
    pub(crate) behind: Next,
    /// Settings of git on the server's side.
    pub(crate) settings: Vec<(String, String)>,
}

/// What becomes of a connection behind an answer.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Next {
    /// It waits for the next request.
    Wait,
    /// It is closed.
    #[default]
    Close,
}

struct Shared {
    root: PathBuf,
    behaviour: Mutex<Behaviour>,
    connections: AtomicUsize,
    requests: Mutex<Vec<String>>,
    questions: Mutex<Vec<String>>,
    authorizations: Mutex<Vec<Option<String>>>,
    tls: Option<Arc<ServerConfig>>,
}

struct Request {
    method: String,
    path: String,
    query: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Server {
    pub(crate) fn start(root: &Path, behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let tls = behaviour.tls.as_ref().map(|(certificate, key)| {
            let chain = CertificateDer::pem_file_iter(certificate).expect("a file of certificates");
            let chain = chain.collect::<Result<Vec<_>, _>>().expect("certificates");
            let key = PrivateKeyDer::from_pem_file(key).expect("a key");
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let config = ServerConfig::builder_with_provider(provider);
            let config = config.with_safe_default_protocol_versions().expect("versions of TLS");
            Arc::new(
                config.with_no_client_auth().with_single_cert(chain, key).expect("a certificate for the key"),
            )
        });
        let scheme = if tls.is_some() { "https" } else { "http" };
        let behaviour = Mutex::new(behaviour);
        let shared = Shared {
            root: root.to_owned(),
            behaviour,
            connections: AtomicUsize::new(0),
            requests: Mutex::default(),
            questions: Mutex::default(),
            authorizations: Mutex::default(),
            tls,
        };
        let shared = Arc::new(shared);
        let for_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&for_thread);
                shared.connections.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || {
                    let _ = match &shared.tls {
                        None => shared.serve(stream),
                        Some(tls) => ServerConnection::new(Arc::clone(tls))
                            .map_err(io::Error::other)
                            .and_then(|connection| shared.serve(StreamOwned::new(connection, stream))),
                    };
                });
            }
        });
        Self { address, scheme, shared }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://{}/{path}", self.scheme, self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// How many connections there were so far.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Method and path of each request so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was asked for with each request for a pack so far, as it was sent.
    pub(crate) fn questions(&self) -> Vec<String> {
        self.shared.questions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The header `Authorization` of each request so far.
    pub(crate) fn authorizations(&self) -> Vec<Option<String>> {
        self.shared.authorizations.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, behaviour: Behaviour) {
        *self.shared.behaviour.lock().unwrap_or_else(PoisonError::into_inner) = behaviour;
    }
}

impl Shared {
    fn serve(&self, stream: impl Read + Write) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let request = read_request(&mut stream)?;
            match self.serve_one(&request, stream.get_mut())? {
                Next::Wait => {}
                Next::Close => return Ok(()),
            }
        }
    }

    fn serve_one(&self, request: &Request, stream: &mut (impl Read + Write)) -> io::Result<Next> {
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(format!("{} {}", request.method, request.path));
        if request.path.ends_with("/git-upload-pack") {
            let question = String::from_utf8_lossy(&request.body).into_owned();
            self.questions.lock().unwrap_or_else(PoisonError::into_inner).push(question);
        }
        let authorization = request.headers.get("authorization").cloned();
        self.authorizations.lock().unwrap_or_else(PoisonError::into_inner).push(authorization);
        let behaviour = self.behaviour.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((status, text)) = &behaviour.always {
            return answer(stream, &status.to_string(), "Content-Type: text/plain\r\n", text.as_bytes());
        }
        if behaviour.authorization.is_some()
            && request.headers.get("authorization") != behaviour.authorization.as_ref()
        {
            return answer(stream, "401 Unauthorized", "WWW-Authenticate: Basic realm=\"git\"\r\n", b"");
        }
        if let Some((from, to)) = &behaviour.moved
            && let Some(rest) = request.path.strip_prefix(from.as_str())
        {
            let location = format!("Location: {to}{rest}?{}\r\n", request.query);
            return answer(stream, "302 Found", &location, b"");
        }
        if let Some((left, status)) = behaviour.troubles.filter(|(left, _)| *left > 0) {
            self.behaviour().troubles = Some((left - 1, status));
            return answer(stream, &status.to_string(), "Content-Type: text/plain\r\n", b"out of order");
        }
        let is_push = request.method == "POST" && request.path.ends_with("/git-receive-pack");
        if is_push && let Some((status, headers, text)) = &behaviour.refuse_pushes {
            let headers = format!("Content-Type: text/plain\r\n{headers}");
            return answer(stream, &status.to_string(), &headers, text.as_bytes());
        }
        if is_push && behaviour.lose_pushes > 0 {
            self.behaviour().lose_pushes -= 1;
            return Ok(Next::Close);
        }
        let (status, headers, mut body) = self.backend(request, &behaviour);
        if behaviour.spoil_thin
            && String::from_utf8_lossy(&request.body).contains("thin-pack")
            && let Some(at) = body.windows(4).position(|part| part == b"PACK")
        {
            // The number of objects.
            body[at + 11] ^= 1;
        }
        if is_push && behaviour.lose_answers > 0 {
            self.behaviour().lose_answers -= 1;
            return Ok(Next::Close);
        }
        let is_pack =
            request.path.ends_with("/git-upload-pack") && body.windows(4).any(|part| part == b"PACK");
        if is_pack && behaviour.stall {
            write!(stream, "HTTP/1.1 {status}\r\n{headers}Connection: close\r\n\r\n")?;
            stream.write_all(&body[..body.len() / 2])?;
            stream.flush()?;
            // Waits until the client goes away.
            let _ = stream.read(&mut [0]);
            return Ok(Next::Close);
        }
        match behaviour.cut_after.filter(|_| is_pack) {
            Some(bytes) => {
                self.set_cut(None);
                write!(stream, "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len())?;
                stream.write_all(&body[..bytes.min(body.len())])?;
                stream.flush()?;
                Ok(Next::Close)
            }
            None if behaviour.behind == Next::Wait => {
                write!(stream, "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len())?;
                stream.write_all(&body)?;
                stream.flush()?;
                Ok(Next::Wait)
            }
            None => answer(stream, &status, &headers, &body),
        }
    }

    fn set_cut(&self, cut: Option<usize>) {
        self.behaviour().cut_after = cut;
    }

    fn behaviour(&self) -> std::sync::MutexGuard<'_, Behaviour> {
        self.behaviour.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Status, headers and body as git has them.
    fn backend(&self, request: &Request, behaviour: &Behaviour) -> (String, String, Vec<u8>) {
        #[allow(clippy::disallowed_methods, reason = "git itself is the server")]
        let mut command = Command::new("git");
        for (name, value) in &behaviour.settings {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        command.arg("http-backend").env("GIT_PROJECT_ROOT", &self.root).env("GIT_HTTP_EXPORT_ALL", "1");
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.env("PATH_INFO", &request.path).env("QUERY_STRING", &request.query);
        command.env("REQUEST_METHOD", &request.method).env("REMOTE_ADDR", "127.0.0.1");
        command.env("CONTENT_LENGTH", request.body.len().to_string());
        command.env("CONTENT_TYPE", request.headers.get("content-type").map_or("", String::as_str));
        if let Some(encoding) = request.headers.get("content-encoding") {
            command.env("HTTP_CONTENT_ENCODING", encoding);
        }
        if let Some(protocol) = request.headers.get("git-protocol").filter(|_| !behaviour.old) {
            command.env("GIT_PROTOCOL", protocol);
        }
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("git starts");
        // An error may come before all of the body is read.
        let _ = child.stdin.take().expect("git has an input").write_all(&request.body);
        let output = child.wait_with_output().expect("git ends").stdout;
        let end = output.windows(4).position(|part| part == b"\r\n\r\n").map_or(output.len(), |at| at + 4);
        let text = String::from_utf8_lossy(&output[..end]).trim_end().to_owned();
        let mut status = "200 OK".to_owned();
        let mut headers = String::new();
        for line in text.lines() {
            match line.strip_prefix("Status: ") {
                Some(other) => other.clone_into(&mut status),
                None => headers.extend([line, "\r\n"]),
            }
        }
        (status, headers, output[end..].to_vec())
    }
}

fn answer(stream: &mut impl Write, status: &str, headers: &str, body: &[u8]) -> io::Result<Next> {
    let length = body.len();
    write!(stream, "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n")?;
    stream.write_all(body)?;
    stream.flush()?;
    Ok(Next::Close)
}

fn read_request(stream: &mut impl BufRead) -> io::Result<Request> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(Request { method, path: path.to_owned(), query: query.to_owned(), headers, body })
}

/// Opens a port and never answers.
pub(crate) fn silent_port() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("a bound listener has an address").port();
    (listener, port)
}

/// A port at which nobody listens.
pub(crate) fn closed_port() -> u16 {
    silent_port().1
}
