//! A conversation with a remote repository: its refs, and packs of objects.

use std::collections::BTreeSet;
use std::io::{self, BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;

use gix_hash::ObjectId;
use gix_protocol::fetch::response::ShallowUpdate;
use gix_protocol::fetch::{Arguments, Response};
use gix_protocol::handshake::Ref;
use gix_protocol::ls_refs::RefPrefixes;
use gix_protocol::{Command, Handshake, LsRefsCommand};
use gix_transport::bstr::BString;
use gix_transport::client::blocking_io::TransportV2Ext as _;
use gix_transport::{Protocol, Service};
use gix_utils::progress::Discard;
use lanai_types::ByteSize;

use crate::error::chain;
use crate::link::{Link, Opening, Step};
use crate::progress::{Phase, Progress, Report};
use crate::{Cancel, Error, Limits, RemoteUrl};

/// A conversation in which both sides have said hello.
pub(crate) struct Session {
    link: Link,
    handshake: Handshake,
    limits: Limits,
    remote: RemoteUrl,
}

/// What is to be fetched.
pub(crate) struct Fetch<'a> {
    pub(crate) wants: &'a [ObjectId],
    pub(crate) haves: &'a [ObjectId],
    /// Commits of ours whose parents we do not have.
    pub(crate) shallow: &'a BTreeSet<ObjectId>,
    pub(crate) history: History,
    /// The folder for the pack.
    pub(crate) packs: &'a Path,
    /// Where objects are that the pack may build upon.
    pub(crate) objects: gix_odb::Handle,
}

impl Fetch<'_> {
    /// Whether deltas may build upon what is here.
    ///
    /// The library that completes such packs goes wrong where the bases that it adds take as many bytes as headers that
    /// become shorter save: entries are then taken to be where they were. With the past at hand they save little, and a
    /// pack stands for itself. Without it, servers leave out what is here only from such packs; whoever asks for them asks
    /// again for everything when one cannot be used.
    fn may_be_thin(&self) -> bool {
        self.history == History::None && !self.haves.is_empty()
    }

    /// Without a word about shallow commits the server would take it that we have their past as well.
    fn usable_haves(&self, is_shallow: bool) -> &[ObjectId] {
        if is_shallow || self.history == History::All { self.haves } else { &[] }
    }
}

/// How much of the past is wanted.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum History {
    /// The commits alone.
    None,
    /// All of it.
    All,
}

/// What a fetch says about commits whose parents did not come along.
pub(crate) type ShallowUpdates = Vec<ShallowUpdate>;

/// Why a fetch did not work.
pub(crate) enum Failure {
    /// The server does not give these commits to those who ask for them by id; other ways may work.
    Refused(Error),
    /// It does not have one of the commits, and says so reliably; mostly which one, too.
    Unknown(Option<ObjectId>),
    Other(Error),
}

const AGENT: &str = concat!("git/lanai-", env!("CARGO_PKG_VERSION"));

fn agent() -> gix_protocol::command::Feature {
    ("agent", Some(AGENT.to_owned()))
}

impl Session {
    pub(crate) fn open(opening: &Opening<'_>, progress: &dyn Progress) -> Result<Self, Error> {
        progress.report(Report::start(Phase::Connecting));
        let Opening { limits, remote, .. } = *opening;
        let mut link = Link::open(&Opening { service: Service::UploadPack, ..*opening })?;
        link.meter.begin(Step::Listing, limits.max_listing);
        let nobody = |_| Ok(None);
        let handshake = gix_protocol::handshake(
            &mut link.transport,
            Service::UploadPack,
            nobody,
            Vec::new(),
            &mut Discard,
        );
        let handshake = match handshake {
            Ok(handshake) => handshake,
            Err(cause) => return Err(link.explain(chain(&cause))),
        };
        let format = handshake.capabilities.capability("object-format");
        if let Some(format) = format.and_then(|format| format.value().map(ToString::to_string))
            && format != "sha1"
        {
            return Err(Error::Unsupported {
                remote: remote.clone(),
                what: format!("object ids of {format}"),
            });
        }
        Ok(Self { link, handshake, limits: *limits, remote: remote.clone() })
    }

    /// The refs whose names begin with one of these; all of them when none is given. Old servers send all in any case.
    pub(crate) fn refs(
        self,
        prefixes: &[String],
        progress: &dyn Progress,
    ) -> Result<(Self, Vec<Ref>), Error> {
        progress.report(Report::start(Phase::Listing));
        if let Some(refs) = &self.handshake.refs {
            let refs = refs.clone();
            return Ok((self, refs));
        }
        let Self { mut link, handshake, limits, remote } = self;
        link.meter.begin(Step::Listing, limits.max_listing);
        let mut wanted = RefPrefixes::new();
        wanted.extend(prefixes.iter().map(|prefix| prefix.as_str().into()));
        let wanted = (!prefixes.is_empty()).then_some(wanted);
        let command = LsRefsCommand::new(wanted, &handshake.capabilities, agent());
        let result = command.invoke_blocking(&mut link.transport, &mut Discard, false);
        progress.report(Report { bytes: link.meter.count(), ..Report::start(Phase::Listing) });
        match result {
            Ok(refs) => Ok((Self { link, handshake, limits, remote }, refs)),
            Err(cause) => Err(link.explain(chain(&cause))),
        }
    }

    /// Whether the server lists only what it is asked for, as often as it is asked.
    pub(crate) fn lists_by_prefix(&self) -> bool {
        self.handshake.refs.is_none() && self.link.takes_further_questions()
    }

    /// Whether the server may give away a commit that no ref points to.
    pub(crate) fn may_ask_by_id(&self) -> bool {
        let capabilities = &self.handshake.capabilities;
        self.handshake.server_protocol_version == Protocol::V2
            || capabilities.contains("allow-reachable-sha1-in-want")
            || capabilities.contains("allow-any-sha1-in-want")
    }

    /// Fetches objects and puts their pack in its place. The conversation is over then.
    pub(crate) fn fetch(
        self,
        fetch: &Fetch<'_>,
        cancel: &Cancel,
        progress: &dyn Progress,
    ) -> Result<ShallowUpdates, Failure> {
        let Self { mut link, handshake, limits, remote } = self;
        // Messages beside the pack count as a listing does.
        let both = limits.max_pack.get().saturating_add(limits.max_listing.get());
        link.meter.begin(Step::Pack, ByteSize::bytes(both));
        progress.report(Report::start(Phase::Receiving));
        match receive(&mut link, &handshake, fetch, &limits, cancel, progress) {
            Ok(updates) => Ok(updates),
            Err(cause) => {
                let is_git = handshake.capabilities.capability("agent");
                let is_git = is_git.and_then(|agent| agent.value().map(|agent| agent.starts_with(b"git/")));
                let is_certain = handshake.server_protocol_version == Protocol::V2 && is_git == Some(true);
                let is_refused = ["not our ref", "not valid", "unadvertised", "unknown object", "no such"];
                let lower = cause.to_lowercase();
                let is_refused = is_refused.iter().any(|text| lower.contains(text));
                match link.explain(cause) {
                    Error::Protocol { .. } if lower.contains("not our ref") && is_certain => {
                        Err(Failure::Unknown(id_in(&lower)))
                    }
                    Error::Protocol { cause, .. } if is_refused => {
                        Err(Failure::Refused(Error::Protocol { remote, cause }))
                    }
                    error => Err(Failure::Other(error)),
                }
            }
        }
    }
}

/// The first object id in a text.
fn id_in(text: &str) -> Option<ObjectId> {
    let words = text.split(|c: char| !c.is_ascii_hexdigit());
    words.filter(|word| word.len() == 40).find_map(|word| ObjectId::from_hex(word.as_bytes()).ok())
}

fn receive(
    link: &mut Link,
    handshake: &Handshake,
    fetch: &Fetch<'_>,
    limits: &Limits,
    cancel: &Cancel,
    progress: &dyn Progress,
) -> Result<ShallowUpdates, String> {
    let version = handshake.server_protocol_version;
    let mut features = Command::Fetch.default_features(version, &handshake.capabilities);
    // With it the answer to a request that is refused would be wrapped once more.
    features.retain(|(name, _)| *name != "sideband-all" && (*name != "thin-pack" || fetch.may_be_thin()));
    features.push(agent());
    Response::check_required_features(version, &features).map_err(|cause| chain(&cause))?;
    let mut reader = if version == Protocol::V2 {
        let lines = question(fetch, features.iter().any(|(name, _)| *name == "shallow"));
        let told = features.into_iter().filter(|(_, value)| value.is_some());
        let invoked = link.transport.invoke(Command::Fetch.as_str(), told, Some(lines.into_iter()), false);
        invoked.map_err(|cause| chain(&cause))?
    } else {
        let mut arguments = Arguments::new(version, features, false);
        if handshake.capabilities.contains("no-progress") {
            arguments.add_feature("no-progress");
        }
        let is_shallow = arguments.can_use_shallow();
        for want in fetch.wants {
            arguments.want(want);
        }
        if is_shallow {
            for commit in fetch.shallow {
                arguments.shallow(commit);
            }
            if fetch.history == History::None {
                arguments.deepen(1);
            }
        }
        for have in fetch.usable_haves(is_shallow) {
            arguments.have(have);
        }
        arguments.send(&mut link.transport, true).map_err(|cause| chain(&cause))?
    };
    let response = Response::from_line_reader(version, &mut reader, true, false);
    let mut response = response.map_err(|cause| chain(&cause))?;
    response.append_v1_shallow_updates(handshake.v1_shallow_updates.clone());
    if !response.has_pack() {
        return Err("it sends no pack".to_owned());
    }
    let said = std::rc::Rc::new(std::cell::RefCell::new(String::new()));
    let listener = std::rc::Rc::clone(&said);
    let flag = cancel.clone();
    reader.set_progress_handler(Some(Box::new(move |is_error, text: &[u8]| {
        if is_error {
            listener.borrow_mut().push_str(&String::from_utf8_lossy(text));
        }
        if flag.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })));
    let limit = limits.max_pack.get();
    let mut pack = Watched { inner: &mut reader, progress, limit, count: 0, head: Vec::new(), total: None };
    let options = gix_pack::bundle::write::Options {
        thread_limit: Some(MAX_THREADS),
        iteration_mode: gix_pack::data::input::Mode::Verify,
        index_version: gix_pack::index::Version::V2,
        alloc_limit_bytes: usize::try_from(limits.max_pack.get()).ok(),
        ..Default::default()
    };
    let written = gix_pack::Bundle::write_to_directory(
        &mut BufReader::new(&mut pack),
        Some(fetch.packs),
        &mut Discard,
        cancel.flag(),
        Some(fetch.objects.clone()),
        gix_hash::Kind::Sha1,
        options,
    );
    let (total, bytes) = (pack.total, pack.count);
    if bytes > limit {
        let (remote, limit) = (link.remote.clone(), limits.max_pack);
        link.trouble.set(Error::TooMuch { remote, limit, name: "max_pack" });
    }
    let written = written.map_err(|cause| {
        let said = said.borrow().trim().replace(char::is_control, " ");
        if said.is_empty() { chain(&cause) } else { said }
    })?;
    if let Some(keep) = written.keep_path {
        // Keeps Git from tidying up; nobody needs that here.
        let _ = std::fs::remove_file(keep);
    }
    if reader.stopped_at().is_none() {
        io::copy(&mut reader, &mut io::sink()).map_err(|cause| cause.to_string())?;
    }
    let done = u64::from(written.index.num_objects);
    progress.report(Report { phase: Phase::Receiving, done, total, bytes });
    Ok(response.shallow_updates().to_vec())
}

/// What is asked for in the second version of the protocol.
fn question(fetch: &Fetch<'_>, is_shallow: bool) -> Vec<BString> {
    // The library would always ask for packs that build upon what is here.
    let mut lines = vec!["ofs-delta".to_owned(), "no-progress".to_owned()];
    lines.extend(fetch.may_be_thin().then(|| "thin-pack".to_owned()));
    lines.extend(fetch.wants.iter().map(|id| format!("want {id}")));
    if is_shallow {
        lines.extend(fetch.shallow.iter().map(|id| format!("shallow {id}")));
        lines.extend((fetch.history == History::None).then(|| "deepen 1".to_owned()));
    }
    lines.extend(fetch.usable_haves(is_shallow).iter().map(|id| format!("have {id}")));
    lines.push("done".to_owned());
    lines.into_iter().map(BString::from).collect()
}

/// How many threads put objects in their places.
const MAX_THREADS: usize = 2;

/// Reports what is read of a pack, and reads no more than is allowed.
struct Watched<'a, R> {
    inner: R,
    progress: &'a dyn Progress,
    limit: u64,
    count: u64,
    head: Vec<u8>,
    total: Option<u64>,
}

impl<R> Watched<'_, R> {
    fn learn(&mut self, bytes: &[u8]) -> io::Result<()> {
        // The number of objects stands in the last four of the first twelve bytes.
        if self.total.is_none() {
            let missing = 12_usize.saturating_sub(self.head.len());
            self.head.extend(bytes.iter().take(missing));
            if let [b'P', b'A', b'C', b'K', _, _, _, _, a, b, c, d] = self.head[..] {
                self.total = Some(u64::from(u32::from_be_bytes([a, b, c, d])));
            }
        }
        self.count += bytes.len() as u64;
        let (total, bytes) = (self.total, self.count);
        self.progress.report(Report { phase: Phase::Receiving, done: 0, total, bytes });
        if self.count > self.limit {
            return Err(io::Error::other("the pack is too large"));
        }
        Ok(())
    }
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.learn(&buffer[..got])?;
        Ok(got)
    }
}
