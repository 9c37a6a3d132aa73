//! Reads folders of a remote repository through its mirror.

use std::collections::BTreeSet;

use gix_hash::ObjectId;
use gix_object::Exists;
use gix_protocol::handshake::Ref;
use lanai_types::CommitId;

use crate::eviction;
use crate::mirror::{Guard, Mirror, Use, open_objects};
use crate::session::{self, Fetch, History, ShallowUpdates};
use crate::tree::{Failure, git_id, our_id};
use crate::{Cancel, Content, Error, Progress, RemoteUrl, Remotes, Want};

/// One call, with all that it needs.
pub(crate) struct Fetcher<'a> {
    pub(crate) remotes: &'a Remotes,
    /// The repository as the caller named it, for messages.
    pub(crate) remote: &'a RemoteUrl,
    /// Where it is.
    pub(crate) url: &'a RemoteUrl,
    pub(crate) cancel: &'a Cancel,
    pub(crate) progress: &'a dyn Progress,
}

/// How much comes with the commits that are wanted.
#[derive(Clone, Copy, PartialEq)]
enum Past {
    /// Nothing of their past, and nothing that other commits have which are here.
    NoneUponOthers,
    /// Nothing of their past.
    None,
    /// Everything.
    All,
}

/// What the mirror has of what is wanted.
enum Found {
    All(Vec<Content>),
    NotAll,
    Damaged,
}

impl Fetcher<'_> {
    pub(crate) fn packages(&self, wants: &[Want]) -> Result<Vec<Content>, Error> {
        let mirror = Mirror::of(self.url, &self.remotes.options().cache)?;
        let guard = mirror.lock(Use::Read, self.cancel, self.progress)?;
        if let Found::All(contents) = self.look(&guard, wants)? {
            return Ok(contents);
        }
        drop(guard);

        let guard = mirror.lock(Use::Write, self.cancel, self.progress)?;
        // Somebody else may have been quicker.
        match self.look(&guard, wants)? {
            Found::All(contents) => return Ok(contents),
            Found::NotAll => {}
            Found::Damaged => guard.discard()?,
        }
        guard.prepare()?;
        self.fetch(&guard, wants)?;
        match self.look(&guard, wants)? {
            Found::All(contents) => {
                drop(guard);
                // What cannot be removed now is tried again with the next fetch.
                let options = self.remotes.options();
                let _ = eviction::evict(&options.cache, options.limits.max_mirrors);
                Ok(contents)
            }
            Found::NotAll | Found::Damaged => {
                guard.discard()?;
                let cause = "objects that it sent are missing or damaged".to_owned();
                Err(Error::Damaged { remote: self.remote.clone(), cause })
            }
        }
    }

    /// Reads what is wanted, if it is there.
    fn look(&self, guard: &Guard<'_>, wants: &[Want]) -> Result<Found, Error> {
        let Some(objects) = guard.objects() else { return Ok(Found::NotAll) };
        if !self.missing(guard, wants)?.is_empty() {
            return Ok(Found::NotAll);
        }
        match self.remotes.read(&objects, self.remote, wants, self.cancel, self.progress) {
            Ok(contents) => Ok(Found::All(contents)),
            Err(unread) => match unread.failure {
                Failure::Missing | Failure::Damaged(_) => Ok(Found::Damaged),
                // It was sent so, and is sent so again.
                Failure::Bad(cause) => Err(Error::Damaged { remote: self.remote.clone(), cause }),
                Failure::Other(error) => Err(error),
            },
        }
    }

    /// The commits that were not fetched yet.
    fn missing(&self, guard: &Guard<'_>, wants: &[Want]) -> Result<Vec<ObjectId>, Error> {
        let mut missing = BTreeSet::new();
        for want in wants {
            let id = git_id(want.commit.object_id()).map_err(|_| self.unknown(want.commit))?;
            if !guard.is_marked(id) {
                missing.insert(id);
            }
        }
        Ok(missing.into_iter().collect())
    }

    /// Fetches what is missing: by id, without the past; or, from a server that does not give commits away by their
    /// ids, everything that its branches and tags lead to.
    fn fetch(&self, guard: &Guard<'_>, wants: &[Want]) -> Result<(), Error> {
        let missing = self.missing(guard, wants)?;
        let session = self.remotes.session(self.url, self.progress)?;
        let refused = if session.may_ask_by_id() {
            let mut received = self.receive(session, guard, &missing, Past::NoneUponOthers);
            let is_unfit = matches!(received, Err(session::Failure::Other(Error::Protocol { .. })));
            if is_unfit && !guard.haves().is_empty() {
                // What builds upon what is here could not be put together with it; all of it may be.
                let session = self.remotes.session(self.url, self.progress)?;
                received = self.receive(session, guard, &missing, Past::None);
            }
            match received {
                Ok(updates) => return guard.record(&missing, &updates),
                Err(session::Failure::Other(error)) => return Err(error),
                Err(session::Failure::Unknown(id)) => return Err(self.one_unknown(id, &missing)),
                Err(session::Failure::Refused(error)) => Some(error),
            }
        } else {
            drop(session);
            None
        };

        let (session, refs) = self.remotes.session(self.url, self.progress)?.refs(&[], self.progress)?;
        let (tips, commits) = tips(&refs);
        let all_are_tips = missing.iter().all(|id| commits.contains(id));
        let (wanted, past) = if all_are_tips && refused.is_none() {
            (missing.clone(), Past::NoneUponOthers)
        } else {
            (tips, Past::All)
        };
        if wanted.is_empty() {
            return Err(self.one_unknown(None, &missing));
        }
        // Over HTTP a listing and a transfer are one conversation; over ssh with the old protocol as well.
        let updates = match self.receive(session, guard, &wanted, past) {
            Ok(updates) => updates,
            Err(session::Failure::Refused(error) | session::Failure::Other(error)) => return Err(error),
            Err(session::Failure::Unknown(id)) => return Err(self.one_unknown(id, &missing)),
        };
        let objects = Self::objects(guard)?;
        match missing.iter().find(|id| !objects.exists(id)) {
            Some(id) => Err(self.unknown(CommitId::new(our_id(*id)))),
            None => guard.record(&missing, &updates),
        }
    }

    fn receive(
        &self,
        session: session::Session,
        guard: &Guard<'_>,
        wants: &[ObjectId],
        past: Past,
    ) -> Result<ShallowUpdates, session::Failure> {
        let objects = Self::objects(guard).map_err(session::Failure::Other)?;
        let (haves, shallow, history) = match past {
            Past::NoneUponOthers => (guard.haves(), guard.shallow(), History::None),
            Past::None => (Vec::new(), BTreeSet::new(), History::None),
            // As if there were nothing, so that the past of commits that came without it comes along.
            Past::All => (Vec::new(), BTreeSet::new(), History::All),
        };
        let haves: Vec<_> = haves.into_iter().filter(|have| objects.exists(have)).collect();
        let packs = guard.packs();
        let fetch = Fetch { wants, haves: &haves, shallow: &shallow, history, packs: &packs, objects };
        session.fetch(&fetch, self.cancel, self.progress)
    }

    fn objects(guard: &Guard<'_>) -> Result<gix_odb::Handle, Error> {
        let packs = guard.packs();
        let folder = packs.parent().unwrap_or(&packs);
        open_objects(folder).map_err(crate::mirror::failed("cannot read", folder))
    }

    fn unknown(&self, commit: CommitId) -> Error {
        Error::UnknownCommit { remote: self.remote.clone(), commit }
    }

    /// A server refuses all wants when it does not know one. Where it does not say which, the first is as good as any.
    fn one_unknown(&self, said: Option<ObjectId>, missing: &[ObjectId]) -> Error {
        let said = said.filter(|id| missing.contains(id));
        let id = said.or_else(|| missing.first().copied());
        self.unknown(CommitId::new(our_id(id.unwrap_or(ObjectId::null(gix_hash::Kind::Sha1)))))
    }
}

/// The objects that branches and tags name, and the commits that they lead to.
fn tips(refs: &[Ref]) -> (Vec<ObjectId>, BTreeSet<ObjectId>) {
    let mut objects = BTreeSet::new();
    let mut commits = BTreeSet::new();
    for found in refs {
        let (name, object, commit) = match found {
            Ref::Peeled { full_ref_name, tag, object } => (full_ref_name, *tag, *object),
            Ref::Direct { full_ref_name, object } => (full_ref_name, *object, *object),
            Ref::Symbolic { full_ref_name, object, tag, .. } => {
                (full_ref_name, tag.unwrap_or(*object), *object)
            }
            Ref::Unborn { .. } => continue,
        };
        let is_branch_or_tag =
            [&b"refs/heads/"[..], b"refs/tags/"].iter().any(|prefix| name.starts_with(prefix));
        if is_branch_or_tag {
            objects.insert(object);
            commits.insert(object);
            commits.insert(commit);
        }
    }
    (objects.into_iter().collect(), commits)
}
