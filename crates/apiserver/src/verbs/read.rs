//! Reading objects.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use lanai_store::{At, Continue, Error, ListRequest, Page, Revision, Stored};
use serde::{Deserialize, Serialize};

use crate::accept::Shape;
use crate::core::{Call, Core};
use crate::query::{ListOptions, Moment};
use crate::reply::Reply;
use crate::selector::Selection;
use crate::status::{Reason, Status};
use crate::view::{Item, ListMeta};

/// `GET` of an object.
pub(crate) async fn get(core: &Core, call: &Call) -> Result<Reply, Status> {
    let stored = core.find(call).await?;
    let revision = stored.revision;
    let item = whole(call, stored, revision).await?;
    let view = call.view()?;
    Ok(Reply::whole(StatusCode::OK, view.accept.format, view.one(item)?))
}

/// A row, with what is not in it.
async fn whole(call: &Call, stored: Arc<Stored>, revision: Revision) -> Result<Item, Status> {
    // Who asks for metadata gets no content read.
    match call.kind.elsewhere().filter(|_| call.accept.shape != Shape::Metadata) {
        Some(kept) => Ok(Item::Value(kept.read(&stored, revision).await?)),
        None => Ok(Item::Row(stored, revision)),
    }
}

/// `GET` of a collection.
pub(crate) async fn list(core: &Core, call: &Call) -> Result<Reply, Status> {
    let options = ListOptions::of(&call.query)?;
    let selection = selection(call)?;
    let page = page(core, &selection, &options).await?;
    let meta = ListMeta { revision: page.revision, go_on: page.next.as_ref().map(token) };
    let mut items = Vec::with_capacity(page.items.len());
    for stored in page.items {
        let revision = stored.revision;
        match whole(call, stored, revision).await {
            Ok(item) => items.push(item),
            // It went while the list was made.
            Err(status) if status.reason == Reason::NotFound => {}
            Err(status) => return Err(status),
        }
    }
    let view = call.view()?;
    Ok(Reply::whole(StatusCode::OK, view.accept.format, view.list(&meta, items)?))
}

/// What a list or watch is about.
pub(crate) fn selection(call: &Call) -> Result<Selection, Status> {
    let labels = call.query.get("labelSelector");
    let fields = call.query.get("fieldSelector");
    if call.path.name.is_some() {
        let name = format!("metadata.name={}", call.name()?);
        return Selection::parse(&call.kind, call.namespace(), labels, Some(&name));
    }
    Selection::parse(&call.kind, call.namespace(), labels, fields)
}

/// One page of what is selected.
pub(crate) async fn page(core: &Core, selection: &Selection, options: &ListOptions) -> Result<Page, Status> {
    let mut at = moment(core, options).await?;
    let mut found: Option<Page> = None;
    loop {
        let request = ListRequest { filter: selection.filter.clone(), at, limit: options.limit };
        let page = core.store.list(&request).await.map_err(|error| expired(core, error, &options.moment))?;
        let Page { revision, items, next } = page;
        let fitting = items.into_iter().filter(|stored| selection.admits_key(&stored.key));
        let mut whole = found.take().unwrap_or(Page { revision, items: Vec::new(), next: None });
        whole.items.extend(fitting);
        let limit = options.limit.map_or(usize::MAX, std::num::NonZeroUsize::get);
        if whole.items.len() > limit {
            whole.items.truncate(limit);
            let last = whole.items.last().expect("a limit is at least one");
            whole.next = Some(Continue { revision, after: last.key.clone() });
            return Ok(whole);
        }
        match next {
            Some(next) if whole.items.len() < limit => at = At::Continue(next),
            next => {
                whole.next = next;
                return Ok(whole);
            }
        }
        found = Some(whole);
    }
}

async fn moment(core: &Core, options: &ListOptions) -> Result<At, Status> {
    match &options.moment {
        Moment::Latest => Ok(At::Latest),
        Moment::NotOlderThan(revision) => {
            let current = core.store.current().await?;
            if *revision > current {
                return Err(Error::TooNew { asked: *revision, current }.into());
            }
            Ok(At::Latest)
        }
        Moment::Exact(revision) => Ok(At::Revision(*revision)),
        Moment::Continue(raw) => {
            let token = read_token(raw)?;
            let revision = match token.rv {
                Some(revision) => Revision::new(revision),
                None => core.store.current().await?,
            };
            let after = token.start.parse().map_err(|_| bad_token())?;
            Ok(At::Continue(Continue { revision, after }))
        }
    }
}

/// A place in a list, as clients hand it back.
#[derive(Serialize, Deserialize)]
struct Token {
    /// The revision of all pages; none to go on with what is there by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    rv: Option<u64>,
    start: String,
}

fn token(next: &Continue) -> String {
    write_token(&Token { rv: Some(next.revision.get()), start: next.after.to_string() })
}

fn write_token(token: &Token) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(token).expect("numbers and texts are JSON"))
}

fn read_token(raw: &str) -> Result<Token, Status> {
    let bytes = URL_SAFE_NO_PAD.decode(raw).map_err(|_| bad_token())?;
    serde_json::from_slice(&bytes).map_err(|_| bad_token())
}

fn bad_token() -> Status {
    Status::bad_request("continue key is not valid: it is none that this server gave out")
}

/// Tells where a list can go on whose revision is no longer kept.
fn expired(_core: &Core, error: Error, moment: &Moment) -> Status {
    let (Error::Expired { .. }, Moment::Continue(raw)) = (&error, moment) else { return error.into() };
    let Ok(token) = read_token(raw) else { return bad_token() };
    let message = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue \
                   parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided \
                   token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was \
                   returned and now may show up in the list.";
    let mut status = Status::new(Reason::Expired, message);
    status.go_on = Some(write_token(&Token { rv: None, start: token.start }));
    status
}
