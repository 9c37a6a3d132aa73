//! One request and its answer, in the shape that gix wants.

use std::io::{self, BufRead, BufReader, Cursor, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::meter::Metered;
use super::Client;

/// The client, shared by the requests that it sends one after the other.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<Client>>);

impl Shared {
    pub(super) fn new(client: Client) -> Self {
        Self(Arc::new(Mutex::new(client)))
    }

    pub(super) fn client(&self) -> MutexGuard<'_, Client> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is to be sent.
pub(super) struct Request {
    pub(super) url: String,
    /// What comes after the address of the repository.
    pub(super) tail: String,
    pub(super) headers: Vec<(String, String)>,
    /// A request with a body is posted.
    pub(super) body: Option<Vec<u8>>,
}

impl Request {
    pub(super) fn new(
        url: &str,
        base: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
        body: Option<Vec<u8>>,
    ) -> Self {
        let headers = headers.into_iter().filter_map(|header| {
            let (name, value) = header.as_ref().split_once(':')?;
            // Ours is set for all requests.
            let is_ours = name.eq_ignore_ascii_case("user-agent");
            (!is_ours).then(|| (name.trim().to_owned(), value.trim().to_owned()))
        });
        let tail = url.strip_prefix(base).unwrap_or_default().to_owned();
        Self { url: url.to_owned(), tail, headers: headers.collect(), body }
    }
}

/// A request that collects its body until somebody reads the answer. Requests of a fetch are small.
#[derive(Clone)]
pub(crate) struct Exchange(Arc<Mutex<State>>);

struct State {
    client: Shared,
    phase: Phase,
}

enum Phase {
    Open(Request),
    Answered { headers: Option<Vec<u8>>, body: Option<Box<dyn Read + Send>> },
    Failed,
}

impl Exchange {
    pub(super) fn new(client: Shared, request: Request) -> Self {
        Self(Arc::new(Mutex::new(State { client, phase: Phase::Open(request) })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the request if that has not happened.
    pub(super) fn send(&self) -> io::Result<()> {
        let mut state = self.state();
        let request = match std::mem::replace(&mut state.phase, Phase::Failed) {
            Phase::Open(request) => request,
            answered @ Phase::Answered { .. } => {
                state.phase = answered;
                return Ok(());
            }
            Phase::Failed => return Err(io::Error::other("the request failed before")),
        };
        let mut client = state.client.client();
        let response = match client.send(&request) {
            Ok(response) => response,
            Err(error) => {
                let text = error.to_string();
                client.trouble.set(error);
                return Err(io::Error::other(text));
            }
        };
        let mut headers = Vec::new();
        for (name, value) in response.headers() {
            headers.extend_from_slice(name.as_str().as_bytes());
            headers.extend_from_slice(b": ");
            headers.extend_from_slice(value.as_bytes());
            headers.push(b'\n');
        }
        let body = Metered { inner: response.into_body().into_reader(), meter: Arc::clone(&client.meter) };
        drop(client);
        state.phase = Phase::Answered { headers: Some(headers), body: Some(Box::new(body)) };
        Ok(())
    }
}

impl Write for Exchange {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.state().phase {
            Phase::Open(Request { body: Some(body), .. }) => body.extend_from_slice(bytes),
            Phase::Open(_) | Phase::Answered { .. } | Phase::Failed => {
                return Err(io::Error::other("the request was sent before"));
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The headers of the answer, a line each.
pub(crate) struct Headers {
    exchange: Exchange,
    text: Option<Cursor<Vec<u8>>>,
}

impl Headers {
    pub(super) fn of(exchange: &Exchange) -> Self {
        Self { exchange: exchange.clone(), text: None }
    }

    fn text(&mut self) -> io::Result<&mut Cursor<Vec<u8>>> {
        if self.text.is_none() {
            self.exchange.send()?;
            let headers = match &mut self.exchange.state().phase {
                Phase::Answered { headers, .. } => headers.take(),
                Phase::Open(_) | Phase::Failed => None,
            };
            self.text = Some(Cursor::new(headers.unwrap_or_default()));
        }
        Ok(self.text.get_or_insert_default())
    }
}

impl Read for Headers {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.text()?.read(buffer)
    }
}

impl BufRead for Headers {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.text()?.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        if let Some(text) = &mut self.text {
            text.consume(amount);
        }
    }
}

/// The body of the answer.
pub(crate) struct Body {
    exchange: Exchange,
    reader: Option<BufReader<Box<dyn Read + Send>>>,
}

impl Body {
    pub(super) fn of(exchange: &Exchange) -> Self {
        Self { exchange: exchange.clone(), reader: None }
    }

    fn reader(&mut self) -> io::Result<&mut BufReader<Box<dyn Read + Send>>> {
        if self.reader.is_none() {
            self.exchange.send()?;
            let body = match &mut self.exchange.state().phase {
                Phase::Answered { body, .. } => body.take(),
                Phase::Open(_) | Phase::Failed => None,
            };
            let body = body.unwrap_or_else(|| Box::new(io::empty()));
            self.reader = Some(BufReader::with_capacity(64 * 1024, body));
        }
        self.reader.as_mut().ok_or_else(|| io::Error::other("there is no answer"))
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader()?.read(buffer)
    }
}

impl BufRead for Body {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader()?.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        if let Some(reader) = &mut self.reader {
            reader.consume(amount);
        }
    }
}
