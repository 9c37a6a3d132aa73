//! The `OpenAPI` documents, made when they are asked for and kept as long as the kinds in them stay.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, ETAG, EXPIRES, IF_NONE_MATCH, LOCATION, VARY};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use lanai_api::{KindInfo, openapi};
use serde_json::{Value, json};

use crate::accept::{Accept, Format};
use crate::path::GroupVersion;
use crate::query::Query;
use crate::registry::Registry;
use crate::reply::{Reply, ReplyBody};
use crate::status::Status;

/// The documents of one set of kinds.
#[derive(Debug, Default)]
pub struct Documents {
    v2: OnceLock<Document>,
    v2_protobuf: OnceLock<Document>,
    v3: Mutex<BTreeMap<GroupVersion, Kept>>,
}

/// A document, and a name for its content.
#[derive(Debug, Clone)]
struct Document {
    bytes: Bytes,
    hash: String,
}

/// The document of a group and version, with the kinds of which it was made.
#[derive(Debug, Clone)]
struct Kept {
    kinds: Vec<Arc<KindInfo>>,
    document: Document,
}

impl Document {
    fn new(bytes: Vec<u8>) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, &bytes);
        Self { bytes: bytes.into(), hash: URL_SAFE_NO_PAD.encode(digest) }
    }

    fn of(value: &Value) -> Self {
        Self::new(value.to_string().into_bytes())
    }
}

impl Documents {
    /// The documents of the next set of kinds. Those of groups in which nothing changed are taken over.
    #[must_use]
    pub fn next(&self) -> Self {
        let kept = self.v3.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Self { v3: Mutex::new(kept), ..Self::default() }
    }

    fn v2(&self, registry: &Registry) -> &Document {
        self.v2.get_or_init(|| Document::of(&v2(registry)))
    }

    fn v2_protobuf(&self, registry: &Registry) -> &Document {
        self.v2_protobuf.get_or_init(|| Document::new(openapi::v2_protobuf(&v2(registry))))
    }

    fn v3(&self, registry: &Registry, gv: &GroupVersion) -> Option<Document> {
        let kinds: Vec<Arc<KindInfo>> = registry.of_version(gv).map(|kind| kind.info.clone()).collect();
        if kinds.is_empty() {
            return None;
        }
        let mut kept = self.v3.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |found: &Kept| {
            found.kinds.len() == kinds.len()
                && found.kinds.iter().zip(&kinds).all(|(one, other)| Arc::ptr_eq(one, other))
        };
        if let Some(found) = kept.get(gv).filter(|found| is_same(found)) {
            return Some(found.document.clone());
        }
        let infos: Vec<&KindInfo> = kinds.iter().map(AsRef::as_ref).collect();
        let document = Document::of(&openapi::v3(&infos, &gv.group, &gv.version));
        kept.insert(gv.clone(), Kept { kinds, document: document.clone() });
        Some(document)
    }

    /// Which documents there are, each with its hash, so that clients need not ask again for what they have.
    fn v3_index(&self, registry: &Registry) -> Document {
        let mut paths = serde_json::Map::new();
        for (group, versions) in registry.groups() {
            for version in versions {
                let gv = GroupVersion { group: group.clone(), version };
                let Some(document) = self.v3(registry, &gv) else { continue };
                let path = path_of(&gv);
                let url = format!("/openapi/v3/{path}?hash={}", document.hash);
                paths.insert(path, json!({"serverRelativeURL": url}));
            }
        }
        Document::of(&json!({"paths": paths}))
    }
}

fn v2(registry: &Registry) -> Value {
    let kinds: Vec<&KindInfo> = registry.all().map(|kind| kind.info.as_ref()).collect();
    openapi::v2(&kinds)
}

fn path_of(gv: &GroupVersion) -> String {
    if gv.group.is_empty() { format!("api/{}", gv.version) } else { format!("apis/{gv}") }
}

/// The document behind a path below `/openapi`.
pub(crate) fn answer(
    documents: &Documents,
    registry: &Registry,
    path: &str,
    query: &Query,
    headers: &HeaderMap,
) -> Result<Reply, Status> {
    let words: Vec<&str> = path.split('/').filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        ["openapi", "v2"] => {
            let accept = Accept::of(headers)?;
            if accept.format == Format::OpenApiProtobuf {
                Ok(tagged(documents.v2_protobuf(registry), accept.format, headers))
            } else {
                Ok(tagged(documents.v2(registry), Format::Json, headers))
            }
        }
        ["openapi", "v3"] => Ok(tagged(&documents.v3_index(registry), Format::Json, headers)),
        ["openapi", "v3", "api", version] => {
            let gv = GroupVersion { group: String::new(), version: (*version).to_owned() };
            version_document(documents, registry, &gv, query, headers)
        }
        ["openapi", "v3", "apis", group, version] => {
            let gv = GroupVersion { group: (*group).to_owned(), version: (*version).to_owned() };
            version_document(documents, registry, &gv, query, headers)
        }
        _ => Err(Status::no_such_path()),
    }
}

fn version_document(
    documents: &Documents,
    registry: &Registry,
    gv: &GroupVersion,
    query: &Query,
    headers: &HeaderMap,
) -> Result<Reply, Status> {
    let document = documents.v3(registry, gv).ok_or_else(Status::no_such_path)?;
    match query.get("hash") {
        None => Ok(tagged(&document, Format::Json, headers)),
        Some(hash) if hash == document.hash => {
            let mut reply = tagged(&document, Format::Json, headers);
            // What this address names never changes.
            reply.extra.push((CACHE_CONTROL, HeaderValue::from_static("public, immutable")));
            reply.extra.push((EXPIRES, HeaderValue::from_static("Fri, 01 Jan 2100 00:00:00 GMT")));
            Ok(reply)
        }
        Some(_) => {
            let now = format!("/openapi/v3/{}?hash={}", path_of(gv), document.hash);
            let mut reply = Reply::whole(StatusCode::MOVED_PERMANENTLY, Format::Json, Vec::new());
            reply.extra.extend(header(LOCATION, &now));
            Ok(reply)
        }
    }
}

/// The document, or that the client has it already.
fn tagged(document: &Document, format: Format, headers: &HeaderMap) -> Reply {
    let tag = format!("\"{}\"", document.hash);
    let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let is_known = known.flat_map(|value| value.split(',')).any(|one| {
        let one = one.trim();
        one == "*" || one.trim_start_matches("W/") == tag
    });
    let (code, body) = if is_known {
        (StatusCode::NOT_MODIFIED, Bytes::new())
    } else {
        (StatusCode::OK, document.bytes.clone())
    };
    let mut extra = vec![(VARY, HeaderValue::from_static("Accept, Accept-Encoding"))];
    extra.extend(header(ETAG, &tag));
    Reply { code, format, body: ReplyBody::Shared(body), warnings: Vec::new(), extra, made: None }
}

fn header(name: HeaderName, value: &str) -> Option<(HeaderName, HeaderValue)> {
    HeaderValue::from_str(value).ok().map(|value| (name, value))
}
