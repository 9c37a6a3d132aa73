//! What is remembered of a step, as bytes.
//!
//! A header in JSON, with its length before it, and behind it the texts of the resources that the step changed or made. Resources that came out
//! as they went in are named by their place in the list.

use std::collections::HashMap;
use std::num::NonZero;
use std::thread;

use lanai_krm::package::Folder;
use lanai_krm::resource::Origin;
use lanai_krm::{Resource, ResultItem};
use lanai_types::Sha256Digest;
use serde::{Deserialize, Serialize};

use crate::memory::InputDigest;

/// The number of this format; part of every key.
pub const FORMAT: &str = "lanai-step/1";

/// What a step did.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// What its functions said, in order.
    pub calls: Vec<Call>,
    /// The list that came out; none for those whose list nobody wants.
    pub items: Option<Vec<Resource>>,
}

/// What one function of a step said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Its condition was false.
    pub skipped: bool,
    /// How many resources it saw, when these were not all.
    pub selected: Option<usize>,
    /// What it reported.
    pub results: Vec<ResultItem>,
    /// What it wrote to its standard error output.
    pub stderr: String,
    /// How many resources there were behind it.
    pub items: usize,
}

#[derive(Serialize, Deserialize)]
struct Header {
    calls: Vec<Call>,
    items: Option<Vec<Item>>,
    /// Kptfiles that the step changed: their places in the list, and their digests as they were, with their status.
    kptfiles: Vec<(usize, Sha256Digest)>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Item {
    /// The one at that place of the list.
    Same(usize),
    /// Where it stands, and the length of its text.
    Text(Option<Place>, usize),
}

#[derive(Serialize, Deserialize)]
struct Place {
    package: String,
    path: String,
    index: Option<usize>,
    /// The one of the list that had its number.
    was: Option<usize>,
}

/// The digest of a resource: its place and its text.
pub fn digest(item: &Resource) -> Sha256Digest {
    place(item).last(item)
}

/// The place of a resource, before anything else of it.
pub fn place(item: &Resource) -> InputDigest {
    let digest = InputDigest::new();
    match item.origin() {
        None => digest.part("nowhere"),
        Some(origin) => {
            let index = origin.index.map(|index| index.to_string()).unwrap_or_default();
            digest.part(origin.package.to_string()).part(origin.path.as_str()).part(index)
        }
    }
}

/// What of a resource goes into keys: its place and its text, without the status if it is a Kptfile.
pub fn input_digest(item: &Resource) -> Sha256Digest {
    if !is_kptfile(item) || item.root().get("status").is_none() {
        return digest(item);
    }
    let mut plain = item.clone();
    let cut = plain.edit(|document| document.root_mut().remove("status").map(|_| ()));
    if cut.is_err() { digest(item) } else { digest(&plain) }
}

fn is_kptfile(item: &Resource) -> bool {
    let is_it = item.kind().is_some_and(|kind| kind == "Kptfile");
    is_it && item.api_version().is_some_and(|version| version.starts_with("kpt.dev/"))
}

/// The list that goes into a step, as far as it is needed when it comes out.
#[derive(Clone, Debug)]
pub struct Before {
    places: HashMap<Sha256Digest, usize>,
    serials: HashMap<usize, usize>,
    kptfiles: Vec<(usize, Sha256Digest)>,
}

impl Before {
    /// Of a list.
    pub fn of(items: &[Resource]) -> Self {
        let places = items.iter().enumerate().map(|(at, item)| (digest(item), at)).collect();
        let kptfiles = items.iter().enumerate().filter(|(_, item)| is_kptfile(item));
        let serial = |(at, item): (usize, &Resource)| Some((item.origin()?.serial?, at));
        let serials = items.iter().enumerate().filter_map(serial).collect();
        Self { places, serials, kptfiles: kptfiles.map(|(at, item)| (at, digest(item))).collect() }
    }

    /// The record of what came out.
    pub fn write(&self, record: &Record) -> Vec<u8> {
        let mut texts = Vec::new();
        let items = record.items.as_ref().map(|items| {
            let item = |item: &Resource| {
                if let Some(at) = self.places.get(&digest(item)) {
                    return Item::Same(*at);
                }
                let text = item.to_string();
                texts.extend_from_slice(text.as_bytes());
                let place = item.origin().map(|origin| Place {
                    package: origin.package.to_string(),
                    path: origin.path.to_string(),
                    index: origin.index,
                    was: origin.serial.and_then(|serial| self.serials.get(&serial).copied()),
                });
                Item::Text(place, text.len())
            };
            items.iter().map(item).collect::<Vec<_>>()
        });
        let is_same = |at: usize| {
            items
                .as_ref()
                .is_none_or(|items| items.iter().any(|item| matches!(item, Item::Same(same) if *same == at)))
        };
        let kptfiles = self.kptfiles.iter().filter(|(at, _)| !is_same(*at)).copied().collect();
        let header = Header { calls: record.calls.clone(), items, kptfiles };
        let header = serde_json::to_vec(&header).unwrap_or_default();
        let mut content = (header.len() as u64).to_le_bytes().to_vec();
        content.extend(header);
        content.extend(texts);
        content
    }
}

/// Reads a record for a list that has the same inputs. None where it cannot be used for it.
pub fn read(content: &[u8], items: &[Resource]) -> Option<Record> {
    let (length, rest) = content.split_at_checked(8)?;
    let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
    let (header, texts) = rest.split_at_checked(length)?;
    let header: Header = serde_json::from_slice(header).ok()?;
    for (at, before) in &header.kptfiles {
        if digest(items.get(*at)?) != *before {
            return None;
        }
    }
    let Some(written) = header.items else { return Some(Record { calls: header.calls, items: None }) };
    let texts = std::str::from_utf8(texts).ok()?;
    let mut jobs = Vec::with_capacity(written.len());
    let mut from = 0_usize;
    for item in written {
        jobs.push(match item {
            Item::Same(at) => Job::Same(items.get(at)?),
            Item::Text(place, length) => {
                let to = from.checked_add(length)?;
                let text = texts.get(from..to)?;
                from = to;
                let origin = match place {
                    Some(place) => Some(settle(&place, items)?),
                    None => None,
                };
                Job::Parse(origin, text)
            }
        });
    }
    let items = do_all(jobs)?;
    Some(Record { calls: header.calls, items: Some(items) })
}

fn settle(place: &Place, items: &[Resource]) -> Option<Origin> {
    let package = if place.package == "." { Folder::Root } else { Folder::At(place.package.parse().ok()?) };
    let serial = place.was.and_then(|at| items.get(at)?.origin()?.serial);
    Some(Origin { package, path: place.path.parse().ok()?, index: place.index, serial })
}

enum Job<'a> {
    Same(&'a Resource),
    Parse(Option<Origin>, &'a str),
}

impl Job<'_> {
    fn run(self) -> Option<Resource> {
        let (origin, text) = match self {
            Self::Same(item) => return Some(item.clone()),
            Self::Parse(origin, text) => (origin, text),
        };
        let mut item = Resource::parse(text).ok()?;
        item.set_origin(origin);
        Some(item)
    }
}

/// So many jobs are worth a thread.
const JOBS_PER_THREAD: usize = 64;

/// Parses on as many threads as there are processors.
fn do_all(jobs: Vec<Job<'_>>) -> Option<Vec<Resource>> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let size = jobs.len().div_ceil(processors).max(JOBS_PER_THREAD);
    if jobs.len() <= size {
        return jobs.into_iter().map(Job::run).collect();
    }
    let mut shares: Vec<Vec<Job<'_>>> = Vec::new();
    let mut jobs = jobs.into_iter().peekable();
    while jobs.peek().is_some() {
        shares.push(jobs.by_ref().take(size).collect());
    }
    thread::scope(|scope| {
        let workers = shares.into_iter().map(|share| {
            scope.spawn(move || share.into_iter().map(Job::run).collect::<Option<Vec<Resource>>>())
        });
        let workers: Vec<_> = workers.collect();
        let done = workers.into_iter().map(|worker| worker.join().ok().flatten());
        Some(done.collect::<Option<Vec<_>>>()?.concat())
    })
}
