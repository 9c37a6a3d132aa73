//! `upgrade`: what changed upstream, and where both sides changed the same.

use std::fs;

use super::world::{World, expect};

fn map(level: &str, retries: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  level: {level}\n  retries: \"{retries}\"\n"
    )
}

/// Two revisions of a blueprint, and a package of the first one that has another level.
fn shop(world: &World, blue: &str, fleet: &str) -> String {
    world.repository(blue);
    world.repository(fleet);
    let first = world.package(blue, "app", "v1", &[("map.yaml", &map("info", "3"))]);
    world.ok(&["rpkg", "clone", &first, "shop", "--repository", fleet, "--workspace", "a"]);
    let name = format!("{fleet}.shop.a");
    let text = world.ok(&["rpkg", "pull", &name]);
    assert!(text.contains("level: info"), "{text}");
    let mut command = world.command(&["rpkg", "edit", &name, "map.yaml", "--yes"]);
    command.env("EDITOR", "sed -i s/info/debug/");
    let edited = super::world::seen(command, "");
    assert_eq!(edited.code, Some(0), "{edited:?}");
    world.publish(&name);
    name
}

#[test]
fn an_upgrade_shows_conflicts_and_takes_decisions() {
    let world = World::shared();
    let name = shop(&world, "ublue", "ufleet");
    let current = world.run(&["rpkg", "upgrade", &name, "--workspace", "b"]);
    expect(&current, 0, "ufleet.shop.a is up to date with ublue.app.v1\n", "");
    assert_eq!(
        world.ok(&["rpkg", "upgrade", "--discover", "downstream", "ublue.app.v1"]),
        "All downstream packages are up to date.\n"
    );
    world.revise("ublue.app.v1", "v2", &[("map.yaml", &map("warn", "5"))]);
    let found = world.ok(&["rpkg", "upgrade", "--discover", "downstream", "ublue.app.v1"]);
    assert!(found.starts_with("PACKAGE REVISION   DOWNSTREAM PACKAGE   DOWNSTREAM UPDATE\n"), "{found}");
    assert!(found.contains("ublue.app.v2       ufleet.shop.a        v1->v2\n"), "{found}");
    let found = world.ok(&["rpkg", "upgrade", "--discover", "upstream", &name]);
    assert_eq!(
        found,
        "PACKAGE REVISION   UPSTREAM REPOSITORY   UPSTREAM UPDATES\nufleet.shop.a      ublue                 v2\n"
    );

    let id = "map.yaml:ConfigMap/app#data.level";
    let shown = world.ok(&["rpkg", "upgrade", &name, "--dry-run"]);
    assert!(shown.contains("upgraded to ufleet.shop.dry-run (dry run)") && shown.contains(id), "{shown}");
    assert!(shown.contains("+  retries: \"5\""), "{shown}");
    let refused = world.run(&["rpkg", "upgrade", &name, "--workspace", "b", "--policy", "fail"]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stdout.contains(id) && refused.stderr.contains("--resolve FILE"), "{refused:?}");

    let alone = world.path("alone.yaml");
    fs::write(&alone, format!("- id: {id}\n  chosen: value\n  value: error\n")).expect("it can be written");
    let alone = alone.display().to_string();
    world.ok(&["rpkg", "upgrade", &name, "--workspace", "l", "--policy", "fail", "--resolve", &alone]);
    assert!(world.ok(&["rpkg", "pull", "ufleet.shop.l"]).contains("level: error"), "the list decides");
    let report = world.ok(&["rpkg", "upgrade", &name, "--dry-run", "-o", "yaml"]);
    let file = world.path("decided.yaml");
    let stale = report.replace("local: debug", "local: trace");
    assert_ne!(stale, report);
    fs::write(&file, stale).expect("it can be written");
    let path = file.display().to_string();
    let resolve = ["rpkg", "upgrade", &name, "--workspace", "b", "--policy", "fail", "--resolve", &path];
    let refused = world.run(&resolve);
    assert!(
        refused.code == Some(1) && refused.stderr.contains("the local value is another one now"),
        "{refused:?}"
    );
    fs::write(&file, report.replace("chosen: upstream", "chosen: local")).expect("it can be written");
    let done = world.ok(&resolve);
    assert!(done.starts_with("ufleet.shop.a upgraded to ufleet.shop.b\n"), "{done}");
    assert!(done.lines().any(|line| line.contains(id) && line.contains(" local ")), "{done}");
    let files = world.ok(&["rpkg", "pull", "ufleet.shop.b"]);
    assert!(files.contains("level: debug") && files.contains("retries: \"5\""), "{files}");
}

#[test]
fn what_cannot_be_upgraded_is_refused() {
    let world = World::shared();
    let name = shop(&world, "vblue", "vfleet");
    let check = |arguments: &[&str], expected: &str| {
        let all = [&["rpkg", "upgrade"], arguments].concat();
        let seen = world.run(&all);
        assert_eq!(seen.stderr.lines().next(), Some(format!("error: {expected}").as_str()), "{seen:?}");
        let is_usage = seen.stderr.contains("Usage: lanai rpkg upgrade");
        assert_eq!(seen.code, Some(if is_usage { 2 } else { 1 }), "{seen:?}");
        assert!(is_usage || seen.stderr.contains("hint: ") || expected.contains("revision 9"), "{seen:?}");
        expect(&world.porchctl(&all), 1, "", &format!("Error: {expected} \n"));
    };
    check(&[&name], "workspace is required");
    check(&["vfleet.none.a", "--workspace", "b"], "could not find package revision vfleet.none.a");
    check(
        &["vblue.app.v1", "--workspace", "b"],
        "upstream source not found for package revision \"app\": no clone or upgrade type package revision was found in the history of the package",
    );
    check(
        &[&name, "--workspace", "b", "--revision", "9"],
        "revision 9 does not exist for package app in repo vblue",
    );
    check(
        &[&name, "--workspace", "b", "--strategy", "x"],
        "invalid strategy \"x\"; must be one of: [resource-merge fast-forward force-delete-replace copy-merge]",
    );
    check(&["--discover", "x"], "argument for 'discover' must be one of 'upstream' or 'downstream'");
    world.ok(&["rpkg", "copy", &name, "--workspace", "c"]);
    check(
        &["vfleet.shop.c", "--workspace", "b"],
        "to upgrade a package, it must be in a published state, not \"Draft\"",
    );
}

#[test]
fn porchctl_upgrades_also_to_what_is_there() {
    let world = World::shared();
    let name = shop(&world, "pblue", "pfleet");
    let seen = world.porchctl(&["rpkg", "upgrade", &name, "--workspace", "b"]);
    expect(&seen, 0, "pfleet.shop.a upgraded to pfleet.shop.b\n", "");
    let again = world.porchctl(&["rpkg", "upgrade", &name, "--workspace", "b"]);
    assert!(
        again.code == Some(1)
            && again.stderr.starts_with("Error: failed to do create package revision \"\": "),
        "{again:?}"
    );
}

#[test]
fn all_that_can_be_upgraded_is_shown_before_it_is_done() {
    let world = World::shared();
    shop(&world, "ablue", "afleet");
    let all = ["rpkg", "upgrade", "--all", "--repository", "afleet", "--workspace", "next"];
    assert_eq!(world.ok(&all), "All downstream packages are up to date.\n");
    world.revise("ablue.app.v1", "v2", &[("map.yaml", &map("warn", "5"))]);
    let shown = world.run(&all);
    assert_eq!(
        shown.stdout,
        "PACKAGE REVISION   UPSTREAM       UPDATE   OUTCOME\nafleet.shop.a      ablue.app.v2   v1->v2   1 conflict\n"
    );
    assert_eq!(shown.stderr, "nothing was made; --yes makes these revisions\n");
    assert!(!world.ok(&["rpkg", "get", "--repository", "afleet"]).contains("next"));
    let bare = world.run(&["rpkg", "upgrade", "--all", "--repository", "afleet"]);
    assert_eq!(bare.stderr, "nothing was made; --yes --workspace NAME makes these revisions\n");
    let rehearsed = world.run(&[&all[..], &["--dry-run", "--yes"]].concat());
    assert_eq!(rehearsed.stderr, "nothing was made: it was a dry run\n");
    let listed = world.ok(&[&all[..], &["-o", "json"]].concat());
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("it is JSON");
    assert_eq!(listed[0]["packageRevision"], "afleet.shop.a");
    assert_eq!((&listed[0]["conflicts"], &listed[0]["to"]), (&1.into(), &2.into()));
    assert!(
        world.ok(&[&all[..], &["-o", "yaml"]].concat()).starts_with("- packageRevision: afleet.shop.a\n")
    );

    // Where nobody decides, nothing is made, and it is said how to.
    let undecided = world.run(&[&all[..], &["--yes", "--policy", "fail"]].concat());
    assert_eq!(undecided.code, Some(3), "{undecided:?}");
    assert!(undecided.stdout.contains("map.yaml:ConfigMap/app#data.level"), "{undecided:?}");
    assert!(
        undecided.stderr.contains("lanai rpkg upgrade afleet.shop.a --workspace next --resolve FILE"),
        "{undecided:?}"
    );
    assert!(!world.ok(&["rpkg", "get", "--repository", "afleet"]).contains("next"));

    let done = world.ok(&[&all[..], &["--yes"]].concat());
    assert_eq!(done, "afleet.shop.a upgraded to afleet.shop.next, with 1 conflict\n");
    // What is in a draft already is not offered again.
    let again = world.run(&all);
    assert!(again.stdout.contains("in draft afleet.shop.next"), "{again:?}");
    assert_eq!(again.stderr, "nothing was made; all of them are in drafts\n");
    let other = ["rpkg", "upgrade", "--all", "--repository", "afleet", "--workspace", "other", "--yes"];
    let skipped = world.run(&other);
    expect(&skipped, 0, "", "afleet.shop.a is upgraded to ablue.app.v2 in afleet.shop.next already\n");
}
