//! `get`: tables, formats, filters, and what changes.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::world::World;

#[test]
fn revisions_are_listed_as_asked() {
    let world = World::shared();
    world.repository("listed");
    world.package("listed", "web", "v1", &[]);
    world.ok(&["rpkg", "init", "db", "--repository", "listed", "--workspace", "w"]);
    let get =
        |arguments: &[&str]| world.ok(&[&["rpkg", "get", "--repository", "listed"], arguments].concat());
    let table = get(&[]);
    let mut lines = table.lines();
    let header = lines.next().unwrap_or_default();
    let columns: Vec<&str> = header.split_whitespace().collect();
    assert_eq!(
        columns[..7],
        ["NAME", "PACKAGE", "WORKSPACENAME", "REVISION", "LATEST", "LIFECYCLE", "REPOSITORY"]
    );
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split_whitespace().take(7).collect()).collect();
    assert_eq!(
        rows,
        [
            ["listed.db.w", "db", "w", "0", "false", "Draft", "listed"],
            ["listed.web.main", "web", "main", "-1", "false", "Published", "listed"],
            ["listed.web.v1", "web", "v1", "1", "true", "Published", "listed"],
        ]
    );
    let at = |line: &str| line.find("Draft").or_else(|| line.find("Published"));
    assert!(table.lines().skip(1).all(|line| at(line) == header.find("LIFECYCLE")), "{table}");

    let name = "packagerevision.porch.kpt.dev/";
    assert_eq!(
        get(&["--name", "web", "-o", "name"]),
        format!("{name}listed.web.main\n{name}listed.web.v1\n")
    );
    assert_eq!(get(&["--name", "web", "--revision", "1", "-o", "name"]), format!("{name}listed.web.v1\n"));
    assert_eq!(get(&["--revision", "-1", "-o", "name"]), format!("{name}listed.web.main\n"));
    assert_eq!(get(&["--workspace", "w", "-o", "name"]), format!("{name}listed.db.w\n"));
    assert_eq!(get(&["--lifecycle", "Draft", "-o", "name"]), format!("{name}listed.db.w\n"));
    assert_eq!(get(&["-l", "kpt.dev/latest-revision=true", "-o", "name"]), format!("{name}listed.web.v1\n"));
    assert_eq!(get(&["--workspace", "w", "--no-headers"]).lines().count(), 1);
    assert!(
        get(&["-l", "kpt.dev/latest-revision=true", "--show-labels"])
            .contains("kpt.dev/latest-revision=true")
    );
    assert!(get(&["-A"]).starts_with("NAMESPACE   NAME"));
    assert_eq!(get(&["-o", "jsonpath={range .items[*]}{.spec.workspaceName};{end}"]), "w;main;v1;");
    assert!(
        get(&["-o", "custom-columns=N:.metadata.name,L:.spec.lifecycle"])
            .starts_with("N                 L\nlisted.db.w       Draft\n")
    );

    let one = world.ok(&["rpkg", "get", "listed.db.w", "-o", "yaml"]);
    assert!(one.starts_with("apiVersion: porch.kpt.dev/v1alpha1\nkind: PackageRevision\n"), "{one}");
    let many = world.ok(&["rpkg", "get", "listed.db.w", "listed.web.v1", "-o", "json"]);
    assert!(many.contains("\"kind\": \"List\""), "{many}");
    assert_eq!(world.ok(&["rpkg", "list", "listed.db.w", "-o", "name"]), format!("{name}listed.db.w\n"));
}

#[test]
fn nothing_is_said_where_nothing_is_for_porchctl() {
    let world = World::shared();
    let empty = ["rpkg", "get", "--repository", "nowhere"];
    let seen = world.run(&empty);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(0), ""));
    assert_eq!(seen.stderr, "there are no packagerevisions in namespace \"default\"\n");
    super::world::expect(&world.porchctl(&empty), 0, "", "");
}

#[test]
fn those_that_are_there_are_shown_beside_those_that_are_not() {
    let world = World::shared();
    world.repository("beside");
    world.ok(&["rpkg", "init", "a", "--repository", "beside", "--workspace", "v1"]);
    let seen = world.run(&["rpkg", "get", "beside.a.v1", "beside.b.v1", "-o", "name"]);
    assert_eq!(seen.code, Some(1));
    assert_eq!(seen.stdout, "packagerevision.porch.kpt.dev/beside.a.v1\n");
    assert_eq!(seen.stderr, "error: packagerevisions.porch.kpt.dev \"beside.b.v1\" not found\n");
}

#[test]
fn a_watch_shows_what_changes_and_ends_when_it_is_asked_to() {
    let world = World::shared();
    world.repository("watched");
    world.ok(&["rpkg", "init", "a", "--repository", "watched", "--workspace", "v1"]);
    let mut command = world.command(&["rpkg", "get", "--repository", "watched", "--watch"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines =
        BufReader::new(child.stdout.take().expect("it is a pipe")).lines().map(|line| line.expect("a line"));
    assert!(lines.next().is_some_and(|line| line.starts_with("NAME")));
    let first = lines.next().unwrap_or_default();
    assert!(first.starts_with("watched.a.v1 ") && first.contains("Draft"), "{first}");
    world.ok(&["rpkg", "propose", "watched.a.v1"]);
    assert!(lines.any(|line| line.starts_with("watched.a.v1 ") && line.contains("Proposed")));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
}

#[test]
fn lists_are_sorted_as_asked() {
    let world = World::shared();
    world.repository("sorted");
    for (package, workspace) in [("a", "v3"), ("b", "v1"), ("c", "v2")] {
        world.ok(&["rpkg", "init", package, "--repository", "sorted", "--workspace", workspace]);
    }
    for path in ["{.spec.workspaceName}", ".spec.workspaceName", "spec.workspaceName"] {
        for more in [["--no-headers", "--show-kind"], ["-o", "name"]] {
            let list = ["rpkg", "get", "--repository", "sorted", "--sort-by", path];
            let text = world.ok(&[&list[..], &more].concat());
            let names: Vec<&str> = text
                .lines()
                .filter_map(|line| line.split_whitespace().next()?.split_once('/'))
                .map(|(_, name)| name)
                .collect();
            assert_eq!(names, ["sorted.b.v1", "sorted.c.v2", "sorted.a.v3"], "{path} {more:?}");
        }
    }
    assert_eq!(world.run(&["rpkg", "get", "--sort-by", "{.a["]).code, Some(2));
    let drafts = world.ok(&["rpkg", "get", "--repository", "sorted", "--lifecycle", "draft", "-o", "name"]);
    assert_eq!(drafts.lines().count(), 3, "{drafts}");
    let none = world.run(&["rpkg", "get", "--lifecycle", "open"]);
    assert!(
        none.code == Some(2) && none.stderr.contains("[possible values: Draft, Proposed, Published"),
        "{none:?}"
    );
}

#[test]
fn shells_complete_names_from_the_server() {
    let world = World::shared();
    world.repository("typed");
    world.ok(&["rpkg", "init", "a", "--repository", "typed", "--workspace", "v1"]);
    assert!(world.ok(&["names", "revisions"]).lines().any(|name| name == "typed.a.v1"));
    assert!(world.ok(&["names", "repositories"]).lines().any(|name| name == "typed"));
    let silent = world.run(&["names", "revisions", "--server", "http://127.0.0.1:1"]);
    super::world::expect(&silent, 1, "", "");
    let check = |words: &str, expected: &str| {
        let program = env!("CARGO_BIN_EXE_lanai");
        let script = format!(
            "source <({program} completion bash)\nCOMP_WORDS=({program} {words})\nCOMP_CWORD=$((${{#COMP_WORDS[@]}}-1))\n_lanai_names {program} \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"\necho \"${{COMPREPLY[*]}}\"\n"
        );
        let mut shell = world.shell("exec bash");
        shell.args(["-"]);
        let seen = super::world::seen(shell, &script);
        assert_eq!((seen.stdout.trim_end(), seen.stderr.as_str()), (expected, ""), "{words}");
    };
    check("rpkg get typed.", "typed.a.v1");
    check("rpkg init x --repository typ", "typed");
    check("repo unreg type", "typed");
    check("rpkg init typed.", "");
    check("rpkg -n default delete typed.", "typed.a.v1");
    check("rpkg -n nobodys delete typed.", "");
    check("rpkg clone a b --repository = typ", "typed");
    check("rpkg pro", "propose propose-delete propose-del");
}

#[test]
fn a_watch_of_some_is_about_those_alone() {
    let world = World::shared();
    world.repository("seen");
    for package in ["a", "b", "c"] {
        world.ok(&["rpkg", "init", package, "--repository", "seen", "--workspace", "v1"]);
    }
    let missing = world.run(&["rpkg", "get", "-w", "seen.none.v1"]);
    assert!(missing.code == Some(1) && missing.stderr.contains("\"seen.none.v1\" not found"), "{missing:?}");
    let mut command = world.command(&["rpkg", "get", "-w", "seen.a.v1", "seen.b.v1", "-o", "name"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("it is a pipe")).lines();
    let mut next = || lines.next().expect("a line").expect("it is text");
    let first = [next(), next()];
    world.ok(&["rpkg", "propose", "seen.c.v1", "seen.b.v1"]);
    let then = next();
    let _ = child.kill();
    let _ = child.wait();
    let name = |package: &str| format!("packagerevision.porch.kpt.dev/seen.{package}.v1");
    assert_eq!(first, [name("a"), name("b")]);
    assert_eq!(then, name("b"), "the third one changed before it, and is not meant");
}
