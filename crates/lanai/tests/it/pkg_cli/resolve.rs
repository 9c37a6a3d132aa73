//! Conflicts that people decide: printed, edited, handed back.

use super::World;
use super::world::REPLICAS;

/// A machine on which `work/web` has a conflict with `v2` about replicas.
fn conflicting() -> World {
    let world = World::with_web();
    world.get_web();
    world.edit("desk/web/deploy.yaml", "replicas: 1", "replicas: 5");
    world.commit();
    let seen = world.lanai(&["update", "web@v2", "--policy", "fail", "-o", "yaml"]);
    assert_eq!(seen.code, Some(3), "{seen:?}");
    world.write("conflicts.yaml", &seen.stdout);
    world
}

fn update(world: &World) -> super::Seen {
    world.lanai(&["update", "web@v2", "--policy", "fail", "--resolve", "../conflicts.yaml"])
}

#[test]
fn the_choice_of_the_user_counts() {
    let cases = [("upstream", "2"), ("local", "5"), ("original", "1"), ("value\n  value: \"7\"", "7")];
    for (chosen, replicas) in cases {
        let world = conflicting();
        world.edit("conflicts.yaml", "chosen: \"\"", &format!("chosen: {chosen}"));
        let seen = update(&world);
        assert_eq!(seen.code, Some(0), "{seen:?}");
        let text = world.read("desk/web/deploy.yaml");
        assert!(text.contains(&format!("replicas: {replicas}   # enough for now")), "{text}");
        assert!(text.contains("web:2"), "{text}");
    }
}

#[test]
fn what_yaml_prints_is_documented() {
    let world = conflicting();
    let (first, second) = (world.commit_of("v1"), world.commit_of("v2"));
    let expected = format!(
        "package: web\nupdates:\n- package: .\n  from: {first}\n  version: v2\n  to: {second}\n\
         files:\n  changed:\n  - Kptfile\n  - deploy.yaml\n\
         conflicts:\n- id: {REPLICAS}\n  package: .\n  file: deploy.yaml\n  \
         resource: apps/v1 Deployment shop/web\n  field: spec.replicas\n  kind: BothChanged\n  \
         original: \"1\"\n  upstream: \"2\"\n  local: \"5\"\n  chosen: \"\"\n"
    );
    // Commits that look like numbers are quoted.
    let plain = |text: String, commit: &str| text.replace(&format!("\"{commit}\""), commit);
    assert_eq!(plain(plain(world.read("conflicts.yaml"), &first), &second), expected);
}

#[test]
fn without_a_choice_the_policy_decides() {
    let world = conflicting();
    assert_eq!(update(&world).code, Some(3));
    let seen = world.lanai(&["update", "web@v2", "--policy", "local", "--resolve", "../conflicts.yaml"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(world.read("desk/web/deploy.yaml").contains("replicas: 5"));
}

/// Hands conflicts back with something replaced, which must be refused.
#[track_caller]
fn check_refused(world: &World, from: &str, to: &str, why: &str) {
    let before = world.read("conflicts.yaml");
    world.edit("conflicts.yaml", from, to);
    let seen = update(world);
    assert_eq!(seen.code, Some(1), "{seen:?}");
    assert!(seen.stderr.contains(why), "{}", seen.stderr);
    assert_eq!(world.git("desk", &["status", "--porcelain"]), "");
    world.write("conflicts.yaml", &before);
}

#[test]
fn what_does_not_fit_is_named() {
    let world = conflicting();
    let id = REPLICAS;
    check_refused(
        &world,
        &format!("id: {id}"),
        "id: nonsense",
        "\n  line 12: conflict \"nonsense\": there is no such conflict\n",
    );
    check_refused(
        &world,
        "local: \"5\"",
        "local: \"6\"",
        &format!("\n  line 12: conflict \"{id}\": the local value is another one now\n"),
    );
    check_refused(
        &world,
        "chosen: \"\"",
        "chosen: mine",
        "chosen is \"mine\"; it can be upstream, local, original or value\n",
    );
    check_refused(&world, "chosen: \"\"", "chosen: value", "chosen is value, and there is no value\n");
    check_refused(
        &world,
        "chosen: \"\"",
        "chosen: local\n  value: x",
        "there is a value, but chosen is not value\n",
    );
    check_refused(&world, "chosen: \"\"", "choosen: local", "../conflicts.yaml: ");
    check_refused(&world, "conflicts:", "conflicts: [", "../conflicts.yaml: ");
    let (second, first) = (world.commit_of("v2"), world.commit_of("v1"));
    check_refused(
        &world,
        &second,
        &first,
        &format!("it was made for the update to commit {first}, which is not this one\n"),
    );
    let seen = world.lanai(&["update", "web@v2", "--resolve", "nowhere.yaml"]);
    assert!(seen.stderr.contains("error: cannot read \"nowhere.yaml\": there is no such file\n"), "{seen:?}");
}

#[test]
fn choices_that_were_made_already_are_stale() {
    let world = conflicting();
    world.edit("conflicts.yaml", "chosen: \"\"", "chosen: local");
    assert_eq!(update(&world).code, Some(0));
    world.commit();
    let seen = update(&world);
    assert_eq!(seen.code, Some(1));
    assert!(seen.stderr.contains("there is no such conflict\n"), "{}", seen.stderr);
}

#[test]
fn what_was_printed_can_be_handed_back() {
    let world = conflicting();
    world.edit("conflicts.yaml", "chosen: \"\"", "chosen: value\n  value: \"7\"");
    let options = ["--policy", "fail", "--resolve", "../conflicts.yaml"];
    for format in ["yaml", "json"] {
        let seen = world.lanai(&[&["update", "web@v2", "--dry-run", "-o", format][..], &options].concat());
        assert_eq!(seen.code, Some(0), "{seen:?}");
        world.write("conflicts.yaml", &seen.stdout);
    }
    assert_eq!(update(&world).code, Some(0));
    assert!(world.read("desk/web/deploy.yaml").contains("replicas: 7   # enough for now"));
}
