//! Real git makes the repositories, serves them and judges what is read.

mod access;
mod cache;
mod config;
mod eviction;
mod http;
mod limits;
mod local;
mod packages;
mod repository;
mod server;
mod ssh;
mod url;

use std::path::Path;

use lanai_krm::package::Folder;
use lanai_repository::{Content, Environment, Error, Limits, Options, Remotes, Resolved, Silent, Want};

/// Remotes with a cache below a folder, which is the home folder as well. The environment holds the way to programs and
/// what the caller adds.
fn remotes(home: &Path, variables: &[(&str, &str)]) -> Remotes {
    Remotes::new(options(home, variables))
}

fn options(home: &Path, variables: &[(&str, &str)]) -> Options {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut environment = Environment::from([
        ("PATH".into(), path),
        ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ("HOME".into(), home.into()),
    ]);
    environment.extend(variables.iter().map(|(name, value)| (name.into(), value.into())));
    Options {
        cache: home.join("cache"),
        home: Some(home.to_owned()),
        environment,
        limits: Limits::DEFAULT,
        package_limits: lanai_types::Limits::DEFAULT,
    }
}

fn folder(path: &str) -> Folder {
    if path.is_empty() { Folder::Root } else { Folder::At(path.parse().expect("a safe path")) }
}

fn resolve(remotes: &Remotes, remote: &str, revision: &str, at: &str) -> Result<Resolved, Error> {
    let remote = remote.parse().expect("an address");
    let revision = revision.parse().expect("a revision");
    remotes.resolve(&remote, &revision, &folder(at), &Silent)
}

fn read(remotes: &Remotes, remote: &str, commit: &str, at: &str) -> Result<Content, Error> {
    let want = Want { commit: commit.parse().expect("a commit"), folder: folder(at) };
    let contents = remotes.packages(&remote.parse().expect("an address"), &[want], &Silent);
    contents.map(|mut contents| contents.pop().expect("one is wanted"))
}

/// The paths of a package with their modes and contents, a line each.
fn listing(content: &Content) -> Vec<String> {
    let files = content.package.iter();
    files
        .map(|(path, file)| {
            format!("{} {path} {}", file.mode().git(), String::from_utf8_lossy(file.content()))
        })
        .collect()
}
