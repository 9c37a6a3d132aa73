//! Over ssh: scripts stand in for it, and run git's own end of the conversation. The tests of the binary talk to a real
//! server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lanai_repository::{Caller, Echo, Error, Person, Remotes};

use crate::repository::Repository;
use crate::{listing, options, read, remotes, resolve};

/// Writes a script that records its arguments and then does what the text says.
fn script(home: &Path, name: &str, text: &str) -> PathBuf {
    let path = home.join(name);
    let record = format!("printf '%s\\n' \"$@\" >> {}/arguments", home.display());
    fs::write(&path, format!("#!/bin/sh\n{record}\n{text}\n")).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("a script that can be run");
    path
}

/// Runs the last argument, as a server does with what ssh brings.
const SERVE: &str = "for last; do :; done\nexec sh -c \"$last\"";

#[test]
fn a_package_comes_over_ssh() {
    let repository = Repository::with(&[("pkg/f", "1")]);
    let home = tempfile::tempdir().unwrap();
    let commit = repository.git(&["rev-parse", "HEAD"]);
    let command = script(home.path(), "ssh", SERVE);
    let remotes = remotes(home.path(), &[("GIT_SSH_COMMAND", &format!("{} -x", command.display()))]);
    let url = format!("git@host.example:{}", repository.url());
    assert_eq!(resolve(&remotes, &url, "main", "").unwrap().commit.to_string(), commit);
    let arguments = fs::read_to_string(home.path().join("arguments")).unwrap();
    assert_eq!(
        arguments.lines().collect::<Vec<_>>(),
        [
            "-x",
            "-o",
            "SendEnv=GIT_PROTOCOL",
            "-o",
            "BatchMode=yes",
            "-o",
            "ConnectTimeout=30",
            "git@host.example",
            &format!("git-upload-pack '{}'", repository.url()),
        ]
    );
    assert_eq!(listing(&read(&remotes, &url, &commit, "pkg").unwrap()), ["100644 f 1"]);
    let with_port = format!("ssh://host.example:2222{}", repository.url());
    assert_eq!(listing(&read(&remotes, &with_port, &commit, "pkg").unwrap()), ["100644 f 1"]);
    let arguments = fs::read_to_string(home.path().join("arguments")).unwrap();
    assert!(arguments.contains("\n-p\n2222\nhost.example\n"), "{arguments}");
}

/// Never asked: ssh talks to people itself.
#[derive(Debug)]
struct Nobody;

impl Person for Nobody {
    fn ask(&self, question: &str, _: Echo) -> Option<String> {
        unreachable!("nobody is asked {question}")
    }
}

#[test]
fn ssh_may_ask_somebody_who_is_there() {
    let repository = Repository::with(&[("pkg/f", "1")]);
    let home = tempfile::tempdir().unwrap();
    // Only the process group of the terminal may read from it.
    let ours = std::process::id();
    let group = "sed 's/.*) //' /proc/$process/stat | cut -d ' ' -f 3";
    let groups =
        format!("for process in $$ {ours}; do {group}; done | uniq > {}/groups", home.path().display());
    let text = format!("{groups}\n{SERVE}");
    let command = script(home.path(), "ssh", &text);
    let options = options(home.path(), &[("GIT_SSH_COMMAND", command.to_str().unwrap())]);
    let caller = Caller { person: Some(Arc::new(Nobody)), ..Caller::default() };
    let url = format!("git@host.example:{}", repository.url());
    resolve(&Remotes::for_caller(options, caller), &url, "main", "").unwrap();
    let arguments = fs::read_to_string(home.path().join("arguments")).unwrap();
    assert!(!arguments.contains("BatchMode"), "{arguments}");
    let groups = fs::read_to_string(home.path().join("groups")).unwrap();
    assert_eq!(groups.lines().count(), 1, "{groups}");
}

#[test]
fn a_program_that_is_not_openssh_gets_no_options() {
    let repository = Repository::with(&[("pkg/f", "1")]);
    let home = tempfile::tempdir().unwrap();
    let commit = repository.git(&["rev-parse", "HEAD"]);
    let command = script(home.path(), "carrier", &format!("[ \"$1\" = -G ] && exit 1\n{SERVE}"));
    fs::write(home.path().join(".gitconfig"), format!("[core]\nsshCommand = {}\n", command.display()))
        .unwrap();
    let remotes = remotes(home.path(), &[]);
    let url = format!("host.example:{}", repository.url());
    assert_eq!(listing(&read(&remotes, &url, &commit, "pkg").unwrap()), ["100644 f 1"]);
    let arguments = fs::read_to_string(home.path().join("arguments")).unwrap();
    let served = format!("git-upload-pack '{}'", repository.url());
    assert_eq!(arguments.lines().collect::<Vec<_>>(), ["-G", "host.example", "host.example", &served]);
    let error = resolve(&remotes, "ssh://host.example:22/a", "main", "").unwrap_err();
    assert!(error.to_string().contains("takes no port\nhint: set ssh.variant to ssh"), "{error}");
}

#[test]
fn paths_are_one_word_for_the_other_side() {
    let outer = tempfile::tempdir().unwrap();
    let odd = outer.path().join("it's $(odd)!");
    fs::create_dir(&odd).unwrap();
    let repository = Repository::with(&[("f", "1")]);
    let bare = repository.bare(&odd);
    let command = script(outer.path(), "ssh", SERVE);
    let remotes = remotes(outer.path(), &[("GIT_SSH", command.to_str().unwrap())]);
    let url = format!("host:{}", bare.display());
    assert_eq!(resolve(&remotes, &url, "main", "").unwrap().name, "main");
}

#[test]
fn failures_are_told_apart() {
    let home = tempfile::tempdir().unwrap();
    let check = |text: &str| {
        let command = script(home.path(), "ssh", text);
        let remotes = remotes(home.path(), &[("GIT_SSH_COMMAND", command.to_str().unwrap())]);
        resolve(&remotes, "git@host:nothing", "main", "").unwrap_err()
    };
    let error = check("echo 'ssh: Could not resolve hostname host: no' >&2; exit 255");
    assert_eq!(
        error.to_string(),
        "cannot reach \"git@host:nothing\": ssh: Could not resolve hostname host: no"
    );
    let error = check("echo 'git@host: Permission denied (publickey).' >&2; exit 255");
    assert!(matches!(error, Error::Credentials { .. }), "{error}");
    let error = check(
        "echo '@@@@@' >&2; echo '@  WARNING  @' >&2; echo 'Host key verification failed.' >&2; exit 255",
    );
    assert!(
        error.to_string().starts_with(
            "the ssh key of \"git@host:nothing\" cannot be trusted: WARNING; Host key verification failed.\nhint: "
        ),
        "{error}"
    );
    let error = check(SERVE);
    assert!(matches!(error, Error::NotARepository { .. }), "{error}");
    let error = check("echo hello; exit 0");
    assert!(matches!(error, Error::Protocol { .. }), "{error}");

    let remotes = remotes(home.path(), &[("GIT_SSH", "/no/such/ssh")]);
    let error = resolve(&remotes, "host:a", "main", "").unwrap_err();
    assert_eq!(error.to_string(), "cannot reach \"host:a\": cannot start \"/no/such/ssh\": not found");
}
