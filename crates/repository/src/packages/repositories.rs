//! The door to packages in Git.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use lanai_types::{ByteSize, CommitId, PackageName, RepositoryName};

use super::facts::{Knowledge, Look, Snapshot};
use super::in_use::InUse;
use super::intent::{Intent, Journal, Outcome, PushLimits, WriteError};
use super::layout::Layout;
use super::objects::ObjectCache;
use super::operation::{Done, Request};
use super::own;
use super::pack;
use super::person::Person;
use super::pusher::Pusher;
use super::queue::Item;
use super::refs::Refs;
use super::remote::{Call, Remote, Route};
use super::retry::{self, Chance, Class};
use super::staging::Staging;
use crate::secret::Access;
use crate::tree::{Failure, Reader, git_id};
use crate::{
    Content, Credential, CredentialName, Credentials, Error, Options, Progress, RemoteUrl, Remotes, Want,
};

/// All repositories with packages that one process works with. Cheap to share.
pub struct Repositories {
    remotes: Remotes,
    settings: Settings,
    credentials: Arc<dyn Credentials>,
    journal: Arc<dyn Journal>,
    cache: Arc<ObjectCache>,
    chance: Chance,
    open: InUse<String, Remote>,
    views: InUse<Viewer, View>,
}

/// Who looks at what.
type Viewer = (String, Option<CredentialName>);

/// What [`Repositories`] need to know beside the options of [`Remotes`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder of repositories of our own.
    pub own: PathBuf,
    /// What all objects in memory may take together.
    pub max_cached: ByteSize,
    /// Bounds on pushes.
    pub push: PushLimits,
    /// Where chance begins.
    pub seed: u64,
}

impl Settings {
    /// Settings with the defaults of all limits.
    pub fn new(own: PathBuf, seed: u64) -> Self {
        Self { own, max_cached: ByteSize::mib(8), push: PushLimits::DEFAULT, seed }
    }
}

/// A repository with packages: where it is, how it is laid out, and as whom it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The address.
    pub remote: RemoteUrl,
    /// Branch and directory.
    pub layout: Layout,
    /// The credential; `None` for none at all.
    pub credential: Option<CredentialName>,
    /// The author of all commits, in place of the users.
    pub author: Option<Person>,
}

/// What one credential was shown of one remote.
#[derive(Default)]
struct View {
    state: Mutex<Viewed>,
    changed: Condvar,
}

#[derive(Default)]
struct Viewed {
    refs: Option<Arc<Refs>>,
    /// The credential that they were shown to.
    shown_to: Option<Arc<Credential>>,
    is_polling: bool,
    begun: u64,
    /// The number of the last poll that succeeded.
    finished: u64,
}

/// A repository with packages.
pub struct Repository {
    all: Arc<Repositories>,
    spec: Spec,
    remote: Arc<Remote>,
    view: Arc<View>,
    knowledge: Mutex<Knowledge>,
}

impl Repositories {
    /// Opens nothing yet.
    pub fn new(
        options: Options,
        settings: Settings,
        credentials: Arc<dyn Credentials>,
        journal: Arc<dyn Journal>,
    ) -> Self {
        let cache = Arc::new(ObjectCache::new(settings.max_cached));
        let chance = Chance::new(settings.seed);
        let (open, views) = (InUse::default(), InUse::default());
        Self { remotes: Remotes::new(options), settings, credentials, journal, cache, chance, open, views }
    }

    /// Makes an empty repository of our own, and gives its address.
    ///
    /// # Errors
    /// When there is one of this name, or the folder cannot be written.
    pub fn create(&self, name: &RepositoryName, branch: &super::Branch) -> Result<RemoteUrl, Error> {
        own::create_at(&self.settings.own.join(format!("{name}.git")), branch.as_str())
    }

    /// A handle on a repository. Nothing is asked of it yet.
    pub fn open(self: &Arc<Self>, spec: Spec) -> Result<Repository, Error> {
        let identity = spec.remote.identity();
        let remote = self.open.get(identity.clone(), || {
            Remote::new(spec.remote.clone(), self.route(&spec.remote), &self.remotes, &self.cache)
        })?;
        let view = self.views.get((identity, spec.credential.clone()), || Ok::<_, Error>(View::default()))?;
        Ok(Repository { all: Arc::clone(self), spec, remote, view, knowledge: Mutex::default() })
    }

    fn route(&self, url: &RemoteUrl) -> Route {
        let Some(path) = url.local_path() else { return Route::Far };
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_own = real(path).parent() == Some(real(&self.settings.own).as_path());
        if is_own { Route::Own(path.to_owned()) } else { Route::Near(path.to_owned()) }
    }

    /// What the objects in memory take, in bytes.
    pub fn cached(&self) -> usize {
        self.cache.bytes()
    }

    /// The way to repositories that nobody registered, through mirrors of their own in the same cache.
    pub fn unregistered(&self) -> &Remotes {
        &self.remotes
    }
}

impl Repository {
    /// What it was opened with.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// How many requests wait for the pusher.
    pub fn waiting(&self) -> usize {
        self.remote.queue.len()
    }

    fn access(&self) -> Result<Access, Error> {
        let Some(name) = &self.spec.credential else { return Ok(Access::Given(Arc::default())) };
        let credential = self.all.credentials.resolve(name).map_err(|cause| Error::Credentials {
            remote: self.spec.remote.clone(),
            cause: format!("credential \"{}\" cannot be read: {cause}", name.0),
        })?;
        Ok(Access::Given(Arc::new(credential)))
    }

    // ---- reading

    /// The refs as the remote shows them now; what they lead to is here then. Polls at the same time share one.
    pub fn poll(&self, progress: &dyn Progress) -> Result<Arc<Refs>, Error> {
        let access = self.access()?;
        let Access::Given(credential) = &access else { return Ok(Arc::default()) };
        let mut state = self.view.state();
        let came = state.begun;
        while state.is_polling {
            state = self.view.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.finished > came
            && state.shown_to.as_ref() == Some(credential)
            && let Some(refs) = &state.refs
        {
            return Ok(Arc::clone(refs));
        }
        if state.shown_to.as_ref() != Some(credential) {
            // What another credential was shown is not for this one.
            state.refs = None;
        }
        let before = state.refs.clone().unwrap_or_default();
        state.is_polling = true;
        state.begun += 1;
        let number = state.begun;
        drop(state);
        let polling = Polling(&self.view);
        let cancel = progress.cancel();
        let call = Call { remotes: &self.all.remotes, access: &access, cancel: &cancel, progress };
        let result = retry::patiently(&cancel, &self.all.chance, || self.remote.refs(call, &before));
        let mut state = self.view.state();
        let result = match result {
            Ok(refs) => {
                let refs = if refs == *before { before } else { Arc::new(refs) };
                state.refs = Some(Arc::clone(&refs));
                state.shown_to = Some(Arc::clone(credential));
                state.finished = number;
                Ok(refs)
            }
            Err(error) => {
                if matches!(Class::of(&error), Class::Authentication | Class::NotFound) {
                    // Who is not let in any more sees nothing of what was here before.
                    state.refs = None;
                }
                Err(error)
            }
        };
        drop(state);
        drop(polling);
        result
    }

    /// The facts of refs: of the same refs always the same. What did not change since the last time is not read again.
    pub fn facts(&self, refs: &Refs, progress: &dyn Progress) -> Result<Snapshot, Error> {
        self.healing(refs, progress, |call| {
            let objects = self.remote.objects(call).map_err(Failure::Other)?;
            let mut history = self.remote.history.lock().unwrap_or_else(PoisonError::into_inner);
            history.learn(&objects, refs.tips.values().map(|tip| tip.commit))?;
            let max_file = self.all.remotes.options().package_limits.max_document.get();
            let look =
                Look { layout: &self.spec.layout, refs, objects: &objects, history: &history, max_file };
            look.snapshot(&mut self.knowledge())
        })
    }

    /// A package at a commit that the refs lead to. Only its own folder is read.
    pub fn read(
        &self,
        refs: &Refs,
        commit: CommitId,
        package: &PackageName,
        progress: &dyn Progress,
    ) -> Result<Content, Error> {
        let path = self.spec.layout.path(package);
        let folder = path.parse().map_err(|_| Error::NoDefaultBranch { remote: self.spec.remote.clone() })?;
        self.read_folder(refs, &Want { commit, folder: lanai_krm::package::Folder::At(folder) }, progress)
    }

    /// Any folder at a commit that the refs lead to.
    pub fn read_folder(&self, refs: &Refs, want: &Want, progress: &dyn Progress) -> Result<Content, Error> {
        let commit = want.commit;
        self.healing(refs, progress, |call| {
            self.check_reachable(call, refs, commit)?;
            let objects = self.remote.objects(call).map_err(Failure::Other)?;
            let limits = &self.all.remotes.options().package_limits;
            let reader = Reader {
                objects: objects.handle(),
                remote: &self.spec.remote,
                limits,
                progress,
                cancel: call.cancel,
                large: RefCell::default(),
            };
            reader.read(want)
        })
    }

    /// An id opens nothing by itself: the refs must lead to it.
    fn check_reachable(&self, call: Call<'_>, refs: &Refs, commit: CommitId) -> Result<(), Failure> {
        let id = git_id(commit.object_id())?;
        if refs.tips.values().any(|tip| tip.commit == id) {
            return Ok(());
        }
        let objects = self.remote.objects(call).map_err(Failure::Other)?;
        let mut history = self.remote.history.lock().unwrap_or_else(PoisonError::into_inner);
        history.learn(&objects, refs.tips.values().map(|tip| tip.commit))?;
        if history.get(id).is_some() && history.reaches(refs.tips.values().map(|tip| tip.commit), id) {
            return Ok(());
        }
        Err(Failure::Other(Error::UnknownCommit { remote: self.spec.remote.clone(), commit }))
    }

    /// Does something with the objects; where some are missing or damaged, the mirror is fetched again, once. What another
    /// copy does not cure is not cured by a third one: the remote has it so.
    fn healing<T>(
        &self,
        refs: &Refs,
        progress: &dyn Progress,
        action: impl Fn(Call<'_>) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        let access = self.access()?;
        let cancel = progress.cancel();
        let call = Call { remotes: &self.all.remotes, access: &access, cancel: &cancel, progress };
        match action(call) {
            Ok(value) => return Ok(value),
            Err(Failure::Other(error)) if !matches!(error, Error::File { .. }) => return Err(error),
            Err(failure @ Failure::Bad(_)) => return Err(self.remote.damaged(failure)),
            Err(failure) => {
                if matches!(self.remote.route, Route::Own(_)) || self.remote.is_incurable(&failure, refs) {
                    return Err(self.remote.damaged(failure));
                }
            }
        }
        self.remote.discard(call)?;
        *self.knowledge() = Knowledge::default();
        let listed = self.remote.refs(call, &Refs::default())?;
        if let Some((name, _)) = refs.tips.iter().find(|(name, tip)| listed.tips.get(*name) != Some(*tip)) {
            let cause =
                format!("the copy of it was damaged, and \"{name}\" has moved since\nhint: poll again");
            return Err(Error::Unavailable { remote: self.spec.remote.clone(), cause });
        }
        action(call).map_err(|failure| {
            self.remote.note_incurable(&failure, refs);
            self.remote.damaged(failure)
        })
    }

    fn knowledge(&self) -> MutexGuard<'_, Knowledge> {
        self.knowledge.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // ---- writing

    /// Carries out a request: all of its refs move on the remote, or none.
    ///
    /// # Errors
    /// See [`WriteError`]. Only after `Unknown` the remote may have it all the same.
    pub fn write(&self, mut request: Request, progress: &dyn Progress) -> Result<Done, WriteError> {
        let access = self.access()?;
        if let Some(author) = &self.spec.author {
            request.what.attribute_to(author);
        }
        let author = self.spec.author.clone().unwrap_or_else(|| request.user.clone());
        let (layout, credential) = (self.spec.layout.clone(), self.spec.credential.clone());
        let item = Item { layout, author, credential, request };
        let cancel = progress.cancel();
        self.pusher(Call { remotes: &self.all.remotes, access: &access, cancel: &cancel, progress }).run(item)
    }

    fn pusher<'a>(&'a self, call: Call<'a>) -> Pusher<'a> {
        Pusher {
            remote: &self.remote,
            call,
            journal: self.all.journal.as_ref(),
            limits: &self.all.settings.push,
            chance: &self.all.chance,
        }
    }

    /// Finds out what became of an intent that a process left behind, by pushing the same commands again.
    ///
    /// # Errors
    /// When it cannot be found out now; the intent must be kept.
    pub fn recover(&self, intent: &Intent, progress: &dyn Progress) -> Result<Outcome, Error> {
        let access = self.access()?;
        let cancel = progress.cancel();
        let call = Call { remotes: &self.all.remotes, access: &access, cancel: &cancel, progress };
        let pack = self.staged_objects(call, intent)?;
        let nobody =
            Error::Unavailable { remote: self.spec.remote.clone(), cause: "it was not asked".to_owned() };
        self.pusher(call).settle(intent, &pack, nobody)
    }

    /// The objects that were made for an intent, from what was kept here.
    fn staged_objects(&self, call: Call<'_>, intent: &Intent) -> Result<Vec<u8>, Error> {
        let objects = self.remote.with_staged(call)?;
        let staging = Staging::new(&objects);
        let commits: Vec<_> = intent.commits.iter().filter_map(|id| git_id(id.object_id()).ok()).collect();
        let found = staging.with_content(&commits);
        let found = match found {
            Ok(found) => found,
            // Without them it can only be looked whether they landed.
            Err(Failure::Missing | Failure::Damaged(_) | Failure::Bad(_)) => BTreeMap::new(),
            Err(Failure::Other(error)) => return Err(error),
        };
        let all = found.values().map(|(kind, data)| (*kind, data.as_ref()));
        pack::write(all.collect::<Vec<_>>().into_iter())
            .map_err(|cause| Error::Protocol { remote: self.spec.remote.clone(), cause: cause.to_string() })
    }
}

impl View {
    fn state(&self) -> MutexGuard<'_, Viewed> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets the next one poll, whatever happens.
struct Polling<'a>(&'a View);

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        self.0.state().is_polling = false;
        self.0.changed.notify_all();
    }
}
