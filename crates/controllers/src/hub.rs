//! One watch on the metadata of each kind, for all controllers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::ready;
use futures_util::stream::{BoxStream, SelectAll, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::{DynamicObject, PartialObjectMeta};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use tokio_util::sync::CancellationToken;

use crate::controller::Context;
use crate::definition::{self, Defines, Definition};
use crate::driver::Driven;
use crate::kind::{Kind, KindId};

/// What happened.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// An object is there: it is new, it changed, or it was listed.
    There {
        /// Its kind.
        kind: &'a Arc<Kind>,
        /// Its metadata.
        object: &'a ObjectMeta,
    },
    /// An object is gone; this is how it was last.
    Gone {
        /// Its kind.
        kind: &'a Arc<Kind>,
        /// Its metadata.
        object: &'a ObjectMeta,
    },
    /// All objects of a kind follow. Changes may have been missed.
    Listing(&'a Arc<Kind>),
    /// All objects of a kind were told. Those that were not told since [`Change::Listing`] are gone.
    Listed(&'a Arc<Kind>),
    /// A kind is served from now on.
    Served(&'a Arc<Kind>),
    /// A kind is not served any more; nothing is told of its objects.
    Withdrawn(&'a Arc<Kind>),
}

type Partial = PartialObjectMeta<DynamicObject>;

/// An event of one of the watches.
enum Told {
    Object(Arc<Kind>, Event<ObjectMeta>),
    Definition(Arc<Kind>, Event<Definition>),
}

/// Watches everything, and tells controllers, until the token.
pub(crate) async fn run(context: &Context, controllers: &[Arc<dyn Driven>], stop: CancellationToken) {
    let mut hub = Hub { context, controllers, streams: SelectAll::new(), open: BTreeMap::new(), seen: None };
    for kind in context.kinds.all() {
        hub.open(&kind);
    }
    loop {
        let told = tokio::select! {
            () = stop.cancelled() => return,
            told = hub.streams.next() => told,
        };
        match told {
            Some(Told::Object(kind, event)) => hub.object(&kind, event),
            Some(Told::Definition(kind, event)) => hub.definition(&kind, event),
            // There is no kind, and without one that defines others there will be none.
            None => return,
        }
    }
}

struct Hub<'a> {
    context: &'a Context,
    controllers: &'a [Arc<dyn Driven>],
    streams: SelectAll<BoxStream<'static, Told>>,
    open: BTreeMap<KindId, CancellationToken>,
    /// The definitions that were told since their listing began.
    seen: Option<BTreeSet<KindId>>,
}

impl Hub<'_> {
    fn tell(&self, change: &Change<'_>) {
        for controller in self.controllers {
            controller.see(change);
        }
    }

    fn open(&mut self, kind: &Arc<Kind>) {
        if !kind.is_watched() {
            return;
        }
        let client = &self.context.client;
        let stream = if kind.is(definition::GROUP, definition::KIND) {
            let api: Api<Definition> = Api::all_with(client.clone(), &kind.resource());
            events(kind, watcher(api, watcher::Config::default()), Told::Definition)
        } else {
            let api: Api<Partial> = Api::all_with(client.clone(), &kind.resource());
            let stream = watcher(api, watcher::Config::default());
            events(kind, stream.map(|event| event.map(slim)), Told::Object)
        };
        let close = CancellationToken::new();
        self.open.insert(kind.id(), close.clone());
        self.streams.push(stream.take_until(close.cancelled_owned()).boxed());
    }

    fn object(&self, kind: &Arc<Kind>, event: Event<ObjectMeta>) {
        match event {
            Event::Init => self.tell(&Change::Listing(kind)),
            Event::InitDone => self.tell(&Change::Listed(kind)),
            Event::Apply(object) | Event::InitApply(object) => {
                self.tell(&Change::There { kind, object: &object });
            }
            Event::Delete(object) => self.tell(&Change::Gone { kind, object: &object }),
        }
    }

    fn definition(&mut self, kind: &Arc<Kind>, event: Event<Definition>) {
        match event {
            Event::Init => {
                self.seen = Some(BTreeSet::new());
                self.tell(&Change::Listing(kind));
            }
            Event::InitDone => {
                let seen = self.seen.take().unwrap_or_default();
                for id in self.context.kinds.defined().into_iter().filter(|id| !seen.contains(id)) {
                    self.define(&id, None);
                }
                self.tell(&Change::Listed(kind));
            }
            Event::Apply(object) | Event::InitApply(object) => {
                let id = object.id();
                if let Some(seen) = &mut self.seen {
                    seen.insert(id.clone());
                }
                self.define(&id, object.defined());
                self.tell(&Change::There { kind, object: &object.metadata });
            }
            Event::Delete(object) => {
                self.define(&object.id(), None);
                self.tell(&Change::Gone { kind, object: &object.metadata });
            }
        }
    }

    /// Watches what a definition brings, and nothing that it does not bring any more.
    fn define(&mut self, id: &KindId, new: Option<Kind>) {
        let kinds = &self.context.kinds;
        if kinds.is_base(id) || kinds.get(id).as_deref() == new.as_ref() {
            return;
        }
        if let Some(old) = kinds.define(id, new) {
            if let Some(close) = self.open.remove(id) {
                close.cancel();
            }
            self.tell(&Change::Withdrawn(&old));
        }
        if let Some(kind) = self.context.kinds.get(id) {
            self.open(&kind);
            self.tell(&Change::Served(&kind));
        }
    }
}

/// The events of a watch, with their kind; failures are logged and waited for.
fn events<K: Send + 'static>(
    kind: &Arc<Kind>,
    stream: impl futures_util::Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
    told: fn(Arc<Kind>, Event<K>) -> Told,
) -> BoxStream<'static, Told> {
    let kind = kind.clone();
    stream
        .default_backoff()
        .filter_map(move |event| {
            ready(match event {
                Ok(event) => Some(told(kind.clone(), event)),
                Err(error) => {
                    tracing::debug!(kind = %kind.id(), %error, "a watch begins again");
                    None
                }
            })
        })
        .boxed()
}

/// The part of metadata that controllers look at.
fn slim(event: Event<Partial>) -> Event<ObjectMeta> {
    let take = |object: Partial| ObjectMeta { managed_fields: None, annotations: None, ..object.metadata };
    match event {
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
        Event::Apply(object) => Event::Apply(take(object)),
        Event::InitApply(object) => Event::InitApply(take(object)),
        Event::Delete(object) => Event::Delete(take(object)),
    }
}
