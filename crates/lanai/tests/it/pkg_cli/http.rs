//! `lanai pkg` with a remote behind a web server that asks for a password.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::World;
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
