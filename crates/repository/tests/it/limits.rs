//! Bounds on what a remote sends, on their edges.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lanai_repository::{Error, Limits, Options, Phase, Progress, RemoteUrl, Remotes, Report, Silent, Want};
use lanai_types::ByteSize;

use crate::repository::Repository;
use crate::server::{Behaviour, Server, silent_port};
use crate::{folder, options};

/// The bytes that a phase had in the end.
struct Counted {
    phase: Phase,
    bytes: AtomicU64,
}

impl Progress for Counted {
    fn report(&self, report: Report) {
        if report.phase == self.phase {
            self.bytes.store(report.bytes, Ordering::Relaxed);
        }
    }
}

struct Remote {
    _repository: Repository,
    _server: Server,
    url: RemoteUrl,
    want: Want,
}

impl Remote {
    fn new() -> Self {
        let repository = Repository::with(&[("f", "1")]);
        let server = Server::start(repository.path(), Behaviour::default());
        let commit = repository.git(&["rev-parse", "HEAD"]).parse().expect("a commit");
        let url = server.url(".git").parse().expect("an address");
        Self { url, want: Want { commit, folder: folder("") }, _repository: repository, _server: server }
    }

    /// Does it anew, with an empty cache.
    fn with(&self, limits: Limits, progress: &dyn Progress) -> Result<(), Error> {
        let home = tempfile::tempdir().expect("a folder");
        let remotes = Remotes::new(Options { limits, ..options(home.path(), &[]) });
        remotes.refs(&self.url, progress)?;
        remotes.packages(&self.url, std::slice::from_ref(&self.want), progress).map(|_| ())
    }
}

#[test]
fn a_pack_may_reach_its_limit_and_no_more() {
    let remote = Remote::new();
    let counted = Counted { phase: Phase::Receiving, bytes: AtomicU64::new(0) };
    remote.with(Limits::DEFAULT, &counted).unwrap();
    let size = counted.bytes.load(Ordering::Relaxed);
    assert!(size > 100, "{size}");
    let limited = |bytes| Limits { max_pack: ByteSize::bytes(bytes), ..Limits::DEFAULT };
    remote.with(limited(size), &Silent).unwrap();
    let error = remote.with(limited(size - 1), &Silent).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("\"{}\" sends more than the {} B that are allowed (max_pack)", remote.url, size - 1)
    );
}

#[test]
fn a_listing_may_reach_its_limit_and_no_more() {
    let remote = Remote::new();
    let counted = Counted { phase: Phase::Listing, bytes: AtomicU64::new(0) };
    remote.with(Limits::DEFAULT, &counted).unwrap();
    let refs = counted.bytes.load(Ordering::Relaxed);
    let limited = |bytes| Limits { max_listing: ByteSize::bytes(bytes), ..Limits::DEFAULT };
    // The greeting is longer than the list of one branch.
    let edge = (refs..1000).find(|bytes| remote.with(limited(*bytes), &Silent).is_ok()).unwrap();
    let error = remote.with(limited(edge - 1), &Silent).unwrap_err();
    assert!(matches!(error, Error::TooMuch { name: "max_listing", .. }), "{error}");
}

#[test]
fn a_server_may_not_be_silent_for_ever() {
    let (_listener, port) = silent_port();
    let home = tempfile::tempdir().unwrap();
    let limits = Limits { max_silence: Duration::from_millis(100), ..Limits::DEFAULT };
    let remotes = Remotes::new(Options { limits, ..options(home.path(), &[]) });
    let url: RemoteUrl = format!("http://127.0.0.1:{port}/a.git").parse().unwrap();
    let error = remotes.refs(&url, &Silent).unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
}
