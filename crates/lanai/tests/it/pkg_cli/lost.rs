//! The remote no longer has the commit that was fetched.

use super::World;
use super::web::{Manners, Server};
use super::world::DEPLOYMENT;

/// A machine with `web` fetched at `main`; then upstream's history was written anew, as `v3`.
fn rewritten() -> World {
    let world = World::with_web();
    let seen = world.lanai(&["get", &world.address("web@main")]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    world.edit("desk/web/deploy.yaml", "replicas: 2", "replicas: 5");
    world.commit();
    rewrite(&world);
    world
}

/// Throws upstream's history away: there is one commit, which nobody has seen before.
fn rewrite(world: &World) {
    let remote = world.path("remote.git").display().to_string();
    world.write("upstream/web/deploy.yaml", &DEPLOYMENT.replace("web:1", "web:3"));
    for arguments in [
        &["checkout", "-q", "--orphan", "fresh"][..],
        &["add", "-A"],
        &["commit", "-q", "-m", "all anew"],
        &["tag", "v3"],
        &["push", "-q", "--force", &remote, "fresh:main", "v3"],
        &["push", "-q", &remote, ":v1", ":v2"],
    ] {
        world.git("upstream", arguments);
    }
    world.git("remote.git", &["reflog", "expire", "--expire=now", "--all"]);
    world.git("remote.git", &["gc", "-q", "--prune=now"]);
}

#[test]
fn the_lost_commit_and_the_way_out_are_named() {
    let world = rewritten();
    let commit = world.commit_of("v2");
    let repo = world.repo();
    let lost = format!(
        "package \"web\" was fetched at commit {commit} (\"main\") of repository \"{repo}\", which no longer has it or does not give it away"
    );
    let seen = world.lanai(&["update", "web"]);
    let told = format!(
        "error: {lost}\nhint: name a version to take in its place with --origin; --strategy force-delete-replace and copy-merge need none\n"
    );
    assert_eq!(seen.code, Some(1), "{seen:?}");
    assert!(seen.stderr.ends_with(&told), "{}", seen.stderr);
    let seen = world.lanai(&["diff", "web"]);
    assert_eq!(seen.code, Some(1), "{seen:?}");
    assert!(
        seen.stderr.starts_with(&format!("error: {lost}\nhint: compare with a version")),
        "{}",
        seen.stderr
    );
    assert_eq!(world.git("desk", &["status", "--porcelain"]), "");
}

#[test]
fn strategies_that_need_no_origin_do_without() {
    for (strategy, replicas) in [("force-delete-replace", "replicas: 1"), ("copy-merge", "replicas: 1")] {
        let world = rewritten();
        let seen = world.lanai(&["update", "web", "--strategy", strategy]);
        assert_eq!(seen.code, Some(0), "{seen:?}");
        assert!(seen.stderr.contains("which no longer has it"), "{}", seen.stderr);
        assert!(
            seen.stderr.contains(&format!("the strategy \"{strategy}\" does without")),
            "{}",
            seen.stderr
        );
        let text = world.read("desk/web/deploy.yaml");
        assert!(text.contains("web:3") && text.contains(replicas), "{strategy}: {text}");
        assert!(world.read("desk/web/Kptfile").contains(&world.commit_of("v3")));
    }
}

#[test]
fn another_version_takes_the_place_of_the_lost_one() {
    let world = rewritten();
    world.publish("v4", &[("web/deploy.yaml", &DEPLOYMENT.replace("web:1", "web:4"))]);
    let seen = world.lanai(&["update", "web@v4", "--origin", "v3"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let text = world.read("desk/web/deploy.yaml");
    assert!(text.contains("replicas: 5"), "the edit stays: {text}");
    let seen = world.lanai(&["update", "web@v4", "--origin", "a b"]);
    assert!(
        seen.stderr.contains("error: --origin: revision \"a b\" is no name of a branch or tag"),
        "{seen:?}"
    );
}

#[test]
fn a_server_far_away_is_asked_for_both_and_the_right_one_is_blamed() {
    // Whichever of the two ids comes first.
    for _ in 0..3 {
        let world = World::with_web();
        let server = Server::start(world.path(""), Manners::Plain);
        let seen = world.lanai(&["get", &server.address("web@v1")]);
        assert_eq!(seen.code, Some(0), "{seen:?}");
        world.commit();
        let commit = world.commit_of("v1");
        std::fs::remove_dir_all(world.path("home/.cache")).expect("nothing is kept");
        rewrite(&world);
        let seen = world.lanai(&["update", "web@v3"]);
        assert!(seen.stderr.contains(&format!("was fetched at commit {commit} (\"v1\")")), "{}", seen.stderr);
        let seen = world.lanai(&["update", "web@v3", "--strategy", "copy-merge"]);
        assert_eq!(seen.code, Some(0), "{seen:?}");
    }
}
