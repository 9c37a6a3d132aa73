//! Repositories: looked at from time to time, told how they are, and let go.
//!
//! | a Repository | what is done |
//! |---|---|
//! | is new, changed, or its time has come | it is looked at; what others did becomes package revisions |
//! | cannot be reached | its condition says why and when it is tried again; what is known of it is served meanwhile |
//! | is deleted | what waits for the remote is pushed, package revisions go with an event each, the remote stays as it is |

mod schedule;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use lanai_engine::{Engine, OnlyHere, OutboxReport, Reason, SyncReport};
use lanai_types::{Namespace, RepositoryName};
use serde_json::{Value, json};

use crate::controller::{Context, Controller, Error, found};
use crate::hub::Change;
use crate::work::Next;
use schedule::Schedule;

const GROUP: &str = "config.porch.kpt.dev";
const KIND: &str = "Repository";
/// What holds a Repository until its package revisions are gone.
const FINALIZER: &str = "config.porch.kpt.dev/repository";
/// The annotation that gives up drafts which exist only here.
const GIVE_UP: &str = "lanai.dev/give-up-drafts";
/// How often a repository is looked at that says nothing else.
pub const POLL_EVERY: Duration = Duration::from_mins(1);
/// The first pause after a failure; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// The longest pause after failures.
const MAX_PAUSE: Duration = Duration::from_mins(5);
/// How long until it is said again what waits for the remote, while something does.
const PUSHING: Duration = Duration::from_secs(2);
/// How many repositories are looked at, or let go, at the same time.
pub const MAX_AT_ONCE: usize = 128;
/// How long a deletion that is held up waits for the next try.
const HELD_UP: Duration = Duration::from_secs(10);

/// Namespace and name.
type Key = (String, String);

/// Keeps repositories in step with their remotes.
pub struct Repositories {
    /// Does the work.
    pub engine: Engine,
    /// The repositories by namespace, for credentials that change.
    known: Mutex<BTreeMap<String, BTreeSet<String>>>,
    /// Those that failed the last time.
    failures: Mutex<BTreeMap<Key, Failure>>,
    /// Those that are looked at although it is not their time.
    asked: Mutex<BTreeSet<Key>>,
}

/// How often one failed in a row, and until when it is left alone.
struct Failure {
    count: u32,
    until: Timestamp,
    generation: Option<i64>,
}

impl Repositories {
    /// With an engine.
    pub fn new(engine: Engine) -> Self {
        Self { engine, known: Mutex::default(), failures: Mutex::default(), asked: Mutex::default() }
    }

    fn failed(&self, key: &Key, now: Timestamp, generation: Option<i64>) -> Duration {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let count = failures.get(key).map_or(0, |failure| failure.count);
        let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(count)).min(MAX_PAUSE);
        let failure = Failure { count: count.saturating_add(1), until: later(now, pause), generation };
        failures.insert(key.clone(), failure);
        pause
    }

    /// Whether it had failed before.
    fn succeeded(&self, key: &Key) -> bool {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).remove(key).is_some()
    }

    /// How long one that failed is still left alone.
    fn rests(&self, key: &Key, now: Timestamp, generation: Option<i64>) -> Option<Duration> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let failure = failures.get(key).filter(|failure| failure.generation == generation)?;
        let left = Duration::try_from(failure.until.duration_since(now)).ok()?;
        (!left.is_zero()).then_some(left)
    }

    /// Those that failed may have failed because of something that is another one now.
    fn rest_no_longer(&self, keys: &[Key]) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        for key in keys {
            if let Some(failure) = failures.get_mut(key) {
                failure.until = Timestamp::UNIX_EPOCH;
            }
        }
    }

    fn ask(&self, keys: &[Key]) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).extend(keys.iter().cloned());
    }

    fn take_asked(&self, key: &Key) -> bool {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).remove(key)
    }
}

#[async_trait]
impl Controller for Repositories {
    type Key = Key;
    const NAME: &'static str = "repositories";
    /// Those that hang must not hold up the others, and looking at one is mostly waiting.
    const AT_ONCE: usize = MAX_AT_ONCE;

    fn see(&self, change: &Change<'_>) -> Vec<Key> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match change {
            Change::There { kind, object } if kind.is(GROUP, KIND) => {
                let Some((namespace, name)) = object.namespace.clone().zip(object.name.clone()) else {
                    return Vec::new();
                };
                known.entry(namespace.clone()).or_default().insert(name.clone());
                vec![(namespace, name)]
            }
            Change::Gone { kind, object } if kind.is(GROUP, KIND) => {
                if let Some((namespace, name)) = object.namespace.as_ref().zip(object.name.as_ref())
                    && let Some(names) = known.get_mut(namespace)
                {
                    names.remove(name);
                }
                Vec::new()
            }
            // A credential may be another one now.
            Change::There { kind, object } if kind.is("", "Secret") => {
                let Some(namespace) = object.namespace.clone() else { return Vec::new() };
                let names = known.get(&namespace).into_iter().flatten();
                let keys: Vec<Key> = names.map(|name| (namespace.clone(), name.clone())).collect();
                self.rest_no_longer(&keys);
                keys
            }
            Change::There { .. }
            | Change::Gone { .. }
            | Change::Listing(_)
            | Change::Listed(_)
            | Change::Served(_)
            | Change::Withdrawn(_) => Vec::new(),
        }
    }

    async fn asked(&self) -> Vec<Key> {
        let asked = self.engine.asked_for_look().await;
        let keys: Vec<Key> =
            asked.iter().map(|(namespace, name)| (namespace.to_string(), name.to_string())).collect();
        self.ask(&keys);
        keys
    }

    async fn reconcile(&self, context: &Context, key: &Key) -> Result<Next, Error> {
        let (raw_namespace, raw_name) = key;
        let Some(kind) = context.kinds.find(GROUP, KIND) else { return Ok(Next::Done) };
        let api = kind.api(&context.client, Some(raw_namespace));
        let Some(object) = found(api.get(raw_name).await)? else { return Ok(Next::Done) };
        let (Ok(namespace), Ok(name)) =
            (raw_namespace.parse::<Namespace>(), raw_name.parse::<RepositoryName>())
        else {
            return Ok(Next::Done);
        };
        let one = One { api, object, namespace, name, now: (context.clock)() };
        if one.object.metadata.deletion_timestamp.is_some() {
            return self.let_go(&one).await;
        }
        if !one.has_finalizer() {
            one.hold().await?;
        }
        self.look(context, key, one).await
    }
}

/// One repository, as the API has it.
struct One {
    api: Api<DynamicObject>,
    object: DynamicObject,
    namespace: Namespace,
    name: RepositoryName,
    now: Timestamp,
}

impl Repositories {
    /// Looks at the remote, if it is time, and says what came of it.
    async fn look(&self, context: &Context, key: &Key, one: One) -> Result<Next, Error> {
        let schedule = match Schedule::of(&one.object.data) {
            Ok(schedule) => schedule,
            Err(why) => {
                one.tell(&Told::error(&why)).await?;
                return Ok(Next::Done);
            }
        };
        let generation = one.object.metadata.generation;
        let wait = schedule.due(&one.object, one.now).or_else(|| self.rests(key, one.now, generation));
        let is_asked = self.take_asked(key);
        if let Some(wait) = wait.filter(|_| !is_asked) {
            let outbox = self.outbox(&one).await;
            let wait = sooner(wait, outbox.as_ref());
            one.tell(&Told { outbox, ..Told::unchanged() }).await?;
            return Ok(Next::After(wait));
        }
        if is_news(&one.object.data["status"], generation) {
            one.tell(&Told::reconciling()).await?;
        }
        let synced = self.engine.sync(&one.namespace, &one.name).await;
        let outbox = self.outbox(&one).await;
        match synced {
            Ok(report) => {
                if self.succeeded(key) {
                    self.engine.nudge(&one.namespace, &one.name);
                }
                let wait = schedule.next(one.now);
                let next = sooner(wait, outbox.as_ref());
                one.tell(&Told::ready(&one, &report, outbox, wait)).await?;
                Ok(Next::After(next))
            }
            // Something was written here meanwhile.
            Err(error) if error.reason == Reason::Overtaken => Ok(Next::After(Duration::from_millis(50))),
            Err(error) => {
                let wait = self.failed(key, (context.clock)(), generation);
                tracing::warn!(namespace = %one.namespace, repository = %one.name, %error, "a repository could not be looked at");
                let more = BTreeMap::from([("nextFullSyncTime", time(later(one.now, wait)))]);
                one.tell(&Told { outbox, more, ..Told::error(&error.message) }).await?;
                Ok(Next::After(wait))
            }
        }
    }

    async fn outbox(&self, one: &One) -> Option<OutboxReport> {
        self.engine.outbox(&one.namespace, &one.name).await.ok()
    }

    /// Lets a repository go that is deleted.
    async fn let_go(&self, one: &One) -> Result<Next, Error> {
        if !one.has_finalizer() {
            return Ok(Next::Done);
        }
        let gives_up = one.object.metadata.annotations.as_ref().and_then(|all| all.get(GIVE_UP));
        let only_here =
            if gives_up.is_some_and(|value| value == "true") { OnlyHere::GiveUp } else { OnlyHere::Keep };
        match self.engine.unregister(&one.namespace, &one.name, only_here).await {
            Ok(()) => {
                one.release().await?;
                Ok(Next::Done)
            }
            Err(error) => {
                let why = format!("{}; the annotation {GIVE_UP}: \"true\" gives them up", error.message);
                one.tell(&Told::held_up(&why)).await?;
                Ok(Next::After(HELD_UP))
            }
        }
    }
}

/// While drafts are on their way, it is told soon that they have arrived.
fn sooner(wait: Duration, outbox: Option<&OutboxReport>) -> Duration {
    match outbox {
        Some(report) if report.pending > 0 => wait.min(PUSHING),
        Some(_) | None => wait,
    }
}

/// What is to be said on a repository.
#[derive(Default)]
struct Told {
    ready: Option<(&'static str, &'static str, String)>,
    outbox: Option<OutboxReport>,
    more: BTreeMap<&'static str, Value>,
}

impl Told {
    fn unchanged() -> Self {
        Self::default()
    }

    fn reconciling() -> Self {
        let text = "Repository reconciliation in progress".to_owned();
        Self { ready: Some(("False", "Reconciling", text)), ..Self::default() }
    }

    fn error(why: &str) -> Self {
        Self { ready: Some(("False", "Error", why.to_owned())), ..Self::default() }
    }

    fn held_up(why: &str) -> Self {
        Self { ready: Some(("False", "DraftsOnlyHere", why.to_owned())), ..Self::default() }
    }

    fn ready(one: &One, report: &SyncReport, outbox: Option<OutboxReport>, wait: Duration) -> Self {
        let message = match report.problems.as_slice() {
            [] => "Repository Ready".to_owned(),
            [first, ..] => format!(
                "Repository Ready; {} ref(s) are no package revisions, the first is \"{}\": {}",
                report.problems.len(),
                first.ref_name,
                first.why
            ),
        };
        let next = later(one.now, wait);
        let mut more = BTreeMap::from([
            ("lastFullSyncTime", time(one.now)),
            ("nextFullSyncTime", time(next)),
            ("observedGeneration", json!(one.object.metadata.generation)),
            ("packageCount", json!(report.revisions)),
        ]);
        if let Some(head) = report.head {
            more.insert("gitCommitHash", json!(head.to_string()));
        }
        let asked = &one.object.data["spec"]["sync"]["runOnceAt"];
        if asked.is_string() && schedule::has_come(asked, one.now) {
            more.insert("observedRunOnceAt", asked.clone());
        }
        Self { ready: Some(("True", "Ready", message)), outbox, more }
    }
}

impl One {
    fn has_finalizer(&self) -> bool {
        self.object.metadata.finalizers.iter().flatten().any(|one| one == FINALIZER)
    }

    async fn hold(&self) -> Result<(), Error> {
        let mut finalizers = self.object.metadata.finalizers.clone().unwrap_or_default();
        finalizers.push(FINALIZER.to_owned());
        self.set_finalizers(&finalizers).await
    }

    async fn release(&self) -> Result<(), Error> {
        let finalizers = self.object.metadata.finalizers.iter().flatten();
        let left: Vec<String> = finalizers.filter(|one| *one != FINALIZER).cloned().collect();
        self.set_finalizers(&left).await
    }

    async fn set_finalizers(&self, finalizers: &[String]) -> Result<(), Error> {
        let patch = json!({"metadata": {"finalizers": finalizers, "resourceVersion": self.object.metadata.resource_version}});
        found(self.api.patch(self.name.as_str(), &PatchParams::default(), &Patch::Merge(patch)).await)?;
        Ok(())
    }

    /// Says it, if it is not said already.
    async fn tell(&self, told: &Told) -> Result<(), Error> {
        let status = wanted(&self.object.data["status"], told, self.now, self.object.metadata.generation);
        let Some(status) = status else { return Ok(()) };
        let patch = json!({"metadata": {"uid": self.object.metadata.uid}, "status": status});
        found(
            self.api.patch_status(self.name.as_str(), &PatchParams::default(), &Patch::Merge(patch)).await,
        )?;
        Ok(())
    }
}

/// Whether it is worth telling that a repository is looked at: nothing was said of it yet, or what is wrong was wrong with an earlier
/// state of it. An error stays told while it is tried again.
fn is_news(status: &Value, generation: Option<i64>) -> bool {
    let conditions = status["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    match conditions.iter().find(|one| one["type"] == "Ready") {
        None => true,
        Some(ready) => ready["status"] != "True" && ready["observedGeneration"].as_i64() != generation,
    }
}

fn later(now: Timestamp, wait: Duration) -> Timestamp {
    now.checked_add(jiff::SignedDuration::try_from(wait).unwrap_or_default()).unwrap_or(now)
}

/// The status, where it is another one.
fn wanted(before: &Value, told: &Told, now: Timestamp, generation: Option<i64>) -> Option<Value> {
    let mut status = if before.is_object() { before.clone() } else { json!({}) };
    if let Some((state, reason, message)) = &told.ready {
        set(
            &mut status,
            json!({"type": "Ready", "status": state, "reason": reason, "message": message}),
            now,
            generation,
        );
    }
    if let Some(outbox) = &told.outbox {
        let (state, reason, message) = match (&outbox.failure, outbox.pending) {
            (_, 0) => ("True", "Pushed", "the remote has all drafts".to_owned()),
            (None, pending) => {
                ("False", "Pushing", format!("{pending} package revision(s) are on their way to the remote"))
            }
            (Some(why), pending) => {
                ("False", "RemoteFails", format!("{pending} package revision(s) wait for the remote: {why}"))
            }
        };
        set(
            &mut status,
            json!({"type": "DraftsPushed", "status": state, "reason": reason, "message": message}),
            now,
            generation,
        );
    }
    for (field, value) in &told.more {
        status[*field] = value.clone();
    }
    (status != *before).then_some(status)
}

/// Sets a condition; its time moves only when its status does.
fn set(status: &mut Value, mut condition: Value, now: Timestamp, generation: Option<i64>) {
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(list) = status["conditions"].as_array_mut() else { return };
    let at = list.iter().position(|one| one["type"] == condition["type"]);
    let since = at.filter(|at| list[*at]["status"] == condition["status"]);
    condition["lastTransitionTime"] =
        since.map_or_else(|| time(now), |at| list[at]["lastTransitionTime"].clone());
    if let Some(generation) = generation {
        condition["observedGeneration"] = json!(generation);
    }
    match at {
        Some(at) => list[at] = condition,
        None => list.push(condition),
    }
}

fn time(at: Timestamp) -> Value {
    json!(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_do_not_flap() {
        let (now, later) = (Timestamp::UNIX_EPOCH, Timestamp::from_second(60).unwrap());
        let first = wanted(&Value::Null, &Told::error("down"), now, Some(1)).unwrap();
        assert_eq!(first["conditions"][0]["lastTransitionTime"], "1970-01-01T00:00:00Z");
        assert_eq!(wanted(&first, &Told::error("down"), later, Some(1)), None, "said already");
        assert!(is_news(&Value::Null, Some(1)), "nobody has said anything");
        assert!(!is_news(&first, Some(1)), "an error stays told while it is tried again");
        assert!(is_news(&first, Some(2)), "it may be mended");
        let other = wanted(&first, &Told::error("still down"), later, Some(1)).unwrap();
        assert_eq!(other["conditions"][0]["lastTransitionTime"], "1970-01-01T00:00:00Z");
        let pending = OutboxReport { pending: 2, failure: Some("refused".into()) };
        let told = Told { outbox: Some(pending), ..Told::unchanged() };
        let both = wanted(&other, &told, later, Some(1)).unwrap();
        assert_eq!(both["conditions"][0]["reason"], "Error", "what is not said stays");
        assert_eq!(both["conditions"][1]["reason"], "RemoteFails");
    }
}
