//! `diff`, `log` and `blame`.

use super::world::World;

const MAP: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  level: info\n  size: small\n";

#[test]
fn it_can_be_seen_who_set_what() {
    let world = World::shared();
    world.repository("hblue");
    world.repository("hfleet");
    let first = world.package("hblue", "app", "v1", &[("map.yaml", MAP)]);
    world.ok(&["rpkg", "clone", &first, "shop", "--repository", "hfleet", "--workspace", "a"]);
    world.publish("hfleet.shop.a");
    let second = world.revise("hfleet.shop.a", "b", &[("map.yaml", &MAP.replace("small", "large"))]);
    world.ok(&["rpkg", "copy", &second, "--workspace", "c"]);

    let diff = world.ok(&["rpkg", "diff", &second]);
    assert!(diff.contains("--- hblue.app.v1/map.yaml\n+++ hfleet.shop.b/map.yaml\n"), "{diff}");
    assert!(diff.contains("-  size: small\n+  size: large\n"), "{diff}");
    let diff = world.ok(&["rpkg", "diff", &second, "hfleet.shop.a"]);
    assert!(diff.contains("-  size: large\n+  size: small\n"), "{diff}");
    let alone = world.run(&["rpkg", "diff", &first]);
    assert!(alone.code == Some(1) && alone.stderr.contains("was made of no revision"), "{alone:?}");

    let log = world.ok(&["rpkg", "log", "hfleet/shop"]);
    let rows: Vec<Vec<&str>> =
        log.lines().skip(1).map(|line| line.split_whitespace().take(3).collect()).collect();
    assert_eq!(
        rows,
        [
            ["-", "c", "Draft"],
            ["v2", "b", "Published"],
            ["v1", "a", "Published"],
            ["branch", "main", "Published"]
        ],
        "{log}"
    );
    assert!(log.contains("copy of hfleet.shop.a") && log.contains("clone of hblue.app.v1"), "{log}");
    assert_eq!(world.ok(&["rpkg", "log", &second]), log);
    let none = world.run(&["rpkg", "log", "hfleet/none"]);
    assert!(none.code == Some(1) && none.stderr.contains("there is no package \"none\""), "{none:?}");

    let blame = world.ok(&["rpkg", "blame", "hfleet.shop.c", "map.yaml"]);
    let by = |text: &str| {
        let line = blame.lines().find(|line| line.ends_with(text)).unwrap_or_default();
        line.split_whitespace().next().unwrap_or_default().to_owned()
    };
    assert_eq!(by("  level: info"), "hblue.app.v1", "{blame}");
    assert_eq!(by("  size: large"), "hfleet.shop.b", "{blame}");
    let field = world.ok(&["rpkg", "blame", "hfleet.shop.c", "map.yaml", "data.size", "-o", "json"]);
    assert_eq!(field.matches("\"name\"").count(), 1, "{field}");
    assert!(
        field.contains("\"name\": \"hfleet.shop.b\"") && field.contains("\"revision\": \"v2\""),
        "{field}"
    );
    // What stands on the branch is what was published last, by whom it was set there.
    let branch = world.ok(&["rpkg", "blame", "hfleet.shop.main", "map.yaml", "data.size", "-o", "json"]);
    assert!(branch.contains("\"name\": \"hfleet.shop.b\""), "{branch}");
    let check = |arguments: &[&str], expected: &str| {
        let seen = world.run(&[&["rpkg", "blame"], arguments].concat());
        assert!(seen.code == Some(1) && seen.stderr.contains(expected), "{seen:?}");
    };
    check(&["hfleet.shop.c", "none.yaml"], "hfleet.shop.c has no file \"none.yaml\"");
    check(&["hfleet.none.c", "map.yaml"], "packagerevisions.porch.kpt.dev \"hfleet.none.c\" not found");
    check(&["hfleet.shop.c", "map.yaml", "data.none"], "none");
}

#[test]
fn what_is_no_text_has_no_lines() {
    let world = World::shared();
    world.repository("pictures");
    world.ok(&["rpkg", "init", "app", "--repository", "pictures", "--workspace", "v1"]);
    let folder = world.path("pictures-folder");
    let shown = folder.display().to_string();
    world.ok(&["rpkg", "pull", "pictures.app.v1", &shown]);
    std::fs::write(folder.join("logo.png"), [0x89, 0xff, 0x00]).expect("it can be written");
    world.ok(&["rpkg", "push", "pictures.app.v1", &shown]);
    let seen = world.run(&["rpkg", "blame", "pictures.app.v1", "logo.png"]);
    assert!(
        seen.code == Some(1) && seen.stderr.contains("\"logo.png\" of pictures.app.v1 is no text"),
        "{seen:?}"
    );
}
