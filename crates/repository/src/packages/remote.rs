//! One remote: its objects, what is known of its history, and how refs come and go.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use gix_hash::ObjectId;
use gix_transport::Service;
use lanai_types::{GitObjectId, RefName};

use super::history::{History, MainLine};
use super::intent::Outcome;
use super::layout::Branch;
use super::objects::{ObjectCache, Objects, Space};
use super::own::{self, Swap};
use super::pack::{self, Hold, Kept};
use super::push::{self, Command, Receiver, Report};
use super::queue;
use super::refs::{Refs, Tip};
use crate::link::Opening;
use crate::local::Local;
use crate::mirror::{Guard, Mirror, Use, failed};
use crate::secret::Access;
use crate::session::{self, Fetch, Session};
use crate::tree::Failure;
use crate::{Cancel, Error, Progress, RemoteUrl, Remotes};

/// How a remote is reached.
pub(crate) enum Route {
    /// A folder of ours.
    Own(PathBuf),
    /// A folder of somebody else.
    Near(PathBuf),
    /// Over a connection.
    Far,
}

/// What all users of one address share.
pub(crate) struct Remote {
    pub(crate) url: RemoteUrl,
    pub(crate) route: Route,
    mirror: Mirror,
    cache: Arc<ObjectCache>,
    space: Space,
    opened: Mutex<Option<Objects>>,
    pub(crate) history: Mutex<History>,
    /// The published past of each branch that somebody publishes to.
    pub(crate) lines: Mutex<HashMap<Branch, MainLine>>,
    pub(crate) queue: queue::Queue,
    /// What the last push left.
    ajar: Mutex<Option<Ajar>>,
    /// What was wrong with a copy of these refs that had just been fetched.
    incurable: Mutex<Option<(String, Refs)>>,
}

/// What one call has at hand.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) remotes: &'a Remotes,
    pub(crate) access: &'a Access,
    pub(crate) cancel: &'a Cancel,
    pub(crate) progress: &'a dyn Progress,
}

/// A remote that has shown its refs and waits for commands.
pub(crate) enum Door {
    Own,
    Push(Box<Pushing>),
}

/// The conversation in which commands are sent, and the one in which refs are asked for, where there is one.
pub(crate) struct Pushing {
    receiver: Receiver,
    session: Option<Session>,
}

/// How much of the refs is of this moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// All: the remote has just shown them.
    Whole,
    /// Those that the requests name; the others are as they were at the last push. Only what works out is built upon it.
    Partial,
}

/// An open door, with the refs.
pub(crate) struct Opened {
    pub(crate) door: Door,
    pub(crate) tips: BTreeMap<RefName, Tip>,
    pub(crate) sight: Sight,
}

/// What a remote said to commands, and the door, if it can be used once more.
pub(crate) struct Sent {
    pub(crate) report: Report,
    pub(crate) door: Option<Door>,
}

/// A door that was used a moment ago, and all refs as they were then.
struct Ajar {
    pushing: Box<Pushing>,
    tips: BTreeMap<RefName, Tip>,
    access: Access,
    since: Instant,
}

impl Remote {
    pub(crate) fn new(
        url: RemoteUrl,
        route: Route,
        remotes: &Remotes,
        cache: &Arc<ObjectCache>,
    ) -> Result<Self, Error> {
        let mirror = Mirror::of(&url, &remotes.options().cache.join("full"))?;
        let history = History::new(url.clone(), remotes.options().limits.max_history);
        Ok(Self {
            url,
            route,
            mirror,
            cache: Arc::clone(cache),
            space: cache.space(),
            opened: Mutex::default(),
            history: Mutex::new(history),
            lines: Mutex::default(),
            queue: queue::Queue::default(),
            ajar: Mutex::default(),
            incurable: Mutex::default(),
        })
    }

    fn opening<'a>(&'a self, call: Call<'a>) -> Result<Opening<'a>, Error> {
        Ok(Opening {
            config: call.remotes.config()?,
            limits: &call.remotes.options().limits,
            remote: &self.url,
            service: Service::UploadPack,
            access: call.access,
            cancel: call.cancel,
        })
    }

    // ---- reading

    /// The refs as they are now, with all that they lead to.
    pub(crate) fn refs(&self, call: Call<'_>, before: &Refs) -> Result<Refs, Error> {
        match &self.route {
            Route::Own(folder) => {
                let _guard = own::look(folder).map_err(failed("cannot look at", folder))?;
                self.local_refs()
            }
            Route::Near(_) => self.local_refs(),
            Route::Far => {
                let session = Session::open(&self.opening(call)?, call.progress)?;
                let prefixes = ["refs/heads/".to_owned(), "refs/tags/".to_owned()];
                let (session, listed) = session.refs(&prefixes, call.progress)?;
                let refs = Refs::of(&listed);
                self.fetch(call, session, &refs.tips, &refs.tips, &before.tips)?;
                Ok(refs)
            }
        }
    }

    fn local_refs(&self) -> Result<Refs, Error> {
        let (Route::Own(path) | Route::Near(path)) = &self.route else { return Ok(Refs::default()) };
        // Git moves refs from files of their own into one file: whoever looks here first and there later may miss one, and so may
        // who finds a file that is gone when it is read. A file that is no ref, or leads nowhere, is so at the next look as well.
        let mut last = None;
        for _ in 0..MAX_LOOKS {
            let before = Local::packed(path, &self.url)?;
            let local = Local::open(path, &self.url)?;
            let mut refs = Refs::default();
            let tips = local.tips()?;
            for (name, object, commit) in tips.all {
                refs.add(&name, Tip { object, commit });
            }
            if Local::packed(path, &self.url)? == before && (tips.unread == 0 || last.as_ref() == Some(&refs))
            {
                return Ok(refs);
            }
            last = Some(refs);
        }
        let cause = "its refs are packed again and again".to_owned();
        Err(Error::Unavailable { remote: self.url.clone(), cause })
    }

    /// Fetches what the tips lead to and is not here. `all` is what the remote has shown.
    fn fetch(
        &self,
        call: Call<'_>,
        session: Session,
        tips: &BTreeMap<RefName, Tip>,
        all: &BTreeMap<RefName, Tip>,
        before: &BTreeMap<RefName, Tip>,
    ) -> Result<(), Error> {
        let has_all = |objects: &Objects| {
            tips.iter().all(|(name, tip)| before.get(name) == Some(tip) || objects.has(tip.object))
        };
        if self.objects(call).is_ok_and(|objects| has_all(&objects)) {
            return Ok(());
        }
        let guard = self.mirror.lock(Use::Write, call.cancel, call.progress)?;
        guard.prepare()?;
        let objects = self.reopened(&guard)?;
        let mut wants: Vec<_> = tips.values().map(|tip| tip.object).filter(|id| !objects.has(*id)).collect();
        wants.sort_unstable();
        wants.dedup();
        if wants.is_empty() {
            return Ok(());
        }
        // What the server may build upon: the branches first, and where refs were before they moved.
        let moved =
            before.iter().filter(|(name, tip)| tips.get(*name) != Some(*tip)).map(|(_, tip)| tip.object);
        let branches = all.iter().filter(|(name, _)| name.branch_name().is_some()).map(|(_, tip)| tip.object);
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let heads: Vec<_> = lines.values().filter_map(MainLine::head).collect();
        drop(lines);
        // Of many tags the last are the newest, as often as not.
        let others = before.values().chain(all.values().rev()).map(|tip| tip.object);
        let mut haves = Vec::new();
        for id in heads.into_iter().chain(moved).chain(branches).chain(others).filter(|id| objects.has(*id)) {
            if haves.len() >= MAX_HAVES {
                break;
            }
            if !haves.contains(&id) {
                haves.push(id);
            }
        }
        let packs = guard.packs();
        let folder = packs.parent().unwrap_or(&packs);
        let base = crate::mirror::open_objects(folder).map_err(failed("cannot read", folder))?;
        let shallow = std::collections::BTreeSet::new();
        let history = session::History::All;
        let fetch =
            Fetch { wants: &wants, haves: &haves, shallow: &shallow, history, packs: &packs, objects: base };
        session.fetch(&fetch, call.cancel, call.progress).map(|_| ()).map_err(|failure| match failure {
            session::Failure::Refused(error) | session::Failure::Other(error) => error,
            session::Failure::Unknown(id) => {
                let cause = match id {
                    Some(id) => format!("it does not have {id}, which it listed"),
                    None => "it does not have what it listed".to_owned(),
                };
                // A ref moved between the listing and the fetch; the next poll sees where it is.
                Error::Unavailable { remote: self.url.clone(), cause }
            }
        })?;
        self.tidy(&guard)?;
        Ok(())
    }

    /// Puts small packs together when there are many.
    fn tidy(&self, guard: &Guard<'_>) -> Result<(), Error> {
        let packs = guard.packs();
        let fail = failed("cannot put packs together in", &packs);
        let Some(small) = pack::too_many(&packs).map_err(&fail)? else { return Ok(()) };
        let objects = self.reopened(guard)?;
        pack::put_together(&small, &packs, objects.handle()).map_err(&fail)?;
        self.reopened(guard)?;
        Ok(())
    }

    /// The objects that are here.
    pub(crate) fn objects(&self, call: Call<'_>) -> Result<Objects, Error> {
        let mut opened = self.opened();
        if let Some(objects) = opened.as_ref() {
            return Ok(objects.clone());
        }
        let folder = match &self.route {
            Route::Own(folder) => folder.join("objects"),
            Route::Near(path) => {
                let guard = self.mirror.lock(Use::Write, call.cancel, call.progress)?;
                guard.prepare()?;
                let objects = Local::objects_folder(path, &self.url)?;
                let packs = guard.packs();
                let folder = packs.parent().unwrap_or(&packs).to_owned();
                let alternates = folder.join("info/alternates");
                let text = format!("{}\n", objects.display());
                std::fs::write(&alternates, text).map_err(failed("cannot write", &alternates))?;
                folder
            }
            Route::Far => {
                let guard = self.mirror.lock(Use::Write, call.cancel, call.progress)?;
                guard.prepare()?;
                let packs = guard.packs();
                packs.parent().unwrap_or(&packs).to_owned()
            }
        };
        let objects =
            Objects::open(&folder, &self.cache, self.space).map_err(failed("cannot read", &folder))?;
        *opened = Some(objects.clone());
        Ok(objects)
    }

    fn opened(&self) -> MutexGuard<'_, Option<Objects>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reopened(&self, guard: &Guard<'_>) -> Result<Objects, Error> {
        let packs = guard.packs();
        let folder = packs.parent().unwrap_or(&packs);
        let objects =
            Objects::open(folder, &self.cache, self.space).map_err(failed("cannot read", folder))?;
        *self.opened() = Some(objects.clone());
        Ok(objects)
    }

    /// Throws away what is here, to be fetched again. A folder that is not a mirror stays as it is.
    pub(crate) fn discard(&self, call: Call<'_>) -> Result<(), Error> {
        *self.opened() = None;
        let guard = self.mirror.lock(Use::Write, call.cancel, call.progress)?;
        guard.discard()
    }

    /// Whether a fresh copy had the same trouble.
    pub(crate) fn is_incurable(&self, failure: &Failure, refs: &Refs) -> bool {
        let known = self.incurable.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().is_some_and(|(cause, of)| *cause == trouble(failure) && of == refs)
    }

    /// Notes the trouble of a fresh copy.
    pub(crate) fn note_incurable(&self, failure: &Failure, refs: &Refs) {
        let mut known = self.incurable.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some((trouble(failure), refs.clone()));
    }

    /// Says in whose words an object could not be read.
    pub(crate) fn damaged(&self, failure: Failure) -> Error {
        let remote = self.url.clone();
        match failure {
            Failure::Missing => Error::Damaged { remote, cause: "objects are missing".to_owned() },
            Failure::Damaged(cause) | Failure::Bad(cause) => Error::Damaged { remote, cause },
            Failure::Other(error) => error,
        }
    }

    // ---- writing

    /// Opens the way for commands, and shows the refs of this moment.
    pub(crate) fn door(&self, call: Call<'_>) -> Result<(Door, BTreeMap<RefName, Tip>), Error> {
        match &self.route {
            Route::Own(_) => Ok((Door::Own, self.refs(call, &Refs::default())?.tips)),
            Route::Near(_) | Route::Far => {
                let (receiver, tips) = Receiver::open(&self.opening(call)?, &call.remotes.options().limits)?;
                Ok((Door::Push(Box::new(Pushing { receiver, session: None })), tips))
            }
        }
    }

    /// The same behind a push that landed a moment ago, over the same connection and with one request: where refs are few they are all
    /// listed again; of many, those whose names begin with one of the prefixes are as they are now, others as they were. `None` where
    /// that cannot be had: then a door is opened.
    pub(crate) fn door_again(&self, call: Call<'_>, prefixes: &[String]) -> Option<Opened> {
        let ajar = self.ajar.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let Ajar { pushing, mut tips, access, since } = ajar;
        if access != *call.access || since.elapsed() > MAX_AJAR {
            return None;
        }
        if pushing.session.is_none() && tips.len() <= MAX_GREETED {
            let (receiver, tips) = pushing.receiver.again().ok()?;
            let door = Door::Push(Box::new(Pushing { receiver, session: None }));
            return Some(Opened { door, tips, sight: Sight::Whole });
        }
        let session = match pushing.session {
            Some(session) => session,
            None => Session::open(&self.opening(call).ok()?, call.progress).ok()?,
        };
        if !session.lists_by_prefix() {
            return None;
        }
        let (session, listed) = session.refs(prefixes, call.progress).ok()?;
        let is_asked = |name: &RefName| prefixes.iter().any(|prefix| name.as_str().starts_with(prefix));
        tips.retain(|name, _| !is_asked(name));
        tips.extend(Refs::of(&listed).tips.into_iter().filter(|(name, _)| is_asked(name)));
        let pushing = Pushing { receiver: pushing.receiver, session: Some(session) };
        Some(Opened { door: Door::Push(Box::new(pushing)), tips, sight: Sight::Partial })
    }

    /// Leaves a door ajar for those who come next, with the refs as commands left them that landed.
    pub(crate) fn leave_ajar(
        &self,
        call: Call<'_>,
        door: Option<Door>,
        mut tips: BTreeMap<RefName, Tip>,
        landed: &[Command],
    ) {
        let Some(Door::Push(pushing)) = door else { return };
        for command in landed {
            match command.new.and_then(|new| crate::tree::git_id(new).ok()) {
                Some(object) => tips.insert(command.name.clone(), Tip { object, commit: object }),
                None => tips.remove(&command.name),
            };
        }
        let ajar = Ajar { pushing, tips, access: call.access.clone(), since: Instant::now() };
        *self.ajar.lock().unwrap_or_else(PoisonError::into_inner) = Some(ajar);
    }

    /// Fetches commits that a door has shown, if they are not here.
    pub(crate) fn need(
        &self,
        call: Call<'_>,
        tips: &BTreeMap<RefName, Tip>,
        ids: &[ObjectId],
    ) -> Result<(), Error> {
        let objects = self.objects(call)?;
        if ids.iter().all(|id| objects.has(*id)) || !matches!(self.route, Route::Far) {
            return Ok(());
        }
        let session = Session::open(&self.opening(call)?, call.progress)?;
        let wanted = |tip: &Tip| ids.contains(&tip.object);
        let some =
            tips.iter().filter(|(_, tip)| wanted(tip)).map(|(name, tip)| (name.clone(), *tip)).collect();
        self.fetch(call, session, &some, tips, &BTreeMap::new())
    }

    /// Keeps a pack of staged objects, so that they can be pushed again. In a mirror they are kept apart from the objects
    /// that the remote has: what is among those is not sent.
    pub(crate) fn keep(&self, call: Call<'_>, staged: &[u8]) -> Result<Kept, Error> {
        if let Route::Own(folder) = &self.route {
            let packs = folder.join("objects/pack");
            let guard = own::look(folder).map_err(failed("cannot look at", folder))?;
            let kept = pack::keep(staged, &packs, Hold::UntilLetGo);
            let kept = kept.map_err(failed("cannot write to", &packs))?;
            drop(guard);
            return Ok(kept);
        }
        let guard = self.mirror.lock(Use::Write, call.cancel, call.progress)?;
        let packs = guard.staged().join("pack");
        pack::keep(staged, &packs, Hold::Never).map_err(failed("cannot write to", &packs))
    }

    /// Puts what was kept where it belongs, now that the outcome is known.
    pub(crate) fn settle(&self, call: Call<'_>, kept: Kept, outcome: Outcome) -> Result<(), Error> {
        match (&self.route, outcome) {
            (_, Outcome::Unknown) => {}
            // In a repository of our own others may build upon the objects already.
            (Route::Own(_), Outcome::Landed | Outcome::NotLanded) => kept.let_go(),
            (Route::Near(_), Outcome::Landed | Outcome::NotLanded) | (Route::Far, Outcome::NotLanded) => {
                kept.remove();
            }
            (Route::Far, Outcome::Landed) => {
                let guard = self.mirror.lock(Use::Write, call.cancel, call.progress)?;
                let packs = guard.packs();
                kept.move_to(&packs).map_err(failed("cannot write to", &packs))?;
                pack::remove_oldest(&guard.staged().join("pack"), MAX_STAGED);
                self.tidy(&guard)?;
            }
        }
        Ok(())
    }

    /// The objects that are here, and those that were staged and kept.
    pub(crate) fn with_staged(&self, call: Call<'_>) -> Result<Objects, Error> {
        let objects = self.objects(call)?;
        if matches!(self.route, Route::Own(_)) {
            return Ok(objects);
        }
        let guard = self.mirror.lock(Use::Write, call.cancel, call.progress)?;
        let (packs, staged) = (guard.packs(), guard.staged());
        let fail = failed("cannot read", &staged);
        let folder = packs.parent().unwrap_or(&packs);
        let folder = folder.canonicalize().map_err(&fail)?;
        std::fs::create_dir_all(staged.join("info")).map_err(&fail)?;
        std::fs::write(staged.join("info/alternates"), format!("{}\n", folder.display())).map_err(&fail)?;
        Objects::open(&staged, &self.cache, self.space).map_err(&fail)
    }

    /// Puts small packs of an own repository together.
    pub(crate) fn tidy_own(&self) -> Result<(), Error> {
        let Route::Own(folder) = &self.route else { return Ok(()) };
        let packs = folder.join("objects/pack");
        let fail = failed("cannot put packs together in", &packs);
        pack::let_old_go(&packs, SystemTime::now());
        let Some(small) = pack::too_many(&packs).map_err(&fail)? else { return Ok(()) };
        let guard = own::work(folder).map_err(failed("cannot lock", folder))?;
        let objects = Objects::open(&folder.join("objects"), &self.cache, self.space).map_err(&fail)?;
        pack::put_together(&small, &packs, objects.handle()).map_err(&fail)?;
        *self.opened() = None;
        drop(guard);
        Ok(())
    }

    /// Sends commands through a door.
    pub(crate) fn send(
        &self,
        call: Call<'_>,
        door: Door,
        commands: &[Command],
        pack: &[u8],
    ) -> Result<Sent, push::Failure> {
        let receiver = match door {
            Door::Push(pushing) => {
                let Pushing { receiver, session } = *pushing;
                let (report, receiver) = receiver.send(commands, pack)?;
                let door = receiver.map(|receiver| Door::Push(Box::new(Pushing { receiver, session })));
                return Ok(Sent { report, door });
            }
            Door::Own => match &self.route {
                Route::Own(folder) => folder,
                Route::Near(_) | Route::Far => return Ok(Sent { report: Report::default(), door: None }),
            },
        };
        let objects = self.objects(call).map_err(push::Failure::NotSent)?;
        let peel = |id| super::nodes::peeled(&objects, id);
        let swap = own::swap(receiver, commands, &peel);
        let swap =
            swap.map_err(|cause| push::Failure::Lost(failed("cannot move refs in", receiver)(cause)))?;
        let mut report = Report::default();
        let reason = match swap {
            Swap::Done => None,
            Swap::Moved(names) => Some(format!("failed to update ref: {names:?} moved")),
            Swap::Busy(path) => Some(format!("failed to update ref: {} is locked", path.display())),
        };
        for command in commands {
            report.refs.insert(command.name.to_string(), reason.clone());
        }
        Ok(Sent { report, door: None })
    }
}

impl Door {
    pub(crate) fn is_atomic(&self) -> bool {
        match self {
            Self::Own => true,
            Self::Push(pushing) => pushing.receiver.is_atomic(),
        }
    }
}

/// What is wrong with a copy, in a word.
fn trouble(failure: &Failure) -> String {
    match failure {
        Failure::Missing => "missing".to_owned(),
        Failure::Damaged(cause) | Failure::Bad(cause) => cause.clone(),
        Failure::Other(error) => error.to_string(),
    }
}

/// How often the refs of a repository on this machine are listed until nobody packed them meanwhile.
const MAX_LOOKS: usize = 50;

/// How long a door is ajar: servers close connections on which nothing happens.
const MAX_AJAR: Duration = Duration::from_secs(5);

/// How many refs are rather listed all than by a question of its own, which needs a greeting of its own.
const MAX_GREETED: usize = 500;

/// How many packs of pushes with an unknown outcome are kept.
const MAX_STAGED: usize = 256;

/// How many commits we tell a server about.
const MAX_HAVES: usize = 64;

/// The values of refs as commands have them.
pub(crate) fn value(tips: &BTreeMap<RefName, Tip>, name: &RefName) -> Option<GitObjectId> {
    tips.get(name).map(|tip| crate::tree::our_id(tip.object))
}
