//! Packages in Git: real git serves, pushes beside us and judges.

mod ajar;
mod credentials;
mod crowd;
mod group;
mod hostile;
mod life;
mod outside;
mod porch;
mod pushes;
mod reading;
mod sync;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use lanai_krm::Package;
use lanai_krm::package::{File, Folder, Mode};
use lanai_repository::packages::{
    Done, Event, Journal, Layout, NewContent, NoJournal, Operation, Person, Publish, Refs, Repositories,
    Repository, Request, Save, Settings, Snapshot, Source, Spec, Stage, WriteError,
};
use lanai_repository::{Credential, CredentialName, Credentials, Proof, Silent};
use lanai_types::CommitId;
use tempfile::TempDir;

use crate::repository::git;
use crate::server::{Behaviour, Server};

/// Credentials that a test sets and changes.
#[derive(Default)]
pub(crate) struct Secrets(Mutex<BTreeMap<String, Credential>>);

impl Secrets {
    pub(crate) fn set(&self, name: &str, proof: Proof) {
        self.set_all(name, Credential { proof, ca_bundle: None });
    }

    pub(crate) fn set_all(&self, name: &str, credential: Credential) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), credential);
    }
}

impl Credentials for Secrets {
    fn resolve(&self, name: &CredentialName) -> Result<Credential, String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&name.0).cloned().ok_or_else(|| "there is no such Secret".to_owned())
    }
}

/// The kinds of remotes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Own,
    Near,
    Http,
}

pub(crate) const USER: &str = "ann";
pub(crate) const PASSWORD: &str = "s3cr3t-hunter2";

/// A repository, what serves it and who uses it. Behind each test that passed, git must be content with the repository.
pub(crate) struct World {
    pub(crate) home: TempDir,
    pub(crate) folder: PathBuf,
    pub(crate) address: String,
    pub(crate) server: Option<Server>,
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) all: Arc<Repositories>,
}

impl World {
    pub(crate) fn new(kind: Kind) -> Self {
        Self::with(kind, Behaviour::default(), Arc::new(NoJournal))
    }

    pub(crate) fn with(kind: Kind, behaviour: Behaviour, journal: Arc<dyn Journal>) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let secrets = Arc::new(Secrets::default());
        let all = repositories(home.path(), &secrets, journal);
        let (folder, address, server) = match kind {
            Kind::Own => {
                let name = "blueprints".parse().expect("a name");
                let url = all.create(&name, &"main".parse().expect("a branch")).expect("it is made");
                (url.local_path().expect("a folder").to_owned(), url.to_string(), None)
            }
            Kind::Near | Kind::Http => {
                let folder = home.path().join("served/remote.git");
                std::fs::create_dir_all(&folder).expect("a folder");
                git(&folder, &["init", "--quiet", "--bare", "--initial-branch=main"], b"");
                git(&folder, &["config", "http.receivepack", "true"], b"");
                if kind == Kind::Near {
                    let address = folder.to_str().expect("a plain name").to_owned();
                    (folder, address, None)
                } else {
                    let authorization =
                        behaviour.authorization.clone().or_else(|| Some(basic(USER, PASSWORD)));
                    let behaviour = Behaviour { authorization, ..behaviour };
                    let server = Server::start(&home.path().join("served"), behaviour);
                    (folder, server.url("remote.git"), Some(server))
                }
            }
        };
        secrets.set("ns/git", Proof::Basic { user: USER.to_owned(), password: PASSWORD.to_owned() });
        Self { home, folder, address, server, secrets, all }
    }

    pub(crate) fn open(&self) -> Repository {
        self.open_as("ns/git", "")
    }

    pub(crate) fn open_as(&self, credential: &str, directory: &str) -> Repository {
        open(&self.all, &self.address, credential, directory)
    }

    /// Another process, as it were: nothing is shared but the folders.
    pub(crate) fn restarted(&self, journal: Arc<dyn Journal>) -> Repository {
        let all = repositories(self.home.path(), &self.secrets, journal);
        open(&all, &self.address, "ns/git", "")
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(&self.folder, arguments, b"")
    }

    pub(crate) fn refs(&self) -> Vec<String> {
        self.git(&["for-each-ref", "--format=%(refname)"]).lines().map(str::to_owned).collect()
    }

    /// Git is content with what there is.
    pub(crate) fn fsck(&self) {
        let said = self.git(&["fsck", "--strict", "--full", "--no-dangling"]);
        assert_eq!(said, "", "fsck");
    }

    /// Tries once to push a commit to main as somebody else; `None` where others were faster.
    pub(crate) fn try_outsider(&self, path: &str) -> Option<String> {
        let clone = self.home.path().join("crowd");
        if !clone.exists() {
            let from = self.folder.to_str().expect("a plain name");
            git(self.home.path(), &["clone", "--quiet", from, "crowd"], b"");
        }
        // An outsider who cannot fetch now tries again, as people do.
        if !crate::repository::git_works(&clone, &["fetch", "--quiet", "origin", "main"]) {
            return None;
        }
        git(&clone, &["reset", "--quiet", "--hard", "FETCH_HEAD"], b"");
        let file = clone.join(path);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, "x").expect("a file");
        git(&clone, &["add", "--all"], b"");
        git(&clone, &["commit", "--quiet", "-m", "by an outsider"], b"");
        let works =
            crate::repository::git_works(&clone, &["push", "--quiet", "origin", "HEAD:refs/heads/main"]);
        works.then(|| git(&clone, &["rev-parse", "HEAD"], b""))
    }

    /// A commit of somebody else, by plain git, on a branch.
    pub(crate) fn outsider(&self, branch: &str, path: &str, text: &str) -> String {
        let clone = self.home.path().join("outsider");
        if !clone.exists() {
            git(
                self.home.path(),
                &["clone", "--quiet", self.folder.to_str().expect("a plain name"), "outsider"],
                b"",
            );
        }
        git(&clone, &["fetch", "--quiet", "--prune", "origin"], b"");
        git(&clone, &["checkout", "--quiet", "-B", "work", &format!("origin/{branch}")], b"");
        let file = clone.join(path);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, text).expect("a file");
        git(&clone, &["add", "--all"], b"");
        git(&clone, &["commit", "--quiet", "-m", "by an outsider"], b"");
        git(&clone, &["push", "--quiet", "origin", &format!("HEAD:refs/heads/{branch}")], b"");
        git(&clone, &["rev-parse", "HEAD"], b"")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() && self.folder.exists() {
            self.fsck();
        }
    }
}

pub(crate) fn repositories(
    home: &Path,
    secrets: &Arc<Secrets>,
    journal: Arc<dyn Journal>,
) -> Arc<Repositories> {
    let settings = Settings::new(home.join("own"), 7);
    let secrets: Arc<dyn Credentials> = Arc::<Secrets>::clone(secrets);
    Arc::new(Repositories::new(crate::options(home, &[]), settings, secrets, journal))
}

pub(crate) fn open(all: &Arc<Repositories>, address: &str, credential: &str, directory: &str) -> Repository {
    let directory = if directory.is_empty() { Folder::Root } else { crate::folder(directory) };
    let layout = Layout { branch: "main".parse().expect("a branch"), directory };
    let remote = address.parse().expect("an address");
    let credential = Some(CredentialName(credential.to_owned())).filter(|name| !name.0.is_empty());
    all.open(Spec { remote, layout, credential, author: None }).expect("it opens")
}

pub(crate) fn basic(user: &str, password: &str) -> String {
    let pair = format!("{user}:{password}");
    let mut encoded = String::new();
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in pair.as_bytes().chunks(3) {
        let bits =
            chunk.iter().fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let is_there = place <= chunk.len();
            let index = (bits >> (18 - 6 * place)) & 63;
            encoded.push(if is_there { char::from(alphabet[index as usize]) } else { '=' });
        }
    }
    format!("Basic {encoded}")
}

/// A package with a Kptfile, a configuration, a program, a link and bytes that are no text.
pub(crate) fn package(name: &str, text: &str) -> Package {
    let kptfile = format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n");
    let entries = [
        ("Kptfile", File::from_text(kptfile)),
        (
            "config.yaml",
            File::from_text(format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  a: {text}\n"
            )),
        ),
        ("bin/run.sh", File::new("#!/bin/sh\n", Mode::Executable)),
        ("link", File::new("config.yaml", Mode::Symlink)),
        ("picture.png", File::regular(vec![0x89, b'P', 0, 0xff, 0xfe, b'\r', b'\n'])),
    ];
    Package::from_entries(entries, lanai_types::Limits::DEFAULT).expect("a package")
}

pub(crate) fn request(what: Operation) -> Request {
    Request {
        what,
        user: Person::user("bob@example.com"),
        time: 1_700_000_000,
        label: "a request".to_owned(),
    }
}

pub(crate) fn write(repository: &Repository, what: Operation) -> Result<Done, WriteError> {
    repository.write(request(what), &Silent)
}

pub(crate) fn save(package_name: &str, workspace: &str, text: &str, expected: Option<CommitId>) -> Operation {
    Operation::Save(Box::new(Save {
        package: package_name.parse().expect("a package"),
        workspace: workspace.parse().expect("a workspace"),
        stage: Stage::Draft,
        expected,
        content: package(package_name.rsplit('/').next().unwrap_or_default(), text),
        event: if expected.is_none() { Event::Init } else { Event::Update },
        task: Some(serde_json::json!({"type": if expected.is_none() { "init" } else { "eval" }})),
    }))
}

pub(crate) fn publish(package: &str, workspace: &str, source: Source) -> Operation {
    let (package, workspace) = (package.parse().expect("a package"), workspace.parse().expect("a workspace"));
    Operation::Publish(Publish { package, workspace, source, highest_seen: 0 })
}

/// Publishes content that the remote does not have.
pub(crate) fn publish_content(name: &str, workspace: &str, text: &str) -> Operation {
    let content = package(name.rsplit('/').next().unwrap_or_default(), text);
    let task = Some(serde_json::json!({"type": "init"}));
    publish(
        name,
        workspace,
        Source::Content(Box::new(NewContent { content, event: Event::Init, task, branch: None })),
    )
}

pub(crate) fn snapshot(repository: &Repository) -> (Arc<Refs>, Snapshot) {
    let refs = repository.poll(&Silent).expect("it is polled");
    let snapshot = repository.facts(&refs, &Silent).expect("facts");
    (refs, snapshot)
}

/// One line for each revision: package, workspace, number, lifecycle.
pub(crate) fn lines(snapshot: &Snapshot) -> Vec<String> {
    let revisions = snapshot.revisions.iter();
    let mut lines: Vec<_> = revisions
        .map(|found| format!("{} {} {} {}", found.package, found.workspace, found.revision, found.lifecycle))
        .collect();
    lines.sort();
    lines
}
