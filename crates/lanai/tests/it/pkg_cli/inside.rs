//! Packages inside the package that have an upstream of their own.

use super::World;

fn service(port: u16) -> String {
    format!("apiVersion: v1\nkind: Service\nmetadata:\n  name: db\nspec:\n  port: {port}\n")
}

fn kptfile(name: &str, rest: &str) -> String {
    format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n{rest}")
}

/// A remote with `outer`, which names `db` of the same repository.
fn nested(reference: &str) -> World {
    let world = World::new();
    let upstream = format!(
        "upstream:\n  type: git\n  git:\n    repo: {}\n    directory: /db\n    ref: {reference}\n  updateStrategy: resource-merge\n",
        world.repo()
    );
    world.publish(
        "v1",
        &[
            ("outer/Kptfile", &kptfile("outer", "")),
            ("outer/db/Kptfile", &kptfile("inner", &upstream)),
            ("db/Kptfile", &kptfile("db", "info:\n  description: a database\n")),
            ("db/service.yaml", &service(1)),
        ],
    );
    world
}

#[test]
fn packages_that_are_only_named_are_fetched() {
    let world = nested("v1");
    let seen = world.lanai(&["get", &world.address("outer@v1")]);
    assert!(
        seen.stderr.ends_with("/outer/db\":\n") || seen.stderr.contains("/outer/db\":\nFetching "),
        "{}",
        seen.stderr
    );
    assert!(seen.stderr.ends_with("\nFetched 2 package(s).\n"), "{}", seen.stderr);
    assert_eq!(world.names("desk/outer"), ["Kptfile", "db/Kptfile", "db/service.yaml"]);
    let inner = world.read("desk/outer/db/Kptfile");
    assert!(inner.contains("name: inner\n") && inner.contains("description: a database"), "{inner}");
    assert!(inner.contains(&format!("commit: {}", world.commit_of("v1"))), "{inner}");
    assert!(world.read("desk/outer/db/service.yaml").contains("# kpt-merge: /db\n"));
}

#[test]
fn they_are_updated_from_their_own_upstream() {
    let world = nested("main");
    assert_eq!(world.lanai(&["get", &world.address("outer@v1")]).code, Some(0));
    world.edit("desk/outer/db/service.yaml", "port: 1", "port: 5");
    world.write("desk/outer/db/own.txt", "ours\n");
    world.commit();
    world.publish("v2", &[("db/service.yaml", &service(2)), ("db/new.txt", "new\n")]);
    let seen = world.lanai(&["update", "outer@v2", "-o", "yaml"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(
        seen.stderr.contains("\nPackage \"outer/db\":\n") && seen.stderr.ends_with("Updated 2 package(s).\n"),
        "{}",
        seen.stderr
    );
    assert!(seen.stdout.contains("  package: db\n  file: db/service.yaml\n"), "{}", seen.stdout);
    assert_eq!(
        world.names("desk/outer"),
        ["Kptfile", "db/Kptfile", "db/new.txt", "db/own.txt", "db/service.yaml"]
    );
    assert!(world.read("desk/outer/db/service.yaml").contains("port: 2\n"));
    assert!(world.read("desk/outer/db/Kptfile").contains(&world.commit_of("v2")));
    // Decided by hand.
    world.git("desk", &["checkout", "-q", "."]);
    world.git("desk", &["clean", "-fdq"]);
    world.write("conflicts.yaml", &seen.stdout.replace("chosen: upstream", "chosen: local"));
    let seen = world.lanai(&["update", "outer@v2", "--resolve", "../conflicts.yaml"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(world.read("desk/outer/db/service.yaml").contains("port: 5\n"));
}

#[test]
fn they_move_along_with_the_package_around_them() {
    let world = World::new();
    let upstream = format!(
        "upstream:\n  type: git\n  git:\n    repo: {}\n    directory: /outer/shared\n    ref: v1\n  updateStrategy: resource-merge\n",
        world.repo()
    );
    world.publish(
        "v1",
        &[
            ("outer/Kptfile", &kptfile("outer", "")),
            ("outer/copy/Kptfile", &kptfile("copy", &upstream)),
            ("outer/shared/service.yaml", &service(1)),
        ],
    );
    let seen = world.lanai(&["get", &world.address("outer@v1")]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    world.commit();
    let upstream = upstream.replace("ref: v1", "ref: v2");
    world.publish(
        "v2",
        &[("outer/shared/service.yaml", &service(2)), ("outer/copy/Kptfile", &kptfile("copy", &upstream))],
    );
    let seen = world.lanai(&["update", "outer@v2"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(world.read("desk/outer/copy/service.yaml").contains("port: 2\n"));
    let kptfile = world.read("desk/outer/copy/Kptfile");
    assert_eq!(kptfile.matches("ref: v2\n").count(), 2, "{kptfile}");
}

#[test]
fn those_that_upstream_removed_go_when_nobody_changed_them() {
    let world = World::new();
    let files = [
        ("outer/Kptfile", kptfile("outer", "")),
        ("outer/a/Kptfile", kptfile("a", "")),
        ("outer/a/s.yaml", service(1)),
        ("outer/b/Kptfile", kptfile("b", "")),
        ("outer/b/s.yaml", service(1)),
    ];
    world.publish("v1", &files.each_ref().map(|(path, text)| (*path, text.as_str())));
    assert_eq!(world.lanai(&["get", &world.address("outer@v1")]).code, Some(0));
    world.edit("desk/outer/b/s.yaml", "port: 1", "port: 5");
    world.commit();
    world.publish(
        "v2",
        &[
            ("outer/a/Kptfile", "-"),
            ("outer/a/s.yaml", "-"),
            ("outer/b/Kptfile", "-"),
            ("outer/b/s.yaml", "-"),
        ],
    );
    let seen = world.lanai(&["update", "outer@v2"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert_eq!(world.names("desk/outer"), ["Kptfile", "b/Kptfile", "b/s.yaml"]);
    assert!(seen.stdout.contains("RemovedUpstreamChangedLocally"), "{}", seen.stdout);
}

#[test]
fn those_that_were_added_here_stay_under_every_strategy() {
    for strategy in ["resource-merge", "fast-forward", "force-delete-replace", "copy-merge"] {
        let world = World::with_web();
        world.get_web();
        assert_eq!(world.lanai(&["get", &world.address("web@v2"), "web/added"]).code, Some(0));
        world.commit();
        let seen = world.lanai(&["update", "web@v2", "--strategy", strategy]);
        assert_eq!(seen.code, Some(0), "{seen:?}");
        assert!(world.read("desk/web/deploy.yaml").contains("web:2"), "{strategy}");
        assert!(world.path("desk/web/added/deploy.yaml").is_file(), "{strategy}");
    }
}

#[test]
fn many_packages_are_fetched_but_not_any_number() {
    const MAX_PACKAGES: usize = 500;
    let world = World::new();
    let upstream = format!(
        "upstream:\n  type: git\n  git:\n    repo: {}\n    directory: /one\n    ref: v1\n",
        world.repo()
    );
    let inner = kptfile("inner", &upstream);
    let paths: Vec<String> = (0..=MAX_PACKAGES).map(|number| format!("many/p{number}/Kptfile")).collect();
    let mut files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), inner.as_str())).collect();
    let last = files.pop().unwrap();
    files.push(("one/a.txt", "a\n"));
    world.publish("v1", &files);
    let seen = world.lanai(&["get", &world.address("many@v1"), "fits"]);
    assert!(seen.stderr.ends_with("\nFetched 501 package(s).\n"), "{:?}", seen.code);
    assert!(world.path("desk/fits/p499/a.txt").is_file());
    world.publish("v2", &[last]);
    let seen = world.lanai(&["get", &world.address("many@v2"), "too-many"]);
    assert_eq!(seen.code, Some(1));
    assert!(
        seen.stderr.contains("error: there are more than the 500 packages that one command may fetch\n"),
        "{:?}",
        seen.code
    );
    assert!(!world.path("desk/too-many").exists());
}

#[test]
fn packages_that_name_each_other_in_a_circle_are_refused() {
    let world = World::new();
    let upstream = format!(
        "upstream:\n  type: git\n  git:\n    repo: {}\n    directory: /a\n    ref: v1\n",
        world.repo()
    );
    world.publish("v1", &[("a/Kptfile", &kptfile("a", "")), ("a/b/Kptfile", &kptfile("b", &upstream))]);
    let seen = world.lanai(&["get", &world.address("a@v1")]);
    assert_eq!(seen.code, Some(1), "{seen:?}");
    assert_eq!(world.names("desk"), [""; 0]);
}

#[test]
fn what_two_kptfiles_say_otherwise_is_told() {
    let world = nested("v1");
    let kptfile = world.read("upstream/outer/db/Kptfile");
    world.publish("v2", &[("outer/db/Kptfile", &format!("{kptfile}info:\n  description: ours\n"))]);
    let seen = world.lanai(&["get", &world.address("outer@v2")]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let notes: Vec<&str> = seen.stderr.lines().filter(|line| line.starts_with("note: ")).collect();
    assert_eq!(
        notes,
        [
            "note: db/Kptfile: AddedOnBoth in info.description: upstream has a database, here is ours; local is taken"
        ]
    );
    assert!(world.read("desk/outer/db/Kptfile").contains("description: ours\n"));
}
