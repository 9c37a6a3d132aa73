//! What becomes of a command when its output cannot be written.

use super::World;

/// Updates in a shell, so that the output goes where the text says.
fn update(world: &World, arguments: &str, behind: &str) -> super::Seen {
    let lanai = env!("CARGO_BIN_EXE_lanai");
    world.run_in("desk", "bash", &["-c", &format!("{lanai} pkg update {arguments} {behind}")])
}

fn edited() -> World {
    let world = World::with_web();
    world.get_web();
    world.edit("desk/web/deploy.yaml", "replicas: 1", "replicas: 5");
    world.commit();
    world
}

#[test]
fn nobody_reads_but_the_update_is_done() {
    let world = edited();
    let seen = update(&world, "web@v2", "| true; exit ${PIPESTATUS[0]}");
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(seen.stderr.ends_with("\nUpdated 1 package(s).\n"), "{}", seen.stderr);
    assert!(world.read("desk/web/deploy.yaml").contains("web:2"));
}

#[test]
fn nobody_reads_but_the_conflicts_are_not_decided() {
    let world = edited();
    let seen = update(&world, "web@v2 --policy fail", "| true; exit ${PIPESTATUS[0]}");
    assert_eq!(seen.code, Some(3), "{seen:?}");
    assert_eq!(world.git("desk", &["status", "--porcelain"]), "");
}

#[test]
fn a_full_disk_for_the_output_does_not_hide_what_was_done() {
    let world = edited();
    let seen = update(&world, "web@v2", "> /dev/full");
    assert_eq!(seen.code, Some(1), "{seen:?}");
    assert!(
        seen.stderr.contains(
            "error: the package was updated, but its conflicts could not be shown: cannot write to standard output: "
        ),
        "{}",
        seen.stderr
    );
    assert!(world.read("desk/web/deploy.yaml").contains("web:2"));
}
