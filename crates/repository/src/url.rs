//! Where a repository is.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use lanai_types::quote::Quoted;

/// The address of a repository: a path, or a URL of scheme `file`, `http`, `https` or `ssh`, or `user@host:path`.
///
/// Cheap to clone. Neither `Display` nor `Debug` shows a password, nor the user of an HTTP address, which is often a token.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RemoteUrl(Arc<Parts>);

#[derive(PartialEq, Eq, Hash)]
struct Parts {
    raw: String,
    shown: String,
    place: Place,
}

/// What an address says.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Local(PathBuf),
    Http(Http),
    Ssh(Ssh),
}

/// An address for HTTP. User and password are decoded, all else is as it was written.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Http {
    /// `http` or `https`.
    pub(crate) scheme: &'static str,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    /// The host, and the port where one is written.
    pub(crate) authority: String,
    /// Begins with a slash.
    pub(crate) path: String,
}

/// A place that credentials are bound to: scheme, host and port.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Origin(String);

impl Origin {
    pub(crate) fn of(url: &Http) -> Self {
        let default = if url.scheme == "https" { ":443" } else { ":80" };
        let authority = url.authority.to_lowercase();
        let authority = authority.strip_suffix(default).unwrap_or(&authority);
        Self(format!("{}://{authority}", url.scheme))
    }
}

/// An address for ssh, decoded. No part can be taken for an option.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Ssh {
    pub(crate) user: Option<String>,
    pub(crate) host: String,
    pub(crate) port: Option<u16>,
    pub(crate) path: String,
}

/// Why a text is no address of a repository.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is no address of a git repository: {why}", Quoted(.shown))]
pub struct Error {
    /// The text, without a password.
    pub shown: String,
    /// What is wrong with it.
    pub why: String,
}

impl RemoteUrl {
    /// The path of a repository on this machine; `None` for one that is reached over a connection.
    pub fn local_path(&self) -> Option<&Path> {
        match &self.0.place {
            Place::Local(path) => Some(path),
            Place::Http(_) | Place::Ssh(_) => None,
        }
    }

    /// The address as it was written, **with** its password: for a record that must work again, never for people.
    pub fn with_secrets(&self) -> &str {
        &self.0.raw
    }

    /// What two addresses of one repository have in common, however it is reached: host, port where it is no usual one, and path. Users, passwords,
    /// capital letters in the host, slashes at the end and `.git` make no difference.
    pub fn whereabouts(&self) -> String {
        let plain = |path: &str| {
            let path = path.trim_matches('/');
            path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/').to_owned()
        };
        match &self.0.place {
            Place::Local(path) => format!("file {}", path.to_string_lossy().trim_end_matches('/')),
            Place::Http(http) => {
                let Origin(origin) = Origin::of(http);
                let (_, authority) = origin.split_once("://").unwrap_or_default();
                format!("{authority}/{}", plain(&http.path))
            }
            Place::Ssh(ssh) => {
                let port =
                    ssh.port.filter(|port| *port != 22).map_or_else(String::new, |port| format!(":{port}"));
                format!("{}{port}/{}", ssh.host.to_lowercase(), plain(&ssh.path))
            }
        }
    }

    pub(crate) fn place(&self) -> &Place {
        &self.0.place
    }

    /// What distinguishes this repository from others in the cache: the address without the password, but with the user,
    /// who may see more than another one.
    pub(crate) fn identity(&self) -> String {
        match &self.0.place {
            Place::Local(path) => path.to_string_lossy().into_owned(),
            Place::Http(http) => {
                let user = http.user.as_deref().map_or_else(String::new, |user| format!("{user}@"));
                format!("{}://{user}{}{}", http.scheme, http.authority, http.path)
            }
            Place::Ssh(_) => self.0.shown.clone(),
        }
    }
}

impl Http {
    /// The address without user and password.
    pub(crate) fn url(&self) -> String {
        format!("{}://{}{}", self.scheme, self.authority, self.path)
    }

    /// The host without its port.
    pub(crate) fn host(&self) -> &str {
        let end = self.authority.rfind(':').filter(|colon| !self.authority[*colon..].contains(']'));
        &self.authority[..end.unwrap_or(self.authority.len())]
    }
}

impl FromStr for RemoteUrl {
    type Err = Error;

    /// Reads what Git reads, and refuses what Git refuses for safety: control characters, what ssh would take for an
    /// option, and transports that run a command of the address's choice (`ext::…`).
    fn from_str(raw: &str) -> Result<Self, Error> {
        let (place, shown) = read(raw).map_err(|why| Error { shown: hidden(raw), why })?;
        Ok(Self(Arc::new(Parts { raw: raw.to_owned(), shown, place })))
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.shown)
    }
}

impl fmt::Debug for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteUrl({self})")
    }
}

fn read(raw: &str) -> Result<(Place, String), String> {
    if raw.is_empty() {
        return Err("it is empty".to_owned());
    }
    if raw.contains(char::is_control) {
        return Err("it has a control character".to_owned());
    }
    if raw.starts_with('-') {
        return Err("it begins with a dash".to_owned());
    }
    if let Some((scheme, rest)) = raw.split_once("://") {
        return read_url(raw, scheme, rest);
    }
    if let Some((helper, _)) = raw.split_once("::")
        && !helper.is_empty()
        && helper.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    {
        return Err(format!("transport {} is not allowed", Quoted(helper)));
    }
    match scp_parts(raw) {
        Some((host, path)) => {
            let ssh = read_ssh(host, path)?;
            let user = ssh.user.as_deref().map_or_else(String::new, |user| format!("{user}@"));
            let shown = format!("{user}{}:{path}", host.rsplit('@').next().unwrap_or(host));
            Ok((Place::Ssh(ssh), shown))
        }
        None => Ok((Place::Local(PathBuf::from(raw)), raw.to_owned())),
    }
}

fn read_url(raw: &str, scheme: &str, rest: &str) -> Result<(Place, String), String> {
    match scheme.to_ascii_lowercase().as_str() {
        "file" => {
            let path = rest.strip_prefix("localhost").filter(|path| path.starts_with('/')).unwrap_or(rest);
            if !path.starts_with('/') {
                return Err("the path of a file address begins with a slash (file:///path)".to_owned());
            }
            let path = OsString::from_vec(decode(path)?);
            Ok((Place::Local(PathBuf::from(path)), raw.to_owned()))
        }
        "http" => read_http("http", rest),
        "https" => read_http("https", rest),
        "ssh" | "git+ssh" | "ssh+git" => {
            let (authority, path) = split_path(rest);
            let ssh = read_ssh_url(authority, path)?;
            let user = ssh.user.as_deref().map_or_else(String::new, |user| format!("{user}@"));
            let place = authority.rsplit('@').next().unwrap_or(authority);
            Ok((Place::Ssh(ssh), format!("ssh://{user}{place}{path}")))
        }
        _ => Err(format!("scheme {} is none of file, http, https, ssh", Quoted(scheme))),
    }
}

fn read_http(scheme: &'static str, rest: &str) -> Result<(Place, String), String> {
    let (authority, path) = split_path(rest);
    let (user, password, authority) = split_user(authority)?;
    if authority.is_empty() || authority.starts_with(':') {
        return Err("it has no host".to_owned());
    }
    let is_odd = |c: char| !c.is_ascii_alphanumeric() && !"-._:[]".contains(c);
    if authority.starts_with('-') || authority.contains(is_odd) {
        return Err(format!("{} is no host", Quoted(authority)));
    }
    if path.contains(char::is_whitespace) {
        return Err("its path has a blank".to_owned());
    }
    let path = path.trim_end_matches('/').to_owned();
    let http = Http { scheme, user, password, authority: authority.to_owned(), path };
    let shown = http.url();
    Ok((Place::Http(http), shown))
}

fn read_ssh_url(authority: &str, path: &str) -> Result<Ssh, String> {
    let (user, _password, place) = split_user(authority)?;
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => {
            let number = port.parse().map_err(|_| format!("{} is no port", Quoted(port)))?;
            (host, Some(number))
        }
        _ => (place, None),
    };
    let path = text(decode(path)?)?;
    // `ssh://host/~user/x` names the home folder of a user.
    let path = path.strip_prefix('/').filter(|path| path.starts_with('~')).unwrap_or(&path);
    check_ssh(Ssh { user, host: unbracket(host).to_owned(), port, path: path.to_owned() })
}

/// `[user@]host` and `path` of the short form. The host may be `[host:port]`.
fn read_ssh(host: &str, path: &str) -> Result<Ssh, String> {
    let (user, host) = match host.rsplit_once('@') {
        Some((user, host)) => (Some(user.to_owned()), host),
        None => (None, host),
    };
    let inside = unbracket(host);
    let (host, port) = match inside.split_once(':') {
        Some((name, port)) if inside.len() < host.len() && !port.contains(':') => {
            (name, Some(port.parse().map_err(|_| format!("{} is no port", Quoted(port)))?))
        }
        _ => (inside, None),
    };
    check_ssh(Ssh { user, host: host.to_owned(), port, path: path.to_owned() })
}

fn check_ssh(ssh: Ssh) -> Result<Ssh, String> {
    let parts = [Some(ssh.host.as_str()), ssh.user.as_deref(), Some(ssh.path.as_str())];
    if let Some(option) = parts.into_iter().flatten().find(|part| part.starts_with('-')) {
        return Err(format!("{} begins with a dash", Quoted(option)));
    }
    if parts.into_iter().flatten().any(|part| part.contains(char::is_control)) {
        return Err("it has a control character".to_owned());
    }
    if ssh.host.is_empty() {
        return Err("it has no host".to_owned());
    }
    if ssh.path.is_empty() {
        return Err("it has no path".to_owned());
    }
    Ok(ssh)
}

/// Host and path of `host:path`; a slash before the colon makes the text a path.
fn scp_parts(raw: &str) -> Option<(&str, &str)> {
    let from = raw.find('[').map_or(0, |open| raw[open..].find(']').map_or(0, |close| open + close));
    let colon = from + raw[from..].find(':')?;
    (!raw[..colon].contains('/')).then(|| (&raw[..colon], &raw[colon + 1..]))
}

fn split_path(rest: &str) -> (&str, &str) {
    rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash))
}

fn split_user(authority: &str) -> Result<(Option<String>, Option<String>, &str), String> {
    let Some((user, place)) = authority.rsplit_once('@') else { return Ok((None, None, authority)) };
    let (user, password) = match user.split_once(':') {
        Some((user, password)) => (user, Some(text(decode(password)?)?)),
        None => (user, None),
    };
    let user = text(decode(user)?)?;
    Ok((Some(user).filter(|user| !user.is_empty()), password, place))
}

fn unbracket(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    if text.contains(char::is_control) {
        return Err("it has a control character".to_owned());
    }
    Ok(text)
}

/// Undoes percent-encoding.
fn decode(raw: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.filter(|digits| !digits.starts_with('+'));
        let byte = byte.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let byte = byte.ok_or("a percent sign is not followed by two hexadecimal digits")?;
        if byte == 0 {
            return Err("it has a control character".to_owned());
        }
        bytes.push(byte);
        rest = &after[2..];
    }
    Ok(bytes)
}

/// The text with all that stands between a scheme and an at sign hidden, whether it is an address or not.
fn hidden(raw: &str) -> String {
    let start = raw.find("://").map_or(0, |at| at + 3);
    let authority = raw[start..].split('/').next().unwrap_or_default();
    match authority.rfind('@') {
        Some(at) => format!("{}…{}", &raw[..start], &raw[start + at..]),
        None => raw.to_owned(),
    }
}
