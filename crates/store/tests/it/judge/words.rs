//! From the words of the store to those of the judge.

use lanai_store::{Change, Error, Filter, Object, Presence, Signal, Stored, Write};
use lanai_testkit::history::{Content, Heard, Item, Put, Reply, View};

use crate::support::{equals, key, labelled, rev, text, under, with_label};

pub fn filter(view: &View) -> Filter {
    let filter = match view.prefix.strip_suffix('/') {
        Some(kind) => under(kind),
        None => Filter::everything(),
    };
    match &view.label {
        Some(label) => with_label(filter, "l", equals(label)),
        None => filter,
    }
}

pub fn object(content: &Content) -> Object {
    labelled(&content.value, &[("l", &content.label)])
}

pub fn write(put: &Put) -> Write {
    let key = key(&put.key);
    match (&put.content, put.expected) {
        (Some(content), None) => Write::Create { key, object: object(content) },
        (Some(content), Some(expected)) => {
            Write::Update { key, expected: rev(expected), object: object(content) }
        }
        (None, expected) => Write::Delete { key, expected: rev(expected.unwrap_or(0)) },
    }
}

pub fn item(stored: &Stored) -> Item {
    let label = stored.object.attributes.label("l").unwrap_or_default().into_owned();
    Item {
        key: stored.key.to_string(),
        created: stored.created.get(),
        revision: stored.revision.get(),
        content: Content { value: text(&stored.object), label },
    }
}

pub fn heard(signal: &Signal) -> Heard {
    let event = match signal {
        Signal::Bookmark(revision) => return Heard::Bookmark(revision.get()),
        Signal::Event(event) => event,
    };
    let revision = event.revision.get();
    match &event.change {
        Change::Created { now } => Heard::Created { revision, now: item(now) },
        Change::Updated { before, now } => Heard::Updated { revision, before: item(before), now: item(now) },
        Change::Deleted { last } => Heard::Deleted { revision, last: item(last) },
    }
}

/// How a watch ended.
pub fn end(error: &Error) -> Heard {
    match error {
        Error::Expired { horizon, .. } => Heard::Expired { horizon: horizon.get() },
        other => Heard::Failed(other.to_string()),
    }
}

pub fn refusal(error: &Error) -> Reply {
    match error {
        Error::Conflict { key, found, .. } => {
            let found = match found {
                Presence::Absent => None,
                Presence::At(revision) => Some(revision.get()),
            };
            Reply::Conflict { key: key.to_string(), found }
        }
        Error::Expired { horizon, .. } => Reply::Expired { horizon: horizon.get() },
        Error::TooNew { current, .. } => Reply::TooNew { current: current.get() },
        Error::Unknown { .. } => Reply::Unknown,
        Error::Fenced { .. } | Error::Held { .. } | Error::BlobsMissing { .. } | Error::Invalid(_) => {
            Reply::Refused
        }
        Error::Full { .. } | Error::Damaged { .. } | Error::Sealed { .. } | Error::Unavailable { .. } => {
            Reply::Failed(error.to_string())
        }
    }
}
