//! Git's configuration.

use std::fs;

use lanai_repository::{Caller, Error, Remotes, Whereabouts};

use crate::repository::Repository;
use crate::server::{Behaviour, Server, closed_port};
use crate::{options, remotes, resolve};

#[test]
fn addresses_are_replaced() {
    let repository = Repository::with(&[("f", "1")]);
    let home = tempfile::tempdir().unwrap();
    fs::create_dir_all(home.path().join(".config/git")).unwrap();
    fs::write(home.path().join(".config/git/config"), "[include]\npath = ~/more\n").unwrap();
    let base = repository.path().parent().unwrap().display().to_string();
    let text = format!(
        "[url \"/nowhere/\"]\ninsteadOf = https://example\n[url \"{base}/\"]\ninsteadOf = https://example.com/\ninsteadOf = work:\n"
    );
    fs::write(home.path().join("more"), text).unwrap();
    let remotes = remotes(home.path(), &[]);
    let name = repository.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(resolve(&remotes, &format!("https://example.com/{name}"), "main", "").unwrap().name, "main");
    assert_eq!(resolve(&remotes, &format!("work:{name}"), "main", "").unwrap().name, "main");
    let error = resolve(&remotes, "https://example.com/other", "main", "").unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"https://example.com/other\" is no git repository: it does not exist",
        "the address that people know is named"
    );
}

#[test]
fn files_are_included_by_where_the_caller_is() {
    let repository = Repository::with(&[("f", "1")]);
    let home = tempfile::tempdir().unwrap();
    let place = |name: &str| home.path().canonicalize().unwrap().join(name);
    for (name, head) in [("office/a", "ref: refs/heads/main"), ("play/b", "ref: refs/heads/release/1")] {
        fs::create_dir_all(place(name).join(".git")).unwrap();
        fs::create_dir_all(place(name).join("deep/er")).unwrap();
        fs::write(place(name).join(".git/HEAD"), format!("{head}\n")).unwrap();
    }
    fs::create_dir_all(place("office/linked")).unwrap();
    fs::write(place("office/linked/.git"), "gitdir: ../a/.git\n").unwrap();
    let base = repository.path().parent().unwrap().display().to_string();
    let rewrite = |word: &str| format!("[url \"{base}/\"]\ninsteadOf = {word}:\n");
    fs::write(place("work.config"), rewrite("work")).unwrap();
    fs::write(place("release.config"), rewrite("release")).unwrap();
    let conditions = "[includeIf \"gitdir:~/office/\"]\npath = ~/work.config\n[includeIf \"onbranch:release/\"]\npath = ~/release.config\n";
    fs::write(place(".gitconfig"), conditions).unwrap();
    let name = repository.path().file_name().unwrap().to_str().unwrap();
    let check = |folder: &str, works: &[&str]| {
        let caller = Caller { repository: Whereabouts::of(&place(folder)), ..Caller::default() };
        let remotes = Remotes::for_caller(options(&place(""), &[]), caller);
        for word in ["work", "release"] {
            let found = resolve(&remotes, &format!("{word}:{name}"), "main", "");
            assert_eq!(found.is_ok(), works.contains(&word), "{word} in {folder:?}: {found:?}");
        }
    };
    check("office/a", &["work"]);
    check("office/a/deep/er", &["work"]);
    check("office/linked", &["work"]);
    check("play/b", &["release"]);
    check("play", &[]);
}

#[test]
fn a_proxy_is_used_unless_the_host_is_excepted() {
    let repository = Repository::with(&[("f", "1")]);
    let server = Server::start(repository.path(), Behaviour::default());
    let home = tempfile::tempdir().unwrap();
    let proxy = format!("http://127.0.0.1:{}", closed_port());
    let url = server.url(".git");
    let try_with = |variables: &[(&str, &str)]| resolve(&remotes(home.path(), variables), &url, "main", "");
    assert!(try_with(&[]).is_ok());
    assert!(matches!(try_with(&[("http_proxy", &proxy)]), Err(Error::Unreachable { .. })));
    assert!(try_with(&[("http_proxy", &proxy), ("no_proxy", "127.0.0.1")]).is_ok());
    assert!(try_with(&[("https_proxy", &proxy)]).is_ok(), "that is for other addresses");
    fs::write(
        home.path().join(".gitconfig"),
        format!("[http]\nproxy = {proxy}\n[http \"{url}\"]\nproxy =\n"),
    )
    .unwrap();
    assert!(try_with(&[]).is_ok(), "the nearer setting counts, and it is: none");
    fs::write(home.path().join(".gitconfig"), format!("[http]\nproxy = {proxy}\n")).unwrap();
    assert!(matches!(try_with(&[]), Err(Error::Unreachable { .. })));
}

/// For encrypted connections the proxy is asked for a tunnel.
#[test]
fn a_proxy_for_https_is_asked_for_a_tunnel() {
    let proxy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let (stream, _) = proxy.accept().unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stream), &mut line).unwrap();
        line
    });
    let home = tempfile::tempdir().unwrap();
    let url = format!("https://127.0.0.1:{}/a.git", closed_port());
    let with = |variables: &[(&str, &str)]| resolve(&remotes(home.path(), variables), &url, "main", "");
    with(&[("HTTPS_PROXY", &address), ("NO_PROXY", "127.0.0.1")]).unwrap_err();
    assert!(!asked.is_finished(), "the host is excepted");
    with(&[("HTTPS_PROXY", &address)]).unwrap_err();
    let line = asked.join().unwrap();
    let host = url.trim_start_matches("https://").trim_end_matches("/a.git");
    assert!(line.starts_with(&format!("CONNECT {host} HTTP/1.1")), "{line}");
}

#[test]
fn a_configuration_that_cannot_be_read_is_named() {
    let repository = Repository::with(&[("f", "1")]);
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".gitconfig");
    fs::write(&path, "[broken\n").unwrap();
    let error = resolve(&remotes(home.path(), &[]), &repository.url(), "main", "").unwrap_err();
    let start = format!("cannot read git's configuration \"{}\": ", path.display());
    assert!(error.to_string().starts_with(&start), "{error}");
}
