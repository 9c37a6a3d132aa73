//! Looking at a remote: what others did there becomes rows.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use lanai_repository::packages::{Found, KptfileFacts, Operation, Person, Problem, Refs, Request, Snapshot};
use lanai_repository::{Silent, packages};
use lanai_store::{Blob, Revision, Stored, Transaction, Write};
use lanai_types::{ByteSize, CommitId, Lifecycle, Namespace, ObjectName, PackageName, RepositoryName};
use serde_json::{Value, json};

use crate::bounds::Conflicts;
use crate::content;
use crate::create::first_task;
use crate::diverged;
use crate::doubt;
use crate::engine::{Engine, is_overtaken};
use crate::error::{Error, Reason, Subject};
use crate::fetch::{blocking, remote_error, self_lock};
use crate::object::{self, Facts, Latest, Shown, found_metadata, set_latest};
use crate::packages::{PackageId, Rows};
use crate::repositories::Registered;
use crate::rows::{self, Row};
use crate::state::{Deleted, Deletion, Draft, Life, Published, Pushed, Rendered, Stage, State};

/// How many writes go in one transaction while a repository is looked at. The last package may go beyond.
const MAX_WRITES: usize = 400;
/// How many bytes do. The last revision with content of its own may go beyond.
pub const MAX_BATCH: ByteSize = ByteSize::mib(16);

/// What a look at a repository found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SyncReport {
    /// How many package revisions there are.
    pub revisions: usize,
    /// How many rows were written because of it.
    pub changed: usize,
    /// What looks like a revision and is none.
    pub problems: Vec<Problem>,
    /// The head of the branch.
    pub head: Option<CommitId>,
}

/// All that the store has of a repository.
struct Known {
    states: HashMap<String, (Arc<Stored>, State)>,
    /// The names of revisions by package.
    packages: HashMap<PackageName, Vec<ObjectName>>,
}

/// What the remote has, by package and name.
type ByPackage = BTreeMap<PackageName, OfPackage>;
type OfPackage = BTreeMap<String, (ObjectName, Arc<Found>)>;

/// Whether something is left for another round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    Nothing,
    Something,
}

/// What is to be done about one revision.
#[derive(Debug)]
enum Verdict {
    Nothing,
    /// It is as the remote has it.
    Import,
    /// A push had landed, and nobody wrote it down.
    MoveUp(Pushed),
    /// So did the mark of a deletion that is proposed, or its removal.
    Marked,
    /// Both went their own ways.
    Diverge(CommitId),
    /// The branch is gone, and what is here goes on without it.
    Detach,
    /// It is gone.
    Gone,
}

impl Engine {
    /// Looks at a repository, and takes over what others did.
    ///
    /// # Errors
    /// When the remote or the store cannot be read; what was known stays.
    pub async fn sync(
        &self,
        namespace: &Namespace,
        repository: &RepositoryName,
    ) -> Result<SyncReport, Error> {
        let _one = self.inner.talks.lock(&format!("sync {namespace}/{repository}")).await;
        let (registered, object) = self.inner.repositories.any(namespace, repository.as_str()).await?;
        let is_ending = object["metadata"]["deletionTimestamp"].is_string();
        let before = self.inner.store.current().await?;
        let label = format!("{namespace}/{repository}");
        let looked = look(registered.clone(), label.clone()).await;
        // Where the branch had to be made, that is done or failed.
        self.inner.pushes.settled(&label).await;
        let (refs, snapshot) = looked?;
        // Behind the look: what it saw of a push of ours is written by those who wait for it, or is written already.
        let on_their_way = self.inner.pushes.on_their_way();
        let mut found = ByPackage::new();
        let mut problems = snapshot.problems;
        for fact in snapshot.revisions {
            match ObjectName::compose(repository, &fact.package, &fact.workspace) {
                Ok(name) => {
                    let of_package = found.entry(fact.package.clone()).or_default();
                    let is_better =
                        of_package.get(name.as_str()).is_none_or(|(_, other)| rank(&fact) > rank(other));
                    if is_better {
                        of_package.insert(name.as_str().to_owned(), (name, fact));
                    }
                }
                Err(error) => {
                    problems.push(Problem { ref_name: fact.ref_name.clone(), why: error.to_string() });
                }
            }
        }
        let head = refs.commit(registered.spec.layout.branch.ref_name());
        let revisions = found.values().map(BTreeMap::len).sum();
        let mut changed = 0;
        loop {
            let known = self.known(namespace, repository).await?;
            let look = Look {
                namespace,
                registered: &registered,
                refs: &refs,
                before,
                known: &known,
                on_their_way: &on_their_way,
                is_ending,
            };
            let (written, rest) = self.compare(&look, &found).await?;
            changed += written;
            if rest == Rest::Nothing {
                break;
            }
        }
        self.kick_if_pending(namespace, repository).await?;
        Ok(SyncReport { revisions, changed, problems, head })
    }

    /// Compares all packages, and writes what is another one now; whether something is left for another round.
    async fn compare(&self, look: &Look<'_>, found: &ByPackage) -> Result<(usize, Rest), Error> {
        let (mut batch, mut changed, mut rest) = (Batch::default(), 0, Rest::Nothing);
        let mut packages: Vec<&PackageName> = found.keys().chain(look.known.packages.keys()).collect();
        packages.sort();
        packages.dedup();
        let none = BTreeMap::new();
        for package in packages {
            let facts = found.get(package).unwrap_or(&none);
            self.look_at(look, package, facts, &mut batch).await?;
            if std::mem::take(&mut batch.has_more) {
                rest = Rest::Something;
            }
            if batch.writes.len() >= MAX_WRITES || batch.is_heavy() {
                changed += self.write_batch(&mut batch).await?;
            }
        }
        changed += self.write_batch(&mut batch).await?;
        Ok((changed, rest))
    }

    async fn known(&self, namespace: &Namespace, repository: &RepositoryName) -> Result<Known, Error> {
        let mut known = Known { states: HashMap::new(), packages: HashMap::new() };
        for stored in rows::states_of(self.inner.store.as_ref(), namespace, repository).await? {
            let Row { value: state, .. } = rows::decode_state(&stored)?;
            let Ok(name) = stored.key.name().parse::<ObjectName>() else { continue };
            known.packages.entry(name.package().clone()).or_default().push(name);
            known.states.insert(stored.key.name().to_owned(), (stored, state));
        }
        Ok(known)
    }

    /// Compares one package.
    async fn look_at(
        &self,
        look: &Look<'_>,
        package: &PackageName,
        facts: &OfPackage,
        batch: &mut Batch,
    ) -> Result<(), Error> {
        let mut verdicts = Vec::new();
        for (name, fact) in facts.values() {
            let state = look.known.states.get(name.as_str());
            if state.is_some_and(|(stored, _)| stored.revision > look.before) {
                continue;
            }
            if state.is_none() && look.is_ending {
                continue;
            }
            let verdict = decide(Some(fact), state.map(|(_, state)| state), look.registered);
            if !matches!(verdict, Verdict::Nothing) {
                verdicts.push((name.clone(), Some(fact.clone()), verdict));
            }
        }
        for name in look.known.packages.get(package).into_iter().flatten() {
            let Some((stored, state)) = look.known.states.get(name.as_str()) else { continue };
            if facts.contains_key(name.as_str()) || stored.revision > look.before {
                continue;
            }
            let verdict = decide(None, Some(state), look.registered);
            if !matches!(verdict, Verdict::Nothing) {
                verdicts.push((name.clone(), None, verdict));
            }
        }
        verdicts
            .retain(|(name, _, _)| !look.on_their_way.contains(&doubt::label(look.namespace, name.as_str())));
        if verdicts.is_empty() {
            return Ok(());
        }
        self.carry_out(look, package, verdicts, batch).await
    }

    async fn carry_out(
        &self,
        look: &Look<'_>,
        package: &PackageName,
        verdicts: Vec<(ObjectName, Option<Arc<Found>>, Verdict)>,
        batch: &mut Batch,
    ) -> Result<(), Error> {
        let store = self.inner.store.as_ref();
        let (namespace, repository) = (look.namespace, &look.registered.name);
        let stored = if look.known.packages.contains_key(package) {
            rows::revisions_of(store, namespace, repository, package).await?
        } else {
            Vec::new()
        };
        // Rows as they will be, by name; `None` for those that go.
        let mut objects: BTreeMap<String, (Option<Arc<Stored>>, Option<Value>)> = BTreeMap::new();
        for row in stored {
            let object = rows::decode(&row)?;
            objects.insert(row.key.name().to_owned(), (Some(row), Some(object)));
        }
        let mut states = Vec::new();
        for (name, fact, verdict) in verdicts {
            let before =
                objects.get(name.as_str()).and_then(|(row, object)| Some((row.clone()?, object.clone()?)));
            if before.as_ref().is_some_and(|(row, _)| row.revision > look.before) {
                continue;
            }
            let is_content = fact.as_ref().is_some_and(|fact| Stage::of(fact.lifecycle).is_some());
            if matches!(verdict, Verdict::Import) && is_content && batch.is_heavy() {
                batch.has_more = true;
                continue;
            }
            let state = look.known.states.get(name.as_str());
            match self
                .change(look, &name, fact.as_deref(), verdict, before.as_ref(), state.map(|(_, state)| state))
                .await?
            {
                Changed::Both(object, state, blob) => {
                    batch.blobs.extend(blob);
                    objects.insert(name.as_str().to_owned(), (before.map(|(row, _)| row), Some(*object)));
                    states.push((name, Some(*state)));
                }
                Changed::State(state) => states.push((name, Some(*state))),
                Changed::Gone => {
                    if let Some((row, _)) = before {
                        objects.insert(name.as_str().to_owned(), (Some(row), None));
                    }
                    // Where it was being deleted, that is over.
                    let guard = store.get(&rows::guard_key(namespace, name.as_str())).await?;
                    batch.writes.extend(
                        guard
                            .filter(rows::is_being_deleted)
                            .map(|guard| Write::Delete { key: guard.key.clone(), expected: guard.revision }),
                    );
                    states.push((name, None));
                }
            }
        }
        for (name, state) in states {
            let key = rows::state_key(namespace, &name);
            let known = look.known.states.get(name.as_str()).map(|(stored, _)| stored.revision);
            batch.writes.extend(match (state, known) {
                (Some(state), Some(expected)) => {
                    Some(Write::Update { key, expected, object: state.to_object() })
                }
                (Some(state), None) => Some(Write::Create { key, object: state.to_object() }),
                (None, Some(expected)) => Some(Write::Delete { key, expected }),
                (None, None) => None,
            });
        }
        self.write_package(look, package, objects, batch).await
    }

    /// Who is the latest, the row of the package, and the rows that changed.
    async fn write_package(
        &self,
        look: &Look<'_>,
        package: &PackageName,
        mut objects: BTreeMap<String, (Option<Arc<Stored>>, Option<Value>)>,
        batch: &mut Batch,
    ) -> Result<(), Error> {
        let number = |object: &Value| object["spec"]["revision"].as_i64().unwrap_or_default();
        let highest =
            objects.values().filter_map(|(_, object)| object.as_ref().map(number)).max().unwrap_or(0);
        for (_, object) in objects.values_mut() {
            if let Some(object) = object {
                let is_latest = highest > 0 && number(object) == highest;
                set_latest(object, if is_latest { Latest::Yes } else { Latest::No });
            }
        }
        let is_empty = objects.values().all(|(_, object)| object.is_none());
        let kind = &rows::REVISION;
        for (name, (before, object)) in objects {
            let key = lanai_store::Key::new(kind, look.namespace.as_str(), &name)?;
            let row = object.as_ref().map(rows::encode_revision);
            batch.writes.extend(match (before, row) {
                (Some(before), Some(row)) if before.object == row => None,
                (Some(before), Some(row)) => {
                    Some(Write::Update { key, expected: before.revision, object: row })
                }
                (None, Some(row)) => Some(Write::Create { key, object: row }),
                (Some(before), None) => Some(Write::Delete { key, expected: before.revision }),
                (None, None) => None,
            });
        }
        let id = PackageId::new(look.namespace, &look.registered.name, package)?;
        let rows = match (is_empty, look.known.packages.contains_key(package)) {
            (true, _) => Rows::Empty,
            (false, true) => Rows::Known,
            (false, false) => Rows::New,
        };
        batch.writes.extend(id.writes(self.inner.store.as_ref(), rows, highest, self.now()).await?);
        Ok(())
    }

    async fn change(
        &self,
        look: &Look<'_>,
        name: &ObjectName,
        fact: Option<&Found>,
        verdict: Verdict,
        before: Option<&(Arc<Stored>, Value)>,
        state: Option<&State>,
    ) -> Result<Changed, Error> {
        let draft = state.and_then(State::draft);
        match (verdict, fact) {
            (Verdict::Import, Some(fact)) => {
                let metadata = match before {
                    Some((_, object)) => object["metadata"].clone(),
                    None => found_metadata(look.namespace, name, timestamp(fact.time)),
                };
                let (mut object, state, blob) = self.imported(look, name, fact, metadata).await?;
                if let Some((_, before)) = before {
                    object::count_change(before, &mut object);
                }
                Ok(Changed::Both(Box::new(object), Box::new(state), blob))
            }
            (Verdict::MoveUp(pushed), _)
                if matches!(state.map(|state| &state.life), Some(Life::Deleted(_))) =>
            {
                let Some(state) = state else { return Ok(Changed::Gone) };
                let life = Life::Deleted(Deleted { pushed: Some(pushed), ..Deleted::default() });
                Ok(Changed::State(Box::new(State { life, ..state.clone() })))
            }
            (Verdict::MoveUp(pushed), _) => {
                let Some((draft, state)) = draft.zip(state) else { return Ok(Changed::Gone) };
                let tree = fact.map(|fact| fact.tree);
                let at = draft.unpushed.iter().rposition(|version| Some(version.tree) == tree);
                let unpushed = draft.unpushed[at.map_or(0, |at| at + 1)..].to_vec();
                let draft = Draft {
                    unpushed,
                    pushed: Some(pushed),
                    diverged: None,
                    sent: Vec::new(),
                    ..draft.clone()
                };
                let state = State { life: Life::Draft(draft), ..state.clone() };
                Ok(match before.filter(|(_, object)| diverged::is_shown(object)) {
                    Some((_, object)) => {
                        let mut object = object.clone();
                        diverged::show(&mut object, None);
                        Changed::Both(Box::new(object), Box::new(state), None)
                    }
                    None => Changed::State(Box::new(state)),
                })
            }
            (Verdict::Marked, _) => {
                let Some(state) = state else { return Ok(Changed::Gone) };
                let mut state = state.clone();
                if let Life::Published(published) = &mut state.life {
                    published.marked = published.deletion;
                }
                Ok(Changed::State(Box::new(state)))
            }
            (Verdict::Diverge(commit), _) => {
                let (Some((draft, state)), Some((_, object))) = (draft.zip(state), before) else {
                    return Ok(Changed::Gone);
                };
                let draft = Draft { diverged: Some(commit), ..draft.clone() };
                let state = State { life: Life::Draft(draft), ..state.clone() };
                let mut object = object.clone();
                diverged::show(&mut object, Some(commit));
                Ok(Changed::Both(Box::new(object), Box::new(state), None))
            }
            (Verdict::Detach, _) => {
                let Some((draft, state)) = draft.zip(state) else { return Ok(Changed::Gone) };
                let draft = Draft { pushed: None, diverged: None, ..draft.clone() };
                let state = State { life: Life::Draft(draft), ..state.clone() };
                let Some((_, object)) = before else { return Ok(Changed::State(Box::new(state))) };
                let mut object = object.clone();
                diverged::show(&mut object, None);
                Ok(Changed::Both(Box::new(object), Box::new(state), None))
            }
            (Verdict::Gone | Verdict::Nothing | Verdict::Import, _) => Ok(Changed::Gone),
        }
    }

    /// The rows of something as the remote has it.
    async fn imported(
        &self,
        look: &Look<'_>,
        name: &ObjectName,
        fact: &Found,
        metadata: Value,
    ) -> Result<(Value, State, Option<Blob>), Error> {
        let mut blob = None;
        let life = if let Some(stage) = Stage::of(fact.lifecycle) {
            let (git, refs) = (look.registered.git.clone(), look.refs.clone());
            let (commit, package) = (fact.commit, fact.package.clone());
            let content = blocking(move || git.read(&refs, commit, &package, &Silent)).await?;
            let content = content.map_err(|error| remote_error(name.as_str(), &error))?;
            let kept = Blob::new(content::encode(&content.package));
            let digest = kept.digest();
            blob = Some(kept);
            Life::Draft(Draft {
                stage,
                content: digest,
                tree: fact.tree,
                rendered: Rendered::Unknown,
                unpushed: Vec::new(),
                pushed: Some(Pushed { stage, commit: fact.commit }),
                diverged: None,
                sent: Vec::new(),
                push: look.registered.draft_push,
            })
        } else {
            let deletion = Deletion::from(fact.lifecycle);
            Life::Published(Published {
                number: fact.revision,
                ref_name: fact.ref_name.clone(),
                commit: fact.commit,
                tree: fact.tree,
                deletion,
                marked: deletion,
            })
        };
        let state = State {
            repository: look.registered.name.clone(),
            package: fact.package.clone(),
            workspace: fact.workspace.clone(),
            life,
            render_status: None,
            conflicts: Conflicts::default(),
        };
        let shown = match fact.kptfile.as_ref() {
            KptfileFacts::Read(fields) => Shown::of(fields),
            KptfileFacts::Unreadable(why) => Shown {
                conditions: vec![json!({
                    "type": "Readable", "status": "False", "reason": "BadKptfile", "message": why,
                })],
                ..Shown::nothing()
            },
        };
        let is_published = fact.lifecycle.is_published();
        let facts = Facts {
            lifecycle: fact.lifecycle,
            number: fact.revision,
            tasks: first_task(&fact.tasks),
            shown,
            self_lock: self_lock(look.registered, &state),
            published_by: is_published.then(|| fact.author.name().to_owned()).filter(|name| !name.is_empty()),
            published_at: is_published.then(|| timestamp(fact.time)),
            deployment: look.registered.deployment,
            conflicts: Conflicts::default(),
            diverged: None,
        };
        Ok((object::build(&metadata, name, &facts), state, blob))
    }

    async fn write_batch(&self, batch: &mut Batch) -> Result<usize, Error> {
        let Batch { writes, blobs, .. } = std::mem::take(batch);
        if writes.is_empty() {
            return Ok(0);
        }
        let changed = writes.len();
        let transaction = Transaction { conditions: Vec::new(), writes, blobs };
        match crate::engine::commit(self.inner.store.as_ref(), transaction, 0).await {
            Ok(_) => Ok(changed),
            // Somebody wrote meanwhile; the next look sees both.
            Err(error) if is_overtaken(&error) => Err(Error::new(
                Reason::Overtaken,
                "",
                "revisions changed here while the repository was looked at",
            )),
            Err(error) => Err(error),
        }
    }
}

enum Changed {
    Both(Box<Value>, Box<State>, Option<Blob>),
    State(Box<State>),
    Gone,
}

/// One look at a repository.
struct Look<'a> {
    namespace: &'a Namespace,
    registered: &'a Arc<Registered>,
    refs: &'a Arc<Refs>,
    /// What was written behind this revision is left for the next look.
    before: Revision,
    known: &'a Known,
    /// Revisions that somebody is pushing, by their labels: they are left for the next look.
    on_their_way: &'a HashSet<String>,
    /// The repository is on its way out: what is new in it is not taken over, as nobody would remove it any more.
    is_ending: bool,
}

#[derive(Default)]
struct Batch {
    writes: Vec<Write>,
    blobs: Vec<Blob>,
    /// Content of a package did not fit any more, and is taken over in the next round.
    has_more: bool,
}

impl Batch {
    /// Whether it holds as many bytes as go in one transaction.
    fn is_heavy(&self) -> bool {
        let rows = self.writes.iter().map(|write| match write {
            Write::Create { object, .. } | Write::Update { object, .. } => object.value.len(),
            Write::Delete { .. } => 0,
        });
        let blobs = self.blobs.iter().map(|blob| blob.content().len());
        !MAX_BATCH.admits(rows.chain(blobs).sum())
    }
}

/// The refs and facts of a repository, its branch made where that is asked for.
async fn look(registered: Arc<Registered>, label: String) -> Result<(Arc<Refs>, Snapshot), Error> {
    let name = registered.name.to_string();
    let looked = blocking(move || {
        let git = &registered.git;
        let branch = registered.spec.layout.branch.clone();
        let mut refs = git.poll(&Silent)?;
        if refs.commit(branch.ref_name()).is_none() {
            if !registered.create_branch {
                return Ok(Err(format!("branch \"{branch}\" doesn't exist: reference not found")));
            }
            let request =
                Request { what: Operation::CreateBranch, user: Person::orchestrator(), time: 0, label };
            if let Err(error) = git.write(request, &Silent) {
                return Ok(Err(format!("branch \"{branch}\" cannot be made: {error}")));
            }
            refs = git.poll(&Silent)?;
        }
        let snapshot = git.facts(&refs, &Silent)?;
        Ok::<_, lanai_repository::Error>(Ok((refs, snapshot)))
    });
    match looked.await? {
        Ok(Ok(looked)) => Ok(looked),
        Ok(Err(why)) => Err(Error::new(Reason::Conflict, name, why).of(Subject::Repository)),
        Err(error) => Err(remote_error(&name, &error).of(Subject::Repository)),
    }
}

/// Of two that would have one name, the one further on in its life.
fn rank(fact: &Found) -> i64 {
    match fact.lifecycle {
        Lifecycle::Draft => 0,
        Lifecycle::Proposed => 1,
        Lifecycle::Published | Lifecycle::DeletionProposed => 2 + fact.revision.get().max(0),
    }
}

/// The table of `docs/design/2026-11-18-engine.md`.
fn decide(fact: Option<&Found>, state: Option<&State>, registered: &Registered) -> Verdict {
    let is_placeholder =
        |fact: &Found| fact.ref_name == *registered.spec.layout.branch.ref_name() && fact.revision.get() < 0;
    match (fact, state.map(|state| &state.life)) {
        (Some(_), None) => Verdict::Import,
        (None, None) => Verdict::Nothing,
        (Some(fact), Some(Life::Draft(draft))) => match Stage::of(fact.lifecycle) {
            // A workspace that is called like the branch hides the placeholder.
            None if is_placeholder(fact) => Verdict::Nothing,
            // Others published the workspace: what is not on the remote yet is not given up for it.
            None if !draft.unpushed.is_empty() && draft.tree != fact.tree => diverge(draft, fact),
            None => Verdict::Import,
            Some(there) => beside(draft, fact, there),
        },
        (Some(fact), Some(Life::Published(published))) => {
            let deletion = Deletion::from(fact.lifecycle);
            let is_same = published.commit == fact.commit
                && published.tree == fact.tree
                && published.ref_name == fact.ref_name
                && published.number == fact.revision;
            match (is_same, published.deletion == published.marked) {
                (true, true) if deletion == published.marked => Verdict::Nothing,
                (true, false) if deletion == published.deletion => Verdict::Marked,
                // What is wanted here is still on its way.
                (true, false) => Verdict::Nothing,
                _ if Stage::of(fact.lifecycle).is_some() => Verdict::Nothing,
                _ if published.number.get() > 0 && is_placeholder(fact) => Verdict::Nothing,
                _ => Verdict::Import,
            }
        }
        (Some(fact), Some(Life::Deleted(deleted))) => match (deleted.pushed, Stage::of(fact.lifecycle)) {
            (Some(pushed), _) if pushed.commit == fact.commit => Verdict::Nothing,
            // It was on its way there when it was deleted here.
            (_, Some(there)) if deleted.sent.contains(&fact.tree) => {
                Verdict::MoveUp(Pushed { stage: there, commit: fact.commit })
            }
            _ if is_placeholder(fact) => Verdict::Nothing,
            (Some(_) | None, _) => Verdict::Import,
        },
        (None, Some(Life::Draft(draft))) => match (draft.pushed, draft.unpushed.is_empty()) {
            (None, _) if draft.diverged.is_some() => Verdict::Detach,
            (None, _) => Verdict::Nothing,
            (Some(_), true) => Verdict::Gone,
            (Some(_), false) => Verdict::Detach,
        },
        (None, Some(Life::Published(_) | Life::Deleted(_))) => Verdict::Gone,
    }
}

/// A draft here and its branch there.
fn beside(draft: &Draft, fact: &Found, stage: Stage) -> Verdict {
    let there = Pushed { stage, commit: fact.commit };
    if draft.pushed == Some(there) {
        return if draft.diverged.is_some() { Verdict::MoveUp(there) } else { Verdict::Nothing };
    }
    let is_ours = draft.tree == fact.tree
        || draft.unpushed.iter().any(|version| version.tree == fact.tree)
        || draft.sent.contains(&fact.tree);
    let has_moved = draft.pushed.is_some_and(|pushed| pushed.stage != draft.stage);
    match (is_ours, draft.unpushed.is_empty()) {
        // The same content elsewhere: a push of ours, or somebody who moved it between the stages.
        (true, true) if stage != draft.stage && !has_moved => Verdict::Import,
        (true, _) => Verdict::MoveUp(there),
        (false, true) => Verdict::Import,
        (false, false) => diverge(draft, fact),
    }
}

/// Both went their own ways, which is said once.
fn diverge(draft: &Draft, fact: &Found) -> Verdict {
    if draft.diverged == Some(fact.commit) { Verdict::Nothing } else { Verdict::Diverge(fact.commit) }
}

fn timestamp(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// A repository that can be looked at without taking anything over: is it there, and is the branch?
pub(crate) fn check(
    git: &packages::Repository,
    branch: &packages::Branch,
) -> Result<Option<CommitId>, lanai_repository::Error> {
    Ok(git.poll(&Silent)?.commit(branch.ref_name()))
}
