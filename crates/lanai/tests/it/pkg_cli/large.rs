//! Files that are large.

use super::World;

/// One byte more than a file of resources may have.
const TOO_LARGE: usize = (10 << 20) + 1;

#[test]
fn large_files_that_are_no_resources_are_carried_along() {
    let world = World::with_web();
    let large = "x".repeat(TOO_LARGE);
    world.publish("v3", &[("web/picture.bin", &large)]);
    let seen = world.lanai(&["get", &world.address("web@v3")]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert_eq!(world.read("desk/web/picture.bin").len(), TOO_LARGE);
    world.write("desk/web/mine.bin", &large);
    world.commit();
    let other = format!("{large}y");
    world.publish("v4", &[("web/picture.bin", &other)]);
    for command in [&["tree", "web"][..], &["diff", "web"], &["update", "web@v4"]] {
        assert_eq!(world.lanai(command).code, Some(0), "{command:?}");
    }
    assert_eq!(world.read("desk/web/picture.bin").len(), TOO_LARGE + 1);
    assert_eq!(world.read("desk/web/mine.bin").len(), TOO_LARGE);
}

#[test]
fn files_of_resources_that_are_too_large_are_named() {
    let world = World::with_web();
    world.get_web();
    world.write("desk/web/folder/big.yaml", &"#".repeat(TOO_LARGE - 1));
    assert_eq!(world.lanai(&["diff", "web"]).code, Some(0), "as large as allowed");
    world.write("desk/web/folder/big.yaml", &"#".repeat(TOO_LARGE));
    let why =
        format!("file \"folder/big.yaml\" has {TOO_LARGE} bytes, more than the 10 MiB that are allowed\n");
    world.check_failure(&["update", "web@v2"], 1, &format!("error: folder \"~/desk/web\": {why}"));
    world.publish("v3", &[("web/big.yaml", &"#".repeat(TOO_LARGE))]);
    let seen = world.lanai(&["get", &world.address("web@v3"), "other"]);
    assert_eq!(seen.code, Some(1), "{seen:?}");
    assert!(
        seen.stderr.contains(&format!(
            "file \"big.yaml\" has {TOO_LARGE} bytes, more than the 10 MiB that are allowed\n"
        )),
        "{}",
        seen.stderr
    );
}
