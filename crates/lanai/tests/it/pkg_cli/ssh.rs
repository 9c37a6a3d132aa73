//! `lanai pkg` with a remote behind a real ssh server.

use lanai_testkit::sshd::{Protocol, Sshd};

use super::{Seen, World};

/// Runs `lanai pkg` with an ssh that reads one of the configurations.
fn lanai(world: &World, config: &str, arguments: &[&str]) -> Seen {
    let ssh = format!("ssh -F {}", world.path("home/ssh").join(config).display());
    let arguments = [&["pkg"], arguments].concat();
    world.run_with("desk", env!("CARGO_BIN_EXE_lanai"), &arguments, &[("GIT_SSH_COMMAND", &ssh)])
}

#[test]
fn a_package_is_fetched_and_updated_over_ssh() {
    let name = "pkg_cli::ssh: a package over a real ssh server";
    for protocol in [Protocol::Any, Protocol::First] {
        let world = World::with_web();
        let Some(server) = Sshd::start(&world.path("home/ssh"), protocol, name) else { return };
        let place = world.path("remote").display().to_string();
        let repo = format!("ssh://{}@127.0.0.1:{}{place}", server.user, server.port);
        let seen = lanai(&world, "good", &["get", &format!("{repo}.git/web@v1")]);
        assert_eq!(seen.code, Some(0), "{seen:?}");
        let kptfile = world.read("desk/web/Kptfile");
        assert!(kptfile.contains(&format!("repo: {repo}\n")), "{kptfile}");
        world.commit();
        let seen = lanai(&world, "good", &["update", "web@v2"]);
        assert_eq!(seen.code, Some(0), "{seen:?}");
        assert!(world.read("desk/web/deploy.yaml").contains("web:2"));
        assert_eq!(lanai(&world, "good", &["diff", "web"]).stdout, "");
    }
}

#[test]
fn the_short_form_and_gits_setting_work() {
    let world = World::with_web();
    let name = "pkg_cli::ssh: user@host:path over a real ssh server";
    let Some(server) = Sshd::start(&world.path("home/ssh"), Protocol::Any, name) else { return };
    let config = world.path("home/ssh/good").display().to_string();
    world.write("home/.gitconfig", &format!("[core]\n\tsshCommand = ssh -F {config}\n"));
    let place = world.path("remote").display().to_string();
    // The name and the port of the server stand in ssh's configuration.
    for (number, host) in [format!("{}@shelf", server.user), "shelf".to_owned()].iter().enumerate() {
        let seen = world.lanai(&["get", &format!("{host}:{place}.git/web@v1"), &format!("web-{number}")]);
        assert_eq!(seen.code, Some(0), "{seen:?}");
        let kptfile = world.read(&format!("desk/web-{number}/Kptfile"));
        assert!(kptfile.contains(&format!("repo: {host}:{place}\n")), "{kptfile}");
    }
}

#[test]
fn a_server_that_refuses_is_told_and_nobody_is_asked() {
    let world = World::with_web();
    let name = "pkg_cli::ssh: refusals of a real ssh server";
    let Some(server) = Sshd::start(&world.path("home/ssh"), Protocol::Any, name) else { return };
    let place = world.path("remote").display().to_string();
    let url = format!("ssh://{}@shelf{place}", server.user);
    let check = |config: &str, address: &str, expected: &[&str]| {
        let seen = lanai(&world, config, &["get", address]);
        assert_eq!(seen.code, Some(1), "{config}: {seen:?}");
        for text in expected {
            assert!(seen.stderr.contains(text), "{config}: {text:?} in {}", seen.stderr);
        }
        assert!(!world.path("desk/web").exists(), "{config}");
    };
    let address = format!("{url}.git/web@v1");
    check(
        "wrong-key",
        &address,
        &[&format!("error: \"{url}\" asks for credentials: "), "Permission denied (publickey)"],
    );
    check(
        "unknown-host",
        &address,
        &[
            &format!("error: the ssh key of \"{url}\" cannot be trusted: "),
            "Host key verification failed",
            "\nhint: connect to it once with ssh",
        ],
    );
    let nowhere = format!("{}@shelf:/nowhere.git/web@v1", server.user);
    check("good", &nowhere, &["is no git repository", "/nowhere"]);
    drop(server);
    check("good", &address, &["cannot reach", "Connection refused"]);
}
