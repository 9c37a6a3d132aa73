//! Many writers at once, an outsider among them, and processes that are killed.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lanai_repository::Silent;
use lanai_repository::packages::{Intent, Journal, NoJournal, Operation, Outcome, Repository, WriteError};

use super::{Kind, PASSWORD, Secrets, USER, World, open, publish_content, repositories, snapshot, write};

/// `make soak` asks for all of it.
fn is_soak() -> bool {
    std::env::var_os("LANAI_SOAK").is_some()
}

fn numbers(repository: &Repository) -> Vec<i64> {
    let (_, seen) = snapshot(repository);
    let mut numbers: Vec<_> =
        seen.revisions.iter().map(|found| found.revision.get()).filter(|number| *number > 0).collect();
    numbers.sort_unstable();
    numbers
}

/// All writers publish the same package, and somebody pushes to main with plain git.
fn check(kind: Kind, writers: usize, publishes: usize) {
    let world = World::new(kind);
    write(&world.open(), Operation::CreateBranch).expect("it works");
    let is_over = AtomicBool::new(false);
    let (one, other) = (world.open(), world.restarted(Arc::new(NoJournal)));
    let outside = thread::scope(|scope| {
        let (world, is_over, processes) = (&world, &is_over, [&one, &other]);
        let outsider = scope.spawn(move || {
            let mut commits = Vec::new();
            // Goes on until it got through, which beside quick writers may be at the end only.
            while commits.is_empty() || (!is_over.load(Ordering::Relaxed) && commits.len() < 50) {
                let commit = world.try_outsider(&format!("outside/{}", commits.len()));
                commits.extend(commit);
            }
            commits
        });
        let writing: Vec<_> = (0..writers)
            .map(|writer| {
                scope.spawn(move || {
                    // Two processes, as it were, with a pusher each.
                    let repository = processes[writer % 2];
                    for number in 0..publishes {
                        let (name, text) = (format!("w{writer}-{number}"), format!("{writer} {number}"));
                        // Who is told that others were faster each time asks again.
                        loop {
                            match write(repository, publish_content("p", &name, &text)) {
                                Err(WriteError::Contended { .. }) => {}
                                done => break drop(done.expect("it is published")),
                            }
                        }
                    }
                })
            })
            .collect();
        for thread in writing {
            thread.join().expect("it ends");
        }
        is_over.store(true, Ordering::Relaxed);
        outsider.join().expect("it ends")
    });
    let expected: Vec<_> = (1..).take(writers * publishes).collect();
    assert_eq!(numbers(&world.open()), expected, "dense, and each once");
    for commit in outside {
        world.git(&["merge-base", "--is-ancestor", &commit, "main"]);
    }
    world.fsck();
}

#[test]
fn many_writers_and_an_outsider_get_along() {
    let (writers, publishes) = if is_soak() { (16, 20) } else { (6, 2) };
    for kind in [Kind::Own, Kind::Http] {
        check(kind, writers, publishes);
    }
}

// ---- killed

/// A journal in a folder: a file for each intent.
struct Files(PathBuf);

impl Files {
    fn path(&self, intent: &Intent) -> PathBuf {
        let first = intent.commits.first().map_or_else(|| "none".to_owned(), ToString::to_string);
        self.0.join(first)
    }

    /// The intents that are left, as they were written.
    fn left(&self) -> Vec<(PathBuf, Intent)> {
        let entries = fs::read_dir(&self.0).expect("a folder").map(|entry| entry.expect("an entry").path());
        let whole = entries.filter(|path| path.extension().is_none());
        whole.map(|path| (path.clone(), read(&fs::read_to_string(path).expect("a file")))).collect()
    }
}

impl Journal for Files {
    fn begin(&self, intent: &Intent) -> Result<(), String> {
        let path = self.path(intent);
        let part = path.with_extension("part");
        let text = text(intent);
        let write = || {
            let mut file = fs::File::create(&part)?;
            file.write_all(text.as_bytes())?;
            fs::rename(&part, &path)
        };
        write().map_err(|cause| cause.to_string())
    }

    fn end(&self, intent: &Intent, outcome: Outcome) {
        if outcome != Outcome::Unknown {
            let _ = fs::remove_file(self.path(intent));
        }
    }
}

fn text(intent: &Intent) -> String {
    let mut text = format!("main {}\n", intent.main);
    let id = |id: Option<lanai_types::GitObjectId>| id.map_or_else(|| "-".to_owned(), |id| id.to_string());
    for command in &intent.commands {
        text.extend(["move ", command.name.as_str(), " ", &id(command.old), " ", &id(command.new), "\n"]);
    }
    for commit in &intent.commits {
        text.extend(["commit ", &commit.to_string(), "\n"]);
    }
    text
}

fn read(text: &str) -> Intent {
    let mut intent = Intent {
        main: "refs/heads/main".parse().expect("a ref"),
        commands: Vec::new(),
        commits: Vec::new(),
        labels: Vec::new(),
    };
    for line in text.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let id = |word: &str| (word != "-").then(|| word.parse().expect("an id"));
        match words[..] {
            ["move", name, old, new] => {
                let name = name.parse().expect("a ref");
                intent.commands.push(lanai_repository::packages::Command {
                    name,
                    old: id(old),
                    new: id(new),
                });
            }
            ["commit", id] => intent.commits.push(id.parse().expect("a commit")),
            _ => {}
        }
    }
    intent
}

const CHILD: &str = "LANAI_TEST_PUBLISHES";

/// Not a test of its own: what a process does that the test below starts. Without its orders it does nothing.
#[test]
fn a_process_that_publishes() {
    let Ok(orders) = std::env::var(CHILD) else { return };
    let [home, address, name] = orders.split('\n').collect::<Vec<_>>()[..] else { panic!("{orders}") };
    let secrets = Arc::new(Secrets::default());
    let journal = Arc::new(Files(Path::new(home).join("journal")));
    let all = repositories(Path::new(home), &secrets, journal);
    let repository = open(&all, address, "", "");
    for number in 0..1000 {
        write(&repository, publish_content("p", &format!("w{name}-{number}"), &format!("{name} {number}")))
            .unwrap();
    }
}

fn start(world: &World, name: usize) -> Child {
    let orders =
        [world.home.path().to_str().expect("a plain name"), &world.address, &name.to_string()].join("\n");
    start_with(world.home.path(), "packages::crowd::a_process_that_publishes", CHILD, &orders)
}

/// Starts a process that does what a test above says, and keeps what it says in the folder of its home.
fn start_with(home: &Path, test: &str, variable: &str, orders: &str) -> Child {
    #[allow(clippy::disallowed_methods, reason = "a process that can be killed")]
    let mut command = Command::new(std::env::current_exe().expect("tests know where they are"));
    command.args(["--exact", test]).env(variable, orders);
    let said = fs::File::create(home.join("said")).expect("a file");
    let also = said.try_clone().expect("a file");
    command.stdout(said).stderr(also).stdin(Stdio::null()).spawn().expect("it starts")
}

/// What the last process said, for who wonders why it failed.
fn said(world: &World) -> String {
    fs::read_to_string(world.home.path().join("said")).unwrap_or_default()
}

/// Processes publish and are killed at any moment; the next one settles what they left.
fn check_kills(kind: Kind, kills: usize) {
    let world = World::new(kind);
    let repository = world.open();
    write(&repository, Operation::CreateBranch).expect("it works");
    let journal = Files(world.home.path().join("journal"));
    fs::create_dir_all(&journal.0).expect("a folder");
    let mut published = 0;
    for kill in 0..kills {
        let mut child = start(&world, kill);
        // Killed some time after its first publish has landed: the moment moves with each round.
        while !(1..=3).contains(&(count(&world).saturating_sub(published))) {
            assert!(child.try_wait().expect("it can be asked").is_none(), "it runs on: {}", said(&world));
            thread::yield_now();
        }
        for _ in 0..(kill * 7919) % 20_000 {
            std::hint::spin_loop();
        }
        child.kill().expect("it is killed");
        child.wait().expect("it ends");
        let fresh = world.restarted(Arc::new(NoJournal));
        for (path, intent) in journal.left() {
            let outcome = fresh.recover(&intent, &Silent).expect("it is settled");
            assert_ne!(outcome, Outcome::Unknown);
            fs::remove_file(path).expect("it can be removed");
        }
        let now = numbers(&fresh);
        assert_eq!(now, (1..).take(now.len()).collect::<Vec<_>>(), "dense after kill {kill}");
        published = now.len();
    }
    assert!(published >= kills);
    world.fsck();
}

/// How many revisions there are, without asking git.
fn count(world: &World) -> usize {
    count_of(world, "p")
}

fn count_of(world: &World, package: &str) -> usize {
    let packed = fs::read_to_string(world.folder.join("packed-refs")).unwrap_or_default();
    let packed = packed.lines().filter(|line| line.contains(&format!(" refs/tags/{package}/"))).count();
    let loose = fs::read_dir(world.folder.join("refs/tags").join(package)).into_iter().flatten().flatten();
    packed + loose.filter(|entry| entry.path().extension().is_none()).count()
}

#[test]
fn a_killed_process_leaves_nothing_that_the_next_one_cannot_settle() {
    let kills = if is_soak() { 100 } else { 3 };
    for kind in [Kind::Own, Kind::Near] {
        check_kills(kind, kills);
    }
}

// ---- many writers, killed

const CROWD: &str = "LANAI_TEST_CROWD";

/// What a process of many writers is to do.
struct Orders {
    home: PathBuf,
    address: String,
    package: String,
    writers: usize,
    publishes: usize,
}

impl Orders {
    fn text(&self) -> String {
        let Self { home, address, package, writers, publishes } = self;
        format!("{}\n{address}\n{package}\n{writers}\n{publishes}", home.display())
    }

    fn read(text: &str) -> Self {
        let mut lines = text.split('\n');
        let mut next = || lines.next().expect("all orders are there").to_owned();
        let (home, address, package) = (next().into(), next(), next());
        let mut number = || next().parse().expect("a number");
        Self { home, address, package, writers: number(), publishes: number() }
    }
}

/// Not a test of its own: a process that settles what the one before it left, then publishes what is not there yet, from
/// many threads. Without its orders it does nothing.
#[test]
fn a_process_of_many_writers() {
    let Ok(orders) = std::env::var(CROWD) else { return };
    let orders = Orders::read(&orders);
    let secrets = Arc::new(Secrets::default());
    let password = PASSWORD.to_owned();
    secrets.set("ns/git", lanai_repository::Proof::Basic { user: USER.to_owned(), password });
    let files = Files(orders.home.join("journal"));
    let all = repositories(&orders.home, &secrets, Arc::new(Files(orders.home.join("journal"))));
    let repository = open(&all, &orders.address, "ns/git", "");
    for (path, intent) in files.left() {
        assert_ne!(repository.recover(&intent, &Silent).unwrap(), Outcome::Unknown);
        fs::remove_file(path).unwrap();
    }
    let (_, seen) = snapshot(&repository);
    let there: BTreeSet<_> = seen.revisions.iter().map(|found| found.workspace.to_string()).collect();
    thread::scope(|scope| {
        for writer in 0..orders.writers {
            let (orders, there, repository) = (&orders, &there, &repository);
            scope.spawn(move || {
                for number in 0..orders.publishes {
                    let name = format!("w{writer}-{number}-{}", orders.package);
                    if there.contains(&name) {
                        continue;
                    }
                    loop {
                        match write(repository, publish_content(&orders.package, &name, &name)) {
                            Err(WriteError::Contended { .. }) => {}
                            done => break drop(done.unwrap()),
                        }
                    }
                }
            });
        }
    });
}

/// Many writers publish while somebody pushes to main, and their process is killed again and again.
fn check_killed_crowd(kind: Kind, writers: usize, publishes: usize, kills: usize) {
    let world = World::new(kind);
    write(&world.open(), Operation::CreateBranch).expect("it works");
    fs::create_dir_all(world.home.path().join("journal")).expect("a folder");
    let mut outside = Vec::new();
    let (mut killed, mut package) = (0, 0);
    // What is finished before all kills are done begins again with another package.
    while killed < kills {
        package += 1;
        let package = format!("p{package}");
        let (home, address) = (world.home.path().to_owned(), world.address.clone());
        let orders = Orders { home, address, package: package.clone(), writers, publishes };
        loop {
            let test = "packages::crowd::a_process_of_many_writers";
            let mut child = start_with(world.home.path(), test, CROWD, &orders.text());
            let begun = count_of(&world, &package);
            let enough = begun + (killed * 7919) % 12.min(writers * publishes);
            let ended = loop {
                if let Some(ended) = child.try_wait().expect("it can be asked") {
                    break Some(ended);
                }
                if killed < kills && count_of(&world, &package) >= enough {
                    break None;
                }
                thread::yield_now();
            };
            if let Some(ended) = ended {
                assert!(ended.success(), "a process failed by itself: {}", said(&world));
                break;
            }
            for _ in 0..(killed * 104_729) % 3_000_000 {
                std::hint::spin_loop();
            }
            child.kill().expect("it is killed");
            child.wait().expect("it ends");
            killed += 1;
            outside.extend(world.try_outsider(&format!("outside/{killed}")));
        }
        let repository = world.restarted(Arc::new(NoJournal));
        let (_, seen) = snapshot(&repository);
        let of_package = seen.revisions.iter().filter(|found| found.package.to_string() == package);
        let mut numbers: Vec<_> =
            of_package.map(|found| found.revision.get()).filter(|number| *number > 0).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..).take(writers * publishes).collect::<Vec<_>>(), "dense, and each once");
    }
    assert!(!outside.is_empty(), "somebody else came through");
    for commit in outside {
        world.git(&["merge-base", "--is-ancestor", &commit, "main"]);
    }
    world.fsck();
}

#[test]
fn many_writers_whose_process_is_killed_lose_nothing() {
    let (writers, publishes, kills) = if is_soak() { (16, 20, 200) } else { (4, 2, 3) };
    check_killed_crowd(Kind::Http, writers, publishes, kills);
}
