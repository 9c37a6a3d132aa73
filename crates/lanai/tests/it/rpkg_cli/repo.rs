//! `lanai repo`.

use super::world::{World, expect};

#[test]
fn repositories_are_registered_and_forgotten() {
    let world = World::shared();
    let address = world.remote("reg");
    let run = |arguments: &[&str]| world.run(&[&["repo"], arguments].concat());
    expect(
        &run(&["reg", &address, "--create-branch", "--description", "for tests", "--wait"]),
        0,
        "reg registered\nreg ready\n",
        "",
    );
    let table = world.ok(&["repo", "get", "reg"]);
    let header: Vec<&str> = table
        .lines()
        .next()
        .unwrap_or_default()
        .split("  ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
        .collect();
    assert_eq!(
        header,
        ["NAME", "TYPE", "CONTENT", "SYNC SCHEDULE", "DEPLOYMENT", "READY", "ADDRESS", "BRANCH", "AGE"]
    );
    assert!(
        table.lines().nth(1).is_some_and(|line| line.starts_with("reg ") && line.contains("True")),
        "{table}"
    );
    let stored = world.ok(&[
        "repo",
        "get",
        "reg",
        "-o",
        "jsonpath={.spec.git.directory} {.spec.git.branch} {.spec.description}",
    ]);
    assert_eq!(stored, "/ main for tests");
    assert_eq!(world.ok(&["repo", "ls", "reg", "-o", "name"]), "repository.config.porch.kpt.dev/reg\n");
    expect(&run(&["get", "none"]), 1, "", "error: repositories.config.porch.kpt.dev \"none\" not found\n");

    let again = run(&["reg", &address]);
    assert!(again.code == Some(1) && again.stderr.contains("already exists"), "{again:?}");
    let synced = world.ok(&["repo", "sync", "reg"]);
    assert!(
        synced.starts_with("Scheduled one-time sync for \"reg\" at 20") && synced.ends_with("Z\n"),
        "{synced}"
    );
    let short = world.ok(&["repo", "sync", "reg", "--run-once", "5s"]);
    assert!(short.starts_with("Warning: Duration must be at least 1 minute. Sync time adjusted to comply with minimum delay.\nScheduled"), "{short}");
    expect(&run(&["unreg", "reg"]), 0, "reg unregistered\n", "");
    expect(&run(&["unreg", "reg"]), 1, "", "error: repositories.config.porch.kpt.dev \"reg\" not found\n");
}

#[test]
fn credentials_go_with_their_repository() {
    let world = World::shared();
    let address = world.remote("secretive");
    let secret = |name: &str| {
        // Nothing of ours prints Secrets; the address of one in a kubeconfig's server does.
        world.run(&["repo", "get", name, "-o", "jsonpath={.spec.git.secretRef.name}"]).stdout
    };
    let register = ["repo", "reg", &address, "--repo-basic-username", "ann", "--repo-basic-password", "-"];
    let seen = super::world::seen(world.command(&register), "hunter2\n");
    expect(&seen, 0, "secretive registered\n", "");
    assert_eq!(secret("secretive"), "secretive-auth");
    world.ok(&["repo", "unreg", "secretive"]);
    // The Secret is gone, so that the same can be done again.
    let again = super::world::seen(world.command(&register), "hunter2\n");
    expect(&again, 0, "secretive registered\n", "");
    world.ok(&["repo", "unreg", "secretive", "--keep-auth-secret"]);
    let blocked = super::world::seen(world.command(&register), "hunter2\n");
    assert!(blocked.code == Some(1) && blocked.stderr.contains("secretive-auth"), "{blocked:?}");
}

#[test]
fn a_repository_that_cannot_be_used_is_told() {
    let world = World::shared();
    let missing = world.path("git/nowhere.git").display().to_string();
    let seen = world.run(&["repo", "reg", &missing, "--wait"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(1), "nowhere registered\n"), "{seen:?}");
    assert!(
        seen.stderr.contains("cannot be used") && seen.stderr.contains("lanai repo unreg nowhere"),
        "{seen:?}"
    );
    world.ok(&["repo", "unreg", "nowhere"]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let world = World::shared();
    let check = |arguments: &[&str], expected: &str, porchctl: &str| {
        let all = [&["repo"], arguments].concat();
        let seen = world.run(&all);
        assert_eq!((seen.code, seen.stdout.as_str()), (Some(2), ""), "{seen:?}");
        let first = seen.stderr.lines().next().unwrap_or_default();
        assert_eq!(first, format!("error: {expected}"));
        expect(&world.porchctl(&all), 1, "", porchctl);
    };
    let text = "repository is required positional argument";
    check(&["reg"], text, &format!("Error: {text} \n"));
    let text = "REPOSITORY is a required positional argument";
    check(&["unreg"], text, &format!("Error: {text} \n"));
    let text = "invalid sync-schedule cron expression: expected exactly 5 fields, found 2: [* *]";
    check(&["reg", "https://h/r.git", "--sync-schedule", "* *"], text, &format!("Error: {text} \n"));
    let text = "both username/password and workload identity specified";
    let both = ["reg", "https://h/r.git", "--repo-basic-username", "a", "--repo-workload-identity"];
    check(&both, text, &format!("error: {text}\n"));
    let text = "repository name(s) required unless --all is set";
    check(&["sync"], text, &format!("error: {text}\n"));
    let text = "invalid --run-once value";
    check(&["sync", "r", "--run-once", "soon"], text, &format!("error: {text}\n"));
    let seen = world.run(&["repo", "reg", "not-a-url"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(1), ""), "{seen:?}");
    assert!(seen.stderr.contains("neither a URL nor a path"), "{seen:?}");
    assert_eq!(seen.stderr.matches("neither a URL").count(), 1, "it is said once: {seen:?}");
    assert_eq!(world.run(&["repo", "get", "not-a-url"]).code, Some(1), "it is not registered");
    let fetching =
        "Error fetching repository \"none\": repositories.config.porch.kpt.dev \"none\" not found\n";
    let seen = world.porchctl(&["repo", "sync", "none"]);
    expect(&seen, 1, "", &format!("{fetching}error: no repositories found in namespace \"default\"\n"));
}
