//! `lanai pkg` with a remote behind a web server that asks for a password.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use super::World;
use super::progress::Terminal;
use super::web::{Manners, Server};

/// Makes git on the machine ask a helper for passwords.
fn set_helper(world: &World, password: &str) {
    let script =
        format!("#!/bin/sh\n[ \"$1\" = get ] && printf 'username=ann\\npassword={password}\\n'\nexit 0\n");
    world.write("home/helper", &script);
    fs::set_permissions(world.path("home/helper"), fs::Permissions::from_mode(0o700)).expect("it is there");
    let helper = world.path("home/helper").display().to_string();
    world.write("home/.gitconfig", &format!("[credential]\n\thelper = {helper}\n"));
}

#[test]
fn a_package_behind_a_password_is_fetched_and_updated() {
    let world = World::with_web();
    let server = Server::start(world.path(""), Manners::AsksWho);
    let seen = world.lanai(&["get", &server.address("web@v1")]);
    assert_eq!(seen.code, Some(1), "nobody knows the password: {seen:?}");
    assert!(seen.stderr.contains("asks for credentials"), "{}", seen.stderr);
    set_helper(&world, "s3cret");
    let seen = world.lanai(&["get", &server.address("web@v1")]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let kptfile = world.read("desk/web/Kptfile");
    assert!(kptfile.contains(&format!("repo: http://{}/remote\n", server.address)), "{kptfile}");
    assert!(!kptfile.contains("s3cret") && !seen.stderr.contains("s3cret"), "{kptfile}");
    let seen = world.lanai(&["diff", "web"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(0), ""), "{seen:?}");
    let seen = world.lanai(&["get", &server.address("web@v9"), "other"]);
    assert!(seen.stderr.contains("has no branch or tag \"v9\""), "{}", seen.stderr);
    world.edit("desk/web/deploy.yaml", "replicas: 1", "replicas: 5");
    world.commit();
    let seen = world.lanai(&["update", "web@v2", "--policy", "local"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let text = world.read("desk/web/deploy.yaml");
    assert!(text.contains("web:2") && text.contains("replicas: 5"), "{text}");
    set_helper(&world, "wrong");
    world.commit();
    world.publish("v3", &[("web/README.md", "new\n")]);
    let seen = world.lanai(&["update", "web@v3"]);
    assert!(seen.stderr.contains("user name and password were not accepted"), "{seen:?}");
    assert_eq!(world.git("desk", &["status", "--porcelain"]), "");
}

/// Somebody types `lanai pkg get` at a terminal, and answers each question: what stands before it, and the answer.
#[allow(clippy::disallowed_methods, reason = "a program gets a terminal of its own")]
fn at_terminal(world: &World, address: &str, answers: &[(&str, &str)]) -> (Option<i32>, String) {
    let Terminal { mut screen, keyboard } = Terminal::new();
    let other = keyboard.try_clone().expect("it is open");
    let mut child = Command::new("setsid")
        .args(["--ctty", "--wait", env!("CARGO_BIN_EXE_lanai"), "pkg", "get", address])
        .current_dir(world.path("desk"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", world.path("home"))
        .stdin(keyboard)
        .stdout(Stdio::null())
        .stderr(other)
        .spawn()
        .expect("it starts");
    let mut seen = String::new();
    let mut answers = answers.iter();
    let mut next = answers.next();
    let mut buffer = [0; 1024];
    while let Ok(got @ 1..) = screen.read(&mut buffer) {
        seen += &String::from_utf8_lossy(&buffer[..got]);
        if let Some((_, answer)) = next.filter(|(question, _)| seen.ends_with(question)) {
            writeln!(screen, "{answer}").expect("it can be typed");
            next = answers.next();
        }
    }
    (child.wait().expect("it is our child").code(), seen)
}

#[test]
fn somebody_at_a_terminal_is_asked_for_a_password_once() {
    let world = World::with_web();
    let server = Server::start(world.path(""), Manners::AsksWho);
    let name = format!("Username for 'http://{}': ", server.address);
    let password = format!("Password for 'http://ann@{}': ", server.address);
    let right = [(name.as_str(), "ann"), (password.as_str(), "s3cret")];
    let (code, seen) = at_terminal(&world, &server.address("web@v1"), &right);
    assert_eq!(code, Some(0), "{seen}");
    assert!(world.path("desk/web/Kptfile").is_file());
    fs::remove_dir_all(world.path("desk/web")).expect("it is there");
    assert!(seen.contains(&format!("{name}ann\r\n")), "a name is seen: {seen:?}");
    assert!(seen.matches("Password").count() == 1 && !seen.contains("s3cret"), "{seen:?}");
    let wrong = [(name.as_str(), "ann"), (password.as_str(), "wrong")];
    let (code, seen) = at_terminal(&world, &server.address("web@v2"), &wrong);
    assert_eq!(code, Some(1), "{seen}");
    assert!(seen.contains("user name and password were not accepted"), "{seen}");
    assert_eq!(seen.matches("Password").count(), 1, "{seen:?}");
    // Ctrl-C in the middle of a password, which leaves the terminal as it was.
    let given_up = [(name.as_str(), "ann"), (password.as_str(), "s3\u{3}")];
    let (code, seen) = at_terminal(&world, &server.address("web@v2"), &given_up);
    assert_eq!(code, Some(1), "{seen}");
    assert!(seen.contains("asks for credentials"), "{seen}");
}

#[test]
fn a_password_in_an_address_is_shown_to_nobody() {
    let world = World::with_web();
    let server = Server::start(world.path(""), Manners::AsksWho);
    let address = server.address("web@v1").replace("http://", "http://ann:s3cret@");
    let seen = world.lanai(&["get", &address]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(!seen.stderr.contains("s3cret"), "{}", seen.stderr);
    assert!(seen.stderr.contains("will stand in the Kptfile"), "{}", seen.stderr);
    world.commit();
    let seen = world.lanai(&["update", "web@v2"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(!seen.stderr.contains("s3cret"), "{}", seen.stderr);
}
