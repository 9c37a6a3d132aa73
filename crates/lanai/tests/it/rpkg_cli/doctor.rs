//! `lanai doctor` with a server: each thing is wrong for real, and it says so.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use super::world::{Seen, World};

/// Looks, and finds a line with all these parts.
fn check(seen: &Seen, code: i32, line: &[&str]) {
    let is_there = seen.stdout.lines().any(|one| line.iter().all(|part| one.contains(part)));
    assert!(is_there, "{line:?} in:\n{}", seen.stdout);
    assert_eq!(seen.code, Some(code), "{seen:?}");
}

/// A namespace of its own, so that what other tests do is not looked at.
fn doctor(world: &World, arguments: &[&str]) -> Seen {
    world.run(&[&["doctor"], arguments].concat())
}

#[test]
fn a_server_that_is_well_is_told_to_be() {
    let world = World::shared();
    world.repository("well");
    let seen = doctor(&world, &["-n", "nobodys"]);
    let line = |name: &str| {
        let found = seen.stdout.lines().find(|line| line.contains(&format!(" {name}: ")));
        found.unwrap_or_else(|| panic!("{name} in {}", seen.stdout)).to_owned()
    };
    assert!(line("server").starts_with("ok ") && line("server").contains("+lanai"), "{seen:?}");
    assert!(line("clock").starts_with("ok "), "{seen:?}");
    let all = "may see package revisions, make drafts, change the files of drafts, propose, publish, register repositories";
    assert!(line("rights").starts_with("ok ") && line("rights").ends_with(all), "{seen:?}");
    assert!(line("functions").contains("0 of 0 that packages name can be run"), "{seen:?}");
    let offline = doctor(&world, &["--offline"]);
    assert!(!offline.stdout.contains(" server: "), "{offline:?}");
}

#[test]
fn what_somebody_may_not_do_is_told() {
    let world = World::shared();
    let seen = doctor(&world, &["-n", "nobodys", "--as", "nobody"]);
    check(
        &seen,
        1,
        &["problem ", "rights: in namespace \"nobodys\" nobody may not see package revisions", "RoleBinding"],
    );
    assert!(seen.stdout.contains("publish (update packagerevisions/approval)"), "{seen:?}");
}

#[test]
fn servers_that_do_not_answer_are_told() {
    let world = World::shared();
    let seen = doctor(&world, &["--server", "http://127.0.0.1:9"]);
    check(&seen, 1, &["problem ", "server: cannot reach http://127.0.0.1:9: nobody listens there"]);
    // The server of a data directory need not run.
    let place = world.path("quiet");
    fs::create_dir(&place).expect("it is new");
    let config = fs::read_to_string(world.path("data/kubeconfig")).expect("it is there");
    let port = config
        .split("https://127.0.0.1:")
        .nth(1)
        .expect("a server")
        .split_whitespace()
        .next()
        .expect("a port");
    fs::write(place.join("kubeconfig"), config.replace(port, "9")).expect("it can be written");
    let seen = doctor(&world, &["--data-dir", &place.display().to_string()]);
    let is_there = seen
        .stdout
        .lines()
        .any(|line| line.starts_with("warning  server: cannot reach") && line.contains("lanai serve"));
    assert!(is_there, "{seen:?}");
}

#[test]
fn a_server_of_another_time_and_without_packages_is_told() {
    let world = World::shared();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = String::new();
            let mut lines = BufReader::new(stream.try_clone().expect("it can be"));
            let _ = lines.read_line(&mut request);
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|read| read > 2) {
                line.clear();
            }
            let (status, body) = if request.contains(" /version ") {
                ("200 OK", "{\"gitVersion\": \"v1.0.0\"}")
            } else {
                ("404 Not Found", "not here")
            };
            let date = "Thu, 01 Jan 2026 00:00:00 GMT";
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nDate: {date}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
        }
    });
    let seen = doctor(&world, &["--server", &format!("http://{address}")]);
    check(&seen, 1, &["warning ", "clock: the server is ", " seconds behind this machine", "time server"]);
    check(&seen, 1, &["problem ", "repositories: the server has no API for packages"]);
}

#[test]
fn repositories_and_functions_that_cannot_be_used_are_told() {
    if !crate::demo::has_kubectl(
        "lanai::rpkg_cli::doctor::repositories_and_functions_that_cannot_be_used_are_told",
    ) {
        return;
    }
    let world = World::shared();
    world.namespace("ill");
    let nowhere = world.path("git/nowhere.git").display().to_string();
    // Somebody made packages elsewhere, with functions that are not known here: one is published, one a draft.
    let remote = world.remote("foreign");
    fs::create_dir_all(world.path("work/web")).expect("it is new");
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\npipeline:\n  mutators:\n  - image: example.com/nothing:v1\n";
    fs::write(world.path("work/web/Kptfile"), kptfile).expect("it can be written");
    let git = |arguments: &[&str]| world.git("work", arguments);
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "web"]);
    git(&["push", "-q", &remote, "main", "main:refs/heads/drafts/web/v2", "main:refs/tags/web/v1"]);
    world.ok(&["repo", "reg", &remote, "--name", "foreign", "-n", "ill", "--wait"]);
    let lost = world.run(&["repo", "reg", &nowhere, "--name", "lost", "-n", "ill", "--wait"]);
    assert!(lost.code == Some(1) && lost.stderr.contains("is registered and cannot be used"), "{lost:?}");
    // It is tried again and again, and says meanwhile that it is looked at; the bound is for a test that fails.
    let looks = (0..200).map(|_| doctor(&world, &["-n", "ill"]));
    let seen = looks.into_iter().find(|seen| seen.stdout.contains("ill/lost cannot be used"));
    let seen = seen.expect("it is told");
    check(&seen, 1, &["problem ", "repository: ill/lost cannot be used: ", "lanai repo get lost -n ill"]);
    check(
        &seen,
        1,
        &["problem ", "functions: nothing runs example.com/nothing:v1, which foreign.web.v", "lanai fn list"],
    );
    for name in ["lost", "foreign"] {
        world.ok(&["repo", "unreg", name, "-n", "ill"]);
    }
}

#[test]
fn a_certificate_that_is_none_is_a_problem_and_nothing_is_left_behind() {
    let world = World::shared();
    let config = fs::read_to_string(world.path("data/kubeconfig")).expect("it is there");
    let data = config.lines().find_map(|line| line.trim().strip_prefix("certificate-authority-data: "));
    let broken = config.replace(data.expect("it has one"), "bm8gY2VydGlmaWNhdGU=");
    fs::write(world.path("broken-ca"), broken).expect("it can be written");
    let home = world.path("home-of-doctor");
    fs::create_dir(&home).expect("it is new");
    let path = world.path("broken-ca").display().to_string();
    let mut command = world.command(&["doctor", "--kubeconfig", &path]);
    command.env("HOME", &home);
    check(&super::world::seen(command, ""), 1, &["problem ", "server: ", "certificate of the authority"]);
    assert!(!home.join(".kube").exists(), "kubectl keeps nothing");
    let mut missing = world.command(&["rpkg", "get"]);
    missing.env("KUBECONFIG", "/missing");
    let missing = super::world::seen(missing, "");
    assert!(
        missing.code == Some(1)
            && missing.stderr.contains("KUBECONFIG is \"/missing\", and there is no such file"),
        "{missing:?}"
    );
}
