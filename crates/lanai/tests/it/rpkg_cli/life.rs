//! From a new package to its end.

use super::world::{World, expect};

#[test]
fn what_functions_said_is_told_when_a_revision_is_refused() {
    let world = World::shared();
    world.repository("words");
    world.ok(&["rpkg", "init", "web", "--repository", "words", "--workspace", "v1"]);
    let folder = world.path("words-folder");
    let shown = folder.display().to_string();
    world.ok(&["rpkg", "pull", "words.web.v1", &shown]);
    let kptfile = std::fs::read_to_string(folder.join("Kptfile")).expect("it is there");
    let script = "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: no\nsource: |\n  fail('not on a Friday')\n";
    let pipeline = "pipeline:\n  validators:\n  - image: starlark:v0.5\n    configPath: no.yaml\n";
    std::fs::write(folder.join("no.yaml"), script).expect("it can be written");
    std::fs::write(folder.join("Kptfile"), format!("{kptfile}{pipeline}")).expect("it can be written");
    let seen = world.run(&["rpkg", "push", "words.web.v1", &shown]);
    assert_eq!(seen.code, Some(1));
    assert!(seen.stderr.contains("not on a Friday"), "{seen:?}");
}

#[test]
fn without_a_name_nothing_is_done_and_that_is_said() {
    let world = World::shared();
    let text = "error: PACKAGE_REVISION is a required positional argument\nhint: \"lanai rpkg get\" lists the revisions\nUsage: lanai rpkg ";
    for command in ["propose", "approve", "reject", "propose-delete", "del"] {
        let seen = world.run(&["rpkg", command]);
        assert_eq!((seen.code, seen.stdout.as_str()), (Some(2), ""), "{seen:?}");
        assert!(seen.stderr.starts_with(&format!("{text}{command} ")), "{seen:?}");
    }
}

#[test]
fn a_package_is_made_published_and_deleted() {
    let world = World::shared();
    world.repository("life");
    let name = "life.web.v1";
    let run = |arguments: &[&str]| world.run(&[&["rpkg"], arguments].concat());
    let init = [
        "init",
        "web",
        "--repository",
        "life",
        "--workspace",
        "v1",
        "--keywords",
        "a,b",
        "--site",
        "https://h",
    ];
    expect(&run(&init), 0, "life.web.v1 created\n", "");
    let kptfile = world.ok(&["rpkg", "get", name, "--show-kptfile"]);
    assert!(
        kptfile.contains("description: sample description") && kptfile.contains("site: https://h"),
        "{kptfile}"
    );

    expect(
        &run(&["approve", name]),
        1,
        "",
        "life.web.v1 failed (cannot change approval from Draft to Published)\nerror: nothing was done\n",
    );
    expect(
        &run(&["reject", name]),
        1,
        "",
        "life.web.v1 failed (cannot reject life.web.v1 with lifecycle 'Draft')\nerror: nothing was done\n",
    );
    let unpublished = "life.web.v1 failed (can only propose published packages for deletion; package life.web.v1 is not published)\n";
    expect(&run(&["propose-delete", name]), 1, "", &format!("{unpublished}error: nothing was done\n"));

    expect(&run(&["propose", name, "--dry-run"]), 0, "life.web.v1 proposed (dry run)\n", "");
    expect(&run(&["propose", name]), 0, "life.web.v1 proposed\n", "");
    expect(&run(&["propose", name]), 0, "", "life.web.v1 is already proposed\n");
    expect(&run(&["reject", name]), 0, "life.web.v1 no longer proposed for approval\n", "");
    expect(&run(&["propose", name]), 0, "life.web.v1 proposed\n", "");
    expect(&run(&["approve", name]), 0, "life.web.v1 approved\n", "");
    expect(&run(&["approve", name]), 0, "life.web.v1 approved\n", "");
    expect(
        &run(&["propose", name]),
        1,
        "",
        "life.web.v1 failed (cannot propose Published package)\nerror: nothing was done\n",
    );
    assert!(world.git("git/life.git", &["tag"]).contains("web/v1"), "the remote has it");

    let refused = run(&["del", name]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("must be proposed for deletion"), "{}", refused.stderr);
    expect(&run(&["propose-del", name]), 0, "life.web.v1 proposed for deletion\n", "");
    expect(&run(&["propose-delete", name]), 0, "", "life.web.v1 is already proposed for deletion\n");
    let doubtful = run(&["approve", name]);
    assert!(
        doubtful.code == Some(1) && doubtful.stderr.contains("lanai rpkg reject life.web.v1"),
        "{doubtful:?}"
    );
    expect(&run(&["reject", name]), 0, "life.web.v1 no longer proposed for deletion\n", "");
    expect(&run(&["propose-delete", name]), 0, "life.web.v1 proposed for deletion\n", "");
    expect(&run(&["delete", name]), 0, "life.web.v1 deleted\n", "");
    assert!(!world.git("git/life.git", &["tag"]).contains("web/v1"), "the remote has it no longer");
}

#[test]
fn what_is_missing_is_asked_for() {
    let world = World::shared();
    let check = |arguments: &[&str], expected: &str| {
        let seen = world.run(&[&["rpkg"], arguments].concat());
        let is_there = expected.contains(" not found");
        assert_eq!(seen.code, Some(if is_there { 1 } else { 2 }), "{seen:?}");
        assert_eq!(seen.stderr.lines().next(), Some(format!("error: {expected}").as_str()), "{seen:?}");
        let usage = format!("Usage: lanai rpkg {} ", arguments[0]);
        assert_eq!(seen.stderr.contains(&usage), !is_there, "{seen:?}");
    };
    check(&["init"], "PACKAGE_NAME is a required positional argument");
    check(&["init", "p"], "--repository is required to specify target repository");
    check(&["init", "p", "--repository", "r"], "--workspace is required to specify workspace name");
    check(
        &["init", "p", "--repository", "nowhere", "--workspace", "v1"],
        "repositories.config.porch.kpt.dev \"nowhere\" not found",
    );
    check(&["clone", "a"], "SOURCE_PACKAGE and NAME are required positional arguments");
    check(&["clone", "a", "b"], "--repository is required to specify downstream repository");
    check(&["copy"], "SOURCE_PACKAGE is a required positional argument");
    check(&["copy", "a.b.c"], "--workspace is required to specify workspace name");
    check(&["copy", "a.b.c", "--workspace", "v2"], "packagerevisions.porch.kpt.dev \"a.b.c\" not found");
    check(&["pull"], "PACKAGE is a required positional argument");
    check(&["push"], "PACKAGE name is a required positional argument");
    check(&["upgrade"], "SOURCE_PACKAGE_REVISION is a required positional argument");
    check(&["get", "a.b.c"], "packagerevisions.porch.kpt.dev \"a.b.c\" not found");
    check(
        &["get", "--show-kptfile"],
        "--show-kptfile requires exactly one package revision name as an argument",
    );
    check(
        &["get", "--api-version", "v9"],
        "there is no version \"v9\" of the API; there are v1alpha1 and v1alpha2",
    );
}

#[test]
fn what_fails_does_not_stop_the_rest() {
    let world = World::shared();
    world.repository("rest");
    for package in ["a", "b"] {
        world.ok(&["rpkg", "init", package, "--repository", "rest", "--workspace", "v1"]);
    }
    let seen = world.run(&["rpkg", "propose", "rest.a.v1", "rest.none.v1", "rest.b.v1"]);
    let failed = "rest.none.v1 failed (packagerevisions.porch.kpt.dev \"rest.none.v1\" not found)\nerror: 1 of 3 failed\n";
    expect(&seen, 1, "rest.a.v1 proposed\nrest.b.v1 proposed\n", failed);
    let seen = world.porchctl(&["rpkg", "del", "rest.a.v1", "rest.none.v1", "rest.b.v1"]);
    let missing = "packagerevisions.porch.kpt.dev \"rest.none.v1\" not found";
    expect(
        &seen,
        1,
        "rest.a.v1 deleted\nrest.b.v1 deleted\n",
        &format!("rest.none.v1 failed ({missing})\nError: errors:\n  {missing} \n"),
    );
}

#[test]
fn a_gate_that_is_not_met_is_named() {
    let world = World::shared();
    world.repository("gates");
    world.ok(&["rpkg", "init", "web", "--repository", "gates", "--workspace", "v1"]);
    let kptfile = world.ok(&["rpkg", "get", "gates.web.v1", "--show-kptfile"]);
    let gated =
        kptfile.replace("info:\n", "info:\n  readinessGates:\n  - conditionType: example.com/checked\n");
    assert_ne!(kptfile, gated);
    world.put("gates.web.v1", &[("Kptfile", &gated)]);
    let told =
        "gates.web.v1 failed (readiness conditions not met: example.com/checked)\nerror: nothing was done\n";
    expect(&world.run(&["rpkg", "propose", "gates.web.v1"]), 1, "", told);
    let seen = world.porchctl(&["rpkg", "propose", "gates.web.v1"]);
    let told = "gates.web.v1 failed (readiness conditions not met)\nError: errors:\n  readiness conditions not met \n";
    expect(&seen, 1, "", told);
}

#[test]
fn packages_are_cloned_and_copied() {
    let world = World::shared();
    world.repository("cloned");
    let first = world.package("cloned", "base", "v1", &[]);
    let clone = ["rpkg", "clone", &first, "shop/web", "--repository", "cloned"];
    expect(
        &world.run(&[&clone[..], &["--dry-run", "-o", "name"]].concat()),
        0,
        "packagerevision.porch.kpt.dev/cloned.shop.web.v1\n",
        "",
    );
    expect(&world.run(&clone), 0, "cloned.shop.web.v1 created\n", "");
    let again = world.run(&clone);
    assert!(again.code == Some(1) && again.stderr.contains("already exists"), "{again:?}");
    expect(&world.run(&["rpkg", "copy", &first, "--workspace", "v2"]), 0, "cloned.base.v2 created\n", "");
    // A folder of the machine is an address of git, and the server says what it thinks of it.
    let address = format!("{}/base@base/v1", world.path("git/cloned.git").display());
    let seen = world.run(&["rpkg", "clone", &address, "other", "--repository", "cloned", "--workspace", "w"]);
    assert!(seen.code == Some(1) && seen.stderr.contains("cannot clone Git repository"), "{seen:?}");
}

#[test]
fn empty_names_stand_for_nothing() {
    let world = World::shared();
    world.repository("unnamed");
    world.ok(&["rpkg", "init", "a", "--repository", "unnamed", "--workspace", "v1"]);
    let commands: [&[&str]; 12] = [
        &["rpkg", "del", ""],
        &["rpkg", "del", "unnamed.a.v1", ""],
        &["rpkg", "propose", ""],
        &["rpkg", "approve", " "],
        &["rpkg", "get", ""],
        &["rpkg", "edit", ""],
        &["rpkg", "diff", ""],
        &["rpkg", "log", ""],
        &["rpkg", "blame", "", "Kptfile"],
        &["rpkg", "pull", ""],
        &["repo", "sync", ""],
        &["repo", "unreg", ""],
    ];
    for command in commands {
        let seen = world.run(command);
        assert_eq!((seen.code, seen.stdout.as_str()), (Some(2), ""), "{command:?}: {seen:?}");
        let ported = world.porchctl(command);
        assert_eq!((ported.code, ported.stdout.as_str()), (Some(1), ""), "{command:?}: {ported:?}");
    }
    assert!(world.ok(&["rpkg", "get", "--repository", "unnamed"]).contains("unnamed.a.v1"));
}

#[test]
fn refusals_have_the_page_of_their_cause() {
    let world = World::shared();
    world.repository("cause");
    let first = world.package("cause", "base", "v1", &[]);
    world.ok(&["rpkg", "clone", &first, "shop", "--repository", "cause", "--workspace", "v1"]);
    world.ok(&["rpkg", "propose-delete", &first]);
    let code = |arguments: &[&str]| {
        let output = world.command(arguments).output().expect("it runs");
        assert_ne!(output.status.code(), Some(0), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let used = code(&["rpkg", "del", &first]);
    assert!(used.contains("referenced as upstream by") && used.contains("LNA1509"), "{used}");
    let place = format!("file://{}/git/cause.git", world.path("").display());
    let local = code(&["rpkg", "clone", &place, "x", "--repository", "cause"]);
    assert!(local.contains("no place to clone from") && local.contains("LNA1206"), "{local}");
    let nonsense = code(&["rpkg", "clone", "Not A Source", "x", "--repository", "cause"]);
    assert!(nonsense.contains("is no source of a package") && nonsense.contains("oci://IMAGE"), "{nonsense}");
    let missing = code(&["rpkg", "clone", "cause.none.v1", "x", "--repository", "cause"]);
    assert!(missing.contains("REPO.git/FOLDER@REF"), "{missing}");
    world.namespace("cause-elsewhere");
    let elsewhere = code(&["rpkg", "get", "a.b.c", "-n", "cause-elsewhere"]);
    assert!(elsewhere.contains("not found in namespace \"cause-elsewhere\""), "{elsewhere}");
}
