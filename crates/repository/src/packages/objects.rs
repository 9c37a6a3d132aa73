//! Objects of one repository, read through a cache that all repositories share.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gix_hash::ObjectId;
use gix_object::{Find, FindHeader, Kind};
use gix_pack::cache::lru::MemoryCappedHashmap;
use lanai_types::ByteSize;

use crate::error::chain;
use crate::tree::Failure;

/// Objects that were read lately, of all repositories together: never more than the limit. Each repository sees its own only:
/// an id that a hostile one brings opens nothing of another.
pub(crate) struct ObjectCache {
    limit: usize,
    inner: Mutex<Inner>,
    spaces: AtomicU64,
}

#[derive(Default)]
struct Inner {
    objects: HashMap<Id, Cached>,
    /// Oldest first; an object that was asked for again is put at the end when its turn comes.
    order: VecDeque<Id>,
    bytes: usize,
}

/// An object of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Id {
    space: Space,
    id: ObjectId,
}

/// Which repository an object is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Space(u64);

struct Cached {
    kind: Kind,
    data: Arc<[u8]>,
    is_wanted: bool,
}

/// The largest object that is worth caching.
const MAX_CACHED_OBJECT: usize = 256 * 1024;

/// What an entry costs beside its bytes.
const OVERHEAD: usize = 128;

impl ObjectCache {
    pub(crate) fn new(limit: ByteSize) -> Self {
        let limit = usize::try_from(limit.get()).unwrap_or(usize::MAX);
        Self { limit, inner: Mutex::default(), spaces: AtomicU64::new(0) }
    }

    /// A place for the objects of one more repository.
    pub(crate) fn space(&self) -> Space {
        Space(self.spaces.fetch_add(1, Ordering::Relaxed))
    }

    /// What it holds, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    fn get(&self, id: &Id) -> Option<(Kind, Arc<[u8]>)> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = inner.objects.get_mut(id)?;
        cached.is_wanted = true;
        Some((cached.kind, Arc::clone(&cached.data)))
    }

    fn put(&self, id: Id, kind: Kind, data: &Arc<[u8]>) {
        let cost = data.len() + OVERHEAD;
        if data.len() > MAX_CACHED_OBJECT || cost > self.limit {
            return;
        }
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = Cached { kind, data: Arc::clone(data), is_wanted: false };
        if inner.objects.insert(id, cached).is_some() {
            return;
        }
        inner.order.push_back(id);
        inner.bytes += cost;
        while inner.bytes > self.limit {
            let Some(oldest) = inner.order.pop_front() else { break };
            let is_alone = inner.order.is_empty();
            let wanted = inner.objects.get_mut(&oldest).filter(|cached| cached.is_wanted && !is_alone);
            if let Some(cached) = wanted {
                cached.is_wanted = false;
                inner.order.push_back(oldest);
                continue;
            }
            let gone = inner.objects.remove(&oldest).map_or(0, |cached| cached.data.len() + OVERHEAD);
            inner.bytes -= gone;
        }
    }
}

/// The objects of one repository. Cheap to clone; a clone belongs to one thread.
#[derive(Clone)]
pub(crate) struct Objects {
    handle: gix_odb::HandleArc,
    cache: Arc<ObjectCache>,
    space: Space,
}

/// The most bytes of objects that others build upon, for each thread that reads.
const MAX_BASES: usize = 4 * 1024 * 1024;

/// How many packs can be open at once. They are put together long before.
const SLOTS: usize = 1024;

impl Objects {
    pub(crate) fn open(folder: &Path, cache: &Arc<ObjectCache>, space: Space) -> io::Result<Self> {
        // Reading the folder here tells apart what gix would only notice later.
        std::fs::read_dir(folder)?;
        let options = gix_odb::store::init::Options {
            slots: gix_odb::store::init::Slots::Given(u16::try_from(SLOTS).unwrap_or(u16::MAX)),
            ..Default::default()
        };
        let mut handle = gix_odb::at_opts(folder, gix_hash::Kind::Sha1, None, options)?.into_arc()?;
        // Objects in packs build upon each other in long rows, which would be put together anew for each of them.
        handle.set_pack_cache(|| Box::new(MemoryCappedHashmap::new(MAX_BASES)));
        Ok(Self { handle, cache: Arc::clone(cache), space })
    }

    /// An object, checked against its id.
    pub(crate) fn get(&self, id: ObjectId) -> Result<(Kind, Arc<[u8]>), Failure> {
        if let Some(found) = self.cache.get(&Id { space: self.space, id }) {
            return Ok(found);
        }
        if id == ObjectId::empty_tree(gix_hash::Kind::Sha1) {
            return Ok((Kind::Tree, Arc::default()));
        }
        let mut buffer = Vec::new();
        let found = self.handle.try_find(&id, &mut buffer);
        let data = found.map_err(|cause| Failure::Damaged(chain(&cause)))?.ok_or(Failure::Missing)?;
        data.verify_checksum(&id).map_err(|cause| Failure::Damaged(chain(&cause)))?;
        let (kind, data): (_, Arc<[u8]>) = (data.kind, data.data.into());
        self.cache.put(Id { space: self.space, id }, kind, &data);
        Ok((kind, data))
    }

    /// The bytes of an object that must be of a kind and not larger than a folder or commit may be.
    pub(crate) fn node(&self, id: ObjectId, kind: Kind) -> Result<Arc<[u8]>, Failure> {
        if self.cache.get(&Id { space: self.space, id }).is_none()
            && let Some(header) = self.header(id)?
            && header.size > crate::tree::MAX_NODE.get()
        {
            return Err(Failure::Damaged(format!("{kind} {id} has {} bytes", header.size)));
        }
        let (found, data) = self.get(id)?;
        if found != kind {
            return Err(Failure::Bad(format!("{found} {id} is in place of a {kind}")));
        }
        Ok(data)
    }

    /// The bytes of a commit; `None` for another object.
    pub(crate) fn commit(&self, id: ObjectId) -> Result<Option<Arc<[u8]>>, Failure> {
        let header = self.header(id)?.ok_or(Failure::Missing)?;
        if header.kind != Kind::Commit {
            return Ok(None);
        }
        if header.size > crate::tree::MAX_NODE.get() {
            return Err(Failure::Damaged(format!("commit {id} has {} bytes", header.size)));
        }
        let (kind, data) = self.get(id)?;
        Ok((kind == Kind::Commit).then_some(data))
    }

    pub(crate) fn header(&self, id: ObjectId) -> Result<Option<gix_object::Header>, Failure> {
        FindHeader::try_header(&self.handle, &id).map_err(|cause| Failure::Damaged(chain(&cause)))
    }

    pub(crate) fn has(&self, id: ObjectId) -> bool {
        gix_object::Exists::exists(&self.handle, &id)
    }

    /// The database below, for those who read large files.
    pub(crate) fn handle(&self) -> &gix_odb::HandleArc {
        &self.handle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> Id {
        let id = ObjectId::from_hex(format!("{number:040x}").as_bytes()).unwrap();
        Id { space: Space(0), id }
    }

    #[test]
    fn the_cache_never_holds_more_than_its_limit() {
        let cache = ObjectCache::new(ByteSize::bytes(10 * (1000 + 128)));
        let data: Arc<[u8]> = vec![0; 1000].into();
        for number in 0..10 {
            cache.put(id(number), Kind::Blob, &data);
        }
        assert_eq!(cache.bytes(), 10 * 1128, "exactly as many as fit");
        assert!(cache.get(&id(0)).is_some());
        cache.put(id(10), Kind::Blob, &data);
        assert_eq!(cache.bytes(), 10 * 1128);
        assert!(cache.get(&id(0)).is_some(), "what is wanted stays");
        assert!(cache.get(&id(1)).is_none(), "what is old goes");
        assert!(cache.get(&Id { space: Space(1), ..id(0) }).is_none(), "what others have is not shown");
        cache.put(id(11), Kind::Blob, &vec![0; 20_000].into());
        assert!(cache.get(&id(11)).is_none(), "what is larger than all of it is not kept");
        cache.put(id(10), Kind::Blob, &data);
        assert_eq!(cache.bytes(), 10 * 1128, "the same twice counts once");
    }
}
