//! Why a repository did not give what was asked.

use std::path::PathBuf;

use lanai_krm::package::{self, Folder};
use lanai_types::quote::Quoted;
use lanai_types::{ByteSize, CommitId};

use crate::{RemoteUrl, Revision};

/// Why a repository did not give what was asked. No text of it shows a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The repository has no such branch, tag or commit.
    #[error("repository \"{remote}\" has no branch or tag {}{}", Quoted(&.revision.to_string()), near_names(.revision, .near))]
    UnknownRevision {
        /// Where it was looked for.
        remote: RemoteUrl,
        /// What was looked for.
        revision: Revision,
        /// Branches and tags with a similar name, the nearest first.
        near: Vec<String>,
    },
    /// The commit is not in the repository, or the server does not give it away.
    #[error("repository \"{remote}\" has no commit {commit}, or does not give it away")]
    UnknownCommit {
        /// Where it was looked for.
        remote: RemoteUrl,
        /// What was looked for.
        commit: CommitId,
    },
    /// The repository has no commits at all, or none on its default branch.
    #[error("repository \"{remote}\" has no default branch; is it empty?")]
    NoDefaultBranch {
        /// Where it was looked for.
        remote: RemoteUrl,
    },
    /// The commit has no such folder.
    #[error("repository \"{remote}\" has no folder {} in commit {}", Quoted(&.folder.to_string()), .commit.object_id().short())]
    NoFolder {
        /// Where it was looked for.
        remote: RemoteUrl,
        /// The commit.
        commit: CommitId,
        /// What was looked for.
        folder: Folder,
    },
    /// There is no connection: no such host, nobody answers, or it was lost.
    #[error("cannot reach \"{remote}\": {cause}")]
    Unreachable {
        /// What was to be reached.
        remote: RemoteUrl,
        /// What happened.
        cause: String,
    },
    /// There is a server, and what it shows of itself cannot be trusted.
    #[error(
        "cannot trust \"{remote}\": {cause}\nhint: give the certificate of its authority, with the credential (ca.crt) or with http.sslCAInfo"
    )]
    Tls {
        /// The server.
        remote: RemoteUrl,
        /// What is wrong.
        cause: String,
    },
    /// It asks us to come back later.
    #[error("\"{remote}\" has had enough requests for now: {cause}")]
    RateLimited {
        /// Who asks.
        remote: RemoteUrl,
        /// What it said.
        cause: String,
        /// How long it wants us to stay away, where it says so.
        retry_after: Option<std::time::Duration>,
    },
    /// The server has a trouble of its own that may pass.
    #[error("\"{remote}\" cannot answer now: {cause}")]
    Unavailable {
        /// The server.
        remote: RemoteUrl,
        /// What it said.
        cause: String,
    },
    /// The other side was silent for too long.
    #[error("\"{remote}\" does not answer: {cause}")]
    Timeout {
        /// Who was asked.
        remote: RemoteUrl,
        /// What was waited for.
        cause: String,
    },
    /// The server wants to know who asks, and what we have does not satisfy it.
    #[error(
        "\"{remote}\" asks for credentials: {cause}\nhint: configure a credential helper for git (git config credential.helper), or an ssh key"
    )]
    Credentials {
        /// Who asks.
        remote: RemoteUrl,
        /// What was tried.
        cause: String,
    },
    /// ssh does not know the server's key, or knows another one.
    #[error(
        "the ssh key of \"{remote}\" cannot be trusted: {cause}\nhint: connect to it once with ssh to look at its key and accept it, or add it to known_hosts"
    )]
    HostKey {
        /// The server.
        remote: RemoteUrl,
        /// What ssh said.
        cause: String,
    },
    /// Something is there, but it is no Git repository.
    #[error("\"{remote}\" is no git repository: {cause}")]
    NotARepository {
        /// What was asked.
        remote: RemoteUrl,
        /// What was found.
        cause: String,
    },
    /// The other side said something that is not Git's protocol, or refused.
    #[error("\"{remote}\" does not answer as a git server does: {cause}")]
    Protocol {
        /// Who answered.
        remote: RemoteUrl,
        /// What it said.
        cause: String,
    },
    /// The repository uses something of Git that we do not read.
    #[error("repository \"{remote}\" uses {what}, which is not supported")]
    Unsupported {
        /// The repository.
        remote: RemoteUrl,
        /// What it uses.
        what: String,
    },
    /// The repository is damaged.
    #[error("repository \"{remote}\" is damaged: {cause}")]
    Damaged {
        /// The repository.
        remote: RemoteUrl,
        /// What is wrong.
        cause: String,
    },
    /// The folder is no package: too large, or with paths that could leave it.
    #[error("folder {} of \"{remote}\" at commit {}: {cause}", Quoted(&.folder.to_string()), .commit.object_id().short())]
    Package {
        /// The repository.
        remote: RemoteUrl,
        /// The commit.
        commit: CommitId,
        /// The folder.
        folder: Folder,
        /// What is wrong.
        cause: Box<package::Error>,
    },
    /// The name of a file is not UTF-8.
    #[error("folder {} of \"{remote}\" at commit {} has a file name that is not UTF-8: {}", Quoted(&.folder.to_string()), .commit.object_id().short(), Quoted(.name))]
    FileName {
        /// The repository.
        remote: RemoteUrl,
        /// The commit.
        commit: CommitId,
        /// The folder that was read.
        folder: Folder,
        /// The path below it, with a mark in place of what is no text.
        name: String,
    },
    /// A limit of [`Limits`](crate::Limits) was exceeded.
    #[error("\"{remote}\" sends more than the {limit} that are allowed ({name})")]
    TooMuch {
        /// Who sends.
        remote: RemoteUrl,
        /// The limit.
        limit: ByteSize,
        /// The name of the limit.
        name: &'static str,
    },
    /// A file or folder of the cache, or of Git's configuration, cannot be used.
    #[error("{what} {}: {cause}", Quoted(&.path.to_string_lossy()))]
    File {
        /// What was tried.
        what: &'static str,
        /// The path.
        path: PathBuf,
        /// Why not.
        cause: String,
    },
    /// Somebody asked to stop.
    #[error("stopped on request")]
    Cancelled,
}

/// The texts of an error and of its causes, in one line.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string().trim().replace(char::is_control, " ");
        if !text.is_empty() && !texts.contains(&text) {
            texts.push(text);
        }
        next = error.source();
    }
    texts.join(": ")
}

fn near_names(revision: &Revision, near: &[String]) -> String {
    let name = revision.to_string();
    let is_short_id = (4..40).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if near.is_empty() && is_short_id {
        return "\nhint: a commit is found by all of its 40 digits only".to_owned();
    }
    if near.is_empty() {
        return String::new();
    }
    let quoted: Vec<_> = near.iter().map(|name| Quoted(name).to_string()).collect();
    format!("\nhint: it has {}", quoted.join(", "))
}
