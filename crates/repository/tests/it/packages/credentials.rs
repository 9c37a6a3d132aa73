//! Who may see what, and what nobody may see.

use std::sync::Arc;
use std::thread;

use lanai_repository::packages::{NoJournal, Operation};
use lanai_repository::{Credential, Credentials as _, Error, Proof, Silent};
use lanai_testkit::sshd::{Protocol, Sshd};

use super::{Kind, PASSWORD, USER, World, basic, lines, publish_content, save, snapshot, write};
use crate::access::certificates;
use crate::server::{Behaviour, Server};

/// The mirror is shared, what was listed is not.
#[test]
fn an_id_opens_nothing_for_who_was_not_shown_it() {
    let world = World::new(Kind::Http);
    let mine = world.open();
    write(&mine, Operation::CreateBranch).unwrap();
    write(&mine, publish_content("secret", "w", "1")).unwrap();
    let (refs, seen) = snapshot(&mine);
    let found = seen.revisions.iter().find(|found| found.revision.get() == 1).unwrap();
    assert!(mine.read(&refs, found.commit, &found.package, &Silent).is_ok());

    // Another namespace has no access: nothing is listed, so nothing is read, although it is all in the mirror.
    world.secrets.set("other/git", Proof::Bearer("wrong".to_owned()));
    let other = world.open_as("other/git", "");
    assert!(matches!(other.poll(&Silent), Err(Error::Credentials { .. })));
    let nothing = lanai_repository::packages::Refs::default();
    let error = other.read(&nothing, found.commit, &found.package, &Silent).unwrap_err();
    assert!(matches!(error, Error::UnknownCommit { .. }), "{error}");

    // A commit that no ref leads to any more is not read either.
    let gone = write(&mine, save("p", "w", "1", None)).unwrap().commit.unwrap();
    mine.poll(&Silent).unwrap();
    world.git(&["branch", "-D", "drafts/p/w"]);
    let refs = mine.poll(&Silent).unwrap();
    let error = mine.read(&refs, gone, &"p".parse().unwrap(), &Silent).unwrap_err();
    assert!(matches!(error, Error::UnknownCommit { .. }), "{error}");
    let old = refs.commit(&"refs/heads/main".parse().unwrap()).unwrap();
    assert!(mine.read(&refs, old, &"secret".parse().unwrap(), &Silent).is_ok());
}

#[test]
fn a_changed_credential_counts_from_the_next_call_on() {
    let world = World::new(Kind::Http);
    let repository = world.open();
    repository.poll(&Silent).unwrap();
    let server = world.server.as_ref().unwrap();
    server.set(Behaviour { authorization: Some("Bearer new-token".to_owned()), ..Behaviour::default() });
    assert!(matches!(repository.poll(&Silent), Err(Error::Credentials { .. })));
    world.secrets.set("ns/git", Proof::Bearer("new-token".to_owned()));
    repository.poll(&Silent).unwrap();
    write(&repository, Operation::CreateBranch).unwrap();
}

#[test]
fn a_credential_does_not_follow_a_redirect_to_another_place() {
    let world = World::new(Kind::Http);
    let elsewhere = Server::start(
        &world.home.path().join("served"),
        Behaviour { authorization: Some("Basic never".to_owned()), ..Behaviour::default() },
    );
    let authorization = Some(basic(USER, PASSWORD));
    let moved = Some(("/remote.git".to_owned(), elsewhere.url("remote.git")));
    world.server.as_ref().unwrap().set(Behaviour { authorization, moved, ..Behaviour::default() });
    let error = world.open().poll(&Silent).unwrap_err();
    assert!(
        matches!(&error, Error::Credentials { cause, .. } if cause.contains("does not belong")),
        "{error}"
    );
    assert!(!elsewhere.requests().is_empty(), "it was asked");
    assert_eq!(elsewhere.authorizations(), [None::<String>], "without a word about who we are");
}

/// A real server lets in who has the key, and is known by its own.
#[test]
fn a_key_for_ssh_reads_and_writes() {
    let world = World::new(Kind::Near);
    let keys = world.home.path().join("ssh");
    let test = "repository::packages: the key of a credential and a real ssh server";
    let Some(server) = Sshd::start(&keys, Protocol::Any, test) else { return };
    let file = |name: &str| std::fs::read_to_string(keys.join(name)).unwrap();
    let (key, known) = (file("key"), file("known"));
    let address = format!("ssh://{}@127.0.0.1:{}{}", server.user, server.port, world.folder.display());
    let proof =
        |key: &str, known: &str| Proof::SshKey { key: key.to_owned(), known_hosts: Some(known.to_owned()) };
    world.secrets.set("ns/key", proof(&key, &known));
    let repository = super::open(&world.all, &address, "ns/key", "");
    write(&repository, Operation::CreateBranch).unwrap();
    write(&repository, publish_content("p", "w", "1")).unwrap();
    let (_, seen) = snapshot(&repository);
    assert_eq!(lines(&seen).len(), 2, "{:?}", lines(&seen));
    assert!(world.refs().iter().any(|name| name.contains("refs/tags/p/v1")), "{:?}", world.refs());

    // Another key, and a server that nobody vouches for.
    world.secrets.set("ns/key", proof(&file("other"), &known));
    let error = repository.poll(&Silent).unwrap_err();
    assert!(matches!(error, Error::Credentials { .. }), "{error}");
    let error = write(&repository, publish_content("p", "w2", "2")).unwrap_err();
    assert!(error.to_string().contains("Permission denied"), "{error}");
    world.secrets.set("ns/key", proof(&key, ""));
    let error = repository.poll(&Silent).unwrap_err();
    assert!(error.to_string().contains("cannot be trusted"), "{error}");
    assert!(!error.to_string().contains(key.lines().nth(1).unwrap()));
}

/// A key is given to ssh in a file without a name: who is killed leaves nothing behind. Without a key nothing of the user's is shown.
#[test]
fn a_key_for_ssh_is_in_no_folder() {
    let world = World::new(Kind::Near);
    let home = world.home.path();
    let program = home.join("ssh");
    // Notes what it was given, then does as a server does.
    let text = format!(
        "#!/bin/sh\nprintf '%s ' \"$@\" >> {0}/said\necho >> {0}/said\nfor last; do :; done\n\
         while [ $# -gt 1 ]; do if [ \"$1\" = -i ]; then readlink \"$2\" >> {0}/said; cat \"$2\" >> {0}/said; \
         stat -L -c %a \"$2\" >> {0}/said; fi; shift; done\nexec sh -c \"$last\"\n",
        home.display()
    );
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let options = crate::options(home, &[("GIT_SSH_COMMAND", program.to_str().unwrap())]);
    let secrets: Arc<dyn lanai_repository::Credentials> = world.secrets.clone();
    let settings = lanai_repository::packages::Settings::new(home.join("own"), 7);
    let all = lanai_repository::packages::Repositories::new(options, settings, secrets, Arc::new(NoJournal));
    let all = Arc::new(all);
    let known_hosts = Some("trusted".to_owned());
    world.secrets.set("ns/key", Proof::SshKey { key: "the key itself".to_owned(), known_hosts });
    let address = format!("ssh://host.example{}", world.folder.display());
    write(&super::open(&all, &address, "ns/key", ""), Operation::CreateBranch).unwrap();
    let said = std::fs::read_to_string(home.join("said")).unwrap();
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[0].contains(" -o IdentityAgent=none -o IdentitiesOnly=yes -F none -i /proc/"), "{said}");
    assert!(lines[0].contains(" -o UserKnownHostsFile=/proc/"), "{said}");
    assert!(lines[1].ends_with(" (deleted)"), "{said}");
    assert_eq!(lines[2..4], ["the key itself", "600"], "{said}");

    std::fs::remove_file(home.join("said")).unwrap();
    super::open(&all, &address, "", "").poll(&Silent).unwrap();
    let said = std::fs::read_to_string(home.join("said")).unwrap();
    let nothing = " -o IdentityAgent=none -o IdentitiesOnly=yes -o IdentityFile=none -F none host.example ";
    assert!(said.contains(nothing), "{said}");
}

/// What a credential brings to trust counts for its remote, for reading and for writing.
#[test]
fn certificates_of_a_credential_are_trusted() {
    let keys = tempfile::tempdir().unwrap();
    if !certificates(keys.path()) {
        lanai_testkit::skip("repository::packages: the certificates of a credential", "openssl makes none");
        return;
    }
    let tls = Some((keys.path().join("cert.pem"), keys.path().join("key.pem")));
    let authorization = Some(basic(USER, PASSWORD));
    let world = World::with(
        Kind::Http,
        Behaviour { authorization, tls, ..Behaviour::default() },
        Arc::new(NoJournal),
    );
    assert!(world.address.starts_with("https://"), "{}", world.address);
    let proof = || Proof::Basic { user: USER.to_owned(), password: PASSWORD.to_owned() };
    world.secrets.set("ns/git", proof());
    let repository = world.open();
    let error = repository.poll(&Silent).unwrap_err();
    assert!(matches!(error, Error::Tls { .. }), "{error}");
    let ca_bundle = Some(std::fs::read(keys.path().join("ca.pem")).unwrap());
    world.secrets.set_all("ns/git", Credential { proof: proof(), ca_bundle });
    write(&repository, Operation::CreateBranch).unwrap();
    write(&repository, publish_content("p", "w", "1")).unwrap();
    assert_eq!(lines(&snapshot(&repository).1).len(), 2);
    world
        .secrets
        .set_all("ns/git", Credential { proof: proof(), ca_bundle: Some(b"no certificate".to_vec()) });
    let error = repository.poll(&Silent).unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
}

/// Nothing that is said in any failure shows a secret.
#[test]
fn secrets_are_in_no_text() {
    let world = World::new(Kind::Http);
    let token = "t0ken-xyzzy";
    world.secrets.set("ns/bearer", Proof::Bearer(token.to_owned()));
    let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nabc-plugh\n";
    world.secrets.set("ns/key", Proof::SshKey { key: key.to_owned(), known_hosts: None });
    let server = world.server.as_ref().unwrap();
    let mut texts = Vec::new();
    let authorization = Some(basic(USER, PASSWORD));
    let behaviours = [
        Behaviour { authorization: Some("Basic other".to_owned()), ..Behaviour::default() },
        Behaviour {
            always: Some((500, "broken".to_owned())),
            authorization: authorization.clone(),
            ..Behaviour::default()
        },
        Behaviour {
            always: Some((403, "not you".to_owned())),
            authorization: authorization.clone(),
            ..Behaviour::default()
        },
        Behaviour {
            always: Some((404, "what?".to_owned())),
            authorization: authorization.clone(),
            ..Behaviour::default()
        },
        Behaviour {
            always: Some((200, "<html>".to_owned())),
            authorization: authorization.clone(),
            ..Behaviour::default()
        },
        Behaviour {
            moved: Some(("/remote.git".to_owned(), "http://127.0.0.1:1/x.git".to_owned())),
            authorization,
            ..Behaviour::default()
        },
    ];
    for behaviour in behaviours {
        server.set(behaviour);
        for credential in ["ns/git", "ns/bearer", "ns/key", "ns/none"] {
            let repository = world.open_as(credential, "");
            let poll = repository.poll(&Silent).unwrap_err();
            texts.push(format!("{poll} {poll:?}"));
            let error = write(&repository, Operation::CreateBranch).unwrap_err();
            texts.push(format!("{error} {error:?}"));
            texts.push(format!("{:?}", repository.spec()));
        }
    }
    let ssh = super::open(&world.all, "ssh://127.0.0.1:1/x.git", "ns/key", "");
    texts.push(format!("{:?}", ssh.poll(&Silent).unwrap_err()));
    texts
        .push(format!("{:?}", world.secrets.resolve(&lanai_repository::CredentialName("ns/git".to_owned()))));
    let encoded = basic(USER, PASSWORD);
    for text in texts {
        for secret in [PASSWORD, token, "abc-plugh", encoded.trim_start_matches("Basic ")] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

#[test]
fn polls_at_the_same_time_share_one() {
    let world = World::new(Kind::Http);
    let repository = world.open();
    write(&repository, Operation::CreateBranch).unwrap();
    repository.poll(&Silent).unwrap();
    let server = world.server.as_ref().unwrap();
    let before = server.requests().len();
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| repository.poll(&Silent).unwrap());
        }
    });
    // A poll is a greeting and a listing.
    let used = server.requests().len() - before;
    assert!(used < 16 * 2, "{used}");
}

#[test]
fn a_broken_or_deleted_mirror_heals() {
    let world = World::new(Kind::Http);
    let repository = world.open();
    write(&repository, Operation::CreateBranch).unwrap();
    write(&repository, publish_content("p", "w", "1")).unwrap();
    let expected = ["p main -1 Published", "p w 1 Published"];
    assert_eq!(lines(&snapshot(&repository).1), expected);
    let mirrors = world.home.path().join("cache/full/git");
    std::fs::remove_dir_all(&mirrors).unwrap();
    let fresh = world.restarted(Arc::new(NoJournal));
    assert_eq!(lines(&snapshot(&fresh).1), expected, "deleted");
    // All packs are cut short.
    let mirror = std::fs::read_dir(&mirrors)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.is_dir())
        .unwrap();
    for entry in std::fs::read_dir(mirror.join("objects/pack")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "pack") {
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, "PACK").unwrap();
        }
    }
    let fresh = world.restarted(Arc::new(NoJournal));
    let (refs, seen) = snapshot(&fresh);
    assert_eq!(lines(&seen), expected, "damaged");
    let found = seen.revisions.iter().find(|found| found.revision.get() == 1).unwrap();
    assert!(fresh.read(&refs, found.commit, &found.package, &Silent).is_ok());
    write(&fresh, publish_content("p", "w2", "2")).unwrap();
    world.fsck();
}

#[test]
fn a_directory_is_all_that_is_seen_of_a_repository() {
    let world = World::new(Kind::Own);
    let whole = world.open();
    write(&whole, Operation::CreateBranch).unwrap();
    write(&whole, publish_content("top", "w", "1")).unwrap();
    let inside = world.open_as("ns/git", "team/a");
    let done = write(&inside, publish_content("pkg", "w", "1")).unwrap();
    assert_eq!(done.revision.unwrap().get(), 1);
    assert_eq!(lines(&snapshot(&inside).1), ["pkg main -1 Published", "pkg w 1 Published"]);
    assert_eq!(world.refs(), ["refs/heads/main", "refs/tags/team/a/pkg/v1", "refs/tags/top/v1"]);
    assert_eq!(world.git(&["log", "-1", "--format=%s", "main"]), "Approving package revision team/a/pkg/1");
    assert_eq!(lines(&snapshot(&whole).1).len(), 4);
    write(&inside, publish_content("pkg", "w2", "2")).unwrap();
    assert_eq!(lines(&snapshot(&inside).1).len(), 3);
    world.fsck();
}
