//! Who may read, and whom to trust: passwords, redirects and certificates.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use lanai_repository::{Caller, Echo, Error, Person, Remotes};
use lanai_testkit::skip;

use crate::http::Remote;
use crate::server::{Behaviour, Server};
use crate::{listing, options, read, remotes, resolve};

/// "ann" and "s3cret".
const ANN: &str = "Basic YW5uOnMzY3JldA==";

fn guarded() -> Remote {
    Remote::new(Behaviour { authorization: Some(ANN.to_owned()), ..Behaviour::default() })
}

/// Writes a helper that answers with a password and keeps a record of what it was asked, and git's configuration for it.
fn helper(home: &Path, password: &str) {
    let script = home.join("helper");
    let text = format!(
        "#!/bin/sh\n(echo \"# $1\"; cat) >> {0}/asked\n[ \"$1\" = get ] && printf 'username=ann\\npassword={password}\\n'\nexit 0\n",
        home.display()
    );
    fs::write(&script, text).expect("a script");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).expect("a script that can be run");
    let config = format!("[credential]\n\thelper = {}\n", script.display());
    fs::write(home.join(".gitconfig"), config).expect("a configuration");
}

#[test]
fn a_credential_helper_is_asked_and_told() {
    let remote = guarded();
    helper(remote.home.path(), "s3cret");
    let remotes = remotes(remote.home.path(), &[]);
    read(&remotes, &remote.url(), &remote.head(), "pkg").unwrap();
    let asked = fs::read_to_string(remote.home.path().join("asked")).unwrap();
    let host = format!("127.0.0.1:{}", remote.server.port());
    let question = format!("protocol=http\nhost={host}\n");
    assert_eq!(
        asked,
        format!("# get\n{question}\n# store\n{question}username=ann\npassword=s3cret\n\n"),
        "asked once, and told that it was right"
    );
}

#[test]
fn a_wrong_password_is_taken_back() {
    let remote = guarded();
    helper(remote.home.path(), "wrong");
    let error = resolve(&remotes(remote.home.path(), &[]), &remote.url(), "main", "").unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "\"{}\" asks for credentials: user name and password were not accepted\nhint: configure a credential helper \
             for git (git config credential.helper), or an ssh key",
            remote.url()
        )
    );
    let asked = fs::read_to_string(remote.home.path().join("asked")).unwrap();
    assert!(asked.contains("# erase\n"), "{asked}");
}

#[test]
fn nobody_is_asked_when_nobody_is_configured() {
    let remote = guarded();
    let remotes = remotes(remote.home.path(), &[]);
    let error = resolve(&remotes, &remote.url(), "main", "").unwrap_err();
    assert!(
        matches!(&error, Error::Credentials { cause, .. } if cause == "no credential helper knows a user name and password"),
        "{error}"
    );
}

#[test]
fn passwords_come_from_addresses_programs_and_headers_too() {
    let remote = guarded();
    let home = remote.home.path();
    let with = |userinfo: &str| remote.url().replace("http://", &format!("http://{userinfo}@"));
    assert!(resolve(&remotes(home, &[]), &with("ann:s3cret"), "main", "").is_ok());
    let wrong = resolve(&remotes(home, &[]), &with("ann:hidden"), "main", "").unwrap_err();
    assert!(matches!(wrong, Error::Credentials { .. }), "{wrong}");
    assert!(!format!("{wrong} {wrong:?}").contains("hidden"), "{wrong:?}");

    let ask = home.join("ask");
    fs::write(&ask, "#!/bin/sh\ncase \"$1\" in Username*) echo ann;; *) echo s3cret;; esac\n").unwrap();
    fs::set_permissions(&ask, fs::Permissions::from_mode(0o700)).unwrap();
    let asking = remotes(home, &[("GIT_ASKPASS", ask.to_str().unwrap())]);
    assert!(resolve(&asking, &remote.url(), "main", "").is_ok());

    let header = format!("Authorization: {ANN}");
    let variables = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "http.extraHeader"),
        ("GIT_CONFIG_VALUE_0", header.as_str()),
    ];
    assert!(resolve(&remotes(home, &variables), &remote.url(), "main", "").is_ok());
}

/// Somebody who knows a name and a password, or nothing, and remembers the questions.
#[derive(Debug, Default)]
struct Somebody {
    knows: Option<(&'static str, &'static str)>,
    asked: Mutex<Vec<(String, Echo)>>,
}

impl Person for Somebody {
    fn ask(&self, question: &str, echo: Echo) -> Option<String> {
        self.asked.lock().expect("nobody panicked").push((question.to_owned(), echo));
        let (name, password) = self.knows?;
        Some(if echo == Echo::Shown { name } else { password }.to_owned())
    }
}

fn attended(home: &Path, variables: &[(&str, &str)], somebody: &Arc<Somebody>) -> Remotes {
    let person: Arc<dyn Person> = Arc::clone(somebody) as _;
    Remotes::for_caller(options(home, variables), Caller { person: Some(person), ..Caller::default() })
}

#[test]
fn somebody_who_is_there_is_asked_in_gits_words() {
    let remote = guarded();
    let home = remote.home.path();
    let host = format!("http://127.0.0.1:{}", remote.server.port());
    let ann = Arc::new(Somebody { knows: Some(("ann", "s3cret")), ..Somebody::default() });
    let remotes = attended(home, &[], &ann);
    assert!(resolve(&remotes, &remote.url(), "main", "").is_ok());
    assert!(read(&remotes, &remote.url(), &remote.head(), "pkg").is_ok(), "nobody is asked twice");
    let with_name = host.replace("http://", "http://ann@");
    assert_eq!(
        *ann.asked.lock().unwrap(),
        [
            (format!("Username for '{host}': "), Echo::Shown),
            (format!("Password for '{with_name}': "), Echo::Hidden)
        ]
    );
    // Helpers come first, and are told what somebody typed.
    let silent = Arc::new(Somebody::default());
    helper(home, "s3cret");
    assert!(resolve(&attended(home, &[], &silent), &remote.url(), "main", "").is_ok());
    assert_eq!(*silent.asked.lock().unwrap(), []);
    let quiet = "#!/bin/sh\n(echo \"# $1\"; cat) >> \"$HOME/told\"\n";
    fs::write(home.join("helper"), quiet).unwrap();
    assert!(resolve(&attended(home, &[], &ann), &remote.url(), "main", "").is_ok());
    let told = fs::read_to_string(home.join("told")).unwrap();
    assert!(told.contains("# store\n") && told.contains("username=ann\npassword=s3cret\n"), "{told}");
}

#[test]
fn somebody_who_does_not_answer_or_is_not_to_be_asked_is_no_login() {
    let remote = guarded();
    let home = remote.home.path();
    let silent = Arc::new(Somebody::default());
    let error = resolve(&attended(home, &[], &silent), &remote.url(), "main", "").unwrap_err();
    assert!(matches!(error, Error::Credentials { .. }), "{error}");
    assert_eq!(silent.asked.lock().unwrap().len(), 1, "the name, and nothing more");
    let ann = Arc::new(Somebody { knows: Some(("ann", "s3cret")), ..Somebody::default() });
    let forbidden = attended(home, &[("GIT_TERMINAL_PROMPT", "0")], &ann);
    let error = resolve(&forbidden, &remote.url(), "main", "").unwrap_err();
    assert!(matches!(error, Error::Credentials { .. }), "{error}");
    assert_eq!(*ann.asked.lock().unwrap(), []);
}

// ---- elsewhere

#[test]
fn a_repository_that_moved_is_followed() {
    let remote = Remote::new(Behaviour::default());
    let moved = Some(("/old".to_owned(), remote.server.url(".git")));
    remote.server.set(Behaviour { moved, ..Behaviour::default() });
    let remotes = remotes(remote.home.path(), &[]);
    let content = read(&remotes, &remote.server.url("old"), &remote.head(), "pkg").unwrap();
    assert_eq!(listing(&content), ["100644 f 1"]);
    let around = Some(("/.git".to_owned(), remote.server.url(".git")));
    remote.server.set(Behaviour { moved: around, ..Behaviour::default() });
    assert!(matches!(resolve(&remotes, &remote.url(), "main", ""), Err(Error::Protocol { .. })));
}

#[test]
fn a_password_does_not_move_to_another_host() {
    let target = guarded();
    let other = Server::start(target.repository.path(), Behaviour::default());
    let moved = Some(("/old".to_owned(), target.url()));
    other.set(Behaviour { moved, ..Behaviour::default() });
    let url = other.url("old").replace("http://", "http://ann:s3cret@");
    let error = resolve(&remotes(target.home.path(), &[]), &url, "main", "").unwrap_err();
    assert!(matches!(error, Error::Credentials { .. }), "{error}");
}

// ---- TLS

/// Runs openssl; false where there is none.
fn openssl(folder: &Path, arguments: &[&str]) -> bool {
    #[allow(clippy::disallowed_methods, reason = "certificates are made by openssl, which is not ours")]
    let status = Command::new("openssl").current_dir(folder).args(arguments).output();
    status.is_ok_and(|output| output.status.success())
}

/// Makes an authority (`ca.pem`) and a certificate of it for 127.0.0.1 (`cert.pem`, `key.pem`); false where openssl makes none.
pub(crate) fn certificates(at: &Path) -> bool {
    fs::write(at.join("ext"), "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n").expect("a file");
    openssl(
        at,
        &[
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-keyout",
            "ca.key",
            "-out",
            "ca.pem",
            "-subj",
            "/CN=test authority",
            "-days",
            "2",
        ],
    ) && openssl(
        at,
        &[
            "req",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-keyout",
            "key.pem",
            "-out",
            "request.pem",
            "-subj",
            "/CN=127.0.0.1",
        ],
    ) && openssl(
        at,
        &[
            "x509",
            "-req",
            "-in",
            "request.pem",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-out",
            "cert.pem",
            "-days",
            "2",
            "-extfile",
            "ext",
        ],
    )
}

#[test]
fn https_trusts_the_authority_that_is_configured_and_no_other() {
    let keys = tempfile::tempdir().unwrap();
    let at = keys.path();
    if !certificates(at) {
        skip("repository::http::https", "openssl is not there or makes no certificates");
        return;
    }
    let tls = Some((at.join("cert.pem"), at.join("key.pem")));
    let remote = Remote::new(Behaviour { tls, ..Behaviour::default() });
    let home = remote.home.path();
    assert!(remote.url().starts_with("https://"));
    let error = resolve(&remotes(home, &[]), &remote.url(), "main", "").unwrap_err();
    assert!(matches!(&error, Error::Tls { cause, .. } if cause.contains("certificate")), "{error}");

    let authority = at.join("ca.pem");
    let authority = authority.to_str().unwrap();
    assert!(resolve(&remotes(home, &[("GIT_SSL_CAINFO", authority)]), &remote.url(), "main", "").is_ok());
    fs::write(
        home.join(".gitconfig"),
        format!("[http \"{}\"]\nsslCAInfo = {authority}\n", remote.server.url("")),
    )
    .unwrap();
    assert!(read(&remotes(home, &[]), &remote.url(), &remote.head(), "pkg").is_ok());
    fs::write(home.join(".gitconfig"), "[http]\nsslVerify = false\n").unwrap();
    assert!(resolve(&remotes(home, &[]), &remote.url(), "main", "").is_ok());
    let error = resolve(&remotes(home, &[("GIT_SSL_CAINFO", "/no/such/file")]), &remote.url(), "main", "");
    assert!(error.is_ok(), "nothing is verified, so nothing is read");
    fs::remove_file(home.join(".gitconfig")).unwrap();
    let error = resolve(&remotes(home, &[("GIT_SSL_CAINFO", "/no/such/file")]), &remote.url(), "main", "")
        .unwrap_err();
    assert!(error.to_string().starts_with("cannot read certificates \"/no/such/file\": "), "{error}");
}

// ---- stopping
