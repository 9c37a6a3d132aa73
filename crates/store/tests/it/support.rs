//! Short words for long things.

use std::collections::BTreeMap;
use std::time::Duration;

use lanai_store::lease::Moment;
use lanai_store::{
    Attributes, Bookmarks, Claim, Error, Event, Filter, Key, Kind, ListRequest, Object, Page, Prefix,
    Requirement, Revision, Selector, Signal, Store, Subject, Test, Watch, WatchFrom, WatchRequest,
};

/// How long a test waits for something that must come. Only a store that is wrong makes a test wait so long.
pub const PATIENCE: Duration = Duration::from_mins(1);

pub fn key(raw: &str) -> Key {
    raw.parse().unwrap()
}

pub fn kind(raw: &str) -> Kind {
    Kind::new(raw).unwrap()
}

pub fn under(raw: &str) -> Filter {
    Filter::under(Prefix::kind(&kind(raw)))
}

pub fn object(value: &str) -> Object {
    Object::plain(value.to_owned())
}

pub fn labelled(value: &str, labels: &[(&str, &str)]) -> Object {
    let labels: BTreeMap<_, _> =
        labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Object { attributes: Attributes::new(&labels, &BTreeMap::new()), ..object(value) }
}

pub fn with_label(filter: Filter, name: &str, test: Test) -> Filter {
    let requirement = Requirement { subject: Subject::Label(name.to_owned()), test };
    Filter {
        selector: Selector { requirements: [filter.selector.requirements, vec![requirement]].concat() },
        ..filter
    }
}

pub fn equals(value: &str) -> Test {
    Test::Equals(value.to_owned())
}

pub fn text(object: &Object) -> String {
    String::from_utf8(object.value.to_vec()).unwrap()
}

pub fn rev(number: u64) -> Revision {
    Revision::new(number)
}

pub async fn list(store: &dyn Store, filter: Filter) -> Page {
    store.list(&ListRequest::all(filter)).await.unwrap()
}

/// A list as lines: name, revision and value.
pub fn lines(page: &Page) -> Vec<String> {
    page.items
        .iter()
        .map(|item| format!("{}@{}={}", item.key.name(), item.revision, text(&item.object)))
        .collect()
}

pub async fn watch_after(store: &dyn Store, after: u64, filter: Filter) -> Watch {
    store.watch(WatchRequest::after(rev(after), filter)).await.unwrap()
}

pub async fn watch_with_bookmarks(store: &dyn Store, after: u64, filter: Filter, every: u64) -> Watch {
    let bookmarks = Bookmarks::Every(every.try_into().unwrap());
    store.watch(WatchRequest { filter, from: WatchFrom::After(rev(after)), bookmarks }).await.unwrap()
}

pub async fn signal(watch: &mut Watch) -> Result<Signal, Error> {
    tokio::time::timeout(PATIENCE, watch.next()).await.expect("a signal comes")
}

pub async fn event(watch: &mut Watch) -> Event {
    match signal(watch).await.unwrap() {
        Signal::Event(event) => event,
        Signal::Bookmark(revision) => panic!("a bookmark at {revision} where an event was expected"),
    }
}

/// An event as a line: revision, what happened, name and value.
pub fn line(event: &Event) -> String {
    use lanai_store::Change::{Created, Deleted, Updated};
    match &event.change {
        Created { now } => format!("{} + {}={}", event.revision, now.key.name(), text(&now.object)),
        Updated { before, now } => format!(
            "{} ~ {}={} (was {}@{})",
            event.revision,
            now.key.name(),
            text(&now.object),
            text(&before.object),
            before.revision
        ),
        Deleted { last } => {
            format!("{} - {}={}@{}", event.revision, last.key.name(), text(&last.object), last.revision)
        }
    }
}

pub async fn events(watch: &mut Watch, number: usize) -> Vec<String> {
    let mut found = Vec::new();
    for _ in 0..number {
        found.push(line(&event(watch).await));
    }
    found
}

pub fn claim(lease: &str, holder: &str, now: u64, millis: u64) -> Claim {
    let time = Duration::from_millis(millis);
    Claim { lease: lease.parse().unwrap(), holder: holder.to_owned(), now: Moment(now), time }
}
