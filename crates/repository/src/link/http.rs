//! Over HTTP and HTTPS.

mod agent;
mod exchange;

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use gix_error::ResultExt as _;
use gix_transport::Protocol;
use gix_transport::client::blocking_io::Transport;
use gix_transport::client::blocking_io::http::{
    GetResponse, Http as Backend, PostBodyDataKind, PostResponse, Transport as HttpTransport,
};

pub(super) use self::exchange::Shared;
use self::exchange::{Body, Exchange, Headers, Request};
use super::meter::Meter;
use super::{Opening, Trouble};
use crate::config::Config;
use crate::credential::{self, Login, Verdict};
use crate::progress::HookGuard;
use crate::secret::Access;
use crate::url::{Http, Origin};
use crate::{Cancel, Error, RemoteUrl};

/// A client that begins to talk when it is asked to.
pub(super) fn connect(
    opening: &Opening<'_>,
    url: &Http,
    meter: &Arc<Meter>,
    trouble: &Trouble,
) -> Result<(Shared, HookGuard), Error> {
    let Opening { config, limits, remote, access, cancel, .. } = *opening;
    let agent = agent::new(config, limits, remote, url, access.ca_bundle())?;
    let stopper = agent.clone();
    let hook = cancel.on_cancel(move || stopper.shutdown());
    let client = Client {
        agent,
        config: Arc::clone(config),
        remote: remote.clone(),
        url: url.clone(),
        login: None,
        access: access.clone(),
        bound: Origin::of(url),
        meter: Arc::clone(meter),
        trouble: trouble.clone(),
        cancel: cancel.clone(),
        moved_to: None,
    };
    Ok((Shared::new(client), hook))
}

/// A conversation of a client: a further one goes over the connections of those before.
pub(super) fn transport(client: &Shared) -> Result<Box<dyn Transport + Send>, Error> {
    let now = client.client();
    let address = now.url.url().as_str().try_into().map_err(|cause| Error::Protocol {
        remote: now.remote.clone(),
        cause: crate::error::chain(&cause),
    })?;
    drop(now);
    Ok(Box::new(HttpTransport::new_http(client.clone(), address, Protocol::V2, false)))
}

/// Who talks to whom, and as whom.
pub(crate) struct Client {
    agent: ureq::Agent,
    config: Arc<Config>,
    remote: RemoteUrl,
    /// Where the conversation is; redirects move it.
    url: Http,
    login: Option<Login>,
    access: Access,
    /// Where the credentials belong, and nowhere else.
    bound: Origin,
    meter: Arc<Meter>,
    trouble: Trouble,
    cancel: Cancel,
    moved_to: Option<String>,
}

/// How many times the first request may be sent elsewhere.
const MAX_REDIRECTS: usize = 5;

type Response = ureq::http::Response<ureq::Body>;

impl Client {
    /// Sends a request until there is an answer that counts: logs in when asked to, follows when sent elsewhere.
    fn send(&mut self, request: &Request) -> Result<Response, Error> {
        let mut url = request.url.clone();
        let mut redirects = 0;
        let asks_helpers = self.access.asks_helpers();
        if asks_helpers && self.login.is_none() && self.url.password.is_some() {
            self.login = credential::find(&self.config, &self.remote, &self.url, &self.cancel)?;
        }
        let mut tried = false;
        loop {
            let response = self.send_once(request, &url)?;
            match response.status().as_u16() {
                200 => {
                    if let Some(login) = self.login.as_ref().filter(|_| tried) {
                        self.tell(login, Verdict::Accepted);
                    }
                    return Ok(response);
                }
                401 if !asks_helpers => {
                    let cause = match self.access.authorization() {
                        Some(_) if Origin::of(&self.url) == self.bound => "the credential was not accepted",
                        Some(_) => "it sends us elsewhere, where the credential does not belong",
                        None => "there is none for it",
                    };
                    return Err(self.refused(cause));
                }
                401 => {
                    if let Some(login) = self.login.take() {
                        self.tell(&login, Verdict::Rejected);
                        return Err(self.refused("user name and password were not accepted"));
                    }
                    self.login = credential::find(&self.config, &self.remote, &self.url, &self.cancel)?;
                    tried = true;
                    if self.login.is_none() {
                        return Err(self.refused("no credential helper knows a user name and password"));
                    }
                }
                301 | 302 | 303 | 307 | 308 if request.body.is_none() && redirects < MAX_REDIRECTS => {
                    redirects += 1;
                    url = self.follow(request, &url, &response)?;
                }
                403 => return Err(self.refused(&said(response))),
                404 | 410 => {
                    return Err(Error::NotARepository { remote: self.remote.clone(), cause: said(response) });
                }
                429 => {
                    let wanted = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
                    let retry_after = wanted.and_then(|value| value.parse().ok()).map(Duration::from_secs);
                    let (remote, cause) = (self.remote.clone(), said(response));
                    return Err(Error::RateLimited { remote, cause, retry_after });
                }
                502..=504 => {
                    return Err(Error::Unavailable { remote: self.remote.clone(), cause: said(response) });
                }
                _ => return Err(Error::Protocol { remote: self.remote.clone(), cause: said(response) }),
            }
        }
    }

    fn send_once(&self, request: &Request, url: &str) -> Result<Response, Error> {
        let mut builder = ureq::http::Request::builder().uri(url);
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        for header in self.config.values_for("http", "extraheader", &self.url) {
            if let Some((name, value)) = header.split_once(':') {
                builder = builder.header(name.trim(), value.trim());
            }
        }
        if let Some(value) = self.access.authorization().filter(|_| Origin::of(&self.url) == self.bound) {
            builder = builder.header("Authorization", value);
        }
        if let Some(login) = &self.login {
            builder = builder.header("Authorization", basic(login));
        }
        let bad = |cause: ureq::http::Error| Error::Protocol {
            remote: self.remote.clone(),
            cause: cause.to_string(),
        };
        let result = match &request.body {
            None => self.agent.run(builder.method("GET").body(()).map_err(bad)?),
            Some(body) => self.agent.run(builder.method("POST").body(body.as_slice()).map_err(bad)?),
        };
        result.map_err(|cause| match cause {
            _ if self.cancel.is_cancelled() => Error::Cancelled,
            ureq::Error::Http(cause) => bad(cause),
            ureq::Error::Timeout(_) => Error::Timeout { remote: self.remote.clone(), cause: reason(&cause) },
            ureq::Error::Tls(_) | ureq::Error::Rustls(_) => {
                Error::Tls { remote: self.remote.clone(), cause: reason(&cause) }
            }
            ureq::Error::Io(io) if is_tls(&io) => {
                Error::Tls { remote: self.remote.clone(), cause: io.to_string() }
            }
            cause => Error::Unreachable { remote: self.remote.clone(), cause: reason(&cause) },
        })
    }

    /// The address that the answer sends us to. Credentials do not go along to another host, encryption is never left,
    /// and the end of the address stays what Git asked for.
    fn follow(&mut self, request: &Request, from: &str, response: &Response) -> Result<String, Error> {
        let strange = |cause: String| Error::Protocol { remote: self.remote.clone(), cause };
        let location = response.headers().get("location").and_then(|value| value.to_str().ok());
        let location =
            location.ok_or_else(|| strange("it sends us elsewhere without saying where".to_owned()))?;
        let target = if location.starts_with('/') {
            let (scheme, rest) = from.split_once("://").unwrap_or_default();
            format!("{scheme}://{}{location}", rest.split('/').next().unwrap_or_default())
        } else {
            location.to_owned()
        };
        let base = target.strip_suffix(request.tail.as_str());
        let base =
            base.ok_or_else(|| strange(format!("it sends us to \"{target}\", which is no repository")))?;
        let moved: RemoteUrl = base.parse().map_err(|cause: crate::url::Error| strange(cause.to_string()))?;
        let crate::url::Place::Http(moved) = moved.place().clone() else {
            return Err(strange(format!("it sends us to \"{target}\"")));
        };
        if self.url.scheme == "https" && moved.scheme != "https" {
            return Err(strange(format!("it sends us to \"{target}\", which is not encrypted")));
        }
        let is_same_place = moved.authority == self.url.authority && moved.scheme == self.url.scheme;
        if is_same_place {
            self.url.path = moved.path;
        } else {
            self.login = None;
            self.url = Http { user: None, password: None, ..moved };
        }
        self.moved_to = Some(self.url.url());
        Ok(format!("{}{}", self.url.url(), request.tail))
    }

    fn tell(&self, login: &Login, verdict: Verdict) {
        credential::tell(&self.config, &self.remote, &self.url, login, verdict, &self.cancel);
    }

    fn refused(&self, cause: &str) -> Error {
        Error::Credentials { remote: self.remote.clone(), cause: cause.to_owned() }
    }
}

impl Backend for Shared {
    type Headers = Headers;
    type ResponseBody = Body;
    type PostBody = Exchange;

    fn get(
        &mut self,
        url: &str,
        base_url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> gix_error::Result<GetResponse<Headers, Body>> {
        let exchange = Exchange::new(self.clone(), Request::new(url, base_url, headers, None));
        exchange.send().or_error()?;
        Ok(GetResponse { headers: Headers::of(&exchange), body: Body::of(&exchange) })
    }

    fn post(
        &mut self,
        url: &str,
        base_url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
        _body: PostBodyDataKind,
    ) -> gix_error::Result<PostResponse<Headers, Body, Exchange>> {
        let request = Request::new(url, base_url, headers, Some(Vec::new()));
        let exchange = Exchange::new(self.clone(), request);
        let (headers, body) = (Headers::of(&exchange), Body::of(&exchange));
        Ok(PostResponse { post_body: exchange, headers, body })
    }

    fn configure(&mut self, _config: &dyn Any) -> gix_error::Result {
        Ok(())
    }

    fn redirected_base_url(&self) -> Option<String> {
        self.client().moved_to.clone()
    }
}

fn basic(login: &Login) -> String {
    crate::secret::basic(&login.user, &login.password)
}

/// What a failed answer says: its status, and the beginning of a plain text.
fn said(response: Response) -> String {
    let status = response.status();
    let is_text = response.headers().get("content-type");
    let is_text = is_text.is_some_and(|kind| kind.as_bytes().starts_with(b"text/plain"));
    let mut body = response.into_body();
    let text = if is_text { body.with_config().limit(4096).read_to_string().ok() } else { None };
    let text = text.map(|text| text.trim().replace(char::is_control, " ")).filter(|text| !text.is_empty());
    let text = text.map_or_else(String::new, |text| format!(": {text}"));
    format!("HTTP status {status}{text}")
}

/// Whether an error of reading or writing is about trust.
fn is_tls(cause: &std::io::Error) -> bool {
    matches!(cause.get_ref(), Some(inner) if inner.is::<rustls::Error>())
}

fn reason(cause: &ureq::Error) -> String {
    match cause {
        ureq::Error::HostNotFound => "no such host".to_owned(),
        ureq::Error::Io(cause) => cause.to_string(),
        other => other.to_string(),
    }
}
