//! Eight clients do everything at random, others push to the remote, and a judge who knows only what they asked and heard says whether that can be.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kube::Client;
use lanai_testkit::objects::{Answered, Asked, Became, Event, History, Recorder, check};
use serde_json::{Value, json};

use super::api::{FILES, MARK, REVISIONS, Watch, list, send, state, version};
use super::{Shop, revision};
use crate::tls::Access;

const CLIENTS: u64 = 8;
const PACKAGES: u64 = 3;
const WORKSPACES: u64 = 4;
/// Writes without which there is nothing to judge.
const ENOUGH: usize = 40;
/// How long a busy machine has for them.
const PATIENCE: Duration = Duration::from_mins(2);
/// The object whose end ends the watches.
const END: &str = "mono.end.v1";

fn length() -> Duration {
    if std::env::var_os("LANAI_SOAK").is_some() { Duration::from_mins(1) } else { Duration::from_secs(5) }
}

/// Numbers that look random, and are the same each time.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// What is wrong with a client on purpose, so that the judge has something to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// It overwrites whatever is there, and says that it knew it.
    OverwritesBlindly,
}

struct Player {
    client: Client,
    recorder: Arc<Recorder>,
    marks: Arc<AtomicU64>,
    dice: Dice,
    fault: Fault,
}

/// What a refusal means to the judge.
fn refused((code, message): &(u16, String)) -> Answered {
    match code {
        404 if message.contains("packagerevision") => Answered::Missing,
        409 if message.contains("the object has been modified") => Answered::Modified,
        409 if message.contains("workspaceNames must be unique") => Answered::Exists,
        0 | 500 | 504 => Answered::Unknown,
        _ => Answered::Refused,
    }
}

impl Player {
    fn mark(&self) -> String {
        format!("m{}", self.marks.fetch_add(1, Ordering::SeqCst))
    }

    fn name(&mut self) -> (String, String, String) {
        let (package, workspace) =
            (format!("p{}", self.dice.throw(PACKAGES)), format!("w{}", self.dice.throw(WORKSPACES)));
        (format!("mono.{package}.{workspace}"), package, workspace)
    }

    async fn play(&mut self) {
        let (name, package, workspace) = self.name();
        match self.dice.throw(14) {
            0..=4 => self.create(&name, &package, &workspace).await,
            5 => _ = self.read(&name).await,
            6 => self.list().await,
            7 => self.delete(&name).await,
            8 | 9 => self.save(&name).await,
            10 | 11 => self.annotate(&name).await,
            _ => self.go_on(&name).await,
        }
    }

    async fn create(&mut self, name: &str, package: &str, workspace: &str) {
        // From nothing, or from another one of the package, which may be there or not.
        let source = format!("mono.{package}.w{}", self.dice.throw(WORKSPACES));
        let task = if self.dice.throw(3) > 0 {
            Value::Null
        } else {
            json!({"type": "edit", "edit": {"sourceRef": {"name": source}}})
        };
        self.make(name, &revision("mono", package, workspace, &task)).await;
    }

    async fn make(&mut self, name: &str, object: &Value) {
        let (mark, mut object) = (self.mark(), object.clone());
        object["metadata"]["annotations"] = json!({MARK: mark});
        let began = self.recorder.begin();
        let answer = send(&self.client, "POST", REVISIONS, &object).await;
        let answered = match &answer {
            Ok(made) => Answered::Done { version: version(made), state: Some(state(made)) },
            // What it is made of is missing.
            Err((404, _)) => Answered::Refused,
            Err(error) => refused(error),
        };
        self.recorder.end(began, Asked::Create { object: name.to_owned(), mark }, answered);
    }

    async fn read(&mut self, name: &str) -> Option<Value> {
        let began = self.recorder.begin();
        let answer = send(&self.client, "GET", &format!("{REVISIONS}/{name}"), &Value::Null).await;
        let answered = match &answer {
            Ok(seen) => Answered::Seen { version: version(seen), state: state(seen) },
            Err(error) => refused(error),
        };
        self.recorder.end(began, Asked::Read { object: name.to_owned() }, answered);
        answer.ok()
    }

    async fn list(&self) {
        let began = self.recorder.begin();
        let (version, items) = list(&self.client).await;
        self.recorder.end(began, Asked::List, Answered::Listed { version, items });
    }

    /// Changes an object as it was read.
    async fn put(&mut self, name: &str, sub: &str, new: Value, mark: Option<String>) {
        let base = version(&new);
        let began = self.recorder.begin();
        let path = format!("{REVISIONS}/{name}{sub}");
        let answer = match self.fault {
            Fault::None => send(&self.client, "PUT", &path, &new).await,
            Fault::OverwritesBlindly => {
                let annotations = new["metadata"]["annotations"].clone();
                let change = json!({"metadata": {"annotations": annotations}, "spec": {"lifecycle": new["spec"]["lifecycle"]}});
                send(&self.client, "PATCH", &path, &change).await
            }
        };
        let answered = match &answer {
            Ok(made) if version(made) == base => Answered::Refused,
            Ok(made) => Answered::Done { version: version(made), state: Some(state(made)) },
            Err(error) => refused(error),
        };
        self.recorder.end(began, Asked::Change { object: name.to_owned(), base, mark }, answered);
    }

    async fn annotate(&mut self, name: &str) {
        let Some(mut object) = self.read(name).await else { return };
        let mark = self.mark();
        object["metadata"]["annotations"][MARK] = json!(mark);
        self.put(name, "", object, Some(mark)).await;
    }

    /// One step on in its life, or back.
    async fn go_on(&mut self, name: &str) {
        let Some(mut object) = self.read(name).await else { return };
        let is_back = self.dice.throw(4) == 0;
        let (to, sub) = match (object["spec"]["lifecycle"].as_str().unwrap_or_default(), is_back) {
            ("Draft", _) => ("Proposed", ""),
            ("Proposed", false) => ("Published", "/approval"),
            ("Proposed", true) => ("Draft", "/approval"),
            ("Published", _) => ("DeletionProposed", ""),
            (_, _) => ("Published", ""),
        };
        object["spec"]["lifecycle"] = json!(to);
        self.put(name, sub, object, None).await;
    }

    async fn save(&mut self, name: &str) {
        let path = format!("{FILES}/{name}");
        let Ok(mut files) = send(&self.client, "GET", &path, &Value::Null).await else { return };
        let base = version(&files);
        let mark = self.mark();
        let map =
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  mark: {mark}\n");
        files["spec"]["resources"]["cm.yaml"] = json!(map);
        let began = self.recorder.begin();
        let answered = match &send(&self.client, "PUT", &path, &files).await {
            Ok(saved) => Answered::Done { version: version(saved), state: None },
            Err(error) => refused(error),
        };
        self.recorder.end(began, Asked::Change { object: name.to_owned(), base, mark: None }, answered);
    }

    async fn delete(&mut self, name: &str) {
        let began = self.recorder.begin();
        let answered = match &send(&self.client, "DELETE", &format!("{REVISIONS}/{name}"), &Value::Null).await
        {
            Ok(_) => Answered::Gone,
            Err(error) => refused(error),
        };
        self.recorder.end(began, Asked::Delete { object: name.to_owned() }, answered);
    }
}

/// Hears everything to the end. One of them ends now and then, and goes on behind what it heard last.
async fn watch(access: Access, behind: u64, every: Option<usize>) -> Vec<Event> {
    let client = access.client().await.unwrap();
    let (mut heard, mut since): (Vec<Event>, usize) = (Vec::new(), 0);
    let mut watch = Watch::open(&client, behind).await;
    loop {
        let next =
            tokio::time::timeout(Duration::from_mins(3), watch.next()).await.expect("the end is heard");
        let (event, _) = next.expect("the watch goes on");
        let is_end = event.object == END && event.became == Became::Deleted;
        heard.push(event);
        since += 1;
        if is_end {
            return heard;
        }
        if every.is_some_and(|every| since >= every) {
            since = 0;
            let last = heard.last().map_or(behind, |event| event.version);
            watch = Watch::open(&client, last).await;
        }
    }
}

/// Others make tags and take them away again, and the repository is looked at.
fn meddle(shop: &Shop, is_over: &AtomicBool) -> usize {
    let mut rounds = 0;
    while !is_over.load(Ordering::SeqCst) {
        let tags = shop.git("mono", &["tag", "--list"]);
        if let Some(tag) = tags.lines().next() {
            let package = tag.rsplit_once('/').map_or("", |(package, _)| package);
            let made = format!("{package}/v{}", 1_000 + rounds);
            // Publishing may be faster than git here; then there is nothing to do.
            let _ = shop.try_git("mono", &["tag", &made, tag]);
            if rounds % 3 == 2 {
                let _ = shop.try_git("mono", &["tag", "-d", &made]);
            }
        }
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.fZ").to_string();
        let patch = json!({"spec": {"sync": {"runOnceAt": now}}}).to_string();
        let _ = shop.run(&["patch", "repository", "mono", "--type=merge", "-p", &patch], "");
        rounds += 1;
    }
    rounds
}

/// A busy machine needs longer until there is something to judge.
fn is_too_little(recorder: &Recorder) -> bool {
    let calls = recorder.calls();
    let writes = calls.iter().filter(|call| matches!(call.answered, Answered::Done { .. } | Answered::Gone));
    writes.count() <= ENOUGH
}

/// Plays, and returns all that was asked and heard.
fn play(shop: &Shop, length: Duration, fault: Fault) -> (History, usize) {
    let access = Access::read(&shop.world.kubeconfig());
    let (recorder, marks) = (Arc::new(Recorder::default()), Arc::new(AtomicU64::new(0)));
    let is_over = AtomicBool::new(false);
    let (behind, watchers, players) = shop.world.runtime.block_on(async {
        let client = access.client().await.unwrap();
        let (behind, items) = list(&client).await;
        assert_eq!(items, BTreeMap::new(), "the log begins with nothing");
        let watchers =
            [None, Some(7), Some(40)].map(|every| tokio::spawn(watch(access.clone(), behind, every)));
        let started = Instant::now();
        let mut players = Vec::new();
        for number in 0..CLIENTS {
            let client = access.client().await.unwrap();
            let (recorder, marks) = (recorder.clone(), marks.clone());
            let mut player = Player { client, recorder, marks, dice: Dice(number + 1), fault };
            players.push(tokio::spawn(async move {
                while started.elapsed() < length
                    || (is_too_little(&player.recorder) && started.elapsed() < PATIENCE)
                {
                    player.play().await;
                }
            }));
        }
        (behind, watchers, players)
    });
    assert!(behind > 0);
    let rounds = std::thread::scope(|scope| {
        let meddling = scope.spawn(|| meddle(shop, &is_over));
        shop.world.runtime.block_on(async {
            for player in players {
                player.await.unwrap();
            }
        });
        is_over.store(true, Ordering::SeqCst);
        meddling.join().unwrap()
    });
    let watchers = shop.world.runtime.block_on(async {
        // The last ones, which all wait for, and a list of what is there.
        let client = access.client().await.unwrap();
        let mut last = Player {
            client: client.clone(),
            recorder: recorder.clone(),
            marks,
            dice: Dice(0),
            fault: Fault::None,
        };
        last.make(END, &revision("mono", "end", "v1", &Value::Null)).await;
        last.list().await;
        send(&client, "DELETE", &format!("{REVISIONS}/{END}"), &Value::Null).await.unwrap();
        let mut heard = Vec::new();
        for watcher in watchers {
            heard.push(watcher.await.unwrap());
        }
        heard
    });
    (History { calls: recorder.calls(), watchers }, rounds)
}

#[test]
fn eight_clients_at_random_are_linearizable_and_watches_are_the_commits() {
    let Some(shop) = Shop::open("serve::packages::random::eight_clients_at_random") else { return };
    shop.register("mono", &json!({}));
    let (history, rounds) = play(&shop, length(), Fault::None);
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for call in &history.calls {
        let kind = match call.answered {
            Answered::Done { .. } => "done",
            Answered::Gone => "gone",
            Answered::Seen { .. } => "seen",
            Answered::Listed { .. } => "listed",
            Answered::Missing => "missing",
            Answered::Exists => "exists",
            Answered::Modified => "modified",
            Answered::Refused => "refused",
            Answered::Unknown => "unknown",
        };
        *kinds.entry(kind).or_default() += 1;
    }
    let judged = check(&history);
    println!("{} calls {kinds:?}, {rounds} rounds of others, {judged:?}", history.calls.len());
    let summary =
        judged.unwrap_or_else(|found| panic!("{} faults: {:#?}", found.len(), &found[..found.len().min(10)]));
    assert!(summary.asked_for > 30 && summary.reads > 10, "something happened: {summary:?}");
    assert_eq!(kinds.get("unknown"), None, "everything was answered");
    // The store and the remote say the same in the end.
    super::eventually("drafts are pushed", || {
        let pushed = shop.ok(&[
            "get",
            "repository",
            "mono",
            "-o",
            "jsonpath={.status.conditions[?(@.type==\"DraftsPushed\")].status}",
        ]);
        pushed == "True"
    });
    assert_eq!(shop.git("mono", &["fsck", "--strict", "--no-dangling"]), "");

    // The judge is not blind: an event that is not there is missed.
    let mut deaf = history.clone();
    let middle = deaf.watchers[1].len() / 2;
    deaf.watchers[1].remove(middle);
    let found = check(&deaf).unwrap_err();
    assert!(found[0].contains("part at event"), "{found:?}");
}

#[test]
fn the_judge_finds_updates_that_clients_lose() {
    let Some(shop) = Shop::open("serve::packages::random::the_judge_finds_updates_that_clients_lose") else {
        return;
    };
    shop.register("mono", &json!({}));
    let (history, _) = play(&shop, Duration::from_secs(3), Fault::OverwritesBlindly);
    let found = check(&history).expect_err("updates were lost on purpose");
    assert!(found.iter().any(|one| one.contains("a lost update")), "{found:#?}");
}
