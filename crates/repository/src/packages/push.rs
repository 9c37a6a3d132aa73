//! The client's side of a push: greeting, commands, pack, report.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::rc::Rc;

use gix_protocol::Handshake;
use gix_protocol::handshake::Ref;
use gix_transport::Service;
use gix_transport::client::{MessageKind, WriteMode};
use gix_utils::progress::Discard;
use lanai_types::{ByteSize, RefName};

use super::refs::Tip;
use crate::error::chain;
use crate::link::{Link, Opening, Step};
use crate::{Error, Limits};

/// One ref that is to move, and from where.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Command {
    /// The ref.
    pub name: RefName,
    /// What it must be at; `None` if it must not exist.
    pub old: Option<lanai_types::GitObjectId>,
    /// What it shall be at; `None` if it shall not exist.
    pub new: Option<lanai_types::GitObjectId>,
}

/// A conversation in which the server has shown its refs and waits for commands.
pub(crate) struct Receiver {
    link: Link,
    handshake: Handshake,
    max_listing: ByteSize,
}

/// What the server said about commands.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Why the pack was not taken.
    pub(crate) unpack: Option<String>,
    /// What became of each ref: `None` is well, else the reason.
    pub(crate) refs: BTreeMap<String, Option<String>>,
    /// What it said beside the report: the words of its hooks.
    pub(crate) words: String,
}

/// Why there is no report.
pub(crate) enum Failure {
    /// Nothing was sent.
    NotSent(Error),
    /// It was sent, and refused before anybody looked at it: by the server in front of the repository.
    Refused(Error),
    /// Something was sent, and what became of it is not known.
    Lost(Error),
}

/// The most bytes that a server may say about a push.
const MAX_WORDS: usize = 8 * 1024;

impl Receiver {
    /// Opens the conversation. The refs are those of this moment.
    pub(crate) fn open(
        opening: &Opening<'_>,
        limits: &Limits,
    ) -> Result<(Self, BTreeMap<RefName, Tip>), Error> {
        let link = Link::open(&Opening { service: Service::ReceivePack, ..*opening })?;
        Self::greeted(link, limits.max_listing)
    }

    /// Is greeted once more, over the same connection. The refs are those of this moment.
    pub(crate) fn again(mut self) -> Result<(Self, BTreeMap<RefName, Tip>), Error> {
        self.link.begin_anew()?;
        Self::greeted(self.link, self.max_listing)
    }

    fn greeted(mut link: Link, max_listing: ByteSize) -> Result<(Self, BTreeMap<RefName, Tip>), Error> {
        link.meter.begin(Step::Listing, max_listing);
        let nobody = |_| Ok(None);
        let handshake = gix_protocol::handshake(
            &mut link.transport,
            Service::ReceivePack,
            nobody,
            Vec::new(),
            &mut Discard,
        );
        let mut handshake = match handshake {
            Ok(handshake) => handshake,
            Err(cause) => return Err(link.explain(chain(&cause))),
        };
        let mut refs = BTreeMap::new();
        for found in handshake.refs.take().into_iter().flatten() {
            let (Ref::Direct { full_ref_name, object } | Ref::Symbolic { full_ref_name, object, .. }) = found
            else {
                continue;
            };
            if let Ok(name) = full_ref_name.to_string().parse() {
                refs.insert(name, Tip { object, commit: object });
            }
        }
        Ok((Self { link, handshake, max_listing }, refs))
    }

    /// Whether all commands of a push can be made to work together or not at all.
    pub(crate) fn is_atomic(&self) -> bool {
        self.handshake.capabilities.contains("atomic")
    }

    /// Sends commands and the objects that they need. Behind the answer further ones may be sent, where this comes back.
    pub(crate) fn send(self, commands: &[Command], pack: &[u8]) -> Result<(Report, Option<Self>), Failure> {
        let Self { mut link, handshake, max_listing } = self;
        link.meter.begin(Step::Listing, max_listing);
        let has = |name: &str| handshake.capabilities.contains(name);
        if !has("report-status") {
            let (remote, what) = (link.remote.clone(), "pushes without a report".to_owned());
            return Err(Failure::NotSent(Error::Unsupported { remote, what }));
        }
        let mut features = "report-status".to_owned();
        for wanted in ["side-band-64k", "atomic", "quiet"] {
            if has(wanted) {
                features.push(' ');
                features.push_str(wanted);
            }
        }
        features.push_str(" agent=git/lanai");
        match exchange(&mut link, commands, &features, pack, has("side-band-64k")) {
            Ok(report) => {
                let again = link.takes_further_questions();
                Ok((report, again.then_some(Self { link, handshake, max_listing })))
            }
            Err((Sent::Nothing, cause)) => Err(Failure::NotSent(link.explain(cause))),
            Err((Sent::Something, cause)) => Err(match link.explain(cause) {
                error if is_refusal(&error) => Failure::Refused(error),
                error => Failure::Lost(error),
            }),
        }
    }
}

/// Whether a server that answers so has not carried out what it was asked for.
fn is_refusal(error: &Error) -> bool {
    match error {
        Error::Credentials { .. } | Error::NotARepository { .. } | Error::RateLimited { .. } => true,
        Error::Protocol { cause, .. } => {
            cause.starts_with("HTTP status 4") || cause.starts_with("HTTP status 3")
        }
        _ => false,
    }
}

/// How far an exchange came.
enum Sent {
    Nothing,
    Something,
}

fn exchange(
    connection: &mut Link,
    commands: &[Command],
    features: &str,
    pack: &[u8],
    has_bands: bool,
) -> Result<Report, (Sent, String)> {
    let request = connection.transport.request(WriteMode::Binary, MessageKind::Flush, false);
    let request = request.map_err(|cause| (Sent::Nothing, chain(&cause)))?;
    let (mut writer, mut reader) = request.into_parts();
    let lost = |cause: io::Error| (Sent::Something, chain(&cause));
    let mut body = Vec::with_capacity(pack.len() + commands.len() * 200);
    for (number, command) in commands.iter().enumerate() {
        let id =
            |id: Option<lanai_types::GitObjectId>| id.map_or_else(|| "0".repeat(40), |id| id.to_string());
        let mut line = format!("{} {} {}", id(command.old), id(command.new), command.name);
        if number == 0 {
            line.push('\0');
            line.push_str(features);
        }
        body.extend_from_slice(format!("{:04x}", line.len() + 4).as_bytes());
        body.extend_from_slice(line.as_bytes());
    }
    body.extend_from_slice(b"0000");
    if commands.iter().any(|command| command.new.is_some()) {
        body.extend_from_slice(pack);
    }
    writer.write_all(&body).map_err(lost)?;
    writer.flush().map_err(lost)?;
    drop(writer);
    let said = Rc::new(RefCell::new(Vec::new()));
    let mut text = Vec::new();
    if has_bands {
        let listener = Rc::clone(&said);
        reader.set_progress_handler(Some(Box::new(move |_, text: &[u8]| {
            let mut said = listener.borrow_mut();
            let room = MAX_WORDS.saturating_sub(said.len());
            said.extend_from_slice(&text[..text.len().min(room)]);
            said.push(b'\n');
            ControlFlow::Continue(())
        })));
        reader.read_to_end(&mut text).map_err(lost)?;
    } else {
        // Without bands the lines of the report come one by one, and end with it.
        while let Some(line) = reader.readline() {
            let line = line.map_err(lost)?.map_err(|cause| (Sent::Something, chain(&cause)))?;
            let Some(line) = line.as_slice() else { break };
            text.extend_from_slice(format!("{:04x}", line.len() + 4).as_bytes());
            text.extend_from_slice(line);
        }
        text.extend_from_slice(b"0000");
    }
    drop(reader);
    let words = String::from_utf8_lossy(&said.borrow()).into_owned();
    // What it says nothing about may have become anything.
    let is_whole = |report: &Report| {
        report.unpack.is_some()
            || commands.iter().all(|command| report.refs.contains_key(command.name.as_str()))
    };
    report(&text, &words).filter(is_whole).ok_or_else(|| {
        let words =
            if words.is_empty() { "it ends without a whole report".to_owned() } else { in_one_line(&words) };
        (Sent::Something, words)
    })
}

/// Reads a report; `None` where it is cut off.
fn report(mut text: &[u8], words: &str) -> Option<Report> {
    let mut report = Report { words: in_one_line(words), ..Report::default() };
    let (mut is_begun, mut is_ended) = (false, false);
    while text.len() >= 4 {
        let length = usize::from_str_radix(std::str::from_utf8(&text[..4]).ok()?, 16).ok()?;
        if length < 4 {
            is_ended = length == 0;
            break;
        }
        let line = String::from_utf8_lossy(text.get(4..length)?).trim_end().to_owned();
        text = &text[length..];
        if let Some(state) = line.strip_prefix("unpack ") {
            is_begun = true;
            report.unpack = (state != "ok").then(|| state.to_owned());
        } else if let Some(name) = line.strip_prefix("ok ") {
            report.refs.insert(name.to_owned(), None);
        } else if let Some(rest) = line.strip_prefix("ng ") {
            let (name, why) = rest.split_once(' ').unwrap_or((rest, "refused"));
            report.refs.insert(name.to_owned(), Some(why.to_owned()));
        }
    }
    (is_begun && is_ended).then_some(report)
}

fn in_one_line(words: &str) -> String {
    let lines = words.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| line.replace(char::is_control, " ")).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_or_cut_off() {
        let text = b"000eunpack ok\n0017ok refs/heads/main\n0024ng refs/tags/a/v1 hook declined\n0000";
        let read = report(text, "a\nb\n").unwrap();
        assert_eq!((read.unpack, read.words.as_str()), (None, "a; b"));
        assert_eq!(read.refs["refs/heads/main"], None);
        assert_eq!(read.refs["refs/tags/a/v1"].as_deref(), Some("hook declined"));
        assert!(report(b"", "").is_none());
        assert!(report(b"000eunpack", "").is_none());
        assert!(report(&text[..text.len() - 4], "").is_none(), "without its end");
        assert!(report(b"0017ok refs/heads/main\n0000", "").is_none(), "no word about the pack");
    }
}
