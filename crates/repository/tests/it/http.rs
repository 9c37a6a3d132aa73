//! Over HTTP, with git on the other side.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use lanai_krm::digest;
use lanai_repository::{Cancel, Error, Phase, Progress, Report, Revision, Silent, Want};

use crate::repository::{Repository, git};
use crate::server::{Behaviour, Server, closed_port};
use crate::{folder, listing, read, remotes, resolve};

/// A repository behind a server.
pub(crate) struct Remote {
    pub repository: Repository,
    pub server: Server,
    pub home: tempfile::TempDir,
}

impl Remote {
    pub fn new(behaviour: Behaviour) -> Self {
        let repository = Repository::with(&[("pkg/f", "1")]);
        let server = Server::start(repository.path(), behaviour);
        Self { repository, server, home: tempfile::tempdir().expect("a folder") }
    }

    pub fn url(&self) -> String {
        self.server.url(".git")
    }

    pub fn head(&self) -> String {
        self.repository.git(&["rev-parse", "HEAD"])
    }

    /// The paths that were asked for since the last time.
    pub fn round_trips(&self, before: usize) -> Vec<String> {
        self.server.requests()[before..].to_vec()
    }
}

#[test]
fn a_package_comes_over_http() {
    let remote = Remote::new(Behaviour::default());
    let remotes = remotes(remote.home.path(), &[]);
    let found = resolve(&remotes, &remote.url(), "main", "pkg").unwrap();
    assert_eq!((found.commit.to_string(), found.name.as_str()), (remote.head(), "main"));
    let content = read(&remotes, &remote.url(), &remote.head(), "pkg").unwrap();
    assert_eq!(listing(&content), ["100644 f 1"]);
    assert_eq!(content.tree.to_string(), remote.repository.git(&["rev-parse", "HEAD:pkg"]));
    assert_eq!(digest::tree_id(&content.package).unwrap(), content.tree);

    let default =
        remotes.resolve(&remote.url().parse().unwrap(), &Revision::DefaultBranch, &folder(""), &Silent);
    assert_eq!(default.unwrap().name, "main");
}

#[test]
fn what_is_there_is_not_fetched_again() {
    let remote = Remote::new(Behaviour::default());
    let remotes = remotes(remote.home.path(), &[]);
    let first = remote.head();
    read(&remotes, &remote.url(), &first, "pkg").unwrap();
    let before = remote.server.requests().len();
    read(&remotes, &remote.url(), &first, "").unwrap();
    assert_eq!(remote.round_trips(before), [""; 0], "nobody is asked");

    let second = remote.repository.commit(&[("pkg/g", "2")]);
    let third = remote.repository.commit(&[("pkg/g", "3")]);
    let want = |commit: &str| Want { commit: commit.parse().unwrap(), folder: folder("pkg") };
    let wants = [want(&third), want(&first), want(&second)];
    let contents = remotes.packages(&remote.url().parse().unwrap(), &wants, &Silent).unwrap();
    let found: Vec<_> = contents.iter().map(|content| content.package.len()).collect();
    assert_eq!(found, [2, 1, 2]);
    assert_eq!(
        remote.round_trips(before),
        ["GET /.git/info/refs", "POST /.git/git-upload-pack"],
        "one transfer for all that is missing"
    );
    let mirror = mirror(remote.home.path());
    assert_eq!(git(&mirror, &["fsck", "--strict"], b""), "", "git is content with the copy");
    let kept: Vec<_> = [&first, &second, &third].map(|id| git(&mirror, &["cat-file", "-t", id], b"")).into();
    assert_eq!(kept, ["commit"; 3]);
}

/// The copy of the only repository in the cache.
fn mirror(home: &Path) -> std::path::PathBuf {
    let entries = fs::read_dir(home.join("cache/git")).expect("there is a cache");
    let mut folders = entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir());
    folders.next().expect("there is a copy")
}

/// The second transfer builds upon the first: a large file that did not change does not come again.
#[test]
fn a_transfer_brings_only_what_is_new() {
    let remote = Remote::new(Behaviour::default());
    let mut noise = String::new();
    for number in 0_u64..40_000 {
        let _ = writeln!(noise, "{:x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
    let first = remote.repository.commit(&[("large", &noise)]);
    let remotes = remotes(remote.home.path(), &[]);
    let bytes = |commit: &str| {
        let largest = Largest::default();
        let want = Want { commit: commit.parse().unwrap(), folder: folder("") };
        remotes.packages(&remote.url().parse().unwrap(), &[want], &largest).unwrap();
        largest.0.load(Ordering::Relaxed)
    };
    let all = bytes(&first);
    let rest = bytes(&remote.repository.commit(&[("small", "1")]));
    assert!(all > 300_000, "{all}");
    assert!(rest < 3_000, "{rest}");
}

/// What cannot be put together with what is here is asked for as a whole, and what was here stays.
#[test]
fn a_transfer_that_does_not_fit_to_the_first_brings_everything() {
    let remote = Remote::new(Behaviour { spoil_thin: true, ..Behaviour::default() });
    let remotes = remotes(remote.home.path(), &[]);
    let first = remote.repository.commit(&[("f", "1")]);
    read(&remotes, &remote.url(), &first, "").unwrap();
    let second = remote.repository.commit(&[("f", "2")]);
    assert!(listing(&read(&remotes, &remote.url(), &second, "").unwrap()).contains(&"100644 f 2".to_owned()));
    let questions: Vec<_> =
        remote.server.questions().into_iter().filter(|question| question.contains("want ")).collect();
    let thin = questions.iter().map(|question| question.contains("thin-pack")).collect::<Vec<_>>();
    assert_eq!(thin, [false, true, false], "{questions:?}");
    let before = remote.server.requests().len();
    read(&remotes, &remote.url(), &first, "").unwrap();
    assert_eq!(remote.server.requests().len(), before, "it is here still");
}

/// The most bytes that a transfer was reported to have.
#[derive(Default)]
struct Largest(std::sync::atomic::AtomicU64);

impl Progress for Largest {
    fn report(&self, report: Report) {
        if report.phase == Phase::Receiving {
            self.0.fetch_max(report.bytes, Ordering::Relaxed);
        }
    }
}

#[test]
fn the_past_does_not_come_along() {
    let remote = Remote::new(Behaviour::default());
    let first = remote.head();
    let second = remote.repository.commit(&[("pkg/f", "2")]);
    let third = remote.repository.commit(&[("pkg/f", "3")]);
    let remotes = remotes(remote.home.path(), &[]);
    // A commit that no branch points to any more.
    remote.repository.git(&["reset", "--quiet", "--hard", &first]);
    assert_eq!(listing(&read(&remotes, &remote.url(), &third, "pkg").unwrap()), ["100644 f 3"]);
    let mirror = mirror(remote.home.path());
    assert_eq!(git(&mirror, &["rev-list", "--count", &third], b""), "1");
    assert_eq!(listing(&read(&remotes, &remote.url(), &second, "pkg").unwrap()), ["100644 f 2"]);
}

#[test]
fn ten_thousand_tags_cost_one_question() {
    let remote = Remote::new(Behaviour::default());
    let head = remote.head();
    let mut tags = "# pack-refs with: peeled fully-peeled sorted \n".to_owned();
    let mut names: Vec<_> = (0..10_000).map(|number| format!("refs/tags/pkg/v{number}")).collect();
    names.sort();
    for name in names {
        let _ = writeln!(tags, "{head} {name}");
    }
    fs::write(remote.repository.path().join(".git/packed-refs"), tags).unwrap();
    let remotes = remotes(remote.home.path(), &[]);
    let listed = Listed::default();
    let found =
        remotes.resolve(&remote.url().parse().unwrap(), &"v77".parse().unwrap(), &folder("pkg"), &listed);
    assert_eq!(found.unwrap().name, "pkg/v77");
    assert_eq!(remote.server.requests(), ["GET /.git/info/refs", "POST /.git/git-upload-pack"]);
    // `v77`, `v770` to `v779` and `v7700` to `v7799` begin so.
    assert!(listed.0.load(Ordering::Relaxed) < 20_000, "{} bytes", listed.0.load(Ordering::Relaxed));
    assert_eq!(remotes.refs(&remote.url().parse().unwrap(), &Silent).unwrap().len(), 10_001);
    let error = resolve(&remotes, &remote.url(), "w77", "pkg").unwrap_err();
    assert!(matches!(&error, Error::UnknownRevision { near, .. } if near.len() == 5), "{error}");
}

#[derive(Default)]
struct Listed(std::sync::atomic::AtomicU64);

impl Progress for Listed {
    fn report(&self, report: Report) {
        if report.phase == Phase::Listing {
            self.0.fetch_max(report.bytes, Ordering::Relaxed);
        }
    }
}

#[test]
fn names_are_found_as_in_a_local_repository() {
    let remote = Remote::new(Behaviour::default());
    let first = remote.head();
    let second = remote.repository.commit(&[("pkg/f", "2")]);
    remote.repository.git(&["tag", "-a", "v1", "-m", "annotated", &first]);
    remote.repository.git(&["tag", "pkg/v1", &second]);
    let remotes = remotes(remote.home.path(), &[]);
    let at = |place: &str, revision: &str, folder: &str| {
        let found = resolve(&remotes, place, revision, folder).unwrap();
        (found.commit.to_string(), found.name, found.ref_name)
    };
    for (revision, folder) in
        [("v1", ""), ("v1", "pkg"), ("v1", "pkg/sub"), ("refs/tags/v1", "pkg"), ("main", "")]
    {
        let local = at(&remote.repository.url(), revision, folder);
        assert_eq!(at(&remote.url(), revision, folder), local, "{revision} {folder}");
    }
    assert_eq!(at(&remote.url(), "v1", "").0, first, "the commit that the annotated tag is about");
    let url = remote.url().parse().unwrap();
    let local = remotes.refs(&remote.repository.url().parse().unwrap(), &Silent).unwrap();
    assert_eq!(remotes.refs(&url, &Silent).unwrap(), local);
}

#[test]
fn old_servers_work_too() {
    let remote = Remote::new(Behaviour { old: true, ..Behaviour::default() });
    let remotes = remotes(remote.home.path(), &[]);
    let first = remote.head();
    assert_eq!(resolve(&remotes, &remote.url(), "main", "").unwrap().commit.to_string(), first);
    assert_eq!(listing(&read(&remotes, &remote.url(), &first, "pkg").unwrap()), ["100644 f 1"]);
    let second = remote.repository.commit(&[("pkg/f", "2")]);
    let third = remote.repository.commit(&[("pkg/f", "3")]);
    assert_eq!(listing(&read(&remotes, &remote.url(), &third, "pkg").unwrap()), ["100644 f 3"]);
    // No ref points to it, so the server gives it away only with all that the branch leads to.
    assert_eq!(listing(&read(&remotes, &remote.url(), &second, "pkg").unwrap()), ["100644 f 2"]);
    let unknown = "1".repeat(40);
    assert!(matches!(read(&remotes, &remote.url(), &unknown, ""), Err(Error::UnknownCommit { .. })));
}

#[test]
fn failures_say_what_is_wrong() {
    let remote = Remote::new(Behaviour::default());
    let remotes = remotes(remote.home.path(), &[]);
    let unknown = "1".repeat(40);
    let error = read(&remotes, &remote.url(), &unknown, "").unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("repository \"{}\" has no commit {unknown}, or does not give it away", remote.url())
    );
    let error = read(&remotes, &remote.url(), &remote.head(), "nowhere").unwrap_err();
    assert!(matches!(error, Error::NoFolder { .. }), "{error}");
    let elsewhere = remote.server.url("nothing.git");
    let error = resolve(&remotes, &elsewhere, "main", "").unwrap_err();
    assert!(
        matches!(&error, Error::NotARepository { cause, .. } if cause.starts_with("HTTP status 404")),
        "{error}"
    );
    let url = format!("http://127.0.0.1:{}/a.git", closed_port());
    let error = resolve(&remotes, &url, "main", "").unwrap_err();
    assert_eq!(error.to_string(), format!("cannot reach \"{url}\": Connection refused (os error 111)"));
    let error = resolve(&remotes, "http://no-such-host.invalid/a.git", "main", "").unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");

    let answers = [(200, "<html>hello</html>"), (500, "out of order"), (403, "not for you")];
    for (status, text) in answers {
        remote.server.set(Behaviour { always: Some((status, text.to_owned())), ..Behaviour::default() });
        let error = resolve(&remotes, &remote.url(), "main", "").unwrap_err();
        match status {
            403 => {
                assert!(
                    matches!(&error, Error::Credentials { cause, .. } if cause.contains(text)),
                    "{error}"
                );
            }
            500 => {
                assert!(matches!(&error, Error::Protocol { cause, .. } if cause.contains(text)), "{error}");
            }
            _ => assert!(matches!(error, Error::Protocol { .. }), "{error}"),
        }
    }
}

// ---- who we are

struct Stopping {
    cancel: Cancel,
    at: Phase,
}

impl Progress for Stopping {
    fn report(&self, report: Report) {
        if report.phase == self.at {
            let cancel = self.cancel.clone();
            // As a key press would: from elsewhere, while we wait for the server.
            std::thread::spawn(move || cancel.cancel());
        }
    }

    fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }
}

#[test]
fn a_transfer_that_hangs_can_be_stopped() {
    let remote = Remote::new(Behaviour { stall: true, ..Behaviour::default() });
    let remotes = remotes(remote.home.path(), &[]);
    let stopping = Stopping { cancel: Cancel::default(), at: Phase::Receiving };
    let want = Want { commit: remote.head().parse().unwrap(), folder: folder("") };
    let error =
        remotes.packages(&remote.url().parse().unwrap(), std::slice::from_ref(&want), &stopping).unwrap_err();
    assert!(matches!(error, Error::Cancelled), "{error}");
    let error = remotes.packages(&remote.url().parse().unwrap(), &[want], &stopping).unwrap_err();
    assert!(matches!(error, Error::Cancelled), "who is stopped does not begin: {error}");
    remote.server.set(Behaviour::default());
    assert!(read(&remotes, &remote.url(), &remote.head(), "pkg").is_ok(), "nothing is left in the way");
}
