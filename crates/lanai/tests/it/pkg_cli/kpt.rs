//! kpt and Lanai work on the same packages, in turn.

use super::World;
use super::world::{DEPLOYMENT, KPTFILE};

fn kpt_works(world: &World, arguments: &[&str]) {
    let seen = world.kpt(arguments);
    assert_eq!(seen.code, Some(0), "{arguments:?}: {seen:?}");
    world.commit();
}

fn lanai_works(world: &World, arguments: &[&str]) {
    let seen = world.lanai(arguments);
    assert_eq!(seen.code, Some(0), "{arguments:?}: {seen:?}");
    world.commit();
}

/// The remote with a third version, and a package that both tools can write without changing its layout.
fn world() -> World {
    let world = World::new();
    let plain = DEPLOYMENT.replace("1   #", "1 #").replace("image:   ", "image: ");
    world.publish("v1", &[("web/Kptfile", KPTFILE), ("web/deploy.yaml", &plain)]);
    let second = plain.replace("web:1", "web:2");
    let service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  type: ClusterIP\n";
    world.publish("v2", &[("web/deploy.yaml", &second), ("web/service.yaml", service)]);
    world.publish("v3", &[("web/deploy.yaml", &second.replace("replicas: 1", "replicas: 3"))]);
    world
}

#[test]
fn kpt_gets_lanai_updates_kpt_updates() {
    let world = world();
    if !World::has_kpt("pkg_cli::kpt::kpt_gets_lanai_updates_kpt_updates") {
        return;
    }
    kpt_works(&world, &["get", &world.address("web@v1"), "web"]);
    world.edit("desk/web/deploy.yaml", "  name: web\n", "  name: shop\n");
    world.commit();
    lanai_works(&world, &["update", "web@v2"]);
    let text = world.read("desk/web/deploy.yaml");
    assert!(text.contains("  name: shop\n") && text.contains("web:2"), "{text}");
    assert!(world.read("desk/web/service.yaml").contains("metadata: # kpt-merge: /web\n"));
    kpt_works(&world, &["update", "web@v3"]);
    let text = world.read("desk/web/deploy.yaml");
    assert!(text.contains("  name: shop\n") && text.contains("replicas: 3"), "{text}");
    assert_eq!(world.names("desk/web"), ["Kptfile", "deploy.yaml", "service.yaml"]);
}

#[test]
fn lanai_gets_kpt_updates_lanai_updates() {
    let world = world();
    if !World::has_kpt("pkg_cli::kpt::lanai_gets_kpt_updates_lanai_updates") {
        return;
    }
    lanai_works(&world, &["get", &world.address("web@v1"), "web"]);
    world.edit("desk/web/deploy.yaml", "  name: web\n", "  name: shop\n");
    world.commit();
    kpt_works(&world, &["update", "web@v2"]);
    let text = world.read("desk/web/deploy.yaml");
    assert!(text.contains("  name: shop\n") && text.contains("web:2"), "{text}");
    lanai_works(&world, &["update", "web@v3"]);
    let text = world.read("desk/web/deploy.yaml");
    assert!(text.contains("  name: shop\n") && text.contains("replicas: 3"), "{text}");
}

#[test]
fn both_get_the_same_files() {
    let world = world();
    if !World::has_kpt("pkg_cli::kpt::both_get_the_same_files") {
        return;
    }
    for (version, strategy) in [("v1", "resource-merge"), ("v2", "fast-forward")] {
        kpt_works(&world, &["get", &world.address(&format!("web@{version}")), "web", "--strategy", strategy]);
        world.git("desk", &["mv", "web", "kpts"]);
        lanai_works(
            &world,
            &["get", &world.address(&format!("web@{version}")), "web", "--strategy", strategy],
        );
        for file in world.names("desk/kpts") {
            let kpts = world.read(&format!("desk/kpts/{file}"));
            // kpt drops the comments of a Kptfile.
            let ours = world.read(&format!("desk/web/{file}")).replace(" # as upstream calls it", "");
            assert_eq!(ours, kpts, "{file}");
        }
        assert_eq!(world.names("desk/kpts"), world.names("desk/web"));
        world.git("desk", &["rm", "-rq", "kpts", "web"]);
        world.commit();
    }
}

#[test]
fn both_draw_the_same_tree() {
    let world = world();
    if !World::has_kpt("pkg_cli::kpt::both_draw_the_same_tree") {
        return;
    }
    lanai_works(&world, &["get", &world.address("web@v2"), "web"]);
    world.write("desk/web/a/x.txt", "");
    lanai_works(&world, &["get", &world.address("web@v1"), "web/a/inner"]);
    std::fs::remove_file(world.path("desk/web/a/x.txt")).unwrap();
    world.write(
        "desk/web/b/c/x.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: z\n  namespace: n\n",
    );
    for folder in ["web", "web/b", "."] {
        assert_eq!(world.lanai(&["tree", folder]).stdout, world.kpt(&["tree", folder]).stdout, "{folder}");
    }
}

#[test]
fn a_comment_on_metadata_stays_and_kpt_follows_the_rename() {
    let world = World::new();
    if !World::has_kpt("pkg_cli::kpt::a_comment_on_metadata_stays_and_kpt_follows_the_rename") {
        return;
    }
    let noted = DEPLOYMENT.replace("metadata:\n", "metadata: # mine\n");
    world.publish("v1", &[("web/Kptfile", KPTFILE), ("web/deploy.yaml", &noted)]);
    world.publish("v2", &[("web/deploy.yaml", &noted.replace("web:1", "web:2"))]);
    lanai_works(&world, &["get", &world.address("web@v1"), "web"]);
    let text = world.read("desk/web/deploy.yaml");
    assert!(text.contains("\n# mine\nmetadata: # kpt-merge: shop/web\n"), "{text}");
    world.edit("desk/web/deploy.yaml", "  name: web\n", "  name: shop\n");
    world.commit();
    kpt_works(&world, &["update", "web@v2"]);
    let text = world.read("desk/web/deploy.yaml");
    assert!(text.contains("  name: shop\n") && text.contains("web:2"), "{text}");
    assert!(text.contains("\n# mine\nmetadata: # kpt-merge: shop/web\n"), "{text}");
}
