//! The program under the name `porchctl`.

use super::world::{World, expect};

#[test]
fn scripts_for_porchctl_find_what_they_know() {
    let world = World::shared();
    let address = world.remote("old");
    let run = |arguments: &[&str]| world.porchctl(arguments);
    expect(
        &run(&[
            "repo",
            "register",
            &address,
            "--name=old",
            "--create-branch",
            "--deployment=false",
            "-n",
            "default",
        ]),
        0,
        "",
        "",
    );
    // Nothing says when it can be used; the server answers at once whether it can.
    world.ok(&["repo", "get", "old", "-o", "name"]);
    let init = ["rpkg", "init", "--namespace=default", "--repository=old", "--workspace=v1", "oldapp"];
    expect(&run(&init), 0, "old.oldapp.v1 created\n", "");
    let table = run(&["-n", "default", "rpkg", "get", "--name", "oldapp"]);
    assert_eq!(
        table.stdout.lines().next(),
        Some("NAME            PACKAGE   WORKSPACENAME   REVISION   LATEST   LIFECYCLE   REPOSITORY")
    );
    assert_eq!(
        table.stdout.lines().nth(1),
        Some("old.oldapp.v1   oldapp    v1              0          false    Draft       old")
    );
    expect(&run(&["rpkg", "propose", "old.oldapp.v1"]), 0, "old.oldapp.v1 proposed\n", "");
    expect(&run(&["rpkg", "approve", "old.oldapp.v1"]), 0, "old.oldapp.v1 approved\n", "");
    expect(&run(&["rpkg", "edit", "old.oldapp.v1", "--workspace", "v2"]), 0, "old.oldapp.v2 created\n", "");
    expect(
        &run(&["rpkg", "propose-delete", "old.oldapp.v1"]),
        0,
        "old.oldapp.v1 proposed for deletion\n",
        "",
    );
    // Its approval keeps it, whatever one may think.
    expect(&run(&["rpkg", "approve", "old.oldapp.v1"]), 0, "old.oldapp.v1 approved\n", "");
    let state = run(&["rpkg", "get", "old.oldapp.v1", "-o", "jsonpath={.spec.lifecycle}"]);
    expect(&state, 0, "Published", "");
    expect(&run(&["repo", "unreg", "old"]), 0, "", "");
}

#[test]
fn porchctl_fails_in_its_own_words() {
    let world = World::shared();
    let run = |arguments: &[&str]| world.porchctl(arguments);
    let missing = "Error: the server could not find the requested resource (get packagerevisions.porch.kpt.dev a.b.c) \n";
    expect(&run(&["rpkg", "get", "a.b.c"]), 1, "", missing);
    expect(&run(&["rpkg", "get", "--bogus"]), 1, "", "Error: unknown flag: --bogus \n");
    expect(&run(&["bogus"]), 1, "", "error: unknown command \"bogus\" for \"porchctl\"\n");
    expect(
        &run(&["rpkg", "get", "--show-kptfile"]),
        1,
        "",
        "error: --show-kptfile requires exactly one package revision name as an argument\n",
    );
    // Go takes flags as these with a value, too.
    for flag in
        ["--no-headers=true", "--all-namespaces=true", "-A=1", "--show-kptfile=false", "--show-labels=F"]
    {
        let seen = run(&["rpkg", "get", flag]);
        assert_eq!((seen.code, seen.stderr.as_str()), (Some(0), ""), "{flag}");
    }
    assert_eq!(run(&["repo", "sync", "--all=perhaps"]).code, Some(1));
    // Nothing to do is nothing that fails.
    for command in ["propose", "approve", "reject", "propose-del", "delete"] {
        expect(&run(&["rpkg", command]), 0, "", "");
    }
    expect(&run(&["rpkg", "init"]), 1, "", "Error: PACKAGE_NAME is a required positional argument \n");
    for arguments in [&["rpkg"][..], &["rpkg", "bogus"], &["repo"]] {
        let seen = run(arguments);
        assert_eq!((seen.code, seen.stdout.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(seen.stderr.contains("Usage: porchctl r"), "{seen:?}");
    }
    let version = run(&["version"]);
    assert!(
        version.stdout.starts_with("Version: ") && version.stdout.contains("\nGit commit: "),
        "{version:?}"
    );
}
